"""Claims, one at a time: `DSPTFClaims.claim` and the requests a brick may choose, by hand. Times count from now, in
seconds.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.arbitration import Bid, DSPTFClaims, Lossy
from storagekit.arbitration.dsptf import Claims
from storagekit.component.events import StateSizes

MS = 1e-3


def one(value, kind=np.float32):
    return jnp.asarray([value], kind)


def claim(drive, bid, start, valid=True) -> Bid:
    return Bid(
        one(0, np.int32), one(drive, np.int32), one(valid, bool), one(bid * MS), one(start * MS), one(start * MS)
    )


def claimed_by(owner, bid, claim_time, start, first=None, unreached=0) -> Claims:
    """State in which `owner` has claimed the read in slot 0, and the read in slot 1 is unclaimed.

    first: time, brick and bid of the first claim, if another brick made it.
    """
    never = np.inf
    unclaimed = DSPTFClaims().init(StateSizes(2, 4, ()))
    at, by, offered = (claim_time, owner, bid) if first is None else first
    return unclaimed._replace(
        first=jnp.asarray([at * MS, never], jnp.float32),
        first_owner=jnp.asarray([by, 0], jnp.int32),
        first_bid=jnp.asarray([offered * MS, never], jnp.float32),
        owner=jnp.asarray([owner, 0], jnp.int32),
        contested=jnp.asarray([False, False]),
        bid=jnp.asarray([bid * MS, never], jnp.float32),
        claim_time=jnp.asarray([claim_time * MS, never], jnp.float32),
        start=jnp.asarray([start * MS, never], jnp.float32),
        unreached=jnp.asarray([unreached, 0], jnp.uint32),
    )


def test_the_first_to_claim_keeps_the_read():
    protocol = DSPTFClaims(1 * MS)
    decision, after = protocol.claim(protocol.init(StateSizes(2, 4, ())), claim(drive=3, bid=5, start=2))
    assert bool(decision.granted[0]) and not bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    assert (int(after.owner[0]), float(after.first[0])) == (3, 0.0)
    np.testing.assert_allclose([after.bid[0], after.start[0]], [5 * MS, 2 * MS])
    assert np.isinf(after.first[1])


def test_the_higher_bid_yields_when_the_better_claim_arrives():
    """Brick 1 claimed 0.4 ms ago with a bid of 3 ms. Brick 2 bids 5; the claim reaches it in 0.6 ms, before its access
    starts."""
    decision, after = DSPTFClaims(1 * MS).claim(
        claimed_by(owner=1, bid=3, claim_time=-0.4, start=1.6), claim(drive=2, bid=5, start=2)
    )
    assert not bool(decision.granted[0]) and bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    np.testing.assert_allclose(decision.retry, [0.6 * MS], rtol=1e-5)
    assert int(after.owner[0]) == 1


def test_the_lower_bid_takes_the_read_over():
    """Brick 2 bids 2 against brick 1's 3. Its claim reaches brick 1 in 1 ms, before that access starts in 1.6, and
    brick 1 chooses again."""
    decision, after = DSPTFClaims(1 * MS).claim(
        claimed_by(owner=1, bid=3, claim_time=-0.4, start=1.6), claim(drive=2, bid=2, start=2)
    )
    assert bool(decision.granted[0]) and bool(decision.rival_yields[0])
    assert int(decision.rival[0]) == 1
    np.testing.assert_allclose(decision.rival_retry, [1 * MS])
    assert int(after.owner[0]) == 2
    np.testing.assert_allclose(after.first, [-0.4 * MS, np.inf])  # the other bricks received the first claim


@pytest.mark.parametrize("bid", [3, 3 - 5e-5, 3 + 5e-5])
@pytest.mark.parametrize(("drive", "keeps"), [(0, True), (2, False)])
def test_of_equal_bids_the_lower_brick_serves(drive, keeps, bid):
    """This holds for any rounding: drives that end the same write bid the same for the next part."""
    decision, _ = DSPTFClaims(1 * MS).claim(
        claimed_by(owner=1, bid=3, claim_time=-0.4, start=1.6), claim(drive=drive, bid=bid, start=2)
    )
    assert bool(decision.granted[0]) == keeps and bool(decision.rival_yields[0]) == keeps


def test_a_claim_that_arrives_after_the_access_began_costs_a_second_service():
    """The bricks assume 0.2 ms, but the message takes 1: neither claim arrives in time, and both bricks serve."""
    decision, _ = DSPTFClaims(1 * MS, bound=0.2 * MS).claim(
        claimed_by(owner=1, bid=3, claim_time=-0.3, start=0.1), claim(drive=2, bid=5, start=0.4)
    )
    assert bool(decision.granted[0]) and bool(decision.contested[0]) and not bool(decision.rival_yields[0])


@pytest.mark.parametrize(("bid", "keeps"), [(5, False), (3, True)])
def test_a_brick_yields_to_the_first_claim_where_the_best_arrives_too_late(bid, keeps):
    """Brick 1 bid 4 at -0.8, which arrives in 0.2 ms. Brick 3 bid 2 at -0.1, which arrives in 0.9. Brick 2 starts its
    access in 0.5."""
    before = claimed_by(owner=3, bid=2, claim_time=-0.1, start=1.9, first=(-0.8, 1, 4))
    decision, after = DSPTFClaims(1 * MS).claim(before, claim(drive=2, bid=bid, start=0.5))
    assert bool(decision.granted[0]) == keeps and bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    if not keeps:
        np.testing.assert_allclose(decision.retry, [0.2 * MS], rtol=1e-5)
    assert (int(after.owner[0]), int(after.first_owner[0])) == (3, 1)
    np.testing.assert_allclose(after.first_bid[0], 4 * MS)


def test_a_brick_without_the_second_claim_does_not_receive_the_first_either():
    before = claimed_by(owner=3, bid=2, claim_time=-0.1, start=1.9, first=(-0.8, 1, 4), unreached=0b0100)
    decision, _ = DSPTFClaims(1 * MS).claim(before, claim(drive=2, bid=5, start=2))
    assert bool(decision.granted[0])


@pytest.mark.parametrize("unreached", [0b0010, 0b0100])
def test_a_brick_that_receives_no_claims_does_not_yield(unreached):
    bid = 2 if unreached == 0b0010 else 5
    decision, _ = DSPTFClaims(1 * MS).claim(
        claimed_by(1, 3, claim_time=-0.4, start=1.6, unreached=unreached), claim(drive=2, bid=bid, start=2)
    )
    assert bool(decision.granted[0]) and not bool(decision.rival_yields[0])


def test_nothing_changes_where_no_claim_is_made():
    before = claimed_by(owner=1, bid=3, claim_time=-0.4, start=1.6)
    decision, after = DSPTFClaims(1 * MS).claim(before, claim(drive=2, bid=1, start=2, valid=False))
    assert not bool(decision.granted[0]) and not bool(decision.contested[0]) and not bool(decision.rival_yields[0])
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(before, after, strict=True))


def test_a_brick_may_choose_requests_that_have_arrived_without_a_known_claim():
    """The latency is 1 ms. A claim on slot 0 made 0.4 ms ago has not reached brick 2. A claim made 1.5 ms ago has,
    unless claims do not reach the brick.

    A read that brick 1 received 0.3 ms ago reaches brick 2 in 0.7 ms.
    """
    protocol = DSPTFClaims(1 * MS)
    arrival_time = jnp.asarray([-3 * MS, -0.3 * MS], jnp.float32)
    receiving = jnp.asarray([1, 1], jnp.int32)

    def from_when(claim_time, unreached=0, brick=2):
        claims = claimed_by(owner=0, bid=3, claim_time=claim_time, start=claim_time + 2, unreached=unreached)
        return np.asarray(protocol.choosable_from(claims, arrival_time, receiving, one(brick, np.int32)))

    np.testing.assert_allclose(from_when(-0.4), [-2 * MS, 0.7 * MS], rtol=1e-5)
    np.testing.assert_allclose(from_when(-1.5), [np.inf, 0.7 * MS], rtol=1e-5)
    # a claim that arrives now, up to rounding, arrives after the choice
    np.testing.assert_allclose(from_when(-1 - 5e-5), [-2 * MS, 0.7 * MS], rtol=1e-5)
    np.testing.assert_allclose(from_when(-1.5, unreached=0b100), [-2 * MS, 0.7 * MS], rtol=1e-5)
    np.testing.assert_allclose(from_when(-0.4, brick=1), [-3 * MS, -0.3 * MS], rtol=1e-5)


def test_a_brick_chooses_two_bounds_early_and_without_latency_at_once():
    assert float(DSPTFClaims(1 * MS).lead_time) == pytest.approx(2 * MS)
    assert float(DSPTFClaims(1 * MS, bound=3 * MS).lead_time) == pytest.approx(6 * MS)
    assert float(DSPTFClaims(0.0).lead_time) == 0


@pytest.mark.parametrize(
    ("begins", "rotation", "issued"),
    [
        (0, 5, 2),  # an idle brick waits until all claims have arrived
        (0, 0.5, 0.5),  # but not longer than its rotation allows
        (2, 5, 2),  # a brick whose disk was busy has already waited
        (4, 0, 4),
    ],
)
def test_a_choice_waits_for_claims_only_while_its_platter_turns(begins, rotation, issued):
    times = one(begins * MS), one(rotation * MS)
    np.testing.assert_allclose(DSPTFClaims(1 * MS).issues(*times), [issued * MS], rtol=1e-6)
    np.testing.assert_array_equal(DSPTFClaims(0.0).issues(*times), times[0])


def test_an_access_is_predicted_for_when_the_disk_is_free_or_the_claims_have_arrived():
    free = one([-1 * MS, 0.5 * MS, 3 * MS])[0]
    # an idle disk waits only for its rotation; the second disk becomes free too early for the claims
    begins = DSPTFClaims(1 * MS).begins(free)
    np.testing.assert_allclose(begins, [0, 2 * MS, 3 * MS], rtol=1e-6)
    # with hardly any rotation
    issued = DSPTFClaims(1 * MS).issues(begins, jnp.full_like(begins, 0.2 * MS))
    np.testing.assert_allclose(issued, [0.2 * MS, 2 * MS, 3 * MS], rtol=1e-6)
    np.testing.assert_allclose(DSPTFClaims(1 * MS, waits=1).begins(free), [2 * MS, 2 * MS, 3 * MS], rtol=1e-6)
    waited = DSPTFClaims(1 * MS, waits=1).begins(free)
    np.testing.assert_array_equal(DSPTFClaims(1 * MS, waits=1).issues(waited, jnp.zeros_like(free)), waited)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DSPTFClaims(-50e-6), "network latency -5e-05 s: it must be 0 or more"),
        (lambda: DSPTFClaims(float("nan")), "network latency nan is not a number"),
        (lambda: DSPTFClaims(float("inf")), "network latency inf s"),
        (lambda: DSPTFClaims(1e-3, bound=-1e-3), "latency bound -0.001 s: it must be 0 or more"),
        (lambda: DSPTFClaims(waits=2), "waits 2: it must be 0 or 1"),
        (lambda: Lossy(1.5), "claim loss 1.5: it must be between 0 and 1"),
        (lambda: Lossy(-0.5), "claim loss -0.5: it must be between 0 and 1"),
        (lambda: Lossy(float("nan")), "claim loss nan is not a number"),
    ],
)
def test_impossible_settings_are_rejected(make, message):
    assert_refused(make, message)
