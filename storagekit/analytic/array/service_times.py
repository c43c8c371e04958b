"""Distributions of the service times and of the waiting times of one disk, at evenly spaced times."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.command_queue import LEFT_OVER
from storagekit.core.namespaces import (
    as_number,
    collected,
    evenly_spaced,
    interpolated,
    is_true,
    joined,
    largest,
    namespace_of,
    power,
    recomputed,
    smallest,
    stacked,
)
from storagekit.core.validation import SHARE, SPAN, optional, require, traced, validate_fields

# utilization above which waiting times are assumed to be exponential
HEAVY = 0.98
# Length of the time grid, in multiples of the mean waiting time of the requests that wait. Longer times have a probability of
# about exp(-20). The Fourier transforms are periodic, so that sums beyond the end of the grid appear at its beginning.
_COVERED = 20.0
# Numbers of points of the time grid: within the longest service time, smallest total, largest total. The total is a
# power of two for the Fourier transform. Compared with 65,536 points, means and 95% and 99% quantiles change by at most
# 0.3%, and medians by at most 0.6%.
_IN_SERVICE, _FEWEST, _MOST = 96, 512, 2048
_SPANS, _SHARES = SPAN.each, SHARE.each


@dataclass(frozen=True)
class TransferSizes:
    """Transfer time with overhead, and share of the requests, for each request size.

    Parameters
    ----------
    seconds : array of float, shape `[size]`
        Transfer time and overhead of a request of each size, seconds.
    shares : array of float, shape `[size]`
        Share of each size among the accesses that read. The shares sum to 1.
    again : float or array of float, shape `[size]`
        Additional time of a write, seconds; 0 by default. A write that covers only a part of a physical sector reads
        the sector first.
    written_shares : array of float, shape `[size]`, optional
        Share of each size among the accesses that write; by default `shares`.

    Raises
    ------
    InputError
        If a value is out of range, the shapes differ, or the shares do not sum to 1.
    """

    seconds: Annotated[NDArray, _SPANS]
    shares: Annotated[NDArray, _SHARES]
    again: Annotated[NDArray | float, _SPANS] = 0.0
    written_shares: Annotated[NDArray | None, optional(_SHARES)] = None

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
            np.shape(self.again) in ((), sizes),
            "again of shape",
            str(np.shape(self.again)),
            f"() or {sizes}, one for each size",
        )
        for name, shares in (("shares", self.shares), ("written shares", self.written_shares)):
            if shares is not None:
                shape, total = np.shape(shares), as_number(namespace_of(shares).sum(shares))
                require(shape == sizes, f"{name} of shape", str(shape), f"{sizes}, one for each size")
                require(abs(total - 1) < 1e-6, f"sum of {name}", total, "1; divide the shares by their sum")

    @property
    def written(self) -> NDArray:
        """Return the transfer time and overhead of a write of each size in seconds, `[size]`."""
        return self.seconds + self.again

    def shares_of(self, writes: bool) -> NDArray:
        """Return the share of each size among the accesses that write, or among the accesses that read."""
        return self.shares if self.written_shares is None or not writes else self.written_shares


@dataclass(frozen=True)
class ServiceTimes:
    """Service times of one disk: one of the equally likely `seeks`, a rotation uniform over `arc`, and a transfer."""

    seeks: NDArray
    arc: float
    sizes: TransferSizes
    turn: float
    settle: float

    def positioned(self, time: NDArray) -> NDArray:
        """Return the probability that positioning takes at most `time`."""
        space = namespace_of(time, self.seeks, self.arc)
        if space is np:
            return np.interp(time, *self._bends)
        # the same number: the mean over the seeks of the probability for the rotation
        return recomputed(_ramp, time, self._samples(time), self.arc, 0.0)

    def sought(self, time: NDArray) -> NDArray:
        """Return the probability that a seek takes at most `time`."""
        space = namespace_of(time, self.seeks)
        if space is np:
            return np.searchsorted(self._ordered, time, side="right") / self.seeks.size
        # a step between two times of the grid becomes a ramp, so that the derivative is not 0
        return recomputed(_ramp, time, self._samples(time), time.ravel()[1] - time.ravel()[0], 0.5)

    def _samples(self, time: NDArray) -> NDArray:
        """Return the seeks, with leading axes of length 1 so that they broadcast with times of shape `[..., 1]`."""
        return self.seeks.reshape((1,) * time.ndim + (-1,))

    @property
    def moments(self) -> NDArray:
        """Return the means and mean squares of the times of a read and of a write by one head, `[2, access]`."""
        return stacked([self.moments_of(writes, self.sizes.shares_of(writes)) for writes in (False, True)]).T

    def moments_of(self, writes: bool, shares: NDArray) -> NDArray:
        """Return the mean and the mean square of the time of a read, or of a write, by one head, `[2]`.

        shares: share of each size among these accesses, `[size]`.
        """
        mean, square = self._positioning
        others = self.sizes.written + self.turn + self.settle if writes else self.sizes.seconds
        other = others @ shares
        return stacked([mean + other, square + 2 * mean * other + others**2 @ shares])

    @cached_property
    def _positioning(self) -> tuple[float, float]:
        """Return the mean and the mean square of the time of a seek and a rotation."""
        seek, arc = self.seeks.mean(), self.arc
        return seek + arc / 2, (self.seeks**2).mean() + seek * arc + arc**2 / 3

    @cached_property
    def _ordered(self) -> NDArray:
        return np.sort(self.seeks)

    @cached_property
    def _bends(self) -> tuple[NDArray, NDArray]:
        """Return the times at which the slope of `positioned` changes, in ascending order, and its values at these times.

        A rotation adds a ramp of the length `arc` to each of the equally likely seeks.
        """
        ends = np.concatenate([self._ordered, self._ordered + self.arc])
        order = np.argsort(ends, kind="stable")
        changes = np.where(order < self.seeks.size, 1.0, -1.0)
        slopes = np.cumsum(changes)[:-1] / (self.seeks.size * self.arc)
        return ends[order], np.concatenate([[0.0], np.cumsum(slopes * np.diff(ends[order]))])


def _ramp(time: NDArray, seeks: NDArray, width: NDArray, share: float) -> NDArray:
    """Return the mean over the seeks of a linear rise from 0 to 1 in `width` seconds, with the value `share` at the seek."""
    return namespace_of(time, seeks).clip((time[..., None] - seeks) / width + share, 0.0, 1.0).mean(axis=-1)


@dataclass(frozen=True)
class ServiceDistributions:
    """Distribution functions of service times at evenly spaced times.

    chances: share of the services that are selected among 1, 2, ... requests (`command_queue`); None for services in order
    of arrival.
    """

    services: ServiceTimes
    time: NDArray
    chances: NDArray | None = None

    @cached_property
    def reads(self) -> NDArray:
        """Return the probability that a read by one head takes at most each time of the grid, `[size, time]`."""
        return self.ending(self.services.sizes.seconds)

    def ending(self, least: NDArray) -> NDArray:
        """Return the probability that an access takes at most each time of the grid, `[size, time]`.

        least: time of an access of each size without seek and rotation, seconds, `[size]`.
        """
        return self.selected(self.services.positioned(self.time[None] - least[:, None]))

    def selected(self, within: NDArray) -> NDArray:
        """Return the distribution of the time of the nearest request, from the times of a request at a random location."""
        if self.chances is None:
            return within
        space = namespace_of(within, self.chances)
        exceeds = space.maximum(1 - within, 0.0)
        return 1 - exceeds * space.polyval(self.chances[::-1], power(exceeds, LEFT_OVER))

    def selections(self, reads: float, depth: int) -> tuple[NDArray, NDArray]:
        """Return the means and mean squares of the times of services that are selected among 1, 2, ... requests.

        reads: share of reads among the accesses. The results have the shape `[depth]`.
        """
        sizes, space = self.services.sizes, namespace_of(self.reads, self.writes)
        weights = joined([reads * sizes.shares_of(False), (1 - reads) * sizes.shares_of(True)])
        exceeds = space.maximum(1 - joined([self.reads, self.writes]), 0.0)
        farther = power(exceeds, LEFT_OVER)
        found = collected(depth, exceeds, lambda number, exceeds: (exceeds * farther, weights @ exceeds))
        mean, square = moments(found, self.time)
        return mean, square

    def moments(self, heads: int = 1) -> NDArray:
        """Return the means and mean squares of service times, `[2, service]`.

        The services are reads by the nearest of 1, 2, ..., `heads` heads, and a write.
        """
        if heads == 1 and self.chances is None:
            return self.services.moments
        reads = [self.read(some) for some in range(1, heads + 1)]
        return moments(1 - stacked([*reads, self.write]), self.time)

    def moments_of(self, writes: bool, shares: NDArray) -> NDArray:
        """Return the mean and the mean square of the time of a read, or of a write, by one head, `[2]`.

        shares: share of each size among these accesses, `[size]`.
        """
        if self.chances is None:
            return self.services.moments_of(writes, shares)
        return moments(1 - shares @ (self.writes if writes else self.reads), self.time)

    def read(self, heads: int) -> NDArray:
        """Return the probability that a read by the nearest of `heads` heads takes at most each time of the grid."""
        return self.services.sizes.shares_of(False) @ self.read_by(heads)

    def read_by(self, heads: int) -> NDArray:
        """Return the probabilities of `read` for each size, `[size, time]`."""
        return self.reads if heads == 1 else 1 - (1 - self.reads) ** heads

    @cached_property
    def writes(self) -> NDArray:
        """Return the probability that a write takes at most each time of the grid on one disk, `[size, time]`."""
        return self.ending(self.services.sizes.written + self.services.turn + self.services.settle)

    @cached_property
    def write(self) -> NDArray:
        """Return, for each time, the probability that a write of random size takes at most this time on one disk."""
        return self.services.sizes.shares_of(True) @ self.writes


def moments(exceeds: NDArray, time: NDArray) -> NDArray:
    """Return the means and mean squares of times, `[2, ...]`.

    `exceeds` is the probability that a time exceeds each of evenly spaced times, `[..., time]`.
    """
    # weights of the trapezoidal rule
    shares = np.ones(time.size)
    shares[[0, -1]] /= 2
    weights = shares * (time[1] - time[0])
    return stacked([exceeds @ weights, exceeds @ (2 * time * weights)])


def mean_time(within: NDArray, time: NDArray) -> float:
    """Return the mean of a time, from the probability that it is at most each of evenly spaced times."""
    exceeds = 1 - within
    return as_number((exceeds.sum() - (exceeds[0] + exceeds[-1]) / 2) * (time[1] - time[0]))


def time_grid(longest: float, wait: float, points: int | None = None) -> NDArray:
    """Return evenly spaced times that cover response times.

    longest: longest service time, seconds. wait: mean waiting time of the requests that wait, seconds. points: number of
    times; by default a number that resolves the service times, and the largest number for traced values.
    """
    covered = longest + _COVERED * wait
    if points is None:
        known = not traced(covered)
        points = min(max(_FEWEST, 1 << ceil(log2(_IN_SERVICE * covered / longest))), _MOST) if known else _MOST
    return evenly_spaced(covered, points)


def waiting_times(time: NDArray, busy: float, mean: float, access: Callable[[], NDArray], *, selects: bool) -> NDArray:
    """Return the distribution of the waiting times above 0, at evenly spaced times.

    Parameters
    ----------
    time : array of float, shape `[time]`
        The times, seconds.
    busy : float
        Utilization, 0 to 1.
    mean : float
        Mean of these waiting times, seconds.
    access : callable
        Function without arguments that returns the distribution of the service time of an access, `[time]`.
    selects : bool
        Whether the disk selects the nearest of several requests. The waiting times are then assumed to be exponential, as
        in heavy traffic.

    Returns
    -------
    array of float, shape `[time]`
        The distribution.
    """
    space = namespace_of(time, busy, mean)
    # in heavy traffic, service times are shorter than the step of the grid
    if selects or is_true(busy > HEAVY):
        return 1 - space.exp(-time / mean)
    # the step of the grid has no effect on the mean
    light = scaled(time, _of_residual_services(1 - access(), smallest(busy, HEAVY)), mean)
    return space.where(busy > HEAVY, 1 - space.exp(-time / mean), light) if traced(busy) else light


def _of_residual_services(exceeds: NDArray, busy: float) -> NDArray:
    """Return the distribution of the waiting times above 0, which are sums of residual service times.

    `exceeds` is the probability that a service time exceeds each of evenly spaced times.
    """
    # The residual service time has this density. Half of the probability of each step is assigned to either end.
    space, step = namespace_of(exceeds, busy), (exceeds[:-1] + exceeds[1:]) / 4
    mass = joined([step[:1], step[:-1] + step[1:], step[-1:]])
    left = space.fft.rfft(mass / mass.sum())
    waits = space.fft.irfft(left * (1 - busy) / (1 - busy * left), mass.size)
    waits = space.maximum(waits, 0.0)
    steps = space.cumsum(waits)
    return (steps - waits / 2) / largest(steps[-1], 1.0)


def transformed(within: NDArray) -> NDArray:
    """Return the Fourier transform of distributions at evenly spaced times, `[..., frequency]`.

    The transform of a sum of independent times is the product of their transforms.
    """
    # half of the probability of each step is assigned to either end
    first = (within[..., :1] + within[..., 1:2]) / 2
    inner = (within[..., 2:] - within[..., :-2]) / 2
    last = (within[..., -1:] - within[..., -2:-1]) / 2
    return namespace_of(within).fft.rfft(joined([first, inner, last], axis=-1))


def summed(transform: NDArray) -> NDArray:
    """Return the distributions with the given transforms at the times of the grid, `[..., time]`."""
    points = 2 * (transform.shape[-1] - 1)
    space = namespace_of(transform)
    mass = space.fft.irfft(transform, points)
    return space.clip(space.cumsum(mass, axis=-1) - mass / 2, 0.0, 1.0)


def scaled(time: NDArray, within: NDArray, mean: float) -> NDArray:
    """Return a distribution with the shape of `within` and the given mean, at the same times."""
    return interpolated(time * (mean_time(within, time) / mean), time, within)
