"""Invariants that hold for every dispatcher, scheduler and completion rule. A new component gets a row here.

Dispatchers and schedulers are selected by a number, so that all of them run in one batch and compile once. Other tests
check that a number selects the component itself (dispatch/test_switch.py, schedule/test_disciplines.py).
"""

from collections import namedtuple
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from own_scheme import RandomOfTwo

from storagekit.cache import BrickLRU
from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.dispatch import (
    ARS,
    C3,
    DSPTF,
    LARD,
    AbstractDispatch,
    Broadcast,
    Central,
    DispatchSwitch,
    Hashing,
    JoinIdleQueue,
    NearestIdle,
    Prequal,
    Randomized,
    Redundant,
    ShortestQueue,
    ShortestQueueWithMemory,
    WeightedHashing,
    central,
)
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, keys, stack
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.placement import Declustered, Replicas, SRMirror
from storagekit.schedule import CLOOK, FCFS, LOOK, SATF, SSTF, ScheduleSwitch
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import (
    AbstractArrivals,
    ClosedLoop,
    ClosedOrOpen,
    ExponentialSize,
    PoissonArrivals,
    RandomRequests,
)
from storagekit.write import AllCopies, Background, FirstCopy, Immediate, ReceivingBrick


def dispatchers(bricks: int) -> tuple[AbstractDispatch, ...]:
    weights = 1 + np.arange(bricks) % 2
    one_serves = DSPTF(1e-3), central(), Hashing(), WeightedHashing(weights), LARD(2.0, 4.0), NearestIdle()
    adaptive = ARS(window=0.1), C3(2), Prequal(2, 2, 0.02), Randomized(), Central((5e-3,) * bricks)
    exact = Central((5e-3,) * bricks, exact=True)
    # the last: a user's dispatcher from outside the package
    sampled = ShortestQueue(2), ShortestQueueWithMemory(1, 2), JoinIdleQueue(2, 2), Redundant(2)
    return *one_serves, *sampled, Broadcast(), *adaptive, exact, RandomOfTwo()


DISPATCHERS = dispatchers(3)
SCHEDULES = (FCFS(), SSTF(), LOOK(), CLOOK(), SATF())
WRITES = (Immediate(), FirstCopy(), ReceivingBrick(), AllCopies())
# delayed writes need a dispatcher that chooses when a drive becomes free, and not before
WITHOUT_LEAD = (central(), Hashing(), LARD(2.0, 4.0), NearestIdle())
DELAYING = (Background(4, most=64), Background(4, nvram=1, most=64))
DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=0.1e-3)
COPIES = 3
SLOTS = 12
REQUESTS = RandomRequests(ExponentialSize(8192), 0.7)
LOOP = ClosedLoop(REQUESTS, 6)
# requests per second: bricks that are sometimes idle, and overload, where arrivals are blocked until a slot is free
LIGHT, FLOOD = 200.0, 2000.0
HIT_TIME = 0.2e-3
WANTED = 300
SEEDS = (5, 3)
SUMS = sums_of(STANDARD)
Tally = namedtuple("Tally", [one.name for one in Record(SUMS).sums])


def name_of(component) -> str:
    latency = f"-{float(component.latency) * 1e3:g}ms" if hasattr(component, "latency") else ""
    return f"{type(component).__name__}{latency}"


def numbers(components) -> list:
    """Parameters of a test: the components' numbers, with their names as ids."""
    return [pytest.param(number, id=name_of(component)) for number, component in enumerate(components)]


def scenario(dispatch, schedule, completion, copies=COPIES) -> Scenario:
    system = System(DRIVE, Replicas(copies), dispatch, schedule, completion, drives=3, slots=SLOTS)
    return Scenario(system, LOOP)


def component(dispatch: int, schedule: int, completion) -> Scenario:
    return scenario(DispatchSwitch(DISPATCHERS, dispatch), ScheduleSwitch(SCHEDULES, schedule), completion)


def array(dispatch, schedule, write) -> Scenario:
    """Two stripes of two replicas on two mirrors."""
    placement = SRMirror(2, 2, 2, most_replicas=2)
    system = System(DRIVE, placement, dispatch, schedule, write, drives=8, slots=SLOTS)
    return Scenario(system, LOOP)


