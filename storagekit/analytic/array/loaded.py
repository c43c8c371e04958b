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
from math import comb

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import nearest_of_several
from storagekit.analytic.array.positioning import Spindle
from storagekit.analytic.array.shapes import Shape
from storagekit.analytic.queueing import response_mmc

# points of time, and how many mean waits of those that wait they cover
_POINTS = 8192
_COVERED = 14.0
# utilization from which on waits are taken to be exponential
_HEAVY = 0.98
# in which a utilization is found
_ROUNDS = 60


@dataclass(frozen=True)
class Sizes:
    """What transfers and overheads take, seconds, and how often each: both `[size]`, shares adding up to 1. again: seconds
    that a write takes besides, where it has to read what it does not cover; 0 by default."""

    seconds: NDArray
    shares: NDArray
    again: NDArray | float = 0.0

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

    def quantile(self, share: float) -> float:
        """The response time, seconds, that this share of the requests keeps within."""
        return float(np.interp(share, self.within, self.time)) if self.time.size else np.inf


@dataclass(frozen=True)
class _Services:
    """Of one disk: the positioning time's distribution, from `seeks` that are equally likely and an `arc`."""

    seeks: NDArray
    arc: float
    sizes: Sizes
    turn: float
    settle: float

    def positioned(self, time: NDArray) -> NDArray:
        """The probability that positioning takes at most `time`."""
        ordered = np.sort(self.seeks)
        area = np.concatenate([[0.0], np.cumsum(np.diff(ordered) * np.arange(1, ordered.size) / ordered.size)])

        def integral(at: NDArray) -> NDArray:
            # of the seeks' distribution function, a staircase
            return np.interp(at, ordered, area) + np.maximum(at - ordered[-1], 0.0)

        return (integral(time) - integral(time - self.arc)) / self.arc

    def read(self, time: NDArray, heads: int) -> NDArray:
        """The probability that a read that the nearest of so many heads serves takes at most `time`."""
        return sum(
            (
                share * (1 - (1 - self.positioned(time - each)) ** heads)
                for each, share in zip(self.sizes.seconds, self.sizes.shares, strict=True)
            ),
            start=np.zeros_like(time),
        )

    def writes(self, time: NDArray) -> list[tuple[float, NDArray]]:
        """The share of each size, and the same of its writes on one disk."""
        later = time - self.turn - self.settle
        written, shares = self.sizes.written, self.sizes.shares
        return [(share, self.positioned(later - each)) for each, share in zip(written, shares, strict=True)]

    def write(self, time: NDArray) -> NDArray:
        """The same of any write on one disk."""
        return sum((share * one for share, one in self.writes(time)), start=np.zeros_like(time))


def loaded(
    spindle: Spindle, shape: Shape, reach: float, sizes: Sizes, *, disks: int, rate: float, reads: float
) -> Loaded:
    """The response times of `rate` requests a second to an array, a share `reads` of them reads, the rest written at once.

    spindle: its overhead is not counted, `sizes` have it. reach: the cylinders with data as a share of all.
    """
    seeks = spindle.hop(np.asarray(reach) * nearest_of_several.distances())
    turn = float(np.asarray(spindle.revolution)) * shape.turned
    arc = float(np.asarray(spindle.revolution)) / shape.replicas
    services = _Services(seeks, arc, sizes, turn, float(np.asarray(spindle.write_settle)))
    longest = float(seeks.max() + arc + sizes.written.max() + turn + services.settle)
    fine = np.linspace(0.0, longest, 1025)
    arrivals = rate * (reads + (1 - reads) * shape.written) / disks
    ways = _Ways(shape, reads, services, fine)
    busy = ways.busy(arrivals)
    saturation = rate / (arrivals * ways.moment(1.0, 1))
    if busy >= 1:
        return Loaded(rate / saturation, saturation, np.inf, np.empty(0), np.empty(0))
    time = np.linspace(0.0, longest + _COVERED * ways.left(busy), _POINTS)
    within = _responses(ways, time, busy)
    return Loaded(busy, saturation, float(np.trapezoid(1 - within, time)), time, within)


