"""A cache in sets, each of which forgets what was touched longest ago."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit import units
from storagekit.cache.base import AbstractCache
from storagekit.errors import InputError
from storagekit.lanes import least, real, rows
from storagekit.workload import Requests, scramble

EMPTY = -1
# float32 counts blocks exactly up to here: 128 GB in blocks of 8 KB
MOST_BLOCKS = 2**24


class LRU(AbstractCache):
    """Blocks in memory, the least recently used of a set given up first (srarray, section 4.1; dsptf, section 4).

    A read hits if every block it touches is held; whatever it touches is then the most recent, read in if it was not
    held. A write never hits, because it is forced to disk (write-through), and leaves its blocks in memory, the most
    recent, so that a later read finds them. (srarray, section 4.1) forces synchronous writes only; here all are. A miss
    fills memory when the request enters, not when the disk has answered: a second read of the block meanwhile is a hit.

    capacity: bytes held, any number of whole blocks from 0 (never hits) to `sets * ways`; one value, or one per lane.
    hit_time: seconds until a hit is answered. sectors: of a block. sets, ways: the largest cache that lanes of one
    compilation may have (`sets_for` gives the sets of a capacity). A lane uses as few sets as hold its blocks, shares
    the blocks evenly among them, and deals blocks to them in turn, each round from a set that a hash names: a run of
    neighbours fills all sets alike, and no stride falls into one. With `sets=1` a lane is exactly LRU; with more, streams
    of uneven popularity miss it by under half a point at 32 ways (1 at 8), a loop as long as the cache by more. A block
    costs the reading and writing of `ways` entries, whatever the number of sets, as long as the lanes' tables stay in
    the CPU's caches; fewer ways are faster. A request is looked up block by block, however long it is.

    Private state: the blocks of each set from the most recent to the least, EMPTY where there is none. The order is the
    recency, so that no counter of look-ups can run over.
    """

    capacity: Float[Array, "..."] = eqx.field(converter=real)
    hit_time: Float[Array, "..."] = eqx.field(converter=real, default=0.0)
    sets: int = eqx.field(static=True, default=2048)
    ways: int = eqx.field(static=True, default=32)
    sectors: int = eqx.field(static=True, default=16)

    def __check_init__(self):
        counts = {"sets": self.sets, "ways": self.ways, "sectors a block": self.sectors}
        for label, number in counts.items():
            if number < 1:
                raise InputError(f"{number} {label} in an LRU cache: give at least 1")
        if self.sets * self.ways > MOST_BLOCKS:
            raise InputError(
                f"{self.sets} sets of {self.ways} blocks in an LRU cache: it counts up to {MOST_BLOCKS} blocks; lower "
                "sets, or raise sectors"
            )
        capacity = np.asarray(self.capacity, float)
        wrong = capacity[~((capacity >= 0) & np.isfinite(capacity))]
        if wrong.size:
            raise InputError(f"cache of {wrong[0]:g} bytes: it must be 0 or more and finite")
        if capacity.max() > self.sets * self.ways * self.block:
            raise InputError(
                f"cache of {capacity.max():g} bytes: {self.sets} sets of {self.ways} blocks of {self.block} bytes hold less; "
                f"raise sets to {sets_for(capacity.max(), self.ways, self.sectors)}"
            )
        hit_time = np.asarray(self.hit_time)
        if not np.all((hit_time >= 0) & np.isfinite(hit_time)):
            raise InputError(f"cache hit time {float(np.min(hit_time)):g} s: it must be 0 or more and finite")

    @property
    def block(self) -> int:
        """Bytes of a block."""
        return self.sectors * units.SECTOR

    def init(self, lanes: tuple[int, ...]) -> Int[Array, "row *lanes"]:
        return jnp.full((self.sets * self.ways, *lanes), EMPTY, jnp.int32)

    def look_up(self, private, request: Requests, entering: Bool[Array, "1 *lanes"]):
        first = request.sector // self.sectors
        count = (request.sector + request.sectors - 1) // self.sectors - first + 1
        # a lane without memory looks nothing up, so that a batch of them costs nothing
        looks = entering & (self.capacity >= self.block)
        count = jnp.where(looks, count, 0)

        def touch(ahead, carry):
            private, hit = carry
            touched = ahead < count
            held, private = self._touch(private, first + ahead, touched)
            return private, hit & (held | ~touched)

        # as many look-ups as the longest of the lanes' requests has blocks, none at all where nothing enters
        private, hit = jax.lax.fori_loop(0, jnp.max(count), touch, (private, looks & request.read))
        return hit, private

    def _touch(self, private, block: Int[Array, "1 *lanes"], touched: Bool[Array, "1 *lanes"]):
        """Whether a block is held, and the state once it is the most recent of its set (unchanged unless `touched`)."""
        held = jnp.floor(self.capacity / self.block).astype(jnp.int32)
        sets = jnp.maximum((held + self.ways - 1) // self.ways, 1)
        # a hash of the block alone would load sets as unevenly as dice fall: 7 points of hit rate at 8 ways
        of_set = (block % sets + (scramble(block // sets) % sets.astype(jnp.uint32)).astype(jnp.int32)) % sets
        share = jnp.broadcast_to(held // sets + (of_set < held % sets), block.shape)
        touch = Touch(block, of_set * self.ways, share, touched)
        return jax.lax.platform_dependent(
            private, touch, cpu=partial(one_by_one, self.ways), default=partial(side_by_side, self.ways)
        )


class Touch(NamedTuple):
    """A block, the row at which its set begins, how many blocks that set holds, and whether to touch it at all."""

    block: Int[Array, "1 *lanes"]
    row: Int[Array, "1 *lanes"]
    share: Int[Array, "1 *lanes"]
    touched: Bool[Array, "1 *lanes"]


def brought_to_front(stored: Int[Array, "way *lanes"], touch: Touch):
    """Whether the set `stored` holds the block, and the set after the touch."""
    way = rows(stored.shape[0], stored)
    place = least(jnp.where(stored == touch.block, way, stored.shape[0]))
    # what was before it moves one down; what was behind it stays; if it was nowhere, the last one falls out
    moves = (way <= jnp.minimum(place, touch.share - 1)) & touch.touched
    return place < stored.shape[0], jnp.where(moves, jnp.concatenate([touch.block, stored[:-1]]), stored)


def one_by_one(ways: int, table: Int[Array, "row *lanes"], touch: Touch):
    """A touch in every lane, lane after lane: slices at one place are what a CPU reads and writes fastest.

    A gather of all lanes costs three times as much there, and is handed to other threads once the table is large.
    """
    grid, touch = jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[0], -1), (table, touch))

    def one(lane, carry):
        grid, held = carry
        mine: Touch = jax.tree.map(lambda leaf: jax.lax.dynamic_slice(leaf, (0, lane), (1, 1)), touch)
        corner = (mine.row[0, 0], lane)
        found, after = brought_to_front(jax.lax.dynamic_slice(grid, corner, (ways, 1)), mine)
        return jax.lax.dynamic_update_slice(grid, after, corner), jax.lax.dynamic_update_slice(held, found, (0, lane))

    grid, held = jax.lax.fori_loop(0, grid.shape[1], one, (grid, jnp.zeros_like(touch.touched)))
    return held.reshape(1, *table.shape[1:]), grid.reshape(table.shape)


def side_by_side(ways: int, table: Int[Array, "row *lanes"], touch: Touch):
    """A touch in every lane, all at once: what an accelerator does fastest."""
    index = touch.row + rows(ways, touch.row)
    stored = jnp.take_along_axis(table, index, axis=0, mode="promise_in_bounds")
    held, after = brought_to_front(stored, touch)
    return held, jnp.put_along_axis(table, index, after, axis=0, inplace=False, mode="promise_in_bounds")


def sets_for(capacity: float, ways: int = 32, sectors: int = 16) -> int:
    """The fewest sets of `ways` blocks of `sectors` sectors that hold `capacity` bytes."""
    return -(-int(capacity) // (ways * sectors * units.SECTOR))
