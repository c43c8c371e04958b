"""Test events against timelines worked by hand, in ms."""

import itertools

import numpy as np
import pytest
from helpers import responses

from storagekit.arbitration import Lossy
from storagekit.dispatch import DSPTF, Hashing, central
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.write import AllCopies, FirstCopy, Immediate, ReceivingBrick

MS = 1e-3
SERVER = RateServer(1000)  # a sector takes 1 ms
# There is no arm, so sector s lies at angle s/100. A revolution takes 10 ms, and a sector 0.1 ms.
SPINDLE = ideal_drive(full_seek=0.0, revolution=10 * MS, cylinders=2, sectors_per_track=100)


def test_two_bricks_first_come_first_served(unfold, recorded):
    """Hash requests over two bricks, where a sector takes 1 ms.

        0: a read of 10 at brick 0           brick 0 serves it until 10
        2: a write of 5                      brick 1 writes it from 2 to 7, brick 0 from 10 to 15
        4: a read of 3 at brick 1            from 7 to 10
       40: a read of 1 at brick 1            both were idle: from 40 to 41

    With all copies needed the write takes 15 - 2.
    """
    arrivals = recorded(
        [0, 2 * MS, 4 * MS, 40 * MS], sectors=[10, 5, 3, 1], read=[True, False, True, True], address_hash=[0, 0, 1, 1]
    )
    system = System(SERVER, Replicas(2), Hashing(), FCFS(), drives=2, slots=4)
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 10, 1: 13, 2: 6, 3: 1}, abs=1e-3)
    assert reports.candidates[reports.chose].tolist() == [1, 1, 1, 1, 1]
    assert tally.served.ravel().tolist() == [2, 3]
    np.testing.assert_allclose(tally.elapsed, 41 * MS, rtol=1e-5)


@pytest.mark.parametrize(
    ("completion", "receiving", "response"),
    [
        (AllCopies(), 0, 13),
        (FirstCopy(), 0, 5),
        (ReceivingBrick(), 0, 13),
        (ReceivingBrick(), 1, 5),
        (Immediate(), 0, 0),
    ],
)
def test_the_completion_time_of_a_write(unfold, recorded, completion, receiving, response):
    """Complete the write of the timeline above: brick 1 has it after 5 ms, brick 0 after 13 ms."""
    arrivals = recorded([0, 2 * MS], sectors=[10, 5], read=[True, False], receiving=receiving)
    system = System(SERVER, Replicas(2), Hashing(), FCFS(), completion, drives=2, slots=4)
    _, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 10, 1: response}, abs=1e-3)


def test_an_arrival_waits_outside_until_a_slot_is_free(unfold, recorded):
    """With one slot, reads of 2 ms at 0, 1 and 1.5 end at 2, 4 and 6; the wait for the slot is part of the response."""
    arrivals = recorded([0, 1 * MS, 1.5 * MS], sectors=2)
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), drives=1, slots=1)
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 2, 1: 3, 2: 4.5}, abs=1e-3)
    assert tally.blocked.tolist() == [2]


def test_an_arrival_that_waited_for_a_slot_wakes_a_brick_on_admission(unfold, recorded):
    """Use one slot for two bricks.

    0    A, 8 sectors at brick 0     until 8
    1    B, 5 sectors at brick 1     outside until 8; brick 1, which was idle, wakes then: until 13
    """
    arrivals = recorded([0, 1 * MS], sectors=[8, 5], address_hash=[0, 1])
    system = System(SERVER, Replicas(2), Hashing(), FCFS(), drives=2, slots=1)
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 8, 1: 12}, abs=1e-3)
    assert tally.blocked.tolist() == [1]
    assert np.min(reports.elapsed) >= 0


def test_a_brick_chooses_two_latencies_before_its_disk_is_free(unfold, recorded):
    """One brick with a latency of 1 ms and no rotation during which a choice could wait.

     0: A, 10 sectors     chosen and issued at 0 (the brick was idle), done at 10
     3: B, 5 sectors      chosen at 10 - 2 = 8, issued at 10 without a gap, done at 15
    14: C, 1 sector       arrives when the choice of 13 is past and the disk is busy: chosen at 14, issued at 16,
                          done at 17
    20: D, 1 sector       the brick is idle again: done at 21
    """
    arrivals = recorded([0, 3 * MS, 14 * MS, 20 * MS], sectors=[10, 5, 1, 1])
    system = System(SERVER, Replicas(1), DSPTF(1 * MS), FCFS(), drives=1, slots=4)
    _, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 10, 1: 12, 2: 3, 3: 1}, abs=1e-3)
    when = np.cumsum(reports.elapsed)[reports.chose.ravel()] / MS
    np.testing.assert_allclose(when, [0, 8, 14, 20], atol=1e-3)


