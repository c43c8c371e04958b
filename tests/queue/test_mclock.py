"""Test mClock against timelines worked by hand, an independent program, and the allocation that its tags imply.

The program takes one event after the other, computes with fractions, and shifts share tags as the paper does.
"""

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count as counter
from math import inf

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, slow_but

from storagekit.core.batching import INSTANT, bit_is_set
from storagekit.dispatch import Broadcast, Hashing
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import AbstractLog, Record, Scenario, System, execute, keys, stack
from storagekit.placement import Bricks, Replicas, SplitVolumes, Striped, Volumes
from storagekit.queue import ByBytes, FairQueue, InTurn, MClock, OneCoordinator, Single
from storagekit.schedule import FCFS, SATF
from storagekit.workload import ExponentialSize, FixedSize, Group, RandomRequests, RecordedArrivals, Requests, Threads

UNIT = 4096
BRICKS = 3
# Requests of a workload. Requests long after the others fill it up, so that all workloads share a program.
COUNT = 320
NONE, EVER = (0.0,) * 3, (inf,) * 3
TURNS = InTurn(2)


class Issues(AbstractLog):
    """A log of the issued requests of each brick: the count, the last number, and whether its reservation tag is due."""

    def keep(self, scenario, state, report):
        placement, tags = scenario.system.placement, state.queue
        locations = jax.tree.map(lambda leaf: leaf[None], state.slots.location)
        every = jnp.arange(scenario.system.drives).reshape(-1, *(1,) * state.slots.number.ndim)
        there = bit_is_set(placement.parts_of(locations), placement.part_on(every, locations))
        last = there & (tags.order == tags.issued_count[:, None] - 1) & ~bit_is_set(tags.queued[None], every)
        number = jnp.max(jnp.where(last, state.slots.number[None], -1), axis=1)
        tag, now = tags.reservation, tags.clock.now
        due = jnp.any(last & ((tag.high - now.high[None]) + (tag.low - now.low[None]) <= INSTANT), axis=1)
        stream = jnp.max(jnp.where(last, state.slots.stream[None], -1), axis=1)
        return report.elapsed, tags.issued_count, number, stream, due


@dataclass
class Workload:
    """Requests in order of arrival: arrival times, streams, sectors and bricks.

    Brick number `BRICKS` is a write to all bricks.
    """

    time: np.ndarray
    stream: np.ndarray
    sectors: np.ndarray
    brick: np.ndarray


def at(time, stream, sectors=1) -> Workload:
    """Return requests to brick 0."""
    time = np.asarray(time, float)
    return Workload(
        time, np.broadcast_to(stream, time.shape), np.broadcast_to(sectors, time.shape), np.zeros(time.size, int)
    )


def random_workload(seed: int, count: int = 300, load: float = 1.25) -> Workload:
    """Return requests of three streams to three bricks of 3,200 sectors/s, with 50 sectors on average."""
    draw = np.random.default_rng(seed)
    gap = draw.exponential(50 / 3200 / BRICKS / load, count).astype(np.float32)
    gap[0] = 0
    streams, bricks = draw.integers(0, 3, count), draw.integers(0, BRICKS, count)
    return Workload(np.cumsum(gap.astype(float)), streams, draw.integers(1, 100, count), bricks)


def exact_workload(seed: int, count: int = 300) -> Workload:
    """Return requests whose times are exact in float32, and of which many arrive and end at the same time."""
    draw = np.random.default_rng(seed)
    time = np.cumsum(draw.integers(0, 3, count)) / 128
    time -= time[0]
    return Workload(time, draw.integers(0, 3, count), 2 ** draw.integers(0, 3, count), draw.integers(0, BRICKS, count))


def arrivals(workload: Workload) -> RecordedArrivals:
    size = workload.time.size
    late = np.full(COUNT - size, 1000.0)
    number, nothing = np.arange(COUNT, dtype=np.int32), np.zeros(COUNT, np.int32)

    def column(values: np.ndarray, rest: int) -> np.ndarray:
        return np.concatenate([values, np.full(COUNT - size, rest)]).astype(np.int32)

    requests = Requests(
        number,
        column(workload.brick * UNIT, 0),
        column(workload.sectors, 1),
        column(workload.brick, 0) < BRICKS,
        nothing.astype(np.uint32),
        column(workload.brick, 0).astype(np.uint32),
        nothing != 0,
        column(workload.stream, 0),
        nothing,
    )
    gap = np.append(np.diff(np.concatenate([workload.time, workload.time[-1] + np.cumsum(late)])), inf)
    return RecordedArrivals(requests, gap.astype(np.float32), clients=True)


