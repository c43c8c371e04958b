"""The LRU cache against a plain list of blocks, and, with several sets, against the stack distances of
workload.reuse."""

from collections import OrderedDict
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, shared
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.cache import LRU, AbstractCache, NoCache, RecordedLRU, sets_for
from storagekit.cache.sets import Touch, one_by_one, side_by_side
from storagekit.component.events import StateSizes
from storagekit.workload import recorded
from storagekit.workload.reuse import hit_rates, read_distances
from storagekit.workload.trace import read, request_trace

BLOCK = 8192
SECTORS = 16
REAL = (
    "spc-financial1-10k/Financial1.first10000.spc.xz",
    "hplajw-1992/ajw.1week.srt.xz",
    "cello-hpl-2003/hourly.03126.srt.bz2",
)


def plain(sector, sectors, reads, capacity):
    """Whether each request hits in a list of the `capacity` blocks touched last."""
    held: OrderedDict[int, None] = OrderedDict()
    hit = []
    for at, length, is_read in zip(sector, sectors, reads, strict=True):
        blocks = range(at // SECTORS, (at + length - 1) // SECTORS + 1)
        hit.append(is_read and all(block in held for block in blocks))
        for block in blocks:
            held[block] = None
            held.move_to_end(block)
            while len(held) > capacity:
                held.popitem(last=False)
    return hit


def in_a_batch(column, batch):
    return np.repeat(np.asarray(column)[:, None], batch, axis=1)


# Sector, sectors and read flag of each request, and the capacity in blocks.
streams = given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 48), st.booleans()), min_size=24, max_size=24),
    st.integers(0, 8),
)


@streams
@settings(max_examples=30)
def test_recorded_distances_give_exactly_lru(hits, rows, capacity):
    sector, sectors, reads = (np.array(column) for column in zip(*rows, strict=True))
    trace = request_trace(np.arange(24.0), np.zeros(24), sector * 512, sectors * 512, reads)
    distances = np.minimum(read_distances(trace, BLOCK), np.iinfo(np.int32).max).astype(np.int32)
    found = hits(RecordedLRU(distances, float(capacity * BLOCK)), sector, sectors, reads)
    assert found.tolist() == plain(sector, sectors, reads, capacity)


def test_recorded_distances_count_the_requests_before_the_part():
    """Only the second half of a trace runs, with distances over the whole trace. Blocks touched in the first half are
    in the cache."""
    touched = np.tile(np.arange(4), 2)
    trace = request_trace(np.arange(8.0), np.zeros(8), touched * BLOCK, np.full(8, BLOCK), np.ones(8, bool))
    late = read_distances(trace, BLOCK)[4:].astype(np.int32)
    assert late.tolist() == [4, 4, 4, 4]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"capacity": -1.0}, "cache of -1 bytes"),
        ({"sectors": 0}, "sectors per block of an LRU cache 0"),
        ({"hit_time": -1.0}, "hit time"),
    ],
)
def test_a_bad_recorded_cache_is_rejected(fields, message):
    assert_refused(lambda: RecordedLRU(np.zeros(3, np.int32), **fields), message)


@streams
@settings(max_examples=30)
def test_one_set_is_exactly_lru(hits, rows, capacity):
    """Hits agree request for request: with several blocks per request, writes, blocks shared by neighbours, and every
    capacity."""
    sector, sectors, reads = (np.array(column) for column in zip(*rows, strict=True))
    found = hits(LRU(float(capacity * BLOCK), sets=1, ways=8), sector, sectors, reads)
    assert found.tolist() == plain(sector, sectors, reads, capacity)


def test_by_hand(hits):
    """The cache has two blocks, the accesses are a b a c a b. a stays because it was touched after b. b, replaced by c,
    misses."""
    sector = np.array([0, 16, 0, 32, 0, 16])
    found = hits(LRU(2.0 * BLOCK, sets=1, ways=4), sector)
    assert found.tolist() == [False, False, True, False, True, False]


def test_writes_never_hit_and_stay_for_reads(hits):
    sector, reads = np.zeros(3, int), np.array([False, False, True])
    assert hits(LRU(4.0 * BLOCK, sets=1), sector, read=reads).tolist() == [False, False, True]


