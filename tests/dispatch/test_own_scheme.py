"""The random word of each request: its guarantees for a user's own dispatcher, and its cost for the others."""

import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import recorded_requests
from own_scheme import RandomOfTwo
from scipy import stats

from storagekit.component.events import StateSizes
from storagekit.core.batching import bit, row_index
from storagekit.dispatch import AsManyAsNeeded, Broadcast, DispatchSwitch, Hashing, ShortestQueue
from storagekit.drive import RateServer
from storagekit.engine import Record, Runner, Scenario, System, keys
from storagekit.engine import run as engine_run
from storagekit.engine.run import begin, chunk
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import sweep
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests, Threads, below

SERVER = RateServer(1000.0)
READS = RandomRequests(FixedSize(512), 1.0)
SEEDS = (3, 8)
WATCHED = 200


class Recording(AsManyAsNeeded):
    """Dispatch as `of` does, and store the word of each request in the private state."""

    of: Any

    def init(self, sizes: StateSizes):
        return jnp.zeros((WATCHED, *sizes.batch), jnp.uint32)

    def route(self, private, request, entering, view):
        routed, _ = self.of.route(None, request, entering, view)
        now = (row_index(WATCHED, private) == request.number) & entering
        return routed, jnp.where(now, view.word, private)


def trace() -> Any:
    draw = np.random.default_rng(0)
    return recorded_requests(draw, draw.integers(0, 1000, 2 * WATCHED), np.ones(2 * WATCHED, int), 1.0, 1e-3)


ARRIVALS = {
    "closed loop": ClosedLoop(READS, 6),
    "open": PoissonArrivals(READS, 500.0),
    "threads": Threads(READS, 6, think=1e-3),
    "trace": trace(),
}


def words_of(arrivals, of) -> np.ndarray:
    """The words of the first requests, `[request, seed]`."""
    system = System(SERVER, Replicas(3), Recording(of), FCFS(), slots=64)
    runner = Runner(*batched(Scenario(system, arrivals)), Record())
    while np.min(runner.run.first) < WATCHED:
        runner.advance(2)
    return np.asarray(runner.run.state.dispatch)


def batched(scenario: Scenario) -> tuple[Scenario, np.ndarray]:
    leaves = jax.tree.map(lambda leaf: leaf if np.ndim(leaf) else np.full((1, len(SEEDS)), leaf), scenario)
    return leaves, keys(SEEDS)


@pytest.fixture(scope="module", params=ARRIVALS)
def words(request) -> tuple[np.ndarray, np.ndarray]:
    """The words under a scheme that sends to one replica, and under one that sends to all. Other requests wait, in
    another order."""
    arrivals = ARRIVALS[request.param]
    return words_of(arrivals, Hashing()), words_of(arrivals, Broadcast())


def test_a_request_has_the_same_word_under_every_scheme(words):
    one, other = words
    np.testing.assert_array_equal(one, other)


def test_every_request_and_every_seed_has_a_different_word(words):
    """Two of 400 words of 32 bits are equal only once in 50,000 cases. Each of the 32 bits is set in half of the
    words."""
    one, _ = words
    assert len(np.unique(one)) == one.size == WATCHED * len(SEEDS)
    share = np.unpackbits(one.view(np.uint8).reshape(*one.shape, 4), axis=-1).mean(axis=(0, 1))
    assert np.all(np.abs(share - 0.5) < 5 * np.sqrt(0.25 / one.size))
    assert abs(stats.spearmanr(one[:, 0], one[:, 1]).statistic) < 5 / np.sqrt(WATCHED)


def instructions(dispatch, monkeypatch, drawn: bool) -> int:
    """The number of instructions of a compiled chunk, with the engine's words or with zeros instead."""
    if not drawn:
        nothing = jnp.zeros((engine_run.CHUNK, 1), jnp.uint32)
        monkeypatch.setattr(engine_run, "words", lambda *_: (nothing, nothing))
    scenario = Scenario(System(SERVER, Replicas(2), dispatch, FCFS(), slots=8), ClosedLoop(READS, 4))
    arrays, rest = eqx.partition(scenario, eqx.is_array_like)
    arrays = jax.tree.map(lambda leaf: jnp.full((1, 1), leaf), arrays)
    key = jnp.asarray(keys([0]))

    def advance(arrays, run):
        return chunk(eqx.combine(arrays, rest), run, Record())

    run = jax.jit(lambda arrays: begin(eqx.combine(arrays, rest), key))(arrays)
    compiled = jax.jit(advance).lower(arrays, run).compile().as_text()
    return len(re.findall(r"^\s+(?:ROOT )?%?\S+ = ", compiled, re.MULTILINE))


@pytest.mark.parametrize(
    ("dispatch", "reads"), [(Hashing(), False), (ShortestQueue(2), True)], ids=["hashing", "sampled"]
)
def test_the_word_is_free_for_dispatchers_that_do_not_read_it(dispatch, reads, monkeypatch):
    """The compiled program has the same number of instructions as without words, unless the dispatcher reads them."""
    with_words = instructions(dispatch, monkeypatch, True)
    without = instructions(dispatch, monkeypatch, False)
    assert with_words > without if reads else with_words == without


class AtRandom(AsManyAsNeeded):
    """Send to one random part at any load."""

    def route(self, private, request, entering, view):
        return bit(below(view.word, view.parts)), private


@pytest.mark.slow
def test_random_of_two_shortens_queues_as_sampling_two_does():
    """Four servers have a load of four fifths. The own scheme has the same mean response as `ShortestQueue(2)`, within
    four standard errors of independent runs. Both are far better than one random server (Mitzenmacher 2001)."""
    names, schemes = ["one", "two", "library"], (AtRandom(), RandomOfTwo(), ShortestQueue(2))

    def build(scheme):
        dispatch = DispatchSwitch(schemes, names.index(scheme))
        return Scenario(System(SERVER, Replicas(4), dispatch, FCFS(), slots=64), PoissonArrivals(READS, 3200.0))

    found = sweep(build, {"scheme": names}, seeds=16, requests=4000)
    mean, error = found.response.mean("seed"), found.response.std("seed") / 4
    apart = abs(float(mean.sel(scheme="two") - mean.sel(scheme="library")))
    assert apart < 4 * float(np.hypot(*error.sel(scheme=["two", "library"])))
    assert float(mean.sel(scheme="one")) > 1.5 * float(mean.sel(scheme="two"))


def test_a_trace_has_different_random_choices_for_every_seed():
    """The server has no spindles, so only the dispatcher's random choices differ between seeds."""

    def build():
        return Scenario(System(SERVER, Replicas(4), RandomOfTwo(), FCFS(), slots=64), trace())

    response = sweep(build, {}, seeds=4, requests=2 * WATCHED).response
    assert len(np.unique(response)) == 4
