"""How many sessions of one shape fit, spread evenly over all agents: the admission test of the last one alone."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, takes
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.demand import Demand, demand, shapes_for
from storagekit.mediator.examine import AdmissionState, Examined, examine, fits
from storagekit.mediator.mediator import UNITS, units_of
from storagekit.mediator.policy import StripeShapes
from storagekit.mediator.request import Request

# more are not told apart
MOST_EVENLY = 100_000


@dataclass(frozen=True)
class Even:
    """Sessions alike, spread evenly over the agents of a cluster, for every shape that they could have, `[shape]`.

    shapes: agents, data blocks and unit of each; sessions: how many fit, at most `MOST_EVENLY`; disk, network: what one more
    would need at the fullest disk and of the network, over what is allowed: the one above 1 binds. busy: the share of its
    time that a disk works on average when so many run, positioning by its mean.
    """

    shapes: StripeShapes
    sessions: NDArray
    disk: NDArray
    network: NDArray
    busy: NDArray

    def best(self, chosen: NDArray | None = None) -> int:
        """The shape with most sessions of all, or of those `chosen`, `[shape]`; of equals the one with fewest agents, then
        with the largest unit. Raises InputError where none is chosen."""
        among = np.flatnonzero(np.ones(self.shapes.count, bool) if chosen is None else chosen)
        if not among.size:
            raise InputError("shapes: none to choose from; give more buffer, or more agents")
        order = np.lexsort((-self.shapes.unit[among], self.shapes.agents[among], -self.sessions[among]))
        return int(among[order[0]])


@takes(cluster=a(Cluster), request=a(Request))
def evenly(cluster: Cluster, request: Request, units: Iterable[int] = UNITS) -> Even:
    """Sessions like `request`, each of another client, that pass the admission test spread evenly, for each shape.

    units: block sizes to be tried, bytes. Where agents are alike, `fill` comes to as many where it keeps to one shape; where
    they are not, the slowest decides here. Raises InputError for units that are none, and where not one shape has room in the
    client's buffer.
    """
    shapes = shapes_for(cluster, request, units_of(units))
    if not shapes.count:
        raise InputError(
            f"buffer {request.buffer} bytes, agents {cluster.agents}: no stripe has room in the one on the other; give more"
        )
    # what a disk's like has to bear it has to bear
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
    """Whether a shape passes at every agent, `[shape]`."""
    return np.asarray(fits(np.maximum(found.shared, found.agent.max(axis=1))))


def among_others(tail: Tail, asked: Demand, sessions: NDArray, agents: int) -> AdmissionState:
    """What the last of so many `sessions` of each shape meets, `[shape]`, spread evenly over `agents` agents, each session of
    a client of its own: sessions alike wait alike, so that it is the test of each. Every field is `[shape, 1]`."""
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
