"""Test fair queues against a reference program and against laws in the papers.

The program uses integers and takes one request after the other.
"""

import heapq
import itertools
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, slow_but
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.core.batching import bit_is_set
from storagekit.dispatch import ARS, DSPTF, Broadcast, Hashing, Hedged
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import AbstractLog, AccessLog, Record, Scenario, System, execute, keys, stack
from storagekit.engine.run import Runner
from storagekit.faults import FaultSchedule, outage
from storagekit.placement import Bricks, Node, Replicas, Segments, SplitVolumes, Striped, Volume, Volumes
from storagekit.queue import (
    AtRandom,
    ByBrick,
    ByRequests,
    ByTime,
    FairQueue,
    Hybrid,
    InTurn,
    MinimumOnly,
    OneCoordinator,
    Single,
    Total,
)
from storagekit.queue.delay import prices
from storagekit.schedule import FCFS, SATF
from storagekit.workload import ExponentialSize, Group, RandomRequests, RecordedArrivals, Requests, Threads
from storagekit.write import Background

RATE = 3200.0
# sectors of a stripe unit, which can hold the longest request
UNIT = 4096
WEIGHTS = (1, 2, 5)
MINIMUM = (0.05, 0.1, 0.3)


@dataclass
class Workload:
    """Requests in order of arrival: arrival times, streams, costs, bricks, and drives within the bricks."""

    time: np.ndarray
    stream: np.ndarray
    cost: np.ndarray
    brick: np.ndarray
    disk: np.ndarray


@dataclass
class Brick:
    virtual: int = 0
    finish: dict = field(default_factory=dict)
    waiting: list = field(default_factory=list)
    device: list = field(default_factory=list)
    order: list = field(default_factory=list)
    free: dict = field(default_factory=dict)


def served_one_by_one(workload: Workload, depth: int, price, delay, coordinator) -> list[list[int]]:
    """Return the order in which each brick issues requests.

    A brick has one server for each of its drives. It serves first come first served among the `depth` issued requests.

    delay(elsewhere, cost, stream) returns ticks. coordinator(number, stream, brick) returns a number.
    """
    bricks = [Brick() for _ in range(3)]
    sent, then = {}, {}
    events = [(time, 0, number, workload.brick[number]) for number, time in enumerate(workload.time)]
    heapq.heapify(events)
    while events:
        time, ends, number, at = heapq.heappop(events)
        brick = bricks[at]
        if ends:
            brick.device.remove(number)
        else:
            stream, cost = int(workload.stream[number]), int(workload.cost[number])
            via = coordinator(number, stream, at)
            total = sent.get((via, stream), 0)
            elsewhere = total - then.get((via, stream, at), 0)
            sent[via, stream] = then[via, stream, at] = total + cost
            start = max(brick.virtual, brick.finish.get(stream, 0) + delay(elsewhere, cost, stream))
            brick.finish[stream] = start + cost * price[stream]
            heapq.heappush(brick.waiting, (start, stream, number, cost))
        while brick.waiting and len(brick.device) < depth:
            brick.virtual, _, chosen, cost = heapq.heappop(brick.waiting)
            brick.device.append(chosen)
            brick.order.append(chosen)
            disk = workload.disk[chosen]
            brick.free[disk] = max(brick.free.get(disk, 0.0), time) + cost / RATE
            heapq.heappush(events, (brick.free[disk], 1, chosen, at))
    return [brick.order for brick in bricks]


def random_workload(seed: int, count: int = 300, load: float = 1.25) -> Workload:
    """Return requests of three streams to three bricks, at a load that exceeds their capacity by default."""
    draw = np.random.default_rng(seed)
    gap = draw.exponential(50 / RATE / 3 / load, count).astype(np.float32)
    gap[0] = 0
    stream, brick = draw.integers(0, 3, count), draw.integers(0, 3, count)
    return Workload(np.cumsum(gap.astype(float)), stream, draw.integers(1, 100, count), brick, np.zeros_like(brick))


