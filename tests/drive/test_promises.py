"""The contracts of all layouts and mechanics, and no contract that a component does not fulfil."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import storagekit
from storagekit.core.system_facts import SystemFacts
from storagekit.drive import (
    AbstractLayout,
    AbstractMechanics,
    Flash,
    Mixed,
    RateServer,
    Slowed,
    Target,
    ideal_drive,
    load_buffered,
    load_drive,
)
from storagekit.drive.mixed import OfKind
from storagekit.drive.selected import Selected

ATLAS, IDEAL, SERVER = load_drive("atlas10k"), ideal_drive(full_seek=8e-3, revolution=7e-3), RateServer(1000)
BUFFERED = load_buffered("atlas10k")
FLASH = Flash(rate=1e6, read_page=60e-6, program_page=600e-6, erase_block=5e-3)
DRIVES = {
    "drive": ATLAS,
    "ideal": IDEAL,
    "server": SERVER,
    "flash": FLASH,
    "buffered": BUFFERED,
    "mixed": Mixed((ATLAS, IDEAL), (0, 1)),
    "mixed with a server": Mixed((SERVER, ATLAS), (1, 0)),
    "mixed of mixed": Mixed((Mixed((ATLAS, IDEAL), (1, 0)), SERVER), (0, 0)),
}
HALF = jnp.float32(0.5)
# requests in rows, for brick 1 of two
WHICH = jnp.ones((1,), jnp.int32)
SECTOR = jnp.asarray([0, 7, 30_000], jnp.int32)
COUNT = jnp.asarray([1, 8, 400], jnp.int32)


def mechanics() -> dict[str, AbstractMechanics]:
    """The mechanics of a brick of every drive, at full speed, slowed, and slowed twice; and as seen through an empty
    buffer."""
    full = {name: drive.mechanics_of(WHICH) for name, drive in DRIVES.items()}
    buffer = BUFFERED.buffer
    full["buffered, seen"] = buffer.seen(buffer.of(buffer.init(2, ()), WHICH), full["buffered"])
    slow = {f"{name}, slowed": one.at_speed(HALF, HALF) for name, one in full.items()}
    twice = {f"{name} twice": one.at_speed(HALF, HALF) for name, one in slow.items()}
    return full | slow | twice


MECHANICS = mechanics()


def shapes(result) -> set[tuple[int, ...]]:
    leaves = jax.tree.leaves(result)
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves)
    return {leaf.shape for leaf in leaves}


def test_every_component_is_tested():
    kinds = {type(one) for one in MECHANICS.values()} | {type(one) for one in DRIVES.values()}
    declared = components(AbstractMechanics) | components(AbstractLayout)
    assert {Slowed, OfKind, Selected, Mixed} <= declared <= kinds


def components(contract: type) -> set[type]:
    """Components of storagekit that implement a contract and are not abstract."""
    below = {one for kind in contract.__subclasses__() for one in components(kind) | {kind}}
    return {one for one in below if one.__module__.startswith("storagekit.") and not one.__abstractmethods__}


@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES)
def test_every_layout_locates(drive):
    """Locations are the same on the host and in the engine's arrays, as the bricks see them, and within the cylinders
    and heads."""
    assert isinstance(drive, AbstractLayout)
    assert min(drive.capacity, drive.cylinders, drive.heads) >= 1
    drive.check(SystemFacts(drives=2))
    target = drive.seen(drive.locate(SECTOR, COUNT), WHICH)
    assert isinstance(target, Target) and shapes(target) == {SECTOR.shape}
    host = drive.seen(drive.locate(np.asarray(SECTOR), np.asarray(COUNT)), WHICH)
    jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-6), target, host)
    assert np.all((target.angle >= 0) & (target.angle < 1) & (target.transfer > 0))
    for cylinder in (target.cylinder, target.end.cylinder):
        assert np.all((cylinder >= 0) & (cylinder < drive.cylinders))


@pytest.mark.parametrize("name", MECHANICS)
def test_every_mechanics_fulfils_the_contract(name):
    one = MECHANICS[name]
    drive = DRIVES[name.split(", ")[0]]
    assert isinstance(one, AbstractMechanics)
    target = drive.seen(drive.locate(SECTOR, COUNT), WHICH)
    angle, read = jnp.asarray([0.1, 0.5, 0.9]), jnp.asarray([True, False, True])
    assert shapes(one.positioning(target.end, angle, target, read)) == {SECTOR.shape}
    assert shapes(one.transfer(target)) == {SECTOR.shape} and np.all(one.transfer(target) > 0)
    # turns, and back to the seconds that they take; the drift is the fraction of a turn
    turns = one.turns(angle)
    assert shapes((turns, one.seconds(turns), one.drift(angle))) == {SECTOR.shape}
    turning = bool(np.any(turns))
    np.testing.assert_allclose(one.seconds(turns), angle if turning else 0 * angle, rtol=1e-5)
    apart = np.asarray(one.drift(angle)) - np.asarray(turns)
    np.testing.assert_allclose(apart - np.round(apart), 0, atol=1e-4)
    assert isinstance(one.at_speed(HALF, HALF), AbstractMechanics)


def test_no_method_raises_not_implemented():
    sources = Path(storagekit.__file__).parent.rglob("*.py")
    found = [
        f"{path.name}:{node.lineno}"
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]
    assert not found
