"""Read text traces with one record per line. Most blocks of lines are read as arrays, unusual blocks line by line.

numpy.loadtxt reads a block of about 65,536 lines, and its columns are validated as arrays. A block with a comment, a
blank line, a fault or anything else unusual is read again line by line. Reading line by line defines the format: it
accepts everything that loadtxt accepts, and an error names the line with the fault. Blank lines are skipped, and so is
everything on a line after '#'. The last line may lack its line end; the reader of the file then warns.
"""

from __future__ import annotations

import io
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload.trace.fields import Field, Fields
from storagekit.workload.trace.formats import Records, TraceFormat
from storagekit.workload.trace.streams import ByteStream

__all__ = ["TextFormat", "blocks", "clip", "first_lines"]

BLOCK = 2 * 1024 * 1024  # bytes; about 65,536 lines of 32 bytes
MAX_LINE = 65_536  # bytes, with its line end
BLANK = b" \t\r\n"
NEWLINE = ord("\n")
PLAIN = bytes(range(32, 127)) + b"\t\r\n"  # bytes that the fast pass accepts, except '#'


class TextBlock(NamedTuple):
    """Whole lines of a file. first: number of the first line, from 1. cut: whether the last line lacks its line end."""

    first: int
    data: bytes
    cut: bool


def first_lines(head: bytes) -> Iterator[str]:
    """Yield those of the first 20 lines of a file that are not empty, without comments."""
    yield from filter(None, map(_bare, head[:4096].split(b"\n")[:20]))


class TextFormat(TraceFormat):
    """Base class of formats with one record per line.

    A line has the fields `fields` in this order, separated by `separator` (None for blanks).
    """

    unit = "line"
    fields: Fields
    separator: str | None = ","

    @abstractmethod
    def convert(self, values: Sequence[np.ndarray], position: np.ndarray) -> Records:
        """Return the records that the columns contain. values: one array for each field, in the units of the file."""

    def is_header(self, line: str) -> bool:
        """Return whether the first line of a file names the columns; such a line is skipped."""
        return False

    def recognises(self, head: bytes) -> bool:
        # A damaged first line must not hide the format, or its number could not be reported.
        return any(self._parses(text) for text in first_lines(head))

    def records(self, stream: ByteStream) -> Iterator[Records]:
        for block in blocks(stream):
            columns, position = self._fast(block) or self._slow(block, stream.name)
            if len(position):
                yield self.convert(columns, position)

    def _fast(self, block: TextBlock) -> tuple[list[np.ndarray], np.ndarray] | None:
        """Return the columns and line numbers of a block, or None if the block must be read line by line."""
        if b"#" in block.data or block.data.translate(None, PLAIN):
            return None
        table = self._load(block.data.decode("ascii"))
        lines = block.data.count(b"\n") + block.cut
        if table is None or len(table) != lines:
            return None
        columns = [field.column(table[field.name]) for field in self.fields]
        if any(column is None for column in columns):
            return None
        position = np.arange(block.first, block.first + lines, dtype=np.int64)
        return [column for column in columns if column is not None], position

    def _load(self, text: str) -> np.ndarray | None:
        layout = np.dtype([(field.name, field.dtype) for field in self.fields])
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # some NumPy versions only warn about 1.5 in a column of integers
            try:
                return np.loadtxt(io.StringIO(text), layout, comments=None, delimiter=self.separator, ndmin=1)
            except (ValueError, OverflowError, Warning):
                return None

    def _slow(self, block: TextBlock, name: str) -> tuple[list[np.ndarray], np.ndarray]:
        rows: list[list[object]] = []
        position: list[int] = []
        lines = block.data.split(b"\n")
        for number, line in enumerate(lines, block.first):
            text = _bare(line) if line else ""
            if not text or (number == 1 and self.is_header(text)):
                continue
            try:
                rows.append(self._row(text))
            except ValueError as error:
                ends = block.cut and number == block.first + len(lines) - 1
                raise InputError(self._complaint(name, number, str(error), ends)) from None
            position.append(number)
        columns = [
            field.collect([row[i] for row in rows]) for i, field in enumerate(self.fields)
        ]  # fmt: skip
        return columns, np.array(position, np.int64)

    def _row(self, text: str) -> list[object]:
        """Return the values of one line. Raises ValueError, which names the field with a fault and the reason."""
        if not (text.isascii() and text.replace("\t", " ").isprintable()):
            raise ValueError(f"has {clip(text)}, must be printable ASCII")
        parts = text.split(self.separator)
        if len(parts) != len(self.fields):
            names = ", ".join(field.name for field in self.fields)
            raise ValueError(
                f"has {len(parts)} field{'s' * (len(parts) != 1)} ({clip(text)}), must have {len(self.fields)}: {names}"
            )
        return [self._value(f, part.strip()) for f, part in zip(self.fields, parts, strict=True)]

    @staticmethod
    def _value(field: Field, text: str) -> object:
        try:
            return field.value(text)
        except ValueError:
            raise ValueError(f"has {field.name} {clip(text)}, must be {field.allowed}") from None

    def _parses(self, text: str) -> bool:
        try:
            self._row(text)
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
            f"{name} line {number} {fault}; correct or remove the line, or give another format (it was read as "
            f"{self.name})"
        )


def _bare(line: bytes) -> str:
    """Return a line without comment and surrounding blanks, decoded as latin-1, in which any byte is a character."""
    return line.partition(b"#")[0].decode("latin-1").strip(" \t\r")


def clip(text: str) -> str:
    """Return the beginning of a field or a line for a message, quoted and escaped."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


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