def arrivals(workload: Workload, sector: np.ndarray | None = None) -> RecordedArrivals:
    number = np.arange(workload.time.size, dtype=np.int32)
    nothing = np.zeros_like(number)
    receiving = np.random.default_rng(7).integers(0, 2**32, number.size, dtype=np.uint32)
    requests = Requests(
        number,
        (workload.brick * UNIT if sector is None else sector).astype(np.int32),
        workload.cost.astype(np.int32),
        nothing == 0,
        receiving,
        nothing.astype(np.uint32),
        nothing != 0,
        workload.stream.astype(np.int32),
        nothing,
    )
    return RecordedArrivals(requests, np.append(np.diff(workload.time), np.inf).astype(np.float32))


def three_servers(queue: FairQueue) -> System:
    return System(RateServer(RATE), Striped(3, UNIT), Hashing(), FCFS(), queue=queue, slots=256)


def served(queue: FairQueue, workload: Workload) -> list[np.ndarray]:
    system = three_servers(queue)
    log = execute(
        Scenario(system, arrivals(workload)), keys([1])[:, 0], workload.time.size, Record(log=AccessLog())
    ).log
    return [log.number[log.drive == drive] for drive in range(3)]


def in_ticks(queue: FairQueue) -> tuple[list[int], list[int]]:
    of = prices(queue.weights, queue.delay, jnp.zeros(1))
    return [int(one) for one in of.unit], [int(one) for one in of.cap]


def expected(queue: FairQueue, workload: Workload) -> list[list[int]]:
    price, cap = in_ticks(queue)
    delays = {
        Single: lambda elsewhere, cost, stream: 0,
        Total: lambda elsewhere, cost, stream: elsewhere * price[stream],
        Hybrid: lambda elsewhere, cost, stream: min(elsewhere * price[stream], cost * cap[stream]),
        MinimumOnly: lambda elsewhere, cost, stream: cost * cap[stream],
    }
    turns = [itertools.count() for _ in WEIGHTS]
    coordinator = {
        OneCoordinator: lambda number, stream, brick: 0,
        InTurn: lambda number, stream, brick: next(turns[stream]) % int(queue.coordinators.count),
        ByBrick: lambda number, stream, brick: brick,
    }
    delay, choose = delays[type(queue.delay)], coordinator[type(queue.coordinators)]
    return served_one_by_one(workload, int(queue.depth), price, delay, choose)


COORDINATORS = (OneCoordinator(), InTurn(2), ByBrick())


# by default each delay and each kind of coordinators; with -m slow all pairs
DELAYS = Single(), Total(), Hybrid(MINIMUM), MinimumOnly(MINIMUM)
PAIRS = [
    pytest.param(*pair, marks=[] if number in (0, 4, 8, 9) else pytest.mark.slow)
    for number, pair in enumerate(itertools.product(DELAYS, COORDINATORS))
]


@pytest.mark.parametrize(("delay", "coordinators"), PAIRS, ids=lambda one: type(one).__name__)
def test_every_brick_serves_in_the_order_of_the_tags(delay, coordinators):
    for seed, depth in [(1, 1), (2, 4), (3, 16)]:
        queue, workload = FairQueue(depth, WEIGHTS, delay, coordinators=coordinators), random_workload(seed)
        for found, order in zip(served(queue, workload), expected(queue, workload), strict=True):
            assert found.size > 50
            # the log continues until all requests complete, so that the order of each brick is complete
            np.testing.assert_array_equal(found, order)


@pytest.mark.slow
@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**31 - 1),
    depth=st.integers(1, 20),
    weights=st.tuples(*[st.integers(1, 200)] * 3),
    count=st.integers(1, 4),
    load=st.floats(0.5, 3.0),
)
def test_every_brick_serves_in_the_order_of_the_tags_in_any_setting(seed, depth, weights, count, load):
    """All settings are numbers, so that one program serves them."""
    queue, workload = (
        FairQueue(depth, weights, Total(), coordinators=InTurn(count, most=4)),
        random_workload(seed, load=load),
    )
    for found, order in zip(served(queue, workload), expected(queue, workload), strict=True):
        np.testing.assert_array_equal(found, order)


