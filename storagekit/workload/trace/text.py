"""Read text traces with one record per line. Most blocks of lines are read as arrays, unusual lines one by one.

pyarrow's CSV reader parses a block of about 65,536 lines, and its columns are validated as arrays. A block with a
comment, a blank line, a fault or anything else unusual is halved until few lines are left, and these are read line by
line. Reading line by line defines the format: it accepts everything that pyarrow accepts, and an error names the line
with the fault. Blank lines are skipped, and so is everything on a line after '#'. The last line may lack its line end;
the reader of the file then warns.
"""

from __future__ import annotations

import copy
import csv
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload.trace.fields import Fields, Operation, Words
from storagekit.workload.trace.formats import Records, TraceFormat
from storagekit.workload.trace.streams import ByteStream

__all__ = ["Columns", "TextFormat", "blocks", "clip", "first_lines", "shortened", "split"]

BLOCK = 2 * 1024 * 1024  # bytes; about 65,536 lines of 32 bytes
MAX_LINE = 65_536  # bytes, with its line end
LIST = 120  # characters of a list of fields in a message
FEW = 256
"""Lines of a block that is not halved further."""
BLANK = b" \t\r\n"
NEWLINE = ord("\n")
PLAIN = bytes(range(32, 127)) + b"\t\r\n"  # bytes that the fast pass accepts, except '#'
MARK = b"\xef\xbb\xbf"  # byte-order mark, which some programs write before UTF-8 text
EMPTY = re.compile(rb"(?:[ \t\r]*+(?:#[^\n]*+)?+\n)*+")
"""Whole lines that are blank or a comment."""


class TextBlock(NamedTuple):
    """Whole lines of a file. first: number of the first line, from 1. cut: whether the last line lacks its line end."""

    first: int
    data: bytes
    cut: bool

    @property
    def lines(self) -> int:
        return self.data.count(b"\n") + self.cut

    def halves(self) -> tuple[TextBlock, TextBlock]:
        """Return the first and the second half of a block of at least two lines."""
        ends = np.flatnonzero(np.frombuffer(self.data, np.uint8) == NEWLINE) + 1
        middle = (len(ends) + self.cut) // 2
        at = int(ends[middle - 1])
        return (
            TextBlock(self.first, self.data[:at], False),
            TextBlock(self.first + middle, self.data[at:], self.cut),
        )


class Columns(NamedTuple):
    """The columns of a block, one for each field, and the line number of each record: [record] int64."""

    values: list[Any]
    position: np.ndarray


def first_lines(head: bytes) -> Iterator[str]:
    """Yield the first lines of a file that are not empty, without comments.

    They are at most 20 lines in 4 KiB, from the first line with content. Blank lines and comments before it, such as a long
    description of the trace, do not count.
    """
    text = head.removeprefix(MARK)
    begin = _after_empty(text)
    yield from filter(None, map(_bare, text[begin : begin + 4096].split(b"\n")[:20]))


