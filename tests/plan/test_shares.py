"""Test shares of bricks: closed forms, binding constraints, error messages, and agreement with simulation."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_refused, slow_but

from storagekit.plan import Stream, shares
from storagekit.plan.sharing_question import Policy

TWO = [6e6, 6e6]
F, G = Stream(weight=1, bricks=[0]), Stream(weight=1, bricks=[0, 1])


def with_minimums(minimum, **more) -> dict[str, Stream]:
    return {"f": Stream(1, [0], minimum, **more), "g": Stream(1, [0, 1], minimum)}


def rates(answer) -> list[float]:
    return [rate / 1e6 for rate in answer.rates.values()]


@pytest.mark.parametrize("limit", [0.5, 2, 4, 6])
def test_a_stream_with_one_more_brick(limit):
    """Stream f uses A; stream g uses A, and B up to a limit.

    Under total sharing both are equal, unless B gives g more. With separate bricks each gets half of A.
    """
    streams = {"f": F, "g": Stream(1, [0, 1], demand={1: limit * 1e6})}
    total = shares(TWO, streams)
    np.testing.assert_allclose(rates(total), [(6 + limit) / 2] * 2)
    np.testing.assert_allclose([one.otherwise for one in total.shares.values()], [3e6, (3 + limit) * 1e6])
    assert total.utilization == pytest.approx((1, limit / 6))
    g = total.shares["g"].by_brick
    assert g == pytest.approx({0: (6 - limit) / 2 * 1e6, 1: limit * 1e6}, abs=1e-3)
    single = shares(TWO, streams, policy="single")
    np.testing.assert_allclose(rates(single), [3, 3 + limit])
    assert [one.otherwise for one in single.shares.values()] == list(total.rates.values())


def test_rates_in_proportion_to_weights():
    """At weights 1 to 3, g gets three quarters of the 8 MB/s of both bricks; the quarter for f comes from A's 6."""
    answer = shares([6e6, 2e6], {"f": F, "g": Stream(3, [0, 1])})
    np.testing.assert_allclose(rates(answer), [2, 6])
    assert [one.normalized for one in answer.shares.values()] == pytest.approx([2e6, 2e6])


def test_minimums_keep_a_part_of_every_brick():
    """A minimum gives g a twelfth of A although its total exceeds f's.

    Without minimums g gets nothing of A; under single it gets half.
    """
    answer = shares(TWO, with_minimums(1 / 12))
    np.testing.assert_allclose(rates(answer), [5.5, 6.5])
    np.testing.assert_allclose(rates(shares(TWO, {"f": F, "g": G})), [6, 6])
    np.testing.assert_allclose(rates(shares(TWO, with_minimums(1 / 12), policy="single")), [3, 9])


def test_the_limit_of_each_stream():
    def constraints(streams, policy: Policy = "total"):
        return [share.binding.constraint for share in shares(TWO, streams, policy=policy).shares.values()]

    assert constraints({"f": F, "g": G}) == ["brick 0", "bricks 0, 1"]
    assert constraints({"f": F, "g": Stream(1, [0, 1], demand=1e6)}) == ["brick 0", "demand"]
    assert constraints(with_minimums(1 / 12)) == ["brick 0", "brick 1, and its minimum share of brick 0"]
    assert constraints(with_minimums(1 / 12), "single") == ["brick 0", "bricks 0, 1"]
    lifted = shares(TWO, {"f": F, "g": Stream(1, [0, 1], 1 / 12, {1: 5.9e6})}).shares["g"].binding
    assert lifted.constraint == "its minimum share of brick 0"
    assert (lifted.value, lifted.limit) == pytest.approx((0.5e6, 6e6))


