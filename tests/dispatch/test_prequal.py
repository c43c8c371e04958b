"""Prequal: a simulation in plain Python, laws of every arrival, the median of latencies, random probes, and outages."""

import heapq
from collections import deque
from statistics import median_low
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import WrappedDispatch, assert_refused, dispatch_state

from storagekit.component.events import StateSizes
from storagekit.core.batching import any_row, bit_is_set, row_index
from storagekit.core.units import MS
from storagekit.dispatch import AsManyAsNeeded, DispatchSwitch, Prequal, ShortestQueue, View
from storagekit.dispatch.prequal import MOST_USES, RECENT, SAMPLES, Responses
from storagekit.drive import Mixed, RateServer
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, outage
from storagekit.placement import Coded, Declustered, Grouping, Location, Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import sweep
from storagekit.workload import ExponentialSize, PoissonArrivals, RandomRequests, Requests, scramble
from storagekit.write import AllCopies

# 1 ms for each 100 sectors
RATE = 1e5
SERVER = RateServer(RATE, capacity=2**28)


class Watched(WrappedDispatch):
    """Dispatch as `of` does. The private state also has the pool after each request, `[request, brick, *batch]`, and the
    mask of the parts that it was sent to, `[request, *batch]`."""

    of: Prequal
    count: int = eqx.field(static=True)

    def init(self, sizes: StateSizes):
        private = self.of.init(sizes)
        pools = [jnp.zeros((self.count, *leaf.shape), leaf.dtype) for leaf in private.client.pool]
        return private, type(private.client.pool)(*pools), pools[0][:, 0].astype(jnp.uint32)

    def route(self, private, request, entering, view):
        before, pools, sent_to = private
        routed, after = self.of.route(before, request, entering, view)
        here = (row_index(self.count, sent_to) == request.number) & entering
        pools = type(pools)(
            *(jnp.where(here[:, None], new[None], old) for new, old in zip(after.client.pool, pools, strict=True))
        )
        return routed, (after, pools, jnp.where(here, routed, sent_to))


class Report:
    """An answer to a probe, in plain Python."""

    def __init__(self, brick: int, in_flight: int, latency: float, at: float, uses: int):
        self.brick, self.in_flight, self.latency, self.at, self.uses = brick, in_flight, latency, at, uses


class Seen(NamedTuple):
    """Observations of one run: bricks of the reads, and after each read the pool `[request, brick]`."""

    sent_to: np.ndarray
    uses: np.ndarray
    in_flight: np.ndarray
    latency: np.ndarray
    age: np.ndarray
    later: np.ndarray


class Program:
    """Prequal in plain Python, with one client. The random choices are those of the observed run."""

    def __init__(self, bricks: int, setting: Prequal):
        self.setting, self.pool = setting, list[Report]()
        self.recent = deque[int](maxlen=RECENT)
        self.latencies = [deque[tuple[int, float]](maxlen=SAMPLES) for _ in range(bricks)]
        self.flights = [deque[tuple[int, int]]() for _ in range(bricks)]
        self.removed = 0

    def threshold(self) -> float:
        quantile = float(self.setting.quantile)
        if quantile == 1 or not self.recent:
            return np.inf
        return sorted(self.recent)[max(int(np.ceil(quantile * len(self.recent) - 1e-5)), 1) - 1]

    def best(self) -> set[int]:
        """The bricks of the best reports; several if RIFs are equal, or latencies within the precision of 32 bits."""
        limit = self.threshold()
        cold = [report for report in self.pool if report.in_flight <= limit]
        if cold:
            least = min(report.latency for report in cold)
            return {report.brick for report in cold if report.latency <= least * 1.0001 + 1e-7}
        least = min((report.in_flight for report in self.pool), default=0)
        found = {report.brick for report in self.pool if report.in_flight == least}
        return found or set(range(len(self.flights)))

    def use(self, brick: int) -> None:
        for report in [one for one in self.pool if one.brick == brick]:
            report.in_flight, report.uses = report.in_flight + 1, report.uses - 1
            if not report.uses:
                self.pool.remove(report)

    def remove(self) -> None:
        self.removed += 1
        if not self.pool:
            return
        limit = self.threshold()
        hot = [report for report in self.pool if report.in_flight > limit]
        if self.removed % 2:
            self.pool.pop(0)
        elif hot:
            self.pool.remove(max(hot, key=lambda report: report.in_flight))
        else:
            self.pool.remove(max(self.pool, key=lambda report: report.latency))

    def probe(self, brick: int, now: float, uses: int) -> None:
        in_flight, known = len(self.flights[brick]), self.latencies[brick]
        nearest = min((abs(met - in_flight) for met, _ in known), default=0)
        near = [latency for met, latency in known if abs(met - in_flight) == nearest]
        self.recent.append(in_flight)
        self.pool = [report for report in self.pool if report.brick != brick]
        self.pool.append(Report(brick, in_flight, median_low(near) if near else 0.0, now, uses))
        while len(self.pool) > self.setting.pool:
            self.pool.pop(0)


