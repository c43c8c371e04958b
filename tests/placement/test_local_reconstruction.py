"""Test local reconstruction codes.

The oracle is a code with random coefficients: the units that a request reads must determine the units that it returns or
writes. One local group equals a code of the same number of parities. Accesses are counted in the engine.
"""

import numpy as np
import pytest
from helpers import assert_refused, requests_at
from hypothesis import given, settings
from hypothesis import strategies as st
from random_code import in_span, local_code

from storagekit.core.units import SECTOR
from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, stack
from storagekit.placement import AfterLoss, LocalReconstruction, ParityGroups
from storagekit.schedule import FCFS
from storagekit.simulation import STANDARD, by_stream, rebuild_scenario, simulate
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

UNIT = 8
DRIVE = ideal_drive(full_seek=1e-3, revolution=6e-3, cylinders=200, sectors_per_track=512)
# Data units, local groups and global parities of a code, and the number of groups.
CODES = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2)).map(
    lambda n: ((n[0] + (n[1] == 1)) * n[1], *n[1:])
)
# A code, the position of the data, and the position of the lost unit (-1: none). Positions are the local parities, the
# global parities, and the data. Then the parts of a read, the parts that a write reads first, and the parts that it writes.
ROWS = [
    # (6,2,2): parities 0 and 1, global parities 2 and 3, local groups 4, 5, 6 and 7, 8, 9
    ((6, 2, 2), 5, -1, {5}, {0, 2, 3, 5}, {0, 2, 3, 5}),
    ((6, 2, 2), 8, -1, {8}, {1, 2, 3, 8}, {1, 2, 3, 8}),
    ((6, 2, 2), 5, 5, {0, 4, 6}, {0, 2, 3, 4, 6}, {0, 2, 3}),
    ((6, 2, 2), 8, 5, {8}, {1, 2, 3, 8}, {1, 2, 3, 8}),
    ((6, 2, 2), 5, 0, {5}, {2, 3, 5}, {2, 3, 5}),
    ((6, 2, 2), 5, 1, {5}, {0, 2, 3, 5}, {0, 2, 3, 5}),
    ((6, 2, 2), 5, 3, {5}, {0, 2, 5}, {0, 2, 5}),
    # (6,3,2): a write changes one of three local parities
    ((6, 3, 2), 5, -1, {5}, {0, 3, 4, 5}, {0, 3, 4, 5}),
    # (12,2,2): with lost data, 6 + 2 reads instead of the other 11
    ((12, 2, 2), 11, 11, {1, 10, 12, 13, 14, 15}, {1, 2, 3, 10, 12, 13, 14, 15}, {1, 2, 3}),
    # (4,2,2): the other data are fewer; lost data of the other group need one more read than the data of its group
    ((4, 2, 2), 4, -1, {4}, {5, 6, 7}, {0, 2, 3, 4}),
    ((4, 2, 2), 4, 4, {0, 5}, {5, 6, 7}, {0, 2, 3}),
    ((4, 2, 2), 4, 7, {4}, {1, 5, 6}, {0, 2, 3, 4}),
    ((4, 2, 2), 4, 5, {4}, {0, 2, 3, 4}, {0, 2, 3, 4}),
]
WHOLE_STRIPES = [
    ((6, 2, 2), -1, {4, 5, 6, 7, 8, 9}, set(range(10))),
    ((6, 2, 2), 8, {1, 4, 5, 6, 7, 9}, set(range(10)) - {8}),
    ((6, 2, 2), 1, {4, 5, 6, 7, 8, 9}, set(range(10)) - {1}),
    ((6, 2, 2), 2, {4, 5, 6, 7, 8, 9}, set(range(10)) - {2}),
]


def positions(mask) -> set[int]:
    return {part for part in range(32) if int(np.ravel(mask)[0]) >> part & 1}


def located(layout, sector: int, read: bool):
    return layout.locate(DRIVE, requests_at(sector)._replace(read=np.array([read])))


