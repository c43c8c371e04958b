"""Memory in every brick: hashed streams against exact LRU, and every block against a list in each brick."""

from collections import OrderedDict
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, shared
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.cache import BrickLRU, LookUpQuery, bricks
from storagekit.cache.bricks import BLOCK_BITS, blocks_held
from storagekit.cache.sets import EMPTY
from storagekit.component.events import AccessStarted, BrickStopped, RequestAdmitted, StateSizes
from storagekit.core import units
from storagekit.core.batching import row_index
from storagekit.core.errors import InputError
from storagekit.core.system_facts import SystemFacts
from storagekit.drive import RateServer
from storagekit.placement import Declustered, Location, Replicas
from storagekit.workload import Requests, recorded, scramble
from storagekit.workload.reuse import hit_rates
from storagekit.workload.synthetic import FINANCIAL, generate
from storagekit.workload.trace import RequestTrace, read, request_trace

# a brick of one set stores up to MOST blocks, and all bricks together at most a full set
SECTORS, WAYS, MOST, BRICKS, SLOTS = 8, 16, 4, 4, 3
BLOCK = SECTORS * units.SECTOR
SERVER = RateServer(1000)
# the unit of hashing, sectors: 64 KB
UNIT = 128
REAL = "spc-financial1-10k/Financial1.first10000.spc.xz"


class Sent(NamedTuple):
    """Requests along the first axis, with their routing: `[request, 1, *batch]`.

    routed: the copies to which the request is sent, one bit each. receiving: the copy at the brick to which the client
    sends it. server: the copy whose disk reads it after a miss. generation: the number of memory losses of each brick
    so far, `[request, brick]`.
    """

    request: Requests
    routed: jax.Array
    receiving: jax.Array
    server: jax.Array
    generation: jax.Array | None = None


def driven(cache, placement, sent: Sent):
    """Every request enters, and a miss is read at once, as in the event loop.

    Returns the last contents, the results of the lookups, and the contents after each request.
    """

    def one(private, row: Sent):
        request = row.request
        if row.generation is not None:
            nothing = jnp.zeros((SLOTS, 1), bool), jnp.zeros((SLOTS, 1), jnp.uint32)
            private = cache.on_brick_stopped(private, BrickStopped(row.generation - private.lost, *nothing))
        location, always = placement.locate(SERVER, request), jnp.ones_like(request.read)
        found, private = cache.look_up(
            private, request, always, LookUpQuery(placement, row.routed, row.receiving, location)
        )
        slot = request.number % SLOTS
        private = cache.on_admitted(
            private,
            RequestAdmitted(
                row_index(SLOTS, slot) == slot, always, request, placement, location, row.routed, None, jnp.zeros(1)
            ),
        )
        drive = jnp.zeros((BRICKS, *always.shape[1:]), bool)
        taken = AccessStarted(
            slot,
            row.server,
            location,
            placement,
            request.read,
            ~found.hit,
            drive,
            jnp.zeros_like(slot),
            jnp.zeros_like(slot, jnp.uint32),
        )
        private = cache.on_access_started(private, taken)
        return private, (found, private.table)

    first = cache.init(StateSizes(SLOTS, BRICKS, sent.routed.shape[2:], sent.generation is not None))
    last, (found, tables) = jax.lax.scan(one, first, sent)
    return last, found, tables


step_by_step = jax.jit(driven)
outcome = jax.jit(lambda *given: driven(*given)[:2])


def requests(sector, sectors=SECTORS, reads=True, address_hash=0) -> Requests:
    """Requests from columns `[request]`."""
    sector = np.asarray(sector, np.int32)[:, None]

    def column(values, kind):
        return np.broadcast_to(np.asarray(values, kind).reshape(-1, 1), sector.shape)

    number = np.arange(len(sector), dtype=np.int32)[:, None]
    return Requests(
        number=number,
        sector=sector,
        sectors=column(sectors, np.int32),
        read=column(reads, bool),
        receiving=column(0, np.uint32),
        address_hash=column(address_hash, np.uint32),
        asynchronous=column(False, bool),
        stream=column(0, np.int32),
        client=column(0, np.int32),
    )


def sent(request: Requests, routed, receiving=0, server=0, generation=None) -> Sent:
    def column(values, kind):
        return np.broadcast_to(np.asarray(values, kind).reshape(-1, 1), request.sector.shape)

    generation = None if generation is None else np.asarray(generation, np.int32)
    return Sent(request, column(routed, np.uint32), column(receiving, np.int32), column(server, np.int32), generation)


