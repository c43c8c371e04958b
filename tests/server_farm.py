"""Servers with exponential service, Poisson arrivals and a dispatcher, without storagekit: oracles of dispatchers.

Times are in mean service times. `exact_memory` and `exact_idle_queue` solve the Markov chain of a few servers. The
classes `Memory` and `IdleQueue` are the same policies for `mean_response`, which simulates any number of servers, one
event at a time. The limits of many servers are `many_with_memory` and `many_with_idle_queues`.

    python -m server_farm        # in tests/: the values of both for a few servers, with standard errors
"""

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

Moves = Callable[[tuple], Iterator[tuple[tuple, float]]]


def stationary(start: tuple, moves: Moves) -> dict[tuple, float]:
    """Return the stationary probabilities of all states that can be reached from `start`.

    moves: function of a state that yields the next states and their rates.
    """
    number, states, entries = {start: 0}, [start], []
    for state in states:
        for there, rate in moves(state):
            if there not in number:
                number[there] = len(states)
                states.append(there)
            here = number[state]
            entries += [(number[there], here, rate), (here, here, -rate)]
    row, column, rate = np.array(entries).T
    kept = row > 0
    # the balance of state 0 follows from the others; in its place the probabilities add up to 1
    row, column, rate = row[kept], column[kept], rate[kept]
    every = np.arange(len(states))
    row, column = np.append(row, 0 * every).astype(int), np.append(column, every).astype(int)
    rates = coo_matrix((np.append(rate, np.ones(len(states))), (row, column))).tocsc()
    share = spsolve(rates, np.eye(1, len(states)).ravel())
    return dict(zip(states, share.tolist(), strict=True))


def exact_memory(servers: int, drawn: int, remembered: int, load: float, longest: int) -> float:
    """Mean response with d drawn and m remembered queues of at most `longest` requests.

    A state has the length of each queue and whether it is remembered. Queues of equal length are exchangeable, so the
    order of ties does not matter.
    """
    samples = list(combinations(range(servers), drawn))

    def moves(state):
        for sample in samples:
            candidates = [one for one in range(servers) if one in sample or state[one][1]]
            chosen = min(candidates, key=lambda one: state[one][0])
            lengths = [length + (one == chosen) for one, (length, _) in enumerate(state)]
            if lengths[chosen] <= longest:
                kept = sorted(candidates, key=lengths.__getitem__)[:remembered]
                there = sorted((lengths[one], one in kept) for one in range(servers))
                yield tuple(there), servers * load / len(samples)
        for one, (length, kept) in enumerate(state):
            if length:
                yield tuple(sorted((*state[:one], (length - 1, kept), *state[one + 1 :]))), 1.0

    share = stationary(((0, False),) * servers, moves)
    return sum(part * sum(length for length, _ in state) for state, part in share.items()) / (servers * load)


def exact_idle_queue(servers: int, dispatchers: int, drawn: int, load: float, longest: int) -> float:
    """Mean response with JIQ, if an idle server leaves its I-queue when any request is sent to it.

    A state has the lengths of the busy queues and of the I-queues. An idle server is in exactly one I-queue.
    """
    samples = list(combinations(range(dispatchers), drawn))

    def state_of(busy, listed):
        return tuple(sorted(busy)), tuple(sorted(listed))

    def without(listed, queue):
        return (*listed[:queue], listed[queue] - 1, *listed[queue + 1 :])

    def moves(state):
        busy, listed = state
        rate = servers * load / dispatchers
        for length in listed:
            if length:
                yield state_of((*busy, 1), without(listed, listed.index(length))), rate
                continue
            for queue, idle in enumerate(listed):
                if idle:
                    yield state_of((*busy, 1), without(listed, queue)), rate * idle / servers
            for one, requests in enumerate(busy):
                if requests < longest:
                    yield state_of((*busy[:one], requests + 1, *busy[one + 1 :]), listed), rate / servers
        for one, requests in enumerate(busy):
            rest = (*busy[:one], *busy[one + 1 :])
            if requests > 1:
                yield state_of((*rest, requests - 1), listed), 1.0
                continue
            for sample in samples:
                joined = min(sample, key=listed.__getitem__)
                longer = (*listed[:joined], listed[joined] + 1, *listed[joined + 1 :])
                yield state_of(rest, longer), 1 / len(samples)

    share = stationary(state_of((), (servers, *[0] * (dispatchers - 1))), moves)
    return sum(part * sum(busy) for (busy, _), part in share.items()) / (servers * load)


def many_with_memory(drawn: int, load: float) -> float:
    """Mean response with d drawn queues and one remembered queue, in the limit of many servers.

    `longer` is the share of servers with at least i requests, and `remembered` the probability that the remembered
    server has at least i requests.
    """
    before, longer, remembered, total = 1.0, load, 1.0, 0.0
    while longer > 1e-15:
        total += longer
        power = longer ** (drawn - 1)
        remembered *= longer * power / (1 - drawn * (before - longer) * power)
        before, longer = longer, load * longer * power * remembered
    return total / load


