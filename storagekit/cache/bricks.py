"""A memory in every brick, no block in two of them; or one memory for all."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.cache.base import AbstractCache, LookUp, Sought
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
    touched_in,
)
from storagekit.component.events import AccessStarted, BrickStopped, RequestAdmitted, StateSizes
from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, index_of, lowest, named, pick, whole
from storagekit.core.checks import require, traced
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests

# bits of a block's number, 32 more where addresses have 64; those above tell the generations of a brick's memory apart
BLOCK_BITS = 28
WAYS, SECTORS = 16, 16

_BRICKS = partial(COUNT.up_to(10**5), "bricks with a cache")
_SETS, _WAYS = (partial(BLOCKS, f"{what} of a brick's cache") for what in ("sets", "ways"))
_SECTORS = partial(BLOCK, "sectors a block of a brick's cache")


def _capacities(given) -> Any:
    """Bytes in each brick: one value for all, or a tuple with one for each."""
    each = named("cache of")
    return tuple(each(one) for one in given) if isinstance(given, tuple | list) else each(given)


class CacheContents(NamedTuple):
    """Private state: the blocks of each set from the most recent to the least, and those that each slot's request wants.

    lost: how often each brick has lost its memory; None where none ever does.
    """

    table: Int[Array, "row *batch"]
    first: Int[Array, "slot *batch"]
    count: Int[Array, "slot *batch"]
    lost: Int[Array, "drive *batch"] | None


class BrickLRU(AbstractCache):
    """An LRU cache in every brick; a block is in one of them at most, unflushed writes aside (dsptf, sections 2.3 and 3).

    A read hits if all its blocks are in the memory of one brick that it is sent to. If not, they go to the memory of the
    brick whose disk is to serve it as soon as that has claimed it; whoever else held some drops them. D-SPTF's bricks hear
    the claim; others, and those that a claim does not reach, are taken to be told, so that the memories are apart by
    construction (a departure: in the paper a lost or late claim may leave a block in two). A block belongs to the bricks
    that hold the beginning of its request. A read of blocks that are still coming off the disk is answered with the read
    that fetches them.

    A write is in the NVRAM of every replica until its disk has it, in the slot that it holds there; after that only one
    brick keeps it: the one that reads of it are sent to, of several hash(address) mod replicas. That one's copy is counted
    among its blocks from the start, and older copies are dropped; so the NVRAM of the others takes nothing from their
    caches, at most a block for each slot. It may be forgotten before it is on disk, and is then read from there.

    capacity: bytes in each brick, any number of whole blocks, one value for all bricks or a tuple with one for each.
    central: 1 for a single memory of the same size in all (the centralized ideal). hit_time: seconds until a hit is
    answered, beside a message's where another brick than the receiving one has it. bricks: how many have a memory.
    sets: of all bricks together, for the largest memory that lanes of one compilation may have (`BrickLRU.sized` reckons
    it); ways: blocks of each; sectors: of a block. How sets stand in for LRU: see `LRU`.
    """

    capacity: Float[AnyArray, "..."] | tuple[Float[AnyArray, "..."], ...]
    central: Int[AnyArray, "..."]
    bricks: int = eqx.field(static=True, converter=_BRICKS)
    sets: int = eqx.field(static=True, converter=_SETS)
    ways: int = eqx.field(static=True, converter=_WAYS)
    sectors: int = eqx.field(static=True, converter=_SECTORS)
    hit_time: Float[AnyArray, "..."] = eqx.field(default=0.0)

    def __init__(
        self, capacity, *, bricks: int, sets: int, hit_time=0.0, central=0, ways: int = WAYS, sectors: int = SECTORS
    ):
        self.capacity = _capacities(capacity)
        self.hit_time, self.central = named("cache hit time")(hit_time), named("central", whole)(central)
        self.bricks, self.sets, self.ways, self.sectors = bricks, sets, ways, sectors

    @classmethod
    def sized(cls, capacity, *, bricks: int, **options) -> "BrickLRU":
        """With as many sets as the capacity needs. capacity, bricks and options as in the class; raises InputError as it."""
        given, bricks = _capacities(capacity), _BRICKS(bricks)
        each = given if isinstance(given, tuple) else [given] * bricks
        check_capacity(np.concatenate([np.ravel(one) for one in each]) if each else 0.0)
        needed = _sets_needed(each, _WAYS(options.get("ways", WAYS)), _SECTORS(options.get("sectors", SECTORS)))
        return cls(capacity, bricks=bricks, sets=needed, **options)

    def __check_init__(self):
        if self.sectors < 8:
            raise InputError(f"cache blocks of {self.sectors} sectors: give at least 8")
        if isinstance(self.capacity, tuple) and len(self.capacity) != self.bricks:
            raise InputError(
                f"{len(self.capacity)} cache sizes for {self.bricks} bricks: give one for each, or one for all"
            )
        check_hit_time(self.hit_time)
        require((self.central == 0) | (self.central == 1), "central", self.central, "0 or 1")
        if traced(*self._each()):
            return
        check_capacity(np.concatenate([np.ravel(one) for one in self._each()]))
        needed = _sets_needed(self._each(), self.ways, self.sectors)
        if needed > self.sets:
            raise InputError(f"{self.sets} sets for the caches of {self.bricks} bricks: they need {needed}; raise sets")
        if self.sets * self.ways > MOST_BLOCKS:
            raise InputError(
                f"{self.sets} sets of {self.ways} blocks: caches count up to {MOST_BLOCKS} blocks; lower the capacity, or "
                "raise sectors"
            )

    def _each(self) -> list:
        return list(self.capacity) if isinstance(self.capacity, tuple) else [self.capacity] * self.bricks

    @property
    def block(self) -> int:
        """Bytes of a block."""
        return self.sectors * units.SECTOR

    def check(self, drives, disks=1):
        if disks > 1:
            raise InputError(f"memory in bricks of {disks} drives: not modelled; use one drive a brick, or LRU for all")
        if drives > self.bricks:
            raise InputError(f"{drives} bricks, of which {self.bricks} have a cache: raise BrickLRU.bricks")

    def init(self, sizes: StateSizes) -> CacheContents:
        table = jnp.full((self.sets * self.ways, *sizes.lanes), EMPTY, int)
        first, count = (jnp.zeros((sizes.slots, *sizes.lanes), kind) for kind in (int, jnp.int32))
        lost = jnp.zeros((sizes.drives, *sizes.lanes), jnp.int32) if sizes.stops else None
        return CacheContents(table, first + EMPTY, count, lost)

    def memory(self, brick: Int[Array, "1 *batch"]) -> CacheSets:
        """How many blocks a brick's memory holds, and its first set; of all together if there is a central one."""
        blocks = [jnp.floor(one / self.block).astype(jnp.int32) for one in self._each()]
        if isinstance(self.capacity, tuple):
            own, first, before = jnp.int32(0), jnp.int32(0), jnp.int32(0)
            for number, held in enumerate(blocks):
                own, first = jnp.where(brick == number, held, own), jnp.where(brick == number, before, first)
                before = before + CacheSets(held, jnp.int32(0)).sets(self.ways)
        else:
            own = blocks[0]
            first = brick * CacheSets(own, jnp.int32(0)).sets(self.ways)
        central = self.central != 0
        return CacheSets(jnp.where(central, sum(blocks), own), jnp.where(central, 0, first))

    def look_up(self, private: CacheContents, request: Requests, entering: Bool[Array, "1 *batch"], sought: Sought):
        """A read is looked up at the bricks it is sent to; a write goes to its keeper and drops out of the others."""
        first, count = blocks_of(request, self.sectors)
        none = jnp.zeros_like(sought.asked)
        keeper = self._keeper(request, sought)
        every = sought.placement.parts_of(sought.place) | none
        reads, writes = entering & request.read, entering & ~request.read
        wanted = jnp.where(reads, sought.asked, none)
        kept = jnp.where(writes, bit(keeper), none)
        dropped = jnp.where(writes, every & ~bit(keeper), none)
        held, table = self._visit(private, first, count, sought, wanted, kept, dropped)
        here = (self.central != 0) | (held & bit(sought.receiving) != 0)
        part = jnp.where(here, sought.receiving, index_of(held))
        return LookUp(reads & (held != 0), part), private._replace(table=table)

    def entered(self, private: CacheContents, moment: RequestAdmitted) -> CacheContents:
        first, count = blocks_of(moment.request, self.sectors)
        return private._replace(
            first=jnp.where(moment.into, first, private.first), count=jnp.where(moment.into, count, private.count)
        )

    def same_data(self, private: CacheContents, request: Requests):
        return _overlap(private, *blocks_of(request, self.sectors))

    def same_data_as(self, private: CacheContents, slot):
        return _overlap(private, pick(private.first, slot), pick(private.count, slot))

    def taken(self, private: CacheContents, moment: AccessStarted) -> CacheContents:
        """What the disk is to read goes to its brick's memory, and out of the others'."""
        served = bit(moment.part)
        none = jnp.zeros_like(served)
        every = moment.placement.parts_of(moment.place)
        made = moment.kept & moment.read
        kept = jnp.where(made, served, none)
        dropped = jnp.where(made, every & ~served, none)
        first, count = pick(private.first, moment.slot), pick(private.count, moment.slot)
        sought = Sought(moment.placement, served, moment.part, moment.place)
        _, table = self._visit(private, first, count, sought, none, kept, dropped)
        return private._replace(table=table)

    def stopped(self, private: CacheContents, moment: BrickStopped) -> CacheContents:
        assert private.lost is not None
        return private._replace(lost=private.lost + moment.bricks)

    def _keeper(self, request: Requests, sought: Sought) -> Int[Array, "1 *batch"]:
        """The part whose brick keeps a write in memory once it is on disk (dsptf, section 3)."""
        hashed = (request.address_hash % jnp.asarray(sought.placement.parts).astype(jnp.uint32)).astype(jnp.int32)
        return jnp.where(sought.asked & bit(hashed) != 0, hashed, index_of(sought.asked))

    def _visit(
        self, private: CacheContents, first, count, sought: Sought, wanted, kept, dropped
    ) -> tuple[UInt32[Array, "1 *batch"], Int[Array, "row *batch"]]:
        """Blocks touched in the memories of some parts' bricks, one bit each: brought to the front where they are held and
        `wanted`, put there where they are `kept`, taken out where they are `dropped`.

        Returns the wanted parts at which all of them were held, and the table.
        """
        central = self.central != 0

        def at_one(masks):
            # of a single memory nothing is dropped, because whoever keeps it keeps it there
            return jnp.where(central, (masks != 0).astype(jnp.uint32), masks)

        wanted, kept = at_one(wanted), at_one(kept)
        dropped = jnp.where(central, jnp.uint32(0), dropped)
        count = jnp.where(wanted | kept | dropped != 0, count, 0)
        visit = _Visit(self, sought.placement, sought.place, private.lost, first, count, wanted, kept, dropped)
        if private.table.ndim == 1:
            return visit.of(private.table, partial(touched, self.ways))
        return jax.lax.platform_dependent(private.table, visit, cpu=_lane_by_lane, default=_together)


