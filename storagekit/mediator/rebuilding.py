"""A lost agent's blocks restored on a spare one."""

from dataclasses import dataclass, replace

import numpy as np

from storagekit.core.checks import require, require_number
from storagekit.core.errors import InputError
from storagekit.core.kinds import MOMENT, NUMBER, a, takes
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.stripe_layout import StripeLayout
from storagekit.mediator.transfers import Transfers


@dataclass(frozen=True)
class Rebuild:
    """reads: the group's other blocks, sent to the spare agent, which takes them together; writes: what it puts on its disk.

    layout: of the object afterwards; failed, spare: agents; seconds: the least time it takes, that of the `bottleneck`, the
    agent whose disk needs longest.
    """

    layout: StripeLayout
    failed: int
    spare: int
    reads: Transfers
    writes: Transfers
    bottleneck: int
    seconds: float


@takes(layout=a(StripeLayout), failed=NUMBER, spare=NUMBER, cluster=a(Cluster), start=MOMENT)
def rebuild(
    layout: StripeLayout, failed: int, spare: int, cluster: Cluster, share: float = 1.0, start: float = 0.0
) -> Rebuild:
    """The transfers that restore the blocks of agent `failed` on agent `spare`, and how long they take at least.

        seconds = max over the disks concerned of (sum of the mean times of its blocks) / share

    share: of a disk's time that is left to it. A stripe is restored for each part of that time: read in the first, sent in
    the second, written in the third. Raises InputError where the object has no parity, the failed agent holds nothing of
    it, the spare one does or is not in the cluster, or the share is not above 0 and at most 1.
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
    # sent with the reads, on disk in the period after
    writes = Transfers.timed(written, start + pace, pace, write=True)
    return Rebuild(layout.replaced(failed, spare), failed, spare, reads, writes, bottleneck, seconds)


def _busy(cluster: Cluster, agent: int, lengths: np.ndarray) -> float:
    return float(cluster.disks[agent].mean(lengths).sum())


def _require_possible(layout: StripeLayout, failed: int, spare: int, cluster: Cluster, share: float) -> None:
    require_number("share", share)
    require(0 < share <= 1, "share", share, "above 0 and at most 1", "of a disk's time")
    if not layout.parity:
        raise InputError(f"agent {failed}: the object has no parity to restore it from; store it with a group")
    if failed not in layout.agents:
        raise InputError(f"agent {failed}: it holds nothing of the object, which is on agents {list(layout.agents)}")
    if spare in layout.agents:
        raise InputError(f"spare agent {spare}: it holds blocks of the object already; take one that does not")
    if not 0 <= spare < cluster.agents or max(layout.agents) >= cluster.agents:
        worst = max(spare, *layout.agents) if spare >= 0 else spare
        raise InputError(f"agent {worst}: the cluster has agents 0 to {cluster.agents - 1}; name one of these")