def test_a_brick_that_waits_issues_nothing_before_the_claims_are_in(unfold, recorded):
    """Repeat the timeline above where every choice is issued at least 2 ms later.

     0: A, 10 sectors     chosen at 0, issued at 2 (the brick was idle), done at 12
     3: B, 5 sectors      chosen at 12 - 2 = 10, issued at 12 without a gap, done at 17
    16: C, 1 sector       arrives when the choice of 15 is past: chosen at 16, issued at 18, done at 19
    """
    arrivals = recorded([0, 3 * MS, 16 * MS], sectors=[10, 5, 1])
    system = System(SERVER, Replicas(1), DSPTF(1 * MS, waits=1), FCFS(), drives=1, slots=4)
    _, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 12, 1: 14, 2: 3}, abs=1e-3)
    when = np.cumsum(reports.elapsed)[reports.chose.ravel()] / MS
    np.testing.assert_allclose(when, [0, 10, 16], atol=1e-3)


def system(dispatch) -> System:
    return System(SPINDLE, Replicas(2), dispatch, SATF(), drives=2, slots=4)


def test_the_lower_bid_wins_and_the_loser_chooses_again_when_notified(unfold, recorded):
    """Two idle bricks, latency 1 ms, platters at 0 and 0.95 turns.

    0    A (angle 0.3) reaches brick 0, which chooses it and bids the 3 ms until then: to be issued at 2
    0.5  B (angle 0.25) reaches brick 0, whose disk is reserved until 3.1
    1    A and brick 0's claim reach brick 1 together. Brick 1 chooses A before it receives the claim: its platter
         stands at 0.05, so it bids 2.5 ms and wins; A is issued at 3 and read at 3.6
    2    brick 0 receives the bid, gives A up and chooses again at once: B, its platter at 0.2: 0.5 ms, without a
         further wait: done 2.6
    3    brick 1 may choose again; whether or not B has reached it, its bid for B would be 9.4 ms
    """
    arrivals = recorded([0, 0.5 * MS], sector=[30, 25])
    tally, reports = unfold(Scenario(system(DSPTF(1 * MS)), arrivals), phase=[0.0, 0.95])
    assert responses(reports) == pytest.approx({0: 3.6, 1: 2.1}, abs=1e-3)
    assert tally.twice.tolist() == [0]
    assert tally.contested[0] >= 1
    when = np.cumsum(reports.elapsed)[reports.claimed.ravel()] / MS
    np.testing.assert_allclose(when[:3], [0, 1, 2], atol=1e-3)


def test_the_higher_bid_loses_and_chooses_again(unfold, recorded):
    """Repeat the timeline above with brick 1's platter at 0.5 and B at 0.42.

    At 1 brick 1's platter stands at 0.6; it bids 7 ms for A and loses. A is read at 3.1. Brick 1 then takes B, which
    reaches it at 1.5 with its platter at 0.65: 7.7 ms, issued at 3.5. Brick 0 is free at 3.1 and chooses at 2. The
    claim for B, made at 1.5, reaches it at 2.5. Its platter will stand at 0.31, so it bids 1.1, wins, and has read B at
    4.3.
    """
    arrivals = recorded([0, 0.5 * MS], sector=[30, 42])
    tally, reports = unfold(Scenario(system(DSPTF(1 * MS)), arrivals), phase=[0.0, 0.5])
    assert responses(reports) == pytest.approx({0: 3.1, 1: 3.8}, abs=1e-3)
    assert tally.twice.tolist() == [0]


