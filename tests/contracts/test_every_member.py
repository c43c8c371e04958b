"""What holds whoever dispatches, schedules and answers. A new member gets a row here."""

import jax
import numpy as np
import pytest

from storagekit import units
from storagekit.cache import BrickLRU
from storagekit.dispatch import DSPTF, LARD, ByNumber, Hashing, NearestIdle, WeightedHashing, central
from storagekit.drive import ideal_drive
from storagekit.engine import (
    AllCopies,
    AtOnce,
    Background,
    FirstCopy,
    Foreground,
    ReceivingBrick,
    ResponseLog,
    Scenario,
    System,
    execute,
    keys,
)
from storagekit.errors import InputError
from storagekit.placement import Declustered, Replicas, SRMirror
from storagekit.schedule import CLOOK, FCFS, LOOK, SATF, SSTF
from storagekit.workload import ClosedLoop, ExponentialSize, PoissonArrivals, RandomRequests

DISPATCHERS = (
    DSPTF(1e-3),
    central(),
    Hashing(),
    WeightedHashing(np.array([1.0, 2.0, 1.0])),
    LARD(2.0, 4.0),
    NearestIdle(),
)
# by a number, for the laws that a whole run shows: what it compiles is the sum of its members
BY_NUMBER = ByNumber((Hashing(), DSPTF(1e-3)), 1)
SCHEDULES = (FCFS(), SSTF(), LOOK(), CLOOK(), SATF())
COMPLETIONS = (AtOnce(), FirstCopy(), ReceivingBrick(), AllCopies())
# delayed writes need a dispatcher that chooses when a drive falls free, and not before
WITHOUT_LEAD = (central(), Hashing(), LARD(2.0, 4.0), NearestIdle())
PROPAGATIONS = (Foreground(), Background(4))
DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=0.1e-3)
COPIES = 3
SLOTS = 12
REQUESTS = RandomRequests(ExponentialSize(8192), 0.7)
WANTED = 600


def named(member) -> str:
    return f"{type(member).__name__}{'' if not hasattr(member, 'latency') else f'-{float(member.latency) * 1e3:g}ms'}"


def scenario(dispatch, schedule, completion, copies=COPIES) -> Scenario:
    system = System(DRIVE, Replicas(copies), dispatch, schedule, completion, drives=3, slots=SLOTS)
    return Scenario(system, ClosedLoop(REQUESTS, 6))


def array(dispatch, schedule, completion, propagation) -> Scenario:
    """Two stripes of two replicas on two mirrors."""
    placement = SRMirror(2, 2, 2, most_replicas=2)
    system = System(DRIVE, placement, dispatch, schedule, completion, propagation, drives=8, slots=SLOTS)
    return Scenario(system, ClosedLoop(REQUESTS, 6))


