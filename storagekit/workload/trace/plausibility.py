"""Find signs that a trace was read in the wrong way: constant addresses, and impossible rates."""

from __future__ import annotations

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.workload.trace.records import RequestTrace

__all__ = ["Plausibility"]

FEWEST = 20
"""Requests from which the rate and the addresses are examined."""
SLOWEST, FASTEST = 1 / 3600, 1e8
"""Range of mean rates without a warning, requests/s."""


class Plausibility:
    """Signs in the requests of a trace that the file was read in the wrong way.

    Memory is constant.
    """

    def __init__(self):
        self._requests = 0
        self._span = [np.inf, -np.inf]
        self._offsets = [np.inf, -np.inf]
        self._small = 0

    def add(self, trace: RequestTrace) -> None:
        """Take further requests into account."""
        if not len(trace):
            return
        self._requests += len(trace)
        self._small += int(np.count_nonzero(trace.size < SECTOR))
        self._span = [min(self._span[0], trace.time.min()), max(self._span[1], trace.time.max())]
        self._offsets = [min(self._offsets[0], trace.offset.min()), max(self._offsets[1], trace.offset.max())]

    def warnings(self, name: str, timed: bool = True) -> list[str]:
        """Return one sentence for each sign, with a remedy.

        Parameters
        ----------
        name : str
            Name of the trace.
        timed : bool
            Whether the trace has arrival times; by default True.

        Returns
        -------
        list of str
            The sentences.
        """
        if self._requests < FEWEST:
            return []
        found = []
        if self._offsets[0] == self._offsets[1]:
            found.append(
                f"{name}: all {self._requests:,} requests are at byte {self._offsets[0]:.0f}: this column may not be "
                "the address; give the format, or name the columns"
            )
        if self._small > self._requests / 2:
            found.append(
                f"{name}: {self._small:,} of {self._requests:,} requests are smaller than {SECTOR} bytes: sizes and offsets "
                "may be in sectors; name the columns with their units"
            )
        seconds = self._span[1] - self._span[0]
        rate = self._requests / seconds if seconds > 0 else np.inf
        if timed and not SLOWEST <= rate <= FASTEST:
            text = f"one request in {1 / rate:,.0f} s" if rate < 1 else (
                f"{rate:.3g} requests/s" if np.isfinite(rate) else "all requests at the same time"
            )  # fmt: skip
            found.append(
                f"{name}: {text} on average: the unit of its times may be another one; give the format, or name the "
                "columns with the unit of the time"
            )
        return found
