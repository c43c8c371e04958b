"""Monte Carlo of head tracking by software alone: how well a driver predicts where the head is from time stamps of one
sector (srarray, 3.2). No closed form: a result is a mean over random drives or requests, and has the error of its number.

The driver reads a fixed reference sector now and then. Between two such reads the platter makes a whole number of turns, so
their completion times tell how long a turn takes and where the platter is; what disturbs is the delay between a completion
and its time stamp, and the slow wander of the spindle's speed. Draws are exact in law and without time steps. The paper
states results and no noise: the defaults come from what such parts are specified or known to do, not from those results, and
are fields to be varied.

Times are seconds, angles turns. Only deviations of the delay from its mean count: a constant shifts the reads of the
reference sector and those of requests alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.checks import require, require_not_negative, require_positive
from storagekit.core.errors import InputError
from storagekit.core.kinds import AMOUNT, COUNT, MOST_COUNTED, NUMBER, REAL, SEED, Kind, a, hold, takes
from storagekit.core.units import MINUTE, US
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

# reads of a baseline, and numbers that are drawn at once: a GB or so
_MOST_READS, _MOST_DRAWN = 1000, 10**8
# seconds, decades
_LONGEST = 1e9
_DRIVE = a(Drive, 'a mechanical drive, as sk.load_drive("atlas10k")')
# D_s and L, by which a drive's cylinders are divided
_DIVISOR = Kind(least=1)
# counts whose least a message of their own says, slacks and seeds
_COUNTED, _SLACK = Kind(most=MOST_COUNTED, whole=True), Kind(most=1e6, unit="sectors")


@dataclass(frozen=True)
class HeadTracking:
    """A spindle, the clock that watches it, and when the reference sector is read.

    revolution: s a turn, nominal; `like` takes it from a drive.
    speed_tolerance: largest unknown constant deviation of the speed, relative; drives are specified to 0.1%.
    wander: 1/sqrt(s), standard deviation of the random walk of the relative speed after one second. The motor is locked to
    a crystal, as is the host's clock; crystals change by about 0.3e-6 a kelvin, and half a kelvin in two minutes for each of
    the two makes 0.2e-6 after two minutes, 2e-8 a root second.
    delay_mean, delay_shape: s and 1, of the gamma distributed time from completion to time stamp. It is positive and skewed:
    interrupt and deferred call on a PC of 733 MHz (Table 1) take tens of us, now and then several times that; 30 us and
    shape 2 make a standard deviation of 21 us.
    first_interval: s between the first two reads, short enough for `speed_tolerance` to leave no doubt about the turns in it.
    interval: s between reads in the long run; intervals double until they reach it. The paper's is two minutes.
    baseline: s, time between the two reads that give the turn time, the latest and an earlier one; the phase comes from the
    latest read alone (section 3.2). The paper gives no baseline. By default it is the number k of intervals T at which
    predictions have the least error under the noise that is assumed. Over a time uniform in an interval, time stamps with a
    standard deviation s make an error with a variance of s^2 (1 + 1/k + 2/(3 k^2)), and the wander w adds
    w^2 T^3 (k/9 + 1/12).

    Raises InputError where a value is out of range.
    """

    revolution: float
    speed_tolerance: float = 1e-3
    wander: float = 2e-8
    delay_mean: float = 30 * US
    delay_shape: float = 2.0
    first_interval: float = 0.1
    interval: float = 2 * MINUTE
    baseline: float | None = None

    def __post_init__(self):
        for name in ("revolution", "delay_shape", "first_interval"):
            require_positive(name.replace("_", " "), getattr(self, name))
        for name in ("speed_tolerance", "wander", "delay_mean"):
            require_not_negative(name.replace("_", " "), getattr(self, name))
        hold(self, interval=REAL.up_to(_LONGEST))
        if self.baseline is not None:
            REAL.up_to(_LONGEST)("baseline", self.baseline)
            require_positive("baseline", self.baseline)
        if not self.first_interval <= self.interval < math.inf:
            raise InputError(f"interval {self.interval:g} s: must be at least the first, {self.first_interval:g} s")
        if self.speed_tolerance >= 0.1:
            raise InputError(
                f"speed tolerance {self.speed_tolerance:g}: must be below 0.1; it is relative, 1e-3 is 0.1%"
            )
        require(self.reads <= _MOST_READS, "a baseline of", self.reads, f"at most {_MOST_READS}: shorten it", "reads")

    @property
    def reads(self) -> int:
        """Number of reads of the reference sector within the baseline, both of its ends included."""
        if self.baseline is not None:
            return 1 + max(1, round(min(self.baseline / self.interval, _MOST_READS)))
        k = np.arange(1.0, _MOST_READS)
        stamps = self.delay_mean**2 / self.delay_shape * (1 / k + 2 / (3 * k**2))
        return 1 + int(k[np.argmin(stamps + self.wander**2 * self.interval**3 * k / 9)])

    @classmethod
    @takes(drive=_DRIVE)
    def like(cls, drive: Drive) -> HeadTracking:
        """Of a drive's spindle, all else by default."""
        return cls(float(drive.revolution))


