"""Test writes that commit some parts and buffer the others.

The tests use timelines worked by hand, and replay on a model of disks and buffers.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, recorded_requests, slow_but
from hypothesis import example, given, settings
from hypothesis import strategies as st

from storagekit.arbitration import Lossy
from storagekit.core import units
from storagekit.core.units import MS
from storagekit.dispatch import DSPTF, Broadcast, Central, Hashing, Preselection, Redundant
from storagekit.drive import Mixed, RateServer
from storagekit.engine import Record, Scenario, System, keys
from storagekit.engine.event import Report, event
from storagekit.engine.run import CHUNK, Runner, incoming
from storagekit.engine.state import NO_REQUEST, State
from storagekit.faults import FaultSchedule, outage
from storagekit.placement import RAID5, Coded, Replicas, SRMirror
from storagekit.schedule import FCFS
from storagekit.simulation import simulate
from storagekit.workload import ClosedLoop, ExponentialSize, FixedSize, RandomRequests, RecordedArrivals, Requests
from storagekit.write import Claimed, Committed

SERVER = RateServer(1000)  # a sector takes 1 ms


class Access(NamedTuple):
    """A completed access: its end in ms since the start, its request and drive, and whether it wrote from a buffer."""

    end: float
    number: int
    drive: int
    late: bool


class Past(NamedTuple):
    """Every event of a run: the state after it and its report, one row each."""

    states: State
    reports: Report

    def after(self, at: int) -> State:
        return jax.tree.map(lambda rows: rows[at], self.states)

    @property
    def time(self) -> np.ndarray:
        """Return the time after each event, ms."""
        return np.cumsum(self.reports.elapsed.ravel().astype(float)) / MS

    @property
    def count(self) -> int:
        return len(self.reports.number)

    def accesses(self) -> list[Access]:
        """Return the accesses in the order of their reports.

        A drive that chooses ahead reports an access before its end.
        """
        reports_by_event = []
        for at in np.flatnonzero(self.reports.number.ravel() != NO_REQUEST):
            drive = int(np.flatnonzero(self.reports.served[at])[0])
            end = self.time[at] + float(self.states.drives.free[at, drive]) / MS
            reports_by_event.append(Access(end, int(self.reports.number[at, 0]), drive, self.late(at - 1, drive)))
        return reports_by_event

    def late(self, at: int, drive: int) -> bool:
        """Return whether the access planned by a drive after event `at` writes from its node's buffer."""
        return self.states.write is not None and bool(backlog(self.states).writes[at, drive] >= 0)

    def completions(self) -> dict[int, float]:
        """Return the completion time of each request, ms."""
        reports_by_event = self.reports.completed
        at = np.flatnonzero(reports_by_event.number.ravel() >= 0)
        when = self.time[at] + (reports_by_event.at - self.reports.elapsed).ravel()[at].astype(float) / MS
        return dict(zip(reports_by_event.number.ravel()[at].tolist(), when.tolist(), strict=True))


def backlog(state: State):
    return state.write.backlog


@partial(jax.jit, static_argnums=(1,))
def unfolded(arrays, static, run):
    """Run a chunk of events and return the state and the report after each."""
    scenario = eqx.combine(arrays, static.value)
    coming = incoming(scenario, run)

    def body(state, _):
        state, report = event(scenario, coming, state)
        return state, (state, report)

    state, reports_by_event = jax.lax.scan(
        body, run.state._replace(taken=jnp.zeros_like(run.first)), None, length=CHUNK
    )
    return run._replace(state=state, first=run.first + state.taken), reports_by_event


def past(scenario: Scenario, chunks: int | None = None) -> Past:
    """Run a number of chunks, or run until no work is left."""
    runner = Runner(scenario, keys([0])[:, 0], Record())
    run, reports_by_event = runner.run, []
    while len(reports_by_event) < (chunks or 40):
        run, part = unfolded(runner.arrays, runner.static, run)
        reports_by_event.append(jax.tree.map(np.asarray, part))
        over = run.state.slots.completed.all() and not np.isfinite(run.state.drives.wake).any()
        if chunks is None and over and run.first[0] >= len(scenario.arrivals.requests.number):
            break
    return Past(*jax.tree.map(lambda *rows: np.concatenate(rows), *reports_by_event))


