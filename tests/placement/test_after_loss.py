"""Test layouts with parity that have lost a drive.

The tests check the parts of reads and writes against hand-worked rows, the requests of the rebuild, and times by hand.
"""

import numpy as np
import pytest
from helpers import assert_refused, requests_at, responses
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.dispatch import Broadcast, Hashing
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, stack
from storagekit.faults import FaultSchedule, outage
from storagekit.placement import RAID5, AfterLoss, DeclusteredParity, ParityGroups, Replicas
from storagekit.placement.declustered_parity import orders
from storagekit.queue import Depth
from storagekit.schedule import FCFS
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.write import AllCopies, Background, Claimed, Committed, FirstCopy, Immediate

UNIT = 8
DRIVE = ideal_drive(full_seek=1e-3, revolution=1e-2, cylinders=200, sectors_per_track=4096)
TRACK = 4096
TURNING = ideal_drive(full_seek=1e-3, revolution=TRACK * 1e-4, cylinders=2, sectors_per_track=TRACK)
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)).map(lambda n: (n[0] + n[1] + 1, n[1], n[2]))
# Number of the row's parities, its units, position of the data, position of the lost unit (-1: none), parts that are read,
# parts that are written. Position 0 is the first parity.
READS = [
    (1, 5, 1, 3, {1}),
    (1, 5, 1, 0, {1}),
    (1, 5, 1, 1, {0, 2, 3, 4}),
    (1, 5, 4, 4, {0, 1, 2, 3}),
    (2, 4, 2, 2, {0, 3}),
    (2, 4, 3, 2, {3}),
    (2, 4, 3, 1, {3}),
    (2, 10, 5, 5, {0, 2, 3, 4, 6, 7, 8, 9}),
    (2, 10, 5, -1, {5}),
]
WRITES = [
    # 4+1: the complete row corrects its parity; lost data is in the parity only; without parity nothing is calculated
    (1, 5, 2, -1, {0, 2}, {0, 2}),
    (1, 5, 2, 2, {1, 3, 4}, {0}),
    (1, 5, 2, 0, set(), {2}),
    (1, 5, 2, 4, {0, 2}, {0, 2}),
    # 2+2: one read of the other data, or two reads that restore the lost data
    (2, 4, 2, -1, {3}, {0, 1, 2}),
    (2, 4, 2, 2, {3}, {0, 1}),
    (2, 4, 2, 0, {3}, {1, 2}),
    (2, 4, 3, 1, {2}, {0, 3}),
    (2, 4, 2, 3, {0, 2}, {0, 1, 2}),
    # 3+2: as many reads with both methods, so that the parity is corrected
    (2, 5, 3, -1, {2, 4}, {0, 1, 3}),
    (2, 5, 3, 0, {1, 3}, {1, 3}),
    (2, 5, 3, 4, {0, 1, 3}, {0, 1, 3}),
    # 8+2
    (2, 10, 2, -1, {0, 1, 2}, {0, 1, 2}),
    (2, 10, 5, 5, {2, 3, 4, 6, 7, 8, 9}, {0, 1}),
    (2, 10, 2, 1, {0, 2}, {0, 2}),
    (2, 10, 2, 9, {0, 1, 2}, {0, 1, 2}),
]
FULL = [
    (1, 5, 3, True, {0, 1, 2, 4}),
    (1, 5, 0, True, {1, 2, 3, 4}),
    (1, 5, -1, True, {1, 2, 3, 4}),
    (1, 5, 3, False, {0, 1, 2, 4}),
    (1, 5, 0, False, {1, 2, 3, 4}),
    (1, 5, -1, False, {0, 1, 2, 3, 4}),
    (2, 10, 9, True, {0, 2, 3, 4, 5, 6, 7, 8}),
    (2, 10, 1, False, {0, 2, 3, 4, 5, 6, 7, 8, 9}),
]


def positions(mask) -> set[int]:
    return {part for part in range(32) if int(np.ravel(mask)[0]) >> part & 1}


