"""Read the public traces of cloud and virtual-desktop storage: Alibaba, Tencent and SYSTOR '17.

Each line holds one request, with fields separated by commas. A request with size 0 is skipped and counted.

Alibaba: `device_id,opcode,offset,length,timestamp`. The fields are: number of the virtual disk; R or W; offset, bytes;
length, bytes; microseconds since 1970. Source: read-me of the Alibaba block traces (2020); Li, Wang, Lee, Chen and Li,
"An in-depth analysis of cloud block storage workloads in large-scale production", IISWC 2020.

Tencent: `Timestamp,Offset,Size,IOType,VolumeID`. The fields are: whole seconds since 1970; offset and size, sectors of
512 B; 0 for a read, 1 for a write; number of the volume. Many requests have the same second. The reader spreads them
evenly over it, in the order of the file, and notes it. Source: read-me of the Tencent CBS traces (SNIA IOTTA); Zhang et
al., "OSCA", USENIX ATC 2020.

SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`. The fields are: seconds since 1970; response time, s; R or W;
number of the logical unit; offset and size, bytes. A first line names the columns. Source: Lee et al., "Understanding
storage traffic characteristics on enterprise virtual desktop infrastructure", SYSTOR 2017 (SNIA IOTTA).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.workload.trace.fields import Decimal, Integer, Operation
from storagekit.workload.trace.formats import Records, dense
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import TextFormat

__all__ = ["ALIBABA", "SYSTOR17", "TENCENT", "Alibaba", "Systor17", "Tencent", "over_seconds"]

LARGEST_NUMBER = 2**62


class Alibaba(TextFormat):
    """Block traces of Alibaba, 2020. Devices are named by the number of the virtual disk."""

    name = "alibaba"
    ticks_per_second = 1e6
    fields = (
        Integer("device_id", 0, LARGEST_NUMBER),
        Operation("opcode", read=("R",), write=("W",)),
        Integer("offset", 0, MAX_OFFSET),
        Integer("length", 0, MAX_SIZE),
        Integer("timestamp", 0, LARGEST_NUMBER),
    )
    empty = "length"

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        volume, read, offset, size, clock = values
        device, names = dense(volume, str)
        return Records(clock, device, names, offset, size, read == Operation.READ, position)


class Tencent(TextFormat):
    """Block traces of Tencent, 2018. Devices are named by the number of the volume."""

    name = "tencent"
    ticks_per_second = 1.0
    fields = (
        # later than 2001, so that a log of fio is not read as a trace of Tencent
        Integer("Timestamp", 10**9, 2**40),
        Integer("Offset", 0, MAX_OFFSET // SECTOR),
        Integer("Size", 0, MAX_SIZE // SECTOR),
        Operation("IOType", read=("0",), write=("1",)),
        Integer("VolumeID", 0, LARGEST_NUMBER),
    )
    empty = "Size"

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        clock, offset, size, read, volume = values
        device, names = dense(volume, str)
        return Records(clock, device, names, offset * SECTOR, size * SECTOR, read == Operation.READ, position)

    def records(self, stream: ByteStream) -> Iterator[Records]:
        """Yield the records with the requests of each second spread over it."""
        yield from over_seconds(super().records(stream), stream)


class Systor17(TextFormat):
    """Traces of virtual desktops, SYSTOR 2017. Devices are named by the number of the logical unit."""

    name = "systor17"
    ticks_per_second = 1.0
    fields = (
        Decimal("Timestamp"),
        Decimal("Response"),
        Operation("IOType", read=("R",), write=("W",)),
        Integer("LUN", 0, LARGEST_NUMBER),
        Integer("Offset", 0, MAX_OFFSET),
        Integer("Size", 0, MAX_SIZE),
    )
    empty = "Size"

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        clock, response, read, unit, offset, size = values
        device, names = dense(unit, str)
        return Records(
            clock, device, names, offset, size, read == Operation.READ, position, measured_response=response
        )  # fmt: skip


def over_seconds(chunks: Iterator[Records], stream: ByteStream) -> Iterator[Records]:
    """Spread the requests of each second evenly over the second, for records whose times are whole seconds.

    The requests of a second that has not ended are kept until a later second begins.

    Parameters
    ----------
    chunks : iterator of Records
        The records.
    stream : ByteStream
        The file, to which a note is added.

    Yields
    ------
    Records
        The same records in the same order, with their new times.
    """
    stream.notes.append(
        "times are whole seconds; the requests of each second are spread evenly over it, in the order of the file"
    )
    left: list[Records] = []
    for chunk in chunks:
        last = chunk.clock == chunk.clock[-1]
        first_of_last = len(last) - int(np.argmin(last[::-1])) if not last.all() else 0
        if first_of_last == 0 and (not left or left[-1].clock[-1] == chunk.clock[0]):
            left.append(chunk)
            continue
        yield from _spread([*left, _cut(chunk, slice(None, first_of_last))])
        left = [_cut(chunk, slice(first_of_last, None))]
    yield from _spread(left)


def _cut(chunk: Records, which: slice) -> Records:
    return replace(
        chunk,
        **{name: getattr(chunk, name)[which] for name in ("clock", "device", "offset", "size", "read", "position")},
    )


def _spread(parts: list[Records]) -> Iterator[Records]:
    """Spread the requests of each second evenly over the second, and yield the parts."""
    parts = [part for part in parts if len(part.clock)]
    if not parts:
        return
    clock = np.concatenate([part.clock for part in parts])
    begins = np.flatnonzero(np.diff(clock, prepend=clock[0] - 1))
    counts = np.diff(begins, append=len(clock))
    within = np.arange(len(clock)) - np.repeat(begins, counts)
    times = clock + within / np.repeat(counts, counts)
    for part, end in zip(parts, np.cumsum([len(part.clock) for part in parts]), strict=True):
        yield replace(part, clock=times[end - len(part.clock) : end])


ALIBABA = Alibaba()
TENCENT = Tencent()
SYSTOR17 = Systor17()
