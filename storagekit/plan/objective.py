"""Objectives of a ranking, of schemes and of layouts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storagekit.core.validation import Share, validate_fields

# maximum disk utilization; the remaining time is for rebuilds and bursts
BUSIEST = 0.8


class LayoutMeasures(NamedTuple):
    """Measures of layouts: mean response time of single requests in seconds, and throughput in requests a second."""

    mean: NDArray
    throughput: NDArray


class Objective(ABC):
    """An objective of a ranking.

    Of schemes with equal scores, the scheme that tolerates more failures is better, and then the scheme with more
    capacity.
    """

    name: ClassVar[str]
    # completes the phrase "ranked by ..."
    meaning: ClassVar[str]
    # whether the answer may use fewer disks than given
    may_leave_disks: ClassVar[bool] = False

    @abstractmethod
    def score(self, one: Any) -> Any:
        """Return the score; smaller is better.

        Parameters
        ----------
        one : Prediction or LayoutMeasures
            The measures of one scheme, or arrays with the measures of layouts.
        """

    @property
    def most_busy(self) -> float:
        """Return the maximum disk utilization under open arrivals."""
        return 1.0

    def key(self, one: Any) -> tuple[float, ...]:
        """Return the sort key of a scheme.

        Parameters
        ----------
        one : Prediction
            The predicted values of the scheme.
        """
        # scores that differ by rounding errors are equal
        return float(f"{self.score(one):.9g}"), -one.tolerates, -one.usable


@dataclass(frozen=True)
class MaxThroughput(Objective):
    """Maximize the throughput.

    With outstanding requests, the throughput is the rate of the closed loop. With arrivals at a rate, the throughput is
    the highest rate at which the disks, and the links of a network, are not overloaded.

    For layouts, q requests are outstanding for each disk (srarray, section 2.4).
    """

    name = "throughput"
    meaning = "throughput"

    def score(self, one):
        return 1 / one.throughput


@dataclass(frozen=True)
class MinMean(Objective):
    """Minimize the mean response time.

    For layouts, the objective is the mean response time of single requests (srarray, equations 9 to 11).
    """

    name = "mean"
    meaning = "mean response time"

    def score(self, one):
        return one.mean


class _MinPercentile(Objective):
    """Minimize the percentile that the name of the objective gives, or the mean if no formula gives this percentile."""

    def score(self, one):
        percentile = getattr(one, self.name)
        return one.mean if np.isnan(percentile) else percentile


@dataclass(frozen=True)
class MinP99(_MinPercentile):
    """Minimize the 99th percentile of the response time.

    With outstanding requests the mean is minimized instead, because no formula gives the percentile.
    """

    name = "p99"
    meaning = "99% response time"


@dataclass(frozen=True)
class MinP95(_MinPercentile):
    """Minimize the 95th percentile of the response time.

    With outstanding requests the mean is minimized instead, because no formula gives the percentile.
    """

    name = "p95"
    meaning = "95% response time"


@dataclass(frozen=True)
class MinCost(Objective):
    """Minimize the number of disks, then the mean response time.

    Parameters
    ----------
    busiest : float
        Maximum utilization of a disk, 80% by default. A higher utilization needs fewer disks, but it causes long waiting
        times and leaves no time for a rebuild.

    Raises
    ------
    InputError
        If `busiest` is out of range.
    """

    busiest: Share = BUSIEST
    name = "cost"
    meaning = "number of disks"
    may_leave_disks = True

    def __post_init__(self):
        validate_fields(self)

    @property
    def most_busy(self):
        return self.busiest

    def score(self, one):
        return one.scheme.disks

    def key(self, one):
        return float(one.scheme.disks), one.mean, *super().key(one)[1:]


@dataclass(frozen=True)
class MaxCapacity(Objective):
    """Maximize the capacity, then minimize the mean response time."""

    name = "capacity"
    meaning = "capacity"

    def score(self, one):
        return -one.usable

    def key(self, one):
        return float(f"{-one.usable:.9g}"), one.mean, -one.tolerates


OBJECTIVES: dict[str, Objective] = {
    one.name: one for one in (MaxThroughput(), MinMean(), MinP95(), MinP99(), MinCost(), MaxCapacity())
}
# Objectives of layouts. The mean response time of single requests is called latency.
LayoutObjective = MinMean | MaxThroughput
LAYOUT_OBJECTIVES: dict[str, LayoutObjective] = {"latency": MinMean(), "throughput": MaxThroughput()}
