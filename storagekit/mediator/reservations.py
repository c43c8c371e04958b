"""The reservations at the agents and on the network, which mediators share."""

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

# `_Reservations.least` at an agent without a session.
_NONE = np.array([[np.inf], [1.0], [np.inf], [np.inf]])


@dataclass(frozen=True)
class _Reservations:
    """The sessions that have reservations, and totals over these sessions.

    `shapes`, `on` and `slack` have one entry for each session, in order of admission.

    Each change of the reservations creates a new value. A reader that has a value therefore never sees part of a change,
    and an interrupted change has no effect. A change computes the totals at the agents of the client's sessions anew, so that
    rounding errors do not accumulate. The totals at all other agents stay the same.

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
    slack : ndarray, shape [session]
        Slack of each session, as in `AdmissionState`, seconds.
    least : ndarray, shape [4, agent]
        Smallest slack at each agent, period of the first session with this slack, shortest period, and smallest budget.
    sums : ndarray, shape [6, agent]
        Sums over the sessions at each agent: number of sessions, size of a block, path time of a block, and reserved
        shares of the processor, the link and the disk.
    clients : mapping of str to (float, float)
        Reserved shares of the processor and of the link of each client, keyed by client name.
    version : int
        Version of the reservations, which increases with every change.
    last : int
        Number of the session that was admitted last.
    """

    cluster: Cluster
    sessions: Mapping[int, Proposal]
    shapes: StripeShapes
    on: NDArray
    slack: NDArray
    least: NDArray
    sums: NDArray
    clients: Mapping[str, tuple[float, float]]
    version: int = 0
    last: int = 0

    @classmethod
    def none(cls, cluster: Cluster) -> "_Reservations":
        """Return the reservations without sessions."""
        count, nothing = cluster.agents, stripe_shapes(cluster, Request("", 1.0, 1), *np.zeros((3, 0), int))
        least = np.repeat(_NONE, count, axis=1)
        return cls(cluster, {}, nothing, np.zeros((0, count), bool), np.zeros(0), least, np.zeros((6, count)), {})

    def added(self, proposal: Proposal, shape: StripeShapes) -> "_Reservations":
        """Return the reservations with one more session."""
        on = np.zeros(self.cluster.agents, bool)
        on[list(proposal.layout.agents)] = True
        number = self.last + 1
        found = replace(
            self,
            sessions={**self.sessions, number: proposal},
            shapes=self.shapes.joined(shape),
            on=np.vstack([self.on, on]),
            slack=np.append(self.slack, np.inf),
            last=number,
        )
        return found._totalled(proposal)

    def without(self, session: int) -> "_Reservations":
        """Return the reservations without one session."""
        rest = np.array(list(self.sessions)) != session
        found = replace(
            self,
            sessions={number: one for number, one in self.sessions.items() if number != session},
            shapes=self.shapes.where(rest),
            on=self.on[rest],
            slack=self.slack[rest],
        )
        return found._totalled(self.sessions[session])

    def _totalled(self, changed: Proposal) -> "_Reservations":
        """Return the reservations with correct totals, after the session of a proposal was added or removed."""
        cluster, shapes, period, client = self.cluster, self.shapes, self.shapes.period, changed.request.client
        own, here = self._of(client)
        here[list(changed.layout.agents)] = True
        slack, least, sums, on = self.slack.copy(), self.least.copy(), self.sums.copy(), self.on[:, here]
        slack[own] = period[own] - shapes.pooled[own] - shapes.reception[own].sum()
        least[:, here] = _least(np.array([slack, period, period, shapes.budget]), on)
        processor, link, *receiving = rounded_up(
            np.array([shapes.processor, shapes.link, shapes.client, shapes.client_link]) / period
        )
        disk = cluster.positioning.sum(axis=0)[here] + shapes.unit[:, None] / cluster.rates[here]
        sums[:5, here] = np.array([np.ones(shapes.count), shapes.unit, shapes.path, processor, link]) @ on
        sums[5, here] = (rounded_up(disk / period[:, None]) * on).sum(axis=0)
        clients = {**self.clients, client: (float(receiving[0][own].sum()), float(receiving[1][own].sum()))}
        if not own.any():
            del clients[client]
        return replace(self, slack=slack, least=least, sums=sums, clients=clients, version=self.version + 1)

    def _of(self, client: str) -> tuple[NDArray, NDArray]:
        """Return the mask of the sessions of a client, and the mask of their agents."""
        own = np.array([one.request.client == client for one in self.sessions.values()], bool)
        return own, self.on[own].any(axis=0)

    @cached_property
    def utilization(self) -> Utilization:
        """Return the mean share of time for which each resource is reserved."""
        processors, links, disks = self.sums[3:].copy()
        if self.cluster.network.switched:
            return Utilization(disks, processors, links, None, dict(self.clients))
        ring = float(rounded_up(self.shapes.ring / self.shapes.period).sum())
        return Utilization(disks, processors, None, ring, dict(self.clients))

    def state(self, client: str) -> AdmissionState:
        """Return the existing reservations against which the next session of a client is tested."""
        shapes, (own, here) = self.shapes, self._of(client)
        # Slack and term of the sessions of other clients and of this client, `[2, 2, agent]`.
        least = np.array([self.least[:2], np.broadcast_to(_NONE[:2], (2, here.size))])
        if own.any():
            for row, whose in enumerate((~own, own)):
                columns = np.array([self.slack, shapes.period])[:, whose]
                least[row, :, here] = _least(columns, self.on[whose][:, here]).T
        count, size, path = self.sums[:3, None].copy()
        period, budget = self.least[2:, None].copy()
        return AdmissionState(
            self.cluster,
            count,
            size / self.cluster.rates,
            path,
            period,
            budget,
            least[:, :1],
            least[:, 1:],
            float(shapes.ring.sum()),
            float(shapes.reception[own].sum()),
        )

    def test(self, proposal: Proposal) -> AdmissionTest:
        """Return the admission test of a proposal."""
        layout, request = proposal.layout, proposal.request
        require_agents(self.cluster, layout.agents)
        return AdmissionTest(request, self.state(request.client), shape_of(self.cluster, request, layout))


