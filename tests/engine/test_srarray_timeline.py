"""Test rotational replicas, delayed writes and the mirror's heuristic against timelines worked by hand, in ms."""

import numpy as np
import pytest
from helpers import responses

from storagekit.cache import LRU
from storagekit.dispatch import Hashing, NearestIdle
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas, SRMirror
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import counted, measured
from storagekit.write import Background, FirstCopy

MS = 1e-3
# There is no arm. Sectors 0 to 99 are one stripe unit on the first D_m drives, sector s at angle s/100. A revolution
# takes 10 ms.
SPINDLE = ideal_drive(full_seek=0.0, revolution=10 * MS, cylinders=20, sectors_per_track=100)


def array(stripes, replicas, mirrors, schedule=None, write=None, **more) -> System:
    placement = SRMirror(stripes, replicas, mirrors, unit=100)
    more = {"drives": 5, "slots": 4} | more
    return System(SPINDLE, placement, NearestIdle(), schedule or SATF(), write or FirstCopy(), **more)


def accesses(reports) -> list[tuple[int, int]]:
    """Return request and replica of every access, in the order of their ends."""
    served = reports.served.ravel()
    return list(zip(reports.number.ravel()[served].tolist(), reports.replica.ravel()[served].tolist(), strict=True))


@pytest.mark.parametrize(
    ("replicas", "response", "nearest"),
    [(1, 9.1, 0), (2, 4.1, 1), (3, 0.1 + 7 / 3, 1), (4, 1.6, 1)],
)
def test_a_read_takes_the_nearest_rotational_replica(unfold, recorded, replicas, response, nearest):
    """Read sector 90 with the platter at 0. Two replicas lie at 0.9 and 0.4, three also at 0.233, four at 0.15."""
    _, reports = unfold(Scenario(array(1, replicas, 1), recorded([0.0], sector=90)), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: response}, abs=1e-3)
    assert accesses(reports) == [(0, nearest)]


@pytest.mark.parametrize(("replicas", "response"), [(1, 3.1), (2, 8.1), (3, 3.1 + 20 / 3), (4, 8.1)])
def test_a_foreground_write_sweeps_over_all_replicas(unfold, recorded, replicas, response):
    """Write sector 30 with the platter at 0.

    The drive reaches the nearest replica after 3 ms (of four, after 0.5 ms at 0.05).

    From there it takes (D_r - 1) / D_r of a turn to the last replica.
    """
    _, reports = unfold(Scenario(array(1, replicas, 1), recorded([0.0], sector=30, read=False)), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: response}, abs=1e-3)


@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_reads_wait_R_over_2D_and_foreground_writes_R_minus_R_over_2D(unfold, recorded, replicas):
    """At fifty even angles the mean wait is half a step, 0.1 ms, below R/2D, and a sector takes 0.1 ms.

    The results match equations 2 and 3 exactly. Requests are 40 ms apart, so that the platter always stands at 0.
    """
    for read, mean in ((True, 5 / replicas), (False, 10 - 5 / replicas)):
        arrivals = recorded(np.arange(50) * 40 * MS, sector=2 * np.arange(50), read=read)
        _, reports = unfold(Scenario(array(1, replicas, 1), arrivals), phase=np.zeros(5))
        found = responses(reports)
        assert len(found) == 50
        assert np.mean(list(found.values())) == pytest.approx(mean, abs=1e-3)


@pytest.mark.parametrize(
    ("propagation", "read", "order"),
    [
        (Background(), 5.1, [(0, 0), (1, 1), (0, 1)]),
        (Background(1), 10.1, [(0, 0), (0, 1), (1, 0)]),
        (None, 10.1, [(0, 0), (1, 0)]),
    ],
    ids=["background", "full table", "foreground"],
)
def test_a_delayed_copy_yields_to_a_read(unfold, recorded, propagation, read, order):
    """Two replicas, first come first served, the platter at 0.

    0    a write at 0.3 or 0.8: the first is on disk at 3.1
    1    a read at 0.1 or 0.6 arrives
    3.1  in the background the read goes first, to 0.6: done at 6.1; then the copy, to 0.8: done at 8.1
         with a table of one entry the copy goes first, because it is older: done at 8.1; then the read, to 0.1: at 11.1
         in the foreground the copy is part of the write, which ends at 8.1
    """
    arrivals = recorded([0, 1 * MS], sector=[30, 10], read=[False, True])
    _, reports = unfold(Scenario(array(1, 2, 1, FCFS(), propagation), arrivals), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: 8.1 if propagation is None else 3.1, 1: read}, abs=1e-3)
    assert accesses(reports) == order


