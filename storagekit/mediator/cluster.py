"""What a mediator reserves: storage agents, each a disk and a processor, a network, and clients' processors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, hold, several


@dataclass(frozen=True)
class Cluster:
    """Storage agents and what joins them to their clients (swift, sections 2 and 5).

    disks: one of each agent, which is known by its place in the tuple; agent, client: the processor of every agent and of
    every client; network: token rings that all share, or a switch. A processor is reserved as one that both sends and
    receives, which is on the safe side for a duplex one. Raises InputError where there is no disk, or what is none.
    """

    disks: tuple[Disk, ...]
    agent: Host
    client: Host
    network: Network

    def __post_init__(self):
        host = a(Host, "one as Host()")
        hold(
            self,
            disks=several(a(Disk, "one as Disk(seek, rotation, rate)"), of="disks"),
            agent=host,
            client=host,
            network=a(Network, "one as Network(rate)"),
        )
        if not self.disks:
            raise InputError("disks 0: a cluster must have at least 1 storage agent; give a disk for each")

    @property
    def agents(self) -> int:
        return len(self.disks)

    @cached_property
    def positioning(self) -> NDArray:
        """Mean seek and rotation, seconds, `[2, agent]`."""
        return np.array([[disk.seek for disk in self.disks], [disk.rotation for disk in self.disks]])

    @cached_property
    def rates(self) -> NDArray:
        """Bytes a second of each disk, `[agent]`."""
        return np.array([disk.rate for disk in self.disks])
