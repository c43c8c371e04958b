"""Test the number of active threads: closed forms against the definition, and the accuracy of clocks."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from storagekit.workload import OnOff, Sinusoid, Steady, Steps

HOUR = 3600.0


def on_off(threads, on, off, time):
    return threads if math.fmod(time, on + off) < on else 0


def sinusoid(low, high, period, phase, time):
    return math.floor((low + high) / 2 + (high - low) / 2 * math.sin(2 * math.pi * (time / period + phase)) + 0.5)


def steps(times, counts, time):
    return counts[sum(time >= change for change in times)]


def narrow(number: float) -> float:
    """Return the number rounded to float32, so that the definition and the program have the same input."""
    return float(np.float32(number))


seconds = st.floats(0.1, 40.0).map(narrow)
several = st.integers(0, 12)


@st.composite
def patterns(draw):
    """Draw a count, its definition, and its period or the time after its last change."""
    kind = draw(st.sampled_from(["steady", "on and off", "sinusoid", "steps"]))
    if kind == "steady":
        threads = draw(several)
        return Steady(threads), lambda time: threads, HOUR
    if kind == "on and off":
        threads, on, off = draw(several), draw(seconds), draw(seconds)
        return OnOff(threads, on, off), lambda time: on_off(threads, on, off, time), on + off
    if kind == "sinusoid":
        low, period, phase = draw(several), draw(seconds), narrow(draw(st.floats(-2, 2)))
        # do not draw halves, for which a peak is a single instant
        high = narrow(low + draw(several) + draw(st.sampled_from([0, 0.2, 0.7])))
        return Sinusoid(low, high, period, phase), lambda time: sinusoid(low, high, period, phase, time), period
    times = np.cumsum([draw(seconds) for _ in range(draw(st.integers(1, 4)))]).astype(np.float32).tolist()
    counts = [draw(several) for _ in range(len(times) + 1)]
    return Steps(times, counts), lambda time: steps(times, counts, time), times[-1]


def single(number) -> jax.Array:
    return jnp.full(1, number, jnp.float32)


@given(patterns(), st.floats(0, 2), st.floats(0, 1), st.integers(1, 5))
def test_a_thread_resumes_at_the_first_instant_with_its_count(pattern, instant, delay, parts):
    """Compare with the definition at 2,000 instants of the next period.

    Each thread is on when it resumes, up to rounding, and at no instant before.
    """
    count, defined, span = pattern
    now, delay, near = narrow(instant * span), narrow(delay * span), 2e-6 * max(span, 1.0)
    clock = count.init(())
    for _ in range(parts):
        clock = count.elapse(clock, single(now / parts))
    resumes = np.asarray(count.resumes(clock, jnp.full(26, delay, jnp.float32), jnp.arange(26, dtype=jnp.int32)))

    def counts(later: float) -> list[int]:
        return [defined(now + delay + later + rounding) for rounding in (-near, 0, near)]

    ahead = np.linspace(0, span, 2001)
    surely = np.array([min(counts(later)) for later in ahead])
    for index, after in enumerate(resumes.tolist()):
        assert after >= 0 and not np.any((surely > index) & (ahead + near < after))
        assert math.isinf(after) or max(counts(after)) > index


@given(patterns(), st.floats(0, 3))
def test_counts_at_a_time_agree_with_the_definition(pattern, instant):
    count, defined, span = pattern
    times = np.linspace(0, instant * span, 200)
    expected = np.array([defined(time) for time in times])
    neighbours = [np.array([defined(time + near) for time in times]) for near in (-1e-6 * span, 1e-6 * span)]
    sure = (expected == neighbours[0]) & (expected == neighbours[1])
    np.testing.assert_array_equal(count.at(times)[sure], expected[sure])
    assert np.max(expected) <= int(count.peak)
    over_all = [defined(time) for time in np.linspace(0, 2 * span, 5000)]
    assert max(over_all) == int(count.peak)


@pytest.mark.parametrize(
    "count", [OnOff(3, 10.0, 10.0), OnOff(3, 1.1, 0.2), Sinusoid(15, 35, 97.3), Steps([10.0, 7200.0], [1, 2, 3])]
)
def test_an_hour_of_short_steps_is_an_hour(count):
    """Compare 3.6 million steps of a millisecond with float64; the steps are equal in one run of the batch only."""
    total = 3_600_000
    step = np.full((total // 1000, 1000, 2), np.float32(1e-3))
    step[..., 1] = np.random.default_rng(5).uniform(0, 2e-3, step.shape[:2])

    def thousand(clock, steps):
        return jax.lax.scan(lambda clock, step: (count.elapse(clock, step[None]), None), clock, steps)

    clock, _ = jax.jit(lambda steps: jax.lax.scan(thousand, count.init((2,)), steps))(step)
    clock_time = np.asarray(clock.time, np.float64) + np.asarray(clock.rest, np.float64)
    passed = step.astype(np.float64).sum(axis=(0, 1))
    if isinstance(count, Steps):
        off = clock_time[0] - passed
    else:
        cycle = float(np.float32(count.cycle))
        off = (clock_time[0] - passed + cycle / 2) % cycle - cycle / 2
    assert np.max(np.abs(off)) < 1e-6


def test_steps_longer_than_a_period_wrap():
    count, clock = OnOff(1, 0.25, 0.5), OnOff(1, 0.25, 0.5).init(())
    for step in (0.5, 7.5, 0.125, 3.0):
        clock = count.elapse(clock, single(step))
    assert float(clock.time[0]) == 11.125 % 0.75


def test_the_clock_of_steps_stops_at_the_last():
    count = Steps([1.0, 2.0], [1, 2, 3])
    clock = count.elapse(count.elapse(count.init(()), single(1.5)), single(1e4))
    assert float(clock.time[0]) == 2.0 and float(clock.rest[0]) == 0.0
    assert float(count.resumes(clock, single(0.0), jnp.full(1, 2, jnp.int32))[0]) == 0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Steady(-1), "threads -1: it must be 0 or more"),
        (lambda: Steady(1.5), "1.5 is not a whole number"),
        (lambda: OnOff(-2, 1.0, 1.0), "threads -2: it must be 0 or more"),
        (lambda: OnOff(2, 0.0, 1.0), "time on 0 s: it must be above 0"),
        (lambda: OnOff(2, 1.0, -1.0), "time off -1 s: it must be above 0"),
        (lambda: Sinusoid(-1, 4, 1.0), "threads -1: it must be 0 or more"),
        (lambda: Sinusoid(5, 4, 1.0), "threads from 5 to 4: give the lower number first"),
        (lambda: Sinusoid(0, math.inf, 1.0), "threads inf: it must be finite"),
        (lambda: Sinusoid(0, 4, 0.0), "period 0 s: it must be above 0"),
        (lambda: Sinusoid(0, 4, 1.0, math.nan), "phase nan is not a number; give one"),
        (
            lambda: Steps([], [1]),
            "1 counts at 0 times of change: give at least one time, and one count more than times",
        ),
        (lambda: Steps([1.0], [1]), "1 counts at 1 times of change"),
        (lambda: Steps([1.0], [1, -2]), "threads -2: it must be 0 or more"),
        (lambda: Steps([0.0], [1, 2]), "time of change 0 s: it must be above 0"),
        (lambda: Steps([2.0, 2.0], [1, 2, 3]), "time of change 2 s: it must be after 2 s"),
    ],
)
def test_impossible_counts_raise(build, message):
    assert_refused(build, message)


def test_a_sinusoid_without_amplitude_is_steady():
    flat, clock = Sinusoid(2.5, 2.5, 10.0), Sinusoid(2.5, 2.5, 10.0).init(())
    off = np.asarray(flat.resumes(clock, jnp.zeros(4), jnp.arange(4)))
    np.testing.assert_array_equal(off, [0, 0, 0, np.inf])
    assert int(flat.at(3.0)) == 3
