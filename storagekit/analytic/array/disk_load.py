"""The load of a disk whose requests have accesses on several disks, under Poisson arrivals."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.command_queue import CommandQueue
from storagekit.analytic.array.service_times import ServiceDistributions, ServiceTimes
from storagekit.analytic.array.shapes import Shape
from storagekit.core.errors import InputError
from storagekit.core.namespaces import as_number, is_zero, largest, namespace_of, quotient, stacked
from storagekit.core.validation import (
    SHARE,
    Count,
    Share,
    Span,
    Whole,
    instance_of,
    optional,
    several,
    traced,
    validate_fields,
)

# the share of each size among some requests
SizeShares = Annotated[tuple[float, ...] | None, optional(several(SHARE, 1, "shares"))]


@dataclass(frozen=True)
class Operation:
    """A kind of request, described by its accesses: it first reads some disks, and then writes some disks.

    Parameters
    ----------
    share : float
        Share of these requests among all requests, 0 to 1.
    reads : int
        Number of disks that a request reads; 0 by default.
    writes : int
        Number of disks that a request writes when all its reads have ended; 0 by default.
    returns : bool
        Whether the request writes the disks that it has read; False by default.
    sizes : tuple of float, optional
        Share of each size among these requests; by default the shares among all reads, or among all writes.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    share: Share
    reads: Whole = 0
    writes: Whole = 0
    returns: bool = False
    sizes: SizeShares = None

    def __post_init__(self):
        validate_fields(self)
        if not self.reads + self.writes or (self.returns and self.reads != self.writes):
            raise InputError(
                f"operation with {self.reads} reads and {self.writes} writes, returns {self.returns}: give at least one "
                "access, and as many reads as writes if it returns"
            )


def operations_of(shape: Shape, reads: float) -> tuple[Operation, ...]:
    """Return the operations of a layout: reads if their share is above 0, and writes if their share is above 0.

    Parameters
    ----------
    shape : Shape
        Layout of the array.
    reads : float
        Share of reads, 0 to 1.

    Returns
    -------
    tuple of Operation
        The reads, and the writes.
    """
    return _kinds_of(shape, reads) if traced(reads) else _operations_of(shape, float(reads))


@lru_cache(maxsize=1024)
def _operations_of(shape: Shape, reads: float) -> tuple[Operation, ...]:
    return _kinds_of(shape, reads)


def _kinds_of(shape: Shape, reads: float) -> tuple[Operation, ...]:
    read, write = Operation(reads, shape.ways), Operation(1 - reads, shape.read_first, shape.written, shape.returns)
    return tuple(one for one in (read, write) if not is_zero(one.share))


