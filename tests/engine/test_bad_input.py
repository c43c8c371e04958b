"""Impossible settings: one line that names the value, the limit and the remedy."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.dispatch import Hashing, WeightedHashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System, stack
from storagekit.errors import InputError
from storagekit.metrics import replicate, simulate, sweep
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.workload import ClosedLoop, ExponentialSize, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AtOnce

SERVER = RateServer(1000.0)
READS = RandomRequests(FixedSize(512), 1.0)


def system(copies=1, drives=1, slots=8, dispatch=None, **more) -> System:
    return System(SERVER, Replicas(copies), dispatch or Hashing(), FCFS(), drives=drives, slots=slots, **more)


def loop(outstanding=4, slots=8) -> Scenario:
    return Scenario(system(slots=slots), ClosedLoop(READS, outstanding))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RandomRequests(FixedSize(512), 1.2), "read share 1.2: it must lie between 0 and 1"),
        (lambda: RandomRequests(FixedSize(512), -0.1), "read share -0.1: it must lie between 0 and 1"),
        (lambda: RandomRequests(FixedSize(512), float("nan")), "read share nan"),
        (lambda: RandomRequests(FixedSize(512), np.array([0.5, 2.0])), "read share 2"),
        (lambda: RandomRequests(FixedSize(512), 1.0, alignment=0), "alignment 0 sectors: it must be at least 1"),
        (lambda: FixedSize(0), "request size 0 bytes: it must be above 0"),
        (lambda: FixedSize(float("nan")), "request size nan"),
        (lambda: ExponentialSize(-4096), "request size -4096 bytes: it must be above 0"),
        (lambda: ClosedLoop(READS, 0), "0 requests outstanding: a closed loop needs at least 1"),
        (lambda: PoissonArrivals(READS, 0.0), "arrival rate 0 a second: it must be above 0"),
        (lambda: PoissonArrivals(READS, float("nan")), "arrival rate nan"),
        (lambda: PoissonArrivals(READS, float("inf")), "arrival rate inf"),
        (lambda: Replicas(0), "0 replicas: every block needs at least 1 copy"),
        (lambda: system(copies=4, drives=3), "a layout of 4 drives on 3: make it smaller or add drives"),
        (lambda: system(drives=0), "0 drives in one system: give a whole number"),
        (lambda: system(copies=33, drives=33), "33 copies of a block: at most 32; run groups as lanes"),
        (lambda: system(slots=0), "0 request slots: give at least 1"),
        (lambda: RateServer(0.0), "rate 0"),
        (lambda: simulate(loop(), requests=0), "0 requests: simulate at least 1"),
        (lambda: simulate(loop(), requests=10, warm_up=10), "warm-up of 10 requests: .* below the 10 simulated"),
        (lambda: simulate(loop(), requests=10, warm_up=-1), "warm-up of -1 requests: it must be at least 0"),
        (lambda: replicate(loop(), seeds=0), "no seeds: give at least one"),
        (lambda: sweep(loop, {"slots": []}), "an axis of the sweep has no values"),
        (lambda: sweep(loop, {"outstanding": [1, 2]}, requests=100), "'outstanding'.* is the name of a measure"),
        (lambda: stack([loop(), loop(slots=9)], [0]), "different structure cannot share a batch"),
    ],
)
def test_impossible_settings_are_refused(make, complaint):
    assert_refused(make, complaint)


def test_more_outstanding_than_slots_is_refused():
    """Or the loop would quietly run with fewer."""
    with pytest.raises(InputError, match=r"16 .*outstanding.* 8 slots"):
        simulate(loop(outstanding=16, slots=8), requests=100)


def test_weights_for_another_number_of_bricks_are_refused():
    """Or reads would go to bricks that do not hold the block."""
    with pytest.raises(InputError, match="weights"):
        simulate(
            Scenario(system(copies=2, drives=3, dispatch=WeightedHashing(np.ones(3))), ClosedLoop(READS, 4)),
            requests=100,
        )


def test_arrivals_that_wait_outside_are_refused_with_a_remedy():
    """Twice what the server can do, and eight slots."""
    overload = Scenario(system(), PoissonArrivals(READS, 2000.0))
    with pytest.raises(
        InputError, match=r"arrivals waited outside: 8 slots are too few; raise System\.slots, lower the load"
    ):
        simulate(overload, requests=500)
    assert float(simulate(overload, requests=500, allow_held_up=True).held_up) > 100


def test_a_loop_that_outruns_its_disks_is_refused_with_a_remedy():
    """Writes answered at once pile up; the loop's next request then waits outside."""
    busy = Scenario(system(copies=2, drives=2, write=AtOnce()), ClosedLoop(RandomRequests(FixedSize(512), 0.5), 4))
    with pytest.raises(InputError, match="arrivals waited outside"):
        simulate(busy, requests=500)
