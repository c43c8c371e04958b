"""Test the quantiles of response times in every result against quantiles from a complete log."""

import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.core.resources import data_path
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer, load_drive
from storagekit.engine import NO_REQUEST, Record, ResponseLog, Scenario, System, execute, stack
from storagekit.engine.histogram import BINS, code
from storagekit.placement import Replicas, Volumes
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import by_stream, replay, replicate, simulate, sweep
from storagekit.simulation.measures import OF_STREAMS, QUANTILES
from storagekit.simulation.quantiles import HIGH_STREAMS, LOW_STREAMS, POOLED_STREAMS, from_bins, pooled
from storagekit.workload import (
    ClosedLoop,
    ExponentialSize,
    FixedSize,
    Group,
    PoissonArrivals,
    RandomRequests,
    Threads,
    recorded,
)
from storagekit.workload.trace import read
from storagekit.write import ReceivingBrick

SHARES = [0.5, 0.95, 0.99, 0.999]
# the documented accuracy
WITHIN = 0.02
SMALL = RandomRequests(ExponentialSize(4096), read_share=0.7)


def bricks() -> System:
    return System(load_drive("atlas10k"), Replicas(2), Hashing(), SATF(), ReceivingBrick(), slots=64)


def exact(scenario: Scenario, requests: int, warm_up: int, seeds=(0, 1)) -> dict[str, np.ndarray]:
    """Return quantiles `[quantile, seed]` from a log of all completions, in chunks that start within the measured part."""
    merged, key = stack([scenario], seeds)
    outcome = execute(merged, key, requests, Record(log=ResponseLog()))
    done = outcome.tally["completed"][:, 0].astype(int)
    before = np.cumsum(done, axis=0) - done
    counted = np.repeat((before >= warm_up) & (before < requests), len(outcome.log.read) // len(done), axis=0)
    completed = counted & (outcome.log.number != NO_REQUEST) & ~outcome.log.asynchronous
    whose = completed, completed & outcome.log.read, completed & ~outcome.log.read
    return {
        name: np.stack(
            [np.quantile(outcome.log.response[mask[:, element], element], SHARES) for element in range(len(seeds))], 1
        )
        for name, mask in zip(QUANTILES, whose, strict=True)
    }


@pytest.mark.parametrize(
    "arrivals",
    [pytest.param(ClosedLoop(SMALL, 8), marks=pytest.mark.slow), PoissonArrivals(SMALL, 120.0)],
    ids=["closed loop", "Poisson"],
)
def test_quantiles_agree_with_a_log_of_all_responses(arrivals):
    scenario = Scenario(bricks(), arrivals)
    data = replicate(scenario, seeds=2, requests=3000, warm_up=500, allow_blocked=True)
    for name, values in exact(scenario, 3000, 500).items():
        np.testing.assert_allclose(data[name].transpose("quantile", "seed"), values, rtol=WITHIN)
        assert data[name].attrs["units"] == "s" and data[name].attrs["long_name"]


def test_every_result_has_quantiles():
    trace = read(data_path("samples", "small.spc"))
    loop = Scenario(bricks(), ClosedLoop(SMALL, 8))
    swept = sweep(lambda depth: Scenario(bricks(), ClosedLoop(SMALL, depth)), {"depth": [2, 8]}, seeds=2, requests=300)
    for data in (simulate(loop, requests=300), replicate(loop, seeds=2, requests=300), swept, replay(trace, bricks())):
        assert list(data["quantile"].values) == SHARES
        assert all(data[name].diff("quantile").min() >= 0 for name in QUANTILES)
    assert dict(swept.response_quantile.sizes) == {"depth": 2, "quantile": 4, "seed": 2}


def test_quantiles_of_a_replay_are_exact_and_a_simulation_agrees():
    trace = read(data_path("samples", "small.spc"))
    exactly = replay(trace, bricks())
    expected = np.quantile(exactly.response_time, SHARES)
    np.testing.assert_allclose(exactly.response_quantile, expected, rtol=1e-6)
    arrivals = recorded(trace, int(bricks().placement.capacity(bricks().drive)))
    near = simulate(Scenario(bricks(), arrivals), requests=len(trace), warm_up=0, allow_blocked=True)
    for name in QUANTILES:
        np.testing.assert_allclose(near[name], exactly[name], rtol=WITHIN)


def test_asynchronous_writes_are_left_out(recorded):
    """Mix reads of 1 ms with writes of 100 ms, every second one asynchronous."""
    count = 200
    arrivals = recorded(
        np.arange(count) * 1.0,
        sectors=np.where(np.arange(count) % 2, 100, 1),
        read=np.arange(count) % 2 == 0,
        asynchronous=np.arange(count) % 4 == 1,
    )
    system = System(RateServer(1000.0), Replicas(1), Hashing(), SATF(), slots=8)
    data = simulate(Scenario(system, arrivals), requests=count, warm_up=0)
    np.testing.assert_allclose(data.read_response_quantile, 1e-3, rtol=WITHIN)
    np.testing.assert_allclose(data.write_response_quantile, 0.1, rtol=WITHIN)
    assert float(data.response) == pytest.approx((100 * 1e-3 + 50 * 0.1) / 150, rel=1e-4)
    # two of three requests are reads
    assert float(data.response_quantile.sel(quantile=0.5)) == pytest.approx(1e-3, rel=WITHIN)


def test_a_loop_without_writes_has_no_write_quantiles():
    loop = Scenario(bricks(), ClosedLoop(RandomRequests(FixedSize(4096), read_share=1.0), 8))
    data = simulate(loop, requests=300)
    assert np.isnan(data.write_response_quantile).all() and data.read_response_quantile.equals(data.response_quantile)


@pytest.mark.parametrize("seeds", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_each_stream_has_its_own_quantiles(seeds):
    """Each stream has a server for itself, one request at a time, and so a constant response time."""
    sizes = {0: 4096, 1: 65536, 2: 16384}
    groups = [
        Group(RandomRequests(FixedSize(size), read_share=0.5), 1, stream=stream, volumes=[stream])
        for stream, size in sizes.items()
    ]
    system = System(RateServer(1000), Volumes(2**20, [(0,), (1,), (2,)]), Hashing(), FCFS(), slots=4)
    # the third stream has no quantiles of its own
    data = replicate(Scenario(system, Threads(groups, volume=2**20)), seeds=seeds, requests=2000, measures=by_stream(2))
    names = [OF_STREAMS] + ([POOLED_STREAMS, LOW_STREAMS, HIGH_STREAMS] if seeds > 1 else [])
    for name in names:
        assert data[name].sizes["stream"] == 2
        for stream in (0, 1):
            seconds = sizes[stream] / 512 / 1000
            np.testing.assert_allclose(data[name].isel(stream=stream), seconds, rtol=WITHIN)
    assert float(data.response_quantile.max()) == pytest.approx(65536 / 512 / 1000, rel=WITHIN)


def test_quantiles_of_all_seeds_are_those_of_all_requests():
    """Two points with two runs each, of which one has short and one has long times."""
    bins = np.zeros((1, 2, 4, BINS), np.int64)
    bins[0, 0, :, 100] = [900, 100, 50, 50]
    bins[0, 1, :, 400] = [100, 900, 50, 50]
    data = from_bins(bins, 2)
    pooled, each = data.pooled_response_quantile, data.response_quantile
    whole = from_bins(bins.reshape(1, 2, 2, 2, BINS).sum(axis=3), 1).response_quantile
    np.testing.assert_array_equal(pooled.transpose("run", "quantile"), np.repeat(whole.T.values, 2, axis=0))
    # half of the requests of the first point are long, 10% of its first run and 90% of its second
    highest, of_all = (float(of.sel(quantile=0.95).isel(run=0)) for of in (each, pooled))
    assert highest == pytest.approx(of_all, rel=WITHIN)
    assert float(each.sel(quantile=0.5).isel(run=0)) < float(each.sel(quantile=0.5).isel(run=1))
    assert "pooled_response_quantile" not in from_bins(bins, 1)


def queue_bins(points: int, runs: int, requests: int, load: float) -> np.ndarray:
    """Return the binned response times of stationary M/M/1 queues with a mean service time of 1 s, `[point, run, bin]`."""
    generator = np.random.default_rng(0)
    shape = (points, runs)
    wait = np.where(generator.random(shape) < load, generator.exponential(1 / (1 - load), shape), 0.0)
    times = np.empty((requests, *shape), np.float32)
    for number in range(requests):
        times[number] = response = wait + generator.exponential(size=shape)
        wait = np.maximum(0.0, response - generator.exponential(1 / load, shape))
    counts = jnp.ones(times.shape, bool)
    bins = np.asarray(code(jnp.asarray(times), counts, counts)).astype(int) - 1
    each = bins.reshape(requests, -1) + BINS * np.arange(points * runs)
    return np.bincount(each.ravel(), minlength=points * runs * BINS).reshape(points, runs, BINS)


@pytest.mark.parametrize(("load", "least"), [(0.2, 0.93), (0.8, 0.88)])
def test_intervals_of_pooled_quantiles_contain_the_exact_quantile(load, least):
    """The response time of an M/M/1 queue is exponential with a mean of 1/(1 - load).

    At a load of 0.8, a run has only a few busy periods with long response times. Intervals from the differences between
    the quantiles of the runs then contain the exact quantile in 73% of the cases, and these intervals in 91%.
    """
    share = 0.99
    quantile, low, high = pooled(queue_bins(400, 16, 1500, load))[:, SHARES.index(share)]
    exact = -np.log(1 - share) / (1 - load)
    assert np.all((low < quantile) & (quantile < high))
    assert np.mean((low <= exact) & (exact <= high)) > least


def test_the_interval_of_a_point_without_requests_is_unknown():
    assert np.isnan(pooled(np.zeros((1, 2, BINS), int))).all()
