"""Read the two text formats of DiskSim: its default `ascii` request stream, and `validate`.

ascii: `arrival device block blocks flags`. The arrival is in ms, the device is a number, blocks have 512 B, and the
flags are hexadecimal. Bit 0 of the flags is set for a read. validate: `R|W category block blocks service think`, with
times in microseconds. One request is outstanding, and the think time of a request is the time from its completion to
the next arrival.

Source: Bucy, Schindler, Schlosser and Ganger, DiskSim 4.0 reference manual, CMU-PDL-08-101, and the scanf formats and
arrival rule of its src/disksim_iotrace.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.workload.trace.fields import Decimal, Hexadecimal, Integer, Operation, Word
from storagekit.workload.trace.formats import Records, dense
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import TextFormat

__all__ = ["DISKSIM", "DISKSIM_VALIDATE", "Disksim", "DisksimValidate"]

READ = 0x1  # flag


class Disksim(TextFormat):
    """DiskSim's ascii format. Devices are named by their number."""

    name = "disksim"
    separator = None
    ticks_per_second = 1e3
    fields = (
        Decimal("arrival"),
        Integer("device", 0, 2**31 - 1),
        Integer("block", 0, MAX_OFFSET // SECTOR),
        Integer("blocks", 1, MAX_SIZE // SECTOR),
        Hexadecimal("flags"),
    )

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        arrival, number, block, blocks, flags = values
        device, names = dense(number, str)
        return Records(
            clock=arrival,
            device=device,
            names=names,
            offset=block * SECTOR,
            size=blocks * SECTOR,
            read=(flags & READ) == READ,
            position=position,
        )


class DisksimValidate(TextFormat):
    """DiskSim's validate format: measured service times of one drive, which is named `0`.

    The file has no arrival times. The clock starts at 0. Each arrival is the previous arrival plus the measured
    service and think times of the previous request. These are the arrivals during the measurement.
    """

    name = "disksim-validate"
    separator = None
    ticks_per_second = 1e6
    fields = (
        Operation("operation", read=("R",), write=("W",)),
        Word("category"),
        Integer("block", 0, MAX_OFFSET // SECTOR),
        Integer("blocks", 1, MAX_SIZE // SECTOR),
        Decimal("service", 1e12),
        Decimal("think", 1e12),
    )

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        read, _, block, blocks, service, think = values
        cycle = np.cumsum(service + think)
        return Records(
            clock=np.concatenate([[0.0], cycle[:-1]]),
            device=np.zeros(len(read), np.int32),
            names=("0",),
            offset=block * SECTOR,
            size=blocks * SECTOR,
            read=read == Operation.READ,
            position=position,
            measured_response=service / self.ticks_per_second,
            think=think / self.ticks_per_second,
        )

    def records(self, stream: ByteStream) -> Iterator[Records]:
        start = 0.0  # us; each chunk begins at the end of the previous one
        for chunk in super().records(stream):
            assert chunk.measured_response is not None and chunk.think is not None
            yield replace(chunk, clock=start + chunk.clock)
            last = chunk.measured_response[-1] + chunk.think[-1]
            start += chunk.clock[-1] + last * self.ticks_per_second


DISKSIM = Disksim()
DISKSIM_VALIDATE = DisksimValidate()