class TextFormat(TraceFormat):
    """Base class of formats with one record per line.

    A line has the fields `fields` in this order, separated by `separator` (None for blanks). A request with the value 0
    in the field named `empty` transfers nothing; it is skipped, and counted as "empty". If `quoted` is true, fields may
    stand in double quotes, and then contain separators.
    """

    unit = "line"
    fields: Fields
    separator: str | None = ","
    empty: str | None = None
    quoted = False

    @property
    def layout(self) -> str:
        return (self.separator or " ").join(field.name for field in self.fields)

    @abstractmethod
    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        """Return the records that the columns contain.

        values: one column for each field, in the units of the file. Columns of `Operation` contain only
        `Operation.READ` and `Operation.WRITE`.
        """

    def is_header(self, line: str) -> bool:
        """Return whether the first line of a file names the fields; such a line is skipped."""
        given = [part.strip(" \t").lower() for part in line.split(self.separator)]
        return given == [field.name.lower() for field in self.fields]

    def variant(self, head: bytes, name: str) -> TextFormat:
        first = next(first_lines(head), "")
        if self.separator == "," and "," not in first and "\t" in first:
            return self._with(separator="\t")
        return self

    def _with(self, **attributes: object) -> TextFormat:
        changed = copy.copy(self)
        for name, value in attributes.items():
            setattr(changed, name, value)
        return changed

    def recognises(self, head: bytes) -> bool:
        # A damaged first line must not hide the format, or its number could not be reported.
        return any(map(self.variant(head, "")._parses, first_lines(head)))

    def records(self, stream: ByteStream) -> Iterator[Records]:
        begun = False
        for block in blocks(stream):
            if not begun:
                block, begun = self._body(block)
            for part in self._columns(block, stream):
                columns = self._transfers(part, stream)
                if len(columns.position):
                    yield self.convert(columns.values, columns.position)

    def _body(self, block: TextBlock) -> tuple[TextBlock, bool]:
        """Return a block without its first lines without content and a header after them, and whether it has content."""
        data = block.data.removeprefix(MARK) if block.first == 1 else block.data
        at = _after_empty(data)
        end = data.find(b"\n", at) + 1 or len(data)
        text = _bare(data[at:end].rstrip(b"\n"))
        if text and self.is_header(text):
            at = end
        rest = TextBlock(block.first + data.count(b"\n", 0, at), data[at:], block.cut and at < len(data))
        return rest, bool(text)

    def _transfers(self, columns: Columns, stream: ByteStream) -> Columns:
        """Return the columns without the requests that transfer nothing."""
        at = self._size
        if at is None or not len(columns.position) or columns.values[at].min() > 0:
            return columns
        kept = columns.values[at] > 0
        stream.skip({"empty": len(kept) - int(kept.sum())})
        return Columns([_taken(one, kept) for one in columns.values], columns.position[kept])

    def _columns(self, block: TextBlock, stream: ByteStream) -> Iterator[Columns]:
        """Yield the columns of a block in file order, in one or several parts."""
        if not block.data.strip(BLANK):
            return
        found = self._fast(block, stream)
        if found is not None:
            yield found
        elif block.lines > FEW:
            for half in block.halves():
                yield from self._columns(half, stream)
        else:
            columns, fault = self._slow(block, stream)
            yield columns
            if fault is not None:
                raise fault from None

    def _fast(self, block: TextBlock, stream: ByteStream) -> Columns | None:
        """Return the columns of a block, or None if the block must be read line by line."""
        if not block.data or b"#" in block.data or block.data.translate(None, PLAIN):
            return None
        if self.quoted and b'"' in block.data:
            return None
        raw = _parsed(block.data, self.fields, self.separator)
        lines = block.lines
        if raw is None or len(_numbers(raw[0])) != lines:
            return None
        position = np.arange(block.first, block.first + lines, dtype=np.int64)
        skipped: dict[str, int] = {}
        at = self._operation
        if at is not None:
            codes = self.fields[at].column(raw[at])
            if codes is None:
                return None
            if codes.max() > Operation.READ:
                skipped = self._kinds(codes.tolist())
                kept = codes <= Operation.READ
                raw, position = [_taken(one, kept) for one in raw], position[kept]
        columns = [field.column(one) for field, one in zip(self.fields, raw, strict=True)] if len(position) else []
        if any(column is None for column in columns):
            return None
        stream.skip(skipped)
        return Columns(columns, position)

    def _slow(self, block: TextBlock, stream: ByteStream) -> tuple[Columns, InputError | None]:
        """Return the columns up to the first line with a fault that is not left out, and this fault."""
        rows: list[list[object]] = []
        position: list[int] = []
        fault = None
        lines = block.data.split(b"\n")
        for number, line in enumerate(lines, block.first):
            text = _bare(line) if line else ""
            if not text:
                continue
            try:
                row = self._row(text)
            except ValueError as error:
                ends = block.cut and number == block.first + len(lines) - 1
                try:
                    stream.damaged(self._complaint(stream.name, number, str(error), ends))
                except InputError as wrong:
                    fault = wrong
                    break
                continue
            if isinstance(row, str):
                stream.skip({row: 1})
                continue
            rows.append(row)
            position.append(number)
        columns = [
            field.collect([row[i] for row in rows]) for i, field in enumerate(self.fields)
        ]  # fmt: skip
        return Columns(columns, np.array(position, np.int64)), fault

    def _row(self, text: str) -> list[object] | str:
        """Return the values of one line, or the kind of a request that is neither a read nor a write.

        Raises ValueError, which names the field with a fault and the reason.
        """
        parts = self._parts(text)
        at = self._operation
        if at is not None:
            field = self.fields[at]
            assert isinstance(field, Operation)
            try:
                kind = field.kind(field.value(parts[at]))
            except ValueError:
                kind = None
            if kind is not None:
                return kind
        return [self._value(field, part) for field, part in zip(self.fields, parts, strict=True)]

    def _parts(self, text: str) -> list[str]:
        """Return the texts of the fields of one line. Raises ValueError with the reason if their number is wrong."""
        if not (text.isascii() and text.replace("\t", " ").isprintable()):
            raise ValueError(f"has {clip(text)}, must be printable ASCII")
        parts = split(text, self.separator, self.quoted)
        if len(parts) != len(self.fields):
            names = shortened(", ".join(field.name for field in self.fields), LIST)
            raise ValueError(
                f"has {len(parts)} field{'s' * (len(parts) != 1)} ({clip(text)}), must have {len(self.fields)}: {names}"
            )
        return parts

    @property
    def _size(self) -> int | None:
        """Number of the field with the size, if a size of 0 is allowed."""
        return next((i for i, field in enumerate(self.fields) if field.name == self.empty), None)

    @property
    def _operation(self) -> int | None:
        """Number of the field with the operation, if some operations are neither reads nor writes."""
        return next(
            (i for i, field in enumerate(self.fields) if isinstance(field, Operation) and field.kinds), None
        )  # fmt: skip

    def _kinds(self, codes: list[int]) -> dict[str, int]:
        """Return the number of requests of each kind that is neither a read nor a write."""
        at = self._operation
        assert at is not None
        field = self.fields[at]
        assert isinstance(field, Operation)
        counts = {field.kind(code): codes.count(code) for code in set(codes)}
        return {kind: count for kind, count in counts.items() if kind is not None}

    @staticmethod
    def _value(field, text: str) -> object:
        try:
            return field.value(text)
        except ValueError:
            raise ValueError(f"has {field.name} {clip(text)}, must be {field.allowed}") from None

    def _parses(self, text: str) -> bool:
        """Return whether all fields of a line are allowed, including the fields of a request that is skipped."""
        try:
            for field, part in zip(self.fields, self._parts(text), strict=True):
                self._value(field, part)
        except ValueError:
            return False
        return True

    def _complaint(self, name: str, number: int, fault: str, ends: bool) -> str:
        if ends:
            return (
                f"{name} line {number} {fault}; the file ends in the middle of this line; fetch it again, or remove "
                "the line"
            )
        return (
            f"{name} line {number} {fault}; correct or remove the line, allow damaged lines (skip_bad), or give "
            f"another format (it was read as {self.name})"
        )


