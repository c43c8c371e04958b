"""Model a client, a network and agents with one disk each: paths of requests, utilizations and the bottleneck."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.bounds import latest
from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.analytic.forkjoin.recursion import Paths, path
from storagekit.analytic.forkjoin.striping import Striping
from storagekit.core.namespaces import as_number, largest, namespace_of
from storagekit.core.validation import SPACE, Rates, Share, require, traced, validate, validate_fields


@dataclass(frozen=True)
class StripedSystem:
    """A client that reads and writes striped objects.

    Parameters
    ----------
    disk : Disk
        The disk of each agent.
    striping : Striping
        Distribution of blocks over the disks.
    network : Network
        The network between client and agents.
    client : Host
        Processor of the client.
    agent : Host
        Processor of each agent.
    write_share : float
        Share of writes among the requests, 0 to 1; 0.2 by default.
    control : float
        Size of a control packet, bytes; 64 by default.

    Raises
    ------
    InputError
        If a value has the wrong type or is out of range.

    Notes
    -----
    For a read, the client sends a small control packet to the agents by multicast. An agent reads each block and then
    sends it to the client. For a write, the client sends the blocks one after another. Each disk begins when it has its
    blocks, and every agent sends an acknowledgement when its blocks are on disk. Every packet costs processing time at
    its sender and at its receiver, and time on the network. The paper does not state the number of clients that share
    the requests; a single client is the hardest case.

    References
    ----------
    swift, section 5.1.
    """

    disk: Disk
    striping: Striping
    network: Network
    client: Host = field(default_factory=Host)
    agent: Host = field(default_factory=Host)
    write_share: Share = 0.2
    control: float = 64.0

    def __post_init__(self):
        validate_fields(self)
        SPACE("control packet", self.control)

    @validate
    def utilization(self, rate: Rates) -> dict[str, NDArray]:
        """Return the utilization of each resource, keyed by the name of the resource.

        For disks and for agents, the value is the utilization of the busiest disk or agent.

        Parameters
        ----------
        rate : float or array of float
            Arrival rate, requests a second.

        Returns
        -------
        dict of str to array of float
            Share of the time for which the resource is busy.

        Raises
        ------
        InputError
            If a rate is out of range.
        """
        each = namespace_of(rate).asarray(rate, float)
        return {name: each * seconds for name, seconds in self.demands().items()}

    def demands(self) -> dict[str, float]:
        """Return the mean time in seconds for which a request occupies each resource, keyed by the resource's name.

        For disks and for agents, the value is the time of the busiest disk or agent. If a disk has failed, the other
        disks and agents of its group are the busiest.
        """
        unit, control, striping = self.striping.unit, self.control, self.striping
        written, read = self.write_share, 1 - self.write_share
        blocks, sent = striping.blocks, striping.accesses(1.0)
        answers = min(striping.disks - striping.failed, sent)
        answer = answers / (striping.disks - striping.failed)
        fetched, stored = striping.busiest(0.0), striping.busiest(1.0)
        client = self.client.busy(
            read * self._cost(self.client, control, 1)
            + written * (self._cost(self.client, unit, sent) + self._checking()),
            read * (self._cost(self.client, unit, blocks) + self._rebuilding())
            + written * self._cost(self.client, control, answers),
        )
        agent = self.agent.busy(
            read * self._cost(self.agent, unit, fetched) + written * self._cost(self.agent, control, answer),
            read * self._cost(self.agent, control, 1) + written * self._cost(self.agent, unit, stored),
        )
        found = {
            "disk": (read * fetched + written * stored) * as_number(self.disk.mean(unit)),
            "agent processor": agent,
            "client processor": client,
        }
        inward = read * blocks * self._busy(unit) + written * answers * self._busy(control)
        outward = read * self._busy(control) + written * sent * self._busy(unit)
        if not self.network.switched:
            return found | {"network": inward + outward}
        from_agent = read * fetched * self._busy(unit) + written * answer * self._busy(control)
        to_agent = read * self._busy(control) + written * stored * self._busy(unit)
        return found | {"client link": largest(inward, outward), "agent link": largest(from_agent, to_agent)}

    def saturation(self) -> tuple[float, str]:
        """Return the saturation rate in requests a second, and the name of the resource that limits the rate.

        While JAX traces the numbers of the system, the name is "unknown".
        """
        demands = self.demands()
        longest = largest(*demands.values())
        if traced(longest):
            return 1 / longest, "unknown"
        return 1 / longest, next(name for name, seconds in demands.items() if seconds == longest)

    def idle_time(self) -> float:
        """Return the mean time to complete a read in an idle system.

        Returns
        -------
        float
            Mean time, seconds: the mean time until the last disk ends, plus the path to the disks and back.

        Raises
        ------
        InputError
            If the disks have different numbers of blocks to read.
        """
        striping = self.striping
        require(
            striping.blocks % striping.data_disks == 0,
            "blocks",
            striping.blocks,
            f"a multiple of the {striping.data_disks} disks that hold data",
        )
        way = self.paths().read
        outside = as_number(way.offset[0] + way.port + way.transit + way.receive)
        return outside + latest(self.disk, striping.unit, striping.rows, striping.data_disks)

    def paths(self) -> Paths:
        """Return the paths of reads and writes to the disks and back."""
        unit, control, sent = self.striping.unit, self.control, self.striping.accesses(1.0)
        there = {size: self._way(size) for size in (unit, control)}
        taking = largest(
            as_number(self.client.seconds(unit)) + self._rebuilding() / self.striping.blocks, self._busy(unit)
        )
        giving = largest(as_number(self.client.seconds(unit)) + self._checking() / sent, self._busy(unit))
        short = largest(as_number(self.client.seconds(control)), self._busy(control))
        order = self._order()
        return Paths(
            path(short, there[control] + 0 * order, self._port(unit), self._transit(unit), taking),
            path(sent * giving, there[unit] + giving * order, self._port(control), self._transit(control), short),
        )

    def _way(self, size: float) -> float:
        """Return the time of a packet between the client and an agent, in seconds, including both processors."""
        return as_number(self.client.seconds(size) + self.network.seconds(size) + self.agent.seconds(size))

    def _transit(self, size: float) -> float:
        """Return the time in seconds from the end of sending at an agent until the client starts to receive the packet.

        The time may be negative on a switch, because a packet passes the links of agent and client simultaneously.
        """
        return self._way(size) - self._port(size) - largest(as_number(self.client.seconds(size)), self._busy(size))

    def _order(self) -> NDArray:
        """Return, for each disk, the number of blocks of a write that are sent before the disk's last block."""
        striping = self.striping
        sent = striping.accesses(1.0)
        return np.minimum(sent - striping.disks + striping.failed + np.arange(striping.disks), sent - 1).clip(0)

    def _port(self, size: float) -> float:
        """Return the time in seconds for which an agent is busy with sending a packet."""
        host = as_number(self.agent.seconds(size))
        return largest(host, self._busy(size)) if self.network.switched else host

    def _busy(self, size: float) -> float:
        """Return the time in seconds for which a packet occupies the network, divided by the number of its links."""
        return as_number(self.network.seconds(size)) / self.network.rings

    def _checking(self) -> float:
        """Return the time in seconds that the client needs to compute the check data of a write."""
        if not self.striping.groups:
            return 0.0
        return as_number(self.client.check_seconds(self.striping.request))

    def _rebuilding(self) -> float:
        """Return the mean time in seconds for which the client reconstructs data of failed disks during a read.

        The client does not reconstruct lost check data.
        """
        striping = self.striping
        if not striping.failed:
            return 0.0
        others = striping.members - 1
        lost = striping.failed * striping.rows * others / striping.members
        return lost * as_number(self.client.check_seconds(others * striping.unit))

    @staticmethod
    def _cost(host: Host, size: float, packets: float) -> float:
        return packets * as_number(host.seconds(size))
