"""The cost of redundancy: bytes stored and written, processor time, and the remaining rate (swift, section 6.1.1)."""

from dataclasses import dataclass
from typing import Any

from storagekit.core.validation import validate
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.mediator import Mediator
from storagekit.mediator.request import Request
from storagekit.mediator.reservations import Reservations
from storagekit.mediator.stripe_layout import StripeLayout


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
    cluster: Cluster, layout: StripeLayout, write: bool = False, confidence: float = 0.99
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

    Notes
    -----
    A failure of an agent does not reduce the rate of a layout with parity, because the reservation contains a block at
    every agent and the processor time to compute the missing data. Without parity no rate remains, because data is
    missing.
    """
    plain = StripeLayout(layout.size, layout.unit, (layout.agents,))
    rate, plain_rate = (_guaranteed_rate(cluster, one, write, confidence) for one in (layout, plain))
    # The computation of check data reads each data byte of the stripe once.
    check_seconds = float(cluster.client.check_seconds(layout.stripe_bytes)) if layout.parity else 0.0
    rate_agent_down = rate if layout.parity else 0.0
    parity_bytes = layout.parity_bytes
    return RedundancyCost(parity_bytes / layout.size, parity_bytes, check_seconds, rate, rate_agent_down, plain_rate)


def _guaranteed_rate(cluster: Cluster, layout: StripeLayout, write: bool, confidence: float) -> float:
    """Return the highest rate at which an empty cluster admits a session with a layout, bytes/s; 0 if there is none."""
    buffer = layout.stripe_bytes
    request = Request("client", 1.0, layout.size, write, buffer, layout=layout, confidence=confidence)
    return Mediator(Reservations(cluster)).highest_rate(request)
