"""Logical volumes, each on bricks of its own choice: whole requests on one brick each, or cut up among them."""

from functools import partial
from operator import index

import equinox as eqx
import numpy as np
from jaxtyping import Int

from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import addresses, whole
from storagekit.core.errors import InputError
from storagekit.core.kinds import SECTORS
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, Location, stripe_unit
from storagekit.placement.replicas import OneReplica
from storagekit.placement.striped import UNIT, CutUp, Strips, looked_up, rank, strips
from storagekit.workload import Requests


def _numbers(bricks) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(index(brick) for brick in volume) for volume in bricks)
    except TypeError as fault:
        raise InputError(
            "bricks of volumes: give for each volume the numbers of its bricks, as in [[0], [1, 2]]"
        ) from fault


class AbstractVolumes(OneReplica):
    """Volumes of one size, end to end: volume v is sectors v size to (v + 1) size - 1.

    size: sectors of a volume. bricks: for each volume the numbers of the bricks that its stripe units go round, one or
    several; a brick below the highest that no volume names is there, and empty. unit: of the stripes, in sectors; `size` is a
    multiple of it times the bricks of each volume, so that rows are whole. On a brick its volumes lie one after the other, in
    the order of their numbers. Raises InputError where a volume is not possible, or the volumes of a brick do not fit.

    Under `Bricks`, whose own stripe units go round the disks of a brick, `size` is the part of a volume that one disk has,
    and should be a multiple of their unit, so that no row has sectors of two volumes; the last row of all stays free.
    """

    size: int = eqx.field(static=True, converter=partial(SECTORS, "sectors of a volume"))
    bricks: tuple[tuple[int, ...], ...] = eqx.field(static=True, converter=_numbers)
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)

    def __check_init__(self):
        if not self.bricks:
            raise InputError("no volumes: give for each the numbers of its bricks, as in [[0], [1, 2]]")
        for volume, on in enumerate(self.bricks):
            if not on:
                raise InputError(f"volume {volume} has no bricks: give the numbers of those it is on")
            if min(on) < 0 or max(on) >= MOST_PARTS:
                wrong = min(on) if min(on) < 0 else max(on)
                raise InputError(f"brick {wrong} under volume {volume}: give 0 to {MOST_PARTS - 1}")
            if len(set(on)) < len(on):
                raise InputError(f"volume {volume} on bricks {on}: name each once")
            if self.size % (self.unit * len(on)):
                raise InputError(
                    f"a volume of {self.size} sectors on {len(on)} bricks in units of {self.unit}: give a multiple of "
                    f"{self.unit * len(on)}, so that all rows are whole"
                )

    @property
    def drives(self):
        return whole(1 + max(max(on) for on in self.bricks))

    def capacity(self, drive: AbstractLayout):
        filled = self._begins()[-1]
        fullest = int(np.argmax(filled))
        if filled[fullest] > drive.capacity - self.slack:
            raise InputError(
                f"volumes of {filled[fullest]} sectors on brick {fullest}, whose drive has room for "
                f"{drive.capacity - self.slack}: lower their size or spread them"
            )
        # on the host beyond what the engine addresses, to be refused there
        return np.int64(self.size) * len(self.bricks)

    @property
    def slack(self) -> int:
        """Sectors at the end of a drive that stay free."""
        return 0

    def _begins(self) -> Int[np.ndarray, "volume brick"]:
        """Where each volume begins on each brick, and would if it were there: what the volumes before it take. The last row
        is what all of them take."""
        begins = np.zeros((len(self.bricks) + 1, int(self.drives)), np.int64)
        for volume, on in enumerate(self.bricks):
            begins[volume + 1] = begins[volume]
            begins[volume + 1, list(on)] += self.size // len(on)
        return begins


class Volumes(AbstractVolumes):
    """Volumes, each on bricks of its own: a request lies, as a whole, on the brick of its first sector.

    size, bricks, unit: see `AbstractVolumes`. A request that crosses into the next stripe unit, or volume, goes on where it
    is; so a unit is kept free at a drive's end, and no request should be longer than that.
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
        # bricks of each volume in the order of its units, filled up to the most that a volume has
        columns = [(volume, on[column % len(on)]) for volume, on in enumerate(self.bricks) for column in range(most)]
        table = [[brick for _, brick in columns], [begins[column] for column in columns]]
        home, begin = looked_up(addresses(np.asarray(table)), volume * most + unit - row * width)
        target = drive.locate(begin + row * self.unit + inside % self.unit, requests.sectors)
        return Location(target, home.astype(np.int32))


class SplitVolumes(AbstractVolumes, CutUp):
    """Volumes, each on bricks of its own: a request is cut up among the bricks that it touches, all of which it needs.

    size, bricks, unit: see `AbstractVolumes`. What a brick has of a request lies there in one piece, across volumes as well.
    """

    def locate(self, drive: AbstractLayout, requests: Requests) -> Strips:
        begin, end = self._held_before(requests.sector), self._held_before(requests.sector + requests.sectors)
        return strips(drive, zip(begin, end, strict=True))

    def _held_before(self, sector: Int[AnyArray, "*row"]) -> list[Int[AnyArray, "*row"]]:
        """How many sectors each brick holds before this one."""
        volume, inside = sector // self.size, sector % self.size
        begins = self._begins()
        # behind the last volume one that is nowhere, where the last request may end
        where = [*self.bricks, ()]
        turns = [max(len(on), 1) * self.unit for on in where]
        # where a brick's unit is in a row of each volume, and -1 where it has none
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