@pytest.mark.parametrize(("waits", "response", "twice"), [(0, 1.4, 1), (1, 11.4, 0)])
def test_a_better_claim_may_arrive_after_an_idle_brick_has_issued_its_read(unfold, recorded, waits, response, twice):
    """Latency 1 ms, A at angle 0.15, platters at 0 and 0.02.

    0    brick 0 chooses A, 1.5 ms away, and so issues it at 1.5
    1    A reaches brick 1, its platter at 0.12: it bids 0.3 ms, less, issues it at 1.3, and has read it at 1.4
    1.6  brick 0 has read it too: the better claim arrives at 2

    Where both wait, brick 0 bids 9.5 ms from 2 on, and brick 1 bids 8.3 from 3 on. The better claim reaches brick 0 at
    2, in time, and A is read at 11.4, a turn later.
    """
    dispatch = DSPTF(1 * MS, waits=waits)
    tally, reports = unfold(Scenario(system(dispatch), recorded([0.0], sector=15)), phase=[0.0, 0.02])
    assert responses(reports) == pytest.approx({0: response}, abs=1e-3)
    assert tally.twice.tolist() == [twice]


def test_the_lower_brick_wins_on_equal_bids(unfold, recorded):
    """Without delay and with equal platters, both bricks bid 3 ms at the same instant.

    Brick 0 reads, and brick 1 stays free for B.
    """
    arrivals = recorded([0, 1 * MS], sector=[30, 50])
    tally, reports = unfold(Scenario(system(central()), arrivals), phase=[0.0, 0.0])
    assert responses(reports) == pytest.approx({0: 3.1, 1: 4.1}, abs=1e-3)
    assert tally.twice.tolist() == [0]
    assert tally.served.ravel().tolist() == [1, 1]
    assert tally.contested.tolist() == [1]


def test_the_lower_slot_wins_when_two_requests_come_under_the_head_together(unfold, recorded):
    """Two requests at one angle cost the same when the arm reaches both cylinders in time.

    Only the rounding of seeks and rotations differs, and it must not decide.

    0      A at angle 0.3 of cylinder 0, B and C at 0.5 of others, in slots 0, 1 and 2: A is served until 3.1
    3.1    B and C both come under the head at 5: B until 5.1, C a revolution later

    The test repeats this every 100 ms, with B and C on any two of four cylinders, in both orders.
    """
    spindle = ideal_drive(full_seek=1.8 * MS, revolution=10 * MS, cylinders=10, sectors_per_track=100)
    pairs = list(itertools.permutations((1, 2, 4, 7), 2))
    sector = [sector_number for b, c in pairs for sector_number in (30, 100 * b + 50, 100 * c + 50)]
    times = np.repeat(np.arange(len(pairs)) * 100 * MS, 3)
    system = System(spindle, Replicas(1), Hashing(), SATF(), drives=1, slots=3)
    _, reports = unfold(Scenario(system, recorded(times, sector=sector)), phase=[0.0])
    expected = dict(enumerate([3.1, 5.1, 15.1] * len(pairs)))
    assert responses(reports) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("completion", "receiving", "response"),
    [(AllCopies(), 0, 8.1), (FirstCopy(), 0, 3.1), (ReceivingBrick(), 0, 8.1), (ReceivingBrick(), 1, 3.1)],
)
def test_the_copy_chosen_last_need_not_be_the_last_on_disk(unfold, recorded, completion, receiving, response):
    """Platters stand at 0.5 and 0, the write at 0.3.

    Both bricks choose it at 0, brick 0 first; they end at 8.1 and 3.1.
    """
    arrivals = recorded([0.0], sector=30, read=False, receiving=receiving)
    system = System(SPINDLE, Replicas(2), central(), SATF(), completion, drives=2, slots=4)
    _, reports = unfold(Scenario(system, arrivals), phase=[0.5, 0.0])
    assert responses(reports) == pytest.approx({0: response}, abs=1e-3)


def test_a_lost_claim_costs_a_second_service_but_no_completion(unfold, recorded):
    """No claim arrives: both idle bricks read A, the client gets the earlier completion (3.1), and B still completes."""
    arrivals = recorded([0, 50 * MS], sector=[30, 30])
    tally, reports = unfold(Scenario(system(DSPTF(1 * MS, delivery=Lossy(1.0))), arrivals), phase=[0.0, 0.5])
    assert responses(reports)[0] == pytest.approx(3.1, abs=1e-3)
    assert sorted(responses(reports)) == [0, 1]
    assert tally.twice.tolist() == [2]