def replayed(setting: Prequal, times, service, seen: Seen) -> list[int]:
    """Simulate the reads of an observed run, and compare every choice and pool. Return the numbers of reports.

    The program uses the random choices of the run: which brick of equal ones was selected, which bricks were probed, in
    which order, and how often their reports may be used. Reports expire at the time of the last access that began or
    ended.
    """
    bricks = seen.uses.shape[1]
    program, ends, sizes = Program(bricks, setting), [], []
    fractions, clock = np.zeros(2), 0.0
    for number, now in enumerate(times):
        while ends and ends[0][0] <= now:
            end, brick = heapq.heappop(ends)
            clock = end
            done, met = program.flights[brick].popleft()
            program.latencies[brick].append((met, end - times[done]))
            if program.flights[brick]:
                heapq.heappush(ends, (end + service[program.flights[brick][0][0]], brick))
        program.pool = [report for report in program.pool if clock - report.at <= setting.age]
        brick = int(seen.sent_to[number])
        assert brick in program.best(), number
        program.use(brick)
        fractions += float(setting.probes), float(setting.removals)
        probes, removals = np.floor(fractions)
        fractions -= probes, removals
        if removals:
            program.remove()
        program.flights[brick].append((number, len(program.flights[brick])))
        if len(program.flights[brick]) == 1:
            heapq.heappush(ends, (now + service[number], brick))
        new = np.flatnonzero(np.isinf(seen.age[number]) & (seen.later[number] < probes))
        for one in new[np.argsort(-seen.later[number][new])]:
            program.probe(int(one), now, int(seen.uses[number, one]))
        # a full pool may be smaller than the probes
        assert len(new) >= min(probes, bricks) if setting.pool >= probes else True
        reported = {report.brick: report for report in program.pool}
        assert set(np.flatnonzero(seen.uses[number]).tolist()) == set(reported), number
        for one, report in reported.items():
            assert seen.uses[number, one] == report.uses and seen.in_flight[number, one] == report.in_flight
            np.testing.assert_allclose(seen.latency[number, one], report.latency, rtol=1e-4, atol=1e-7)
            age = np.inf if one in new else clock - report.at
            np.testing.assert_allclose(seen.age[number, one], age, rtol=1e-3, atol=1e-6)
        # a read that begins service at once advances the time to its arrival
        clock = now if len(program.flights[brick]) == 1 else clock
        sizes.append(len(program.pool))
    return sizes


SETTINGS = (
    Prequal(pool=5),
    Prequal(2.5, 8, 20 * MS, 0.5, 0.25),
    Prequal(0.75, 4, quantile=0.0, removals=0.5, surplus=3),
    Prequal(4, 6, quantile=1.0, removals=0.7, surplus=0),
)


