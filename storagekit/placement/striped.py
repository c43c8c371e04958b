"""Stripe units that go round the drives: requests that are cut up, and the small writes of RAID 5."""

import operator
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped, UInt32

from storagekit.core import units
from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import named, real, whole
from storagekit.core.checks import traced
from storagekit.core.errors import InputError
from storagekit.core.kinds import Kind
from storagekit.drive import AbstractLayout, AbstractMechanics
from storagekit.placement.base import MOST_PARTS, require_drives, stripe_unit
from storagekit.placement.replicas import OneReplica
from storagekit.workload import Requests

UNIT = 64 * units.KB // units.SECTOR

_DRIVES = Kind(least=1, most=MOST_PARTS, unit="drives", whole=True)


class Strips(NamedTuple):
    """Where requests lie that are cut into a part for each drive: one target a drive, how many sectors each has, and the
    drives that have a part."""

    targets: tuple[Any, ...]
    lengths: tuple[Int[AnyArray, "*#row"], ...]
    touched: UInt32[AnyArray, "*#row"]


def rank(
    row: Int[AnyArray, "*#row"], inside: Int[AnyArray, "*#row"], before: int | Int[AnyArray, "*#row"], unit: int
) -> Int[AnyArray, "*#row"]:
    """How many sectors a drive of a stripe holds before a logical one: that of row `row`, `inside` sectors after the row's
    beginning, the drive's unit of each row being `before` sectors after it. So where the drive's next one lies."""
    return row * unit + namespace(inside).clip(inside - before, 0, unit)


def strips(drive: AbstractLayout, ranges: Iterable[tuple[Int[AnyArray, "*#row"], Int[AnyArray, "*#row"]]]) -> Strips:
    """Requests cut up into what each drive has of them: from its first address, up to its last and one."""
    targets, lengths, masks = [], [], []
    for number, (start, stop) in enumerate(ranges):
        there, space = stop > start, namespace(start, stop)
        length = (stop - start).astype(np.int32)
        lengths.append(length)
        targets.append(drive.locate(space.where(there, start, 0), space.where(there, length, 1)))
        masks.append(space.where(there, np.uint32(1 << number), np.uint32(0)))
    return Strips(tuple(targets), tuple(lengths), reduce(operator.or_, masks))


def looked_up(table: Int[AnyArray, "field entry"], number: Int[AnyArray, "*row"]) -> Int[AnyArray, "field *row"]:
    """Return the numbered columns of a table."""
    # One table and one look-up: XLA repeats each look-up wherever its result is used.
    return namespace(number).take(table, number, axis=1, mode="clip")


class CutUp(OneReplica):
    """A layout whose part k is what drive k has of a request: in one piece, and all parts are needed."""

    @property
    def parts(self):
        return self.drives

    @property
    def needed(self):
        return self.drives

    @property
    def needs_several(self):
        return True

    def parts_of(self, place: Strips):
        return place.touched

    def needed_of(self, place: Strips):
        return jax.lax.population_count(place.touched).astype(jnp.int32)

    def part_on(self, drive: Int[AnyArray, "*#row"], place: Strips):
        return drive + jnp.zeros_like(place.touched, jnp.int32)

    def drive_of(self, part: Int[AnyArray, "*#row"], place: Strips):
        return part

    def target_on(self, part: Int[AnyArray, "*#row"], place: Strips):
        return jax.tree.map(lambda *leaves: one_of(part, leaves), *place.targets)

    def sectors_of(self, part: Int[AnyArray, "*#row"], place: Strips, sectors: Int[AnyArray, "*#row"]):
        return one_of(part, place.lengths)


def one_of(part: Int[AnyArray, "*#row"], leaves: Sequence[Shaped[AnyArray, "*#row"]]) -> Shaped[Array, "*row"]:
    """Of one array for each drive, the entries of those whose number `part` says."""
    return reduce(lambda chosen, one: jnp.where(part == one[0], one[1], chosen), enumerate(leaves[1:], 1), leaves[0])


