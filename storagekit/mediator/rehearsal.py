"""Simulate sessions together, block by block, and measure whether their stripes meet their deadlines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import Seed, validate
from storagekit.mediator.cluster import Cluster, require_agents
from storagekit.mediator.queues import Stations, flow
from storagekit.mediator.transfer_plan import TransferPlan

# Largest lateness that rounding causes, seconds.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Rehearsal:
    """Lateness of the stripes of simulated sessions.

    Parameters
    ----------
    in_time : ndarray, shape [session]
        Share of the stripes that meet their deadline. The deadline of stripe n is start + (n + 2) tau.
    lateness : ndarray, shape [session]
        Largest lateness of a stripe, seconds. The lateness is the completion time minus the deadline; it is negative for
        an early stripe.
    met : ndarray of bool, shape [session]
        Whether all stripes met their deadlines.
    stripes : tuple of ndarray
        For each session, the lateness of every stripe, seconds, `[stripe]`.
    """

    in_time: NDArray
    lateness: NDArray
    met: NDArray
    stripes: tuple[NDArray, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON, without the lateness of each stripe."""
        return {"in_time": self.in_time.tolist(), "lateness_s": self.lateness.tolist(), "met": self.met.tolist()}

    def __str__(self) -> str:
        worst = int(self.lateness.argmax())
        return (
            f"{int(self.met.sum())} of {self.met.size} sessions met all deadlines; {self.in_time.mean():.4%} of the "
            f"stripes were on time; the largest lateness was {self.lateness[worst]:.6g} s, in session {worst}"
        )


@validate
def rehearse(cluster: Cluster, plans: Sequence[TransferPlan], seed: Seed = 0) -> Rehearsal:
    """Simulate the path of every block of the plans through its disk and the network.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    plans : sequence of TransferPlan
        Plans of admitted sessions, with or without failed agents.
    seed : int
        Seed of the random numbers; 0 by default.

    Returns
    -------
    Rehearsal
        Lateness of the stripes.

    Raises
    ------
    InputError
        If there is no plan, if a plan has no transfers, if the cluster lacks an agent, or if the seed is not a whole
        number from 0.

    Notes
    -----
    Each seek time and rotational latency is random, uniform from 0 to twice its mean. Processor and network times are
    deterministic. Every resource serves exactly in order of arrival. A block that is late at its first stage arrives late
    at its second stage. Blocks that arrive simultaneously are served in the order of `plans`.

    References
    ----------
    swift, section 5.1.
    """
    if not plans:
        raise InputError("no plans: give at least one plan")
    found = [plan.transfers for plan in plans]
    counts = [one.count for one in found]
    if not all(counts):
        raise InputError(f"plan {counts.index(0)}: no transfers are left, because its agents failed; omit this plan")
    session = np.repeat(np.arange(len(plans)), counts)
    agent, length, check, stripe = (
        np.concatenate([getattr(one.blocks, name) for one in found]) for name in ("agent", "length", "check", "stripe")
    )
    require_agents(cluster, agent)
    names = {name: number for number, name in enumerate(dict.fromkeys(plan.client for plan in plans))}
    client = np.array([names[plan.client] for plan in plans])[session]
    write = np.array([plan.write for plan in plans])[session]
    disk, sent = (np.concatenate([getattr(one, name) for one in found]) for name in ("disk", "sent"))
    stations = _stations(cluster, agent, client, length, check, seed)
    finish = flow(stations, write, disk, sent)
    period, start = (np.array([getattr(plan, name) for plan in plans])[session] for name in ("period", "start"))
    return _judged(session, stripe, finish - (start + (stripe + 2) * period))


def _stations(
    cluster: Cluster, agent: NDArray, client: NDArray, length: NDArray, check: NDArray, seed: int
) -> list[Stations]:
    """Return the stations that a read passes, in order. A write passes them from the last to the first."""
    draw = np.random.Generator(np.random.Philox(key=seed))
    positioning = (2 * draw.random((2, agent.size)) * cluster.positioning[:, agent]).sum(axis=0)
    network, packet = cluster.network, cluster.network.seconds(length)
    checking = np.where(check > 0, cluster.client.check_seconds(check), 0.0)
    if network.switched:
        carried = [Stations(agent, packet, network.rings), Stations(client, packet, network.rings)]
    else:
        carried = [Stations(np.zeros_like(agent), packet, network.rings)]
    return [
        Stations(agent, positioning + length / cluster.rates[agent]),
        Stations(agent, cluster.agent.seconds(length)),
        *carried,
        Stations(client, cluster.client.seconds(length) + checking),
    ]


def _judged(session: NDArray, stripe: NDArray, lateness: NDArray) -> Rehearsal:
    """Return the result of the simulation. The lateness of a stripe is the lateness of its latest block.

    The blocks must be sorted by session, then by stripe.
    """
    new = (np.diff(session, prepend=-1) != 0) | (np.diff(stripe, prepend=-1) != 0)
    first = np.flatnonzero(new)
    latest = np.maximum.reduceat(lateness, first)
    each = tuple(np.split(latest, np.flatnonzero(np.diff(session[first])) + 1))
    worst = np.array([one.max() for one in each])
    share = np.array([np.mean(one <= _ROUNDING) for one in each])
    return Rehearsal(share, worst, worst <= _ROUNDING, each)