def test_a_read_avoids_a_stale_replica(unfold, recorded):
    """Repeat the timeline above with a second read, of 4 ms, of the block that is being written.

    6.1   the platter is at 0.61; the drive has the copy at 0.8 left and finds the read. The read may only use 0.3,
          because 0.8 is stale although it is nearer: it starts after 6.9 ms and ends at 13.1
    13.1  no request waits: the drive writes the copy, at 0.8, by 18.1
    30    both replicas are current: the platter reaches 0.3 after 3 ms
    """
    arrivals = recorded(np.array([0, 1, 4, 30]) * MS, sector=[30, 10, 30, 30], read=[False, True, True, True])
    _, reports = unfold(Scenario(array(1, 2, 1, FCFS(), Background()), arrivals), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: 3.1, 1: 5.1, 2: 9.1, 3: 3.1}, abs=1e-3)
    assert accesses(reports) == [(0, 0), (1, 1), (2, 0), (0, 1), (3, 0)]


def test_mirrors_write_the_nearest_copy_and_wake_the_other_drive(unfold, recorded):
    """Two mirrors, copy 1 half a turn ahead, platters at 0 and 0.6: sector 30 at 0.3 and 0.8.

    0    drive 1 is nearer: on disk at 2.1
    2.1  drive 0, its platter at 0.21, is woken for the other copy: on disk at 3.1
    """
    system = array(1, 1, 2, FCFS(), Background())
    tally, reports = unfold(Scenario(system, recorded([0.0], sector=30, read=False)), phase=[0, 0.6, 0, 0, 0])
    assert responses(reports) == pytest.approx({0: 2.1}, abs=1e-3)
    assert tally.served.ravel().tolist() == [1, 1, 0, 0, 0]
    np.testing.assert_allclose(np.cumsum(reports.elapsed)[reports.served.any(axis=1)] / MS, [2.1, 3.1], atol=1e-3)


def test_the_nearest_idle_head_else_the_first_free_head_serves(unfold, recorded):
    """Use two mirrors as above, with platters at 0 and 0.6.

    0    A, sector 30, at 0.3 in 3 ms on drive 0, at 0.8 in 2 on drive 1: drive 1 reads it until 2.1
    0.5  B, sector 60: drive 0 is idle and takes it, at 0.6 in 5.5: until 6.1 (drive 1 would have had it at 5.1)
    1    C, sector 20: no drive is idle, so it is queued at both
    2.1  drive 1, its platter at 0.81, takes C, at 0.7 in 8.9: until 11.1
    3    D, sector 50: no drive is idle
    6.1  drive 0, its platter at 0.61, finds D, and C is gone: at 0.5 in 8.9, until 15.1
    """
    arrivals = recorded([0, 0.5 * MS, 1 * MS, 3 * MS], sector=[30, 60, 20, 50])
    tally, reports = unfold(Scenario(array(1, 1, 2, FCFS()), arrivals), phase=[0, 0.6, 0, 0, 0])
    assert responses(reports) == pytest.approx({0: 2.1, 1: 5.6, 2: 10.1, 3: 12.1}, abs=1e-3)
    assert reports.candidates[reports.chose].tolist() == [1, 1, 1, 1]
    assert tally.served.ravel().tolist() == [2, 2, 0, 0, 0]
    assert tally.twice.tolist() == [0]


def test_the_mirrors_of_synchronized_spindles_interleave(unfold, recorded):
    """Two replicas on each of two drives in step act as four replicas at even angles on one drive.

    Sector 90 is reached in 1.5 ms at 0.15, replica 0 of copy 1.
    """
    tally, reports = unfold(Scenario(array(1, 2, 2), recorded([0.0], sector=90)), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: 1.6}, abs=1e-3)
    assert accesses(reports) == [(0, 0)]
    assert tally.served.ravel().tolist() == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("synchronized", [0, 1])
