"""Arrivals that wait outside for a slot, bricks that stop, claims that get lost: nothing stands still, goes back or depends
on company."""

from typing import NamedTuple

import jax
import numpy as np
import pytest
from helpers import slow_but
from jaxtyping import Array

from storagekit.arbitration import Lossy
from storagekit.dispatch import DSPTF, LARD, DispatchSwitch, Hashing, NearestIdle
from storagekit.drive import ideal_drive
from storagekit.engine import NO_REQUEST, AbstractLog, Record, Runner, Scenario, System, execute, stack
from storagekit.faults import FaultSchedule, outage
from storagekit.faults.schedule import NEVER
from storagekit.placement import Replicas, SRMirror
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import replicate, sweep
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies, Background, FirstCopy, Immediate, ReceivingBrick

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3)
MIXED = RandomRequests(FixedSize(4096), 0.7)
FLOOD = PoissonArrivals(MIXED, 1000.0)
SLOTS, WANTED = 8, 600
DISPATCHERS = (Hashing(), DSPTF(1e-3), LARD(2.0, 4.0), NearestIdle(), DSPTF(1e-3, delivery=Lossy(0.1)))


class Told(NamedTuple):
    elapsed: Array
    number: Array
    response: Array
    lost: Array


class EventLog(AbstractLog):
    """How far time moved in each event, and who was answered."""

    def keep(self, scenario, state, report):
        return Told(report.elapsed, report.answered.number, report.answered.response, report.lost)


def told_by(scenarios: list[Scenario], requests: int = WANTED) -> Told:
    """Events `[event, lane]` of runs side by side."""
    merged, key = stack(scenarios, [7])
    log = execute(merged, key, requests, Record(log=EventLog())).log
    return jax.tree.map(lambda leaf: leaf.reshape(-1, len(scenarios)), log)


def flooded(dispatch: int, completion, begins=0, ends=NEVER, copies: int = 2) -> Scenario:
    """Two bricks that cannot keep up; the first is down from one request to another."""
    condition = FaultSchedule(outage(0, begins, ends), timeout=0.05)
    chosen = DispatchSwitch(DISPATCHERS, dispatch)
    system = System(DRIVE, Replicas(copies), chosen, SATF(), completion, condition=condition, slots=SLOTS)
    return Scenario(system, FLOOD)


def test_a_stop_that_never_comes_holds_nobody_up():
    """The stop lies after the run's end; requests wait outside for one of eight slots."""
    far = FaultSchedule(outage(0, 10**6, 10**6 + 1))

    def response(condition) -> dict[int, float]:
        system = System(DRIVE, Replicas(2), Hashing(), FCFS(), condition=condition, slots=SLOTS)
        told = told_by([Scenario(system, FLOOD)])
        happened = told.number != NO_REQUEST
        return dict(zip(told.number[happened].tolist(), told.response[happened].tolist(), strict=True))

    seen, expected = response(far), response(FaultSchedule())
    first = sorted(expected)[: WANTED // 2]
    assert [seen[one] for one in first] == pytest.approx([expected[one] for one in first], abs=2e-6)


@pytest.mark.parametrize(
    "completion",
    slow_but([AllCopies()], [Immediate(), FirstCopy(), ReceivingBrick(), AllCopies()]),
    ids=lambda c: type(c).__name__,
)
def test_time_goes_forward_around_stops(completion):
    """Stops at the start, in the middle, twice as short as a service, and for ever, under every dispatcher."""
    slowdowns = [(0, 40), (100, 300), (150, 151), (200, NEVER)]
    lanes = [flooded(number, completion, *slowdown) for number in range(len(DISPATCHERS)) for slowdown in slowdowns]
    told = told_by(lanes)
    assert np.min(told.elapsed) >= 0
    happened = told.number != NO_REQUEST
    assert np.min(told.response[happened]) >= 0
    for lane in range(len(lanes)):
        numbers = told.number[happened[:, lane], lane]
        assert len(set(numbers.tolist())) == len(numbers) >= WANTED  # none twice
        assert set(range(WANTED // 2)) <= set(numbers.tolist())  # none lost


@pytest.mark.parametrize("placement", [Replicas(3), SRMirror(1, 1, 3)], ids=lambda one: type(one).__name__)
def test_lost_claims_and_delayed_writes_leave_no_slot_behind(placement):
    """A read that waits where its data is stale keeps its slot for ever, if the drive there never hears that it was served.

    Requests of megabytes overlap what was written, so that many reads find stale copies. Claims at loss 0.05 stay unheard for
    seconds, until the drive falls free; the slots that were left behind were minutes old.
    """
    dispatch = DSPTF(0.0, delivery=Lossy(0.05))
    system = System(DRIVE, placement, dispatch, SATF(), Background(1000), slots=64)
    merged, key = stack([Scenario(system, ClosedLoop(RandomRequests(FixedSize(4e6), 0.7), 32))], [1, 2, 3, 4])
    runner = Runner(merged, key, Record())
    runner.advance(150)
    slots = jax.tree.map(np.asarray, runner.run.state.slots)
    kept = slots.read & slots.answered & (slots.waiting != 0)
    assert np.max(-slots.arrival_time, where=kept, initial=0.0) < 30


@pytest.mark.slow
def test_a_lane_is_the_same_in_any_company():
    """Alone, and beside lanes that take far longer."""

    def loop(depth):
        system = System(DRIVE, Replicas(2), Hashing(), SATF(), slots=64)
        return Scenario(system, ClosedLoop(MIXED, depth))

    alone = replicate(loop(16), seeds=[3], requests=WANTED)
    beside = sweep(lambda depth: loop(depth), {"depth": [1, 16]}, seeds=[3, 4, 5], requests=WANTED)
    ours = beside.sel(depth=16, seed=3)
    assert all(np.array_equal(alone[name].squeeze(), ours[name], equal_nan=True) for name in alone.data_vars)


@pytest.mark.slow
def test_striped_mirrors_hold_up_too():
    """Delayed writes in an open loop that floods: what waits outside enters in the end."""
    system = System(DRIVE, SRMirror(1, 2, 2), NearestIdle(), SATF(), Background(4), slots=SLOTS)
    told = told_by([Scenario(system, PoissonArrivals(MIXED, rate)) for rate in (100.0, 1000.0)])
    assert np.min(told.elapsed) >= 0 and not np.any(told.lost)