# nodes of 2, 1 and 3 disks
UNEQUAL = (Node(2), Node(1), Node(3))


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("coordinators", slow_but(COORDINATORS[:1], COORDINATORS), ids=lambda c: type(c).__name__)
def test_bricks_of_unequal_sizes_each_have_one_queue(depth, coordinators):
    """Use segments of one part, so that the address determines the node and its disk."""
    layout = Segments(UNEQUAL, (Volume(40 * UNIT, UNIT, parts=1),))
    queue, workload = FairQueue(depth, WEIGHTS, Total(), coordinators=coordinators), random_workload(9, load=6.0)
    segment = np.random.default_rng(9).integers(0, 40, workload.time.size)
    requests = arrivals(workload, segment * UNIT)
    server = System(RateServer(RATE), layout, Hashing(), FCFS(), queue=queue, slots=256)
    location = server.placement.locate(server.drive, requests.requests)
    drive = np.asarray(layout.drive_of(jnp.zeros(workload.time.size, jnp.int32), location))
    first = np.array([0, 2, 3])
    brick = np.searchsorted(first, drive, "right") - 1
    workload = replace(workload, brick=brick, disk=drive - first[brick])
    log = execute(Scenario(server, requests), keys([1])[:, 0], workload.time.size, Record(log=AccessLog())).log
    for node, order in enumerate(expected(queue, workload)):
        assert order != sorted(order)
        for disk in range(UNEQUAL[node].disks):
            its = [number for number in order if workload.disk[number] == disk]
            assert len(its) > 20
            np.testing.assert_array_equal(log.number[log.drive == first[node] + disk], its)


def test_equal_tags_go_by_stream():
    """Streams of equal weight and cost arrive at once: they take turns, the lower number first."""
    count = 30
    nothing = np.zeros(count, int)
    workload = Workload(np.zeros(count), np.arange(count) % 3, np.full(count, 8), nothing, nothing)
    queue = FairQueue(1, (1, 1, 1), Single())
    found = served(queue, workload)[0]
    np.testing.assert_array_equal(found, expected(queue, workload)[0])
    np.testing.assert_array_equal(workload.stream[found[2:]], np.arange(2, count) % 3)


def test_one_brick_acts_the_same_with_and_without_total_delay():
    """A stream that uses one brick only has no delay, so TOTAL equals SFQ(D), request for request."""
    workload = random_workload(4)
    workload.brick[:] = 1
    alone, total = (served(FairQueue(3, WEIGHTS, delay), workload)[1] for delay in (Single(), Total()))
    np.testing.assert_array_equal(alone, total)
    assert not np.array_equal(alone, np.sort(alone))


@pytest.mark.parametrize("nothing", [0.0, 1e-9])
def test_no_minimum_is_total_sharing(nothing):
    workload = random_workload(5)
    hybrid, total = (served(FairQueue(3, WEIGHTS, delay), workload) for delay in (Hybrid((nothing,) * 3), Total()))
    for one, other in zip(hybrid, total, strict=True):
        np.testing.assert_array_equal(one, other)


def test_minimums_at_the_weights_delay_nothing():
    share = np.asarray(WEIGHTS) / np.sum(WEIGHTS)
    workload = random_workload(5)
    hybrid, single = (served(FairQueue(3, WEIGHTS, delay), workload) for delay in (Hybrid(share), Single()))
    for one, other in zip(hybrid, single, strict=True):
        np.testing.assert_array_equal(one, other)


def running(queue: FairQueue, workload: Workload) -> Runner:
    return Runner(Scenario(three_servers(queue), arrivals(workload)), keys([1])[:, 0], Record(log=AccessLog()))


