"""Test groups with parity.

The tests check locations of data and parity, what a write reads first, full stripes, declustered groups, and agreement of
one parity with RAID 5.
"""

import math

import numpy as np
import pytest
from helpers import assert_refused, requests_at, responses
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import RAID5, DeclusteredParity, ParityGroups
from storagekit.placement.declustered_parity import orders
from storagekit.queue import Depth, FairQueue
from storagekit.schedule import FCFS

TRACK = 4096
DRIVE = ideal_drive(full_seek=1e-3, revolution=TRACK * 1e-4, cylinders=2, sectors_per_track=TRACK)
LARGE = ideal_drive(full_seek=1e-3, revolution=1e-2, cylinders=200, sectors_per_track=TRACK)
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)).map(lambda n: (n[0] + n[1] + 1, n[1], n[2]))


def holders(layout, sectors, read: bool = False) -> list[list[int]]:
    """Return the drives of the parts of each request, in the order of the parts."""
    sectors = np.atleast_1d(sectors)
    location = layout.locate(DRIVE, requests_at(sectors)._replace(read=np.full(sectors.size, read)))
    (count,) = set(np.broadcast_to(layout.needed_of(location), sectors.size).tolist())
    found = np.array([layout.drive_of(np.array([part]), location) for part in range(count)]).T
    for drive in range(int(layout.drives)):
        parts = np.broadcast_to(layout.part_on(np.array([drive]), location), sectors.size)
        for part, drives in zip(parts.tolist(), found.tolist(), strict=True):
            assert (0 <= part < count) == (drive in drives)
            assert drive not in drives or part == drives.index(drive)
    return found.tolist()


@settings(max_examples=30)
@given(SHAPES, st.integers(1, 16), st.integers(0, 500))
def test_a_row_has_every_drive_of_its_group_once_and_parity_rotates(shape, unit, row):
    """The data units and the parity of a row use every drive of the group once.

    Over as many rows as the group has disks, parity is equally often on each.
    """
    disks, parities, groups = shape
    layout, data = ParityGroups(disks, parities, groups, unit), disks - parities
    first = row * data * groups * unit
    of_row = holders(layout, first + np.arange(data * groups) * unit)
    for group in range(groups):
        found = of_row[group::groups]
        assert len({tuple(one[1:]) for one in found}) == 1
        assert sorted([*(one[0] for one in found), *found[0][1:]]) == list(range(group * disks, (group + 1) * disks))
    turns = [one[1:] for one in holders(layout, first + np.arange(disks) * data * groups * unit)]
    often = np.bincount(np.concatenate(turns), minlength=disks)[:disks]
    assert np.all(often == parities)


@settings(max_examples=30)
@given(st.integers(3, 9), st.integers(1, 16), st.integers(0, 3000), st.booleans())
def test_one_group_with_one_parity_equals_raid_5(disks, unit, sector, read):
    ours, theirs = ParityGroups(disks, unit=unit), RAID5(disks, unit)
    request = requests_at(sector)._replace(read=np.array([read]))
    here, there = ours.locate(DRIVE, request), theirs.locate(DRIVE, request)
    assert int(here.touched[0]) == int(there.touched[0])
    for part in range(1 if read else 2):
        which = np.array([part])
        assert int(ours.drive_of(which, here)[0]) == int(theirs.drive_of(which, there)[0])
    assert float(here.target.angle[0]) == float(there.target.angle[0])
    assert int(ours.capacity(DRIVE)) == int(theirs.capacity(DRIVE))


