"""The bounds by hand, and against SFQ(D) written out as a scalar program."""

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import example, given
from hypothesis import strategies as st

from storagekit.analytic.fairness import (
    Side,
    bound_one_server,
    bound_total,
    delay_factor,
    floor,
    largest_drop,
    largest_unfairness,
    printed,
    repaired,
    shortfall,
)


def test_one_server_by_hand():
    """The bound is (8/2 + 3/1) (4 + 1) = 35."""
    assert bound_one_server(Side(2, 8), Side(1, 3), 4) == 35


def test_all_bricks_by_hand():
    """D = 5, D_SFQ = 7. f: weight 2, cost 10 at the brick, 20 anywhere, 3 bricks, batches of 60, 4 coordinators. g:
    weight 1, cost 6, one brick, one coordinator.

    printed:  (12*3 + 1) 10/2 + (12*1 + 1) 6 + 8 (60/2 + 6) = 185 + 78 + 288
    repaired: (12*3 + 1) 20/2 + (12*1 + 1) 6 + (7 + 4) 60/2 + (7 + 1) 6 = 370 + 78 + 330 + 48
    """
    f, g = Side(2, 10, 20, 3, 60, 4), Side(1, 6)
    assert bound_total(f, g, 5, 7, printed) == 551
    assert bound_total(f, g, 5, 7, repaired) == 826
    assert bound_total(g, f, 5, 7, repaired) == 826


def test_each_side_may_be_an_array():
    costs = np.array([1.0, 4.0, 9.0])
    f, g = Side(2, costs, bricks=3, largest_batch=2 * costs), Side(np.array([[1.0], [4.0]]), 6)
    together = bound_total(f, g, 5, 7, repaired)
    assert together.shape == (2, 3)
    for row, weight in enumerate((1, 4)):
        for column, cost in enumerate(costs):
            one = bound_total(Side(2, cost, bricks=3, largest_batch=2 * cost), Side(weight, 6), 5, 7, repaired)
            assert together[row, column] == one
    assert bound_one_server(f, g, np.array([1, 2, 3])).shape == (2, 3)


cost, count = st.integers(0, 1_000), st.integers(1, 20)


@given(st.tuples(cost, count, cost), st.tuples(cost, count, cost), st.integers(0, 64), st.integers(0, 64))
def test_the_interpretations_differ_by_other_bricks_and_coordinators_alone(f, g, depth, waiting):
    def sides(further, coordinators):
        return [Side(3, largest, largest + further, bricks, batch, coordinators) for largest, bricks, batch in (f, g)]

    def bound(sides, interpretation):
        return bound_total(*sides, depth, waiting, interpretation)

    alike = sides(0, 1)
    assert bound(alike, repaired) == bound(alike, printed)
    # costs 5 higher at another brick, and 3 coordinators: 5 more for each queued request of each side, and two more
    # batches
    apart = sides(5, 3)
    more = sum(((depth + waiting) * bricks + 1) * 5 + 2 * batch for _, bricks, batch in (f, g)) / 3
    assert bound(apart, printed) == bound(alike, printed)
    assert bound(apart, repaired) - bound(apart, printed) == pytest.approx(more, rel=1e-9)


def test_a_coordinator_that_sends_no_requests_there_has_no_bound():
    assert bound_total(Side(1, 1, largest_batch=np.inf), Side(1, 1), 1, 1, printed) == np.inf


def test_the_delay_factor_of_the_paper_and_zero():
    assert delay_factor(0.5, 1 / 12) == pytest.approx(10, rel=1e-12)
    np.testing.assert_array_equal(delay_factor([0.1, 0.5, 1.0], [0.1, 0.5, 1.0]), 0)


@given(st.floats(0.01, 0.99), st.floats(0.01, 1))
def test_a_stream_that_is_always_delayed_has_its_minimum(weight, part):
    """Each request advances its stream's tag by its cost and the delay. The other streams' tags advance by the cost
    alone."""
    slowed = weight / (1 + delay_factor(weight, part * weight))
    assert slowed / (slowed + 1 - weight) == pytest.approx(part * weight, rel=1e-9)


def test_the_floor_by_hand():
    """The floor is a quarter of 1000, less (3 + 1) (3/4 8 + 1/4 (2 + 6)) = 32."""
    assert shortfall(1 / 4, 8, 2 + 6, 3) == 32
    assert floor(1000, 1 / 4, 8, 2 + 6, 3) == 218