def test_every_choice_and_pool_agrees_with_plain_python(recorded):
    """Ten servers with exponential service at a load of 0.85, four settings in one batch."""
    count, bricks = 400, 10
    draw = np.random.default_rng(2)
    sectors = np.maximum(draw.exponential(2000, count + 1), 1).astype(np.int32)
    gap = draw.exponential(2000 / RATE / bricks / 0.85, count).astype(np.float32)
    times = np.append(0, np.cumsum(gap.astype(float)))
    arrivals = recorded(times, sectors=sectors)
    scenarios = [
        Scenario(System(SERVER, Replicas(bricks), Watched(setting, count), FCFS(), slots=96), arrivals)
        for setting in SETTINGS
    ]
    _, pools, sent_to = dispatch_state(scenarios, count)
    for run, setting in enumerate(SETTINGS):
        chosen = np.log2(np.asarray(sent_to)[:, run]).astype(int)
        seen = Seen(chosen, *(np.asarray(getattr(pools, name))[..., run] for name in Seen._fields[1:]))
        sizes = replayed(setting, times[:count], sectors / RATE, seen)
        # all bricks serve, and the pools are of different sizes
        assert np.min(np.bincount(chosen, minlength=bricks)) > 10 and len(set(sizes)) > 2


class Lawful(AsManyAsNeeded):
    """Counts the reads and writes, and the broken laws at their arrivals."""

    of: Prequal

    def init(self, sizes: StateSizes):
        none = jnp.zeros((1, *sizes.batch), jnp.int32)
        return self.of.init(sizes), none, none

    def route(self, private, request, entering, view):
        before, number, wrong = private
        routed, after = self.of.route(before, request, entering, view)
        holds, part = view.by_brick()
        chosen, pool = bit_is_set(routed, part) & holds, after.client.pool
        few = jnp.sum(chosen, axis=0, keepdims=True) != view.needed
        full = jnp.sum(pool.uses > 0, axis=0, keepdims=True) > self.of.pool
        new = (pool.uses > 0) & jnp.isinf(pool.age) & request.read
        old = any_row((pool.uses > 0) & ~new & (pool.age > self.of.age)) & request.read
        # a new report has the true number of requests in flight; one brick is one drive
        untrue = any_row(new & (pool.in_flight != view.load() + chosen))
        pairs = zip(after.client.pool, before.client.pool, strict=True)
        same = ~any_row(jnp.stack([jnp.any(a != b, axis=0) for a, b in pairs]))
        changed = (~entering | ~request.read) & ~same
        return routed, (after, number + entering, wrong + (entering & (few | full | old | untrue)) + changed)

    def on_admitted(self, private, event):
        return self.of.on_admitted(private[0], event), *private[1:]

    def on_access_ended(self, private, event):
        return self.of.on_access_ended(private[0], event), *private[1:]

    def elapse(self, private, time):
        return self.of.elapse(private[0], time), *private[1:]


@pytest.mark.parametrize("layout", [Declustered(6, 3, data=2**26, extent=2**20), Coded(2, 4)], ids=["copies", "code"])
def test_no_request_breaks_a_law(layout):
    """Reads and writes from a light to a high load. A read is sent to as many bricks as it needs, pools are bounded and
    have no old reports, new reports are true, and only reads change a pool."""
    system = System(SERVER, layout, Lawful(Prequal(2, 3, 0.01)), FCFS(), AllCopies(), slots=96)
    mixed = RandomRequests(ExponentialSize(100 * 512.0), 0.8)
    scenarios = [Scenario(system, PoissonArrivals(mixed, load * 1000)) for load in (0.5, 1.2, 2)]
    _, number, wrong = dispatch_state(scenarios, 500)
    assert np.all(np.asarray(number) > 400) and np.all(np.asarray(wrong) == 0)


def test_latency_is_the_median_of_the_responses_at_the_nearest_load():
    """Brick 0 has four responses and an empty ring otherwise, brick 1 a full ring, and brick 2 no response."""
    met, latency = np.zeros((3, SAMPLES), np.int32), np.zeros((3, SAMPLES), np.float32)
    met[0, :4], latency[0, :4] = [3, 1, 3, 3], [4, 1, 2, 8]
    met[1], latency[1] = np.arange(SAMPLES), np.arange(SAMPLES) * 10.0
    ring = Responses(
        *(jnp.asarray(one.reshape(-1, 1)) for one in (latency, met)), jnp.asarray([[4], [SAMPLES + 3], [0]])
    )
    for now, expected in ((3, [4, 30, 0]), (9, [4, 90, 0]), (1, [1, 10, 0]), (0, [1, 0, 0]), (40, [4, 150, 0])):
        assert ring.estimate(jnp.full((3, 1), now))[:, 0].tolist() == expected
    # of responses to requests that met 1 and 3, both are nearest to 2; the lower of two medians is taken
    assert ring.estimate(jnp.full((3, 1), 2))[:, 0].tolist() == [2, 20, 0]


