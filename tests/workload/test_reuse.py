"""Test stack distances against counting, and hit rates against caches that keep a list."""

from collections import OrderedDict

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from storagekit.workload.reuse import NEVER, hit_rates, read_distances, stack_distances
from storagekit.workload.trace import read, request_trace

KB8 = 8192


def plain_lru(touches, reads, capacity):
    """Return the hit rate of reads in a plain LRU cache; `touches` has the blocks of each request."""
    cached: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for blocks, is_read in zip(touches, reads, strict=True):
        hits += is_read and all(block in cached for block in blocks)
        for block in blocks:
            cached[block] = None
            cached.move_to_end(block)
            while len(cached) > capacity:
                cached.popitem(last=False)
    return hits / sum(reads)


def test_distances_by_hand():
    """In a b c b b a, b follows c, b follows itself, and a follows b and c."""
    distances = stack_distances(np.array([7, 3, 9, 3, 3, 7]))
    assert distances.tolist() == [NEVER, NEVER, NEVER, 2, 1, 3]


def test_distances_of_requests_by_hand():
    """Read a b, write c, read b, read a c, write b.

    The distance of a request is the distance of its farther block; writes never hit.
    """
    offset, size = np.array([0, 2, 1, 0, 1]) * KB8, np.array([2, 1, 1, 3, 1]) * KB8
    trace = request_trace(np.arange(5.0), np.zeros(5), offset, size, np.array([1, 0, 1, 1, 0], bool))
    assert read_distances(trace, KB8).tolist() == [NEVER, NEVER, 2, 3, NEVER]
    assert [read_distances(trace, KB8, first).tolist() for first in (3, 5)] == [[3, NEVER], []]


def test_a_loop_hits_from_its_length_on():
    """Loop over ten blocks: LRU with nine blocks finds none of them, and with ten all after the first round."""
    loop = np.tile(np.arange(10), 20)
    np.testing.assert_array_equal(hit_rates(loop, [0, 1, 9, 10, 11]), [0, 0, 0, 0.95, 0.95])


@given(st.lists(st.integers(0, 12), min_size=1, max_size=80))
def test_distances_count_the_blocks_between(blocks):
    blocks = np.array(blocks)
    for touch, distance in enumerate(stack_distances(blocks)):
        before = np.flatnonzero(blocks[:touch] == blocks[touch])
        assert distance == (len(set(blocks[before[-1] : touch].tolist())) if before.size else NEVER)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=80), st.integers(0, 80))
def test_distances_of_the_last_touches_equal_those_in_the_whole_stream(blocks, first):
    """Of touches before the first one of interest, only the last touch of each block counts."""
    touched = np.array(blocks)
    np.testing.assert_array_equal(stack_distances(touched, first), stack_distances(touched)[first:])


@given(
    st.lists(st.tuples(st.integers(0, 9 * KB8), st.integers(1, 3 * KB8), st.booleans()), min_size=1, max_size=40),
    st.integers(0, 12),
)
def test_a_trace_has_the_hit_rate_of_a_plain_lru(rows, capacity):
    """Requests have several blocks; writes never hit and are stored."""
    offset, size, reads = (np.array(column) for column in zip(*rows, strict=True))
    reads[0] = True
    trace = request_trace(np.arange(len(rows)), np.zeros(len(rows)), offset, size, reads)
    touches = [range(at // KB8, (at + length - 1) // KB8 + 1) for at, length in zip(offset, size, strict=True)]
    assert hit_rates(trace, [capacity])[0] == pytest.approx(plain_lru(touches, reads, capacity))


def test_devices_lie_end_to_end():
    """One address on two devices is two blocks; the second device begins after the last byte of the first."""
    trace = request_trace([0, 1, 2], [0, 1, 0], [0, 0, 0], [KB8] * 3, [True] * 3)
    np.testing.assert_allclose(hit_rates(trace, [1, 2]), [0, 1 / 3])


def test_a_larger_cache_never_hits_less():
    random = np.random.default_rng(0)
    blocks = random.zipf(1.2, 20_000) % 5000
    rates = hit_rates(blocks, np.arange(6000))
    assert np.all(np.diff(rates) >= 0) and rates[0] == 0
    assert rates[-1] == pytest.approx(1 - len(np.unique(blocks)) / len(blocks))


def test_capacities_keep_their_shape():
    assert hit_rates(np.array([1, 1]), [[1, 2], [0, 3]]).tolist() == [[0.5, 0.5], [0, 0.5]]
    assert hit_rates(np.array([1, 1]), 1).shape == ()


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: read_distances(request_trace([0.0], [0], [0], [1], [True]), first=-1),
            "first request -1: it must be 0",
        ),
        (lambda: hit_rates(np.array([1]), [4, -2]), "cache of -2 blocks: it must be 0 or more"),
        (lambda: hit_rates(np.zeros(0, int), [1]), "without reads has no hit rate"),
        (lambda: hit_rates(request_trace([0.0], [0], [0], [1], [False]), [1]), "without reads has no hit rate"),
        (lambda: hit_rates(request_trace([0.0], [0], [0], [1], [True]), [1], block=0), "blocks of 0 bytes: give at l"),
    ],
)
def test_impossible_calls_raise(call, message):
    assert_refused(call, message)


def test_real_trace_against_a_plain_lru(shared):
    trace = read(shared / "spc-financial1-10k/Financial1.first10000.spc.xz")
    joined = trace.concatenated()
    touches = [
        range(at // KB8, (at + length - 1) // KB8 + 1) for at, length in zip(joined.offset, joined.size, strict=True)
    ]
    for capacity in (64, 1024):
        assert hit_rates(trace, capacity) == pytest.approx(plain_lru(touches, trace.read, capacity))