def located(layout, sector: int, read: bool):
    return layout.locate(DRIVE, requests_at(sector)._replace(read=np.array([read])))


def in_row(parities: int, size: int, data: int, missing: int, full: bool = False) -> tuple[AfterLoss, int]:
    """Return a layout, and an address in a row with the lost unit at position `missing`; -1 for another group's row.

    The parity of row 0 begins on the last drive of a group.
    """
    lost = (size - 1 + missing) % size if missing >= 0 else size
    layout = ParityGroups(size, parities, 2, UNIT, full)
    return AfterLoss(layout, lost), 0 if full else (data - parities) * 2 * UNIT


@pytest.mark.parametrize(("parities", "size", "data", "missing", "parts"), READS)
def test_a_read_of_lost_data_reads_the_other_data_and_the_first_parity(parities, size, data, missing, parts):
    layout, sector = in_row(parities, size, data, missing)
    location = located(layout, sector, True)
    assert positions(layout.parts_of(location)) == parts
    assert int(layout.needed_of(location)[0]) == len(parts)
    assert positions(layout.parts_read_first(location)) == set()


@pytest.mark.parametrize(("parities", "size", "data", "missing", "first", "written"), WRITES)
def test_a_write_reads_what_it_needs_and_writes_all_but_the_lost_unit(parities, size, data, missing, first, written):
    layout, sector = in_row(parities, size, data, missing)
    location = located(layout, sector, False)
    assert positions(layout.parts_of(location)) == written
    assert positions(layout.parts_read_first(location)) == first


@pytest.mark.parametrize(("parities", "size", "missing", "read", "parts"), FULL)
def test_full_stripes_leave_out_the_lost_unit(parities, size, missing, read, parts):
    layout, sector = in_row(parities, size, 0, missing, full=True)
    location = located(layout, sector, read)
    assert positions(layout.parts_of(location)) == parts
    assert positions(layout.parts_read_first(location)) == set()


@settings(max_examples=30)
@given(SHAPES, st.integers(1, 16), st.integers(0, 3000), st.booleans(), st.booleans())
def test_rows_of_other_groups_are_served_as_before(shape, unit, sector, read, full):
    """The lost drive belongs to a group that is not used: parts have other numbers, and the same drives."""
    disks, parities, groups = shape
    layout = ParityGroups(disks, parities, groups + 1, unit, full)
    request = requests_at(sector)._replace(read=np.array([read]))
    before = layout.locate(DRIVE, request)
    group = int(layout.drive_of(np.array([0]), before)[0]) // disks
    after = AfterLoss(layout, (group + 1) % (groups + 1) * disks)
    location = after.locate(DRIVE, request)

    def drives(one, where, mask) -> set[int]:
        return {int(one.drive_of(np.array([part]), where)[0]) for part in positions(mask)}

    assert drives(after, location, location.row.touched) == drives(layout, before, before.touched)
    earlier = 0 if read or full else layout.parts_read_first(before)
    assert drives(after, location, location.first) == drives(layout, before, earlier)
    for one, other in zip(location.row.target, before.target, strict=True):
        np.testing.assert_array_equal(one, other)
    sectors = np.array([100])
    assert int(after.sectors_of(np.array([0]), location, sectors)[0]) == int(
        layout.sectors_of(np.array([0]), before, sectors)[0]
    )


