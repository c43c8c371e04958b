"""The reservations at the agents and on the network, which mediators share."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.validation import Address, validate
from storagekit.mediator.admission import AdmissionState, AdmissionTest
from storagekit.mediator.cluster import Cluster, require_agents
from storagekit.mediator.request import Proposal, Request, Utilization
from storagekit.mediator.stripe_shapes import StripeShapes, rounded_up, shape_of, stripe_shapes


@dataclass(frozen=True)
class _Reservations:
    """The sessions that have reservations. Each array has one row for each session, in order of admission.

    Each change of a ledger creates a new value. A reader that has a value therefore never sees part of a change, and an
    interrupted change has no effect.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    sessions : mapping of int to Proposal
        Proposal of each session, keyed by session number.
    shapes : StripeShapes
        Stripe shape of each session.
    on : ndarray of bool, shape [session, agent]
        Whether the session uses the agent.
    version : int
        Version of the ledger, which increases with every change.
    last : int
        Number of the session that was admitted last.
    """

    cluster: Cluster
    sessions: Mapping[int, Proposal]
    shapes: StripeShapes
    on: NDArray
    version: int = 0
    last: int = 0

    @cached_property
    def clients(self) -> list[str]:
        """Return the name of the client of each session."""
        return [one.request.client for one in self.sessions.values()]

    def by_client(self, column: NDArray) -> dict[str, float]:
        """Return the sum of a column over the sessions of each client."""
        total: dict[str, float] = defaultdict(float)
        for client, value in zip(self.clients, column.tolist(), strict=True):
            total[client] += value
        return total

    @cached_property
    def utilization(self) -> Utilization:
        """Return the mean share of time for which each resource is reserved."""
        shapes, on, switched = self.shapes, self.on, self.cluster.network.switched

        def shares(seconds: NDArray) -> NDArray:
            return rounded_up(seconds / shapes.period)

        block = self.cluster.positioning.sum(axis=0) + shapes.unit[:, None] / self.cluster.rates
        processor, link = self.by_client(shares(shapes.client)), self.by_client(shares(shapes.client_link))
        return Utilization(
            (rounded_up(block / shapes.period[:, None]) * on).sum(axis=0),
            shares(shapes.processor) @ on,
            shares(shapes.link) @ on if switched else None,
            None if switched else float(shares(shapes.ring).sum()),
            {client: (processor[client], link[client]) for client in processor},
        )


class Ledger:
    """The reservations of a cluster.

    A mediator reads the ledger, proposes a layout and commits it. The commit tests the layout again.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.

    Notes
    -----
    Totals are exact. After a release, the ledger is as if the session had never been admitted, except for the version
    and the number of sessions that have ever been admitted.

    Threads of one process may share a ledger. Processes cannot share it, because each process would have its own copy.
    One process must hold the ledger and serve the others.

    Every change is atomic, even if it is interrupted. If Ctrl-C interrupts a commit, the ledger contains either no new
    session, or a session in `sessions` whose number the caller did not receive.
    """

    @validate
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        # The lock serializes changes. Readers use the current reservations without the lock.
        self._lock = RLock()
        nothing = stripe_shapes(cluster, Request("", 1.0, 1), *np.zeros((3, 0), int))
        self._held = _Reservations(cluster, MappingProxyType({}), nothing, np.zeros((0, cluster.agents), bool))

    @property
    def version(self) -> int:
        """Return the version, which increases with every change."""
        return self._held.version

    @property
    def sessions(self) -> Mapping[int, Proposal]:
        """Return the proposal of each session that has a reservation, keyed by session number, in order of admission."""
        return self._held.sessions

    @property
    def disk_shares(self) -> NDArray:
        """Return the mean share of time for which each agent's disk is reserved, `[agent]`."""
        return self._held.utilization.disks.copy()

    def utilization(self) -> Utilization:
        """Return the mean share of time for which each resource is reserved."""
        return self._held.utilization

    @validate
    def state(self, client: str) -> AdmissionState:
        """Return the existing reservations against which the next session of a client is tested."""
        return self._state(self._held, client)

    @validate
    def violation(self, proposal: Proposal) -> Binding | None:
        """Return the constraint that a proposal violates now, or None if it can be committed."""
        return self._test(self._held, proposal).violation(proposal.layout.agents)

    @validate
    def commit(self, proposal: Proposal) -> int | Binding:
        """Reserve the resources of a proposal.

        Returns
        -------
        int or Binding
            Number of the new session, or the constraint that the proposal no longer meets.
        """
        with self._lock:
            held = self._held
            test = self._test(held, proposal)
            if (violation := test.violation(proposal.layout.agents)) is not None:
                return violation
            number = held.last + 1
            on = np.isin(np.arange(self.cluster.agents), proposal.layout.agents)
            self._held = _Reservations(
                self.cluster,
                MappingProxyType({**held.sessions, number: proposal}),
                held.shapes.joined(test.shapes),
                np.vstack([held.on, on]),
                held.version + 1,
                number,
            )
            return number

    @validate
    def release(self, session: Address) -> None:
        """End a session, and release its reservation.

        Raises
        ------
        InputError
            If no session of this number has a reservation.
        """
        with self._lock:
            held = self._held
            if session not in held.sessions:
                raise InputError(f"session {session}: no such reservation; release each session once, by its number")
            rest = np.array(list(held.sessions)) != session
            sessions = {number: one for number, one in held.sessions.items() if number != session}
            self._held = replace(
                held,
                sessions=MappingProxyType(sessions),
                shapes=held.shapes.where(rest),
                on=held.on[rest],
                version=held.version + 1,
            )

    def _state(self, held: _Reservations, client: str) -> AdmissionState:
        shapes, on = held.shapes, held.on
        reception = held.by_client(shapes.reception)
        slack = shapes.period - shapes.pooled - np.array([reception[one] for one in held.clients])
        own = np.array([one == client for one in held.clients], bool)[:, None]
        slacks, terms = zip(*(_least(slack, shapes.period, on & whose) for whose in (~own, own)), strict=True)
        return AdmissionState(
            self.cluster,
            on.sum(axis=0, keepdims=True).astype(float),
            (shapes.unit @ on / self.cluster.rates)[None],
            (shapes.path @ on)[None],
            np.where(on, shapes.period[:, None], np.inf).min(axis=0, keepdims=True, initial=np.inf),
            np.where(on, shapes.budget[:, None], np.inf).min(axis=0, keepdims=True, initial=np.inf),
            np.stack(slacks)[:, None],
            np.stack(terms)[:, None],
            float(shapes.ring.sum()),
            reception.get(client, 0.0),
        )

    def _test(self, held: _Reservations, proposal: Proposal) -> AdmissionTest:
        layout, request = proposal.layout, proposal.request
        require_agents(self.cluster, layout.agents)
        shape = shape_of(self.cluster, request, layout)
        return AdmissionTest(request, self._state(held, request.client), shape)


def _least(slack: NDArray, period: NDArray, on: NDArray) -> tuple[NDArray, NDArray]:
    """Return the smallest slack of the sessions at each agent, and the period of the first session with this slack.

    The slack is infinite at an agent without a session, and the period is then 1.
    """
    # The first row is for agents without a session.
    rows = np.vstack([np.full(on.shape[1], np.inf), np.where(on, slack[:, None], np.inf)])
    chosen = rows.argmin(axis=0)
    return rows[chosen, np.arange(on.shape[1])], np.append(1.0, period)[chosen]
