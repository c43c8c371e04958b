"""Blocks through stations that serve in order of arrival."""

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import SimulationError

_MOST_PASSES = 10_000


@dataclass(frozen=True)
class Stations:
    """Resources of one kind: at which of them each block is served, for how many seconds, `[block]`, by how many servers."""

    place: NDArray
    service: NDArray
    servers: int = 1

    def finish(self, arrival: NDArray) -> NDArray:
        """When each block has been served, in order of arrival, ties in order of the array."""
        order = np.lexsort((arrival, self.place))
        place, time, service = self.place[order], arrival[order], self.service[order]
        edges = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), place.size]
        served = np.empty(arrival.size)
        serve = _one if self.servers == 1 else self._several
        for first, last in pairwise(edges):
            served[first:last] = serve(time[first:last], service[first:last])
        finish = np.empty(arrival.size)
        finish[order] = served
        return finish

    def _several(self, arrival: NDArray, service: NDArray) -> NDArray:
        """The server that is free first takes the next."""
        free = [-np.inf] * self.servers
        finish = np.empty(arrival.size)
        for row, (time, seconds) in enumerate(zip(arrival.tolist(), service.tolist(), strict=True)):
            finish[row] = max(time, free[0]) + seconds
            heapq.heapreplace(free, finish[row])
        return finish


def _one(arrival: NDArray, service: NDArray) -> NDArray:
    """Lindley's recursion F_k = max(A_k, F_(k-1)) + S_k, unrolled:

    F_k = C_k + max over j <= k of A_j - C_(j-1),    C_k = S_1 + .. + S_k
    """
    total = np.cumsum(service)
    return total + np.maximum.accumulate(arrival - (total - service))


def flow(stations: list[Stations], write: NDArray, disk: NDArray, sent: NDArray) -> NDArray:
    """When each block has passed every station: a read from the first to the last, a write from the last to the first.

    disk: when a block may be at the first station, that of the disks, at the earliest; sent: at the second for a read, at
    the last for a write.

    Reads and writes meet at stations in opposite order, so arrivals at one depend on those at all others: they are worked
    out in passes until nothing changes. A finish depends on nothing that comes after it, and so what is right up to a
    moment stays right; each pass brings that moment forward, and what none changes is exact. Reads alone take one pass.
    """
    count = len(stations)
    floor = np.full((count, write.size), -np.inf)
    floor[0] = disk
    floor[1] = np.where(write, -np.inf, sent)
    floor[-1] = np.where(write, sent, floor[-1])
    arrival = np.full_like(floor, np.nan)
    finish = _alone(stations, write, floor)
    for _ in range(_MOST_PASSES):
        changed = False
        for step in [*range(count), *range(count - 2, 0, -1)]:
            reached = np.maximum(floor[step], _before(finish, write, step))
            if not np.array_equal(reached, arrival[step]):
                arrival[step], finish[step] = reached, stations[step].finish(reached)
                changed = True
        if not changed:
            return np.where(write, finish[0], finish[-1])
    raise SimulationError(f"blocks still move after {_MOST_PASSES} passes; rehearse fewer sessions together")


def _before(finish: NDArray, write: NDArray, step: int) -> NDArray:
    """When each block left the station before, which for a write is the next one."""
    none = np.full(write.size, -np.inf)
    read = finish[step - 1] if step else none
    written = finish[step + 1] if step + 1 < len(finish) else none
    return np.where(write, written, read)


def _alone(stations: list[Stations], write: NDArray, floor: NDArray) -> NDArray:
    """Finishes if no block waited for another: none can be earlier."""
    finish = np.zeros_like(floor)
    for chosen, steps in ((~write, range(len(stations))), (write, reversed(range(len(stations))))):
        time = np.full(write.size, -np.inf)
        for step in steps:
            time = np.maximum(time, floor[step]) + stations[step].service
            finish[step] = np.where(chosen, time, finish[step])
    return finish
