"""Test the D_s x D_r x D_m layout (srarray, sections 2.3 to 2.5)."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, requests_at
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive
from storagekit.drive.geometry import geometry, plain_zone
from storagekit.drive.seek import LinearSeek
from storagekit.engine import System, keys
from storagekit.engine.state import phases, random_phases
from storagekit.placement import Replicas, SRMirror
from storagekit.schedule import SATF
from storagekit.write import Background

HEADS, TRACK, CYLINDERS = 6, 40, 200
UNIT = 16
# no skew, so that the location on the drive is its address: (cylinder x heads + head) x track + angle x track
DRIVE = Drive(
    geometry=geometry([plain_zone(CYLINDERS, TRACK)], HEADS, serpentine=False),
    seek=LinearSeek(8e-3, CYLINDERS),
    revolution=6e-3,
    head_switch=0.9e-3,
    write_settle=0.0,
    overhead=0.0,
    name="plain",
)
layouts = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
fractions = st.floats(0, 1, exclude_max=True)


def layout(aspect, share=1.0, **more) -> SRMirror:
    """Return a layout of this aspect that holds a share of its capacity."""
    return SRMirror(*aspect, data=aspect[0] * share, unit=UNIT, **more)


def located(placement, sector):
    """Return the home drive of each sector, and its address on that drive."""
    target, home = placement.locate(DRIVE, requests_at(sector))
    address = (target.cylinder * HEADS + target.head) * TRACK + np.rint(target.angle * TRACK).astype(int)
    return np.asarray(home), np.asarray(address), target


@settings(max_examples=100, derandomize=True)
@given(layouts, fractions)
def test_every_address_has_its_drives_heads_and_angles(aspect, where):
    stripes, replicas, mirrors = aspect
    placement = layout(aspect)
    home, _, target = located(placement, int(where * int(placement.capacity(DRIVE))))
    assert int(placement.drives) == stripes * replicas * mirrors
    # the D_m drives form a separate group: groups do not overlap
    assert home[0] % mirrors == 0 and 0 <= home[0] <= int(placement.drives) - mirrors
    angles = {}
    for copy in range(mirrors):
        locations = [placement.replica(DRIVE, target, jnp.full(1, copy), index) for index in range(replicas)]
        assert len({int(location.head[0]) for location in locations}) == replicas
        assert len({int(location.end.head[0]) for location in locations}) == replicas
        assert {int(location.cylinder[0]) for location in locations} == {int(target.cylinder[0])}
        assert all(0 <= int(location.head[0]) < HEADS for location in locations)
        turned = np.array([float(location.angle[0] - target.angle[0]) for location in locations])
        np.testing.assert_allclose(np.diff(np.sort(turned % 1)), 1 / replicas, atol=1e-5)
        angles[copy] = turned % 1
    # on synchronized spindles the D_r D_m replicas of all drives are at even angles
    everywhere = np.sort(np.concatenate([*angles.values()]))
    np.testing.assert_allclose(np.diff(everywhere), 1 / (replicas * mirrors), atol=1e-5)


def test_replica_zero_of_copy_zero_is_the_located_sector():
    placement = layout((2, 3, 2))
    _, _, target = located(placement, 1000)
    same = placement.replica(DRIVE, target, jnp.zeros(1, jnp.int32), 0)
    for ours, theirs in zip(jax.tree.leaves(same), jax.tree.leaves(target), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=100, derandomize=True)
@given(layouts, fractions)
def test_no_two_addresses_share_a_location(aspect, share):
    """The space after each stripe unit for its other replicas is also not shared."""
    placement = layout(aspect, max(share, 0.05))
    capacity = int(placement.capacity(DRIVE))
    home, address, _ = located(placement, np.arange(capacity))
    assert len(np.unique(home.astype(np.int64) * 2**32 + address)) == capacity
    replicas = aspect[1]
    # each unit has space for D_r units: the first is used and the others are free
    assert np.all(address % (UNIT * replicas) < UNIT)
    assert address.max() + (replicas - 1) * UNIT < DRIVE.capacity
    # a stripe unit lies on one drive, in order
    first = np.arange(capacity) // UNIT * UNIT
    assert np.all(home == home[first]) and np.all(address - address[first] == np.arange(capacity) - first)
    # units rotate over the groups, so that these are equally full
    _, held = np.unique(home, return_counts=True)
    assert held.max() - held.min() <= UNIT
    if capacity >= UNIT * aspect[0] * replicas:
        assert len(held) == aspect[0] * replicas


@settings(max_examples=100, derandomize=True)
@given(layouts, st.floats(0.05, 1))
def test_the_arm_moves_over_its_part_of_the_drive(aspect, share):
    """The arm uses data / D_s of the cylinders: 1/D_s of them for the data of one drive, for any number of replicas."""
    placement = layout(aspect, share)
    capacity = int(placement.capacity(DRIVE))
    _, _, target = located(placement, np.arange(0, capacity, UNIT))
    # except for one row of units and the space left at the end of the drive
    row = (6 + aspect[1]) * UNIT / (HEADS * TRACK) + 1
    assert abs(int(target.cylinder.max()) + 1 - share * CYLINDERS) <= row
    assert int(target.cylinder.min()) == 0
    units = DRIVE.capacity // UNIT
    assert capacity == pytest.approx(aspect[0] * share * units * UNIT, abs=aspect[0] * share * 6 * UNIT + UNIT)
    assert capacity <= aspect[0] * share * units * UNIT


def test_a_batch_of_layouts_agrees_with_single_layouts():
    """In one batch, arrays of aspects give the locations of single layouts."""
    aspects = np.array([(1, 1, 1), (4, 1, 2), (2, 3, 1), (1, 6, 2)]).T
    data = aspects[0] * 0.5
    both = SRMirror(*(row[None, :] for row in aspects), data=data[None, :], unit=UNIT)
    sector = np.array([[0], [100], [3000]])
    requests = jax.tree.map(lambda column: np.broadcast_to(column.reshape(-1, 1), (3, 4)), requests_at(sector.ravel()))
    target, home = both.locate(DRIVE, requests)
    for element, aspect in enumerate(aspects.T):
        alone = SRMirror(*aspect, data=data[element], unit=UNIT)
        ours = alone.locate(DRIVE, requests_at(sector.ravel()))
        np.testing.assert_array_equal(home[:, element], ours.home)
        np.testing.assert_array_equal(target.cylinder[:, element], ours.target.cylinder)
        np.testing.assert_array_equal(np.asarray(both.capacity(DRIVE))[0, element], alone.capacity(DRIVE))


def test_a_plain_mirror_equals_a_replica_group():
    mirror, group = SRMirror(1, 1, 3, unit=UNIT), Replicas(3)
    sector = np.arange(0, int(mirror.capacity(DRIVE)), 97)
    ours, theirs = (placement.locate(DRIVE, requests_at(sector)) for placement in (mirror, group))
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(np.broadcast_to(one, sector.shape), np.broadcast_to(other, sector.shape))
    assert (int(mirror.drives), int(mirror.parts), int(mirror.replicas)) == (3, 3, 1)


def test_synchronized_spindles_turn_in_step():
    placement = SRMirror(2, 1, 2, unit=UNIT)
    for synchronized in (0, 1):
        system = System(DRIVE, placement, NearestIdle(), SATF(), drives=4, slots=2, synchronized=synchronized)
        phase = np.asarray(phases(random_phases(keys([5])[:, 0], 4), system))
        assert len(np.unique(phase)) == (1 if synchronized else 4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (partial(SRMirror, 2, 7), "D_r 7: it must be at most 6"),
        (partial(SRMirror, 2, 3, most_replicas=2), "D_r 3: it must be at most 2"),
        (partial(SRMirror, 0), "D_s 0: it must be at least 1"),
        (partial(SRMirror, 1, 0), "D_r 0: it must be at least 1"),
        (partial(SRMirror, 1, 1, -2), "D_m -2: it must be at least 1"),
        (partial(SRMirror, 1, 4, 9), "D_r x D_m 36: it must be at most 32"),
        (partial(SRMirror, 2, data=2.5), "size of the data 2.5 drives: it must be above 0 and at most D_s = 2"),
        (partial(SRMirror, 2, data=0.0), "size of the data 0 drives"),
        (partial(SRMirror, 2, data=float("nan")), "size of the data nan is not a number"),
        (partial(SRMirror, 1.5), "1.5 is not a whole number"),
        (partial(SRMirror, 1, unit=0), "a stripe unit of 0 sectors"),
        (
            lambda: System(DRIVE, SRMirror(2, 2, 2), NearestIdle(), SATF(), drives=7, slots=4),
            "a layout of 8 drives in a system of 7",
        ),
        (lambda: Background(0), "a table of 0 delayed writes"),
        (
            lambda: Background(20_000),
            "a table of 20000 delayed writes, but Background.most is 16000: give Background.most",
        ),
    ],
)
def test_impossible_layouts_raise_in_one_line(build, message):
    assert_refused(build, message)
