"""NumPy computes keys, random words and phases before a run exactly as JAX would."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.dispatch import Hashing
from storagekit.drive import load_drive
from storagekit.engine import Record, Runner, Scenario, System, keys
from storagekit.engine.batch import signature
from storagekit.engine.state import random_phases
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.workload.randomness import threefry, word_at, words

SEEDS = [0, 1, 7, 2**31 - 1, 2**31, 2**32 - 1]


def test_keys_equal_the_keys_of_jax():
    made = [jax.random.key_data(jax.random.key(seed, impl="threefry2x32")) for seed in SEEDS]
    assert np.array_equal(keys(SEEDS), np.stack(made, axis=1))
    assert keys(SEEDS).dtype == np.uint32


def test_words_on_the_host_equal_the_words_of_the_loop():
    counter = np.array([0, 1, 2, 2**31, 2**32 - 1], np.uint32)[:, None] + np.arange(len(SEEDS), dtype=np.uint32)
    block = counter[::-1].copy()
    ours = threefry(keys(SEEDS), counter, block)
    theirs = word_at(jnp.asarray(keys(SEEDS)), jnp.asarray(counter.view(np.int32)), jnp.asarray(block.view(np.int32)))
    assert np.array_equal(ours, theirs)


def test_words_outside_of_a_program_are_compiled_once(compilations):
    for seed in range(3):
        for block in range(3):
            words(keys([seed])[:, 0], jnp.asarray([7 + seed]), 11, block)
        # the first call compiles; the numbers of later calls compile nothing
        assert len(compilations) == 0 or seed == 0
        compilations.clear()


def test_words_equal_the_test_vectors_of_random123():
    """Use the known results of Random123's threefry2x32 with 20 rounds: keys, counters, words."""
    zeros, ones = np.zeros((2, 1), np.uint32), np.full((2, 1), 2**32 - 1, np.uint32)
    assert np.ravel(threefry(zeros, zeros[:1], zeros[:1])).tolist() == [0x6B200159, 0x99BA4EFE]
    assert np.ravel(threefry(ones, ones[:1], ones[:1])).tolist() == [0x1CB996FC, 0xBB002BE7]


@pytest.mark.parametrize("drives", [1, 3, 32])
def test_phases_equal_the_uniform_numbers_of_jax(drives):
    def of_one(data):
        return jax.random.uniform(jax.random.wrap_key_data(data), (drives,), jnp.float32)

    with jax.threefry_partitionable(True):
        theirs = np.stack([of_one(keys([seed])[:, 0]) for seed in SEEDS], axis=1)
    assert np.array_equal(random_phases(keys(SEEDS), drives), theirs)
    assert np.array_equal(random_phases(keys(SEEDS)[:, 2], drives), theirs[:, 2])
    assert np.array_equal(jax.jit(lambda key: random_phases(key, drives))(keys(SEEDS)), theirs)


def loop(replicas: int = 2, depth: int = 4, size: int = 4096) -> Scenario:
    system = System(load_drive("atlas10k"), Replicas(replicas), Hashing(), FCFS(), slots=16)
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(size), read_share=1.0), depth))


def test_a_program_compiled_ahead_is_the_program_that_runs():
    """The program is compiled once and gives the same results as without compilation ahead."""
    compiled = []

    def on_duration(name, seconds, **more):
        if name.endswith("backend_compile_duration"):
            compiled.append(more["fun_name"])

    ahead = Runner(loop(), keys([3, 4])[:, 0], Record())
    jax.monitoring.register_event_duration_secs_listener(on_duration)
    try:
        ahead.compile(3)
        assert compiled == ["jit(_advance)"]
        tally, _ = ahead.advance(3)
    finally:
        jax.monitoring.unregister_event_duration_listener(on_duration)
    assert compiled == ["jit(_advance)"]
    plain, _ = Runner(loop(), keys([3, 4])[:, 0], Record()).advance(3)
    assert all(np.array_equal(tally[name], plain[name]) for name in plain)


def test_scenarios_that_differ_in_numbers_share_a_signature():
    assert signature(loop()) == signature(loop(depth=8, size=8192))
    assert signature(loop()) != signature(loop(replicas=3))
