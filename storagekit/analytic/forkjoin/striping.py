"""Which blocks of a request lie on which disk, check data included."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from storagekit.core.checks import require, require_positive, written
from storagekit.core.kinds import COUNT, MOST_COUNTED, NUMBER, SHARE, hold, takes


@dataclass(frozen=True)
class Striping:
    """Requests of `request` bytes cut into blocks of `unit` bytes, dealt out to `disks` disks row by row.

    groups: the disks stand in so many groups of equal size, and one block of each group in a row is check data, the
    exclusive or of the others (computed copy: swift, section 2); its place moves from row to row. 0 for none, and a request
    then begins at any disk. failed: in so many groups one disk has failed.

    Raises InputError where a request is no whole number of blocks, or, with check data, of rows; where groups do not divide
    the disks or have less than two, and where disks fail that no group covers.
    """

    request: float
    unit: float
    disks: int
    groups: int = 0
    failed: int = 0

    def __post_init__(self):
        require_positive("request", self.request, "bytes")
        require_positive("unit", self.unit, "bytes")
        blocks = self.request / self.unit
        hold(self, disks=COUNT, groups=NUMBER, failed=NUMBER)
        require(blocks <= MOST_COUNTED, "blocks in a request", blocks, f"at most {MOST_COUNTED}: give a larger unit")
        require(
            blocks >= 1 and abs(blocks - round(blocks)) < 1e-6,
            "unit of",
            self.unit,
            f"the request of {written(self.request)} bytes divided by a whole number",
            "bytes",
        )
        if self.groups:
            members, over = divmod(self.disks, self.groups)
            require(
                not over and members >= 2,
                f"{self.disks} disks in groups:",
                self.groups,
                "a divisor, with 2 disks or more each",
            )
            require(
                self.blocks % self.data_disks == 0,
                f"{self.blocks} blocks in rows of",
                self.data_disks,
                "whole rows: give a unit of the request divided by the disks that hold data",
            )
        require(
            0 <= self.failed <= self.groups,
            "failed disks",
            self.failed,
            f"at most one for each of {self.groups} groups",
        )

    @property
    def blocks(self) -> int:
        """Blocks of data in a request."""
        return round(self.request / self.unit)

    @property
    def data_disks(self) -> int:
        """Blocks of data in a row."""
        return self.disks - self.groups

    @property
    def rows(self) -> int:
        """Rows that a request touches."""
        return -(-self.blocks // self.data_disks)

    @property
    def members(self) -> int:
        """Disks of a group; all where there are no groups."""
        return self.disks // max(self.groups, 1)

    @cached_property
    def group_of(self) -> NDArray:
        """The group of each disk."""
        return np.arange(self.disks) // self.members

    @cached_property
    def down(self) -> NDArray:
        """Which disks have failed: the first of the first `failed` groups."""
        return (np.arange(self.disks) % self.members == 0) & (self.group_of < self.failed)

    @takes(write_share=SHARE)
    def accesses(self, write_share: float) -> float:
        """Blocks read or written for a request on average, on all disks. A read takes as many where disks have failed."""
        written = self.rows * (self.disks - self.failed) if self.groups else self.blocks
        return (1 - write_share) * self.blocks + write_share * written

    @takes(write_share=SHARE)
    def busiest(self, write_share: float) -> float:
        """Blocks of a request on the disk that has most of them, on average: where one of its group has failed, one of every
        row."""
        if self.failed:
            return float(self.rows)
        return self.accesses(write_share) / self.disks

    def asked(self, read: NDArray, place: NDArray) -> Bool[np.ndarray, "*request row disk"]:
        """Which disk serves a block of which row of a request.

        read: whether it is a read. place: a random number in [0, 1) for each, where it begins. A read leaves the check data
        where no disk of the group has failed, and takes everything else of the group where one has.
        """
        row = np.arange(self.rows)[:, None]
        disk = np.arange(self.disks)
        if not self.groups:
            begin = np.floor(place * self.disks).astype(int)[..., None, None]
            order = (disk - begin) % self.disks + row * self.disks
            return order < self.blocks
        begin = np.floor(place * self.members).astype(int)[..., None, None]
        check = (disk % self.members) == (begin + row) % self.members
        lost = self.group_of < self.failed
        return (~check | lost | ~np.asarray(read, bool)[..., None, None]) & ~self.down
