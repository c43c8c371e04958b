"""C3's ranking: a timeline worked by hand, a simulation in plain Python, laws of every arrival, and other dispatchers."""

import heapq
from collections import Counter, deque
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import WrappedDispatch, assert_refused, dispatch_state

from storagekit.component.events import AccessEnded, RequestAdmitted, RequestCompleted, StateSizes
from storagekit.core.batching import any_row, bit_is_set, row_index
from storagekit.core.units import MS
from storagekit.dispatch import C3, DispatchSwitch, Hashing, ShortestQueue, View
from storagekit.dispatch.c3 import Means
from storagekit.drive import Mixed, RateServer
from storagekit.engine import NO_REQUEST, Scenario, System
from storagekit.faults import FaultSchedule, outage
from storagekit.placement import Coded, Declustered, Grouping, Location, Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import sweep
from storagekit.workload import (
    ExponentialSize,
    PoissonArrivals,
    RandomRequests,
    RecordedArrivals,
    Requests,
    scramble,
)
from storagekit.write import AllCopies

# 1 ms for each 100 sectors
RATE = 1e5
SERVER = RateServer(RATE, capacity=2**28)


class Watched(WrappedDispatch):
    """Dispatch as `of` does. The private state also has the scores at each request, `[request, brick, *batch]`, and the
    mask of the parts that it was sent to, `[request, *batch]`."""

    of: C3
    count: int = eqx.field(static=True)

    def init(self, sizes: StateSizes):
        scores = jnp.zeros((self.count, sizes.bricks, *sizes.batch))
        return self.of.init(sizes), scores, scores[:, 0].astype(jnp.uint32)

    def route(self, private, request, entering, view):
        before, scores, sent_to = private
        routed, after = self.of.route(before, request, entering, view)
        here = (row_index(self.count, sent_to) == request.number) & entering
        found = self.of.scores(before, request.client, view)
        return routed, (after, jnp.where(here[:, None], found[None], scores), jnp.where(here, routed, sent_to))


def trace(times, sectors, client=0) -> RecordedArrivals:
    """Reads at these times in seconds, at least one of them later than all events that a test observes."""
    count, none = len(times), np.zeros(len(times), np.int32)
    client = np.broadcast_to(np.asarray(client, np.int32), (count,)).copy()
    requests = Requests(
        np.arange(count, dtype=np.int32),
        none,
        np.asarray(sectors, np.int32),
        none == 0,
        none.astype(np.uint32),
        none.astype(np.uint32),
        none == 1,
        none,
        client,
    )
    return RecordedArrivals(requests, np.append(np.diff(times), np.inf).astype(np.float32))


def test_scores_of_a_timeline_worked_by_hand():
    """Two bricks, one client. Brick a is the brick of the first read; b has the score 0 until its first response.

    read  at ms  takes  scores of a and b                          sent to  served     queue after
    0     0      1      0, 0                                       a        0 to 1     0
    1     2      3      1, 0                                       b        2 to 5     0
    2     6      2      1, 3                                       a        6 to 8     1 (read 6)
    3     6.5    2      8, 3                                       b        6.5 to 8.5 0
    4     7      1      8, 24                                      a        8 to 9     0
    5     7.2    4      27, 24                                     b        8.5 to 12.5 0
    6     7.4    1      27, 81                                     a        9 to 10    0
    7     11     1      1.53 + 1.009^3 1.009, 2^3 2.1              a        11 to 12   0
    8     13     1      0.153 + 1.0009^3 1.0009, 1.17 + 3.81       a

    Means of a after reads 0, 2, 4, 6, 7: queue 0, 0.9, 0.09, 0.009, 0.0009; service 1, 1.9, 1.09, 1.009, 1.0009;
    response 1, 1.9, 1.99, 2.539, 1.1539 (read 4 took 2 ms, read 6 took 2.6 ms). Means of b after reads 1, 3, 5: service
    3, 2.1, 3.81; response 3, 2.1, 4.98 (read 5 took 5.3 ms).
    """
    times = [0, 2, 6, 6.5, 7, 7.2, 7.4, 11, 13, 40]
    arrivals = trace(np.asarray(times) * MS, [100, 300, 200, 200, 100, 400, 100, 100, 100, 100])
    system = System(SERVER, Replicas(2), Watched(C3(), 9), FCFS(), slots=8)
    _, scores, sent_to = dispatch_state([Scenario(system, arrivals)], 9)
    sent_to = np.asarray(sent_to)[:, 0]
    a, b = (0, 1) if sent_to[0] == 1 else (1, 0)
    assert sent_to.tolist() == [1 << {"a": a, "b": b}[one] for one in "abababaaa"]
    expected = [
        (0, 0),
        (1, 0),
        (1, 3),
        (8, 3),
        (8, 24),
        (27, 24),
        (27, 81),
        (1.53 + 1.009**4, 8 * 2.1),
        (0.153 + 1.0009**4, 1.17 + 3.81),
    ]
    np.testing.assert_allclose(np.asarray(scores)[:, [a, b], 0] / MS, expected, rtol=1e-4, atol=1e-5)


