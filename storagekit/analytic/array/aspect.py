"""How an array's disks are divided: D_s x D_r x D_m."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, hold, optional, takes, text


@dataclass(frozen=True)
class Layout:
    """D_s x D_r x D_m disks: striping, rotational replicas on a disk, mirrors on different disks (srarray, section 2.5).

    Raises InputError for anything but whole numbers, at least 1.
    """

    striping: int
    replicas: int
    mirrors: int

    def __post_init__(self):
        hold(self, striping=COUNT, replicas=COUNT, mirrors=COUNT)

    @classmethod
    def parse(cls, name: str) -> "Layout":
        """D_s x D_r x D_m as the paper writes it: "2x3x1". Raises InputError for anything but three whole numbers."""
        try:
            striping, replicas, mirrors = (int(number) for number in text("layout", name).split("x"))
        except ValueError as fault:
            raise InputError(f"layout {name!r}: write D_s, D_r and D_m as in 2x3x1") from fault
        return cls(striping, replicas, mirrors)

    @property
    def disks(self) -> int:
        return self.striping * self.replicas * self.mirrors

    def __str__(self) -> str:
        return f"{self.striping}x{self.replicas}x{self.mirrors}"


@dataclass(frozen=True)
class Layouts:
    """Many layouts of the same disks: an array of whole numbers for each factor, fewest mirrors first."""

    striping: NDArray
    replicas: NDArray
    mirrors: NDArray

    @property
    def count(self) -> int:
        return self.mirrors.size

    @property
    def copies(self) -> NDArray:
        """Copies of a block, those on one disk and those on others."""
        return self.replicas * self.mirrors

    @property
    def heads(self) -> NDArray:
        """See `Shapes`: any disk of a mirror can serve a read."""
        return self.mirrors

    @property
    def written(self) -> NDArray:
        """See `Shapes`: a write occupies every disk of a mirror."""
        return self.mirrors

    @property
    def turned(self) -> NDArray:
        """See `Shapes`: the replicas of a disk pass one arc after another."""
        return 1 - 1 / self.replicas

    @property
    def room(self) -> NDArray:
        """See `Shapes`."""
        return self.copies

    def where(self, chosen: NDArray) -> "Layouts":
        """Those that a mask or numbers choose."""
        return Layouts(self.striping[chosen], self.replicas[chosen], self.mirrors[chosen])

    @takes(mirrors=optional(COUNT))
    def mirrored(self, mirrors: int | None) -> "Layouts":
        """Those with so many mirrors, all of them where any number will do."""
        return self if mirrors is None else self.where(self.mirrors == mirrors)

    def at(self, number: int) -> Layout:
        return Layout(int(self.striping[number]), int(self.replicas[number]), int(self.mirrors[number]))


@takes(disks=COUNT, most_replicas=COUNT)
@lru_cache(maxsize=1024)
def layouts(disks: int, most_replicas: int = MOST_REPLICAS) -> Layouts:
    """Every layout of `disks` disks with at most that many replicas on a disk. Raises InputError for none of either."""
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
