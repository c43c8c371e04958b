"""Simulate sessions together, block by block, and measure whether their stripes meet their deadlines.

The blocks pass through stations that serve in order of arrival: disks, processors, rings or links.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError, SimulationError
from storagekit.core.validation import Seed, validate
from storagekit.mediator.cluster import Cluster, require_agents
from storagekit.mediator.transfer_plan import TransferPlan

# Largest lateness that rounding causes, seconds.
_ROUNDING = 1e-9
# Largest number of passes over the stations.
_MOST_PASSES = 10_000


@dataclass(frozen=True)
class SimulatedTransfers:
    """Lateness of the stripes of simulated sessions.

    Parameters
    ----------
    in_time : ndarray, shape [session]
        Share of the stripes that meet their deadline. The deadline of stripe n is start + (n + 2) tau.
    lateness : ndarray, shape [session]
        Largest lateness of a stripe, seconds. The lateness is the completion time minus the deadline; it is negative for
        an early stripe.
    met : ndarray of bool, shape [session]
        Whether all stripes met their deadlines.
    stripes : tuple of ndarray
        For each session, the lateness of every stripe, seconds, `[stripe]`.
    """

    in_time: NDArray
    lateness: NDArray
    met: NDArray
    stripes: tuple[NDArray, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON, without the lateness of each stripe."""
        return {"in_time": self.in_time.tolist(), "lateness_s": self.lateness.tolist(), "met": self.met.tolist()}

    def __str__(self) -> str:
        worst = int(self.lateness.argmax())
        return (
            f"{int(self.met.sum())} of {self.met.size} sessions met all deadlines; {self.in_time.mean():.4%} of the "
            f"stripes were on time; the largest lateness was {self.lateness[worst]:.6g} s, in session {worst}"
        )


@validate
def simulate(cluster: Cluster, plans: Sequence[TransferPlan], seed: Seed = 0) -> SimulatedTransfers:
    """Simulate the path of every block of the plans through its disk and the network.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    plans : sequence of TransferPlan
        Plans of admitted sessions, with or without failed agents.
    seed : int
        Seed of the random numbers; 0 by default.

    Returns
    -------
    SimulatedTransfers
        Lateness of the stripes.

    Raises
    ------
    InputError
        If there is no plan, if a plan has no transfers, if the cluster lacks an agent, or if the seed is not a whole
        number from 0.

    Notes
    -----
    Each seek time and rotational latency is random, uniform from 0 to twice its mean. Processor and network times are
    deterministic. Every resource serves exactly in order of arrival. A block that is late at its first stage arrives late
    at its second stage. Blocks that arrive simultaneously are served in the order of `plans`.

    References
    ----------
    swift, section 5.1.
    """
    if not plans:
        raise InputError("no plans: give at least one plan")
    found = [plan.transfers for plan in plans]
    counts = [one.count for one in found]
    if not all(counts):
        raise InputError(f"plan {counts.index(0)}: no transfers are left, because its agents failed; omit this plan")
    agent, length, check = (
        np.concatenate([getattr(one.blocks, name) for one in found]) for name in ("agent", "length", "check")
    )
    require_agents(cluster, agent)
    disk, sent = (np.concatenate([getattr(one, name) for one in found]) for name in ("disk", "sent"))
    names = list(dict.fromkeys(plan.client for plan in plans))
    client = np.repeat([names.index(plan.client) for plan in plans], counts)
    write = np.repeat([plan.write for plan in plans], counts)
    finish = flow(_stations(cluster, agent, client, length, check, seed), write, disk, sent)
    stripes = []
    for plan, one, ends in zip(plans, found, np.split(finish, np.cumsum(counts)[:-1]), strict=True):
        stripe = one.blocks.stripe
        lateness = ends - (plan.start + (stripe + 2) * plan.period)
        # The blocks of a stripe are adjacent, and the lateness of the stripe is the lateness of its latest block.
        stripes.append(np.maximum.reduceat(lateness, np.flatnonzero(np.diff(stripe, prepend=-1))))
    latest = np.array([one.max() for one in stripes])
    in_time = np.array([np.mean(one <= _ROUNDING) for one in stripes])
    return SimulatedTransfers(in_time, latest, latest <= _ROUNDING, tuple(stripes))


@dataclass(frozen=True)
class Stations:
    """Resources of one kind that serve in order of arrival.

    Parameters
    ----------
    resource : ndarray of int, shape [block]
        Index of the resource that serves each block.
    service : ndarray, shape [block]
        Service time of each block, seconds.
    servers : int
        Number of servers of each resource; 1 by default.
    """

    resource: NDArray
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
        order = np.lexsort((arrival, self.resource))
        resource, time, service = self.resource[order], arrival[order], self.service[order]
        edges = [0, *(np.flatnonzero(np.diff(resource)) + 1).tolist(), resource.size]
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


def _stations(
    cluster: Cluster, agent: NDArray, client: NDArray, length: NDArray, check: NDArray, seed: int
) -> list[Stations]:
    """Return the stations that a read passes, in order. A write passes them from the last to the first."""
    draw = np.random.Generator(np.random.Philox(key=seed))
    positioning = (2 * draw.random((2, agent.size)) * cluster.positioning[:, agent]).sum(axis=0)
    network, packet = cluster.network, cluster.network.seconds(length)
    checking = np.where(check > 0, cluster.client.check_seconds(check), 0.0)
    if network.switched:
        carried = [Stations(agent, packet, network.rings), Stations(client, packet, network.rings)]
    else:
        carried = [Stations(np.zeros_like(agent), packet, network.rings)]
    return [
        Stations(agent, positioning + length / cluster.rates[agent]),
        Stations(agent, cluster.agent.seconds(length)),
        *carried,
        Stations(client, cluster.client.seconds(length) + checking),
    ]
