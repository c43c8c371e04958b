"""Test requests that are split: every sector lies at the right location, once."""

import numpy as np
import pytest
from helpers import assert_refused, requests_at, responses
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.core.units import MS
from storagekit.dispatch import DSPTF, Broadcast, Hashing, Hedged
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, outage
from storagekit.placement import RAID5, Coded, Striped
from storagekit.schedule import FCFS
from storagekit.write import Background, ReceivingBrick

# a track with as many sectors as the drive, so that an angle is an address
TRACK = 4096
DRIVE = ideal_drive(full_seek=1e-3, revolution=TRACK * 1e-4, cylinders=2, sectors_per_track=TRACK)


def extent_of(target) -> tuple[int, int]:
    """Return the first sector of a target on its drive, and the number of sectors."""
    return round(float(target.angle[0]) * TRACK) % TRACK, round(float(target.transfer[0]) / 1e-4)


def drive_of(layout, part: int, location) -> int:
    """Return the drive of a part of the first request."""
    return int(layout.drive_of(np.array([part]), location)[0])


@settings(max_examples=80, derandomize=True)
@given(disks=st.integers(1, 7), unit=st.integers(1, 20), sector=st.integers(0, 500), sectors=st.integers(1, 200))
def test_every_sector_is_on_its_drive_once(disks, unit, sector, sectors):
    """Sector s is in unit s // unit; units rotate over the drives, row by row."""
    location = Striped(disks, unit).locate(DRIVE, requests_at(sector, sectors))
    every = np.arange(sector, sector + sectors)
    on, at = every // unit % disks, every // unit // disks * unit + every % unit
    for drive, target in enumerate(location.targets):
        mine = at[on == drive]
        assert bool(location.touched[0] >> drive & 1) == bool(mine.size)
        if mine.size:
            first, count = extent_of(target)
            assert list(range(first, first + count)) == mine.tolist()


@settings(max_examples=80, derandomize=True)
@given(disks=st.integers(3, 9), unit=st.integers(1, 16), sector=st.integers(0, 1000))
def test_parity_rotates_and_never_shares_a_drive_with_its_data(disks, unit, sector):
    """In a row, each drive holds one unit, data or parity. In `disks` rows, parity is once on each drive."""
    layout = RAID5(disks, unit)
    per_row = (disks - 1) * unit
    row = sector // per_row
    locations = [layout.locate(DRIVE, requests_at(row * per_row + column * unit)) for column in range(disks - 1)]
    assert sorted(
        [*(drive_of(layout, 0, location) for location in locations), drive_of(layout, 1, locations[0])]
    ) == list(range(disks))
    assert {extent_of(location.target)[0] for location in locations} == {row * unit}
    parities = {drive_of(layout, 1, layout.locate(DRIVE, requests_at(at * per_row))) for at in range(row, row + disks)}
    assert parities == set(range(disks))


@pytest.mark.parametrize("address_hash", [0, 1])
def test_a_read_goes_to_its_data_with_any_hash(unfold, recorded, address_hash):
    """Sector 2000 is in the second unit of row 0, with its parity on drive 3 and its data on drive 1."""
    system = System(DRIVE, RAID5(4, 2000), Hashing(), FCFS(), slots=4)
    tally, _ = unfold(Scenario(system, recorded([0.0], sector=2000, address_hash=address_hash)), phase=np.zeros(4))
    assert tally.served.ravel().tolist() == [0, 1, 0, 0]


def test_a_fragment_is_a_part_of_the_request(unfold, recorded):
    """Transfer 400 sectors at 100 a ms, with any two of three fragments.

    A read takes two fragments of 2 ms, and a write three.
    """
    system = System(RateServer(1e5), Coded(2, 3), Broadcast(), FCFS(), slots=4)
    for read, served in ((True, 2), (False, 3)):
        tally, reports = unfold(Scenario(system, recorded([0.0], sectors=400, read=read)))
        assert responses(reports) == pytest.approx({0: 2.0}, rel=1e-4)
        assert int(tally.served.sum()) == served and float(tally.busy.sum()) == pytest.approx(served * 2 * MS)


def on(placement, write=None, dispatch=None, **more) -> System:
    return System(DRIVE, placement, dispatch or Broadcast(), FCFS(), write, slots=4, **more)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Striped(0), "stripe width 0 drives: give a whole number, between 1 and 32"),
        (lambda: Striped(33), "stripe width 33 drives"),
        (lambda: Striped(2, 0), "a stripe unit of 0 sectors"),
        (lambda: RAID5(2), "size of a group 2 drives: it must be at least the number of parity drives plus 2"),
        (lambda: RAID5(3, 0), "a stripe unit of 0 sectors"),
        (lambda: Coded(0, 3), "data fragments 0"),
        (lambda: Coded(4, 3), "data fragments 4: .* from 1 to 3, the number of fragments"),
        (lambda: Coded(2, 40), "size of the code 40 fragments"),
        (
            lambda: on(Coded(2, 3), Background()),
            "policy Background with Coded: the parts of this layout are not copies",
        ),
        (lambda: on(RAID5(3), Background()), "policy Background with RAID5"),
        (lambda: on(Striped(3), ReceivingBrick()), "policy ReceivingBrick with Striped"),
        (lambda: on(Coded(2, 3), dispatch=Hedged()), "hedged reads on Coded: the parts of this layout are not copies"),
        (lambda: on(Striped(3), faults=FaultSchedule(outage(0, 5))), "1 bricks are stopped simultaneously"),
        (lambda: on(RAID5(3), faults=FaultSchedule(outage(0, 5))), "1 bricks are stopped simultaneously"),
        (lambda: on(Coded(2, 3), dispatch=DSPTF()), "requests that need 2 parts"),
    ],
)
def test_impossible_layouts_raise(build, message):
    assert_refused(build, message)
