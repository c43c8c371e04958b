"""Sessions simulated together, block by block: are their stripes in time?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.kinds import a, several, takes
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.queues import Stations, flow
from storagekit.mediator.seeding import generator
from storagekit.mediator.transfer_plan import TransferPlan

# lateness that rounding makes, seconds
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Rehearsal:
    """How sessions fared, `[session]`.

    in_time: share of the stripes that are there by start + (n + 2) tau; lateness: seconds of the latest stripe after that,
    below 0 where all had time left; met: whether all were in time; stripes: the lateness of every stripe, `[stripe]` each.
    """

    in_time: NDArray
    lateness: NDArray
    met: NDArray
    stripes: tuple[NDArray, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the stripes left out."""
        return {"in_time": self.in_time.tolist(), "lateness_s": self.lateness.tolist(), "met": self.met.tolist()}

    def __str__(self) -> str:
        worst = int(self.lateness.argmax())
        return (
            f"{int(self.met.sum())} of {self.met.size} sessions met, {self.in_time.mean():.4%} of the stripes in time; "
            f"the latest by {self.lateness[worst]:.6g} s, of session {worst}"
        )


@takes(cluster=a(Cluster), plans=several(a(TransferPlan), of="plans"))
def rehearse(cluster: Cluster, plans: Sequence[TransferPlan], seed: int = 0) -> Rehearsal:
    """Every block of the plans of admitted sessions, degraded or not, through its disk and the network.

    Each seek and rotation is drawn, uniform from 0 to twice its mean (swift, section 5.1); processors and network take
    their certain times. Every resource serves in order of arrival, exactly; a block late at its first stage comes late to
    its second. Ties are served in the order of `plans`. Raises InputError for no plan, an agent
    that the cluster lacks, or a seed that is not a whole number from 0.
    """
    if not plans:
        raise InputError("plans: none given; give at least 1")
    found = [plan.transfers for plan in plans]
    counts = [one.count for one in found]
    if not all(counts):
        raise InputError(f"plan {counts.index(0)}: it has no transfers, as its agents failed; leave it out")
    session = np.repeat(np.arange(len(plans)), counts)
    agent, length, check, stripe = (
        np.concatenate([getattr(one.blocks, name) for one in found]) for name in ("agent", "length", "check", "stripe")
    )
    if agent.max() >= cluster.agents:
        raise InputError(f"agent {agent.max()}: the cluster has agents 0 to {cluster.agents - 1}; name one of these")
    names = {name: number for number, name in enumerate(dict.fromkeys(plan.client for plan in plans))}
    client = np.array([names[plan.client] for plan in plans])[session]
    write = np.array([plan.write for plan in plans])[session]
    disk, sent = (np.concatenate([getattr(one, name) for one in found]) for name in ("disk", "sent"))
    stations = _stations(cluster, agent, client, length, check, seed)
    finish = flow(stations, write, disk, sent)
    period, start = (np.array([getattr(plan, name) for plan in plans])[session] for name in ("period", "start"))
    return _judged(session, stripe, finish - (start + (stripe + 2) * period), len(plans))


def _stations(
    cluster: Cluster, agent: NDArray, client: NDArray, length: NDArray, check: NDArray, seed: int
) -> list[Stations]:
    """What a read passes, in order; a write passes them from the last to the first."""
    draw = generator(seed)
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


def _judged(session: NDArray, stripe: NDArray, lateness: NDArray, count: int) -> Rehearsal:
    """A stripe is as late as its latest block; blocks come session by session, stripe by stripe."""
    new = (np.diff(session, prepend=-1) != 0) | (np.diff(stripe, prepend=-1) != 0)
    first = np.flatnonzero(new)
    latest = np.maximum.reduceat(lateness, first)
    each = tuple(np.split(latest, np.flatnonzero(np.diff(session[first])) + 1))
    worst = np.array([one.max() for one in each])
    share = np.array([np.mean(one <= _ROUNDING) for one in each])
    return Rehearsal(share, worst, worst <= _ROUNDING, each)