def test_only_synchronized_spindles_wait_at_most_a_quarter_of_a_turn(unfold, recorded, synchronized):
    """Read at forty even angles, with any start angle of the platters: the wait is 0 to 2.5 ms, R/8 on average."""
    arrivals = recorded(np.arange(40) * 40 * MS, sector=np.arange(40) * 5 // 2)
    _, reports = unfold(Scenario(array(1, 2, 2, synchronized=synchronized), arrivals))
    waits = np.array(list(responses(reports).values())) - 0.1
    assert len(waits) == 40
    assert (waits.max() < 2.501) == bool(synchronized)
    if synchronized:
        assert waits.mean() == pytest.approx(1.25, abs=0.15)


def test_an_asynchronous_write_is_counted_but_completes_at_once(unfold, recorded):
    """One server, 1 ms a sector: an asynchronous write of 10, a write of 5 at 2 (done at 15), a read of 1 at 3."""
    arrivals = recorded(
        [0, 2 * MS, 3 * MS], sectors=[10, 5, 1], read=[False, False, True], asynchronous=[True, False, False]
    )
    system = System(RateServer(1000), Replicas(1), Hashing(), FCFS(), drives=1, slots=4)
    tally, _ = unfold(Scenario(system, arrivals))
    assert (tally.reads.item(), tally.asynchronous_reads.item()) == (1, 0)
    assert (tally.writes.item(), tally.asynchronous_writes.item()) == (2, 1)
    assert tally.write_response.item() / MS == pytest.approx(13, abs=1e-3)
    assert tally.asynchronous_response.item() / MS == pytest.approx(10, abs=1e-3)
    sums = counted({name: part.reshape(1, -1, 1) for name, part in vars(tally).items()}, 0)
    data = measured(sums, np.array([1]), STANDARD)
    assert float(data.write_response.item()) / MS == pytest.approx(13, abs=1e-3)
    assert float(data.response.item()) / MS == pytest.approx((13 + 13) / 2, abs=1e-3)
    assert float(data.requests.item()) == 3


def test_a_hit_completes_from_memory_and_wakes_no_drive(unfold, recorded):
    """Memory completes a hit after 0.2 ms, whether or not the drive is busy.

    0    a read at 0.3: until 3.1
    1    the same read: the block is in memory, or on its way there
    20   the same read, while the drive is idle
    30   a write of it, forced to disk: until 33.1
    31   a read of it: from memory
    40   a read at 0.5: until 45.1
    """
    arrivals = recorded(
        np.array([0, 1, 20, 30, 31, 40]) * MS,
        sector=[30, 30, 30, 30, 30, 50],
        read=[True, True, True, False, True, True],
    )
    memory = LRU(16 * 512.0, hit_time=0.2 * MS, sets=1, ways=16, sectors=1)
    tally, reports = unfold(Scenario(array(1, 1, 1, cache=memory), arrivals), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: 3.1, 1: 0.2, 2: 0.2, 3: 3.1, 4: 0.2, 5: 5.1}, abs=1e-3)
    assert tally.hits.tolist() == [3]
    assert tally.served.ravel().tolist() == [3, 0, 0, 0, 0]
    when = np.cumsum(reports.elapsed)[reports.chose.ravel()] / MS
    np.testing.assert_allclose(when, [0, 30, 40], atol=1e-3)
    # time stops only at events where a drive chooses
    moved = reports.elapsed.ravel() > 0
    np.testing.assert_allclose(np.cumsum(reports.elapsed)[moved] / MS, [3.1, 30, 33.1, 40, 45.1], atol=1e-3)


def test_two_reads_at_one_instant_go_to_two_idle_heads(unfold, recorded):
    """A drive that has just been woken is no longer idle, so each mirror serves one of the reads."""
    arrivals = recorded([1 * MS, 1 * MS], sector=[0, 0])
    system = System(SPINDLE, SRMirror(1, 1, 2, unit=10), NearestIdle(), SATF(), drives=2, slots=4)
    tally, _ = unfold(Scenario(system, arrivals))
    assert tally.served.ravel().tolist() == [1, 1]