def split(text: str, separator: str | None, quoted: bool = False) -> list[str]:
    """Return the fields of a line without the blanks around them.

    Parameters
    ----------
    text : str
        The line.
    separator : str or None
        The separator; None for blanks.
    quoted : bool
        Whether fields may stand in double quotes; by default false.

    Returns
    -------
    list of str
        The fields.

    Raises
    ------
    ValueError
        If a quote has no end, or stands within a field.
    """
    if quoted and separator is not None and '"' in text:
        try:
            return [part.strip() for part in next(csv.reader([text], delimiter=separator, strict=True))]
        except csv.Error:
            raise ValueError(f"has a wrong quote ({clip(text)}), must have a pair around a whole field") from None
    return [part.strip() for part in text.split(separator)]


def _parsed(data: bytes, fields: Fields, separator: str | None) -> list[Any] | None:
    """Return the columns that pyarrow parses in a block: arrays of numbers, and `Words`; None if it refuses them."""
    import pyarrow

    if separator is None:
        data = re.sub(rb"(?m)^ | (?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", data))
    types = {"int64": pyarrow.int64(), "double": pyarrow.float64()}
    words = pyarrow.dictionary(pyarrow.int32(), pyarrow.binary())
    columns = {str(i): types.get(field.arrow, words) for i, field in enumerate(fields)}
    try:
        table = _table(data, columns, separator or " ")
        if b"0x" in data or b"0X" in data:
            # pyarrow reads 0x10 as the integer 16, but not as a real number
            _table(
                data, {n: types["double"] if t == types["int64"] else t for n, t in columns.items()}, separator or " "
            )
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        return None
    return [_column(column.combine_chunks()) for column in table.columns]


