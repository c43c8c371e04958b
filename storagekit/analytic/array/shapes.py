"""Describe the resources that requests occupy in any layout of an array: mirrors, replicas, parity."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import Amount, Count, Positive, Whole, validate_fields


class Shapes(Protocol):
    """Several layouts of the same disks. Each property is an array with one number for each layout.

    replicas: number of replicas of a block on its disk, at even angles. heads: number of disks that hold a block, any
    of which can serve a read. written: number of disks that a write occupies if its copies, or its parity, are written
    immediately. turned: number of revolutions that a write takes on each of its disks, in addition to positioning and
    transfer: the rotation from the first replica to the last replica. room: number of bytes on disk for each byte of
    data. read_first: number of accesses with which a write reads before it writes. returns: whether a write reads the
    disks that it then writes. ways: number of disks over which a request is divided.
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

    @property
    def read_first(self) -> NDArray: ...

    @property
    def returns(self) -> NDArray: ...

    @property
    def ways(self) -> NDArray: ...


@dataclass(frozen=True)
class Shape:
    """A single layout.

    Parameters
    ----------
    replicas : int
        Number of replicas of a block on its disk, at even angles; 1 by default.
    heads : int
        Number of disks that hold a block, any of which can serve a read; 1 by default.
    written : int
        Number of disks that a write occupies if its copies, or its parity, are written immediately; 1 by default.
    turned : float
        Number of revolutions that a write takes on each of its disks, in addition to positioning and transfer; 0 by
        default.
    room : float
        Number of bytes on disk for each byte of data; 1 by default.
    pool : int
        Number of disks that serve one queue, if this number is larger than `heads`; 0 by default. On a ring, for
        example, each disk shares its load with its neighbours, and each neighbour with its own neighbours.
    group : int
        Number of disks in a parity group; 0 by default, for mirrors. A write occupies `written` disks of its group.
    read_first : int
        Number of accesses with which a write reads before it writes, on as many disks; 0 by default. Such a layout has
        one head for a block, and one replica.
    returns : bool
        Whether a write reads the same disks that it then writes; False by default.
    ways : int
        Number of disks over which a request is divided, each with an equal part; 1 by default. A read occupies these disks.
        A write also occupies the disks with parity, and reads nothing first.

    Raises
    ------
    InputError
        If a number is out of range, or the numbers do not fit together.
    """

    replicas: Count = 1
    heads: Count = 1
    written: Count = 1
    turned: Amount = 0.0
    room: Positive = 1.0
    pool: Whole = 0
    group: Whole = 0
    read_first: Whole = 0
    returns: bool = False
    ways: Count = 1

    def __post_init__(self):
        validate_fields(self)
        if self.ways > 1 and (self.heads > 1 or self.replicas > 1 or self.read_first or self.written < self.ways):
            raise InputError(
                f"ways {self.ways}: give heads=1, replicas=1, written of at least {self.ways} and read_first=0, not "
                f"{self.heads}, {self.replicas}, {self.written} and {self.read_first}"
            )
        if self.ways > 1 and self.group == 1:
            raise InputError(f"ways {self.ways} in a group of 1 disk: give a group of at least {self.ways} disks")
        if self.read_first and (self.heads, self.replicas, self.turned) != (1, 1, 0.0):
            raise InputError(
                f"read_first {self.read_first}: give heads=1, replicas=1 and turned=0, as for a layout with parity, not "
                f"{self.heads}, {self.replicas} and {self.turned:g}"
            )


@dataclass(frozen=True)
class Columns:
    """Several layouts, stored as one array for each property of `Shapes`.

    Parameters
    ----------
    replicas, heads, written, read_first, ways : array of int, shape `[layout]`
        See `Shapes`.
    turned, room : array of float, shape `[layout]`
        See `Shapes`.
    returns : array of bool, shape `[layout]`
        See `Shapes`.
    """

    replicas: NDArray
    heads: NDArray
    written: NDArray
    turned: NDArray
    room: NDArray
    read_first: NDArray
    returns: NDArray
    ways: NDArray

    @classmethod
    def of(cls, shapes: list[Shape]) -> "Columns":
        """Return the columns of several layouts."""
        return cls(*(np.array([getattr(one, name) for one in shapes]) for name in Columns.__annotations__))
