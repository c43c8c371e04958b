"""The reservations at the agents and on the network, which mediators share."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.binding import Binding
from storagekit.errors import InputError
from storagekit.mediator.answer import Proposal, Utilization
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.demand import Demand, demand, rounded_up, shape_of
from storagekit.mediator.examine import Examined, State, examine, fits
from storagekit.mediator.refusal import binding


@dataclass
class _Client:
    """Number of its first session; seconds in sum, shares of time of its processor and its link; sessions."""

    number: int
    seconds: float = 0.0
    processor: float = 0.0
    link: float = 0.0
    sessions: int = 0


@dataclass(frozen=True)
class _Held:
    """A session's reservation: its proposal, what it asks, its row in the tables, the shares it takes of its disks."""

    proposal: Proposal
    asked: Demand
    row: int
    agents: NDArray
    busy: NDArray


@dataclass(frozen=True)
class _Table:
    """A row for each session: its agents, `[row, agent]`, period, tau less the undivided part of its way, budget, client's
    number and that client's seconds."""

    on: NDArray
    period: NDArray
    slack: NDArray
    budget: NDArray
    client: NDArray
    reception: NDArray

    @classmethod
    def of(cls, rows: int, agents: int) -> "_Table":
        period, slack, budget, reception = np.zeros((4, rows))
        return cls(np.zeros((rows, agents), bool), period, slack, budget, np.zeros(rows, int), reception)

    def doubled(self) -> "_Table":
        return _Table(*(np.concatenate([column, np.zeros_like(column)]) for column in vars(self).values()))