@dataclass(frozen=True)
class BackgroundAccesses:
    """Accesses that belong to no request, for example the accesses of a rebuild or of a backup.

    They are assumed to arrive as a Poisson process.

    Parameters
    ----------
    rate : float
        Number of such accesses of a disk a second.
    seconds : float
        Transfer time of an access with overhead, seconds.
    near : float
        Share of these accesses that follow another one on the same disk, and need no seek, 0 to 1; 0 by default.
    disks : int
        Number of disks that begin such an access at the same time; 1 by default.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    rate: Span
    seconds: Span
    near: Share = 0.0
    disks: Count = 1

    def __post_init__(self):
        validate_fields(self)

    def moments(self, services: ServiceTimes) -> NDArray:
        """Return the mean and the mean square of the time of an access, `[2]`. services: service times of the disk."""
        far, seeks, arc = 1 - self.near, services.seeks, services.arc
        seek, squared = far * seeks.mean(), far * (seeks**2).mean()
        mean, square = seek + arc / 2, squared + seek * arc + arc**2 / 3
        return stacked([mean + self.seconds, square + 2 * mean * self.seconds + self.seconds**2])

    def distribution(self, services: ServiceTimes, time: NDArray) -> NDArray:
        """Return the distribution of the time of an access at the times of the grid. services: service times of the disk."""
        left = time - self.seconds
        turned = namespace_of(left, services.arc).clip(left / services.arc, 0.0, 1.0)
        return self.near * turned + (1 - self.near) * services.positioned(left)

    def selections(self, far: NDArray, far_square: NDArray, fine: ServiceDistributions) -> NDArray:
        """Return the means and mean squares of the times of services that are selected among accesses, `[2, depth]`.

        far, far_square: means and mean squares for reads of requests, `[depth]`. fine: service times of a disk. The
        positioning of accesses that need a seek is assumed to be as short as the positioning of a read.
        """
        services, seconds, near = fine.services, self.seconds, self.near
        arc, more = services.arc, seconds - as_number(services.sizes.seconds @ services.sizes.shares)
        mean = (1 - near) * (far + more) + near * (arc / 2 + seconds)
        square = (1 - near) * (far_square + 2 * more * far + more**2)
        return stacked([mean, square + near * (arc**2 / 3 + arc * seconds + seconds**2)])


_KINDS = several(instance_of(BackgroundAccesses, "one as BackgroundAccesses(20.0, 0.005)"), of="kinds")


@dataclass(frozen=True)
class Background:
    """All accesses of a disk that belong to no request.

    Parameters
    ----------
    kinds : tuple of BackgroundAccesses
        The accesses by their kind; none by default.

    Raises
    ------
    InputError
        If a kind has the wrong type.
    """

    kinds: Annotated[tuple[BackgroundAccesses, ...], _KINDS] = ()

    def __post_init__(self):
        validate_fields(self)

    @cached_property
    def rate(self) -> float:
        """Return the number of these accesses of a disk a second."""
        return sum(one.rate for one in self.kinds)

    @property
    def longest(self) -> float:
        """Return the longest transfer time of such an access with overhead, seconds."""
        return largest(0.0, *(one.seconds for one in self.kinds))

    def moments(self, services: ServiceTimes) -> NDArray:
        """Return the mean and the mean square of the time of an access, `[2]`; 0 without such accesses."""
        if is_zero(self.rate):
            return np.zeros(2)
        return sum((quotient(one.rate, self.rate) * one.moments(services) for one in self.kinds), np.zeros(2))

    def busy(self, services: ServiceTimes) -> float:
        """Return the share of the time for which a disk serves these accesses; above 1 if they overload it."""
        return self.rate * as_number(self.moments(services)[0])

    def saturated(self, fine: ServiceDistributions, depth: int) -> float:
        """Return `busy` if a disk always selects among `depth` accesses. fine: service times of a disk."""
        if is_zero(self.rate):
            return 0.0
        far = fine.selections(1.0, depth)
        return sum(one.rate * as_number(one.selections(*far, fine)[0, -1]) for one in self.kinds)

    def busy_together(self, services: ServiceTimes) -> float:
        """Return the sum of the busy times that a disk has in common with each other disk, as shares of the time."""
        return sum(one.rate * as_number(one.moments(services)[0]) * (one.disks - 1) for one in self.kinds)

    @property
    def rate_together(self) -> float:
        """Return the number of accesses a second that a disk has in common with each other disk, summed over these disks."""
        return sum(one.rate * (one.disks - 1) for one in self.kinds)

    def share(self, requests: float) -> float:
        """Return the background accesses as a share of all accesses. requests: accesses of requests a second."""
        return self.rate / (self.rate + requests)

    def mixed(self, of_requests: NDArray, requests: float, services: ServiceTimes, time: NDArray) -> NDArray:
        """Return the distribution of the service time of an access at the times of the grid.

        of_requests: the distribution for accesses of requests. requests: number of these accesses a second.
        """
        if is_zero(self.rate):
            return of_requests
        total = self.rate + requests
        found = requests / total * of_requests
        for one in self.kinds:
            found = found + one.rate / total * one.distribution(services, time)
        return found

    def selections(
        self, fine: ServiceDistributions, reads: float, depth: int, requests: float
    ) -> tuple[NDArray, NDArray]:
        """Return the means and mean squares of the times of services that are selected among 1, 2, ... accesses, `[depth]`.

        fine: service times of a disk, on a grid that covers the longest of them. reads: share of reads among the accesses
        of requests. depth: largest number of accesses. requests: number of accesses of requests a second.
        """
        found = stacked(fine.selections(reads, depth))
        if not is_zero(self.rate):
            far, total = fine.selections(1.0, depth), self.rate + requests
            found = found * (requests / total)
            for one in self.kinds:
                found = found + one.rate / total * one.selections(*far, fine)
        return found[0], found[1]


NO_BACKGROUND = Background()


@dataclass(frozen=True)
class DiskLoad(ABC):
    """The load of a disk.

    Parameters
    ----------
    group : int
        Number of disks among which the requests of a group are spread.
    fine : ServiceDistributions
        Service times of a disk, on a grid that covers the longest of them.
    operations : tuple of Operation
        The kinds of requests. Their shares sum to 1.
    rate : float
        Requests of the array a second, divided by the number of disks.
    queue : CommandQueue, optional
        Queue of a disk that selects the nearest of several requests; `fine` then has its `chances`.
    background : Background
        Accesses of a disk that belong to no request; by default none.
    """

    group: int
    fine: ServiceDistributions
    operations: tuple[Operation, ...]
    rate: float
    queue: CommandQueue | None = None
    background: Background = NO_BACKGROUND

    @cached_property
    def moments(self) -> NDArray:
        """Return the means and mean squares of the access times of a read and of a write with a seek, `[2, access]`."""
        return self.fine.moments()

    @cached_property
    def reads(self) -> float:
        """Return the number of accesses of requests a second with which a disk reads."""
        return self.rate * sum(one.share * one.reads for one in self.operations)

    @cached_property
    def writes(self) -> float:
        """Return the number of accesses a second with which a disk writes."""
        return self.rate * sum(one.share * one.writes for one in self.operations)

    @property
    def accesses(self) -> float:
        """Return the number of accesses of a disk a second."""
        return self.reads + self.writes + self.background.rate

    @property
    def of_reads(self) -> float:
        """Return the share of reads among the accesses of requests."""
        return self.reads / (self.reads + self.writes)

    @property
    def demand(self) -> float:
        """Return the share of the time for which a disk would be busy if every access of a request needed a seek."""
        requests = as_number(stacked([self.reads, self.writes]) @ self.moments[0])
        return requests + self.background.busy(self.fine.services)

    def with_background(self, of_requests: NDArray, time: NDArray) -> NDArray:
        """Return the distribution of the service time of any access, from the distribution for accesses of requests."""
        return self.background.mixed(of_requests, self.reads + self.writes, self.fine.services, time)

    @abstractmethod
    def responses(self) -> tuple[float, NDArray, NDArray]:
        """Return the utilization of a disk, evenly spaced times, and the share of requests that complete within them.

        A share is a share of the requests of one kind. The shape is `[operation, time]`.
        """
