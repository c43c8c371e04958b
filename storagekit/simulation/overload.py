"""Recognize overloaded systems, whose response times depend on the length of the run."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

# number of parts of a run with equal numbers of requests; response times that rise from part to part show an overload
PARTS = 5
# ratio of response times, last part to first part, above which a system is overloaded
RISEN = 2.0
# a system is overloaded above this share of arrivals that wait for a slot, or this utilization of the busiest brick
BLOCKED, BUSY = 1e-3, 0.95
# number of requests below which utilization and rising response times say nothing
FEWEST = 100


def part_length(requests: int) -> int:
    """Return the number of requests of each part of a run; the last part may have fewer."""
    return -(-requests // PARTS)


def overload_reasons(
    requests: int, outside: float, utilization: ArrayLike, responses: Sequence[float], closed: bool
) -> str:
    """Return the reason why a system is overloaded.

    Parameters
    ----------
    requests : int
        Number of requests.
    outside : float
        Share of the arrivals that waited for a slot.
    utilization : array of float, shape `[brick]`
        Utilization of each brick.
    responses : sequence of float
        Mean response time in each part of the run, seconds; NaN for a part without requests.
    closed : bool
        Whether the requests are from a closed loop, which keeps the drives busy.

    Returns
    -------
    str
        The reasons; empty if the system is not overloaded.
    """
    each, reasons = np.asarray(utilization), []
    if outside > BLOCKED:
        reasons.append(f"{outside:.1%} of the arrivals waited for a slot")
    if closed or requests < FEWEST:
        return "; ".join(reasons)
    if each.max(initial=0.0) > BUSY:
        full = np.count_nonzero(each > BUSY)
        reasons.append(
            f"its busiest brick is busy {each.max():.0%} of the time"
            + (f", and {full} of {each.size} bricks more than {BUSY:.0%}" if full > 1 else "")
        )
    if np.all(np.diff(responses) > 0) and responses[-1] > RISEN * responses[0]:
        reasons.append(
            f"response times rose from {responses[0] * 1e3:.3g} to {responses[-1] * 1e3:.3g} ms over the run"
        )
    return "; ".join(reasons)
