"""Max-min fair rates: closed forms, and the definition checked by linear programs of its own."""

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from storagekit.analytic.fairness import max_min_rates, water_level

NEAR = 1e-8


@st.composite
def systems(draw, minimums=True):
    """Capacity, weights, reach, demand and minimum shares; whole numbers, so that ties are frequent, and others."""
    streams, bricks = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    amounts = draw(st.sampled_from([st.integers(0, 4).map(float), st.floats(0.01, 10)]))
    capacity = draw(arrays(float, bricks, elements=amounts))
    weights = draw(arrays(float, streams, elements=st.sampled_from([1.0, 1.0, 2.0, 3.0, 0.1])))
    reach = draw(arrays(bool, (streams, bricks)))
    demand = draw(arrays(float, (streams, bricks), elements=st.one_of(st.just(np.inf), amounts)))
    share = st.sampled_from([0.0, 0.0, 1 / 12, 1 / 5]) if minimums else st.just(0.0)
    return capacity, weights, reach, demand, draw(arrays(float, streams, elements=share))


def feasible(capacity, reach, demand, minimum):
    """Bounds of every x, `[stream * brick, 2]`, and the rows and limits of the bricks."""
    most = np.where(reach, demand, 0)
    least = np.minimum(minimum[:, None] * capacity, most)
    rows = np.tile(np.eye(len(capacity)), len(reach))
    return np.stack([least.ravel(), most.ravel()], axis=1), rows, capacity


def test_one_brick_more_for_one_of_two():
    """f on A alone, g on A and B, equal weights: total shares are equal while B has no more than A, then f has all of A."""
    reach = [[True, False], [True, True]]
    for other in (0.0, 1.0, 5.0, 6.0, 7.0, 100.0):
        found = max_min_rates([6.0, other], [1, 1], reach)
        equal = (6 + other) / 2
        np.testing.assert_allclose(found.rates, [min(6, equal), max(other, equal)], rtol=1e-12)
        here = max(0, 6 - equal)
        np.testing.assert_allclose(found.allocation, [[min(6, equal), 0], [here, other]], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("apart", [1e-6, 1e-7, 1e-8, 1e-9])
def test_levels_that_nearly_meet_are_told_apart(apart):
    """The same with B a little above or below A: with more the two differ by all of it, with less they share it."""
    reach = [[True, False], [True, True]]
    np.testing.assert_allclose(max_min_rates([1, 1 + apart], [1, 1], reach).rates, [1, 1 + apart], rtol=1e-14)
    np.testing.assert_allclose(max_min_rates([1, 1 - apart], [1, 1], reach).rates, [1 - apart / 2] * 2, rtol=1e-14)
    np.testing.assert_allclose(max_min_rates([1, apart], [1, 1], np.eye(2)).rates, [1, apart], rtol=1e-14)


def test_with_a_minimum_nobody_is_shut_out():
    """The same with a twelfth of each brick for both: g keeps 1/2 of A's 6; what B does beyond is g's."""
    reach = [[True, False], [True, True]]
    for other, here in ((2.0, 2.0), (5.0, 0.5), (100.0, 0.5)):
        found = max_min_rates([6.0, other], [1, 1], reach, minimum=1 / 12)
        np.testing.assert_allclose(found.allocation, [[6 - here, 0], [here, other]], rtol=1e-9, atol=1e-9)
    # g wants less at A than its minimum, and f has what it leaves
    found = max_min_rates([6.0, 100.0], [1, 1], reach, [[np.inf, 0], [0.25, np.inf]], 1 / 12)
    np.testing.assert_allclose(found.allocation, [[5.75, 0], [0.25, 100]], rtol=1e-9, atol=1e-9)


def test_a_stream_striped_over_three_bricks():
    """f on one brick, g on three, 4 each. With weights 1 to 2 f has a third of 12, all of its brick; no more with 1 to 1;
    and with 1 to 5 a sixth."""
    reach = [[True, False, False], [True, True, True]]
    np.testing.assert_allclose(max_min_rates([4.0] * 3, [1, 2], reach).rates, [4, 8], rtol=1e-12)
    np.testing.assert_allclose(max_min_rates([4.0] * 3, [1, 1], reach).rates, [4, 8], rtol=1e-12)
    np.testing.assert_allclose(max_min_rates([4.0] * 3, [1, 5], reach).rates, [2, 10], rtol=1e-12)


def test_a_chain_of_bricks_is_one():
    """Stream i reaches bricks i and i+1: 8, 1, 1, 6 leave 2 for the second, and 3, 5, 5, 3 are evened out to 16/3 each."""
    reach = np.eye(3, 4, dtype=bool) | np.eye(3, 4, k=1, dtype=bool)
    np.testing.assert_allclose(max_min_rates([8.0, 1, 1, 6], [1, 1, 1], reach).rates, [8, 2, 6], rtol=1e-12)
    np.testing.assert_allclose(max_min_rates([3.0, 5, 5, 3], [1, 1, 1], reach).rates, [16 / 3] * 3, rtol=1e-12)


def test_what_holds_each_back():
    """f asks for 1 and has it. g and h share brick 1; i has brick 2 to itself and would take more of brick 1."""
    reach = [[True, False, False], [False, True, False], [False, True, False], [False, True, True]]
    demand = np.full((4, 3), np.inf)
    demand[0, 0] = 1
    found = max_min_rates([4.0, 6.0, 9.0], [1, 1, 1, 1], reach, demand)
    np.testing.assert_allclose(found.rates, [1, 3, 3, 9], rtol=1e-12)
    np.testing.assert_array_equal(found.bottleneck, [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 1]])
    named = [found.binding(stream) for stream in range(4)]
    assert [one.constraint for one in named] == ["demand", "brick 1", "brick 1", "bricks 1, 2"]
    np.testing.assert_allclose([(one.value, one.limit) for one in named], [(1, 1), (3, 6), (3, 6), (9, 15)], rtol=1e-9)


