"""The worst interval of a log: by hand, and against a program that checks all intervals."""

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from storagekit.analytic.fairness import largest_drop, largest_unfairness, worst_interval
from storagekit.core.batching import INSTANT

WEIGHTS = np.array([1.0, 2.0])


def periods(backlogged, gap):
    """Lists of events at which an interval may begin or end. A list starts with the first event of a backlogged period.
    It contains all events up to the end of the period, and those at the same instant."""
    found, current, away = [], None, np.inf
    for event, (now, gone) in enumerate(zip(backlogged, gap, strict=True)):
        away += gone
        if current is not None and away > INSTANT:
            current = None
        if current is not None:
            current.append(event)
        elif now:
            current = [event]
            found.append(current)
        if now:
            away = 0.0
    return found


def intervals(backlogged, gap):
    """The events after the beginning of each interval, up to its end."""
    for period in periods(backlogged, gap):
        for first in range(len(period)):
            for last in range(first + 1, len(period)):
                yield period[first + 1 : last + 1]


def unfairness_by_intervals(served, weights, backlogged, gap):
    normalized = served / weights
    apart = (abs(np.subtract(*normalized[part].sum(axis=0))) for part in intervals(backlogged, gap))
    return max(apart, default=0.0)


def drop_by_intervals(served, total, share, backlogged, gap):
    behind = (share * total[part].sum() - served[part].sum() for part in intervals(backlogged, gap))
    return max(0.0, max(behind, default=0.0))