@lru_cache
def financial() -> RequestTrace:
    """42,000 requests of 8 and 16 KB, 85% reads, with the popularity of (dsptf, Table 2)."""
    return generate(FINANCIAL.scaled(1 / 128), seed=1)


@lru_cache
def real() -> RequestTrace:
    return read(shared("traces", REAL))


def in_units(trace) -> tuple[Requests, RequestTrace]:
    """The requests of a trace as they are hashed, by UNIT and cut at its end, and the trace of the cut requests."""
    whole = recorded(trace, 2**31 - 2**20).requests
    sector = np.asarray(whole.sector)
    sectors = np.minimum(np.asarray(whole.sectors), UNIT - sector % UNIT)
    reads = np.asarray(whole.read)
    hashed = requests(sector, sectors, reads, np.asarray(scramble(jnp.asarray(sector // UNIT))))
    offset, size = (units.SECTOR * column.astype(np.int64) for column in (sector, sectors))
    return hashed, request_trace(trace.time, 0 * trace.device, offset, size, reads)


@pytest.mark.parametrize("bricks", [2, 8])
@pytest.mark.parametrize("trace", [financial, real], ids=["synthetic", "real"])
def test_with_hashing_each_brick_is_a_separate_lru(trace, bricks):
    """Each brick has 1 MB. The hit ratio of reads is within half a point of exact LRU, one per brick or one for all."""
    hashed, logical = in_units(trace())
    blocks, brick = 128, hashed.address_hash.ravel() % bricks
    stream = sent(hashed, 1 << brick, server=brick)

    def share(central):
        cache = BrickLRU.sized(blocks * 8192.0, bricks=bricks, central=central)
        return np.asarray(outcome(cache, Replicas(bricks), stream)[1].hit)[logical.read].mean()

    reads = [np.sum(logical.read[brick == own]) for own in range(bricks)]
    apart = [hit_rates(logical.take(brick == own), blocks) for own in range(bricks)]
    assert share(central=0) == pytest.approx(np.average(apart, weights=reads), abs=0.005)
    assert share(central=1) == pytest.approx(hit_rates(logical, blocks * bricks), abs=0.005)


def test_each_brick_is_an_lru_of_its_own_size():
    """Bricks of 40, 300, 0 and 150 blocks, with hashing: each hit ratio is within a point of exact LRU of its size."""
    hashed, logical = in_units(financial())
    blocks, brick = (40, 300, 0, 150), hashed.address_hash.ravel() % 4
    cache = BrickLRU.sized(tuple(held * 8192.0 for held in blocks), bricks=4)
    hit = np.asarray(outcome(cache, Replicas(4), sent(hashed, 1 << brick, server=brick))[1].hit).ravel()
    shares = [hit[logical.read & (brick == own)].mean() for own in range(4)]
    exact = [hit_rates(logical.take(brick == own), held) for own, held in enumerate(blocks)]
    assert shares == pytest.approx(exact, abs=0.01)


class Lists:
    """A plain model: the blocks of each brick in a separate list, or all of them in the first."""

    def __init__(self, capacities, central):
        self.central = central
        self.limit = [sum(capacities)] if central else list(capacities)
        self.held = [OrderedDict() for _ in self.limit]

    def put(self, brick, block):
        held = self.held[brick]
        held[block] = None
        held.move_to_end(block)
        while len(held) > self.limit[brick]:
            held.popitem(last=False)

    def move(self, blocks, to, holders):
        """Move blocks to one brick, and remove them from the memories of the other bricks that have copies."""
        for block in blocks:
            if self.central:
                self.put(0, block)
                continue
            self.put(to, block)
            for other in holders - {to}:
                self.held[other].pop(block, None)

    def look_up(self, blocks, routed) -> set[int]:
        """The bricks among `routed` that have all the blocks; the blocks they have count as touched."""
        where = {0} if self.central else routed
        for brick in where:
            for block in blocks:
                if block in self.held[brick]:
                    self.held[brick].move_to_end(block)
        return {brick for brick in where if all(block in self.held[brick] for block in blocks)}

    def lose(self, brick):
        # a single memory is not in a brick that can stop
        if not self.central:
            self.held[brick].clear()


def modelled(lists: Lists, placement, stream: Sent):
    """The copy at which each request hits (-1 for a miss), and the contents after each, most recent first."""
    bricks, copies = int(placement.drives), int(placement.parts)
    request, home = stream.request, np.ravel(placement.locate(SERVER, stream.request).home)
    before = np.zeros(bricks, int)
    found = []
    for n in range(len(home)):
        for brick in np.flatnonzero(stream.generation[n] > before):
            lists.lose(brick)
        before = stream.generation[n]
        first = int(request.sector[n, 0])
        blocks = range(first // SECTORS, (first + int(request.sectors[n, 0]) - 1) // SECTORS + 1)
        brick_of = [(int(home[n]) + copy) % bricks for copy in range(copies)]
        routed = [copy for copy in range(copies) if int(stream.routed[n, 0]) >> copy & 1]
        here = []
        if request.read[n, 0]:
            holding = lists.look_up(blocks, {brick_of[copy] for copy in routed})
            here = [copy for copy in routed if brick_of[copy] in holding]
            if lists.central and holding:
                here = [int(stream.receiving[n, 0])]
            keeper = int(stream.server[n, 0])
        else:
            hashed = int(request.address_hash[n, 0]) % copies
            keeper = hashed if hashed in routed else routed[0]
        if not here:
            lists.move(blocks, brick_of[keeper], set(brick_of))
        nearest = int(stream.receiving[n, 0]) if int(stream.receiving[n, 0]) in here else min(here, default=-1)
        found.append((nearest, [list(reversed(held)) for held in lists.held]))
    return found


STEPS, EXTENT = 24, 4 * SECTORS
layouts = st.sampled_from([Replicas(BRICKS), Declustered(BRICKS, 2, extent=EXTENT)])


@st.composite
def streams(draw):
    """Requests of up to three blocks for a few extents, each within one extent, and up to seven losses of a memory."""
    placement = draw(layouts)
    copies = int(placement.parts)
    row = st.tuples(
        st.integers(0, 5),
        st.integers(0, EXTENT - 1),
        st.integers(1, 3 * SECTORS),
        st.booleans(),
        st.integers(0, 2**32 - 1),
        st.integers(1, 2**copies - 1),
        st.integers(0, copies - 1),
        st.integers(0, copies - 1),
    )
    drawn = draw(st.lists(row, min_size=STEPS, max_size=STEPS))
    extent, location, length, reads, address_hash, routed, receiving, server = map(np.array, zip(*drawn, strict=True))
    request = requests(extent * EXTENT + location, np.minimum(length, EXTENT - location), reads, address_hash)
    generation = np.zeros((STEPS, BRICKS), np.int32)
    for step, brick in draw(st.lists(st.tuples(st.integers(0, STEPS - 1), st.integers(0, BRICKS - 1)), max_size=7)):
        generation[step:, brick] += 1
    return placement, sent(request, routed, receiving, server, generation)


def cache_of(held, **options) -> BrickLRU:
    """Bricks that store `held` blocks each."""
    capacity = tuple(BLOCK * float(one) for one in held) if isinstance(held, tuple) else BLOCK * float(held)
    return BrickLRU(capacity, bricks=BRICKS, sets=BRICKS, ways=WAYS, sectors=SECTORS, **options)


capacities = st.one_of(st.integers(0, MOST), st.tuples(*[st.integers(0, MOST)] * BRICKS))


@settings(max_examples=30, derandomize=True)
@given(streams(), capacities, st.booleans())
def test_each_brick_is_a_list_of_blocks(drawn, held, central):
    """With one set per brick it is exactly LRU: the hits and the contents agree, in order, and no block is in two
    bricks."""
    placement, stream = drawn
    each = held if isinstance(held, tuple) else (held,) * BRICKS
    expected = modelled(Lists(each, central), placement, stream)
    cache = cache_of(held, central=central)
    last, found, tables = jax.tree.map(np.asarray, step_by_step(cache, placement, stream))
    copies = np.where(found.hit, found.part, -1)
    assert copies.ravel().tolist() == [copy for copy, _ in expected]
    for table, now, (_, contents) in zip(tables, stream.generation, expected, strict=True):
        lost = 0 * now if central else now
        memories = [decoded(memory, of) for memory, of in zip(table.reshape(BRICKS, WAYS), lost, strict=True)]
        assert memories[: len(contents)] == contents
        everywhere = [block for memory in memories for block in memory]
        assert len(set(everywhere)) == len(everywhere)
    shown = blocks_held(cache, last)
    assert [memory.tolist() for memory in shown] == memories


def decoded(memory, generation) -> list[int]:
    """The blocks of a set that were stored after the brick's last loss."""
    live = memory[(memory != EMPTY) & (memory >> BLOCK_BITS == generation)]
    return (live & (2**BLOCK_BITS - 1)).tolist()


def test_a_batch_equals_the_single_runs(monkeypatch):
    """The batch has different sizes, one of them a single memory, and a different stream each. The accelerator's
    version agrees too."""
    random = np.random.default_rng(8)
    held, central, batch_size, steps = np.array([[0, 3, 20, 40]]), np.array([[0, 0, 0, 1]]), 4, 300
    drawn = {"bricks": BRICKS, "sets": 8 * BRICKS, "ways": 8, "sectors": SECTORS}
    alone = [
        sent(
            requests(random.integers(0, 900, steps), random.integers(1, 30, steps), random.random(steps) < 0.7,
                     random.integers(0, 2**32, steps)),
            *(random.integers(low, high, steps) for low, high in ((1, 2**BRICKS), (0, BRICKS), (0, BRICKS))),
        )
        for _ in range(batch_size)
    ]  # fmt: skip
    batch = jax.tree.map(lambda *columns: np.stack(columns, axis=-1), *alone)
    batched = BrickLRU(held * float(BLOCK), central=central, **drawn)
    contents, found = outcome(batched, Replicas(BRICKS), batch)
    for run in range(batch_size):
        cache = BrickLRU(held[0, run] * float(BLOCK), central=central[0, run], **drawn)
        own, here = outcome(cache, Replicas(BRICKS), alone[run])
        np.testing.assert_array_equal(found.hit[..., run], here.hit)
        np.testing.assert_array_equal(found.part[..., run], here.part)
        ours, theirs = blocks_held(batched, contents, run), blocks_held(cache, own)
        for memory, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(memory, other)
        assert max(map(len, theirs)) <= held[0, run] * (BRICKS if central[0, run] else 1)
    shares = np.mean(found.hit, axis=(0, 1))
    assert shares[0] == 0 and np.all(np.diff(shares) > 0)
    monkeypatch.setattr(bricks, "_run_by_run", bricks._together)
    together = jax.jit(lambda sent: driven(batched, Replicas(BRICKS), sent)[:2])(batch)
    jax.tree.map(np.testing.assert_array_equal, together, (contents, found))


def test_a_request_that_does_not_enter_changes_nothing():
    cache, placement = cache_of(3), Replicas(BRICKS)
    stream = sent(requests(8 * np.arange(6)), 0b1111, server=np.arange(6) % BRICKS)
    contents, _ = outcome(cache, placement, stream)
    one = jnp.zeros(1, jnp.int32)
    location = Location(None, one)
    query = LookUpQuery(placement, jnp.full(1, 0b1111, jnp.uint32), one, location)
    for reads in (True, False):
        request = jax.tree.map(lambda column: jnp.asarray(column[0]), requests([0], reads=reads))
        found, after = cache.look_up(contents, request, jnp.zeros(1, bool), query)
        assert not found.hit.any()
        np.testing.assert_array_equal(after.table, contents.table)
        never, drive = jnp.zeros(1, bool), jnp.zeros(BRICKS, bool)
        after = cache.on_access_started(
            contents, AccessStarted(one, one, location, placement, ~never, never, drive, one, one.astype(jnp.uint32))
        )
        np.testing.assert_array_equal(after.table, contents.table)


def test_a_read_waits_for_reads_that_share_a_block():
    """Slot 0 requests blocks 2 to 4, slot 1 block 7; slot 2 was never used."""
    cache = cache_of(3)
    private = cache.init(StateSizes(SLOTS, BRICKS, ()))
    for slot, (sector, sectors) in enumerate([(2 * SECTORS + 1, 2 * SECTORS), (7 * SECTORS, 1)]):
        request = jax.tree.map(lambda column: jnp.asarray(column[0]), requests([sector], sectors))
        into, location = jnp.arange(SLOTS) == slot, Replicas(BRICKS).locate(SERVER, request)
        always, routed = jnp.ones(1, bool), jnp.ones(1, jnp.uint32)
        private = cache.on_admitted(
            private, RequestAdmitted(into, always, request, Replicas(BRICKS), location, routed, None, jnp.zeros(1))
        )
    shares = {
        (1, 1): [False, False],
        (1, 2): [True, False],
        (4, 1): [True, False],
        (5, 2): [False, False],
        (0, 9): [True, True],
    }
    for (first, blocks), expected in shares.items():
        request = jax.tree.map(lambda column: jnp.asarray(column[0]), requests([first * SECTORS], blocks * SECTORS))
        assert cache.same_data(private, request).tolist() == [*expected, False], (first, blocks)


def test_the_last_block_survives_seven_losses():
    """Generations and block numbers share a word. This tests the largest of both."""
    cache, last = cache_of(2), 2**31 - 2 * SECTORS
    generation = np.zeros((16, BRICKS), np.int32)
    generation[:, 0] = np.arange(16) // 2
    stream = sent(requests(np.full(16, last)), 1, generation=generation)
    contents, found = outcome(cache, Replicas(BRICKS), stream)
    assert found.hit.ravel().tolist() == [False, True] * 8
    held = [memory.tolist() for memory in blocks_held(cache, contents)]
    assert held == [[last // SECTORS], [], [], []]


def test_one_memory_for_all_loses_nothing_when_a_brick_stops():
    cache, generation = cache_of(2, central=1), np.zeros((3, BRICKS), np.int32)
    generation[1:] = 1
    contents, found = outcome(cache, Replicas(BRICKS), sent(requests([0, 0, 0]), 1, generation=generation))
    assert found.hit.ravel().tolist() == [False, True, True]
    held = blocks_held(cache, contents)
    assert [memory.tolist() for memory in held] == [[0], [], [], []]


@pytest.mark.parametrize("central", [0, 1])
@pytest.mark.parametrize(
    ("capacity", "sets"),
    [
        (0.0, 4),
        (BLOCK * 1.5, 4),
        (BLOCK * 16.0, 4),
        (BLOCK * 17.0, 8),
        ((0.0, BLOCK * 16.0, BLOCK * 17.0, BLOCK * 33.0), 1 + 1 + 2 + 3),
        (BLOCK * np.array([[0.0, 16.0, 33.0]]), 12),
    ],
)
def test_sized_provides_for_the_largest_and_no_more(capacity, sets, central):
    options = {"bricks": BRICKS, "sectors": SECTORS, "central": central}
    assert BrickLRU.sized(capacity, **options).sets == sets
    if sets > BRICKS:
        with pytest.raises(InputError, match=f"the caches need {sets} sets; raise `sets`"):
            BrickLRU(capacity, sets=sets - 1, **options)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: BrickLRU(0.0, bricks=0, sets=1), "bricks with a cache 0: give a whole number"),
        (lambda: BrickLRU(0.0, bricks=1, sets=0), "sets of a brick's cache 0: give a whole number"),
        (lambda: BrickLRU(0.0, bricks=1, sets=1, ways=0), "ways of a brick's cache 0: give a whole number"),
        (lambda: BrickLRU(0.0, bricks=1, sets=1, sectors=0), "sectors per block of a brick's cache 0: give a whole number"),
        (lambda: BrickLRU(0.0, bricks=1, sets=1, sectors=7), "cache blocks of 7 sectors: give at least 8"),
        (lambda: BrickLRU((0.0, 0.0), bricks=3, sets=3), "2 cache sizes for 3 bricks: give one for each brick"),
        (lambda: BrickLRU(-1.0, bricks=1, sets=1), "cache of -1 bytes: it must be 0 or more and finite"),
        (lambda: BrickLRU((0.0, np.inf), bricks=2, sets=2), "cache of inf bytes: it must be 0 or more and finite"),
        (lambda: BrickLRU(np.nan, bricks=2, sets=2), "cache of nan is not a number"),
        (
            lambda: BrickLRU(33 * 8192.0, bricks=2, sets=5),
            "5 sets for the caches of 2 bricks: the caches need 6 sets; raise `sets`",
        ),
        (
            lambda: BrickLRU(0.0, bricks=1, sets=2**20 + 1),
            "1048577 sets of 16 blocks: at most 16777216 blocks are possible; lower the capacity, or raise sectors",
        ),
        (lambda: BrickLRU(0.0, bricks=1, sets=1, hit_time=-1e-3), "cache hit time -0.001 s: it must be 0 or more"),
        (
            lambda: BrickLRU(0.0, bricks=2, sets=2).check(SystemFacts(drives=3)),
            "3 bricks, but only 2 have a cache: raise BrickLRU.bricks",
        ),
    ],
)  # fmt: skip
def test_impossible_memories_are_rejected(build, message):
    assert_refused(build, message)