def replicating(dispatch: int, schedule: int, write) -> Scenario:
    return array(DispatchSwitch(WITHOUT_LEAD, dispatch), ScheduleSwitch(SCHEDULES, schedule), write)


def bricks_with_memory(dispatch, arrivals: AbstractArrivals, faults: FaultSchedule | None = None) -> Scenario:
    """Six bricks, with each extent on three of them. There are 2 MB of data, and an eighth fits into their memories."""
    system = System(
        DRIVE,
        Declustered(6, 3, data=2 * units.MB // units.SECTOR, extent=512),
        dispatch,
        SATF(),
        cache=BrickLRU.sized(48 * 1024.0, bricks=6, sectors=8, hit_time=HIT_TIME),
        faults=faults,
        drives=6,
        slots=SLOTS,
    )
    return Scenario(system, arrivals)


class Ran(NamedTuple):
    """A run: its system, its sums over all events, and its reports."""

    system: System
    tally: Tally
    reports: Any


def alone(scenario: Scenario, log) -> Ran:
    """A single run, with the last of the seeds."""
    outcome = execute(scenario, keys(SEEDS[-1:])[:, 0], WANTED, Record(SUMS, log))
    return Ran(scenario.system, over_time(outcome.tally), outcome.log)


def over_time(tally: dict[str, np.ndarray]) -> Tally:
    """Return the sums over all chunks."""
    return Tally(**{name: sums.sum(axis=0, dtype=np.float64) for name, sums in tally.items()})


def together(build: Callable[..., Scenario], log, *numbered, seeds=SEEDS) -> dict[tuple, list[Ran]]:
    """Run `build(*some)` in one batch for every combination of `numbered`. Returns one run per seed for each
    combination."""
    scenarios = {some: build(*some) for some in product(*numbered)}
    outcome = execute(*stack(list(scenarios.values()), seeds), WANTED, Record(SUMS, log))
    sums = over_time(outcome.tally)

    def run(system: System, number: int) -> Ran:
        return Ran(system, *jax.tree.map(lambda column: column[:, number], (sums, outcome.log)))

    each = len(seeds)
    return {
        some: [run(one.system, each * number + seed) for seed in range(each)]
        for number, (some, one) in enumerate(scenarios.items())
    }


def by_number(completed) -> dict[int, float]:
    number, response = np.ravel(completed.number), np.ravel(completed.response)
    return dict(zip(number[number >= 0].tolist(), response[number >= 0].tolist(), strict=True))


def assert_conserves(ran: Ran):
    system, tally, reports = ran
    # every request completes once; the numbers that are missing from 0, 1, ... are still in the system
    completed = reports.completed.number[reports.completed.number >= 0]
    assert len(completed) >= WANTED
    assert len(np.unique(completed)) == len(completed)
    admitted = int(tally.admitted[0])
    assert set(completed.tolist()) <= set(range(admitted))
    assert admitted - len(completed) <= SLOTS
    # time never runs backwards, and no completion is earlier than its request
    assert np.min(reports.elapsed) >= 0
    response = reports.completed.response[reports.completed.number >= 0]
    assert np.all(response >= 0)
    # a read needs an access, or memory with 0.2 ms here, so it takes at least an overhead
    read = reports.completed.read[reports.completed.number >= 0]
    assert np.all(response[read] > 0.1e-3)
    for part in (reports.seek, reports.rotation, reports.transfer):
        assert np.all(part[reports.served] >= 0)
    assert np.all(reports.rotation[reports.served] <= 6e-3 * (1 + 1e-6))
    # A read that misses in memory is one access, or more where claims arrive late. A write is one access for every copy
    # (in the background: every replica). Accesses in progress at the end are not counted.
    accesses = float(tally.served.sum())
    each = int(system.placement.parts)
    if isinstance(system.write, Background):
        each *= int(system.placement.replicas)
    expected = float(tally.reads[0] - tally.hits[0] + tally.twice[0] + each * tally.writes[0])
    assert abs(accesses - expected) <= SLOTS * each + system.drives
    assert set(np.unique(reports.replica[reports.served])) <= set(range(int(system.placement.replicas)))
    # no drive is busy for more than the whole time, except for accesses planned at the end
    assert np.all(tally.busy <= tally.elapsed + 20e-3)
    parts = (tally.seek + tally.rotation + tally.transfer).sum()
    assert parts == pytest.approx(tally.busy.sum(), rel=1e-5)
    assert float(tally.twice[0]) == 0 or float(system.arbitration.lead_time) > 0


def closed(completion, log) -> dict[tuple, list[Ran]]:
    """Run every dispatcher with every scheduler."""
    return together(lambda *some: component(*some, completion), log, range(len(DISPATCHERS)), range(len(SCHEDULES)))


@pytest.fixture(scope="module")
def whole(event_log):
    return closed(AllCopies(), event_log)


@pytest.fixture(
    scope="module",
    params=[
        # writes that complete after their last copy; arrays below have writes that complete after their first
        pytest.param(one, marks=[] if one is WRITES[3] else pytest.mark.slow, id=name_of(one))
        for one in WRITES
    ],
)
def conserving(request, event_log):
    return request.getfixturevalue("whole") if request.param is WRITES[3] else closed(request.param, event_log)


@pytest.mark.parametrize("schedule", numbers(SCHEDULES))
@pytest.mark.parametrize("dispatch", numbers(DISPATCHERS))
def test_dispatchers_schedules_and_completions_conserve(conserving, dispatch, schedule):
    for ran in conserving[dispatch, schedule]:
        assert_conserves(ran)


# a closed loop, and open loops by their rates
CLOSED = 0.0


@pytest.fixture(scope="module")
def remembering(event_log):
    """Bricks with memory in a closed loop, and in open loops with a brick whose arm is slow for a while. Bricks that stop
    in open loops are in test_blocked_arrivals.py."""

    def build(dispatch, rate):
        arrivals = ClosedOrOpen(REQUESTS, *((6,) if rate == CLOSED else (0, rate)))
        begins, ends = (10**6, 10**6 + 1) if rate == CLOSED else (100, 200)
        slow = FaultSchedule(Slowdown(1, 0.5, begins, ends), turning=0.0)
        return bricks_with_memory(DispatchSwitch(dispatchers(6), dispatch), arrivals, slow)

    return together(build, event_log, range(len(DISPATCHERS)), (CLOSED, LIGHT, FLOOD), seeds=SEEDS[:1])


@pytest.mark.parametrize("dispatch", numbers(DISPATCHERS))
def test_declustered_bricks_with_memory_conserve(remembering, dispatch):
    for ran in remembering[dispatch, CLOSED]:
        assert_conserves(ran)
        _, tally, reports = ran
        assert np.all(tally.served > 0)
        hits, elsewhere = float(tally.hits[0]), float(tally.elsewhere[0])
        assert 0 < elsewhere < hits < 0.2 * tally.reads[0]
        # a hit takes the hit time, plus a message if another brick has the data, except for a few that wait for a read
        # in progress
        hit = reports.admission.hit
        number = np.cumsum(reports.admitted)[hit] - 1
        takes = HIT_TIME + float(DISPATCHERS[dispatch].arbitration.network_latency) * reports.admission.elsewhere[hit]
        completed = by_number(reports.completed)
        late = np.array([completed[n] - time for n, time in zip(number, takes, strict=True) if n in completed])
        assert np.min(late) > -1e-6
        assert np.mean(late < 1e-6) > 0.7


@pytest.mark.parametrize("rate", [LIGHT, FLOOD])
@pytest.mark.parametrize("dispatch", numbers(DISPATCHERS))
def test_open_loops_conserve(remembering, dispatch, rate):
    for ran in remembering[dispatch, rate]:
        assert_conserves(ran)
        blocked = float(ran.tally.blocked[0])
        assert blocked > 0.5 * WANTED if rate == FLOOD else blocked == 0
        assert float(ran.tally.hits[0]) > WANTED / 60


def replicated(write, log) -> dict[tuple, list[Ran]]:
    """Run every dispatcher without lead time with every scheduler."""
    return together(lambda *some: replicating(*some, write), log, range(len(WITHOUT_LEAD)), range(len(SCHEDULES)))


@pytest.fixture(scope="module")
def delayed(event_log):
    return replicated(DELAYING[0], event_log)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(one, marks=[] if one in (WRITES[1], DELAYING[0]) else pytest.mark.slow, id=name_of(one))
        for one in (*WRITES, *DELAYING)
    ],
)
def arrays(request, event_log):
    one = request.param
    return request.getfixturevalue("delayed") if one is DELAYING[0] else replicated(one, event_log)


