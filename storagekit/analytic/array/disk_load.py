"""The load of a disk whose requests have accesses on several disks, under Poisson arrivals."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.command_queue import CommandQueue
from storagekit.analytic.array.service_times import ServiceDistributions
from storagekit.analytic.array.shapes import Shape


@dataclass(frozen=True)
class DiskLoad(ABC):
    """The load of a disk.

    Parameters
    ----------
    shape : Shape
        Layout of the array.
    fine : ServiceDistributions
        Service times of a disk, on a grid that covers the longest of them.
    reads : float
        Share of reads, 0 to 1.
    rate : float
        Requests of the array a second, divided by the number of disks.
    queue : CommandQueue, optional
        Queue of a disk that selects the nearest of several requests; `fine` then has its `chances`.
    """

    shape: Shape
    fine: ServiceDistributions
    reads: float
    rate: float
    queue: CommandQueue | None = None

    @cached_property
    def moments(self) -> NDArray:
        """Return the means and mean squares of the access times of a read and of a write with a seek, `[2, access]`."""
        return self.fine.moments()

    @property
    def writes(self) -> float:
        """Return the number of accesses a second with which a disk writes."""
        return self.rate * (1 - self.reads) * self.shape.written

    @property
    def first(self) -> float:
        """Return the number of accesses a second with which writes read a disk first."""
        return self.rate * (1 - self.reads) * self.shape.read_first

    @property
    def accesses(self) -> float:
        """Return the number of accesses of a disk a second."""
        return self.rate * self.reads * self.shape.ways + self.first + self.writes

    @property
    def of_reads(self) -> float:
        """Return the share of accesses that read."""
        return 1 - self.writes / self.accesses

    @property
    def demand(self) -> float:
        """Return the share of the time for which a disk would be busy if every access needed a seek."""
        return float(np.array([self.accesses - self.writes, self.writes]) @ self.moments[0])

    @abstractmethod
    def responses(self) -> tuple[float, NDArray, NDArray]:
        """Return the utilization of a disk, evenly spaced times, and the share of requests that complete within them."""
