"""The recursion by hand, and invariants that it satisfies. Times are in ms."""

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
    """Requests arrive at 0, 2, 4 and 100. The third has work only for the second disk.

    disk 0: 10 until 10, then 1 until 11;       disk 1: 3 until 3, 6 until 9, 2 until 11

    So they take 10, 11 - 2 and 11 - 4. At 100 both disks are idle: 5.
    """
    taken = completion_times(stream([0, 2, 2, 96], [[10, 3], [1, 6], [0, 2], [5, 4]]))
    np.testing.assert_allclose(taken, [10, 9, 7, 5], rtol=1e-6)


def test_a_read_and_a_write_with_their_paths_by_hand():
    """A write arrives at 0, and its client sends for 8. Disk 0 has its block at 5, disk 1 at 9. They write for 10 and
    3, until 15 and 12. An agent is busy for 0.5 with its acknowledgement, which travels for 1; the client is busy for
    0.25: 16.75.

    A read arrives at 1. The client sends it from 8 to 8.5, and the disks have it at 9. Disk 0 reads two blocks from 15
    to 25, disk 1 reads one from 12 to 16. An agent is busy for 2 with each block, which then travels for 1. The block
    of disk 1 leaves at 18 and reaches the client at 19. The last block of disk 0 leaves at 27 and arrives at 28. The
    client is busy for 4 with each of the three from 19 on, until 31. The last block alone ends later, at 32.
    """
    write = path(8.0, [5.0, 9.0], 0.5, 1.0, 0.25)
    read = path(0.5, [1.0, 1.0], 2.0, 1.0, 4.0)
    both = stream([0, 1], [[10, 3], [10, 4]], [[1, 1], [2, 1]], [False, True])
    taken = completion_times(both, Paths(read, write))
    np.testing.assert_allclose(taken, [16.75, 32 - 1], rtol=1e-6)


def test_blocks_that_arrive_fast_wait_for_the_client():
    """Four blocks arrive at once, after 1 at the disk and 0 on the way. The client needs 3 for each: 1 + 12, and the
    next request waits."""
    slow = path(0.0, [0.0, 0.0], 0.0, 0.0, 3.0)
    taken = completion_times(stream([0, 1], [[2, 2], [2, 2]], [[2, 2], [2, 2]]), Paths(slow, slow))
    # the second request arrives at 1 and is served by 4; its client becomes free at 13 and needs another 12
    np.testing.assert_allclose(taken, [13, 24], rtol=1e-6)


def test_a_week_changes_nothing():
    """After one request there is a pause of a week, then the stream. Its times are the same to the bit."""
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


def test_at_the_sustainable_rate_completion_time_is_interarrival_time():
    simulation = Simulation(SYSTEMS, [0, 1], 1_500)
    rate = simulation.sustainable()
    for seed in (0, 1):
        taken = simulation.completion(rate[:, None, :])[:, 0, seed]
        np.testing.assert_allclose(taken * rate[:, seed], 1, rtol=1e-3)


def test_a_stream_does_not_depend_on_the_other_systems():
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
