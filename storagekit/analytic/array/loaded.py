"""How long requests take that come by themselves: the distribution of response times of an array, first come first served.

Each disk is a queue M/G/1. Its waiting times are a geometric sum of what is left of services (Pollaczek and Khinchine), here
summed by Fourier transform, so that they have a distribution and not a mean alone:

    W = sum of N residual services,  P(N = n) = (1 - rho) rho^n

exact where services are independent (above 98% busy the waits are taken to be exponential). Three things are approximations.
A read that any of h heads may serve waits where none is idle, with Erlang's probability of h servers, and for a queue that h
heads work off. Where writes occupy them all the heads are one: by the share of the time that writes take, the two are mixed.
The disks that a write occupies wait alike if they are mirrors, and else alike by the share of their work that they have in
common, apart by the rest.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, comb, log2

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import nearest_of_several
from storagekit.analytic.array.equations import DISKS
from storagekit.analytic.array.positioning import Spindle
from storagekit.analytic.array.shapes import Shape
from storagekit.analytic.queueing import waiting_probability
from storagekit.core.checks import require
from storagekit.core.kinds import POSITIVE, SHARE, SPAN, a, hold, takes, unchecked

# how many mean waits of those that wait the points of time cover
_COVERED = 14.0
# how many of them there are: so many in the longest service, within these limits, a power of two for the transform
# (against 65,536 of them, means and quantiles of up to 12 disks change by 0.1% at most, 0.2% near saturation)
_IN_SERVICE, _FEWEST, _MOST = 256, 2048, 8192
# utilization from which on waits are taken to be exponential
_HEAVY = 0.98
# in which a utilization is found
_ROUNDS = 60
_SPANS, _SHARES = SPAN.each, SHARE.each


@dataclass(frozen=True)
class TransferSizes:
    """What transfers and overheads take, seconds, and how often each: both `[size]`, shares adding up to 1. again: seconds
    that a write takes besides, where it has to read what it does not cover; 0 by default. Raises InputError for others."""

    seconds: NDArray
    shares: NDArray
    again: NDArray | float = 0.0

    def __post_init__(self):
        hold(self, seconds=_SPANS, shares=_SHARES, again=_SPANS)
        sizes = np.shape(self.seconds)
        require(len(sizes) == 1 and sizes[0] > 0, "seconds of shape", str(sizes), "[size], at least one")
        require(
            np.shape(self.shares) == sizes, "shares of shape", str(np.shape(self.shares)), f"{sizes}, one for each size"
        )
        require(
            np.shape(self.again) in ((), sizes),
            "again of shape",
            str(np.shape(self.again)),
            f"() or {sizes}, as sizes are",
        )
        total = float(np.sum(self.shares))
        require(abs(total - 1) < 1e-6, "shares that add up to", total, "1: divide them by their sum")

    @property
    def written(self) -> NDArray:
        """What those of writes take, seconds, `[size]`."""
        return self.seconds + self.again


@dataclass(frozen=True)
class Loaded:
    """An array under Poisson arrivals. utilization: of a disk; saturation: requests a second at which it is 1. time, within:
    the share of requests answered `within` each `time`, seconds; empty where arrivals are too many, and `mean`, seconds, and
    quantiles are infinite."""

    utilization: float
    saturation: float
    mean: float
    time: NDArray
    within: NDArray

    @takes(share=SHARE)
    def quantile(self, share: float) -> float:
        """The response time, seconds, that this share of the requests keeps within."""
        return float(np.interp(share, self.within, self.time)) if self.time.size else np.inf


@dataclass(frozen=True)
class _Services:
    """Of one disk: the positioning time's distribution, from `seeks` that are equally likely and an `arc`."""

    seeks: NDArray
    arc: float
    sizes: TransferSizes
    turn: float
    settle: float

    def positioned(self, time: NDArray) -> NDArray:
        """The probability that positioning takes at most `time`."""
        ordered, area = self._staircase

        def integral(at: NDArray) -> NDArray:
            # of the seeks' distribution function, a staircase
            return np.interp(at, ordered, area) + np.maximum(at - ordered[-1], 0.0)

        return (integral(time) - integral(time - self.arc)) / self.arc

    @cached_property
    def _staircase(self) -> tuple[NDArray, NDArray]:
        ordered = np.sort(self.seeks)
        return ordered, np.concatenate([[0.0], np.cumsum(np.diff(ordered) * np.arange(1, ordered.size) / ordered.size)])


@dataclass(frozen=True)
class _Served:
    """The distributions of services at evenly spaced times."""

    services: _Services
    time: NDArray

    @cached_property
    def _misses(self) -> list[NDArray]:
        """The probability that a read of each size takes one head longer."""
        return [1 - self.services.positioned(self.time - each) for each in self.services.sizes.seconds]

    def read(self, heads: int) -> NDArray:
        """The probability that a read that the nearest of so many heads serves takes at most each time."""
        shares = self.services.sizes.shares
        parts = (share * (1 - miss**heads) for share, miss in zip(shares, self._misses, strict=True))
        return sum(parts, start=np.zeros_like(self.time))

    @cached_property
    def writes(self) -> NDArray:
        """The same of writes of each size on one disk, `[size, time]`."""
        later = self.time - self.services.turn - self.services.settle
        return np.array([self.services.positioned(later - each) for each in self.services.sizes.written])

    @cached_property
    def write(self) -> NDArray:
        """The same of any write on one disk."""
        return self.services.sizes.shares @ self.writes