@settings(max_examples=50)
@given(st.data(), SHAPES, st.integers(0, 2), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 10**6))
def test_every_part_is_on_one_working_drive(data, shape, more, declustered, full, read, number):
    """The lost drive has no part, the additional drive has only restored units, and no two parts share a drive."""
    size, parities, groups = shape
    layout = ParityGroups(size, parities, groups, UNIT, full)
    if declustered:
        layout = DeclusteredParity(size * groups + more, size, parities, UNIT, full)
    lost = data.draw(st.integers(0, int(layout.drives) - 1))
    after = AfterLoss(layout, lost)
    capacity, rebuild = int(after.capacity(DRIVE)), data.draw(st.booleans())
    address = number % int(after.used(DRIVE)) // UNIT * UNIT
    sector, read = (capacity + address, False) if rebuild else (number % capacity, read)
    location = located(after, sector, read)
    parts = positions(after.parts_of(location)) | positions(after.parts_read_first(location))
    drives = [int(after.drive_of(np.array([part]), location)[0]) for part in sorted(parts)]
    assert len(set(drives)) == len(drives) and lost not in drives
    assert all(0 <= drive < int(after.drives) for drive in drives)
    for drive in range(int(after.drives)):
        part = int(after.part_on(np.array([drive]), location)[0])
        assert (part in parts) == (drive in drives)
        assert drive not in drives or part == sorted(parts)[drives.index(drive)]
    if rebuild and after.holds_data(np.array([address]))[0]:
        assert int(after.drive_of(location.missing, location)[0]) not in range(size * groups) or declustered
        assert len(positions(location.first)) == size - parities and len(positions(location.row.touched)) == 1
    elif int(after.drives) > int(layout.drives):
        assert int(layout.drives) not in drives


@pytest.mark.parametrize(
    ("turn", "missing", "first"),
    [(0, 1, {2, 3, 4, 0}), (1, 2, {1, 3, 4, 0}), (3, 4, {1, 2, 3, 0}), (4, 0, {1, 2, 3, 4}), (5, 1, {2, 3, 4, 0})],
)
def test_a_rebuild_reads_m_units_and_writes_the_additional_drive(turn, missing, first):
    """Drive 0 of 4+1 has position 1 in row 0, whose parity is on drive 4, and one more in each further row."""
    layout = AfterLoss(ParityGroups(5, 1, 1, UNIT), 0)
    location = located(layout, int(layout.capacity(DRIVE)) + turn * UNIT + 3, False)
    assert int(layout.drives) == 6
    assert positions(location.first) == first
    assert positions(location.row.touched) == {missing}
    assert int(layout.drive_of(np.array([missing]), location)[0]) == 5
    assert int(layout.part_on(np.array([5]), location)[0]) == missing
    there = DRIVE.locate(np.array([turn * UNIT + 3]), np.array([1]))
    assert int(location.row.target.cylinder[0]) == int(there.cylinder[0])
    assert float(location.row.target.angle[0]) == float(there.angle[0])


def test_a_rebuild_of_a_row_without_a_parity_reads_all_data():
    """Drive 3 of 2+2 has the first parity in row 0, and its data are in the second group."""
    for lost, first, missing in ((7, {2, 3}, 0), (4, {2, 3}, 1), (5, {0, 3}, 2), (6, {0, 2}, 3)):
        layout = AfterLoss(ParityGroups(4, 2, 2, UNIT), lost)
        location = located(layout, int(layout.capacity(DRIVE)), False)
        assert positions(location.first) == first and positions(location.row.touched) == {missing}
        assert 0 <= int(layout.drive_of(np.array([2]), location)[0]) - 4 <= 4


