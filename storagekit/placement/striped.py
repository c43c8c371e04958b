"""Striping over drives: RAID 0, which divides requests among the drives."""

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
from storagekit.core.batching import whole
from storagekit.core.validation import Validator
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, AbstractPlacement, stripe_unit
from storagekit.workload import Requests

UNIT = 64 * units.KB // units.SECTOR

_DRIVES = Validator(least=1, most=MOST_PARTS, unit="drives", whole=True)


class Strips(NamedTuple):
    """The location of requests that are divided into a part for each drive.

    targets: location of the part on each drive. lengths: number of sectors of each part. touched: mask of the drives
    that have a part.
    """

    targets: tuple[Any, ...]
    lengths: tuple[Int[AnyArray, "*#row"], ...]
    touched: UInt32[AnyArray, "*#row"]


def rank(
    row: Int[AnyArray, "*#row"], inside: Int[AnyArray, "*#row"], before: int | Int[AnyArray, "*#row"], unit: int
) -> Int[AnyArray, "*#row"]:
    """Return the number of sectors before a logical sector that are on one drive of a stripe.

    This is also the address of the next sector on the drive.

    Parameters
    ----------
    row : int array, `[*row]`
        Row of the logical sector.
    inside : int array, `[*row]`
        Distance of the logical sector from the start of the row, sectors.
    before : int
        Distance of the unit of the drive from the start of each row, sectors.
    unit : int
        Stripe unit, sectors.

    Returns
    -------
    int array, `[*row]`
        The number of sectors.
    """
    return row * unit + namespace(inside).clip(inside - before, 0, unit)


def strips(drive: AbstractLayout, ranges: Iterable[tuple[Int[AnyArray, "*#row"], Int[AnyArray, "*#row"]]]) -> Strips:
    """Return the location of divided requests.

    Parameters
    ----------
    drive : AbstractLayout
        Properties common to all drives.
    ranges : iterable of pairs of int arrays, `[*row]`
        For each drive, the first address of its part of each request, and the address after the part. Both are equal if
        the drive has no part.

    Returns
    -------
    Strips
        The location.
    """
    targets, lengths, masks = [], [], []
    for number, (start, stop) in enumerate(ranges):
        there, space = stop > start, namespace(start, stop)
        length = (stop - start).astype(np.int32)
        lengths.append(length)
        targets.append(drive.locate(space.where(there, start, 0), space.where(there, length, 1)))
        masks.append(space.where(there, np.uint32(1 << number), np.uint32(0)))
    return Strips(tuple(targets), tuple(lengths), reduce(operator.or_, masks))


def looked_up(table: Int[AnyArray, "field entry"], number: Int[AnyArray, "*row"]) -> Int[AnyArray, "field *row"]:
    """Return the columns of a table that have the given numbers.

    Parameters
    ----------
    table : int array, `[field, entry]`
        The table.
    number : int array, `[*row]`
        Numbers of columns.

    Returns
    -------
    int array, `[field, *row]`
        The columns.
    """
    # One table and one look-up: XLA repeats each look-up wherever its result is used.
    return namespace(number).take(table, number, axis=1, mode="clip")


class CutUp(AbstractPlacement):
    """A layout whose part k is the contiguous piece of a request on drive k. A read needs all parts."""

    @property
    def parts(self):
        return self.drives

    @property
    def needed(self):
        return self.drives

    @property
    def needs_several(self):
        return True

    def parts_of(self, location: Strips):
        return location.touched

    def needed_of(self, location: Strips):
        return jax.lax.population_count(location.touched).astype(jnp.int32)

    def part_on(self, drive: Int[AnyArray, "*#row"], location: Strips):
        return drive + jnp.zeros_like(location.touched, jnp.int32)

    def drive_of(self, part: Int[AnyArray, "*#row"], location: Strips):
        return part

    def target_on(self, part: Int[AnyArray, "*#row"], location: Strips):
        return jax.tree.map(lambda *leaves: one_of(part, leaves), *location.targets)

    def sectors_of(self, part: Int[AnyArray, "*#row"], location: Strips, sectors: Int[AnyArray, "*#row"]):
        return one_of(part, location.lengths)


def one_of(part: Int[AnyArray, "*#row"], leaves: Sequence[Shaped[AnyArray, "*#row"]]) -> Shaped[Array, "*row"]:
    """Return, for each element, the entry at the same position in the array `leaves[part]`.

    Parameters
    ----------
    part : int array, `[*row]`
        Numbers of arrays, from 0.
    leaves : sequence of arrays, `[*row]`
        One array for each number.

    Returns
    -------
    array, `[*row]`
        The selected entries.
    """
    return reduce(lambda chosen, one: jnp.where(part == one[0], one[1], chosen), enumerate(leaves[1:], 1), leaves[0])


class Striped(CutUp):
    """RAID 0: stripe units are placed on the drives in rotation; a request is divided among all drives that it touches.

    Parameters
    ----------
    disks : int
        Number of drives, 1 to 32.
    unit : int
        Stripe unit, sectors, by default 64 KB.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    A request needs all of its parts. The part on a drive is contiguous.
    """

    disks: int = eqx.field(static=True, converter=partial(_DRIVES, "stripe width"))
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    @property
    def drives(self):
        return whole(self.disks)

    def capacity(self, drive: AbstractLayout):
        # Computed on the host in 64 bits, so that the engine can reject a capacity that it cannot address.
        return np.int64(self.disks) * (drive.capacity // self.unit) * self.unit

    def locate(self, drive: AbstractLayout, requests: Requests) -> Strips:
        turn, units = self.disks * self.unit, range(0, self.disks * self.unit, self.unit)

        def held_before(sector: Int[AnyArray, "*row"]) -> list[Int[AnyArray, "*row"]]:
            row, inside = sector // turn, sector % turn
            return [rank(row, inside, before, self.unit) for before in units]

        begin, end = held_before(requests.sector), held_before(requests.sector + requests.sectors)
        return strips(drive, zip(begin, end, strict=True))