def sfq(depth, weights, costs, factors, choices):
    """Serve `costs [request, stream]` by SFQ(D) at one brick, with all streams always backlogged.

    Returns the cost that each event completes, `[event, stream]`. Requests in service complete in any order, given by
    `choices`. Tags follow equations 5 and 6; delays are `factors` times the cost.
    """
    streams = range(len(weights))
    sent = [0 for _ in streams]
    start = [factors[stream] * costs[0][stream] / weights[stream] for stream in streams]
    inside, done = [], []
    for choice in [None] * depth + choices:
        if choice is not None:
            stream, taken = inside.pop(choice % depth)
            done.append([taken if one == stream else 0 for one in streams])
        stream = min(streams, key=lambda one: start[one])
        taken, following = costs[sent[stream]][stream], costs[sent[stream] + 1][stream]
        inside.append((stream, taken))
        start[stream] += (taken + factors[stream] * following) / weights[stream]
        sent[stream] += 1
    return np.array(done, float)


@st.composite
def bricks(draw):
    """Depth, weights that sum to 1, minimum shares, costs, and the completion order of the requests."""
    streams, events = draw(st.integers(2, 3)), draw(st.integers(1, 60))
    whole = np.array(draw(st.lists(st.integers(1, 6), min_size=streams, max_size=streams)))
    parts = np.array(draw(st.lists(st.sampled_from([1, 1 / 2, 1 / 8]), min_size=streams, max_size=streams)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    depth, largest = draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 50]))
    costs = generator.choice([1, largest], size=(events + 6, streams))
    return depth, whole / whole.sum(), parts * whole / whole.sum(), costs, generator.integers(0, 12, events).tolist()


def always(done):
    return np.ones(len(done), bool), np.zeros(len(done))


@given(bricks())
def test_no_interval_of_sfq_breaks_the_bound(brick):
    depth, weights, _, costs, choices = brick
    done = sfq(depth, weights, costs, [0] * len(weights), choices)
    largest = costs.max(axis=0)
    bound = bound_one_server(*(Side(weights[one], largest[one]) for one in (0, 1)), depth)
    assert largest_unfairness(done[:, :2], weights[:2], *always(done)) <= bound * (1 + 1e-9)


@given(bricks())
@example((1, np.array([0.5, 0.5]), np.array([0.0625, 0.5]), np.ones((80, 2)), [0] * 70))
def test_no_interval_falls_below_the_floor(brick):
    """Every stream is delayed as much as its minimum allows, or only the first one is."""
    depth, weights, minimum, costs, choices = brick
    largest = costs.max(axis=0)
    for others in (0, 1):
        factors = delay_factor(weights, minimum) * others
        factors[0] = delay_factor(weights[0], minimum[0])
        done = sfq(depth, weights, costs, factors, choices)
        fallen = largest_drop(done[:, 0], done.sum(axis=1), minimum[0], *always(done))
        assert fallen <= shortfall(minimum[0], largest[0], largest[1:].sum(), depth) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Side(0, 1), r"weight 0: it must be above 0"),
        (lambda: Side(1, -1), r"largest cost at the brick -1: it must be at least 0"),
        (lambda: Side(1, 3, 2), r"largest cost at any brick 2: it must be at least the largest cost at this brick"),
        (lambda: Side(1, 1, bricks=0), r"bricks 0: give a whole number, between 1"),
        (lambda: Side(1, 1, largest_batch=-2), r"largest batchcost -2: it must be at least 0"),
        (lambda: Side(1, 1, coordinators=[1, 0]), r"coordinators 0: give a whole number, between 1"),
        (lambda: bound_one_server(Side(1, 1), Side(1, 1), -1), r"depth -1: it must be at least 0"),
        (lambda: bound_total(Side(1, 1), Side(1, 1), 1, -1, printed), r"waiting -1: it must be at least 0"),
        (lambda: delay_factor(0, 0.1), r"weight 0: it must be above 0 and at most 1"),
        (lambda: delay_factor(3, 0.5), r"weight 3: .*divide the weights by their sum"),
        (lambda: delay_factor(1, 0.5), r"minimum share 0.5: it must be 1 if the weight is 1"),
        (lambda: delay_factor(0.5, 0), r"minimum share 0: it must be above 0"),
        (lambda: delay_factor([0.5, 0.5], [0.5, 0.6]), r"minimum share 0.6: .*at most the stream's weight"),
        (lambda: delay_factor(np.nan, 0.5), r"weight nan"),
        (lambda: shortfall(2, 1, 1, 1), r"minimum share 2: it must be above 0 and at most 1"),
        (lambda: floor(1, 0.5, 1, -1, 1), r"others' largest costs -1"),
    ],
)
def test_bounds_of_impossible_numbers_are_rejected(call, message):
    assert_refused(call, message)
