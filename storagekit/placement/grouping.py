"""Which drives a brick has: they are numbered one brick after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.kinds import COUNT, hold, several


@dataclass(frozen=True)
class Grouping:
    """Bricks and their drives. sizes: how many drives each brick has. Raises InputError for none, and for less than one."""

    sizes: tuple[int, ...]

    def __post_init__(self):
        # layouts make one wherever they ask which brick a drive is in
        if not (type(self.sizes) is tuple and self.sizes and all(type(one) is int and one > 0 for one in self.sizes)):
            hold(self, sizes=several(COUNT, 1, "bricks"))

    @property
    def count(self) -> int:
        """How many bricks there are."""
        return len(self.sizes)

    @property
    def most(self) -> int:
        """The most drives that a brick has."""
        return max(self.sizes)

    @property
    def _alike(self) -> bool:
        return min(self.sizes) == self.most

    def of(self, drive: Int[AnyArray, "*row"]) -> Int[AnyArray, "*row"]:
        """The number of the brick that a drive is in."""
        if self._alike:
            return drive // self.most if self.most > 1 else drive
        ends = list(accumulate(self.sizes))[:-1]
        return sum(((drive >= end).astype(np.int32) for end in ends), start=jnp.zeros_like(drive))

    def drives_of(
        self, brick: Int[Array, "1 *batch"]
    ) -> Iterator[tuple[Int[Array, "1 *batch"], Bool[Array, "1 *batch"] | bool]]:
        """The drives of a brick one by one, each with whether the brick has that many; if not, the number is another's."""
        if self._alike:
            for disk in range(self.most):
                yield brick * self.most + disk, True
            return
        first = jnp.asarray([0, *accumulate(self.sizes)][:-1], jnp.int32)
        begin, size = jnp.take(first, brick), jnp.take(jnp.asarray(self.sizes, jnp.int32), brick)
        for disk in range(self.most):
            yield begin + jnp.minimum(disk, size - 1), disk < size
