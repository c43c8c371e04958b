"""Sets of blocks in the order of their last touch: what the caches are made of."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, min_row, row_index
from storagekit.core.kinds import SPACE, SPAN, Kind, takes
from storagekit.workload import Requests, scramble

EMPTY = -1
# float32 counts blocks exactly up to here: 128 GB in blocks of 8 KB
MOST_BLOCKS = 2**24
# sets, and blocks of a set; sectors of a block
BLOCKS, BLOCK = Kind(least=1, most=MOST_BLOCKS, whole=True), Kind(least=1, most=MOST_WHOLE, whole=True)
# of a memory: seconds until a hit is answered, and its bytes
check_hit_time = partial(SPAN.each, "cache hit time")
check_capacity = partial(SPACE.each, "cache of")


class Touch(NamedTuple):
    """A block, the row at which its set begins, how many blocks that set holds, and what to do.

    touched: bring it to the front of the set; inserts: also if it is not there; drops: take it out instead.
    """

    block: Int[Array, "1 *batch"]
    row: Int[Array, "1 *batch"]
    share: Int[Array, "1 *batch"]
    touched: Bool[Array, "1 *batch"]
    inserts: Bool[Array, "1 *batch"]
    drops: Bool[Array, "1 *batch"]


class CacheSets(NamedTuple):
    """A cache of `held` blocks in the sets from number `first` on."""

    held: Int[AnyArray, "..."]
    first: Int[AnyArray, "..."]

    def sets(self, ways: int) -> Int[AnyArray, "..."]:
        """As few sets as hold its blocks, at least one."""
        return jnp.maximum((self.held + ways - 1) // ways, 1)

    def set_of(self, block: Int[Array, "1 *batch"], ways: int) -> tuple[Int[Array, "1 *batch"], Int[Array, "1 *batch"]]:
        """The row at which the set of a block begins, and how many blocks that set holds.

        Blocks are dealt to sets in turn, each round from a set that a hash names: a run of neighbours fills all sets
        alike, and no stride falls into one. A hash of the block alone would load sets as unevenly as dice fall: 7
        points of hit rate at 8 ways.
        """
        sets = self.sets(ways)
        turn = (scramble(block // sets) % sets.astype(jnp.uint32)).astype(jnp.int32)
        of_set = ((block % sets).astype(jnp.int32) + turn) % sets
        share = jnp.broadcast_to(self.held // sets + (of_set < self.held % sets), block.shape)
        return (self.first + of_set) * ways, share


def blocks_of(request: Requests, sectors: int) -> tuple[Int[Array, "1 *batch"], Int[Array, "1 *batch"]]:
    """The first block of `sectors` sectors that a request touches, and how many it touches."""
    first = request.sector // sectors
    return first, ((request.sector + request.sectors - 1) // sectors - first + 1).astype(jnp.int32)


def brought_to_front(stored: Int[Array, "way *batch"], touch: Touch):
    """Whether the set `stored` holds the block, and the set after the touch."""
    way = row_index(stored.shape[0], stored)
    place = min_row(jnp.where(stored == touch.block, way, stored.shape[0]))
    found = place < stored.shape[0]
    # what was before it moves one down; what was behind it stays; if it was nowhere, the last one falls out
    front = (way <= jnp.minimum(place, touch.share - 1)) & touch.touched & (found | touch.inserts)
    after = jnp.where(front, jnp.concatenate([touch.block, stored[:-1]]), stored)
    # what was behind one that is taken out moves up
    behind = (way >= place) & touch.drops
    return found, jnp.where(behind, jnp.concatenate([stored[1:], jnp.full_like(touch.block, EMPTY)]), after)


def touched(ways: int, table: Int[Array, "row *batch"], touch: Touch):
    """Whether the block is held in each lane that touches one, and the table after the touch."""
    return jax.lax.platform_dependent(table, touch, cpu=partial(one_by_one, ways), default=partial(side_by_side, ways))


def one_by_one(ways: int, table: Int[Array, "row *batch"], touch: Touch):
    """A touch in every lane that has one, lane after lane: slices at one place are what a CPU reads and writes fastest.

    A gather of all lanes costs three times as much there, and is handed to other threads once the table is large.
    """
    grid, touch = jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[0], -1), (table, touch))

    def one(lane, carry):
        # a loop counts with 64 bits where addresses have them
        lane = lane.astype(touch.row.dtype)
        here = (lane * 0, lane)
        mine: Touch = jax.tree.map(lambda leaf: jax.lax.dynamic_slice(leaf, here, (1, 1)), touch)

        def made(carry):
            grid, held = carry
            found, grid = touched_in(ways, lane, grid, mine)
            return grid, jax.lax.dynamic_update_slice(held, found, here)

        return jax.lax.cond((mine.touched | mine.drops)[0, 0], made, lambda carry: carry, carry)

    grid, held = jax.lax.fori_loop(0, grid.shape[1], one, (grid, jnp.zeros_like(touch.touched)))
    return held.reshape(1, *table.shape[1:]), grid.reshape(table.shape)


def touched_in(ways: int, lane: Int[Array, ""], table: Int[Array, "row lane"], touch: Touch):
    """Whether the block is held in one lane of a table, and the table after a touch of that lane, `[1, 1]`."""
    corner = (touch.row[0, 0], lane.astype(touch.row.dtype))
    found, after = brought_to_front(jax.lax.dynamic_slice(table, corner, (ways, 1)), touch)
    changes = touch.touched | touch.drops
    return found & changes, jax.lax.dynamic_update_slice(table, after, corner)


def side_by_side(ways: int, table: Int[Array, "row *batch"], touch: Touch):
    """A touch in every lane, all at once: what an accelerator does fastest."""
    index = touch.row + row_index(ways, touch.row)
    stored = jnp.take_along_axis(table, index, axis=0, mode="promise_in_bounds")
    held, after = brought_to_front(stored, touch)
    held = held & (touch.touched | touch.drops)
    return held, jnp.put_along_axis(table, index, after, axis=0, inplace=False, mode="promise_in_bounds")


@takes(capacity=SPACE, ways=BLOCKS, sectors=BLOCK)
def sets_for(capacity: float | np.floating, ways: int = 32, sectors: int = 16) -> int:
    """The fewest sets of `ways` blocks of `sectors` sectors that hold `capacity` bytes. Raises InputError for fewer than 0,
    and for less than one block or sector."""
    return -(-int(capacity) // (ways * sectors * units.SECTOR))
