"""Test drives and slots that the user does not give: they are determined, and do not affect the results."""

import numpy as np
import pytest
import xarray as xr

from storagekit.core.errors import InputError
from storagekit.dispatch import DSPTF, Hashing
from storagekit.drive import RateServer, load_drive
from storagekit.engine import Record, Runner, Scenario, System, keys
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import provisioning, replicate, simulate, sweep
from storagekit.simulation.provisioning import FEWEST, fewest, groups
from storagekit.simulation.run_length import run_length
from storagekit.simulation.shards import SweepSettings, finished, grouped
from storagekit.workload import ClosedLoop, ExponentialSize, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import Immediate, ReceivingBrick

SMALL = RandomRequests(ExponentialSize(4096), read_share=0.9)


def loop(replicas=2, depth=8, **given) -> Scenario:
    system = System(load_drive("atlas10k"), Replicas(replicas), DSPTF(), SATF(), ReceivingBrick(), **given)
    return Scenario(system, ClosedLoop(SMALL, depth))


def same(left: xr.Dataset, right: xr.Dataset) -> bool:
    """Return whether two results are equal, without bricks that `left` does not have."""
    right = right.isel(brick=slice(0, left.sizes["brick"]))
    return all(np.array_equal(left[name], right[name], equal_nan=True) for name in left)


def test_a_system_has_as_many_drives_as_its_placement():
    assert loop(replicas=5).system.drives == 5
    with pytest.raises(InputError, match="a layout of 5 drives in a system of 4"):
        loop(replicas=5, drives=4)


def test_idle_drives_and_free_slots_change_nothing():
    """Results are equal to the last bit.

    Random phases do not depend on the number of drives, and choices do not depend on empty rows.
    """
    few = simulate(loop(drives=2, slots=64), requests=2000)
    assert same(few, simulate(loop(drives=3, slots=128), requests=2000))
    assert same(few, simulate(loop(), requests=2000))


def test_a_sweep_over_numbers_of_drives_is_one_batch():
    points = [loop(replicas) for replicas in (2, 3, 5)]
    ((point_indices, padded),) = groups(points)
    assert point_indices == [0, 1, 2] and {one.system.drives for one in padded} == {5}
    assert len(list(groups([loop(slots=64), loop(slots=128)]))) == 2  # given slots stay unchanged


@pytest.mark.slow
def test_slots_grow_until_no_arrival_waits_outside():
    """Writes complete immediately, leave the loop and keep their slots.

    With 40% writes to 8 copies they need more slots than the first attempt has.
    """
    system = System(load_drive("atlas10k"), Replicas(8), Hashing(), SATF(), Immediate())
    scenario = Scenario(system, ClosedLoop(RandomRequests(FixedSize(4096), read_share=0.6), 16))
    tight = System(load_drive("atlas10k"), Replicas(8), Hashing(), SATF(), Immediate(), slots=fewest([scenario]))
    with pytest.raises(InputError, match=f"waited outside, because {FEWEST} slots"):
        replicate(Scenario(tight, scenario.arrivals), seeds=2, requests=2000)
    assert not replicate(scenario, seeds=2, requests=2000).blocked.any()


def test_only_points_that_wait_for_a_slot_are_repeated():
    def server(rate, slots=None) -> Scenario:
        system = System(RateServer(1e4), Replicas(1), Hashing(), FCFS(), slots=slots)
        return Scenario(system, PoissonArrivals(RandomRequests(FixedSize(512), read_share=1.0), rate=rate))

    effort = {"seeds": 2, "requests": 1000, "warm_up": 200}
    axes = {"rate": [5000.0, 10.0, 9000.0]}
    found = sweep(server, axes, slots=[2, 64], **effort, allow_blocked=True)
    given = sweep(lambda rate: server(rate, 64), axes, **effort, allow_blocked=True)
    assert same(found, given)
    scenarios = [server(rate) for rate in axes["rate"]]
    (piece,) = grouped(scenarios, 2, [2, 64])
    done = finished(piece, SweepSettings((0, 1), run_length(1000, None, 200)))
    assert done.slots.tolist() == [64, 2, 64]


def test_an_overload_raises_with_the_number_of_slots(monkeypatch):
    monkeypatch.setattr(provisioning, "MOST", 256)
    server = System(RateServer(1e5), Replicas(1), Hashing(), FCFS())
    scenario = Scenario(server, PoissonArrivals(RandomRequests(FixedSize(512), read_share=1.0), rate=2e5))
    with pytest.raises(InputError, match="waited outside, because 256 slots"):
        simulate(scenario, requests=2000)
    assert sweep(lambda: scenario, {}, seeds=1, requests=2000, allow_blocked=True).blocked.max() > 0


def test_the_bare_engine_needs_the_slots():
    with pytest.raises(InputError, match=r"System\.slots is not given"):
        Runner(loop(), keys([0])[:, 0], Record())
