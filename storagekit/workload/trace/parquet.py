"""Read traces from Parquet files, and convert any trace to Parquet.

A file that `convert` writes has the columns `time` (s), `device`, `offset` and `size` (bytes) and `read`, and where the
trace has them `asynchronous`, `measured_response` (s) and `think` (s). The unit of each column is in the metadata of its
field. The metadata of the file under `storagekit` has the origin of the times and of the trace, as JSON. Any other
Parquet file is a table, whose columns the caller or the names determine, as in a table of text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from storagekit.core.atomic_files import replacing
from storagekit.core.errors import InputError
from storagekit.workload.trace.fields import Decimal, Field, Integer, Operation, Word, Words
from storagekit.workload.trace.formats import CHUNK, Records, TraceFormat
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE, RequestTrace
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.table import (
    DEFAULT,
    SIZES,
    TIMES,
    Column,
    constant_read,
    described,
    determined,
    operation_field,
    position_of,
)

__all__ = ["PARQUET", "Parquet", "write_parquet"]

MAGIC = b"PAR1"
KEY = b"storagekit"
UNITS = {
    "time": "s", "device": "", "offset": "bytes", "size": "bytes", "read": "", "asynchronous": "",
    "measured_response": "s", "think": "s",
}  # fmt: skip
"""Columns of a file of `convert`, with their units."""


class Parquet(TraceFormat):
    """Parquet files that `convert` writes, and any table in a Parquet file.

    Parameters
    ----------
    columns : mapping of str to Column, optional
        Columns of a table. By default, the columns of `convert`, or the columns that the names determine.
    """

    name = "parquet"
    layout = "a file of `storagekit trace convert`, or any table, with --columns"
    unit = "record"
    ticks_per_second = 1.0

    def __init__(self, columns: Mapping[str, Column] | None = None):
        self.columns = dict(columns or {})

    def recognises(self, head: bytes) -> bool:
        return head.startswith(MAGIC)

    def variant(self, head: bytes, name: str) -> Parquet:
        with _opened(name) as file:
            names, made = file.schema_arrow.names, _made(file, name)
            if self.columns or made is not None:
                columns = self.columns
            else:
                first = next(file.iter_batches(1), None)
                sample = [] if first is None else [str(column[0].as_py()) for column in first.columns]
                columns = determined([list(names), sample], name)
            columns = {
                target: column if column.constant else
                Column(names[position_of(target, column, names, True, name)], column.unit)
                for target, column in columns.items()
            }  # fmt: skip
            if "time" in columns:
                columns["time"] = _timed(columns["time"], file.schema_arrow.field(columns["time"].name).type, name)
        chosen = Parquet(columns)
        chosen.ticks_per_second = TIMES[columns["time"].unit or "s"] if columns else 1.0
        return chosen

    def records(self, stream: ByteStream) -> Iterator[Records]:
        stream.without_lines()
        with _opened(stream.name) as file:
            made = _made(file, stream.name)
            if self.columns:
                stream.notes.append(described(self.columns))
            elif made is not None:
                stream.skip(made["skipped"])
                stream.notes.extend(made["notes"])
                stream.timed = made["timed"]
            first = 1
            for batch in file.iter_batches(CHUNK):
                position = np.arange(first, first + len(batch), dtype=np.int64)
                first += len(batch)
                if not len(batch):
                    continue
                columns = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
                if self.columns:
                    records = self._of_table(columns, position, stream)
                    if len(records.position):
                        yield records
                else:
                    yield _of_convert(columns, position, stream.name, float(made["origin"] if made else 0.0))

    def _of_table(self, columns: Mapping[str, Any], position: np.ndarray, stream: ByteStream) -> Records:
        name = stream.name
        values = {
            target: _values(_field(target, column), columns[column.name], position, name)
            for target, column in self.columns.items()
            if not column.constant
        }
        operation = self.columns["operation"]
        codes = constant_read(operation, len(position)) if operation.constant else values["operation"]
        kept = codes <= Operation.READ
        if not kept.all():
            field = _field("operation", operation)
            assert isinstance(field, Operation)
            kinds = [field.kind(code) for code in codes[~kept].tolist()]
            stream.skip({kind: kinds.count(kind) for kind in set(kinds) if kind is not None})
        empty = kept & (values["size"] == 0)
        if empty.any():
            stream.skip({"empty": int(empty.sum())})
            kept &= ~empty
        device, names = values.get("device", Words(np.zeros(len(position), np.int32), ("0",))).where(kept)
        response = values.get("response")
        return Records(
            clock=values["time"][kept],
            device=device,
            names=names,
            offset=values["offset"][kept] * SIZES[self.columns["offset"].unit or "bytes"],
            size=values["size"][kept] * SIZES[self.columns["size"].unit or "bytes"],
            read=codes[kept] == Operation.READ,
            position=position[kept],
            measured_response=None
            if response is None
            else response[kept] / TIMES[self.columns["response"].unit or "s"],
        )


def _timed(column: Column, kind: Any, name: str) -> Column:
    """Return the column of the time with the unit of its type, if it contains timestamps."""
    import pyarrow

    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        raise InputError(f"{name}: column {column.name} contains text: convert it to a timestamp or a number")
    if not pyarrow.types.is_timestamp(kind):
        return column
    if column.unit not in (kind.unit, DEFAULT["time"]):
        raise InputError(f"{name}: column {column.name} has timestamps in {kind.unit}; give time={column.name}")
    return Column(column.name, kind.unit)


def _of_convert(columns: Mapping[str, Any], position: np.ndarray, name: str, origin: float) -> Records:
    """Return the records of a batch of a file that `convert` wrote."""
    fields: dict[str, Field] = {
        "time": _Time("time"),
        "device": Word("device"),
        "offset": Integer("offset", 0, MAX_OFFSET),
        "size": Integer("size", 1, MAX_SIZE),
        "measured_response": Decimal("measured_response"),
        "think": Decimal("think"),
    }
    values = {
        key: _values(fields[key], columns[key], position, name) if key in fields else _flags(columns[key], key, name)
        for key in UNITS
        if key in columns
    }
    device, names = values["device"]
    return Records(
        clock=values["time"],
        device=device,
        names=names,
        offset=values["offset"],
        size=values["size"],
        read=values["read"],
        position=position,
        asynchronous=values.get("asynchronous"),
        measured_response=values.get("measured_response"),
        think=values.get("think"),
        origin=origin,
    )


class _Time(Decimal):
    """A time relative to the first record of the original file, which may be slightly negative."""

    def __init__(self, name: str):
        super().__init__(name)
        self.allowed = "a number"

    def value(self, text: str) -> float:
        number = float(text)
        if not np.isfinite(number):
            raise ValueError
        return number

    def column(self, raw: np.ndarray) -> np.ndarray | None:
        return raw if np.isfinite(raw).all() else None


def _field(target: str, column: Column) -> Field:
    """Return the field that validates the values of a column of a table."""
    if target == "operation":
        return operation_field(column.name, column.unit)
    if target == "device":
        return Word(column.name)
    if target in ("offset", "size"):
        most = (MAX_OFFSET if target == "offset" else MAX_SIZE) // SIZES[column.unit or "bytes"]
        return Integer(column.name, 0, most)
    return Decimal(column.name, 2.0**63)


def _values(field: Field, raw: Any, position: np.ndarray, name: str) -> Any:
    """Return the validated values of a column. Raises InputError with the first record that has a fault."""
    import pyarrow

    if raw.null_count:
        at = int(np.argmax(raw.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"{name} record {position[at]} has no {field.name}; remove the record")
    try:
        if field.arrow == "words":
            text = raw if pyarrow.types.is_dictionary(raw.type) else raw.cast(pyarrow.string()).dictionary_encode()
            given: Any = Words(text.indices.to_numpy().astype(np.int32), tuple(map(str, text.dictionary.to_pylist())))
        elif field.arrow == "int64" or pyarrow.types.is_temporal(raw.type):
            given = raw.cast(pyarrow.int64()).to_numpy()
        else:
            given = raw.to_numpy() if pyarrow.types.is_integer(raw.type) else raw.cast(pyarrow.float64()).to_numpy()
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        raise InputError(
            f"{name}: column {field.name} has type {raw.type}, must be {field.allowed}; convert the column"
        ) from None
    if isinstance(given, Words) and not 0 <= given.index.min() <= given.index.max() < len(given.names):
        raise InputError(f"{name} has a damaged column {field.name}; fetch the file again, or convert it again")
    found = field.column(given)
    if found is None:
        at, text = _first_fault(field, given)
        raise InputError(
            f"{name} record {position[at]} has {field.name} {text!r}, must be {field.allowed}; correct or remove it"
        )
    return found


def _first_fault(field: Field, given: Any) -> tuple[int, str]:
    """Return the index and the text of the first value that a field does not allow."""
    texts = [given.names[i] for i in given.index] if isinstance(given, Words) else map(str, given.tolist())
    for at, text in enumerate(texts):
        try:
            field.value(text)
        except ValueError:
            return at, text[:40]
    raise AssertionError(f"every value of {field.name} is allowed")


def _flags(raw: Any, key: str, name: str) -> np.ndarray:
    import pyarrow

    if raw.null_count or not pyarrow.types.is_boolean(raw.type):
        raise InputError(f"{name}: column {key} has type {raw.type}, must be true or false; convert the trace again")
    return raw.to_numpy(zero_copy_only=False)


@contextmanager
def _opened(name: str) -> Iterator[Any]:
    """Open a file. An error of pyarrow in the block raises InputError."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(name) as file:
            named = "device" in file.schema_arrow.names
        # names of devices as numbers, which is faster
        with ParquetFile(name, read_dictionary=["device"] if named else None) as file:
            yield file
    except (ArrowException, OSError, UnicodeDecodeError) as fault:
        raise _damaged(name, fault) from None


