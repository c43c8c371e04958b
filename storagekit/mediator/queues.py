"""Simulate blocks that pass through stations in order of arrival."""

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import SimulationError

_MOST_PASSES = 10_000


@dataclass(frozen=True)
class Stations:
    """Resources of one kind that serve in order of arrival.

    Parameters
    ----------
    place : ndarray of int, shape [block]
        Index of the resource that serves each block.
    service : ndarray, shape [block]
        Service time of each block, seconds.
    servers : int
        Number of servers of each resource; 1 by default.
    """

    place: NDArray
    service: NDArray
    servers: int = 1

    def finish(self, arrival: NDArray) -> NDArray:
        """Return the time at which the service of each block ends, seconds, `[block]`.

        Blocks are served in order of arrival. Blocks that arrive simultaneously are served in the order of the array.

        Parameters
        ----------
        arrival : ndarray, shape [block]
            Arrival time of each block, seconds.
        """
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
        """Return the time at which each service ends, in seconds.

        The server that becomes free first takes the next block.
        """
        free = [-np.inf] * self.servers
        finish = np.empty(arrival.size)
        for row, (time, seconds) in enumerate(zip(arrival.tolist(), service.tolist(), strict=True)):
            finish[row] = max(time, free[0]) + seconds
            heapq.heapreplace(free, finish[row])
        return finish


def _one(arrival: NDArray, service: NDArray) -> NDArray:
    """Return the time at which each service at a single server ends, in seconds.

    Lindley's recursion F_k = max(A_k, F_(k-1)) + S_k, unrolled:

    F_k = C_k + max over j <= k of A_j - C_(j-1),    C_k = S_1 + .. + S_k
    """
    total = np.cumsum(service)
    return total + np.maximum.accumulate(arrival - (total - service))


def flow(stations: list[Stations], write: NDArray, disk: NDArray, sent: NDArray) -> NDArray:
    """Return the time at which each block leaves its last station, seconds, `[block]`.

    A read passes the stations from the first to the last, a write from the last to the first.

    Parameters
    ----------
    stations : list of Stations
        The stations.
    write : ndarray of bool, shape [block]
        True for a block that is written, False for a block that is read.
    disk : ndarray, shape [block]
        Earliest time at which each block can arrive at the first station (the disk), seconds.
    sent : ndarray, shape [block]
        Earliest time at which a read can arrive at the second station, or a write at the last station, seconds.

    Raises
    ------
    SimulationError
        If the times still change after 10,000 passes.

    Notes
    -----
    Reads and writes pass the stations in opposite order, so arrivals at one station depend on arrivals at all others. The
    times are therefore computed in repeated passes over the stations, until nothing changes. The end of a service does
    not depend on later events, so a time in the result stays correct once all earlier times are correct. Each pass
    extends the correct part of the result. If a pass changes nothing, all times are exact. One pass is enough if all
    blocks are reads.
    """
    count = len(stations)
    floor = np.full((count, write.size), -np.inf)
    floor[0] = disk
    floor[1] = np.where(write, -np.inf, sent)
    floor[-1] = np.where(write, sent, floor[-1])
    arrival = np.full_like(floor, np.nan)
    # Row `step` + 1 is for station `step`. The first and the last row are outside the stations.
    finish = np.full((count + 2, write.size), -np.inf)
    for _ in range(_MOST_PASSES):
        changed = False
        for step in [*range(count), *range(count - 2, 0, -1)]:
            reached = np.maximum(floor[step], np.where(write, finish[step + 2], finish[step]))
            if not np.array_equal(reached, arrival[step]):
                arrival[step], finish[step + 1] = reached, stations[step].finish(reached)
                changed = True
        if not changed:
            return np.where(write, finish[1], finish[-2])
    raise SimulationError(f"the simulation did not converge in {_MOST_PASSES} passes; simulate fewer sessions together")
