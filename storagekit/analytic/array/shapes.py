"""What requests occupy in any layout of an array, as far as formulas go: mirrors, replicas, parity."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from storagekit.core.kinds import AMOUNT, COUNT, NUMBER, POSITIVE, hold


class Shapes(Protocol):
    """Many layouts of the same disks, an array with a number for each.

    replicas: of a block on its disk, at even angles. heads: disks that hold a block, any of which serves a read. written:
    disks that a write occupies whose copies, or parity, are written at once. turned: revolutions that it takes on each of
    these beyond positioning and transfer: from the first replica to the last, or from reading what was there to writing.
    room: bytes of disk for a byte of data.
    """

    @property
    def replicas(self) -> NDArray: ...

    @property
    def heads(self) -> NDArray: ...

    @property
    def written(self) -> NDArray: ...

    @property
    def turned(self) -> NDArray: ...

    @property
    def room(self) -> NDArray: ...


@dataclass(frozen=True)
class Shape:
    """One of `Shapes`, in numbers. pool: disks that work off one queue where they are more than the `heads`, as the
    neighbours on a ring, which share with further ones. group: disks of which a write occupies `written`, where they are not
    mirrors. Raises InputError where a number is out of range."""

    replicas: int = 1
    heads: int = 1
    written: int = 1
    turned: float = 0.0
    room: float = 1.0
    pool: int = 0
    group: int = 0

    def __post_init__(self):
        hold(self, replicas=COUNT, heads=COUNT, written=COUNT, turned=AMOUNT, room=POSITIVE, pool=NUMBER, group=NUMBER)


@dataclass(frozen=True)
class Columns:
    """`Shapes` by their columns."""

    replicas: NDArray
    heads: NDArray
    written: NDArray
    turned: NDArray
    room: NDArray

    @classmethod
    def of(cls, shapes: list[Shape]) -> "Columns":
        return cls(*(np.array([getattr(one, name) for one in shapes]) for name in Columns.__annotations__))
