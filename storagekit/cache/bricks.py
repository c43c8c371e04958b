"""Caches of bricks: a separate memory in every brick, or one central memory. No block is in two memories."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.cache.base import AbstractCache, LookUp, LookUpQuery
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
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, require, traced
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests

# Number of bits of an entry that store the number of a block; 32 more with 64-bit addresses. The higher bits store how
# many times the brick had lost its memory when the block was stored.
BLOCK_BITS = 28
WAYS, SECTORS = 16, 16

_BRICKS = partial(COUNT.up_to(10**5), "bricks with a cache")
_SETS, _WAYS = (partial(BLOCKS, f"{what} of a brick's cache") for what in ("sets", "ways"))
_SECTORS = partial(BLOCK, "sectors per block of a brick's cache")


def _capacities(given) -> Any:
    """Return the size of memory in bytes: one value for all bricks, or a tuple with one value for each brick."""
    each = named("cache of")
    return tuple(each(one) for one in given) if isinstance(given, tuple | list) else each(given)


class CacheContents(NamedTuple):
    """Private state of the caches of all bricks.

    table: the blocks of each set, from the most to the least recently used. first, count: the first block of the
    request in each slot, and the number of its blocks. lost: number of times that each brick has lost the contents of
    its memory; None if no brick ever stops.
    """

    table: Int[Array, "row *batch"]
    first: Int[Array, "slot *batch"]
    count: Int[Array, "slot *batch"]
    lost: Int[Array, "drive *batch"] | None


class BrickLRU(AbstractCache):
    """An LRU cache in every brick. Each block is in at most one cache, except for writes that are not yet on disk.

    Parameters
    ----------
    capacity : float or tuple of float
        Size of the memory of a brick, bytes. It need not be a multiple of the size of a set. One value for all bricks,
        or a tuple with one value for each brick.
    bricks : int
        Number of bricks with a cache.
    sets : int
        Total number of sets in all bricks. If runs with different capacities share a compilation, it is the number for
        the largest capacity. `BrickLRU.sized` computes this number.
    hit_time : float
        Time in seconds from the arrival of a hit to its completion, by default 0. The time of a message is added if the
        data is in a brick other than the receiving brick.
    central : int
        1 for one memory as large as the memories of all bricks together (the centralized ideal); by default 0.
    ways : int
        Number of blocks in a set, by default 16. `LRU` describes the approximation of LRU by sets.
    sectors : int
        Number of sectors in a block, at least 8, by default 16.

    Raises
    ------
    InputError
        If a number is out of range, or the capacity needs more sets than `sets`.

    Notes
    -----
    A read hits if one of its target bricks has all blocks of the read in memory. Otherwise these blocks enter the
    memory of the brick whose disk will serve the read, as soon as that brick has claimed the read. All other bricks
    with a replica drop the blocks from their memories. In D-SPTF these bricks are notified by the claim. With other
    policies, or if a claim does not arrive, the model assumes that they are notified. Therefore no block is in two
    bricks. In the paper, in contrast, a lost or late claim may leave a block in two bricks. A block belongs to
    the bricks that store the beginning of its request. If a disk is still reading the blocks for one read, a second
    read of the same blocks completes at the same time as the first.

    A write occupies a slot in the NVRAM at every replica until it is on the disk of that replica. Afterwards only one
    brick keeps the data of the write in memory: the target of reads of this data. If there are several targets, it is
    the brick with replica number hash(address) mod number of replicas. The data counts among the cached blocks of that
    brick from the arrival of the write on, and older copies are dropped. The NVRAM of the other bricks therefore takes
    no space from their caches; it contains at most one block for each slot. The cache may replace the block before it
    is on disk. Later reads then go to the disk.

    References
    ----------
    dsptf, sections 2.3 and 3.
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
        """Return a cache with the number of sets that the capacity needs.

        Parameters
        ----------
        capacity, bricks, **options
            As for the class, without `sets`.

        Returns
        -------
        BrickLRU
            The cache.

        Raises
        ------
        InputError
            If a number is out of range.
        """
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
                f"{len(self.capacity)} cache sizes for {self.bricks} bricks: give one for each brick, or one for all "
                "bricks"
            )
        check_hit_time(self.hit_time)
        require((self.central == 0) | (self.central == 1), "central", self.central, "0 or 1")
        if traced(*self._each()):
            return
        check_capacity(np.concatenate([np.ravel(one) for one in self._each()]))
        needed = _sets_needed(self._each(), self.ways, self.sectors)
        if needed > self.sets:
            raise InputError(
                f"{self.sets} sets for the caches of {self.bricks} bricks: the caches need {needed} sets; raise `sets`"
            )
        if self.sets * self.ways > MOST_BLOCKS:
            raise InputError(
                f"{self.sets} sets of {self.ways} blocks: at most {MOST_BLOCKS} blocks are possible; lower the "
                "capacity, or raise sectors"
            )

    def _each(self) -> list:
        return list(self.capacity) if isinstance(self.capacity, tuple) else [self.capacity] * self.bricks

    @property
    def block(self) -> int:
        """Return the size of a block in bytes."""
        return self.sectors * units.SECTOR

    def check(self, facts):
        if facts.brick_drives > 1:
            raise InputError(
                f"a cache in each brick of {facts.brick_drives} drives: not modelled; give bricks of one drive, or "
                "use LRU, one cache for the whole system"
            )
        if facts.drives > self.bricks:
            raise InputError(f"{facts.drives} bricks, but only {self.bricks} have a cache: raise BrickLRU.bricks")

    def init(self, sizes: StateSizes) -> CacheContents:
        table = jnp.full((self.sets * self.ways, *sizes.batch), EMPTY, int)
        first, count = (jnp.zeros((sizes.slots, *sizes.batch), kind) for kind in (int, jnp.int32))
        lost = jnp.zeros((sizes.drives, *sizes.batch), jnp.int32) if sizes.stops else None
        return CacheContents(table, first + EMPTY, count, lost)

    def memory(self, brick: Int[Array, "1 *batch"]) -> CacheSets:
        """Return the number of blocks and the first set of the memory of a brick, or of the central memory."""
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

    def look_up(self, private: CacheContents, request: Requests, entering: Bool[Array, "1 *batch"], query: LookUpQuery):
        """Look up a read at its target bricks, or store a write in memory.

        The data of a write is stored at the brick that keeps it, and dropped from the other bricks.
        """
        first, count = blocks_of(request, self.sectors)
        none = jnp.zeros_like(query.targets)
        keeper = self._keeper(request, query)
        every = query.placement.parts_of(query.location) | none
        reads, writes = entering & request.read, entering & ~request.read
        wanted = jnp.where(reads, query.targets, none)
        kept = jnp.where(writes, bit(keeper), none)
        dropped = jnp.where(writes, every & ~bit(keeper), none)
        held, table = self._visit(private, first, count, query, wanted, kept, dropped)
        here = (self.central != 0) | (held & bit(query.receiving) != 0)
        part = jnp.where(here, query.receiving, index_of(held))
        return LookUp(reads & (held != 0), part), private._replace(table=table)

    def on_admitted(self, private: CacheContents, event: RequestAdmitted) -> CacheContents:
        first, count = blocks_of(event.request, self.sectors)
        return private._replace(
            first=jnp.where(event.slot_mask, first, private.first),
            count=jnp.where(event.slot_mask, count, private.count),
        )

    def same_data(self, private: CacheContents, request: Requests):
        return _overlap(private, *blocks_of(request, self.sectors))

    def same_data_as(self, private: CacheContents, slot):
        return _overlap(private, pick(private.first, slot), pick(private.count, slot))

    def on_access_started(self, private: CacheContents, event: AccessStarted) -> CacheContents:
        """Store the data that a disk reads in the memory of its brick, and drop this data from other bricks."""
        served = bit(event.part)
        none = jnp.zeros_like(served)
        every = event.placement.parts_of(event.location)
        made = event.started & event.read
        kept = jnp.where(made, served, none)
        dropped = jnp.where(made, every & ~served, none)
        first, count = pick(private.first, event.slot), pick(private.count, event.slot)
        query = LookUpQuery(event.placement, served, event.part, event.location)
        _, table = self._visit(private, first, count, query, none, kept, dropped)
        return private._replace(table=table)

    def on_brick_stopped(self, private: CacheContents, event: BrickStopped) -> CacheContents:
        assert private.lost is not None
        return private._replace(lost=private.lost + event.bricks)

    def _keeper(self, request: Requests, query: LookUpQuery) -> Int[Array, "1 *batch"]:
        """Return the part whose brick keeps a write in memory once it is on disk (dsptf, section 3)."""
        hashed = (request.address_hash % jnp.asarray(query.placement.parts).astype(jnp.uint32)).astype(jnp.int32)
        return jnp.where(query.targets & bit(hashed) != 0, hashed, index_of(query.targets))

    def _visit(
        self, private: CacheContents, first, count, query: LookUpQuery, wanted, kept, dropped
    ) -> tuple[UInt32[Array, "1 *batch"], Int[Array, "row *batch"]]:
        """Apply the operations of a request to its blocks, in the memory of every brick with a part of the request.

        The masks select parts. Blocks of `wanted` parts move to the front if they are present. Blocks of `kept` parts
        are stored at the front. Blocks of `dropped` parts are removed. Return the mask of the wanted parts at which all
        blocks were present, and the table.
        """
        central = self.central != 0

        def at_one(masks):
            # A central memory drops nothing: the keeper of a block stores it in the same memory.
            return jnp.where(central, (masks != 0).astype(jnp.uint32), masks)

        wanted, kept = at_one(wanted), at_one(kept)
        dropped = jnp.where(central, jnp.uint32(0), dropped)
        count = jnp.where(wanted | kept | dropped != 0, count, 0)
        visit = _Visit(self, query.placement, query.location, private.lost, first, count, wanted, kept, dropped)
        if private.table.ndim == 1:
            return visit.of(private.table, partial(touched, self.ways))
        return jax.lax.platform_dependent(private.table, visit, cpu=_run_by_run, default=_together)


