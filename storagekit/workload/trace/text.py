"""Text traces, one record a line: whole blocks fast, and line by line where a block is unusual.

A block of about 65,536 lines goes to numpy.loadtxt and its columns are checked as arrays. A block
in which anything at all is out of the ordinary (a comment, a blank line, a fault) is read again
line by line: that pass is the definition, accepts whatever the fast one does, and names the line.
Blank lines, and everything on a line after '#', are skipped. The last line may lack its end, of which
the reader of the file warns.
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
MAX_LINE = 65_536  # bytes, with its end
BLANK = b" \t\r\n"
NEWLINE = ord("\n")
PLAIN = bytes(range(32, 127)) + b"\t\r\n"  # what the fast pass takes; '#' it leaves alone


class TextBlock(NamedTuple):
    """Whole lines of a file, the first of them line `first` (from 1); `cut` if unterminated."""

    first: int
    data: bytes
    cut: bool


def first_lines(head: bytes) -> Iterator[str]:
    """What a file's first lines say, of 20 those that say anything."""
    yield from filter(None, map(_bare, head[:4096].split(b"\n")[:20]))


class TextFormat(TraceFormat):
    """A format of one record a line: `fields` in order, parted by `separator` (None: blanks)."""

    unit = "line"
    fields: Fields
    separator: str | None = ","

    @abstractmethod
    def convert(self, values: Sequence[np.ndarray], position: np.ndarray) -> Records:
        """Records from the columns, one array a field, in the file's own units."""

    def is_header(self, line: str) -> bool:
        """Whether the first line of a file names the columns, and is to be skipped."""
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
        """Columns and line numbers, or None where the block needs the other pass."""
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
            warnings.simplefilter("error")  # some numpy only warn of 1.5 in a column of integers
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
        """The values of one line; raises ValueError saying which field is wrong and why."""
        if not (text.isascii() and text.replace("\t", " ").isprintable()):
            raise ValueError(f"holds {clip(text)}, must be printable ASCII")
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
                f"{name} line {number} {fault}; the file ends in the middle of this line, fetch "
                f"it again or remove the line"
            )
        return (
            f"{name} line {number} {fault}; correct or remove the line, or name another format "
            f"(it was read as {self.name})"
        )


def _bare(line: bytes) -> str:
    """A line without comment and surrounding blanks; latin-1, so that any byte is a character."""
    return line.partition(b"#")[0].decode("latin-1").strip(" \t\r")


def clip(text: str) -> str:
    """What of a field or a line goes into a message: its beginning, in quotes, nothing of it raw."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def blocks(stream: ByteStream) -> Iterator[TextBlock]:
    """The file in blocks of whole lines, without those that are blank throughout.

    A last line without its end, once it was taken, is `stream.unfinished`. Raises InputError at a line too
    long to be text.
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
                f"{stream.name} line {first} is longer than {MAX_LINE} bytes; this is not a text "
                "trace, name its format or convert it"
            )
    if rest.strip(BLANK):
        yield TextBlock(first, rest, True)
        stream.unfinished = first
