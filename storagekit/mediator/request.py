"""The request of a client to a storage mediator, and the answers of the mediator.

An answer is a session with its transfer plan, or the constraint that rejects the request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import MB
from storagekit.core.validation import Count, Finite, Moment, Speed, require, validate_fields
from storagekit.mediator.stripe_layout import BYTES, StripeLayout
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
class Request:
    """A session: a client reads or writes an object at a constant data-rate, without interruption (swift, section 2).

    Parameters
    ----------
    client : str
        Name of the client. Sessions of one client share its processor.
    rate : float
        Data-rate, bytes/s.
    size : int
        Size of the object, bytes.
    write : bool
        Whether the object is written; False by default.
    buffer : int
        Largest stripe that the client can buffer, bytes; 4 MB by default. The client stores two stripes simultaneously:
        one arrives while the other is used.
    group : int, optional
        Number of data blocks for each parity block; by default there is no redundancy.
    layout : StripeLayout, optional
        Layout of an existing object, which determines agents, unit and redundancy.
    confidence : float
        Required probability that all stripes meet their deadlines; 0.99 by default.
    start : float
        Time at which the first stripe is released, seconds; 0 by default.

    Raises
    ------
    InputError
        If a value is out of range, or if the layout contradicts the size, the group or the buffer.
    """

    client: str
    rate: Speed
    size: Annotated[int, BYTES]
    write: bool = False
    buffer: Annotated[int, BYTES] = 4 * MB
    group: Count | None = None
    layout: StripeLayout | None = None
    confidence: Finite = 0.99
    start: Moment = 0.0

    def __post_init__(self):
        validate_fields(self)
        require(0 < self.confidence < 1, "confidence", self.confidence, "above 0 and below 1, such as 0.99")
        if self.layout is not None:
            self._agree(self.layout)

    def _agree(self, layout: StripeLayout) -> None:
        if layout.size != self.size:
            raise InputError(
                f"size {self.size}: the object of this layout has {layout.size} bytes; give the size of the object"
            )
        if self.group is not None:
            raise InputError(f"group {self.group}: the layout already defines the redundancy; omit group")
        if layout.stripe_bytes > self.buffer:
            raise InputError(
                f"buffer {self.buffer} bytes: a stripe of this layout has {layout.stripe_bytes} bytes; give at least "
                "this buffer"
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
        return (self.ring or 0.0) if self.links is None else float(self.links.mean())

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
    """A layout that fits the request at one version of the reservations.

    Nothing is reserved until the proposal is committed.

    Parameters
    ----------
    request : Request
        The request.
    layout : StripeLayout
        The layout.
    version : int
        Version of the reservations against which the layout was tested.
    """

    request: Request
    layout: StripeLayout
    version: int

    @cached_property
    def plan(self) -> TransferPlan:
        """Return the transfer plan of the session. It is computed at the first access."""
        request = self.request
        return TransferPlan(self.layout, request.client, request.rate, request.write, request.start)


@dataclass(frozen=True)
class Admitted:
    """A session that has a reservation.

    Parameters
    ----------
    session : int
        Number of the session in the reservations.
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
        lines = [f"session {self.session}: {self.plan.summary}", f"reserved time: {self.utilization}", "", "assumed:"]
        return "\n".join([*lines, *(f"  - {line}" for line in ASSUMPTIONS)])


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
        client, rate = self.request.client, self.request.rate
        return {"admitted": False, "client": client, "rate": rate, "binding": self.binding.to_dict()}

    def __str__(self) -> str:
        return f"rejected: {self.binding}"