class _Visit(NamedTuple):
    """Arguments of `BrickLRU._visit`."""

    cache: BrickLRU
    placement: AbstractPlacement
    location: Any
    lost: Int[Array, "drive *batch"] | None
    first: Int[Array, "1 *batch"]
    count: Int[Array, "1 *batch"]
    wanted: UInt32[Array, "1 *batch"]
    kept: UInt32[Array, "1 *batch"]
    dropped: UInt32[Array, "1 *batch"]

    def of(self, table: Int[Array, "row *batch"], touch: Callable) -> tuple[Any, Any]:
        """Apply the operations to a table, block by block and part by part.

        touch: the function that applies one operation to a table in all of its runs.
        """
        central, parts = self.cache.central != 0, self.wanted | self.kept | self.dropped

        def one_part(_, carry):
            table, held, left, block, now = carry
            here = lowest(left)
            brick = self.placement.drive_of(index_of(here), self.location)
            set_and_share = self.cache.memory(brick).set_of(block, self.cache.ways)
            tag = block
            if self.lost is not None:
                lost = jnp.where(central, 0, pick(self.lost, brick))
                tag = block + (lost.astype(int) << _block_bits(table))
            masks = (self.wanted | self.kept, self.kept, self.dropped)
            touches, keeps, drops = (now & (mask & here != 0) for mask in masks)
            found, table = touch(table, Touch(tag, *set_and_share, touches, keeps, drops))
            return table, jnp.where(now & ~found, held & ~here, held), left & ~here, block, now

        def one_block(ahead, carry):
            table, held = carry
            now = ahead < self.count
            most = jnp.max(jnp.where(now, jax.lax.population_count(parts), 0).astype(jnp.int32))
            begin = (table, held, jnp.where(now, parts, 0), self.first + ahead, now)
            return jax.lax.fori_loop(0, most, one_part, begin)[:2]

        table, held = jax.lax.fori_loop(0, jnp.max(self.count), one_block, (table, self.wanted))
        return held, table