def test_a_read_hits_only_if_all_its_blocks_are_cached(hits):
    """A read brings in blocks 0 and 1. Sectors 8 to 24 lie in both; sectors 24 to 40 reach into block 2."""
    sector, sectors = np.array([0, 8, 24, 24]), np.array([32, 16, 16, 16])
    assert hits(LRU(8.0 * BLOCK, sets=1), sector, sectors).tolist() == [False, True, False, True]


@pytest.mark.parametrize("capacity", [0.0, BLOCK - 512.0])
def test_less_than_a_block_never_hits(hits, capacity):
    assert not hits(LRU(capacity, sets=4), np.zeros(20, int)).any()


def test_no_cache_never_hits(hits):
    assert not hits(NoCache(), np.zeros(20, int)).any()
    assert jax.tree.leaves(NoCache().init(StateSizes(1, 1, (3,)))) == [] and float(NoCache().hit_time) == 0


@pytest.mark.parametrize(
    "cache", [NoCache(), LRU(100.0 * BLOCK, 1e-4, sets=4, ways=32)], ids=lambda c: type(c).__name__
)
def test_every_cache_fulfils_the_contract(hits, cache):
    """Requests that do not enter, writes and untouched blocks never hit. Hits are the same alone and in a batch."""
    assert isinstance(cache, AbstractCache) and np.all(np.asarray(cache.hit_time) >= 0)
    random = np.random.default_rng(5)
    sector, reads, entering = random.integers(0, 300, 400) * 16, random.random(400) < 0.7, random.random(400) < 0.8
    alone = hits(cache, sector, 16, reads, entering)
    assert alone.shape == (400,) and not np.any(alone & ~(reads & entering))
    first = np.isin(np.arange(400), np.unique(sector, return_index=True)[1])
    assert not np.any(alone & first)
    batch = [in_a_batch(column, 3) for column in (sector, np.full(400, 16), reads, entering)]
    assert hits(cache, *batch).tolist() == in_a_batch(alone, 3).tolist()


def zipf(exponent, random):
    weight = np.arange(1, 20_001) ** -exponent
    return random.permutation(20_000)[random.choice(20_000, 30_000, p=weight / weight.sum())]


def sliding(random):
    return np.arange(30_000) // 10 + random.integers(0, 2000, 30_000)


def looping(_):
    """Passes over 1,200 blocks, ten times each."""
    step = np.arange(36_000)
    return step % 1200 + step // 12_000 * 1200


@pytest.mark.parametrize(
    "stream", [lambda random: zipf(0.8, random), lambda random: zipf(1.1, random), sliding, looping],
    ids=["zipf-0.8", "zipf-1.1", "sliding", "looping"],
)  # fmt: skip
def test_sets_cost_less_than_half_a_point(hits, stream):
    """Different capacities, none a power of two, share a batch and a compilation with the largest."""
    blocks = stream(np.random.default_rng(2))
    held = np.array([500, 999, 1500, 3001])
    cache = LRU((held * float(BLOCK))[None], sets=sets_for(3001 * BLOCK))
    found = hits(cache, in_a_batch(blocks * SECTORS, held.size)).mean(axis=0)
    np.testing.assert_allclose(found, hit_rates(blocks, held), atol=0.005)


@pytest.mark.parametrize("name", REAL)
def test_real_traces_hit_as_exact_lru_does(hits, name):
    """Hits are within a point of exact LRU with a tenth less or more memory, because the traces' curves have cliffs."""
    trace = read(shared("traces", name))
    requests = recorded(trace, 2**31 - 2**20).requests
    columns = [np.asarray(column) for column in (requests.sector, requests.sectors, requests.read)]
    sector, sectors, reads = columns
    logical = request_trace(trace.time, 0 * trace.device, sector.astype(int) * 512, sectors.astype(int) * 512, reads)
    held = np.array([64, 256, 1024, 4096])
    cache = LRU((held * float(BLOCK))[None], sets=sets_for(4096 * BLOCK))
    found = hits(cache, *(in_a_batch(column, held.size) for column in columns))[reads].mean(axis=0)
    assert np.all(found >= hit_rates(logical, 0.9 * held) - 0.01)
    assert np.all(found <= hit_rates(logical, 1.1 * held) + 0.01)