def test_who_has_all_it_asks_for_is_held_back_by_nothing_else():
    """g asks for 1 at brick 1, which f leaves to it: the brick is full at the level at which g has all."""
    found = max_min_rates([1.0, 1.0], [1, 1], [[True, True], [False, True]], [[2, np.inf], [0, 1]])
    np.testing.assert_array_equal(found.rates, [1, 1])
    assert found.binding(0).constraint == "bricks 0, 1"
    assert found.binding(1).constraint == "demand"


@given(systems())
def test_bricks_serve_no_more_than_they_can_and_idle_only_when_all_is_met(system):
    capacity, _, reach, demand, minimum = system
    found = max_min_rates(*system)
    bounds, _, _ = feasible(capacity, reach, demand, minimum)
    given_each = found.allocation.ravel()
    assert np.all(given_each >= bounds[:, 0] - NEAR) and np.all(given_each <= bounds[:, 1] + NEAR)
    np.testing.assert_allclose(found.allocation.sum(axis=1), found.rates, rtol=NEAR, atol=NEAR)
    used = found.allocation.sum(axis=0)
    assert np.all(used <= capacity + NEAR)
    met = np.all(found.allocation >= np.where(reach, demand, 0) - NEAR, axis=0)
    assert np.all(met | (used >= capacity - NEAR))


@given(systems())
@settings(max_examples=60)
@example((np.ones(3), np.ones(4), np.ones((4, 3), bool), np.full((4, 3), np.inf), np.zeros(4)))
@example((np.zeros(2), np.ones(2), np.ones((2, 2), bool), np.full((2, 2), np.inf), np.zeros(2)))
def test_nobody_can_be_raised_but_at_the_cost_of_who_has_no_more(system):
    """A program for each stream: its largest rate while all that have no more than it keep what they have."""
    capacity, weights, reach, demand, minimum = system
    found = max_min_rates(*system)
    bounds, rows, limits = feasible(capacity, reach, demand, minimum)
    totals = np.kron(np.eye(len(weights)), np.ones(len(capacity)))
    level = found.rates / weights
    for stream in range(len(weights)):
        kept = (level <= level[stream] + NEAR) & (np.arange(len(weights)) != stream)
        best = linprog(
            -totals[stream],
            A_ub=np.concatenate([rows, -totals[kept]]),
            b_ub=np.concatenate([limits, -found.rates[kept] + 1e-9]),
            bounds=bounds,
        )
        assert best.success
        assert -best.fun <= found.rates[stream] + 1e-6


@given(systems(minimums=False))
def test_whoever_is_served_has_no_more_than_whoever_wants_more_there(system):
    """What TOTAL-DSFQ keeps to at every brick."""
    capacity, weights, reach, demand, _ = system
    found = max_min_rates(*system)
    level = found.rates / weights
    wants = found.allocation < np.where(reach, demand, 0) - 1e-6
    for brick in range(len(capacity)):
        served = found.allocation[:, brick] > 1e-6
        if served.any() and wants[:, brick].any():
            assert level[served].max() <= level[wants[:, brick]].min() + 1e-6


@given(systems())
def test_who_is_held_back_by_what(system):
    """By bricks that are full, where it is not given all; or by its demand, all of which is met."""
    found = max_min_rates(*system)
    capacity, _, reach, _, _ = system
    full = found.allocation.sum(axis=0) >= capacity - NEAR
    assert np.all(full[np.nonzero(found.bottleneck)[1]])
    asked = found.demand.sum(axis=1)
    by_demand = ~found.bottleneck.any(axis=1)
    np.testing.assert_allclose(found.rates[by_demand], asked[by_demand], rtol=1e-12)
    assert np.all(found.rates[~by_demand] < asked[~by_demand])
    assert not np.any(found.bottleneck & ~reach)


