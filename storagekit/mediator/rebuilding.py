"""Restore the blocks of a lost agent on a spare agent."""

from dataclasses import dataclass, replace

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import REAL, Moment, Whole, require, validate
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.stripe_layout import StripeLayout
from storagekit.mediator.transfers import Transfers


@dataclass(frozen=True)
class Rebuild:
    """The transfers that restore a lost agent's blocks.

    Parameters
    ----------
    layout : StripeLayout
        Layout of the object after the rebuild.
    failed, spare : int
        The lost agent and the spare agent.
    reads : Transfers
        Reads of the other blocks of each parity group that lost a block. The blocks are sent to the spare agent, which
        computes the lost blocks.
    writes : Transfers
        The blocks that the spare agent writes to its disk.
    bottleneck : int
        The agent whose disk needs the longest time.
    seconds : float
        Minimum duration of the rebuild, which the bottleneck determines, seconds.
    """

    layout: StripeLayout
    failed: int
    spare: int
    reads: Transfers
    writes: Transfers
    bottleneck: int
    seconds: float


@validate
def rebuild(
    layout: StripeLayout, failed: Whole, spare: Whole, cluster: Cluster, share: float = 1.0, start: Moment = 0.0
) -> Rebuild:
    """Return the transfers that restore the blocks of agent `failed` on agent `spare`, and their minimum duration.

    Parameters
    ----------
    layout : StripeLayout
        Layout of the object.
    failed : int
        The lost agent.
    spare : int
        The agent that receives the restored blocks.
    cluster : Cluster
        The agents and the network.
    share : float
        Share of a disk's time that the rebuild may use; 1 by default.
    start : float
        Time at which the rebuild begins, seconds; 0 by default.

    Returns
    -------
    Rebuild
        The transfers and the duration.

    Raises
    ------
    InputError
        If the object has no parity, if the failed agent holds no part of the object, if the spare agent already holds a
        part of it, if the cluster lacks the spare agent or an agent of the layout, or if the share is not above 0 and
        at most 1.

    Notes
    -----
    The duration is

        seconds = (largest sum, over the disks, of the mean times of the blocks that a disk reads or writes) / share

    The duration is divided into equal periods, one for each lost block. A stripe is read in its first period, sent in
    the second and written in the third.
    """
    _require_possible(layout, failed, spare, cluster, share)
    blocks = layout.blocks()
    lost = blocks.agent == failed
    group = (blocks.group == layout.group_of(failed)) & np.isin(blocks.stripe, blocks.stripe[lost])
    others, own = blocks.where(group & ~lost), blocks.where(lost)
    written = replace(own, agent=np.full_like(own.agent, spare))
    times = {spare: _busy(cluster, spare, written.length)}
    for agent in layout.groups[layout.group_of(failed) or 0]:
        if agent != failed:
            times[agent] = _busy(cluster, agent, others.length[others.agent == agent])
    bottleneck = max(times, key=times.__getitem__)
    seconds = times[bottleneck] / share
    pace = seconds / own.count
    reads = Transfers.timed(others, start, pace, write=False)
    # Restored blocks have the same network stage as the reads. Their disk stage is one period after the network stage.
    writes = Transfers.timed(written, start + pace, pace, write=True)
    return Rebuild(layout.replaced(failed, spare), failed, spare, reads, writes, bottleneck, seconds)


def _busy(cluster: Cluster, agent: int, lengths: np.ndarray) -> float:
    return float(cluster.disks[agent].mean(lengths).sum())


def _require_possible(layout: StripeLayout, failed: int, spare: int, cluster: Cluster, share: float) -> None:
    REAL("share", share)
    require(0 < share <= 1, "share", share, "above 0 and at most 1", "of a disk's time")
    if not layout.parity:
        raise InputError(
            f"agent {failed}: the object has no parity, so the agent cannot be rebuilt; store the object with parity "
            "(argument `group`)"
        )
    if failed not in layout.agents:
        raise InputError(
            f"agent {failed}: this agent holds no part of the object; give one of the agents {list(layout.agents)}"
        )
    if spare in layout.agents:
        raise InputError(
            f"spare agent {spare}: this agent already has blocks of the object; give an agent without such blocks"
        )
    if not 0 <= spare < cluster.agents or max(layout.agents) >= cluster.agents:
        worst = max(spare, *layout.agents) if spare >= 0 else spare
        raise InputError(f"agent {worst}: the cluster has agents 0 to {cluster.agents - 1}; give one of these")
