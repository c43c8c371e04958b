"""Logical volumes on lists of bricks: a request is on one brick, or divided among the bricks of its volume."""

from functools import partial
from operator import index

import equinox as eqx
import numpy as np
from jaxtyping import Int

from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import addresses, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import SECTORS
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, AbstractPlacement, Location, stripe_unit
from storagekit.placement.striped import UNIT, CutUp, Strips, looked_up, rank, strips
from storagekit.workload import Requests


def _numbers(bricks) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(index(brick) for brick in volume) for volume in bricks)
    except TypeError as fault:
        raise InputError(
            "bricks of volumes: give a list of brick numbers for each volume, for example [[0], [1, 2]]"
        ) from fault


class AbstractVolumes(AbstractPlacement):
    """Base class of volumes of one size. Volume v has the logical sectors v * size to (v + 1) * size - 1.

    Parameters
    ----------
    size : int
        Number of sectors of a volume. It must be a multiple of `unit` times the number of bricks of each volume, so
        that all rows of stripe units are complete.
    bricks : sequence of sequence of int
        For each volume the numbers of the bricks on which its stripe units are placed in rotation, from 0 to 31,
        without repetition. A brick whose number is in no list, but below the highest number, exists and is empty.
    unit : int
        Stripe unit, sectors, by default 64 KB.

    Raises
    ------
    InputError
        If a volume is impossible, or the volumes of a brick exceed its capacity.

    Notes
    -----
    The volumes on a brick lie one after the other, in the order of their numbers.

    In `Bricks`, stripe units are also placed on the disks of each brick in rotation. Then `size` is the share of a
    volume on one disk. It should be a multiple of the unit of `Bricks`, so that no row has sectors of two volumes. The
    last row stays free.
    """

    size: int = eqx.field(static=True, converter=partial(SECTORS, "sectors of a volume"))
    bricks: tuple[tuple[int, ...], ...] = eqx.field(static=True, converter=_numbers)
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    def __check_init__(self):
        if not self.bricks:
            raise InputError("no volumes: give a list of brick numbers for each volume, for example [[0], [1, 2]]")
        for volume, on in enumerate(self.bricks):
            if not on:
                raise InputError(f"volume {volume} has no bricks: give the numbers of its bricks")
            if min(on) < 0 or max(on) >= MOST_PARTS:
                wrong = min(on) if min(on) < 0 else max(on)
                raise InputError(f"brick {wrong} of volume {volume}: give numbers from 0 to {MOST_PARTS - 1}")
            if len(set(on)) < len(on):
                raise InputError(f"volume {volume} on bricks {on}: give each brick once")
            if self.size % (self.unit * len(on)):
                raise InputError(
                    f"a volume of {self.size} sectors on {len(on)} bricks in stripe units of {self.unit} sectors: give "
                    f"a multiple of {self.unit * len(on)} sectors, so that all rows are complete"
                )

    @property
    def drives(self):
        return whole(1 + max(max(on) for on in self.bricks))

    def capacity(self, drive: AbstractLayout):
        filled = self._begins()[-1]
        fullest = int(np.argmax(filled))
        if filled[fullest] > drive.capacity - self.slack:
            raise InputError(
                f"volumes of {filled[fullest]} sectors in total on brick {fullest}, whose drive holds "
                f"{drive.capacity - self.slack} sectors: use smaller volumes or more bricks"
            )
        # Computed on the host in 64 bits, so that the engine can reject a capacity that it cannot address.
        return np.int64(self.size) * len(self.bricks)

    @property
    def slack(self) -> int:
        """Return the number of sectors at the end of a drive that stay free."""
        return 0

    def _begins(self) -> Int[np.ndarray, "volume brick"]:
        """Return the sector at which each volume begins on each brick.

        It is the total size of the earlier volumes on the brick, in sectors. It is also given for bricks that the
        volume does not use. The last row contains the total size of all volumes on each brick.
        """
        begins = np.zeros((len(self.bricks) + 1, int(self.drives)), np.int64)
        for volume, on in enumerate(self.bricks):
            begins[volume + 1] = begins[volume]
            begins[volume + 1, list(on)] += self.size // len(on)
        return begins


