"""Grouping of drives into bricks; drives are numbered one brick after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.validation import COUNT, several, validate_fields


@dataclass(frozen=True)
class Grouping:
    """The assignment of drives to bricks.

    Parameters
    ----------
    sizes : tuple of int
        Number of drives of each brick, at least 1.

    Raises
    ------
    InputError
        If there is no brick, or a brick has less than one drive.
    """

    sizes: Annotated[tuple[int, ...], several(COUNT, 1, "bricks")]

    def __post_init__(self):
        # Layouts create a `Grouping` wherever they compute the brick of a drive, so that valid sizes skip the slower
        # `validate_fields`.
        if not (type(self.sizes) is tuple and self.sizes and all(type(one) is int and one > 0 for one in self.sizes)):
            validate_fields(self)

    @property
    def count(self) -> int:
        """Return the number of bricks."""
        return len(self.sizes)

    @property
    def most(self) -> int:
        """Return the maximum number of drives of a brick."""
        return max(self.sizes)

    @property
    def _alike(self) -> bool:
        return min(self.sizes) == self.most

    def of(self, drive: Int[AnyArray, "*row"]) -> Int[AnyArray, "*row"]:
        """Return the number of the brick that contains a drive."""
        if self._alike:
            return drive // self.most if self.most > 1 else drive
        ends = list(accumulate(self.sizes))[:-1]
        return sum(((drive >= end).astype(np.int32) for end in ends), start=jnp.zeros_like(drive))

    def drives_of(
        self, brick: Int[Array, "1 *batch"]
    ) -> Iterator[tuple[Int[Array, "1 *batch"], Bool[Array, "1 *batch"] | bool]]:
        """Yield the drives of a brick, each with a mask of the runs in which the drive exists.

        Parameters
        ----------
        brick : int array, `[1, *batch]`
            Number of the brick.

        Yields
        ------
        int array, `[1, *batch]`
            Number of the drive. If the brick has fewer drives than the largest brick, the number of its last drive is
            repeated.
        bool array, `[1, *batch]`, or True
            Whether the brick has that drive.
        """
        if self._alike:
            for disk in range(self.most):
                yield brick * self.most + disk, True
            return
        first = jnp.asarray([0, *accumulate(self.sizes)][:-1], jnp.int32)
        begin, size = jnp.take(first, brick), jnp.take(jnp.asarray(self.sizes, jnp.int32), brick)
        for disk in range(self.most):
            yield begin + jnp.minimum(disk, size - 1), disk < size
