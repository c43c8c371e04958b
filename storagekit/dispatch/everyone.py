"""Every part is asked, and who is first serves it."""

from jax.typing import ArrayLike
from jaxtyping import Float

from storagekit import arbitration
from storagekit.arbitration.dsptf import AbstractDelivery
from storagekit.core.arrays import AnyArray
from storagekit.dispatch.base import AbstractDispatch


class Broadcast(AbstractDispatch):
    """A request waits at every drive that holds a part of it; the first to choose one takes it from the others."""

    def route(self, private, request, entering, view):
        return view.placement.parts_of(view.place), private


class DSPTF(Broadcast):
    """Send a request to all replicas; their bricks settle by messages which of them serves it (`arbitration.DSPTFClaims`)."""

    settled: arbitration.DSPTFClaims

    def __init__(
        self,
        latency: ArrayLike = 50e-6,
        *,
        bound: ArrayLike | None = None,
        waits: ArrayLike = 0,
        delivery: AbstractDelivery | None = None,
    ):
        self.settled = arbitration.DSPTFClaims(latency, bound=bound, waits=waits, delivery=delivery)

    @property
    def claims(self) -> arbitration.DSPTFClaims:
        return self.settled

    @property
    def latency(self) -> Float[AnyArray, "..."]:
        """Seconds that a message takes one way."""
        return self.settled.latency


class Preselection(Broadcast):
    """Send a request to all replicas; a node drops a part once enough other nodes have made better bids on it.

    It takes the parameters of `arbitration.PreselectionBids`.
    """

    settled: arbitration.PreselectionBids

    def __init__(self, latency: ArrayLike = 0.1e-3, *, ahead: ArrayLike | None = None, waits: ArrayLike = 0):
        self.settled = arbitration.PreselectionBids(latency, ahead=ahead, waits=waits)

    @property
    def claims(self) -> arbitration.PreselectionBids:
        return self.settled


def central() -> DSPTF:
    """The centralized ideal that D-SPTF is held against: one queue over all replicas, no delay (dsptf, section 4)."""
    return DSPTF(0.0)
