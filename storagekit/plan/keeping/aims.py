"""What schemes are ranked by."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from storagekit.core.checks import require_share
from storagekit.plan.keeping.predicting import Prediction

# of the time, that disks work: what is left is for a rebuild, and for what comes in bursts
BUSIEST = 0.8


class Aim(ABC):
    """What is wanted most; of equals the one that survives more is better, then the one with more room."""

    name: ClassVar[str]
    # whether fewer disks than there are may be the answer
    may_leave_disks: ClassVar[bool] = False

    @abstractmethod
    def score(self, one: Prediction) -> float:
        """Less is better."""

    @property
    def most_busy(self) -> float:
        """The share of the time that disks may work where requests come at a rate."""
        return 1.0

    def key(self, one: Prediction) -> tuple[float, ...]:
        """What predictions are sorted by."""
        # scores that only rounding tells apart are equal
        return float(f"{self.score(one):.9g}"), -one.survives, -one.usable


@dataclass(frozen=True)
class MaxThroughput(Aim):
    """The most requests a second: with the outstanding ones, or before the disks are overloaded."""

    name = "throughput"

    def score(self, one):
        return -one.throughput


@dataclass(frozen=True)
class MinMean(Aim):
    """The least mean response time."""

    name = "mean"

    def score(self, one):
        return one.mean


@dataclass(frozen=True)
class MinP99(Aim):
    """The least time that 99% of the requests keep within; where a number of requests is kept outstanding, for which no
    formula says that, the least mean."""

    name = "p99"

    def score(self, one):
        return one.mean if np.isnan(one.p99) else one.p99


@dataclass(frozen=True)
class MinP95(Aim):
    """The same of 95% of the requests."""

    name = "p95"

    def score(self, one):
        return one.mean if np.isnan(one.p95) else one.p95


@dataclass(frozen=True)
class MinCost(Aim):
    """The fewest disks that requests which come at a rate keep busy at most 80% of the time, then the least mean response.

    busiest: another share than that. Fewer disks would do the work as well, with waits that nobody wants and nothing left for
    a rebuild. Raises InputError for a share that cannot be.
    """

    busiest: float = BUSIEST
    name = "cost"
    may_leave_disks = True

    def __post_init__(self):
        require_share("busiest", self.busiest)

    @property
    def most_busy(self):
        return self.busiest

    def score(self, one):
        return one.scheme.disks

    def key(self, one):
        return float(one.scheme.disks), one.mean, *super().key(one)[1:]


@dataclass(frozen=True)
class MaxCapacity(Aim):
    """The most room for data, then the least mean response time."""

    name = "space"

    def score(self, one):
        return -one.usable

    def key(self, one):
        return float(f"{-one.usable:.9g}"), one.mean, -one.survives


AIMS: dict[str, Aim] = {
    one.name: one for one in (MaxThroughput(), MinMean(), MinP95(), MinP99(), MinCost(), MaxCapacity())
}
