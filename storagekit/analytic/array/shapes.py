"""Describe the resources that requests occupy in any layout of an array: mirrors, replicas, parity."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from storagekit.core.validation import Amount, Count, Positive, Whole, validate_fields


class Shapes(Protocol):
    """Several layouts of the same disks. Each property is an array with one number for each layout.

    replicas: number of replicas of a block on its disk, at even angles. heads: number of disks that hold a block, any
    of which can serve a read. written: number of disks that a write occupies if its copies, or its parity, are written
    immediately. turned: number of revolutions that a write takes on each of its disks, in addition to positioning and
    transfer: the rotation from the first replica to the last replica, or from reading the old data to writing. room:
    number of bytes on disk for each byte of data.
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

    Raises
    ------
    InputError
        If a number is out of range.
    """

    replicas: Count = 1
    heads: Count = 1
    written: Count = 1
    turned: Amount = 0.0
    room: Positive = 1.0
    pool: Whole = 0
    group: Whole = 0

    def __post_init__(self):
        validate_fields(self)


@dataclass(frozen=True)
class Columns:
    """Several layouts, stored as one array for each property of `Shapes`.

    Parameters
    ----------
    replicas, heads, written : array of int, shape `[layout]`
        See `Shapes`.
    turned, room : array of float, shape `[layout]`
        See `Shapes`.
    """

    replicas: NDArray
    heads: NDArray
    written: NDArray
    turned: NDArray
    room: NDArray

    @classmethod
    def of(cls, shapes: list[Shape]) -> "Columns":
        """Return the columns of several layouts."""
        return cls(*(np.array([getattr(one, name) for one in shapes]) for name in Columns.__annotations__))
