"""Groups of drives with one or more drives of parity: RAID 5 and 6, RAID 50 and 60, codes of m + p stripe units.

A write that is smaller than a row first reads, so that the new parity can be calculated. There are two methods (Patterson,
Gibson and Katz, SIGMOD 1988):

- Read-modify-write reads the old data and the old parity. A write on p parity drives has 2 (1 + p) accesses.
- Reconstruct-write reads the other data of the row. On m data drives it has m - 1 + 1 + p accesses.

The layout uses the method with fewer accesses, and read-modify-write if both have equally many.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, UInt32

from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import bit, mask_of, named, whole
from storagekit.core.validation import require
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, AbstractPlacement, require_drives, stripe_unit
from storagekit.placement.striped import UNIT
from storagekit.workload import Requests


class ParityRow(NamedTuple):
    """The location of requests in rows of stripe units with parity; all parts have one address.

    target: location of all parts. first: the first drive of the group. parity: the drive with the first unit of parity,
    numbered within the group. data: the drive with the data, numbered within the group. touched: mask of the parts of
    each request.
    """

    target: Any
    first: Int[AnyArray, "*#row"]
    parity: Int[AnyArray, "*#row"]
    data: Int[AnyArray, "*#row"]
    touched: UInt32[AnyArray, "*#row"]


class ParityGroups(AbstractPlacement):
    """Groups of drives with parity; the data survive the loss of any `parities` drives of a group.

    Parameters
    ----------
    disks : int
        Number of drives of a group, including the drives with parity, at least `parities` + 2; one value, or one for
        each run.
    parities : int
        Number of parity units in each row of a group, 1 to 31, by default 1.
    groups : int
        Number of groups, at least 1, by default 1.
    unit : int
        Stripe unit, sectors, by default 64 KB.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    Consecutive stripe units are placed on the groups in rotation. Each row of a group has `parities` units of parity,
    which move to the drives with the next lower numbers from row to row (left-symmetric). The parts of a request are
    not copies: a part cannot replace another part.

    A read has one part. A write has 1 + `parities` parts, and should lie within a stripe unit. The drives write when
    the last of the reads that precede the write has ended. An array with a failed drive cannot be simulated.
    """

    disks: Int[AnyArray, "..."] = eqx.field(converter=named("disks", whole))
    parities: Int[AnyArray, "..."] = eqx.field(converter=named("parities", whole), default=1)
    groups: Int[AnyArray, "..."] = eqx.field(converter=named("groups", whole), default=1)
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    def __check_init__(self):
        disks, parities, groups = self.disks, self.parities, self.groups
        require((parities >= 1) & (parities < MOST_PARTS), "parities", parities, f"1 to {MOST_PARTS - 1}")
        require(disks >= parities + 2, "size of a group", disks, "at least two more than the parity drives", "drives")
        require(groups >= 1, "groups", groups, "at least 1")
        require_drives(disks, groups)

    @property
    def drives(self):
        return self.disks * self.groups

    @property
    def parts(self):
        # Part 0 is the data and the next parts are parity. The other data of a row follow, if writes read them.
        return namespace(self.disks, self.parities).where(self.reconstructs, self.disks, self.parities) + 1

    @property
    def alike(self):
        return False

    @property
    def spare(self):
        return whole(0)

    @property
    def reads_before_writes(self):
        return True

    @property
    def reconstructs(self) -> Bool[AnyArray, "..."]:
        """Return whether a write reads the other data of its row, instead of its old data and parity."""
        fewer = reads_other_data(self.disks, self.parities)
        return namespace(fewer).asarray(fewer)

    def parts_of(self, place: ParityRow):
        return place.touched

    def needed_of(self, place: ParityRow):
        return jax.lax.population_count(place.touched).astype(jnp.int32)

    def parts_read_first(self, place: ParityRow):
        written = mask_of(self.parities + 1)
        others = mask_of(self.parts) & ~written & ~bit(self._turned(place.data, place) + 1)
        first = jnp.where(self.reconstructs, others, written)
        return jnp.where(place.touched == 1, jnp.uint32(0), first)

    def part_on(self, drive: Int[AnyArray, "*#row"], place: ParityRow):
        inside = drive - place.first
        turned = self._turned(inside, place)
        own = (inside >= 0) & (inside < self.disks) & ((turned < self.parities) | self.reconstructs)
        return jnp.where(inside == place.data, 0, jnp.where(own, turned + 1, -1))

    def drive_of(self, part: Int[AnyArray, "*#row"], place: ParityRow):
        turned = place.parity + part - 1
        turned = jnp.where(turned >= self.disks, turned - self.disks, turned)
        return place.first + jnp.where(part == 0, place.data, turned)

    def _turned(self, inside: Int[AnyArray, "*#row"], place: ParityRow) -> Int[AnyArray, "*#row"]:
        """Return the distance of drives from the drive with the first parity. inside: numbers within the group."""
        turned = inside - place.parity
        return jnp.where(turned < 0, turned + self.disks, turned)

    def capacity(self, drive: AbstractLayout):
        # The last unit of a drive stays free, so that the last request fits.
        rows = drive.capacity // self.unit - 1
        kind = np.int64 if isinstance(self.disks, np.ndarray) else int
        return ((self.disks - self.parities) * self.groups).astype(kind) * (rows * self.unit)

    def locate(self, drive: AbstractLayout, requests: Requests) -> ParityRow:
        address, *others = left_symmetric(requests.sector, self.disks, self.unit, self.parities, self.groups)
        target = drive.locate(address, requests.sectors)
        first, holder, parity = (one.astype(np.int32) for one in others)
        every = jnp.broadcast_to(mask_of(self.parities + 1), first.shape)
        return ParityRow(target, first, parity, holder, jnp.where(requests.read, jnp.uint32(1), every))


def left_symmetric(
    sector: Int[AnyArray, "*#row"],
    disks: Int[AnyArray, "*#row"],
    unit: int,
    parities: int | Int[AnyArray, "*#row"] = 1,
    groups: int | Int[AnyArray, "*#row"] = 1,
) -> tuple[Int[AnyArray, "*#row"], ...]:
    """Return the locations of sectors and of their parity in groups of drives, in left-symmetric order.

    Each row of stripe units has `parities` units of parity. From each row to the next, parity moves to the drive with
    the next lower number. The data of a row begin on the drive after the last drive with parity. Consecutive units of data
    are on different groups and different drives.

    Parameters
    ----------
    sector : int array, `[*row]`
        Logical sectors.
    disks : int
        Number of drives of a group, one value or an array `[*row]`.
    unit : int
        Stripe unit, sectors.
    parities, groups : int
        Number of units of parity in a row, and number of groups; 1 by default.

    Returns
    -------
    address : int array, `[*row]`
        Address of each sector on its drive; the parity is at the same address.
    first : int array, `[*row]`
        First drive of the group of each sector.
    data, parity : int array, `[*row]`
        Drive of each sector, and first drive with parity of its row, numbered within the group.
    """
    number, data = sector // unit, disks - parities
    turn, group = number // groups, number % groups
    row, column = turn // data, turn % data
    parity = disks - 1 - row % disks
    return row * unit + sector % unit, group * disks, (parity + parities + column) % disks, parity


def reads_other_data(disks: Int[AnyArray, "..."] | int, parities: Int[AnyArray, "..."] | int) -> Any:
    """Return whether a small write reads the other data of its row, because this needs fewer accesses.

    Parameters
    ----------
    disks : int or array of int
        Number of drives of a group.
    parities : int or array of int
        Number of parity units in each row of a group.

    Returns
    -------
    bool or array of bool
        Whether it does. The parts of a request of a group of more than 31 drives have no numbers, so that the result is
        then false.
    """
    return (disks - parities < parities + 2) & (disks < MOST_PARTS)


class RAID5(ParityGroups):
    """RAID 5: one group of drives, which survives the loss of one drive.

    Parameters
    ----------
    disks : int
        Number of drives, at least 3; one value, or one for each run.
    unit : int
        Stripe unit, sectors, by default 64 KB.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    See `ParityGroups`.
    """

    def __init__(self, disks, unit=UNIT):
        super().__init__(disks, 1, 1, unit)