@pytest.mark.parametrize("schedule", numbers(SCHEDULES))
@pytest.mark.parametrize("dispatch", numbers(WITHOUT_LEAD))
def test_arrays_of_replicas_conserve(arrays, dispatch, schedule):
    for ran in arrays[dispatch, schedule]:
        assert_conserves(ran)


def test_delayed_writes_reject_a_dispatcher_that_chooses_early():
    with pytest.raises(
        InputError, match=r"selects requests 0.002 s before a disk is idle: use a dispatcher without messages"
    ):
        array(DSPTF(1e-3), SATF(), Background())


# a single drive has no weights
SINGLE = (DSPTF(40e-6), central(), Hashing(), LARD(2.0, 4.0), NearestIdle())


@pytest.fixture(scope="module")
def one_copy(event_log):
    def build(dispatch):
        return scenario(DispatchSwitch(SINGLE, dispatch), SATF(), AllCopies(), copies=1)

    return together(build, event_log, range(len(SINGLE)))


@pytest.mark.parametrize("dispatch", numbers(SINGLE))
def test_a_drive_with_work_is_always_busy(one_copy, dispatch):
    """There is one copy, so all waiting requests wait at the only drive, and its accesses fill the time.

    That also holds for choices made two latencies early, as long as no access is shorter than that.
    """
    for _, tally, _ in one_copy[dispatch,]:
        assert tally.busy.sum() == pytest.approx(tally.elapsed.sum(), rel=1e-3)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(whole, event_log):
    once, again = (
        {some: [[leaf.tobytes() for leaf in jax.tree.leaves(ran[1:])] for ran in runs] for some, runs in batch.items()}
        for batch in (whole, closed(AllCopies(), event_log))
    )
    assert [some for some in once if once[some] != again[some]] == []


