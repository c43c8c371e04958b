"""Test the warm-up of a run by MSER-5."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import replicate, simulate, sweep
from storagekit.simulation.warm_up import BATCHES, OTHERWISE, mser, share_to_leave_out
from storagekit.workload import ExponentialSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies

SERVER, SECTORS = RateServer(1000.0), 4


def queue(load) -> Scenario:
    """Return one server that starts empty, with exponential requests in an open stream."""
    requests = RandomRequests(ExponentialSize(512 * SECTORS), read_share=0.8)
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), AllCopies(), slots=256)
    return Scenario(system, PoissonArrivals(requests, load * 1000.0 / SECTORS))


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40))
def test_the_cut_minimizes_the_error_of_the_rest(means):
    """Evaluate the definition term by term on integers, so that equal values are exactly equal."""
    values = np.array(means, float)

    def spread(cut: int) -> float:
        left = values[cut:]
        return ((left - left.mean()) ** 2).sum() / len(left) ** 2

    found = mser(values)
    assert 0 <= found <= len(values) // 2
    assert spread(found) <= min(spread(cut) for cut in range(len(values) // 2 + 1)) + 1e-9


def test_a_decaying_bias_is_left_out_and_little_more():
    """Use 100 series with noise of 1, and a start that adds 20 at first and 1 after 12 batches."""
    draw = np.random.default_rng(1)
    start = 20 * np.exp(-np.arange(BATCHES) / 4.0)
    cuts = np.array([mser(start + draw.normal(size=BATCHES)) for _ in range(100)])
    assert (cuts >= 7).all() and np.median(cuts) == pytest.approx(12, abs=4) and (cuts <= 24).mean() > 0.9


def test_a_tenth_is_left_out_of_a_run_without_waiting():
    nothing = np.zeros(BATCHES)
    assert share_to_leave_out(nothing, nothing) == OTHERWISE
    # batches without a completion do not count
    completions = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    assert share_to_leave_out(np.array([9.0, 0.0, 2.0, 3.0, 2.0, 3.0]), completions) == 2 / 6


def test_the_warm_up_found_gives_the_same_result_when_given():
    found = replicate(queue(0.9), seeds=3, requests=4000, allow_blocked=True)
    assert 0 < float(found.warm_up) <= 2000 and found.attrs["warm_up_requests"] == "MSER-5"
    again = replicate(queue(0.9), seeds=3, requests=4000, warm_up=int(found.warm_up), allow_blocked=True)
    assert found.equals(again)


def test_the_warm_up_of_runs_in_seconds_is_in_seconds():
    found = simulate(queue(0.5), seconds=20.0)
    assert 0 <= float(found.warm_up) <= 10 and found.warm_up.attrs["units"] == "s"
    assert found.equals(simulate(queue(0.5), seconds=20.0, warm_up=float(found.warm_up)))


@pytest.mark.slow
def test_each_point_has_a_warm_up_independent_of_others():
    both = sweep(queue, {"load": [0.3, 0.9]}, seeds=3, requests=4000, allow_blocked=True)
    for load in (0.3, 0.9):
        alone = replicate(queue(load), seeds=3, requests=4000, allow_blocked=True)
        assert both.sel(load=load, drop=True).warm_up.equals(alone.warm_up)
    assert dict(both.warm_up.sizes) == {"load": 2}


def test_a_point_with_more_seeds_than_a_batch_has_one_warm_up():
    """130 runs exceed two batches, and the third batch has only the last runs of the point."""
    many = replicate(queue(0.9), seeds=130, requests=300, allow_blocked=True)
    assert many.warm_up.ndim == 0
    part = replicate(queue(0.9), seeds=range(120, 130), requests=300, warm_up=int(many.warm_up), allow_blocked=True)
    np.testing.assert_allclose(many.response.sel(seed=slice(120, 129)), part.response, rtol=1e-5)
    np.testing.assert_allclose(
        many.response_quantile.sel(seed=slice(120, 129)).transpose("quantile", "seed"),
        part.response_quantile.transpose("quantile", "seed"),
        rtol=0.04,
    )
