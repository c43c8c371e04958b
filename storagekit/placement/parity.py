"""Groups of drives with one or more drives of parity: RAID 5 and 6, RAID 50 and 60, codes of m + p stripe units.

A write that is smaller than a row first reads, so that the new parity can be calculated. There are two methods (Patterson,
Gibson and Katz, SIGMOD 1988):

- Read-modify-write reads the old data and the old parity. A write on p parity drives has 2 (1 + p) accesses.
- Reconstruct-write reads the other data of the row. On m data drives it has m - 1 + 1 + p accesses.

The layout uses the method with fewer accesses, and read-modify-write if both have equally many. A write that covers a row
(a full stripe) reads nothing.
"""

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import bit, mask_of, named, whole
from storagekit.core.units import PAGE
from storagekit.core.validation import require
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, AbstractPlacement, require_drives, stripe_unit
from storagekit.placement.striped import UNIT
from storagekit.workload import Requests


class ParityRow(NamedTuple):
    """The location of requests in rows of stripe units with parity; all parts have one address.

    A drive of a group has a position in a row: parity has the positions 0, 1, ..., and data the further positions.

    target: location of all parts. order: arrays from which a layout calculates the position of a drive. data: position
    of the data of each request. touched: mask of the parts of each request.
    """

    target: Any
    order: tuple[Int[AnyArray, "*#row"], ...]
    data: Int[AnyArray, "*#row"]
    touched: UInt32[AnyArray, "*#row"]