def ended(run: Past) -> list[tuple[float, int, int]]:
    """Return the end (ms), the request and the drive of each access."""
    return sorted((round(end, 3), number, drive) for end, number, drive, _ in run.accesses())


def arrivals_of(recorded, times, sectors, writes=(), **more) -> RecordedArrivals:
    read = [number not in writes for number in range(len(times))]
    return recorded([time * MS for time in times], sectors=sectors, read=read, **more)


# Sizes of buffers for a write of 5 sectors, which arrives after two reads and before a third one at one of its bricks.
# The write fills the first two sizes, and not the last.
FULL, LARGER = [0.0, 5.0 * units.SECTOR], [6.0 * units.SECTOR]


@pytest.mark.parametrize("buffer", [*FULL, *LARGER])
def test_one_copy_is_committed_and_idle_drives_write_the_others(recorded, buffer):
    """Hash over three bricks, where a sector takes 1 ms.

        0: A, a read of 10 at brick 1         until 10
        1: B, a read of 2 at brick 1          waits
        2: W, a write of 5                    its target, brick 0, commits it from 2 to 7: completed; brick 2 is idle
        and
                                              writes it at the same time; brick 1 has it in its buffer
        3: C, a read of 3 at brick 1          waits

    Brick 1 serves B until 12 and C until 15, and then writes W until 20. If 5 sectors fill its buffer, W competes with
    the reads. B arrived before it and C after: W until 17, C until 20.
    """
    arrivals = arrivals_of(recorded, [0, 1, 2, 3], [10, 2, 5, 3], {2}, address_hash=[1, 1, 0, 1])
    system = System(SERVER, Replicas(3), Hashing(), FCFS(), Committed(buffer=buffer), slots=4)
    run = past(Scenario(system, arrivals))
    first = [(7, 2, 0), (7, 2, 2), (10, 0, 1), (12, 1, 1)]
    assert ended(run) == [*first, *([(17, 2, 1), (20, 3, 1)] if buffer in FULL else [(15, 3, 1), (20, 2, 1)])]
    expected = {0: 10, 1: 12, 2: 7, 3: 20 if buffer in FULL else 15}
    assert run.completions() == pytest.approx(expected, abs=1e-3)


def test_as_many_fragments_are_committed_as_make_the_data(recorded):
    """Store 2 of 4 fragments, each half as long; a target of part k is also a target of part k + 1.

        0: A, a read of 12, parts 3 and 0     until 6
        1: W, a write of 8, parts 2 and 3     brick 2 from 1 to 5, brick 3 from 6 to 10: completed; buffered for 0 and
        1,
                                              and brick 1 is idle: from 1 to 5
        2: B, a read of 4, parts 0 and 1      brick 1 from 5 to 7, brick 0 from 6 to 8

    Brick 0 then writes W until 12.
    """
    arrivals = arrivals_of(recorded, [0, 1, 2], [12, 8, 4], {1}, address_hash=[3, 2, 0])
    run = past(Scenario(System(SERVER, Coded(2, 4), Hashing(), FCFS(), Committed(), slots=4), arrivals))
    assert ended(run) == [(5, 1, 1), (5, 1, 2), (6, 0, 0), (6, 0, 3), (7, 2, 1), (8, 2, 0), (10, 1, 3), (12, 1, 0)]
    assert run.completions() == pytest.approx({0: 6, 1: 10, 2: 8}, abs=1e-3)


