"""Response times of SSDs under Poisson arrivals.

An SSD consists of units that work in parallel, such as flash dies. The pages of a request go to different units of a drive at
random, and a unit is an M/G/1 queue that serves its pages in order of arrival. A read ends when its last page is read:

    response = latency on an idle drive + largest waiting time among its units

If the drive has a buffer, a write ends there after its latency, and its pages are programmed afterwards. Programs then delay
reads, but not writes. Without a buffer, a write waits for its units as a read does.

The distribution of the largest of several waiting times is a weighted mean of two cases: equal waiting times, and independent
waiting times. The weight of the first case is the share of the work that two units have in common. This mean is computed
first for the units of a drive, then for the drives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.loaded import Loaded
from storagekit.analytic.array.service_times import mean_time, summed, time_grid, transformed, waiting_times
from storagekit.core.validation import (
    AMOUNT,
    COUNT,
    SHARE,
    SPAN,
    Count,
    Positive,
    Share,
    instance_of,
    require,
    several,
    validate,
    validate_fields,
)

# Numbers of points of the grids of waiting times and of response times.
_WAITS, _RESPONSES = 8192, 2048
# Largest number of different times of a distribution; more are combined.
_MOST_TIMES = 200
_SHARES, _SPANS = SHARE.each, SPAN.each


@dataclass(frozen=True)
class Times:
    """The distribution of a time with a few possible values.

    Parameters
    ----------
    seconds : array of float, shape `[time]`
        The possible times, seconds.
    shares : array of float, shape `[time]`
        Probability of each time. The probabilities sum to 1.

    Raises
    ------
    InputError
        If a value is out of range, the shapes differ, or the probabilities do not sum to 1.
    """

    seconds: Annotated[NDArray, _SPANS]
    shares: Annotated[NDArray, _SHARES]

    def __post_init__(self):
        validate_fields(self)
        same = np.ndim(self.seconds) == 1 and np.shape(self.seconds) == np.shape(self.shares) and np.size(self.seconds)
        require(
            bool(same),
            "shape of seconds",
            str(np.shape(self.seconds)),
            f"[time], the shape {np.shape(self.shares)} of shares",
        )
        total = float(np.sum(self.shares))
        require(abs(total - 1) < 1e-6, "sum of the shares", total, "1; divide the shares by their sum")

    @property
    def mean(self) -> float:
        """Return the mean in seconds."""
        return float(self.seconds @ self.shares)

    @property
    def square(self) -> float:
        """Return the mean of the squares, in seconds squared."""
        return float(self.seconds**2 @ self.shares)

    def plus(self, other: "Times") -> "Times":
        """Return the distribution of the sum of this time and of another, independent one."""
        seconds = (self.seconds[:, None] + other.seconds).ravel()
        return Times(seconds, np.outer(self.shares, other.shares).ravel())._combined()

    @validate
    def largest_of(self, count: Count) -> "Times":
        """Return the distribution of the largest of `count` independent times with this distribution.

        Parameters
        ----------
        count : int
            Number of times.

        Returns
        -------
        Times
            The distribution.

        Raises
        ------
        InputError
            If the number is out of range.
        """
        order = np.argsort(self.seconds)
        within = np.minimum(1.0, np.cumsum(self.shares[order])) ** count
        within[-1] = 1.0
        return Times(self.seconds[order], np.diff(within, prepend=0.0))

    def _combined(self) -> "Times":
        """Return a distribution of at most `_MOST_TIMES` times with the same mean."""
        if self.seconds.size <= _MOST_TIMES:
            return self
        order = np.argsort(self.seconds)
        seconds, shares = self.seconds[order], self.shares[order]
        # groups of equal numbers of times, so that rare times remain apart
        first = np.linspace(0, seconds.size, _MOST_TIMES, endpoint=False).astype(int)
        total = np.add.reduceat(shares, first)
        means = np.add.reduceat(shares * seconds, first) / np.maximum(total, 1e-300)
        return Times(means, total)


_TIMES = instance_of(Times, "some as Times(np.array([80e-6]), np.array([1.0]))")


def _phase(label: str, value: Any) -> "Phase":
    drives, units = several(COUNT, 2, "numbers")(label, value)
    return Phase(drives, units)


@dataclass(frozen=True)
class UnitAccesses:
    """Accesses of one kind to the units of SSDs.

    Parameters
    ----------
    share : float
        Number of such groups of accesses for each request of the array.
    drives, units : int
        Number of drives that a group occupies at the same time, and number of units of each of them.
    seconds : Times
        Time for which each of these units is occupied.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    share: Annotated[float, AMOUNT]
    drives: Count
    units: Count
    seconds: Annotated[Times, _TIMES]

    def __post_init__(self):
        validate_fields(self)


