"""The transfer plan of a session, which a mediator returns for the client's distribution agent (swift, section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import NUMBER, Moment, Speed, Validator, several, shown, validate_fields
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.rebuilding import Rebuild, rebuild
from storagekit.mediator.stripe_layout import StripeLayout
from storagekit.mediator.transfers import Transfers

# Validator for the time at which an agent fails, seconds; -inf is before the start of the plan.
_LOST_AT = Validator(unit="s", endless=True, otherwise=" of seconds; omit it for a failure before the start")


def _failure(label: str, value: object) -> tuple[int, float]:
    """Return an agent's number and the time of its failure, or raise InputError for an invalid value."""
    if not isinstance(value, Sequence) or len(value) != 2 or isinstance(value, str | bytes):
        raise InputError(
            f"{label} {shown(value)}: give an agent and the time of its failure in seconds, such as (3, 1.5)"
        )
    return NUMBER("agent", value[0]), _LOST_AT("at", value[1])


@dataclass(frozen=True)
class TransferPlan:
    """The plan of a session: for each block, its agent, its direction and its times.

    Parameters
    ----------
    layout : StripeLayout
        The stripes of the object.
    client : str
        Name of the client.
    rate : float
        Data-rate, bytes/s.
    write : bool
        True if the session writes the object, False if the session reads it.
    start : float
        Time at which the first stripe is released, seconds; 0 by default.
    failures : tuple of (int, float)
        Numbers of the agents that fail, each with the time of its failure in seconds; none by default.

    Raises
    ------
    InputError
        If the rate is not finite and above 0, or a value has the wrong type.

    Notes
    -----
    With tau as the period, stripe n of a read is at its disks from start + n tau until start + (n + 1) tau, and on the
    network from start + (n + 1) tau until start + (n + 2) tau. A stripe of a write is on the network first. The blocks
    of a stripe are released together at the start of a period, and each stage lasts one period.
    """

    layout: StripeLayout
    client: str
    rate: Speed
    write: bool
    start: Moment = 0.0
    failures: Annotated[tuple[tuple[int, float], ...], several(_failure, of="pairs of agent and time")] = ()

    def __post_init__(self):
        validate_fields(self)

    @property
    def period(self) -> float:
        """Return the period tau of a stripe, seconds."""
        return self.layout.period(self.rate)

    @property
    def end(self) -> float:
        """Return the time at which the last stripe is complete, in seconds: the end of its second stage."""
        return self.start + (self.layout.stripes + 1) * self.period

    @property
    def failed(self) -> tuple[int, ...]:
        """Return the numbers of the agents that fail."""
        return tuple(agent for agent, _ in self.failures)

    @cached_property
    def transfers(self) -> Transfers:
        """Return all transfers, in the order of the stripes."""
        every = Transfers.timed(self.layout.blocks(), self.start, self.period, self.write)
        if self.write:
            return every.where(~self._lost(every))
        return self._with_parity(every)

    def degraded(self, failed: int | Sequence[int], at: float | Sequence[float] = -np.inf) -> "TransferPlan":
        """Return the plan in which agents fail at given times.

        Parameters
        ----------
        failed : int or sequence of int
            Agents that fail. An agent that holds no part of the object is ignored.
        at : float or sequence of float
            Time at which each agent fails, seconds: one value for all agents, or one value for each agent. By default
            the agents fail before the start of the plan. If an agent has several times, the earliest time is used.

        Raises
        ------
        InputError
            If two agents of a group fail, if the object has no parity, or if the number of times is neither 1 nor the
            number of agents.

        Notes
        -----
        A block is not lost if its disk stage ends by the time of the failure. For every lost block of a read, the plan
        reads the parity block of the same group and stripe instead. The other blocks of the group are read in any case.
        The agent of the parity block has no other block to read in that stripe. If an agent fails while a stripe is at
        its disks, the parity block of this stripe is released at the time of the failure, up to a period later than
        planned. The parity blocks of all later stripes meet their deadlines, because a session reserves a block for
        each period at every agent.

        A write continues without the failed agent's blocks. The object can be read as long as no second agent of a
        group fails.
        """
        agents = [NUMBER("agent", one) for one in np.atleast_1d(failed).tolist()]
        moments = np.atleast_1d(_LOST_AT.each("at", at)).astype(float).tolist()
        if len(moments) not in (1, len(agents)):
            raise InputError(
                f"at {moments}: {len(moments)} times for {len(agents)} agents; give one time, or one for each agent"
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
        """Return the transfers that restore the blocks of a lost agent on a spare agent; see `rebuild`."""
        return rebuild(self.layout, failed, spare, cluster, share, self.start)

    def __str__(self) -> str:
        layout = self.layout
        groups = f", groups {list(layout.groups)} with parity" if layout.parity else ""
        lines = [
            f"{'write' if self.write else 'read'} of {layout.size} bytes at {self.rate:g} bytes/s for {self.client}",
            f"{layout.data} data blocks of {layout.unit} bytes in a stripe on agents {list(layout.agents)}{groups}",
            f"{layout.stripes} stripes, one per {self.period:.6g} s, {self.transfers.count} transfers",
        ]
        lines += [f"agent {agent} fails at {at:g} s" for agent, at in self.failures]
        return "\n".join([*lines, "", str(self.transfers)])

    def _require_spare(self, agent: int, number: int, others: list[int]) -> None:
        group = self.layout.groups[number]
        if not self.layout.parity:
            raise InputError(
                f"agent {agent} fails: the object on agents {list(group)} has no parity and cannot be read without "
                "this agent; store the object with parity (argument `group`)"
            )
        if lost := [other for other in others if other in group]:
            raise InputError(
                f"agents {lost[0]} and {agent} fail: both are in group {number} (agents {', '.join(map(str, group))}), "
                "and the parity of a group replaces only one failed agent; use smaller groups"
            )

    def _lost(self, every: Transfers) -> NDArray:
        """Return the mask of the transfers that an agent's failure prevents."""
        lost = np.zeros(every.count, bool)
        for agent, at in self.failures:
            lost |= (every.blocks.agent == agent) & (every.disk_by > at)
        return lost

    def _with_parity(self, every: Transfers) -> Transfers:
        """Return the data blocks that are not lost, and the parity blocks that replace lost data blocks."""
        blocks = every.blocks
        lost = self._lost(every) & ~blocks.parity
        place = blocks.stripe * len(self.layout.groups) + blocks.group
        needed = blocks.parity & np.isin(place, place[lost])
        moment = np.full(len(self.layout.groups), -np.inf)
        for agent, at in self.failures:
            moment[self.layout.group_of(agent)] = at
        late = np.where(needed, np.maximum(moment[blocks.group] - every.disk, 0.0), 0.0)
        return every.delayed(late).where((~blocks.parity & ~lost) | needed)