@pytest.mark.parametrize("buffer", FULL)
def test_a_write_waits_at_the_node_whose_buffer_is_full(recorded, buffer):
    """Hash over two bricks, where a sector takes 1 ms.

        0: A, a read of 10 at brick 1         until 10
        1: W, a write of 5                    brick 0 commits it from 1 to 6: completed; it fills the buffer of brick 1
        2: B, a read of 3 at brick 1          waits
        3: X, a write of 4                    brick 0 writes it from 6 to 10; brick 1 has no space, so that X waits
        there
        4: C, a read of 2 at brick 0          is not delayed: from 10 to 12

    Brick 1 serves in the order of arrival, because its buffer is full: W until 15, B until 18, X until 22: completed.
    """
    arrivals = arrivals_of(recorded, [0, 1, 2, 3, 4], [10, 5, 3, 4, 2], {1, 3}, address_hash=[1, 0, 1, 0, 0])
    system = System(SERVER, Replicas(2), Hashing(), FCFS(), Committed(buffer=(1e6, buffer)), slots=8)
    run = past(Scenario(system, arrivals))
    assert ended(run) == [(6, 1, 0), (10, 0, 1), (10, 3, 0), (12, 4, 0), (15, 1, 1), (18, 2, 1), (22, 3, 1)]
    assert run.completions() == pytest.approx({0: 10, 1: 6, 2: 18, 3: 22, 4: 12}, abs=1e-3)


def test_a_claimed_write_is_on_one_disk_alone(recorded):
    """Three bricks receive every request.

    0: A, a read of 7       brick 0 until 7
    1: W, a write of 5      brick 1 from 1 to 6: completed, and no other brick writes it
    6.5: B, a read of 3     brick 1 until 9.5
    """
    arrivals = arrivals_of(recorded, [0, 1, 6.5], [7, 5, 3], {1})
    run = past(Scenario(System(SERVER, Replicas(3), Broadcast(), FCFS(), Claimed(), slots=4), arrivals))
    assert ended(run) == [(6, 1, 1), (7, 0, 0), (9.5, 2, 1)]
    assert run.completions() == pytest.approx({0: 7, 1: 6, 2: 9.5}, abs=1e-3)


@pytest.mark.parametrize("waits", [0, 1])
def test_idle_nodes_claim_a_write_like_a_read(recorded, waits):
    """Three bricks of equal speed have a latency of 1 ms.

     0: V, a write of 5       idle nodes that start at once all write it until 5; nodes that wait receive the equal bid
     of
                              brick 0, which writes from 2 to 7
    20: A, a read of 10       the same: until 30, or brick 0 until 32
    21: W, a write of 5       all choose it at 28, and bricks 1 and 2 receive the bid of brick 0 at 29: from 30 to 35.
    If
                              idle nodes wait, bricks 1 and 2 are idle: the lower one writes from 23 to 28
    """
    arrivals = arrivals_of(recorded, [0, 20, 21], [5, 10, 5], {0, 2})
    dispatch = Preselection(1 * MS, waits=waits)
    run = past(Scenario(System(SERVER, Replicas(3), dispatch, FCFS(), Claimed(), slots=4), arrivals))
    at_once = [*((5, 0, brick) for brick in range(3)), *((30, 1, brick) for brick in range(3)), (35, 2, 0)]
    assert ended(run) == ([(7, 0, 0), (28, 2, 1), (32, 1, 0)] if waits else at_once)
    assert run.completions() == pytest.approx({0: 7, 1: 32, 2: 28} if waits else {0: 5, 1: 30, 2: 35}, abs=1e-3)


REQUESTS = 40


def stream(seed: int, read_share: float, gap: float) -> RecordedArrivals:
    draw = np.random.default_rng(seed)
    sector = draw.integers(0, 1000, REQUESTS)
    return recorded_requests(draw, sector, draw.integers(1, 20, REQUESTS), read_share, gap)


class Case(NamedTuple):
    """Components of a system.

    commits: the number of parts that complete a write, or None for the number that makes the data.
    """

    dispatch: object
    claims: bool
    codes: tuple[tuple[int, int], ...]
    commits: int | None = None
    slots: int = 64
    most: int = 64

    def system(self, code: tuple[int, int], buffer: float) -> System:
        """Return a system of 4 drives, so that codes share a compilation."""
        write = Claimed() if self.claims else Committed(buffer=buffer, most=self.most)
        layout = Coded(*code) if code[0] else Replicas(code[1])
        return System(SERVER, layout, self.dispatch, FCFS(), write, drives=4, slots=self.slots)


