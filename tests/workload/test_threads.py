"""Test threads: each has an independent stream of requests, and a closed network agrees with formulas."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.core.units import MS
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Record, Scenario, System, execute, keys, structure
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF, SSTF
from storagekit.simulation import replicate, sweep
from storagekit.workload import (
    ExponentialSize,
    FixedSize,
    Group,
    OnOff,
    RandomRequests,
    Requests,
    Sinusoid,
    Steps,
    Threads,
)

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=0.1e-3)
REQUESTS = RandomRequests(ExponentialSize(8192), 0.7)


def sectors_sent(threads: Threads, order) -> dict[tuple[int, int], int]:
    """Return the sectors of the requests that threads send if requests complete in this order, by thread and number."""
    always = jnp.ones(1, bool)

    def send(private, thread):
        at = thread[None]
        private = private._replace(due=jnp.full_like(private.due, jnp.inf))
        private = threads.completed(private, at, jnp.zeros(1), always)
        request = threads.request(private, 2**20, at)
        seen = request.client[0], private.issued[thread], request.sector[0]
        return threads.sent(private, request, always), seen

    first = threads.init(jnp.asarray(keys([3])[:, 0]))
    _, (client, issued, sector) = jax.jit(lambda: jax.lax.scan(send, first, jnp.asarray(order, jnp.int32)))()
    assert client.tolist() == list(order)
    return dict(zip(zip(order, issued.ravel().tolist(), strict=True), sector.tolist(), strict=True))


def test_request_i_of_a_thread_is_the_same_in_any_order():
    threads = Threads(REQUESTS, 3, 1e-3)
    orders = [[0, 1, 2] * 4, [2] * 4 + [0] * 4 + [1] * 4, [1, 1, 0, 2, 0, 1, 2, 2, 0, 0, 1, 2]]
    first, *others = (sectors_sent(threads, order) for order in orders)
    assert len(first) == 12 and all(other == first for other in others)
    assert len(set(first.values())) == 12


def test_one_request_of_a_thread_at_a_time(event_log):
    """Three threads have at most three requests in the system, and each request completes once."""
    system = System(DRIVE, Replicas(2), Hashing(), SATF(), slots=4)
    reports = execute(Scenario(system, Threads(REQUESTS, 3)), keys([1])[:, 0], 300, Record(log=event_log)).log
    completed = reports.completed.number[reports.completed.number >= 0]
    assert sorted(completed)[:300] == list(range(300))
    inside = np.cumsum(reports.admitted.astype(int) - (reports.completed.number >= 0))
    assert inside.max() == 3 and inside.min() >= 0
    assert np.min(reports.elapsed) >= 0 and reports.blocked.sum() == 0


def repairmen(threads: int, think: float) -> float:
    """Return the throughput of a closed network of thinking threads and one exponential server.

    The unit is services per service time. The function solves the birth and death process of the machine repairman.
    """
    weights = [1.0]
    for inside in range(threads):
        weights.append(weights[-1] * (threads - inside) / think)
    return 1 - weights[0] / sum(weights)


@pytest.mark.parametrize(("threads", "think"), [(1, 2.0), (4, 5.0), (8, 4.0)])
def test_thinking_threads_and_a_server_agree_with_the_machine_repairman(threads, think):
    service = 10 * MS
    server = RateServer(20_000 / service, capacity=2**28)
    requests = RandomRequests(ExponentialSize(20_000 * 512.0), 1.0)
    system = System(server, Replicas(1), Hashing(), FCFS(), slots=8)
    scenario = Scenario(system, Threads(requests, threads, think * service, most=8))
    rate = replicate(scenario, seeds=range(64), requests=1500, warm_up=300).request_rate * service
    assert abs(float(rate.mean()) - repairmen(threads, think)) < 4 * float(rate.std(ddof=1)) / 8 < 0.03


def test_a_batch_element_equals_its_single_run(event_log):
    system = System(DRIVE, Replicas(2), Hashing(), SSTF(), slots=4)
    scenario = Scenario(system, Threads(REQUESTS, 3, 2e-3))
    key = keys([1, 2])
    batch = execute(jax.tree.map(lambda leaf: leaf, scenario), key, 100, Record(log=event_log)).log
    alone = execute(scenario, key[:, 1], 100, Record(log=event_log)).log
    length = min(len(alone.number), len(batch.number))
    np.testing.assert_array_equal(batch.completed.number[:length, 1], alone.completed.number[:length])


GROUPS = (
    Group(REQUESTS, 3, 1e-3, most=4),
    Group(RandomRequests(FixedSize(4096), 0.0, alignment=16), OnOff(2, 1.0, 3.0), 2e-3, stream=2),
    Group(RandomRequests(FixedSize(16384), 1.0, alignment=24), Sinusoid(0, 3, 5.0), stream=1),
)


def groups_with_counts(first: int, other) -> Threads:
    """Return the same groups with other counts: `first` threads in the first group, and `other` in the last."""
    last = Group(GROUPS[2].requests, other, stream=1, most=3)
    return Threads([Group(REQUESTS, first, 1e-3, most=4), GROUPS[1], last])


def test_request_i_of_a_thread_does_not_depend_on_the_counts():
    order = [0, 4, 1, 6, 5, 0, 4, 6, 1, 1]
    first, *others = (
        sectors_sent(threads, order)
        for threads in (
            Threads(GROUPS),
            groups_with_counts(2, 1),
            groups_with_counts(4, Steps([7.0], [1, 3])),
            groups_with_counts(2, OnOff(1, 2.0, 1.0)),
        )
    )
    assert len(first) == 10 and all(other == first for other in others)


def first_requests(threads: Threads, each: int) -> Requests:
    """Return the first `each` requests of every thread, one after the other, within a GB."""
    provided = sum(group.most for group in threads.groups)
    thread, issued = np.divmod(np.arange(provided * each), each)
    key = np.repeat(keys([5]), len(thread), axis=1)
    private = threads.init(jnp.asarray(key))
    due = jnp.where(np.arange(provided)[:, None] == thread, 0.0, jnp.inf)
    private = private._replace(due=due, issued=jnp.broadcast_to(jnp.asarray(issued, jnp.int32), due.shape))
    requests = jax.jit(lambda: threads.request(private, 2**21, jnp.zeros((1, len(thread)), jnp.int32)))()
    return jax.tree.map(lambda column: np.asarray(column)[0], requests)


def test_each_group_has_separate_requests():
    """Sizes, operations, grids and streams agree with the group of each thread."""
    found = first_requests(Threads(GROUPS), 20)
    first, second, third = found.client < 4, (found.client >= 4) & (found.client < 6), found.client >= 6
    assert len(set(found.sectors[first])) > 5 and set(found.read[first]) == {True, False}
    for its, stream, sectors, read, grid in ((second, 2, 8, False, 16), (third, 1, 32, True, 24)):
        assert set(found.sectors[its]) == {sectors} and set(found.read[its]) == {read}
        assert set(found.stream[its]) == {stream} and not np.any(found.sector[its] % grid)
    assert set(found.stream[first]) == {0} and not np.any(found.sector % 8)


def test_requests_stay_in_their_volumes():
    """Requests are uniform, on the grid, up to the last location.

    A thread without a volume uses the whole address space.
    """
    volume, request = 4800, RandomRequests(FixedSize(4096), 0.5, alignment=48)
    groups = [Group(request, 2, volumes=(7, 3)), Group(request, 1), Group(request, 2, volumes=(0, 7, 5), most=3)]
    found = first_requests(Threads(groups, volume=volume), 1000)
    assert not np.any(found.sector % 48)
    for thread, number in enumerate([7, 3, None, 0, 7, 5]):
        sector = found.sector[found.client == thread]
        if number is None:
            assert sector.max() > 0.99 * 2**21 and sector.min() < 0.01 * 2**21
            continue
        assert sector.min() >= number * volume and sector.max() + 8 <= (number + 1) * volume
        # on average, 1,000 draws from 99 locations miss one location in 25,000 runs
        assert len(set(sector)) >= 97
    assert set(found.sector[found.client == 0]) >= {7 * 4800, 8 * 4800 - 96}


def test_equal_addresses_have_equal_hashes():
    """All groups agree in one volume on different grids."""
    groups = [Group(RandomRequests(FixedSize(4096), 0.5, alignment=grid), 1, volumes=(1,)) for grid in (16, 24)]
    found = first_requests(Threads(groups, volume=480), 300)
    both = set(found.sector[found.client == 0]) & set(found.sector[found.client == 1])
    pairs = set(zip(found.sector.tolist(), found.address_hash.tolist(), strict=True))
    # the grids share every 48th sector
    assert both == set(range(480, 960 - 8, 48))
    assert len(pairs) == len(set(found.sector)) == len(set(found.address_hash))


PATTERNS = {
    "on and off": (OnOff(3, 0.7, 0.4), lambda t: 3 * (t % 1.1 < 0.7)),
    "sinusoid": (Sinusoid(1, 5, 1.3, 0.2), lambda t: math.floor(3.5 + 2 * math.sin(2 * math.pi * (t / 1.3 + 0.2)))),
    "steps": (Steps([0.3, 0.9, 2.0], [2, 0, 5, 1]), lambda t: [2, 0, 5, 1][sum(t >= at for at in (0.3, 0.9, 2.0))]),
}


def first_on(defined, thread: int, now: float, until: float) -> float:
    """Return the first instant from `now` on with count(t) > thread: in steps of a millisecond, then by bisection."""
    if defined(now) > thread:
        return now
    before, after = now, now + 1e-3
    while not defined(after) > thread:
        if after > until:
            return math.inf
        before, after = after, after + 1e-3
    for _ in range(30):
        middle = (before + after) / 2
        before, after = (before, middle) if defined(middle) > thread else (middle, after)
    return after


def send_times(threads: Threads, service: np.ndarray, until: float) -> dict[int, list[float]]:
    """Return the times at which each thread issues its requests.

    The i-th request of a thread takes service[thread, i] seconds independently of others.
    """
    takes, always, first = jnp.asarray(service, jnp.float32), jnp.ones(1, bool), jnp.zeros(1, jnp.int32)

    def next_one(private, _):
        wait = jnp.min(private.due)[None]
        private = threads.elapse(private, wait)
        request = threads.request(private, 2**20, first)
        client = request.client
        duration = takes[client, private.issued[client]]
        private = threads.completed(threads.sent(private, request, always), client, duration, always)
        return private, (wait[0], client[0])

    key = jnp.asarray(keys([3])[:, 0])
    _, (wait, thread) = jax.jit(lambda: jax.lax.scan(next_one, threads.init(key), None, length=400))()
    now = np.cumsum(np.asarray(wait, np.float64))
    assert now[-1] > until
    return {int(one): now[(thread == one) & (now <= until)].tolist() for one in set(np.asarray(thread).tolist())}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_threads_send_while_they_are_on(pattern):
    """An independent program gives the times of each thread.

    A thread sends its next request when the previous one has completed and count(t) exceeds the thread's number.
    """
    count, defined = PATTERNS[pattern]
    service, until = np.random.default_rng(7).uniform(0.03, 0.2, (5, 200)), 4.0
    found = send_times(Threads([Group(REQUESTS, count, most=5)]), service, until)
    for thread in range(5):
        expected, now = [], first_on(defined, thread, 0.0, until)
        while now <= until:
            expected.append(now)
            now = first_on(defined, thread, now + service[thread, len(expected) - 1], until)
        np.testing.assert_allclose(found.get(thread, []), expected, atol=5e-6, rtol=0)
    assert len(found) == max(defined(time_point) for time_point in np.linspace(0, until, 1000))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_requests_in_the_system_equal_the_active_threads(pattern, event_log):
    """With a fast server and no think time, count(t) requests are in the system at each completion.

    The only exception is a short time after a change, when the last requests of inactive threads are served.
    """
    count, defined = PATTERNS[pattern]
    service = 0.5 * MS
    server = RateServer(8 / service, capacity=2**20)
    system = System(server, Replicas(1), Hashing(), FCFS(), slots=8)
    scenario = Scenario(system, Threads(RandomRequests(FixedSize(4096), 1.0), count))
    reports = execute(scenario, keys([1])[:, 0], 4000, Record(log=event_log)).log
    time = np.cumsum(reports.elapsed.astype(np.float64).ravel())
    completions = reports.completed.number.ravel() >= 0
    # before the completion of each event
    inside = np.cumsum(reports.admitted.ravel().astype(int) - completions) + completions
    before, now, soon = ([defined(time_point + late * service) for time_point in time] for late in (-6, 0, 2))
    settled = np.equal(before, now) & np.equal(now, soon) & completions & (time > 6 * service)
    assert settled.sum() > 0.8 * completions.sum() and len(set(now)) > 1
    np.testing.assert_array_equal(inside[settled], np.asarray(now)[settled])
    assert inside.max() == max(now)


def test_changing_counts_use_one_program():
    """A sweep over counts compiles once."""

    def scenario(n, on, low, change):
        system = System(DRIVE, Replicas(2), Hashing(), SATF(), slots=20)
        counts = n, OnOff(n, on, 1.0), Sinusoid(low, low + 2, on), Steps([change], [n, low])
        return Scenario(system, Threads([Group(REQUESTS, count, most=5) for count in counts]))

    assert structure(scenario(0, 1.0, 0, 3.0)) == structure(scenario(5, 2.0, 3, 4.0))


def test_batches_of_different_counts_equal_their_single_runs():
    def scenario(n):
        system = System(DRIVE, Replicas(2), Hashing(), SSTF(), slots=8)
        groups = Group(REQUESTS, n, 1e-3, most=3), Group(REQUESTS, OnOff(n + 1, 0.05, 0.03), 2e-3, stream=1, most=4)
        return Scenario(system, Threads(groups))

    seen = sweep(lambda n: scenario(n), {"n": [0, 2, 3]}, seeds=2, requests=400)
    for n in (0, 3):
        alone = sweep(lambda n: scenario(n), {"n": [n]}, seeds=2, requests=400)
        np.testing.assert_allclose(seen.response.sel(n=n), alone.response.sel(n=n), rtol=1e-5)
    assert float(seen.request_rate.sel(n=3).mean()) > float(seen.request_rate.sel(n=0).mean())


def test_more_threads_than_slots_raise():
    system = System(DRIVE, Replicas(2), Hashing(), SATF(), slots=8)
    groups = [Group(REQUESTS, 5), Group(REQUESTS, Sinusoid(0, 4, 1.0))]
    assert_refused(lambda: Scenario(system, Threads(groups)), "9 requests outstanding, but 8 slots: raise System.slots")


def test_volumes_beyond_the_disks_raise():
    system = System(RateServer(1.0, capacity=4096), Replicas(2), Hashing(), SATF())
    small = RandomRequests(FixedSize(4096), 0.5)
    Scenario(system, Threads([Group(small, 2, volumes=(0, 3))], volume=1024))
    message = "volumes of 1024 sectors end at sector 5120, but the system has 4096 sectors: use fewer or smaller"
    assert_refused(lambda: Scenario(system, Threads([Group(small, 2, volumes=(0, 4))], volume=1024)), message)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Threads(REQUESTS, 0), "threads 0: it must be at least 1"),
        (lambda: Threads(REQUESTS, -1), "threads -1: it must be 0 or more"),
        (lambda: Threads(REQUESTS, 2, -1.0), "a think time of -1 s"),
        (lambda: Threads(REQUESTS, 4, most=2), "4 threads, but most is 2; raise most"),
        (lambda: Threads(REQUESTS, Sinusoid(0, 4, 1.0), most=3), "4 threads, but most is 3; raise most"),
        (lambda: Threads(REQUESTS), "no number of threads: give `threads`"),
        (lambda: Threads([Group(REQUESTS, 1)], think=0.1), "together with groups: set them in each group"),
        (lambda: Threads([]), "no group of threads: give at least one"),
        (lambda: Threads([Group(REQUESTS, 0)] * 2), "no thread in any of 2 groups: give at least one group a thread"),
        (lambda: Group(REQUESTS, 1, stream=-1), "stream -1: give a whole number, between 0 and 1000000"),
        (lambda: Group(REQUESTS, 2, volumes=(1,)), "1 volumes for 2 threads: give one volume for each"),
        (lambda: Group(REQUESTS, 1, volumes=(-1,)), "volume -1: give a whole number, between 0 and"),
        (lambda: Threads([Group(REQUESTS, 1, volumes=(0,))]), "a group has volumes, but their size is missing"),
        (lambda: Threads([Group(REQUESTS, 1, volumes=(0,))], volume=0), "sectors of a volume 0: give a whole number"),
        (
            lambda: Threads([Group(REQUESTS, 1, volumes=(0,))], volume=1001),
            "volumes of 1001 sectors: give a multiple of the alignment of addresses, 8",
        ),
        (
            lambda: Threads([Group(REQUESTS, 1, volumes=(0,))], volume=80),
            "volumes of 80 sectors, but requests of up to 26",
        ),
    ],
)
def test_impossible_threads_raise(build, message):
    assert_refused(build, message)