class AbstractParity(AbstractPlacement):
    """Base class of layouts with parity; by default the data survive the loss of any `parities` drives of a group.

    A layout defines the number of drives of a group, and their order in a row. With full stripes, the number of
    a part is its position in the row. Otherwise part 0 is the data, the next parts are parity, and the other data of the
    row follow.
    """

    parities: eqx.AbstractVar[Int[AnyArray, "..."]]
    unit: eqx.AbstractVar[int]
    full_stripes: eqx.AbstractVar[bool]

    @property
    @abstractmethod
    def group_size(self) -> Int[AnyArray, "..."]:
        """Return the number of drives of a group, including the drives with parity."""

    @property
    @abstractmethod
    def rows(self) -> Int[AnyArray, "..."]:
        """Return the number of rows, one for each group, at the same address."""

    @abstractmethod
    def _order_of(self, turn: Int[AnyArray, "*row"], group: Int[AnyArray, "*row"]) -> tuple[Int[AnyArray, "*row"], ...]:
        """Return the arrays that describe the order of the drives. turn: number of the row among the rows of its group."""

    @abstractmethod
    def _position_of(self, drive: Int[AnyArray, "*#row"], location: ParityRow) -> Int[AnyArray, "*#row"]:
        """Return the position of drives in the row of each request; negative if they hold no unit of the row."""

    @abstractmethod
    def _drive_at(self, position: Int[AnyArray, "*#row"], location: ParityRow) -> Int[AnyArray, "*#row"]:
        """Return the drives at positions of the row of each request."""

    @abstractmethod
    def _group_with(self, drive: Int[AnyArray, "..."], turn: Int[AnyArray, "*row"]) -> Int[AnyArray, "*#row"]:
        """Return the group that has a unit of its row `turn` on a drive; at least `rows` if the drive has spare space."""

    def _updated_with(self, position: Int[AnyArray, "*#row"]) -> UInt32[Array, "*#row"]:
        """Return the mask of the parities, by position, that a write of the data at a position changes; by default all."""
        return mask_of(self.parities)

    def _restores(self, position: Int[AnyArray, "*#row"]) -> UInt32[Array, "*#row"]:
        """Return the mask of the positions that restore the unit at a position, which may be negative.

        By default, the data of the row restore a parity. Parity 0 and the other data restore data.
        """
        data = mask_of(self.group_size) & ~mask_of(self.parities)
        return jnp.where(position >= self.parities, data & ~bit(jnp.maximum(position, 0)) | jnp.uint32(1), data)

    @property
    def spare_units(self) -> Int[AnyArray, "..."]:
        """Return the number of units at each address that no row uses: the spare space that all drives share."""
        return whole(0)

    @property
    def data(self) -> Int[AnyArray, "..."]:
        """Return the number of data units of a row."""
        return self.group_size - self.parities

    @property
    def parts(self):
        if self.full_stripes:
            return self.group_size
        # The other data of a row are parts if writes read them.
        return namespace(self.group_size, self.parities).where(self.reconstructs, self.group_size, self.parities) + 1

    @property
    def needed(self):
        return self.data if self.full_stripes else whole(1)

    @property
    def needs_several(self):
        return self.full_stripes

    @property
    def is_replicated(self):
        return False

    @property
    def spare(self):
        return whole(0)

    @property
    def reads_before_writes(self):
        return not self.full_stripes

    @property
    def reconstructs(self) -> Bool[AnyArray, "..."]:
        """Return whether a write within a stripe unit reads the other data of its row."""
        fewer = reads_other_data(self.group_size, self.parities)
        return namespace(fewer).asarray(fewer)

    def parts_of(self, location: ParityRow):
        return location.touched

    def needed_of(self, location: ParityRow):
        return jax.lax.population_count(location.touched).astype(jnp.int32)

    def parts_read_first(self, location: ParityRow):
        others = mask_of(self.parts) & ~mask_of(self.parities + 1) & ~bit(jnp.asarray(location.data) + 1)
        first = jnp.where(self.reconstructs, others, location.touched)
        return jnp.where(location.touched == 1, jnp.uint32(0), first)

    def part_on(self, drive: Int[AnyArray, "*#row"], location: ParityRow):
        position = self._position_of(drive, location)
        if self.full_stripes:
            return position
        own = (position >= 0) & ((position < self.parities) | self.reconstructs)
        return jnp.where(position == location.data, 0, jnp.where(own, position + 1, -1))

    def drive_of(self, part: Int[AnyArray, "*#row"], location: ParityRow):
        return self._drive_at(part if self.full_stripes else jnp.where(part == 0, location.data, part - 1), location)

    def sectors_of(self, part: Int[AnyArray, "*#row"], location: ParityRow, sectors: Int[AnyArray, "*#row"]):
        return self._part(sectors)

    def _part(self, sectors: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """Return the number of sectors of each part of requests."""
        if not self.full_stripes:
            return sectors
        return -(-sectors // (self.data * self._page)) * self._page

    @property
    def _page(self) -> int:
        return math.gcd(self.unit, PAGE)

    def capacity(self, drive: AbstractLayout):
        # The last unit of a drive stays free, so that the last request fits.
        turns, units = drive.capacity // self.unit - 1, self.data * self.rows
        kind = np.int64 if isinstance(units, np.ndarray | np.generic) else int
        return units.astype(kind) * (turns * self.unit)

    def locate(self, drive: AbstractLayout, requests: Requests) -> ParityRow:
        turn, group, column, address = self._address_of(requests)
        target = drive.locate(address, self._part(requests.sectors))
        order = tuple(one.astype(np.int32) for one in self._order_of(turn, group))
        position = self.parities + column.astype(np.int32)
        if self.full_stripes:
            read, written = mask_of(self.group_size) & ~mask_of(self.parities), mask_of(self.group_size)
        else:
            read, written = jnp.uint32(1), jnp.uint32(1) | jnp.left_shift(self._updated_with(position), jnp.uint32(1))
        read, written = (jnp.broadcast_to(one, position.shape) for one in (read, written))
        return ParityRow(target, order, position, jnp.where(requests.read, read, written))

    def _address_of(self, requests: Requests) -> tuple[Int[AnyArray, "*row"], ...]:
        """Return the row, the group and the data unit of requests (see `unit_location`), and their address on a drive."""
        ways = self.data if self.full_stripes else 1
        number, inside = requests.sector // (self.unit * ways), requests.sector % (self.unit * ways)
        if self.full_stripes:
            inside = inside // (ways * self._page) * self._page
        turn, group, column = unit_location(number, self.data // ways, self.rows)
        return turn, group, column, turn * self.unit + inside


class ParityGroups(AbstractParity):
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
    full_stripes : bool
        Whether a request is divided over all data units of a row, by default false. A group then has at most 32 drives.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    Consecutive stripe units, or rows with full stripes, are placed on the groups in rotation. Each row of a group has
    `parities` units of parity, which move to the drives with the next lower numbers from row to row (left-symmetric). The
    parts of a request are not copies: a part cannot replace another part.

    A read has one part. A write has 1 + `parities` parts, and should lie within a stripe unit. The drives write when
    the last of the reads that precede the write has ended. `AfterLoss` is the layout after the loss of a drive.

    With full stripes, a read has one part for each data unit of a row, and a write has one for each drive of the group, so
    that it reads nothing. The parts are equally long, in whole pages of 4 KB if the stripe unit has whole pages. A request
    should begin at a row and lie within it: its offset in a row does not lengthen its parts. RAID 3 and RAID-Z work in this
    way.
    """

    disks: Int[AnyArray, "..."] = eqx.field(converter=named("disks", whole))
    parities: Int[AnyArray, "..."] = eqx.field(converter=named("parities", whole), default=1)
    groups: Int[AnyArray, "..."] = eqx.field(converter=named("groups", whole), default=1)
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)
    full_stripes: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        disks, parities, groups = self.disks, self.parities, self.groups
        require_group(disks, parities, self.full_stripes)
        require(groups >= 1, "groups", groups, "at least 1")
        require_drives(disks, groups)

    @property
    def drives(self):
        return self.disks * self.groups

    @property
    def group_size(self):
        return self.disks

    @property
    def rows(self):
        return self.groups

    def _order_of(self, turn: Int[AnyArray, "*row"], group: Int[AnyArray, "*row"]):
        return group * self.disks, first_parity(turn, self.disks)

    def _group_with(self, drive: Int[AnyArray, "..."], turn: Int[AnyArray, "*row"]):
        return drive // self.disks + 0 * turn

    def _position_of(self, drive: Int[AnyArray, "*#row"], location: ParityRow):
        first, parity = location.order
        inside = drive - first
        turned = inside - parity
        turned = jnp.where(turned < 0, turned + self.disks, turned)
        return jnp.where((inside >= 0) & (inside < self.disks), turned, -1)

    def _drive_at(self, position: Int[AnyArray, "*#row"], location: ParityRow):
        first, parity = location.order
        turned = parity + position
        return first + jnp.where(turned >= self.disks, turned - self.disks, turned)


def require_group(
    disks: int | Int[AnyArray, "..."], parities: int | Int[AnyArray, "..."], full_stripes: bool = False
) -> None:
    """Raise InputError if a group of drives cannot have a number of parities.

    Parameters
    ----------
    disks, parities : int
        Number of drives of a group, and number of parity units in a row.
    full_stripes : bool
        Whether each drive of the group has a part of each write.
    """
    require((parities >= 1) & (parities < MOST_PARTS), "parities", parities, f"1 to {MOST_PARTS - 1}")
    require(disks >= parities + 2, "size of a group", disks, "at least the number of parity drives plus 2", "drives")
    if full_stripes:
        require(disks <= MOST_PARTS, "size of a group with full stripes", disks, f"at most {MOST_PARTS}", "drives")


def unit_location(
    number: Int[AnyArray, "*row"], data: int | Int[AnyArray, "..."], rows: int | Int[AnyArray, "..."] = 1
) -> tuple[Int[AnyArray, "*row"], ...]:
    """Return the locations of stripe units that are placed on groups in rotation.

    Parameters
    ----------
    number : int array, `[*row]`
        Numbers of stripe units of data.
    data : int
        Number of data units of a row.
    rows : int
        Number of rows at the same address, one for each group, by default 1.

    Returns
    -------
    turn, group, column : int array, `[*row]`
        Number of the row among the rows of its group, number of the group, and number of the unit in its row.
    """
    turn, group = number // rows, number % rows
    return turn // data, group, turn % data


def first_parity(turn: Int[AnyArray, "*row"], disks: int | Int[AnyArray, "..."]) -> Int[AnyArray, "*row"]:
    """Return the drive with the first unit of parity in each row of a group (left-symmetric).

    Parameters
    ----------
    turn : int array, `[*row]`
        Number of the row.
    disks : int
        Number of drives of the group.

    Returns
    -------
    int array, `[*row]`
        Number of the drive within the group. From row to row it decreases by 1. The data of a row begin on the drive
        after the last drive with parity.
    """
    return disks - 1 - turn % disks


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
        Whether a small write reads the other data. It is false for a group of more than 31 drives, because the parts of
        its requests have no numbers.
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
        super().__init__(disks=disks, unit=unit)
