"""Impossible settings raise one line that names the value, the limit and the remedy."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.arbitration import Lossy
from storagekit.cache import LRU
from storagekit.core.errors import InputError
from storagekit.dispatch import ARS, DSPTF, DispatchSwitch, Hashing, Preselection, WeightedHashing, central
from storagekit.drive import Drive, RateServer, ideal_drive
from storagekit.engine import Scenario, System, stack
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import Measure, replay, replicate, simulate, sweep
from storagekit.workload import (
    ClosedLoop,
    ExponentialSize,
    FixedSize,
    Group,
    PoissonArrivals,
    RandomRequests,
    Threads,
)
from storagekit.workload.trace import request_trace
from storagekit.write import Immediate

SERVER = RateServer(1000.0)
READS, PAIR = RandomRequests(FixedSize(512), 1.0), Replicas(2)
TRACE = request_trace(time=[0.0], device=[0], offset=[0], size=[512], read=[True])
SHEET = {
    "rpm": 7200, "track_seek": 0.8e-3, "average_seek": 8.5e-3, "full_seek": 17e-3, "capacity": 1e12, "media_rate": 2e8
}  # fmt: skip


def system(copies=1, drives=1, slots=8, dispatch=None, **more) -> System:
    return System(SERVER, Replicas(copies), dispatch or Hashing(), FCFS(), drives=drives, slots=slots, **more)


def loop(outstanding=4, slots=8) -> Scenario:
    return Scenario(system(slots=slots), ClosedLoop(READS, outstanding))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RandomRequests(FixedSize(512), 1.2), "read share 1.2: it must be between 0 and 1"),
        (lambda: RandomRequests(FixedSize(512), -0.1), "read share -0.1: it must be between 0 and 1"),
        (lambda: RandomRequests(FixedSize(512), float("nan")), "read share nan"),
        (lambda: RandomRequests(FixedSize(512), np.array([0.5, 2.0])), "read share 2"),
        (
            lambda: RandomRequests(FixedSize(512), 1.0, alignment=0),
            "alignment 0 sectors: give a whole number, between 1 and",
        ),
        (lambda: FixedSize(0), "request size 0 bytes: it must be above 0"),
        (lambda: FixedSize(float("nan")), "request size nan"),
        (lambda: ExponentialSize(-4096), "request size -4096 bytes: it must be above 0"),
        (lambda: ClosedLoop(READS, 0), "0 requests outstanding: a closed loop needs at least 1"),
        (lambda: PoissonArrivals(READS, 0.0), "arrival rate 0 a second: it must be above 0"),
        (lambda: PoissonArrivals(READS, float("nan")), "arrival rate nan"),
        (lambda: PoissonArrivals(READS, float("inf")), "arrival rate inf"),
        (lambda: Replicas(0), "0 replicas: every block needs at least 1 copy"),
        (
            lambda: system(copies=4, drives=3),
            "a layout of 4 drives in a system of 3 drives: use a smaller layout or more drives",
        ),
        (lambda: system(drives=0), "0 drives in one system: give a whole number"),
        (
            lambda: system(copies=33, drives=33),
            "33 copies of a block: at most 32 are possible; simulate each group of drives in a separate run",
        ),
        (lambda: system(slots=0), "0 request slots: give at least 1"),
        (lambda: RateServer(0.0), "rate 0"),
        (lambda: simulate(loop(), requests=0), "0 requests: give at least 1"),
        (
            lambda: simulate(loop(), requests=10, warm_up=10),
            "warm-up of 10 requests: .* below the length of the run, 10 requests",
        ),
        (lambda: simulate(loop(), requests=10, warm_up=-1), "warm-up of -1 requests: it must be at least 0"),
        (lambda: replicate(loop(), seeds=0), "no seeds: give at least one"),
        (lambda: sweep(loop, {"slots": []}), "an axis of the sweep has no values"),
        (lambda: sweep(loop, {"seed": [1, 2]}, requests=100), "'seed': the result has a dimension with this name"),
        (
            lambda: sweep(loop, {"outstanding": [1], "axis_outstanding": [1]}),
            "'outstanding' and 'axis_outstanding': both could become 'axis_outstanding' in the result; rename one",
        ),
        (lambda: stack([loop(), loop(slots=9)], [0]), "different structures cannot run in one batch"),
    ],
)
def test_impossible_settings_raise(make, complaint):
    assert_refused(make, complaint)


WORDS, SECONDS = (
    "; the arguments of System are drive, placement, dispatch, schedule, write in this order",
    "times are in seconds",
)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: System(SERVER, PAIR, Hashing, FCFS()),
            "a system's dispatch: given the class Hashing; give its result",
        ),
        (
            lambda: System(SERVER, PAIR, central, FCFS()),
            "a system's dispatch: given the function central; give its result",
        ),
        (
            lambda: System(SERVER, PAIR, FCFS(), Hashing()),
            f"dispatch: given FCFS of storagekit.schedule; give a dispatcher, such as sk.dispatch.Hashing\\(\\){WORDS}",
        ),
        (lambda: System(PAIR, SERVER, Hashing(), FCFS()), f"a system's drive: given Replicas of .*{WORDS}"),
        (
            lambda: System("atlas10k", PAIR, Hashing(), FCFS()),
            "a system's drive: given 'atlas10k'; give a drive, such as",
        ),
        (lambda: System(SERVER, 2, Hashing(), FCFS()), "a system's placement: given 2; give a placement, such as"),
        (lambda: system(cache=LRU), "a system's cache: given the class LRU; give its result"),
        (lambda: system(faults=Slowdown(0, 0.5)), "a system's faults: given Slowdown of storagekit.faults; give"),
        (lambda: FaultSchedule(0), "slowdown of a fault schedule: given 0; give a Slowdown"),
        (
            lambda: Scenario(ClosedLoop(READS, 4), system()),
            "a scenario's system: given ClosedLoop of .*arguments of Scenario are system and",
        ),
        (lambda: Scenario(system(), READS), "a scenario's arrivals: given RandomRequests of storagekit.workload; give"),
        (lambda: simulate(system()), "result of build: given System of storagekit.engine; give a Scenario"),
        (lambda: sweep(loop(), {"slots": [8]}), "build: given Scenario of storagekit.engine"),
        (lambda: simulate(loop(), measures=[Measure]), "measures: given the class Measure; give its result"),
        (
            lambda: replay(system(), TRACE),
            "the trace of a replay: given System of .*arguments of replay are a trace and a system, in",
        ),
        (lambda: ClosedLoop(4, READS), "requests of a closed loop: given 4; give a model of requests"),
        (lambda: ClosedLoop(READS, READS), "RandomRequests of storagekit.workload is not a whole number"),
        (lambda: PoissonArrivals(100.0, READS), "requests of arrivals: given 100.0; give a model of requests"),
        (
            lambda: RandomRequests(4096, 0.9),
            "size of requests: given 4096; give a distribution of sizes, such as sk.workload",
        ),
        (lambda: Threads(4, READS), "a group of threads: given 4; give a Group"),
        (lambda: Group(FixedSize(512), 4), "requests of a group: given FixedSize of storagekit.workload; give a model"),
        (
            lambda: DispatchSwitch((Hashing(), FCFS())),
            "a dispatcher of a switch: given FCFS of storagekit.schedule; give",
        ),
        (lambda: DSPTF(delivery=Lossy), "delivery: given the class Lossy; give its result"),
    ],
)
def test_a_wrong_component_raises_with_its_argument_and_the_remedy(unchecked, make, complaint):
    assert_refused(make, complaint)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ideal_drive(full_seek=8.0, revolution=6e-3), "full_seek 8 s: it must be at most 1"),
        (lambda: ideal_drive(full_seek=8e-3, revolution=6.0), "revolution 6 s: it must be at most 1"),
        (lambda: Drive.from_datasheet(**SHEET | {"track_seek": 0.8}), "track_seek 0.8 s: it must be at most 0.1"),
        (lambda: Drive.from_datasheet(**SHEET | {"average_seek": 8.5}), "average_seek 8.5 s: it must be at most 1"),
        (lambda: Drive.from_datasheet(**SHEET, overhead=2.7), "overhead 2.7 s: it must be at most 0.5"),
        (lambda: DSPTF(50.0), "network latency 50 s: it must be at most 1"),
        (lambda: Preselection(50.0), "network latency 50 s: it must be at most 1"),
        (lambda: Threads(READS, 4, think=20.0), "a think time of 20 s: it must be at most 15"),
        (lambda: FaultSchedule(timeout=1000.0), "client timeout 1000 s: it must be at most 600"),
        (lambda: ARS(patience=1000.0), "a patience of 1000 s: it must be at most 600"),
    ],
)
def test_milliseconds_given_as_seconds_raise_with_the_remedy(make, complaint):
    assert_refused(make, f"^{complaint}; {SECONDS}, .* sk.units.MS$")


def test_more_outstanding_requests_than_slots_raise():
    """Without the check, the loop would silently run with fewer requests."""
    with pytest.raises(InputError, match=r"16 .*outstanding.* 8 slots"):
        simulate(loop(outstanding=16, slots=8), requests=100)


def test_weights_for_another_number_of_bricks_raise():
    """Without the check, reads would go to bricks that do not hold the block."""
    with pytest.raises(InputError, match="weights"):
        simulate(
            Scenario(system(copies=2, drives=3, dispatch=WeightedHashing(np.ones(3))), ClosedLoop(READS, 4)),
            requests=100,
        )


def test_arrivals_that_wait_for_a_slot_raise_with_a_remedy():
    """The load is twice the server's capacity, and there are eight slots."""
    overload = Scenario(system(), PoissonArrivals(READS, 2000.0))
    with pytest.raises(
        InputError, match=r"arrivals waited outside, because 8 slots are too few; raise System\.slots, lower the load"
    ):
        simulate(overload, requests=500)
    assert float(simulate(overload, requests=500, allow_blocked=True).blocked) > 100


def test_a_loop_faster_than_its_disks_raises_with_a_remedy():
    """Immediately completed writes pile up; the loop's next request then waits outside."""
    busy = Scenario(system(copies=2, drives=2, write=Immediate()), ClosedLoop(RandomRequests(FixedSize(512), 0.5), 4))
    with pytest.raises(InputError, match="arrivals waited outside"):
        simulate(busy, requests=500)