def scenario(queue: MClock | FairQueue, workload: Workload, rate: float = 3200.0) -> Scenario:
    layout = Replicas(BRICKS) if np.any(workload.brick == BRICKS) else Striped(BRICKS, UNIT)
    system = System(RateServer(rate), layout, Hashing(), FCFS(), queue=queue, slots=COUNT)
    return Scenario(system, arrivals(workload))


def issued(queue: MClock, workload: Workload, rate: float = 3200.0) -> list[list[tuple[int, float, bool]]]:
    """Return the number, time and phase of each request that a brick issues: whether its reservation tag was due."""
    log = execute(scenario(queue, workload, rate), keys([1])[:, 0], workload.time.size, Record(log=Issues())).log
    return orders(log, BRICKS, workload.time.size)


def orders(log, bricks: int, size: int) -> list[list[tuple[int, float, bool]]]:
    time = np.cumsum(log[0], dtype=float)
    issued_count, number, _, due = (column.reshape(-1, bricks) for column in log[1:])
    found = []
    for brick in range(bricks):
        event = np.flatnonzero(np.diff(issued_count[:, brick], prepend=0))
        assert np.all(np.diff(issued_count[:, brick], prepend=0) <= 1)
        rows = zip(number[event, brick].tolist(), time[event].tolist(), due[event, brick].tolist(), strict=True)
        found.append([row for row in rows if row[0] < size])
    return found


@dataclass
class Waiting:
    """A request with its tags."""

    reservation: Fraction
    limit: Fraction
    share: Fraction
    stream: int
    number: int
    cost: int


class Brick:
    """The tags of the next request of each stream, the largest share tag, and the requests that wait or are issued."""

    def __init__(self):
        self.tags = {stream: [Fraction(-(10**9)), Fraction(-(10**9)), Fraction(0)] for stream in range(3)}
        self.largest, self.free, self.outstanding = Fraction(0), Fraction(0), 0
        self.waiting, self.issued = [], []


