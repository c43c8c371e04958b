"""Read MSR Cambridge traces, as SNIA IOTTA distributes them.

Each line holds one request, `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`. The fields are: Windows
filetime, in ticks of 100 ns since 1601; server; number of the disk in that server; Read or Write, or R or W; offset,
bytes; size, bytes; and measured response time, in ticks of 100 ns. A first line that names the columns is skipped. A
request with another word, such as Trim or Flush, is skipped and counted, and so is a request with size 0.

Source: the read-me of the MSR Cambridge block I/O traces (SNIA IOTTA); Narayanan, Donnelly and Rowstron, "Write
off-loading", FAST 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from storagekit.workload.trace.fields import Integer, Operation, Word
from storagekit.workload.trace.formats import Records, dense
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.table import SKIPPED_WORDS
from storagekit.workload.trace.text import TextFormat

__all__ = ["MSR", "Msr"]


class Msr(TextFormat):
    """MSR Cambridge CSV. A device is named server.disk, as in `usr.0`."""

    name = "msr"
    ticks_per_second = 1e7
    fields = (
        Integer("Timestamp", 0, MAX_OFFSET),
        Word("Hostname"),
        Integer("DiskNumber", 0, 65_535),
        Operation(
            "Type", read=("Read", "R"), write=("Write", "W"), skipped=SKIPPED_WORDS,
            allowed="'Read' or 'R' or 'Write' or 'W' in upper or lower case, or a word such as Trim or Flush",
        ),
        Integer("Offset", 0, MAX_OFFSET),
        Integer("Size", 0, MAX_SIZE),
        Integer("ResponseTime", 0, MAX_OFFSET),
    )  # fmt: skip
    empty = "Size"

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        timestamp, host, disk, read, offset, size, response = values
        device, names = dense(
            host.index.astype(np.int64) * 65_536 + disk, lambda key: f"{host.names[key // 65_536]}.{key % 65_536}"
        )
        return Records(
            clock=timestamp,
            device=device,
            names=names,
            offset=offset,
            size=size,
            read=read == Operation.READ,
            position=position,
            measured_response=response / self.ticks_per_second,
        )


MSR = Msr()