class Phase(NamedTuple):
    """A part of a request that waits for units: the number of drives, and the number of units of each drive."""

    drives: int
    units: int


@dataclass(frozen=True)
class UnitRequests:
    """Requests of one kind.

    Parameters
    ----------
    share : float
        Share among the requests of the array, 0 to 1.
    latency : Times
        Response time on idle drives.
    phases : tuple of Phase
        The units whose waiting times delay the response, one phase after the other. A write with parity, for example,
        has a phase of reads and a phase of writes. A write that completes in a buffer has no phase.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    share: Share
    latency: Annotated[Times, _TIMES]
    phases: Annotated[tuple[Phase, ...], several(_phase, of="phases")] = ()

    def __post_init__(self):
        validate_fields(self)


_REQUESTS = several(instance_of(UnitRequests, "some as UnitRequests(1.0, latency, (Phase(1, 1),))"), 1, "requests")
_ACCESSES = several(instance_of(UnitAccesses, "some as UnitAccesses(1.0, 1, 1, seconds)"), 1, "accesses")
_DRIVES = COUNT.up_to(10**5)


@validate
def loaded_units(
    requests: Annotated[Sequence[UnitRequests], _REQUESTS],
    accesses: Annotated[Sequence[UnitAccesses], _ACCESSES],
    *,
    rate: Positive,
    drives: Annotated[int, _DRIVES],
    units: Annotated[int, _DRIVES],
    group: Annotated[int, _DRIVES],
) -> tuple[Loaded, ...]:
    """Return the response times of requests to an array of SSDs under Poisson arrivals.

    Parameters
    ----------
    requests : sequence of UnitRequests
        The kinds of requests.
    accesses : sequence of UnitAccesses
        The accesses of all requests.
    rate : float
        Requests of the array a second.
    drives, units : int
        Number of drives, and number of units of each drive.
    group : int
        Number of drives among which the accesses of one request are spread.

    Returns
    -------
    tuple of Loaded
        Utilization of a unit, and distribution of the response times of each kind of requests.

    Raises
    ------
    InputError
        If an argument is out of range.

    Notes
    -----
    The waiting time of a unit has the mean rho E[S^2] / (2 E[S] (1 - rho)) (Pollaczek and Khinchine).
    """
    each = np.array([rate * one.share * one.drives * one.units / (drives * units) for one in accesses])
    work = each * [one.seconds.mean for one in accesses]
    busy = float(work.sum())
    saturation = rate / busy if busy else np.inf
    if busy >= 1:
        none = np.empty(0)
        return (Loaded(busy, saturation, np.inf, none, none),) * len(requests)
    waits = _UnitWaits(*_waits(accesses, each, busy), *_alike(accesses, work, units, group))
    return tuple(_response(one, waits, busy, saturation) for one in requests)


class _UnitWaits(NamedTuple):
    """The distribution of the wait at a unit at evenly spaced times, and the weights of the case of equal waits.

    units: weight for two units of a drive. drives: weight for units of two drives.
    """

    time: NDArray
    within: NDArray
    units: float
    drives: float

    def largest(self, phase: Phase) -> NDArray:
        """Return the distribution of the largest wait of a phase."""
        one = self.units * self.within + (1 - self.units) * self.within**phase.units
        return self.drives * one + (1 - self.drives) * one**phase.drives


def _alike(accesses: Sequence[UnitAccesses], work: NDArray, units: int, group: int) -> tuple[float, float]:
    """Return the share of the work that two units have in common: units of one drive, and units of two drives."""
    total = float(work.sum())
    if not total:
        return 1.0, 1.0
    pages, count = np.array([one.units for one in accesses]), np.array([one.drives for one in accesses])
    in_drive = work @ (pages - 1) / (total * (units - 1)) if units > 1 else 1.0
    between = work @ ((count - 1) * pages) / (total * (group - 1) * units) if group > 1 else 1.0
    return min(1.0, float(in_drive)), min(1.0, float(between))


def mixture(found: Sequence[tuple[float, Loaded]]) -> Loaded:
    """Return the response times of requests of several kinds.

    Parameters
    ----------
    found : sequence of (float, Loaded)
        The weight of each kind, and its response times. Their grids may differ. If all weights are 0, the result has the
        response times of the first kind.

    Returns
    -------
    Loaded
        The response times, with the utilization of the first kind.
    """
    chosen = [(weight, one) for weight, one in found if weight > 0] or list(found[:1])
    first = chosen[0][1]
    if len(chosen) == 1 or not all(one.time.size for _, one in chosen):
        return first if len(chosen) == 1 else replace(first, mean=np.inf, time=np.empty(0), within=np.empty(0))
    total = sum(weight for weight, _ in chosen)
    time = np.unique(np.concatenate([one.time for _, one in chosen]))
    within = sum(
        (weight / total * np.interp(time, one.time, one.within) for weight, one in chosen), np.zeros(time.size)
    )
    return replace(first, mean=sum(weight / total * one.mean for weight, one in chosen), time=time, within=within)


def _waits(accesses: Sequence[UnitAccesses], each: NDArray, busy: float) -> tuple[NDArray, NDArray]:
    """Return evenly spaced times, and the probability that the wait at a unit is at most each of them.

    each: accesses of each kind to a unit a second. busy: utilization of a unit.
    """
    if not busy:
        return np.array([0.0, 1e-9]), np.ones(2)
    chosen = [(rate, one.seconds) for rate, one in zip(each.tolist(), accesses, strict=True) if rate > 0]
    shares = np.concatenate([rate / each.sum() * one.shares for rate, one in chosen])
    seconds = np.concatenate([one.seconds for _, one in chosen])
    left = float(seconds**2 @ shares / (2 * (seconds @ shares) * (1 - busy)))
    time = time_grid(float(seconds.max()), left, _WAITS)

    def access() -> NDArray:
        order = np.argsort(seconds)
        sums = np.concatenate([[0.0], np.cumsum(shares[order])])
        # a step at a time of the grid counts half
        step = time[1] - time[0]
        ends = seconds[order]
        return (sums[np.searchsorted(ends, time - step / 2)] + sums[np.searchsorted(ends, time + step / 2)]) / 2

    above = waiting_times(time, busy, left, access, selects=False)
    return time, 1 - busy + busy * above


def _response(one: UnitRequests, waits: _UnitWaits, busy: float, saturation: float) -> Loaded:
    """Return the response times of one kind of requests."""
    time, mean = waits.time, one.latency.mean
    total = np.ones_like(time)
    for number, phase in enumerate(one.phases):
        largest = waits.largest(phase)
        mean += mean_time(largest, time)
        # the waits of two phases are independent
        total = summed(transformed(total) * transformed(largest)) if number else largest
    least, most = one.latency.seconds.min(), one.latency.seconds.max()
    # relative distances of times are equal, because times of different magnitudes occur
    grid = np.geomspace(max(least * 0.99, 1e-12), (most + time[-1]) * 1.01, _RESPONSES)
    found = np.zeros(grid.size)
    for seconds, share in zip(one.latency.seconds, one.latency.shares, strict=True):
        found += share * np.interp(grid - seconds, time, total, left=0.0)
    return Loaded(busy, saturation, mean, grid, np.minimum(found, 1.0))
