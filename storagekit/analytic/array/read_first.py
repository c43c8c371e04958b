"""Response times of an array whose writes first read, as with parity, under Poisson arrivals with FCFS scheduling.

A write has two phases: it reads r parts, and when the last of these reads has ended, it writes w parts. If the reads are
on the disks that the write then occupies (read-modify-write), the write returns to these disks. Otherwise
(reconstruct-write) the two phases are on different disks of a group.

**Waiting.** Let V be the unfinished work of a disk, including the accesses that writes in their first phase still
bring to it. Only the work that is already queued delays a read. By the decomposition of work (Boxma and Groenendijk
1987), V is the work of an M/G/1 queue, plus the future work that remains when the disk is idle. Let b be the rate of
second accesses at a disk, t their mean time, s the mean time of a read, and W the mean waiting time.

- Read-modify-write: a request brings both of its accesses to one disk, and the mean square of their sum determines V.
  By Little's law, b (W + s) writes are in their first phase, so W = (V - b s t) / (1 + b t).
- Reconstruct-write: each request brings one access to a disk, so V is at least the work of the usual formula. On average
  x = b (W + s) accesses to a disk wait for the first phase on other disks. Fewer are expected when the disk is idle, because
  the disks of a group are busy at the same times: x / (1 + c x / 3), where c is the share of a disk's work that a second
  disk has in common. The divisor 3 was fitted to simulations of groups of three and four disks.

The distribution of waiting times has the shape of the M/G/1 distribution, and the mean W. It is exponential near saturation
and with command queueing.

**Phases.** The first phase ends with its slowest read. A disk that has ended a read at the time T after the arrival has
received Poisson arrivals during T, so that no request waits with the probability E exp(-a T), at a accesses a second.
Then the arm is still at the data, and the write takes the rest of the revolution. Otherwise the write waits behind these
arrivals. The phases of read-modify-write are assumed to grow together (the same disks are busy). Between different disks,
the distribution is the average of phases that grow together and of independent phases.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.disk_load import DiskLoad
from storagekit.analytic.array.service_times import (
    mean_time,
    scaled,
    summed,
    time_grid,
    transformed,
    waiting_times,
)

# number of points of the time grid for the probabilities that no request waits
_COARSE = 256
# rounds of the search for the waiting time
_WAITS = 40
# a utilization above which a queue is longer than can be computed
_FULL = 1 - 1e-9


@dataclass(frozen=True)
class _Untouched:
    """Probabilities that no request waits when a write returns to a disk: the last disk that it has read, and others."""

    last: float
    other: float


class WritesThatRead(DiskLoad):
    """The load of a disk of an array whose writes read first; `shape.read_first` is at least 1."""

    def responses(self) -> tuple[float, NDArray, NDArray]:
        untouched = _Untouched(0.0, 0.0)
        if self.shape.returns:
            # the probabilities change the service times only slightly, so that one round of iteration suffices
            idle = max(0.0, 1 - self.demand)
            untouched = _Queue(self, _Untouched(idle, idle), _COARSE).untouched()
        queue = _Queue(self, untouched)
        return queue.busy, queue.time, queue.within()


class _Queue:
    """The queue of a disk, if the probabilities `untouched` are known. points: of the time grid, by default as needed."""

    def __init__(self, load: WritesThatRead, untouched: _Untouched, points: int | None = None):
        self.load, self._untouched = load, untouched
        self._second = self._second_access()
        (s, s2), (t, t2) = load.moments[:, 0], self._second
        others = load.accesses - load.writes
        # the mean square of the service times in a second, which determines the work of an M/G/1 queue
        self._squares = others * s2 + load.writes * t2
        if load.queue is None:
            self.busy = min(_FULL, others * s + load.writes * t)
            self._plain = self._squares / (2 * (1 - self.busy))
        else:
            self.busy = min(_FULL, load.queue.busy)
            self._plain = load.queue.busy * load.queue.wait
        self.mean_wait = self._mean_wait(s, s2, t, t2)
        self.time = time_grid(load.fine.time[-1], max(self.mean_wait, self._plain) / self.busy, points)
        self._served = replace(load.fine, time=self.time)
        self._queued = self._waiting()
        self._transform = transformed(self._queued)

    def _second_access(self) -> tuple[float, float]:
        """Return the mean and the mean square of the time of an access with which a write writes."""
        (mean, square), shape, one = self.load.moments[:, 1], self.load.shape, self._untouched
        if not shape.returns:
            return mean, square
        sizes, services = self.load.fine.services.sizes, self.load.fine.services
        turn, least = services.arc, sizes.written + services.settle
        last = self._rest_of_turn()
        idle = np.array([sizes.shares @ last, sizes.shares @ (least + turn / 2)])
        squares = np.array([sizes.shares @ last**2, sizes.shares @ (least**2 + least * turn + turn**2 / 3)])
        weights = np.array([one.last, one.other * (shape.written - 1)]) / shape.written
        left = 1 - weights.sum()
        return float(weights @ idle + left * mean), float(weights @ squares + left * square)

    def _rest_of_turn(self) -> NDArray:
        """Return the time from the end of a read to the end of the write of the same data, for each size, seconds."""
        services = self.load.fine.services
        return services.arc * np.ceil((services.sizes.written + services.settle) / services.arc)

    def _mean_wait(self, s: float, s2: float, t: float, t2: float) -> float:
        """Return the mean waiting time. s, s2, t, t2: means and mean squares of a read and of a second access."""
        load, writes = self.load, self.load.writes
        if load.shape.returns:
            # V and b s t, as shares of the usual waiting time
            work = (self._squares + 2 * writes * s * t) / self._squares
            future = 2 * writes * s * t * (1 - self.busy) / self._squares
            return self._plain * (work - future) / (1 + writes * t)
        shared, wait = self._shared(load.shape.read_first + load.shape.written), self._plain
        for _ in range(_WAITS):
            future = writes * (wait + s)
            wait = (wait + self._plain - t * future * (1 - 1 / (1 + shared * future / 3))) / 2
        return wait

    def _shared(self, accesses: int) -> float:
        """Return the share of a disk's work that a second disk of its group has in common, at `accesses` of each write."""
        load = self.load
        written = (load.first * load.moments[0, 0] + load.writes * self._second[0]) / self.busy
        return written * (accesses - 1) / (load.shape.group - 1) if load.shape.group > 1 else 0.0

    def _waiting(self) -> NDArray:
        """Return the distribution of the waiting times above 0 at the times of the grid."""
        mean, selects = self.mean_wait / self.busy, self.load.queue is not None
        return waiting_times(self.time, self.busy, mean, self._access, selects=selects)

    def _access(self) -> NDArray:
        """Return the distribution of the service time of an access."""
        load, served = self.load, self._served
        write = served.write
        if load.shape.returns:
            one, count = self._untouched, load.shape.written
            chance = np.array([one.last, one.other * (count - 1)]) / count
            write = (1 - chance.sum()) * write + chance @ np.array(self._at_once)
        return ((load.accesses - load.writes) * served.read(1) + load.writes * write) / load.accesses

    @cached_property
    def _at_once(self) -> tuple[NDArray, NDArray]:
        """Return the distributions of the time of a write that returns to an idle disk: the last disk, other disks."""
        services, time = self.load.fine.services, self.time
        shares = services.sizes.shares
        last = shares @ (time >= self._rest_of_turn()[:, None])
        least = (services.sizes.written + services.settle)[:, None]
        return last, shares @ np.clip((time - least) / services.arc, 0.0, 1.0)

    def _ended(self, ones: NDArray, least: NDArray, count: int) -> tuple[NDArray, NDArray]:
        """Return the distributions of the end of one access, and of the end of the last of `count` accesses.

        ones, least: distribution of the time of an access of each size, `[size, time]`, and its time without seek and
        rotation, seconds, `[size]`.
        """
        services, shape = self.load.fine.services, self.load.shape
        shares, time = services.sizes.shares, self.time
        # Disks that have served the same writes have their arms at the same place, and similar queues. All accesses of a
        # write move arms, but only the accesses of one phase arrive at the same time.
        visited = shape.written if shape.returns else shape.written + shape.read_first
        together = (1 - self.busy) * self._shared(visited) + self.busy * self._shared(count)
        if self._served.chances is None:
            rotated = shares @ np.clip((time - least[:, None]) / services.arc, 0.0, 1.0) ** count
            *each, sought, rotated = transformed(np.array([*ones, services.sought(time), rotated]))
            last = sought * rotated
        else:
            # disks that select requests serve them in different orders
            *each, last = transformed(np.array([*ones, shares @ ones**count]))
        ended = summed(np.array([*each, last]) * ((1 - self.busy) + self.busy * self._transform))
        apart = shares @ ended[:-1] ** count
        return shares @ ended[:-1], together * ended[-1] + (1 - together) * apart

    def _first_phase(self) -> tuple[NDArray, NDArray]:
        """Return the distributions of the response of one read, and of the end of the first phase."""
        return self._ended(self._served.reads, self.load.fine.services.sizes.seconds, self.load.shape.read_first)

    def untouched(self) -> _Untouched:
        """Return the probabilities that no request waits when a write returns to a disk."""
        read, end = self._first_phase()
        accesses, count = self.load.accesses, self.load.shape.written
        kept = np.exp(-accesses * self.time)
        # the mean time by which the other reads end before the last
        early = (mean_time(end, self.time) - mean_time(read, self.time)) * count / max(count - 1, 1)
        last, other = (float(np.diff(each, prepend=0.0) @ kept) for each in (end, read))
        return _Untouched(last, other * float(np.exp(-accesses * early)))

    def within(self) -> NDArray:
        """Return, for each time of the grid, the share of the requests that complete within it."""
        read, first = self._first_phase()
        reads = self.load.reads
        if self.load.shape.returns:
            return reads * read + (1 - reads) * self._grown(first, self._return(first))
        services = self.load.fine.services
        _, second = self._ended(self._served.writes, services.sizes.written + services.settle, self.load.shape.written)
        one, other = transformed(np.array([first, second]))
        both = (self._grown(first, second) + summed(one * other)) / 2
        return reads * read + (1 - reads) * both

    def _return(self, first: NDArray) -> NDArray:
        """Return the distribution of the second phase of a write that returns to its disks. first: of its first phase."""
        one, time, busy = self._untouched, self.time, self.busy
        last, other = self._at_once
        # the last disk has received requests during the whole first phase
        behind = scaled(time, first, busy * mean_time(first, time) / max(1 - one.last, 1e-12))
        found = (1 - busy) + busy * self._queued
        queued = np.clip((found - one.other) / max(1 - one.other, 1e-12), 0.0, 1.0)
        *waits, write = transformed(np.array([behind, queued, self._served.write]))
        behind, queued = summed(np.array(waits) * write)
        last = one.last * last + (1 - one.last) * behind
        other = one.other * other + (1 - one.other) * queued
        return last * other ** (self.load.shape.written - 1)

    def _grown(self, first: NDArray, second: NDArray) -> NDArray:
        """Return the distribution of the sum of two times that grow together: the sum of their quantiles."""
        share = np.linspace(0.0, 1.0, self.time.size)
        total = sum(np.interp(share, each, self.time) for each in (first, second))
        return np.interp(self.time, total, share, 0.0, 1.0)