class _Visit(NamedTuple):
    """What `BrickLRU._visit` is to do: see there."""

    cache: BrickLRU
    placement: AbstractPlacement
    place: Any
    lost: Int[Array, "drive *batch"] | None
    first: Int[Array, "1 *batch"]
    count: Int[Array, "1 *batch"]
    wanted: UInt32[Array, "1 *batch"]
    kept: UInt32[Array, "1 *batch"]
    dropped: UInt32[Array, "1 *batch"]

    def of(self, table: Int[Array, "row *batch"], touch: Callable) -> tuple[Any, Any]:
        """It done with a table, block after block and part after part. touch: how a table is touched in all of its lanes."""
        central, parts = self.cache.central != 0, self.wanted | self.kept | self.dropped

        def one_part(_, carry):
            table, held, left, block, now = carry
            here = lowest(left)
            brick = self.placement.drive_of(index_of(here), self.place)
            place = self.cache.memory(brick).set_of(block, self.cache.ways)
            tag = block
            if self.lost is not None:
                lost = jnp.where(central, 0, pick(self.lost, brick))
                tag = block + (lost.astype(int) << _block_bits(table))
            masks = (self.wanted | self.kept, self.kept, self.dropped)
            touches, keeps, drops = (now & (mask & here != 0) for mask in masks)
            found, table = touch(table, Touch(tag, *place, touches, keeps, drops))
            return table, jnp.where(now & ~found, held & ~here, held), left & ~here, block, now

        def one_block(ahead, carry):
            table, held = carry
            now = ahead < self.count
            most = jnp.max(jnp.where(now, jax.lax.population_count(parts), 0).astype(jnp.int32))
            begin = (table, held, jnp.where(now, parts, 0), self.first + ahead, now)
            return jax.lax.fori_loop(0, most, one_part, begin)[:2]

        table, held = jax.lax.fori_loop(0, jnp.max(self.count), one_block, (table, self.wanted))
        return held, table


