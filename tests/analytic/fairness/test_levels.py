"""Theorem 3's level against bisection, and the statements of the theorem."""

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from storagekit.analytic.fairness import water_level

rates = st.floats(0, 1e3, allow_subnormal=False)


@st.composite
def brick_sets(draw):
    """Rates elsewhere and weights `[2, stream]`, and capacity `[2]`."""
    shape = 2, draw(st.integers(1, 7))
    other = draw(arrays(float, shape, elements=st.one_of(st.integers(0, 3).map(float), rates)))
    return other, draw(arrays(float, shape, elements=st.floats(0.01, 100))), draw(arrays(float, 2, elements=rates))


def bisected(other, weights, capacity):
    low, high = other.min(), other.max() + capacity / weights.sum() + 1
    for _ in range(200):
        middle = (low + high) / 2
        below = np.sum(weights * np.maximum(0, middle - other)) < capacity
        low, high = (middle, high) if below else (low, middle)
    return high


def test_three_streams_by_hand():
    """A capacity of 3 is shared by streams with 0, 1 and 5 elsewhere. The first receives 1 alone, then the first two
    receive 1 each. That is too little to reach the third. With a capacity of 15 all three reach 7."""
    found = water_level([[0, 1, 5]], [1, 1, 1], [3])
    np.testing.assert_array_equal(found.level, [2])
    np.testing.assert_array_equal(found.rates, [[2, 2, 5]])
    np.testing.assert_array_equal(found.service, [[2, 1, 0]])
    np.testing.assert_array_equal(water_level([0, 1, 5], [1, 1, 1], 15).rates, [7, 7, 7])


@given(brick_sets())
def test_the_level_is_the_one_of_bisection(given_here):
    found = water_level(*given_here)
    for row, (other, weights, capacity) in enumerate(zip(*given_here, strict=True)):
        assert found.level[row] == pytest.approx(bisected(other, weights, capacity), rel=1e-11, abs=1e-11)
        alone = water_level(other, weights, capacity)
        assert found.level[row] == alone.level
        np.testing.assert_array_equal(found.service[row], alone.service)


@given(brick_sets())
def test_the_statements_of_the_theorem(given_here):
    """In the order of their rates elsewhere, the first k streams end at an equal rate. It is not above any other
    stream's rate elsewhere, and the other streams receive nothing at this brick. The brick's capacity is used
    completely."""
    other, weights, capacity = given_here
    found = water_level(other, weights, capacity)
    np.testing.assert_allclose(found.service.sum(axis=-1), capacity, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.rates, other + found.service / weights, rtol=1e-12, atol=1e-12)
    for row in range(len(other)):
        served = found.service[row] > 0
        np.testing.assert_allclose(found.rates[row][served], found.level[row], rtol=1e-12)
        assert np.all(other[row][~served] >= found.level[row] * (1 - 1e-12))


def test_small_amounts_are_not_lost_next_to_large_ones():
    """A capacity of a thousandth is shared by two streams that have a thousand million elsewhere."""
    found = water_level([1e9, 1e9], [1.0, 3.0], 1e-3)
    np.testing.assert_allclose(found.service, [0.25e-3, 0.75e-3], rtol=1e-12)


@pytest.mark.parametrize(
    ("other", "weights", "capacity", "message"),
    [
        ([], [], 1, "streams 0: it must be at least 1"),
        ([-1.0], [1], 1, "rate at other bricks -1: it must be 0 or more and finite"),
        ([np.inf], [1], 1, "rate at other bricks inf: it must be 0 or more and finite"),
        ([0.0], [0], 1, "weight 0: it must be above 0"),
        ([0.0], [1], -1, "capacity -1: it must be 0 or more"),
    ],
)
def test_levels_of_impossible_numbers_are_rejected(other, weights, capacity, message):
    assert_refused(lambda: water_level(other, weights, capacity), message)