def test_a_batch_of_different_capacities_equals_the_single_runs(hits):
    random = np.random.default_rng(3)
    sector, sectors, reads = random.integers(0, 4000, 500), random.integers(1, 60, 500), random.random(500) < 0.7
    held = [0, 3, 40, 77]
    batch = hits(
        LRU(np.array([held]) * float(BLOCK), sets=10, ways=8),
        *(in_a_batch(column, len(held)) for column in (sector, sectors, reads)),
    )
    for run, blocks in enumerate(held):
        alone = hits(LRU(float(blocks * BLOCK), sets=10, ways=8), sector, sectors, reads)
        np.testing.assert_array_equal(batch[:, run], alone)
    assert batch.any(axis=0).tolist() == [False, True, True, True]


def test_a_batch_of_different_streams_equals_the_single_runs(hits):
    """The request of one run may have fewer blocks than the request of the next."""
    random = np.random.default_rng(7)
    sector, sectors = random.integers(0, 900, (300, 3)), random.integers(1, [10, 30, 90], (300, 3))
    cache = LRU(40.0 * BLOCK, sets=5, ways=8)
    batch = hits(cache, sector, sectors)
    for run in range(3):
        np.testing.assert_array_equal(batch[:, run], hits(cache, sector[:, run], sectors[:, run]))


def test_a_run_without_a_request_is_unchanged(hits):
    """Odd requests enter only in run 1, so run 0 sees only the even ones."""
    random = np.random.default_rng(4)
    sector, sectors = random.integers(0, 600, 200), random.integers(1, 60, 200)
    entering = np.stack([np.arange(200) % 2 == 0, np.full(200, True)], axis=1)
    cache = LRU(20.0 * BLOCK, sets=3, ways=8)
    found = hits(cache, in_a_batch(sector, 2), in_a_batch(sectors, 2), True, entering)
    assert not found[1::2, 0].any() and found[1::2, 1].any()
    np.testing.assert_array_equal(found[::2, 0], hits(cache, sector[::2], sectors[::2]))


@pytest.mark.parametrize("batch", [(), (1,), (5,)])
def test_an_accelerator_touches_as_a_cpu_does(batch):
    random = np.random.default_rng(6)
    tables = [jnp.asarray(random.permutation(40)[: 4 * 6], jnp.int32)] * 2
    tables = [jnp.broadcast_to(table.reshape(24, *(1 for _ in batch)), (24, *batch)) for table in tables]

    def column(low, high):
        return jnp.asarray(random.integers(low, high, (1, *batch)), jnp.int32)

    ways = [jax.jit(partial(way, 4)) for way in (one_by_one, side_by_side)]
    for _ in range(40):
        touch = Touch(
            column(0, 40), column(0, 6) * 4, column(0, 5), column(0, 2) == 1, column(0, 2) == 1, column(0, 2) == 1
        )
        held, tables = zip(*(way(table, touch) for way, table in zip(ways, tables, strict=True)), strict=True)
        np.testing.assert_array_equal(*held)
        np.testing.assert_array_equal(*tables)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: LRU(-1.0), "cache of -1 bytes: it must be 0 or more"),
        (lambda: LRU(np.inf), "cache of inf bytes: it must be 0 or more and finite"),
        (lambda: LRU(100.0 * BLOCK, sets=2, ways=8), "8192 bytes hold less; raise sets to 13"),
        (lambda: LRU(0.0, sets=0), "sets of an LRU cache 0: give a whole number, between 1"),
        (lambda: LRU(0.0, ways=0), "ways of an LRU cache 0: give a whole number"),
        (lambda: LRU(0.0, sectors=0), "sectors per block of an LRU cache 0: give a whole number"),
        (lambda: LRU(0.0, sets=2**20, ways=32), "at most 16777216 blocks are possible; lower sets, or raise sectors"),
        (lambda: LRU(0.0, -1.0), "cache hit time -1 s: it must be 0 or more and finite"),
    ],
)
def test_impossible_caches_are_refused(build, message):
    assert_refused(build, message)
