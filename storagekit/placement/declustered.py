"""Copies spread over many bricks, so that each brick shares data with several other bricks."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, named, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import SECTORS, traced
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, AbstractPlacement, Location, require_drives
from storagekit.workload import Requests

_EXTENT = partial(replace(SECTORS, unit="sectors"), "an extent of")


class Declustered(AbstractPlacement):
    """Volumes (LUNs) that are divided into extents. Each extent is on `copies` consecutive bricks of a ring.

    The first brick of extent e is e mod `bricks`.

    Parameters
    ----------
    bricks : int
        Number of bricks, a multiple of `copies`, by default 2; one value, or one value for each run.
    copies : int
        Number of copies of each extent, 1 to 32, by default 2; one value, or one value for each run.
    data : int
        Total number of sectors of all volumes; one value, or one value for each run. With 0, the default, the volumes
        fill the bricks.
    extent : int
        Length of an extent, sectors, by default 1 MB.

    Raises
    ------
    InputError
        If a number is out of range, or an extent exceeds half of a drive.

    Notes
    -----
    Every brick is in `copies` replica sets and shares data with 2 (copies - 1) other bricks (chained declustering:
    Hsiao and DeWitt, ICDE 1990). The work of a failed or slow brick therefore spreads over these other bricks. An
    extent has the same address on all its bricks. With `bricks` equal to `copies` the layout is a replica group.

    If `data` is less than the capacity, the extents on a drive are spaced by a constant whole number of extents. If
    `data` is more than the capacity, locations wrap around. The model then represents drives that have more capacity
    but the same mechanics. A request that crosses into the next extent counts as part of its first extent, for its
    location and in caches. No request may be longer than an extent.
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
                f"{int(np.min(bricks))} bricks for {int(np.max(copies))} copies: give a multiple of the number of "
                "copies"
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

    def part_on(self, drive: Int[AnyArray, "*#row"], location: Location):
        ahead = drive - location.home
        ahead = jnp.where(ahead < 0, ahead + self.bricks, ahead)
        return jnp.where(drive < self.bricks, ahead, -1)

    def drive_of(self, part: Int[AnyArray, "*#row"], location: Location):
        drive = location.home + part
        return jnp.where(drive >= self.bricks, drive - self.bricks, drive)

    def capacity(self, drive: AbstractLayout):
        rows = self._positions(drive) // self.copies
        on_host = isinstance(rows, np.ndarray | np.generic) and isinstance(self.data, np.ndarray | np.generic)
        choose, kind = (np.where, np.int64) if on_host else (jnp.where, int)
        return choose(self.data > 0, self.data, rows.astype(kind) * self.bricks * self.extent)

    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        # In each row a brick holds `copies` extents. Their order is the number of their first brick modulo `copies`,
        # which differs among any `copies` neighbours on the ring.
        extent = requests.sector // self.extent
        row, home = extent // self.bricks, extent % self.bricks
        positions = self._positions(drive)
        used = (self.capacity(drive) // self.extent // self.bricks + 1) * self.copies
        apart = jnp.where(jnp.asarray(self.data) > 0, jnp.maximum(positions // used, 1), 1)
        position = (row * self.copies + home % self.copies) * apart % positions
        target = drive.locate(position * self.extent + requests.sector % self.extent, requests.sectors)
        return Location(target, home.astype(np.int32))

    def _positions(self, drive: AbstractLayout) -> int:
        """Return the number of extents that a drive holds.

        The last extent of the drive stays free for the end of a request that begins in the extent before it.
        """
        positions = drive.capacity // self.extent - 1
        if positions < 1:
            raise InputError(
                f"extents of {self.extent} sectors on drives of {drive.capacity} sectors: give at most half of the "
                "capacity"
            )
        return positions
