"""Bricks fail, claims are lost, memories fill: every request completes exactly once, and no block is in two
memories."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.arbitration import Lossy
from storagekit.cache import BrickLRU
from storagekit.cache.bricks import BLOCK_BITS
from storagekit.cache.sets import EMPTY
from storagekit.dispatch import DSPTF, LARD, Hashing, NearestIdle
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System, keys
from storagekit.engine.event import event
from storagekit.engine.run import Run, Static, begin, incoming
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.placement import Declustered
from storagekit.schedule import SATF
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies, FirstCopy, Immediate, ReceivingBrick

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3)
BRICKS, BLOCK, EVENTS, CHUNK = 4, 4096, 900, 128
# there are few addresses, so that memory matters
DATA = 96
# LARD keeps state for each address; the write that one brick acknowledges is the hardest to complete without it
STATEFUL, RECEIVED = LARD(2.0, 4.0), ReceivingBrick()
OTHERS, COMPLETIONS = (Hashing(), STATEFUL, NearestIdle()), (FirstCopy(), RECEIVED, AllCopies())


def duplicates(cache: BrickLRU, contents) -> jax.Array:
    """Blocks that are in the memory of more than one brick."""
    row = jnp.arange(contents.table.size)
    of = row // cache.ways // cache.memory(jnp.zeros(1, jnp.int32)).sets(cache.ways)
    table = contents.table.ravel()
    live = (table != EMPTY) & ((table >> BLOCK_BITS) == contents.lost.ravel()[jnp.minimum(of, BRICKS - 1)])
    block = jnp.where(live, table & (2**BLOCK_BITS - 1), -1 - row)
    return jnp.sum((block[:, None] == block[None]) & (of[:, None] != of[None]))


@lru_cache
def compiled(static: Static):
    """A run of EVENTS events. For each event: the completed request, its response, and the number of blocks that are in
    two memories."""

    @jax.jit
    def run(arrays, key):
        scenario = eqx.combine(arrays, static.value)
        first = begin(scenario, key)

        def chunk(run: Run, _):
            coming = incoming(scenario, run)

            def one(state, _):
                state, report = event(scenario, coming, state)
                twice = duplicates(scenario.system.cache, state.cache)
                completed = report.completed
                return state, (completed.number, completed.response, report.admitted, twice, report.admission.hit)

            state, events = jax.lax.scan(one, run.state._replace(taken=jnp.zeros_like(run.first)), None, length=CHUNK)
            return Run(state, run.first + state.taken, run.key), events

        end, events = jax.lax.scan(chunk, first, None, length=EVENTS // CHUNK)
        return end.state, jax.tree.map(lambda leaf: leaf.reshape(-1), events)

    return run


def narrow(leaf):
    array = np.asarray(leaf)
    return array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))


def events_of(scenario: Scenario, seed: int):
    arrays, rest = eqx.partition(scenario, eqx.is_array_like)
    state, events = compiled(Static(rest))(jax.tree.map(narrow, arrays), jnp.asarray(keys([seed])[:, 0]))
    return state, [np.asarray(column) for column in events]


def system(dispatch, completion, faults, capacity, copies) -> System:
    cache = BrickLRU(capacity, bricks=BRICKS, sets=2 * BRICKS, ways=4, sectors=BLOCK // 512)
    placement = Declustered(BRICKS, copies, data=DATA * BLOCK // 512, extent=16)
    return System(DRIVE, placement, dispatch, SATF(), completion, cache=cache, faults=faults, drives=BRICKS, slots=24)


def assert_invariants(scenario: Scenario, seed: int):
    state, (number, response, admitted, twice, hit) = events_of(scenario, seed)
    completed = number[number >= 0]
    assert len(np.unique(completed)) == len(completed), "a request completes twice"
    assert np.all(response[number >= 0] >= -1e-6)
    missing = set(range(int(admitted.sum()))) - set(completed.tolist())
    inside = set(np.asarray(state.slots.number)[~np.asarray(state.slots.completed)].tolist())
    assert missing <= inside, "a request is lost"
    assert not twice.any(), "a block is in two memories"
    # every request in the system waits for a brick that is up, or its completion is already scheduled
    slots = jax.tree.map(np.asarray, state.slots)
    open_ones = ~slots.completed & (slots.number >= 0)
    down, drives = np.asarray(state.faults.down), np.arange(BRICKS)
    copy = np.asarray(scenario.system.placement.part_on(drives[:, None], slots.location))
    alive = (slots.waiting >> np.maximum(copy, 0) & 1).astype(bool) & (copy >= 0) & ~down[:, None]
    assert np.all(np.isfinite(slots.completion[open_ones]) | alive.any(axis=0)[open_ones]), "no brick serves a request"
    return len(completed), int(hit.sum())


# brick, first request and length of the outage, and time after which clients detect it
stops = st.tuples(
    st.integers(0, BRICKS - 1), st.integers(1, 150), st.integers(1, 150), st.sampled_from([0.0, 0.05, np.inf])
)
SETTINGS = {
    "copies": st.sampled_from([2, 4]),
    "read_share": st.floats(0, 1),
    "capacity": st.sampled_from([0.0, 3 * BLOCK, 8 * BLOCK]),
    "stop": stops,
    "slow": st.floats(0.2, 1),
    "seed": st.integers(0, 1000),
}


def failing(stop, slow) -> FaultSchedule:
    brick, first, length, detection = stop
    stopped, slowed = Slowdown(brick, 0.0, first, first + length), Slowdown((brick + 1) % BRICKS, slow)
    return FaultSchedule(stopped, slowed, timeout=0.2, detection=detection)


@settings(max_examples=40, derandomize=True)
@given(**SETTINGS, latency=st.floats(0, 2e-3), loss=st.sampled_from([0.0, 0.05, 0.5]), rate=st.floats(20, 250))
def test_dsptf_with_lost_claims(copies, read_share, capacity, stop, slow, seed, latency, loss, rate):
    protocol = DSPTF(latency, delivery=Lossy(loss))
    arrivals = PoissonArrivals(RandomRequests(FixedSize(BLOCK), read_share), rate)
    assert_invariants(Scenario(system(protocol, Immediate(), failing(stop, slow), capacity, copies), arrivals), seed)


@pytest.mark.parametrize("dispatch", slow_but([STATEFUL], OTHERS), ids=lambda one: type(one).__name__)
@settings(max_examples=15, derandomize=True)
@given(**SETTINGS, rate=st.floats(20, 250))
def test_other_dispatchers(dispatch, copies, read_share, capacity, stop, slow, seed, rate):
    arrivals = PoissonArrivals(RandomRequests(FixedSize(BLOCK), read_share), rate)
    assert_invariants(Scenario(system(dispatch, Immediate(), failing(stop, slow), capacity, copies), arrivals), seed)


@pytest.mark.parametrize("completion", slow_but([RECEIVED], COMPLETIONS), ids=lambda one: type(one).__name__)
@settings(max_examples=15, derandomize=True)
@given(**SETTINGS, latency=st.floats(0, 2e-3), outstanding=st.integers(1, 20))
def test_writes_in_a_closed_loop(completion, copies, read_share, capacity, stop, slow, seed, latency, outstanding):
    """A closed loop that lost a request would run dry."""
    protocol = DSPTF(latency, delivery=Lossy(0.05))
    arrivals = ClosedLoop(RandomRequests(FixedSize(BLOCK), read_share), outstanding)
    completed, _ = assert_invariants(
        Scenario(system(protocol, completion, failing(stop, slow), capacity, copies), arrivals), seed
    )
    assert completed > 50


def test_memory_is_used():
    """The checks above are not empty: reads hit, in several bricks."""
    arrivals = PoissonArrivals(RandomRequests(FixedSize(BLOCK), 0.8), 100.0)
    whole = Scenario(
        system(DSPTF(50e-6, delivery=Lossy(0.0)), Immediate(), failing((0, 50, 50, np.inf), 0.5), 8 * BLOCK, 4),
        arrivals,
    )
    completed, hits = assert_invariants(whole, 1)
    assert completed > 80 and hits > 10
