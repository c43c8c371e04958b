"""The storage mediator: looks for a layout that fits what is free, reserves it, and hands out the transfer plan."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.core.checks import require_kind
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, several, takes
from storagekit.core.units import KB
from storagekit.mediator.answer import Admitted, Proposal, Rejected
from storagekit.mediator.demand import Demand, demand, shape_of, shapes_for
from storagekit.mediator.examine import AdmissionState, Examined, examine, fits
from storagekit.mediator.ledger import Ledger
from storagekit.mediator.policy import POLICY, Economical, Policy
from storagekit.mediator.refusal import binding
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_layout import UNIT, StripeLayout

UNITS = tuple(4 * KB << power for power in range(9))
"""4 KB to 1 MB."""

# shapes examined together at first; then twice as many each time: an early one mostly fits, and where none does all are asked
_CHUNK = 12
# halvings of the rates between which the highest lies: to a millionth
_HALVINGS = 40


def units_of(units: Iterable[int]) -> NDArray:
    """Block sizes in bytes, each once, the smallest first. Raises InputError for none, or one that is no size of a block."""
    found = np.array(sorted(set(several(UNIT, of="block sizes")("unit", units))))
    if not found.size:
        raise InputError("units: none given; give at least 1, in bytes")
    return found


class Mediator:
    """One of the mediators of a cluster: several may share a ledger (swift, section 6).

    policy: which layout is tried first; units: block sizes in bytes that it may choose. Raises InputError for no unit, or
    one that is not a whole number of bytes.
    """

    @takes(ledger=a(Ledger, "one as Ledger(cluster)"), policy=POLICY)
    def __init__(self, ledger: Ledger, policy: Policy | None = None, units: Iterable[int] = UNITS) -> None:
        self.ledger = ledger
        self.policy = Economical() if policy is None else policy
        self.units = units_of(units)

    def propose(self, request: Request) -> Proposal | Rejected:
        """A layout that fits the ledger as it is, or the constraint of the one that came nearest.

        It refuses only if no set of agents and no unit fits; a layout that is given is taken or refused as it is. Raises
        InputError where the cluster can never serve the request: no room in the buffer for the smallest unit, fewer agents
        than a group needs, agents it does not have.
        """
        require_kind("request", request, Request, "one as Request(client, rate, size)")
        version = self.ledger.version
        state = self.ledger.state(request.client)
        if request.layout is not None:
            return self._given(request, request.layout, state, version)
        shapes = shapes_for(self.ledger.cluster, request, self.units)
        if not shapes.count:
            raise InputError(self._impossible(request))
        shapes = shapes.where(self.policy.order(shapes))
        nearest: tuple[float, Demand, Examined, int] | None = None
        first = 0
        while first < shapes.count:
            some = shapes.where(np.arange(first, min(2 * first + _CHUNK, shapes.count)))
            asked = demand(self.ledger.cluster, request, some)
            first = 2 * first + _CHUNK
            found = examine(state, asked)
            near = found.nearest(some.agents)
            best = int(fits(near).argmax())
            if fits(near[best]):
                return Proposal(request, self._layout(request, asked, found, best), version)
            best = int(near.argmin())
            if nearest is None or near[best] < nearest[0]:
                nearest = float(near[best]), asked, found, best
        assert nearest is not None
        return Rejected(request, binding(request, state, *nearest[1:]))

    def request(self, request: Request) -> Admitted | Rejected:
        """Proposes and commits, again if another mediator was quicker; refused where the ledger is the same and the commit
        says no. Errors as in `propose`."""
        while True:
            proposal = self.propose(request)
            if isinstance(proposal, Rejected):
                return proposal
            session = self.ledger.commit(proposal)
            if not isinstance(session, Binding):
                return Admitted(session, proposal, self.ledger.utilization())
            if self.ledger.version == proposal.version:
                return Rejected(request, session)

    def highest_rate(self, request: Request) -> float:
        """The highest rate, bytes a second, at which the request would be admitted now, 0 if at none.

        Whether it fits only gets harder with the rate, so halving finds it, to a millionth. Errors as in `propose`.
        """
        require_kind("request", request, Request, "one as Request(client, rate, size)")
        network = self.ledger.cluster.network
        low, high = 0.0, float(self.ledger.cluster.rates.sum() + network.rate * network.rings)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2 if low else high / 2
            if isinstance(self.propose(replace(request, rate=middle)), Proposal):
                low = middle
            else:
                high = middle
            if high - low <= 1e-6 * high:
                break
        return low

    def _given(
        self, request: Request, layout: StripeLayout, state: AdmissionState, version: int
    ) -> Proposal | Rejected:
        """The layout of an object that exists."""
        agents = np.array(layout.agents)
        if agents.max() >= self.ledger.cluster.agents:
            raise InputError(
                f"agent {agents.max()}: the layout names it, the cluster has agents 0 to {self.ledger.cluster.agents - 1}"
            )
        asked = demand(self.ledger.cluster, request, shape_of(layout))
        found = examine(state, asked)
        if fits(max(found.shared[0], found.agent[0, agents].max())):
            return Proposal(request, layout, version)
        return Rejected(request, binding(request, state, asked, found, 0, agents))

    def _layout(self, request: Request, asked: Demand, found: Examined, shape: int) -> StripeLayout:
        count, unit = int(asked.shapes.agents[shape]), int(asked.shapes.unit[shape])
        fitting = np.flatnonzero(fits(found.agent[shape]))
        chosen: NDArray = self.policy.agents(fitting, self.ledger.disk_shares[fitting])[:count]
        return StripeLayout.over(request.size, unit, tuple(np.sort(chosen).tolist()), request.group)

    def _impossible(self, request: Request) -> str:
        """Why there is not even a shape."""
        if request.buffer < self.units[0]:
            return f"buffer {request.buffer} bytes: the smallest unit has {self.units[0]}; give at least that"
        return f"agents {self.ledger.cluster.agents}: a group with parity needs 2; give more, or no group"
