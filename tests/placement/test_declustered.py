"""Test a declustered layout: copies on a ring of bricks, with a separate location for every extent."""

from functools import partial

import jax
import numpy as np
import pytest
from helpers import assert_refused, requests_at
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.core.units import SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import ideal_drive, load_drive
from storagekit.engine import Scenario, System
from storagekit.placement import Bricks, Declustered, Location, Replicas
from storagekit.schedule import SATF
from storagekit.workload import (
    ClosedLoop,
    ExponentialSize,
    FixedSize,
    PoissonArrivals,
    RandomRequests,
    Threads,
    UniformSize,
    recorded,
)
from storagekit.workload.trace import request_trace

TRACK, CYLINDERS = 40, 60
# one head and no skew, so that the location on the drive is its address: (cylinder + angle) x track
DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, cylinders=CYLINDERS, sectors_per_track=TRACK)

# bricks and copies, the first a multiple of the second
rings = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (pair[0] * pair[1], pair[1]))
# sectors, up to a tenth of the drive
extents = st.integers(4, 240)
# JAX compiles for every length, so enumerations are padded to one length
LENGTH = 8192


def located(placement, sector):
    """Return the home brick of each sector, and its address on all bricks that hold it."""
    sector = np.atleast_1d(sector)
    filled = np.zeros(LENGTH, np.int32)
    filled[: sector.size] = sector
    target, home = jax.tree.map(np.asarray, placement.locate(DRIVE, requests_at(filled)))
    address = target.cylinder * TRACK + np.rint(target.angle * TRACK).astype(int)
    return home[: sector.size], address[: sector.size]


def holders(placement, home) -> np.ndarray:
    """Return the bricks that hold a block, by copy: `[copy, block]`."""
    filled = np.zeros(LENGTH, np.int32)
    filled[: home.size] = home
    copies = range(int(placement.parts))
    location = Location(None, filled)
    return np.stack([np.asarray(placement.drive_of(np.int32(copy), location))[: home.size] for copy in copies])


