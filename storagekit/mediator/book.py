"""Totals over the sessions of a ledger, stored in an immutable value.

Each change creates a new value. A reader that holds a value therefore never sees part of a change, and an interrupted
change has no effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from storagekit.mediator.answer import Proposal
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.demand import Demand, demand, rounded_up, shape_of

# Number of rows of a new table.
_ROWS = 16


@dataclass(frozen=True)
class Client:
    """Totals over the sessions of one client.

    Parameters
    ----------
    number : int
        Number of the client, which is the number of its first session.
    seconds : float
        Time of one stripe at the client, summed over the client's sessions, seconds.
    processor, link : float
        Reserved shares of time of the client's processor and of the client's link.
    sessions : int
        Number of the client's sessions.
    """

    number: int
    seconds: float = 0.0
    processor: float = 0.0
    link: float = 0.0
    sessions: int = 0

    def changed(self, asked: Demand, sign: int) -> "Client":
        """Return the totals after one session is added (`sign` 1) or removed (`sign` -1)."""
        period = asked.period[0]
        return replace(
            self,
            seconds=self.seconds + sign * float(asked.reception[0]),
            processor=self.processor + sign * float(rounded_up(asked.client[0] / period)),
            link=self.link + sign * float(rounded_up(asked.client_link[0] / period)),
            sessions=self.sessions + sign,
        )


@dataclass(frozen=True)
class Held:
    """The reservation of a session.

    Parameters
    ----------
    proposal : Proposal
        The request and its layout.
    asked : Demand
        Demand of the session.
    row : int
        Row of the session in the table.
    agents : ndarray of int
        Agents of the session.
    busy : ndarray
        Mean share of time for which the session uses the disk of each agent in `agents`.
    """

    proposal: Proposal
    asked: Demand
    row: int
    agents: NDArray
    busy: NDArray


@dataclass(frozen=True)
class BookTable:
    """A table with one row for each session. A row without agents belongs to no session; it is free.

    Parameters
    ----------
    on : ndarray of bool, shape [row, agent]
        Whether the session uses the agent.
    period : ndarray, shape [row]
        The period tau, seconds.
    slack : ndarray, shape [row]
        tau minus `Demand.pooled`, seconds.
    budget : ndarray, shape [row]
        Largest allowed probability that a block is late.
    client : ndarray of int, shape [row]
        Number of the session's client.
    reception : ndarray, shape [row]
        Time of one stripe at this client, summed over all sessions of the client, seconds.
    """

    on: NDArray
    period: NDArray
    slack: NDArray
    budget: NDArray
    client: NDArray
    reception: NDArray

    @classmethod
    def of(cls, rows: int, agents: int) -> "BookTable":
        """Return a table of free rows."""
        period, slack, budget, reception = np.zeros((4, rows))
        return cls(np.zeros((rows, agents), bool), period, slack, budget, np.zeros(rows, int), reception)

    def copied(self) -> "BookTable":
        """Return a copy that can be modified and has at least one free row."""
        full = self.on.any(axis=1).all()
        return BookTable(
            *(
                np.concatenate([column, np.zeros_like(column)]) if full else column.copy()
                for column in vars(self).values()
            )
        )


@dataclass(frozen=True)
class Sums:
    """Totals over all sessions, at each agent and on the ring.

    Parameters
    ----------
    count : ndarray, shape [agent]
        Number of sessions.
    transfer : ndarray, shape [agent]
        Transfer time of one block, summed over the sessions, seconds.
    path : ndarray, shape [agent]
        Time of one block at the agent's processor and link, summed over the sessions, seconds.
    busy, processor, link : ndarray, shape [agent]
        Reserved shares of time of the agent's disk, processor and link.
    ring : float
        Time of one stripe on the ring, summed over the sessions, seconds.
    ring_busy : float
        Reserved share of time of the ring.
    """

    count: NDArray
    transfer: NDArray
    path: NDArray
    busy: NDArray
    processor: NDArray
    link: NDArray
    ring: float = 0.0
    ring_busy: float = 0.0

    @classmethod
    def none(cls, agents: int) -> "Sums":
        """Return the totals of a ledger without sessions."""
        count, transfer, path, busy, processor, link = np.zeros((6, agents))
        return cls(count, transfer, path, busy, processor, link)

    def changed(self, held: Held, sign: int) -> "Sums":
        """Return the totals after one session is added (`sign` 1) or removed (`sign` -1)."""
        asked, period = held.asked, held.asked.period[0]

        def with_it(column: NDArray, more: NDArray | float) -> NDArray:
            changed = column.copy()
            changed[held.agents] += sign * more
            return changed

        return Sums(
            with_it(self.count, 1.0),
            with_it(self.transfer, asked.transfer[0, held.agents]),
            with_it(self.path, asked.path[0]),
            with_it(self.busy, held.busy),
            with_it(self.processor, rounded_up(asked.processor[0] / period)),
            with_it(self.link, rounded_up(asked.link[0] / period)),
            self.ring + sign * float(asked.ring[0]),
            self.ring_busy + sign * float(rounded_up(asked.ring[0] / period)),
        )


@dataclass(frozen=True)
class Book:
    """All sessions of a ledger, with the totals over them.

    Parameters
    ----------
    sums : Sums
        Totals over the sessions.
    table : BookTable
        Rows of the sessions.
    held : mapping of int to Held
        Reservation of each session, keyed by session number, in order of admission.
    clients : mapping of str to Client
        Totals of each client, keyed by client name.
    version : int
        Version of the ledger, which increases with every change.
    numbered : int
        Number of sessions that have ever been admitted.
    """

    sums: Sums
    table: BookTable
    held: Mapping[int, Held] = field(default_factory=lambda: MappingProxyType({}))
    clients: Mapping[str, Client] = field(default_factory=lambda: MappingProxyType({}))
    version: int = 0
    numbered: int = 0

    @classmethod
    def of(cls, cluster: Cluster) -> "Book":
        """Return a book without sessions."""
        return cls(Sums.none(cluster.agents), BookTable.of(_ROWS, cluster.agents))

    def added(self, cluster: Cluster, proposal: Proposal) -> "Book":
        """Return a book with one more session, the session of `proposal`. Its number is `numbered` of the new book."""
        number, agents = self.numbered + 1, np.array(proposal.layout.agents)
        asked = demand(cluster, proposal.request, shape_of(proposal.layout))
        mean = cluster.positioning.sum(axis=0)[agents] + asked.transfer[0, agents]
        table = self.table.copied()
        row = int(np.argmin(table.on.any(axis=1)))
        held = Held(proposal, asked, row, agents, rounded_up(mean / asked.period[0]))
        table.on[row, agents] = True
        table.period[row] = asked.period[0]
        table.slack[row] = asked.period[0] - asked.pooled[0]
        table.budget[row] = asked.budget[0]
        return self._with(table, held, 1, {**self.held, number: held}, number)

    def without(self, session: int) -> "Book":
        """Return a book without the given session."""
        gone, table = self.held[session], self.table.copied()
        table.on[gone.row] = False
        held = {number: one for number, one in self.held.items() if number != session}
        return self._with(table, gone, -1, held, self.numbered)

    def _with(self, table: BookTable, changed: Held, sign: int, held: dict[int, Held], numbered: int) -> "Book":
        """Return the book after one session is added (`sign` 1) or removed (`sign` -1).

        The rows of the client's sessions in `table` are updated in place.
        """
        name = changed.proposal.request.client
        client = self.clients.get(name, Client(numbered)).changed(changed.asked, sign)
        others = {other: one for other, one in self.clients.items() if other != name or client.sessions}
        clients = {**others, name: client} if client.sessions else others
        table.client[changed.row] = client.number
        table.reception[table.client == client.number] = client.seconds
        return Book(
            self.sums.changed(changed, sign),
            table,
            MappingProxyType(held),
            MappingProxyType(clients),
            self.version + 1,
            numbered,
        )
