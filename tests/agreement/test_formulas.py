"""The engine against queueing theory, which shares no code with it."""

import ciw
import numpy as np
import pytest

from storagekit.analytic import (
    closed_network,
    mean_rotation,
    response_md1,
    response_mg1,
    response_mm1,
    response_mmc,
)
from storagekit.dispatch import Hashing, central
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import interval, sweep
from storagekit.workload import ClosedLoop, ExponentialSize, FixedSize, PoissonArrivals, RandomRequests

pytestmark = pytest.mark.optimized

RATES = [30.0, 70.0]  # with a mean service time of 10 ms: 30% and 70% busy
SERVICE = 10e-3
# With a mean of 2000 sectors, rounding sizes to whole sectors changes the service time by 1/4000.
SECTORS = 2000
EXPONENTIAL = RandomRequests(ExponentialSize(SECTORS * 512), 1.0)
FIXED = RandomRequests(FixedSize(SECTORS * 512), 1.0)
SERVER = RateServer(SECTORS / SERVICE)
# when the expected value is right, an interval of this level misses it once in 500 tests of two loads
SURE = 0.999


def one_queue(drive, requests, rate) -> Scenario:
    system = System(drive, Replicas(1), Hashing(), FCFS(), drives=1, slots=64)
    return Scenario(system, PoissonArrivals(requests, rate))


def assert_covers(data, name, expected):
    found = interval(data, level=SURE)[name]
    for rate, value in zip(data.rate.values, expected, strict=True):
        low, high = (float(found.sel(rate=rate, statistic=edge)) for edge in ("low", "high"))
        assert low <= value <= high, f"{name} at {rate} a second: {value:g} is not in {low:g} to {high:g}"
        assert high - low < 0.2 * value  # an interval wide enough to cover everything shows nothing


def measured(drive, requests):
    return sweep(
        lambda rate: one_queue(drive, requests, rate),
        {"rate": RATES},
        requests=12_000,
        warm_up=2000,
        seeds=16,
        allow_blocked=True,
    )


def test_mm1_and_littles_law():
    data = measured(SERVER, EXPONENTIAL)
    assert_covers(data, "response", response_mm1(RATES, SERVICE))
    assert_covers(data, "outstanding", np.array(RATES) * response_mm1(RATES, SERVICE))
    assert_covers(data, "throughput", RATES)
    # Little's law holds for each run, except for the requests in the system at its two ends
    np.testing.assert_allclose(data.outstanding, data.request_rate * data.response, rtol=1e-6)


def test_md1():
    data = measured(SERVER, FIXED)
    assert_covers(data, "response", response_md1(RATES, SERVICE))


def test_mg1_on_a_disk_without_an_arm():
    """Uniform rotation R and a fixed transfer t: S = R/2 + t, E S^2 = R^2/12 + S^2.

    Rotational waits are independent, because addresses are. The track has 2^16 sectors. With few sectors per track, an
    access that follows another would wait a whole number of sectors, half a sector less than R/2 on average.
    """
    revolution = 16e-3
    drive = ideal_drive(full_seek=0.0, revolution=revolution, cylinders=100, sectors_per_track=2**16)
    service = mean_rotation(revolution) + revolution / 8
    requests = RandomRequests(FixedSize(2**13 * 512), 1.0, alignment=1)
    data = measured(drive, requests)
    assert_covers(data, "response", response_mg1(RATES, service, revolution**2 / 12 + service**2))
    assert_covers(data, "service_time", [service, service])


def test_mmc_is_a_shared_queue():
    """Reads at three replicas without delay are one queue with three exponential servers."""
    rates = [90.0, 210.0]

    def shared(rate):
        system = System(SERVER, Replicas(3), central(), FCFS(), drives=3, slots=64)
        return Scenario(system, PoissonArrivals(EXPONENTIAL, rate))

    data = sweep(shared, {"rate": rates}, requests=12_000, warm_up=2000, seeds=16, allow_blocked=True)
    assert_covers(data, "response", response_mmc(rates, SERVICE, 3))


def test_a_closed_network_of_hashed_bricks():
    """Reads hashed over 4 exponential servers, 8 outstanding: mean value analysis, each server visited 1 time in 4."""

    def hashed(bricks):
        system = System(SERVER, Replicas(bricks), Hashing(), FCFS(), drives=4, slots=8)
        return Scenario(system, ClosedLoop(EXPONENTIAL, 8))

    data = sweep(hashed, {"bricks": [2, 4]}, requests=8000, seeds=16)
    found = interval(data, level=SURE).request_rate
    for bricks in (2, 4):
        expected, _ = closed_network(np.full(bricks, SERVICE / bricks), 8)
        low, high = (float(found.sel(bricks=bricks, statistic=edge)) for edge in ("low", "high"))
        assert low <= expected <= high and high - low < 0.05 * expected


def test_ciw_gives_the_same_mean():
    """An independent event simulator on M/D/1 at 70% load: means of independent runs, within four standard errors."""

    def theirs(seed):
        ciw.seed(seed)
        network = ciw.create_network(
            arrival_distributions=[ciw.dists.Exponential(rate=RATES[1])],
            service_distributions=[ciw.dists.Deterministic(value=SERVICE)],
            number_of_servers=[1],
        )
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(60)
        return np.mean([record.waiting_time + record.service_time for record in simulation.get_all_records()])

    reference = np.array([theirs(seed) for seed in range(8)])
    ours = measured(SERVER, FIXED).response.sel(rate=RATES[1]).values
    error = np.hypot(reference.std(ddof=1) / np.sqrt(reference.size), ours.std(ddof=1) / np.sqrt(ours.size))
    assert abs(reference.mean() - ours.mean()) < 4 * error
    assert error < 0.03 * ours.mean()


def test_the_formulas_against_values_worked_by_hand():
    assert response_mm1(50, 10e-3) == pytest.approx(20e-3)
    assert response_md1(50, 10e-3) == pytest.approx(15e-3)
    assert response_mmc(50, 10e-3, 1) == pytest.approx(20e-3)
    # two servers, a = 1: B = 1/5, C = 1/3, T = S + S/3
    assert response_mmc(100, 10e-3, 2) == pytest.approx(40e-3 / 3)
    assert np.isinf(response_mm1(100, 10e-3)) and np.isinf(response_mmc(300, 10e-3, 2))
    # one station: a cycle takes N times its demand; two equal stations: X = N / (D (N + 1))
    assert closed_network([10e-3], 5) == (pytest.approx(100), pytest.approx(np.array([50e-3])))
    assert closed_network([10e-3, 10e-3], 3)[0] == pytest.approx(75)
