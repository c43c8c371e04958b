"""Every part is asked, and who is first serves it."""

from jax.typing import ArrayLike
from jaxtyping import Float

from storagekit import arbitration
from storagekit.arbitration.dsptf import AbstractDelivery
from storagekit.core.arrays import AnyArray
from storagekit.dispatch.base import AbstractDispatch


class Everyone(AbstractDispatch):
    """A request waits at every drive that holds a part of it; the first to choose one takes it from the others."""

    def route(self, private, request, entering, view):
        return view.placement.parts_of(view.place), private


class DSPTF(Everyone):
    """Everyone is asked, and claims are settled by messages: see `arbitration.DSPTF`, which takes the same."""

    settled: arbitration.DSPTF

    def __init__(
        self,
        latency: ArrayLike = 50e-6,
        *,
        bound: ArrayLike | None = None,
        waits: ArrayLike = 0,
        delivery: AbstractDelivery | None = None,
    ):
        self.settled = arbitration.DSPTF(latency, bound=bound, waits=waits, delivery=delivery)

    @property
    def claims(self) -> arbitration.DSPTF:
        return self.settled

    @property
    def latency(self) -> Float[AnyArray, "..."]:
        """Seconds that a message takes one way."""
        return self.settled.latency


class Preselection(Everyone):
    """Send a request to all replicas; a node drops a part once enough other nodes have made better bids on it.

    It takes the parameters of `arbitration.Preselection`.
    """

    settled: arbitration.Preselection

    def __init__(self, latency: ArrayLike = 0.1e-3, *, ahead: ArrayLike | None = None, waits: ArrayLike = 0):
        self.settled = arbitration.Preselection(latency, ahead=ahead, waits=waits)

    @property
    def claims(self) -> arbitration.Preselection:
        return self.settled


def central() -> DSPTF:
    """The centralized ideal that D-SPTF is held against: one queue over all replicas, no delay (dsptf, section 4)."""
    return DSPTF(0.0)