def in_row(code, missing: int, full: bool = False) -> AfterLoss:
    """Return a layout whose row 0 has lost the unit at a position, or a unit of another group for position -1.

    Position 0 of row 0 is on the last drive of a group.
    """
    size = sum(code)
    lost = (size - 1 + missing) % size if missing >= 0 else size
    return AfterLoss(LocalReconstruction(*code, 2, UNIT, full), lost)


@pytest.mark.parametrize(("code", "data", "missing", "read", "first", "written"), ROWS)
def test_requests_access_the_units_of_hand_worked_rows(code, data, missing, read, first, written):
    layout, sector = in_row(code, missing), (data - code[1] - code[2]) * 2 * UNIT
    location = located(layout, sector, True)
    assert positions(layout.parts_of(location)) == read and positions(layout.parts_read_first(location)) == set()
    assert int(layout.needed_of(location)[0]) == len(read)
    location = located(layout, sector, False)
    assert positions(layout.parts_of(location)) == written and positions(layout.parts_read_first(location)) == first


@pytest.mark.parametrize(("code", "missing", "read", "written"), WHOLE_STRIPES)
def test_full_stripes_read_the_data_or_a_local_parity_in_place_of_a_lost_unit(code, missing, read, written):
    layout = in_row(code, missing, full=True)
    for reads, parts in ((True, read), (False, written)):
        location = located(layout, 0, reads)
        assert positions(layout.parts_of(location)) == parts and positions(layout.parts_read_first(location)) == set()


@pytest.mark.parametrize("missing", range(10))
def test_a_rebuild_reads_the_local_group_or_all_data(missing):
    layout = in_row((6, 2, 2), missing)
    group = {0: {4, 5, 6}, 1: {7, 8, 9}}
    units = {unit: (group[part] | {part}) - {unit} for part in group for unit in (part, *group[part])}
    location = located(layout, int(layout.capacity(DRIVE)), False)
    assert positions(location.first) == units.get(missing, group[0] | group[1])
    assert positions(location.row.touched) == {missing}


