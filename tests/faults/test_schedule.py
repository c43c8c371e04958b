"""Test slow, unequal and failing bricks against timelines worked by hand, in ms."""

import numpy as np
import pytest
from helpers import assert_refused, responses

from storagekit.cache import BrickLRU
from storagekit.core.batching import MOST_WHOLE
from storagekit.dispatch import DSPTF, Broadcast, Central, Hashing
from storagekit.drive import Mixed, RateServer, ideal_drive
from storagekit.engine import Record, ResponseLog, Runner, Scenario, System, keys
from storagekit.engine.run import CHUNK
from storagekit.faults import FaultSchedule, Slowdown, outage
from storagekit.placement import Coded, Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import sweep
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies, Background, FirstCopy, Immediate, ReceivingBrick

MS = 1e-3
SERVER = RateServer(1000)  # a sector takes 1 ms
# a revolution takes 10 ms, a sector 0.1; a seek across both cylinders 2 ms
SPINDLE = ideal_drive(full_seek=2 * MS, revolution=10 * MS, cylinders=2, sectors_per_track=100)


def pair(dispatch, faults, completion=None, drive=SERVER, **more) -> System:
    return System(
        drive, Replicas(2), dispatch, FCFS(), completion or Immediate(), faults=faults, drives=2, slots=8, **more
    )


@pytest.mark.parametrize(
    ("seeking", "turning", "parts"),
    [(1, 1, (4, 16, 0.2)), (0, 1, (2, 18, 0.2)), (1, 0, (4, 6, 0.1))],
    ids=["service", "rotation", "seek"],
)
def test_half_the_speed(unfold, recorded, seeking, turning, parts):
    """Read on the other cylinder at the index mark, which is under the head at the start.

    The read takes a seek and the rest of the turn.
    """
    arrivals = recorded([0], sector=[100])
    slow = FaultSchedule(Slowdown(0, 0.5), seeking=seeking, turning=turning)
    system = System(SPINDLE, Replicas(1), Hashing(), SATF(), faults=slow, drives=1, slots=2)
    _, reports = unfold(Scenario(system, arrivals), phase=np.zeros(1))
    served = reports.number.ravel() >= 0
    found = [part.ravel()[served][0] / MS for part in (reports.seek, reports.rotation, reports.transfer)]
    assert found == pytest.approx(parts, abs=1e-3)


def test_a_slowdown_lasts_from_one_request_to_another(unfold, recorded):
    """Brick 0 takes 10 ms for 10 sectors, and 20 ms while request 1 or 2 is the latest."""
    arrivals = recorded(np.arange(4) * 100 * MS, sectors=10)
    _, reports = unfold(Scenario(pair(Hashing(), FaultSchedule(Slowdown(0, 0.5, 1, 3))), arrivals))
    assert responses(reports) == pytest.approx({0: 10, 1: 20, 2: 20, 3: 10}, abs=1e-3)


def test_bricks_with_different_drives(unfold, recorded):
    """A sector takes 1 ms on brick 0 and 4 ms on brick 1.

    A write of 3 sectors is on both after 12 ms, with all copies needed.
    """
    drive = Mixed([SERVER, RateServer(250)], (0, 1))
    arrivals = recorded(np.arange(3) * 100 * MS, sectors=3, read=[True, True, False], address_hash=[0, 1, 0])
    tally, reports = unfold(Scenario(pair(Hashing(), FaultSchedule(), AllCopies(), drive), arrivals))
    assert responses(reports) == pytest.approx({0: 3, 1: 12, 2: 12}, abs=1e-3)
    np.testing.assert_allclose(tally.busy.ravel() / MS, [6, 24], rtol=1e-5)


def test_spindles_of_different_kinds_turn_at_different_speeds(unfold, recorded):
    """Read sector 50 at 0 and at 100 ms, on turns of 10 and of 8 ms that both start at the mark.

    At 0 the sector is half a turn away: 5 and 4 ms. At 100 ms the first platter is at the mark again, and the second is
    at a half turn, so its sector is under the head.
    """
    quick = ideal_drive(full_seek=2 * MS, revolution=8 * MS, cylinders=2, sectors_per_track=100)
    drive = Mixed([SPINDLE, quick], (0, 1))
    arrivals = recorded(np.array([0, 0, 100, 100]) * MS, sector=50, address_hash=[0, 1, 0, 1])
    _, reports = unfold(Scenario(pair(Hashing(), FaultSchedule(), drive=drive), arrivals), phase=np.zeros(2))
    assert responses(reports) == pytest.approx({0: 5.1, 1: 4.08, 2: 5.1, 3: 0.08}, abs=2e-3)


