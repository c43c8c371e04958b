"""Read the columns that `biosnoop` of BCC prints, one line for each completed request.

    TIME(s)  COMM  PID  DISK  T  SECTOR  BYTES  [P]  [QUE(ms)]  LAT(ms)

TIME is the time of the completion, in seconds since the first completion. LAT is the time from the issue to the drive to
the completion. A request arrives at TIME - LAT, so that the first arrivals are negative. QUE (option -Q), the time in the
queue of the system before the issue, and P (option -P) are not used. SECTOR counts units of 512 bytes.

T is R or W, or, in the version of libbpf-tools, the letters RWBS, as in blkparse. A request with BYTES 0 is skipped and
counted as "empty"; trims and flushes are skipped and counted if T shows them. COMM may contain blanks. The header is
skipped.

`biosnoop.bt` of bpftrace prints times in ms and no addresses. Its output is refused.

Source: tools/biosnoop.py, tools/biosnoop_example.txt and libbpf-tools/biosnoop.c of BCC; tools/biosnoop.bt of bpftrace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.workload.trace.fields import Decimal, Field, Fields, Integer, Operation, Text, Word
from storagekit.workload.trace.formats import Records
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import TextFormat, first_lines

__all__ = ["BIOSNOOP", "Biosnoop"]

LETTERS = re.compile(r"F?(R|W|DE|D|F|N|Z[A-Z]{0,2})F?A?S?M?U?")
KIND = {"D": "trim", "F": "flush", "Z": "zone", "N": "other"}


UNPLACED = re.compile(r"-?\d+", re.ASCII)


class Letters(Operation):
    """The letters of an operation: R or W, or the letters RWBS that the kernel prints."""

    def __init__(self, name: str):
        super().__init__(name, read=(), write=(), skipped=KIND)
        self.allowed = "R, W, or the letters RWBS of the kernel, such as WS"

    def value(self, text: str) -> int:
        match = LETTERS.fullmatch(text)
        if match is None:
            raise ValueError
        letter = match[1][0]
        if letter in "RW":
            return self.READ if letter == "R" else self.WRITE
        return self.READ + 1 + self.kinds.index(KIND[letter])


BASE = (
    Decimal("TIME(s)", 1e9),
    Text("COMM"),
    Integer("PID", 0, 2**32),
    Word("DISK"),
    Letters("T"),
    Integer("SECTOR", 0, MAX_OFFSET // SECTOR),
    Integer("BYTES", 0, MAX_SIZE),
)
LATENCY = Decimal("LAT(ms)", 1e12)
# -1 if libbpf-tools did not see the insertion
OPTIONAL = (Text("P"), Text("QUE(ms)"))
TITLE = [field.name for field in BASE]
SIZE = TITLE.index("BYTES")


class Biosnoop(TextFormat):
    """Lines of biosnoop of BCC, with or without the column QUE(ms). Devices are named by DISK."""

    name = "biosnoop"
    layout = "TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)"
    ticks_per_second = 1e9
    fields = (*BASE, LATENCY)
    separator = None
    empty = "BYTES"

    def variant(self, head: bytes, name: str) -> TextFormat:
        """Return the format with the columns that the header names, or that the first lines have without a header."""
        lines = list(first_lines(head))
        header = next(filter(_is_header, lines), None)
        if header is not None:
            return self._with(fields=_fields([field for field in OPTIONAL if field.name in header.split()]))
        forms = [self._with(fields=_fields(more)) for more in ((), OPTIONAL[1:], OPTIONAL[:1], OPTIONAL)]
        return next((form for form in forms if any(map(form._parses, lines))), self)

    def recognises(self, head: bytes) -> bool:
        named = any(_is_header(line) or _is_bpftrace(line) for line in first_lines(head))
        return named or super().recognises(head)

    def is_header(self, line: str) -> bool:
        return _is_header(line)

    def records(self, stream: ByteStream) -> Iterator[Records]:
        if any(map(_is_bpftrace, first_lines(stream.head))):
            raise InputError(
                f"{stream.name} is the output of biosnoop.bt of bpftrace, which prints neither sectors nor sizes; use "
                "biosnoop of BCC, or blktrace and blkparse"
            )
        stream.notes.append("arrivals are TIME - LAT, when the request is sent to the drive")
        yield from super().records(stream)

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        time, _, _, disk, operation, sector, size, *_, latency = values
        return Records(
            # whole nanoseconds, so that equal arrival times stay equal
            clock=np.rint(time * 1e9).astype(np.int64) - np.rint(latency * 1e6).astype(np.int64),
            device=disk.index,
            names=disk.names,
            offset=sector * SECTOR,
            size=size,
            read=operation == Operation.READ,
            position=position,
            measured_response=latency / 1e3,
        )

    def _parses(self, text: str) -> bool:
        # only reads and writes, because the other fields of a skipped request are not validated
        try:
            return isinstance(self._row(text), list)
        except ValueError:
            return False

    def _row(self, text: str) -> list[object] | str:
        parts = re.split(r"[ \t]+", text)
        more = len(parts) - len(self.fields)
        if more > 0:
            # the name of a process may contain blanks
            parts[1 : 2 + more] = ["_".join(parts[1 : 2 + more])]
        if len(parts) == len(self.fields) and not parts[SIZE].strip("0") and UNPLACED.fullmatch(parts[SIZE - 1]):
            # a flush has 0 bytes, and -1 or 2**64 - 1 as its sector
            parts[SIZE - 1] = "0"
        return super()._row(" ".join(parts))


def _fields(more: Sequence[Field]) -> Fields:
    return (*BASE, *more, LATENCY)


def _is_header(line: str) -> bool:
    return line.split()[: len(TITLE)] == TITLE


def _is_bpftrace(line: str) -> bool:
    names = line.split()
    return names[:1] == ["TIME(ms)"] and "COMM" in names


BIOSNOOP = Biosnoop()
