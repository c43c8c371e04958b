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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.disk_load import DiskLoad, Operation
from storagekit.analytic.array.service_times import (
    mean_time,
    scaled,
    summed,
    time_grid,
    transformed,
    waiting_times,
)
from storagekit.core.namespaces import (
    as_number,
    interpolated,
    is_zero,
    largest,
    listed,
    namespace_of,
    repeated,
    smallest,
    stacked,
)
from storagekit.core.validation import traced

# number of points of the time grid for the probabilities that no request waits
_COARSE = 256
# rounds of the search for the waiting time
_WAITS = 40
# a utilization above which a queue is longer than can be computed, and the same with JAX, whose numbers may be float32
_FULL, _FULL_TRACED = 1 - 1e-9, 1 - 1e-5


@dataclass(frozen=True)
class _Untouched:
    """Probabilities that no request waits when a write returns to a disk, for the last disk that it read and for others."""

    last: float
    other: float


class SeveralPhases(DiskLoad):
    """The load of a disk of an array whose requests first read and then write, as with parity."""

    def responses(self) -> tuple[float, NDArray, NDArray]:
        returning, untouched = [kind for kind, one in enumerate(self.operations) if one.returns], {}
        if returning:
            # the probabilities change the service times only slightly, so that one round of iteration suffices
            idle = largest(0.0, 1 - self.demand)
            coarse = _Queue(self, dict.fromkeys(returning, _Untouched(idle, idle)), _COARSE)
            untouched = {kind: coarse.untouched(kind) for kind in returning}
        queue = _Queue(self, untouched)
        return queue.busy, queue.time, queue.within()


