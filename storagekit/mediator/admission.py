"""The admission test: whether a new session fits together with the sessions that have reservations.

Resources serve blocks in order of arrival. In each period tau, a session releases one block at each of its agents.

**Disks.** Session i releases a block b to disk a at time t. Let s be the time of the release that began the current busy
period, and u = t - s. Block b is late if the blocks released from s to t take more than tau_i + u. Session j released at
most 1 + u/tau_j of these blocks. Let T be the smallest tau_j at a. Let e be the bound of `analytic.forkjoin.tail` on
P(one block of each session takes more than T), and theta its parameter. M_j is the moment generating function of the
time of a block of session j, at theta. L is the sum of log M_j over all sessions. Then L = theta T - log 1/e, and by
Chernoff's bound

    P(b late, busy since s) <= exp(L + u sum_j (log M_j)/tau_j - theta (tau_i + u)) <= e exp(-u log(1/e) / T),

because sum_j (log M_j)/tau_j <= L/T. The busy period begins with a release of one of the N sessions at a. The releases
of session j are tau_j >= T apart. The sum of the bounds for all releases that could have begun the busy period is
P(b late) <= N e / (1 - e). The bound does not assume that earlier blocks met their deadlines. A session of n blocks
meets all deadlines with confidence c if each of its blocks is late with a probability of at most (1 - c)/n. A disk
therefore passes if e/(1 - e) <= min_j (1 - c_j)/n_j / N. If the sum of the longest possible times is at most T, no block
is ever late.

**Network.** Network times are deterministic. As long as no session is late, every session has at most one stripe on the
network. A block of session i first waits for at most one block of each session at its agent's processor. It then waits
for one stripe of each session at the ring (on a switch: at the agent's link and at the client's link). Last, it waits
for one stripe of each session of its client. If the sum of these times is at most tau_i for every session, no session
can be the first to be late. A packet takes the ring that becomes free first. With R rings, the sum is therefore divided
by R, except for the packet's own time.

**Choice of agents.** The load that a session puts on the ring and on its client does not depend on the agents of the
session. The test of an agent depends on the sessions at that agent, on the ring and on the clients, but not on the other
agents of the new session. A set of agents therefore fits under two conditions: each agent of the set passes its own
test, and the ring and the client leave enough time for sessions at agents that are not chosen (`shared`). If a stripe
shape needs K agents, any K of the agents that pass form a fitting set. If fewer than K agents pass, no set fits.

Assumptions: the set of sessions does not change within a busy period of a disk. The confidence allows some blocks to be
late at their disks; these blocks do not make blocks of other sessions late on the network. Simulations (`simulate`)
include both effects.

The test is sufficient, not necessary. Its bounds are above the actual times, so a rejected session might have met its
deadlines. In each period, a block is reserved at every agent of a session, parity blocks included. Stripes that are
released after the failure of an agent therefore meet their deadlines. The stripe at its disks at the time of the failure
may be up to a period late, because all sessions then read their parity blocks simultaneously.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_shapes import StripeShapes

# Because of rounding, a sum of times may exceed a limit that the exact sum just meets.
TOLERANCE = 1e-9
# For each part of the network path, the remedy if that part takes the longest time.
_REMEDIES = {
    "processor of agent": "give the agent a faster processor, add agents, or use a larger unit",
    "link of agent": "give the agents faster links, or use a larger unit",
    "ring": "use a faster ring, or add a ring",
    "processor of client": "use a faster client, or fewer simultaneous sessions of this client",
    "link of client": "give the client a faster link, or use fewer simultaneous sessions of this client",
}


def fits(ratio: NDArray | np.floating) -> NDArray | np.bool_:
    """Return whether a ratio of needed to allowed time is at most 1, with a tolerance for rounding."""
    return ratio <= 1 + TOLERANCE


@dataclass(frozen=True)
class AdmissionState:
    """The existing reservations against which the next session of a client is tested.

    The dimensions `shape` and `agent` of an array may have the length 1, if its values are equal for all stripe shapes
    or for all agents.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    count : ndarray, shape [shape, agent]
        Number of sessions at each agent.
    transfer : ndarray, shape [shape, agent]
        Transfer time of one block at the disk, summed over the sessions at the agent, seconds.
    path : ndarray, shape [shape, agent]
        Time of one block at the agent's processor and link, summed over the sessions at the agent, seconds.
    period : ndarray, shape [shape, agent]
        Shortest period of the sessions at the agent, seconds.
    budget : ndarray, shape [shape, agent]
        Allowed probability that a block is late: the smallest value over the sessions at the agent.
    slack : ndarray, shape [2, shape, agent]
        Smallest slack of the sessions of other clients (row 0) and of the same client (row 1) at the agent, seconds. The
        slack is tau minus the time at the session's client and minus `StripeShapes.pooled`.
    term : ndarray, shape [2, shape, agent]
        The period tau of the session with the smallest slack, seconds.
    ring : float or ndarray, shape [shape]
        Time of one stripe on the ring, summed over all sessions, seconds.
    reception : float
        Time of one stripe at the client of the next session, summed over the sessions of this client, seconds.
    """

    cluster: Cluster
    count: NDArray
    transfer: NDArray
    path: NDArray
    period: NDArray
    budget: NDArray
    slack: NDArray
    term: NDArray
    ring: float | NDArray
    reception: float


@dataclass(frozen=True)
class AdmissionTest:
    """The admission test of a request, for every stripe shape at every agent.

    The results are ratios of needed time to allowed time. A ratio above 1 means that the stripe shape does not fit.

    Parameters
    ----------
    request : Request
        The request.
    state : AdmissionState
        The existing reservations.
    shapes : StripeShapes
        The stripe shapes of the request that are tested.
    """

    request: Request
    state: AdmissionState
    shapes: StripeShapes

    @cached_property
    def disk(self) -> NDArray:
        """Return the ratio at the disk of each agent, `[shape, agent]`."""
        count = self.state.count + 1
        budget = np.minimum(self.state.budget, self.shapes.budget[:, None])
        # log 1/e for e/(1 - e) = budget/count
        rarity = np.log1p(count / budget)
        transfer = self.state.transfer + self.shapes.unit[:, None] / self.state.cluster.rates
        return (transfer + self.state.cluster.tail.positioning(count, rarity)) / self._disk_limit

    @property
    def _disk_limit(self) -> NDArray:
        """Return the shortest period of the sessions at each disk, including the new session, seconds."""
        return np.minimum(self.state.period, self.shapes.period[:, None])

    @property
    def _ring(self) -> NDArray:
        return (self.shapes.ring + self.state.ring)[:, None] + self.state.path

    @cached_property
    def unused(self) -> NDArray:
        """Return the ratio on the network at each agent if the new session does not use the agent, `[2, shape, agent]`.

        Row 0 is for sessions of other clients at the agent. Row 1 is for sessions of the same client at the agent.
        """
        # The slack of a session already includes the waiting time at its client. Sessions of this client also wait for
        # the reception of the new session.
        reception = np.stack([np.zeros(self.shapes.count), self.shapes.reception])[:, :, None]
        return 1 + (self._ring + reception - self.state.slack) / self.state.term

    @cached_property
    def network(self) -> NDArray:
        """Return the ratio on the network at each agent if the new session uses the agent, `[3, shape, agent]`.

        The first rows are the rows of `unused`. Row 2 is for the new session itself.
        """
        path, reception = self.shapes.path[:, None], self.shapes.reception[:, None]
        wait = self._ring + path + reception + (self.state.reception + self.shapes.pooled[:, None])
        own = wait / self.shapes.period[:, None]
        return np.concatenate([self.unused + path / self.state.term, own[None]])

    @cached_property
    def agent(self) -> NDArray:
        """Return the larger of the ratio at the disk and the ratio on the network, `[shape, agent]`."""
        return np.maximum(self.disk, self.network.max(axis=0))

    @cached_property
    def shared(self) -> NDArray:
        """Return the largest ratio on the network at an agent that the new session does not use, `[shape]`."""
        return self.unused.max(axis=(0, 2))

    @cached_property
    def nearest(self) -> NDArray:
        """Return the largest ratio of each stripe shape if its stripes use the least loaded agents, `[shape]`."""
        full = np.sort(self.agent, axis=1)
        return np.maximum(self.shared, full[np.arange(self.shapes.count), self.shapes.agents - 1])

    @property
    def everywhere(self) -> NDArray:
        """Return the largest ratio of each stripe shape at any agent, `[shape]`."""
        return np.maximum(self.shared, self.agent.max(axis=1))

    def violation(self, agents: Sequence[int]) -> Binding | None:
        """Return the constraint that a layout on these agents violates, or None. The layout has the first stripe shape."""
        chosen = np.array(agents)
        fitting = fits(max(self.shared[0], self.agent[0, chosen].max()))
        return None if fitting else self.binding(0, chosen)

    def binding(self, shape: int, agents: NDArray | None = None) -> Binding:
        """Return the constraint with the largest ratio, for one stripe shape.

        On the network, the session with the smallest slack in seconds represents all sessions at an agent.

        Parameters
        ----------
        shape : int
            Index of the stripe shape.
        agents : ndarray of int, optional
            Agents of the layout; by default the least loaded agents, in the number that the stripe shape needs.

        Returns
        -------
        Binding
            The constraint at the most loaded of these agents, or on the network at an agent that is not chosen.
        """
        each = self.agent[shape]
        if agents is None:
            agents = np.argsort(each, kind="stable")[: self.shapes.agents[shape]]
        agent = int(agents[each[agents].argmax()])
        if self.shared[shape] > each[agent]:
            agent = int(self.unused[:, shape].max(axis=0).argmax())
            return self._on_network(shape, agent, self.unused[:, shape, agent], 0.0)
        ways = self.network[:, shape, agent]
        if self.disk[shape, agent] >= ways.max():
            return self._at_disk(shape, agent)
        return self._on_network(shape, agent, ways, float(self.shapes.path[shape]))

    def _at_disk(self, shape: int, agent: int) -> Binding:
        others, unit, count = int(self.state.count[0, agent]), self.shapes.unit[shape], self.shapes.agents[shape]
        if self.request.layout is None:
            fitting = int(fits(self.agent[shape]).sum())
            waiting = "wait for a session to end, " if self.state.count.any() else ""
            remedy = (
                f"{count} agents needed, {fitting} have enough free time: {waiting}add agents, lower the rate, or buffer "
                "larger stripes"
            )
        else:
            remedy = "wait for a session at this agent to end, or request a lower rate"
        where = (
            f"disk of agent {agent}: seconds needed per period for {unit} bytes and one block of each of the agent's "
            f"{others} sessions"
        )
        limit = float(self._disk_limit[shape, agent])
        return Binding(where, float(self.disk[shape, agent]) * limit, limit, remedy)

    def _on_network(self, shape: int, agent: int, ways: NDArray, path: float) -> Binding:
        """Return the network constraint at an agent.

        ways: ratios of the sessions at the agent, as in `unused` or `network`. path: time of a block of the new session
        at the agent's processor and link, seconds.
        """
        state, shapes, way = self.state, self.shapes, int(ways.argmax())
        here, there = float(state.path[0, agent]) + path, state.reception + float(shapes.reception[shape])
        sending = float(shapes.processor[shape] / shapes.path[shape])
        receiving = float(shapes.client[shape] / shapes.reception[shape])
        seconds = {
            "processor of agent": here * sending,
            "link of agent": here * (1 - sending),
            "ring": state.ring + float(shapes.ring[shape]),
            "processor of client": there * receiving,
            "link of client": there * (1 - receiving),
        }
        fullest = max(seconds, key=seconds.__getitem__)
        machine = {"agent": f" {agent}", "client": f" {self.request.client}"}.get(fullest.split()[-1], "")
        whose = ("a session of another client", "another session of this client", "the session itself")[way]
        where = f"network: seconds needed per period by a block of {whose}, mostly at the {fullest}{machine}"
        remedy = f"{_REMEDIES[fullest]}; or request a lower rate, or wait for a session to end"
        limit = float(shapes.period[shape] if way == 2 else state.term[way, 0, agent])
        return Binding(where, float(ways[way]) * limit, limit, remedy)
