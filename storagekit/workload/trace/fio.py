"""Read the latency logs of fio (`write_lat_log`, with `log_offset=1` and without `log_avg_msec`).

Each line holds one request, `time, value, direction, size, offset[, priority[, issue time]]`. The fields are: time of
the entry, ms since the start; latency, ns; 0 for a read or 1 for a write; size, bytes; offset, bytes. With
`log_issue_time=1` the last field is the issue time, ns since the start. Without this field, the arrival time is the
time of the entry minus the latency, accurate to a millisecond.

Source: fio's manual, section Log File Formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload.trace.fields import Decimal, FieldChoice, Integer, Word
from storagekit.workload.trace.formats import Records
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import TextFormat, first_lines

__all__ = ["FIO", "Fio"]

FIELDS = (
    Integer("time", 0, 2**53),
    Decimal("value", 1e15),
    FieldChoice("direction", {"0": True, "1": False}),
    Integer("size", 1, MAX_SIZE),
    Integer("offset", 0, MAX_OFFSET),
    Word("priority"),
    Integer("issue time", 0, 2**62),
)
SHORTEST = 5
# nanoseconds per unit of an entry's time
ENTRY = 1_000_000


class Fio(TextFormat):
    """Latency log of fio, with offsets. Its only device is named `0`."""

    name = "fio"
    ticks_per_second = 1e9

    def __init__(self, columns: int = SHORTEST):
        self.fields = FIELDS[:columns]

    def recognises(self, head: bytes) -> bool:
        return any(TextFormat.recognises(Fio(columns), head) for columns in range(SHORTEST, len(FIELDS) + 1))

    def records(self, stream: ByteStream) -> Iterator[Records]:
        """Yield the records. All lines must have as many fields as the first line."""
        columns = next(first_lines(stream.head), "").count(",") + 1
        if columns == SHORTEST - 1:
            raise InputError(
                f"{stream.name} has lines of {columns} fields, without offsets; log the offsets (fio: log_offset=1)"
            )
        return TextFormat.records(Fio(min(max(columns, SHORTEST), len(FIELDS))), stream)

    def convert(self, values: Sequence[np.ndarray], position: np.ndarray) -> Records:
        entry, latency, read, size, offset = values[:SHORTEST]
        issued = values[-1] if len(values) == len(FIELDS) else entry * float(ENTRY) - latency
        return Records(
            clock=issued,
            device=np.zeros(len(read), np.int32),
            names=("0",),
            offset=offset,
            size=size,
            read=read,
            position=position,
            measured_response=latency / self.ticks_per_second,
        )


FIO = Fio()
