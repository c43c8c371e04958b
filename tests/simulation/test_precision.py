"""Test runs that continue until an interval is narrow enough, or until a budget is spent."""

import numpy as np
import pytest
from helpers import assert_refused
from scipy import stats

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import replicate, simulate, sweep
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies

SERVER, SECTORS = RateServer(1000.0), 4
FIRST = 1000


def queue(load=0.5, arrivals=None) -> Scenario:
    """Return one server with a constant service time (M/D/1)."""
    requests = RandomRequests(FixedSize(512 * SECTORS), read_share=0.8)
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), AllCopies(), slots=256)
    return Scenario(system, arrivals or PoissonArrivals(requests, load * 1000.0 / SECTORS))


def relative(values) -> float:
    """Return half of the 95% interval of a mean, as a share of the mean."""
    return float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values) / np.mean(values))


def test_a_run_continues_until_its_interval_is_narrow_enough():
    """The result equals a run of this number of requests, and half of the requests would not suffice."""
    data = simulate(queue(), requests=FIRST, precision=0.05, budget=64_000)
    assert data.attrs["stopped_by"] == "precision" and 0 < float(data.response_half_width) <= 0.05
    doubled = int(np.log2(float(data.requests + data.warm_up) / FIRST))
    assert doubled >= 1
    whole = simulate(queue(), requests=FIRST * 2**doubled)
    assert whole.equals(data.drop_vars("response_half_width"))
    half = simulate(queue(), requests=FIRST * 2 ** (doubled - 1), precision=0.05, budget=FIRST * 2 ** (doubled - 1))
    assert half.attrs["stopped_by"] == "budget" and not float(half.response_half_width) <= 0.05


def test_the_interval_is_over_seeds_if_there_are_several():
    data = replicate(queue(), seeds=8, requests=FIRST, precision={"request_rate": 0.02, "response": 0.05})
    assert data.attrs["stopped_by"] == "precision"
    for name, most in (("request_rate", 0.02), ("response", 0.05)):
        width = float(data[f"{name}_half_width"])
        assert width == pytest.approx(relative(data[name].values), rel=1e-6) and width <= most


def test_the_true_mean_is_within_the_interval_at_about_the_nominal_rate():
    """For M/D/1 at half load the mean is s (1 + rho / 2 (1 - rho)).

    At least 16 of 20 runs with a precision of 5% must be within 5% of it.
    """
    truth = SECTORS / 1000.0 * 1.5
    found = [float(simulate(queue(), seed=seed, requests=FIRST, precision=0.05).response) for seed in range(20)]
    assert sum(abs(one / truth - 1) <= 0.05 for one in found) >= 16


@pytest.mark.slow
def test_each_point_stops_independently_of_others():
    axes = {"load": [0.3, 0.8]}
    both = sweep(queue, axes, seeds=8, requests=FIRST, precision=0.05, allow_blocked=True)
    lengths = both.requests.mean("seed") + both.warm_up
    assert float(lengths.sel(load=0.8)) > 1.9 * float(lengths.sel(load=0.3))
    for load in axes["load"]:
        alone = replicate(queue(load), seeds=8, requests=FIRST, precision=0.05, allow_blocked=True)
        np.testing.assert_array_equal(both.response.sel(load=load), alone.response)


def test_a_budget_ends_a_run_and_is_reported():
    data = replicate(queue(), seeds=3, requests=FIRST, precision=1e-4, budget=2500)
    assert data.attrs["stopped_by"] == "budget" and data.attrs["budget"] == 2500
    assert float(data.response_half_width) > 1e-4
    np.testing.assert_allclose(data.requests + data.warm_up, 2500, rtol=0.1)


def test_the_end_of_a_trace_ends_a_run(recorded):
    arrivals = recorded(np.arange(1500) * 0.01, sectors=np.arange(1500) % 7 + 1)
    data = simulate(queue(arrivals=arrivals), requests=FIRST, precision=1e-5)
    assert data.attrs["stopped_by"] == "budget" and float(data.requests + data.warm_up) <= 1500


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"precision": 0.0}, "precision of response 0: it must be above 0"),
        ({"precision": {"responce": 0.01}}, "precision of 'responce': no such measure"),
        ({"precision": {}}, "no precision: give"),
        ({"precision": 0.01, "budget": 10}, "a budget of 10 requests, but runs of 1000"),
        ({"precision": 0.01, "budget": 0.5}, "budget 0.5: give a whole number"),
        ({"precision": 0.01, "seconds": 5.0}, "a precision and 5 s"),
    ],
)
def test_impossible_precisions_raise(given, message, unchecked):
    assert_refused(lambda: simulate(queue(), **({"requests": FIRST} | given)), message)