@given(st.integers(1, 6), st.data())
def test_one_brick_is_water_filling(streams, data):
    """With demand everywhere, and what minimum shares give in advance as what theorem 3 calls elsewhere."""
    weights = data.draw(arrays(float, streams, elements=st.floats(0.1, 10)))
    minimum = data.draw(arrays(float, streams, elements=st.floats(0, 1 / 6)))
    capacity = data.draw(st.floats(0.01, 100))
    already = minimum * capacity
    expected = water_level(already / weights, weights, max(capacity - already.sum(), 0))
    found = max_min_rates([capacity], weights, np.ones((streams, 1)), minimum=minimum)
    np.testing.assert_allclose(found.rates, expected.rates * weights, rtol=1e-9)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=6), st.floats(0.01, 10))
def test_demands_at_one_brick_are_met_from_the_least_on(demand, capacity):
    demand = np.sort(demand)
    expected, left = [], capacity
    for number, asked in enumerate(demand):
        expected.append(min(asked, left / (len(demand) - number)))
        left -= expected[-1]
    found = max_min_rates([capacity], np.ones(len(demand)), np.ones((len(demand), 1)), demand[:, None])
    np.testing.assert_allclose(found.rates, expected, rtol=1e-9, atol=1e-9)


@given(systems(), st.randoms(use_true_random=False))
def test_the_order_of_streams_and_bricks_does_not_matter(system, order):
    capacity, weights, reach, demand, minimum = system
    streams, bricks = list(range(len(weights))), list(range(len(capacity)))
    order.shuffle(streams)
    order.shuffle(bricks)
    part = np.ix_(streams, bricks)
    shuffled = max_min_rates(capacity[bricks], weights[streams], reach[part], demand[part], minimum[streams])
    np.testing.assert_allclose(shuffled.rates, max_min_rates(*system).rates[streams], rtol=1e-9, atol=1e-9)


def test_units_do_not_matter():
    """A thousand million times the capacity is so many times the rates, and weights are relative."""
    generator = np.random.default_rng(4)
    capacity, weights, reach = (
        generator.exponential(size=6),
        generator.exponential(size=9),
        generator.random((9, 6)) < 0.4,
    )
    rates = max_min_rates(capacity, weights, reach).rates
    for factor in (1e-9, 1e9):
        np.testing.assert_allclose(max_min_rates(capacity * factor, weights, reach).rates, rates * factor, rtol=1e-9)
        np.testing.assert_allclose(max_min_rates(capacity, weights * factor, reach).rates, rates, rtol=1e-9)


def test_as_large_as_it_is_meant_for():
    """64 streams, of which two each reach bricks 0 to k of 32, k from 0 on, capacities growing: a level for each brick."""
    reach = np.arange(32) <= np.arange(64)[:, None] // 2
    found = max_min_rates(np.arange(1, 33.0), np.ones(64), reach)
    np.testing.assert_allclose(found.rates, np.repeat(np.arange(1, 33), 2) / 2, rtol=1e-12)
    np.testing.assert_allclose(found.allocation.sum(axis=0), np.arange(1, 33), rtol=1e-9)


ONE = [1.0], [1.0, 1.0], [[True], [True]]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: max_min_rates([1], [1], [True]), r"reach of shape \(1,\): it must be \[stream, brick\]"),
        (lambda: max_min_rates([1, 2], *ONE[1:]), r"capacity of shape \(2,\): it must be \(1,\), one for each brick"),
        (lambda: max_min_rates([1], [1], ONE[2]), r"weights of shape \(1,\): it must be \(2,\), one for each stream"),
        (lambda: max_min_rates([-1], *ONE[1:]), "capacity -1: it must be 0 or more and finite"),
        (lambda: max_min_rates([1], [1, 0], ONE[2]), "weight 0: it must be above 0"),
        (lambda: max_min_rates(*ONE, demand=[1, 2]), r"demand of shape \(2,\): it must be \(2, 1\)"),
        (lambda: max_min_rates(*ONE, demand=[[1], [np.nan]]), "demand nan: it must be 0 or more"),
        (lambda: max_min_rates(*ONE, minimum=[0.1] * 3), r"minimum of shape \(3,\): it must be \(2,\)"),
        (lambda: max_min_rates(*ONE, minimum=-0.1), "minimum share -0.1: it must be 0 or more"),
        (lambda: max_min_rates(*ONE, minimum=[0.5, 0.6]), "sum to 1.1: it must be at most 1: lower some"),
    ],
)
def test_what_cannot_be_shared_is_refused(ask, says):
    assert_refused(ask, says)


def test_minimums_that_fill_a_brick_leave_nothing_to_share():
    found = max_min_rates([12.0], np.ones(12), np.ones((12, 1)), minimum=1 / 12)
    np.testing.assert_allclose(found.rates, 1, rtol=1e-12)
