"""The transfer plan of a session, which a mediator returns for the client's distribution agent (swift, section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import NUMBER, Moment, Speed, Validator, several, shown, validate, validate_fields
from storagekit.mediator.cluster import Cluster, require_agents
from storagekit.mediator.stripe_layout import Blocks, StripeLayout

if TYPE_CHECKING:
    import pandas

# Validator for the time at which an agent fails, seconds; -inf is before the start of the plan.
_LOST_AT = Validator(unit="s", endless=True, otherwise=" of seconds; omit it for a failure before the start")
_DISK_SHARE = Validator(least=0, most=1, above=True, unit="of a disk's time")
# Number of transfers that the text of `Transfers` shows.
_SHOWN = 12


@dataclass(frozen=True)
class Transfers:
    """Blocks, with the times of each block at its two stages.

    Each stage has to end within `period` of its release. The disk stage of a read comes first. The network stage of a
    write comes first.

    Parameters
    ----------
    blocks : Blocks
        The blocks.
    disk : ndarray, shape [transfer]
        Time at which the block is released at its disk, seconds.
    sent : ndarray, shape [transfer]
        Time at which the block is released to the network, seconds.
    period : float
        Length of a stage, seconds.
    """

    blocks: Blocks
    disk: NDArray
    sent: NDArray
    period: float

    @classmethod
    def timed(cls, blocks: Blocks, start: float, period: float, write: bool) -> "Transfers":
        """Return transfers that release one stripe in each period. The first period begins at `start`.

        The first stage of a stripe lasts one period, and its second stage lasts the next period.
        """
        first = start + blocks.stripe * period
        return cls(blocks, first + period * write, first + period * (not write), period)

    @property
    def count(self) -> int:
        """Return the number of transfers."""
        return self.blocks.count

    @property
    def disk_by(self) -> NDArray:
        """Return the deadline of each disk access, seconds, `[transfer]`."""
        return self.disk + self.period

    @property
    def sent_by(self) -> NDArray:
        """Return the time by which each block must have crossed the network, seconds, `[transfer]`."""
        return self.sent + self.period

    def where(self, chosen: NDArray) -> "Transfers":
        """Return the chosen transfers."""
        return Transfers(self.blocks.where(chosen), self.disk[chosen], self.sent[chosen], self.period)

    def to_frame(self) -> "pandas.DataFrame":
        """Return a table with one row for each transfer, in order of release."""
        import pandas

        columns = {name: column for name, column in vars(self.blocks).items() if name != "check"}
        times = {"disk": self.disk, "disk_by": self.disk_by, "sent": self.sent, "sent_by": self.sent_by}
        frame = pandas.DataFrame(columns | times)
        return frame.iloc[np.argsort(np.minimum(self.disk, self.sent), kind="stable")].reset_index(drop=True)

    def __str__(self) -> str:
        rows = self.to_frame()
        text = rows.head(_SHOWN).to_string(index=False, float_format=lambda value: f"{value:.4f}")
        return text + (f"\n.. {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")


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


def _failure(label: str, value: object) -> tuple[int, float]:
    """Return an agent's number and the time of its failure, or raise InputError for an invalid value."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InputError(f"{label} {shown(value)}: give an agent and the time of its failure, such as (3, 1.5)")
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
        If the rate is not finite and above 0, if a value has the wrong type, if two agents of a group fail, or if an
        agent fails and the object has no parity.

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
        for number, group in enumerate(self.layout.groups):
            failed = [agent for agent in self.failed if agent in group]
            if failed and not self.layout.parity:
                raise InputError(
                    f"agent {failed[0]} fails: the object on agents {list(group)} has no parity and cannot be read "
                    "without this agent; store the object with parity (argument `group`)"
                )
            if len(failed) > 1:
                raise InputError(
                    f"agents {failed[0]} and {failed[1]} fail: both are in group {number} (agents "
                    f"{', '.join(map(str, group))}), and the parity of a group replaces only one failed agent; use "
                    "smaller groups"
                )

    @property
    def period(self) -> float:
        """Return the period tau of a stripe, seconds."""
        return self.layout.stripe_bytes / self.rate

    @property
    def end(self) -> float:
        """Return the time at which the last stripe is complete, in seconds: the end of its second stage."""
        return self.start + (self.layout.stripes + 1) * self.period

    @property
    def failed(self) -> tuple[int, ...]:
        """Return the numbers of the agents that fail."""
        return tuple(agent for agent, _ in self.failures)

    @cached_property
    def without_failures(self) -> Transfers:
        """Return the transfers as if no agent failed, in the order of the stripes."""
        return Transfers.timed(self.layout.blocks(), self.start, self.period, self.write)

    @cached_property
    def transfers(self) -> Transfers:
        """Return all transfers, in the order of the stripes."""
        every = self.without_failures
        blocks, groups = every.blocks, len(self.layout.groups)
        failed_at = np.full(blocks.count, np.inf)
        for agent, at in self.failures:
            failed_at[blocks.agent == agent] = at
        lost = every.disk_by > failed_at
        if self.write:
            return every.where(~lost)
        # Time of the failure that loses a data block, for each group in each stripe. NaN if no data block is lost.
        row, data_lost = blocks.stripe * groups + blocks.group, lost & ~blocks.parity
        loss = np.full(self.layout.stripes * groups, np.nan)
        loss[row[data_lost]] = failed_at[data_lost]
        needed = blocks.parity & ~np.isnan(loss[row])
        late = np.where(needed, np.maximum(loss[row] - every.disk, 0.0), 0.0)
        delayed = replace(every, disk=every.disk + late, sent=every.sent + late)
        return delayed.where((~blocks.parity & ~lost) | needed)

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
        agents, moments = np.atleast_1d(failed).tolist(), np.atleast_1d(_LOST_AT.each("at", at)).tolist()
        if len(moments) not in (1, len(agents)):
            raise InputError(
                f"at {moments}: {len(moments)} times for {len(agents)} agents; give one time, or one for each agent"
            )
        if len(moments) == 1:
            moments *= len(agents)
        found = dict(self.failures)
        for agent, moment in zip(agents, moments, strict=True):
            if self.layout.group_of(agent) is not None:
                found[agent] = min(moment, found.get(agent, moment))
        return replace(self, failures=tuple(found.items()))

    @validate
    def rebuild(self, failed: int, spare: int, cluster: Cluster, share: Annotated[float, _DISK_SHARE] = 1.0) -> Rebuild:
        """Return the transfers that restore the blocks of agent `failed` on agent `spare`, and their minimum duration.

        The rebuild begins at the start of the plan.

        Parameters
        ----------
        failed : int
            The lost agent.
        spare : int
            The agent that receives the restored blocks.
        cluster : Cluster
            The agents and the network.
        share : float
            Share of a disk's time that the rebuild may use; 1 by default.

        Returns
        -------
        Rebuild
            The transfers and the duration.

        Raises
        ------
        InputError
            If the object has no parity, if the failed agent holds no part or no block of the object, if the spare agent
            already holds a part of it, if the cluster lacks the spare agent or an agent of the layout, or if the share is
            not above 0 and at most 1.

        Notes
        -----
        The duration is

            seconds = (largest sum, over the disks, of the mean times of the blocks that a disk reads or writes) / share

        The duration is divided into equal periods, one for each lost block. A stripe is read in its first period, sent in
        the second and written in the third.
        """
        restored = self.layout.replaced(failed, spare)
        if not self.layout.parity:
            raise InputError(
                f"agent {failed}: the object has no parity, so the agent cannot be rebuilt; store the object with "
                "parity (argument `group`)"
            )
        require_agents(cluster, (*self.layout.agents, spare))
        number, blocks = self.layout.group_of(failed), self.layout.blocks()
        lost = blocks.agent == failed
        own = blocks.where(lost)
        if not own.count:
            raise InputError(f"agent {failed}: the object is so short that this agent holds no block; nothing is lost")
        others = blocks.where((blocks.group == number) & np.isin(blocks.stripe, own.stripe) & ~lost)
        written = replace(own, agent=np.full_like(own.agent, spare))
        times = {
            agent: float(cluster.disks[agent].mean(moved.length[moved.agent == agent]).sum())
            for moved in (written, others)
            for agent in dict.fromkeys(moved.agent.tolist())
        }
        bottleneck = max(times, key=times.__getitem__)
        seconds = times[bottleneck] / share
        period = seconds / own.count
        reads = Transfers.timed(others, self.start, period, write=False)
        # Restored blocks have the same network stage as the reads. Their disk stage is one period after the network stage.
        writes = Transfers.timed(written, self.start + period, period, write=True)
        return Rebuild(restored, failed, spare, reads, writes, bottleneck, seconds)

    @property
    def summary(self) -> str:
        """Return the direction, the size, the data-rate and the layout of the session in words."""
        layout, period = self.layout, self.period
        groups = f", groups {list(layout.groups)} with parity" if layout.parity else ""
        return "\n".join(
            [
                f"{'write' if self.write else 'read'} of {layout.size} bytes at {self.rate:g} bytes/s for {self.client}",
                f"{layout.data} data blocks of {layout.unit} bytes in a stripe on agents {list(layout.agents)}{groups}",
                f"{layout.stripes} stripes, one per {period:.6g} s; the first is complete {2 * period:.6g} s after the start",
            ]
        )

    def __str__(self) -> str:
        failures = [f"agent {agent} fails at {at:g} s" for agent, at in self.failures]
        return "\n".join([self.summary, *failures, f"{self.transfers.count} transfers", "", str(self.transfers)])