class Program:
    """Simulate mClock or dmClock on bricks with one server each, which serves its issued requests first come first served.

    coordinator: function of the stream that returns the number of the coordinator of its next request; None for mClock.
    """

    def __init__(self, workload: Workload, queue: MClock, rate: float, coordinator: Callable | None = None):
        self.workload, self.rate, self.depth, self.coordinator = workload, Fraction(rate), int(queue.depth), coordinator
        self.reservation, self.limit = ([float(value) for value in row] for row in (queue.reservations, queue.limits))
        weights = [float(weight) for weight in queue.weights]
        self.weighted, most = [weight > 0 for weight in weights], max(weights) or 1.0
        # share tags for a unit of cost: the reciprocals of the weights are whole numbers of ticks
        self.price = [Fraction(round(65536 * most / (weight or most)), 65536) for weight in weights]
        self.credit = [int(credit) for credit in queue.credits]
        self.by_bytes = isinstance(queue.cost, ByBytes)
        self.bricks = [Brick() for _ in range(BRICKS)]
        self.sent, self.reserved, self.via, self.known = Counter(), Counter(), {}, set()

    def run(self) -> list[list[tuple[int, Fraction, bool]]]:
        events = [(Fraction(float(time)), 0, number) for number, time in enumerate(self.workload.time)]
        heapq.heapify(events)
        now = Fraction(0)
        while True:
            due, number = min((self.eligible(brick), number) for number, brick in enumerate(self.bricks))
            if due == inf and not events:
                return [brick.issued for brick in self.bricks]
            if not events or max(due, now) < events[0][0]:
                now = max(due, now)
                heapq.heappush(events, (self.issue(now, self.bricks[number]), 1, number))
                continue
            now, ends, number = heapq.heappop(events)
            if ends:
                self.bricks[number].outstanding -= 1
                continue
            to = int(self.workload.brick[number])
            for at in range(BRICKS) if to == BRICKS else [to]:
                self.arrive(now, number, at)

    def eligible(self, brick: Brick):
        """Return the time from which a brick may issue a request; inf if it waits for an event."""
        if brick.outstanding >= self.depth:
            return inf
        times = [one.reservation for one in brick.waiting if self.reservation[one.stream] > 0]
        return min(times + [one.limit for one in brick.waiting if self.weighted[one.stream]], default=inf)

    def seconds(self, cost: int, rate: float) -> Fraction:
        return Fraction(0) if rate in (0, inf) else cost / Fraction(rate)

    def arrive(self, now: Fraction, number: int, at: int):
        brick, stream = self.bricks[at], int(self.workload.stream[number])
        cost = int(self.workload.sectors[number]) if self.by_bytes else 1
        delta, rho = self.elsewhere(number, stream, at, cost)
        active = any(one.stream == stream for one in brick.waiting)
        if not active:
            # shift the share tags so that the least tag of an active stream is the present
            tags = [one.share for one in brick.waiting if self.weighted[one.stream]]
            shift = min(tags, default=brick.largest) - now
            brick.largest -= shift
            for one in brick.waiting:
                one.share -= shift
            for tags in brick.tags.values():
                tags[2] -= shift
        reservation, limit, share = brick.tags[stream]
        reservation = max(reservation + self.seconds(rho, self.reservation[stream]), now)
        limit = max(limit + self.seconds(delta, self.limit[stream]), now)
        share = share + delta * self.price[stream]
        share = share if active else max(share, now - self.credit[stream] * self.price[stream])
        brick.tags[stream] = [
            reservation + self.seconds(cost, self.reservation[stream]),
            limit + self.seconds(cost, self.limit[stream]),
            share + cost * self.price[stream],
        ]
        brick.largest = max(brick.largest, share) if self.weighted[stream] else brick.largest
        brick.waiting.append(Waiting(reservation, limit, share, stream, number, cost))

    def elsewhere(self, number: int, stream: int, at: int, cost: int) -> tuple[int, int]:
        """Return delta and rho of a request."""
        if self.coordinator is None:
            return 0, 0
        via = self.via[number] = self.coordinator(stream), stream
        # the first request of a coordinator to a brick has no last request from which to count
        first = (via, at) not in self.known
        self.known.add((via, at))
        delta, rho = (0, 0) if first else (self.sent[via, at], self.reserved[via, at])
        self.sent[via, at] = self.reserved[via, at] = 0
        for other in range(BRICKS):
            self.sent[via, other] += cost if other != at else 0
        return delta, rho

    def issue(self, now: Fraction, brick: Brick) -> Fraction:
        """Issue a request, and return the time at which its service ends."""
        due = [one for one in brick.waiting if self.reservation[one.stream] > 0 and one.reservation <= now]
        may = [one for one in brick.waiting if self.weighted[one.stream] and one.limit <= now]
        chosen = min(due or may, key=lambda one: (one.reservation if due else 0, one.share, one.stream), default=None)
        assert chosen is not None
        brick.waiting.remove(chosen)
        stream = chosen.stream
        if due and self.coordinator is not None:
            for other, there in enumerate(self.bricks):
                self.reserved[self.via[chosen.number], other] += chosen.cost if there is not brick else 0
        if not due:
            back = self.seconds(chosen.cost, self.reservation[stream])
            brick.tags[stream][0] -= back
            for one in brick.waiting:
                one.reservation -= back if one.stream == stream else 0
        brick.outstanding += 1
        brick.issued.append((chosen.number, now, bool(due)))
        brick.free = max(brick.free, now) + int(self.workload.sectors[chosen.number]) / self.rate
        return brick.free


def assert_as_program(queue: MClock, workload: Workload, rate: float = 3200.0, coordinator=None, exact: bool = False):
    expected = Program(workload, queue, rate, coordinator).run()
    for found, right in zip(issued(queue, workload, rate), expected, strict=True):
        assert len(right) > 50
        # numbers and phases
        assert [row[::2] for row in found] == [row[::2] for row in right]
        times = [row[1] for row in found], [float(row[1]) for row in right]
        np.testing.assert_allclose(*times, rtol=0, atol=0 if exact else 1e-4)
    assert sum(map(len, expected)) == np.sum(np.where(workload.brick == BRICKS, BRICKS, 1))
    return expected


WEIGHTS = (1, 2, 5)
# Rates without common multiples: different tags of a request are then never equal, which rounding would tell apart.
LIMITED = MClock(1, WEIGHTS, (10.3, 0, 4.1), (inf, 19.7, 12.7), (0, 3, 0))
BYTES = MClock(1, WEIGHTS, (509, 0, 211), (inf, 997, 601), (0, 99, 0), cost=ByBytes())
RESERVED_ONLY = MClock(1, (3, 0, 1), (5.3, 8.9, 0), (inf, inf, 29.7), (4, 0, 40))


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("queue", [LIMITED, BYTES, RESERVED_ONLY], ids=["requests", "bytes", "without weight"])
def test_requests_are_issued_as_by_an_independent_program(queue, depth):
    for seed in (depth, 10 + depth):
        expected = assert_as_program(replace(queue, depth=np.int32(depth)), random_workload(seed))
        phases = {row[2] for brick in expected for row in brick}
        assert phases == {True, False}


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("limits", [EVER, (64.0, 16.0, 32.0)])
def test_tags_that_are_equal_are_ordered_by_share_and_stream(depth, limits):
    """All times are exact, so that requests arrive, end and become due at the same time."""
    queue = MClock(depth, (1, 2, 4), (8, 0, 16), limits, (0, 2, 0))
    for seed in (1, 2):
        assert_as_program(queue, exact_workload(seed), 256.0, exact=True)


