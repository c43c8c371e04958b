"""The stripe shapes that are possible for a session, and the time that the session needs at each resource."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.forkjoin.parts import Host, Network
from storagekit.core.arrays import Figures
from storagekit.core.validation import unchecked
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_layout import StripeLayout

# Times are rounded up to whole multiples of this value, seconds. Sums of these multiples are exact up to a day. They
# therefore do not depend on the order of the sessions.
_QUANTUM = 2.0**-36


@dataclass(frozen=True)
class StripeShapes:
    """Stripe shapes. A stripe shape is a layout without the choice of agents.

    Parameters
    ----------
    agents : ndarray of int, shape [shape]
        Number of agents.
    data : ndarray of int, shape [shape]
        Number of data blocks in a stripe.
    unit : ndarray of int, shape [shape]
        Size of a block, bytes.
    """

    agents: NDArray
    data: NDArray
    unit: NDArray

    @property
    def count(self) -> int:
        """Return the number of stripe shapes."""
        return self.unit.size

    def where(self, chosen: NDArray) -> "StripeShapes":
        """Return the stripe shapes that an index array or a mask selects."""
        return StripeShapes(self.agents[chosen], self.data[chosen], self.unit[chosen])


@dataclass(frozen=True)
class Demand:
    """Time that a session needs at each resource in one period, seconds.

    In each period the session transfers one block at each of its agents. Parity blocks are included.

    Parameters
    ----------
    agents, data, unit : ndarray of int, shape [shape]
        The stripe shapes, as in `StripeShapes`.
    period : ndarray, shape [shape]
        The period tau, seconds.
    transfer : ndarray, shape [shape, agent]
        Transfer time of a block at each disk.
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
    transfer: NDArray
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

    def where(self, chosen: NDArray) -> "Demand":
        """Return the demand of the chosen stripe shapes."""
        return Demand(**{name: column[chosen] for name, column in vars(self).items()})

    def joined(self, other: "Demand") -> "Demand":
        """Return the demand of the stripe shapes of both."""
        return Demand(**{name: np.concatenate([column, vars(other)[name]]) for name, column in vars(self).items()})


# These functions run for every proposal, and their arguments are already validated.
_carried, _handled, _checked = unchecked(Network.seconds), unchecked(Host.seconds), unchecked(Host.check_seconds)


def demand(cluster: Cluster, request: Request, shapes: StripeShapes) -> Demand:
    """Return the demand of a request for each stripe shape.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    request : Request
        The request.
    shapes : StripeShapes
        The stripe shapes.

    Returns
    -------
    Demand
        Time at each resource for each stripe shape, seconds.

    Notes
    -----
    A write sends every block and computes check data. A read sends the data blocks. If an agent has failed, a read sends
    a parity block instead of the lost block, and the client computes the lost data. Processor time for check data is
    therefore reserved for reads and writes of every stripe shape with parity.
    """
    network, unit = cluster.network, shapes.unit
    parity = shapes.agents > shapes.data
    blocks = shapes.agents if request.write else shapes.data
    packet = _carried(network, unit)
    stripe = blocks * packet / network.rings
    checking = np.where(parity, _checked(cluster.client, shapes.data * unit), 0.0)
    stripes = -(-request.size // (shapes.data * unit))
    none = np.zeros(shapes.count)
    switched = network.switched
    return Demand(
        **vars(shapes),
        period=shapes.data * unit / request.rate,
        transfer=rounded_up(unit[:, None] / cluster.rates),
        processor=rounded_up(_handled(cluster.agent, unit)),
        link=rounded_up(packet / network.rings) if switched else none,
        ring=none if switched else rounded_up(stripe),
        client=rounded_up(blocks * _handled(cluster.client, unit) + checking),
        client_link=rounded_up(stripe) if switched else none,
        pooled=rounded_up((1 + switched) * (1 - 1 / network.rings) * packet),
        budget=(1 - request.confidence) / (stripes * shapes.agents),
    )


def shape_of(layout: StripeLayout) -> StripeShapes:
    """Return the stripe shape of a given layout, as a `StripeShapes` with one entry."""
    return StripeShapes(np.array([len(layout.agents)]), np.array([layout.data]), np.array([layout.unit]))


def shapes_for(cluster: Cluster, request: Request, units: NDArray) -> StripeShapes:
    """Return the stripe shapes (numbers of agents and of data blocks, and block size) that are possible for a request.

    A stripe shape is possible if a stripe fits into the client's buffer, and if the object is large enough to put data
    into every data block of a stripe.
    """
    data = np.arange(1, cluster.agents + 1)
    agents = data if request.group is None else data + -(-data // request.group)
    data, agents = data[agents <= cluster.agents], agents[agents <= cluster.agents]
    pairs = [column.ravel() for column in np.meshgrid(np.arange(data.size), units, indexing="ij")]
    every = StripeShapes(agents[pairs[0]], data[pairs[0]], pairs[1])
    return every.where((every.data * every.unit <= request.buffer) & ((every.data - 1) * every.unit < request.size))


def rounded_up(seconds: ArrayLike) -> Figures:
    """Return times in seconds, rounded up to a whole multiple of 2^-36 s (15 ps), so that sums of them are exact."""
    return np.ceil(np.asarray(seconds, float) / _QUANTUM) * _QUANTUM
