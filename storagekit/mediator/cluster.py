"""Resources that a mediator reserves: storage agents (disk and processor), a network, and clients' processors."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.analytic.forkjoin.tail import Tail
from storagekit.core.errors import InputError
from storagekit.core.validation import validate_fields


@dataclass(frozen=True)
class Cluster:
    """Storage agents, and the network that connects them to their clients.

    Parameters
    ----------
    disks : tuple of Disk
        Disk of each agent. An agent's number is its index in the tuple.
    agent, client : Host
        Processor of every agent (`agent`) and of every client (`client`).
    network : Network
        Token rings that all hosts share, or a switch.

    Raises
    ------
    InputError
        If there is no disk, or if a value has the wrong type.

    Notes
    -----
    The admission test treats a processor as one resource that both sends and receives. For a duplex processor this
    assumption is conservative.

    References
    ----------
    swift, sections 2 and 5.
    """

    disks: tuple[Disk, ...]
    agent: Host
    client: Host
    network: Network

    def __post_init__(self):
        validate_fields(self)
        if not self.disks:
            raise InputError("0 disks: give at least one disk, one for each storage agent")

    @property
    def agents(self) -> int:
        """Return the number of agents."""
        return len(self.disks)

    @cached_property
    def positioning(self) -> NDArray:
        """Return the mean seek time and the mean rotational latency of each disk, seconds, `[2, agent]`."""
        return np.array([[disk.seek for disk in self.disks], [disk.rotation for disk in self.disks]])

    @cached_property
    def rates(self) -> NDArray:
        """Return the transfer rate of each disk, bytes/s, `[agent]`."""
        return np.array([disk.rate for disk in self.disks])

    @cached_property
    def tail(self) -> Tail:
        """Return the bound on the positioning time at each disk."""
        return Tail.of(self.disks)


def require_agents(cluster: Cluster, agents: Iterable[int]) -> None:
    """Raise InputError if the cluster lacks one of the agents."""
    if (last := max(agents)) >= cluster.agents:
        raise InputError(f"agent {last}: the cluster has agents 0 to {cluster.agents - 1}; give one of these")