@pytest.mark.parametrize(
    "coordinators", slow_but([TURNS], [OneCoordinator(), TURNS]), ids=lambda one: type(one).__name__
)
def test_dmclock_counts_the_service_of_other_bricks(coordinators):
    for seed, depth in [(1, 1), (2, 3)]:
        queue = MClock(depth, WEIGHTS, (30.1, 0, 14.9), (inf, 60.7, 35.3), (0, 3, 0), coordinators=coordinators)
        turns = [counter() for _ in WEIGHTS]
        most = getattr(coordinators, "count", 1)
        expected = assert_as_program(
            queue,
            random_workload(seed),
            coordinator=lambda stream, turns=turns, most=most: next(turns[stream]) % int(most),
        )
        assert {row[2] for brick in expected for row in brick} == {True, False}


@pytest.mark.parametrize(
    "coordinators", [pytest.param(None, marks=pytest.mark.slow), OneCoordinator()], ids=["mclock", "dmclock"]
)
def test_every_brick_tags_its_copy_of_a_write(coordinators):
    """A fifth of the requests are writes of three copies."""
    workload = random_workload(6, load=0.6)
    workload.brick[::5] = BRICKS
    workload = replace(workload, sectors=400 + 6 * workload.sectors)
    queue = MClock(
        2, WEIGHTS, (7199, 0, 2999), (inf, 14011, 8419), (0, 1399, 0), coordinators=coordinators, cost=ByBytes()
    )
    assert_as_program(queue, workload, 48_000.0, coordinator=coordinators and (lambda stream: 0))


def test_dmclock_is_mclock_on_one_brick():
    workload = random_workload(4)
    workload.brick[:] = 1
    ones, others = (issued(replace(LIMITED, coordinators=one), workload)[1] for one in (None, OneCoordinator()))
    assert ones == others


# service of a request: 1 us
FAST = 2.0**20


def test_dmclock_does_not_charge_a_stream_at_a_new_brick():
    """Stream 0 sends 100 requests to brick 1. After 1 s, streams 1 and 0 each send 20 requests to brick 0.

    Both streams are new at brick 0, with share tags 0 to 19, so that they alternate. If the earlier requests counted, the
    tags of stream 0 would be 100 to 119, after all tags of stream 1.
    """
    workload = at(np.repeat([0.0, 1.0], [100, 40]), np.repeat([0, 1, 0], [100, 20, 20]))
    workload.brick[:100] = 1
    queue = MClock(1, (1, 1, 1), coordinators=OneCoordinator())
    orders = issued(queue, workload, FAST)
    assert len(orders[1]) == 100
    assert workload.stream[[row[0] for row in orders[0]]].tolist() == [0, 1] * 20


@pytest.mark.parametrize(
    ("queue", "times"),
    [
        # the limit holds requests back, although the brick is idle
        pytest.param(MClock(1, (1,) * 3, NONE, (50, inf, inf)), [0, 0.02, 0.04, 0.06, 0.08], id="limit"),
        # without a weight, the reservation tags are the times
        pytest.param(MClock(1, (0, 1, 1), (100, 0, 0)), [0, 0.01, 0.02, 0.03, 0.04], id="reservation"),
        # a due reservation does not wait for the limit, which binds at once
        pytest.param(MClock(1, (1,) * 3, (50, 0, 0), (50, inf, inf)), [0, 0.02, 0.04, 0.06, 0.08], id="both"),
    ],
)
def test_five_requests_at_once_leave_at_the_times_of_their_tags(queue, times):
    found = issued(queue, at([0] * 5, 0), FAST)[0]
    assert [row[0] for row in found] == list(range(5))
    np.testing.assert_allclose([row[1] for row in found], times, rtol=0, atol=1e-5)