@pytest.mark.parametrize(("disks", "group", "parities"), [(7, 3, 1), (13, 6, 2), (8, 4, 2)])
def test_a_rebuild_of_declustered_rows_uses_the_spare_space_of_their_addresses(disks, group, parities):
    """The drives of address r are an order of all drives, moved by r; groups and spare space are successive in it."""
    lost, rows = 2, disks // group
    layout = AfterLoss(DeclusteredParity(disks, group, parities, UNIT, slice_sectors=UNIT), lost)
    assert int(layout.drives) == disks + (disks % group == 0)
    assert layout.longest_rebuild == UNIT
    turns = np.arange(2 * disks)
    holds = layout.holds_data(turns * UNIT + 5)
    for turn in turns:
        order = (orders(disks)[0].reshape(-1, disks)[turn // disks] + turn % disks) % disks
        at = int(np.flatnonzero(order == lost)[0])
        location = located(layout, int(layout.capacity(DRIVE)) + int(turn) * UNIT, False)
        assert bool(holds[turn]) == (at < rows * group)
        if at >= rows * group:
            assert positions(location.first) == positions(location.row.touched) == set()
            continue
        row, missing = order[at // group * group :][:group], at % group
        data = set(range(parities, group))
        first = data - {missing} | {0} if missing >= parities else data
        assert positions(location.row.touched) == {missing} and positions(location.first) == first
        for part in first:
            assert int(layout.drive_of(np.array([part]), location)[0]) == row[part]
        spare = disks if disks % group == 0 else order[rows * group]
        assert int(layout.drive_of(np.array([missing]), location)[0]) == spare
    assert np.count_nonzero(holds) == 2 * rows * group


def test_runs_with_different_numbers_are_one_batch():
    """Each run has the lost drive and the groups of its own."""
    layouts = [AfterLoss(ParityGroups(*shape, unit=UNIT), lost) for shape, lost in (((4, 1), 0), ((5, 2), 3))]
    loop = ClosedLoop(RandomRequests(FixedSize(4096), 0.5), 3)
    systems = [System(DRIVE, layout, Broadcast(), FCFS(), drives=6, slots=8) for layout in layouts]
    outcome = execute(*stack([Scenario(system, loop) for system in systems], [0]), 200, Record(sums_of(STANDARD)))
    served = outcome.tally["served"].sum(axis=0)
    for index, system in enumerate(systems):
        alone = (
            execute(*stack([Scenario(system, loop)], [0]), 200, Record(sums_of(STANDARD))).tally["served"].sum(axis=0)
        )
        used = np.flatnonzero(alone[:, 0])
        assert used.tolist() == ([1, 2, 3], [0, 1, 2, 4])[index]
        assert np.flatnonzero(served[:, index]).tolist() == used.tolist()


def test_a_read_of_lost_data_waits_for_the_slowest_of_m_drives(unfold, recorded):
    """Sector 1000 of row 0 is on drive 0, which is lost. A revolution takes 409.6 ms.

    The other data are on drives 1 and 2, and the parity on drive 3. Platters at 0 reach sector 1000 after 100 ms and read
    it in 0.1 ms. Drive 1 is a quarter of a revolution behind, so that the read ends at 100.1 + 102.4 ms.
    """
    phase = np.array([0.0, 0.75, 0.0, 0.0, 0.0])
    for dispatch in (Broadcast(), Hashing()):
        system = System(TURNING, AfterLoss(ParityGroups(4, 1, 1, 2000)), dispatch, FCFS(), slots=4)
        tally, reports = unfold(Scenario(system, recorded([0.0], sector=1000)), phase=phase)
        assert responses(reports) == pytest.approx({0: 202.5}, rel=1e-4)
        assert tally.served.ravel().tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("lost", "parities", "response", "served"),
    [
        # the write reads drives 1 and 2, drive 1 until 202.5 ms, and then writes the parity on drive 3 at 509.7 ms
        (0, 1, 509.7, [0, 1, 1, 1, 0]),
        # no parity remains
        (3, 1, 100.1, [1, 0, 0, 0, 0]),
        # data and parity are read until 100.1 ms, and written one revolution later
        (1, 1, 509.7, [2, 0, 0, 2, 0]),
        # 2+2: parity is on drives 3 and 0, and the data on 1. The other data on drive 2 is read until 100.1 ms. Drive 1
        # writes at 202.5 ms, and the others write one revolution later
        (3, 2, 509.7, [1, 1, 1, 0, 0]),
        (1, 2, 509.7, [1, 0, 1, 1, 0]),
        # the parity on drive 3 and the data on drive 1 are read until 202.5 ms, and written a revolution after that
        (2, 2, 612.1, [1, 2, 0, 2, 0]),
    ],
)
@pytest.mark.parametrize("queue", [None, Depth(1)])
def test_a_write_waits_for_its_reads(unfold, recorded, lost, parities, response, served, queue):
    """Sector 1000 of row 0. Platters are at 0, and that of drive 1 a quarter of a revolution behind."""
    layout = AfterLoss(ParityGroups(4, parities, 1, 2000), lost)
    system = System(TURNING, layout, Broadcast(), FCFS(), slots=4, queue=queue)
    phase = np.array([0.0, 0.75, 0.0, 0.0, 0.0])
    tally, reports = unfold(Scenario(system, recorded([0.0], sector=1000, read=False)), phase=phase)
    assert tally.served.ravel().tolist() == served
    assert responses(reports) == pytest.approx({0: response}, rel=1e-4)


def test_a_request_of_the_rebuild_reads_and_then_writes_the_spare(unfold, recorded):
    """Sector 1000 of drive 1 in 3+1: drives 0, 2 and 3 read it until 100.1 ms, and drive 4 writes it at 509.7 ms."""
    layout = AfterLoss(ParityGroups(4, 1, 1, 2000), 1)
    system = System(TURNING, layout, Broadcast(), FCFS(), slots=4)
    sector = int(layout.capacity(TURNING)) + 1000
    tally, reports = unfold(Scenario(system, recorded([0.0], sector=sector, read=False)), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: 509.7}, rel=1e-4)
    assert tally.served.ravel().tolist() == [1, 0, 1, 1, 1]
    full = AfterLoss(ParityGroups(4, 1, 1, 2000, full_stripes=True), 1)
    system = System(TURNING, full, Broadcast(), FCFS(), slots=4)
    # its length is not divided over the data
    location = full.locate(TURNING, requests_at(sector, 30)._replace(read=np.array([False])))
    assert int(full.sectors_of(location.missing, location, np.array([30]))[0]) == 30
    arrivals = recorded([0.0], sector=sector, sectors=30, read=False)
    tally, reports = unfold(Scenario(system, arrivals), phase=np.zeros(5))
    assert responses(reports) == pytest.approx({0: 509.6 + 3.0}, rel=1e-4)
    assert tally.served.ravel().tolist() == [1, 0, 1, 1, 1]


def test_a_full_stripe_reads_nothing_and_leaves_out_the_lost_drive(unfold, recorded):
    """A request of 3000 sectors has 1000 sectors on each drive: 100 ms. The platter of parity is at 0.5."""
    layout = AfterLoss(ParityGroups(4, 1, 1, 2000, full_stripes=True), 1)
    system = System(TURNING, layout, Broadcast(), FCFS(), slots=4)
    for read in (True, False):
        arrivals = recorded([0.0], sector=0, sectors=3000, read=read)
        tally, reports = unfold(Scenario(system, arrivals), phase=np.array([0.0, 0.0, 0.0, 0.5, 0.0]))
        assert responses(reports) == pytest.approx({0: 304.8}, rel=1e-4)
        assert tally.served.ravel().tolist() == [1, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AfterLoss(Replicas(2)), "layout before the loss"),
        (lambda: AfterLoss(RAID5(4), 4), "lost drive 4: it must be 0 to 3"),
        (lambda: AfterLoss(RAID5(4), -1), "lost drive -1"),
        (lambda: AfterLoss(ParityGroups(33, 1)), "size of a group after a loss 33"),
    ],
)
def test_impossible_losses_raise(build, message):
    assert_refused(build, message)


@pytest.mark.parametrize("full", [False, True])
def test_delayed_writes_and_outages_are_refused(full):
    layout = AfterLoss(ParityGroups(4, 1, 1, UNIT, full))
    for write in (Background(4, most=64), Committed(1e5, most=64), Claimed()):
        assert_refused(
            lambda write=write: System(DRIVE, layout, Broadcast(), FCFS(), write), "policy .* (neither|not) copies"
        )
    for write in (AllCopies(), FirstCopy(), Immediate()):
        System(DRIVE, layout, Broadcast(), FCFS(), write)
    faults = FaultSchedule(outage(1, 0, 10), timeout=0.1)
    assert_refused(lambda: System(DRIVE, layout, Broadcast(), FCFS(), faults=faults), "stop")
