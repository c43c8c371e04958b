"""An independent program for SSDs: units with a queue each, simulated event by event without JAX."""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Kind(NamedTuple):
    """Requests of one kind.

    Phases are pairs of a number of units and the seconds of each; the response waits for all phases. Background work is a
    pair too, and begins when the phases have ended. `latency` is the response time on an idle drive.
    """

    share: float
    latency: float
    phases: Sequence[tuple[int, float]]
    background: tuple[int, float] = (0, 0.0)


def simulated(kinds: Sequence[Kind], rate: float, units: int, requests: int, seed: int) -> list[np.ndarray]:
    """Return the response times of each kind. The units of a phase are different ones, at random."""
    random = np.random.default_rng(seed)
    chosen = random.choice(len(kinds), requests, p=[one.share for one in kinds])
    arrivals = np.cumsum(random.exponential(1 / rate, requests))
    free = [0.0] * units
    # (time, order, request, phase, waited)
    events = [(time, number, number, 0, 0.0) for number, time in enumerate(arrivals.tolist())]
    heapq.heapify(events)
    order = requests
    found: list[list[float]] = [[] for _ in kinds]
    while events:
        time, _, request, phase, waited = heapq.heappop(events)
        one = kinds[chosen[request]]
        last = phase == len(one.phases)
        count, seconds = one.background if last else one.phases[phase]
        wait = 0.0
        for unit in (
            random.choice(units, count, replace=False).tolist() if count > 1 else [int(random.integers(units))] * count
        ):
            start = max(time, free[unit])
            wait, free[unit] = max(wait, start - time), start + seconds
        if not last:
            order += 1
            heapq.heappush(events, (time + wait + seconds, order, request, phase + 1, waited + wait))
        elif request > requests // 10:
            found[chosen[request]].append(waited + one.latency)
    return [np.array(each) for each in found]


def closed_loop(latency: float, busy: float, units: int, outstanding: int, requests: int, seed: int):
    """Return the completion times and the response times of a constant number of outstanding one-page requests.

    A request is at a unit for an exponential time with the mean `busy`, and outside of it for `latency` - `busy`.
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
        done = max(time, free[unit]) + random.exponential(busy)
        free[unit] = done
        ends.append(done + latency - busy)
        times.append(done + latency - busy - time)
        heapq.heappush(events, (ends[-1], number))
    return np.array(ends), np.array(times)
