"""The number of identical sessions that fit if they are spread evenly over all agents, for each stripe shape.

The admission test of the last session determines this number.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.core.errors import InputError
from storagekit.core.validation import validate
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.demand import Demand, demand, shapes_for
from storagekit.mediator.examine import AdmissionState, Examined, examine, fits
from storagekit.mediator.mediator import UNITS, units_of
from storagekit.mediator.policy import StripeShapes
from storagekit.mediator.request import Request

# The search stops at this number of sessions.
MOST_EVENLY = 100_000


@dataclass(frozen=True)
class Even:
    """Number of identical sessions that fit if they are spread evenly over the agents, for each possible stripe shape.

    Parameters
    ----------
    shapes : StripeShapes
        The possible stripe shapes, which are the dimension `shape` of all arrays.
    sessions : ndarray of int, shape [shape]
        Number of sessions that fit, at most `MOST_EVENLY`.
    disk, network : ndarray, shape [shape]
        Ratios of needed time to allowed time if one more session is added: at the most loaded disk (`disk`) and on the
        network (`network`). A ratio above 1 identifies the binding constraint.
    busy : ndarray, shape [shape]
        Mean utilization of the busiest disk with `sessions` sessions, computed with the mean positioning time of that
        disk.
    """

    shapes: StripeShapes
    sessions: NDArray
    disk: NDArray
    network: NDArray
    busy: NDArray

    def best(self, chosen: NDArray | None = None) -> int:
        """Return the index of the stripe shape with the most sessions.

        Among several stripe shapes with the most sessions, those with the fewest agents are preferred, and among these
        the one with the largest unit.

        Parameters
        ----------
        chosen : ndarray of bool, shape [shape], optional
            True for each stripe shape to consider; all by default.

        Raises
        ------
        InputError
            If there is no stripe shape to consider.
        """
        among = np.flatnonzero(np.ones(self.shapes.count, bool) if chosen is None else chosen)
        if not among.size:
            raise InputError("no stripe shapes to select from; give a larger buffer, or more agents")
        order = np.lexsort((-self.shapes.unit[among], self.shapes.agents[among], -self.sessions[among]))
        return int(among[order[0]])


@validate
def evenly(cluster: Cluster, request: Request, units: Iterable[int] = UNITS) -> Even:
    """Return the number of sessions like `request` that fit if they are spread evenly over the agents.

    The result has a number for each stripe shape.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    request : Request
        The request of each session. Each session belongs to a different client.
    units : iterable of int
        Block sizes to try, bytes; `UNITS` by default.

    Returns
    -------
    Even
        Number of sessions, load of the disks and load of the network, for each stripe shape.

    Raises
    ------
    InputError
        If the units are invalid, or if no stripe fits into the client's buffer.

    Notes
    -----
    If all agents have the same disk and `fill` uses a single stripe shape, `fill` finds the same number. If the disks
    differ, the slowest disk determines the result of this function.
    """
    shapes = shapes_for(cluster, request, units_of(units))
    if not shapes.count:
        raise InputError(
            f"buffer {request.buffer} bytes, agents {cluster.agents}: no stripe over these agents fits into the "
            "buffer; give a larger buffer or more agents"
        )
    # Identical disks have the same load here, so only one of them is tested.
    kinds = Cluster(tuple(dict.fromkeys(cluster.disks)), cluster.agent, cluster.client, cluster.network)
    asked, tail = demand(kinds, request, shapes), Tail.of(kinds.disks)

    def passed(sessions: NDArray) -> Examined:
        return examine(among_others(tail, asked, sessions, cluster.agents), asked)

    low, high = np.zeros(shapes.count, int), np.full(shapes.count, MOST_EVENLY)
    while np.any(low < high):
        middle = (low + high + 1) // 2
        there = met(passed(middle))
        low, high = np.where(there, middle, low), np.where(there, high, middle - 1)
    over = passed(low + 1)
    network = np.maximum(over.network.max(axis=1), over.shared)
    blocks = low * shapes.agents / cluster.agents
    positioning = kinds.positioning.sum(axis=0)
    busy = (blocks / asked.period)[:, None] * (positioning + asked.transfer)
    return Even(shapes, low, over.disk.max(axis=1), network, busy.max(axis=1))


def met(found: Examined) -> NDArray:
    """Return whether each stripe shape passes the admission test at every agent, `[shape]`."""
    return np.asarray(fits(np.maximum(found.shared, found.agent.max(axis=1))))


def among_others(tail: Tail, asked: Demand, sessions: NDArray, agents: int) -> AdmissionState:
    """Return the existing reservations against which the last of several identical sessions is tested.

    The test of the last session is valid for all these sessions, because identical sessions have equal waiting times.
    Each session belongs to a different client. The arrays of the result have the dimensions `[shape, 1]`, with two
    exceptions: `transfer` is `[shape, agent]`, and `ring` is `[shape]`. `reception` is the number 0, because the client
    of the last session has no other session.

    Parameters
    ----------
    tail : Tail
        The bound on the positioning time at each disk.
    asked : Demand
        Demand of one session of each stripe shape.
    sessions : ndarray of int, shape [shape]
        Number of sessions, spread evenly over the agents.
    agents : int
        Number of agents.
    """
    others = (-(-sessions * asked.shapes.agents // agents) - 1)[:, None]
    period, path = asked.period[:, None], asked.path[:, None]
    there = others > 0
    slack = period - (asked.pooled + asked.reception)[:, None]
    return AdmissionState(
        tail,
        count=others.astype(float),
        transfer=others * asked.transfer,
        path=others * path,
        period=np.where(there, period, np.inf),
        budget=np.where(there, asked.budget[:, None], np.inf),
        other_slack=np.where(there, slack, np.inf),
        other_term=np.where(there, period, 1.0),
        own_slack=np.full_like(period, np.inf),
        own_term=np.ones_like(period),
        ring=(sessions - 1) * asked.ring,
        reception=0.0,
    )
