"""One set-associative LRU cache for the whole system."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit.cache.base import AbstractCache, LookUp
from storagekit.cache.sets import (
    BLOCK,
    BLOCKS,
    EMPTY,
    MOST_BLOCKS,
    CacheSets,
    Touch,
    blocks_of,
    check_capacity,
    check_hit_time,
    sets_for,
    touched,
)
from storagekit.component.events import StateSizes
from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.errors import InputError
from storagekit.core.validation import traced
from storagekit.workload import Requests


class LRU(AbstractCache):
    """One cache in front of all disks; in each of its sets it replaces the least recently used block.

    Parameters
    ----------
    capacity : float
        Size, bytes, from 0 (no read hits) to the size of `sets * ways` blocks. It need not be a multiple of the size of
        a set. One value, or one value for each run.
    hit_time : float
        Time in seconds from the arrival of a hit to its completion, by default 0.
    sets, ways : int
        Number of sets, and number of blocks in each set, by default 2048 and 32. If runs with caches of different sizes
        share a compilation, these are the numbers for the largest cache. `sets_for` returns the number of sets for a
        capacity.
    sectors : int
        Number of sectors in a block, by default 16.

    Raises
    ------
    InputError
        If a number is out of range, or the capacity needs more sets than `sets`.

    Notes
    -----
    A read hits if all blocks that it touches are in memory. Afterwards its blocks are the most recently used blocks;
    missing blocks are read into memory. A write never hits, because it is forced to disk (write-through). It leaves its
    blocks in memory as the most recently used blocks, so that a later read of these blocks hits. All writes are treated
    in this way; in srarray, section 4.1, only synchronous writes are forced to disk. A miss fills memory when the
    request enters, not when the disk has served it: a second read of the block in the meantime is a hit.

    A run uses the smallest number of sets that can hold its blocks, and divides the blocks evenly among these sets.
    Consecutive blocks go to the sets in rotation. Each round starts at a set that a hash selects. A sequence of
    neighbouring blocks therefore fills all sets evenly, and no stride maps to only one set. With `sets=1` the cache is
    exactly LRU. With more sets, the hit rate for blocks of uneven popularity differs from exact LRU by less than half a
    percentage point with 32 ways, and by less than 1 percentage point with 8 ways. If
    reads repeat a sequence of blocks that is as long as the cache, the difference is larger.

    The look-up of one block reads and writes `ways` entries. Its computing time does not depend on the number of sets,
    provided that the tables of all runs fit the caches of the CPU. A smaller number of `ways` is faster. A request of
    any length is looked up block by block.

    The private state is the blocks of each set from the most to the least recently used, EMPTY for an unused entry. The
    order of the entries represents how recently they were used. Therefore no counter of look-ups exists that could
    overflow.

    References
    ----------
    srarray, section 4.1; dsptf, section 4.
    """

    capacity: Float[AnyArray, "..."] = eqx.field(converter=named("cache of"))
    hit_time: Float[AnyArray, "..."] = eqx.field(converter=named("cache hit time"), default=0.0)
    sets: int = eqx.field(static=True, default=2048, converter=partial(BLOCKS, "sets of an LRU cache"))
    ways: int = eqx.field(static=True, default=32, converter=partial(BLOCKS, "ways of an LRU cache"))
    sectors: int = eqx.field(static=True, default=16, converter=partial(BLOCK, "sectors per block of an LRU cache"))

    def __check_init__(self):
        if self.sets * self.ways > MOST_BLOCKS:
            raise InputError(
                f"{self.sets} sets of {self.ways} blocks in an LRU cache: at most {MOST_BLOCKS} blocks are possible; "
                "lower sets, or raise sectors"
            )
        check_capacity(self.capacity)
        check_hit_time(self.hit_time)
        if traced(self.capacity):
            return
        capacity = np.asarray(self.capacity, float)
        if capacity.max() > self.sets * self.ways * self.block:
            raise InputError(
                f"cache of {capacity.max():g} bytes: {self.sets} sets of {self.ways} blocks of {self.block} bytes hold less; "
                f"raise sets to {sets_for(capacity.max(), self.ways, self.sectors)}"
            )

    @property
    def block(self) -> int:
        """Return the size of a block in bytes."""
        return self.sectors * units.SECTOR

    def init(self, sizes: StateSizes) -> Int[Array, "row *batch"]:
        return jnp.full((self.sets * self.ways, *sizes.batch), EMPTY, int)

    def look_up(self, private, request: Requests, entering: Bool[Array, "1 *batch"], query):
        first, count = blocks_of(request, self.sectors)
        # Runs without memory skip the look-up, so that a batch of such runs takes no time for it.
        looks = entering & (self.capacity >= self.block)
        count = jnp.where(looks, count, 0)
        memory = CacheSets(jnp.floor(self.capacity / self.block).astype(jnp.int32), jnp.int32(0))
        never = jnp.zeros_like(looks)

        def touch(ahead, carry):
            private, hit = carry
            block, now = first + ahead, ahead < count
            held, private = touched(self.ways, private, Touch(block, *memory.set_of(block, self.ways), now, now, never))
            return private, hit & (held | ~now)

        # The number of look-ups is the number of blocks of the longest request of the batch, 0 if no request enters.
        private, hit = jax.lax.fori_loop(0, jnp.max(count), touch, (private, looks & request.read))
        return LookUp(hit, jnp.zeros_like(count)), private
