"""Test volumes on subsets of bricks.

Every sector has one location, requests lie at their sectors, and other bricks are idle.
"""

import jax
import numpy as np
import pytest
from helpers import assert_refused, requests_at
from hypothesis import given, settings
from hypothesis import strategies as st

import storagekit as sk
from storagekit.dispatch import Broadcast, Hashing
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, stack
from storagekit.placement import Bricks, SplitVolumes, Volumes
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests, Threads

# a track with as many sectors as the test uses, so that an angle is an address
TRACK = 4096
DRIVE = ideal_drive(full_seek=1e-3, revolution=TRACK * 1e-4, cylinders=2, sectors_per_track=TRACK)
# JAX compiles for every length, so enumerations are padded to one length
LENGTH = 2048
# each of up to five volumes uses up to three of five bricks, in any order
sets_of_bricks = st.lists(
    st.permutations(range(5)).flatmap(lambda all: st.integers(1, 3).map(lambda n: all[:n])), min_size=1, max_size=5
)
# a unit, and rows of a volume; six bricks can be divided by one, two and three
shapes = st.tuples(st.integers(1, 9), st.integers(1, 6))


def oracle(size: int, bricks, unit: int) -> list[tuple[int, int]]:
    """Return brick and address of every sector, one after the other.

    A volume's units rotate over its bricks, and each sector takes the first free location of its brick.
    """
    used, locations = {}, []
    for on in bricks:
        for sector in range(size):
            brick = on[sector // unit % len(on)]
            locations.append((brick, used.setdefault(brick, 0)))
            used[brick] += 1
    return locations


def addresses(target) -> np.ndarray:
    return np.rint(np.asarray(target.angle) * TRACK).astype(int) % TRACK


def filled(values) -> np.ndarray:
    values = np.asarray(values, np.int32)
    return np.pad(values, (0, LENGTH - values.size))


@settings(max_examples=30, derandomize=True)
@given(sets_of_bricks, shapes)
def test_every_sector_of_every_volume_has_a_separate_location(bricks, shape):
    unit, rows = shape
    size = 6 * rows * unit
    expected = oracle(size, bricks, unit)
    layout = Volumes(size, bricks, unit)
    assert int(layout.capacity(DRIVE)) == len(expected) == len(set(expected))
    assert int(layout.drives) == 1 + max(brick for brick, _ in expected)
    location = layout.locate(DRIVE, requests_at(filled(range(len(expected)))))
    found = zip(np.asarray(location.home).tolist(), addresses(location.target).tolist(), strict=True)
    assert list(found)[: len(expected)] == expected


@settings(max_examples=30, derandomize=True)
@given(sets_of_bricks, shapes, st.data())
def test_the_pieces_of_a_request_are_its_sectors(bricks, shape, data):
    """Each target brick has one piece, with the sectors that the oracle puts there.

    This holds also for requests across volumes, up to the last one.
    """
    unit, rows = shape
    size = 6 * rows * unit
    locations = oracle(size, bricks, unit)
    begins = data.draw(st.lists(st.integers(0, len(locations) - 1), min_size=8, max_size=8))
    counts = [data.draw(st.integers(1, len(locations) - begin)) for begin in begins]
    layout = SplitVolumes(size, bricks, unit)
    location = layout.locate(DRIVE, requests_at(begins)._replace(sectors=np.asarray(counts, np.int32)))
    assert len(location.targets) == int(layout.parts) == int(layout.drives)
    for at, (begin, count) in enumerate(zip(begins, counts, strict=True)):
        for brick, target in enumerate(location.targets):
            mine = [address for on, address in locations[begin : begin + count] if on == brick]
            assert bool(location.touched[at] >> brick & 1) == bool(mine)
            if mine:
                first, length = addresses(target)[at], round(float(target.transfer[at]) / 1e-4)
                assert list(range(first, first + length)) == mine


@settings(max_examples=6, derandomize=True)
@given(sets_of_bricks, st.integers(1, 5), st.integers(1, 3), st.sampled_from([Volumes, SplitVolumes]))
def test_locations_have_the_shape_of_the_requests(bricks, unit, batch, layout):
    """Requests of shape `[chunk, *batch]` and `[1, *batch]` get the same locations as one request after the other."""
    size = 12 * unit
    layout = layout(size, bricks, unit)
    sector = np.arange(4 * batch, dtype=np.int32).reshape(4, batch) * 7 % (size * len(bricks) - 3)
    many = layout.locate(DRIVE, requests_at(sector, 3))
    for row in range(4):
        for element in range(batch):
            alone = layout.locate(DRIVE, requests_at(sector[row, element], 3))
            row_of_one = layout.locate(DRIVE, requests_at(sector[row : row + 1], 3))
            for every, one, single in zip(*map(jax.tree.leaves, (many, row_of_one, alone)), strict=True):
                assert every.shape == (4, batch) and one.shape == (1, batch)
                assert every[row, element] == one[0, element] == single[0]


def test_a_volume_over_all_bricks_is_a_stripe():
    """One volume over four bricks equals RAID 0 of four drives."""
    sector = np.arange(0, 900, 7)
    ours = SplitVolumes(960, [range(4)], 20).locate(DRIVE, requests_at(sector, 60))
    theirs = sk.placement.Striped(4, 20).locate(DRIVE, requests_at(sector, 60))
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(mine, other)


UNIT, SIZE = 16, 16 * 3 * 40
# volumes 0 and 1 on brick 0, 2 across 1, 2 and 4, brick 3 empty, 3 on brick 4
BRICKS = ((0,), (0,), (1, 4, 2), (4,))
REQUESTS = RandomRequests(FixedSize(8 * 512), 0.5, alignment=1)


def served_and_ran(layout, arrivals, seeds=(3,)):
    """Return the sums of a run for each seed, `[drive, seed]`, and the completions."""
    system = System(
        sk.load_drive("atlas10k"), layout, Hashing() if layout.is_replicated else Broadcast(), SATF(), slots=16
    )
    outcome = execute(*stack([Scenario(system, arrivals)], seeds), 2000, Record(sums_of(STANDARD)))
    return {name: sums.sum(axis=0, dtype=float) for name, sums in outcome.tally.items()}


@pytest.mark.parametrize("arrivals", [ClosedLoop(REQUESTS, 6), Threads(REQUESTS, 6)], ids=["loop", "threads"])
@pytest.mark.parametrize("seeds", [pytest.param((3,), marks=pytest.mark.slow), (3, 4)], ids=["alone", "batch"])
def test_only_the_bricks_of_volumes_are_accessed(arrivals, seeds):
    """Of requests over the whole address space, half go to brick 0.

    The three bricks that share volume 2 get a twelfth each, and brick 4 a quarter more, within four standard errors.
    All requests except those outstanding complete, by one access each.
    """
    tally = served_and_ran(Volumes(SIZE, BRICKS, UNIT), arrivals, seeds)
    for seed in range(len(seeds)):
        served = tally["served"][:, seed]
        total = served.sum()
        assert total >= 2000 and abs(total - (tally["reads"] + tally["writes"])[0, seed]) <= 6
        expected = np.array([1 / 2, 1 / 12, 1 / 12, 0, 1 / 12 + 1 / 4])
        assert np.all(abs(served / total - expected) <= 4 * np.sqrt(expected * (1 - expected) / total))


@pytest.mark.parametrize("seeds", [pytest.param((3,), marks=pytest.mark.slow), (3, 4)], ids=["alone", "batch"])
def test_split_requests_take_an_access_of_each_brick(seeds):
    """A request of 8 sectors crosses a boundary between units of 16 with probability 7/16.

    In the volume on three bricks, a quarter of the space, it then takes two accesses. Requests that begin in the 7
    sectors before this volume or before its end also take two.
    """
    tally = served_and_ran(SplitVolumes(SIZE, BRICKS, UNIT), ClosedLoop(REQUESTS, 6), seeds)
    for seed in range(len(seeds)):
        served = tally["served"][:, seed]
        requests = (tally["reads"] + tally["writes"])[0, seed]
        twice = 7 / 16 / 4 + 14 / (4 * SIZE)
        error = 4 * np.sqrt(twice * (1 - twice) * requests)
        assert abs(served.sum() - (1 + twice) * requests) <= error + 12
        assert served[3] == 0 and np.all(np.delete(served, 3) > 0)


@pytest.mark.parametrize("layout", [Volumes, SplitVolumes])
def test_on_bricks_of_four_disks(layout):
    """Each disk of a brick has a part of its volumes, in units of 32 sectors.

    It serves an even share of the brick's requests, within the sectors of its volumes.
    """
    placement = Bricks(layout(SIZE, BRICKS, UNIT), disks=4, unit=32)
    assert int(placement.capacity(DRIVE)) == (len(BRICKS) * SIZE - 32) * 4
    tally = served_and_ran(placement, ClosedLoop(REQUESTS, 6))
    served = tally["served"][:, 0].reshape(5, 4)
    assert served[3].sum() == 0
    for brick in (0, 1, 2, 4):
        each = served[brick].sum() / 4
        assert each > 20 and np.all(abs(served[brick] - each) < 4 * np.sqrt(each))
    # logical volume v has 4 x `size` sectors, `size` on every disk, and the part of its first disk has the volume's
    # location
    firsts = np.arange(len(BRICKS)) * 4 * SIZE
    location = placement.locate(DRIVE, requests_at(firsts))
    assert np.all(np.asarray(location.disk) == 0)
    if layout is Volumes:
        assert np.asarray(location.across.home).tolist() == [0, 0, 1, 4]
        assert addresses(location.across.target).tolist() == [0, SIZE, 0, SIZE // 3]


def test_sectors_of_bricks_of_several_disks_do_not_overlap():
    """Every sector of every volume has a separate brick, disk and address, with a quarter of each volume on every disk."""
    bricks = ((0,), (1, 0), (1,))
    placement = Bricks(Volumes(48, bricks, 8), disks=4, unit=12)
    location = placement.locate(DRIVE, requests_at(filled(range(4 * 48 * 3))))
    parts = location.across.home, location.disk, addresses(location.across.target)
    found = list(zip(*(np.asarray(part)[: 4 * 144].tolist() for part in parts), strict=True))
    assert len(set(found)) == 4 * 144
    for volume, on in enumerate(bricks):
        mine = found[volume * 192 : (volume + 1) * 192]
        assert {brick for brick, _, _ in mine} == set(on)
        assert [sum(disk == which for _, disk, _ in mine) for which in range(4)] == [48] * 4


def fitted(layout) -> System:
    return System(DRIVE, layout, Hashing() if layout.is_replicated else Broadcast(), FCFS(), slots=4)


@pytest.mark.parametrize("layout", [Volumes, SplitVolumes])
@pytest.mark.parametrize(
    ("size", "bricks", "unit", "message"),
    [
        (64, [], 8, "no volumes: give a list of brick numbers for each volume"),
        (64, [[0], []], 8, "volume 1 has no bricks"),
        (64, [[0], [1, -1]], 8, "brick -1 of volume 1: give numbers from 0 to 31"),
        (64, [[0], [32]], 8, "brick 32 of volume 1: give numbers from 0 to 31"),
        (64, [[2, 1, 2]], 8, r"volume 0 on bricks \(2, 1, 2\): give each brick once"),
        (
            64,
            [0, 1],
            8,
            r"bricks of volumes: give a list of brick numbers for each volume, for example \[\[0\], \[1, 2\]\]",
        ),
        (64, [[0.5]], 8, "bricks of volumes: give"),
        (60, [[0]], 8, "a volume of 60 sectors on 1 bricks in stripe units of 8 sectors: give a multiple of 8"),
        (
            64,
            [[0], [0, 1, 2]],
            8,
            "a volume of 64 sectors on 3 bricks in stripe units of 8 sectors: give a multiple of 24",
        ),
        (0, [[0]], 8, "sectors of a volume 0: give a whole number, between 1"),
        (64, [[0]], 0, "a stripe unit of 0 sectors: give a whole number"),
        (4096, [[0, 1], [2], [1], [1]], 8, "volumes of 10240 sectors in total on brick 1, whose drive holds 81[89]"),
    ],
)
def test_impossible_volumes_raise(layout, size, bricks, unit, message):
    assert_refused(lambda: fitted(layout(size, bricks, unit)), message)


def test_volumes_fill_a_drive_and_requests_of_whole_size_need_one_more_unit():
    full = DRIVE.capacity
    assert fitted(SplitVolumes(full, [[0]], 8)).drives == 1
    assert fitted(Volumes(full - 8, [[0]], 8)).drives == 1
    assert_refused(lambda: fitted(Volumes(full, [[0]], 8)), "holds 8184 sectors: use smaller volumes or more bricks")
