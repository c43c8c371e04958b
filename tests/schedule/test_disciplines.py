"""Test which request each scheduler takes next, from a queue worked by hand.

An ideal drive of 100 cylinders, 10 ms from end to end and a 10 ms revolution; the arm on cylinder 50, the platter at 0.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.component.events import AccessStarted, StateSizes
from storagekit.drive import Arm, RateServer, Target, ideal_drive
from storagekit.placement import Replicas
from storagekit.schedule import CLOOK, FCFS, LOOK, SATF, SSTF, Choice, ScheduleSwitch

CYLINDERS = np.array([52, 40, 90, 49])
# turns ahead of the platter; the arm needs 0.2, 1.0, 4.0 and 0.1 ms, 1/50 to 2/5 of a turn
ANGLES = np.array([0.01, 0.15, 0.5, 0.9])
ARRIVAL_TIMES = np.array([-3e-3, -9e-3, -1e-3, -5e-3])


@pytest.fixture(scope="module")
def drive():
    return ideal_drive(full_seek=9.9e-3, revolution=10e-3, cylinders=100)


def choice(drive, cylinder=50) -> Choice:
    count = len(CYLINDERS)
    rows = jnp.zeros(count, jnp.int32)
    cylinders = jnp.asarray(CYLINDERS, jnp.int32)
    target = Target(cylinders, rows, jnp.asarray(ANGLES, jnp.float32), jnp.zeros(count), Arm(cylinders, rows))
    arm = Arm(jnp.asarray([cylinder], jnp.int32), jnp.zeros(1, jnp.int32))
    arrival_time = jnp.asarray(ARRIVAL_TIMES, jnp.float32)
    reads, first = jnp.ones(count, bool), jnp.zeros(count, jnp.int32)
    return Choice(
        drive, drive, Replicas(1), jnp.zeros(1, jnp.int32), arm, jnp.zeros(1), target, reads, arrival_time, first, None
    )


def order(schedule, drive, private=None, cylinder=50) -> list[int]:
    return np.argsort(np.asarray(schedule.cost(private, choice(drive, cylinder)))).tolist()


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (FCFS(), [1, 3, 0, 2]),
        (SSTF(), [3, 0, 1, 2]),
        # 1.5 ms, 5 ms, 9 ms; the second nearest cylinder has just missed its angle: 10.1 ms
        (SATF(), [1, 2, 3, 0]),
        (CLOOK(), [0, 2, 1, 3]),
    ],
)
def test_the_order_worked_by_hand(drive, schedule, expected):
    assert order(schedule, drive) == expected


def test_the_cost_under_satf_is_the_access_time(drive):
    cost = np.asarray(SATF().cost(None, choice(drive)))
    np.testing.assert_allclose(cost, [10.1e-3, 1.5e-3, 5e-3, 9e-3], atol=1e-7)


def test_look_goes_on_in_its_direction_and_then_turns(drive):
    look = LOOK()
    up, down = jnp.ones(1, jnp.int32), -jnp.ones(1, jnp.int32)
    assert order(look, drive, up) == [0, 2, 3, 1]
    assert order(look, drive, down) == [3, 1, 0, 2]
    assert order(look, drive, up, cylinder=95) == [2, 0, 3, 1]


@pytest.mark.parametrize("schedule", [LOOK(), CLOOK()])
def test_on_one_cylinder_the_shortest_access_is_first(drive, schedule):
    """The angles are 0.01, 0.15, 0.5 and 0.9 of a turn. The first has just passed when the arm has moved for 0.2 ms."""
    seen = choice(drive)
    same = seen.target._replace(cylinder=jnp.full(4, 52, jnp.int32))
    cost = np.asarray(schedule.cost(jnp.ones(1, jnp.int32), seen._replace(target=same)))
    assert np.argsort(cost).tolist() == [1, 2, 3, 0] and np.all((cost >= 2) & (cost < 3))


@pytest.mark.parametrize("schedule", [LOOK(), CLOOK()])
def test_a_drive_without_rotation_serves_in_order_of_slots(schedule):
    server = RateServer(1000)
    cost = np.asarray(
        schedule.cost(
            jnp.ones(1, jnp.int32), choice(server)._replace(target=server.locate(np.arange(4), np.ones(4, int)))
        )
    )
    assert np.isfinite(cost).all() and np.ptp(cost) == 0


def moved(drive, distance) -> AccessStarted:
    """Return an event: the marked drives choose requests at this distance in cylinders."""
    one, always = jnp.zeros(1, jnp.int32), jnp.ones(1, bool)
    return AccessStarted(
        one, one, None, Replicas(1), always, always, drive, jnp.asarray([distance], jnp.int32), jnp.zeros(1, jnp.uint32)
    )


def test_look_stores_its_direction():
    look = LOOK()
    private = look.init(StateSizes(1, 2, ()))
    chooser = jnp.asarray([True, False])
    private = look.on_access_started(private, moved(chooser, -10))
    assert private.tolist() == [-1, 1]
    private = look.on_access_started(private, moved(chooser, 0))
    assert private.tolist() == [-1, 1]


def test_a_switch_acts_as_the_scheduler_it_selects(drive):
    """Move the arm down and back up; only LOOK stores the direction."""
    schedulers = (FCFS(), SSTF(), LOOK(), CLOOK(), SATF())
    orders = []
    for index, scheduler in enumerate(schedulers):
        one = ScheduleSwitch(schedulers, index)
        ours, alone = (one_or_other.init(StateSizes(1, 1, ())) for one_or_other in (one, scheduler))
        for distance in (-10, 5):
            gone = moved(jnp.ones(1, bool), distance)
            ours, alone = one.on_access_started(ours, gone), scheduler.on_access_started(alone, gone)
            seen = choice(drive)
            np.testing.assert_array_equal(one.cost(ours, seen), scheduler.cost(alone, seen))
        orders.append(order(one, drive, ours))
    assert len({tuple(found) for found in orders}) == len(schedulers)


@pytest.mark.parametrize(
    ("schedulers", "index", "says"),
    [
        ((FCFS(), SATF()), 2, "scheduler number 2: the switch has 2 entries, numbered from 0"),
        ((FCFS(), SATF()), -1, "scheduler number -1: the switch has 2 entries, numbered from 0"),
        ((), 0, "scheduler number 0: the switch has 0 entries, numbered from 0"),
    ],
)
def test_a_number_without_a_scheduler_raises(schedulers, index, says):
    assert_refused(lambda: ScheduleSwitch(schedulers, index), says)
