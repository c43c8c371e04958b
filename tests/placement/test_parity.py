"""Test groups with parity.

The tests check locations of data and parity, writes that occupy both, and agreement of one parity with RAID 5.
"""

import numpy as np
import pytest
from helpers import asking, assert_refused, responses
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import RAID5, ParityGroups
from storagekit.schedule import FCFS

TRACK = 4096
DRIVE = ideal_drive(full_seek=1e-3, revolution=TRACK * 1e-4, cylinders=2, sectors_per_track=TRACK)
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)).map(lambda n: (n[0] + n[1] + 1, n[1], n[2]))


def holders(layout, sector: int, read: bool = False) -> list[int]:
    """Return the drives of the parts of a request, in the order of the parts."""
    place = layout.locate(DRIVE, asking(sector)._replace(read=np.array([read])))
    count = int(layout.needed_of(place)[0])
    found = [int(layout.drive_of(np.array([part]), place)[0]) for part in range(count)]
    for drive in range(int(layout.drives)):
        part = int(layout.part_on(np.array([drive]), place)[0])
        assert (0 <= part < count) == (drive in found)
        assert drive not in found or part == found.index(drive)
    return found


@settings(max_examples=60)
@given(SHAPES, st.integers(1, 16), st.integers(0, 500))
def test_a_row_has_every_drive_of_its_group_once_and_parity_rotates(shape, unit, row):
    """The data units and the parity of a row use every drive of the group once.

    Over as many rows as the group has disks, parity is equally often on each.
    """
    disks, parities, groups = shape
    layout, data = ParityGroups(disks, parities, groups, unit), disks - parities
    first = row * data * groups * unit
    for group in range(groups):
        found = [holders(layout, first + (column * groups + group) * unit) for column in range(data)]
        assert len({tuple(one[1:]) for one in found}) == 1
        assert sorted([*(one[0] for one in found), *found[0][1:]]) == list(range(group * disks, (group + 1) * disks))
    turns = [holders(layout, first + turn * data * groups * unit)[1:] for turn in range(disks)]
    often = np.bincount(np.concatenate(turns), minlength=disks)[:disks]
    assert np.all(often == parities)


@settings(max_examples=60)
@given(st.integers(3, 9), st.integers(1, 16), st.integers(0, 3000), st.booleans())
def test_one_group_with_one_parity_equals_raid_5(disks, unit, sector, read):
    ours, theirs = ParityGroups(disks, unit=unit), RAID5(disks, unit)
    request = asking(sector)._replace(read=np.array([read]))
    here, there = ours.locate(DRIVE, request), theirs.locate(DRIVE, request)
    assert int(here.touched[0]) == int(there.touched[0])
    for part in range(1 if read else 2):
        which = np.array([part])
        assert int(ours.drive_of(which, here)[0]) == int(theirs.drive_of(which, there)[0])
    assert float(here.target.angle[0]) == float(there.target.angle[0])
    assert int(ours.capacity(DRIVE)) == int(theirs.capacity(DRIVE))


@pytest.mark.slow
def test_a_small_write_takes_one_more_revolution_on_every_drive_of_its_parts(unfold, recorded):
    """Platters start at 0. The drives wait 100 ms for sector 1000, read it in 0.1 ms and reach it again 409.6 ms later."""
    for parities in (1, 2, 3):
        system = System(DRIVE, ParityGroups(6, parities, 2, 2000), Broadcast(), FCFS(), slots=4)
        for read, response, served in ((True, 100.1, 1), (False, 509.7, 1 + parities)):
            tally, reports = unfold(Scenario(system, recorded([0.0], sector=1000, read=read)), phase=np.zeros(12))
            assert responses(reports) == pytest.approx({0: response}, rel=1e-4)
            assert int(tally.served.sum()) == served


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ParityGroups(3, 2), "size of a group 3 drives: it must be at least two more"),
        (lambda: ParityGroups(5, 0), "parities 0: it must be 1 to"),
        (lambda: ParityGroups(5, 1, 0), "groups 0: it must be at least 1"),
        (lambda: ParityGroups(5, 1, 1, 0), "a stripe unit of 0 sectors"),
    ],
)
def test_impossible_groups_raise(build, message):
    assert_refused(build, message)
