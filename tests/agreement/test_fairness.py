"""Long-run rates of proportional sharing: simulated fair queues against the rates of `analytic.fairness`.

Each stream has threads at each of its bricks, enough to keep requests waiting there at all times. Each brick serves at
a constant rate.
"""

import numpy as np
import pytest
from helpers import slow_but

from storagekit.analytic.fairness import MaxMin, hybrid_rates, max_min_rates
from storagekit.plan.sharing_question import Numbers
from storagekit.plan.simulating import MEAN, shares_scenario
from storagekit.simulation import by_stream, simulate

pytestmark = pytest.mark.optimized

NEAR = 0.02
THREADS = 4
# requests to the fastest brick after which rates are near; requests of the large systems
ENOUGH, MANY = 16_000, 48_000
LENGTHS = 2_000, 8_000, 32_000


def random_system(seed: int, streams: int, bricks: int, minimums: bool = False) -> Numbers:
    """Every stream uses one to three bricks."""
    draw = np.random.default_rng(seed)
    demand = np.zeros((streams, bricks))
    for row in demand:
        row[draw.choice(bricks, min(bricks, int(draw.integers(1, 4))), replace=False)] = np.inf
    weights = draw.uniform(0.5, 4, streams)
    share = draw.choice([0, 0.1, 0.5], streams) if minimums else 0
    return Numbers(draw.uniform(2e6, 8e6, bricks), weights, demand, share * weights / weights.sum())


def simulated(system: Numbers, requests: int) -> np.ndarray:
    """Rates over the second half of a run."""
    seconds = requests * MEAN / system.capacity.max()
    scenario = shares_scenario(system, "total", THREADS, depth=1)
    measures = by_stream(len(system.weights))
    data = simulate(scenario, seconds=seconds, warm_up=seconds / 2, measures=measures)
    return data.stream_throughput.values


def error(system: Numbers, requests: int, rates: np.ndarray) -> float:
    """Relative error of the stream that is farthest from its expected rate."""
    return float(np.abs(simulated(system, requests) / rates - 1).max())


def total(system: Numbers, minimum: float | np.ndarray = 0.0) -> np.ndarray:
    found: MaxMin = max_min_rates(*system[:2], system.demand > 0, system.demand, minimum)
    return found.rates


SMALL = [(0, 3, 2), (1, 6, 4), (2, 12, 6)]
FLOORS = [(1, 6, 4, 0.05), (2, 12, 6, 0.15), (7, 8, 4, 0.05)]
LARGE = [(3, 16, 12), (4, 32, 16), (5, 64, 32)]


@pytest.mark.parametrize(("seed", "streams", "bricks"), slow_but(SMALL[:1], SMALL))
def test_total_shares_are_max_min_fair(seed, streams, bricks):
    system = random_system(seed, streams, bricks)
    assert error(system, ENOUGH, total(system)) < NEAR


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "streams", "bricks"), LARGE)
def test_total_shares_of_large_systems_are_max_min_fair(seed, streams, bricks):
    system = random_system(seed, streams, bricks)
    assert error(system, MANY, total(system)) < NEAR


@pytest.mark.parametrize(("seed", "streams", "bricks", "floors"), slow_but(FLOORS[:1], FLOORS))
def test_capped_delays_give_the_rates_of_the_equations(seed, streams, bricks, floors):
    """Some streams have a minimum of a tenth or half of their weight's share, some have none.

    The rates agree within a tenth, however long the run. The equations use the lesser of the cap and the average delay.
    A stream whose delays are capped now and then has shorter delays on average than that. Max-min rates with the
    minimums as floors are at least `floors` off.
    """
    system = random_system(seed, streams, bricks, minimums=True)
    rates = hybrid_rates(*system[:2], system.demand > 0, system.demand, system.minimum).rates.rates
    found = error(system, ENOUGH, rates)
    assert found < 0.1
    assert floors < error(system, ENOUGH, total(system, system.minimum)) > found * (1 - 1e-6)


@pytest.mark.slow
def test_the_longer_the_run_the_nearer():
    """Twelve streams at six bricks, with runs of 1, 4 and 16 times the length."""
    system = random_system(2, 12, 6)
    errors = [error(system, requests, total(system)) for requests in LENGTHS]
    assert errors[0] > 1.5 * errors[1] > 1.5**2 * errors[2]


def test_the_error_falls_slowly_where_streams_would_be_equal_anyway():
    """f uses A; g uses A and B, which is as fast. Only chance decides the turn at A, where g's share should be zero. So
    that share falls as the square root of the length: by half, not by three quarters, at four times the length."""
    tie = Numbers(np.array([6e6, 6e6]), np.ones(2), np.array([[np.inf, 0], [np.inf, np.inf]]), np.zeros(2))
    errors = [error(tie, requests, np.array([6e6, 6e6])) for requests in LENGTHS]
    np.testing.assert_allclose(np.divide(errors[1:], errors[:-1]), 0.5, atol=0.12)
