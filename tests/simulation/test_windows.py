"""Test the throughput of streams in windows of time against hand calculations, and measures by stream."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.core.units import SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import AbstractLog, Record, Runner, Scenario, System, stack
from storagekit.placement import Replicas, Volumes
from storagekit.queue import FairQueue
from storagekit.schedule import FCFS
from storagekit.simulation import by_stream, joint_backlog, logs, replicate, simulate, sweep, windows
from storagekit.workload import ClosedLoop, ExponentialSize, FixedSize, Group, OnOff, RandomRequests, Steps, Threads

SIZE = 90
RATE = 1000.0
# a request of 90 sectors takes 90 ms
REQUESTS = RandomRequests(FixedSize(SIZE * SECTOR), 1.0)
SERVER = RateServer(RATE, capacity=2**20)


def one_server(*groups: Group, depth: int = 1) -> Scenario:
    queue = FairQueue(depth, (1.0,) * (1 + max(group.stream for group in groups)))
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), queue=queue, slots=16)
    return Scenario(system, Threads(list(groups)))


def ended_by(time: np.ndarray) -> np.ndarray:
    """Return the number of requests that a busy server has completed before a time."""
    return np.ceil(time / (SIZE / RATE) - 1e-6) - 1


def test_every_completion_is_in_its_second():
    data = windows(lambda: one_server(Group(REQUESTS, 1)), {}, seconds=30).isel(seed=0, stream=0)
    expected = np.diff(np.maximum(ended_by(np.arange(31.0)), 0))
    assert set(expected) == {11, 12}
    np.testing.assert_array_equal(data.rate, expected)
    np.testing.assert_allclose(data.throughput, expected * SIZE * SECTOR)
    np.testing.assert_allclose(data.service.isel(brick=0), data.throughput)
    np.testing.assert_allclose(data.response, SIZE / RATE, rtol=1e-4)
    np.testing.assert_array_equal(data.window, np.arange(30) + 0.5)


def test_two_threads_wait_for_each_other():
    data = windows(lambda: one_server(Group(REQUESTS, 2)), {}, seconds=9, window=3.0).isel(seed=0, stream=0)
    np.testing.assert_allclose(data.response[1:], 2 * SIZE / RATE, rtol=1e-4)


def test_a_stream_that_is_off_gets_nothing():
    always, at_times = Group(REQUESTS, 1), Group(REQUESTS, OnOff(1, 4.5, 4.5), stream=1)
    data = windows(lambda: one_server(always, at_times), {}, seconds=18).isel(seed=0)
    rate = data.rate.sel(stream=1).values
    np.testing.assert_array_equal(rate[5:9], 0)
    assert np.all(rate[1:4] > 4) and np.all(rate[10:13] > 4)
    assert np.all(abs(data.rate.sum("stream") - 1 / 0.09) < 1)


def test_points_and_seeds_are_independent():
    requests = RandomRequests(ExponentialSize(SIZE * SECTOR), 1.0)

    def build(threads):
        return one_server(Group(requests, threads, most=4), Group(requests, 2, stream=1))

    both = windows(build, {"threads": [1, 4]}, seconds=20, seeds=(3, 4))
    alone = windows(lambda: build(4), {}, seconds=20, seeds=(4,))
    np.testing.assert_allclose(both.throughput.sel(threads=4, seed=4), alone.throughput.sel(seed=4))
    assert not np.allclose(both.throughput.sel(threads=1, seed=4), alone.throughput.sel(seed=4))
    assert both.attrs["seconds_per_run"] == 20 and both.attrs["queue"] == "FairQueue"


def test_service_is_reported_by_brick():
    """Stream f uses brick 0 only, and g both: service on brick 1 belongs to g alone."""
    groups = [Group(REQUESTS, 2, volumes=(0, 1)), Group(REQUESTS, 2, stream=1, volumes=(2, 3))]
    placement = Volumes(2**16, [[0], [0], [0], [1]], 128)
    system = System(SERVER, placement, Hashing(), FCFS(), queue=FairQueue(2, (1, 1)), slots=8)
    data = windows(lambda: Scenario(system, Threads(groups, volume=2**16)), {}, seconds=20).isel(seed=0)
    service = data.service.mean("window") / SECTOR
    assert float(service.sel(stream=0, brick=1)) == 0 and float(service.sel(stream=1, brick=1)) > 0.9 * RATE
    np.testing.assert_allclose(service.sel(brick=0).sum("stream"), RATE, rtol=0.02)


def test_the_backlog_is_the_streams_that_wait_for_the_device():
    """The device takes one request.

    One of two threads of f always waits. The single thread of g waits while f is served.
    """
    scenario = one_server(Group(REQUESTS, 2), Group(REQUESTS, 1, stream=1))
    (timed,) = logs([scenario], [0], 1.0, backlog=True)
    seconds = timed.log.elapsed[:, 0]
    # SFQ with equal weights serves f, g, f, g; one thread of f always waits, and the thread of g waits while f is
    # served
    for streams, expected in (((0,), 1.0), ((1,), 0.5), ((0, 1), 0.5)):
        waits, gap = (column[:, 0] for column in joint_backlog(timed, 0, streams))
        assert seconds[1:][waits[:-1]].sum() / seconds.sum() == pytest.approx(expected, abs=0.02)
        assert gap.sum() / seconds.sum() == pytest.approx(1 - expected, abs=0.02)


class Waiting(AbstractLog):
    """A log of the streams that wait at each brick as the engine reports them, and of the state that determines them."""

    def keep(self, scenario, state, report):
        slots = state.slots
        return report.waits, slots.waiting, slots.stream, slots.location.home, state.queue.queued


@pytest.mark.parametrize(
    "streams", [pytest.param(2, marks=pytest.mark.slow), 3, 12], ids=["one word", "one word of three", "several words"]
)
def test_the_streams_that_wait_at_a_brick_are_the_streams_of_its_requests(streams):
    """Count request by request after every event. Each of three bricks has no volume of some streams."""
    on = [(stream + brick) % streams for brick in range(3) for stream in range(0, streams, 2)]
    bricks = [brick for brick in range(3) for _ in range(0, streams, 2)]
    groups = [Group(REQUESTS, 2, stream=stream, volumes=(number,) * 2) for number, stream in enumerate(on)]
    layout = Volumes(9600, [(brick,) for brick in bricks], 128)
    slots = 2 * len(groups)
    system = System(SERVER, layout, Hashing(), FCFS(), queue=FairQueue(1, (1.0,) * streams), slots=slots)
    runner = Runner(*stack([Scenario(system, Threads(groups, volume=9600))], [0]), Record(log=Waiting()))
    waits, *state = (column.reshape(-1, column.shape[2]) for column in runner.advance(2)[1])
    seen = 0
    for found, waiting, stream, home, queued in zip(waits, *state, strict=True):
        expected = [0] * 3
        for slot in np.flatnonzero(waiting & 1):
            if queued[slot] >> home[slot] & 1:
                expected[home[slot]] |= 1 << int(stream[slot])
        assert found.tolist() == expected
        seen |= sum(mask << 12 * brick for brick, mask in enumerate(expected))
    assert seen.bit_count() == len(groups)


def test_a_trace_whose_requests_have_clients_runs(recorded):
    """Inside a compiled program the streams of a trace are traced data."""
    arrivals = recorded(np.arange(8) * 0.05, sectors=SIZE, clients=True)
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), slots=16)
    data = simulate(Scenario(system, arrivals), requests=8, warm_up=0)
    # requests are served one after the other, and the queue grows by 40 ms with each
    assert float(data.response) == pytest.approx(SIZE / RATE + 3.5 * 0.04, rel=1e-4)


def test_the_share_of_time_with_backlog_is_littles_law():
    """Stream f is always busy, g sometimes, with one request at a time: queue length equals throughput times wait."""
    groups = [Group(REQUESTS, 1), Group(REQUESTS, 1, think=1.0, stream=1)]
    data = windows(lambda: one_server(*groups), {}, seconds=600, window=60.0, backlog=True).isel(seed=0, brick=0)
    waits = data.rate * (data.response - SIZE / RATE)
    np.testing.assert_allclose(data.backlog.mean("window"), waits.mean("window"), rtol=0.03)
    assert 0.02 < float(data.backlog.sel(stream=1).mean()) < 0.1


def test_threads_that_all_stop_end_the_run():
    data = windows(lambda: one_server(Group(REQUESTS, Steps([3.0], [2, 0]))), {}, seconds=6).isel(seed=0, stream=0)
    assert np.all(data.rate[:3] > 10) and float(data.rate[4:].sum()) == 0


def test_streams_add_up():
    groups = [Group(REQUESTS, 2), Group(REQUESTS, 6, stream=1)]
    data = simulate(one_server(*groups, depth=8), requests=4000, measures=by_stream(2))
    assert float(data.stream_rate.sum()) == pytest.approx(float(data.request_rate), rel=1e-6)
    assert float(data.stream_throughput.sum()) == pytest.approx(float(data.request_rate) * SIZE * SECTOR, rel=1e-6)
    # with unlimited depth, a server in order of arrival serves each thread in turn
    assert float(data.stream_rate[1] / data.stream_rate[0]) == pytest.approx(3, rel=0.01)
    little = float((data.stream_rate * data.stream_response).sum())
    assert little == pytest.approx(8, rel=0.01)


def test_a_run_may_be_given_in_seconds():
    data = replicate(one_server(Group(REQUESTS, 1)), seeds=3, seconds=100, warm_up=20)
    chunk = 128 * SIZE / RATE
    np.testing.assert_allclose(data.elapsed, 80, atol=chunk)
    np.testing.assert_allclose(data.request_rate, RATE / SIZE, rtol=1e-3)
    assert data.attrs["seconds_per_run"] == 100 and data.attrs["warm_up_seconds"] == 20


def closed() -> Scenario:
    return Scenario(System(SERVER, Replicas(1), Hashing(), FCFS(), slots=4), ClosedLoop(REQUESTS, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: windows(closed, {}, seconds=2), "requests of clients: use workload.Threads"),
        (lambda: windows(closed, {}, seconds=0), "length of the run 0 s: it must be above 0"),
        (lambda: windows(closed, {"nope": [1]}, seconds=2), "axes nope"),
        (lambda: windows(closed, {"x": []}, seconds=2), "an axis has no values"),
        (lambda: windows(closed, {"stream": [1]}, seconds=2), "an axis named 'stream'"),
        (lambda: windows(closed, {}, seconds=2, seeds=[1, 1]), "give each seed once"),
        (
            lambda: windows(closed, {}, seconds=2, window=3.0),
            "length of windows 3 s: it must be above 0 and at most the 2 s",
        ),
        (
            lambda: simulate(closed(), requests=10, measures=by_stream(1)),
            "measures by stream need requests of clients",
        ),
        (lambda: by_stream(0), "streams 0: give a whole number"),
        (lambda: simulate(closed(), seconds=-1.0), "length of the run -1 s: it must be above 0"),
        (
            lambda: sweep(closed, {}, seconds=2.0, warm_up=2.0),
            "warm-up of 2 s: it must be at least 0 and below the length of the run, 2 s",
        ),
    ],
)
def test_impossible_windows_raise(call, message):
    assert_refused(call, message)