def test_it_prints_and_turns_into_a_dictionary():
    answer = shares(TWO, with_minimums(1 / 12, demand=4e6))
    text = str(answer)
    for words in ("2 streams, 2 bricks, shared over all bricks together", "limited by:", "demand", "assumptions:"):
        assert words in text
    found = json.loads(json.dumps(answer.to_dict()))
    assert found["streams"]["g"]["rate_bytes_per_s"] == answer.rates["g"]
    assert found["question"]["streams"]["f"] == {
        "weight": 1.0, "bricks": [0], "minimum": 1 / 12, "demand_bytes_per_s": 4e6,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bricks", "streams", "message"),
    [
        (TWO, {}, "no streams: give them by name"),
        ([], {"f": F}, "no bricks: give the rate of each brick"),
        ([6e6, 0.0], {"f": F}, "brick 1: a rate of 0 bytes a second: it must be above 0"),
        (TWO, {"f": Stream(0, [0])}, "stream 'f': a weight of 0: it must be above 0"),
        (TWO, {"f": Stream(1, [])}, "stream 'f' without bricks: give the numbers"),
        (TWO, {"f": Stream(1, [0, 2])}, "stream 'f': brick 2: there are 2 bricks, 0 to 1; add"),
        (TWO, {"f": Stream(1, [-1])}, "stream 'f': brick -1: give a whole number"),
        (TWO, {"f": Stream(1, [1, 1])}, "name each brick once"),
        (TWO, {"f": Stream(1, [0], -0.1)}, "stream 'f': a minimum share of -0.1: it must be 0 or more"),
        (TWO, with_minimums(0.6), "brick 0: minimum shares that sum to 1.2: it must be at most 1; lower some"),
        (
            TWO,
            {"f": F, "g": Stream(1, [1], 0.6)},
            "stream 'g': a minimum share of 0.6: .* at most the stream's share of all weights, 0.5",
        ),
        (TWO, {"f": Stream(1, [0], demand=0)}, "stream 'f': a demand of 0: it must be above 0; leave out bricks"),
        (TWO, {"f": Stream(1, [0], demand={1: 1e6})}, "stream 'f': a demand at brick 1, which the stream does not use"),
        (TWO, {"f": {"weight": 1}}, "stream 'f': a dict; give a Stream"),
    ],
)
def test_impossible_questions_raise(unchecked, bricks, streams, message):
    assert_refused(lambda: shares(bricks, streams), message)


def test_an_unknown_policy_raises(unchecked):
    assert_refused(lambda: shares(TWO, {"f": F}, policy="fair"), "policy .fair.: give one of total, single")


def test_impossible_checks_raise():
    answer = shares(TWO, {"f": F})
    assert_refused(lambda: answer.check(seeds=1), "seeds 1: give a whole number, between 2 and")
    assert_refused(lambda: answer.check(seconds=0.0), "seconds 0 s: it must be above 0")
    many = shares([1e6] * 33, {"f": Stream(1, range(33))})
    assert_refused(lambda: many.check(), "33 bricks: a simulation can have at most 32; simulate a smaller part")
    crowd = shares([1e6] * 32, {str(number): Stream(1, range(32)) for number in range(8)})
    assert_refused(lambda: crowd.check(), "4096 threads: a simulation can have at most 2048")


CASES: dict[str, tuple[list[float], dict[str, Stream], Policy, float]] = {
    "total": ([6e6, 4e6], {"f": F, "g": Stream(1, [0, 1], demand={1: 2e6})}, "total", 0.015),
    # the slower brick caps both g and h; without minimums f would have the whole brick
    "hybrid": ([4e6, 12e6], with_minimums(1 / 12) | {"h": Stream(1, [0, 1], 1 / 12)}, "total", 0.01),
    "single": ([6e6, 4e6], {"f": F, "g": Stream(2, [0, 1])}, "single", 0.005),
}


@pytest.mark.parametrize("name", slow_but({"hybrid"}, CASES))
def test_the_simulation_agrees(name):
    """The bricks have different speeds."""
    bricks, streams, policy, within = CASES[name]
    check = shares(bricks, streams, policy=policy).check(seeds=4, within=within)
    assert check.agrees, str(check)
    assert [row.candidate for row in check.rows] == list(streams)
    assert all(row.low <= row.simulated <= row.high for row in check.rows)
    assert f"agree within {within:.0%}" in str(check)
    assert json.loads(json.dumps(check.to_dict()))["agrees"]


def test_a_wrong_prediction_does_not_agree():
    """Compare the shares of single-brick sharing with its simulation, and then the shares of total sharing."""
    streams = {"f": F, "g": G}
    check = shares(TWO, streams, policy="single").check(seeds=2, seconds=2.0)
    total = replace(check, rows=tuple(replace(row, predicted=6e6) for row in check.rows))
    assert check.agrees and not total.agrees
    assert "f: the predicted rate differs by +10" in str(total)