def test_a_claimed_read_is_sent_again_when_its_brick_stops(unfold, recorded):
    """Run D-SPTF without delay, with a time-out of 50.

    0    read 0 of 10: brick 0 claims it
    1    read 1 of 10: brick 1
    5    read 2 of 10 arrives, and brick 0 stops at this request: read 0 is lost without notice
    11   brick 1 is done with read 1 and takes read 2, until 21
    50   the client of read 0 sends it again: brick 1, until 60
    100  read 3, to brick 1, as brick 0 is still down
    200  brick 0 is back: of reads 4 and 5 each brick serves one
    """
    arrivals = recorded(np.array([0, 1, 5, 100, 200, 200]) * MS, sectors=10, receiving=1)
    fails = FaultSchedule(outage(0, 2, 4), timeout=50 * MS)
    tally, reports = unfold(Scenario(pair(DSPTF(0.0), fails), arrivals))
    assert responses(reports) == pytest.approx({0: 60, 1: 10, 2: 16, 3: 10, 4: 10, 5: 10}, abs=1e-3)
    assert tally.resent.tolist() == [1]
    assert tally.served.ravel().tolist() == [1, 5]


def test_hashed_reads_wait_for_the_timeout(unfold, recorded):
    """Brick 0 stops when request 2 arrives, with read 0 under way and read 1 in its queue.

    Both are sent again at their timeouts, 20 after each was sent. Read 2 goes to brick 0 without success and is sent
    again. Read 3 goes to brick 1 and is unaffected.
    """
    arrivals = recorded(np.array([0, 1, 5, 100]) * MS, sectors=10, address_hash=[0, 0, 0, 1])
    fails = FaultSchedule(outage(0, 2), timeout=20 * MS)
    tally, reports = unfold(Scenario(pair(Hashing(), fails), arrivals))
    # brick 1: read 0 from 20 to 30, read 1 (due at 21) until 40, read 2 (due at 25) until 50
    assert responses(reports) == pytest.approx({0: 30, 1: 39, 2: 45, 3: 10}, abs=1e-3)
    assert tally.resent.tolist() == [3]
    assert tally.served.ravel().tolist() == [0, 4]


@pytest.mark.parametrize(
    ("detection", "expected", "resent"),
    [(np.inf, (10, 30, 30), 2), (None, (10, 30, 10), 1), (5 * MS, (10, 15, 10), 1)],
    ids=["never", "time-out", "sooner"],
)
@pytest.mark.parametrize(
    ("dispatch", "targets"),
    [(Central((1, 1, 2)), (0, 1)), (Hashing(), (0, 1)), (Central((2, 1, 1)), (1, 2))],
    ids=["central", "hashing", "others"],
)
def test_a_read_of_several_bricks_is_sent_again_if_one_of_them_is_down(
    unfold, recorded, dispatch, targets, detection, expected, resent
):
    """Read two of three fragments of 10 sectors each.

    The higher of the two target bricks stops at read 1, in which it takes part. The read is sent again after 20, or when
    clients detect the outage, to the lowest bricks in service. The same happens to read 2, which reached only one of the
    targets, unless clients have detected the outage. Read 2 is then sent to the bricks in service at once.
    """
    arrivals = recorded(np.array([0, 100, 200]) * MS, sectors=20)
    fails = FaultSchedule(outage(targets[1], 1), timeout=20 * MS, detection=detection)
    system = System(SERVER, Coded(2, 3), dispatch, FCFS(), faults=fails, slots=8)
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx(dict(enumerate(expected)), abs=1e-3)
    assert tally.resent.tolist() == [resent]


def test_requests_go_to_other_bricks_once_an_outage_is_detected(unfold, recorded):
    """Brick 0 stops when request 1 arrives, is back for request 5, and stops again when request 6 arrives.

    The time-out is 20, and clients detect an outage after 48. Brick 0 serves reads 0 and 5, and
    brick 1 all other requests.

    12   read 1, hashed to brick 0, is lost and sent again at 32
    45   read 2 is sent to brick 0 in vain, and again at 60, when the outage is detected
    70   read 3, and write 4 at 90, are sent to brick 1 at once
    120  brick 0 serves read 5
    200  the second outage is not detected at once: read 7 at 210 is sent again at 230
    """
    arrivals = recorded(
        np.array([0, 12, 45, 70, 90, 120, 200, 210, 260]) * MS, sectors=10, read=[True] * 4 + [False] + [True] * 4,
        address_hash=[0, 0, 0, 0, 0, 0, 1, 0, 0],
    )  # fmt: skip
    fails = FaultSchedule(outage(0, 1, 5), outage(0, 6), timeout=20 * MS, detection=48 * MS)
    tally, reports = unfold(Scenario(pair(Hashing(), fails, AllCopies()), arrivals))
    expected = {0: 10, 1: 30, 2: 25, 3: 10, 4: 10, 5: 10, 6: 10, 7: 30, 8: 10}
    assert responses(reports) == pytest.approx(expected, abs=1e-3)
    assert tally.resent.tolist() == [3]
    assert tally.served.ravel().tolist() == [2, 7]


