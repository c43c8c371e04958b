"""The reservations at the agents and on the network, which mediators share."""

from collections.abc import Mapping
from threading import RLock
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.validation import ADDRESS, instance_of, validate
from storagekit.mediator.answer import Proposal, Utilization
from storagekit.mediator.book import Book, BookTable
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.demand import Demand, demand, shape_of
from storagekit.mediator.examine import AdmissionState, Examined, examine, fits
from storagekit.mediator.refusal import binding

_PROPOSAL = instance_of(Proposal, "a Proposal from Mediator.propose")


class Ledger:
    """The reservations of a cluster.

    A mediator reads the ledger, proposes a layout and commits it. The commit tests the layout again. `tail` is the bound
    on the positioning time at each disk.

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
        self.tail = Tail.of(cluster.disks)
        # The lock serializes changes. Readers use the current book without the lock.
        self._lock = RLock()
        self._book = Book.of(cluster)

    @property
    def version(self) -> int:
        """Return the version, which increases with every change."""
        return self._book.version

    @property
    def sessions(self) -> Mapping[int, Proposal]:
        """Return the proposal of each session that has a reservation, keyed by session number, in order of admission."""
        return {number: held.proposal for number, held in self._book.held.items()}

    @property
    def disk_shares(self) -> NDArray:
        """Return the mean share of time for which each agent's disk is reserved, `[agent]`."""
        return self._book.sums.busy.copy()

    @property
    def network_share(self) -> float:
        """Return the reserved share of time of the ring; on a switch, the mean share over the agents' links."""
        sums = self._book.sums
        return float(sums.link.mean()) if self.cluster.network.switched else sums.ring_busy

    @validate
    def state(self, client: str) -> AdmissionState:
        """Return the existing reservations against which the next session of a client is tested."""
        return _state(self._book, self.tail, client)

    @validate
    def fits(self, proposal: Annotated[Proposal, _PROPOSAL]) -> bool:
        """Return whether a proposal can be committed now."""
        return self._refused(self._book, proposal) is None

    @validate
    def commit(self, proposal: Annotated[Proposal, _PROPOSAL]) -> int | Binding:
        """Reserve the resources of a proposal.

        Returns
        -------
        int or Binding
            Number of the new session, or the constraint that the proposal no longer meets.
        """
        with self._lock:
            refused = self._refused(self._book, proposal)
            if refused is not None:
                return refused
            book = self._book.added(self.cluster, proposal)
            self._book = book
            return book.numbered

    def release(self, session: int) -> None:
        """End a session, and release its reservation.

        Raises
        ------
        InputError
            If no session of this number has a reservation.
        """
        session = ADDRESS("session", session)
        with self._lock:
            if session not in self._book.held:
                raise InputError(f"session {session}: no such reservation; release each session once, by its number")
            self._book = self._book.without(session)

    def utilization(self) -> Utilization:
        """Return the mean share of time for which each resource is reserved."""
        book, switched = self._book, self.cluster.network.switched
        return Utilization(
            book.sums.busy.copy(),
            book.sums.processor.copy(),
            book.sums.link.copy() if switched else None,
            None if switched else book.sums.ring_busy,
            {name: (one.processor, one.link) for name, one in book.clients.items()},
        )

    @validate
    def examined(self, proposal: Annotated[Proposal, _PROPOSAL]) -> tuple[AdmissionState, Demand, Examined]:
        """Return the existing reservations, the demand of a proposal, and the result of the admission test (`examine`).

        The result covers all agents, not only the agents of the proposal.
        """
        return self._examined(self._book, proposal)

    def _examined(self, book: Book, proposal: Proposal) -> tuple[AdmissionState, Demand, Examined]:
        state = _state(book, self.tail, proposal.request.client)
        asked = demand(self.cluster, proposal.request, shape_of(proposal.layout))
        return state, asked, examine(state, asked)

    def _refused(self, book: Book, proposal: Proposal) -> Binding | None:
        state, asked, found = self._examined(book, proposal)
        agents = np.array(proposal.layout.agents)
        if agents.max() >= self.cluster.agents:
            raise InputError(
                f"agent {agents.max()}: the cluster has agents 0 to {self.cluster.agents - 1}; give a layout on "
                "these agents"
            )
        worst = max(found.shared[0], found.agent[0, agents].max())
        return None if fits(worst) else binding(proposal.request, state, asked, found, 0, agents)


def _state(book: Book, tail: Tail, client: str) -> AdmissionState:
    table, sums, held = book.table, book.sums, book.clients.get(client)
    # Only pairs of a row and an agent that its session uses are needed: few, because most sessions use few agents.
    rows, agents = np.nonzero(table.on)
    slack = table.slack - table.reception
    own = table.client[rows] == (held.number if held else -1)
    period, budget = (_lowest(table, column, rows, agents) for column in (table.period, table.budget))
    others, mine = (_least(table, slack, rows[whose], agents[whose]) for whose in (~own, own))
    seconds = held.seconds if held else 0.0
    reserved = sums.count.copy(), sums.transfer.copy(), sums.path.copy(), period, budget
    return AdmissionState(tail, *reserved, *others, *mine, sums.ring, seconds)


def _lowest(table: BookTable, column: NDArray, rows: NDArray, agents: NDArray) -> NDArray:
    """Return the minimum of a column at each agent, over the given pairs of row and agent.

    The minimum is infinite at an agent without a pair.
    """
    least = np.full(table.on.shape[1], np.inf)
    np.minimum.at(least, agents, column[rows])
    return least


def _least(table: BookTable, slack: NDArray, rows: NDArray, agents: NDArray) -> tuple[NDArray, NDArray]:
    """Return the smallest slack of the sessions at each agent, and the period of the first session with this slack.

    The slack is infinite at an agent without a session.
    """
    least = _lowest(table, slack, rows, agents)
    reached = np.flatnonzero(slack[rows] == least[agents])
    _, first = np.unique(agents[reached], return_index=True)
    chosen, term = reached[first], np.ones(table.on.shape[1])
    term[agents[chosen]] = table.period[rows[chosen]]
    return least, term
