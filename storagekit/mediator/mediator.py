"""The storage mediator: it finds a layout that fits, reserves its resources, and returns the transfer plan."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import numpy as np

from storagekit.core.binding import Binding
from storagekit.core.units import KB
from storagekit.core.validation import several, validate
from storagekit.mediator.admission import AdmissionTest, fits
from storagekit.mediator.policy import Economical, Policy
from storagekit.mediator.request import Admitted, Proposal, Rejected, Request
from storagekit.mediator.reservations import Reservations
from storagekit.mediator.stripe_layout import UNIT, StripeLayout
from storagekit.mediator.stripe_shapes import shapes_for

UNITS = tuple(4 * KB << power for power in range(9))
"""Default block sizes: the powers of two from 4 KB to 1 MB, in bytes."""
Units = Annotated[Iterable[int], several(UNIT, least=1, of="block sizes")]

# Number of stripe shapes that are tested together in the first step. Each step tests twice as many as the step before.
# Usually an early stripe shape fits. If none fits, all are tested.
_CHUNK = 12
# Maximum number of bisection steps. The highest rate is found with a relative accuracy of one millionth.
_HALVINGS = 40


class Mediator:
    """A mediator of a cluster; several mediators may share the reservations.

    Parameters
    ----------
    reservations : Reservations
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
    def __init__(self, reservations: Reservations, policy: Policy | None = None, units: Units = UNITS) -> None:
        self.reservations = reservations
        self.policy = Economical() if policy is None else policy
        self.units = np.unique(list(units))

    @validate
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
        reservations = self.reservations
        version = reservations.version
        if request.layout is not None:
            proposal = Proposal(request, request.layout, version)
            violation = reservations.violation(proposal)
            return proposal if violation is None else Rejected(request, violation)
        state = reservations.state(request.client)
        shapes = shapes_for(reservations.cluster, request, self.units)
        shapes = shapes.where(self.policy.order(shapes))
        tests, first = [], 0
        while first < shapes.count:
            last = 2 * first + _CHUNK
            test = AdmissionTest(request, state, shapes.where(slice(first, last)))
            fitting = np.flatnonzero(fits(test.nearest))
            if fitting.size:
                return Proposal(request, self._layout(test, int(fitting[0])), version)
            tests.append(test)
            first = last
        nearest = min(tests, key=lambda test: test.nearest.min())
        return Rejected(request, nearest.binding(int(nearest.nearest.argmin())))

    def request(self, request: Request) -> Admitted | Rejected:
        """Propose a layout and commit it. Repeat both steps if another mediator changed the reservations between them.

        The request is rejected if the commit refuses the proposal and the reservations have not changed.

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
            session = self.reservations.commit(proposal)
            if not isinstance(session, Binding):
                return Admitted(session, request, proposal.layout, proposal.plan, self.reservations.utilization())
            if self.reservations.version == proposal.version:
                return Rejected(request, session)

    @validate
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
        network = self.reservations.cluster.network
        low, high = 0.0, float(self.reservations.cluster.rates.sum() + network.rate * network.rings)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2 if low else high / 2
            if isinstance(self.propose(replace(request, rate=middle)), Proposal):
                low = middle
            else:
                high = middle
            if high - low <= 1e-6 * high:
                break
        return low

    def _layout(self, test: AdmissionTest, shape: int) -> StripeLayout:
        """Return a layout with a stripe shape that fits, on the agents that the policy prefers."""
        fitting = np.flatnonzero(fits(test.agent[shape]))
        preferred = self.policy.agents(fitting, self.reservations.disk_shares[fitting])
        chosen = np.sort(preferred[: test.shapes.agents[shape]])
        return StripeLayout.over(
            test.request.size, int(test.shapes.unit[shape]), tuple(chosen.tolist()), test.request.group
        )