class Striped(CutUp):
    """RAID 0: stripe units go round `disks` drives, and a request is cut up among those that it touches, all of which it
    needs. What a drive has of it lies there in one piece.

    unit: sectors.
    """

    disks: int = eqx.field(static=True, converter=partial(_DRIVES, "a stripe over"))
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    @property
    def drives(self):
        return whole(self.disks)

    def capacity(self, drive: AbstractLayout):
        # on the host beyond what the engine addresses, to be refused there
        return np.int64(self.disks) * (drive.capacity // self.unit) * self.unit

    def locate(self, drive: AbstractLayout, requests: Requests) -> Strips:
        turn, units = self.disks * self.unit, range(0, self.disks * self.unit, self.unit)

        def held_before(sector: Int[AnyArray, "*row"]) -> list[Int[AnyArray, "*row"]]:
            row, inside = sector // turn, sector % turn
            return [rank(row, inside, before, self.unit) for before in units]

        begin, end = held_before(requests.sector), held_before(requests.sector + requests.sectors)
        return strips(drive, zip(begin, end, strict=True))


def left_symmetric(
    sector: Int[AnyArray, "*#row"], disks: Int[AnyArray, "*#row"], unit: int
) -> tuple[Int[AnyArray, "*#row"], Int[AnyArray, "*#row"], Int[AnyArray, "*#row"]]:
    """RAID 5 over `disks` drives, whose rows of units each have one of parity: the address of a sector on its drive, that
    drive, and the one that has its row's parity, at the same address. Parity moves down a drive from row to row, and a row's
    data begins after it, so that units of data that follow one another are on as many drives (left-symmetric).
    """
    number = sector // unit
    row, column = number // (disks - 1), number % (disks - 1)
    parity = disks - 1 - row % disks
    return row * unit + sector % unit, (parity + 1 + column) % disks, parity


class WithParity(OneReplica):
    """A layout whose parts are data and its parity, at one address on drives of their own, so that none stands for another;
    its places say which parts a request has, `touched`. A small write reads data and parity where they are and writes both a
    revolution later (Patterson, Gibson and Katz, SIGMOD 1988)."""

    @property
    def alike(self):
        return False

    @property
    def spare(self):
        return whole(0)

    def parts_of(self, place: Any):
        return place.touched

    def needed_of(self, place: Any):
        return jax.lax.population_count(place.touched).astype(jnp.int32)

    def sweep(self, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]):
        return mechanics.seconds(real(1))


class Paired(NamedTuple):
    """Where requests lie of which a write has two parts, data and parity, at one address: that, the drive of each, and the
    parts that the request has."""

    target: Any
    data: Int[AnyArray, "*#row"]
    parity: Int[AnyArray, "*#row"]
    touched: UInt32[AnyArray, "*#row"]


class RAID5(WithParity):
    """Rotated parity, left-symmetric: a read is one part, on the drive of its first sector; a write is two.

    A request that writes is taken to be a small write, so that it should lie within a stripe unit. Whether the old data has
    arrived before the parity comes by again is not asked. With a drive lost the layout cannot be simulated.

    disks: with the one in each row that holds parity. unit: sectors.
    """

    disks: Int[AnyArray, "..."] = eqx.field(converter=named("disks", whole))
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    def __check_init__(self):
        if not traced(self.disks) and np.any(self.disks < 3):
            raise InputError(f"RAID 5 of {int(np.min(self.disks))} drives: give at least 3, or mirror two")
        require_drives(self.disks)

    @property
    def drives(self):
        return self.disks

    @property
    def parts(self):
        return whole(2)

    def part_on(self, drive: Int[AnyArray, "*#row"], place: Paired):
        return jnp.where(drive == place.data, 0, jnp.where(drive == place.parity, 1, -1))

    def drive_of(self, part: Int[AnyArray, "*#row"], place: Paired):
        return jnp.where(part == 0, place.data, place.parity)

    def capacity(self, drive: AbstractLayout):
        # a unit short of the drive's end, so that the last request has room
        rows = drive.capacity // self.unit - 1
        kind = np.int64 if isinstance(self.disks, np.ndarray) else int
        return (self.disks - 1).astype(kind) * (rows * self.unit)

    def locate(self, drive: AbstractLayout, requests: Requests) -> Paired:
        address, data, parity = left_symmetric(requests.sector, self.disks, self.unit)
        target = drive.locate(address, requests.sectors)
        data, parity = (drive.astype(np.int32) for drive in (data, parity))
        return Paired(target, data, parity, jnp.where(requests.read, jnp.uint32(1), jnp.uint32(3)))
