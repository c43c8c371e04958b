"""The admission test: whether a new session fits together with the sessions that have reservations.

Resources serve in order of arrival. A session releases a block at each of its agents once in a period tau.

**Disks.** A block b of session i is released at time t to disk a. Let s be the release that began the current busy
period. b is late if the blocks released from s to t take more than tau_i + u, u = t - s. Session j has at most 1 +
u/tau_j of them. Let T be the least tau_j at a. Let e be the bound of `analytic.forkjoin.tail` on P(one block of each
session takes more than T), theta its parameter, and L the sum of the sessions' log M. Then L = theta T - log 1/e, and
by Chernoff's bound

    P(b late, busy since s) <= exp(L + u sum_j (log M_j)/tau_j - theta (tau_i + u)) <= e exp(-u log(1/e) / T),

as sum_j (log M_j)/tau_j <= L/T. The busy period begins with a release of one of the N sessions at a, whose releases are
tau_j >= T apart. The sum over all releases that could have begun it is P(b late) <= N e / (1 - e). The bound does not
assume that any block before b was in time. A session of n blocks is met with confidence c if each of its blocks is late
with a probability of at most (1 - c)/n. So a disk passes if e/(1 - e) <= min_j (1 - c_j)/n_j / N. If the longest times
together are at most T, no block is ever late.

**Network.** Its times are certain. As long as no session is late, every session has at most one stripe in this stage. A
block of session i first waits at most for one block of each session at its agent's processor. It then waits for one
stripe of each session at the ring (on a switch: at the agent's link and at the client's link). Last, it waits for one
stripe of each session of its client. If these sums together are at most tau_i for every session, no session can be the
first to be late. Packets take the ring that is free first, so R rings divide their sum by R, except for the packet's
time itself.

**Choice.** The load of a session on the ring and on its client does not depend on its agents. The test of an agent
depends on the sessions at that agent, on the ring and on the clients, not on the session's other agents. So a set of
agents fits under two conditions: each agent fits alone, and the ring and the client leave enough time for sessions at
agents that are not chosen (`shared`). Any K of the agents that fit alone are a fitting set. If fewer than K fit alone,
no set fits.

Assumptions: the set of sessions does not change within a busy period of a disk. A block that is late at its disk, which
the confidence allows, does not make blocks of other sessions late on the network. Simulations (`rehearse`) include both
effects.

The test is sufficient, not necessary: its bounds are above the actual times, so a refused session might have been met.
A block is reserved at every agent for each period, parity included, so stripes after an agent's failure are in time.
The stripe at its disks at the time of the failure may be up to a period late, because all sessions then read their
parity blocks at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.mediator.demand import Demand

# A sum of times that are each rounded up by up to 15 ps may exceed a limit that it meets exactly.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class AdmissionState:
    """The reservations that the next session of a client meets.

    `evenly` tests every shape against other sessions of that shape: fields of shape `[agent]` then have the shape
    `[shape, 1]`, and `ring` has the shape `[shape]`.

    Parameters
    ----------
    tail : Tail
        The bound on the positioning time at each disk.
    count : ndarray, shape [agent]
        Number of sessions at each agent.
    transfer : ndarray, shape [agent]
        Seconds that one block of each of these sessions takes to transfer at the disk, in sum.
    path : ndarray, shape [agent]
        Seconds that one block of each of these sessions takes at the agent's processor and link, in sum.
    period : ndarray, shape [agent]
        Shortest period of these sessions, seconds.
    budget : ndarray, shape [agent]
        Least probability with which a block of these sessions may be late.
    other_slack : ndarray, shape [agent]
        Least slack of the sessions of other clients at the agent, seconds. The slack is tau minus the time at the
        session's client and minus the undivided part (`Demand.pooled`).
    other_term : ndarray, shape [agent]
        The period tau of the session with that slack, seconds.
    own_slack, own_term : ndarray, shape [agent]
        The same values for the sessions of this client.
    ring : float
        Seconds that one stripe of each session takes on the ring, in sum.
    reception : float
        Seconds that one stripe of each session of this client takes at the client, in sum.
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
    """Ratios of needed time to allowed time; a ratio above 1 means that the shape does not fit.

    Parameters
    ----------
    disk : ndarray, shape [shape, agent]
        Ratio at the disk of each agent.
    network : ndarray, shape [shape, agent]
        Ratio on the network if the agent is chosen.
    shared : ndarray, shape [shape]
        Ratio on the network at the agents that are not chosen, whatever the choice.
    """

    disk: NDArray
    network: NDArray
    shared: NDArray

    @property
    def agent(self) -> NDArray:
        """Return the larger ratio of disk and network, `[shape, agent]`."""
        return np.maximum(self.disk, self.network)

    def nearest(self, agents: NDArray) -> NDArray:
        """Return the largest ratio of each shape at its least loaded agents, `[shape]`.

        The shape does not fit if the ratio is above 1.

        Parameters
        ----------
        agents : ndarray of int, shape [shape]
            Number of agents that each shape needs.
        """
        full = np.sort(self.agent, axis=1)
        return np.maximum(self.shared, full[np.arange(agents.size), agents - 1])


def fits(ratio: NDArray | np.floating) -> NDArray | np.bool_:
    """Return whether a ratio of needed to allowed time is at most 1, with a tolerance for rounding."""
    return ratio <= 1 + TOLERANCE


def examine(state: AdmissionState, asked: Demand) -> Examined:
    """Return the result of the admission test for every shape at every agent."""
    ways, shared = network_ways(state, asked)
    return Examined(_disks(state, asked), ways.max(axis=0), shared.max(axis=(0, 2)))


def disk_limit(state: AdmissionState, asked: Demand) -> NDArray:
    """Return the shortest period at each disk with the new session included, seconds, `[shape, agent]`."""
    return np.minimum(state.period, asked.period[:, None])


def network_limit(state: AdmissionState, asked: Demand) -> NDArray:
    """Return the periods by which `network_ways` divides its times, seconds, `[way, shape, agent]`.

    The first two ways are also the periods of the ratios of agents that are not chosen.
    """
    shape = asked.transfer.shape
    return np.stack(
        [np.broadcast_to(term, shape) for term in (state.other_term, state.own_term, asked.period[:, None])]
    )


def network_ways(state: AdmissionState, asked: Demand) -> tuple[NDArray, NDArray]:
    """Return the ratio of network time to period, if an agent is chosen and if it is not.

    Returns
    -------
    tuple of ndarray
        Ratios if the agent is chosen, `[3, shape, agent]`, and if it is not, `[2, shape, agent]`. Way 0 is for sessions
        of other clients at the agent, way 1 for sessions of this client there. Way 2 is for the new session itself, if
        the agent is chosen.
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