def bricks_with_memory(dispatch) -> Scenario:
    """Six bricks, three of which hold each extent; 2 MB of data, an eighth of which fits in their memories."""
    cache = BrickLRU.sized(48 * 1024.0, bricks=6, sectors=8, hit_time=0.2e-3)
    system = System(
        DRIVE,
        Declustered(6, 3, data=2 * units.MB // units.SECTOR, extent=256),
        dispatch,
        SATF(),
        cache=cache,
        drives=6,
        slots=SLOTS,
    )
    return Scenario(system, ClosedLoop(REQUESTS, 6))


def single(scenario, log):
    """One run: sums over the whole of it, and the reports of its events."""
    outcome = execute(scenario, keys([3])[:, 0], WANTED, log)
    return type(outcome.tally)(*(sums.sum(axis=0, dtype=np.float64) for sums in outcome.tally)), outcome.log


def assert_conserves(scenario, log):
    tally, reports = single(scenario, log)
    # every request is answered once: what is missing from 0, 1, ... is still in the system
    answered = reports.answered.number[reports.answered.number >= 0]
    assert len(answered) >= WANTED
    assert len(np.unique(answered)) == len(answered)
    admitted = int(tally.admitted[0])
    assert set(answered.tolist()) <= set(range(admitted))
    assert admitted - len(answered) <= SLOTS
    # time never runs backwards, and no answer comes before its request
    assert np.all(reports.elapsed >= 0)
    response = reports.answered.response[reports.answered.number >= 0]
    assert np.all(response >= 0)
    # a read is answered by an access, or from memory, which takes 0.2 ms here, so that it takes at least an overhead
    read = reports.answered.read[reports.answered.number >= 0]
    assert np.all(response[read] > 0.1e-3)
    for part in (reports.seek, reports.rotation, reports.transfer):
        assert np.all(part[reports.served] >= 0)
    assert np.all(reports.rotation[reports.served] <= 6e-3 * (1 + 1e-6))
    # a read that memory does not answer is one access, a write one on every copy (in the background on every replica), but
    # for what is under way
    accesses = float(tally.served.sum())
    layout = scenario.system.placement
    each = int(layout.copies)
    if isinstance(scenario.system.propagation, Background):
        each *= int(layout.replicas)
    expected = float(tally.reads[0] - tally.hits[0] + each * tally.writes[0])
    assert abs(accesses - expected) <= SLOTS * each + scenario.system.drives
    assert set(np.unique(reports.replica[reports.served])) <= set(range(int(layout.replicas)))
    # no drive works more than all the time, but for what was planned at the end
    assert np.all(tally.busy <= tally.elapsed + 20e-3)
    parts = (tally.seek + tally.rotation + tally.transfer).sum()
    assert parts == pytest.approx(tally.busy.sum(), rel=1e-5)
    assert float(tally.twice[0]) == 0


def test_a_dispatcher_by_number_conserves(event_log):
    assert_conserves(scenario(BY_NUMBER, SATF(), AllCopies()), event_log)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=named)
@pytest.mark.parametrize("dispatch", DISPATCHERS, ids=named)
def test_dispatchers_and_schedules_conserve(dispatch, schedule, event_log):
    assert_conserves(scenario(dispatch, schedule, AllCopies()), event_log)


@pytest.mark.parametrize("completion", COMPLETIONS[:-1], ids=named)
@pytest.mark.parametrize("dispatch", DISPATCHERS, ids=named)
def test_dispatchers_and_completions_conserve(dispatch, completion, event_log):
    assert_conserves(scenario(dispatch, SATF(), completion), event_log)


@pytest.mark.slow
@pytest.mark.parametrize("completion", COMPLETIONS[:-1], ids=named)
@pytest.mark.parametrize("schedule", SCHEDULES[:-1], ids=named)
@pytest.mark.parametrize("dispatch", DISPATCHERS, ids=named)
def test_all_the_rest_conserve(dispatch, schedule, completion, event_log):
    assert_conserves(scenario(dispatch, schedule, completion), event_log)


@pytest.mark.parametrize("dispatch", [DSPTF(1e-3), Hashing()], ids=named)
def test_declustered_bricks_with_memory_conserve(dispatch, event_log):
    scenario = bricks_with_memory(dispatch)
    assert_conserves(scenario, event_log)
    tally, reports = single(scenario, event_log)
    assert np.all(tally.served > 0)
    hits, elsewhere = float(tally.hits[0]), float(tally.elsewhere[0])
    assert 0 < elsewhere < hits < 0.2 * tally.reads[0]
    # a hit takes its time, and a message where another brick has it, but for the few that wait for a read under way
    response = reports.answered.response[reports.answered.read & (reports.answered.number >= 0)]
    hit_time, hop = 0.2e-3, float(dispatch.hop)
    here, there = (np.isclose(response, time, atol=1e-6) for time in (hit_time, hit_time + hop))
    assert 0.8 * hits < np.sum(here | there) <= hits
    assert response.min() == pytest.approx(hit_time, abs=1e-6)


@pytest.mark.parametrize("propagation", PROPAGATIONS, ids=named)
def test_an_array_of_replicas_conserves(propagation, event_log):
    assert_conserves(array(NearestIdle(), SATF(), FirstCopy(), propagation), event_log)