FRAGMENTS, COPIES = ((2, 4), (1, 3), (3, 4)), ((0, 3), (0, 4))
CASES = {
    "hashing": Case(Hashing(), False, FRAGMENTS),
    "two copies at once": Case(Redundant(2), False, COPIES, commits=2),
    "few slots and rows": Case(Redundant(1), False, FRAGMENTS, slots=3, most=2),
    "broadcast": Case(Broadcast(), True, FRAGMENTS),
    "preselection": Case(Preselection(2 * MS), True, FRAGMENTS),
    "preselection of copies, few slots": Case(Preselection(2 * MS), True, COPIES, slots=3, most=2),
    "lost claims": Case(DSPTF(1 * MS, delivery=Lossy(0.3)), True, COPIES),
}


def assert_replays(run: Past, case: Case, system: System, requests: Requests) -> list[Access]:
    """Check every event and completion, and that no access writes a part twice; return the accesses."""
    accesses = run.accesses()
    written = [(one.number, one.drive) for one in accesses if not requests.read[one.number]]
    assert len(set(written)) == len(written)
    needed = case.commits or int(system.placement.needed)
    for number, at in run.completions().items():
        if not requests.read[number]:
            ends = sorted(one.end for one in accesses if one.number == number and not one.late)
            # a claim may arrive late, so that more parts are written; a full buffer delays the completion
            assert len(ends) >= needed
            assert at == pytest.approx(ends[needed - 1 if case.claims else -1], abs=1e-3)
    for at in range(0 if case.claims else run.count):
        assert_buffers_agree_with_their_rows(run, at, system, requests)
    return accesses


