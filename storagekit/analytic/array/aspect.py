"""Describe how the disks of an array are divided: D_s x D_r x D_m."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.core.errors import InputError
from storagekit.core.validation import Count, text, validate, validate_fields


@dataclass(frozen=True)
class Layout:
    """A layout of D_s x D_r x D_m disks.

    Parameters
    ----------
    striping : int
        Striping D_s: the data uses 1/D_s of the cylinders.
    replicas : int
        Number D_r of rotational replicas of a block on a disk.
    mirrors : int
        Number D_m of copies of a block on different disks.

    Raises
    ------
    InputError
        If a number is not whole or below 1.

    References
    ----------
    srarray, section 2.5.
    """

    striping: Count
    replicas: Count
    mirrors: Count

    def __post_init__(self):
        validate_fields(self)

    @classmethod
    def parse(cls, name: str) -> "Layout":
        """Return the layout for a name in the notation of the paper, D_s x D_r x D_m.

        Parameters
        ----------
        name : str
            Name of the layout, such as "2x3x1".

        Returns
        -------
        Layout
            The layout.

        Raises
        ------
        InputError
            If the name is not three whole numbers, at least 1, separated by "x".
        """
        try:
            striping, replicas, mirrors = (int(number) for number in text("layout", name).split("x"))
        except ValueError as fault:
            raise InputError(f"layout {name!r}: give D_s x D_r x D_m, for example 2x3x1") from fault
        return cls(striping, replicas, mirrors)

    @property
    def disks(self) -> int:
        return self.striping * self.replicas * self.mirrors

    def __str__(self) -> str:
        return f"{self.striping}x{self.replicas}x{self.mirrors}"


@dataclass(frozen=True)
class Layouts:
    """Several layouts of the same disks. Layouts with fewer mirrors come first.

    Parameters
    ----------
    striping : array of int, shape `[layout]`
        Striping D_s of each layout.
    replicas : array of int, shape `[layout]`
        Number D_r of rotational replicas of a block on a disk, for each layout.
    mirrors : array of int, shape `[layout]`
        Number D_m of copies of a block on different disks, for each layout.
    """

    striping: NDArray
    replicas: NDArray
    mirrors: NDArray

    @property
    def count(self) -> int:
        return self.mirrors.size

    @property
    def copies(self) -> NDArray:
        """Return the number of copies of a block on all disks, D_r D_m."""
        return self.replicas * self.mirrors

    @property
    def heads(self) -> NDArray:
        """Return the number of disks that hold a block. Any disk of a mirror can serve a read. See `Shapes`."""
        return self.mirrors

    @property
    def written(self) -> NDArray:
        """Return the number of disks that a write occupies, which are all disks of a mirror. See `Shapes`."""
        return self.mirrors

    @property
    def turned(self) -> NDArray:
        """Return the rotation from the first replica to the last replica on a disk, in revolutions. See `Shapes`."""
        return 1 - 1 / self.replicas

    @property
    def room(self) -> NDArray:
        """Return the number of bytes on disk for each byte of data. See `Shapes`."""
        return self.copies

    @property
    def read_first(self) -> NDArray:
        """Return the number of accesses with which a write reads first, which is 0. See `Shapes`."""
        return np.zeros_like(self.mirrors)

    @property
    def ways(self) -> NDArray:
        """Return the number of disks over which a request is divided, which is 1. See `Shapes`."""
        return np.ones_like(self.heads)

    @property
    def returns(self) -> NDArray:
        """Return whether a write returns to disks that it has read, which is false. See `Shapes`."""
        return np.zeros(self.mirrors.shape, bool)

    def where(self, chosen: NDArray) -> "Layouts":
        """Return the layouts that a mask or an array of indices selects."""
        return Layouts(self.striping[chosen], self.replicas[chosen], self.mirrors[chosen])

    @validate
    def mirrored(self, mirrors: Count | None) -> "Layouts":
        """Return the layouts with a given number of mirrors.

        Parameters
        ----------
        mirrors : int or None
            Number of mirrors; None for all layouts.

        Returns
        -------
        Layouts
            The selected layouts.

        Raises
        ------
        InputError
            If the number is not whole or below 1.
        """
        return self if mirrors is None else self.where(self.mirrors == mirrors)

    def at(self, number: int) -> Layout:
        return Layout(int(self.striping[number]), int(self.replicas[number]), int(self.mirrors[number]))


@validate
@lru_cache(maxsize=1024)
def layouts(disks: Count, most_replicas: Count = MOST_REPLICAS) -> Layouts:
    """Return every layout of `disks` disks.

    Parameters
    ----------
    disks : int
        Number of disks.
    most_replicas : int
        Largest number of replicas on a disk; 6 by default.

    Returns
    -------
    Layouts
        The layouts. Layouts with fewer mirrors come first.

    Raises
    ------
    InputError
        If a number is not whole or below 1.
    """
    factors = [factor for factor in range(1, disks + 1) if disks % factor == 0]
    found = [
        (disks // (mirrors * replicas), replicas, mirrors)
        for mirrors in factors
        for replicas in factors
        if replicas <= most_replicas and (disks // mirrors) % replicas == 0
    ]
    columns = np.array(found).T
    columns.flags.writeable = False
    return Layouts(*columns)