def test_tags_are_as_exact_after_a_week():
    """A stream is served alone for 2^40 units of cost; then both are served as if this had not happened."""
    queue, workload = FairQueue(2, (1, 3), Total()), random_workload(6)
    workload.stream[:] = workload.stream > 1

    def order(after: int) -> np.ndarray:
        runner = running(queue, workload)
        tags = runner.run.state.queue
        word = jnp.full_like(tags.virtual.high, after)
        old = tags._replace(
            virtual=tags.virtual._replace(high=word),
            finish=tags.finish._replace(high=jnp.full_like(tags.finish.high, after)),
        )
        runner.run = runner.run._replace(state=runner.run.state._replace(queue=old))
        log = runner.advance(8)[1]
        return log.number[log.number >= 0]

    first = order(0)
    assert first.size > 200
    np.testing.assert_array_equal(first, order(2**30))
    # across the overflow of the counter
    np.testing.assert_array_equal(first, order(2**32 - 1))


def test_a_stream_that_was_idle_for_weeks_is_not_delayed():
    """One of two streams is idle while a brick serves 2^44 units.

    Its old finish tag lies in the past, not in the future.
    """
    workload = random_workload(6)
    workload.stream[:] = workload.stream > 1
    workload.brick[:] = 0
    first, runner = np.flatnonzero(workload.stream == 1)[0], running(FairQueue(2, (1, 1), Single()), workload)
    tags = runner.run.state.queue
    # 2^44 units of 2^16 ticks and one bit for the stream
    word = jnp.full_like(tags.virtual.high, 2 ** (44 + 16 + 1 - 32))
    of_f = tags.finish._replace(high=tags.finish.high.at[:, 0].set(word[0]))
    changed = tags._replace(virtual=tags.virtual._replace(high=word), finish=of_f)
    runner.run = runner.run._replace(state=runner.run.state._replace(queue=changed))
    log = runner.advance(8)[1]
    order = log.number[log.number >= 0]
    np.testing.assert_array_equal(order, served(FairQueue(2, (1, 1), Single()), workload)[0])
    assert np.flatnonzero(order == first)[0] < first + 20


# the law of all components is tested by contracts/test_random_systems.py
@pytest.mark.slow
def test_a_batch_element_equals_its_single_run():
    """A batch of different depths, weights and numbers of coordinators gives the results of single runs."""
    workload = random_workload(8)
    settings = [(1, (1, 1, 1), 1), (3, (1, 4, 2), 2), (8, (7, 1, 1), 3)]

    def scenario(depth, weights, count):
        queue = FairQueue(depth, weights, Hybrid((0.02, 0.02, 0.02)), coordinators=InTurn(count, most=3))
        return Scenario(three_servers(queue), arrivals(workload))

    scenarios = [scenario(*one) for one in settings]
    batch = execute(*stack(scenarios, [1]), workload.time.size, Record(log=AccessLog())).log
    for element, alone in enumerate(scenarios):
        single = execute(alone, keys([1])[:, 0], workload.time.size, Record(log=AccessLog())).log
        for log in (batch.number[:, element], single.number):
            assert log[log >= 0].size == workload.time.size
        np.testing.assert_array_equal(
            batch.number[batch.number[:, element] >= 0, element], single.number[single.number >= 0]
        )


def test_random_coordinators_are_used_equally():
    choose = AtRandom(5)
    words = np.random.default_rng(3).integers(0, 2**32, 20_000, dtype=np.uint32)
    request = arrivals(random_workload(1, count=20_000)).requests._replace(receiving=words)
    row, _ = choose.choose(None, jax.tree.map(lambda leaf: leaf[None], request), jnp.ones((1, 20_000), bool), 3)
    counts = np.bincount(np.asarray(row)[0], minlength=5)
    assert counts.size == 5 and np.all(np.abs(counts - 4000) < 4 * np.sqrt(4000 * 0.8))


