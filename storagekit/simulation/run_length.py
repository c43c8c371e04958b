"""How long a run is measured, in requests answered or in seconds of simulated time."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from storagekit.core.batching import MOST_WHOLE
from storagekit.core.checks import require
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, Kind, text

# numbers at all, before what is said of each; requests have numbers of 32 bits
NUMERIC, REQUESTS = Kind(endless=True), Kind(most=MOST_WHOLE, whole=True)
# requests of a run that is to be precise, at most
BUDGET = 1_000_000
# from one look at how precise it is to the next
GROWTH = 2


@dataclass(frozen=True)
class Precision:
    """When a run is long enough: the 95% intervals of measures are this narrow on either side, as shares of their means, or
    `budget` requests are answered. patient: it goes on although arrivals wait outside."""

    wanted: Mapping[str, float]
    budget: int
    patient: bool = False

    @property
    def told(self) -> dict[str, float | str]:
        """For a result's provenance."""
        return {"precision_wanted": json.dumps(dict(self.wanted)), "budget": self.budget}


@dataclass(frozen=True)
class Extent:
    """A run goes on until every lane has so much of the sum `by`, and is measured once it has the `warm_up` of it: None where
    that is to be found. With a `precision` it goes on from there."""

    amount: float
    warm_up: float | None
    by: str
    precision: Precision | None = None

    @property
    def stages(self) -> Iterator[float]:
        """What it goes on until, one after the other."""
        amount = self.amount
        yield amount
        while self.precision is not None and amount < self.precision.budget:
            amount = min(GROWTH * amount, self.precision.budget)
            yield amount

    @property
    def most(self) -> float:
        """The last of these."""
        return self.amount if self.precision is None else float(self.precision.budget)

    def within(self, total: float) -> "Extent":
        """It with no more requests than so many."""
        if self.precision is None or self.precision.budget <= total:
            return self
        return replace(self, precision=replace(self.precision, budget=max(int(total), int(self.amount))))

    @property
    def told(self) -> dict[str, float | str]:
        """For a result's provenance."""
        more = {} if self.precision is None else self.precision.told
        if self.by == "answered":
            cut = "MSER-5" if self.warm_up is None else int(self.warm_up)
            return {"requests_per_run": int(self.amount), "warm_up_requests": cut} | more
        cut = "MSER-5" if self.warm_up is None else float(self.warm_up)
        return {"seconds_per_run": float(self.amount), "warm_up_seconds": cut} | more


def extent(requests: int, seconds: float | None, warm_up: float | None, precision: Precision | None = None) -> Extent:
    """That of a run of so many requests, or, where they are given, seconds.

    Raises InputError for less than a request or no time, where the warm-up leaves nothing, for a precision of runs in
    seconds, and where the first requests exceed its budget.
    """
    REQUESTS("requests", requests)
    if warm_up is not None:
        NUMERIC("warm-up", warm_up)
    if seconds is not None:
        NUMERIC("seconds", seconds)
        require(0 < seconds < 1e9, "a run of", seconds, "above 0 and below 1e9", "s")
        if warm_up is not None and not 0 <= warm_up < seconds:
            raise InputError(f"warm-up of {warm_up:g} s: it must be at least 0 and below the {seconds:g} s simulated")
        if precision is not None:
            raise InputError(
                f"a precision, of runs of {seconds:g} s: give one of both, or the precision and `requests`"
            )
        return Extent(seconds, warm_up, "elapsed")
    if requests < 1:
        raise InputError(f"{requests} requests: simulate at least 1")
    if warm_up is not None and not 0 <= warm_up < requests:
        raise InputError(f"warm-up of {warm_up} requests: it must be at least 0 and below the {requests} simulated")
    if precision is not None and precision.budget < requests:
        raise InputError(
            f"a budget of {precision.budget} requests for runs of {requests}: raise it, or lower `requests`"
        )
    return Extent(requests, warm_up, "answered", precision)


def precise(
    wanted: float | Mapping[str, float] | None, budget: int = BUDGET, patient: bool = False
) -> Precision | None:
    """A precision as it is given: of the mean response time, or of measures by name. None where none is.

    Raises InputError for one that is not above 0 and below 1, and a budget that is no whole number.
    """
    if wanted is None:
        return None
    of = dict(wanted) if isinstance(wanted, Mapping) else {"response": wanted}
    if not of:
        raise InputError("a precision of no measure: give a number, for the mean response time, or measures by name")
    for name, share in of.items():
        NUMERIC(f"a precision of {text('a measure of a precision', name)} of", share)
        require(0 < share < 1, f"a precision of {name} of", share, "above 0 and below 1, a share of the mean")
    return Precision(of, COUNT.up_to(MOST_WHOLE)("budget", budget), patient)
