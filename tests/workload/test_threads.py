"""Threads: each its own stream of requests, whatever the system does; a closed network as formulas have it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Record, Scenario, System, execute, keys
from storagekit.metrics import replicate
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF, SSTF
from storagekit.units import MS
from storagekit.workload import ExponentialSize, RandomRequests, Threads

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=0.1e-3)
REQUESTS = RandomRequests(ExponentialSize(8192), 0.7)


def sent(threads: Threads, order) -> dict[tuple[int, int], int]:
    """Sectors of the requests that threads send if they are answered in that order, by thread and number."""
    private = threads.init(jnp.asarray(keys([3])[:, 0]))
    always, found = jnp.ones(1, bool), {}
    for thread in order:
        at = jnp.asarray([thread], jnp.int32)
        private = private._replace(due=jnp.full_like(private.due, jnp.inf))
        private = threads.answered(private, at, jnp.zeros(1), always)
        issued = int(private.issued[thread])
        request = threads.request(private, 2**20, at)
        assert int(request.client[0]) == thread
        found[thread, issued] = int(request.sector[0])
        private = threads.sent(private, request, always)
    return found


def test_request_i_of_a_thread_is_the_same_in_any_order():
    threads = Threads(REQUESTS, 3, 1e-3)
    orders = [[0, 1, 2] * 4, [2] * 4 + [0] * 4 + [1] * 4, [1, 1, 0, 2, 0, 1, 2, 2, 0, 0, 1, 2]]
    first, *others = (sent(threads, order) for order in orders)
    assert len(first) == 12 and all(other == first for other in others)
    assert len(set(first.values())) == 12


def test_one_request_of_a_thread_at_a_time(event_log):
    """Three threads: never more than three inside, and each number is answered once."""
    system = System(DRIVE, Replicas(2), Hashing(), SATF(), slots=4)
    reports = execute(Scenario(system, Threads(REQUESTS, 3)), keys([1])[:, 0], 300, Record(log=event_log)).log
    answered = reports.answered.number[reports.answered.number >= 0]
    assert sorted(answered)[:300] == list(range(300))
    inside = np.cumsum(reports.admitted.astype(int) - (reports.answered.number >= 0))
    assert inside.max() == 3 and inside.min() >= 0
    assert np.min(reports.elapsed) >= 0 and reports.held_up.sum() == 0


def repairmen(threads: int, think: float) -> float:
    """Throughput of a closed network of thinkers and one exponential server, in services a service time: the birth and death
    process of the machine repairman."""
    weights = [1.0]
    for inside in range(threads):
        weights.append(weights[-1] * (threads - inside) / think)
    return 1 - weights[0] / sum(weights)


@pytest.mark.parametrize(("threads", "think"), [(1, 2.0), (4, 5.0), (8, 4.0)])
def test_thinkers_and_a_server_are_the_machine_repairman(threads, think):
    service = 10 * MS
    server = RateServer(20_000 / service, capacity=2**28)
    requests = RandomRequests(ExponentialSize(20_000 * 512.0), 1.0)
    system = System(server, Replicas(1), Hashing(), FCFS(), slots=8)
    scenario = Scenario(system, Threads(requests, threads, think * service, most=8))
    rate = replicate(scenario, seeds=range(64), requests=1500, warm_up=300).request_rate * service
    assert abs(float(rate.mean()) - repairmen(threads, think)) < 4 * float(rate.std(ddof=1)) / 8 < 0.03


def test_a_lane_is_its_single_run(event_log):
    system = System(DRIVE, Replicas(2), Hashing(), SSTF(), slots=4)
    scenario = Scenario(system, Threads(REQUESTS, 3, 2e-3))
    key = keys([1, 2])
    batch = execute(jax.tree.map(lambda leaf: leaf, scenario), key, 100, Record(log=event_log)).log
    alone = execute(scenario, key[:, 1], 100, Record(log=event_log)).log
    length = min(len(alone.number), len(batch.number))
    np.testing.assert_array_equal(batch.answered.number[:length, 1], alone.answered.number[:length])


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Threads(REQUESTS, 0), "threads 0: it must be at least 1"),
        (lambda: Threads(REQUESTS, 2, -1.0), "a think time of -1 s"),
        (lambda: Threads(REQUESTS, 4, most=2), "4 threads where 2 are provided for: raise most"),
        (lambda: Threads(REQUESTS, 2, streams=(1,)), "streams of 1 threads: give one for each of 2"),
    ],
)
def test_impossible_threads_are_refused(build, says):
    assert_refused(build, says)