def on_bricks(placement):
    """Return the brick and the location there, in extents, of each copy of each extent: `[copy, extent]` both."""
    extent = placement.extent
    firsts = np.arange(0, int(placement.capacity(DRIVE)), extent)
    home, address = located(placement, firsts)
    assert np.all(address % extent == 0)
    bricks = holders(placement, home)
    return bricks, np.broadcast_to(address // extent, bricks.shape)


@settings(max_examples=30, derandomize=True)
@given(rings, extents, st.integers(0, 2**30))
def test_copies_are_on_separate_bricks(ring, extent, sector):
    bricks, copies = ring
    placement = Declustered(bricks, copies, extent=extent)
    home, _ = located(placement, sector)
    on = holders(placement, home).ravel()
    assert len(set(on)) == copies and on.min() >= 0 and on.max() < bricks
    assert on[0] == home[0] == sector // extent % bricks
    # the bricks of one extent are neighbours on the ring, and the next extent starts one brick further
    assert on.tolist() == [(int(home[0]) + copy) % bricks for copy in range(copies)]
    for brick in range(bricks):
        copy = np.asarray(placement.part_on(np.int32(brick), Location(None, home)))[0]
        assert (0 <= copy < copies) == (brick in on)
        assert np.asarray(placement.drive_of(copy, Location(None, home)))[0] == brick
    for unused in range(bricks, bricks + 4):
        assert not 0 <= np.asarray(placement.part_on(np.int32(unused), Location(None, home)))[0] < copies


@settings(max_examples=30, derandomize=True)
@given(rings, extents)
def test_no_two_extents_share_a_location(ring, extent):
    """Store as much data as the bricks can hold.

    Every brick is equally full, and no location is used twice or lies beyond the drive.
    """
    bricks, copies = ring
    placement = Declustered(bricks, copies, extent=extent)
    brick, location = on_bricks(placement)
    taken = brick.astype(np.int64) * 2**32 + location
    assert len(np.unique(taken)) == taken.size
    _, held = np.unique(brick, return_counts=True)
    assert len(held) == bricks and np.all(held == held[0])
    # there may be no space for a copy of every home, and the last location is kept free
    assert DRIVE.capacity // extent - 2 * copies <= held[0] <= DRIVE.capacity // extent
    assert np.all((location >= 0) & ((location + 1) * extent <= DRIVE.capacity))


@settings(max_examples=30, derandomize=True)
@given(rings, extents, st.floats(0.01, 0.95))
def test_less_data_is_spread_evenly(ring, extent, share):
    bricks, copies = ring
    whole = (DRIVE.capacity // extent - 2 * copies) * extent * bricks // copies
    if whole <= 0:
        return
    placement = Declustered(bricks, copies, data=max(1, int(share * whole)), extent=extent)
    assert int(placement.capacity(DRIVE)) == max(1, int(share * whole))
    brick, location = on_bricks(placement)
    assert len(np.unique(brick.astype(np.int64) * 2**32 + location)) == brick.size
    assert np.all((location >= 0) & ((location + 2) * extent <= DRIVE.capacity))
    # bricks hold equal amounts, except for the last round of the ring
    _, held = np.unique(brick, return_counts=True)
    assert held.max() - held.min() <= copies
    # used locations are evenly spaced, one round of the ring after the other
    spacing = int(np.gcd.reduce(location.ravel()))
    rounds = -(-brick.shape[1] // bricks)
    assert location.max() <= (rounds * copies - 1) * spacing
    # and a larger spacing would not have fitted
    assert spacing == 0 or DRIVE.capacity // extent - 1 < (rounds + 1) * copies * (spacing + 1)


def test_a_sixteenth_of_the_data_spreads_over_the_whole_drive():
    """Store 100 extents in 17 rounds of 3 locations on each brick, the last round for 4 extents.

    They use every 599 // 51 = 11th location of 600.
    """
    brick, location = on_bricks(Declustered(6, 3, data=400, extent=4))
    assert sorted(set(location.ravel().tolist())) == [11 * row for row in range(51)]
    assert [np.sum(brick == one) for one in range(6)] == [49, 50, 51, 51, 50, 49]


def test_more_data_than_the_bricks_hold_wraps_around():
    """Store ten times as much as the bricks can hold.

    Every location of the drive is used about equally often, except the last, which is kept free.
    """
    whole = int(Declustered(6, 3, extent=10).capacity(DRIVE))
    placement = Declustered(6, 3, data=10 * whole, extent=10)
    brick, location = on_bricks(placement)
    room = DRIVE.capacity // 10 - 1
    assert location.min() == 0 and location.max() == room - 1
    for one in range(6):
        _, often = np.unique(location[brick == one], return_counts=True)
        assert len(often) == room and often.max() - often.min() <= 1


@settings(max_examples=30, derandomize=True)
@given(rings)
def test_a_brick_shares_data_with_its_neighbours(ring):
    """A brick has copies - 1 neighbours on each side, and each further one shares one copy less.

    The shares of these 2 (copies - 1) bricks add up to copies - 1 times its data.
    """
    bricks, copies = ring
    brick, _ = on_bricks(Declustered(bricks, copies, extent=40))
    holds = np.zeros((bricks, brick.shape[1]), int)
    holds[brick, np.arange(brick.shape[1])] = 1
    shared = holds @ holds.T
    own = shared[0, 0]
    assert np.all(np.diag(shared) == own)
    for one in range(bricks):
        others = np.delete(shared[one], one)
        assert np.count_nonzero(others) == min(2 * (copies - 1), bricks - 1)
        # every extent of the brick is on copies - 1 others
        assert others.sum() == own * (copies - 1)


@settings(max_examples=30, derandomize=True)
@given(st.integers(1, 8), extents, st.floats(0, 1, exclude_max=True), st.integers(1, 30))
def test_as_many_bricks_as_copies_are_a_replica_group(copies, extent, where, sectors):
    """All bricks hold all data, at the locations in a replica group; only the number of copy 0 rotates."""
    placement, group = Declustered(copies, copies, extent=extent), Replicas(copies)
    capacity = int(placement.capacity(DRIVE))
    assert 0 <= DRIVE.capacity - capacity <= (2 * copies + 1) * extent
    sector = int(where * capacity)
    ours, theirs = (one.locate(DRIVE, requests_at(sector, min(sectors, extent))) for one in (placement, group))
    for one, other in zip(jax.tree.leaves(ours.target), jax.tree.leaves(theirs.target), strict=True):
        np.testing.assert_array_equal(one, other)
    assert sorted(holders(placement, ours.home).ravel()) == list(range(copies))
    assert (int(placement.drives), int(placement.parts), int(placement.replicas)) == (copies, copies, 1)


@settings(max_examples=30, derandomize=True)
@given(rings, extents, st.floats(0, 1, exclude_max=True))
def test_an_extent_lies_in_order(ring, extent, where):
    """The sectors of an extent are consecutive, on the bricks of its first sector; each copy has the address of copy 0."""
    placement = Declustered(*ring, extent=extent)
    first = int(where * int(placement.capacity(DRIVE))) // extent * extent
    home, address = located(placement, first + np.arange(extent))
    assert np.all(home == home[0])
    np.testing.assert_array_equal(address - address[0], np.arange(extent))
    target, _ = placement.locate(DRIVE, requests_at(first))
    for copy in range(ring[1]):
        there = placement.replica(DRIVE, target, np.full(1, copy), 0)
        for one, other in zip(jax.tree.leaves(there), jax.tree.leaves(target), strict=True):
            np.testing.assert_array_equal(one, other)
    assert float(placement.sweep(DRIVE, home)) == 0


def test_a_batch_of_layouts_agrees_with_single_layouts():
    """In one batch, arrays of bricks, copies and data give the locations of single layouts."""
    bricks, copies, data = np.array([(1, 1, 0), (6, 2, 900), (6, 3, 0), (8, 4, 40_000)]).T
    both = Declustered(bricks[None], copies[None], data[None], extent=16)
    sector = np.array([0, 100, 801])
    requests = jax.tree.map(lambda column: np.broadcast_to(column[:, None], (3, 4)), requests_at(sector))
    target, home = both.locate(DRIVE, requests)
    for element in range(4):
        alone = Declustered(bricks[element], copies[element], data[element], extent=16)
        ours = alone.locate(DRIVE, requests_at(sector))
        np.testing.assert_array_equal(home[:, element], ours.home)
        np.testing.assert_array_equal(target.cylinder[:, element], ours.target.cylinder)
        np.testing.assert_array_equal(target.angle[:, element], ours.target.angle)
        np.testing.assert_array_equal(np.asarray(both.capacity(DRIVE))[0, element], alone.capacity(DRIVE))


@pytest.mark.parametrize("bricks", [119, 128, 256])
def test_a_capacity_beyond_32_bits_is_reported_and_addressed(bricks):
    """Use bricks of 9 GB: 119 fit into 32 bits.

    A 32-bit number would be negative for 128 and as large as for 16 for 256.
    """
    drive = load_drive("atlas10k")
    placement = Declustered(bricks, 1)
    extents = drive.capacity // placement.extent - 1
    assert int(placement.capacity(drive)) == bricks * extents * placement.extent
    its = System(drive, placement, Hashing(), SATF(), drives=bricks, slots=4)
    assert its.long_addresses == (bricks * extents * placement.extent >= 2**31)


@pytest.mark.parametrize(
    "size",
    [
        FixedSize(41 * SECTOR),
        ExponentialSize(41.0 * SECTOR),
        FixedSize(np.array([1, 41]) * SECTOR),
        UniformSize(512, 20993),
    ],
)
@pytest.mark.parametrize("placement", [Declustered(6, 3, extent=40), Bricks(Declustered(6, 3, extent=40), 2)])
def test_requests_longer_than_an_extent_raise(placement, size):
    """The next extent is on other bricks."""
    system = System(DRIVE, placement, Hashing(), SATF(), slots=4)
    requests, message = (
        RandomRequests(size, 0.5),
        "largest request (41|42|684) sectors: it must be at most 40, the length of an extent",
    )
    assert_refused(lambda: Scenario(system, ClosedLoop(requests, 2)), message)
    assert_refused(lambda: Scenario(system, PoissonArrivals(requests, 2.0)), message)
    assert_refused(lambda: Scenario(system, Threads(requests, 2)), message)
    Scenario(system, ClosedLoop(RandomRequests(FixedSize(40 * SECTOR), 0.5), 2))


def test_a_trace_with_a_request_longer_than_an_extent_raises():
    system = System(DRIVE, Declustered(6, 3, extent=40), Hashing(), SATF(), slots=4)
    trace = request_trace(np.arange(2.0), np.zeros(2), np.zeros(2), np.array([40, 41]) * SECTOR, np.ones(2, bool))
    Scenario(system, recorded(trace.take(slice(1)), 10**6))
    assert_refused(
        lambda: Scenario(system, recorded(trace, 10**6)), "largest request 41 sectors: it must be at most 40"
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (partial(Declustered, 4, 0), "0 copies of a block: give 1 to 32"),
        (partial(Declustered, 66, 33), "33 copies of a block: give 1 to 32"),
        (partial(Declustered, 2, 3), "2 bricks for 3 copies: give a multiple of the number of copies"),
        (partial(Declustered, 7, 3), "7 bricks for 3 copies: give a multiple of the number of copies"),
        (partial(Declustered, 4, 2, extent=0), "an extent of 0 sectors: give a whole number, between 1"),
        (partial(Declustered, 4, 2, data=-1), "data of -1 sectors: it must be 0 or more"),
        (partial(Declustered, 4.5), "4.5 is not a whole number"),
        (
            partial(Declustered, 4, 2, data=2**53),
            "data value 9007199254740992 sectors: it must be below 4503599627370496",
        ),
        (partial(Declustered, 4, 2, data=-(2**40)), "data of -1099511627776 sectors: it must be 0 or more"),
        (
            lambda: System(DRIVE, Declustered(6, 3, extent=40), Hashing(), SATF(), drives=5, slots=4),
            "a layout of 6 drives in a system of 5",
        ),
    ],
)
def test_impossible_layouts_raise_in_one_line(build, message):
    assert_refused(build, message)
