"""Read SPC ASCII traces: the UMass Financial and WebSearch files.

Each line holds one request, `ASU,LBA,size,opcode,timestamp`. The fields are: application storage unit (ASU); address in
blocks of 512 B; size, bytes; R or W, in upper or lower case; seconds since the start of tracing.

The specification allows further fields, which are ignored. All lines of a file must have as many fields as its first
line, because a line with more fields is often two lines without the line end between them. The specification also
allows a size of 0. Such requests transfer nothing: they are skipped, and counted as "empty".

Source: Storage Performance Council, SPC Trace File Format Specification, revision 1.0.1 (2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.workload.trace.fields import Decimal, Integer, Operation, Text
from storagekit.workload.trace.formats import Records, dense
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.text import TextFormat, first_lines

__all__ = ["SPC", "Spc"]

MOST_FIELDS = 32


class Spc(TextFormat):
    """SPC ASCII. Devices are named by their ASU number."""

    name = "spc"
    ticks_per_second = 1.0
    empty = "size"
    fields = (
        Integer("ASU", 0, 2**31 - 1),
        Integer("LBA", 0, MAX_OFFSET // SECTOR),
        Integer("size", 0, MAX_SIZE),
        Operation("opcode", read=("r",), write=("w",)),
        Decimal("timestamp"),
    )

    def variant(self, head: bytes, name: str) -> TextFormat:
        given = super().variant(head, name)
        first = next(first_lines(head), "")
        more = first.count(given.separator or ",") + 1 - len(self.fields)
        if not 0 < more <= MOST_FIELDS:
            return given
        return given._with(fields=self.fields + tuple(Text(f"field {len(self.fields) + 1 + i}") for i in range(more)))

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        asu, lba, size, read, timestamp = values[:5]
        device, names = dense(asu, str)
        return Records(
            clock=timestamp,
            device=device,
            names=names,
            offset=lba * SECTOR,
            size=size,
            read=read == Operation.READ,
            position=position,
        )


SPC = Spc()