class Ledger:
    """What is reserved of a cluster. Whoever holds it may look, propose and commit; a commit is tested again when it is made.

    version: rises with every change; tail: the bound of each disk. Sums are exact: a release leaves the ledger as if the
    session had never come.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.version = 0
        self.tail = Tail.of(cluster.disks)
        self._lock = RLock()
        self._numbered = 0
        self._held: dict[int, _Held] = {}
        self._clients: dict[str, _Client] = {}
        agents = cluster.agents
        self._count, self._transfer, self._path = np.zeros(agents), np.zeros(agents), np.zeros(agents)
        self._busy, self._processor, self._link = np.zeros(agents), np.zeros(agents), np.zeros(agents)
        self._ring = self._ring_busy = 0.0
        self._table = _Table.of(16, agents)
        self._free = list(range(16))[::-1]

    @property
    def sessions(self) -> Mapping[int, Proposal]:
        """What is reserved for, by number, in order of admission."""
        return {number: held.proposal for number, held in self._held.items()}

    @property
    def disk_shares(self) -> NDArray:
        """Share of its time that each agent's disk is reserved for, on the mean, `[agent]`."""
        return self._busy.copy()

    @property
    def network_share(self) -> float:
        """Share of its time that the ring is reserved for, or on a switch the mean of the agents' links."""
        return float(self._link.mean()) if self.cluster.network.switched else self._ring_busy

    def state(self, client: str) -> State:
        """What the next session of a client finds."""
        with self._lock:
            held = self._clients.get(client)
            # most sessions are at few of the agents
            rows, agents = np.nonzero(self._table.on)
            slack = self._table.slack - self._table.reception
            own = self._table.client[rows] == (held.number if held else -1)
            other_slack, other_term = self._least(slack, rows[~own], agents[~own])
            own_slack, own_term = self._least(slack, rows[own], agents[own])
            period = self._lowest(self._table.period, rows, agents)
            budget = self._lowest(self._table.budget, rows, agents)
            return State(
                self.tail,
                *(self._count.copy(), self._transfer.copy(), self._path.copy(), period, budget),
                *(other_slack, other_term, own_slack, own_term),
                *(self._ring, held.seconds if held else 0.0),
            )

    def fits(self, proposal: Proposal) -> bool:
        """Whether a proposal can be committed now."""
        return self._refused(proposal) is None

    def commit(self, proposal: Proposal) -> int | Binding:
        """The number of the session that now holds a reservation, or the constraint that has come to stand against it."""
        with self._lock:
            refused = self._refused(proposal)
            if refused is not None:
                return refused
            self._numbered += 1
            self._add(self._numbered, proposal)
            self.version += 1
            return self._numbered

    def release(self, session: int) -> None:
        """Ends a session. Raises InputError where no such session holds a reservation."""
        with self._lock:
            held = self._held.pop(session, None)
            if held is None:
                raise InputError(f"session {session}: it holds no reservation; release a session once, by its number")
            self._change(held, -1)
            self._table.on[held.row] = False
            self._free.append(held.row)
            self.version += 1

    def utilization(self) -> Utilization:
        """Share of its time that each resource is reserved for, on the mean."""
        with self._lock:
            return Utilization(
                self._busy.copy(),
                self._processor.copy(),
                self._link.copy() if self.cluster.network.switched else None,
                None if self.cluster.network.switched else self._ring_busy,
                {name: (one.processor, one.link) for name, one in self._clients.items()},
            )

    def examined(self, proposal: Proposal) -> tuple[State, Demand, Examined]:
        """The test of a proposal, see `examine`, at all agents."""
        state = self.state(proposal.request.client)
        asked = demand(self.cluster, proposal.request, shape_of(proposal.layout))
        return state, asked, examine(state, asked)

    def _refused(self, proposal: Proposal) -> Binding | None:
        with self._lock:
            state, asked, found = self.examined(proposal)
            agents = np.array(proposal.layout.agents)
            if agents.max() >= self.cluster.agents:
                raise InputError(f"agent {agents.max()}: the cluster has agents 0 to {self.cluster.agents - 1}")
            worst = max(found.shared[0], found.agent[0, agents].max())
            if fits(worst):
                return None
            return binding(proposal.request, state, asked, found, 0, agents)

    def _add(self, number: int, proposal: Proposal) -> None:
        agents = np.array(proposal.layout.agents)
        asked = demand(self.cluster, proposal.request, shape_of(proposal.layout))
        if not self._free:
            rows = self._table.period.size
            self._free = list(range(rows, 2 * rows))[::-1]
            self._table = self._table.doubled()
        row = self._free.pop()
        mean = self.cluster.positioning.sum(axis=0)[agents] + asked.transfer[0, agents]
        held = _Held(proposal, asked, row, agents, rounded_up(mean / asked.period[0]))
        client = self._clients.setdefault(proposal.request.client, _Client(number))
        self._table.client[row] = client.number
        self._change(held, 1)
        self._held[number] = held
        self._table.on[row, agents] = True
        self._table.period[row] = asked.period[0]
        self._table.slack[row] = asked.period[0] - asked.pooled[0]
        self._table.budget[row] = asked.budget[0]

    def _change(self, held: _Held, sign: int) -> None:
        """Adds a session to the sums, or takes it from them."""
        asked, agents = held.asked, held.agents
        period = asked.period[0]
        self._count[agents] += sign
        self._transfer[agents] += sign * asked.transfer[0, agents]
        self._path[agents] += sign * asked.path[0]
        self._busy[agents] += sign * held.busy
        self._processor[agents] += sign * rounded_up(asked.processor[0] / period)
        self._link[agents] += sign * rounded_up(asked.link[0] / period)
        self._ring += sign * float(asked.ring[0])
        self._ring_busy += sign * float(rounded_up(asked.ring[0] / period))
        name = held.proposal.request.client
        client = self._clients[name]
        client.seconds += sign * float(asked.reception[0])
        client.processor += sign * float(rounded_up(asked.client[0] / period))
        client.link += sign * float(rounded_up(asked.client_link[0] / period))
        client.sessions += sign
        self._table.reception[self._table.client == client.number] = client.seconds
        if not client.sessions:
            del self._clients[name]

    def _lowest(self, column: NDArray, rows: NDArray, agents: NDArray) -> NDArray:
        """The least of a column at each agent, over the pairs of a session's row and an agent; infinite where none is."""
        least = np.full(self.cluster.agents, np.inf)
        np.minimum.at(least, agents, column[rows])
        return least

    def _least(self, slack: NDArray, rows: NDArray, agents: NDArray) -> tuple[NDArray, NDArray]:
        """The least slack of sessions at each agent, infinite where there is none, and the period of the first of these."""
        least = self._lowest(slack, rows, agents)
        reached = np.flatnonzero(slack[rows] == least[agents])
        _, first = np.unique(agents[reached], return_index=True)
        chosen, term = reached[first], np.ones(self.cluster.agents)
        term[agents[chosen]] = self._table.period[rows[chosen]]
        return least, term