class Volumes(AbstractVolumes):
    """Volumes that are each on a list of bricks. A request as a whole is on the brick of its first sector.

    Parameters
    ----------
    size : int
        Number of sectors of a volume. It must be a multiple of `unit` times the number of bricks of each volume, so
        that all rows of stripe units are complete.
    bricks : sequence of sequence of int
        For each volume the numbers of the bricks on which its stripe units are placed in rotation, from 0 to 31,
        without repetition. A brick whose number is in no list, but below the highest number, exists and is empty.
    unit : int
        Stripe unit, sectors, by default 64 KB.

    Raises
    ------
    InputError
        If a volume is impossible, or the volumes of a brick exceed its capacity.

    Notes
    -----
    A request that crosses into the next stripe unit, or volume, continues on the same brick. Therefore one unit stays
    free at the end of each drive, and no request should be longer than one unit. See also `AbstractVolumes`.
    """

    @property
    def parts(self):
        return whole(1)

    @property
    def single(self):
        return True

    @property
    def slack(self) -> int:
        return self.unit

    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        volume, inside = requests.sector // self.size, requests.sector % self.size
        unit = inside // self.unit
        width = looked_up(addresses(np.asarray([[len(on) for on in self.bricks]])), volume)[0]
        row = unit // width
        most = max(len(on) for on in self.bricks)
        begins = self._begins()
        # The bricks of each volume in the order of its units, repeated up to the largest number of bricks of a volume.
        columns = [(volume, on[column % len(on)]) for volume, on in enumerate(self.bricks) for column in range(most)]
        table = [[brick for _, brick in columns], [begins[column] for column in columns]]
        home, begin = looked_up(addresses(np.asarray(table)), volume * most + unit - row * width)
        target = drive.locate(begin + row * self.unit + inside % self.unit, requests.sectors)
        return Location(target, home.astype(np.int32))


class SplitVolumes(AbstractVolumes, CutUp):
    """Volumes that are each on a list of bricks. A request is divided among all bricks that it touches.

    Parameters
    ----------
    size : int
        Number of sectors of a volume. It must be a multiple of `unit` times the number of bricks of each volume, so
        that all rows of stripe units are complete.
    bricks : sequence of sequence of int
        For each volume the numbers of the bricks on which its stripe units are placed in rotation, from 0 to 31,
        without repetition. A brick whose number is in no list, but below the highest number, exists and is empty.
    unit : int
        Stripe unit, sectors, by default 64 KB.

    Raises
    ------
    InputError
        If a volume is impossible, or the volumes of a brick exceed its capacity.

    Notes
    -----
    A request needs all of its parts. The part of a request on a brick is contiguous, even if the request touches
    several volumes. See also `AbstractVolumes`.
    """

    def locate(self, drive: AbstractLayout, requests: Requests) -> Strips:
        begin, end = self._held_before(requests.sector), self._held_before(requests.sector + requests.sectors)
        return strips(drive, zip(begin, end, strict=True))

    def _held_before(self, sector: Int[AnyArray, "*row"]) -> list[Int[AnyArray, "*row"]]:
        """Return, for each brick, the number of sectors before a logical sector that are on the brick."""
        volume, inside = sector // self.size, sector % self.size
        begins = self._begins()
        # An empty volume follows the last volume, because the last request may end at the beginning of the empty
        # volume.
        where = [*self.bricks, ()]
        turns = [max(len(on), 1) * self.unit for on in where]
        # Distance of the unit of a brick from the start of a row of each volume, and -1 if the brick has no unit.
        units = [
            [on.index(brick) * self.unit if brick in on else -1 for on in where] for brick in range(begins.shape[1])
        ]
        turn, *rest = looked_up(addresses(np.asarray([turns, *begins.T, *units])), volume)
        row = inside // turn
        inside = inside - row * turn
        begin, before = rest[: len(units)], rest[len(units) :]
        return [
            first + namespace(unit).where(unit < 0, 0, rank(row, inside, unit, self.unit))
            for first, unit in zip(begin, before, strict=True)
        ]