@dataclass(frozen=True)
class _Ways:
    """Who serves what: the moments of a disk's services at a utilization, from their distributions at times `fine`."""

    shape: Shape
    reads: float
    services: _Services
    fine: NDArray

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
        # of M/M/h, C = (T - S)(h - a) / S
        erlang = float(response_mmc(self.pool * busy, 1.0, self.pool) - 1) * self.pool * (1 - busy)
        together = self.together
        return together * busy + (1 - together) * erlang

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
        ways = [self.services.read(self.fine, heads) for heads in range(1, self.shape.heads + 1)]
        exceeds = 1 - np.array([*ways, self.services.write(self.fine)])
        return np.array([np.trapezoid(weight * exceeds, self.fine) for weight in (1.0, 2 * self.fine)])

    def moment(self, busy: float, power: int) -> float:
        """The mean, or the mean square, of any access."""
        chances, of = self.found_idle(busy), self.moments[power - 1]
        return float(self.of_reads * (chances[0] * of[0] + chances[1:] @ of[:-1]) + (1 - self.of_reads) * of[-1])

    def read(self, time: NDArray, busy: float) -> NDArray:
        """Distribution of the service of a read."""
        chances = self.found_idle(busy)
        served = [self.services.read(time, max(1, heads)) for heads in range(len(chances))]
        return sum((chance * one for chance, one in zip(chances, served, strict=True)), start=np.zeros_like(time))

    def access(self, time: NDArray, busy: float) -> NDArray:
        """Distribution of the service of any access."""
        share = self.of_reads
        return share * self.read(time, busy) + (1 - share) * self.services.write(time)

    def left(self, busy: float) -> float:
        """The mean wait of those that wait at one disk, seconds: E S^2 / 2 E S (1 - rho)."""
        return self.moment(busy, 2) / (2 * self.moment(busy, 1) * (1 - busy))

    def busy(self, arrivals: float) -> float:
        """The utilization at which so many accesses a second take as long as they do there; 1 where they never fit."""
        busy = min(1.0, arrivals * self.moment(0.0, 1))
        for _ in range(_ROUNDS if self.shape.heads > 1 else 0):
            busy = min(1.0, (busy + arrivals * self.moment(busy, 1)) / 2)
        return busy


def _responses(ways: _Ways, time: NDArray, busy: float) -> NDArray:
    """The share of requests answered within each of evenly spaced times."""
    shape, services = ways.shape, ways.services
    # in heavy traffic waits are exponential, and services shorter than the steps between times
    many = busy > _HEAVY
    waiting = 1 - np.exp(-time / ways.left(busy)) if many else _waiting(1 - ways.access(time, busy), busy)
    # heads that serve one queue work it off together, but for writes
    faster = ways.together + (1 - ways.together) / ways.pool
    waiting = np.interp(time, time * faster, waiting)
    alone = services.read(time, 1)
    chances = ways.found_idle(busy)
    read = chances[0] * _sum(waiting, alone)
    for heads, chance in enumerate(chances[1:], 1):
        read = read + chance * services.read(time, heads)
    write = np.zeros_like(time)
    # all copies of one write, or its data and parity, have one size
    for share, one in services.writes(time):
        last = one**shape.written
        alike = (1 - busy) * last + busy * _sum(waiting, last)
        apart = ((1 - busy) * one + busy * _sum(waiting, one)) ** shape.written
        write = write + share * (ways.alike * alike + (1 - ways.alike) * apart)
    return ways.reads * read + (1 - ways.reads) * write


def _waiting(exceeds: NDArray, busy: float) -> NDArray:
    """The distribution of the waits that are not 0, from how probably a service exceeds each of evenly spaced times."""
    # what is left of a service has that density; of each step half lies at either end
    step = (exceeds[:-1] + exceeds[1:]) / 4
    mass = np.append(step, 0.0) + np.insert(step, 0, 0.0)
    left = np.fft.rfft(mass / mass.sum(), 2 * mass.size)
    waits = np.fft.irfft(left * (1 - busy) / (1 - busy * left), 2 * mass.size)[: mass.size]
    steps = np.cumsum(np.maximum(waits, 0.0))
    return steps / max(steps[-1], 1.0)


def _sum(one: NDArray, other: NDArray) -> NDArray:
    """The distribution of the sum of two independent times, from theirs at the same evenly spaced times."""
    first, second = (np.fft.rfft(np.diff(each, prepend=0.0), 2 * each.size) for each in (one, other))
    return np.clip(np.cumsum(np.fft.irfft(first * second, 2 * one.size)[: one.size]), 0.0, 1.0)
