"""What the sessions of a ledger take in sum: a value that never changes, from which the next one is made.

Whoever holds one can read it at leisure; nobody sees half of a change, and a change that is broken off never was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from storagekit.mediator.answer import Proposal
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.demand import Demand, demand, rounded_up, shape_of

# rows of a new table
_ROWS = 16


@dataclass(frozen=True)
class Client:
    """Number of its first session; seconds in sum, shares of time of its processor and its link; sessions."""

    number: int
    seconds: float = 0.0
    processor: float = 0.0
    link: float = 0.0
    sessions: int = 0

    def changed(self, asked: Demand, sign: int) -> "Client":
        """With a session more, or less."""
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
    """A session's reservation: its proposal, what it asks, its row in the table, the shares it takes of its disks."""

    proposal: Proposal
    asked: Demand
    row: int
    agents: NDArray
    busy: NDArray


@dataclass(frozen=True)
class BookTable:
    """A row for each session: its agents, `[row, agent]`, period, tau less the undivided part of its way, budget, client's
    number and that client's seconds. A row without agents is free."""

    on: NDArray
    period: NDArray
    slack: NDArray
    budget: NDArray
    client: NDArray
    reception: NDArray

    @classmethod
    def of(cls, rows: int, agents: int) -> "BookTable":
        """Free rows."""
        period, slack, budget, reception = np.zeros((4, rows))
        return cls(np.zeros((rows, agents), bool), period, slack, budget, np.zeros(rows, int), reception)

    def copied(self) -> "BookTable":
        """One to write in, with a free row at least."""
        full = self.on.any(axis=1).all()
        return BookTable(
            *(
                np.concatenate([column, np.zeros_like(column)]) if full else column.copy()
                for column in vars(self).values()
            )
        )


@dataclass(frozen=True)
class Sums:
    """Over the sessions, at each agent: how many; seconds of transfer and of the way; shares of time of its disk, its
    processor and its link. On the ring: seconds, and share of its time."""

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
        """Without any session."""
        count, transfer, path, busy, processor, link = np.zeros((6, agents))
        return cls(count, transfer, path, busy, processor, link)

    def changed(self, held: Held, sign: int) -> "Sums":
        """With a session more, or less."""
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
    """The sessions by number, in order of admission, and what they come to. version rises with every change; numbered: how
    many have ever been admitted."""

    sums: Sums
    table: BookTable
    held: Mapping[int, Held] = field(default_factory=lambda: MappingProxyType({}))
    clients: Mapping[str, Client] = field(default_factory=lambda: MappingProxyType({}))
    version: int = 0
    numbered: int = 0

    @classmethod
    def of(cls, cluster: Cluster) -> "Book":
        """Without any session."""
        return cls(Sums.none(cluster.agents), BookTable.of(_ROWS, cluster.agents))

    def added(self, cluster: Cluster, proposal: Proposal) -> "Book":
        """With the session of a proposal, whose number is the new `numbered`."""
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
        """Without a session that is there."""
        gone, table = self.held[session], self.table.copied()
        table.on[gone.row] = False
        held = {number: one for number, one in self.held.items() if number != session}
        return self._with(table, gone, -1, held, self.numbered)

    def _with(self, table: BookTable, changed: Held, sign: int, held: dict[int, Held], numbered: int) -> "Book":
        """With sums, and what a client's sessions have in common, as they are after a change; `table` is written in."""
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