def test_a_client_waits_only_for_the_outages_that_concern_its_request(unfold, recorded):
    """Brick 0 stops at read 1, and brick 1 at read 3. The time-out is 500, and clients detect an outage after 50.

    200  read 2, hashed to brick 0, is sent to another brick at once
    310  so is read 4, although the outage of brick 1 has not been detected yet
    320  read 5, hashed to brick 1, is sent again at 350
    """
    times, hashes = [0, 10, 200, 300, 310, 320], [2, 2, 0, 2, 0, 1]
    arrivals = recorded(np.array(times) * MS, sectors=10, address_hash=hashes)
    fails = FaultSchedule(outage(0, 1), outage(1, 3), timeout=500 * MS, detection=50 * MS)
    system = System(SERVER, Replicas(3), Hashing(), FCFS(), faults=fails, drives=3, slots=8)
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 10, 1: 10, 2: 10, 3: 10, 4: 10, 5: 40}, abs=1e-3)
    assert tally.resent.tolist() == [1]


def test_a_request_that_waits_for_a_slot_is_not_counted_as_sent_again(unfold, recorded):
    """Brick 0 stops when read 0 arrives, which is lost and sent again at once. The others are sent to brick 1."""
    arrivals = recorded(np.arange(3) * MS, sectors=10)
    system = System(
        SERVER, Replicas(2), Hashing(), FCFS(), faults=FaultSchedule(outage(0), detection=0.0), drives=2, slots=1
    )
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 10, 1: 19, 2: 28}, abs=1e-3)
    assert tally.resent.tolist() == [1]


@pytest.mark.parametrize("dispatch", [Hashing(), Broadcast()], ids=lambda one: type(one).__name__)
def test_no_read_of_four_of_six_fragments_waits_once_an_outage_is_detected(dispatch):
    """One of six bricks is down from the start. With detection at once, no read waits for the time-out of 1 s."""

    def system(detection):
        faults = FaultSchedule(outage(0), detection=detection)
        arrivals = PoissonArrivals(RandomRequests(FixedSize(4 * 512), 1.0), 20.0)
        return Scenario(System(SERVER, Coded(4, 6), dispatch, FCFS(), faults=faults, slots=32), arrivals)

    found = sweep(system, {"detection": [np.inf, 0.0]}, seeds=2, requests=500).response_quantile.sel(quantile=0.99)
    never, at_once = found.transpose("detection", ...)
    assert (never > 1).all() and (at_once < 0.1).all()


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        (AllCopies(), {0: 10, 1: 16, 2: 25}),
        (ReceivingBrick(), {0: 10, 1: 16, 2: 25}),
        (Immediate(), {0: 0, 1: 0, 2: 0}),
    ],
    ids=["all copies", "receiving brick", "at once"],
)
def test_writes_do_without_the_copy_of_a_brick_that_stops(unfold, recorded, completion, expected):
    """Write 10 sectors at 0, received by brick 0; both bricks write them from 0 to 10.

    Another write of 10 arrives at 4, and a third at 5, when brick 0 stops. With all copies needed, the first completes
    at 10, when brick 1 has it. The second waits for brick 1 until 20: a response of 16. The third ends at 30: a
    response of 25. If the receiving brick has stopped, brick 1 completes the write in its place.
    """
    arrivals = recorded(np.array([0, 4, 5]) * MS, sectors=10, read=False, receiving=0)
    fails = FaultSchedule(outage(0, 2), timeout=5 * MS)
    tally, reports = unfold(Scenario(pair(Hashing(), fails, completion), arrivals))
    assert responses(reports) == pytest.approx(expected, abs=1e-3)
    assert tally.served.ravel().tolist() == [0, 3]


@pytest.mark.parametrize(
    ("completion", "kinds", "expected"),
    [
        (ReceivingBrick(), (0, 1), 40),
        (FirstCopy(), (0, 1), 40),
        (AllCopies(), (0, 1), 40),
        (ReceivingBrick(), (1, 0), 10),
        (FirstCopy(), (1, 0), 10),
        (AllCopies(), (1, 0), 10),
        (Immediate(), (0, 1), 0),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, tuple | int) else str(one),
)
def test_no_write_is_completed_by_a_brick_that_has_stopped(unfold, recorded, completion, kinds, expected):
    """Write 10 sectors at 0, received by brick 0, on bricks that take 10 and 40 ms for it, or 40 and 10.

    Brick 0 stops at 5. The write completes when brick 1 has it.
    """
    arrivals = recorded(np.array([0, 5]) * MS, sectors=10, read=[False, True], address_hash=1, receiving=[0, 1])
    drive = Mixed([SERVER, RateServer(250)], kinds)
    _, reports = unfold(Scenario(pair(Hashing(), FaultSchedule(outage(0, 1)), completion, drive), arrivals))
    assert responses(reports)[0] == pytest.approx(expected, abs=1e-3)


