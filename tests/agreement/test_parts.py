"""Requests of several parts against an independent event-by-event program, and against formulas of the literature."""

import heapq
import math
from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest
from helpers import logged_responses, responses, slow_but
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve

from storagekit.analytic.forkjoin import RequestStream, completion_times
from storagekit.core.units import KB, MS
from storagekit.dispatch import Broadcast, Hedged, Redundant, ShortestQueue
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Record, ResponseLog, Scenario, System, keys
from storagekit.placement import Coded, Replicas, Striped
from storagekit.schedule import FCFS
from storagekit.simulation import replicate, run
from storagekit.workload import ExponentialSize, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies, FirstCopy

pytestmark = pytest.mark.optimized

RATE = 1e5


class Program:
    """Every drive serves first come, first served. The other rules follow the documentation, with times and sets only.

    A read needs `data` of its parts; a write completes when `commits` parts have ended. With `early`, the remaining
    parts of a read are withdrawn when enough parts have begun, otherwise when enough have ended.
    """

    def __init__(self, drives: int, data: int, commits: int, early: bool):
        self.drives, self.data, self.commits, self.early = drives, data, commits, early
        self.waiting: dict[int, set[int]] = {}
        self.begun, self.ended = Counter[int](), Counter[int]()
        self.free = dict.fromkeys(range(drives), True)
        self.completions: dict[int, float] = {}

    def responses(self, times, sizes, reads) -> dict[int, float]:
        self.size, self.read = -(-sizes // self.data) / RATE, reads
        self.events = [(at, 0, number, 0) for number, at in enumerate(times)]
        while self.events:
            now, kind, number, drive = heapq.heappop(self.events)
            if kind == 0:
                self.waiting[number] = set(range(self.drives))
                idle = [one for one in range(self.drives) if self.free[one]]
            else:
                self.end(now, number)
                self.free[drive] = True
                idle = [drive]
            for one in idle:
                self.choose(one, now)
        return {number: at - times[number] for number, at in self.completions.items()}

    def end(self, now, number):
        self.ended[number] += 1
        if self.ended[number] == (self.data if self.read[number] else self.commits):
            self.completions[number] = now
            if self.read[number]:
                self.waiting[number].clear()

    def choose(self, drive, now):
        number = next((one for one, at in self.waiting.items() if drive in at), None)
        if number is None:
            return
        self.free[drive] = False
        self.waiting[number].remove(drive)
        self.begun[number] += 1
        if self.read[number] and self.early and self.begun[number] == self.data:
            self.waiting[number].clear()
        heapq.heappush(self.events, (now + self.size[number], 1, number, drive))


@pytest.mark.parametrize("early", [True, False], ids=["withdrawn when begun", "withdrawn when completed"])
@pytest.mark.parametrize("write", [FirstCopy(), AllCopies()], ids=lambda one: type(one).__name__)
@settings(max_examples=12, derandomize=True)
@given(code=st.sampled_from([(1, 3), (2, 3), (3, 5), (4, 5), (5, 5)]), share=st.floats(0, 1), seed=st.integers(0, 999))
def test_any_m_of_n_fragments(recorded, write, early, code, share, seed):
    """Completions agree with the program's, request for request, also in overload."""
    data, fragments = code
    draw, count = np.random.default_rng(seed), 60
    times = np.cumsum(draw.exponential(0.8e-3, count))
    sizes, reads = draw.integers(1, 400, count), draw.random(count) < share
    dispatch = Broadcast() if early else Redundant(5, finishing=True)
    system = System(RateServer(RATE), Coded(data, fragments), dispatch, FCFS(), write, drives=5, slots=64)
    # arrival times are rounded as in the engine
    arrivals = recorded(times, sectors=sizes, read=reads)
    outcome = run(Scenario(system, arrivals), keys([0])[:, 0], count, Record(log=ResponseLog()))
    commits = data if isinstance(write, FirstCopy) else fragments
    expected = Program(fragments, data, commits, early).responses(times, sizes, reads)
    np.testing.assert_allclose(logged_responses(outcome.log, count), [expected[n] for n in range(count)], atol=3e-6)


@pytest.mark.parametrize("disks", slow_but({2, 7}, [2, 4, 7]))
def test_striped_reads_agree_with_the_fork_join_recursion(recorded, disks):
    """Every request covers all disks, so it has a part on each. The last part completes it."""
    draw, count, unit = np.random.default_rng(disks), 500, 8
    sectors, begin = draw.integers(disks * unit, 5 * disks * unit, count), draw.integers(0, 10_000, count)
    gap = draw.exponential(1.2 * sectors.mean() / disks / RATE, count).astype(np.float32)
    share = np.array(
        [
            np.bincount(np.arange(first, first + size) // unit % disks, minlength=disks)
            for first, size in zip(begin, sectors, strict=True)
        ]
    )
    seconds = (share / RATE).astype(np.float32)
    arrivals = recorded(np.cumsum(gap.astype(float)), sector=begin, sectors=sectors)
    system = System(RateServer(RATE), Striped(disks, unit), Broadcast(), FCFS(), slots=64)
    outcome = run(Scenario(system, arrivals), keys([0])[:, 0], count, Record(log=ResponseLog()))
    stream = RequestStream(gap, np.ones(gap.shape, bool), seconds, np.ones_like(seconds))
    np.testing.assert_allclose(logged_responses(outcome.log, count), completion_times(stream), rtol=1e-5, atol=3e-6)


SERVICE = 10 * MS
LOAD, SERVERS = 0.7, 8
# sizes are whole sectors; with a mean of 20,000 sectors the rounding is negligible
EXPONENTIAL = RandomRequests(ExponentialSize(20_000 * 512.0), 1.0)


def simulated(dispatch, servers=SERVERS, load=LOAD, seeds=64) -> tuple[float, float]:
    """Mean response in service times and its standard error: exponential servers, Poisson arrivals."""
    server = RateServer(20_000 / SERVICE, capacity=2**28)
    system = System(server, Replicas(servers), dispatch, FCFS(), slots=128)
    arrivals = PoissonArrivals(EXPONENTIAL, servers * load / SERVICE)
    response = replicate(Scenario(system, arrivals), seeds=range(seeds), requests=5000, warm_up=1000).response / SERVICE
    return float(response.mean()), float(response.std(ddof=1)) / seeds**0.5


def least_work(servers: int, choices: int, load: float) -> float:
    """Mean response of redundancy-d with cancellation at the start of service, in service times.

    The sum runs over the number of busy servers, in product form (Visschers, Adan and Weiss, Queueing Systems 70, 2012;
    Ayesta, Bodas and Verloop 2018). An arrival waits there if all its choices are among the first j of these servers.
    """
    arrivals, every = servers * load, math.comb(servers, choices)
    weight, total, waiting, queued = 1.0, 1.0, 0.0, 0.0
    for busy in range(1, servers + 1):
        ratio = arrivals * math.comb(busy, choices) / every / busy
        weight *= arrivals * (1 - math.comb(busy - 1, choices) / every) / busy / (1 - ratio)
        queued += ratio / (1 - ratio)
        total, waiting = total + weight, waiting + weight * queued
    return 1 + waiting / total / arrivals


def shortest_of(servers: int, choices: int, load: float, longest: int) -> float:
    """Mean response of join-the-shortest-queue of d, in service times.

    It is computed from the stationary states of the Markov chain: queue lengths in their order, none above `longest`.
    """
    states = list(combinations_with_replacement(range(longest, -1, -1), servers))
    number = {state: at for at, state in enumerate(states)}
    rates = lil_matrix((len(states), len(states)))

    def moves(state, changed, rate):
        there = number.get(tuple(sorted(changed, reverse=True)))
        if there is not None and rate > 0:
            rates[there, number[state]] += rate
            rates[number[state], number[state]] -= rate

    every = math.comb(servers, choices)
    for state in states:
        for position, length in enumerate(state):
            # lengths decrease, so the shortest is at `position` if it and others before it are chosen
            joins = math.comb(position, choices - 1) / every
            moves(state, (*state[:position], length + 1, *state[position + 1 :]), servers * load * joins)
            moves(state, (*state[:position], length - 1, *state[position + 1 :]), float(length > 0))
    rates[0, :] = 1.0
    share = spsolve(rates.tocsc(), np.eye(1, len(states)).ravel())
    return float(share @ [sum(state) for state in states]) / (servers * load)


def test_the_oracles_have_the_right_limits():
    """With one choice each server has a separate queue; with all of them there is one shared queue (Erlang C)."""
    assert least_work(4, 1, 0.6) == pytest.approx(1 / 0.4)
    assert least_work(2, 2, 0.5) == pytest.approx(1 / (1 - 0.25))
    assert shortest_of(1, 1, 0.5, 40) == pytest.approx(2.0, rel=1e-6)
    # Mitzenmacher's sum, the limit of many servers
    assert shortest_of(8, 2, 0.5, 5) == pytest.approx(sum(0.5 ** (2**i - 2) for i in range(1, 6)), rel=0.06)


@pytest.mark.parametrize("choices", slow_but({2}, [2, 3]))
def test_join_the_shortest_of_d(choices):
    mean, error = simulated(ShortestQueue(choices))
    assert abs(mean - shortest_of(SERVERS, choices, LOAD, 6)) < 4 * error < 0.06


@pytest.mark.parametrize("choices", slow_but({2}, [2, 4, SERVERS]))
def test_redundancy_d_cancelled_at_the_start(choices):
    mean, error = simulated(Redundant(choices))
    assert abs(mean - least_work(SERVERS, choices, LOAD)) < 4 * error < 0.06


def test_redundancy_over_all_servers_is_broadcast():
    assert simulated(Redundant(SERVERS), seeds=2)[0] == pytest.approx(simulated(Broadcast(), seeds=2)[0], rel=1e-6)


TURN = 10 * MS


@pytest.mark.parametrize("delay", [0.0, 2 * MS, 6 * MS, 20 * MS])
def test_a_hedge_is_the_sooner_of_two_rotations(delay):
    """There is no queue and no seek. The mean is E min(U, delay + V) of two uniform rotations, by hand."""
    drive = ideal_drive(full_seek=0.0, revolution=TURN, sectors_per_track=1000)
    system = System(drive, Replicas(2), Hedged(delay), FCFS(), slots=8)
    arrivals = PoissonArrivals(RandomRequests(FixedSize(512), 1.0), 2.0)
    # the phase between the platters is constant for a seed, so many seeds are needed
    data = replicate(Scenario(system, arrivals), seeds=range(512), requests=60, warm_up=0)
    response = data.response
    d = min(delay / TURN, 1.0)
    expected = TURN * (d - d**2 / 2 + (1 - d) ** 2 / 2 - (1 - d) ** 3 / 6) + TURN / 1000
    assert abs(float(response.mean()) - expected) < 4 * float(response.std(ddof=1)) / 512**0.5 < 0.06 * expected
    # a second part that is due after a revolution is withdrawn before it is sent
    assert (float(data.extra_services.max()) == 0) == (delay > TURN)


def test_writes_do_not_wait_for_a_hedge(unfold, recorded):
    """100 sectors at 100 sectors per ms go to each of two copies, both idle."""
    system = System(RateServer(RATE), Replicas(2), Hedged(10 * MS), FCFS(), AllCopies(), slots=4)
    _, reports = unfold(Scenario(system, recorded([0.0], sectors=100, read=False)))
    assert responses(reports) == pytest.approx({0: 1.0}, rel=1e-4)


def test_a_late_hedge_sends_no_second_part():
    """The second part is withdrawn before it is sent, so there are no extra services."""
    server = RateServer(1000 / SERVICE)
    requests = RandomRequests(ExponentialSize(8 * KB), 0.8)
    system = System(server, Replicas(3), Hedged(1e6), FCFS(), slots=32)
    data = replicate(Scenario(system, PoissonArrivals(requests, 100.0)), seeds=range(2), requests=500, warm_up=0)
    assert float(data.extra_services.max()) == 0
