"""D-SPTF as ars runs it: verdicts worked by hand, the law that all of them add up to, and runs beside a program of its own.

Times from now, in seconds; of slot 0 the bids, that is how long an access takes, are those of its parts.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, responses
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.arbitration import Bid, Decision, PreselectionBids
from storagekit.arbitration.preselection import Bids
from storagekit.component.events import StateSizes
from storagekit.core.units import MS
from storagekit.dispatch import Preselection as EveryonePreselects
from storagekit.drive import Mixed, RateServer
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS

PARTS = 4


def one(value, kind=np.float32):
    return jnp.asarray([value], kind)


def claim(part, takes, start, made=True) -> Bid:
    """What positions is a part of what the access takes, and does not count."""
    choice = one(0, np.int32), one(part, np.int32), one(made, bool)
    return Bid(*choice, one(1e-6), one(start * MS), one(takes * MS))


def nobody(needed=1) -> Bids:
    """The request in slot 0 needs so many parts, that in slot 1 needs one; nobody has claimed anything."""
    blank = PreselectionBids().init(StateSizes(2, PARTS, (), parts=PARTS))
    return blank._replace(needed=jnp.asarray([needed, 1], jnp.int32))


def after(private: Bids, part, takes, made, start) -> Bids:
    """With a claim of `part`, made then, of an access that starts then."""
    values = zip(("bid", "made", "start"), (takes, made, start), strict=True)
    return private._replace(**{name: getattr(private, name).at[part, 0].set(value * MS) for name, value in values})


def starts(private: Bids) -> list[float]:
    """When the accesses to the parts of slot 0 start, ms."""
    return (np.asarray(private.start, float)[:, 0] / MS).round(4).tolist()


def test_the_first_claims_are_kept_as_many_as_are_needed_and_one_more_that_is_better():
    """Latency 1 ms, 2 parts needed. Bids of 5 and 4; then one of 3 that both hear of: the 5 is given up."""
    protocol, private = PreselectionBids(1 * MS), nobody(2)
    verdict, private = protocol.claim(private, claim(0, takes=5, start=2))
    assert bool(verdict.kept[0]) and not bool(verdict.contested[0]) and not bool(verdict.rival_yields[0])
    verdict, private = protocol.claim(private, claim(2, takes=4, start=2))
    assert bool(verdict.kept[0]) and not bool(verdict.contested[0]) and not bool(verdict.rival_yields[0])
    verdict, private = protocol.claim(private, claim(1, takes=3, start=2))
    assert bool(verdict.kept[0]) and bool(verdict.contested[0]) and bool(verdict.first_contest[0])
    assert bool(verdict.rival_yields[0]) and int(verdict.rival[0]) == 0
    np.testing.assert_allclose(verdict.rival_retry, [1 * MS])
    assert starts(private) == [-np.inf, 2, 2, np.inf]
    assert np.all(np.isinf(private.bid[:, 1]))


def test_the_worst_bid_hears_of_enough_and_chooses_again_when_the_last_of_them_arrives():
    """Latency 1 ms, 2 parts needed: bids of 3, made 0.9 ms ago, and 4, made 0.4 ms ago; ours of 5 hears of both by 0.6."""
    private = after(after(nobody(2), 0, 3, made=-0.9, start=1.1), 3, 4, made=-0.4, start=1.6)
    verdict, private = PreselectionBids(1 * MS).claim(private, claim(1, takes=5, start=2))
    assert not bool(verdict.kept[0]) and not bool(verdict.rival_yields[0]) and bool(verdict.contested[0])
    np.testing.assert_allclose(verdict.retry, [0.6 * MS], rtol=1e-5)
    assert starts(private) == [1.1, -np.inf, np.inf, 1.6]


def test_of_three_better_ones_the_second_to_arrive_decides_when_to_choose_again():
    """2 parts needed: better claims arrive in 0.1, 0.3 and 0.6 ms."""
    private = nobody(2)
    for part, made in ((0, -0.9), (1, -0.7), (3, -0.4)):
        private = after(private, part, 3, made, start=0.0)
    verdict, _ = PreselectionBids(1 * MS).claim(private, claim(2, takes=5, start=2))
    assert not bool(verdict.kept[0])
    np.testing.assert_allclose(verdict.retry, [0.3 * MS], rtol=1e-5)


def test_one_better_claim_is_not_enough_where_two_parts_are_needed():
    private = after(after(nobody(2), 0, 3, made=-0.9, start=1.1), 3, 6, made=-0.4, start=0.5)
    verdict, private = PreselectionBids(1 * MS).claim(private, claim(1, takes=5, start=2))
    # the 6 begins before it hears
    assert bool(verdict.kept[0]) and bool(verdict.contested[0]) and not bool(verdict.rival_yields[0])
    assert starts(private) == [1.1, 2, np.inf, 0.5]


def test_an_idle_drive_begins_at_once_and_hears_too_late():
    """It begins now; the better claim of 0.4 ms ago reaches it in 0.6. And a worse one that has begun goes on."""
    verdict, _ = PreselectionBids(1 * MS).claim(after(nobody(), 0, 3, made=-0.4, start=1.6), claim(1, takes=5, start=0))
    assert bool(verdict.kept[0]) and bool(verdict.contested[0]) and not bool(verdict.rival_yields[0])
    verdict, _ = PreselectionBids(1 * MS).claim(
        after(nobody(), 0, 5, made=-0.4, start=-0.4), claim(1, takes=3, start=1)
    )
    assert bool(verdict.kept[0]) and not bool(verdict.rival_yields[0])


@pytest.mark.parametrize("late", [0.0, 0.01])
def test_a_claim_that_arrives_as_the_access_starts_comes_in_time(late):
    """The better claim arrives in 0.6 ms, our access starts then, or 10 us before."""
    private = after(nobody(), 0, 3, made=-0.4, start=1.6)
    verdict, _ = PreselectionBids(1 * MS).claim(private, claim(1, takes=5, start=0.6 - late))
    assert bool(verdict.kept[0]) == (late > 0)


@pytest.mark.parametrize(("part", "keeps"), [(0, True), (3, False)])
def test_of_equal_bids_the_lower_part_is_the_better_one(part, keeps):
    private = after(nobody(), 1, 3, made=-0.4, start=1.6)
    verdict, _ = PreselectionBids(1 * MS).claim(private, claim(part, takes=3, start=2))
    assert bool(verdict.kept[0]) == keeps and bool(verdict.rival_yields[0]) == keeps


def test_of_equal_bids_that_stand_the_higher_part_is_given_up():
    """2 parts needed, bids of 3 on parts 1 and 3; ours of 2 leaves room for one of them."""
    private = after(after(nobody(2), 1, 3, made=-0.4, start=1.6), 3, 3, made=-0.2, start=1.8)
    verdict, private = PreselectionBids(1 * MS).claim(private, claim(2, takes=2, start=2))
    assert bool(verdict.rival_yields[0]) and int(verdict.rival[0]) == 3
    assert starts(private) == [np.inf, 1.6, 2, -np.inf]


def test_a_claim_that_was_given_up_has_been_heard_all_the_same():
    """Bids of 4, which was given up, and 3, which has not arrived: the hearer of the 4 leaves the request alone."""
    protocol = PreselectionBids(1 * MS)
    private = after(after(nobody(), 0, 4, made=-1.2, start=-np.inf), 1, 3, made=-0.4, start=1.6)
    asked = one([-3 * MS, -3 * MS])[0]
    np.testing.assert_allclose(protocol.choosable_from(private, asked, asked, asked), [np.inf, -3 * MS])
    verdict, _ = protocol.claim(private, claim(2, takes=5, start=0))
    assert not bool(verdict.kept[0])


@pytest.mark.parametrize(("needed", "made", "alone"), [(1, -0.4, False), (1, -1.5, True), (2, -1.5, False)])
def test_a_drive_leaves_alone_what_enough_claims_on_have_reached_it(needed, made, alone):
    private = after(nobody(needed), 0, 3, made=made, start=made + 2)
    asked = one([-3 * MS, -3 * MS])[0]
    expected = [np.inf if alone else -3 * MS, -3 * MS]
    np.testing.assert_allclose(PreselectionBids(1 * MS).choosable_from(private, asked, asked, asked), expected)


def test_nothing_changes_where_no_claim_is_made():
    before = after(nobody(), 1, 3, made=-0.4, start=1.6)
    verdict, later = PreselectionBids(1 * MS).claim(before, claim(2, takes=1, start=2, made=False))
    assert not bool(verdict.kept[0]) and not bool(verdict.contested[0]) and not bool(verdict.rival_yields[0])
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(before, later, strict=True))


def test_a_drive_chooses_two_latencies_early_unless_told_otherwise():
    assert float(PreselectionBids(1 * MS).lead_time) == pytest.approx(2 * MS)
    assert float(PreselectionBids(1 * MS, ahead=5 * MS).lead_time) == pytest.approx(5 * MS)
    np.testing.assert_allclose(PreselectionBids(1 * MS).begins(one([-1.0, 0.5])[0]), [0, 0.5])


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: PreselectionBids(-50e-6), "network latency -5e-05 s: it must be 0 or more"),
        (lambda: PreselectionBids(float("nan")), "network latency nan is not a number"),
        (lambda: PreselectionBids(1e-3, ahead=-1e-3), "time to choose ahead -0.001 s: it must be 0 or more"),
        (lambda: PreselectionBids(1e-3, ahead=float("inf")), "time to choose ahead inf s"),
    ],
)
def test_impossible_settings_are_refused(make, complaint):
    assert_refused(make, complaint)


def test_who_began_answers_though_a_better_claim_takes_another_ones_place(unfold, recorded):
    """Latency 1 ms, so that drives choose 2 ms ahead; drive 0 serves 1000 sectors a second, drive 1 1990 and drive 2 2000.

     0    Z of 40: all are idle and begin; until 40, 20.1 and 20
    21    Y of 41: drives 1 and 2 are idle and begin; until 41.603 and 41.5. Drive 0 hears of them, long before 38
    40.2  R of 1: all have nothing else. Drive 0 begins at once, until 41.2. Drives 1 and 2 would start when they fall
          free; they bid 0.503 and 0.5 against its 1, and drive 1 hears of the better bid at 41.2: drive 2 reads until 42
    """
    kinds = [RateServer(rate) for rate in (1000, 1990, 2000)]
    system = System(Mixed(kinds, (0, 1, 2)), Replicas(3), EveryonePreselects(1 * MS), FCFS(), slots=4)
    arrivals = recorded([0, 21 * MS, 40.2 * MS], sectors=[40, 41, 1])
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 20, 1: 20.5, 2: 1.0}, abs=1e-3)
    # two more serve Z in vain, one Y and one R
    assert tally.served.ravel().tolist() == [2, 2, 3] and tally.twice.tolist() == [4]


class Made(NamedTuple):
    """A claim of a part: when, in ms since the first, when its access starts and how long it takes."""

    part: int
    at: int
    start: int
    takes: int


@st.composite
def made_in_turn(draw) -> list[Made]:
    """Claims of different parts, one after the other or at once, of whole ms, some of equal bids."""
    parts = draw(st.permutations(range(PARTS)))
    times = sorted(draw(st.lists(st.integers(0, 6), min_size=1, max_size=PARTS)))
    return [
        Made(part, at, at + draw(st.integers(0, 6)), draw(st.integers(1, 4)))
        for part, at in zip(parts, times, strict=False)
    ]


@jax.jit
def claimed(protocol: PreselectionBids, private: Bids, later, choice: Bid) -> tuple[Decision, Bids]:
    return protocol.claim(protocol.elapse(private, later), choice)


def served(claims: list[Made], needed: int, latency: float) -> tuple[set[int], dict[int, float]]:
    """The parts that are served in the end, and when each that is not hears that, as the protocol has it."""
    private, kept, last, retries = nobody(needed), set[int](), 0, {}
    for made in claims:
        choice = claim(made.part, made.takes, made.start - made.at)
        verdict, private = claimed(PreselectionBids(latency * MS), private, one((made.at - last) * MS), choice)
        last = made.at
        if verdict.kept[0]:
            kept.add(made.part)
        else:
            retries[made.part] = made.at + float(verdict.retry[0]) / MS
        if verdict.rival_yields[0]:
            assert verdict.kept[0] and int(verdict.rival[0]) in kept
            kept.remove(int(verdict.rival[0]))
            retries[int(verdict.rival[0])] = made.at + float(verdict.rival_retry[0]) / MS
    assert {part for part, start in enumerate(starts(private)) if np.isfinite(start)} == kept
    return kept, retries


def heard(claims: list[Made], hearer: Made, latency: float) -> list[float]:
    """When each better claim on the request reaches a part before its access starts, in their order."""
    mine = hearer.takes, hearer.part
    better = [one.at + latency for one in claims if (one.takes, one.part) < mine]
    return sorted(arrival for arrival in better if arrival <= hearer.start)


@settings(max_examples=200, derandomize=True)
@given(claims=made_in_turn(), needed=st.integers(1, 3), latency=st.sampled_from([0, 0.5, 2]))
def test_a_part_is_served_unless_as_many_better_claims_as_are_needed_arrive_before_it_starts(claims, needed, latency):
    """Whatever the order: those of them that were themselves given up count, as nobody tells."""
    expected = {one.part for one in claims if len(heard(claims, one, latency)) < needed}
    kept, retries = served(claims, needed, latency)
    assert kept == expected
    # never too few, whoever is late
    assert len(kept) >= min(needed, len(claims))
    for one in claims:
        if one.part not in kept:
            decisive = heard(claims, one, latency)[needed - 1]
            assert retries[one.part] == pytest.approx(max(decisive, one.at), abs=1e-3)


@settings(max_examples=100, derandomize=True)
@given(claims=made_in_turn(), needed=st.integers(1, 3))
def test_the_best_bids_are_served_and_no_more_where_nobody_begins_before_all_are_heard(claims, needed):
    waiting = [one._replace(start=10) for one in claims]
    best = sorted((one.takes, one.part) for one in waiting)[:needed]
    assert served(waiting, needed, latency=0.5)[0] == {part for _, part in best}
