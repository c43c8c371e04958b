"""Calculate the distribution of response times of an array under Poisson arrivals with FCFS scheduling.

Each disk is an M/G/1 queue with the utilization rho. The waiting time W at a disk is the sum of N residual service
times, and N has a geometric distribution (Pollaczek and Khinchine):

    W = sum of N residual services,  P(N = n) = (1 - rho) rho^n

The sum is computed by Fourier transform, which gives the whole distribution of W. This distribution is exact if service
times are independent. Above 98% utilization, waiting times are assumed to be exponential.

Three parts are approximations:

- Any of h heads can serve a read, and the read waits only if no head is idle. The probability of waiting is given by
  Erlang's formula for h servers, and the h heads serve one common queue of reads.
- A write occupies all heads, so for writes the heads act as a single server. The two probabilities of waiting, of one
  server and of h servers, are averaged. The weight of one server is the share of the busy time that writes take.
- The waiting times at the disks of a write are equal if the disks are mirrors. For other disks, the distribution is a
  mixture of equal and of independent waiting times. The weight of equal waiting times is the share of the work that two
  disks have in common.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, comb, log2
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import nearest_of_several
from storagekit.analytic.array.equations import DISKS
from storagekit.analytic.array.positioning import Spindle
from storagekit.analytic.array.shapes import Shape
from storagekit.analytic.queueing import waiting_probability
from storagekit.core.validation import (
    SHARE,
    SPAN,
    Positive,
    Share,
    instance_of,
    require,
    unchecked,
    validate,
    validate_fields,
)

# length of the time grid, in multiples of the mean waiting time of the requests that wait
_COVERED = 14.0
# Numbers of points of the time grid: within the longest service time, smallest total, largest total. The total is a
# power of two for the Fourier transform. Compared with 65,536 points, means and quantiles of up to 12 disks change by
# at most 0.1%, and by 0.2% near saturation.
_IN_SERVICE, _FEWEST, _MOST = 256, 2048, 8192
# utilization above which waiting times are assumed to be exponential
_HEAVY = 0.98
# iterations of the search for the utilization
_ROUNDS = 60
_SPANS, _SHARES = SPAN.each, SHARE.each


@dataclass(frozen=True)
class TransferSizes:
    """Transfer time with overhead, and share of the requests, for each request size.

    Parameters
    ----------
    seconds : array of float, shape `[size]`
        Transfer time and overhead of a request of each size, seconds.
    shares : array of float, shape `[size]`
        Share of each size among the requests. The shares sum to 1.
    again : float or array of float, shape `[size]`
        Additional time of a write, seconds; 0 by default. A write that covers only a part of a physical sector reads
        the sector first.

    Raises
    ------
    InputError
        If a value is out of range, the shapes differ, or the shares do not sum to 1.
    """

    seconds: Annotated[NDArray, _SPANS]
    shares: Annotated[NDArray, _SHARES]
    again: Annotated[NDArray | float, _SPANS] = 0.0

    def __post_init__(self):
        validate_fields(self)
        sizes = np.shape(self.seconds)
        require(
            len(sizes) == 1 and sizes[0] > 0,
            "seconds of shape",
            str(sizes),
            "one-dimensional, with at least one size",
        )
        require(
            np.shape(self.shares) == sizes, "shares of shape", str(np.shape(self.shares)), f"{sizes}, one for each size"
        )
        require(
            np.shape(self.again) in ((), sizes),
            "again of shape",
            str(np.shape(self.again)),
            f"() or {sizes}, one for each size",
        )
        total = float(np.sum(self.shares))
        require(abs(total - 1) < 1e-6, "sum of shares", total, "1; divide the shares by their sum")

    @property
    def written(self) -> NDArray:
        """Return the transfer time and overhead of a write of each size in seconds, `[size]`."""
        return self.seconds + self.again


@dataclass(frozen=True)
class Loaded:
    """Response times of an array under Poisson arrivals.

    Parameters
    ----------
    utilization : float
        Share of the time that a disk is busy; 1 or more if the array is overloaded.
    saturation : float
        Arrival rate at which the utilization is 1, requests a second.
    mean : float
        Mean response time, seconds; infinite if the array is overloaded.
    time : array of float, shape `[time]`
        Evenly spaced times, seconds; empty if the array is overloaded.
    within : array of float, shape `[time]`
        Share of the requests that complete within each `time`; empty if the array is overloaded.
    """

    utilization: float
    saturation: float
    mean: float
    time: NDArray
    within: NDArray

    @validate
    def quantile(self, share: Share) -> float:
        """Return the response time within which a share of the requests completes.

        Parameters
        ----------
        share : float
            Share of the requests, 0 to 1.

        Returns
        -------
        float
            Response time, seconds; infinite if the array is overloaded.

        Raises
        ------
        InputError
            If the share is out of range.
        """
        return float(np.interp(share, self.within, self.time)) if self.time.size else np.inf


@dataclass(frozen=True)
class _Services:
    """Service times of one disk: one of the equally likely `seeks`, a rotation uniform over `arc`, and a transfer."""

    seeks: NDArray
    arc: float
    sizes: TransferSizes
    turn: float
    settle: float

    def positioned(self, time: NDArray) -> NDArray:
        """Return the probability that positioning takes at most `time`."""
        ordered, area = self._staircase

        def integral(at: NDArray) -> NDArray:
            # integral of the distribution function of the seeks, which is a step function
            return np.interp(at, ordered, area) + np.maximum(at - ordered[-1], 0.0)

        return (integral(time) - integral(time - self.arc)) / self.arc

    @cached_property
    def _staircase(self) -> tuple[NDArray, NDArray]:
        """Return the sorted seek times, and the integral of their distribution function up to each seek time."""
        ordered = np.sort(self.seeks)
        return ordered, np.concatenate([[0.0], np.cumsum(np.diff(ordered) * np.arange(1, ordered.size) / ordered.size)])


@dataclass(frozen=True)
class _Served:
    """Distribution functions of service times at evenly spaced times."""

    services: _Services
    time: NDArray

    @cached_property
    def _misses(self) -> list[NDArray]:
        """Return, for each size, the probability that a read by one head takes longer than each time of the grid."""
        return [1 - self.services.positioned(self.time - each) for each in self.services.sizes.seconds]

    def read(self, heads: int) -> NDArray:
        """Return the probability that a read by the nearest of `heads` heads takes at most each time of the grid."""
        shares = self.services.sizes.shares
        parts = (share * (1 - miss**heads) for share, miss in zip(shares, self._misses, strict=True))
        return sum(parts, start=np.zeros_like(self.time))

    @cached_property
    def writes(self) -> NDArray:
        """Return the probability that a write takes at most each time of the grid on one disk, `[size, time]`."""
        later = self.time - self.services.turn - self.services.settle
        return np.array([self.services.positioned(later - each) for each in self.services.sizes.written])

    @cached_property
    def write(self) -> NDArray:
        """Return, for each time, the probability that a write of random size takes at most this time on one disk."""
        return self.services.sizes.shares @ self.writes


@validate  # fmt: skip
def loaded(
    spindle: Annotated[Spindle, instance_of(Spindle, "a Spindle, for example spindle(load_drive(name))")],
    shape: Shape,
    reach: Share,
    sizes: TransferSizes,
    *,
    disks: Annotated[int, DISKS],
    rate: Positive,
    reads: Share,
) -> Loaded:
    """Calculate the response times of an array under Poisson arrivals.

    Parameters
    ----------
    spindle : Linear or Curve
        Timing of the drive. Its overhead is ignored, because `sizes` includes the overhead.
    shape : Shape
        Layout of the array.
    reach : float
        Share of the cylinders that hold data, 0 to 1.
    sizes : TransferSizes
        Transfer times of the requests.
    disks : int
        Number of disks, at least 1.
    rate : float
        Arrival rate, requests a second, above 0.
    reads : float
        Share of reads, 0 to 1. The other requests are writes, whose copies or parity are written immediately.

    Returns
    -------
    Loaded
        Utilization and distribution of response times.

    Raises
    ------
    InputError
        If an argument has the wrong type or is out of range; a rate of 0 is out of range.
    """
    seeks = spindle.hop(np.asarray(reach) * unchecked(nearest_of_several.distances)())
    turn = float(np.asarray(spindle.revolution)) * shape.turned
    arc = float(np.asarray(spindle.revolution)) / shape.replicas
    services = _Services(seeks, arc, sizes, turn, float(np.asarray(spindle.write_settle)))
    longest = float(seeks.max() + arc + sizes.written.max() + turn + services.settle)
    arrivals = rate * (reads + (1 - reads) * shape.written) / disks
    ways = _Ways(shape, reads, _Served(services, np.linspace(0.0, longest, 1025)))
    busy = ways.busy(arrivals)
    saturation = rate / (arrivals * ways.moment(1.0, 1))
    if busy >= 1:
        return Loaded(rate / saturation, saturation, np.inf, np.empty(0), np.empty(0))
    covered = longest + _COVERED * ways.left(busy)
    points = min(max(_FEWEST, 1 << ceil(log2(_IN_SERVICE * covered / longest))), _MOST)
    time = np.linspace(0.0, covered, points)
    within = _responses(ways, _Served(services, time), busy)
    return Loaded(busy, saturation, float(np.trapezoid(1 - within, time)), time, within)


@dataclass(frozen=True)
class _Ways:
    """Mix of reads and writes, and the moments of a disk's service times at a given utilization.

    The moments are integrated from the distributions in `fine`.
    """

    shape: Shape
    reads: float
    fine: _Served

    @property
    def of_reads(self) -> float:
        """Return the share of reads among the accesses of a disk."""
        return self.reads / (self.reads + (1 - self.reads) * self.shape.written)

    def found_idle(self, busy: float) -> NDArray:
        """Return the probabilities that a read finds 0, 1, 2, ... idle heads."""
        heads = self.shape.heads
        waits = self.waits(busy)
        free = np.array([comb(heads, n) * (1 - busy) ** n * busy ** (heads - n) for n in range(1, heads + 1)])
        total = free.sum()
        return np.concatenate([[waits], free * (1 - waits) / total if total > 0 else free])

    def waits(self, busy: float) -> float:
        """Return the probability that a read finds no idle head."""
        if busy >= 1 or self.shape.heads == 1:
            return min(busy, 1.0)
        together = self.together
        return together * busy + (1 - together) * waiting_probability(self.pool * busy, self.pool)

    @property
    def pool(self) -> int:
        """Return the number of disks that serve one queue."""
        return max(self.shape.heads, self.shape.pool)

    @property
    def together(self) -> float:
        """Return the share of a disk's busy time that writes take.

        A write occupies all heads of its block simultaneously.
        """
        means, share = self.moments[0], self.of_reads
        return (1 - share) * means[-1] / (share * means[0] + (1 - share) * means[-1])

    @property
    def alike(self) -> float:
        """Return the weight, 0 to 1, of the case that the waiting times at the disks of a write are equal.

        In this case, the write ends with its longest access. The disks of a mirror have the same queue, so the weight
        is 1. For other disks, the weight is a product: the share of a disk's work that writes cause, multiplied by the
        share of its writes that a second disk also has.
        """
        if self.shape.heads > 1:
            return 1.0
        shared = (self.shape.written - 1) / (self.shape.group - 1) if self.shape.group > 1 else 0.0
        return self.together * shared

    @cached_property
    def moments(self) -> NDArray:
        """Return the means and mean squares of service times, `[2, service]`.

        The services are reads by the nearest of 1, 2, ... heads, and a write.
        """
        ways = [self.fine.read(heads) for heads in range(1, self.shape.heads + 1)]
        exceeds, time = 1 - np.array([*ways, self.fine.write]), self.fine.time
        return np.array([np.trapezoid(weight * exceeds, time) for weight in (1.0, 2 * time)])

    def moment(self, busy: float, power: int) -> float:
        """Return the mean (for `power` 1) or the mean square (for `power` 2) of the service time of an access."""
        chances, of = self.found_idle(busy), self.moments[power - 1]
        return float(self.of_reads * (chances[0] * of[0] + chances[1:] @ of[:-1]) + (1 - self.of_reads) * of[-1])

    def access(self, served: _Served, busy: float) -> NDArray:
        """Return the distribution of the service time of an access."""
        none, *idle = self.found_idle(busy)
        chances = [none + idle[0], *idle[1:]]
        read = sum((chance * served.read(heads) for heads, chance in enumerate(chances, 1)), np.zeros_like(served.time))
        return self.of_reads * read + (1 - self.of_reads) * served.write

    def left(self, busy: float) -> float:
        """Return the mean waiting time in seconds of the requests that wait at one disk: E S^2 / (2 E S (1 - rho))."""
        return self.moment(busy, 2) / (2 * self.moment(busy, 1) * (1 - busy))

    def busy(self, arrivals: float) -> float:
        """Return the utilization of a disk with `arrivals` accesses a second; 1 if it is overloaded.

        Service times depend on the utilization, so the utilization is found by damped iteration.
        """
        busy = min(1.0, arrivals * self.moment(0.0, 1))
        for _ in range(_ROUNDS if self.shape.heads > 1 else 0):
            busy = min(1.0, (busy + arrivals * self.moment(busy, 1)) / 2)
        return busy


def _responses(ways: _Ways, served: _Served, busy: float) -> NDArray:
    """Return, for each of evenly spaced times, the share of requests that complete within this time."""
    # In heavy traffic, waiting times are exponential, and service times are shorter than the step of the time grid.
    many, time = busy > _HEAVY, served.time
    waiting = 1 - np.exp(-time / ways.left(busy)) if many else _waiting(1 - ways.access(served, busy), busy)
    # Heads with one queue serve the reads in parallel, but not the writes.
    faster = ways.together + (1 - ways.together) / ways.pool
    waits = _Waits(np.interp(time, time * faster, waiting))
    within = np.zeros_like(time)
    if ways.reads > 0:
        chances = ways.found_idle(busy)
        within += ways.reads * chances[0] * waits.then(served.read(1))
        for heads, chance in enumerate(chances[1:], 1):
            within += ways.reads * chance * served.read(heads)
    return within if ways.reads == 1 else within + (1 - ways.reads) * _written(ways, served, waits, busy)


def _written(ways: _Ways, served: _Served, waits: "_Waits", busy: float) -> NDArray:
    """Return, for each of evenly spaced times, the share of writes that complete within this time."""
    # All copies of a write, or its data and parity, have the same size.
    ones, written, shares = served.writes, ways.shape.written, served.services.sizes.shares
    found = np.zeros_like(served.time)
    if ways.alike > 0:
        last = ones**written
        found += ways.alike * (shares @ ((1 - busy) * last + busy * waits.then(last)))
    if ways.alike < 1:
        apart = ((1 - busy) * ones + busy * waits.then(ones)) ** written
        found += (1 - ways.alike) * (shares @ apart)
    return found


def _waiting(exceeds: NDArray, busy: float) -> NDArray:
    """Return the distribution of the waiting times above 0.

    `exceeds` is the probability that a service time exceeds each of evenly spaced times.
    """
    # The residual service time has this density. Half of the probability of each step is assigned to either end.
    step = (exceeds[:-1] + exceeds[1:]) / 4
    mass = np.append(step, 0.0) + np.insert(step, 0, 0.0)
    left = np.fft.rfft(mass / mass.sum(), 2 * mass.size)
    waits = np.fft.irfft(left * (1 - busy) / (1 - busy * left), 2 * mass.size)[: mass.size]
    steps = np.cumsum(np.maximum(waits, 0.0))
    return steps / max(steps[-1], 1.0)


class _Waits:
    """The distribution of waiting times at evenly spaced times, from which sums with service times are computed."""

    def __init__(self, within: NDArray):
        self._transform = _transformed(within)

    def then(self, service: NDArray) -> NDArray:
        """Return the distributions of the waiting time plus an independent service time, `[..., time]`."""
        points = service.shape[-1]
        both = np.fft.irfft(self._transform * _transformed(service), 2 * points)[..., :points]
        return np.clip(np.cumsum(both, axis=-1), 0.0, 1.0)


def _transformed(within: NDArray) -> NDArray:
    return np.fft.rfft(np.diff(within, prepend=0.0), 2 * within.shape[-1])
