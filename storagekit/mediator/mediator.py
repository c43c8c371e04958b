"""The storage mediator: it finds a layout that fits, reserves its resources, and returns the transfer plan."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import KB
from storagekit.core.validation import instance_of, several, validate
from storagekit.mediator.answer import Admitted, Proposal, Rejected
from storagekit.mediator.demand import Demand, demand, shape_of, shapes_for
from storagekit.mediator.examine import AdmissionState, Examined, examine, fits
from storagekit.mediator.ledger import Ledger
from storagekit.mediator.policy import POLICY, Economical, Policy
from storagekit.mediator.refusal import binding
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_layout import UNIT, StripeLayout

UNITS = tuple(4 * KB << power for power in range(9))
"""Default block sizes: the powers of two from 4 KB to 1 MB, in bytes."""

# Number of stripe shapes that are tested together in the first step. Each step tests twice as many as the step before.
# Usually an early stripe shape fits. If none fits, all are tested.
_CHUNK = 12
# Maximum number of bisection steps. The highest rate is found with a relative accuracy of one millionth.
_HALVINGS = 40


def units_of(units: Iterable[int]) -> NDArray:
    """Return the block sizes without duplicates, in ascending order, bytes.

    Raises InputError if the list is empty or a size is invalid.
    """
    found = np.array(sorted(set(several(UNIT, of="block sizes")("unit", units))))
    if not found.size:
        raise InputError("no units: give at least one block size in bytes")
    return found


class Mediator:
    """A mediator of a cluster; several mediators may share a ledger.

    Parameters
    ----------
    ledger : Ledger
        The reservations of the cluster.
    policy : Policy, optional
        Policy that orders the layouts; `Economical` by default.
    units : iterable of int
        Block sizes that the mediator may choose, bytes; `UNITS` by default.

    Raises
    ------
    InputError
        If there is no unit, or if a unit is not a whole number of bytes.

    References
    ----------
    swift, section 6.
    """

    @validate
    def __init__(
        self,
        ledger: Annotated[Ledger, instance_of(Ledger, "a Ledger, such as Ledger(cluster)")],
        policy: Annotated[Policy | None, POLICY] = None,
        units: Iterable[int] = UNITS,
    ) -> None:
        self.ledger = ledger
        self.policy = Economical() if policy is None else policy
        self.units = units_of(units)

    def propose(self, request: Request) -> Proposal | Rejected:
        """Return a layout that fits, or the violated constraint of the layout that comes closest to fitting.

        Nothing is reserved.

        Parameters
        ----------
        request : Request
            The request. If it has a layout, only this layout is tested.

        Returns
        -------
        Proposal or Rejected
            A request without a layout is rejected only if no set of agents and no unit fits.

        Raises
        ------
        InputError
            If the cluster can never serve the request: the buffer is too small for the smallest unit, the cluster has
            fewer agents than a group needs, or the cluster lacks an agent of the layout.
        """
        instance_of(Request, "a Request, such as Request(client, rate, size)")("request", request)
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
        """Propose a layout and commit it. Repeat both steps if another mediator changed the ledger between them.

        The request is rejected if the commit refuses the proposal and the ledger has not changed.

        Parameters
        ----------
        request : Request
            The request.

        Returns
        -------
        Admitted or Rejected
            The session, or the constraint that rejects the request.

        Raises
        ------
        InputError
            As in `propose`.
        """
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
        """Return the highest rate at which the request would be admitted now, bytes/s; 0 if no rate is admitted.

        Parameters
        ----------
        request : Request
            The request. Its rate is ignored.

        Returns
        -------
        float
            The rate, bytes/s, with a relative accuracy of one millionth.

        Raises
        ------
        InputError
            As in `propose`.

        Notes
        -----
        A request that fits at a rate also fits at every lower rate, so bisection finds the limit.
        """
        instance_of(Request, "a Request, such as Request(client, rate, size)")("request", request)
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
        """Return a proposal for the layout of an existing object, or the constraint that this layout violates."""
        agents = np.array(layout.agents)
        if agents.max() >= self.ledger.cluster.agents:
            raise InputError(
                f"agent {agents.max()}: the layout has this agent, but the cluster has agents 0 to "
                f"{self.ledger.cluster.agents - 1}; give a layout on these agents"
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
        """Return the reason why no stripe shape is possible."""
        if request.buffer < self.units[0]:
            return (
                f"buffer {request.buffer} bytes: the smallest unit has {self.units[0]} bytes; give at least this buffer"
            )
        return f"agents {self.ledger.cluster.agents}: a group with parity needs 2 agents; give more agents, or no group"