def test_a_limit_keeps_no_credit_of_idle_time():
    """With a limit of 50/s: requests at 0, and three at 1 s, which leave at 1, 1.02 and 1.04 s."""
    found = issued(MClock(1, (1,) * 3, NONE, (50, inf, inf)), at([0, 1, 1, 1], 0), FAST)[0]
    np.testing.assert_allclose([row[1] for row in found], [0, 1, 1.02, 1.04], rtol=0, atol=1e-5)


def test_weights_of_one_to_two_serve_two_and_four_of_the_first_six():
    """Without reservations, all requests are issued because of their weights."""
    found = issued(MClock(1, (1, 2, 1)), at([0] * 10, [0, 1] * 5), FAST)[0]
    streams = [number % 2 for number, _, _ in found]
    assert Counter(streams[:6]) == {0: 2, 1: 4}
    assert not any(due for _, _, due in found)


def test_reservations_of_two_to_one_serve_four_and_two_of_the_first_six():
    """A request of another stream occupies the brick for 10 s, so that all reservation tags are due."""
    workload = at([0] * 11, [2] + [0, 1] * 5, [2560] + [1] * 10)
    found = issued(MClock(1, (1, 1, 1), (2, 1, 0)), replace(workload, time=np.array([0.0] + [0.001] * 10)), 256.0)[0]
    assert Counter((number - 1) % 2 for number, _, _ in found[1:7]) == {0: 4, 1: 2}
    assert all(due for _, _, due in found[1:7])


def test_two_streams_that_reserve_one_request_a_second_receive_no_more():
    """Both streams have no weight and three requests: two leave in each second, and none in between."""
    found = issued(MClock(1, (0, 0, 1), (1, 1, 0)), at([0] * 6, [0, 1] * 3), FAST)[0]
    np.testing.assert_allclose([row[1] for row in found], [0, 0, 1, 1, 2, 2], rtol=0, atol=1e-5)


def test_service_by_weight_does_not_use_up_a_reservation():
    """Work out the phases of stream 1, with r = 1/s and weight 1, next to stream 0 of weight 8. A service takes 1/8 s.

    Stream 1 sends five requests at 0, with R = 0, 1, 2, 3, 4 and P = 0, 1, 2, 3, 4. At 0 the first is due. Stream 0 sends its
    requests at 0.1, with P = 1, 1.125, and so on. At 1/8 stream 0 is first, at 2/8 stream 1 because of its weight. The tags
    of its later requests become R = 1, 2, 3, so that the next request is due at 1. Stream 0 has the time in between.
    """
    workload = at([0] * 5 + [0.1] * 20, [1] * 5 + [0] * 20, 64)
    found = issued(MClock(1, (8, 1, 1), (0, 1, 0)), workload, 512.0)[0]
    expected = [(0, True), (5, False), (1, False), *[(number, False) for number in range(6, 11)], (2, True)]
    assert [(number, due) for number, _, due in found[:9]] == expected
    np.testing.assert_allclose([time for _, time, _ in found[:9]], np.arange(9) / 8, rtol=0, atol=1e-5)


def test_a_stream_that_returns_is_as_early_as_a_stream_that_its_limit_holds_back():
    """Work out the order of three streams of equal weights, where stream 0 has a limit of 1.05/s. A service takes 1/8 s.

    Stream 0 sends two requests at 0, with P = 0, 1 and L = 0, 0.952. Stream 1 sends 10 requests at 0, with P = 0, 1, 2, and
    so on. Stream 0 is first at 0, and stream 1 from 1/8 to 4/8. Stream 2 sends 6 requests at 0.55. The least share tag is 1,
    of stream 0, so that P = 1, 2, 3, and so on. Stream 2 is therefore alone at 5/8, 6/8 and 7/8, and stream 0 is first at 1.
    Streams 1 and 2 then alternate with P = 4, 4, 5, 5, and so on.
    """
    workload = at([0] * 12 + [0.55] * 6, [0] * 2 + [1] * 10 + [2] * 6, 64)
    found = issued(MClock(1, (1, 1, 1), NONE, (1.05, inf, inf)), workload, 512.0)[0]
    streams = workload.stream[[number for number, _, _ in found]]
    assert streams[:14].tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 0, 1, 2, 1, 2, 1]


def test_idle_credit_serves_a_burst_first():
    """Stream 0 always waits. A burst of stream 1 at 1.005 s alternates with it, or leaves first with a credit of 5."""

    def burst(credit: int) -> list[int]:
        time = np.sort(np.concatenate([np.zeros(200), np.full(5, 1.005)]))
        workload = at(time, np.where(time > 0, 1, 0))
        found = issued(MClock(1, (1, 1, 1), credits=(0, credit, 0)), workload, 100.0)[0]
        return [place for place, (number, _, _) in enumerate(found) if number >= 200]

    assert burst(0) == [102, 104, 106, 108, 110]
    assert burst(5) == [101, 102, 103, 104, 105]