@settings(max_examples=50)
@given(SHAPES, st.integers(1, 16), st.integers(0, 3000))
def test_a_write_reads_what_needs_fewer_accesses(shape, unit, sector):
    """It reads all parts that it writes, or all other data of its row. Their numbers add up to the smaller sum."""
    disks, parities, groups = shape
    layout, data = ParityGroups(disks, parities, groups, unit), disks - parities
    (written,) = holders(layout, sector)
    location = layout.locate(DRIVE, requests_at(sector)._replace(read=np.array([False])))
    mask = int(layout.parts_read_first(location)[0])
    first = [int(layout.drive_of(np.array([part]), location)[0]) for part in range(32) if mask >> part & 1]
    for drive, part in zip(first, (part for part in range(32) if mask >> part & 1), strict=True):
        assert int(layout.part_on(np.array([drive]), location)[0]) == part
    group = range(written[0] // disks * disks, written[0] // disks * disks + disks)
    others = sorted(set(group) - set(written))
    assert sorted(first) == (others if layout.reconstructs else sorted(written))
    assert len(first) + len(written) == min(2 * (1 + parities), data - 1 + 1 + parities)
    read = layout.locate(DRIVE, requests_at(sector)._replace(read=np.array([True])))
    assert int(layout.parts_read_first(read)[0]) == 0


@pytest.mark.parametrize(
    "parities", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_a_small_write_reads_and_takes_one_more_revolution(parities, unfold, recorded):
    """Platters start at 0. The drives wait 100 ms for sector 1000, read it in 0.1 ms and reach it again 409.6 ms later.

    With three parities the other two data are read first, and all four parts are written when the platters come round.
    """
    system = System(DRIVE, ParityGroups(6, parities, 2, 2000), Broadcast(), FCFS(), slots=4)
    for read, response, served in ((True, 100.1, 1), (False, 509.7, min(2 * (1 + parities), 6))):
        tally, reports = unfold(Scenario(system, recorded([0.0], sector=1000, read=read)), phase=np.zeros(12))
        assert responses(reports) == pytest.approx({0: response}, rel=1e-4)
        assert int(tally.served.sum()) == served


def test_a_write_waits_for_the_slower_of_its_reads_and_joins_the_queue_behind_others(unfold, recorded):
    """Sector 1000 of row 0 is on drive 0, with its parity on drive 3. A revolution takes 409.6 ms.

    The platter of the parity drive is 204.8 ms ahead, so that it reads sector 1000 at 304.8 ms, until 304.9 ms. Drive 0
    has read it at 100.1 ms. Both write from then on: drive 0 reaches the sector at 509.6 ms, until 509.7 ms, and drive 3
    at 714.4 ms, until 714.5 ms.

    With a read of sector 500 of row 0 at 200 ms, drive 0 is at sector 2000 then, reads from 459.6 ms until 459.7 ms and
    still writes in time. With a read of sector 900 at 300 ms, at sector 3000, it reads from 499.6 until 499.7 ms. With a
    read of sector 990 at 310 ms, after the write joined the queue, it writes first: the read ends at 918.3 ms, 608.3 ms
    after it came.
    """
    system = System(DRIVE, ParityGroups(4, 1, 1, 2000), Broadcast(), FCFS(), slots=4)
    phase = np.array([0.0, 0.0, 0.0, 0.5])
    tally, reports = unfold(Scenario(system, recorded([0.0], sector=1000, read=False)), phase=phase)
    assert responses(reports) == pytest.approx({0: 714.5}, rel=1e-4)
    assert tally.served.ravel().tolist() == [2, 0, 0, 2]
    for time, sector, response in ((0.2, 500, 259.7), (0.3, 900, 199.7), (0.31, 990, 608.3)):
        arrivals = recorded([0.0, time], sector=[1000, sector], read=[False, True])
        _, reports = unfold(Scenario(system, arrivals), phase=phase)
        assert responses(reports) == pytest.approx({0: 714.5, 1: response}, rel=1e-4)


@settings(max_examples=30)
@given(SHAPES, st.integers(1, 40), st.integers(0, 500), st.integers(1, 3000))
def test_full_stripes_use_every_drive_of_a_group_once(shape, unit, row, sectors):
    """A read has the data drives of the row of a small request, and a write has all drives; the parts hold all sectors."""
    disks, parities, groups = shape
    small, layout = (ParityGroups(disks, parities, groups, unit, full) for full in (False, True))
    data = disks - parities
    request = requests_at(row * data * unit, sectors)
    location = layout.locate(DRIVE, request._replace(read=np.array([False])))
    written = [int(layout.drive_of(np.array([part]), location)[0]) for part in range(disks)]
    group = row % groups
    assert sorted(written) == list(range(group * disks, (group + 1) * disks))
    assert [int(layout.part_on(np.array([drive]), location)[0]) for drive in written] == list(range(disks))
    read = layout.locate(DRIVE, request)
    assert int(read.touched[0]) == (1 << disks) - (1 << parities)
    assert int(layout.parts_of(location)[0]) == (1 << disks) - 1
    # the same drives have the parity of the row's small writes
    first = ((row // groups) * data * groups + group) * unit
    of_row = holders(small, first + np.arange(data) * groups * unit)
    assert written[:parities] == of_row[0][1:]
    assert written[parities:] == [one[0] for one in of_row]
    part = int(layout.sectors_of(np.array([0]), location, np.array([sectors]))[0])
    page = math.gcd(unit, 8)
    assert part % page == 0
    assert part * data >= sectors > (part - page) * data


def test_a_full_stripe_reads_nothing_and_waits_for_its_slowest_drive(unfold, recorded):
    """A request of 3000 sectors has 1000 sectors on each data drive: 100 ms. Platters start at 0, that of parity at 0.5.

    Row 0 has its parity on drive 3. A read ends after 100 ms, a write after 204.8 + 100 ms.
    """
    system = System(DRIVE, ParityGroups(4, 1, 1, 2000, full_stripes=True), Broadcast(), FCFS(), slots=4)
    for read, response, served in ((True, 100.0, [1, 1, 1, 0]), (False, 304.8, [1, 1, 1, 1])):
        arrivals = recorded([0.0], sector=0, sectors=3000, read=read)
        tally, reports = unfold(Scenario(system, arrivals), phase=np.array([0.0, 0.0, 0.0, 0.5]))
        assert responses(reports) == pytest.approx({0: response}, rel=1e-4)
        assert tally.served.ravel().tolist() == served


@pytest.mark.parametrize("disks", [7, 9, 12])
@pytest.mark.parametrize(("size", "parities"), [(3, 1), (4, 2), (5, 1), (7, 3)])
def test_declustered_rows_use_different_drives_and_spread_all_roles_evenly(disks, size, parities):
    """Over n slices, each drive holds each unit of a row once. All pairs have nearly as many rows in common."""
    # a slice has one row
    layout, data = DeclusteredParity(disks, size, parities, 8, True, 8), size - parities
    groups, turns = disks // size, disks * orders(disks).shape[1] // disks
    rows = np.arange(turns * groups)
    location = layout.locate(LARGE, requests_at(rows * data * 8)._replace(read=np.zeros(rows.size, bool)))
    used = np.array([np.asarray(layout.drive_of(np.array([position]), location)) for position in range(size)])
    assert all(len(set(row)) == size for row in used.T)
    for turn in range(turns):
        assert len(set(used[:, turn * groups : (turn + 1) * groups].ravel())) == size * groups
    for position in range(size):
        assert np.all(np.bincount(used[position], minlength=disks) == groups * orders(disks).shape[1] // disks)
        assert np.all(np.asarray(layout.part_on(used[position], location)) == position)
    for drive in range(disks):
        holds = np.asarray(layout.part_on(np.array([drive]), location))
        assert np.all((holds >= 0) == np.any(used == drive, axis=0))
    together = sum(
        np.bincount(used[one] * disks + used[two], minlength=disks**2) for one in range(size) for two in range(size)
    )
    pairs = together.reshape(disks, disks)[~np.eye(disks, dtype=bool)]
    assert pairs.sum() == rows.size * size * (size - 1)
    assert np.all(np.abs(pairs / pairs.mean() - 1) < 0.25)


def test_rows_of_a_slice_are_on_the_same_drives():
    """A slice of 16 MB has 256 rows of 64 KB. The next slice has the same order, moved by one drive."""
    layout = DeclusteredParity(9, 6, 2, 128)
    rows = np.arange(512)
    location = layout.locate(LARGE, requests_at(rows * 4 * 128))
    used = np.array([np.asarray(layout.drive_of(np.array([part]), location)) for part in range(3)])
    assert np.all(used[:, :256] == used[:, :1]) and np.all(used[:, 256:] == (used[:, :1] + 1) % 9)


def test_declustered_writes_read_and_write_as_in_groups(unfold, recorded):
    """With as many drives as a group has, times and accesses are those of `test_a_small_write_...`."""
    system = System(DRIVE, DeclusteredParity(7, 6, 2, 2000), Broadcast(), FCFS(), slots=4)
    for read, response, served in ((True, 100.1, 1), (False, 509.7, 6)):
        tally, reports = unfold(Scenario(system, recorded([0.0], sector=1000, read=read)), phase=np.zeros(7))
        assert responses(reports) == pytest.approx({0: response}, rel=1e-4)
        assert int(tally.served.sum()) == served


def test_a_queue_of_limited_depth_receives_a_write_twice(unfold, recorded):
    """At depth 1, a read that comes while the old data is read is issued before the write, whatever the scheduler.

    Platters start at 0. Drive 0 reads sector 1000 until 100.1 ms. The parity drive is 204.8 ms ahead and ends at 304.9
    ms. The read of sector 1500, which came at 50 ms, ends at 150.1 ms.
    """
    system = System(DRIVE, ParityGroups(4, 1, 1, 2000), Broadcast(), FCFS(), slots=4, queue=Depth(1))
    arrivals = recorded([0.0, 0.05], sector=[1000, 1500], read=[False, True])
    tally, reports = unfold(Scenario(system, arrivals), phase=np.array([0.0, 0.0, 0.0, 0.5]))
    assert responses(reports) == pytest.approx({0: 714.5, 1: 100.1}, rel=1e-4)
    assert tally.served.ravel().tolist() == [3, 0, 0, 2]


def test_fair_queues_are_refused():
    assert_refused(
        lambda: System(DRIVE, RAID5(4), Broadcast(), FCFS(), queue=FairQueue(4, [1])),
        "FairQueue with RAID5, whose writes",
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: ParityGroups(3, 2),
            "size of a group 3 drives: it must be at least the number of parity drives plus 2",
        ),
        (lambda: ParityGroups(5, 0), "parities 0: it must be 1 to"),
        (lambda: ParityGroups(5, 1, 0), "groups 0: it must be at least 1"),
        (lambda: ParityGroups(5, 1, 1, 0), "a stripe unit of 0 sectors"),
        (
            lambda: ParityGroups(33, 1, full_stripes=True),
            "size of a group with full stripes 33 drives: it must be at most",
        ),
        (lambda: DeclusteredParity(6, 7), "size of a group 7 drives: it must be at most 6"),
        (lambda: DeclusteredParity(2, 2), "disks 2"),
    ],
)
def test_impossible_groups_raise(build, message):
    assert_refused(build, message)