def test_costs():
    sectors = np.array([1, 16, 2048])
    np.testing.assert_array_equal(ByRequests().units(sectors), [1, 1, 1])
    # 5 ms and 512 KB a second: 5,000 us per request and 1,000 us per sector
    np.testing.assert_array_equal(ByTime(5e-3, 512e3).units(sectors), [6000, 21_000, 2_053_000])


class Watch(AbstractLog):
    """A log of the queues.

    It stores the count of each brick's queue at its drives, the number of waiting requests, the number of parts planned
    or issued at the drives, and the number of the completed request.
    """

    def keep(self, scenario, state, report):
        system, tags, locations = (
            scenario.system,
            state.queue,
            jax.tree.map(lambda leaf: leaf[None], state.slots.location),
        )
        waits, has, edges = [], [], itertools.accumulate(system.bricks.sizes, initial=0)
        for brick, (first, end) in enumerate(itertools.pairwise(edges)):
            number = jnp.asarray([brick])
            waits.append(jnp.sum(bit_is_set(tags.queued, number), axis=0, keepdims=True))
            issued = system.queue.issued(tags, state.slots.waiting, number)
            here = bit_is_set(issued[None], system.placement.part_on(jnp.arange(first, end)[:, None], locations))
            has.append(jnp.sum(here)[None] + jnp.sum(state.drives.planned[first:end])[None])
        return tags.outstanding, jnp.concatenate(waits), jnp.concatenate(has), report.completed.number


@pytest.mark.parametrize("depth", [1, 3, 7])
@pytest.mark.parametrize("split", [False, True])
def test_no_drive_is_below_its_depth_while_a_request_waits(depth, split):
    """Bricks have two disks; requests use one of them, or are split between both.

    The drives have `depth` parts while a request waits, and never more. Each request completes once.
    """
    drive, kind = ideal_drive(full_seek=8e-3, revolution=6e-3), SplitVolumes if split else Volumes
    volumes = kind(2**14, [(0,), (1,), (0, 1), (0, 1), (1, 0), (0,)], 8)
    requests = RandomRequests(ExponentialSize(16 * 512), 0.5)
    groups = [
        Group(requests, 10, stream=stream, volumes=(2 * stream + 1, 2 * stream) * 5, think=1e-3) for stream in (0, 1)
    ]
    queue = FairQueue(depth, (1, 3), Hybrid((0.1, 0.1)), coordinators=AtRandom(2))
    bricks = System(drive, Bricks(volumes, 2, 8), Hashing(), SATF(), queue=queue, slots=24)
    scenario = Scenario(bricks, Threads(groups, volume=2**15))
    outstanding, waits, has, number = execute(scenario, keys([3])[:, 0], 600, Record(log=Watch())).log
    outstanding, waits, has = (part.reshape(-1, 2) for part in (outstanding, waits, has))
    np.testing.assert_array_equal(outstanding, has)
    assert outstanding.min() >= 0 and outstanding.max() == depth and waits.max() > 2
    assert np.all(outstanding[waits > 0] == depth)
    completed = number[number >= 0]
    assert len(set(completed.tolist())) == completed.size >= 600


@pytest.mark.parametrize(
    ("depth", "dispatch"),
    [pytest.param(1, Hashing(), marks=pytest.mark.slow), (3, ARS(clients=2))],
    ids=["1-hashing", "3-ars"],
)
def test_data_and_parity_of_a_brick_go_together(depth, dispatch):
    """Read two of three fragments on unequal nodes, one of them a RAID 5.

    The drives of this node may have one part more than `depth`, the others may not. No drive is below its depth while a
    request waits.
    """
    nodes = Node(2, sectors=2**14), Node(4, raid5=True, sectors=2**14), Node(3, sectors=2**14)
    layout = Segments(nodes, (Volume(2**15, 2**10, parts=3, needed=2, block=16),), wraps=True)
    requests = RandomRequests(ExponentialSize(16 * 512), 0.4)
    groups = [Group(requests, 10, stream=stream, think=1e-3) for stream in (0, 1)]
    queue, drive = FairQueue(depth, (1, 3), Single()), ideal_drive(full_seek=8e-3, revolution=6e-3)
    system = System(drive, layout, dispatch, SATF(), queue=queue, slots=24)
    scenario = Scenario(system, Threads(groups))
    outstanding, waits, has, number = execute(scenario, keys([3])[:, 0], 400, Record(log=Watch())).log
    outstanding, waits, has = (part.reshape(-1, 3) for part in (outstanding, waits, has))
    np.testing.assert_array_equal(outstanding, has)
    assert outstanding.max(axis=0).tolist() == [depth, depth + 1, depth] and waits.max() > 2
    assert np.all(outstanding[waits > 0] >= depth)
    completed = number[number >= 0]
    assert len(set(completed.tolist())) == completed.size >= 400