def replayed(times, service, client, sent_to, bricks: int, clients: int, weight: float) -> np.ndarray:
    """The scores of all bricks at each request, if the requests are sent to the bricks `sent_to`."""
    queues = [deque[tuple[int, float]]() for _ in range(bricks)]
    means: dict[tuple[int, int], tuple[float, ...]] = {}
    ends, outstanding, found = [], Counter(), []

    def begin(brick: int, now: float) -> None:
        heapq.heappush(ends, (now + service[queues[brick][0]], now, brick))

    for number, now in enumerate(times):
        while ends and ends[0][0] <= now:
            end, begun, brick = heapq.heappop(ends)
            done, queue = queues[brick].popleft(), queues[brick]
            view = client[done], brick
            new = max(len(queue) - 1, 0), end - begun, end - times[done]
            old = means.get(view, new)
            means[view] = tuple(weight * ours + (1 - weight) * theirs for ours, theirs in zip(new, old, strict=True))
            outstanding[view] -= 1
            if queue:
                begin(brick, end)
        scores = []
        for brick in range(bricks):
            view = client[number], brick
            queue_length, mean, response = means.get(view, (0.0, 0.0, 0.0))
            estimate = 1 + clients * outstanding[view] + queue_length
            scores.append(response - mean + estimate**3 * mean)
        found.append(scores)
        brick = sent_to[number]
        queues[brick].append(number)
        outstanding[client[number], brick] += 1
        if len(queues[brick]) == 1:
            begin(brick, now)
    return np.asarray(found)


def test_every_choice_agrees_with_plain_python():
    """Five servers with exponential service at a load of 0.8, nine clients with three views, two weights in one batch.

    The plain program has 64 bits. If scores are equal within the precision of 32 bits, either brick is right, so the
    program receives the choice after it has computed the scores. Bricks without a response have the score 0.
    """
    count, bricks, clients, weights = 400, 5, 3, (0.9, 0.3)
    draw = np.random.default_rng(1)
    sectors = np.maximum(draw.exponential(2000, count + 1), 1).astype(np.int32)
    gap = draw.exponential(2000 / RATE / bricks / 0.8, count)
    client = draw.integers(0, 3 * clients, count + 1)
    times = np.append(0, np.cumsum(gap.astype(np.float32).astype(float)))
    arrivals = trace(times, sectors, client)
    scenarios = [
        Scenario(System(SERVER, Replicas(bricks), Watched(C3(clients, weight), count), FCFS(), slots=96), arrivals)
        for weight in weights
    ]
    _, scores, sent_to = dispatch_state(scenarios, count)
    scores, sent_to = np.asarray(scores), np.asarray(sent_to)
    for run, weight in enumerate(weights):
        chosen = np.log2(sent_to[:, run]).astype(int)
        expected = replayed(times[:count], sectors / RATE, client % clients, chosen, bricks, clients, weight)
        np.testing.assert_allclose(scores[..., run], expected, rtol=1e-3, atol=1e-6)
        least = np.min(expected, axis=1)
        assert np.all(expected[np.arange(count), chosen] <= least * 1.001 + 1e-6)
        # the clients differ, all bricks serve, and most choices are between known bricks
        assert np.mean(least > 0) > 0.8 and np.min(np.bincount(chosen, minlength=bricks)) > 30
    assert np.any(sent_to[:, 0] != sent_to[:, 1])


class Lawful(Watched):
    """Counts the reads and writes, and the broken laws at their arrivals, instead of the scores."""

    def init(self, sizes: StateSizes):
        none = jnp.zeros((1, *sizes.batch), jnp.int32)
        return self.of.init(sizes), none, none

    def route(self, private, request, entering, view):
        before, number, wrong = private
        routed, after = self.of.route(before, request, entering, view)
        drive = row_index(view.busy.shape[0], view.busy)
        sent = before.outstanding
        without = view._replace(waiting=jnp.where(sent.left > 0, sent.parts, jnp.uint32(0)))
        # one client waits for all requests that wait or are in service
        missed = any_row(without.queued(drive) != view.load()) | any_row(before.waiting != view.queued(drive))
        holds, part = view.by_brick()
        scores = self.of.scores(before, request.client, view)
        chosen = bit_is_set(routed, part) & holds
        worst = jnp.max(jnp.where(chosen, scores, -jnp.inf), axis=0, keepdims=True)
        other = any_row(holds & ~chosen & (scores < worst))
        few = jnp.sum(chosen, axis=0, keepdims=True) != view.needed
        changed = ~entering & any_row(jnp.asarray(after.waiting != before.waiting))
        return routed, (after, number + entering, wrong + (entering & (missed | other | few) | changed))


