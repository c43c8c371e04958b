"""Max-min fair rates: closed forms, and the definition checked by independent linear programs."""

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
    """Capacity, weights, reach, demand and minimum shares. Some are whole numbers, so that ties are frequent."""
    streams, bricks = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    amounts = draw(st.sampled_from([st.integers(0, 4).map(float), st.floats(0.01, 10)]))
    capacity = draw(arrays(float, bricks, elements=amounts))
    weights = draw(arrays(float, streams, elements=st.sampled_from([1.0, 1.0, 2.0, 3.0, 0.1])))
    reach = draw(arrays(bool, (streams, bricks)))
    demand = draw(arrays(float, (streams, bricks), elements=st.one_of(st.just(np.inf), amounts)))
    share = st.sampled_from([0.0, 0.0, 1 / 12, 1 / 5]) if minimums else st.just(0.0)
    return capacity, weights, reach, demand, draw(arrays(float, streams, elements=share))


def feasible(capacity, reach, demand, minimum):
    """Bounds of every x, `[stream * brick, 2]`, and the rows and limits of the bricks' constraints."""
    most = np.where(reach, demand, 0)
    least = np.minimum(minimum[:, None] * capacity, most)
    rows = np.tile(np.eye(len(capacity)), len(reach))
    return np.stack([least.ravel(), most.ravel()], axis=1), rows, capacity


def test_one_brick_more_for_one_of_two():
    """f uses A alone, g uses A and B, with equal weights. The rates are equal while B is not larger than A; then f has
    all of A."""
    reach = [[True, False], [True, True]]
    for other in (0.0, 1.0, 5.0, 6.0, 7.0, 100.0):
        found = max_min_rates([6.0, other], [1, 1], reach)
        equal = (6 + other) / 2
        np.testing.assert_allclose(found.rates, [min(6, equal), max(other, equal)], rtol=1e-12)
        here = max(0, 6 - equal)
        np.testing.assert_allclose(found.allocation, [[min(6, equal), 0], [here, other]], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("apart", [1e-6, 1e-7, 1e-8, 1e-9])
def test_levels_that_nearly_meet_are_distinguished(apart):
    """B is a little larger or smaller than A. If it is larger, the rates differ by the whole difference; if smaller,
    they are equal."""
    reach = [[True, False], [True, True]]
    np.testing.assert_allclose(max_min_rates([1, 1 + apart], [1, 1], reach).rates, [1, 1 + apart], rtol=1e-14)
    np.testing.assert_allclose(max_min_rates([1, 1 - apart], [1, 1], reach).rates, [1 - apart / 2] * 2, rtol=1e-14)
    np.testing.assert_allclose(max_min_rates([1, apart], [1, 1], np.eye(2)).rates, [1, apart], rtol=1e-14)


def test_with_a_minimum_no_stream_is_shut_out():
    """Both streams have a minimum of a twelfth of each brick. g keeps 1/2 of A's 6, however large B is."""
    reach = [[True, False], [True, True]]
    for other, here in ((2.0, 2.0), (5.0, 0.5), (100.0, 0.5)):
        found = max_min_rates([6.0, other], [1, 1], reach, minimum=1 / 12)
        np.testing.assert_allclose(found.allocation, [[6 - here, 0], [here, other]], rtol=1e-9, atol=1e-9)
    # g needs less at A than its minimum, and f receives the remainder
    found = max_min_rates([6.0, 100.0], [1, 1], reach, [[np.inf, 0], [0.25, np.inf]], 1 / 12)
    np.testing.assert_allclose(found.allocation, [[5.75, 0], [0.25, 100]], rtol=1e-9, atol=1e-9)


def test_a_stream_striped_over_three_bricks():
    """f uses one brick, g three, with a capacity of 4 each. With weights 1:2, f has a third of 12, all of its brick.
    With 1:1 it has the same, and with 1:5 a sixth."""
    reach = [[True, False, False], [True, True, True]]
    np.testing.assert_allclose(max_min_rates([4.0] * 3, [1, 2], reach).rates, [4, 8], rtol=1e-12)
    np.testing.assert_allclose(max_min_rates([4.0] * 3, [1, 1], reach).rates, [4, 8], rtol=1e-12)
    np.testing.assert_allclose(max_min_rates([4.0] * 3, [1, 5], reach).rates, [2, 10], rtol=1e-12)


def test_a_chain_of_bricks_is_shared():
    """Stream i reaches bricks i and i+1. Capacities 8, 1, 1, 6 leave 2 for the second stream; 3, 5, 5, 3 give 16/3 to
    each."""
    reach = np.eye(3, 4, dtype=bool) | np.eye(3, 4, k=1, dtype=bool)
    np.testing.assert_allclose(max_min_rates([8.0, 1, 1, 6], [1, 1, 1], reach).rates, [8, 2, 6], rtol=1e-12)
    np.testing.assert_allclose(max_min_rates([3.0, 5, 5, 3], [1, 1, 1], reach).rates, [16 / 3] * 3, rtol=1e-12)


def test_the_binding_constraint_of_each_stream():
    """f demands 1 and receives it. g and h share brick 1. i has brick 2 to itself and would take more of brick 1."""
    reach = [[True, False, False], [False, True, False], [False, True, False], [False, True, True]]
    demand = np.full((4, 3), np.inf)
    demand[0, 0] = 1
    found = max_min_rates([4.0, 6.0, 9.0], [1, 1, 1, 1], reach, demand)
    np.testing.assert_allclose(found.rates, [1, 3, 3, 9], rtol=1e-12)
    np.testing.assert_array_equal(found.bottleneck, [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 1]])
    named = [found.binding(stream) for stream in range(4)]
    assert [one.constraint for one in named] == ["demand", "brick 1", "brick 1", "bricks 1, 2"]
    np.testing.assert_allclose([(one.value, one.limit) for one in named], [(1, 1), (3, 6), (3, 6), (9, 15)], rtol=1e-9)