@takes(
    spindle=a(Spindle, "the view of a drive, spindle(load_drive(name))"), shape=a(Shape), reach=SHARE, sizes=a(TransferSizes),
    disks=DISKS, rate=POSITIVE, reads=SHARE,
)  # fmt: skip
def loaded(
    spindle: Spindle, shape: Shape, reach: float, sizes: TransferSizes, *, disks: int, rate: float, reads: float
) -> Loaded:
    """The response times of `rate` requests a second to an array, a share `reads` of them reads, the rest written at once.

    spindle: its overhead is not counted, `sizes` have it. reach: the cylinders with data as a share of all. Raises InputError
    for what is none of these, and for a rate of 0.
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
    """Who serves what: the moments of a disk's services at a utilization, from their distributions at `fine` times."""

    shape: Shape
    reads: float
    fine: _Served

    @property
    def of_reads(self) -> float:
        """The share of reads in the accesses of a disk."""
        return self.reads / (self.reads + (1 - self.reads) * self.shape.written)

    def found_idle(self, busy: float) -> NDArray:
        """The probability that a read finds so many idle heads, from none on."""
        heads = self.shape.heads
        waits = self.waits(busy)
        free = np.array([comb(heads, n) * (1 - busy) ** n * busy ** (heads - n) for n in range(1, heads + 1)])
        total = free.sum()
        return np.concatenate([[waits], free * (1 - waits) / total if total > 0 else free])

    def waits(self, busy: float) -> float:
        """The probability that a read finds no idle head."""
        if busy >= 1 or self.shape.heads == 1:
            return min(busy, 1.0)
        together = self.together
        return together * busy + (1 - together) * waiting_probability(self.pool * busy, self.pool)

    @property
    def pool(self) -> int:
        """The disks that work off one queue."""
        return max(self.shape.heads, self.shape.pool)

    @property
    def together(self) -> float:
        """The share of a disk's time that goes to writes, which occupy all heads of their block at once."""
        means, share = self.moments[0], self.of_reads
        return (1 - share) * means[-1] / (share * means[0] + (1 - share) * means[-1])

    @property
    def alike(self) -> float:
        """How far the disks of a write wait alike, and its last access is the longest: those of a mirror, which share what
        waits, do; others as far as what one does for writes goes to the other as well."""
        if self.shape.heads > 1:
            return 1.0
        shared = (self.shape.written - 1) / (self.shape.group - 1) if self.shape.group > 1 else 0.0
        return self.together * shared

    @cached_property
    def moments(self) -> NDArray:
        """Means and mean squares of services: of reads by the nearest of 1, 2, ... heads, and of a write, `[2, service]`."""
        ways = [self.fine.read(heads) for heads in range(1, self.shape.heads + 1)]
        exceeds, time = 1 - np.array([*ways, self.fine.write]), self.fine.time
        return np.array([np.trapezoid(weight * exceeds, time) for weight in (1.0, 2 * time)])

    def moment(self, busy: float, power: int) -> float:
        """The mean, or the mean square, of any access."""
        chances, of = self.found_idle(busy), self.moments[power - 1]
        return float(self.of_reads * (chances[0] * of[0] + chances[1:] @ of[:-1]) + (1 - self.of_reads) * of[-1])

    def access(self, served: _Served, busy: float) -> NDArray:
        """Distribution of the service of any access."""
        none, *idle = self.found_idle(busy)
        chances = [none + idle[0], *idle[1:]]
        read = sum((chance * served.read(heads) for heads, chance in enumerate(chances, 1)), np.zeros_like(served.time))
        return self.of_reads * read + (1 - self.of_reads) * served.write

    def left(self, busy: float) -> float:
        """The mean wait of those that wait at one disk, seconds: E S^2 / 2 E S (1 - rho)."""
        return self.moment(busy, 2) / (2 * self.moment(busy, 1) * (1 - busy))

    def busy(self, arrivals: float) -> float:
        """The utilization at which so many accesses a second take as long as they do there; 1 where they never fit."""
        busy = min(1.0, arrivals * self.moment(0.0, 1))
        for _ in range(_ROUNDS if self.shape.heads > 1 else 0):
            busy = min(1.0, (busy + arrivals * self.moment(busy, 1)) / 2)
        return busy


def _responses(ways: _Ways, served: _Served, busy: float) -> NDArray:
    """The share of requests answered within each of evenly spaced times."""
    # in heavy traffic waits are exponential, and services shorter than the steps between times
    many, time = busy > _HEAVY, served.time
    waiting = 1 - np.exp(-time / ways.left(busy)) if many else _waiting(1 - ways.access(served, busy), busy)
    # heads that serve one queue work it off together, but for writes
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
    """The same of the writes."""
    # all copies of one write, or its data and parity, have one size
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
    """The distribution of the waits that are not 0, from how probably a service exceeds each of evenly spaced times."""
    # what is left of a service has that density; of each step half lies at either end
    step = (exceeds[:-1] + exceeds[1:]) / 4
    mass = np.append(step, 0.0) + np.insert(step, 0, 0.0)
    left = np.fft.rfft(mass / mass.sum(), 2 * mass.size)
    waits = np.fft.irfft(left * (1 - busy) / (1 - busy * left), 2 * mass.size)[: mass.size]
    steps = np.cumsum(np.maximum(waits, 0.0))
    return steps / max(steps[-1], 1.0)


class _Waits:
    """Waits of a distribution at evenly spaced times, and what follows them."""

    def __init__(self, within: NDArray):
        self._transform = _transformed(within)

    def then(self, service: NDArray) -> NDArray:
        """The distributions of wait and service together, which are independent, `[..., time]`."""
        points = service.shape[-1]
        both = np.fft.irfft(self._transform * _transformed(service), 2 * points)[..., :points]
        return np.clip(np.cumsum(both, axis=-1), 0.0, 1.0)


def _transformed(within: NDArray) -> NDArray:
    return np.fft.rfft(np.diff(within, prepend=0.0), 2 * within.shape[-1])
