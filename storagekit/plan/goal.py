"""Goals of an array, and the predictions of each layout for a goal."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic import response_mg1
from storagekit.analytic.array.aspect import Layouts
from storagekit.analytic.array.costs import Load, costs, occupied, used_share
from storagekit.analytic.array.elevator import RLOOK, Scheduler
from storagekit.analytic.array.positioning import Spindle
from storagekit.core.validation import Positive, Time, require_seconds, validate_fields
from storagekit.plan.assumptions import RANDOM_DISKS


class GoalMeasures(NamedTuple):
    """Predictions for each layout: response in seconds, throughput in requests a second, and utilization of a disk.

    Under open arrivals, the throughput is an estimate of the largest possible rate.
    """

    response: NDArray
    throughput: NDArray
    utilization: NDArray


class Goal(ABC):
    """A goal of an array.

    measure: the measure that the goal limits, a field of `GoalMeasures`. unit: the unit of this measure. scheduler: the
    scheduler that the formulas assume; None for FCFS. assumption: a sentence about this scheduler. rate: rate of
    requests that the array must serve, requests a second.
    """

    measure: ClassVar[str]
    unit: ClassVar[str]
    scheduler: ClassVar[Scheduler | None] = None
    assumption: ClassVar[str]
    rate: float

    @property
    @abstractmethod
    def outstanding(self) -> float:
        """Return the number of outstanding requests per disk; 1 for open arrivals."""

    @abstractmethod
    def reached(self, spindle: Spindle, load: Load, layouts: Layouts, disks: int) -> GoalMeasures:
        """Return the predicted measures of each layout of `disks` disks."""

    @abstractmethod
    def lack(self, reached: GoalMeasures) -> NDArray:
        """Return the factor by which each layout misses the goal. The factor is 1 or less if the goal is met."""

    @property
    @abstractmethod
    def limit(self) -> float:
        """Return the limit of the measure: a maximum for a response time, a minimum for a throughput."""

    def least_disks(self, spindle: Spindle) -> float:
        """Return a number of disks below which no layout meets the goal."""
        return self.rate * float(np.asarray(spindle.overhead))


@dataclass(frozen=True)
class ResponseGoal(Goal):
    """A limit of the mean response time under Poisson arrivals.

    For a batch job without a limit of the response time, use a `ThroughputGoal`.

    Parameters
    ----------
    response : float
        The limit of the mean response time, seconds.
    rate : float
        Requests a second.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    response: Time
    rate: Positive

    measure, unit = "response", "s"
    assumption = "each disk is an M/G/1 queue with Poisson arrivals in FCFS order; with reordering, disks are faster"

    def __post_init__(self):
        validate_fields(self)
        require_seconds("response", self.response, "response")

    @property
    def outstanding(self):
        return 1.0

    @property
    def limit(self):
        return self.response

    def lack(self, reached):
        return reached.response / self.response

    def reached(self, spindle, load, layouts, disks):
        response, utilization = loaded_response(spindle, load, layouts, disks, self.rate)
        return GoalMeasures(response, self.rate / utilization, utilization)


@dataclass(frozen=True)
class ThroughputGoal(Goal):
    """A minimum throughput at a given number of outstanding requests.

    Parameters
    ----------
    rate : float
        The minimum throughput, requests a second.
    queue : float
        Number of outstanding requests for each disk.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    rate: Positive
    queue: Positive

    measure, unit, scheduler = "throughput", "requests/s", RLOOK()
    assumption = f"requests are outstanding {RANDOM_DISKS}; the scheduler is RLOOK"

    def __post_init__(self):
        validate_fields(self)

    @property
    def outstanding(self):
        return self.queue

    @property
    def limit(self):
        return self.rate

    def lack(self, reached):
        return self.rate / reached.throughput

    def reached(self, spindle, load, layouts, disks):
        found = costs(spindle, load, layouts, disks, used_share(load, layouts, disks), self.scheduler)
        rate = found.throughput(disks)
        return GoalMeasures(disks * self.queue / rate, rate, found.busy)


def loaded_response(spindle: Spindle, load: Load, layouts: Layouts, disks: int, rate: float) -> tuple[NDArray, NDArray]:
    """Return the mean response time in seconds and the disk utilization at `rate` requests a second.

    The response time is infinite if the utilization is 1 or more.

    Notes
    -----
    Each disk is an M/G/1 queue with FCFS scheduling. The service time has the first two moments of a random access: a
    seek and the rotation to the nearest replica. A foreground write also accesses the other replicas. The block of a
    read has copies on other disks. The head of each of these disks is idle with probability 1 - utilization, and the
    read chooses among the idle heads. A write completes when the access on the last mirror completes, but its waiting
    time is the waiting time of a single access. Schedulers that reorder requests give shorter response times.
    """
    reach = spindle.reach(used_share(load, layouts, disks) / np.asarray(load.locality))
    p, mirrors = load.unpropagated, layouts.mirrors
    arc = np.divide(spindle.revolution, layouts.replicas)
    others = spindle.revolution - arc
    accesses = p + (1 - p) * mirrors
    arrivals = rate * accesses / disks
    seek = spindle.mean_seek(reach)
    alone = spindle.overhead + seek + arc / 2
    busy = arrivals * occupied(load, layouts, alone, alone + others, spindle.write_settle) / accesses
    read = spindle.overhead + spindle.least(reach, arc, mirrors, np.clip(1 - busy, 0, 1))
    write = alone + others + spindle.write_settle
    mean = occupied(load, layouts, read, write - spindle.write_settle, spindle.write_settle) / accesses
    spread = np.maximum(spindle.mean_square_seek(reach) - seek**2, 0) + arc**2 / 12
    once = load.settled_once
    squares = (p - once) * read**2 + once * (read + spindle.write_settle) ** 2 + (1 - p) * mirrors * write**2
    wait = response_mg1(arrivals, mean, squares / accesses + spread) - mean
    last = spindle.overhead + spindle.most(reach, arc, mirrors) + others + spindle.write_settle
    response = wait + p * read + once * spindle.write_settle + (1 - p) * last
    return response, arrivals * mean


def latency_floor(spindle: Spindle, load: Load, mirrors: int, most_replicas: int) -> float:
    """Return the smallest possible latency in seconds: overhead, rotation and settling, without seeks.

    No number of disks gives a lower latency.
    """
    replicas = np.arange(1, most_replicas + 1)
    copies = np.full_like(replicas, mirrors)
    arc = np.divide(spindle.revolution, replicas)
    p = load.unpropagated
    rotation = p * arc / (copies + 1) + (1 - p) * (arc * copies / (copies + 1) + spindle.revolution - arc)
    settle = (1 - np.asarray(load.read_share)) * spindle.write_settle
    return float((rotation + settle + spindle.overhead).min())