@dataclass(frozen=True)
class TrackedAccess:
    """What one access to a drive of the array is, and how well its seek is known.

    sectors_per_track: what a slack of k sectors is measured in. seek_mean: s, exponential; `like` takes both from a drive.
    replicas: rotational, evenly spaced; Table 2 is of a 2 x 3 array. sectors: transferred; 8 KB.
    seek_deviation: s, standard deviation of actual less predicted seek time; arms settle alike to some tens of us.
    candidates: waiting requests of which the one with the least predicted positioning time goes (RSATF); 1, since Cello's
    rate leaves queues nearly empty (section 4.1).

    Raises InputError where a value is out of range.
    """

    sectors_per_track: int
    seek_mean: float
    replicas: int = 3
    sectors: int = 16
    seek_deviation: float = 30 * US
    candidates: int = 1

    def __post_init__(self):
        hold(self, sectors_per_track=COUNT, replicas=COUNT, candidates=COUNT, sectors=NUMBER)
        for name in ("seek_mean", "seek_deviation"):
            require_not_negative(name.replace("_", " "), getattr(self, name))

    @classmethod
    @takes(drive=_DRIVE, striping=_DIVISOR, locality=_DIVISOR)
    def like(cls, drive: Drive, striping: float = 1.0, locality: float = 1.0) -> TrackedAccess:
        """To a drive with its mean track, and the mean of its seeks within a D_s L-th of its cylinders, all else by default.

        striping, locality: D_s and L (srarray, section 2.3), each 1 or more.
        """
        track = drive.capacity / (drive.cylinders * drive.heads)
        reach = max(2, round(drive.cylinders / (striping * locality)))
        return cls(max(1, round(track)), mean_seek(drive.seek, reach))


class Tracked(NamedTuple):
    """Drives just after a read of the reference sector, [drive].

    turn: s, true time of a turn now. estimate: s, what the driver takes it for. lag: s by which the driver believes that the
    sector passed later than it did. lost: the driver has miscounted the turns of some interval.
    """

    turn: NDArray
    estimate: NDArray
    lag: NDArray
    lost: NDArray


class TrackedAccesses(NamedTuple):
    """Single accesses, [request]: predicted and measured access time, s, and whether the target was missed."""

    predicted: NDArray
    measured: NDArray
    missed: NDArray


class Slack(NamedTuple):
    """A feedback loop, [round]: slack in sectors that a round began with, share of its requests on target."""

    sectors: NDArray
    on_target: NDArray


class Accuracy(NamedTuple):
    """Rows of (srarray, Table 2), in s and shares; mean and standard deviation of the error are of requests on target."""

    misses: float
    mean_error: float
    sd_error: float
    access_time: float


_TRACKING = a(HeadTracking, "HeadTracking.like(load_drive(name))")
_DRIVES = {"tracking": _TRACKING, "drives": _COUNTED, "seed": SEED}
_REQUESTS = {
    "tracking": _TRACKING, "access": a(TrackedAccess, "Access.like(load_drive(name))"), "slack": _SLACK, "requests": _COUNTED,
    "seed": SEED,
}  # fmt: skip


@takes(**_DRIVES)
def calibrate(tracking: HeadTracking, drives: int, *, seed: int) -> Tracked:
    """Return drives whose reference sectors have been read at growing intervals, and then over a whole baseline.

    drives: how many independent ones. Raises InputError for none. Source: srarray, section 3.2.
    """
    return _calibrate(tracking, drives, np.random.default_rng(seed))


@takes(**_DRIVES)
def prediction_error(tracking: HeadTracking, drives: int, *, seed: int) -> NDArray:
    """[drive] turns: predicted less true angle, at a time uniform in the interval after a read of the reference sector.

    Raises InputError for no drives. Source: srarray, section 3.2.
    """
    return _prediction_error(tracking, drives, np.random.default_rng(seed))


@takes(error=REAL.each, within=AMOUNT)
def confidence(error: ArrayLike, within: float = 0.01) -> float:
    """Share of errors (turns) of less than `within` turns: 98% within 1% in srarray, section 3.2.

    Raises InputError for no errors.
    """
    require(np.size(error) > 0, "errors", 0, "at least 1")
    return float(np.mean(np.abs(np.asarray(error, float)) < within))


@takes(**_REQUESTS)
def accesses(
    tracking: HeadTracking, access: TrackedAccess, slack: float, requests: int, *, seed: int
) -> TrackedAccesses:
    """Accesses by a driver that passes over a replica which it predicts to be less than `slack` sectors away.

    The arm is predicted to be there a gap before the target, uniform from the slack on, over the distance of replicas. It
    has come too late where seek and angle were together mistaken by more than the gap, and waits for one more turn.

        access = seek + wait + transfer + delay

    Raises InputError for a negative slack or no requests. Source: srarray, sections 3.2 and 3.5.
    """
    return _accesses(tracking, access, slack, requests, np.random.default_rng(seed))


