"""Bricks of several drives: a layout over bricks, and stripe units over the drives of each brick."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, shown
from storagekit.drive import AbstractLayout, AbstractMechanics, Target
from storagekit.placement.base import AbstractPlacement, require_drives, stripe_unit
from storagekit.placement.striped import UNIT
from storagekit.workload import Requests


class Inside(NamedTuple):
    """The location of requests on bricks of several drives.

    across: location in the layout over bricks; drive numbers in this location are brick numbers. disk: number of the
    drive in its brick.
    """

    across: Any
    disk: Int[AnyArray, "*#row"]


class Bricks(AbstractPlacement):
    """A layout over bricks of several drives. The drives are numbered one brick after the other.

    Parameters
    ----------
    across : AbstractPlacement
        Layout of the parts of a request over the bricks: each drive of this layout is a brick.
    disks : int
        Number of drives of each brick.
    unit : int
        Stripe unit, sectors, by default 64 KB. With a unit as large as a drive the disks are independent and are filled
        one after the other.

    Raises
    ------
    InputError
        If `across` is not a layout, or a number is out of range.

    Notes
    -----
    In a brick, the stripe units are placed on the drives in rotation (RAID 0). A request is on the drive of its first
    sector.

    A brick can also be one SSD, whose drives are groups of its channels (see `Flash.channel_group`).
    """

    across: AbstractPlacement
    disks: int = eqx.field(static=True, converter=partial(COUNT, "drives per brick"))
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    def __check_init__(self):
        if not isinstance(self.across, AbstractPlacement):
            raise InputError(
                f"placement of bricks {shown(self.across)}: give a placement, such as Replicas(3); "
                "each of its drives becomes a brick"
            )
        require_drives(self.across.drives, self.disks)

    @property
    def drives(self):
        return self.across.drives * self.disks

    @property
    def drives_a_brick(self):
        return self.disks

    @property
    def longest(self):
        return self.across.longest

    @property
    def parts(self):
        return self.across.parts

    @property
    def most_parts(self):
        return self.across.most_parts

    @property
    def needed(self):
        return self.across.needed

    @property
    def is_replicated(self):
        return self.across.is_replicated

    @property
    def needs_several(self):
        return self.across.needs_several

    @property
    def single(self):
        return self.across.single

    @property
    def spare(self):
        return self.across.spare

    @property
    def most_spare(self):
        return self.across.most_spare

    @property
    def replicas(self):
        return self.across.replicas

    @property
    def most_replicas(self):
        return self.across.most_replicas

    def parts_of(self, location: Inside):
        return self.across.parts_of(location.across)

    def needed_of(self, location: Inside):
        return self.across.needed_of(location.across)

    def part_on(self, drive: Int[AnyArray, "*#row"], location: Inside):
        return jnp.where(
            drive % self.disks == location.disk, self.across.part_on(drive // self.disks, location.across), -1
        )

    def drive_of(self, part: Int[AnyArray, "*#row"], location: Inside):
        return self.across.drive_of(part, location.across) * self.disks + location.disk

    def target_on(self, part: Int[AnyArray, "*#row"], location: Inside):
        return self.across.target_on(part, location.across)

    def sectors_of(self, part: Int[AnyArray, "*#row"], location: Inside, sectors: Int[AnyArray, "*#row"]):
        return self.across.sectors_of(part, location.across, sectors)

    def capacity(self, drive: AbstractLayout):
        # The last row of units stays free if there are several rows, so that a request that begins in the last used
        # unit fits.
        rows = self.across.capacity(drive) // self.unit
        return (rows - (rows > 1)) * self.unit * self.disks

    def address_limit(self, drive: AbstractLayout) -> int:
        return max(super().address_limit(drive), self.across.address_limit(drive))

    def locate(self, drive: AbstractLayout, requests: Requests) -> Inside:
        unit = requests.sector // self.unit
        first = unit // self.disks * self.unit + requests.sector % self.unit
        return Inside(self.across.locate(drive, requests._replace(sector=first)), (unit % self.disks).astype(jnp.int32))

    def replica(
        self,
        drive: AbstractLayout,
        target: Target,
        part: Int[AnyArray, "*#row"],
        index: int | Int[AnyArray, "*#row"],
    ) -> Target:
        return self.across.replica(drive, target, part, index)

    @property
    def reads_before_writes(self):
        return self.across.reads_before_writes

    def parts_read_first(self, location: Inside):
        return self.across.parts_read_first(location.across)

    def companions(self, parts: UInt32[Array, "*row"], location: Inside):
        return self.across.companions(parts, location.across)

    def sibling(self, part: Int[AnyArray, "*#row"], location: Inside):
        return self.across.sibling(part, location.across)

    def sweep(self, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]):
        return self.across.sweep(mechanics, drive // self.disks)
