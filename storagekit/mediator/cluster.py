"""Resources that a mediator reserves: storage agents (disk and processor), a network, and clients' processors."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, several, validate_fields

_HOST = instance_of(Host, "a Host, such as Host()")


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

    disks: Annotated[
        tuple[Disk, ...], several(instance_of(Disk, "a Disk, such as Disk(seek, rotation, rate)"), of="disks")
    ]
    agent: Annotated[Host, _HOST]
    client: Annotated[Host, _HOST]
    network: Annotated[Network, instance_of(Network, "a Network, such as Network(rate)")]

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