SERVER = RateServer(RATE)


def system(queue=None, *, dispatch=None, placement=None, **more) -> System:
    queue = FairQueue(4, (1, 1)) if queue is None else queue
    return System(SERVER, placement or Replicas(1), dispatch or Hashing(), FCFS(), queue=queue, slots=16, **more)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FairQueue(4, (1, 0)), "a weight of 0: it must be above 0 and finite"),
        (lambda: FairQueue(4, (1, -2)), "a weight of -2"),
        (lambda: FairQueue(4, ()), "weights of 0 streams"),
        (lambda: FairQueue(4, (1,) * 65), "weights of 65 streams: give weights for 1 to 64"),
        (lambda: FairQueue(4, (1, 1e6)), "largest ratio of weights 1000000: it must be at most 256"),
        (lambda: FairQueue(0, (1, 1)), "a queue depth of 0: it must be at least 1"),
        (lambda: FairQueue(4, (1, 1), Hybrid((0.6, 0.6))), "sum of minimum shares 1.2: it must be at most 1"),
        (
            lambda: FairQueue(4, (1, 1), Hybrid((0.6, 0.1))),
            "stream 0: minimum share 0.6: it must be at most its weight divided",
        ),
        (lambda: FairQueue(4, (1, 1), MinimumOnly((0.0, 0.1))), "stream 0: minimum share 0: it must be above 0"),
        (
            lambda: FairQueue(4, (1, 1), Hybrid((0.5, -0.1))),
            "stream 1: minimum share -0.1: it must be at least 0",
        ),
        (lambda: FairQueue(4, (1, 1), Hybrid((0.1,))), "minimum shares of 1 streams, but weights of 2"),
        (lambda: InTurn(0), "coordinators 0: it must be at least 1"),
        (lambda: InTurn(3, most=2), "3 coordinators, but most is 2; raise most"),
        (lambda: ByTime(5e-3, 0.0), "transfer rate 0 bytes a second"),
        (lambda: ByTime(-1.0, 1e6), "access time -1 s"),
        (lambda: system(dispatch=DSPTF(), placement=Replicas(2)), "FairQueue: not modelled with claims"),
        (lambda: system(dispatch=Broadcast(), placement=Replicas(2)), "if parts are withdrawn"),
        (lambda: system(dispatch=Hedged(0.01), placement=Replicas(2)), "FairQueue: not modelled .* hedged"),
        (lambda: system(placement=Replicas(2), faults=FaultSchedule(outage(1))), "with outages of bricks"),
    ],
)
def test_impossible_queues_raise(build, message):
    assert_refused(build, message)


def test_delayed_writes_raise():
    drive = ideal_drive(full_seek=8e-3, revolution=6e-3)
    assert_refused(
        lambda: System(
            drive, Bricks(Replicas(1), 2), Hashing(), SATF(), Background(), queue=FairQueue(4, (1, 1)), slots=16
        ),
        "FairQueue: not modelled with claims, .* or delayed",
    )


def test_streams_without_weights_raise():
    assert_refused(lambda: Scenario(system(), arrivals(random_workload(1))), "requests of 3 streams, but weights of 2")