def test_a_stream_with_all_its_demand_is_bound_by_demand_alone():
    """g demands 1 at brick 1, and f leaves it to g. The brick is full at the same level at which g has all its
    demand."""
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
@settings(max_examples=30)
@example((np.ones(3), np.ones(4), np.ones((4, 3), bool), np.full((4, 3), np.inf), np.zeros(4)))
@example((np.zeros(2), np.ones(2), np.ones((2, 2), bool), np.full((2, 2), np.inf), np.zeros(2)))
def test_no_rate_can_rise_without_lowering_one_that_is_not_higher(system):
    """One linear program per stream maximizes its rate while all streams with equal or lower rates keep theirs."""
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
def test_served_streams_have_no_higher_level_than_waiting_ones(system):
    """TOTAL-DSFQ has this property at every brick."""
    capacity, weights, reach, demand, _ = system
    found = max_min_rates(*system)
    level = found.rates / weights
    wants = found.allocation < np.where(reach, demand, 0) - 1e-6
    for brick in range(len(capacity)):
        served = found.allocation[:, brick] > 1e-6
        if served.any() and wants[:, brick].any():
            assert level[served].max() <= level[wants[:, brick]].min() + 1e-6


@given(systems())
def test_every_stream_is_bound_by_full_bricks_or_its_demand(system):
    """A stream with unmet demand is bound by full bricks; a stream with all its demand met is bound by the demand."""
    found = max_min_rates(*system)
    capacity, _, reach, _, _ = system
    full = found.allocation.sum(axis=0) >= capacity - NEAR
    assert np.all(full[np.nonzero(found.bottleneck)[1]])
    demanded = found.demand.sum(axis=1)
    by_demand = ~found.bottleneck.any(axis=1)
    np.testing.assert_allclose(found.rates[by_demand], demanded[by_demand], rtol=1e-12)
    assert np.all(found.rates[~by_demand] < demanded[~by_demand])
    assert not np.any(found.bottleneck & ~reach)


@given(st.integers(1, 6), st.data())
def test_one_brick_is_water_filling(streams, data):
    """All streams demand service at the brick. The minimum shares, given in advance, are the rates elsewhere of theorem
    3."""
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
    for number, demanded in enumerate(demand):
        expected.append(min(demanded, left / (len(demand) - number)))
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
    """Capacity times a thousand million gives rates times a thousand million, and weights are relative."""
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


def test_the_largest_intended_system():
    """64 streams in pairs: pair k reaches bricks 0 to k of 32. Capacities grow, so every brick has a different
    level."""
    reach = np.arange(32) <= np.arange(64)[:, None] // 2
    found = max_min_rates(np.arange(1, 33.0), np.ones(64), reach)
    np.testing.assert_allclose(found.rates, np.repeat(np.arange(1, 33), 2) / 2, rtol=1e-12)
    np.testing.assert_allclose(found.allocation.sum(axis=0), np.arange(1, 33), rtol=1e-9)


ONE = [1.0], [1.0, 1.0], [[True], [True]]


@pytest.mark.parametrize(
    ("call", "message"),
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
        (
            lambda: max_min_rates(*ONE, minimum=[0.5, 0.6]),
            "sum of minimum shares at a brick 1.1: it must be at most 1; lower minimum shares",
        ),
    ],
)
def test_impossible_shares_are_rejected(call, message):
    assert_refused(call, message)


def test_minimums_that_fill_a_brick_leave_nothing_to_share():
    found = max_min_rates([12.0], np.ones(12), np.ones((12, 1)), minimum=1 / 12)
    np.testing.assert_allclose(found.rates, 1, rtol=1e-12)