class _Queue:
    """The queue of a disk, if the probabilities `untouched` of the writes that return are known, by kind of operation.

    A kind is the index of an operation in `load.operations`. points: number of points of the time grid, by default as needed.
    """

    def __init__(self, load: SeveralPhases, untouched: dict[int, _Untouched], points: int | None = None):
        self.load, self._untouched = load, untouched
        self._seconds = [self._second_access(kind) for kind in range(len(load.operations))]
        s, s2 = listed(load.moments[:, 0])
        others, others_square = listed(load.background.moments(load.fine.services))
        # the mean square of the service times in a second, which determines the work of an M/G/1 queue
        self._squares = load.reads * s2 + load.background.rate * others_square
        demand = load.reads * s + load.background.rate * others
        for one, (mean, square) in zip(load.operations, self._seconds, strict=True):
            self._squares += self._writes(one) * square
            demand += self._writes(one) * mean
        full = _FULL_TRACED if traced(demand) else _FULL
        self.busy = smallest(full, demand if load.queue is None else load.queue.busy)
        if load.queue is None:
            self._plain = self._squares / (2 * (1 - self.busy))
        else:
            self._plain = load.queue.busy * load.queue.wait
        self.mean_wait = self._mean_wait(s)
        self.time = time_grid(load.fine.time[-1], largest(self.mean_wait, self._plain) / self.busy, points)
        self._served = replace(load.fine, time=self.time)
        self._queued = waiting_times(
            self.time, self.busy, self.mean_wait / self.busy, self._access, selects=load.queue is not None
        )
        self._transform = transformed(self._queued)
        # distributions of the end of one access that reads, and of one that writes, by the shares of the sizes
        self._alone: dict[tuple[bool, tuple[float, ...] | None], NDArray] = {}

    def _writes(self, one: Operation) -> float:
        """Return the number of accesses a second with which requests of a kind write a disk."""
        return self.load.rate * one.share * one.writes

    def _second_access(self, kind: int) -> tuple[float, float]:
        """Return the mean and the mean square of the time of an access with which a request of a kind writes."""
        one = self.load.operations[kind]
        services, shares = self.load.fine.services, self._shares(one, writes=True)
        mean, square = self._moments(one, writes=True)
        if not one.returns:
            return mean, square
        turn, least = services.arc, services.sizes.written + services.settle
        last = self._rest_of_turn()
        idle = stacked([shares @ last, shares @ (least + turn / 2)])
        squares = stacked([shares @ last**2, shares @ (least**2 + least * turn + turn**2 / 3)])
        weights = self._returns(kind)
        left = 1 - weights.sum()
        return as_number(weights @ idle + left * mean), as_number(weights @ squares + left * square)

    def _shares(self, one: Operation, writes: bool) -> NDArray:
        """Return the share of each size among the requests of a kind. writes: whether an access writes."""
        return self.load.fine.services.sizes.shares_of(writes) if one.sizes is None else stacked(one.sizes)

    def _moments(self, one: Operation, writes: bool) -> list[float]:
        """Return the mean and the mean square of the time of an access of a kind of requests, with a seek."""
        if one.sizes is None:
            return listed(self.load.moments[:, int(writes)])
        return listed(self.load.fine.moments_of(writes, stacked(one.sizes)))

    def _rest_of_turn(self) -> NDArray:
        """Return the time from the end of a read to the end of the write of the same data, for each size, seconds."""
        services = self.load.fine.services
        seconds = services.sizes.written + services.settle
        return services.arc * namespace_of(seconds, services.arc).ceil(seconds / services.arc)

    def _mean_wait(self, s: float) -> float:
        """Return the mean waiting time. s: mean time of a read."""
        work, following, elsewhere = 0.0, 0.0, 0.0
        # time of a write on a disk that its request has not read
        later = as_number(self.load.moments[0, 1])
        for one, (t, _) in zip(self.load.operations, self._seconds, strict=True):
            if one.returns:
                work += 2 * self._writes(one) * self._moments(one, writes=False)[0] * t
                following += self._writes(one) * t
            elif one.reads and one.writes:
                elsewhere += self._writes(one)
        # the mean work without the second accesses that have not arrived yet when the disk is idle
        known = self._plain * (1 + work * self.busy / self._squares)
        shared = self._shared([one.reads + one.writes for one in self.load.operations])

        def next_wait(number: int, wait: float) -> float:
            future = elsewhere * (wait + s)
            found = (known - later * future * (1 - 1 / (1 + shared * future / 3))) / (1 + following)
            return found if is_zero(elsewhere) else (wait + found) / 2

        return repeated(1 if is_zero(elsewhere) else _WAITS, self._plain, next_wait)

    def _shared(self, accesses: Sequence[int]) -> float:
        """Return the share of a disk's work that a second disk of its group has in common.

        accesses: number of disks that a request of each kind occupies at the same time.
        """
        load = self.load
        if load.group == 1:
            return 0.0
        found, s = 0.0, as_number(load.moments[0, 0])
        for one, count, (mean, _) in zip(load.operations, accesses, self._seconds, strict=True):
            if count > 1:
                read = s if one.sizes is None else self._moments(one, writes=False)[0]
                work = load.rate * one.share * one.reads * read + self._writes(one) * mean
                found += work * (count - 1)
        found += load.background.busy_together(load.fine.services)
        return smallest(1.0, found / self.busy / (load.group - 1))

    def _access(self) -> NDArray:
        """Return the distribution of the service time of an access."""
        load, served = self.load, self._served
        found = load.reads * served.read(1) + load.writes * served.write
        for kind in self._untouched:
            one = load.operations[kind]
            chance, write = self._returns(kind), self._shares(one, writes=True) @ served.writes
            found = found + self._writes(one) * (chance @ stacked(self._at_once(one)) - chance.sum() * write)
        return load.with_background(found / (load.reads + load.writes), self.time)

    def _returns(self, kind: int) -> NDArray:
        """Return the probabilities that a write returns to an idle disk: to the last disk that it has read, to others."""
        known, writes = self._untouched[kind], self.load.operations[kind].writes
        return stacked([known.last, known.other * (writes - 1)]) / writes

    def _at_once(self, one: Operation) -> tuple[NDArray, NDArray]:
        """Return the distributions of the time of a write that returns to an idle disk: the last disk, other disks."""
        services, time = self.load.fine.services, self.time
        shares = self._shares(one, writes=True)
        # a step between two times of the grid becomes a ramp, so that the mean is continuous
        clip = namespace_of(time, services.arc, services.settle, shares).clip
        last = shares @ clip((time[None] - self._rest_of_turn()[:, None]) / (time[1] - time[0]) + 0.5, 0.0, 1.0)
        least = (services.sizes.written + services.settle)[:, None]
        return last, shares @ clip((time[None] - least) / services.arc, 0.0, 1.0)

    def _ended(self, one: Operation, writes: bool) -> tuple[NDArray, NDArray]:
        """Return the distributions of the end of one access of a phase, and of the end of its last access.

        one: kind of the requests. writes: whether the phase writes.
        """
        services, operations = self.load.fine.services, self.load.operations
        # a first phase reads what the request then writes
        shares, time, count = self._shares(one, writes), self.time, one.writes if writes else one.reads
        kind = writes, None if one.sizes is None else tuple(map(id, one.sizes))
        ones = self._served.writes if writes else self._served.reads
        least = services.sizes.written + services.settle if writes else services.sizes.seconds
        waits = (1 - self.busy) + self.busy * self._transform
        if count == 1:
            if kind not in self._alone:
                self._alone[kind] = shares @ summed(transformed(ones) * waits[None])
            return self._alone[kind], self._alone[kind]
        # Disks that have served the same requests have their arms at the same place, and similar queues. All accesses of
        # a request move arms, but only the accesses of one phase arrive at the same time.
        visited = self._shared([each.writes + each.reads * (not each.returns) for each in operations])
        arrived = self._shared([each.writes if writes else each.reads for each in operations])
        together = (1 - self.busy) * visited + self.busy * arrived
        if self._served.chances is None:
            clip = namespace_of(time, least, services.arc).clip
            rotated = shares @ clip((time[None] - least[:, None]) / services.arc, 0.0, 1.0) ** count
            *each, sought, rotated = transformed(stacked([*ones, services.sought(time), rotated]))
            last = sought * rotated
        else:
            # disks that select requests serve them in different orders
            *each, last = transformed(stacked([*ones, shares @ ones**count]))
        ended = summed(stacked([*each, last]) * waits[None])
        apart = shares @ ended[:-1] ** count
        self._alone[kind] = shares @ ended[:-1]
        return self._alone[kind], together * ended[-1] + (1 - together) * apart

    def untouched(self, kind: int) -> _Untouched:
        """Return the probabilities that no request waits when a write returns to a disk."""
        one, space = self.load.operations[kind], namespace_of(self.time)
        read, end = self._ended(one, writes=False)
        accesses, count = self.load.accesses, one.writes
        kept = space.exp(-accesses * self.time)
        # the mean time by which the other reads end before the last
        early = (mean_time(end, self.time) - mean_time(read, self.time)) * count / max(count - 1, 1)
        last, other = (as_number(space.diff(each, prepend=0.0) @ kept) for each in (end, read))
        return _Untouched(last, other * as_number(space.exp(-accesses * early)))

    def within(self) -> NDArray:
        """Return the share of the requests of each kind that complete within each time of the grid, `[operation, time]`."""
        # requests with several accesses first: single accesses are by-products of theirs
        operations = self.load.operations
        ordered = sorted(range(len(operations)), key=lambda kind: -max(operations[kind].reads, operations[kind].writes))
        found = {kind: self._completed(kind) for kind in ordered}
        return stacked([found[kind] for kind in range(len(operations))])

    def _completed(self, kind: int) -> NDArray:
        """Return, for each time of the grid, the share of the requests of a kind that complete within it."""
        one = self.load.operations[kind]
        if not one.writes:
            return self._ended(one, writes=False)[1]
        if not one.reads:
            return self._ended(one, writes=True)[1]
        _, first = self._ended(one, writes=False)
        if one.returns:
            return self._grown(first, self._return(kind, first))
        _, second = self._ended(one, writes=True)
        before, after = transformed(stacked([first, second]))
        return (self._grown(first, second) + summed(before * after)) / 2

    def _return(self, kind: int, first: NDArray) -> NDArray:
        """Return the distribution of the second phase of a write that returns to its disks. first: of its first phase."""
        known, time, busy, one = self._untouched[kind], self.time, self.busy, self.load.operations[kind]
        last, other = self._at_once(one)
        # the last disk has received requests during the whole first phase
        behind = scaled(time, first, busy * mean_time(first, time) / largest(1 - known.last, 1e-12))
        found = (1 - busy) + busy * self._queued
        clip = namespace_of(found, known.other).clip
        queued = clip((found - known.other) / largest(1 - known.other, 1e-12), 0.0, 1.0)
        *waits, write = transformed(stacked([behind, queued, self._shares(one, writes=True) @ self._served.writes]))
        behind, queued = summed(stacked(waits) * write[None])
        last = known.last * last + (1 - known.last) * behind
        other = known.other * other + (1 - known.other) * queued
        return last * other ** (one.writes - 1)

    def _grown(self, first: NDArray, second: NDArray) -> NDArray:
        """Return the distribution of the sum of two times that grow together: the sum of their quantiles."""
        share = np.linspace(0.0, 1.0, self.time.size)
        total = sum(interpolated(share, each, self.time) for each in (first, second))
        # beyond the sums, the first share is 0 and the last share is 1
        return interpolated(self.time, total, share)