def view_of(bricks: int, copies: int, runs: int) -> View:
    """The view of idle bricks, of which the first have copies, with a different random word in each run."""
    none = jnp.zeros((1, runs), jnp.int32)
    nothing, location = jnp.zeros((bricks, runs)), Location(None, none)
    word = scramble(jnp.arange(runs, dtype=jnp.uint32)[None])
    never: Any = None
    idle = nothing == 0
    of = Replicas(copies), Grouping((1,) * bricks)
    return View(none.astype(jnp.uint32), location, ~idle, nothing, idle, location, *of, never, never, word)


def request_of(runs: int) -> Requests:
    """A read in each run."""
    nothing = jnp.zeros((1, runs), jnp.int32)
    words = nothing.astype(jnp.uint32)
    return Requests(nothing, nothing, nothing + 1, nothing == 0, words, words, nothing == 1, nothing, nothing)


def within(share, expected, runs: int) -> bool:
    """Whether shares of independent runs are within four standard errors of their expectation."""
    return bool(np.all(np.abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / runs)))


def test_probes_and_first_choices_are_uniform_and_uses_are_rounded_at_random():
    """With 25 bricks, 20 of them with copies, and an empty pool. A report is used 2 / 1.52 = 1.316 times in the mean."""
    runs, bricks, copies = 4000, 25, 20
    dispatch = Prequal(pool=4)
    private = dispatch.init(StateSizes(1, bricks, (runs,), bricks=bricks))
    view, entering = view_of(bricks, copies, runs), jnp.ones((1, runs), bool)
    routed, after = dispatch.route(private, request_of(runs), entering, view)
    chosen = np.log2(np.asarray(routed)[0].astype(float)).astype(int)
    assert within(np.bincount(chosen, minlength=copies) / runs, 1 / copies, runs)
    uses = np.asarray(after.client.pool.uses)
    assert np.all(np.sum(uses > 0, axis=0) == 3)
    assert within(np.mean(uses > 0, axis=1), 3 / bricks, runs)
    assert set(np.unique(uses).tolist()) == {0, 1, 2}
    assert within(np.mean(uses[uses > 0] == 2), 2 / 1.52 - 1, 3 * runs)
    # the probes are independent of the choice
    assert within(np.mean(uses[chosen, np.arange(runs)] > 0), 3 / bricks, runs)


def test_a_report_is_used_at_least_once_and_at_most_16_times():
    for setting, bricks, expected in (
        (Prequal(), 100, 2 / 1.52),
        (Prequal(5), 100, 1.0),
        (Prequal(), 16, MOST_USES),
        (Prequal(), 8, MOST_USES),
        (Prequal(1), 100, MOST_USES),
        (Prequal(surplus=20), 100, 21 / 1.52),
        (Prequal(surplus=50), 100, MOST_USES),
    ):
        assert float(setting._uses(bricks)) == pytest.approx(expected, rel=1e-5)


def test_a_second_attempt_keeps_the_selected_bricks_that_are_up():
    """Only bricks that are down lose their reports. Without a selected brick that is up, other bricks are tried."""
    alive, selected = jnp.array([0b1101, 0b0100], jnp.uint32), jnp.array([0b1010, 0b0010], jnp.uint32)
    assert Prequal().retry_targets(alive, selected).tolist() == [0b1000, 0b0100]


