"""Bricks of several drives: a layout over bricks, and stripe units that go round the drives of each."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.checks import shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT
from storagekit.drive import AbstractLayout, AbstractMechanics, Target
from storagekit.placement.base import AbstractPlacement, require_drives, stripe_unit
from storagekit.placement.striped import UNIT
from storagekit.workload import Requests


class Inside(NamedTuple):
    """Where requests lie: over the bricks, the numbers of drives being those of bricks, and on which drive of a brick."""

    across: Any
    disk: Int[AnyArray, "*#row"]


class Bricks(AbstractPlacement):
    """A layout whose drives are bricks of `disks` drives each, numbered one brick after the other.

    across: where the parts of a request are, brick by brick. Inside a brick stripe units go round its drives (RAID 0), and a
    request lies with its first sector. unit: sectors; as large as a drive, they are independent disks, filled one after the
    other.
    """

    across: AbstractPlacement
    disks: int = eqx.field(static=True, converter=partial(COUNT, "drives of a brick"))
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    def __check_init__(self):
        if not isinstance(self.across, AbstractPlacement):
            raise InputError(f"bricks under {shown(self.across)}: give a layout, whose drives are the bricks")
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
    def alike(self):
        return self.across.alike

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

    def parts_of(self, place: Inside):
        return self.across.parts_of(place.across)

    def needed_of(self, place: Inside):
        return self.across.needed_of(place.across)

    def part_on(self, drive: Int[AnyArray, "*#row"], place: Inside):
        return jnp.where(drive % self.disks == place.disk, self.across.part_on(drive // self.disks, place.across), -1)

    def drive_of(self, part: Int[AnyArray, "*#row"], place: Inside):
        return self.across.drive_of(part, place.across) * self.disks + place.disk

    def target_on(self, part: Int[AnyArray, "*#row"], place: Inside):
        return self.across.target_on(part, place.across)

    def sectors_of(self, part: Int[AnyArray, "*#row"], place: Inside, sectors: Int[AnyArray, "*#row"]):
        return self.across.sectors_of(part, place.across, sectors)

    def capacity(self, drive: AbstractLayout):
        # a unit short of the drives' end, so that a request which begins in the last has room
        rows = self.across.capacity(drive) // self.unit
        return (rows - (rows > 1)) * self.unit * self.disks

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

    def companions(self, parts: UInt32[Array, "*row"], place: Inside):
        return self.across.companions(parts, place.across)

    def sibling(self, part: Int[AnyArray, "*#row"], place: Inside):
        return self.across.sibling(part, place.across)

    def sweep(self, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]):
        return self.across.sweep(mechanics, drive // self.disks)
