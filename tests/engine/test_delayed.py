"""Test the guarantees of delayed writes (srarray, section 3.4) by replay on a model of the data on the disks.

The model has no tables. A sector of a replica holds the version that was last written there. Versions are counted as
first copies reach a disk. A delayed copy carries the newest data of its sectors, as of the start or, equally valid, the
end of its access.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import recorded_requests, slow_but
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.dispatch import Hashing, NearestIdle, central
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System, execute, keys
from storagekit.engine.event import Report, event
from storagekit.engine.record import AccessLog, Record
from storagekit.engine.run import CHUNK, Runner, incoming
from storagekit.engine.state import NO_REQUEST, State
from storagekit.placement import SRMirror
from storagekit.schedule import SATF
from storagekit.simulation import pending
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests, RecordedArrivals, Requests
from storagekit.write import Background, Pending, recovery

pytestmark = pytest.mark.optimized

DRIVE = ideal_drive(full_seek=4e-3, revolution=6e-3, cylinders=40, sectors_per_track=32)
UNIT = 32
UNITS = 3  # stripe units that requests use
SPAN = UNIT * UNITS
LAYOUTS = [(1, 1, 1), (1, 1, 2), (1, 3, 1), (1, 2, 2), (2, 1, 2), (1, 2, 3), (2, 2, 2), (1, 1, 4), (2, 3, 1)]
REQUESTS = 48
# no table of this length is ever full here
MOST = 64


def system(layout, table, dispatch, nvram, slots) -> System:
    placement = SRMirror(*layout, unit=UNIT, most_replicas=3)
    return System(DRIVE, placement, dispatch, SATF(), Background(table, nvram, most=2 * MOST), drives=8, slots=slots)


def stream(seed, read_share, gap, same=False) -> RecordedArrivals:
    """Return requests to few sectors, or all to the same sectors; no request leaves its stripe unit."""
    draw = np.random.default_rng(seed)
    sectors = draw.integers(1, 13, REQUESTS) * (not same) + same
    sector = (draw.integers(0, UNITS, REQUESTS) * UNIT + draw.integers(0, 13, REQUESTS)) * (not same)
    return recorded_requests(draw, sector, sectors, read_share, gap)


class History(NamedTuple):
    """Every event of a run: the state after it and its report, one row per event; and the requests, one row each."""

    states: State
    reports: Report
    requests: Requests
    placement: SRMirror

    def after(self, at: int) -> tuple[State, Report]:
        return jax.tree.map(lambda rows: rows[at], (self.states, self.reports))


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


@partial(jax.jit, static_argnums=(1,))
def generated_requests(arrays, static, key):
    scenario = eqx.combine(arrays, static.value)
    return scenario.arrivals.window(
        scenario.system.placement.capacity(DRIVE), key, jnp.zeros(1, jnp.int32), 2 * CHUNK
    ).requests


def history(scenario: Scenario, seed: int, chunks: int | None = None) -> History:
    """Run a number of chunks, or run until no work is left."""
    runner = Runner(scenario, keys([seed])[:, 0], Record())
    arrays, static, run = runner.arrays, runner.static, runner.run
    parts = []
    while len(parts) < (chunks or 40):
        run, reports_by_event = unfolded(arrays, static, run)
        parts.append(jax.tree.map(np.asarray, reports_by_event))
        if chunks is None and not np.isfinite(run.state.drives.wake).any() and run.first[0] >= REQUESTS:
            break
    states, reports = jax.tree.map(lambda *rows: np.concatenate(rows), *parts)
    generated = jax.tree.map(np.asarray, generated_requests(arrays, static, keys([seed])[:, 0]))
    return History(states, reports, generated, scenario.system.placement)


class Late(NamedTuple):
    """A delayed copy that a drive has chosen.

    moved: the copy has moved to the foreground queue. request_waits: a request waits at the drive. first: the copy is
    the first in the drive's delayed queue, and no copy there has moved.
    """

    moved: bool
    request_waits: bool
    first: bool


class Disks:
    """The data on the replicas, with checks for each event of a replayed history."""

    def __init__(self, past: History, fetched_early: bool, crashes: set[int], seed: int):
        self.past, self.fetched_early, self.crashes = past, fetched_early, crashes
        self.draw = np.random.default_rng(seed)
        self.each = int(past.placement.replicas)
        self.count = self.each * int(past.placement.parts)
        self.home = past.placement.locate(DRIVE, past.requests).home
        self.held = np.zeros((self.count, SPAN), int)
        self.newest, self.acknowledged = np.zeros((2, SPAN), int)
        self.version: dict[int, int] = {}
        self.written: list[tuple[int, int]] = []
        self.reads, self.completed = list[int](), list[int]()
        self.floor: dict[int, np.ndarray] = {}
        self.remembered: dict[int, np.ndarray] = {}
        self.fetched: dict[int, np.ndarray] = {}
        self.late: list[Late] = []
        self.from_disk = 0

    def range(self, number: int) -> slice:
        first = int(self.past.requests.sector[number])
        return slice(first, first + int(self.past.requests.sectors[number]))

    def replay(self) -> "Disks":
        entered, before = 0, None
        for at in range(len(self.past.reports.number)):
            state, report = self.past.after(at)
            if report.admitted[0]:
                self.enter(entered, before)
                entered += 1
            if report.number[0] != NO_REQUEST:
                drive = int(np.flatnonzero(report.served)[0])
                number = int(report.number[0])
                self.access(number, drive, self.replica_index(number, drive, report.replica[0]))
            self.completion(int(report.completed.number[0]))
            self.fetch(state, before, report)
            if at in self.crashes:
                self.crash(state)
            before = state
        return self

    def replica_index(self, number, drive, replica) -> int:
        copy = drive - self.home[number]
        assert 0 <= copy < int(self.past.placement.parts), "a drive serves a request whose data it does not hold"
        return int(copy * self.each + replica)

    def enter(self, number, before):
        where = self.range(number)
        self.floor[number] = self.acknowledged[where].copy()
        # where overlapping writes leave no replica current, memory supplies the newer data
        left = 0
        for start, stop, replicas in delayed_rows(before) if before is not None else ():
            if start < where.stop and stop > where.start:
                left |= replicas
        if left == 2**self.count - 1:
            self.remembered[number] = self.newest[where].copy()

    def access(self, number, drive, replica):
        where = self.range(number)
        if self.past.requests.read[number]:
            self.reads.append(number)
            found = self.held[replica, where]
            if number in self.remembered:
                found = np.maximum(found, self.remembered[number])
            else:
                self.from_disk += 1
            assert np.all(found >= self.floor[number]), f"read {number} returns overwritten data"
            return
        self.written.append((number, replica))
        if number not in self.version:
            self.version[number] = len(self.version) + 1
            self.newest[where] = self.version[number]
            self.held[replica, where] = self.version[number]
            if number in self.completed:
                self.acknowledge(number)
        else:
            self.held[replica, where] = self.fetched[drive] if self.fetched_early else self.newest[where]

    def completion(self, number):
        if number != NO_REQUEST:
            self.completed.append(number)
            if number in self.version:
                self.acknowledge(number)

    def acknowledge(self, number):
        where = self.range(number)
        self.acknowledged[where] = np.maximum(self.acknowledged[where], self.version[number])

    def fetch(self, state: State, before: State | None, report: Report):
        """Record the data of accesses that start with this event; for delayed copies, record whether requests wait."""
        plan = state.drives.plan
        for drive in np.flatnonzero(state.drives.planned):
            known = before is not None and before.drives.planned[drive] and not report.served[drive]
            if known and before.drives.plan.number[drive] == plan.number[drive]:
                continue
            number = int(plan.number[drive])
            self.fetched[drive] = self.newest[self.range(number)].copy()
            if number in self.version:
                self.late.append(chosen_late(state, drive, number, self.past.placement))

    def crash(self, state: State):
        """Memory is lost and every access under way is half done; the table alone makes all replicas equal again."""
        held = self.held.copy()
        plan = state.drives.plan
        for drive in np.flatnonzero(state.drives.planned):
            number = int(plan.number[drive])
            if not self.past.requests.read[number]:
                where = self.range(number)
                late = self.fetched[drive] if self.fetched_early else self.newest[where]
                data = late if number in self.version else len(self.version) + 1 + number
                done = self.draw.random(where.stop - where.start) < 0.5
                replica = self.replica_index(number, drive, plan.replica[drive])
                held[replica, where] = np.where(done, data, held[replica, where])
        table = pending(state, self.past.placement)
        assert np.all(table.current & table.left == 0) and np.all(table.left != 0)
        assert np.array_equal(table.home, self.home[table.number])
        recover(held, table, self.count)
        assert np.all(held == held[0]), "replicas differ after recovery"
        assert np.all(held[0] >= self.acknowledged), "recovery loses acknowledged data"


def recover(held: np.ndarray, table: Pending, count: int) -> None:
    """Recover every sector from the table after the loss of memory."""
    for sector in range(held.shape[1]):
        source, left = recovery(table, sector, count)
        for replica in range(count):
            if left >> replica & 1:
                held[replica, sector] = held[source, sector]


def waits_at(state: State, drive: int, placement: SRMirror) -> bool:
    """Return whether the drive could serve a foreground request instead of the delayed copy that it has just chosen."""
    private = state.write
    each, copies = int(placement.replicas), int(placement.parts)
    copy = drive - state.slots.location.home
    at = np.clip(copy, 0, copies - 1).astype(np.uint32)
    usable = private.replicas >> (at * np.uint32(each)) & np.uint32(2**each - 1)
    request_waits = (copy >= 0) & (copy < copies) & (state.slots.waiting >> at & 1 == 1) & (usable != 0)
    return bool(request_waits.any())


def delayed_rows(state: State) -> list[tuple[int, int, int]]:
    """Return the first sector, the sector after the last, and the replicas left to write, for every row of the table."""
    rows = state.write.table.in_use()
    assert np.all(np.asarray(rows.left) != 0)
    return [tuple(map(int, row)) for row in zip(rows.start, rows.stop, rows.left, strict=True)]


def chosen_late(state: State, drive: int, number: int, placement: SRMirror) -> Late:
    """Describe the delayed copy of a write that a drive has just chosen."""
    rows = state.write.table.in_use()
    each, copies = int(placement.replicas), int(placement.parts)
    copy = drive - rows.location.home
    at = np.clip(copy, 0, copies - 1).astype(np.uint32)
    here = (copy >= 0) & (copy < copies) & (rows.left >> (at * np.uint32(each)) & np.uint32(2**each - 1) != 0)
    moved = rows.order <= int(state.write.moved[0])
    assert int(state.write.forced[0]) == moved.sum()
    its = int(rows.order[rows.number == number][0])
    first = its == rows.order[here].min() and not (moved & here).any()
    return Late(its <= int(state.write.moved[0]), waits_at(state, drive, placement), first)


# dispatcher, NVRAM writes and slots: each combination compiles once, for all layouts, tables and loads
SYSTEMS = {
    "heuristic": (NearestIdle(), 0, 24),
    "few slots": (NearestIdle(), 0, 3),
    "central": (central(), 0, 24),
    "hashing": (Hashing(), 0, 6),
    "at once": (NearestIdle(), 1, 24),
}
settings_of_a_run = {
    "layout": st.sampled_from(LAYOUTS),
    "table": st.sampled_from([1, 3, MOST]),
    "early": st.booleans(),
    "seed": st.integers(0, 10_000),
}


def assert_drained(disks: Disks):
    """Each request completed once, all data is on all replicas, and no access was done twice."""
    requests = jax.tree.map(lambda rows: rows[:REQUESTS], disks.past.requests)
    assert sorted(disks.completed) == list(range(REQUESTS))
    assert sorted(disks.reads) == np.flatnonzero(requests.read).tolist()
    assert len(set(disks.written)) == len(disks.written)
    assert sorted(disks.version) == np.flatnonzero(~requests.read).tolist()
    assert np.all(disks.held == disks.newest), "a stale copy survives"
    last, _ = disks.past.after(-1)
    assert int(last.write.table.size[0]) == 0 and not last.slots.waiting.any(), "a slot is never freed"


def drained(name, layout, table, early, seed, read_share, gap, crashes=12, **more) -> Disks:
    past = history(Scenario(system(layout, table, *SYSTEMS[name]), stream(seed, read_share, gap, **more)), seed)
    at = set(np.random.default_rng(seed).integers(0, len(past.reports.number), crashes).tolist())
    return Disks(past, early, at, seed).replay()


def assert_in_order(late: list[Late]):
    """Copies that have moved compete with requests; the other copies are written only when no request waits, in order."""
    assert all(one.moved or (one.first and not one.request_waits) for one in late)


@settings(max_examples=12, derandomize=True)
@given(**settings_of_a_run, read_share=st.floats(0, 0.8), gap=st.floats(1e-4, 2e-2))
def test_an_open_stream_drains_and_no_stale_copy_survives(layout, table, early, seed, read_share, gap):
    disks = drained("heuristic", layout, table, early, seed, read_share, gap)
    assert_drained(disks)
    assert_in_order(disks.late)


@settings(max_examples=12, derandomize=True)
@given(**settings_of_a_run, read_share=st.floats(0, 0.8), gap=st.floats(1e-4, 2e-2))
def test_few_slots_lose_nothing(layout, table, early, seed, read_share, gap):
    assert_drained(drained("few slots", layout, table, early, seed, read_share, gap))


@pytest.mark.parametrize("name", slow_but(["central", "at once"], ["central", "hashing", "at once"]))
def test_other_dispatchers_and_completions_lose_nothing(name):
    for seed, layout in enumerate(LAYOUTS):
        gap = (3e-4, 5e-3)[seed % 2]
        assert_drained(drained(name, layout, 3, seed % 4 < 2, seed, 0.3, gap, crashes=6))


@settings(max_examples=8, derandomize=True)
@given(**settings_of_a_run, read_share=st.floats(0, 0.8), outstanding=st.integers(1, 16))
def test_a_closed_loop_reads_and_recovers_acknowledged_data(layout, table, early, seed, read_share, outstanding):
    target = system(layout, table, NearestIdle(), 0, 16)
    locality = int(target.placement.capacity(DRIVE)) / (SPAN + 24)
    requests = RandomRequests(ExponentialSize(512), read_share, locality, alignment=UNIT)
    past = history(Scenario(target, ClosedLoop(requests, outstanding)), seed, chunks=2)
    assert np.max(past.requests.sector + past.requests.sectors) <= SPAN
    at = set(np.random.default_rng(seed).integers(0, 2 * CHUNK, 12).tolist())
    disks = Disks(past, early, at, seed).replay()
    entered = int(past.reports.admitted.sum())
    assert len(set(disks.completed)) == len(disks.completed) > 20
    assert len(set(disks.reads)) == len(disks.reads) and len(set(disks.written)) == len(disks.written)
    assert entered - len(disks.completed) <= outstanding
    assert_in_order(disks.late)


def test_a_crash_at_every_event_of_a_run():
    for layout in ((1, 2, 2), (1, 3, 1)):
        assert_drained(drained("heuristic", layout, MOST, True, 7, 0.2, 4e-3, crashes=5000))
    # Completions leave before the drive has finished, so a slot serves another request while its drive is still busy.
    assert_drained(drained("few slots", (2, 1, 2), MOST, True, 0, 0.5, 1e-3, crashes=5000))


def test_most_reads_find_a_current_replica():
    """This keeps the check of reads meaningful: otherwise memory alone would supply the data."""
    disks = drained("heuristic", (1, 2, 2), MOST, True, 3, 0.6, 4e-3)
    assert disks.from_disk > 0.8 * len(disks.reads) > 10


def test_unfinished_copies_of_an_overwritten_block_are_dropped():
    """Write the same block at a high rate, or only after all delayed copies are written; D_r D_m = 4 copies per write."""
    hurried, patient = (drained("heuristic", (1, 2, 2), MOST, True, 1, 0.0, gap, same=True) for gap in (5e-4, 0.5))
    assert_drained(hurried)
    assert_drained(patient)
    assert len(patient.written) == 4 * REQUESTS
    # All four copies of the last write are written; earlier writes have few copies after their first.
    assert len(hurried.written) < 2 * REQUESTS


def test_a_delayed_copy_does_not_delay_the_completion():
    """One writer in a closed loop on one drive: a second replica starts when the completion is due and not yet sent."""
    loop = ClosedLoop(RandomRequests(ExponentialSize(512), 0.0, 1.0, alignment=UNIT), 1)
    reports_by_event = history(Scenario(system((1, 2, 1), MOST, NearestIdle(), 0, 16), loop), 0, chunks=1).reports
    completions = np.cumsum(reports_by_event.completed.response[reports_by_event.completed.number >= 0])
    number, at = reports_by_event.number.ravel(), np.cumsum(reports_by_event.elapsed, dtype=np.float64)
    # A request is sent when the one before it completes; it completes when its first copy is on disk.
    first = [at[np.flatnonzero(number == one)[0]] for one in range(len(completions)) if one in number]
    assert len(first) > 20 and np.sum(np.bincount(number[number >= 0]) > 1) > 5
    np.testing.assert_allclose(first, completions[: len(first)], atol=2e-6)


def test_a_full_table_competes_with_the_foreground():
    """Overload the system with reads and writes.

    With one entry, delayed copies go before requests; with many, they wait until the end.
    """
    forced, patient = (drained("heuristic", (1, 2, 2), table, True, 5, 0.5, 1e-4) for table in (1, MOST))
    assert sum(one.request_waits for one in forced.late) > 10
    assert len(patient.late) > 10 and not any(one.request_waits or one.moved for one in patient.late)


def test_the_access_log_agrees_with_the_reports_of_events():
    scenario = Scenario(system((1, 2, 2), 3, *SYSTEMS["heuristic"]), stream(11, 0.5, 2e-3))
    past = history(scenario, 11)
    log = execute(scenario, keys([11])[:, 0], REQUESTS, Record(log=AccessLog())).log
    count = min(len(log.number), len(past.reports.number))
    reports = jax.tree.map(lambda rows: rows[:count], past.reports)
    served = reports.served.any(axis=1)
    np.testing.assert_array_equal(log.number[:count], reports.number[:, 0])
    np.testing.assert_array_equal(log.drive[:count], np.where(served, reports.served.argmax(axis=1), NO_REQUEST))
    np.testing.assert_array_equal(log.replica[:count], np.where(served, reports.replica[:, 0], NO_REQUEST))
    np.testing.assert_array_equal(log.admitted[:count], reports.admitted[:, 0])
    np.testing.assert_array_equal(log.completed.number[:count], reports.completed.number[:, 0])


def test_the_table_of_a_batch_element_equals_the_table_of_its_single_run(compilations):
    past = history(Scenario(system((1, 2, 2), MOST, *SYSTEMS["heuristic"]), stream(2, 0.0, 1e-3)), 2)
    state, _ = past.after(60)
    compilations.clear()
    alone = pending(state, past.placement)
    # tables of many lengths would compile programs for each length
    assert not compilations
    batch = jax.tree.map(lambda leaf: np.stack([np.zeros_like(leaf), leaf], axis=-1), state)
    assert len(alone.number) > 2 and np.all(np.diff(alone.order[alone.order > 0]) > 0)
    for ours, theirs in zip(alone, pending(batch, past.placement, run=1), strict=True):
        np.testing.assert_array_equal(ours, theirs)
