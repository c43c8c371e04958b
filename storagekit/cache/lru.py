"""One memory in front of everything, in sets, each of which forgets what was touched longest ago."""

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
from storagekit.core.checks import traced
from storagekit.core.errors import InputError
from storagekit.workload import Requests


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

    capacity: Float[AnyArray, "..."] = eqx.field(converter=named("cache of"))
    hit_time: Float[AnyArray, "..."] = eqx.field(converter=named("cache hit time"), default=0.0)
    sets: int = eqx.field(static=True, default=2048, converter=partial(BLOCKS, "sets of an LRU cache"))
    ways: int = eqx.field(static=True, default=32, converter=partial(BLOCKS, "ways of an LRU cache"))
    sectors: int = eqx.field(static=True, default=16, converter=partial(BLOCK, "sectors a block of an LRU cache"))

    def __check_init__(self):
        if self.sets * self.ways > MOST_BLOCKS:
            raise InputError(
                f"{self.sets} sets of {self.ways} blocks in an LRU cache: it counts up to {MOST_BLOCKS} blocks; lower "
                "sets, or raise sectors"
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
        """Bytes of a block."""
        return self.sectors * units.SECTOR

    def init(self, sizes: StateSizes) -> Int[Array, "row *batch"]:
        return jnp.full((self.sets * self.ways, *sizes.lanes), EMPTY, int)

    def look_up(self, private, request: Requests, entering: Bool[Array, "1 *batch"], sought):
        first, count = blocks_of(request, self.sectors)
        # a lane without memory looks nothing up, so that a batch of them costs nothing
        looks = entering & (self.capacity >= self.block)
        count = jnp.where(looks, count, 0)
        memory = CacheSets(jnp.floor(self.capacity / self.block).astype(jnp.int32), jnp.int32(0))
        never = jnp.zeros_like(looks)

        def touch(ahead, carry):
            private, hit = carry
            block, now = first + ahead, ahead < count
            held, private = touched(self.ways, private, Touch(block, *memory.set_of(block, self.ways), now, now, never))
            return private, hit & (held | ~now)

        # as many look-ups as the longest of the lanes' requests has blocks, none at all where nothing enters
        private, hit = jax.lax.fori_loop(0, jnp.max(count), touch, (private, looks & request.read))
        return LookUp(hit, jnp.zeros_like(count)), private
