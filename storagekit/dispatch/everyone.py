"""Every part is asked, and who is first serves it."""

from jax.typing import ArrayLike
from jaxtyping import Float

from storagekit import claims
from storagekit.claims.dsptf import AbstractDelivery
from storagekit.core.arrays import AnyArray
from storagekit.dispatch.base import AbstractDispatch


class Everyone(AbstractDispatch):
    """A request waits at every drive that holds a part of it; the first to choose one takes it from the others."""

    def route(self, private, request, entering, view):
        return view.placement.parts_of(view.place), private


class DSPTF(Everyone):
    """Everyone is asked, and claims are settled by messages: see `claims.DSPTF`, which takes the same."""

    settled: claims.DSPTF

    def __init__(
        self,
        latency: ArrayLike = 50e-6,
        *,
        bound: ArrayLike | None = None,
        waits: ArrayLike = 0,
        delivery: AbstractDelivery | None = None,
    ):
        self.settled = claims.DSPTF(latency, bound=bound, waits=waits, delivery=delivery)

    @property
    def claims(self) -> claims.DSPTF:
        return self.settled

    @property
    def latency(self) -> Float[AnyArray, "..."]:
        """Seconds that a message takes one way."""
        return self.settled.latency


class Preselection(Everyone):
    """Everyone is asked, and a node drops a part once enough others have made better claims on it: see `claims.Preselection`,
    which takes the same."""

    settled: claims.Preselection

    def __init__(self, latency: ArrayLike = 0.1e-3, *, ahead: ArrayLike | None = None, waits: ArrayLike = 0):
        self.settled = claims.Preselection(latency, ahead=ahead, waits=waits)

    @property
    def claims(self) -> claims.Preselection:
        return self.settled


def central() -> DSPTF:
    """The centralized ideal that D-SPTF is held against: one queue over all replicas, no delay (dsptf, section 4)."""
    return DSPTF(0.0)
