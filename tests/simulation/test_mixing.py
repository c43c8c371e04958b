"""Scenarios of users' requests and of sequential streams."""

import numpy as np
import pytest

import storagekit as sk
from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import ideal_drive
from storagekit.placement import Striped
from storagekit.schedule import FCFS
from storagekit.simulation import ChunkStream, by_stream, mixed_scenario
from storagekit.workload import FixedSize, MixedRequests, RandomRequests

CHUNK = 2**16
USERS = RandomRequests(FixedSize(4096), read_share=0.6)
SYSTEM = sk.System(ideal_drive(full_seek=4e-3, revolution=4e-3), Striped(4, CHUNK // SECTOR), Hashing(), FCFS())


def test_a_stream_passes_over_the_data_in_order_at_its_rate():
    """Addresses rise by a chunk, and begin again after the last chunk of the data; arrivals are regular."""
    data, rate = 40 * CHUNK, 25 * CHUNK
    scenario = mixed_scenario(SYSTEM, USERS, rate=50.0, streams=[ChunkStream(rate, CHUNK)], data=data, requests=3000)
    requests, gap = scenario.arrivals.requests, np.asarray(scenario.arrivals.gap, float)
    time, mine = np.concatenate([[0.0], np.cumsum(gap[:-1])]), np.asarray(requests.stream) == 1
    assert len(mine) == 3000 and mine.sum() > 500
    chunk = np.asarray(requests.sector)[mine] * SECTOR // CHUNK
    assert not np.any(np.asarray(requests.sector)[mine] * SECTOR % CHUNK)
    np.testing.assert_array_equal(np.diff(chunk) % 40, np.ones(mine.sum() - 1))
    assert chunk.min() == 0 and chunk.max() == 39
    np.testing.assert_allclose(np.diff(time[mine]), 1 / 25, atol=1e-4)
    assert np.asarray(requests.read)[mine].all() and np.asarray(requests.asynchronous)[mine].all()
    assert not np.asarray(requests.asynchronous)[~mine].any()


def test_response_times_are_those_of_the_users():
    """The mean of all measures of responses is the mean of stream 0; the streams have their throughput."""
    streams = [ChunkStream(20 * CHUNK, CHUNK), ChunkStream(5 * CHUNK, CHUNK, read=False)]
    scenario = mixed_scenario(SYSTEM, USERS, rate=120.0, streams=streams, requests=6000)
    seen = sk.simulate(scenario, requests=5900, measures=by_stream(3), warm_up=0)
    assert float(seen.response) == pytest.approx(float(seen.stream_response[0]), rel=1e-5)
    reads, writes = float(seen.read_response), float(seen.write_response)
    assert min(reads, writes) < float(seen.response) < max(reads, writes)
    assert seen.stream_throughput.values[1:] == pytest.approx([20 * CHUNK, 5 * CHUNK], rel=0.02)
    assert float(seen.stream_response[1]) != pytest.approx(float(seen.response), rel=0.01)


def test_classes_of_users_come_before_the_streams():
    users = MixedRequests([USERS, RandomRequests(FixedSize(8192), 1.0)], [3.0, 1.0])
    scenario = mixed_scenario(SYSTEM, users, rate=100.0, streams=[ChunkStream(10 * CHUNK, CHUNK)], requests=2000)
    requests = scenario.arrivals.requests
    sectors = {number: set(np.asarray(requests.sectors)[np.asarray(requests.stream) == number]) for number in range(3)}
    assert sectors == {0: {8}, 1: {16}, 2: {CHUNK // SECTOR}}


def test_without_streams_the_requests_are_poisson_arrivals():
    scenario = mixed_scenario(SYSTEM, USERS, rate=100.0, requests=4000, seed=5)
    gap = np.asarray(scenario.arrivals.gap)[:-1]
    assert gap.mean() == pytest.approx(0.01, rel=4 / np.sqrt(4000))
    assert gap.std() == pytest.approx(gap.mean(), rel=0.1)


def test_a_stream_may_send_nearly_all_requests():
    scenario = mixed_scenario(SYSTEM, USERS, rate=1e-3, streams=[ChunkStream(100 * CHUNK, CHUNK)], requests=500)
    stream = np.asarray(scenario.arrivals.requests.stream)
    assert len(stream) == 500 and np.count_nonzero(stream == 0) <= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ChunkStream(1e6, 1000), "a multiple of 512"),
        (lambda: mixed_scenario(SYSTEM, USERS, rate=9.0, streams=[ChunkStream(1e6, CHUNK)], data=CHUNK / 2), "at most"),
    ],
)
def test_impossible_streams_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
