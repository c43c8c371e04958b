"""Map the data blocks and the check data of a request to disks."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import (
    MOST_COUNTED,
    Count,
    Share,
    Size,
    Whole,
    require,
    traced,
    validate,
    validate_fields,
    written,
)


@dataclass(frozen=True)
class Striping:
    """Striping of requests: blocks are distributed over the disks row by row.

    Parameters
    ----------
    request : float
        Size of a request, bytes.
    unit : float
        Size of a block, bytes.
    disks : int
        Number of disks.
    groups : int
        Number of parity groups of equal size into which the disks are divided; 0 by default, for no check data. Without
        check data, a request may begin at any disk.
    failed : int
        Number of groups with one failed disk; 0 by default.

    Raises
    ------
    InputError
        If a request is not a whole number of blocks or, with check data, of rows; if the number of groups does not
        divide the number of disks, or groups have fewer than two disks; or if more disks fail than there are groups.

    Notes
    -----
    In each row, one block of each group is check data: the exclusive or of the other blocks of the group. The paper
    calls it a computed copy. The location of the check data moves from row to row. The number of blocks is whole, so there is
    no derivative in the sizes.

    References
    ----------
    swift, section 2.
    """

    request: Size
    unit: Size
    disks: Count
    groups: Whole = 0
    failed: Whole = 0

    def __post_init__(self):
        validate_fields(self)
        blocks = self.request / self.unit
        if traced(blocks):
            raise InputError(
                "request or unit: JAX cannot trace them, because the number of blocks is whole; give numbers"
            )
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
                "parity groups",
                self.groups,
                f"a divisor of the number of disks, {self.disks}, with at least 2 disks in each group",
            )
            require(
                self.blocks % self.data_disks == 0,
                "data disks",
                self.data_disks,
                f"a divisor of the {self.blocks} blocks of a request; give another unit",
            )
        require(
            0 <= self.failed <= self.groups,
            "failed disks",
            self.failed,
            f"at most one for each of {self.groups} groups",
        )

    @property
    def blocks(self) -> int:
        """Return the number of data blocks in a request."""
        return round(self.request / self.unit)

    @property
    def data_disks(self) -> int:
        """Return the number of data blocks in a row."""
        return self.disks - self.groups

    @property
    def rows(self) -> int:
        """Return the number of rows of a request."""
        return -(-self.blocks // self.data_disks)

    @property
    def members(self) -> int:
        """Return the number of disks in a group; all disks if there are no groups."""
        return self.disks // max(self.groups, 1)

    @cached_property
    def group_of(self) -> NDArray:
        """Return the group of each disk."""
        return np.arange(self.disks) // self.members

    @cached_property
    def down(self) -> NDArray:
        """Return a mask of the failed disks: the first disk of each of the first `failed` groups."""
        return (np.arange(self.disks) % self.members == 0) & (self.group_of < self.failed)

    @validate
    def accesses(self, write_share: Share) -> float:
        """Return the mean number of blocks that a request reads or writes on all disks together.

        Failed disks do not change the number of blocks of a read.

        Parameters
        ----------
        write_share : float
            Share of writes, 0 to 1.

        Returns
        -------
        float
            Mean number of blocks.

        Raises
        ------
        InputError
            If the share is out of range.
        """
        written = self.rows * (self.disks - self.failed) if self.groups else self.blocks
        return (1 - write_share) * self.blocks + write_share * written

    @validate
    def busiest(self, write_share: Share) -> float:
        """Return the mean number of blocks of a request on the busiest disk.

        If a disk has failed, the result is the number of rows, because the other disks of its group are busiest.

        Parameters
        ----------
        write_share : float
            Share of writes, 0 to 1.

        Returns
        -------
        float
            Mean number of blocks.

        Raises
        ------
        InputError
            If the share is out of range.
        """
        if self.failed:
            return float(self.rows)
        return self.accesses(write_share) / self.disks

    def accessed_disks(self, read: NDArray, selector: NDArray) -> Bool[np.ndarray, "*request row disk"]:
        """Return a mask of the disks that serve a block of each row of a request.

        Parameters
        ----------
        read : array of bool, shape `[*request]`
            Whether the request is a read.
        selector : array of float, shape `[*request]`
            Random number in [0, 1) that selects the disk where the request begins.

        Returns
        -------
        array of bool, shape `[*request, row, disk]`
            Whether the disk serves a block of the row.

        Notes
        -----
        In a group without a failed disk, a read skips the check data. In a group with a failed disk, a read uses the
        blocks of all other disks, including the check data.
        """
        row = np.arange(self.rows)[:, None]
        disk = np.arange(self.disks)
        if not self.groups:
            begin = np.floor(selector * self.disks).astype(int)[..., None, None]
            order = (disk - begin) % self.disks + row * self.disks
            return order < self.blocks
        begin = np.floor(selector * self.members).astype(int)[..., None, None]
        check = (disk % self.members) == (begin + row) % self.members
        lost = self.group_of < self.failed
        return (~check | lost | ~np.asarray(read, bool)[..., None, None]) & ~self.down
