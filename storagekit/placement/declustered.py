"""Copies spread over many bricks, so that each brick shares data with several others."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, named, whole
from storagekit.core.checks import traced
from storagekit.core.errors import InputError
from storagekit.core.kinds import SECTORS
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, Location, require_drives
from storagekit.placement.replicas import OneReplica
from storagekit.workload import Requests

_EXTENT = partial(replace(SECTORS, unit="sectors"), "an extent of")


class Declustered(OneReplica):
    """Volumes (LUNs) cut into extents, extent e on the `copies` bricks from e mod `bricks` on, around the ring.

    Every brick is in `copies` replica sets and shares data with 2 (copies - 1) others (chained declustering: Hsiao and
    DeWitt, ICDE 1990), so that the work of one that fails or is slow spreads. An extent has the same address on all its
    bricks. With as many bricks as copies it is a replica group.

    bricks: a multiple of copies. data: sectors of all volumes, end to end; 0 for as many as the bricks hold. Where it is
    less, extents lie a whole number of extents apart, as far as that fits; where it is more, places wrap around: the
    mechanics of drives with more capacity. extent: sectors. A request that crosses into the next extent lies, and is
    remembered, with its first; none may be longer than an extent.
    """

    bricks: Int[AnyArray, "..."] = eqx.field(converter=named("bricks", whole), default=2)
    copies: Int[AnyArray, "..."] = eqx.field(converter=named("copies", whole), default=2)
    data: Int[AnyArray, "..."] = eqx.field(converter=named("data", addresses), default=0)
    extent: int = eqx.field(static=True, default=units.MB // units.SECTOR, converter=_EXTENT)

    def __check_init__(self):
        copies, bricks = self.copies, self.bricks
        if traced(copies, bricks, self.data):
            return
        if not np.all((copies >= 1) & (copies <= MOST_PARTS)):
            raise InputError(f"{int(np.max(copies))} copies of a block: give 1 to {MOST_PARTS}")
        if not np.all((bricks >= copies) & (bricks % copies == 0)):
            raise InputError(
                f"{int(np.min(bricks))} bricks for {int(np.max(copies))} copies: give a multiple of the copies"
            )
        require_drives(bricks)
        if np.any(self.data < 0):
            raise InputError(f"data of {int(np.min(self.data))} sectors: it must be 0 or more")

    @property
    def drives(self):
        return self.bricks

    @property
    def longest(self):
        return self.extent

    @property
    def parts(self):
        return self.copies

    def part_on(self, drive: Int[AnyArray, "*#row"], place: Location):
        ahead = drive - place.home
        ahead = jnp.where(ahead < 0, ahead + self.bricks, ahead)
        return jnp.where(drive < self.bricks, ahead, -1)

    def drive_of(self, part: Int[AnyArray, "*#row"], place: Location):
        drive = place.home + part
        return jnp.where(drive >= self.bricks, drive - self.bricks, drive)

    def capacity(self, drive: AbstractLayout):
        rows = self._places(drive) // self.copies
        on_host = isinstance(rows, np.ndarray | np.generic) and isinstance(self.data, np.ndarray | np.generic)
        choose, kind = (np.where, np.int64) if on_host else (jnp.where, int)
        return choose(self.data > 0, self.data, rows.astype(kind) * self.bricks * self.extent)

    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        # an extent on a brick stands in a row of the brick's `copies` extents, told apart by their first bricks: of any
        # `copies` neighbours on the ring these are all different modulo `copies`
        extent = requests.sector // self.extent
        row, home = extent // self.bricks, extent % self.bricks
        places = self._places(drive)
        used = (self.capacity(drive) // self.extent // self.bricks + 1) * self.copies
        apart = jnp.where(jnp.asarray(self.data) > 0, jnp.maximum(places // used, 1), 1)
        place = (row * self.copies + home % self.copies) * apart % places
        target = drive.locate(place * self.extent + requests.sector % self.extent, requests.sectors)
        return Location(target, home.astype(np.int32))

    def _places(self, drive: AbstractLayout) -> int:
        """Extents that a drive holds; its last is kept free for the end of a request that begins in the one before."""
        places = drive.capacity // self.extent - 1
        if places < 1:
            raise InputError(f"extents of {self.extent} sectors on drives of {drive.capacity}: give at most half of it")
        return places