def _together(table: Int[Array, "row run"], visit: _Visit) -> tuple[Any, Any]:
    """Apply the operations of all runs simultaneously, block by block. This is the fastest way on an accelerator."""
    return visit.of(table, partial(touched, visit.cache.ways))


def _run_by_run(table: Int[Array, "row run"], visit: _Visit) -> tuple[Any, Any]:
    """Apply the operations of one run after the other.

    A CPU touches one block at a time in any case. In this order, no run waits for the longest request of the batch.
    """

    def of_run(run, carry):
        def made(carry):
            table, held = carry
            mine: _Visit = jax.tree.map(
                lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, run, 1, 1) if jnp.ndim(leaf) == 2 else leaf, visit
            )
            found, table = mine.of(table, partial(touched_in, visit.cache.ways, run))
            return table, jax.lax.dynamic_update_slice(held, found, (run * 0, run))

        return jax.lax.cond(visit.count[0, run] > 0, made, lambda carry: carry, carry)

    table, held = jax.lax.fori_loop(0, table.shape[1], of_run, (table, visit.wanted))
    return held, table


def _sets_needed(capacities, ways: int, sectors: int) -> int:
    """Return the number of sets of `ways` blocks for the memories of all bricks, at least one for each brick.

    capacities: size of the memory of each brick, bytes.
    """
    return sum(max(1, sets_for(np.max(one), ways, sectors)) for one in capacities)


def _block_bits(table: Any) -> int:
    return BLOCK_BITS + (32 if table.dtype.itemsize > 4 else 0)


def _overlap(
    private: CacheContents, first: Int[Array, "1 *batch"], count: Int[Array, "1 *batch"]
) -> Bool[Array, "slot *batch"]:
    return (private.first < first + count) & (first < private.first + private.count)


def blocks_held(cache: BrickLRU, private: CacheContents, run: int = 0) -> list[np.ndarray]:
    """Return the blocks in the memory of each brick in one run.

    Parameters
    ----------
    cache : BrickLRU
        The cache.
    private : CacheContents
        Its private state.
    run : int
        Number of the run, by default 0.

    Returns
    -------
    list of ndarray
        The block numbers in each brick. All blocks of a central memory are in the first array.
    """
    table = np.asarray(private.table).reshape(cache.sets, cache.ways, -1)[:, :, run]
    bits = _block_bits(table)

    def of_run(leaf) -> int:
        values = np.ravel(leaf)
        return int(values[run if values.size > 1 else 0])

    found = []
    for brick in range(cache.bricks):
        memory = cache.memory(jnp.full((1, *np.shape(private.table)[1:]), brick, jnp.int32))
        first, sets = of_run(memory.first), of_run(memory.sets(cache.ways))
        held = table[first : first + sets].ravel() if brick == 0 or not of_run(cache.central) else table[:0, 0]
        now = 0 if private.lost is None or of_run(cache.central) else of_run(private.lost[brick])
        found.append(held[(held != EMPTY) & (held >> bits == now)] & (2**bits - 1))
    return found
