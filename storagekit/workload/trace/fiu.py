"""Read the block traces of Florida International University (FIU).

Each line holds one request, with fields separated by blanks: time, ns; process number; process name; address, blocks of
512 B; size, blocks of 512 B; W or R; major and minor number of the device; and, in most files, an MD5 digest of the
content. A device is named `major,minor`. A request with another word than W or R, such as D (discard), is skipped and
counted, and so is a request with size 0.

Source: read-me of the FIU IODedup traces (SNIA IOTTA); Koller and Rangaswami, "I/O deduplication", FAST 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.workload.trace.fields import Integer, Operation, Text
from storagekit.workload.trace.formats import Records, dense
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.table import SKIPPED_WORDS
from storagekit.workload.trace.text import TextFormat, first_lines

__all__ = ["FIU", "Fiu"]

DEVICE = 2**20  # device numbers below this are distinguished


class Fiu(TextFormat):
    """Block traces of FIU, with or without digests."""

    name = "fiu"
    separator = None
    ticks_per_second = 1e9
    fields = (
        Integer("time", 0, 2**62),
        Integer("process", 0, 2**32),
        Text("name"),
        Integer("address", 0, MAX_OFFSET // SECTOR),
        Integer("size", 0, MAX_SIZE // SECTOR),
        Operation(
            "operation", read=("R",), write=("W",), skipped=SKIPPED_WORDS,
            allowed="'R' or 'W' in upper or lower case, or a word such as D, trim or flush",
        ),
        Integer("major", 0, DEVICE - 1),
        Integer("minor", 0, DEVICE - 1),
    )  # fmt: skip
    empty = "size"
    digest = Text("digest")

    def variant(self, head: bytes, name: str) -> TextFormat:
        columns = len(next(first_lines(head), "").split())
        return self._with(fields=(*Fiu.fields, self.digest)) if columns == len(Fiu.fields) + 1 else self

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        clock, _, _, address, size, read, major, minor = values[:8]
        device, names = dense(major * DEVICE + minor, lambda key: f"{key // DEVICE},{key % DEVICE}")
        return Records(clock, device, names, address * SECTOR, size * SECTOR, read == Operation.READ, position)


FIU = Fiu()
