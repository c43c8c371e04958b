"""The stripe shapes that are possible for a session, and the time that the session needs at each resource."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.forkjoin.parts import Host, Network
from storagekit.core.arrays import Figures
from storagekit.core.errors import InputError
from storagekit.core.validation import unchecked
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_layout import StripeLayout

# Times are rounded up to whole multiples of this value, seconds. Sums of these multiples are exact up to a day. They
# therefore do not depend on the order of the sessions.
_QUANTUM = 2.0**-36


@dataclass(frozen=True)
class StripeShapes:
    """Stripe shapes of a session, and the time that the session needs at each resource in one period, seconds.

    A stripe shape is a layout without the choice of agents. In each period the session transfers one block at each of
    its agents. Parity blocks are included.

    Parameters
    ----------
    agents : ndarray of int, shape [shape]
        Number of agents.
    data : ndarray of int, shape [shape]
        Number of data blocks in a stripe.
    unit : ndarray of int, shape [shape]
        Size of a block, bytes.
    period : ndarray, shape [shape]
        The period tau, seconds.
    processor, link : ndarray, shape [shape]
        Time of a block at an agent's processor and at its link. The link time is 0 on a ring.
    ring : ndarray, shape [shape]
        Time of a stripe on the rings, divided by the number of rings; 0 on a switch.
    client, client_link : ndarray, shape [shape]
        Time of a stripe at the client's processor, with the computation of check data, and at the client's link. The
        link time is 0 on a ring.
    pooled : ndarray, shape [shape]
        Additional time of one packet of the session. Several rings or links divide the total load, but not the time of
        a single packet, which uses only one of them.
    budget : ndarray, shape [shape]
        Largest allowed probability that a block is late.
    """

    agents: NDArray
    data: NDArray
    unit: NDArray
    period: NDArray
    processor: NDArray
    link: NDArray
    ring: NDArray
    client: NDArray
    client_link: NDArray
    pooled: NDArray
    budget: NDArray

    @property
    def path(self) -> NDArray:
        """Return the time that a block takes at the agent's processor and link together, seconds, `[shape]`."""
        return self.processor + self.link

    @property
    def reception(self) -> NDArray:
        """Return the time that a stripe takes at the client's processor and link together, seconds, `[shape]`."""
        return self.client + self.client_link

    @property
    def count(self) -> int:
        """Return the number of stripe shapes."""
        return self.unit.size

    def where(self, chosen: NDArray | slice) -> "StripeShapes":
        """Return the stripe shapes that a slice, an index array or a mask selects."""
        return StripeShapes(**{name: column[chosen] for name, column in vars(self).items()})

    def joined(self, other: "StripeShapes") -> "StripeShapes":
        """Return the stripe shapes of both."""
        columns = {name: np.concatenate([column, vars(other)[name]]) for name, column in vars(self).items()}
        return StripeShapes(**columns)


# These functions run for every proposal, and their arguments are already validated.
_carried, _handled, _checked = unchecked(Network.seconds), unchecked(Host.seconds), unchecked(Host.check_seconds)


def stripe_shapes(cluster: Cluster, request: Request, agents: NDArray, data: NDArray, unit: NDArray) -> StripeShapes:
    """Return the stripe shapes with the given numbers of agents and data blocks and the given block sizes.

    Notes
    -----
    A write sends every block and computes check data. A read sends the data blocks. If an agent has failed, a read sends
    a parity block instead of the lost block, and the client computes the lost data. Processor time for check data is
    therefore reserved for reads and writes of every stripe shape with parity.
    """
    network, stripe_bytes = cluster.network, data * unit
    blocks = agents if request.write else data
    packet = _carried(network, unit)
    stripe = blocks * packet / network.rings
    checking = np.where(agents > data, _checked(cluster.client, stripe_bytes), 0.0)
    none = np.zeros(unit.size)
    return StripeShapes(
        agents,
        data,
        unit,
        period=stripe_bytes / request.rate,
        processor=rounded_up(_handled(cluster.agent, unit)),
        link=rounded_up(packet / network.rings) if network.switched else none,
        ring=none if network.switched else rounded_up(stripe),
        client=rounded_up(blocks * _handled(cluster.client, unit) + checking),
        client_link=rounded_up(stripe) if network.switched else none,
        pooled=rounded_up((1 + network.switched) * (1 - 1 / network.rings) * packet),
        budget=(1 - request.confidence) / (-(-request.size // stripe_bytes) * agents),
    )


def shape_of(cluster: Cluster, request: Request, layout: StripeLayout) -> StripeShapes:
    """Return the stripe shape of a given layout, as a `StripeShapes` with one entry."""
    agents, data, unit = np.array([[len(layout.agents)], [layout.data], [layout.unit]])
    return stripe_shapes(cluster, request, agents, data, unit)


def shapes_for(cluster: Cluster, request: Request, units: NDArray) -> StripeShapes:
    """Return the stripe shapes that are possible for a request.

    A stripe shape is possible if a stripe fits into the client's buffer, and if the object is large enough to put data
    into every data block of a stripe.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    request : Request
        The request.
    units : ndarray of int, shape [unit]
        Block sizes in ascending order, bytes.

    Raises
    ------
    InputError
        If no stripe shape is possible, because the buffer is too small or because the group needs more agents.
    """
    if request.buffer < units[0]:
        raise InputError(
            f"buffer {request.buffer} bytes: the smallest unit has {units[0]} bytes; give at least this buffer"
        )
    if request.group and cluster.agents < 2:
        raise InputError("agents 1: a group with parity needs 2 agents; give more agents, or no group")
    data, unit = (column.ravel() for column in np.meshgrid(np.arange(1, cluster.agents + 1), units, indexing="ij"))
    agents = data + (-(-data // request.group) if request.group else 0)
    possible = (agents <= cluster.agents) & (data * unit <= request.buffer) & ((data - 1) * unit < request.size)
    return stripe_shapes(cluster, request, agents[possible], data[possible], unit[possible])


def rounded_up(seconds: ArrayLike) -> Figures:
    """Return times in seconds, rounded up to a whole multiple of 2^-36 s (15 ps), so that sums of them are exact."""
    return np.ceil(np.asarray(seconds, float) / _QUANTUM) * _QUANTUM
