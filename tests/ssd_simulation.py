"""An independent program for SSDs: units with a queue each, simulated event by event without JAX."""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Kind(NamedTuple):
    """Requests of one kind.

    Phases have a number of drives, a number of units of each, and the seconds of each unit. The response waits for all
    phases. Background work has the same three numbers, and begins when the phases have ended. `latency` is the response
    time on an idle drive.
    """

    share: float
    latency: float
    phases: Sequence[tuple[int, int, float]]
    background: tuple[int, int, float] = (0, 0, 0.0)

    @property
    def work(self) -> float:
        return self.share * sum(drives * units * seconds for drives, units, seconds in (*self.phases, self.background))


def simulated(
    kinds: Sequence[Kind], rate: float, drives: int, units: int, requests: int, seed: int
) -> list[np.ndarray]:
    """Return the response times of each kind. The drives of a phase are different ones at random, and so are their units."""
    random = np.random.default_rng(seed)
    chosen = random.choice(len(kinds), requests, p=[one.share for one in kinds])
    arrivals = np.cumsum(random.exponential(1 / rate, requests))
    free = np.zeros((drives, units))
    # (time, order, request, phase, waited)
    events = [(time, number, number, 0, 0.0) for number, time in enumerate(arrivals.tolist())]
    heapq.heapify(events)
    order = requests
    found: list[list[float]] = [[] for _ in kinds]
    while events:
        time, _, request, phase, waited = heapq.heappop(events)
        one = kinds[chosen[request]]
        last = phase == len(one.phases)
        count, pages, seconds = one.background if last else one.phases[phase]
        wait = 0.0
        for drive in random.permutation(drives)[:count]:
            some = random.permutation(units)[:pages]
            starts = np.maximum(time, free[drive, some])
            free[drive, some] = starts + seconds
            wait = max(wait, float(starts.max()) - time)
        if not last:
            order += 1
            heapq.heappush(events, (time + wait + seconds, order, request, phase + 1, waited + wait))
        elif request > requests // 10:
            found[chosen[request]].append(waited + one.latency)
    return [np.array(each) for each in found]


def closed_loop(
    latency: float, busy: float, units: int, outstanding: int, requests: int, seed: int, constant: bool = False
):
    """Return the completion times and the response times of a constant number of outstanding one-page requests.

    A request is at a unit for an exponential time with the mean `busy`, or for the time `busy` if it is `constant`, and
    outside of it for `latency` - `busy`.
    """
    random = np.random.default_rng(seed)
    free = [0.0] * units
    # a request that begins is at a unit first
    events = [(0.0, number) for number in range(outstanding)]
    heapq.heapify(events)
    ends, times = [], []
    for _ in range(requests):
        time, number = heapq.heappop(events)
        unit = int(random.integers(units))
        done = max(time, free[unit]) + (busy if constant else random.exponential(busy))
        free[unit] = done
        ends.append(done + latency - busy)
        times.append(done + latency - busy - time)
        heapq.heappush(events, (ends[-1], number))
    return np.array(ends), np.array(times)