def _table(data: bytes, columns: dict[str, Any], separator: str):
    import pyarrow
    from pyarrow import csv as tables

    return tables.read_csv(
        pyarrow.BufferReader(data),
        # one part, so that a column of words has one dictionary
        tables.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(columns)),
        tables.ParseOptions(delimiter=separator, quote_char=False, ignore_empty_lines=False),
        tables.ConvertOptions(column_types=columns, null_values=[], strings_can_be_null=False, check_utf8=False),
    )


def _column(column: Any) -> Any:
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        return Words(
            column.indices.to_numpy(), tuple(word.decode("latin-1") for word in column.dictionary.to_pylist())
        )  # fmt: skip
    return column.to_numpy()


def _numbers(column: Any) -> np.ndarray:
    return column.index if isinstance(column, Words) else column


def _taken(column: Any, kept: np.ndarray) -> Any:
    return column.where(kept) if isinstance(column, Words) else column[kept]


def _after_empty(data: bytes) -> int:
    """Return the number of bytes of the first lines that are blank or a comment."""
    empty = EMPTY.match(data)
    assert empty is not None  # it matches no line too
    return empty.end()


def _bare(line: bytes) -> str:
    """Return a line without comment and surrounding blanks, decoded as latin-1, in which any byte is a character."""
    return line.partition(b"#")[0].decode("latin-1").strip(" \t\r")


def clip(text: str) -> str:
    """Return the beginning of a field or a line for a message, quoted and escaped."""
    return repr(shortened(text))


def shortened(text: str, most: int = 40) -> str:
    """Return a text, or its beginning if it has more than `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def blocks(stream: ByteStream) -> Iterator[TextBlock]:
    """Yield a file in blocks of whole lines, without blocks that are entirely blank.

    Parameters
    ----------
    stream : ByteStream
        The file. If its last line lacks a line end, `stream.unfinished` is set to the number of this line after the
        last block.

    Yields
    ------
    TextBlock
        About 2 MiB of lines.

    Raises
    ------
    InputError
        If a line is longer than 65,536 bytes, so that the file is not text.
    """
    first, rest = 1, b""
    while data := stream.read(BLOCK):
        data = rest + data
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE) + 1
        begins = np.concatenate([[0], ends])
        long = np.flatnonzero(np.diff(begins, append=len(data)) > MAX_LINE)
        lines = int(long[0]) if len(long) else len(ends)
        whole, rest = data[: begins[lines]], data[begins[lines] :]
        if whole.strip(BLANK):
            yield TextBlock(first, whole, False)
        first += lines
        if len(long):
            raise InputError(
                f"{stream.name} line {first} is longer than {MAX_LINE} bytes; this is not a text trace; give its "
                "format, or convert it"
            )
    if rest.strip(BLANK):
        yield TextBlock(first, rest, True)
        stream.unfinished = first