def test_a_read_that_waits_for_the_data_of_another_read_is_also_sent_again(unfold, recorded):
    """Brick 0 reads block 0 for read 0 until 8, and read 1 is to complete with it.

    Brick 0 stops at 5. Brick 1 serves both reads again after their timeouts of 50: responses of 58, and of 62 - 4.
    """
    arrivals = recorded(
        np.array([0, 4, 5]) * MS, sector=[0, 0, 800], sectors=8, receiving=[0, 0, 1], address_hash=[0, 0, 1]
    )
    cache = BrickLRU.sized(16 * 4096.0, bricks=2, ways=4, sectors=8)
    system = pair(Hashing(), FaultSchedule(outage(0, 2), timeout=50 * MS), cache=cache)
    tally, reports = unfold(Scenario(system, arrivals))
    assert responses(reports) == pytest.approx({0: 58, 1: 62, 2: 8}, abs=1e-3)
    assert tally.resent.tolist() == [2]


def test_a_brick_returns_with_an_empty_cache(unfold, recorded):
    """Block 0 is in the memory of brick 0, which stops at request 1 and returns at request 2.

    It then reads the block from disk.
    """
    arrivals = recorded(np.array([0, 50, 100, 150]) * MS, sector=[0, 800, 0, 0], sectors=8, address_hash=[0, 1, 0, 0])
    cache = BrickLRU.sized(16 * 4096.0, bricks=2, ways=4, sectors=8)
    system = pair(Hashing(), FaultSchedule(outage(0, 1, 2)), cache=cache)
    tally, reports = unfold(Scenario(system, arrivals))
    assert tally.hits.tolist() == [1]
    assert responses(reports) == pytest.approx({0: 8, 1: 8, 2: 8, 3: 0}, abs=1e-3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Slowdown(0, 1.5), "speed 1.5 of brick 0"),
        (lambda: Slowdown(-1, 0.5), "brick -1"),
        (lambda: Slowdown(0, 0.5, 5, 5), "a slowdown from request 5 to 5"),
        (lambda: FaultSchedule(timeout=0.0), "client timeout 0 s"),
        (lambda: FaultSchedule(detection=-1.0), "detection time -1"),
        (lambda: FaultSchedule(seeking=2.0), "seeking 2"),
        (lambda: pair(Hashing(), FaultSchedule(Slowdown(2, 0.5))), "a slowdown of brick 2"),
        (lambda: pair(Hashing(), FaultSchedule(outage(0, 1), outage(1, 5))), "2 bricks are stopped simultaneously"),
        (
            lambda: pair(Hashing(), FaultSchedule(outage(0, 1)), completion=Background()),
            "bricks that stop together with delayed writes",
        ),
        (lambda: Mixed([], ()), "no kinds of drives"),
        (lambda: Mixed([SERVER], (0, 1)), "kind of the drive of a brick 1"),
        (lambda: pair(Hashing(), FaultSchedule(), drive=Mixed([SERVER], (0,))), "1 numbers for 2 bricks"),
    ],
)
def test_impossible_faults_raise(build, message):
    assert_refused(build, message)


def test_a_permanent_slowdown_lasts_to_the_last_request_number():
    """A sector takes 1 ms, and 2 ms on a slow brick. A run beyond the last request number raises."""
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), faults=FaultSchedule(Slowdown(0, 0.5)), slots=2)
    loop = Scenario(system, ClosedLoop(RandomRequests(FixedSize(512), 1.0), 1))
    runner = Runner(loop, keys([0])[:, 0], Record(log=ResponseLog()))
    last = MOST_WHOLE - CHUNK
    runner.run = runner.run._replace(first=np.array([last], np.int32))
    _, completed = runner.advance(1)
    number, response = completed.number.ravel(), completed.response.ravel()
    assert last < np.max(number) < MOST_WHOLE
    assert np.min(response[number >= last]) / MS == pytest.approx(2, abs=1e-3)
    assert_refused(
        lambda: runner.advance(1),
        rf"{last + np.sum(number >= last) + 1} requests in one run: at most 2147483647 are possible",
    )
