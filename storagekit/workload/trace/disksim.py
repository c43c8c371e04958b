"""DiskSim's two text formats: its default `ascii` request stream, and `validate`.

ascii: `arrival device block blocks flags`, ms, number, 512 B blocks, hexadecimal flags whose bit 0
is set for a read. validate: `R|W category block blocks service think`, the times in microseconds,
with one request outstanding: a line's think time runs from its completion to the next arrival.
Source: Bucy, Schindler, Schlosser and Ganger, DiskSim 4.0 reference manual, CMU-PDL-08-101, and
the scanf formats and arrival rule of its src/disksim_iotrace.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from storagekit.workload.trace.fields import Decimal, FieldChoice, Hexadecimal, Integer, Word
from storagekit.workload.trace.formats import Records, dense
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import TextFormat

__all__ = ["DISKSIM", "DISKSIM_VALIDATE", "Disksim", "DisksimValidate"]

BLOCK = 512  # bytes
READ = 0x1  # flag


class Disksim(TextFormat):
    """DiskSim ascii; devices are named by their number."""

    name = "disksim"
    separator = None
    ticks_per_second = 1e3
    fields = (
        Decimal("arrival"),
        Integer("device", 0, 2**31 - 1),
        Integer("block", 0, MAX_OFFSET // BLOCK),
        Integer("blocks", 1, MAX_SIZE // BLOCK),
        Hexadecimal("flags"),
    )

    def convert(self, values: Sequence[np.ndarray], position: np.ndarray) -> Records:
        arrival, number, block, blocks, flags = values
        device, names = dense(number, str)
        return Records(
            clock=arrival,
            device=device,
            names=names,
            offset=block * BLOCK,
            size=blocks * BLOCK,
            read=(flags & READ) == READ,
            position=position,
        )


class DisksimValidate(TextFormat):
    """DiskSim validate: measured service times of one drive, which is named `0`.

    There are no arrival times: the clock starts at 0 and each arrival is the one before plus its
    measured service and think times, which is when the drive saw it while it was measured.
    """

    name = "disksim-validate"
    separator = None
    ticks_per_second = 1e6
    fields = (
        FieldChoice("operation", {"R": True, "W": False}),
        Word("category"),
        Integer("block", 0, MAX_OFFSET // BLOCK),
        Integer("blocks", 1, MAX_SIZE // BLOCK),
        Decimal("service", 1e12),
        Decimal("think", 1e12),
    )

    def convert(self, values: Sequence[np.ndarray], position: np.ndarray) -> Records:
        read, _, block, blocks, service, think = values
        cycle = np.cumsum(service + think)
        return Records(
            clock=np.concatenate([[0.0], cycle[:-1]]),
            device=np.zeros(len(read), np.int32),
            names=("0",),
            offset=block * BLOCK,
            size=blocks * BLOCK,
            read=read,
            position=position,
            measured_response=service / self.ticks_per_second,
            think=think / self.ticks_per_second,
        )

    def records(self, stream: ByteStream) -> Iterator[Records]:
        start = 0.0  # us; each chunk begins where the one before ends
        for chunk in super().records(stream):
            assert chunk.measured_response is not None and chunk.think is not None
            yield replace(chunk, clock=start + chunk.clock)
            last = chunk.measured_response[-1] + chunk.think[-1]
            start += chunk.clock[-1] + last * self.ticks_per_second


DISKSIM = Disksim()
DISKSIM_VALIDATE = DisksimValidate()
