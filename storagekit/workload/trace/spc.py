"""Read SPC ASCII traces: the UMass Financial and WebSearch files.

Each line holds one request, `ASU,LBA,size,opcode,timestamp`. The fields are: application storage unit (ASU); address in
blocks of 512 B; size, bytes; R or W, in upper or lower case; seconds since the start of tracing.

The specification allows further fields and a size of 0. Lines with further fields or a size of 0 are rejected here. In
the available files they are signs of damage: a lost line end, or a lost digit.

Source: Storage Performance Council, SPC Trace File Format Specification, revision 1.0.1 (2002).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storagekit.workload.trace.fields import Decimal, FieldChoice, Integer
from storagekit.workload.trace.formats import Records, dense
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.text import TextFormat

__all__ = ["SPC", "Spc"]

BLOCK = 512  # bytes


class Spc(TextFormat):
    """SPC ASCII. Devices are named by their ASU number."""

    name = "spc"
    ticks_per_second = 1.0
    fields = (
        Integer("ASU", 0, 2**31 - 1),
        Integer("LBA", 0, MAX_OFFSET // BLOCK),
        Integer("size", 1, MAX_SIZE),
        FieldChoice("opcode", {"r": True, "w": False}),
        Decimal("timestamp"),
    )

    def convert(self, values: Sequence[np.ndarray], position: np.ndarray) -> Records:
        asu, lba, size, read, timestamp = values
        device, names = dense(asu, str)
        return Records(
            clock=timestamp,
            device=device,
            names=names,
            offset=lba * BLOCK,
            size=size,
            read=read,
            position=position,
        )


SPC = Spc()