def test_bricks_that_are_up_keep_their_reports_if_another_brick_of_a_read_is_down(recorded):
    """Each read needs two of four bricks. Brick 0 stops after 20 of 120 reads; nearly every read probes every other brick,
    and no report is removed."""
    count = 120
    arrivals = recorded(np.arange(count + 1) * MS, sectors=150)
    faults = FaultSchedule(outage(0, 20, 1000), timeout=0.02, detection=0.0)
    prequal = Prequal(probes=4, age=30 * MS, removals=0)
    system = System(SERVER, Coded(2, 4), Watched(prequal, count), FCFS(), faults=faults, slots=96)
    _, pools, sent_to = dispatch_state([Scenario(system, arrivals)], count)
    down = np.flatnonzero(np.asarray(sent_to)[20:, 0] & 1) + 20
    uses = np.asarray(pools.uses)[down[0] :, :, 0]
    assert len(down) >= 3 and np.any(uses[:, 0] == 0) and np.all(uses[:, 1:] > 0)


def test_a_brick_that_is_down_receives_few_reads(recorded):
    """Brick 0 stops after 20 of 220 reads and starts again after 120. The time `age` is that of 30 reads."""
    count = 320
    arrivals = recorded(np.arange(count + 1) * MS, sectors=150)
    faults = FaultSchedule(outage(0, 20, 120), timeout=0.02, detection=0.0)
    system = System(SERVER, Replicas(3), Watched(Prequal(age=30 * MS), count), FCFS(), faults=faults, slots=96)
    _, pools, sent_to = dispatch_state([Scenario(system, arrivals)], count)
    bricks = np.log2(np.asarray(sent_to)[:, 0]).astype(int)
    tried = np.flatnonzero(bricks == 0)
    down = tried[(tried >= 20) & (tried < 120)]
    assert 3 <= len(down) <= 6 and np.all(np.diff(down) >= 30)
    assert np.all(np.asarray(pools.uses)[down[0] + 1 : down[0] + 30, 0, 0] == 0)
    assert np.sum(tried >= 160) > 30


@pytest.mark.optimized
def test_requests_in_flight_and_latencies_are_better_than_either_alone():
    """Four servers are twice as fast as the other four, at a load of 0.63. The quantiles are 0.5, the default, and 1, with
    which latencies alone decide. Two choices compare lengths of queues, not the times of their requests."""
    servers = Mixed([RateServer(2 * RATE, 2**28), RateServer(RATE, 2**28)], [0, 1] * 4)
    reads = RandomRequests(ExponentialSize(2000 * 512.0), 1.0)
    load = PoissonArrivals(reads, 0.63 * 12 * RATE / 2000)
    quantiles = (0.5, 2**-0.25, 1.0, 0.5)

    def build(policy):
        policies = (Prequal(quantile=quantiles[policy]), ShortestQueue(2))
        return Scenario(System(servers, Replicas(8), DispatchSwitch(policies, policy == 3), FCFS(), slots=128), load)

    seeds = 8
    length = {"requests": 2000, "warm_up": 500, "allow_blocked": True}
    found = sweep(build, {"policy": [0, 1, 2, 3]}, seeds=seeds, **length).response
    for better, worse in ((0, 3), (0, 1), (1, 2)):
        surplus = found.sel(policy=worse) - found.sel(policy=better)
        assert float(surplus.mean()) > 3 * float(surplus.std("seed", ddof=1)) / seeds**0.5


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Prequal(-1), "probes of a read -1: it must be between 0 and 64"),
        (lambda: Prequal(65), "probes of a read 65"),
        (lambda: Prequal(pool=0), "reports in the pool 0: give a whole number"),
        (lambda: Prequal(pool=1.5), "reports in the pool 1.5"),
        (lambda: Prequal(age=0), "an age of reports of 0"),
        (lambda: Prequal(quantile=1.1), "quantile of requests in flight 1.1"),
        (lambda: Prequal(removals=2), "removals at a read 2: it must be between 0 and 1"),
        (lambda: Prequal(surplus=-1), "surplus of reports -1"),
        (lambda: Prequal(np.array([3.0, -1])), "probes of a read -1"),
        (lambda: Prequal("many"), "probes of a read 'many' is not a number"),
    ],
)
def test_impossible_settings_are_rejected(build, message, unchecked):
    assert_refused(build, message)
