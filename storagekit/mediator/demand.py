"""What a session asks of each resource, for each layout it could have."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.forkjoin.parts import Host, Network
from storagekit.core.arrays import Figures
from storagekit.core.kinds import unchecked
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.policy import StripeShapes
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_layout import StripeLayout

# times are whole multiples of this, rounded up: sums of them are exact up to a day, so that what a release takes from a
# ledger is what the session brought, in whatever order sessions come and go
_QUANTUM = 2.0**-36


@dataclass(frozen=True)
class Demand:
    """Seconds of each resource in a period, `[shape]`, `transfer` `[shape, agent]`; one block at each agent, parity included.

    period: tau; transfer: of a block at each disk; processor, link: of an agent, the link on a switch only; ring: of all
    rings together, on a ring only; client, client_link: of the client, check data included; pooled: what several rings or
    links leave undivided, as a packet takes one of them; budget: the probability with which a block may be late.
    """

    shapes: StripeShapes
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
        """Seconds that a block takes of what an agent has for itself, its processor and its link."""
        return self.processor + self.link

    @property
    def reception(self) -> NDArray:
        """Seconds that a stripe takes of what a client has for itself."""
        return self.client + self.client_link

    def where(self, chosen: NDArray) -> "Demand":
        columns = {name: column[chosen] for name, column in vars(self).items() if name != "shapes"}
        return Demand(self.shapes.where(chosen), **columns)


# asked for every proposal, of units that are looked at
_carried, _handled, _checked = unchecked(Network.seconds), unchecked(Host.seconds), unchecked(Host.check_seconds)


def demand(cluster: Cluster, request: Request, shapes: StripeShapes) -> Demand:
    """Of a request, for each shape.

    A write sends every block and computes check data; a read sends the data blocks, with one parity block in the place of
    one that failed, whose data is computed: the processor time for it is reserved where there is parity.
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
        shapes,
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
    """The one shape of a layout that is known."""
    return StripeShapes(np.array([len(layout.agents)]), np.array([layout.data]), np.array([layout.unit]))


def shapes_for(cluster: Cluster, request: Request, units: NDArray) -> StripeShapes:
    """Every shape that the client's buffer has room for and the object fills: no agent without a part of it."""
    data = np.arange(1, cluster.agents + 1)
    agents = data if request.group is None else data + -(-data // request.group)
    data, agents = data[agents <= cluster.agents], agents[agents <= cluster.agents]
    pairs = [column.ravel() for column in np.meshgrid(np.arange(data.size), units, indexing="ij")]
    every = StripeShapes(agents[pairs[0]], data[pairs[0]], pairs[1])
    return every.where((every.data * every.unit <= request.buffer) & ((every.data - 1) * every.unit < request.size))


def rounded_up(seconds: ArrayLike) -> Figures:
    """To the next whole multiple of the ledger's quantum, 15 ps."""
    return np.ceil(np.asarray(seconds, float) / _QUANTUM) * _QUANTUM
