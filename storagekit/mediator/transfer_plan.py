"""The transfer plan of a session: what a mediator hands to the distribution agent (swift, section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from storagekit.core.checks import require_positive, shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import MOMENT, NUMBER, Kind, a, flag, hold, several, text
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.rebuilding import Rebuild, rebuild
from storagekit.mediator.stripe_layout import StripeLayout
from storagekit.mediator.transfers import Transfers

# when an agent fails: -inf is before anything
_LOST_AT = Kind(unit="s", endless=True, otherwise=" of seconds; leave it out for before anything")


def _failure(label: str, value: object) -> tuple[int, float]:
    """The kind of an agent and the moment at which it is lost."""
    if not isinstance(value, Sequence) or len(value) != 2 or isinstance(value, str | bytes):
        raise InputError(f"{label} {shown(value)}: give an agent and the second at which it fails, as in (3, 1.5)")
    return NUMBER("agent", value[0]), _LOST_AT("at", value[1])


@dataclass(frozen=True)
class TransferPlan:
    """Which block moves from or to which agent, and when.

    Stripe n of a read is at its disks from start + n tau until start + (n + 1) tau and on the network from then until
    start + (n + 2) tau, tau the period; a write is on the network first. Blocks are released together at the start of a
    period and have its length. `failures` are agents and the moment at which each is lost. Raises InputError for a rate that
    is not above 0 and finite, and for what is of another kind than it should be.
    """

    layout: StripeLayout
    client: str
    rate: float
    write: bool
    start: float = 0.0
    failures: tuple[tuple[int, float], ...] = ()

    def __post_init__(self):
        require_positive("rate", self.rate, "bytes/s")
        hold(
            self,
            layout=a(StripeLayout),
            client=text,
            write=flag,
            start=MOMENT,
            failures=several(_failure, of="agents with moments"),
        )

    @property
    def period(self) -> float:
        """tau: seconds that a stripe lasts."""
        return self.layout.period(self.rate)

    @property
    def end(self) -> float:
        """When the last stripe is there: tau after its second stage was released."""
        return self.start + (self.layout.stripes + 1) * self.period

    @property
    def failed(self) -> tuple[int, ...]:
        return tuple(agent for agent, _ in self.failures)

    @cached_property
    def transfers(self) -> Transfers:
        """All of them, stripe by stripe."""
        every = Transfers.timed(self.layout.blocks(), self.start, self.period, self.write)
        if self.write:
            return every.where(~self._lost(every))
        return self._with_parity(every)

    def degraded(self, failed: int | Sequence[int], at: float | Sequence[float] = -np.inf) -> "TransferPlan":
        """The plan once agents fail, each at a moment `at`, in seconds; the default is before anything.

        A block whose disk stage is to end by then has come through. For every other one of a read, the parity block of its
        group and stripe is read too, the rest of the group being read anyhow: at the moment of the failure, and up to a
        period later than planned, for the stripe then at its disks (its agent had no block to read in that stripe), in time
        for all others, as a session reserves a block for each period at every agent. A write goes on without the failed
        agent's blocks and can be read as long as no second agent of a group fails. Agents without a part of the object
        change nothing; of several moments of one agent the earliest counts. Raises InputError where two agents of a group
        fail, there is no parity, or the moments are not one for all or one for each.
        """
        agents = [NUMBER("agent", one) for one in np.atleast_1d(failed).tolist()]
        moments = np.atleast_1d(_LOST_AT.each("at", at)).astype(float).tolist()
        if len(moments) not in (1, len(agents)):
            raise InputError(
                f"at {moments}: {len(moments)} moments for {len(agents)} agents; give one, or one for each"
            )
        if len(moments) == 1:
            moments *= len(agents)
        found = dict(self.failures)
        for agent, moment in zip(agents, moments, strict=True):
            number = self.layout.group_of(agent)
            if number is None:
                continue
            if agent not in found:
                self._require_spare(agent, number, list(found))
            found[agent] = min(moment, found.get(agent, moment))
        return replace(self, failures=tuple(found.items()))

    def rebuild(self, failed: int, spare: int, cluster: Cluster, share: float = 1.0) -> Rebuild:
        """What restores a lost agent's blocks on a spare one, see `rebuild`."""
        return rebuild(self.layout, failed, spare, cluster, share, self.start)

    def __str__(self) -> str:
        layout = self.layout
        groups = f", groups {list(layout.groups)} with parity" if layout.parity else ""
        lines = [
            f"{'write' if self.write else 'read'} of {layout.size} bytes at {self.rate:g} bytes/s for {self.client}",
            f"{layout.data} blocks of {layout.unit} bytes in a stripe on agents {list(layout.agents)}{groups}",
            f"{layout.stripes} stripes, one for every {self.period:.6g} s, {self.transfers.count} transfers",
        ]
        lines += [f"agent {agent} fails at {at:g} s" for agent, at in self.failures]
        return "\n".join([*lines, "", str(self.transfers)])

    def _require_spare(self, agent: int, number: int, others: list[int]) -> None:
        group = self.layout.groups[number]
        if not self.layout.parity:
            raise InputError(
                f"agent {agent} fails: the object on agents {list(group)} has no parity and cannot be read without it; "
                "store it with a group"
            )
        if lost := [other for other in others if other in group]:
            raise InputError(
                f"agents {lost[0]} and {agent} fail: both are in group {number}, agents {list(group)}, whose parity "
                "stands in for 1; use smaller groups"
            )

    def _lost(self, every: Transfers) -> NDArray:
        """Transfers that their agent's failure keeps from coming through."""
        lost = np.zeros(every.count, bool)
        for agent, at in self.failures:
            lost |= (every.blocks.agent == agent) & (every.disk_by > at)
        return lost

    def _with_parity(self, every: Transfers) -> Transfers:
        """Data blocks that come through, and the parity blocks that stand in for the others."""
        blocks = every.blocks
        lost = self._lost(every) & ~blocks.parity
        place = blocks.stripe * len(self.layout.groups) + blocks.group
        needed = blocks.parity & np.isin(place, place[lost])
        moment = np.full(len(self.layout.groups), -np.inf)
        for agent, at in self.failures:
            moment[self.layout.group_of(agent)] = at
        late = np.where(needed, np.maximum(moment[blocks.group] - every.disk, 0.0), 0.0)
        return every.delayed(late).where((~blocks.parity & ~lost) | needed)
