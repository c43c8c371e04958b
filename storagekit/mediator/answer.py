"""Results of a request to a mediator: a session with its transfer plan, or the constraint that rejects the request."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_layout import StripeLayout
from storagekit.mediator.transfer_plan import TransferPlan

ASSUMPTIONS = (
    "seeks and rotational waits are independent and uniform from 0 to twice their mean (swift, section 5.1)",
    "every disk, processor, ring and link serves blocks in order of arrival, and only sessions use it",
    "a session releases one stripe per period, with all its blocks at the same time; the deadline of each stage is "
    "one period",
    "processor and network times are constant, the wait for the token always has its mean length, and requests and "
    "acknowledgements take no time",
    "a block is reserved at every agent for each period, including parity, so that a read keeps its rate if an agent "
    "fails",
    "no session starts or ends within a busy period of a disk",
    "a block that is late at its disk delays no other block on the network",
    "the test is sufficient, not necessary: a rejected session might have met its deadlines",
    "if an agent fails, the current stripe may be up to a period late, because all sessions read parity simultaneously",
)


@dataclass(frozen=True)
class Utilization:
    """Mean share of time for which each resource is reserved; never above 1.

    Parameters
    ----------
    disks, processors : ndarray, shape [agent]
        Share of the disk (`disks`) and of the processor (`processors`) of each agent.
    links : ndarray, shape [agent], or None
        Share of the link of each agent; None on a ring.
    ring : float or None
        Share of the ring; None on a switch.
    clients : mapping of str to (float, float)
        Share of the processor and share of the link of each client, keyed by client name.
    """

    disks: NDArray
    processors: NDArray
    links: NDArray | None
    ring: float | None
    clients: Mapping[str, tuple[float, float]]

    @property
    def most(self) -> float:
        """Return the largest reserved share of any resource."""
        clients = [share for both in self.clients.values() for share in both]
        network = [self.ring] if self.links is None else self.links
        return float(max(*self.disks, *self.processors, *network, *clients))

    @property
    def network(self) -> float:
        """Return the reserved share of time of the ring; on a switch, the mean share over the agents' links."""
        return self.ring if self.links is None else float(self.links.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as a dictionary for JSON."""
        return {name: share.tolist() if isinstance(share, np.ndarray) else share for name, share in vars(self).items()}

    def __str__(self) -> str:
        lines = [f"disks {self.disks.mean():.1%} (maximum {self.disks.max():.1%})"]
        lines += [f"agents' processors {self.processors.mean():.1%}"]
        lines += [f"ring {self.ring:.1%}"] if self.links is None else [f"agents' links {self.links.mean():.1%}"]
        return ", ".join(lines)


@dataclass(frozen=True)
class Proposal:
    """A layout that fits the request at one version of the ledger.

    Nothing is reserved until the proposal is committed.

    Parameters
    ----------
    request : Request
        The request.
    layout : StripeLayout
        The layout.
    version : int
        Version of the ledger against which the layout was tested.
    """

    request: Request
    layout: StripeLayout
    version: int

    @cached_property
    def plan(self) -> TransferPlan:
        """Return the transfer plan of the session. It is computed at the first access."""
        asked = self.request
        return TransferPlan(self.layout, asked.client, asked.rate, asked.write, asked.start)


@dataclass(frozen=True)
class Admitted:
    """A session that has a reservation.

    Parameters
    ----------
    session : int
        Number of the session in the ledger.
    request : Request
        The request.
    layout : StripeLayout
        The layout.
    plan : TransferPlan
        The transfer plan.
    utilization : Utilization
        Reserved share of each resource, with this session included.
    """

    session: int
    request: Request
    layout: StripeLayout
    plan: TransferPlan
    utilization: Utilization

    def to_dict(self) -> dict[str, Any]:
        """Return the session as a dictionary for JSON, without its transfer plan; times in seconds."""
        return {
            "admitted": True,
            "session": self.session,
            "client": self.request.client,
            "rate": self.request.rate,
            "period_s": self.plan.period,
            "unit": self.layout.unit,
            "groups": [list(group) for group in self.layout.groups],
            "parity": self.layout.parity,
            "utilization": self.utilization.to_dict(),
            "assumptions": list(ASSUMPTIONS),
        }

    def __str__(self) -> str:
        layout, asked = self.layout, self.request
        redundancy = f"; parity blocks per stripe: {layout.parities}" if layout.parity else ""
        lines = [
            f"session {self.session}: {'write' if asked.write else 'read'} of {asked.size} bytes at {asked.rate:g} bytes/s",
            f"unit {layout.unit} bytes, agents {', '.join(map(str, layout.agents))}{redundancy}",
            f"one stripe per {self.plan.period:.6g} s; the first is complete {2 * self.plan.period:.6g} s after the "
            "start",
            f"reserved time: {self.utilization}",
        ]
        return "\n".join([*lines, "", "assumed:", *(f"  - {line}" for line in ASSUMPTIONS)])


@dataclass(frozen=True)
class Rejected:
    """A rejected request: no layout fits.

    Parameters
    ----------
    request : Request
        The request.
    binding : Binding
        The violated constraint of the layout that comes closest to fitting.
    """

    request: Request
    binding: Binding

    def to_dict(self) -> dict[str, Any]:
        """Return the rejection as a dictionary for JSON."""
        return {
            "admitted": False,
            "client": self.request.client,
            "rate": self.request.rate,
            "binding": self.binding.to_dict(),
        }

    def __str__(self) -> str:
        return f"rejected: {self.binding}"