@pytest.mark.parametrize("layout", [Declustered(6, 3, data=2**26, extent=2**20), Coded(2, 4)], ids=["copies", "code"])
def test_no_request_breaks_a_law(layout):
    """Reads and writes from a light to a high load, without a full table of slots.

    At every arrival the outstanding parts of the only client are the parts that wait or are in service, and the waiting
    requests are counted exactly. A read is sent to as many bricks as it needs, and no other brick has a lower score.
    """
    system = System(SERVER, layout, Lawful(C3(), 0), FCFS(), AllCopies(), slots=96)
    mixed = RandomRequests(ExponentialSize(100 * 512.0), 0.8)
    scenarios = [Scenario(system, PoissonArrivals(mixed, load * 1000)) for load in (0.5, 1.2, 2)]
    _, number, wrong = dispatch_state(scenarios, 500)
    assert np.all(np.asarray(number) > 400) and np.all(np.asarray(wrong) == 0)


def view_of(bricks: int, runs: int) -> View:
    """The view of idle bricks, with a different random word in each run."""
    none = jnp.zeros((1, runs), jnp.int32)
    nothing, location = jnp.zeros((bricks, runs)), Location(None, none)
    word = scramble(jnp.arange(runs, dtype=jnp.uint32)[None])
    waiting = none.astype(jnp.uint32)
    never: Any = None
    idle = nothing == 0
    of = Replicas(bricks), Grouping((1,) * bricks)
    return View(waiting, location, ~idle, nothing, idle, location, *of, never, never, word)


def request_of(runs: int) -> Requests:
    """A read of client 0 in each run."""
    nothing = jnp.zeros((1, runs), jnp.int32)
    words = nothing.astype(jnp.uint32)
    return Requests(nothing, nothing, nothing + 1, nothing == 0, words, words, nothing == 1, nothing, nothing)


def test_bricks_without_a_response_are_first_and_in_random_order():
    """Two of four bricks have responded to this client, and all to the other client."""
    runs, ours = 4000, np.array([0.0, 1, 0, 1, 2, 2, 2, 2], np.float32)[:, None]
    dispatch, view = C3(clients=2), view_of(4, runs)
    private = dispatch.init(StateSizes(1, 4, (runs,), bricks=4))
    means = private.means._replace(response=jnp.zeros((8, runs)) + ours, service=jnp.zeros((8, runs)) + ours)
    entering = jnp.ones((1, runs), bool)
    for known, first in ((private, [0, 1, 2, 3]), (private._replace(means=means), [0, 2])):
        routed, _ = dispatch.route(known, request_of(runs), entering, view)
        found = np.bincount(np.log2(np.asarray(routed)[0]).astype(int), minlength=4) / runs
        share = 1 / len(first)
        assert np.all(np.abs(found[first] - share) < 4 * np.sqrt(share * (1 - share) / runs))
        assert found[first].sum() == pytest.approx(1)


def test_a_request_is_outstanding_until_it_completes():
    """Two bricks with service times of 1 s and a request of this client at brick 0, which completes after 1 ms, also if
    brick 0 does not respond, as a write whose other copy is enough."""
    dispatch, view = C3(), view_of(2, 1)
    private = dispatch.init(StateSizes(1, 2, (1,), bricks=2))
    one, yes = jnp.ones((1, 1)), jnp.ones((1, 1), bool)
    number, parts = jnp.full((1, 1), 7), jnp.full((1, 1), 1, jnp.uint32)
    ones = jnp.ones((2, 1))
    private = private._replace(
        means=Means(ones * 0, ones, ones),
        outstanding=private.outstanding._replace(number=number, parts=parts, left=one * jnp.inf),
    )

    def scores() -> list[float]:
        return dispatch.scores(private, number * 0, view)[:, 0].tolist()

    assert scores() == [8, 1]
    for completed in (number + 1, number * 0 + NO_REQUEST, number):
        event = RequestCompleted(completed, one, yes, ~yes, one * MS, None, None, None)
        private = dispatch.on_completed(private, event)
        assert scores() == [8, 1]
    private = dispatch.elapse(private, one * 0.9 * MS)
    assert scores() == [8, 1]
    private = dispatch.elapse(private, one * 0.2 * MS)
    assert scores() == [1, 1]