def _together(table: Int[Array, "row lane"], visit: _Visit) -> tuple[Any, Any]:
    """The visit of all lanes, block beside block: what an accelerator does fastest."""
    return visit.of(table, partial(touched, visit.cache.ways))


def _lane_by_lane(table: Int[Array, "row lane"], visit: _Visit) -> tuple[Any, Any]:
    """The visits of the lanes one after the other: on a CPU, which touches one block at a time anyway, none then waits for
    the longest request of all."""

    def of_lane(lane, carry):
        def made(carry):
            table, held = carry
            mine: _Visit = jax.tree.map(
                lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, lane, 1, 1) if jnp.ndim(leaf) == 2 else leaf, visit
            )
            found, table = mine.of(table, partial(touched_in, visit.cache.ways, lane))
            return table, jax.lax.dynamic_update_slice(held, found, (lane * 0, lane))

        return jax.lax.cond(visit.count[0, lane] > 0, made, lambda carry: carry, carry)

    table, held = jax.lax.fori_loop(0, table.shape[1], of_lane, (table, visit.wanted))
    return held, table


def _sets_needed(capacities, ways: int, sectors: int) -> int:
    """Sets of `ways` blocks for the memories of all bricks, given in bytes, at least one for each."""
    return sum(max(1, sets_for(np.max(one), ways, sectors)) for one in capacities)


