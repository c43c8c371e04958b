"""The latest of several disks, and bounds on the completion time in a loaded system."""

import numpy as np
import pytest

from storagekit.analytic import response_mg1
from storagekit.analytic.forkjoin import Disk, Network, Simulation, StripedSystem, Striping, completion_bounds, latest
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, MS

M2372K = Disk(16 * MS, 8.3 * MS, 2.5e6)


@pytest.mark.parametrize("disks", [1, 2, 32])
def test_the_latest_of_uniform_times_by_hand(disks):
    """For D uniform times up to 2 m, the mean of the latest is 2 m D/(D + 1)."""
    only_seek = Disk(10 * MS, 0.0, 1e6)
    assert latest(only_seek, 1000, 1, disks) == pytest.approx(1e-3 + 20 * MS * disks / (disks + 1), rel=1e-4)
    only_rotation = Disk(0.0, 10 * MS, 1e6)
    assert latest(only_rotation, 1000, 1, disks) == pytest.approx(1e-3 + 20 * MS * disks / (disks + 1), rel=1e-4)


@pytest.mark.parametrize("blocks, disks", [(1, 32), (8, 4), (64, 8)])
def test_the_latest_against_draws(blocks, disks):
    generator = np.random.default_rng(1)
    drawn = generator.random((4_000, disks, blocks, 2))
    times = M2372K.times(4 * KB, drawn[..., 0], drawn[..., 1]).sum(-1).max(-1)
    assert abs(times.mean() - latest(M2372K, 4 * KB, blocks, disks)) < 4 * times.std() / np.sqrt(len(times))


def test_no_spread_and_bad_numbers():
    assert latest(Disk(0.0, 0.0, 1e6), 1000, 3, 7) == pytest.approx(3e-3)
    with pytest.raises(InputError, match="disks 0: give a whole number"):
        latest(M2372K, 4 * KB, 1, 0)


@pytest.mark.parametrize("disks, unit", [(1, 32 * KB), (4, 32 * KB), (32, 32 * KB), (8, 4 * KB)])
def test_the_bounds_hold_for_the_recursion(disks, unit):
    """There are only reads, and processors and network cost practically nothing."""
    fast = Network(1e15)
    system = StripedSystem(M2372K, Striping(MB, unit, disks), fast, write_share=0.0)
    loads = np.array([0.05, 0.4, 0.8])
    rates = loads * disks / (system.striping.blocks * float(M2372K.mean(unit)))
    # the hosts' time is not in the bounds: add it to them
    way = system.paths().read
    outside = float(way.offset[0] + way.port + way.transit + way.receive)
    taken = Simulation([system], list(range(8)), 6_000).completion(rates[None])[0]
    error = taken.std(-1, ddof=1) / np.sqrt(8)
    low, high = completion_bounds(M2372K, unit, system.striping.rows, disks, rates)
    assert np.all(low < taken.mean(-1) - outside + 4 * error)
    assert np.all(taken.mean(-1) - 0.05 * outside - 4 * error < high + 1.05 * outside)


def test_for_one_disk_the_lower_bound_is_the_queue():
    rates = np.array([0.2, 0.7])
    mean, second = 32 * float(M2372K.mean(32 * KB)), 32 * M2372K.variance()
    low, high = completion_bounds(M2372K, 32 * KB, 32, 1, rates)
    np.testing.assert_allclose(low, response_mg1(rates, mean, second + mean**2), rtol=1e-5)
    np.testing.assert_allclose(high, low, rtol=1e-5)
    assert np.isinf(completion_bounds(M2372K, 32 * KB, 32, 1, 1.0)).all()
