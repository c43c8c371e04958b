"""Groups of drives with several drives' worth of parity: RAID 6, RAID 50 and 60, codes of m + p stripe units."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import mask_of, named, whole
from storagekit.core.checks import require
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, require_drives, stripe_unit
from storagekit.placement.striped import UNIT, WithParity
from storagekit.workload import Requests


class ParityRow(NamedTuple):
    """Where requests lie whose row of stripe units has parity, all at one address: that, the first drive of their group,
    which of the group's drives has the first unit of parity and which the data, and the parts that each request has."""

    target: Any
    first: Int[AnyArray, "*#row"]
    parity: Int[AnyArray, "*#row"]
    data: Int[AnyArray, "*#row"]
    touched: UInt32[AnyArray, "*#row"]


class ParityGroups(WithParity):
    """`groups` of `disks` drives, in each row of whose stripe units `parities` hold parity: the data survive the loss of any
    so many drives of a group. Parity moves from row to row as on `RAID5`, which this is with one group and one parity.

    A read is one part. A write is taken to be a small one, of 1 + parities, so that it should lie within a stripe unit. Units
    go round the groups. With a drive lost the layout cannot be simulated.

    disks: of a group, those with parity included. unit: sectors. Raises InputError for fewer than two drives of data a group.
    """

    disks: Int[AnyArray, "..."] = eqx.field(converter=named("disks", whole))
    parities: Int[AnyArray, "..."] = eqx.field(converter=named("parities", whole), default=1)
    groups: Int[AnyArray, "..."] = eqx.field(converter=named("groups", whole), default=1)
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    def __check_init__(self):
        disks, parities, groups = self.disks, self.parities, self.groups
        require((parities >= 1) & (parities < MOST_PARTS), "parities", parities, f"1 to {MOST_PARTS - 1}")
        require(
            disks >= parities + 2, "a group of", disks, "two drives of data at least beside those of parity", "drives"
        )
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
        # a unit short of the drive's end, so that the last request has room
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
