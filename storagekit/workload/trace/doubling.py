"""Find I/Os that a trace of the block layer may have twice: at a device mapper or RAID, and at the disks below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from storagekit.workload.trace.formats import Records

__all__ = ["Doubling"]

UPPER = ("9", "252", "253", "254")
"""Major numbers of RAID of md, and numbers that Linux gives to the device mapper."""
NEAR = 0.05
"""Share of the requests, or bytes, by which two counts that are nearly equal may differ."""
FEWEST = 20
"""Requests below which equal counts may be a coincidence."""


class Doubling:
    """Counts of reads, writes and bytes of each device.

    If a device mapper or RAID has nearly the same counts as another device, the trace may contain each I/O twice. Memory
    grows only with the number of devices.
    """

    def __init__(self):
        self._counts: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))

    def add(self, records: Records) -> None:
        """Take further requests into account."""
        count = len(records.names)
        columns = [
            np.bincount(records.device, weights, count)
            for weights in (records.read, ~records.read, records.size)
        ]  # fmt: skip
        for name, counts in zip(records.names, np.stack(columns, axis=1), strict=True):
            self._counts[name] += counts

    def pair(self) -> tuple[list[str], list[str]] | None:
        """Return a device mapper or RAID and the disks with nearly the same requests; None if there is no such pair."""
        upper = [name for name in self._counts if name.partition(",")[0] in UPPER]
        lower = [name for name in self._counts if name not in upper]
        return next(
            ((high, low) for high in _groups(upper) for low in _groups(lower) if self._alike(high, low)), None
        )  # fmt: skip

    def _alike(self, upper: list[str], lower: list[str]) -> bool:
        high, low = (np.sum([self._counts[name] for name in names], axis=0) for names in (upper, lower))
        requests, size = high[:2].sum(), high[2]
        near = np.abs(high - low) <= NEAR * np.array([requests, requests, size])
        return bool(requests >= FEWEST and near.all())


def _groups(names: list[str]) -> Iterator[list[str]]:
    """Yield the groups of names that may have the same requests as another group: all names, then each single name."""
    if names:
        yield names
    if len(names) > 1:
        yield from ([name] for name in names)
