"""Read traces of virtual SCSI disks: the output of vscsiStats, and the CSV of libCacheSim.

vscsiStats: `Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,Time Stamp (microseconds)`, the output of
`vscsiStats -e` for a trace of commands. The fields are: number of the command; size, bytes; entries of the scatter-gather
list; read or write; address, blocks of 512 B; and time, us. The file has one virtual disk, named `0`. Source: the header
that vscsiStats writes; Ahmad, "Easy and efficient disk I/O workload characterization in VMware ESX Server", IISWC 2007.

libCacheSim: `version,time,op,size,lbn`, the CSV of a trace of CloudPhysics that libCacheSim distributes. The fields are:
version of the format; whole seconds; operation code of the SCSI command, in hexadecimal; size, bytes; address, blocks of
512 B. The requests of each second are spread evenly over it. Any other CSV that libCacheSim reads is a table, whose
columns the caller names. Source: data/cloudPhysicsIO.csv and the documentation of libCacheSim (time-col=2, obj-id-col=5,
obj-size-col=4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.workload.trace.cloud import over_seconds
from storagekit.workload.trace.fields import Integer, Operation
from storagekit.workload.trace.formats import Records
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.table import SCSI, SKIPPED_WORDS, operation_field
from storagekit.workload.trace.text import TextFormat

__all__ = ["LIBCACHESIM", "VSCSI", "Libcachesim", "Vscsi"]

LBN = Integer("LBN", 0, MAX_OFFSET // SECTOR)


class Vscsi(TextFormat):
    """Commands of one virtual disk, as vscsiStats prints them."""

    name = "vscsi"
    ticks_per_second = 1e6
    fields = (
        Integer("Serial Number", 0, 2**62),
        Integer("IO Data Length", 0, MAX_SIZE),
        Integer("Num SG Entries", 0, 2**32),
        Operation(
            "Command Type",
            read=("read",),
            write=("write",),
            skipped=SKIPPED_WORDS,
            allowed="a word such as read or unmap",
        ),
        LBN,
        Integer("Time Stamp (microseconds)", 0, 2**62),
    )
    empty = "IO Data Length"

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        _, size, _, operation, block, clock = values
        return _of_one_disk(clock, block, size, operation, position)


class Libcachesim(TextFormat):
    """The CSV of CloudPhysics that libCacheSim distributes. Its only device is named `0`."""

    name = "libcachesim"
    ticks_per_second = 1.0
    fields = (
        Integer("version", 1, 2),
        Integer("time", 0, 2**40),
        operation_field("op", SCSI),
        Integer("size", 0, MAX_SIZE),
        LBN,
    )
    empty = "size"

    def convert(self, values: Sequence[Any], position: np.ndarray) -> Records:
        _, clock, operation, size, block = values
        return _of_one_disk(clock, block, size, operation, position)

    def records(self, stream: ByteStream) -> Iterator[Records]:
        """Yield the records with the requests of each second spread over it."""
        yield from over_seconds(super().records(stream), stream)


def _of_one_disk(clock: np.ndarray, block: np.ndarray, size: np.ndarray, operation: np.ndarray, position: np.ndarray):
    device = np.zeros(len(position), np.int32)
    return Records(clock, device, ("0",), block * SECTOR, size, operation == Operation.READ, position)


VSCSI = Vscsi()
LIBCACHESIM = Libcachesim()