@takes(**_REQUESTS)
def misses(tracking: HeadTracking, access: TrackedAccess, slack: float, requests: int, *, seed: int) -> float:
    """Share of `accesses` that miss their targets."""
    return float(accesses(tracking, access, slack, requests, seed=seed).missed.mean())


@takes(
    tracking=_TRACKING, access=_REQUESTS["access"], start=REAL, seed=SEED,
    goal=REAL, rounds=_COUNTED, batch=_COUNTED, gain=AMOUNT,
)  # fmt: skip
def adjust_slack(
    tracking: HeadTracking, access: TrackedAccess, start: float, *, seed: int,
    goal: float = 0.99, rounds: int = 600, batch: int = 1000, gain: float = 0.2,
) -> Slack:  # fmt: skip
    """The slack under feedback, from `start` sectors on, so that more than `goal` of the requests are on target.

    After a round of `batch` requests the slack grows by `gain` sectors for each miss above half of what the goal allows, and
    shrinks likewise: aiming at half leaves room for chance. It stays between none and a turn. Raises InputError for a goal
    outside (0, 1), a start outside that range, or no rounds. Source: srarray, section 3.2, which does not give its loop.
    """
    if not 0 < goal < 1:
        raise InputError(f"goal {goal:g}: must be a share between 0 and 1")
    if not 0 <= start <= access.sectors_per_track:
        raise InputError(f"slack {start:g}: must be from 0 to the {access.sectors_per_track} sectors of a track")
    if min(rounds, batch) < 1:
        raise InputError(f"{rounds} rounds of {batch} requests: there must be at least one of each")
    draw = np.random.default_rng(seed)
    allowed = (1 - goal) / 2 * batch
    slack, history, on_target = float(start), [], []
    for _ in range(rounds):
        missed = int(_accesses(tracking, access, slack, batch, draw).missed.sum())
        history.append(slack)
        on_target.append(1 - missed / batch)
        slack = min(max(slack + gain * (missed - allowed), 0.0), float(access.sectors_per_track))
    return Slack(np.array(history), np.array(on_target))


@takes(seen=a(TrackedAccesses, "accesses(...)"))
def accuracy(seen: TrackedAccesses) -> Accuracy:
    """What (srarray, Table 2) tabulates of accesses, but for the demerit. Raises InputError where none is on target."""
    error = (seen.measured - seen.predicted)[~seen.missed]
    if not len(error):
        raise InputError(f"all of {len(seen.missed)} requests miss; give more of them or a larger slack")
    return Accuracy(float(seen.missed.mean()), float(error.mean()), float(error.std()), float(seen.measured.mean()))


def _intervals(tracking: HeadTracking) -> list[float]:
    """s between the reads of a calibration."""
    doublings = math.ceil(math.log2(tracking.interval / tracking.first_interval))
    growing = [tracking.first_interval * 2**step for step in range(doublings)]
    return growing + [tracking.interval] * (tracking.reads - 1)


def _calibrate(tracking: HeadTracking, drives: int, draw: np.random.Generator) -> Tracked:
    if drives < 1:
        raise InputError(f"{drives} drives: there must be at least 1")
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
        turns = np.ceil(interval / turn)  # the read waits for the sector to come round
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
    """s that the next `turns` take, and the turn time after them.

    The relative turn time walks as w B(t), so over a time T it changes by w sqrt(T) a, and its integral, which is the time
    gained or lost, is w T^(3/2) (a/2 + b/sqrt(12)) with independent standard normal a and b.
    """
    steady = turns * turn
    change, bridge = draw.standard_normal((2, *turns.shape))
    gained = tracking.wander * steady**1.5 * (change / 2 + bridge / math.sqrt(12))
    return steady + gained, turn * (1 + tracking.wander * np.sqrt(steady) * change)


def _delay(tracking: HeadTracking, draw: np.random.Generator, count: int) -> NDArray:
    """s, from completion to time stamp, less its mean."""
    return tracking.delay_mean * (draw.standard_gamma(tracking.delay_shape, count) / tracking.delay_shape - 1)


def _prediction_error(tracking: HeadTracking, drives: int, draw: np.random.Generator) -> NDArray:
    known = _calibrate(tracking, drives, draw)
    turns = draw.uniform(0, 1, drives) * tracking.interval / known.turn
    elapsed, _ = _turned(tracking, draw, turns, known.turn)
    return (elapsed - known.lag) / known.estimate - turns


def _accesses(
    tracking: HeadTracking, access: TrackedAccess, slack: float, requests: int, draw: np.random.Generator
) -> TrackedAccesses:
    require_not_negative("slack", slack, "sectors")
    drawn = requests * access.candidates
    require(drawn <= _MOST_DRAWN, "candidates of all requests", drawn, f"at most {_MOST_DRAWN}: give fewer requests")
    behind = _prediction_error(tracking, requests, draw) * tracking.revolution  # s that the sector comes late
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