def assert_buffers_agree_with_their_rows(run: Past, at: int, system: System, requests: Requests):
    """A part is written from a buffer before a waiting request only while the buffer is full."""
    state = run.after(at)
    rows, filled = backlog(state).table.in_use(), np.zeros(4, int)
    for number, left in zip(rows.number, rows.left, strict=True):
        each = -(-int(requests.sectors[number]) // int(system.placement.needed))
        assert left and not requests.read[number]
        filled += [each * (int(left) >> drive & 1) for drive in range(4)]
    assert state.write.filled.tolist() == filled.tolist()
    assert len(rows.number) <= system.write.most + system.slots
    for drive in np.flatnonzero(state.drives.planned):
        before = at > 0 and run.states.drives.planned[at - 1, drive] and not run.reports.served[at, drive]
        if not before and run.late(at, drive):
            waits = np.any(state.slots.waiting >> np.uint32(drive) & 1)
            assert not waits or filled[drive] * units.SECTOR >= float(system.write.buffer[0])


@settings(max_examples=10, derandomize=True)
@given(
    name=st.sampled_from(list(CASES)),
    which=st.integers(0, 5),
    buffer=st.sampled_from([0.0, 8.0 * units.SECTOR, 2.0 * units.MB]),
    seed=st.integers(0, 999),
    read_share=st.floats(0, 0.8),
    gap=st.sampled_from([2 * MS, 10 * MS, 40 * MS]),
)
# two bricks serve a write, and a third replaces the later one
@example(name="lost claims", which=0, buffer=0.0, seed=0, read_share=0.0, gap=2 * MS)
def test_every_part_is_written_once_and_enough_before_the_completion(name, which, buffer, seed, read_share, gap):
    """The run drains: arrivals end, and then all delayed work completes."""
    case = CASES[name]
    code = case.codes[which % len(case.codes)]
    system, arrivals = case.system(code, buffer), stream(seed, read_share, gap)
    run = past(Scenario(system, arrivals))
    accesses = assert_replays(run, case, system, arrivals.requests)
    assert sorted(run.completions()) == list(range(REQUESTS))
    written = {(one.number, one.drive) for one in accesses if not arrivals.requests.read[one.number]}
    expected = {(number, part) for number in np.flatnonzero(~arrivals.requests.read) for part in range(code[1])}
    assert written <= expected if case.claims else written == expected
    if name == "hashing":
        for one in accesses:
            ahead = (one.drive - int(arrivals.requests.address_hash[one.number] % code[1])) % code[1]
            assert not one.late or ahead >= code[0]
            # if buffers are never full, all other parts are buffered
            assert one.late or ahead < code[0] or buffer < units.MB or arrivals.requests.read[one.number]
    last = run.after(-1)
    if not case.claims:
        assert backlog(last).table.size[0] == 0 and not last.write.filled.any()
    # no request waits, and every slot is free
    assert last.slots.completed.all() and not last.slots.waiting.any()


@pytest.mark.parametrize("name", slow_but(["hashing"], ["hashing", "preselection"]))
def test_replays_agree_in_a_closed_loop(name):
    case = CASES[name]
    draw, late = RandomRequests(ExponentialSize(4096), 0.4), 0
    for code, outstanding, buffer in (((2, 4), 3, 2.0 * units.MB), ((1, 3), 20, 0.0), ((3, 4), 8, 4096.0)):
        system = case.system(code, buffer)
        loop = ClosedLoop(draw, outstanding)
        run = past(Scenario(system, loop), chunks=3)
        capacity = system.placement.capacity(system.drive)
        window = loop.window(capacity, keys([0])[:, 0], np.zeros(1, np.int32), 3 * CHUNK)
        late += sum(one.late for one in assert_replays(run, case, system, jax.tree.map(np.asarray, window.requests)))
        assert len(run.completions()) > 40
    assert (late > 20) != case.claims


def test_a_full_buffer_delays_further_writes():
    """Write two copies, of 8 ms and of 32 ms, committed on the faster disk as a rule.

    The other disk also has to write each of them: 31 a second, once its buffer is full. With an unlimited buffer these
    copies are delayed.
    """
    rates = []
    for buffer in (16.0 * units.KB, 1e9):
        drives, central = Mixed([SERVER, RateServer(250)], [0, 1]), Central((8 * MS, 32 * MS))
        system = System(drives, Replicas(2), central, FCFS(), Committed(buffer=buffer), slots=16)
        loop = ClosedLoop(RandomRequests(FixedSize(4096), read_share=0.0), 2)
        rates.append(float(simulate(Scenario(system, loop), requests=500, allow_blocked=True).request_rate))
    assert rates[0] == pytest.approx(31.25, rel=0.05) and rates[1] > 100


def with_write(write, layout=None, **more) -> System:
    return System(SERVER, layout or Replicas(2), Hashing(), FCFS(), write, **more)


STOPS = FaultSchedule(outage(0, 10, 20))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Committed(buffer=-1.0), "buffer of a node -1 bytes: it must be 0 or more and finite"),
        (lambda: Committed(buffer=(1e6, float("nan"))), "buffer of a node nan is not a number"),
        (lambda: Committed(buffer=()), "no sizes of buffers: give one number"),
        (
            lambda: past(
                Scenario(
                    with_write(Committed((1e6, 1e6, 1e6)), slots=2), ClosedLoop(RandomRequests(FixedSize(4096), 0.5), 1)
                )
            ),
            "3 sizes of buffers for 2 nodes: give one size, or one for each node",
        ),
        (lambda: Committed(most=0), "largest number of buffered writes 0"),
        (
            lambda: with_write(Committed(), SRMirror(1, 2, 1)),
            "buffered parts with 2 replicas each: use a layout with one replica",
        ),
        (
            lambda: with_write(Committed(), RAID5(4)),
            "policy Committed with RAID5: the parts of this layout are neither copies nor fragments; use AllCopies",
        ),
        (lambda: with_write(Claimed(), RAID5(4)), "RAID5: the parts of this layout are neither copies nor fragments"),
        (
            lambda: with_write(Committed(), faults=STOPS),
            "bricks that stop together with delayed writes: not modelled",
        ),
        (lambda: with_write(Claimed(), faults=STOPS), "bricks that stop together with delayed writes: not modelled"),
    ],
)
def test_impossible_settings_raise(make, complaint):
    assert_refused(make, complaint)