@settings(max_examples=30)
@given(st.data(), CODES, st.booleans(), st.booleans(), st.booleans())
def test_what_is_read_determines_what_is_returned_or_written(data, code, full, rebuild, read):
    """The vectors of the units over a prime field, with random coefficients, are the oracle.

    A write needs the part of each new parity that does not depend on the written data. It changes the parities with a
    coefficient of that data.
    """
    *numbers, groups = code
    k, size = numbers[0], sum(numbers)
    vectors, complete = local_code(*numbers), LocalReconstruction(*numbers, groups, UNIT, full)
    layout = AfterLoss(complete, data.draw(st.integers(0, size * groups - 1)))
    sector = data.draw(st.integers(0, k * size * groups * UNIT - 1))
    read = read and not rebuild
    location = located(layout, int(layout.capacity(DRIVE)) + sector % (size * UNIT) if rebuild else sector, read)
    missing, parts = int(location.missing[0]), positions(layout.parts_of(location))
    first, own = positions(location.first), int(location.row.data[0])
    if rebuild:
        assert parts == {missing} and in_span(vectors[missing], vectors[sorted(first)])
        assert len(first) == (k // numbers[1] if missing < numbers[1] or missing >= size - k else k)
        return
    assert missing not in parts | first
    if full:
        assert parts == set(range(size)) - {missing} if not read else len(parts) == k
        assert first == set() and all(in_span(one, vectors[sorted(parts)]) for one in vectors[size - k :])
    elif read:
        assert in_span(vectors[own], vectors[sorted(parts)]) and first == set()
        assert len(parts) == (k // numbers[1] if missing == own else 1)
    else:
        column = own - (size - k)
        assert parts == {unit for unit in range(size) if vectors[unit, column]} - {missing}
        old = k // numbers[1] + numbers[2] if missing == own else 2 + numbers[2]
        if missing in (-1, own):
            assert len(first) == min(old, k - 1)
        assert len(first) <= old
        for parity in parts - {own}:
            rest = vectors[parity].copy()
            rest[column] = 0
            assert in_span(rest, vectors[sorted(first)])


@settings(max_examples=20)
@given(st.data(), CODES, st.booleans(), st.booleans())
def test_rows_of_other_groups_are_served_as_before(data, code, full, read):
    """The complete layout numbers its parts in another way, and uses the same drives."""
    *numbers, groups = code
    layout = LocalReconstruction(*numbers, groups + 1, UNIT, full)
    row = data.draw(st.integers(0, 30))
    sector = row * (groups + 1) * UNIT * (numbers[0] if full else 1)
    before, after = located(layout, sector, read), AfterLoss(layout, sum(numbers))
    location = located(after, sector, read)

    def drives(one, where, mask) -> set[int]:
        return {int(one.drive_of(np.array([part]), where)[0]) for part in positions(mask)}

    assert int(location.missing[0]) == -1
    assert drives(after, location, after.parts_of(location)) == drives(layout, before, layout.parts_of(before))
    if not full:
        assert drives(after, location, location.first) == drives(layout, before, layout.parts_read_first(before))


@settings(max_examples=30)
@given(st.data(), st.integers(2, 6), st.integers(1, 3), st.integers(1, 2), st.booleans(), st.booleans(), st.booleans())
def test_one_local_group_equals_a_code_with_one_more_parity(data, k, more, groups, full, read, whole):
    ours = LocalReconstruction(k, 1, more, groups, UNIT, full)
    theirs = ParityGroups(k + 1 + more, 1 + more, groups, UNIT, full)
    sector = data.draw(st.integers(0, int(theirs.capacity(DRIVE)) - 1))
    if not whole:
        lost = data.draw(st.integers(0, int(theirs.drives) - 1))
        ours, theirs = AfterLoss(ours, lost), AfterLoss(theirs, lost)
        sector += data.draw(st.booleans()) * int(theirs.capacity(DRIVE))
        read = read and sector < int(theirs.capacity(DRIVE))
    here, there = located(ours, sector, read), located(theirs, sector, read)
    for method in ("parts_of", "needed_of", "parts_read_first"):
        np.testing.assert_array_equal(getattr(ours, method)(here), getattr(theirs, method)(there))
    every = np.arange(int(theirs.parts))
    np.testing.assert_array_equal(ours.drive_of(every, here), theirs.drive_of(every, there))
    assert int(ours.capacity(DRIVE)) == int(theirs.capacity(DRIVE)) and int(ours.drives) == int(theirs.drives)


@settings(max_examples=6)
@given(CODES, st.integers(1, 16))
def test_every_unit_is_on_a_drive_of_its_own_and_no_sector_is_used_twice(code, unit):
    """Units of a row are on different drives of a group, and over all rows, no two units share a drive and an address."""
    *numbers, groups = code
    (k, local, more), size = numbers, sum(numbers)
    layout, rows = LocalReconstruction(*numbers, groups, unit), size * groups
    sectors = np.arange(rows * k) * unit
    location = layout.locate(DRIVE, requests_at(sectors)._replace(read=np.zeros(sectors.size, bool)))
    row = np.arange(rows * k) // (groups * k) * groups + np.arange(rows * k) % groups
    # drives by position: the data of each request, and the parities of its row
    own = np.asarray(layout.drive_of(np.array([0]), location))
    parities = np.array([np.asarray(layout.drive_of(np.array([1 + one]), location)) for one in range(local + more)])
    assert np.all(np.asarray(layout.part_on(own, location)) == 0)
    for number in range(rows):
        of_row = row == number
        assert np.all(parities[:, of_row] == parities[:, of_row][:, :1])
        drives = [*own[of_row], *parities[:, of_row][:, 0]]
        first = min(drives) // size * size
        assert sorted(drives) == list(range(first, first + size))
    # each drive has each parity equally often
    assert np.all(np.bincount(parities.ravel(), minlength=size * groups) == k * (local + more))
    assert np.unique(np.stack([own, sectors // (k * groups * unit)]), axis=1).shape[1] == sectors.size
    counts = [sum((int(mask) >> 1 + part) & 1 for mask in np.ravel(location.touched)) for part in range(local + more)]
    assert counts == [rows * k // local] * local + [rows * k] * more


def accessed(code, lost: int, sector: int, read: bool, rebuild: bool) -> list[int]:
    """Return the drive of each access to a degraded group, for a code whose writes read the old units."""
    k, local, more = code
    size, share = sum(code), k // local
    turn, column = (sector // UNIT, 0) if rebuild else divmod(sector // UNIT, k)
    drives = [(size - 1 - turn % size + position) % size for position in range(size)]
    missing, own, data = drives.index(lost), size - k + column, range(size - k, size)
    groups = [{one, *data[one * share : (one + 1) * share]} for one in range(local)]
    restoring = next((group - {missing} for group in groups if missing in group), set(data))
    written = {own, column // share, *range(local, local + more)} - {missing}
    if rebuild:
        return [*(drives[unit] for unit in restoring), size]
    if missing == own:
        used = [*restoring] if read else [*restoring | written, *written]
    else:
        used = [own] if read else [*written, *written]
    return [drives[unit] for unit in used]


def test_each_drive_serves_the_accesses_that_the_rules_count():
    """All requests of users and of the rebuild complete, so that the counts are exact."""
    code, lost = (8, 2, 1), 4
    array = System(DRIVE, AfterLoss(LocalReconstruction(*code, 1, UNIT), lost), Broadcast(), FCFS())
    users = RandomRequests(FixedSize(4096), read_share=0.6)
    scenario = rebuild_scenario(array, users, rate=40.0, rebuild_rate=12 * UNIT * SECTOR, requests=1500, seed=3)
    requests, capacity = scenario.arrivals.requests, int(array.placement.capacity(DRIVE))
    seen = simulate(scenario, requests=scenario.arrivals.total, warm_up=0, measures=by_stream(2))
    count = np.zeros(sum(code) + 1, int)
    for sector, read, stream in zip(
        requests.sector.tolist(), requests.read.tolist(), requests.stream.tolist(), strict=True
    ):
        np.add.at(count, accessed(code, lost, sector - stream * capacity, read, stream == 1), 1)
    served = np.round((seen.brick_throughput * seen.elapsed).values).astype(int)
    np.testing.assert_array_equal(served, count)
    assert served[lost] == 0 and served[-1] == np.count_nonzero(requests.stream) > 0


def test_runs_with_different_codes_are_one_batch():
    layouts = LocalReconstruction(2, 1, 1, 1, UNIT), LocalReconstruction(4, 2, 1, 1, UNIT)
    loop = ClosedLoop(RandomRequests(FixedSize(4096), 0.0), 3)
    runs = [Scenario(System(DRIVE, layout, Broadcast(), FCFS(), drives=7, slots=8), loop) for layout in layouts]
    tally = execute(*stack(runs, [0]), 300, Record(sums_of(STANDARD))).tally
    served, writes = tally["served"].sum(axis=0), tally["writes"].sum(axis=0).ravel()
    assert [np.count_nonzero(served[:, run]) for run in range(2)] == [4, 7]
    # 1 + 3 accesses, and 3 + 3
    np.testing.assert_allclose(served.sum(axis=0) / writes, [4, 6], rtol=0.05)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LocalReconstruction(12, 5, 2), "data 12 units: it must be a multiple of the number of local groups"),
        (lambda: LocalReconstruction(12, 0, 2), "local groups 0: it must be 1 to 31"),
        (lambda: LocalReconstruction(12, 2, 0), "global parities 0: it must be 1 to 31"),
        (lambda: LocalReconstruction(1, 1, 1), "data 1 units: it must be 2 to"),
        (lambda: LocalReconstruction(32, 16, 16), "parities 32: it must be 1 to 31"),
        (lambda: LocalReconstruction(28, 2, 3, full_stripes=True), "with full stripes 33 drives: it must be at most"),
    ],
)
def test_impossible_codes_raise(build, message):
    assert_refused(build, message)
