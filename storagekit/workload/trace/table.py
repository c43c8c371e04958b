"""Read any table with one request per row: text with separators, or Parquet.

The caller says which columns have the time, the offset, the size and the operation of a request, and optionally the
device and the measured response time, with their units:

    time=ts:us,offset=lba:sectors,size=bytes,operation=op,device=volume,response=latency:ms

A column is given by its name in the header, or by its number from 1. A table without a column of the operation has
`operation=:read` or `operation=:write`. Without this mapping, the names in the header must be plain: `lba`,
`size_bytes`, `latency_us`. The interpretation is noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import one_of, shown
from storagekit.workload.trace.fields import Date, Decimal, Field, Integer, Operation, Text, Word
from storagekit.workload.trace.formats import Records
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import TextFormat, first_lines, shortened, split

__all__ = [
    "COLUMNS", "DEFAULT", "SCSI", "SIZES", "SKIPPED_WORDS", "TABLE", "TIMES", "Column", "Table", "columns_of",
    "constant_read", "described", "determined", "first_row", "operation_field", "plain_columns", "position_of",
]  # fmt: skip

COLUMNS = ("time", "offset", "size", "operation", "device", "response")
NEEDED = COLUMNS[:4]
TIMES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "100ns": 1e7}
"""Ticks per second of each unit of time."""
SIZES = {
    "bytes": 1, "sectors": 512, "pages": 4096, "KB": 1000, "KiB": 1024, "MB": 10**6, "MiB": 2**20,
}  # fmt: skip
"""Bytes of each unit of an offset or a size."""
SCSI = "scsi"
"""Unit of an operation that is the operation code of a SCSI command, in hexadecimal."""
READS = ("0=read", "1=read", SCSI)
ALL = ("read", "write")
"""Units of an operation without a column, which all requests have."""
UNITS: dict[str, tuple[str, ...]] = {
    "time": tuple(TIMES), "offset": tuple(SIZES), "size": tuple(SIZES), "operation": READS, "device": (),
    "response": tuple(TIMES),
}  # fmt: skip
DEFAULT = {"time": "s", "offset": "bytes", "size": "bytes", "response": "s"}

READ_WORDS = ("r", "read", "rd", "ra", "rs", "rm", "readahead")
WRITE_WORDS = ("w", "write", "wr", "ws", "wm", "wfs", "wsm", "was")
SKIPPED_WORDS = {
    "t": "trim", "trim": "trim", "d": "trim", "discard": "trim", "unmap": "trim",
    "f": "flush", "flush": "flush", "sync": "sync", "fsync": "sync", "datasync": "sync", "fdatasync": "sync",
    "zone_append": "zone", "zone_reset": "zone", "zone_open": "zone", "zone_close": "zone", "zone_finish": "zone",
}  # fmt: skip
ALLOWED = "a word such as R, read, W, write, trim, flush or sync, or a number with the unit 0=read, 1=read or scsi"

# operation codes, from the SCSI block commands (SBC)
SCSI_READS, SCSI_WRITES = (0x08, 0x28, 0xA8, 0x88), (0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E, 0x89)
SCSI_SKIPPED = {0x35: "flush", 0x91: "flush", 0x42: "trim"} | dict.fromkeys(
    (0x00, 0x03, 0x12, 0x15, 0x16, 0x17, 0x1A, 0x1B, 0x1E, 0x25, 0x2F, 0x41, 0x4D, 0x55, 0x56, 0x57, 0x5A, 0x5E, 0x5F,
     0x83, 0x84, 0x85, 0x8F, 0x93, 0x9E, 0x9F, 0xA0, 0xA3, 0xA4), "other",
)  # fmt: skip

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", None: "blanks"}
_NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
DATE = "date, UTC"
"""Unit of times that are dates."""

# Plain names of columns in a header, without a unit at their end.
PLAIN: dict[str, tuple[str, ...]] = {
    "time": ("time", "timestamp", "ts", "arrival", "arrival_time", "issue_time", "start_time", "start"),
    "offset": ("offset", "address", "addr", "byte_offset", "lba", "sector", "start_lba", "block", "lbn", "file_offset"),
    "size": ("size", "length", "len", "bytes", "nbytes", "request_size", "io_size", "blocks", "sectors", "nr_sectors",
             "request_io_size"),
    "operation": ("op", "operation", "type", "rw", "opcode", "io_type", "iotype", "action", "rwbs", "op_type"),
    "device": ("device", "dev", "volume", "vol", "volume_id", "volumeid", "disk", "disk_id", "device_id", "lun", "filename"),
    "response": ("response", "response_time", "latency", "lat", "duration", "service_time"),
}  # fmt: skip
# units that names have by themselves
OWN_UNIT = {
    "lba": "sectors", "lbn": "sectors", "sector": "sectors", "start_lba": "sectors", "sectors": "sectors",
    "nr_sectors": "sectors",
    "bytes": "bytes", "nbytes": "bytes", "byte_offset": "bytes",
}  # fmt: skip
SUFFIXES = {
    "s": "s", "sec": "s", "secs": "s", "seconds": "s", "ms": "ms", "msec": "ms", "us": "us", "usec": "us",
    "microseconds": "us", "ns": "ns", "nsec": "ns", "b": "bytes", "bytes": "bytes", "sectors": "sectors",
    "kib": "KiB", "kb": "KB", "mib": "MiB", "mb": "MB", "pages": "pages",
}  # fmt: skip


class Column(NamedTuple):
    """A column of a table. name: its name, or its number from 1 as text. unit: one of `UNITS`, None for a word.

    If no column contains the operation, because it is the same for all requests, then name is "" and unit is the operation:
    one of `ALL`.
    """

    name: str
    unit: str | None

    @property
    def constant(self) -> bool:
        """Whether all requests have the same value."""
        return not self.name


def columns_of(given: str | Mapping[str, str]) -> dict[str, Column]:
    """Return the columns of a table that a caller names.

    Parameters
    ----------
    given : str or mapping of str to str
        For each of time, offset, size and operation, and optionally device and response, the name or the number of
        its column, with its unit after a colon: `"time=ts:us,offset=lba:sectors"` or `{"time": "ts:us"}`.
        A time is a number, or a date such as 2024-05-01 12:00:00.123456 in UTC, which has no unit.
        Units are s, ms, us, ns and 100ns for times (by default s), and bytes, sectors (512 bytes), pages (4,096
        bytes), KB, KiB, MB and MiB for offsets and sizes (by default bytes). An operation is a word such as R,
        write or trim, a number with the unit `0=read` or `1=read`, or a hexadecimal code with the unit `scsi`. If no
        column has it, `operation=:read` or `operation=:write` says that all requests are reads or writes.

    Returns
    -------
    dict of str to Column
        The columns.

    Raises
    ------
    InputError
        If a needed column is missing, or a name or unit is unknown.
    """
    if isinstance(given, str):
        pairs = [part.partition("=") for part in given.split(",") if part.strip()]
        if wrong := next((name for name, equals, _ in pairs if not equals), None):
            raise InputError(f"columns {shown(given)}: {wrong!r} has no =; give time=NAME:UNIT,offset=NAME:UNIT,...")
        named = [(name.strip(), rest.strip()) for name, _, rest in pairs]
    elif isinstance(given, Mapping) and all(isinstance(one, str) for pair in given.items() for one in pair):
        named = list(given.items())
    else:
        raise InputError(f"columns {shown(given)}: give a text such as time=ts:us,offset=lba:sectors, or a mapping")
    found: dict[str, Column] = {}
    for name, rest in named:
        one_of(*COLUMNS)("column", name)
        if name in found:
            raise InputError(f"columns {shown(given)}: {name} is given twice; give it once")
        found[name] = _column_of(name, rest, shown(given))
    if missing := [name for name in NEEDED if name not in found]:
        constant = ", or operation=:read if all requests are reads" * (missing[0] == "operation")
        raise InputError(f"columns {shown(given)}: {missing[0]} is missing; give {missing[0]}=NAME{constant}")
    return found


def _column_of(target: str, text: str, given: str) -> Column:
    """Return the column of `target` that a text such as "ts:us" names. given: the texts of all columns, for messages."""
    name, colon, unit = text.rpartition(":") if ":" in text else (text, "", "")
    if not name and target == "operation" and unit in ALL:
        return Column("", unit)
    if not name:
        raise InputError(f"columns {given}: {target} has no column; give {target}=NAME")
    if colon and not UNITS[target]:
        raise InputError(f"columns {given}: {target} has no unit; give {target}={name}")
    return Column(name, one_of(*UNITS[target])(f"unit of {target}", unit) if colon else DEFAULT.get(target))


def plain_columns(header: Sequence[str], sample: Sequence[str]) -> tuple[dict[str, Column], list[str]]:
    """Return the columns that the names in a header determine, and the reasons why a needed column is unclear.

    Parameters
    ----------
    header : sequence of str
        The names.
    sample : sequence of str
        The values of the first row.

    Returns
    -------
    columns : dict of str to Column
        The columns whose names are plain.
    unclear : list of str
        For each needed column that is missing, ambiguous or without a unit, one clause.
    """
    found: dict[str, Column] = {}
    unclear: list[str] = []
    for target in COLUMNS:
        fits = [(name, unit) for name, value in zip(header, sample, strict=False)
                if (unit := _unit(target, name, value)) is not None]  # fmt: skip
        if len(fits) == 1 and fits[0][1] != "?":
            name, unit = fits[0]
            found[target] = Column(name, unit or None)
        elif target in NEEDED:
            names = ", ".join(name for name, _ in fits)
            unclear.append(
                f"no name for {target}" if not fits else
                f"{target} may be {names}" if len(fits) > 1 else f"the unit of {names} is not given"
            )  # fmt: skip
    return found, unclear


def _unit(target: str, name: str, value: str) -> str | None:
    """Return the unit of a column if its name means `target`: "" for a word, "?" if it is unclear; None if it does not."""
    plain = re.sub(r"[ \[(.-]+", "_", name.strip().lower()).strip("_)]")
    base, _, suffix = plain.rpartition("_")
    own = plain in PLAIN[target]
    if not own and not (base in PLAIN[target] and suffix in SUFFIXES and SUFFIXES[suffix] in UNITS[target]):
        return None
    if not DEFAULT.get(target):
        return ""
    if not own:
        return SUFFIXES[suffix]
    if plain in OWN_UNIT:
        return OWN_UNIT[plain]
    if target in ("offset", "size") and plain not in ("block", "blocks"):
        return "bytes"
    # seconds have microseconds after the point, or ten digits before it since 1970; a date has no unit
    seconds = re.fullmatch(r"[0-9]+\.[0-9]{6,}|1[0-9]{9}\.[0-9]+|\d{4}-\d\d-\d\d.*", value)
    return "s" if target == "time" and seconds else "?"


class Table(TextFormat):
    """A table of text with the columns that the caller names, or that the names in its header determine.

    Parameters
    ----------
    columns : mapping of str to Column, optional
        The columns; by default the columns that the header determines.
    """

    name = "table"
    layout = "any separators and columns, with a header or with --columns"
    ticks_per_second = 1.0
    quoted = True

    def __init__(self, columns: Mapping[str, Column] | None = None):
        self.columns = dict(columns or {})
        self.fields: tuple[Field, ...] = ()
        self.separator = ","
        self._header = False

    def is_header(self, line: str) -> bool:
        return self._header

    def recognises(self, head: bytes) -> bool:
        lines = list(first_lines(head))
        if self.columns or len(lines) < 2:
            return bool(self.columns)
        names = _split(lines[0], _separator(lines))
        found, unclear = plain_columns(names, _split(lines[1], _separator(lines)))
        return len(unclear) <= 2 and len(found) >= 2

    def variant(self, head: bytes, name: str) -> Table:
        lines = list(first_lines(head))
        separator = _separator(lines)
        rows = [_split(line, separator) for line in lines]
        if not rows:
            raise InputError(f"{name}: the table has no row; check that the file is complete")
        columns = self.columns or determined(rows, name)
        read_from = {target: column for target, column in columns.items() if not column.constant}
        named = [column.name for column in read_from.values() if not column.name.isdecimal()]
        header = bool(named) or not all(map(_is_time, _at(rows[0], columns["time"], rows[0])))
        data = rows[1:] if header else rows
        index = {target: position_of(target, column, rows[0], header, name) for target, column in read_from.items()}
        columns = columns | {"time": _timed(columns["time"], data, index["time"], name)}
        made = Table(columns)
        made.separator, made._header, made._index = separator, header, index
        made.fields = tuple(
            _field(
                next((t for t, at in index.items() if at == i), None),
                columns,
                shortened(ascii(label)[1:-1]) if header else f"column {i + 1}",
                data,
                i,
            )
            for i, label in enumerate(rows[0])
        )
        made.ticks_per_second = 1e9 if columns["time"].unit == DATE else TIMES[columns["time"].unit or "s"]
        return made

    @property
    def _size(self) -> int | None:
        # columns of text without a use may have the same name
        return self._index["size"]

    def records(self, stream: ByteStream) -> Iterator[Records]:
        stream.notes.append(described(self.columns))
        yield from super().records(stream)

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        def of(target: str) -> Any:
            return values[self._index[target]]

        def size(target: str) -> np.ndarray:
            return of(target) * SIZES[self.columns[target].unit or "bytes"]

        device, names = of("device") if "device" in self._index else (np.zeros(len(position), np.int32), ("0",))
        response = None
        if "response" in self._index:
            response = of("response") / TIMES[self.columns["response"].unit or "s"]
        operation = self.columns["operation"]
        return Records(
            clock=of("time"),
            device=device,
            names=names,
            offset=size("offset"),
            size=size("size"),
            read=constant_read(operation, len(position)) if operation.constant else of("operation") == Operation.READ,
            position=position,
            measured_response=response,
        )


def described(columns: Mapping[str, Column]) -> str:
    """Return the interpretation of the columns of a table as one clause.

    Parameters
    ----------
    columns : mapping of str to Column
        The columns.

    Returns
    -------
    str
        The clause, such as "columns: time from ts (us), offset from lba (sectors)".
    """
    taken = ", ".join(
        f"all requests are {column.unit}s" if column.constant else
        f"{target} from {column.name}" + (f" ({column.unit})" if column.unit else "")
        for target, column in columns.items()
    )  # fmt: skip
    return f"columns: {taken}"


def constant_read(operation: Column, requests: int) -> np.ndarray:
    """Return whether each request is a read, if all requests have the same operation.

    Parameters
    ----------
    operation : Column
        The operation, with the name "" and a unit of `ALL`.
    requests : int
        Number of requests.

    Returns
    -------
    ndarray of bool, shape (request,)
        True for reads.
    """
    return np.full(requests, operation.unit == "read")


def operation_field(name: str, unit: str | None) -> Operation:
    """Return the field of an operation.

    Parameters
    ----------
    name : str
        Name of the column.
    unit : str or None
        "0=read" or "1=read" if the operation is a number, "scsi" if it is the code of a SCSI command; None if it is a
        word.

    Returns
    -------
    Operation
        The field.
    """
    if unit == SCSI:
        return Operation(
            name, read=_hexadecimal(SCSI_READS), write=_hexadecimal(SCSI_WRITES),
            skipped={word: kind for code, kind in SCSI_SKIPPED.items() for word in _hexadecimal([code])},
            allowed="the operation code of a SCSI command in hexadecimal, such as 28 or 2a",
        )  # fmt: skip
    if unit is not None:
        read = unit[0]
        return Operation(name, read=(read,), write=("1" if read == "0" else "0",))
    return Operation(name, read=READ_WORDS, write=WRITE_WORDS, skipped=SKIPPED_WORDS, allowed=ALLOWED)


def _hexadecimal(codes: Sequence[int]) -> tuple[str, ...]:
    """Return the texts that programs write for codes, with and without 0x and a leading zero."""
    return tuple(
        dict.fromkeys(f"{prefix}{code:{form}}" for code in codes for prefix in ("", "0x") for form in ("x", "02x"))
    )


def first_row(head: bytes) -> str:
    """Return the form of the first line with content of a file, for a message.

    Parameters
    ----------
    head : bytes
        The first bytes of the file.

    Returns
    -------
    str
        The clause, such as "its first line has 4 fields, separated by semicolons: '5;4096;R;512'".
    """
    lines = list(first_lines(head))
    if not lines:
        return "it has no line with content at its beginning"
    separator = _separator(lines)
    if separator == "," and "," not in lines[0]:
        separator = None
    count = len(_split(lines[0], separator))
    fields = f"{count} fields, separated by {SEPARATORS[separator]}" if count > 1 else "one field"
    return f"its first line has {fields}: '{shortened(ascii(lines[0])[1:-1], 20)}'"


def determined(rows: list[list[str]], file: str) -> dict[str, Column]:
    """Return the columns that the names in a header determine.

    Parameters
    ----------
    rows : list of list of str
        The header, and if there is one the first row.
    file : str
        Name of the file, for messages.

    Returns
    -------
    dict of str to Column
        The columns.

    Raises
    ------
    InputError
        If the names do not determine a needed column.
    """
    found, unclear = plain_columns(rows[0], rows[1] if len(rows) > 1 else [])
    if unclear:
        guess = ",".join(f"{t}={found[t].name}" + (f":{found[t].unit}" if found[t].unit else "") if t in found
                         else f"{t}=NAME" + (":UNIT" if t in DEFAULT else "") for t in NEEDED)  # fmt: skip
        raise InputError(
            f"{file}: the names in the header do not determine the columns ({'; '.join(unclear)}); name them (columns, "
            f"--columns): {guess}"
        )
    return found


def _field(target: str | None, columns: Mapping[str, Column], name: str, data: list[list[str]], at: int) -> Field:
    """Return the field of a column. target: one of `COLUMNS`; None if the column is not used."""
    if target is None:
        return Text(name)
    if target == "operation":
        return operation_field(name, columns[target].unit)
    if target == "device":
        return Word(name)
    if target in ("offset", "size"):
        return Integer(
            name, 0, (MAX_OFFSET if target == "offset" else MAX_SIZE) // SIZES[columns[target].unit or "bytes"]
        )
    if columns[target].unit == DATE:
        return Date(name)
    whole = target == "time" and all(_WHOLE.fullmatch(row[at]) for row in data if at < len(row))
    return Integer(name, 0, 2**62) if whole else Decimal(name)


def _timed(column: Column, data: list[list[str]], at: int, file: str) -> Column:
    """Return the column of the time, with the unit `DATE` if a row has a date there."""
    if not any(_DATED.match(row[at]) for row in data if at < len(row)):
        return column
    if column.unit != DEFAULT["time"]:
        raise InputError(f"{file}: column {column.name} has dates, which have no unit; give time={column.name}")
    return Column(column.name, DATE)


def _is_time(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text) or _DATED.match(text))


def position_of(target: str, column: Column, names: list[str], header: bool, file: str) -> int:
    """Return the position of a column of a table.

    Parameters
    ----------
    target : str
        What the column has, one of `COLUMNS`.
    column : Column
        The column.
    names : list of str
        Names in the header, or fields of the first row.
    header : bool
        Whether the table has a header.
    file : str
        Name of the file, for messages.

    Returns
    -------
    int
        The position, from 0.

    Raises
    ------
    InputError
        If the table does not have the column.
    """
    if column.name.isdecimal() and 1 <= int(column.name) <= len(names):
        return int(column.name) - 1
    if header and column.name in names:
        return names.index(column.name)
    known = ", ".join(names) if header else f"1 to {len(names)}"
    raise InputError(f"{file} has no column {column.name!r} for {target}; give one of {shown(known)}")


def _at(row: list[str], column: Column, names: list[str]) -> list[str]:
    at = int(column.name) - 1 if column.name.isdecimal() else -1
    return row[at : at + 1] if 0 <= at < len(row) else [""]


def _separator(lines: Sequence[str]) -> str | None:
    """Return the separator that splits the first lines into equally many fields, at least four; "," if there is none."""
    for separator in SEPARATORS:
        counts = {len(_split(line, separator)) for line in lines[:10]}
        if len(counts) == 1 and counts.pop() >= len(NEEDED):
            return separator
    return ","


def _split(line: str, separator: str | None) -> list[str]:
    try:
        return split(line, separator, quoted=True)
    except ValueError:  # a damaged line, which is reported when it is read
        return split(line, separator)


TABLE = Table()
