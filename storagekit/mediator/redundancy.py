"""The cost of redundancy: bytes stored and written, processor time, and the remaining rate (swift, section 6.1.1)."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any

from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, validate
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.ledger import Ledger
from storagekit.mediator.mediator import Mediator
from storagekit.mediator.request import Request
from storagekit.mediator.stripe_layout import StripeLayout

_CLUSTER, _LAYOUT = instance_of(Cluster), instance_of(StripeLayout)


@validate
def storage_overhead(layout: Annotated[StripeLayout, _LAYOUT]) -> float:
    """Return the number of parity bytes divided by the size of the object. A short last stripe is included.

    Parameters
    ----------
    layout : StripeLayout
        The layout of the object.

    Returns
    -------
    float
        The ratio; 0 without parity.
    """
    return extra_write_bytes(layout) / layout.size


@validate
def extra_write_bytes(layout: Annotated[StripeLayout, _LAYOUT]) -> int:
    """Return the number of parity bytes that a write of the object sends over the network and to disk.

    Parameters
    ----------
    layout : StripeLayout
        The layout of the object.

    Returns
    -------
    int
        Bytes; 0 without parity.
    """
    if not layout.parity:
        return 0
    full, rest = divmod(layout.size, layout.stripe_bytes)
    data = [len(group) - 1 for group in layout.groups]
    # A parity block is as long as the first data block of its group.
    short = (min(max(rest - before * layout.unit, 0), layout.unit) for before in accumulate(data[:-1], initial=0))
    return full * layout.parities * layout.unit + sum(short)


@validate
def check_seconds(cluster: Annotated[Cluster, _CLUSTER], layout: Annotated[StripeLayout, _LAYOUT]) -> float:
    """Return the time that the client's processor needs for the check data of a full stripe.

    The computation reads each data byte of the stripe once.

    Parameters
    ----------
    cluster : Cluster
        The cluster, whose client computes the check data.
    layout : StripeLayout
        The layout of the object.

    Returns
    -------
    float
        Seconds; 0 without parity.
    """
    return float(cluster.client.check_seconds(layout.stripe_bytes)) if layout.parity else 0.0


@validate
def guaranteed_rate(
    cluster: Annotated[Cluster, _CLUSTER],
    layout: Annotated[StripeLayout, _LAYOUT],
    write: bool = False,
    confidence: float = 0.99,
) -> float:
    """Return the highest rate at which an empty cluster admits a session with this layout, bytes/s.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    layout : StripeLayout
        The layout.
    write : bool
        Whether the session writes; False by default.
    confidence : float
        Required probability that all stripes meet their deadlines; 0.99 by default.

    Returns
    -------
    float
        The rate, bytes/s; 0 if no rate is admitted.
    """
    request = Request(
        "client", 1.0, layout.size, write, buffer=layout.stripe_bytes, layout=layout, confidence=confidence
    )
    return Mediator(Ledger(cluster)).highest_rate(request)


@validate
def rate_with_agent_down(
    cluster: Annotated[Cluster, _CLUSTER],
    layout: Annotated[StripeLayout, _LAYOUT],
    failed: int,
    write: bool = False,
    confidence: float = 0.99,
) -> float:
    """Return the highest data-rate that is still guaranteed when an agent is down, bytes/s.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    layout : StripeLayout
        The layout.
    failed : int
        The agent that is down.
    write : bool
        Whether the session writes; False by default.
    confidence : float
        Required probability that all stripes meet their deadlines; 0.99 by default.

    Returns
    -------
    float
        The rate, bytes/s; 0 without parity, because data is then missing.

    Raises
    ------
    InputError
        If `failed` holds no part of the object.

    Notes
    -----
    With parity the rate equals `guaranteed_rate`, because the reservation for that rate already contains a block at
    every agent and the processor time to compute the missing data. A failure therefore does not reduce the rate of a
    session.
    """
    if failed not in layout.agents:
        raise InputError(
            f"agent {failed}: this agent holds no part of the object; give one of the agents {list(layout.agents)}"
        )
    return guaranteed_rate(cluster, layout, write, confidence) if layout.parity else 0.0


@dataclass(frozen=True)
class RedundancyCost:
    """Cost of parity, compared with a layout of the same object on the same agents, with the same unit, without parity.

    Parameters
    ----------
    storage : float
        Number of parity bytes divided by the size of the object.
    write_bytes : int
        Number of parity bytes in a write of the object.
    check_seconds : float
        Time that the client's processor needs for the check data of a stripe, seconds.
    rate : float
        Guaranteed rate if no agent is down, bytes/s.
    rate_agent_down : float
        Guaranteed rate if one agent of each parity group is down, bytes/s.
    plain_rate : float
        Guaranteed rate of the layout without parity if no agent is down, bytes/s. With an agent down, this layout
        guarantees no rate.
    """

    storage: float
    write_bytes: int
    check_seconds: float
    rate: float
    rate_agent_down: float
    plain_rate: float

    def to_dict(self) -> dict[str, Any]:
        """Return the costs as a dictionary."""
        return dict(vars(self))

    def __str__(self) -> str:
        return (
            f"Parity adds {self.storage:.1%} to the bytes stored and written ({self.write_bytes} bytes), and "
            f"{self.check_seconds:.3g} s of client processor time per stripe. The guaranteed rate is {self.rate:.6g} "
            f"bytes/s, and {self.rate_agent_down:.6g} bytes/s with an agent down. Without parity the guaranteed rate "
            f"is {self.plain_rate:.6g} bytes/s, and 0 with an agent down."
        )


@validate
def redundancy_cost(
    cluster: Annotated[Cluster, _CLUSTER],
    layout: Annotated[StripeLayout, _LAYOUT],
    write: bool = False,
    confidence: float = 0.99,
) -> RedundancyCost:
    """Return the cost of a layout's parity, and the rate that remains guaranteed when an agent fails.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    layout : StripeLayout
        The layout.
    write : bool
        Whether the session writes; False by default.
    confidence : float
        Required probability that all stripes meet their deadlines; 0.99 by default.

    Returns
    -------
    RedundancyCost
        The costs and the rates.
    """
    plain = StripeLayout(layout.size, layout.unit, (layout.agents,))
    return RedundancyCost(
        storage_overhead(layout),
        extra_write_bytes(layout),
        check_seconds(cluster, layout),
        guaranteed_rate(cluster, layout, write, confidence),
        rate_with_agent_down(cluster, layout, layout.agents[0], write, confidence),
        guaranteed_rate(cluster, plain, write, confidence),
    )