def test_clients_that_join_receive_their_limits():
    """The example of Ceph's simulator, in a tenth of its time: 160/s, weights 1, 1, 2, limits of 40/s and 50/s.

    The clients start at 0, 0.5 and 1 s. The rates are 160, then 120 and 40, then 70, 40 and 50 requests/s.
    """
    start = np.repeat([0.0, 0.5, 1.0], [220, 55, 40])
    workload = at(start, np.repeat([0, 1, 2], [220, 55, 40]))
    queue = MClock(1, (1, 1, 2), NONE, (inf, 40, 50))
    found = issued(queue, workload, 160.0)[0]
    counts = [
        Counter(int(workload.stream[number]) for number, time, _ in found if begin <= time < begin + 0.5)
        for begin in (0, 0.5, 1.0)
    ]
    for count, right in zip(counts, [(80, 0, 0), (60, 20, 0), (35, 20, 25)], strict=True):
        assert [count[stream] for stream in range(3)] == pytest.approx(right, abs=1)


def test_without_reservations_and_limits_streams_that_wait_share_as_in_a_fair_queue():
    workload = at([0] * 300, np.random.default_rng(1).integers(0, 3, 300))
    ours = [number for number, _, _ in issued(MClock(1, WEIGHTS), workload)[0]]
    fair = FairQueue(1, WEIGHTS, Single(), cost=MClock(1, WEIGHTS).cost)
    log = execute(scenario(fair, workload), keys([1])[:, 0], 300, Record(log=Order())).log
    # a fair queue issues the first request when it arrives, before it has received the others
    assert ours[5:] == [number for number in log.tolist() if 0 <= number < 300][5:]


class Order(AbstractLog):
    def keep(self, scenario, state, report):
        return report.number


class FurthestTag(AbstractLog):
    """A log of the elapsed time, and of the time left until the latest limit tag."""

    def keep(self, scenario, state, report):
        tag, now = state.queue.limit, state.queue.clock.now
        left = (tag.high - now.high[None]) + (tag.low - now.low[None])
        return report.elapsed, jnp.max(left, axis=(0, 1))[None]


def test_tags_in_the_far_future_advance_at_real_time():
    """64 requests wait for a limit of 2/s, so that the last tag is 32 s ahead, while each event takes about 10 us."""
    requests = RandomRequests(FixedSize(512), 1.0)
    groups = [Group(requests, threads, stream=stream, volumes=(0,) * threads) for stream, threads in enumerate((2, 64))]
    layout = Volumes(2**10, [(0,)], 8)
    queue = MClock(1, (1, 1), limits=(inf, 2))
    system = System(RateServer(1e5), layout, Hashing(), FCFS(), queue=queue, slots=66)
    log = execute(
        Scenario(system, Threads(groups, volume=2**10)), keys([1])[:, 0], 20_000, Record(log=FurthestTag())
    ).log
    elapsed, left = (np.asarray(column, float).ravel() for column in log)
    begin = np.argmax(left)
    passed = elapsed[begin + 1 :].sum()
    assert passed > 0.15 and left[begin] > 31
    assert left[begin] - left[-1] == pytest.approx(passed, rel=1e-4)


RESERVATIONS, LIMITS, SHARES = (250, 250, 0), (inf, inf, 1000), (100, 200, 300)
# rates of the streams RD, OLTP and DM at a capacity of T requests/s: clip(w t, r, l) with t such that the sum is T
ALLOCATION = {
    875: (250, 250, 375),
    1200: (250, 380, 570),
    1400: (250, 460, 690),
    1800: (300, 600, 900),
    2000: (333.3, 666.7, 1000),
    3000: (666.7, 1333.3, 1000),
}
# idle credits, in requests; none is a capacity
CREDITS = (0, 1001)


