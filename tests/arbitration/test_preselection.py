"""D-SPTF with preselection, as in ars: decisions by hand, the rule that they add up to, and a run of the engine.

Times count from now, in seconds. Bids are the times of the accesses, for the parts of the request in slot 0.
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


def claim(part, access_time, start, valid=True) -> Bid:
    """The positioning time is only a part of the access time and does not count."""
    choice = one(0, np.int32), one(part, np.int32), one(valid, bool)
    return Bid(*choice, one(1e-6), one(start * MS), one(access_time * MS))


def unclaimed(needed=1) -> Bids:
    """The request in slot 0 needs `needed` parts, the one in slot 1 needs one. There are no claims."""
    blank = PreselectionBids().init(StateSizes(2, PARTS, (), parts=PARTS))
    return blank._replace(needed=jnp.asarray([needed, 1], jnp.int32))


def with_claim(private: Bids, part, access_time, claim_time, start) -> Bids:
    """Add a claim of `part`, made at `claim_time`, for an access that starts at `start`."""
    values = zip(("bid", "claim_time", "start"), (access_time, claim_time, start), strict=True)
    return private._replace(**{name: getattr(private, name).at[part, 0].set(value * MS) for name, value in values})


def starts(private: Bids) -> list[float]:
    """Start times of the accesses to the parts of slot 0, ms."""
    return (np.asarray(private.start, float)[:, 0] / MS).round(4).tolist()


def test_enough_first_claims_are_kept_and_a_better_one_replaces_the_worst():
    """The latency is 1 ms, and 2 parts are needed. Bids are 5 and 4, then 3, which arrives in time at both: the 5 is
    withdrawn."""
    protocol, private = PreselectionBids(1 * MS), unclaimed(2)
    decision, private = protocol.claim(private, claim(0, access_time=5, start=2))
    assert bool(decision.granted[0]) and not bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    decision, private = protocol.claim(private, claim(2, access_time=4, start=2))
    assert bool(decision.granted[0]) and not bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    decision, private = protocol.claim(private, claim(1, access_time=3, start=2))
    assert bool(decision.granted[0]) and bool(decision.contested[0]) and bool(decision.first_contest[0])
    assert bool(decision.rival_yields[0]) and int(decision.rival[0]) == 0
    np.testing.assert_allclose(decision.rival_retry, [1 * MS])
    assert starts(private) == [-np.inf, 2, 2, np.inf]
    assert np.all(np.isinf(private.bid[:, 1]))


def test_the_worst_bid_yields_when_enough_better_claims_arrive():
    """The latency is 1 ms, and 2 parts are needed. Bids are 3, made 0.9 ms ago, and 4, made 0.4 ms ago. Both reach the
    drive of the bid of 5 within 0.6 ms."""
    private = with_claim(with_claim(unclaimed(2), 0, 3, claim_time=-0.9, start=1.1), 3, 4, claim_time=-0.4, start=1.6)
    decision, private = PreselectionBids(1 * MS).claim(private, claim(1, access_time=5, start=2))
    assert not bool(decision.granted[0]) and not bool(decision.rival_yields[0]) and bool(decision.contested[0])
    np.testing.assert_allclose(decision.retry, [0.6 * MS], rtol=1e-5)
    assert starts(private) == [1.1, -np.inf, np.inf, 1.6]


def test_the_second_of_three_better_claims_decides_when_to_choose_again():
    """2 parts are needed. Better claims arrive in 0.1, 0.3 and 0.6 ms."""
    private = unclaimed(2)
    for part, claim_time in ((0, -0.9), (1, -0.7), (3, -0.4)):
        private = with_claim(private, part, 3, claim_time, start=0.0)
    decision, _ = PreselectionBids(1 * MS).claim(private, claim(2, access_time=5, start=2))
    assert not bool(decision.granted[0])
    np.testing.assert_allclose(decision.retry, [0.3 * MS], rtol=1e-5)


def test_one_better_claim_is_not_enough_where_two_parts_are_needed():
    private = with_claim(with_claim(unclaimed(2), 0, 3, claim_time=-0.9, start=1.1), 3, 6, claim_time=-0.4, start=0.5)
    decision, private = PreselectionBids(1 * MS).claim(private, claim(1, access_time=5, start=2))
    # the access with the bid of 6 begins before the claim arrives
    assert bool(decision.granted[0]) and bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    assert starts(private) == [1.1, 2, np.inf, 0.5]


def test_an_idle_drive_begins_at_once_before_the_claim_arrives():
    """The drive begins now; the better claim of 0.4 ms ago arrives in 0.6. A worse access that has begun continues."""
    decision, _ = PreselectionBids(1 * MS).claim(
        with_claim(unclaimed(), 0, 3, claim_time=-0.4, start=1.6), claim(1, access_time=5, start=0)
    )
    assert bool(decision.granted[0]) and bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    decision, _ = PreselectionBids(1 * MS).claim(
        with_claim(unclaimed(), 0, 5, claim_time=-0.4, start=-0.4), claim(1, access_time=3, start=1)
    )
    assert bool(decision.granted[0]) and not bool(decision.rival_yields[0])


@pytest.mark.parametrize("late", [0.0, 0.01])
def test_a_claim_that_arrives_as_the_access_starts_is_in_time(late):
    """The better claim arrives in 0.6 ms. The access starts then, or 10 us before."""
    private = with_claim(unclaimed(), 0, 3, claim_time=-0.4, start=1.6)
    decision, _ = PreselectionBids(1 * MS).claim(private, claim(1, access_time=5, start=0.6 - late))
    assert bool(decision.granted[0]) == (late > 0)


@pytest.mark.parametrize(("part", "keeps"), [(0, True), (3, False)])
def test_of_equal_bids_the_lower_part_is_the_better_one(part, keeps):
    private = with_claim(unclaimed(), 1, 3, claim_time=-0.4, start=1.6)
    decision, _ = PreselectionBids(1 * MS).claim(private, claim(part, access_time=3, start=2))
    assert bool(decision.granted[0]) == keeps and bool(decision.rival_yields[0]) == keeps


def test_of_equal_bids_that_stand_the_higher_part_is_withdrawn():
    """2 parts are needed, with bids of 3 on parts 1 and 3. The new bid of 2 replaces one of them."""
    private = with_claim(with_claim(unclaimed(2), 1, 3, claim_time=-0.4, start=1.6), 3, 3, claim_time=-0.2, start=1.8)
    decision, private = PreselectionBids(1 * MS).claim(private, claim(2, access_time=2, start=2))
    assert bool(decision.rival_yields[0]) and int(decision.rival[0]) == 3
    assert starts(private) == [np.inf, 1.6, 2, -np.inf]


def test_a_withdrawn_claim_still_counts_where_it_arrived():
    """The bid of 4 was withdrawn; the bid of 3 has not arrived yet. A drive that received the 4 does not choose the
    request."""
    protocol = PreselectionBids(1 * MS)
    private = with_claim(
        with_claim(unclaimed(), 0, 4, claim_time=-1.2, start=-np.inf), 1, 3, claim_time=-0.4, start=1.6
    )
    sent = one([-3 * MS, -3 * MS])[0]
    np.testing.assert_allclose(protocol.choosable_from(private, sent, sent, sent), [np.inf, -3 * MS])
    decision, _ = protocol.claim(private, claim(2, access_time=5, start=0))
    assert not bool(decision.granted[0])


@pytest.mark.parametrize(("needed", "claim_time", "skipped"), [(1, -0.4, False), (1, -1.5, True), (2, -1.5, False)])
def test_a_drive_does_not_choose_a_request_with_enough_received_claims(needed, claim_time, skipped):
    private = with_claim(unclaimed(needed), 0, 3, claim_time=claim_time, start=claim_time + 2)
    sent = one([-3 * MS, -3 * MS])[0]
    expected = [np.inf if skipped else -3 * MS, -3 * MS]
    np.testing.assert_allclose(PreselectionBids(1 * MS).choosable_from(private, sent, sent, sent), expected)


def test_nothing_changes_where_no_claim_is_made():
    before = with_claim(unclaimed(), 1, 3, claim_time=-0.4, start=1.6)
    decision, later = PreselectionBids(1 * MS).claim(before, claim(2, access_time=1, start=2, valid=False))
    assert not bool(decision.granted[0]) and not bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(before, later, strict=True))


def test_a_drive_chooses_two_latencies_early_by_default():
    assert float(PreselectionBids(1 * MS).lead_time) == pytest.approx(2 * MS)
    assert float(PreselectionBids(1 * MS, ahead=5 * MS).lead_time) == pytest.approx(5 * MS)
    np.testing.assert_allclose(PreselectionBids(1 * MS).begins(one([-1.0, 0.5])[0]), [0, 0.5])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PreselectionBids(-50e-6), "network latency -5e-05 s: it must be 0 or more"),
        (lambda: PreselectionBids(float("nan")), "network latency nan is not a number"),
        (lambda: PreselectionBids(1e-3, ahead=-1e-3), "lead time of the selection -0.001 s: it must be 0 or more"),
        (lambda: PreselectionBids(1e-3, ahead=float("inf")), "lead time of the selection inf s"),
    ],
)
def test_impossible_settings_are_rejected(make, message):
    assert_refused(make, message)


def test_an_access_that_began_completes_the_request_despite_a_better_claim(unfold, recorded):
    """The latency is 1 ms, so drives choose 2 ms ahead. Drive 0 serves 1000 sectors per second, drive 1 1990 and drive
    2 2000.

     0    Z of 40: all are idle and begin; until 40, 20.1 and 20
    21    Y of 41: drives 1 and 2 are idle and begin; until 41.603 and 41.5. Their claims reach drive 0 long before 38
    40.2  R of 1: no drive has other requests. Drive 0 begins at once, until 41.2. Drives 1 and 2 would start when they
          become free; they bid 0.503 and 0.5 against its 1. The better bid reaches drive 1 at 41.2: drive 2 reads until 42
    """
    kinds = [RateServer(rate) for rate in (1000, 1990, 2000)]
    system = System(Mixed(kinds, (0, 1, 2)), Replicas(3), EveryonePreselects(1 * MS), FCFS(), slots=4)
    arrivals = recorded([0, 21 * MS, 40.2 * MS], sectors=[40, 41, 1])
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 20, 1: 20.5, 2: 1.0}, abs=1e-3)
    # there are extra services: two of Z, one of Y and one of R
    assert tally.served.ravel().tolist() == [2, 2, 3] and tally.twice.tolist() == [4]


class Made(NamedTuple):
    """A claim of a part: its time in ms since the first claim, the start of its access, and how long the access
    takes."""

    part: int
    at: int
    start: int
    access_time: int


@st.composite
def made_in_turn(draw) -> list[Made]:
    """Claims of different parts at non-decreasing times, in whole ms; some bids are equal."""
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
    """The parts that are served by the protocol, and the time at which each of the others is withdrawn."""
    private, kept, last, retries = unclaimed(needed), set[int](), 0, {}
    for one_claim in claims:
        choice = claim(one_claim.part, one_claim.access_time, one_claim.start - one_claim.at)
        decision, private = claimed(PreselectionBids(latency * MS), private, one((one_claim.at - last) * MS), choice)
        last = one_claim.at
        if decision.granted[0]:
            kept.add(one_claim.part)
        else:
            retries[one_claim.part] = one_claim.at + float(decision.retry[0]) / MS
        if decision.rival_yields[0]:
            assert decision.granted[0] and int(decision.rival[0]) in kept
            kept.remove(int(decision.rival[0]))
            retries[int(decision.rival[0])] = one_claim.at + float(decision.rival_retry[0]) / MS
    assert {part for part, start in enumerate(starts(private)) if np.isfinite(start)} == kept
    return kept, retries


def received(claims: list[Made], own: Made, latency: float) -> list[float]:
    """Times at which better claims on the request reach the drive of a part before its access starts, in order."""
    mine = own.access_time, own.part
    better = [one.at + latency for one in claims if (one.access_time, one.part) < mine]
    return sorted(arrival for arrival in better if arrival <= own.start)


@settings(max_examples=200, derandomize=True)
@given(claims=made_in_turn(), needed=st.integers(1, 3), latency=st.sampled_from([0, 0.5, 2]))
def test_a_part_is_served_unless_enough_better_claims_arrive_before_it_starts(claims, needed, latency):
    """This holds in any order. Better claims that were themselves withdrawn also count, because no message cancels
    them."""
    expected = {one.part for one in claims if len(received(claims, one, latency)) < needed}
    kept, retries = served(claims, needed, latency)
    assert kept == expected
    # there are never too few, however late the claims are
    assert len(kept) >= min(needed, len(claims))
    for one in claims:
        if one.part not in kept:
            decisive = received(claims, one, latency)[needed - 1]
            assert retries[one.part] == pytest.approx(max(decisive, one.at), abs=1e-3)


@settings(max_examples=100, derandomize=True)
@given(claims=made_in_turn(), needed=st.integers(1, 3))
def test_only_the_best_bids_are_served_where_all_claims_arrive_before_any_access(claims, needed):
    waiting = [one._replace(start=10) for one in claims]
    best = sorted((one.access_time, one.part) for one in waiting)[:needed]
    assert served(waiting, needed, latency=0.5)[0] == {part for _, part in best}
