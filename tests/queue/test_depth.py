"""Test queues of limited depth, and bricks of several drives."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.core.units import MS
from storagekit.dispatch import DSPTF, Broadcast, Hashing, Hedged, Redundant, ShortestQueue
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Record, ResponseLog, Scenario, System, execute, keys
from storagekit.faults import FaultSchedule, Slowdown, outage
from storagekit.placement import Bricks, Replicas
from storagekit.queue import Depth
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import STANDARD, replicate
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, ExponentialSize, PoissonArrivals, RandomRequests
from storagekit.write import Background

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=0.1e-3)
REQUESTS = RandomRequests(ExponentialSize(8192), 0.7)
LOOP = ClosedLoop(REQUESTS, 8)
# the depth is a number, so that each pair of a scheduler and a layout compiles once
UNLIMITED = 1000


def response_times(schedule, queue, **more) -> np.ndarray:
    system = System(DRIVE, Replicas(1), Hashing(), schedule, queue=queue, slots=16, **more)
    log = execute(Scenario(system, LOOP), keys([4])[:, 0], 300, Record(log=ResponseLog())).log
    return log.response[log.number >= 0]


def test_a_depth_of_one_is_first_come_first_served():
    np.testing.assert_array_equal(response_times(SATF(), Depth(1)), response_times(FCFS(), None))


def test_an_unlimited_depth_delays_nothing():
    np.testing.assert_array_equal(response_times(SATF(), Depth(UNLIMITED)), response_times(SATF(), None))


def test_an_idle_drive_of_a_brick_begins_when_its_part_arrives():
    """Two drives share a queue that delays nothing, so that their requests do not begin before they arrive."""
    arrivals = PoissonArrivals(REQUESTS, 20.0)

    def logged(queue):
        system = System(DRIVE, Bricks(Replicas(1), 2, 8), Hashing(), SATF(), queue=queue, slots=16)
        log = execute(Scenario(system, arrivals), keys([4])[:, 0], 300, Record(log=ResponseLog())).log
        return log.response[log.number >= 0]

    np.testing.assert_array_equal(logged(Depth(UNLIMITED)), logged(None))


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_drive_chooses_among_the_oldest(event_log, depth):
    """Each served request had fewer than `depth` earlier requests waiting before it.

    The drive reorders up to this limit.
    """
    system = System(DRIVE, Replicas(1), Hashing(), SATF(), queue=Depth(depth), slots=16)
    reports = execute(Scenario(system, LOOP), keys([4])[:, 0], 400, Record(log=event_log)).log
    order = reports.number[reports.number >= 0]
    position = np.argsort(order[: order.size // 2 * 2])
    overtaken = [int(np.sum(position[:number] > position[number])) for number in range(order.size // 2)]
    assert max(overtaken) == depth - 1


def test_two_drives_to_a_brick_share_its_depth(event_log):
    """Put two servers behind one queue, each with at most one part: both work, and at most two parts are under way."""
    server = RateServer(1e5)
    system = System(server, Bricks(Replicas(1), 2, 8), Hashing(), FCFS(), queue=Depth(2), slots=16)
    reports = execute(Scenario(system, LOOP), keys([1])[:, 0], 300, Record(log=event_log)).log
    assert len(np.unique(reports.completed.number[reports.completed.number >= 0])) >= 300


@pytest.mark.slow
def test_bricks_of_independent_drives_are_separate_queues():
    """Four servers form two bricks. With exponential requests hashed to them, each is an M/M/1 queue."""
    server, service, load = RateServer(1000 / (10 * MS), capacity=2**24), 10 * MS, 0.6
    system = System(server, Bricks(Replicas(1), 4, 2048), Hashing(), FCFS(), slots=64)
    arrivals = PoissonArrivals(RandomRequests(ExponentialSize(1000 * 512.0), 1.0), 4 * load / service)
    response = replicate(Scenario(system, arrivals), seeds=range(64), requests=3000, warm_up=600).response
    error = float(response.std(ddof=1)) / 8
    # Requests have whole sectors: half a sector longer on average.
    assert abs(float(response.mean()) - service / (1 - load)) < 4 * error + 2e-3 * service < 0.1 * service / (1 - load)


def test_a_slow_brick_is_slow_in_all_its_drives(event_log):
    """Brick 1 of two runs at half speed: its drives 2 and 3 take twice the time of the drives of brick 0."""
    server = RateServer(1e5)
    placement = Bricks(Replicas(2), 2, 8)
    system = System(server, placement, Broadcast(), FCFS(), faults=FaultSchedule(Slowdown(1, 0.5)), drives=4, slots=16)
    reads = ClosedLoop(RandomRequests(ExponentialSize(8192), 1.0), 8)
    data = execute(Scenario(system, reads), keys([2])[:, 0], 600, Record(sums_of(STANDARD))).tally
    each = data["busy"].sum(axis=0) / data["served"].sum(axis=0)
    assert np.all(data["served"].sum(axis=0) > 50)
    assert each[2:].mean() == pytest.approx(2 * each[:2].mean(), rel=0.2)


def test_all_drives_of_a_brick_stop_together():
    placement = Bricks(Replicas(2), 2, 8)
    system = System(
        DRIVE,
        placement,
        Broadcast(),
        SATF(),
        faults=FaultSchedule(outage(0, 50), timeout=0.02),
        drives=4,
        slots=16,
    )
    served = (
        execute(Scenario(system, LOOP), keys([2])[:, 0], 600, Record(sums_of(STANDARD))).tally["served"].astype(int)
    )
    late = served[len(served) // 2 :].sum(axis=0)
    assert late[:2].sum() == 0 and np.all(late[2:] > 0)


def limited(dispatch, **more) -> System:
    return System(DRIVE, Replicas(2), dispatch, FCFS(), queue=Depth(2), slots=4, **more)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Depth(0), "a queue depth of 0: it must be at least 1"),
        (lambda: Bricks(Replicas(2), 0), "drives per brick 0: give a whole number, between 1"),
        (lambda: Bricks(Replicas(2), 2, 0), "a stripe unit of 0 sectors: give a whole number, between 1"),
        (
            lambda: System(DRIVE, Bricks(Replicas(2), 2), Hashing(), FCFS(), drives=5),
            "bricks of 2 drives in a system of 5",
        ),
        (
            lambda: limited(Broadcast(), faults=FaultSchedule(outage(0, 5))),
            "a queue of limited depth: not modelled with claims",
        ),
        (lambda: limited(DSPTF()), "a queue of limited depth: not modelled with claims"),
        (lambda: limited(Hedged(1e-3)), "a queue of limited depth: not modelled with claims"),
        (lambda: limited(Hashing(), write=Background()), "a queue of limited depth: not modelled with claims"),
        (lambda: ShortestQueue(33), "choices 33: give a whole number, between 1 and 32"),
        (
            lambda: limited(Hashing(), arbitration=DSPTF()),
            "a system's arbitration: given DSPTF of storagekit.dispatch; give an arbitration",
        ),
        (lambda: Redundant(2.5), "choices 2.5: give a whole number"),
    ],
)
def test_impossible_settings_raise(unchecked, build, message):
    assert_refused(build, message)
