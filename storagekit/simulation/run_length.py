"""Length of the measured part of a run, in completed requests or in seconds of simulated time."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from storagekit.core.batching import MOST_WHOLE
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, Validator, require, text

# types of the arguments, before their ranges are checked; request numbers have 32 bits
NUMERIC, REQUESTS = Validator(endless=True), Validator(most=MOST_WHOLE, whole=True)
# largest number of requests of a run with a precision
BUDGET = 1_000_000
# factor between the lengths at which the precision of a run is checked
GROWTH = 2


@dataclass(frozen=True)
class Precision:
    """Condition under which a run is long enough.

    Parameters
    ----------
    wanted : mapping of str to float
        For each named measure, a limit for the half-width of its 95% interval divided by its mean. The run ends when
        all measures are within these limits.
    budget : int
        Number of completed requests at which the run ends, even if the intervals are too wide.
    patient : bool
        Whether the run continues although arrivals wait for a slot, by default False.
    """

    wanted: Mapping[str, float]
    budget: int
    patient: bool = False

    @property
    def facts(self) -> dict[str, float | str]:
        """The attributes that describe the precision in the provenance of a result."""
        return {"precision_wanted": json.dumps(dict(self.wanted)), "budget": self.budget}


@dataclass(frozen=True)
class RunLength:
    """Length of a run. The runs of a batch end when every run has reached the value `amount` of the sum `by`.

    Parameters
    ----------
    amount : float
        Completed requests, or seconds of simulated time. With a precision, this is the length at which the precision is
        first checked.
    warm_up : float or None
        Part at the start that is not measured, in the same unit; None if it is to be determined.
    by : str
        Name of the sum: "completed" (completed requests) or "elapsed" (seconds of simulated time).
    precision : Precision, optional
        Condition under which the run ends, by default none.
    """

    amount: float
    warm_up: float | None
    by: str
    precision: Precision | None = None

    @property
    def stages(self) -> Iterator[float]:
        """The lengths at which the run may end, in increasing order."""
        amount = self.amount
        yield amount
        while self.precision is not None and amount < self.precision.budget:
            amount = min(GROWTH * amount, self.precision.budget)
            yield amount

    @property
    def most(self) -> float:
        """The largest length at which the run may end."""
        return self.amount if self.precision is None else float(self.precision.budget)

    def within(self, total: float) -> "RunLength":
        """Return the same length with a budget of at most `total` requests, but not below `amount`."""
        if self.precision is None or self.precision.budget <= total:
            return self
        return replace(self, precision=replace(self.precision, budget=max(int(total), int(self.amount))))

    @property
    def facts(self) -> dict[str, float | str]:
        """The attributes that describe the length of the run in the provenance of a result."""
        more = {} if self.precision is None else self.precision.facts
        if self.by == "completed":
            cut = "MSER-5" if self.warm_up is None else int(self.warm_up)
            return {"requests_per_run": int(self.amount), "warm_up_requests": cut} | more
        cut = "MSER-5" if self.warm_up is None else float(self.warm_up)
        return {"seconds_per_run": float(self.amount), "warm_up_seconds": cut} | more


def run_length(
    requests: int, seconds: float | None, warm_up: float | None, precision: Precision | None = None
) -> RunLength:
    """Return the length of a run as an `RunLength`.

    Parameters
    ----------
    requests : int
        Number of requests to complete, at least 1.
    seconds : float or None
        Simulated time, seconds, which replaces `requests`.
    warm_up : float or None
        Part at the start that is not measured, in requests or seconds; None if it is to be determined.
    precision : Precision, optional
        Condition under which the run ends, by default none.

    Returns
    -------
    RunLength
        The length.

    Raises
    ------
    InputError
        If a length is out of range, if the warm-up leaves nothing to measure, if a precision is combined with
        `seconds`, or if `requests` exceeds the budget of the precision.
    """
    REQUESTS("requests", requests)
    if warm_up is not None:
        NUMERIC("warm-up", warm_up)
    if seconds is not None:
        NUMERIC("seconds", seconds)
        require(0 < seconds < 1e9, "length of the run", seconds, "above 0 and below 1e9", "s")
        if warm_up is not None and not 0 <= warm_up < seconds:
            raise InputError(
                f"warm-up of {warm_up:g} s: it must be at least 0 and below the length of the run, {seconds:g} s"
            )
        if precision is not None:
            raise InputError(f"a precision and {seconds:g} s: give the precision with `requests`, or the seconds alone")
        return RunLength(seconds, warm_up, "elapsed")
    if requests < 1:
        raise InputError(f"{requests} requests: give at least 1")
    if warm_up is not None and not 0 <= warm_up < requests:
        raise InputError(
            f"warm-up of {warm_up} requests: it must be at least 0 and below the length of the run, {requests} requests"
        )
    if precision is not None and precision.budget < requests:
        raise InputError(
            f"a budget of {precision.budget} requests, but runs of {requests}: raise the budget, or lower `requests`"
        )
    return RunLength(requests, warm_up, "completed", precision)


def precise(
    wanted: float | Mapping[str, float] | None, budget: int = BUDGET, patient: bool = False
) -> Precision | None:
    """Return the precision that a user requests, or None if no precision is requested.

    Parameters
    ----------
    wanted : float or mapping of str to float or None
        Half-width of the 95% interval of the mean response time, divided by the mean. A mapping gives the half-width of
        each named measure.
    budget : int
        Largest number of requests, by default 1,000,000.
    patient : bool
        Whether the run continues although arrivals wait for a slot, by default False.

    Returns
    -------
    Precision or None
        The precision.

    Raises
    ------
    InputError
        If a half-width is not above 0 and below 1, or if the budget is not a whole number.
    """
    if wanted is None:
        return None
    of = dict(wanted) if isinstance(wanted, Mapping) else {"response": wanted}
    if not of:
        raise InputError(
            "no precision: give a number for the mean response time, or a mapping from measures to numbers"
        )
    for name, share in of.items():
        NUMERIC(f"precision of {text('a measure of a precision', name)}", share)
        require(0 < share < 1, f"precision of {name}", share, "above 0 and below 1, as a fraction of the mean")
    return Precision(of, COUNT.up_to(MOST_WHOLE)("budget", budget), patient)