def many_with_idle_queues(ratio: float, load: float) -> float:
    """Mean response with JIQ-Random in the limit of many servers, with `ratio` servers for each dispatcher.

    The length of an I-queue is a birth-and-death process. A server joins at a constant rate, which makes the mean length
    ratio * (1 - load). One leaves at the rate ratio * load of the requests of the dispatcher, and each at the rate of
    the random requests, load * P(an I-queue is empty). A busy server is an M/M/1 queue of these random requests.
    """
    number = np.arange(1000)

    def lengths(joining, leaving):
        steps = np.log(joining) - np.log(ratio * load + number[1:] * leaving)
        weight = np.append(0.0, np.cumsum(steps))
        share = np.exp(weight - weight.max())
        return share / share.sum()

    def excess(empty):
        def surplus(joining):
            return lengths(joining, load * empty) @ number - ratio * (1 - load)

        joining = brentq(surplus, 1e-9, ratio * load + number[-1] * load * empty / 2)
        return lengths(joining, load * empty)[0] - empty

    return 1 / (1 - load * brentq(excess, 1e-6, 1 - 1e-6))


class Memory:
    """Policy with drawn and remembered servers; ties at random."""

    def __init__(self, servers: int, drawn: int, remembered: int, draw: random.Random):
        self.servers, self.drawn, self.remembered, self.draw = servers, drawn, remembered, draw
        self.memory: list[int] = []

    def server(self, lengths: list[int]) -> int:
        candidates = list({*self.draw.sample(range(self.servers), self.drawn), *self.memory})
        self.draw.shuffle(candidates)
        chosen = min(candidates, key=lengths.__getitem__)
        candidates.sort(key=lambda one: lengths[one] + (one == chosen))
        self.memory = candidates[: self.remembered]
        return chosen

    def idle(self, server: int) -> None:
        pass


class IdleQueue:
    """Policy of JIQ. With `stays`, an idle server that receives a random request stays in its I-queue."""

    def __init__(self, servers: int, dispatchers: int, drawn: int, draw: random.Random, stays: bool = False):
        self.servers, self.drawn, self.draw, self.stays = servers, drawn, draw, stays
        self.queues = [deque(range(first, servers, dispatchers)) for first in range(dispatchers)]
        self.listed = {one: queue for queue in self.queues for one in queue}

    def server(self, lengths: list[int]) -> int:
        queue = self.draw.choice(self.queues)
        chosen = queue[0] if queue else self.draw.randrange(self.servers)
        if chosen in self.listed and (queue or not self.stays):
            self.listed.pop(chosen).remove(chosen)
        return chosen

    def idle(self, server: int) -> None:
        if server not in self.listed:
            self.listed[server] = min(self.draw.sample(self.queues, self.drawn), key=len)
            self.listed[server].append(server)


def mean_response(policy, servers: int, load: float, requests: int, warm_up: int, draw: random.Random) -> float:
    """Mean response of `requests` requests after the first `warm_up`. Every server is first come, first served."""
    queues = [deque[tuple[float, int]]() for _ in range(servers)]
    lengths, ends, total, left, number = [0] * servers, [], 0.0, requests, 0
    arrival = draw.expovariate(servers * load)
    while left:
        if ends and ends[0][0] < arrival:
            now, server = heapq.heappop(ends)
            entered, which = queues[server].popleft()
            lengths[server] -= 1
            if warm_up <= which < warm_up + requests:
                total, left = total + now - entered, left - 1
            if not lengths[server]:
                policy.idle(server)
        else:
            now, server = arrival, policy.server(lengths)
            queues[server].append((now, number))
            lengths[server] += 1
            arrival, number = now + draw.expovariate(servers * load), number + 1
            if lengths[server] > 1:
                continue
        if lengths[server]:
            heapq.heappush(ends, (now + draw.expovariate(1.0), server))
    return total / requests


def simulated(policy, servers: int, load: float, *numbers: int, runs: int, requests: int) -> tuple[float, float]:
    """Mean response and its standard error. numbers: arguments of the policy, between `servers` and `draw`."""
    found = []
    for run in range(runs):
        draw = random.Random(run)
        one = policy(servers, *numbers, draw)
        found.append(mean_response(one, servers, load, requests, requests // 4, draw))
    return fmean(found), stdev(found) / runs**0.5


if __name__ == "__main__":
    for rate in (0.5, 0.7):
        for many in ((1, 1), (1, 2), (2, 1)):
            print("memory", many, rate, exact_memory(3, *many, rate, 18), end=" ")
            print(*simulated(Memory, 3, rate, *many, runs=32, requests=20_000))
        for many in ((1, 1), (2, 1), (3, 1), (3, 2)):
            print("JIQ", many, rate, exact_idle_queue(3, *many, rate, 26), end=" ")
            print(*simulated(IdleQueue, 3, rate, *many, runs=32, requests=20_000))