def _least(columns: NDArray, on: NDArray) -> NDArray:
    """Return the rows of `_Reservations.least`, or the first two, from the values of each session in `columns`."""
    # The first entry of each row is for agents without a session.
    none = np.broadcast_to(_NONE[: len(columns), :, None], (len(columns), 1, on.shape[1]))
    rows = np.concatenate([none, np.where(on, columns[:, :, None], np.inf)], axis=1)
    least = rows.min(axis=1)
    least[1] = rows[1, rows[0].argmin(axis=0), np.arange(on.shape[1])]
    return least


class Reservations:
    """The reservations of a cluster.

    A mediator reads the reservations, proposes a layout and commits it. The commit tests the layout again.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.

    Notes
    -----
    Totals are exact. After a release, the reservations are as if the session had never been admitted, except for the version
    and the number of sessions that have ever been admitted.

    Threads of one process may share the reservations. Processes cannot share them, because each process would have its own
    copy.
    One process must hold the reservations and serve the others.

    Every change is atomic, even if it is interrupted. If Ctrl-C interrupts a commit, the reservations contain either no new
    session, or a session in `sessions` whose number the caller did not receive.
    """

    @validate
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        # The lock serializes changes. Readers use the current reservations without the lock.
        self._lock = RLock()
        self._held = _Reservations.none(cluster)

    @property
    def version(self) -> int:
        """Return the version, which increases with every change."""
        return self._held.version

    @property
    def sessions(self) -> Mapping[int, Proposal]:
        """Return the proposal of each session that has a reservation, keyed by session number, in order of admission."""
        return MappingProxyType(self._held.sessions)

    @property
    def disk_shares(self) -> NDArray:
        """Return the mean share of time for which each agent's disk is reserved, `[agent]`."""
        return self._held.sums[5].copy()

    def utilization(self) -> Utilization:
        """Return the mean share of time for which each resource is reserved."""
        return self._held.utilization

    @validate
    def state(self, client: str) -> AdmissionState:
        """Return the existing reservations against which the next session of a client is tested."""
        return self._held.state(client)

    @validate
    def violation(self, proposal: Proposal) -> Binding | None:
        """Return the constraint that a proposal violates now, or None if it can be committed."""
        return self._held.test(proposal).violation(proposal.layout.agents)

    @validate
    def commit(self, proposal: Proposal) -> int | Binding:
        """Reserve the resources of a proposal.

        Returns
        -------
        int or Binding
            Number of the new session, or the constraint that the proposal no longer meets.
        """
        with self._lock:
            test = self._held.test(proposal)
            if (violation := test.violation(proposal.layout.agents)) is not None:
                return violation
            self._held = self._held.added(proposal, test.shapes)
            return self._held.last

    @validate
    def release(self, session: Address) -> None:
        """End a session, and release its reservation.

        Raises
        ------
        InputError
            If no session of this number has a reservation.
        """
        with self._lock:
            if session not in self._held.sessions:
                raise InputError(f"session {session}: no such reservation; release each session once, by its number")
            self._held = self._held.without(session)
