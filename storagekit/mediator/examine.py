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
late at their disks; these blocks do not make blocks of other sessions late on the network. Simulations (`rehearse`)
include both effects.

The test is sufficient, not necessary. Its bounds are above the actual times, so a rejected session might have met its
deadlines. In each period, a block is reserved at every agent of a session, parity blocks included. Stripes that are
released after the failure of an agent therefore meet their deadlines. The stripe at its disks at the time of the failure
may be up to a period late, because all sessions then read their parity blocks simultaneously.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.mediator.demand import Demand

# Each time is rounded up by up to 15 ps. A sum of such times may exceed a limit that the exact sum just meets.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class AdmissionState:
    """The existing reservations against which the next session of a client is tested.

    The function `evenly` tests each stripe shape (`StripeShapes`) separately, against sessions of the same stripe
    shape. Its `AdmissionState` (see `among_others`) has other dimensions: `transfer` is `[shape, agent]`, `ring` is
    `[shape]`, and the other arrays, listed below as `[agent]`, are `[shape, 1]`.

    Parameters
    ----------
    tail : Tail
        The bound on the positioning time at each disk.
    count : ndarray, shape [agent]
        Number of sessions at each agent.
    transfer : ndarray, shape [agent]
        Transfer time of one block at the disk, summed over the sessions at the agent, seconds.
    path : ndarray, shape [agent]
        Time of one block at the agent's processor and link, summed over the sessions at the agent, seconds.
    period : ndarray, shape [agent]
        Shortest period of the sessions at the agent, seconds.
    budget : ndarray, shape [agent]
        Allowed probability that a block is late: the smallest value over the sessions at the agent.
    other_slack : ndarray, shape [agent]
        Smallest slack of the sessions of other clients at the agent, seconds. The slack is tau minus the time at the
        session's client and minus `Demand.pooled`.
    other_term : ndarray, shape [agent]
        The period tau of the session with the smallest slack, seconds.
    own_slack, own_term : ndarray, shape [agent]
        As `other_slack` and `other_term`, but for the sessions of the client of the next session.
    ring : float
        Time of one stripe on the ring, summed over all sessions, seconds.
    reception : float
        Time of one stripe at the client of the next session, summed over the sessions of this client, seconds.
    """

    tail: Tail
    count: NDArray
    transfer: NDArray
    path: NDArray
    period: NDArray
    budget: NDArray
    other_slack: NDArray
    other_term: NDArray
    own_slack: NDArray
    own_term: NDArray
    ring: float | NDArray
    reception: float


@dataclass(frozen=True)
class Examined:
    """Ratios of needed time to allowed time. A ratio above 1 means that the stripe shape does not fit.

    Parameters
    ----------
    disk : ndarray, shape [shape, agent]
        Ratio at the disk of each agent.
    network : ndarray, shape [shape, agent]
        Ratio on the network at each agent if the new session uses this agent.
    shared : ndarray, shape [shape]
        Ratio on the network at an agent that the new session does not use; the largest value over all agents.
    """

    disk: NDArray
    network: NDArray
    shared: NDArray

    @property
    def agent(self) -> NDArray:
        """Return the larger of the ratio at the disk and the ratio on the network, `[shape, agent]`."""
        return np.maximum(self.disk, self.network)

    def nearest(self, agents: NDArray) -> NDArray:
        """Return the largest ratio of each stripe shape if its stripes use the least loaded agents, `[shape]`.

        The stripe shape does not fit if the ratio is above 1.

        Parameters
        ----------
        agents : ndarray of int, shape [shape]
            Number of agents that each stripe shape needs.
        """
        full = np.sort(self.agent, axis=1)
        return np.maximum(self.shared, full[np.arange(agents.size), agents - 1])


def fits(ratio: NDArray | np.floating) -> NDArray | np.bool_:
    """Return whether a ratio of needed to allowed time is at most 1, with a tolerance for rounding."""
    return ratio <= 1 + TOLERANCE


def examine(state: AdmissionState, asked: Demand) -> Examined:
    """Return the result of the admission test for every stripe shape at every agent."""
    ways, shared = network_ways(state, asked)
    return Examined(_disks(state, asked), ways.max(axis=0), shared.max(axis=(0, 2)))


def disk_limit(state: AdmissionState, asked: Demand) -> NDArray:
    """Return the shortest period of the sessions at each disk, including the new session, seconds, `[shape, agent]`."""
    return np.minimum(state.period, asked.period[:, None])


def network_limit(state: AdmissionState, asked: Demand) -> NDArray:
    """Return the period by which `network_ways` divides each network time, seconds, `[3, shape, agent]`.

    The first two rows are also the periods for agents that are not chosen.
    """
    shape = asked.transfer.shape
    return np.stack(
        [np.broadcast_to(term, shape) for term in (state.other_term, state.own_term, asked.period[:, None])]
    )


def network_ways(state: AdmissionState, asked: Demand) -> tuple[NDArray, NDArray]:
    """Return the ratio of network time to period at each agent, if the new session uses the agent and if it does not.

    Returns
    -------
    tuple of ndarray
        Ratios if the new session uses the agent, `[3, shape, agent]`, and if it does not, `[2, shape, agent]`. Row 0 is
        for sessions of other clients at the agent. Row 1 is for sessions of the same client at the agent. Row 2 is for
        the new session itself.
    """
    ring = (asked.ring + state.ring)[:, None] + state.path
    reception = asked.reception[:, None]
    path = asked.path[:, None]
    # The slack of a session already includes the waiting time at its client. Sessions of this client also wait for the
    # reception of the new session.
    other = 1 + (ring - state.other_slack) / state.other_term
    same = 1 + (ring + reception - state.own_slack) / state.own_term
    own = (ring + path + reception + (state.reception + asked.pooled[:, None])) / asked.period[:, None]
    ways = np.stack([other + path / state.other_term, same + path / state.own_term, own])
    return ways, np.stack([other, same])


def _disks(state: AdmissionState, asked: Demand) -> NDArray:
    count = state.count + 1
    budget = np.minimum(state.budget, asked.budget[:, None])
    # log 1/e for e/(1 - e) = budget/count
    rarity = np.log1p(count / budget)
    needed = state.transfer + asked.transfer + state.tail.positioning(count, rarity)
    return needed / disk_limit(state, asked)
