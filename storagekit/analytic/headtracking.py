"""Simulate head tracking in software: how accurately a driver predicts the head position (Monte Carlo).

The driver predicts the position from time stamps of one sector (srarray, section 3.2). There is no closed form. A
result is a mean over random drives or requests, and its statistical error depends on the number of drives or requests.

The driver reads a fixed reference sector from time to time. Between two of these reads, the platter makes a whole
number of turns. The completion times of the reads therefore give the time of a turn and the position of the platter.
Two disturbances remain: the delay between a completion and its time stamp, and the slow random change of the spindle's
speed. Both are drawn from their exact distributions, without time steps. The paper states results, but it does not
state the size of the disturbances. The default sizes come from specifications or known properties of the hardware, not
from the results in the paper. NumPy draws the random numbers, and the results have no derivatives in JAX.

Times are in seconds, and angles are in turns (revolutions). Only deviations of the delay from its mean have an effect,
because a constant delay shifts the reads of the reference sector and the reads of requests equally.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.errors import InputError
from storagekit.core.units import MINUTE, US
from storagekit.core.validation import (
    AMOUNT,
    MOST_COUNTED,
    POSITIVE,
    REAL,
    Amount,
    Count,
    Finite,
    Positive,
    Seed,
    Validator,
    Whole,
    instance_of,
    require,
    validate,
    validate_fields,
)
from storagekit.drive import Drive
from storagekit.drive.seek import mean_seek

__all__ = [
    "Accuracy",
    "HeadTracking",
    "Slack",
    "Tracked",
    "TrackedAccess",
    "TrackedAccesses",
    "accesses",
    "accuracy",
    "adjust_slack",
    "calibrate",
    "confidence",
    "misses",
    "prediction_error",
]  # fmt: skip

# largest number of reads in a baseline, and largest number of random numbers in one array (about a GB)
_MOST_READS, _MOST_DRAWN = 1000, 10**8
# longest interval and baseline, seconds; this is decades
_LONGEST = 1e9
_Mechanical = Annotated[Drive, instance_of(Drive, 'a mechanical drive, as sk.load_drive("atlas10k")')]
# D_s and L, which divide the cylinders of a drive
_Divisor = Annotated[float, Validator(least=1)]
# Counts have a minimum that is checked later, with another message.
_Counted = Annotated[int, Validator(most=MOST_COUNTED, whole=True)]
_Slack = Annotated[float, Validator(most=1e6, unit="sectors")]


@dataclass(frozen=True)
class HeadTracking:
    """A spindle, the clock that measures it, and the times at which the reference sector is read.

    Parameters
    ----------
    revolution : float
        Nominal time of a turn, seconds; `like` takes it from a drive.
    speed_tolerance : float
        Largest constant deviation of the speed from its nominal value, relative and unknown to the driver; 1e-3 by
        default, because drives are specified to 0.1%.
    wander : float
        Standard deviation of the random walk of the relative speed after one second, 1/sqrt(s); 2e-8 by default. One
        crystal controls the motor, and another crystal controls the clock of the host. The frequency of a crystal
        changes by about 0.3e-6 per kelvin. If each crystal changes by half a kelvin in two minutes, the relative speed
        changes by 0.2e-6 in two minutes, which is 2e-8 per root second.
    delay_mean : float
        Mean of the gamma-distributed time from completion to time stamp, seconds; 30 us by default.
    delay_shape : float
        Shape of the gamma distribution of the delay; 2 by default. The delay is positive and skewed: an interrupt and a
        deferred call on a PC of 733 MHz (Table 1) take tens of us, and occasionally several times as long. 30 us and
        shape 2 give a standard deviation of 21 us.
    first_interval : float
        Time between the first two reads, seconds; 0.1 by default. The interval is so short that its number of turns is
        unambiguous in spite of `speed_tolerance`.
    interval : float
        Final time between reads, seconds; two minutes by default, as in the paper. Intervals double until they reach
        this value.
    baseline : float, optional
        Time between the two reads that determine the turn time, seconds: the latest read and an earlier read. Only the
        latest read determines the phase (section 3.2). The paper gives no baseline. By default it is a whole number k
        of intervals: the k that minimizes the error of predictions with the assumed disturbances.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    Consider a prediction for a random time, uniform in an interval of length T after a read, with a baseline of k
    intervals. Time stamps with a standard deviation s contribute s^2 (1 + 1/k + 2/(3 k^2)) to the variance of the
    error. The wander w contributes w^2 T^3 (k/9 + 1/12).
    """

    revolution: Positive
    speed_tolerance: Amount = 1e-3
    wander: Amount = 2e-8
    delay_mean: Amount = 30 * US
    delay_shape: Positive = 2.0
    first_interval: Positive = 0.1
    interval: Annotated[float, REAL.up_to(_LONGEST)] = 2 * MINUTE
    baseline: Annotated[float | None, POSITIVE.up_to(_LONGEST)] = None

    def __post_init__(self):
        validate_fields(self)
        if not self.first_interval <= self.interval < math.inf:
            raise InputError(
                f"interval {self.interval:g} s: must be at least first_interval, {self.first_interval:g} s"
            )
        if self.speed_tolerance >= 0.1:
            raise InputError(
                f"speed tolerance {self.speed_tolerance:g}: must be below 0.1; it is relative, 1e-3 is 0.1%"
            )
        require(self.reads <= _MOST_READS, "a baseline of", self.reads, f"at most {_MOST_READS}; shorten it", "reads")

    @property
    def reads(self) -> int:
        """Return the number of reads of the reference sector within the baseline, including the reads at both ends."""
        if self.baseline is not None:
            return 1 + max(1, round(min(self.baseline / self.interval, _MOST_READS)))
        k = np.arange(1.0, _MOST_READS)
        stamps = self.delay_mean**2 / self.delay_shape * (1 / k + 2 / (3 * k**2))
        return 1 + int(k[np.argmin(stamps + self.wander**2 * self.interval**3 * k / 9)])

    @classmethod
    @validate
    def like(cls, drive: _Mechanical) -> HeadTracking:
        """Return the head tracking of a drive's spindle, with defaults for all other parameters.

        Parameters
        ----------
        drive : Drive
            A mechanical drive.

        Returns
        -------
        HeadTracking
            The head tracking.

        Raises
        ------
        InputError
            If `drive` has another type.
        """
        return cls(float(drive.revolution))


@dataclass(frozen=True)
class TrackedAccess:
    """A random access to a drive of the array, and the error of its predicted seek time.

    Parameters
    ----------
    sectors_per_track : int
        Number of sectors of a track. A slack is measured in sectors.
    seek_mean : float
        Mean of the exponential seek time, seconds. `like` takes this value and `sectors_per_track` from a drive.
    replicas : int
        Number of rotational replicas, evenly spaced; 3 by default, because Table 2 is for a 2 x 3 array.
    sectors : int
        Number of sectors transferred; 16 by default, which are 8 KB.
    seek_deviation : float
        Standard deviation of the error of a predicted seek time (actual minus predicted), seconds; 30 us by default.
        The settling times of an arm vary by some tens of us.
    candidates : int
        Number of waiting requests; 1 by default, because the request rate of Cello leaves queues nearly empty (section
        4.1). The request with the smallest predicted positioning time is served (RSATF).

    Raises
    ------
    InputError
        If a value is out of range.
    """

    sectors_per_track: Count
    seek_mean: Amount
    replicas: Count = 3
    sectors: Whole = 16
    seek_deviation: Amount = 30 * US
    candidates: Count = 1

    def __post_init__(self):
        validate_fields(self)

    @classmethod
    @validate
    def like(
        cls,
        drive: _Mechanical,
        striping: _Divisor = 1.0,
        locality: _Divisor = 1.0,
    ) -> TrackedAccess:
        """Return an access with the mean track size and the mean seek time of a drive.

        The seeks stay within a share of the drive's cylinders.

        Parameters
        ----------
        drive : Drive
            A mechanical drive.
        striping : float
            Striping D_s, 1 or more; 1 by default. The seeks stay within the share 1/(D_s L) of the cylinders.
        locality : float
            Locality L, 1 or more; 1 by default.

        Returns
        -------
        TrackedAccess
            The access, with defaults for all other parameters.

        Raises
        ------
        InputError
            If `drive` has another type, or a number is out of range.

        References
        ----------
        srarray, section 2.3.
        """
        track = drive.capacity / (drive.cylinders * drive.heads)
        reach = max(2, round(drive.cylinders / (striping * locality)))
        return cls(max(1, round(track)), mean_seek(drive.seek, reach))


class Tracked(NamedTuple):
    """Drives immediately after a read of the reference sector.

    Parameters
    ----------
    turn : array of float, shape `[drive]`
        True time of a turn, seconds.
    estimate : array of float, shape `[drive]`
        The driver's estimate of the time of a turn, seconds.
    lag : array of float, shape `[drive]`
        Estimated minus actual time at which the reference sector passes the head, seconds.
    lost : array of bool, shape `[drive]`
        Whether the driver has miscounted the turns of an interval.
    """

    turn: NDArray
    estimate: NDArray
    lag: NDArray
    lost: NDArray


class TrackedAccesses(NamedTuple):
    """Times of accesses, and whether each access missed its target.

    Parameters
    ----------
    predicted : array of float, shape `[request]`
        Predicted access time, seconds.
    measured : array of float, shape `[request]`
        Measured access time, seconds.
    missed : array of bool, shape `[request]`
        Whether the access missed its target.
    """

    predicted: NDArray
    measured: NDArray
    missed: NDArray


class Slack(NamedTuple):
    """History of the feedback loop that adjusts the slack. The driver skips a replica that is nearer than the slack.

    Parameters
    ----------
    sectors : array of float, shape `[round]`
        Slack at the beginning of each round, sectors.
    on_target : array of float, shape `[round]`
        Share of the requests of the round that are on target.
    """

    sectors: NDArray
    on_target: NDArray


class Accuracy(NamedTuple):
    """Accuracy of predictions, as in the rows of Table 2 of srarray.

    Parameters
    ----------
    misses : float
        Share of the requests that missed their targets.
    mean_error : float
        Mean of the measured minus the predicted access time of requests on target, seconds.
    sd_error : float
        Standard deviation of the error whose mean is `mean_error`, seconds.
    access_time : float
        Mean measured access time of all requests, seconds.
    """

    misses: float
    mean_error: float
    sd_error: float
    access_time: float


_Tracking = Annotated[HeadTracking, instance_of(HeadTracking, "HeadTracking.like(load_drive(name))")]
_Access = Annotated[TrackedAccess, instance_of(TrackedAccess, "TrackedAccess.like(load_drive(name))")]


@validate
def calibrate(tracking: _Tracking, drives: _Counted, *, seed: Seed) -> Tracked:
    """Return the state of drives after reads of the reference sector, at growing intervals and then over a baseline.

    Parameters
    ----------
    tracking : HeadTracking
        Spindle, clock and intervals.
    drives : int
        Number of independent drives.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Tracked
        State of the drives after the last read.

    Raises
    ------
    InputError
        If there are no drives, or a value is out of range.

    References
    ----------
    srarray, section 3.2.
    """
    return _calibrate(tracking, drives, np.random.default_rng(seed))


@validate
def prediction_error(tracking: _Tracking, drives: _Counted, *, seed: Seed) -> NDArray:
    """Return the error of a predicted angle (predicted minus true) for each of several drives.

    The prediction is for a random time, uniform in the interval between two reads of the reference sector.

    Parameters
    ----------
    tracking : HeadTracking
        Spindle, clock and intervals.
    drives : int
        Number of independent drives.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    array of float, shape `[drive]`
        Error, turns.

    Raises
    ------
    InputError
        If there are no drives, or a value is out of range.

    References
    ----------
    srarray, section 3.2.
    """
    return _prediction_error(tracking, drives, np.random.default_rng(seed))


@validate
def confidence(error: Annotated[ArrayLike, REAL.each], within: Amount = 0.01) -> float:
    """Return the share of the errors whose absolute value is below a limit.

    Parameters
    ----------
    error : array of float
        Errors, turns.
    within : float
        Limit of the absolute error, turns; 0.01 by default.

    Returns
    -------
    float
        Share, 0 to 1. In the paper, 98% of the errors are within 1% of a turn.

    Raises
    ------
    InputError
        If there are no errors, or a value is out of range.

    References
    ----------
    srarray, section 3.2.
    """
    require(np.size(error) > 0, "errors", 0, "at least 1")
    return float(np.mean(np.abs(np.asarray(error, float)) < within))


@validate
def accesses(tracking: _Tracking, access: _Access, slack: _Slack, requests: _Counted, *, seed: Seed) -> TrackedAccesses:
    """Simulate accesses by a driver that skips every replica whose predicted distance is below `slack` sectors.

    Parameters
    ----------
    tracking : HeadTracking
        Spindle, clock and intervals.
    access : TrackedAccess
        Parameters of the accesses.
    slack : float
        Smallest predicted distance of a replica that is used, sectors.
    requests : int
        Number of requests.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    TrackedAccesses
        Predicted and measured times.

    Raises
    ------
    InputError
        If the slack is negative, there are no requests, or a value is out of range.

    Notes
    -----
    The arm is predicted to arrive before the target sector. The time in between is the gap, which is uniform from the
    slack to the slack plus the distance between replicas. The arm arrives too late if the sum of the errors of seek and
    angle exceeds the gap. The access then waits for one more turn.

        access = seek + wait + transfer + delay

    References
    ----------
    srarray, sections 3.2 and 3.5.
    """
    return _accesses(tracking, access, slack, requests, np.random.default_rng(seed))


@validate
def misses(tracking: _Tracking, access: _Access, slack: _Slack, requests: _Counted, *, seed: Seed) -> float:
    """Return the share of `accesses` that miss their targets.

    Parameters
    ----------
    tracking, access, slack, requests, seed
        See `accesses`.

    Returns
    -------
    float
        Share, 0 to 1.

    Raises
    ------
    InputError
        Under the conditions of `accesses`.
    """
    return float(accesses(tracking, access, slack, requests, seed=seed).missed.mean())


@validate
def adjust_slack(
    tracking: _Tracking,
    access: _Access,
    start: Finite,
    *,
    seed: Seed,
    goal: Finite = 0.99,
    rounds: _Counted = 600,
    batch: _Counted = 1000,
    gain: Amount = 0.2,
) -> Slack:
    """Return the slack of each round under a feedback control that keeps more than `goal` of the requests on target.

    Parameters
    ----------
    tracking : HeadTracking
        Spindle, clock and intervals.
    access : TrackedAccess
        Parameters of the accesses.
    start : float
        Slack at the start, sectors: at least 0, and at most the number of sectors of a track.
    seed : int
        Seed of the random numbers.
    goal : float
        Smallest acceptable share of the requests on target, above 0 and below 1; 0.99 by default.
    rounds : int
        Number of rounds; 600 by default.
    batch : int
        Number of requests in a round; 1000 by default.
    gain : float
        Increase of the slack for each miss, sectors; 0.2 by default.

    Returns
    -------
    Slack
        Slack of each round, and share of the requests of the round that are on target.

    Raises
    ------
    InputError
        If the goal is outside (0, 1), the start is out of range, or there are no rounds or requests.

    Notes
    -----
    The control aims at half of the misses that the goal allows, which leaves a margin for random variation. After a
    round, the slack grows by `gain` for each miss above this number, and shrinks by `gain` for each miss below this
    number. The slack remains between 0 and a turn.

    References
    ----------
    srarray, section 3.2. The paper does not describe its feedback loop.
    """
    if not 0 < goal < 1:
        raise InputError(f"goal {goal:g}: must be above 0 and below 1")
    if not 0 <= start <= access.sectors_per_track:
        raise InputError(f"slack {start:g}: must be from 0 to the {access.sectors_per_track} sectors of a track")
    if min(rounds, batch) < 1:
        raise InputError(f"{rounds} rounds of {batch} requests: give at least 1 of each")
    draw = np.random.default_rng(seed)
    allowed = (1 - goal) / 2 * batch
    slack, history, on_target = float(start), [], []
    for _ in range(rounds):
        missed = int(_accesses(tracking, access, slack, batch, draw).missed.sum())
        history.append(slack)
        on_target.append(1 - missed / batch)
        slack = min(max(slack + gain * (missed - allowed), 0.0), float(access.sectors_per_track))
    return Slack(np.array(history), np.array(on_target))


@validate
def accuracy(seen: Annotated[TrackedAccesses, instance_of(TrackedAccesses, "accesses(...)")]) -> Accuracy:
    """Return the statistics of Table 2 of srarray for given accesses, except the demerit.

    Parameters
    ----------
    seen : TrackedAccesses
        The accesses.

    Returns
    -------
    Accuracy
        Share of misses, errors and access time.

    Raises
    ------
    InputError
        If no access is on target.

    References
    ----------
    srarray, Table 2.
    """
    error = (seen.measured - seen.predicted)[~seen.missed]
    if not len(error):
        raise InputError(f"all {len(seen.missed)} requests miss their target; give more requests or a larger slack")
    return Accuracy(float(seen.missed.mean()), float(error.mean()), float(error.std()), float(seen.measured.mean()))


def _intervals(tracking: HeadTracking) -> list[float]:
    """Return the times between the reads of a calibration, in seconds."""
    doublings = math.ceil(math.log2(tracking.interval / tracking.first_interval))
    growing = [tracking.first_interval * 2**step for step in range(doublings)]
    return growing + [tracking.interval] * (tracking.reads - 1)


def _calibrate(tracking: HeadTracking, drives: int, draw: np.random.Generator) -> Tracked:
    if drives < 1:
        raise InputError(f"{drives} drives: give at least 1")
    require(
        drives * tracking.reads <= _MOST_DRAWN,
        "reads of all drives",
        drives * tracking.reads,
        f"at most {_MOST_DRAWN}: give fewer drives, or a shorter baseline",
    )
    turn = tracking.revolution / (1 + tracking.speed_tolerance * draw.uniform(-1, 1, drives))
    estimate = np.full(drives, tracking.revolution)
    passed, stamp, counted = np.zeros(drives), _delay(tracking, draw, drives), np.zeros(drives)
    stamps, counts = [stamp], [counted]
    lost = np.zeros(drives, bool)
    for interval in _intervals(tracking):
        turns = np.ceil(interval / turn)  # the read waits until the sector passes
        elapsed, turn = _turned(tracking, draw, turns, turn)
        passed = passed + elapsed
        stamp = passed + _delay(tracking, draw, drives)
        between = np.rint((stamp - stamps[-1]) / estimate)
        lost |= between != turns
        counted = counted + between
        stamps, counts = [*stamps, stamp][-tracking.reads :], [*counts, counted][-tracking.reads :]
        estimate = (stamp - stamps[0]) / (counted - counts[0])
    return Tracked(turn, estimate, stamp - passed, lost)


def _turned(
    tracking: HeadTracking, draw: np.random.Generator, turns: NDArray, turn: NDArray
) -> tuple[NDArray, NDArray]:
    """Return the total time in seconds of the next `turns` turns, and the time of a turn after these turns.

    The relative turn time changes as w B(t), with w = `wander` and a Brownian motion B. Over a time T it changes by w
    sqrt(T) a. The integral of the change is the time that is gained or lost: w T^(3/2) (a/2 + b/sqrt(12)). Here a and b
    are independent standard normal numbers.
    """
    steady = turns * turn
    change, bridge = draw.standard_normal((2, *turns.shape))
    gained = tracking.wander * steady**1.5 * (change / 2 + bridge / math.sqrt(12))
    return steady + gained, turn * (1 + tracking.wander * np.sqrt(steady) * change)


def _delay(tracking: HeadTracking, draw: np.random.Generator, count: int) -> NDArray:
    """Return random delays from completion to time stamp in seconds, minus the mean delay."""
    return tracking.delay_mean * (draw.standard_gamma(tracking.delay_shape, count) / tracking.delay_shape - 1)


def _prediction_error(tracking: HeadTracking, drives: int, draw: np.random.Generator) -> NDArray:
    known = _calibrate(tracking, drives, draw)
    turns = draw.uniform(0, 1, drives) * tracking.interval / known.turn
    elapsed, _ = _turned(tracking, draw, turns, known.turn)
    return (elapsed - known.lag) / known.estimate - turns


def _accesses(
    tracking: HeadTracking, access: TrackedAccess, slack: float, requests: int, draw: np.random.Generator
) -> TrackedAccesses:
    AMOUNT.in_unit("sectors")("slack", slack)
    drawn = requests * access.candidates
    require(drawn <= _MOST_DRAWN, "candidates of all requests", drawn, f"at most {_MOST_DRAWN}: give fewer requests")
    behind = _prediction_error(tracking, requests, draw) * tracking.revolution  # seconds by which the sector is late
    sector = tracking.revolution / access.sectors_per_track
    apart = tracking.revolution / access.replicas
    seeks = access.seek_mean * draw.standard_exponential((access.candidates, requests))
    gaps = slack * sector + apart * draw.random((access.candidates, requests))
    best = np.argmin(seeks + gaps, axis=0)[None]
    seek, gap = (np.take_along_axis(times, best, axis=0)[0] for times in (seeks, gaps))
    late = access.seek_deviation * draw.standard_normal(requests)
    actual_gap = gap + behind - late
    turns = np.floor(actual_gap / tracking.revolution)
    wait = actual_gap - turns * tracking.revolution
    delay = _delay(tracking, draw, requests)
    transfer = access.sectors * sector + tracking.delay_mean
    return TrackedAccesses(seek + gap + transfer, seek + late + wait + transfer + delay, turns < 0)