def _damaged(name: str, fault: Exception) -> InputError:
    reason = " ".join(str(fault).split())[:120]
    return InputError(f"{name} cannot be read as Parquet: {reason}; fetch the file again, or convert it again")


def _made(file: Any, name: str) -> dict[str, Any] | None:
    """Return what `convert` wrote in the metadata of a file, or None if another program wrote the file."""
    text = (file.metadata.metadata or {}).get(KEY)
    if text is None:
        return None
    try:
        made = json.loads(text)
        found = {
            "origin": float(made["origin"]),
            "skipped": {str(kind): int(count) for kind, count in made["skipped"].items()},
            "notes": [str(note) for note in made["notes"]],
            "timed": bool(made["timed"]),
        }
        missing = [key for key in ("time", "device", "offset", "size", "read") if key not in file.schema_arrow.names]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{name} has damaged metadata; convert the trace again") from None
    if missing:
        raise InputError(f"{name} has no column {missing[0]}; convert the trace again")
    return found


def write_parquet(parts: Iterator[RequestTrace], path: str | os.PathLike[str]) -> RequestTrace:
    """Write the chunks of a trace to a Parquet file, in constant memory.

    Parameters
    ----------
    parts : iterator of RequestTrace
        The chunks, as `chunks` yields them.
    path : str or path
        The file. It is replaced when all chunks are written.

    Returns
    -------
    RequestTrace
        The last chunk, whose `source` has the counts and notes of the whole file.

    Raises
    ------
    InputError
        If the chunks raise it, or there is no chunk.
    """
    from pyarrow.parquet import ParquetWriter

    first = next(parts, None)
    if first is None:
        raise InputError("no request to convert; give a trace with requests")
    last = first
    with replacing(Path(path)) as temporary, ParquetWriter(temporary, _schema(first), compression="zstd") as writer:
        writer.write_batch(_batch(first))
        for last in parts:
            writer.write_batch(_batch(last))
        writer.add_key_value_metadata({KEY.decode(): json.dumps(_described(first, last))})
    return last