@st.composite
def logs(draw, most=40):
    """served `[event, 2]`, backlogged and gap. Gaps follow events without backlog; some have no length."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 50), st.integers(0, 50), st.booleans(), st.sampled_from([0.0, 0.0, INSTANT / 4, 1.0])
            ),
            min_size=1,
            max_size=most,
        )
    )
    one, other, backlogged, gap = (np.array(column) for column in zip(*rows, strict=True))
    gap = np.where(np.concatenate([[False], backlogged[:-1]]), 0.0, gap)
    return np.stack([one, other], axis=1), backlogged, gap


def test_two_periods_by_hand():
    """Weights are 1 and 2. The first period begins with event 0, whose service lies before it. U is 0, 4, 4 - 10/2 =
    -1, and 2 at the event that ends the period: a drop of 5 from the second event to the third. Then 90 are served
    between the periods. In the second period U is 0 and -3."""
    served = [[70, 0], [4, 0], [0, 10], [3, 0], [90, 0], [0, 6]]
    backlogged = [True, True, True, False, True, True]
    gap = [0, 0, 0, 0, 1.0, 0]
    assert largest_unfairness(np.array(served), WEIGHTS, np.array(backlogged), np.array(gap, float)) == 5
    # without the gap there is one period, and U is 92 after the 90 are served
    assert largest_unfairness(np.array(served), WEIGHTS, np.array(backlogged), np.zeros(6)) == 92 - -1


def test_a_floor_by_hand():
    """The floor is a quarter of the brick's service. Of 40 for others it is 10, then the stream gains 3 by its 4, then
    loses 5 of 20: 12."""
    served, total = np.array([0, 0, 4, 0]), np.array([0, 40, 4, 20])
    always, none = np.ones(4, bool), np.zeros(4)
    assert largest_drop(served, total, 1 / 4, always, none) == 12
    # a stream with more than its share has not fallen, and service before the interval does not count
    assert largest_drop(total, total, 1 / 4, always, none) == 0
    assert largest_drop(np.array([0, 99, 0, 0]), np.array([0, 99, 8, 8]), 1 / 4, always, none) == 4


def test_a_gap_of_no_length_ends_no_period():
    served = np.array([[0, 0], [5, 0], [5, 0]])
    backlogged = np.array([True, False, True])
    for gap, expected in ((0.0, 10), (INSTANT / 2, 10), (2 * INSTANT, 5), (1.0, 5)):
        assert largest_unfairness(served, np.ones(2), backlogged, np.array([0, 0, gap])) == expected
    as_logged = np.array([0, 0, INSTANT], np.float32)
    assert largest_unfairness(served, np.ones(2), backlogged, as_logged) == 10


def test_many_gaps_of_no_length_add_up_to_one_with_a_length():
    served = np.array([[0, 0], [5, 0], [5, 0], [5, 0], [5, 0]])
    backlogged = np.array([True, False, False, False, True])
    gap = np.array([0, 0, 0.4, 0.4, 0.4]) * INSTANT
    assert largest_unfairness(served, np.ones(2), backlogged, gap) == 15


def test_without_a_period_there_is_no_unfairness():
    served, never = np.array([[5, 0], [5, 0]]), np.zeros(2, bool)
    assert largest_unfairness(served, np.ones(2), never, np.zeros(2)) == 0
    assert largest_unfairness(served[:0], np.ones(2), never[:0], np.zeros(0)) == 0
    assert largest_drop(np.zeros(2), served[:, 0], 0.5, never, np.zeros(2)) == 0


@given(logs(), st.sampled_from([1, 2, 3, 1 / 4]))
def test_unfairness_is_the_largest_over_all_intervals(log, weight):
    weights = np.array([weight, 2.0])
    found = largest_unfairness(log[0], weights, *log[1:])
    assert found == pytest.approx(unfairness_by_intervals(log[0], weights, *log[1:]), rel=1e-12)


def test_the_worst_interval_begins_where_the_path_turns():
    """The difference is 0, 3, 1, -1, 2, where the backlog ends, and 11. The worst interval is from the 3 to the -1; if
    no time passes in between, from the -1 to the 11."""
    normalized = np.array([[0, 0], [3, 0], [0, 2], [0, 2], [3, 0], [9, 0]], float)
    both = np.array([True, True, True, True, False, False])
    assert worst_interval(normalized, both, np.array([1, 0, 0, 0, 0, 0.5])) == (1, 3)
    assert worst_interval(normalized, both, np.array([1, 0, 0, 0, 0, 0.0])) == (3, 5)


@given(logs(), st.sampled_from([1, 2, 4]))
def test_the_worst_interval_has_the_largest_unfairness(log, weight):
    served, backlogged, gap = log
    normalized = served / np.array([1, weight])
    begin, end = worst_interval(normalized, backlogged, gap)
    found = abs(np.subtract(*normalized[begin + 1 : end + 1].sum(axis=0)))
    assert found == largest_unfairness(served, np.array([1, weight]), backlogged, gap)


@given(logs(), st.sampled_from([0, 1 / 12, 1 / 4, 1]))
def test_a_drop_is_the_largest_over_all_intervals(log, share):
    served, backlogged, gap = log
    mine, total = served[:, 0], served.sum(axis=1)
    found = largest_drop(mine, total, share, backlogged, gap)
    assert found == pytest.approx(drop_by_intervals(mine, total, share, backlogged, gap), rel=1e-12, abs=1e-12)


def test_batch_elements_are_as_if_alone():
    generator = np.random.default_rng(5)
    served = generator.integers(0, 50, (60, 2, 3, 2))
    backlogged = generator.random((60, 3, 2)) < 0.8
    gap = np.where(np.concatenate([backlogged[:1], backlogged[:-1]]), 0.0, generator.choice([0.0, 1.0], (60, 3, 2)))
    weights, share = generator.integers(1, 5, (2, 3, 2)), generator.random((3, 2))
    unfair = largest_unfairness(served, weights, backlogged, gap)
    same = largest_unfairness(served, WEIGHTS, backlogged, gap)
    fallen = largest_drop(served[:, 0], served.sum(axis=1), share, backlogged, gap)
    assert unfair.shape == fallen.shape == (3, 2)
    for element in np.ndindex(3, 2):
        here = (slice(None), *element)
        pair, rest = served[:, :, *element], (backlogged[here], gap[here])
        assert unfair[element] == largest_unfairness(pair, weights[here], *rest)
        assert same[element] == largest_unfairness(pair, WEIGHTS, *rest)
        assert fallen[element] == largest_drop(pair[:, 0], pair.sum(axis=1), share[element], *rest)


def test_a_long_run_is_as_exact_as_whole_numbers():
    """With weights 7 and 11, 77 U is a sum of whole numbers. In float32 U would be off by 8e-5."""
    served = np.random.default_rng(6).integers(0, [14, 22], (200_000, 2), endpoint=True)
    served[0] = 0
    path = np.cumsum(served @ [11, -7])
    found = largest_unfairness(served, np.array([7, 11]), np.ones(len(served), bool), np.zeros(len(served)))
    assert float(found) == pytest.approx(int(path.max() - path.min()) / 77, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unfairness(np.ones((3, 3))), r"streams 3: it must be 2"),
        (lambda: unfairness(np.ones((4, 2))), r"backlogged of shape \(3,\): it must be \(4,\)"),
        (lambda: unfairness(np.ones(3)), r"served of shape \(3,\): it must be \[event, stream, \*batch\]"),
        (lambda: unfairness(-np.ones((3, 2))), r"served -1: it must be 0 or more"),
        (lambda: unfairness(np.ones((3, 2)), np.array([1, 0])), r"weight 0: it must be above 0"),
        (
            lambda: unfairness(np.ones((3, 2)), np.ones((2, 4))),
            r"weights of shape \(2, 4\): it must be one for all runs",
        ),
        (lambda: unfairness(np.ones((3, 2)), gap=np.full(3, np.inf)), r"gap inf: it must be 0 or more and finite"),
        (lambda: drop(np.ones(2)), r"total of shape \(2,\): it must be \(3,\)"),
        (lambda: drop(np.full(3, np.nan)), r"total nan"),
        (lambda: drop(np.ones(3), 2), r"share 2: it must be between 0 and 1"),
    ],
)
def test_impossible_logs_are_rejected(call, message):
    assert_refused(call, message)


def unfairness(served, weights=WEIGHTS, gap=None):
    return largest_unfairness(served, weights, np.ones(3, bool), np.zeros(3) if gap is None else gap)


def drop(total, share=0.5):
    return largest_drop(np.ones(3), total, share, np.ones(3, bool), np.zeros(3))