@pytest.mark.slow
@pytest.mark.parametrize("completion", COMPLETIONS, ids=named)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=named)
@pytest.mark.parametrize("dispatch", WITHOUT_LEAD, ids=named)
@pytest.mark.parametrize("propagation", PROPAGATIONS, ids=named)
def test_every_array_of_replicas_conserves(propagation, dispatch, schedule, completion, event_log):
    assert_conserves(array(dispatch, schedule, completion, propagation), event_log)


def test_delayed_writes_refuse_a_dispatcher_that_chooses_early():
    with pytest.raises(InputError, match=r"chooses 0.002 s early: use one without messages"):
        array(DSPTF(1e-3), SATF(), FirstCopy(), Background())


@pytest.mark.parametrize("dispatch", [DSPTF(40e-6), central(), Hashing(), LARD(2.0, 4.0), NearestIdle()], ids=named)
def test_a_drive_with_work_never_rests(dispatch):
    """One copy, so that whatever waits, waits at the only drive: its accesses fill the time.

    That holds for choices made two latencies early as well, as long as no access is shorter than that.
    """
    tally = execute(scenario(dispatch, SATF(), AllCopies(), copies=1), keys([3])[:, 0], WANTED).tally
    assert tally.busy.sum(dtype=np.float64) == pytest.approx(tally.elapsed.sum(dtype=np.float64), rel=1e-3)


@pytest.mark.parametrize("dispatch", DISPATCHERS, ids=named)
def test_the_same_seed_gives_the_same_bytes(dispatch, event_log):
    def once():
        outcome = execute(scenario(dispatch, SATF(), AllCopies()), keys([3])[:, 0], WANTED, event_log)
        return [leaf.tobytes() for leaf in jax.tree.leaves(outcome)]

    assert once() == once()


def by_number(answered) -> dict[int, float]:
    number, response = np.ravel(answered.number), np.ravel(answered.response)
    return dict(zip(number[number >= 0].tolist(), response[number >= 0].tolist(), strict=True))


def assert_same_answers(ours, theirs):
    """Every request that both runs answered took the same time, within 1 us; at a tie events may change places."""
    ours, theirs = by_number(ours), by_number(theirs)
    both = sorted(set(ours) & set(theirs))
    assert len(both) > 0.9 * max(len(ours), len(theirs)) > 20
    np.testing.assert_allclose([ours[n] for n in both], [theirs[n] for n in both], rtol=0, atol=1e-6)


@pytest.mark.parametrize("dispatch", [*DISPATCHERS, BY_NUMBER], ids=named)
def test_a_lane_of_a_batch_is_the_single_run(dispatch, event_log):
    assert_lane_is_single(scenario(dispatch, SATF(), AllCopies()), event_log)


def test_a_lane_of_a_batch_with_delayed_writes_is_the_single_run(event_log):
    assert_lane_is_single(array(NearestIdle(), SATF(), FirstCopy(), Background(4)), event_log)


def assert_lane_is_single(scenario, event_log):
    batch = execute(scenario, keys([5, 3]), WANTED, ResponseLog()).log
    _, alone = single(scenario, event_log)
    assert_same_answers(jax.tree.map(lambda column: column[:, 1], batch), alone.answered)
    assert not np.array_equal(batch.response[:, 0], batch.response[:, 1])


@pytest.mark.parametrize("dispatch", [DSPTF(1e-3), Hashing()], ids=named)
def test_jit_changes_nothing(dispatch, unfold):
    """128 events, compiled and operation by operation."""
    open_loop = Scenario(
        System(DRIVE, Replicas(2), dispatch, SATF(), drives=2, slots=4), PoissonArrivals(REQUESTS, 80.0)
    )
    _, compiled = unfold(open_loop)
    with jax.disable_jit():
        _, plain = unfold(open_loop)
    assert_same_answers(compiled.answered, plain.answered)
