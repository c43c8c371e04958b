"""Test the arithmetic of rebuilds of declustered parity, over all orders of the drives.

With n drives, m data units and w units of a row, a lost drive of B bytes of data moves m B / (n - 1) bytes from each other
drive and B / (n - 1) bytes to its spare space, if all pairs of drives have equally many rows in common (Holland and Gibson,
ASPLOS 1992). With one parity, m is w - 1. With more parities, m units are enough. OpenZFS dRAID reads all w - 1 other units.
"""

import numpy as np
import pytest
from helpers import requests_at, slow_but
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System
from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair
from storagekit.placement import AfterLoss, DeclusteredParity
from storagekit.placement.declustered_parity import orders
from storagekit.schedule import FCFS
from storagekit.simulation import simulate
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests

UNIT = 8
LARGE = ideal_drive(full_seek=1e-3, revolution=6e-3, cylinders=4000, sectors_per_track=512)

TURNING = ideal_drive(full_seek=8e-3, revolution=6e-3, cylinders=4000, sectors_per_track=512)


def moved(disks: int, group: int, parities: int, lost: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the units that each drive reads and writes in a rebuild, and the number of restored units.

    A slice has one row of each group. The slices are those of all orders of the drives, each moved by every number of drives.
    """
    layout = AfterLoss(DeclusteredParity(disks, group, parities, UNIT, slice_sectors=UNIT), lost)
    address = np.arange(orders(disks).shape[1]) * UNIT
    sectors = int(layout.capacity(LARGE)) + address
    assert address[-1] < int(layout.used(LARGE))
    location = layout.locate(LARGE, requests_at(sectors)._replace(read=np.zeros(sectors.size, bool)))
    first, written = (np.asarray(mask) for mask in (location.first, location.row.touched))
    read, wrote = (np.zeros(int(layout.drives), int) for _ in range(2))
    for position in range(group):
        drives = np.asarray(layout.drive_of(np.array([position]), location))
        for mask, count in ((first, read), (written, wrote)):
            np.add.at(count, drives[(mask >> np.uint32(position) & 1).astype(bool)], 1)
    held = np.asarray(layout.holds_data(address))
    assert wrote.sum() == held.sum() and read[lost] == wrote[lost] == 0
    return read, wrote, int(held.sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 6), st.integers(1, 2), st.integers(0, 8), st.integers(1, 3), st.integers(0, 99))
def test_the_capacity_is_that_of_the_drives_without_spare_space(data, parities, spares, groups, number):
    """(n - s) m / w drives, where s is the remainder of n divided by w."""
    group = data + parities
    disks = group * groups + spares % group
    layout = DeclusteredParity(disks, group, parities, UNIT)
    # the last unit of a drive stays free
    drive = LARGE.capacity // UNIT * UNIT - UNIT
    assert int(layout.spare_units) == spares % group
    assert int(layout.capacity(LARGE)) * group == (disks - spares % group) * data * drive
    lost = number % disks
    assert (
        int(np.count_nonzero(AfterLoss(layout, lost).holds_data(np.arange(64 * disks) * 2**15))) == 64 * groups * group
    )


def test_a_published_capacity():
    """OpenZFS: 11 disks with 4 + 1 and one spare have the capacity of 8 disks."""
    layout = DeclusteredParity(11, 5, 1, UNIT)
    assert int(layout.spare_units) == 1
    assert int(layout.capacity(LARGE)) / (LARGE.capacity - UNIT) == pytest.approx(8, rel=1e-4)


@pytest.mark.parametrize(
    ("disks", "group", "parities"),
    slow_but(
        [(14, 6, 1), (14, 11, 2), (64, 9, 1)],
        [(14, 6, 1), (14, 11, 2), (32, 10, 2), (64, 9, 1), (91, 10, 2), (91, 10, 1)],
    ),
)
def test_each_drive_reads_and_writes_its_share_of_a_rebuild(disks, group, parities):
    """All drives have equal shares in the mean. The work of the busiest drive determines the time of the rebuild."""
    data = group - parities
    for lost in (0, disks // 2):
        read, wrote, content = moved(disks, group, parities, lost)
        others = np.arange(disks) != lost
        assert content == (disks - disks % group) * 64
        assert read[others].mean() == pytest.approx(data * content / (disks - 1), rel=1e-12)
        assert wrote[others].mean() == pytest.approx(content / (disks - 1), rel=1e-12)
        work = (read + wrote)[others]
        # a dedicated spare writes the content; here the busiest drive reads and writes its share of m + 1 units
        faster = (disks - 1) / (data + 1)
        assert 0.85 * faster < content / work.max() <= faster
        assert work.max() < 1.25 * work.min()


def test_the_formula_of_the_rebuild_time_is_the_share_of_one_drive():
    """90 disks with 9 + 1: (90 - 1) / 10 = 8.9 times as fast as a dedicated spare disk."""
    for disks, data, parities, faster in ((90, 9, 1, 8.9), (90, 8, 2, 89 / 9), (11, 10, 1, 1.0)):
        model = ReliabilityModel(Redundancy(data, parities, pool=disks), Failures(0.02), Repair(1e5))
        assert 1e5 / model.rebuild_time(1) == pytest.approx(faster, rel=1e-12)


@pytest.mark.slow
def test_after_a_loss_small_groups_answer_faster_and_before_it_all_groups_are_alike():
    """Holland and Gibson: 21 disks with groups of 4 to 21, 4 KB requests, half of them reads. They report this order."""
    users = RandomRequests(FixedSize(4096), read_share=0.5)

    def response(placement) -> float:
        system = System(TURNING, placement, Broadcast(), FCFS(), drives=22)
        return float(simulate(Scenario(system, PoissonArrivals(users, 500.0)), requests=8000, seed=3).response)

    layouts = [DeclusteredParity(21, group, 1, UNIT) for group in (4, 10, 20, 21)]
    before, after = ([response(build(layout)) for layout in layouts] for build in (lambda layout: layout, AfterLoss))
    assert max(before) < 1.05 * min(before)
    # groups of 20 and 21 drives differ by less than the error of the means
    assert after[0] < 0.95 * after[1] and after[1] < 0.95 * after[2] and after[1] < 0.95 * after[3]
