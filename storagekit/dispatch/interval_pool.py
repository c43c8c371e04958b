"""Pools of unit intervals that clients store for reuse, one for each set of nodes and each operation.

References
----------
ars, section 4.2.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.core.batching import first_min, first_true, pick, put, row_index, where_tree
from storagekit.dispatch.unit_interval import FREE, UnitInterval, subregions

# Position of the lowest bit of the node in a packed number. The lower bits contain the number of units that it fills.
SHIFT = 24
NEVER = -1


class PooledInterval(NamedTuple):
    """Entry of a pool for a key.

    Parameters
    ----------
    at : array of int32, shape `[1, *batch]`
        Row of the entry.
    found : array of bool, shape `[1, *batch]`
        Whether the pool has an entry for the key.
    tuned : array of int32, shape `[1, *batch]`
        Time of the last tuning, as a number that increases with time.
    interval : UnitInterval
        Interval in the row `at`. It belongs to another key if `found` is false.
    """

    at: Int[Array, "1 *batch"]
    found: Bool[Array, "1 *batch"]
    tuned: Int[Array, "1 *batch"]
    interval: UnitInterval


class Pool(NamedTuple):
    """Pools of all clients, one after the other in one array of rows.

    Parameters
    ----------
    key : array of uint32, shape `[row, *batch]`
        Mask of the nodes, and the operation; 0 in a free row.
    tuned : array of int32, shape `[row, *batch]`
        Time of the last tuning of the interval, a number that increases with time; NEVER in a free row.
    mapped : array of int32, shape `[subregion, row, *batch]`
        For each subregion, its owner and the number of its filled units, packed into one number of 32 bits.
    """

    key: UInt32[Array, "row *batch"]
    tuned: Int[Array, "row *batch"]
    mapped: Int[Array, "subregion row *batch"]

    def entry(self, key: UInt32[Array, "1 *batch"], client: Int[Array, "1 *batch"], each: int) -> PooledInterval:
        """Return the entry for a key in the pool of a client, or the entry that a new interval may replace.

        The second is returned if the pool has no entry for the key. It is a free row of the pool or, if no row is free,
        the row of the interval that was tuned least recently.

        Parameters
        ----------
        key : array of uint32, shape `[1, *batch]`
            The key.
        client : array of int32, shape `[1, *batch]`
            Number of the client.
        each : int
            Number of rows of each client.

        Returns
        -------
        PooledInterval
            The entry.
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
        """Return the pool with another interval in the row of an entry.

        Parameters
        ----------
        entry : PooledInterval
            The entry.
        key : array of uint32, shape `[1, *batch]`
            New key of the row.
        interval : UnitInterval
            New interval of the row.
        when : array of int32, shape `[1, *batch]`
            Time of the tuning, a number that increases with time.
        where : array of bool, shape `[1, *batch]`
            Runs where the row changes.

        Returns
        -------
        Pool
            The new pool.
        """
        interval = where_tree(where, interval, entry.interval)
        return Pool(
            put(self.key, entry.at, jnp.where(where, key, pick(self.key, entry.at))),
            put(self.tuned, entry.at, jnp.where(where, when, entry.tuned)),
            put(self.mapped, entry.at, _packed(interval)[:, None], axis=1),
        )


def pool(clients: int, each: int, nodes: int, batch: tuple[int, ...]) -> Pool:
    """Return free pools for a number of clients.

    Parameters
    ----------
    clients : int
        Number of clients.
    each : int
        Number of rows of each client.
    nodes : int
        Number of nodes of an interval.
    batch : tuple of int
        Shape of the batch, `()` for a single run.

    Returns
    -------
    Pool
        Pools of `clients * each` rows.
    """
    count = clients * each
    free = jnp.zeros((count, *batch), jnp.int32)
    return Pool(free.astype(jnp.uint32), free + NEVER, jnp.zeros((subregions(nodes), count, *batch), jnp.int32))


def _packed(interval: UnitInterval) -> Int[Array, "subregion *batch"]:
    return jnp.left_shift(interval.owner - FREE, SHIFT) | interval.filled


def _unpacked(words: Int[Array, "subregion *batch"]) -> UnitInterval:
    return UnitInterval(jnp.right_shift(words, SHIFT) + FREE, words & (2**SHIFT - 1))
