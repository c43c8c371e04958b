"""How long a run is measured, in requests answered or in seconds of simulated time."""

from dataclasses import dataclass

from storagekit.checks import require
from storagekit.errors import InputError


@dataclass(frozen=True)
class Extent:
    """A run goes on until every lane has so much of the sum `by`, and is measured once it has the `warm_up` of it."""

    amount: float
    warm_up: float
    by: str

    @property
    def told(self) -> dict[str, float]:
        """For a result's provenance."""
        if self.by == "answered":
            return {"requests_per_run": int(self.amount), "warm_up_requests": int(self.warm_up)}
        return {"seconds_per_run": float(self.amount), "warm_up_seconds": float(self.warm_up)}


def extent(requests: int, seconds: float | None, warm_up: float | None) -> Extent:
    """That of a run of so many requests, or, where they are given, seconds; a tenth of it warm-up unless that is given.

    Raises InputError for less than a request or no time, and where the warm-up leaves nothing.
    """
    if seconds is not None:
        require(0 < seconds < 1e9, "a run of", seconds, "above 0 and below 1e9", "s")
        cut = seconds / 10 if warm_up is None else warm_up
        if not 0 <= cut < seconds:
            raise InputError(f"warm-up of {cut:g} s: it must be at least 0 and below the {seconds:g} s simulated")
        return Extent(seconds, cut, "elapsed")
    if requests < 1:
        raise InputError(f"{requests} requests: simulate at least 1")
    cut = requests // 10 if warm_up is None else warm_up
    if not 0 <= cut < requests:
        raise InputError(f"warm-up of {cut} requests: it must be at least 0 and below the {requests} simulated")
    return Extent(requests, cut, "answered")