def assert_same_responses(ours, theirs):
    """Every request that completed in both runs took the same time within 1 us. Simultaneous events may be in another
    order."""
    ours, theirs = by_number(ours), by_number(theirs)
    both = sorted(set(ours) & set(theirs))
    assert len(both) > 0.9 * max(len(ours), len(theirs)) > 20
    np.testing.assert_allclose([ours[n] for n in both], [theirs[n] for n in both], rtol=0, atol=1e-6)


# by default this law is tested by test_random_systems.py
@pytest.mark.slow
@pytest.mark.parametrize("schedule", numbers(SCHEDULES))
@pytest.mark.parametrize("dispatch", numbers(DISPATCHERS))
def test_a_run_in_a_batch_is_the_single_run(whole, dispatch, schedule, event_log):
    assert_batch_run_is_single(whole[dispatch, schedule], component(dispatch, schedule, AllCopies()), event_log)


@pytest.mark.slow
def test_a_run_in_a_batch_with_delayed_writes_is_the_single_run(delayed, event_log):
    dispatch, schedule = (WITHOUT_LEAD.index(NearestIdle()), SCHEDULES.index(SATF()))
    one = replicating(dispatch, schedule, DELAYING[0])
    assert_batch_run_is_single(delayed[dispatch, schedule], one, event_log)


def assert_batch_run_is_single(runs: list[Ran], scenario: Scenario, log):
    other, ours = runs
    single = alone(scenario, log).reports.completed
    # a batch continues until its slowest run has enough requests
    events = min(len(single.number), len(ours.reports.completed.number))
    assert_same_responses(*(jax.tree.map(lambda row: row[:events], run) for run in (ours.reports.completed, single)))
    assert not np.array_equal(other.reports.completed.response, ours.reports.completed.response)


@pytest.mark.parametrize("dispatch", [DSPTF(1e-3), Hashing()], ids=name_of)
@pytest.mark.slow
def test_jit_changes_nothing(dispatch, unfold):
    """The run has 128 events, compiled and operation by operation."""
    open_loop = Scenario(
        System(DRIVE, Replicas(2), dispatch, SATF(), drives=2, slots=4), PoissonArrivals(REQUESTS, 80.0)
    )
    _, compiled = unfold(open_loop)
    with jax.disable_jit():
        _, plain = unfold(open_loop)
    assert_same_responses(compiled.completed, plain.completed)
