"""The admission test: does a session fit beside those that hold reservations?

Resources serve in order of arrival, and a session releases a block at each of its agents once in a period tau.

**Disks.** A block b of session i is released at time t to disk a. Let s be the release that began the busy period then on.
b is late if the blocks released from s to t take more than tau_i + u, u = t - s; session j has at most 1 + u/tau_j of
them. With e the bound of `analytic.forkjoin.tail` on P(one block of each session takes more than T), T the least tau_j at
a, theta its parameter, L the sum of the sessions' log M: L = theta T - log 1/e, and by Chernoff once more

    P(b late, busy since s) <= exp(L + u sum_j (log M_j)/tau_j - theta (tau_i + u)) <= e exp(-u log(1/e) / T),

as sum_j (log M_j)/tau_j <= L/T. The busy period begins with a release of one of the N sessions at a, whose releases are
tau_j >= T apart, so the sum over all that could have begun it is P(b late) <= N e / (1 - e): no block before b is taken
to have been in time. A session of n blocks is met with confidence c if each of its blocks is late with at most (1 - c)/n,
so a disk passes if e/(1 - e) <= min_j (1 - c_j)/n_j / N. Where the longest times together are at most T, none is ever late.

**Network.** Its times are certain: as long as nobody is late, every session has at most one stripe in this stage, so that a
block of session i waits at most for one block of each session at its agent's processor, then for one stripe of each at
the ring (on a switch: at the agent's link and at the client's), then for one stripe of each session of its client. If these
sums together are at most tau_i for every session, no first one can be late. Packets take the ring that is free first, so R
rings divide their sum by R, but for the packet's own time.

**Choice.** What a session asks of the ring and of its client does not depend on which agents it has, and the test of an agent
depends on the sessions at that agent, on the ring and on the clients, not on the session's other agents. So a set of agents
fits if each of it fits alone, and if the ring and the client leave room for sessions at agents not chosen (`shared`); any
K of the agents that fit alone are a fitting set, and if fewer than K do, there is none.

Assumed: the set of sessions does not change within a busy period of a disk; a block that is late at its disk, which the
confidence allows, does not make blocks of others late on the network. Rehearsals have both.

The test is sufficient, not necessary: its bounds are above what happens, so a session that is refused might have been met.
A block is reserved at every agent for each period, parity too, so stripes after an agent's failure are in time; the stripe
at its disks at that moment may be up to a period late, as the parity blocks of all sessions are then asked for at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.mediator.demand import Demand

# a sum of times rounded up to 15 ps each may pass a limit that it meets exactly
TOLERANCE = 1e-9


@dataclass(frozen=True)
class AdmissionState:
    """What is reserved, as a client's next session sees it.

    `[agent]`: count of sessions; transfer, path: their seconds in sum; period: the shortest; budget: the least; of the
    sessions at each agent, those of other clients and those of this one: slack, the least of tau less what its client takes
    and the undivided part, and term, the tau of that session. ring: seconds; reception: of this client. Where every shape has
    others of its own to meet (`evenly`), `[shape, 1]` in place of `[agent]`, and `[shape]` for ring.
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
    """Needed over allowed time: disk, network `[shape, agent]` if the agent is chosen, shared `[shape]` whatever is."""

    disk: NDArray
    network: NDArray
    shared: NDArray

    @property
    def agent(self) -> NDArray:
        """The fuller of disk and network, `[shape, agent]`."""
        return np.maximum(self.disk, self.network)

    def nearest(self, agents: NDArray) -> NDArray:
        """How near a shape comes that needs so many `agents`: over 1 if it does not fit, `[shape]`."""
        full = np.sort(self.agent, axis=1)
        return np.maximum(self.shared, full[np.arange(agents.size), agents - 1])


def fits(ratio: NDArray | np.floating) -> NDArray | np.bool_:
    """Whether what is needed is at most what is allowed."""
    return ratio <= 1 + TOLERANCE


def examine(state: AdmissionState, asked: Demand) -> Examined:
    """The test of every shape at every agent."""
    ways, shared = network_ways(state, asked)
    return Examined(_disks(state, asked), ways.max(axis=0), shared.max(axis=(0, 2)))


def disk_limit(state: AdmissionState, asked: Demand) -> NDArray:
    """The shortest period at each disk, seconds, `[shape, agent]`."""
    return np.minimum(state.period, asked.period[:, None])


def network_limit(state: AdmissionState, asked: Demand) -> NDArray:
    """The periods that the ways of `network_ways` are over, `[way, shape, agent]`; of `shared`, the first two."""
    shape = asked.transfer.shape
    return np.stack(
        [np.broadcast_to(term, shape) for term in (state.other_term, state.own_term, asked.period[:, None])]
    )


def network_ways(state: AdmissionState, asked: Demand) -> tuple[NDArray, NDArray]:
    """Time on the network over the period, `[way, shape, agent]`: if an agent is chosen, and if it is not.

    Ways: of sessions of other clients at the agent, of this client's sessions there, and of the session itself if chosen.
    """
    ring = (asked.ring + state.ring)[:, None] + state.path
    reception = asked.reception[:, None]
    path = asked.path[:, None]
    # what a session waits for at its client is part of its slack; this client's will wait for the new session too
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
