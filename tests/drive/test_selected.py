"""Mechanical drives of several kinds at once: each brick acts as the drive of its kind alone, with any other kinds.

Results are compared with that drive. Integers are equal; times and angles agree to a rounding. Requests are in rows,
and runs in the batch axis. Every number of a drive may be shared by the batch or differ between runs.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.drive import Arm, Drive, Mixed, RateServer, SeekTable, ideal_drive, load_drive
from storagekit.drive.mixed import Locations, OfKind
from storagekit.drive.selected import Selected, SelectedTable, Starts, selected_seek

ROWS, RUNS = 4, 3
# the longest time step in seconds, as in the engine
PAUSE = 0.05
ATLAS, CHEETAH = load_drive("atlas10k"), load_drive("cheetah4lp")


class Backwards(Drive):
    """A drive of another class, whose platter turns the other way."""

    def turns(self, seconds):
        return -super().turns(seconds)


DRIVES = {
    "atlas": ATLAS,
    "cheetah": CHEETAH,
    # the most heads, and the most zones
    "hp": load_drive("hp_c2247a"),
    # no drive of the library has an overhead before the arm moves
    "late atlas": dataclasses.replace(ATLAS, revolution=4e-3, overhead=0.5e-3, write_settle=2e-3, head_switch=3e-3),
    "sheet": Drive.from_datasheet(
        rpm=7200, track_seek=1e-3, average_seek=8e-3, full_seek=16e-3, capacity=9e9, media_rate=20e6, heads=7
    ),
    "ideal": ideal_drive(full_seek=8e-3, revolution=7e-3, cylinders=4000),
    "backwards": Backwards(**{field.name: getattr(CHEETAH, field.name) for field in dataclasses.fields(CHEETAH)}),
    "server": RateServer(1000),
}
SETS = [
    ("cheetah", "atlas", "hp", "late atlas"),
    ("ideal", "sheet", "atlas"),
    ("atlas", "backwards", "server"),
    ("cheetah",),
]
SMALLEST = min(drive.capacity for drive in DRIVES.values()) - 200


def per_run(drive):
    """The drive with every real number as an array `[1, run]`, as in a batch: times 1, 2 and 3."""
    factors = np.arange(1, RUNS + 1, dtype=np.float32)[None]

    def spread(leaf):
        return leaf * factors if np.ndim(leaf) == 0 and np.asarray(leaf).dtype.kind == "f" else leaf

    return jax.tree.map(spread, drive)


def random_requests(seed):
    """For each run an arm, an angle and speeds, and requests in rows: sectors, lengths, operations."""
    random = np.random.default_rng(seed)

    def whole(bound, rows):
        return jnp.asarray(random.integers(0, bound, (rows, RUNS)), jnp.int32)

    def real(low, high):
        return jnp.asarray(random.uniform(low, high, (1, RUNS)), jnp.float32)

    return {
        "arm": Arm(whole(2000, 1), whole(5, 1)),
        "angle": real(0, 1),
        "sector": whole(SMALLEST, ROWS),
        "count": 1 + whole(200, ROWS),
        "read": whole(2, ROWS) == 1,
        "seconds": real(0, PAUSE),
        "speeds": (real(0.1, 1), real(0.1, 1)),
    }


@jax.jit
def results(drive, which, requests):
    """All results of a brick: at full speed, slowed, and slowed twice."""
    target = drive.seen(drive.locate(requests["sector"], requests["count"]), which)
    full = drive.mechanics_of(which)
    slow = full.at_speed(*requests["speeds"])
    found = {"target": target}
    for name, mechanics in {"full": full, "slow": slow, "slower": slow.at_speed(*requests["speeds"])}.items():
        found[name] = (
            mechanics.positioning(requests["arm"], requests["angle"], target, requests["read"]),
            mechanics.transfer(target),
            mechanics.turns(requests["seconds"]),
            mechanics.seconds(requests["seconds"]),
            mechanics.drift(requests["seconds"]),
        )
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (ROWS, RUNS)), found)


def assert_close(ours, theirs, where):
    """Values agree to a rounding, after some turns."""
    for (path, one), other in zip(jax.tree.leaves_with_path(ours), jax.tree.leaves(theirs), strict=True):
        location = f"{where}: {jax.tree_util.keystr(path)}"
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6, err_msg=location)
        else:
            np.testing.assert_array_equal(one, other, location)


@pytest.mark.parametrize(
    "spread",
    [pytest.param(lambda drive: drive, marks=pytest.mark.slow), per_run],
    ids=["shared numbers", "numbers of each run"],
)
@pytest.mark.parametrize("names", SETS, ids=" ".join)
def test_every_row_is_the_drive_of_its_brick(names, spread):
    """There is one brick for a row, as when many bricks receive a request, and one for a run, as when one brick chooses."""
    drives = [spread(DRIVES[name]) for name in names]
    bricks = np.random.default_rng(1).permutation(np.arange(ROWS) % len(drives))
    mixed, requests = Mixed(drives, bricks), random_requests(2)
    by_row = results(mixed, jnp.arange(ROWS, dtype=jnp.int32)[:, None], requests)
    by_run = results(mixed, jnp.arange(RUNS, dtype=jnp.int32)[None], requests)
    for brick, kind in enumerate(bricks):
        alone = results(drives[kind], jnp.int32([[brick]]), requests)
        row = jax.tree.map(lambda leaf, row=brick: leaf[row], (by_row, alone))
        assert_close(*row, f"row of {names[kind]}")
        if brick < RUNS:
            column = jax.tree.map(lambda leaf, run=brick: leaf[:, run], (by_run, alone))
            assert_close(*column, f"run of {names[kind]}")


def test_a_brick_may_have_another_kind_in_every_run():
    names = SETS[0]
    drives, requests = [DRIVES[name] for name in names], random_requests(3)
    kinds = np.random.default_rng(3).integers(0, len(names), (2, 1, RUNS))
    bricks = [1, 0, 1]
    ours = results(Mixed(drives, kinds), jnp.int32([bricks]), requests)
    for run, brick in enumerate(bricks):
        kind = kinds[brick, 0, run]
        alone = results(drives[kind], jnp.int32([[brick]]), requests)
        column = jax.tree.map(lambda leaf, run=run: leaf[:, run], (ours, alone))
        assert_close(*column, f"run {run}, {names[kind]}")


def test_addresses_of_64_bits_are_located_on_the_host():
    """Addresses are beyond 32 bits; sectors of one track begin one after the other."""
    large = [
        Drive.from_datasheet(
            rpm=7200, track_seek=1e-3, average_seek=9e-3, full_seek=18e-3, capacity=capacity, media_rate=200e6
        )
        for capacity in (4e12, 6e12)
    ]
    sector = 2**32 + np.arange(3)
    location = Mixed(large, (0, 1)).locate(sector, np.ones_like(sector))
    for kind, drive in enumerate(large):
        alone = drive.locate(sector, np.ones_like(sector))
        jax.tree.map(np.testing.assert_array_equal, location.of_kind[kind], alone)


@pytest.mark.parametrize(
    ("drives", "together"),
    [
        ((ATLAS, DRIVES["ideal"]), True),
        ((ATLAS, DRIVES["backwards"]), False),
        ((ATLAS, DRIVES["server"]), False),
        # hp has 13 heads: four bits
        (
            (dataclasses.replace(ATLAS, geometry=dataclasses.replace(ATLAS.geometry, span=2**27 - 1)), DRIVES["hp"]),
            True,
        ),
        ((dataclasses.replace(ATLAS, geometry=dataclasses.replace(ATLAS.geometry, span=2**27)), DRIVES["hp"]), False),
    ],
    ids=["drives", "another class", "a server", "just small enough", "too large for one number"],
)
def test_drives_that_are_computed_together(drives, together):
    mixed, one = Mixed(drives, (0, 1)), jnp.ones((1, 1), jnp.int32)
    assert type(mixed.locate(one, one)) is (Starts if together else Locations)
    assert type(mixed.mechanics_of(one)) is (Selected if together else OfKind)


def test_curves_of_several_lengths():
    """At every distance, and beyond the end of every table, where a curve keeps its last value."""
    curves = [SeekTable(np.array(times)) for times in ([0.0, 1.0, 4.0, 2.0], [0.0, 3.0], [0.0])]
    distance = jnp.arange(6, dtype=jnp.int32)
    for kind, curve in enumerate(curves):
        found = selected_seek(jnp.full((6,), kind, jnp.int32), curves)
        assert type(found) is SelectedTable
        np.testing.assert_array_equal(found(distance), curve(distance))
