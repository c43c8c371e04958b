"""Test the closed forms of transfer times against the drive itself, at random addresses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.core.units import PAGE
from storagekit.drive import load_drive
from storagekit.plan.transfers import ZoneTransfers

MODERN = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"
DRIVES = {name: load_drive(name) for name in (MODERN, "atlas10k", "cheetah9lp", "toshiba_mg10_20tb")}
COUNT = 50_000


@pytest.mark.parametrize("used", [0.1, 0.37, 1.0])
@pytest.mark.parametrize("sectors", [8, 125, 128, 2048, 8192])
@pytest.mark.parametrize("name", DRIVES)
def test_the_mean_and_the_deviation_are_those_of_the_drive(name, sectors, used):
    drive = DRIVES[name]
    end = int(used * drive.capacity) - sectors
    address = np.random.default_rng(1).integers(0, end // PAGE, COUNT) * PAGE
    drawn = np.asarray(drive.locate(address, np.full(COUNT, sectors)).transfer, float)
    transfers = ZoneTransfers.of(drive)
    (mean,), (deviation,) = transfers.times(np.array([sectors]), used)
    # spare sectors of a group of cylinders shift the boundaries, by at most 3 us here
    assert abs(mean - drawn.mean()) < 4 * drawn.std() / np.sqrt(COUNT) + 3e-6
    # the time between zones, which few requests cross, adds to the deviation
    assert abs(deviation - drawn.std()) < 0.02 * drawn.std() + 0.15e-3


@settings(max_examples=200)
@given(sectors=st.integers(64, 2**13), used=st.floats(0.01, 1.0), name=st.sampled_from(list(DRIVES)))
def test_times_grow_with_the_size_and_with_the_used_share(sectors, used, name):
    transfers = ZoneTransfers.of(DRIVES[name])
    (small, large), _ = transfers.times(np.array([sectors, sectors + 8]), used)
    (inner,), _ = transfers.times(np.array([sectors]), min(1.0, 1.01 * used))
    # an inner zone may have slightly faster track boundaries
    assert small < large and small <= inner * (1 + 1e-4)
    # the longest requests cover at most a few percent of the used share
    assert abs(inner - small) < 0.02 * small
    assert transfers.slowest(sectors) >= small * (1 - 1e-12)
    assert transfers.sequential_rate(used) >= transfers.sequential_rate(min(1.0, 1.01 * used)) * (1 - 1e-4)


def test_pages_of_a_drive_with_sectors_of_4_kb_cross_no_boundary():
    """A track of this drive has a whole number of pages, so that one page takes the time of its sectors."""
    transfers = ZoneTransfers.of(DRIVES[MODERN])
    means, _ = transfers._by_zone(np.array([PAGE, PAGE + 1]))
    np.testing.assert_allclose(means[0], PAGE * transfers.sector)
    assert (means[1] > 2 * means[0]).all()
