"""Sets of blocks in the order of their last use, the data structure of the caches."""

from functools import partial
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, min_row, row_index
from storagekit.core.validation import SPACE, SPAN, Validator, validate
from storagekit.workload import Requests, scramble

EMPTY = -1
# Largest number of blocks that float32 counts exactly: 128 GB in blocks of 8 KB.
MOST_BLOCKS = 2**24
# Validators for the number of sets and of blocks of a set, and for the sectors of a block.
BLOCKS, BLOCK = Validator(least=1, most=MOST_BLOCKS, whole=True), Validator(least=1, most=MOST_WHOLE, whole=True)
# Validators for the time of a hit, seconds, and for the size of a cache, bytes.
check_hit_time = partial(SPAN.each, "cache hit time")
check_capacity = partial(SPACE.each, "cache of")


class Touch(NamedTuple):
    """One operation on a set of blocks.

    block: number of the block. row: row of the table at which its set begins. share: largest number of blocks of the
    set. touched: whether to move the block to the front of the set. inserts: whether to insert the block at the front
    if it is missing. drops: whether to remove the block instead.
    """

    block: Int[Array, "1 *batch"]
    row: Int[Array, "1 *batch"]
    share: Int[Array, "1 *batch"]
    touched: Bool[Array, "1 *batch"]
    inserts: Bool[Array, "1 *batch"]
    drops: Bool[Array, "1 *batch"]


class CacheSets(NamedTuple):
    """One of the caches that share a table of sets.

    held: capacity of this cache, blocks. first: number of its first set in the table.
    """

    held: Int[AnyArray, "..."]
    first: Int[AnyArray, "..."]

    def sets(self, ways: int) -> Int[AnyArray, "..."]:
        """Return the number of sets that the cache uses: the smallest number that can hold its blocks, at least one."""
        return jnp.maximum((self.held + ways - 1) // ways, 1)

    def set_of(self, block: Int[Array, "1 *batch"], ways: int) -> tuple[Int[Array, "1 *batch"], Int[Array, "1 *batch"]]:
        """Return the row at which the set of a block begins, and the largest number of blocks of the set.

        Consecutive blocks go to the sets in rotation. Each round starts at a set that a hash selects. A sequence of
        neighbouring blocks therefore fills all sets evenly, and no stride maps to only one set. If only a hash of the
        block selected the set, the load of the sets would be as uneven as with a random selection. This would lower the
        hit rate by 7 percentage points with 8 ways.
        """
        sets = self.sets(ways)
        turn = (scramble(block // sets) % sets.astype(jnp.uint32)).astype(jnp.int32)
        of_set = ((block % sets).astype(jnp.int32) + turn) % sets
        share = jnp.broadcast_to(self.held // sets + (of_set < self.held % sets), block.shape)
        return (self.first + of_set) * ways, share


def blocks_of(request: Requests, sectors: int) -> tuple[Int[Array, "1 *batch"], Int[Array, "1 *batch"]]:
    """Return the first block of `sectors` sectors that a request touches, and the number of blocks that it touches."""
    first = request.sector // sectors
    return first, ((request.sector + request.sectors - 1) // sectors - first + 1).astype(jnp.int32)


def brought_to_front(stored: Int[Array, "way *batch"], touch: Touch):
    """Return whether the set `stored` holds the block, and the set after the operation."""
    way = row_index(stored.shape[0], stored)
    position = min_row(jnp.where(stored == touch.block, way, stored.shape[0]))
    found = position < stored.shape[0]
    # Blocks in front of the block move back by one; blocks behind it stay. If the set does not hold the block, the last
    # block of the set is replaced.
    front = (way <= jnp.minimum(position, touch.share - 1)) & touch.touched & (found | touch.inserts)
    after = jnp.where(front, jnp.concatenate([touch.block, stored[:-1]]), stored)
    # Blocks behind a removed block move forward by one.
    behind = (way >= position) & touch.drops
    return found, jnp.where(behind, jnp.concatenate([stored[1:], jnp.full_like(touch.block, EMPTY)]), after)


def touched(ways: int, table: Int[Array, "row *batch"], touch: Touch):
    """Touch or drop a block in every run; return whether the table held the block, and the new table.

    The first result is false in runs that neither touch nor drop a block. A CPU processes one run after the other. An
    accelerator processes all runs simultaneously.
    """
    return jax.lax.platform_dependent(table, touch, cpu=partial(one_by_one, ways), default=partial(side_by_side, ways))


def one_by_one(ways: int, table: Int[Array, "row *batch"], touch: Touch):
    """Apply an operation to the table, one run after the other. This is the fastest way on a CPU.

    A CPU is fastest if it reads and writes a slice at one address. A gather over all runs takes three times as long on
    a CPU, and XLA distributes it over threads if the table is large.
    """
    grid, touch = jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[0], -1), (table, touch))

    def one(run, carry):
        # The loop counter has 64 bits if addresses have 64 bits.
        run = run.astype(touch.row.dtype)
        here = (run * 0, run)
        mine: Touch = jax.tree.map(lambda leaf: jax.lax.dynamic_slice(leaf, here, (1, 1)), touch)

        def made(carry):
            grid, held = carry
            found, grid = touched_in(ways, run, grid, mine)
            return grid, jax.lax.dynamic_update_slice(held, found, here)

        return jax.lax.cond((mine.touched | mine.drops)[0, 0], made, lambda carry: carry, carry)

    grid, held = jax.lax.fori_loop(0, grid.shape[1], one, (grid, jnp.zeros_like(touch.touched)))
    return held.reshape(1, *table.shape[1:]), grid.reshape(table.shape)


def touched_in(ways: int, run: Int[Array, ""], table: Int[Array, "row run"], touch: Touch):
    """Return whether the table of run `run` holds the block, and all tables after the operation on this run."""
    corner = (touch.row[0, 0], run.astype(touch.row.dtype))
    found, after = brought_to_front(jax.lax.dynamic_slice(table, corner, (ways, 1)), touch)
    changes = touch.touched | touch.drops
    return found & changes, jax.lax.dynamic_update_slice(table, after, corner)


def side_by_side(ways: int, table: Int[Array, "row *batch"], touch: Touch):
    """Apply an operation to the table in all runs simultaneously. This is the fastest way on an accelerator."""
    index = touch.row + row_index(ways, touch.row)
    stored = jnp.take_along_axis(table, index, axis=0, mode="promise_in_bounds")
    held, after = brought_to_front(stored, touch)
    held = held & (touch.touched | touch.drops)
    return held, jnp.put_along_axis(table, index, after, axis=0, inplace=False, mode="promise_in_bounds")


@validate
def sets_for(
    capacity: Annotated[float | np.floating, SPACE],
    ways: Annotated[int, BLOCKS] = 32,
    sectors: Annotated[int, BLOCK] = 16,
) -> int:
    """Return the smallest number of sets that can hold a cache of a given capacity.

    Parameters
    ----------
    capacity : float
        Bytes, 0 or more.
    ways : int
        Number of blocks in a set, by default 32.
    sectors : int
        Number of sectors in a block, by default 16.

    Returns
    -------
    int
        Number of sets, ceil(capacity / (ways * sectors * 512)); 0 for a capacity of 0.

    Raises
    ------
    InputError
        If the capacity is negative, or `ways` or `sectors` is below 1.
    """
    return -(-int(capacity) // (ways * sectors * units.SECTOR))
