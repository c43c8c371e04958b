"""Groups of drives with one or more drives of parity: RAID 6, RAID 50 and 60, codes of m + p stripe units."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import mask_of, named, whole
from storagekit.core.validation import require
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, require_drives, stripe_unit
from storagekit.placement.striped import UNIT, WithParity
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


class ParityGroups(WithParity):
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
    Consecutive stripe units are placed on the groups in rotation. Parity moves from row to row as in `RAID5`. With one
    group and one parity the layout equals `RAID5`. A read has one part. Every write is modelled as a small write with 1
    + `parities` parts, and should therefore lie within a stripe unit. An array with a failed drive cannot be simulated.
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
        return self.parities + 1

    def part_on(self, drive: Int[AnyArray, "*#row"], place: ParityRow):
        inside = drive - place.first
        turned = inside - place.parity
        turned = jnp.where(turned < 0, turned + self.disks, turned)
        own = (inside >= 0) & (inside < self.disks)
        holds = jnp.where(inside == place.data, 0, jnp.where(turned < self.parities, turned + 1, -1))
        return jnp.where(own, holds, -1)

    def drive_of(self, part: Int[AnyArray, "*#row"], place: ParityRow):
        turned = place.parity + part - 1
        turned = jnp.where(turned >= self.disks, turned - self.disks, turned)
        return place.first + jnp.where(part == 0, place.data, turned)

    def capacity(self, drive: AbstractLayout):
        # The last unit of a drive stays free, so that the last request fits.
        rows = drive.capacity // self.unit - 1
        kind = np.int64 if isinstance(self.disks, np.ndarray) else int
        return ((self.disks - self.parities) * self.groups).astype(kind) * (rows * self.unit)

    def locate(self, drive: AbstractLayout, requests: Requests) -> ParityRow:
        number, data = requests.sector // self.unit, self.disks - self.parities
        turn, group = number // self.groups, number % self.groups
        row, column = turn // data, turn % data
        parity = self.disks - 1 - row % self.disks
        target = drive.locate(row * self.unit + requests.sector % self.unit, requests.sectors)
        first, parity, holder = (
            one.astype(np.int32) for one in (group * self.disks, parity, (parity + self.parities + column) % self.disks)
        )
        every = jnp.broadcast_to(mask_of(self.parts), first.shape)
        return ParityRow(target, first, parity, holder, jnp.where(requests.read, jnp.uint32(1), every))