def backlogged(queue: MClock, bricks: int, capacity: float, volumes: tuple[int, ...] = ()) -> Scenario:
    """Return streams of 12 threads each, which use bricks in turn: all bricks, or those of `volumes`."""
    volumes = volumes or tuple(range(bricks))
    volumes = volumes * (12 // len(volumes))
    requests = RandomRequests(FixedSize(512), 1.0)
    groups = [Group(requests, 12, stream=stream, volumes=volumes) for stream in range(3)]
    layout = Volumes(2**10, [(brick,) for brick in range(bricks)], 8)
    system = System(RateServer(capacity / bricks), layout, Hashing(), FCFS(), queue=queue, slots=36)
    return Scenario(system, Threads(groups, volume=2**10))


def rates(log, bricks: int, run: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of the streams, and those of the constraint phase, in the last two thirds of a run."""
    time = np.cumsum(log[0].reshape(-1, runs)[:, run], dtype=float)
    issued_count, _, stream, due = (column.reshape(-1, bricks, runs)[..., run] for column in log[1:])
    issues = np.diff(issued_count, axis=0, prepend=0) > 0
    late = issues & (time > time[-1] / 3)[:, None]
    span = time[-1] * 2 / 3
    rates = [[np.sum(late & (stream == one) & which) / span for one in range(3)] for which in (True, due)]
    return np.array(rates[0]), np.array(rates[1])


@pytest.fixture(scope="module")
def saturated():
    """Rates by capacity, and with equal capacities, no reservations and no limits by credit."""
    runs = {capacity: backlogged(MClock(1, SHARES, RESERVATIONS, LIMITS), 1, capacity) for capacity in ALLOCATION}
    runs |= {credit: backlogged(MClock(1, SHARES, credits=(0, credit, 0)), 1, 1200.0) for credit in CREDITS}
    log = execute(*stack(list(runs.values()), [1]), 6000, Record(log=Issues())).log
    return {name: rates(log, 1, run, len(runs)) for run, name in enumerate(runs)}


@pytest.mark.parametrize("capacity", ALLOCATION)
def test_backlogged_streams_receive_the_allocation(saturated, capacity):
    found, _ = saturated[capacity]
    np.testing.assert_allclose(found, ALLOCATION[capacity], rtol=0.01)
    assert found.sum() == pytest.approx(capacity, rel=0.01)


@pytest.mark.parametrize("capacity", ALLOCATION)
def test_the_constraint_phase_serves_exactly_the_reservations(saturated, capacity):
    """The rest of a stream's rate is served because of its weight."""
    np.testing.assert_allclose(saturated[capacity][1], RESERVATIONS, rtol=0.01, atol=0.5)


def test_dmclock_keeps_the_rates_of_the_sum_over_bricks():
    """Two bricks of 900/s: mClock reserves and limits at each brick, dmClock in total, half of it at each brick."""
    numbers = SHARES, (500, 0, 0), (inf, inf, 600)
    scenarios = [backlogged(MClock(1, *numbers, coordinators=OneCoordinator()), 2, 1800.0)]
    log = execute(*stack(scenarios, [1]), 12_000, Record(log=Issues())).log
    found, due = rates(log, 2, 0, 1)
    np.testing.assert_allclose(found, (500, 700, 600), rtol=0.02)
    np.testing.assert_allclose(due, (500, 0, 0), rtol=0.02, atol=1)


def test_dmclock_keeps_the_rates_if_most_threads_use_one_brick():
    """Three quarters of the threads of each stream use the first of two bricks of 900/s. Both bricks are always busy."""
    queue = MClock(1, SHARES, (500, 0, 0), (inf, inf, 600), coordinators=OneCoordinator())
    log = execute(*stack([backlogged(queue, 2, 1800.0, (0, 0, 0, 1))], [1]), 12_000, Record(log=Issues())).log
    found, due = rates(log, 2, 0, 1)
    np.testing.assert_allclose(found, (500, 700, 600), rtol=0.02)
    np.testing.assert_allclose(due, (500, 0, 0), rtol=0.02, atol=1)


@pytest.mark.parametrize("credit", CREDITS)
def test_an_idle_credit_does_not_change_the_shares_of_streams_that_always_wait(saturated, credit):
    found, due = saturated[credit]
    np.testing.assert_allclose(found, (200, 400, 600), rtol=0.01)
    assert not due.any()


def test_a_batch_element_equals_its_single_run():
    workload = random_workload(8)
    settings = [
        MClock(1, WEIGHTS, NONE, EVER),
        MClock(2, (2, 1, 0), (0, 5.1, 8.3), (20.7, inf, inf), (9, 0, 0)),
        MClock(4, (1, 1, 1), (3.1, 3.3, 3.7), (9.1, 9.3, 9.7)),
    ]
    log = execute(*stack([scenario(one, workload) for one in settings], [1]), 300, Record(log=Issues())).log
    for run, queue in enumerate(settings):
        one = [log[0].reshape(-1, 3)[:, run], *(column.reshape(-1, BRICKS, 3)[..., run] for column in log[1:])]
        for batched, alone in zip(orders(one, BRICKS, 300), issued(queue, workload), strict=True):
            assert [row[::2] for row in batched] == [row[::2] for row in alone]


class Watch(AbstractLog):
    """A log of the parts at the drives, twice, of the next times of issue, and of the completed requests."""

    def keep(self, scenario, state, report):
        system, tags, locations = (
            scenario.system,
            state.queue,
            jax.tree.map(lambda leaf: leaf[None], state.slots.location),
        )
        has = []
        for brick in range(system.bricks.count):
            drives = jnp.arange(2 * brick, 2 * brick + 2)
            parts = system.queue.issued(tags, state.slots.waiting, jnp.asarray([brick]))
            here = bit_is_set(parts[None], system.placement.part_on(drives[:, None], locations))
            has.append(jnp.sum(here)[None] + jnp.sum(state.drives.planned[2 * brick : 2 * brick + 2])[None])
        next_issue = system.queue.next_issue(tags)
        return report.elapsed, tags.outstanding, jnp.concatenate(has), next_issue, report.completed.number


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_bricks_of_two_disks_issue_a_request_as_soon_as_they_may(depth):
    """Requests are split between the disks of a brick, and choose among them by access time.

    A brick has at most `depth` parts at its drives. No time passes while a brick has room and a request may be issued. Each
    request completes once.
    """
    drive = ideal_drive(full_seek=8e-3, revolution=6e-3)
    volumes = SplitVolumes(2**14, [(0,), (1,), (0, 1), (0, 1), (1, 0), (0,)], 8)
    requests = RandomRequests(ExponentialSize(16 * 512), 0.5)
    groups = [
        Group(requests, 10, stream=stream, volumes=(2 * stream + 1, 2 * stream) * 5, think=1e-3) for stream in (0, 1)
    ]
    queue = MClock(depth, (1, 3), (40, 0), (inf, 25), (2, 0), coordinators=OneCoordinator())
    bricks = System(drive, Bricks(volumes, 2, 8), Hashing(), SATF(), queue=queue, slots=24)
    scenario = Scenario(bricks, Threads(groups, volume=2**15))
    elapsed, outstanding, has, times, number = execute(scenario, keys([3])[:, 0], 600, Record(log=Watch())).log
    outstanding, has, times = (part.reshape(-1, 2) for part in (outstanding, has, times))
    np.testing.assert_array_equal(outstanding, has)
    assert outstanding.min() == 0 and outstanding.max() == depth
    now = np.any(times <= 0, axis=1)
    assert np.all(elapsed[1:][now[:-1]] == 0)
    # with depth 1 the bricks always have a request that no limit holds back
    assert depth == 1 or np.sum(np.any(np.isfinite(times) & (times > INSTANT), axis=1)) > 50
    completed = number[number >= 0]
    assert len(set(completed.tolist())) == completed.size >= 600


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (((1, 2), (3,)), "reservations of 1 streams, but weights of 2 streams: give one for each stream"),
        (((1, 2), None, (3, 4, 5)), "limits of 3 streams"),
        (((1, 2), None, None, (1,)), "idle credits of 1 streams"),
        (((1, -1),), "a weight of -1: it must be 0 or more"),
        (((1, inf),), "a weight of inf"),
        (((1, 0),), "a weight of 0: it must be above 0 for a stream without a reservation"),
        (((1, 300),), "largest ratio of weights 300"),
        (((1, 1), (-1, 0)), "a reservation of -1"),
        (((1, 1), (inf, 0)), "a reservation of inf"),
        (((1, 1), (5, 0), (4, 1)), "a reservation of 5: it must be at most the limit of its stream"),
        (((1, 1), None, (0, 1)), "a limit of 0"),
        (((1, 1), None, None, (2**24, 0)), "an idle credit of 16777216"),
        (((),), "weights of 0 streams"),
    ],
)
def test_numbers_out_of_range_are_rejected(arguments, says):
    assert_refused(lambda: MClock(1, *arguments), says)


def test_systems_that_withdraw_parts_are_rejected():
    assert_refused(
        lambda: System(RateServer(100), Replicas(2), Broadcast(), FCFS(), queue=MClock(1, (1,))),
        "MClock: not modelled with claims",
    )
    assert_refused(lambda: backlogged(MClock(1, (1, 1)), 1, 100.0), "requests of 3 streams, but weights of 2 streams")
