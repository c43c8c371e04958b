"""Unit intervals that clients store for reuse, one for each set of nodes and operation (ars, section 4.2)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.core.batching import first_min, first_true, pick, put, row_index, where_tree
from storagekit.dispatch.unit_interval import FREE, UnitInterval, subregions

# where in a word the node stands, above the units that it fills
SHIFT = 24
NEVER = -1


class PooledInterval(NamedTuple):
    """Entry of a pool for a key.

    at: its row. found: whether it exists. tuned: when it was tuned, a number that increases with time. interval: the
    interval in that row, which belongs to another key if it is not `found`.
    """

    at: Int[Array, "1 *batch"]
    found: Bool[Array, "1 *batch"]
    tuned: Int[Array, "1 *batch"]
    interval: UnitInterval


class Pool(NamedTuple):
    """Pools of all clients, one after the other.

    key: mask of the nodes, and the operation; 0 in a free row. tuned: when the interval was last tuned. mapped: owner and
    filled units of each subregion, in a word.
    """

    key: UInt32[Array, "row *batch"]
    tuned: Int[Array, "row *batch"]
    mapped: Int[Array, "subregion row *batch"]

    def entry(self, key: UInt32[Array, "1 *batch"], client: Int[Array, "1 *batch"], each: int) -> PooledInterval:
        """Return the entry of a key in the pool of a client with `each` rows.

        If it does not exist, it is the row of the interval that was tuned first, or a free row.
        """
        row = row_index(self.key.shape[0], self.key)
        its = row // each == client
        at, found = first_true(its & (self.key == key))
        oldest, _ = first_min(jnp.where(its, self.tuned, jnp.iinfo(jnp.int32).max))
        at = jnp.where(found, at, oldest)
        words = jnp.take_along_axis(self.mapped, at[None], axis=1)[:, 0]
        return PooledInterval(at, found, pick(self.tuned, at), _unpacked(words))

    def tuned_anew(
        self,
        entry: PooledInterval,
        key: UInt32[Array, "1 *batch"],
        interval: UnitInterval,
        when: Int[Array, "1 *batch"],
        where: Bool[Array, "1 *batch"],
    ) -> "Pool":
        """Return the pool with another interval in the row of an entry, in the runs marked in `where`."""
        interval = where_tree(where, interval, entry.interval)
        return Pool(
            put(self.key, entry.at, jnp.where(where, key, pick(self.key, entry.at))),
            put(self.tuned, entry.at, jnp.where(where, when, entry.tuned)),
            put(self.mapped, entry.at, _packed(interval)[:, None], axis=1),
        )


def pool(clients: int, each: int, nodes: int, lanes: tuple[int, ...]) -> Pool:
    """Return free pools of `each` rows for so many clients."""
    count = clients * each
    free = jnp.zeros((count, *lanes), jnp.int32)
    return Pool(free.astype(jnp.uint32), free + NEVER, jnp.zeros((subregions(nodes), count, *lanes), jnp.int32))


def _packed(interval: UnitInterval) -> Int[Array, "subregion *batch"]:
    return jnp.left_shift(interval.owner - FREE, SHIFT) | interval.filled


def _unpacked(words: Int[Array, "subregion *batch"]) -> UnitInterval:
    return UnitInterval(jnp.right_shift(words, SHIFT) + FREE, words & (2**SHIFT - 1))
