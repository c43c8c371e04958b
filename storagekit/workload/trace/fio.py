"""Read the latency logs of fio (`write_lat_log`, with `log_offset=1` and without `log_avg_msec`).

Each line holds one request, `time, value, direction, size, offset[, priority[, issue time]]`. The fields are: time of
the entry, ms since the start; latency, ns; 0 for a read, 1 for a write or 2 for a trim; size, bytes; offset, bytes.
With `log_issue_time=1` the last field is the issue time, ns since the start. Without this field, the arrival time is
the time of the entry minus the latency, accurate to a millisecond. Trims are skipped and counted.

Other logs of fio have the same lines, but not one line a request: logs of bandwidth, IOPS and averaged latency have one
line for each interval, and a log without `log_offset=1` has the priority in the place of the offset. In these logs the
field of the offset is constant, and they are refused. So are logs that fio names as logs of another kind, such as
`job_slat.1.log`: `bw`, `iops`, `slat` and `hist`.

Source: fio's manual, section Log File Formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload.trace.fields import Decimal, Integer, Operation, Word
from storagekit.workload.trace.formats import Records
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import TextFormat, first_lines

__all__ = ["FIO", "Fio"]

FIELDS = (
    Integer("time", 0, 2**53),
    Decimal("value", 1e15),
    Operation("direction", read=("0",), write=("1",), skipped={"2": "trim"}),
    Integer("size", 1, MAX_SIZE),
    Integer("offset", 0, MAX_OFFSET),
    Word("priority"),
    Integer("issue time", 0, 2**62),
)
SHORTEST = 5
# nanoseconds per unit of an entry's time
ENTRY = 1_000_000
KIND = re.compile(r"_(bw|iops|slat|hist)\.\d+\.log")
KINDS = {"bw": "bandwidth", "iops": "IOPS", "slat": "submission latencies", "hist": "histograms"}
FEWEST = 5
"""Lines from which a constant field is taken as a sign of another kind of log."""


class Fio(TextFormat):
    """Latency log of fio, with offsets. Its only device is named `0`."""

    name = "fio"
    ticks_per_second = 1e9
    fields = FIELDS[:SHORTEST]

    def variant(self, head: bytes, name: str) -> TextFormat:
        """Return the format with as many fields as the first line has. All lines must have as many.

        Raises InputError if fio names the file as a log of another kind.
        """
        kind = KIND.search(name)
        if kind is not None:
            raise InputError(
                f"{name}: by its name, this file is a log of {KINDS[kind[1]]}; give the log of clat or lat, which has a "
                "latency for each request (fio: write_lat_log, log_offset=1), or rename the file"
            )
        columns = next(first_lines(head), "").count(",") + 1
        return self._with(fields=FIELDS[: min(max(columns, SHORTEST), len(FIELDS))])

    def recognises(self, head: bytes) -> bool:
        lines = list(first_lines(head))
        if lines and all(_is_averaged(line) for line in lines):
            return True
        kinds = [self._with(fields=FIELDS[:columns]) for columns in range(SHORTEST, len(FIELDS) + 1)]
        return any(kind._parses(line) for kind in kinds for line in lines)

    def records(self, stream: ByteStream) -> Iterator[Records]:
        if next(first_lines(stream.head), "").count(",") + 1 == SHORTEST - 1:
            raise InputError(
                f"{stream.name} has lines of {SHORTEST - 1} fields, without offsets; log the offsets (fio: "
                "log_offset=1)"
            )
        self._check_kind(stream)
        yield from super().records(stream)

    def _check_kind(self, stream: ByteStream) -> None:
        """Raise InputError if the lines at the start of the file show another kind of log."""
        lines = stream.head.split(b"\n")
        rows = [row for row in map(_numbers, lines[: len(lines) - 1]) if row is not None]
        if len(rows) < FEWEST or len({row[4] for row in rows}) > 1:
            return
        steps = np.concatenate([np.diff([row[0] for row in rows if row[2] == way]) for way in {row[2] for row in rows}])
        # intervals end within a few milliseconds of their time
        if (
            len(steps)
            and steps.min() > 0
            and steps.max() - steps.min() <= max(2, 0.02 * steps.mean())
            and steps.mean() >= 10
        ):
            raise InputError(
                f"{stream.name} has a line every {np.mean(steps):.0f} ms, with offset {rows[0][4]:.0f}: it is a log of "
                "bandwidth, IOPS or mean latency of intervals, not of each request; use write_lat_log with log_offset=1 and "
                "without log_avg_msec"
            )
        raise InputError(
            f"{stream.name}: all lines have offset {rows[0][4]:.0f}, which may be the priority, because a log without "
            "offsets has the priority in this field; log the offsets (fio: log_offset=1)"
        )

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        entry, latency, read, size, offset = values[:SHORTEST]
        issued = values[-1] if len(values) == len(FIELDS) else entry * float(ENTRY) - latency
        return Records(
            clock=issued,
            device=np.zeros(len(read), np.int32),
            names=("0",),
            offset=offset,
            size=size,
            read=read == Operation.READ,
            position=position,
            measured_response=latency / self.ticks_per_second,
        )


def _is_averaged(line: str) -> bool:
    """Return whether a line has the fields of an averaged log, whose size is 0, or of a log without offsets."""
    parts = [part.strip() for part in line.split(",")]
    if not (SHORTEST - 1 <= len(parts) <= len(FIELDS) and all(map(str.isdecimal, parts[:4]))):
        return False
    return int(parts[2]) <= 2 and (len(parts) < SHORTEST or int(parts[3]) == 0)


def _numbers(line: bytes) -> list[float] | None:
    """Return the first fields of a line as numbers, or None if it does not have them."""
    try:
        row = [float(part) for part in line.split(b",")[:SHORTEST]]
    except ValueError:
        return None
    return row if len(row) == SHORTEST and np.isfinite(row).all() else None


FIO = Fio()
