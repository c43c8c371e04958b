"""Blocked arrivals, bricks that stop and lost claims: time goes on, never goes back, and runs do not depend on their
batch.
"""

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
MIRRORS = SRMirror(1, 1, 3)
DISPATCHERS = (Hashing(), DSPTF(1e-3), LARD(2.0, 4.0), NearestIdle(), DSPTF(1e-3, delivery=Lossy(0.1)))


class Events(NamedTuple):
    elapsed: Array
    number: Array
    response: Array
    lost: Array


class EventLog(AbstractLog):
    """The time step of each event, and the requests that it completed."""

    def keep(self, scenario, state, report):
        return Events(report.elapsed, report.completed.number, report.completed.response, report.lost)


def events_of(scenarios: list[Scenario], requests: int = WANTED) -> Events:
    """Events `[event, run]` of runs in one batch."""
    merged, key = stack(scenarios, [7])
    log = execute(merged, key, requests, Record(log=EventLog())).log
    return jax.tree.map(lambda leaf: leaf.reshape(-1, len(scenarios)), log)


def flooded(dispatch: int, completion, begins=0, ends=NEVER, copies: int = 2) -> Scenario:
    """Two overloaded bricks; the first is down from request `begins` to request `ends`."""
    faults = FaultSchedule(outage(0, begins, ends), timeout=0.05)
    chosen = DispatchSwitch(DISPATCHERS, dispatch)
    system = System(DRIVE, Replicas(copies), chosen, SATF(), completion, faults=faults, slots=SLOTS)
    return Scenario(system, FLOOD)


def test_an_outage_after_the_end_blocks_no_request():
    """The outage lies after the run's end; arrivals are blocked while all eight slots are occupied."""
    far = FaultSchedule(outage(0, 10**6, 10**6 + 1))

    def response(faults) -> dict[int, float]:
        system = System(DRIVE, Replicas(2), Hashing(), FCFS(), faults=faults, slots=SLOTS)
        events = events_of([Scenario(system, FLOOD)])
        happened = events.number != NO_REQUEST
        return dict(zip(events.number[happened].tolist(), events.response[happened].tolist(), strict=True))

    seen, expected = response(far), response(FaultSchedule())
    first = sorted(expected)[: WANTED // 2]
    assert [seen[one] for one in first] == pytest.approx([expected[one] for one in first], abs=2e-6)


@pytest.mark.parametrize(
    "completion",
    slow_but([AllCopies()], [Immediate(), FirstCopy(), ReceivingBrick(), AllCopies()]),
    ids=lambda c: type(c).__name__,
)
def test_time_goes_forward_around_stops(completion):
    """Outages at the start, in the middle, half as long as a service, and forever, under every dispatcher."""
    slowdowns = [(0, 40), (100, 300), (150, 151), (200, NEVER)]
    runs = [flooded(number, completion, *slowdown) for number in range(len(DISPATCHERS)) for slowdown in slowdowns]
    events = events_of(runs)
    assert np.min(events.elapsed) >= 0
    happened = events.number != NO_REQUEST
    assert np.min(events.response[happened]) >= 0
    for run in range(len(runs)):
        numbers = events.number[happened[:, run], run]
        assert len(set(numbers.tolist())) == len(numbers) >= WANTED  # no request completes twice
        assert set(range(WANTED // 2)) <= set(numbers.tolist())  # no request is lost


@pytest.mark.parametrize("placement", slow_but([MIRRORS], [Replicas(3), MIRRORS]), ids=lambda one: type(one).__name__)
def test_lost_claims_and_delayed_writes_leave_no_slot_occupied(placement):
    """A read that waits at a drive with stale data occupies its slot forever, if the drive there never learns that it
    was served.

    Requests of megabytes overlap earlier writes, so that many reads find stale copies. At loss 0.05 a lost claim delays
    a slot for seconds, until the drive becomes free. Slots that stay occupied would be minutes old.
    """
    dispatch = DSPTF(0.0, delivery=Lossy(0.05))
    system = System(DRIVE, placement, dispatch, SATF(), Background(1000), slots=64)
    merged, key = stack([Scenario(system, ClosedLoop(RandomRequests(FixedSize(4e6), 0.7), 32))], [1, 2, 3, 4])
    runner = Runner(merged, key, Record())
    runner.advance(150)
    slots = jax.tree.map(np.asarray, runner.run.state.slots)
    kept = slots.read & slots.completed & (slots.waiting != 0)
    assert np.max(-slots.arrival_time, where=kept, initial=0.0) < 30


@pytest.mark.slow
def test_a_run_does_not_depend_on_its_batch():
    """Results are equal alone and in a batch with runs that take far longer."""

    def loop(depth):
        system = System(DRIVE, Replicas(2), Hashing(), SATF(), slots=64)
        return Scenario(system, ClosedLoop(MIXED, depth))

    alone = replicate(loop(16), seeds=[3], requests=WANTED)
    in_batch = sweep(lambda depth: loop(depth), {"depth": [1, 16]}, seeds=[3, 4, 5], requests=WANTED)
    ours = in_batch.sel(depth=16, seed=3)
    assert all(np.array_equal(alone[name].squeeze(), ours[name], equal_nan=True) for name in alone.data_vars)


@pytest.mark.slow
def test_striped_mirrors_block_arrivals_too():
    """Delayed writes in an overloaded open loop: all blocked arrivals enter in the end."""
    system = System(DRIVE, SRMirror(1, 2, 2), NearestIdle(), SATF(), Background(4), slots=SLOTS)
    events = events_of([Scenario(system, PoissonArrivals(MIXED, rate)) for rate in (100.0, 1000.0)])
    assert np.min(events.elapsed) >= 0 and not np.any(events.lost)