def _block_bits(table: Any) -> int:
    return BLOCK_BITS + (32 if table.dtype.itemsize > 4 else 0)


def _overlap(
    private: CacheContents, first: Int[Array, "1 *batch"], count: Int[Array, "1 *batch"]
) -> Bool[Array, "slot *batch"]:
    return (private.first < first + count) & (first < private.first + private.count)


def blocks_held(cache: BrickLRU, private: CacheContents, lane: int = 0) -> list[np.ndarray]:
    """The blocks in the memory of each brick (of a central one: all in the first) of one lane, as NumPy arrays."""
    table = np.asarray(private.table).reshape(cache.sets, cache.ways, -1)[:, :, lane]
    bits = _block_bits(table)

    def of_lane(leaf) -> int:
        values = np.ravel(leaf)
        return int(values[lane if values.size > 1 else 0])

    found = []
    for brick in range(cache.bricks):
        memory = cache.memory(jnp.full((1, *np.shape(private.table)[1:]), brick, jnp.int32))
        first, sets = of_lane(memory.first), of_lane(memory.sets(cache.ways))
        held = table[first : first + sets].ravel() if brick == 0 or not of_lane(cache.central) else table[:0, 0]
        now = 0 if private.lost is None or of_lane(cache.central) else of_lane(private.lost[brick])
        found.append(held[(held != EMPTY) & (held >> bits == now)] & (2**bits - 1))
    return found