def _described(first: RequestTrace, last: RequestTrace) -> dict[str, Any]:
    return {
        "origin": first.origin,
        "source": last.source.name,
        "format": last.source.format,
        "skipped": dict(last.source.skipped),
        "notes": list(last.source.notes),
        "timed": last.source.timed,
    }


def _schema(trace: RequestTrace):
    import pyarrow

    types = {"time": "double", "device": "string", "offset": "int64", "size": "int64", "read": "bool",
             "asynchronous": "bool", "measured_response": "double", "think": "double"}  # fmt: skip
    return pyarrow.schema(
        [
            pyarrow.field(name, getattr(pyarrow, "float64" if types[name] == "double" else
                          "bool_" if types[name] == "bool" else types[name])(),
                          metadata={"unit": UNITS[name]} if UNITS[name] else None)
            for name in UNITS if getattr(trace, name) is not None
        ]
    )  # fmt: skip


def _batch(trace: RequestTrace):
    import pyarrow

    schema = _schema(trace)
    columns = [
        pyarrow.DictionaryArray.from_arrays(trace.device, list(trace.devices)).cast(pyarrow.string())
        if name == "device"
        else pyarrow.array(getattr(trace, name))
        for name in schema.names
    ]
    return pyarrow.record_batch(columns, schema=schema)


PARQUET = Parquet()
