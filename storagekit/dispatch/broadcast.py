"""Dispatchers that send a request to every part; the first drive that chooses a part serves it."""

from jax.typing import ArrayLike
from jaxtyping import Float

from storagekit.arbitration import DSPTFClaims, PreselectionBids
from storagekit.arbitration.dsptf import AbstractDelivery
from storagekit.core.arrays import AnyArray
from storagekit.dispatch.base import AbstractDispatch


class Broadcast(AbstractDispatch):
    """Queue a request at every drive that holds a part of it.

    The first drives that choose the request serve it. The request then leaves the queues of the other drives.
    """

    def route(self, private, request, entering, view):
        return view.placement.parts_of(view.location), private


class DSPTF(Broadcast):
    """Send a request to all replicas; the bricks exchange messages to select the drive that serves it.

    Parameters
    ----------
    latency : float
        One-way latency of a message, seconds, by default 50e-6.
    bound : float, optional
        Upper bound on the latency that the bricks assume, seconds; by default `latency`.
    waits : int
        0 or 1, by default 0. With 1, a brick with an idle disk waits for twice `bound` before it begins an access; see
        `DSPTFClaims`.
    delivery : AbstractDelivery, optional
        Model of lost claims; by default all claims are delivered.

    Raises
    ------
    InputError
        If a value is out of range.

    References
    ----------
    dsptf, section 3.
    """

    settled: DSPTFClaims

    def __init__(
        self,
        latency: ArrayLike = 50e-6,
        *,
        bound: ArrayLike | None = None,
        waits: ArrayLike = 0,
        delivery: AbstractDelivery | None = None,
    ):
        self.settled = DSPTFClaims(latency, bound=bound, waits=waits, delivery=delivery)

    @property
    def arbitration(self) -> DSPTFClaims:
        return self.settled

    @property
    def latency(self) -> Float[AnyArray, "..."]:
        """Return the one-way latency of a message, seconds."""
        return self.settled.latency


class Preselection(Broadcast):
    """Send a request to all replicas; a node drops its part after enough other nodes have made better bids.

    Parameters
    ----------
    latency : float
        Time in seconds that a claim takes to reach the other nodes, by default 0.1e-3.
    ahead : float, optional
        Time in seconds between the choice of a drive and the end of its present access; by default twice the latency.
    waits : int
        Behaviour of an idle drive, 0, 1 or 2, by default 0; see `PreselectionBids`.

    Raises
    ------
    InputError
        If a value is out of range.

    References
    ----------
    ars, section 5.
    """

    settled: PreselectionBids

    def __init__(self, latency: ArrayLike = 0.1e-3, *, ahead: ArrayLike | None = None, waits: ArrayLike = 0):
        self.settled = PreselectionBids(latency, ahead=ahead, waits=waits)

    @property
    def arbitration(self) -> PreselectionBids:
        return self.settled


def central() -> DSPTF:
    """Return the centralized ideal that dsptf compares D-SPTF with: one queue over all replicas, without delay.

    Returns
    -------
    DSPTF
        D-SPTF with latency 0.

    References
    ----------
    dsptf, section 4.
    """
    return DSPTF(0.0)