def test_parts_are_outstanding_at_the_bricks_of_a_request():
    """A read is also outstanding at brick 0, which is down. A read from memory waits for no brick, and a write for all
    of its bricks. An access that no client awaits is no response."""
    dispatch, request, none = C3(), request_of(1), jnp.zeros((1, 1), jnp.int32)
    private = dispatch.init(StateSizes(1, 2, (1,), bricks=2))
    yes, location = none == 0, Location(None, none)
    sent = private.outstanding._replace(routed=none.astype(jnp.uint32) + 1)
    for read, targets, parts in ((True, 2, 3), (True, 1, 1), (True, 0, 0), (False, 2, 2)):
        mask = none.astype(jnp.uint32) + targets
        event = RequestAdmitted(
            yes, yes, request._replace(read=yes == read), Replicas(2), location, mask, None, none * 1.0
        )
        after = dispatch.on_admitted(private._replace(outstanding=sent), event)
        assert after.outstanding.parts.tolist() == [[parts]]
        assert after.waiting[:, 0].tolist() == [targets & 1, targets >> 1]
        for awaited, left in ((False, parts), (True, parts & ~1)):
            facts = (yes == awaited, none, yes, None, None, none * 1.0)
            ended = AccessEnded(none, none, none, none, location, none * 1.0, Replicas(2), yes, ~yes, *facts)
            later = dispatch.on_access_ended(after, ended)
            assert later.outstanding.parts.tolist() == [[left]] and later.ended.valid.tolist() == [[awaited]]


def test_waiting_requests_are_counted_at_each_arrival_and_only_there():
    dispatch, view = C3(), view_of(3, 2)
    private = dispatch.init(StateSizes(1, 3, (2,), bricks=3))
    private = private._replace(waiting=private.waiting + 5)
    _, after = dispatch.route(private, request_of(2), jnp.asarray([[True, False]]), view)
    assert after.waiting.T.tolist() == [[0] * 3, [5] * 3]


def test_a_brick_that_is_down_does_not_attract_all_reads():
    """Brick 0 stops after 20 of 220 reads. A read that it misses completes after a time-out of 20 ms."""
    count = 220
    arrivals = trace(np.arange(count + 1) * MS, np.full(count + 1, 100))
    faults = FaultSchedule(outage(0, 20), timeout=0.02)
    system = System(SERVER, Replicas(3), Watched(C3(), count), FCFS(), faults=faults, slots=96)
    _, _, sent_to = dispatch_state([Scenario(system, arrivals)], count)
    shares = np.bincount(np.log2(np.asarray(sent_to)[20:, 0]).astype(int), minlength=3) / 200
    assert 0 < shares[0] < 0.5 and np.all(shares[1:] > 0.2)


@pytest.mark.optimized
def test_servers_of_two_speeds_respond_faster_than_under_other_dispatchers():
    """Four servers are twice as fast as the other four. The load is 0.63 of all servers, and 0.95 of a slow one under
    hashing. Two choices compare lengths of queues, not the times of their requests."""
    servers = Mixed([RateServer(2 * RATE, 2**28), RateServer(RATE, 2**28)], [0, 1] * 4)
    reads = RandomRequests(ExponentialSize(2000 * 512.0), 1.0)
    load = PoissonArrivals(reads, 0.63 * 12 * RATE / 2000)
    policies = (C3(), ShortestQueue(2), Hashing())

    def build(policy):
        return Scenario(System(servers, Replicas(8), DispatchSwitch(policies, policy), FCFS(), slots=128), load)

    seeds = 8
    found = sweep(build, {"policy": [0, 1, 2]}, seeds=seeds, requests=2000, warm_up=500).response
    for other in (1, 2):
        surplus = found.sel(policy=other) - found.sel(policy=0)
        assert float(surplus.mean()) > 4 * float(surplus.std("seed", ddof=1)) / seeds**0.5


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: C3(0), "clients 0: give a whole number"),
        (lambda: C3(1.5), "clients 1.5"),
        (lambda: C3(weight=0), "weight of a new value 0: it must be above 0 and at most 1"),
        (lambda: C3(weight=1.1), "weight of a new value 1.1"),
        (lambda: C3(weight=np.array([0.5, 2.0])), "weight of a new value 2"),
        (lambda: C3(weight="much"), "weight of a new value 'much' is not a number"),
        (
            lambda: System(SERVER, Replicas(8), C3(200_000), FCFS()),
            "combinations of clients and bricks 1600000: it must be at most 1000000",
        ),
    ],
)
def test_impossible_settings_are_rejected(build, message, unchecked):
    assert_refused(build, message)
