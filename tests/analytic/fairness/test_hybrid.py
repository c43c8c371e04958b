"""Rates with minimum shares: closed forms, the equations they solve, and the limit without minimums."""

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.analytic.fairness import delay_factor, hybrid_rates, max_min_rates

INF = np.inf
A_OR_BOTH = [[True, False], [True, True]]


def drawn(seed: int, streams: int, bricks: int):
    """Random capacity, weights, demand and minimums; some demands and minimums are limited."""
    draw = np.random.default_rng(seed)
    weights = draw.uniform(0.5, 3, streams)
    reach = draw.random((streams, bricks)) < 0.4
    reach[np.arange(streams), draw.integers(0, bricks, streams)] = True
    limited = draw.random((streams, bricks)) < 0.25
    demand = np.where(reach, np.where(limited, draw.uniform(0.1, 3, (streams, bricks)), INF), 0)
    minimum = weights / weights.sum() * draw.choice([0, 0.1, 0.5, 1], streams)
    return draw.uniform(1, 10, bricks), weights, demand, minimum


def test_two_streams_where_one_also_uses_another_brick():
    """Both streams wait at A, and only g is capped. Its share of A is the minimum, a twelfth of 6. g alone uses B."""
    found = hybrid_rates([6.0, 6.0], [1, 1], A_OR_BOTH, minimum=1 / 12)
    np.testing.assert_allclose(found.rates.allocation, [[5.5, 0], [0.5, 6]], rtol=1e-12)
    np.testing.assert_array_equal(found.lifted, [[0, 0], [1, 0]])
    np.testing.assert_allclose(found.rates.rates, max_min_rates([6.0, 6], [1, 1], A_OR_BOTH, minimum=1 / 12).rates)


def test_a_minimum_that_is_the_weight_is_sharing_brick_by_brick():
    found = hybrid_rates([6.0, 6.0], [1, 2], A_OR_BOTH, minimum=[1 / 3, 2 / 3])
    np.testing.assert_allclose(found.rates.allocation, [[2, 0], [4, 6]], rtol=1e-12)


def test_two_capped_streams_each_have_more_than_their_minimum():
    """f uses A; g and h use A and a large B. Each has a third of the weight and a minimum of a twelfth. F = 3 / (2/3) =
    4.5, so g and h weigh 1/5.5 of f at A. So f has 6 / (1 + 2/5.5) = 4.4, and the others 0.8 each, not 6/12."""
    reach = [[True, False], [True, True], [True, True]]
    assert delay_factor(1 / 3, 1 / 12) == pytest.approx(4.5)
    found = hybrid_rates([6.0, 20.0], [1, 1, 1], reach, minimum=1 / 12)
    np.testing.assert_allclose(found.rates.allocation, [[4.4, 0], [0.8, 10], [0.8, 10]], rtol=1e-9)
    np.testing.assert_array_equal(found.lifted, [[0, 0], [1, 0], [1, 0]])


def test_a_capped_streams_unused_share_goes_to_the_others():
    found = hybrid_rates([6.0, 100.0], [1, 1], A_OR_BOTH, [[INF, 0], [0.25, INF]], 1 / 12)
    np.testing.assert_allclose(found.rates.allocation, [[5.75, 0], [0.25, 100]], rtol=1e-12)
    assert not found.lifted.any()


def test_a_single_stream_has_all_capacity():
    np.testing.assert_allclose(hybrid_rates([3.0, 4.0], [2], [[True, True]], minimum=0.5).rates.rates, [7])


@pytest.mark.parametrize("seed", range(6))
def test_minimums_that_vanish_leave_total_shares(seed):
    capacity, weights, demand, _ = drawn(seed, 6, 4)
    without = max_min_rates(capacity, weights, demand > 0, demand).rates
    np.testing.assert_array_equal(hybrid_rates(capacity, weights, demand > 0, demand).rates.rates, without)
    np.testing.assert_allclose(
        hybrid_rates(capacity, weights, demand > 0, demand, 1e-10).rates.rates, without, rtol=1e-6
    )


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=60)
def test_they_solve_the_equations(seed, streams, bricks):
    """v = (x + min(o, F x)) / phi is equal for all streams that wait at a full brick. Bricks idle only when all demand
    is met. Minimums are kept."""
    capacity, weights, demand, minimum = drawn(seed, streams, bricks)
    found = hybrid_rates(capacity, weights, demand > 0, demand, minimum).rates
    served = found.allocation
    used = served.sum(axis=0)
    assert np.all(used <= capacity * (1 + 1e-9)) and np.all(served <= demand)
    waits = served < demand * (1 - 1e-9)
    assert np.all(~waits.any(axis=0) | (used >= capacity * (1 - 1e-9)))
    np.testing.assert_allclose(served.sum(axis=1), found.rates)
    shares = weights / weights.sum()
    factor = np.full(streams, INF)
    capped = (minimum > 0) & (shares < 1)
    factor[capped] = delay_factor(shares[capped], minimum[capped])
    factor[(minimum > 0) & (shares >= 1)] = 0
    assert np.all(served[waits] >= (minimum[:, None] * capacity * (1 - 1e-9))[waits])
    with np.errstate(invalid="ignore"):
        # only streams whose service elsewhere is above the level may wait without service
        delayed = np.minimum(found.rates[:, None] - served, np.where(served > 0, factor[:, None] * served, INF))
    level = (served + delayed) / weights[:, None]
    for brick in np.flatnonzero(waits.any(axis=0)):
        gets = waits[:, brick] & (served[:, brick] > 1e-7 * capacity[brick])
        if not gets.any():
            continue
        np.testing.assert_allclose(level[gets, brick], level[gets, brick].max(), rtol=1e-5)
        assert np.all(level[waits[:, brick], brick] >= level[gets, brick].max() * (1 - 1e-5))


def test_a_minimum_above_the_weight_is_rejected():
    assert_refused(lambda: hybrid_rates([1.0], [1, 1], [[True], [True]], minimum=[0.6, 0.2]), "minimum share 0.6")
