"""Drives of several kinds, and slowed drives, against the drives that they consist of."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.core.system_facts import SystemFacts
from storagekit.drive import Arm, Mixed, RateServer, Slowed, ideal_drive, load_drive

DRIVES = (load_drive("atlas10k"), load_drive("cheetah4lp"), load_drive("hp_c2247a"))
KINDS = (0, 2, 1, 2)
MIXED = Mixed(DRIVES, KINDS)
ATLAS = DRIVES[0]
# no drive of the library has an overhead before the arm moves
IDEAL = ideal_drive(full_seek=8e-3, revolution=7e-3, overhead=0.3e-3)
COUNT = 200


def columns(drive, seed, count=COUNT):
    """Random arms, angles, sectors, lengths and operations of a drive, `[1, request]`: one batch element per
    request."""
    random = np.random.default_rng(seed)

    def whole(bound):
        return jnp.asarray(random.integers(0, bound, (1, count)), jnp.int32)

    arm = Arm(whole(drive.cylinders), whole(drive.heads))
    angle = jnp.asarray(random.random((1, count)), jnp.float32)
    sector, sectors = whole(drive.capacity - 200), 1 + whole(200)
    return arm, angle, sector, sectors, whole(2) == 1


def assert_same(ours, theirs):
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(one, other)


def assert_close(ours, theirs):
    """Integers are equal; times and angles agree to a rounding, because XLA divides many rows differently from one."""
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=2e-8)
        else:
            np.testing.assert_array_equal(one, other)


smallest = min(DRIVES, key=lambda single: single.cylinders)


@pytest.mark.slow
@settings(max_examples=15, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_each_brick_is_the_drive_of_its_kind(seed):
    """There are four bricks of three kinds. Locations, positioning, transfer and turning are the same."""
    arm, angle, sector, sectors, reads = columns(smallest, seed)
    sector = sector % (MIXED.capacity - 200)
    locations = MIXED.locate(sector, sectors)
    for brick, kind in enumerate(KINDS):
        which, single = jnp.full_like(sector, brick), DRIVES[kind]
        mine, target = MIXED.mechanics_of(which), single.locate(sector, sectors)
        assert_close(MIXED.seen(locations, which), target)
        assert_close(mine.positioning(arm, angle, target, reads), single.positioning(arm, angle, target, reads))
        assert_close(mine.transfer(target), single.transfer(target))
        for method in ("turns", "seconds", "drift"):
            assert_close(getattr(mine, method)(7 * angle), getattr(single, method)(7 * angle))
        assert_close(
            mine.at_speed(jnp.float32(0.5), jnp.float32(0.25)).positioning(arm, angle, target, reads),
            single.at_speed(jnp.float32(0.5), jnp.float32(0.25)).positioning(arm, angle, target, reads),
        )
        slow = jnp.float32(0.5), jnp.float32(0.25)
        assert_close(mine.at_speed(*slow).transfer(target), single.at_speed(*slow).transfer(target))


@pytest.mark.slow
def test_bricks_in_rows_are_the_drives_of_their_kinds():
    """There is one row per brick, as in the engine at arrivals and time steps."""
    arm, angle, sector, sectors, reads = columns(smallest, 5)
    sector = sector % (MIXED.capacity - 200)
    which = jnp.arange(len(KINDS), dtype=jnp.int32)[:, None]
    target = MIXED.seen(MIXED.locate(sector, sectors), which)
    found = MIXED.mechanics_of(which).positioning(arm, angle, target, reads)
    drift = MIXED.mechanics_of(which).drift(jnp.full((len(KINDS), COUNT), 0.7, jnp.float32))
    for brick, kind in enumerate(KINDS):
        there = DRIVES[kind].locate(sector, sectors)
        assert_close(jax.tree.map(lambda leaf, row=brick: leaf[row : row + 1], target), there)
        alone = DRIVES[kind].positioning(arm, angle, there, reads)
        assert_close(found.total[brick], alone.total[0])
        assert_close(drift[brick], DRIVES[kind].drift(jnp.full(COUNT, 0.7, jnp.float32)))
    assert len(np.unique(np.asarray(found.total)[:, 0])) == len(set(KINDS))


def test_the_smallest_bounds_the_capacity():
    assert MIXED.capacity == min(single.capacity for single in DRIVES) < ATLAS.capacity
    # the arm may be at any cylinder, but the head must exist on all drives
    assert MIXED.cylinders == max(single.cylinders for single in DRIVES)
    assert MIXED.heads == min(single.heads for single in DRIVES)


def test_nested_kinds_are_the_inner_kinds():
    """Two kinds are each a pair of kinds. The outer number selects the pair of a brick, the inner number the drive in
    it."""
    inner = Mixed(DRIVES[:2], (0, 1, 0, 1)), Mixed(DRIVES[1:], (0, 0, 1, 1))
    nested = Mixed(inner, (0, 0, 1, 1))
    arm, angle, sector, sectors, reads = columns(smallest, 12)
    sector = sector % (nested.capacity - 200)
    for brick, kind in enumerate((0, 1, 2, 2)):
        which, single = jnp.full_like(sector, brick), DRIVES[kind]
        target = single.locate(sector, sectors)
        assert_close(nested.seen(nested.locate(sector, sectors), which), target)
        found = nested.mechanics_of(which).positioning(arm, angle, target, reads)
        assert_close(found, single.positioning(arm, angle, target, reads))
    with pytest.raises(InputError, match="4 numbers for 5 bricks"):
        Mixed((nested,), (0,) * 5).check(SystemFacts(drives=5))


APART = Mixed((RateServer(1000), *DRIVES), (2, 0, 3, 1))
NESTED = Mixed((Mixed(DRIVES, (1, 0, 2, 2)), DRIVES[0]), (0, 0, 1, 0))
EACH_RUN = Mixed(DRIVES, np.random.default_rng(8).integers(0, 3, (4, 1, COUNT)))


@pytest.mark.parametrize("drive", [ATLAS, APART.drives[0], MIXED, APART, NESTED, EACH_RUN])
def test_locating_a_request_on_one_drive_agrees_with_locating_on_all(drive):
    """Each row and batch element is for a different drive. The location agrees with `locate` of that drive."""
    columns_of = [columns(smallest, 20 + row) for row in range(3)]
    sector, sectors = (jnp.concatenate([of[at] for of in columns_of]) for at in (2, 3))
    sector = sector % (min(drive.capacity, MIXED.capacity) - 200)
    which = jnp.asarray(np.random.default_rng(4).integers(0, 4, sector.shape), jnp.int32)
    found = drive.locate_on(which, sector, sectors)
    assert_close(drive.seen(found, which), drive.seen(drive.locate(sector, sectors), which))
    if drive is MIXED:
        # sector, count, and one location and angle instead of three
        assert len(jax.tree.leaves(found)) == 4


def test_a_large_drive_is_used_to_its_end_next_to_a_small_one():
    """Addresses go beyond the smallest drive, up to the end of each."""
    for brick, kind in enumerate(KINDS):
        end = DRIVES[kind].capacity
        assert MIXED.capacity_of(brick) == end
        sector = jnp.asarray([0, end // 2, end - 1], jnp.int32)
        which, one = jnp.full_like(sector, brick), jnp.ones_like(sector)
        assert_close(MIXED.seen(MIXED.locate_on(which, sector, one), which), DRIVES[kind].locate(sector, one))
    assert NESTED.capacity_of(2) == ATLAS.capacity == ATLAS.capacity_of(2)
    assert [NESTED.capacity_of(brick) for brick in (0, 1, 3)] == [DRIVES[kind].capacity for kind in (1, 0, 2)]


def test_a_capacity_that_differs_between_runs_is_rejected():
    differing = Mixed(DRIVES, (np.array([[1, 1]]), np.array([[0, 1]])))
    assert differing.capacity_of(0) == DRIVES[1].capacity
    assert_refused(
        lambda: differing.capacity_of(1),
        "drive 1 has .* sectors in some runs and .* in others; use the same drive model in all runs",
    )
    with pytest.raises(InputError, match="the kind of drive 0 is unknown during compilation"):
        eqx.filter_jit(lambda drive: drive.capacity_of(0))(MIXED)


@pytest.mark.parametrize("kinds, wrong", [((0, 1, 2), 2), ((-1, 0), -1), ((1, np.array([0, -1])), -1)])
def test_an_unknown_kind_is_rejected(kinds, wrong):
    """The message names the unknown kind, also if the kinds differ between runs."""
    assert_refused(lambda: Mixed(DRIVES[:2], kinds), f"kind of the drive of a brick {wrong}: it must be from 0 to 1")
    assert_refused(lambda: Mixed((), kinds), "no kinds of drives: give at least one")


@pytest.mark.parametrize("drive", [*DRIVES, RateServer(1000)], ids=lambda drive: getattr(drive, "name", "server"))
def test_full_speed_changes_nothing(drive):
    arm, angle, sector, sectors, reads = columns(drive, 6)
    full = drive.at_speed(jnp.float32(1), jnp.float32(1))
    target = drive.locate(sector, sectors)
    assert_same(full.positioning(arm, angle, target, reads), drive.positioning(arm, angle, target, reads))
    assert_same(full.transfer(target), drive.transfer(target))
    for method in ("turns", "seconds", "drift"):
        assert_same(getattr(full, method)(9 * angle), getattr(drive, method)(9 * angle))


@pytest.mark.parametrize("drive", [*DRIVES, IDEAL], ids=lambda drive: drive.name)
def test_half_the_speed_doubles_every_part(drive):
    """The arm arrives when the slower platter has turned as far as the fast one, so the rotation is doubled too."""
    arm, angle, sector, sectors, reads = columns(drive, 7)
    half = drive.at_speed(jnp.float32(0.5), jnp.float32(0.5))
    target = drive.locate(sector, sectors)
    ours, theirs = half.positioning(arm, angle, target, reads), drive.positioning(arm, angle, target, reads)
    np.testing.assert_allclose(ours.seek, 2 * theirs.seek, rtol=1e-6)
    turn = float(drive.revolution)
    # by a rounding, a sector that is just under the head may be a turn away
    apart = np.asarray(ours.rotation - 2 * theirs.rotation) / (2 * turn)
    np.testing.assert_allclose(apart - np.round(apart), 0, atol=1e-4)
    assert np.mean(np.round(apart) != 0) < 0.01
    np.testing.assert_allclose(half.transfer(target), 2 * drive.transfer(target), rtol=1e-6)
    np.testing.assert_allclose(half.turns(angle), drive.turns(angle) / 2, rtol=1e-6)
    np.testing.assert_allclose(half.seconds(angle), 2 * drive.seconds(angle), rtol=1e-6)


def test_each_component_of_a_slow_arms_time_is_longer():
    """Only the arm has a third of its speed: seek, head switch, settling and overhead are each three times as long.
    Turns do not change."""
    slow, one = ATLAS.at_speed(jnp.float32(1 / 3), jnp.float32(1)), jnp.zeros(1, jnp.int32)
    target = ATLAS.locate(one, one + 8)
    angle, read, write = jnp.zeros(1), jnp.ones(1, bool), jnp.zeros(1, bool)
    here, switch, far = (Arm(one + cylinder, one + head) for cylinder, head in ((0, 0), (0, 1), (3000, 0)))
    overhead, head_switch, settle = (float(t) for t in (ATLAS.overhead, ATLAS.head_switch, ATLAS.write_settle))
    assert min(head_switch, settle) > 0
    for arm, reads, expected in (
        (here, read, overhead),
        (here, write, overhead),
        (switch, read, overhead + head_switch),
        (switch, write, overhead + head_switch + settle),
        (far, read, overhead + float(ATLAS.seek(np.array(3000)))),
        (far, write, overhead + float(ATLAS.seek(np.array(3000))) + settle),
    ):
        full, third = ATLAS.positioning(arm, angle, target, reads), slow.positioning(arm, angle, target, reads)
        assert float(full.seek[0]) == pytest.approx(expected, rel=1e-5)
        assert float(third.seek[0]) == pytest.approx(3 * expected, rel=1e-5)
        # the sector passes whole turns after the arm arrives, and both wait for that
        waited = (float(third.total[0]) - float(full.total[0])) / float(ATLAS.revolution)
        assert waited == pytest.approx(round(waited), abs=1e-3)
    np.testing.assert_array_equal(slow.transfer(target), ATLAS.transfer(target))
    np.testing.assert_array_equal(slow.turns(angle + 0.7), ATLAS.turns(angle + 0.7))


def test_a_slow_platter_leaves_the_arm_alone():
    arm, angle, sector, sectors, reads = columns(ATLAS, 9)
    slow = ATLAS.at_speed(jnp.float32(1), jnp.float32(0.25))
    target = ATLAS.locate(sector, sectors)
    ours, theirs = slow.positioning(arm, angle, target, reads), ATLAS.positioning(arm, angle, target, reads)
    np.testing.assert_array_equal(ours.seek, theirs.seek)
    np.testing.assert_allclose(slow.transfer(target), 4 * ATLAS.transfer(target), rtol=1e-6)
    # the angle at which the arm arrives, and the remaining way to the sector
    turn = 4 * float(ATLAS.revolution)
    way = np.asarray(target.angle, float) - np.asarray(angle, float) - np.asarray(theirs.seek, float) / turn
    np.testing.assert_allclose(ours.rotation / turn, way - np.floor(way + 1e-5), atol=2e-5)


@pytest.mark.parametrize("speed", [1.0, 0.5])
@pytest.mark.parametrize("drive", [*DRIVES, ideal_drive(full_seek=8e-3, revolution=7e-3)], ids=lambda drive: drive.name)
def test_the_angle_after_many_seconds(drive, speed):
    """After up to 1,000 s, more than 50,000 turns, the angle agrees with the turns of the float32 revolution."""
    slow = drive.at_speed(jnp.float32(1), jnp.float32(speed))
    seconds = np.append(np.random.default_rng(1).uniform(0, 1000, 500), 0).astype(np.float32)
    turns = seconds.astype(float) / float(np.float32(drive.revolution) / np.float32(speed))
    found = np.asarray(slow.drift(jnp.asarray(seconds)))
    assert np.all((found >= 0) & (found < 1))
    apart = found - turns
    np.testing.assert_allclose(apart - np.round(apart), 0, atol=1e-6)


def test_a_server_below_its_speed_serves_slower():
    server = RateServer(1000)
    target = server.locate(jnp.zeros(3, jnp.int32), jnp.array([1, 2, 10], jnp.int32))
    slow = server.at_speed(jnp.float32(0.1), jnp.float32(0.25))
    np.testing.assert_allclose(slow.transfer(target), [4e-3, 8e-3, 40e-3], rtol=1e-6)
    nowhere = Arm(jnp.zeros(3, jnp.int32), jnp.zeros(3, jnp.int32))
    assert not np.any(slow.positioning(nowhere, jnp.zeros(3), target, jnp.ones(3, bool)).total)
    for method in (slow.turns, slow.seconds, slow.drift):
        assert not np.any(method(jnp.ones(3)))


@pytest.mark.parametrize("drive", [ATLAS, RateServer(1000)], ids=["drive", "server"])
def test_slowed_twice_is_slowed_by_both(drive):
    arm, angle, sector, sectors, reads = columns(drive, 10)
    target = drive.locate(sector, sectors)
    half, quarter = (drive.at_speed(jnp.float32(share), jnp.float32(share)) for share in (0.5, 0.25))
    twice = half.at_speed(jnp.float32(0.5), jnp.float32(0.5))
    assert isinstance(twice, Slowed)
    assert_same(twice.positioning(arm, angle, target, reads), quarter.positioning(arm, angle, target, reads))
    assert_same(twice.transfer(target), quarter.transfer(target))
    assert_same(twice.drift(9 * angle), quarter.drift(9 * angle))


def test_every_run_has_a_separate_speed():
    arm, angle, sector, sectors, reads = columns(ATLAS, 11, 3)
    speeds = jnp.array([[1.0, 0.5, 0.3]], jnp.float32)
    target = ATLAS.locate(sector, sectors)
    slow = ATLAS.at_speed(speeds, speeds)
    found, transfer = slow.positioning(arm, angle, target, reads), slow.transfer(target)
    for run in range(3):
        alone = ATLAS.at_speed(speeds[0, run], speeds[0, run])
        mine = jax.tree.map(lambda leaf, run=run: leaf[:, run : run + 1], (arm, angle, target, reads))
        assert_same(jax.tree.map(lambda leaf, run=run: leaf[:, run : run + 1], found), alone.positioning(*mine))
        assert_same(transfer[:, run : run + 1], alone.transfer(mine[2]))
