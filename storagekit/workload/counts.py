"""Number of running threads, which is constant or varies in time.

The threads of a group are numbered from 0. Thread number `index` is on at t seconds after the start if index <
count(t). A thread that is switched off finishes its outstanding request, and sends its next request when the thread is
on again. A formula gives the time of this request, so no component has to poll.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from storagekit.core import float32_pair
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import each_named, named, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import TIME, require, traced, written

# largest number of threads; above this number, float32 does not represent every whole number
MOST_THREADS = 2**24


class CountClock(NamedTuple):
    """Time of a clock, seconds: the sum of two float32 numbers, `time` + `rest`.

    `rest` keeps the rounding errors. Without it, millions of short steps would be lost.
    """

    time: Float[Array, "1 *batch"]
    rest: Float[Array, "1 *batch"]

    def later(self, step: Float[Array, "1 *batch"]) -> "CountClock":
        """Return the clock `step` seconds later. The rounding error of each sum is stored in `rest`."""
        return CountClock(*float32_pair.add(float32_pair.Pair(*self), step))

    def until(self, moment: Float[AnyArray, "..."], delay: Float[Array, "row *batch"]) -> Float[Array, "row *batch"]:
        """Return the time in seconds from a later moment, `delay` seconds from now, until this clock shows `moment`.

        The result is negative if the clock shows `moment` before this later moment.
        """
        return (moment - self.time) - (self.rest + delay)


def _zero(batch: tuple[int, ...]) -> CountClock:
    nothing = jnp.zeros((1, *batch), jnp.float32)
    return CountClock(nothing, nothing)


class AbstractCount(eqx.Module):
    """Base class of the number of threads of a group that are on."""

    # whether the count varies in time
    varies: ClassVar[bool] = True

    @property
    @abstractmethod
    def peak(self) -> Int[AnyArray, "..."]:
        """Return the largest number of threads that are on at any time."""

    @abstractmethod
    def at(self, time: ArrayLike) -> np.ndarray:
        """Return the number of threads that are on at given times after the start of a run.

        Parameters
        ----------
        time : array_like of float
            Times, seconds. The parameters of the count must be single numbers.

        Returns
        -------
        ndarray of int, shape of `time`
            The numbers.
        """

    @abstractmethod
    def init(self, batch: tuple[int, ...]) -> Any:
        """Return the private state at the start of a run; `batch` contains the axes of the batch."""

    @abstractmethod
    def elapse(self, clock: Any, time: Float[Array, "1 *batch"]) -> Any:
        """Return the private state `time` seconds later."""

    @abstractmethod
    def resumes(
        self, clock: Any, delay: Float[Array, "row *batch"], index: Int[Array, "row *#batch"]
    ) -> Float[Array, "row *batch"]:
        """Return the time in seconds from a later moment until a thread is on.

        Parameters
        ----------
        clock
            Private state.
        delay : float array, shape `[row, *batch]`
            Time from now to this moment, seconds.
        index : int array, shape `[row, *batch]`
            Number of the thread in its group.

        Returns
        -------
        float array, shape `[row, *batch]`
            Seconds; 0 if the thread is on, inf if it is never on again.
        """


class Steady(AbstractCount):
    """Constant number of threads.

    Parameters
    ----------
    threads : int
        The number, 0 or more; one number, or one for each run.

    Raises
    ------
    InputError
        If the number is negative.
    """

    threads: Int[AnyArray, "..."] = eqx.field(converter=named("threads", whole))
    varies: ClassVar[bool] = False

    def __check_init__(self):
        _require_possible(self.threads)

    @property
    def peak(self):
        return self.threads

    def at(self, time):
        return np.full(np.shape(time), self.threads)

    def init(self, batch):
        return None

    def elapse(self, clock, time):
        return clock

    def resumes(self, clock, delay, index):
        return jnp.where(index < self.threads, jnp.zeros_like(delay), jnp.inf)


class AbstractPeriodic(AbstractCount):
    """Base class of periodic counts. The clock restarts after each period."""

    @property
    @abstractmethod
    def cycle(self) -> Float[AnyArray, "..."]:
        """Return the length of a period, in seconds."""

    @abstractmethod
    def turn(self, index: Int[Array, "row *batch"]) -> tuple[Float[AnyArray, "..."], Float[Array, "row *batch"]]:
        """Return two times in seconds: when thread `index` is switched on in a period, and how long it then stays on.

        The second time is 0 if the thread is never on.
        """

    def init(self, batch):
        return _zero(batch)

    def elapse(self, clock, time):
        # one step of the engine is rarely as long as a period, and a shorter step is exact
        step = time - self.cycle * jnp.floor(time / self.cycle)
        clock = clock.later(step)
        return clock._replace(time=jnp.where(clock.time >= self.cycle, clock.time - self.cycle, clock.time))

    def resumes(self, clock, delay, index):
        begins, lasts = self.turn(index)
        ahead = clock.until(begins, delay)
        ahead = jnp.maximum(ahead - self.cycle * jnp.floor(ahead / self.cycle), 0.0)
        return jnp.where(lasts <= 0, jnp.inf, jnp.where(ahead > self.cycle - lasts, 0.0, ahead))


class OnOff(AbstractPeriodic):
    """Threads that are all on for one phase, and then all off for one phase, and so on.

    Parameters
    ----------
    threads : int
        Number of threads, 0 or more.
    on, off : float
        Length of the on and off phases, seconds, above 0. A run begins with an on phase.

    Raises
    ------
    InputError
        If a value is out of its range.
    """

    threads: Int[AnyArray, "..."] = eqx.field(converter=named("threads", whole))
    on: Float[AnyArray, "..."] = eqx.field(converter=named("time on"))
    off: Float[AnyArray, "..."] = eqx.field(converter=named("time off"))

    def __check_init__(self):
        _require_possible(self.threads)
        TIME.each("time on", self.on)
        TIME.each("time off", self.off)

    @property
    def peak(self):
        return self.threads

    @property
    def cycle(self):
        return self.on + self.off

    def at(self, time):
        within = np.mod(np.asarray(time, np.float64), np.float64(self.on) + self.off)
        return np.where(within < self.on, self.threads, 0)

    def turn(self, index):
        return jnp.float32(0), jnp.where(index < self.threads, self.on, 0.0)


class Sinusoid(AbstractPeriodic):
    """Number of threads that varies as a sine.

    Parameters
    ----------
    low, high : float
        Smallest and largest number of threads, 0 or more, before rounding.
    period : float
        Length of a period, seconds, above 0.
    phase : float
        Phase at the start, in turns (1 is a whole period); by default 0.

    Raises
    ------
    InputError
        If a value is out of its range, or `low` is above `high`.

    Notes
    -----
    The number at time t is this value, rounded to the nearest whole number, with halves rounded up:

        (low + high)/2 + (high - low)/2 sin(2 pi (t/period + phase))
    """

    low: Float[AnyArray, "..."] = eqx.field(converter=named("threads"))
    high: Float[AnyArray, "..."] = eqx.field(converter=named("threads"))
    period: Float[AnyArray, "..."] = eqx.field(converter=named("period"))
    phase: Float[AnyArray, "..."] = eqx.field(converter=named("phase"), default=0.0)

    def __check_init__(self):
        _require_possible(self.low)
        if not traced(self.high):
            require(np.isfinite(self.high), "threads", self.high, "finite")
            # up to this number float32 represents every whole number
            require(np.asarray(self.high) <= MOST_THREADS, "threads", self.high, f"at most {MOST_THREADS}")
        if not (traced(self.low) or traced(self.high)) and np.any(self.low > self.high):
            low, high = np.max(self.low), np.min(self.high)
            raise InputError(f"threads from {written(low)} to {written(high)}: give the lower number first")
        TIME.each("period", self.period)
        if not traced(self.phase):
            require(np.isfinite(self.phase), "phase", self.phase, "finite", "turns")

    @property
    def peak(self):
        return np.floor(np.asarray(self.high) + np.float32(0.5)).astype(np.int32)

    @property
    def cycle(self):
        return self.period

    def at(self, time):
        low, high = np.float64(self.low), np.float64(self.high)
        turns = np.asarray(time, np.float64) / self.period + self.phase
        return np.floor((low + high) / 2 + (high - low) / 2 * np.sin(2 * np.pi * turns) + 0.5).astype(int)

    def turn(self, index):
        # count > index while the sine is at least `height`: from turn `rises` to turn 1/2 - `rises`
        enough = index + jnp.float32(0.5)
        swing = (self.high - self.low) / 2
        height = (enough - (self.low + self.high) / 2) / jnp.where(swing > 0, swing, 1.0)
        rises = jnp.arcsin(jnp.clip(height, -1, 1)) / (2 * np.pi)
        share = jnp.where(enough <= self.low, 1.0, jnp.where(enough > self.high, 0.0, 0.5 - 2 * rises))
        begins = rises - self.phase
        return (begins - jnp.floor(begins)) * self.period, share * self.period


class Steps(AbstractCount):
    """Number of threads that changes at given times.

    Parameters
    ----------
    times : sequence of float
        Times of change, seconds, above 0 and in ascending order.
    counts : sequence of int
        Numbers of threads: the first number at the start, and one further number for each time of change.

    Raises
    ------
    InputError
        If the lengths do not match, or a value is out of its range.
    """

    times: tuple[Float[AnyArray, "..."], ...]
    counts: tuple[Int[AnyArray, "..."], ...]

    def __init__(self, times: Sequence[ArrayLike], counts: Sequence[ArrayLike]):
        self.times, self.counts = each_named("time of change")(times), each_named("threads", whole)(counts)

    def __check_init__(self):
        if not self.times or len(self.counts) != len(self.times) + 1:
            raise InputError(
                f"{len(self.counts)} counts at {len(self.times)} times of change: give at least one time, and one "
                "count more than times"
            )
        for count in self.counts:
            _require_possible(count)
        for time in self.times:
            TIME.each("time of change", time)
        for before, after in zip(self.times, self.times[1:], strict=False):
            if not (traced(before) or traced(after)):
                require(np.asarray(before) < after, "time of change", after, f"after {written(np.max(before))} s", "s")

    @property
    def peak(self):
        return np.max(np.stack(np.broadcast_arrays(*self.counts)), axis=0)

    def at(self, time):
        passed = np.searchsorted(np.asarray(self.times, np.float64), np.asarray(time, np.float64), side="right")
        return np.asarray(self.counts)[passed]

    def init(self, batch):
        return _zero(batch)

    def elapse(self, clock, time):
        clock, last = clock.later(time), self.times[-1]
        # the clock stops at the last change, because the count is constant afterwards
        past = clock.time >= last
        return CountClock(jnp.where(past, last, clock.time), jnp.where(past, 0.0, clock.rest))

    def resumes(self, clock, delay, index):
        left = [clock.until(time, delay) for time in self.times]
        begins = [jnp.zeros_like(delay), *(jnp.maximum(change, 0.0) for change in left)]
        found = jnp.where(index < self.counts[-1], begins[-1], jnp.inf)
        for count, begin, ends in reversed(list(zip(self.counts, begins, left, strict=False))):
            found = jnp.where((index < count) & (ends > 0), begin, found)
        return found


def _require_possible(threads: ArrayLike) -> None:
    if traced(threads):
        return
    given = np.asarray(threads)
    require((given >= 0) & np.isfinite(given), "threads", given, "0 or more and finite")
