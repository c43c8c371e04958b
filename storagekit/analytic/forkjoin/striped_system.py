"""A client, a network and agents with a disk each: what a request passes, who is how busy, what limits it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.forkjoin.bounds import latest
from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.analytic.forkjoin.recursion import Paths, path
from storagekit.analytic.forkjoin.striping import Striping
from storagekit.core.checks import require, require_not_negative, require_share
from storagekit.core.kinds import RATE, a, hold, takes


@dataclass(frozen=True)
class StripedSystem:
    """A client that reads and writes striped objects (swift, section 5.1).

    To read, a small packet of `control` bytes is multicast to the agents; each block, once read, is sent to the client. To
    write, the blocks are sent one after the other, each disk begins when it has its own, and every agent acknowledges when
    its blocks are on disk. Every packet costs its sender and its receiver processing, and the network its time.
    write_share: of the requests. The paper does not say how many clients share them; one is the hardest case.

    Raises InputError where the share or the size is out of range.
    """

    disk: Disk
    striping: Striping
    network: Network
    client: Host = field(default_factory=Host)
    agent: Host = field(default_factory=Host)
    write_share: float = 0.2
    control: float = 64.0

    def __post_init__(self):
        hold(self, disk=a(Disk), striping=a(Striping), network=a(Network), client=a(Host), agent=a(Host))
        require_share("write share", self.write_share)
        require_not_negative("control packet", self.control, "bytes")

    @takes(rate=RATE.each)
    def utilization(self, rate: ArrayLike) -> dict[str, NDArray]:
        """Share of the time that each resource is busy at `rate` requests a second; of several disks or agents, the
        busiest."""
        each = np.asarray(rate, float)
        return {name: each * seconds for name, seconds in self.demands().items()}

    def demands(self) -> dict[str, float]:
        """Seconds that a mean request keeps each resource busy; of disks and agents, the busiest (those that stand in for one
        that has failed)."""
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
            "disk": (read * fetched + written * stored) * float(self.disk.mean(unit)),
            "agent processor": agent,
            "client processor": client,
        }
        inward = read * blocks * self._busy(unit) + written * answers * self._busy(control)
        outward = read * self._busy(control) + written * sent * self._busy(unit)
        if not self.network.switched:
            return found | {"network": inward + outward}
        from_agent = read * fetched * self._busy(unit) + written * answer * self._busy(control)
        to_agent = read * self._busy(control) + written * stored * self._busy(unit)
        return found | {"client link": max(inward, outward), "agent link": max(from_agent, to_agent)}

    def saturation(self) -> tuple[float, str]:
        """The largest rate that any load can reach, requests a second, and the resource that is then busy all the time."""
        demands = self.demands()
        name = max(demands, key=lambda one: demands[one])
        return 1 / demands[name], name

    def idle_time(self) -> float:
        """Mean seconds to complete a read that nothing else disturbs: the latest of the disks, and the way there and back.

        Raises InputError where the disks have different numbers of blocks to read.
        """
        striping = self.striping
        require(striping.blocks % striping.data_disks == 0, "blocks", striping.blocks, "as many for each disk")
        way = self.paths().read
        outside = float(way.offset[0] + way.port + way.transit + way.receive)
        return outside + latest(self.disk, striping.unit, striping.rows, striping.data_disks)

    def paths(self) -> Paths:
        """The way to the disks and back."""
        unit, control, sent = self.striping.unit, self.control, self.striping.accesses(1.0)
        there = {size: self._way(size) for size in (unit, control)}
        taking = max(float(self.client.seconds(unit)) + self._rebuilding() / self.striping.blocks, self._busy(unit))
        giving = max(float(self.client.seconds(unit)) + self._checking() / sent, self._busy(unit))
        short = max(float(self.client.seconds(control)), self._busy(control))
        order = self._order()
        return Paths(
            path(short, there[control] + 0 * order, self._port(unit), self._transit(unit), taking),
            path(sent * giving, there[unit] + giving * order, self._port(control), self._transit(control), short),
        )

    def _way(self, size: float) -> float:
        """Of a packet between the client and an agent, both processors included."""
        return float(self.client.seconds(size) + self.network.seconds(size) + self.agent.seconds(size))

    def _transit(self, size: float) -> float:
        """What is left of the way when an agent's port has sent a packet and until the client is busy with it. Below 0 where
        both are the links of a switch, which a packet passes at the same time."""
        return self._way(size) - self._port(size) - max(float(self.client.seconds(size)), self._busy(size))

    def _order(self) -> NDArray:
        """Of a write, how many blocks are sent before the last one of each disk."""
        striping = self.striping
        sent = striping.accesses(1.0)
        return np.minimum(sent - striping.disks + striping.failed + np.arange(striping.disks), sent - 1).clip(0)

    def _port(self, size: float) -> float:
        """Seconds that an agent is busy with sending a packet."""
        host = float(self.agent.seconds(size))
        return max(host, self._busy(size)) if self.network.switched else host

    def _busy(self, size: float) -> float:
        """Seconds that a packet keeps the network busy, shared out over the rings or links."""
        return float(self.network.seconds(size)) / self.network.rings

    def _checking(self) -> float:
        """Seconds of a client to make the check data of a write."""
        if not self.striping.groups:
            return 0.0
        return float(self.client.check_seconds(self.striping.request))

    def _rebuilding(self) -> float:
        """Mean seconds of a client to make up for failed disks in a read: unless it was the check data that was lost."""
        striping = self.striping
        if not striping.failed:
            return 0.0
        others = striping.members - 1
        lost = striping.failed * striping.rows * others / striping.members
        return lost * float(self.client.check_seconds(others * striping.unit))

    @staticmethod
    def _cost(host: Host, size: float, packets: float) -> float:
        return packets * float(host.seconds(size))
