"""Compare pairs of float32 numbers with exact fractions."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.core import float32_pair
from storagekit.core.float32_pair import Pair


def exact(*words) -> Fraction:
    return sum((Fraction(float(np.ravel(word)[0])) for word in words), Fraction(0))


def single(value: float):
    return jnp.asarray([value], jnp.float32)


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_of_two_numbers_is_exact_and_a_sum_of_pairs_has_48_bits(seed):
    draw = np.random.default_rng(seed)
    one, other = (single(value) for value in draw.normal(size=2) * 10.0 ** draw.integers(-6, 6, 2))
    pair = jax.jit(float32_pair.two_sum)(one, other)
    assert exact(*pair) == exact(one, other)
    step = single(draw.normal() * 1e-3)
    total = jax.jit(float32_pair.add)(pair, step)
    assert abs(exact(*total) - exact(*pair, step)) <= abs(exact(*total)) * Fraction(1, 2**46)
    assert float(total.high[0]) == float(np.float32(float(exact(*total))))


def test_a_difference_of_distant_times_is_precise():
    """The times are 10,000 s and differ by 1 us, which one float32 number does not resolve."""
    later = float32_pair.add(Pair(single(1e4), single(0.0)), single(1e-6))
    earlier = Pair(single(1e4), single(0.0))
    assert float(float32_pair.difference(later, earlier)[0]) == pytest.approx(1e-6, rel=1e-3)
    for pairs in ((later, earlier), (earlier, later)):
        assert exact(*float32_pair.later(*pairs)) == exact(*later)


@pytest.mark.parametrize("step", [1e-5, 3.3e-7, 0.0417])
def test_a_clock_counts_short_steps_exactly(step):
    """A clock of two words loses up to a millionth of steps of 10 us after an hour."""
    start = float32_pair.stopped(1).later(single(4000.0))
    steps = 200_000
    clock = jax.jit(lambda clock: jax.lax.fori_loop(0, steps, lambda _, now: now.later(single(step)), clock))(start)
    passed = exact(*clock.now, clock.rest) - 4000
    assert abs(passed - steps * exact(single(step))) < Fraction(1, 10**12)
