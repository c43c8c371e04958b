"""The recursion by hand, and laws that it keeps. Times in ms."""

import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.analytic.forkjoin import (
    Disk,
    Network,
    Paths,
    RequestStream,
    Simulation,
    StripedSystem,
    Striping,
    completion_times,
)
from storagekit.analytic.forkjoin.recursion import path
from storagekit.core.units import KB, MB, MS


def stream(gap, work, blocks=None, read=True):
    work = jnp.asarray(work, jnp.float32)
    blocks = (work > 0).astype(jnp.float32) if blocks is None else jnp.asarray(blocks, jnp.float32)
    read = jnp.broadcast_to(jnp.asarray(read), (len(gap),))
    return RequestStream(jnp.asarray(gap, jnp.float32), read, work, blocks)


def test_two_disks_by_hand():
    """Requests at 0, 2, 4 and 100; the third asks only the second disk.

    disk 0: 10 until 10, then 1 until 11;       disk 1: 3 until 3, 6 until 9, 2 until 11
    so they take 10, 11 - 2, 11 - 4; at 100 both are idle: 5.
    """
    taken = completion_times(stream([0, 2, 2, 96], [[10, 3], [1, 6], [0, 2], [5, 4]]))
    np.testing.assert_allclose(taken, [10, 9, 7, 5], rtol=1e-6)


def test_a_read_and_a_write_with_their_ways_by_hand():
    """A write at 0, whose client sends for 8: disk 0 has its block at 5, disk 1 at 9; they write for 10 and 3, until 15
    and 12. An agent is busy for 0.5 with its acknowledgement, it travels 1, the client is busy for 0.25: 16.75.

    A read at 1: the client sends it from 8 to 8.5, the disks have it at 9; disk 0 reads two blocks from 15 to 25, disk 1 one
    from 12 to 16. An agent is busy for 2 with a block, which travels 1: from disk 1 at 18, 19 at the client; from disk 0 the
    last at 27, at the client at 28, which is busy for 4 with each of the three from 19 on, until 31 - that is not the last
    one's, 32.
    """
    write = path(8.0, [5.0, 9.0], 0.5, 1.0, 0.25)
    read = path(0.5, [1.0, 1.0], 2.0, 1.0, 4.0)
    both = stream([0, 1], [[10, 3], [10, 4]], [[1, 1], [2, 1]], [False, True])
    taken = completion_times(both, Paths(read, write))
    np.testing.assert_allclose(taken, [16.75, 32 - 1], rtol=1e-6)


def test_blocks_that_come_fast_wait_for_the_client():
    """Four blocks at once, 1 at disk and 0 on the way; the client needs 3 for each: 1 + 12, and the next waits for it."""
    slow = path(0.0, [0.0, 0.0], 0.0, 0.0, 3.0)
    taken = completion_times(stream([0, 1], [[2, 2], [2, 2]], [[2, 2], [2, 2]]), Paths(slow, slow))
    # the second request comes at 1, is served by 4, and its client is free at 13 for another 12
    np.testing.assert_allclose(taken, [13, 24], rtol=1e-6)


def test_a_week_changes_nothing():
    """A request comes, a week goes by, and then comes the stream: its times are the same to the bit."""
    generator = np.random.default_rng(0)
    gap, work = generator.exponential(size=500), 0.8 * generator.random((500, 4))
    early = completion_times(stream(gap, work))
    late = np.concatenate([[0.0, 604_800.0], gap[1:]])
    after = completion_times(stream(late, np.insert(work, 0, 0.5, axis=0)))
    np.testing.assert_array_equal(after[1:], early)


SYSTEMS = [
    StripedSystem(Disk(16 * MS, 8.3 * MS, 2.5e6), Striping(MB, unit, disks), Network(125e6, 10e-6))
    for unit, disks in ((32 * KB, 4), (32 * KB, 32), (16 * KB, 8))
]


def test_together_and_alone_are_the_same():
    rates = np.array([[system.saturation()[0] * share for share in (0.3, 0.7)] for system in SYSTEMS])
    together = Simulation(SYSTEMS, [1, 2], 800).completion(rates)
    assert together.shape == (3, 2, 2)
    for number, system in enumerate(SYSTEMS):
        alone = Simulation([system], [1, 2], 800).completion(rates[number : number + 1])
        np.testing.assert_allclose(together[number : number + 1], alone, rtol=1e-5)


def test_more_load_takes_longer_for_every_seed():
    rates = SYSTEMS[1].saturation()[0] * np.linspace(0.1, 0.95, 9)[None]
    taken = Simulation(SYSTEMS[1:2], [0, 1, 2], 1_000).completion(rates)[0]
    assert np.all(np.diff(taken, axis=0) > 0)


def test_what_is_sustained_is_where_requests_take_as_long_as_they_are_apart():
    simulation = Simulation(SYSTEMS, [0, 1], 1_500)
    rate = simulation.sustainable()
    for seed in (0, 1):
        taken = simulation.completion(rate[:, None, :])[:, 0, seed]
        np.testing.assert_allclose(taken * rate[:, seed], 1, rtol=1e-3)


def test_less_of_the_same_stream_is_the_same_stream():
    rates = np.array([[10.0]])
    long = Simulation(SYSTEMS[1:2], [4], 400)
    wide = Simulation([SYSTEMS[2], SYSTEMS[1]], [4], 400)
    np.testing.assert_allclose(long.completion(rates)[0], wide.completion(np.array([[1.0], [10.0]]))[1], rtol=1e-5)
    np.testing.assert_array_equal(long.draws.gap, wide.draws.gap)


def test_with_a_load_out_of_range_or_different_writes():
    from storagekit.core.errors import InputError

    with pytest.raises(InputError, match="rates"):
        Simulation(SYSTEMS[:1], [0], 10).completion(np.array([[0.0]]))
    other = StripedSystem(SYSTEMS[0].disk, SYSTEMS[0].striping, SYSTEMS[0].network, write_share=0.5)
    with pytest.raises(InputError, match="write shares"):
        Simulation([SYSTEMS[0], other], [0], 10)
