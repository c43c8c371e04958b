"""The goals of a ranking of schemes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from storagekit.core.validation import Share, validate_fields
from storagekit.plan.scheme_ranking.predicting import Prediction

# maximum disk utilization; the remaining time is for rebuilds and bursts
BUSIEST = 0.8


class Aim(ABC):
    """A goal of the ranking.

    If scores are equal, the scheme that tolerates more failures is better, then the scheme with more capacity.
    """

    name: ClassVar[str]
    # completes the phrase "ranked by ..."
    meaning: ClassVar[str]
    # whether the answer may use fewer disks than given
    may_leave_disks: ClassVar[bool] = False

    @abstractmethod
    def score(self, one: Prediction) -> float:
        """Return the score; smaller is better."""

    @property
    def most_busy(self) -> float:
        """Return the maximum disk utilization under open arrivals."""
        return 1.0

    def key(self, one: Prediction) -> tuple[float, ...]:
        """Return the sort key of a prediction."""
        # scores that differ by rounding errors are equal
        return float(f"{self.score(one):.9g}"), -one.tolerates, -one.usable


@dataclass(frozen=True)
class MaxThroughput(Aim):
    """Maximize the throughput: with the outstanding requests, or the maximum before the disks are overloaded."""

    name = "throughput"
    meaning = "throughput"

    def score(self, one):
        return -one.throughput


@dataclass(frozen=True)
class MinMean(Aim):
    """Minimize the mean response time."""

    name = "mean"
    meaning = "mean response time"

    def score(self, one):
        return one.mean


@dataclass(frozen=True)
class MinP99(Aim):
    """Minimize the 99th percentile of the response time.

    No formula gives this percentile with outstanding requests; the mean is then minimized.
    """

    name = "p99"
    meaning = "99% response time"

    def score(self, one):
        return one.mean if np.isnan(one.p99) else one.p99


@dataclass(frozen=True)
class MinP95(Aim):
    """Minimize the 95th percentile of the response time; with outstanding requests, minimize the mean."""

    name = "p95"
    meaning = "95% response time"

    def score(self, one):
        return one.mean if np.isnan(one.p95) else one.p95


@dataclass(frozen=True)
class MinCost(Aim):
    """Minimize the number of disks, then the mean response time.

    busiest: the maximum utilization of a disk, 80% by default. A higher utilization needs fewer disks, but it causes long
    waiting times and leaves no time for a rebuild. Raises InputError for an impossible share.
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
class MaxCapacity(Aim):
    """Maximize the capacity, then minimize the mean response time."""

    name = "capacity"
    meaning = "capacity"

    def score(self, one):
        return -one.usable

    def key(self, one):
        return float(f"{-one.usable:.9g}"), one.mean, -one.tolerates


AIMS: dict[str, Aim] = {
    one.name: one for one in (MaxThroughput(), MinMean(), MinP95(), MinP99(), MinCost(), MaxCapacity())
}
