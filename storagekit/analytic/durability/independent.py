"""Loss of data by independent failures in a fixed period, with repair between periods only."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.namespaces import any_of_many, as_number, namespace_of, repeated, special_of, stacked
from storagekit.core.validation import (
    COUNT,
    SHARE,
    Count,
    Positive,
    Share,
    Span,
    Time,
    Whole,
    require,
    several,
    traced,
    validate,
)
from storagekit.faults import Failures, Redundancy

# Largest number of shares: binomial coefficients are below the largest float64.
MOST_SHARES = 1000
# Largest number of inspections, which are computed one by one.
MOST_INSPECTIONS = 10**5


@validate
def window_loss(
    disks: Count,
    parities: Whole,
    failing: Share,
    windows: Positive = 1.0,
    failures: Literal["binomial", "poisson"] = "binomial",
) -> float:
    """Return the probability that more disks than `parities` fail within one of several windows of time.

    Parameters
    ----------
    disks : int
        Number n of disks of a group.
    parities : int
        Number r of lost disks that the group tolerates, below n.
    failing : float
        Probability p that a disk fails within a window.
    windows : float
        Number of windows, by default 1. All failures of a window are repaired at its end.
    failures : {"binomial", "poisson"}
        Distribution of the number of failures in a window: binomial (the default), or Poisson with the mean n p.

    Returns
    -------
    float
        The probability. Probabilities of 1e-80 keep their digits.

    Raises
    ------
    InputError
        If an argument is out of range.

    Notes
    -----
    Fixed windows miss losses by failures in two adjacent windows. `durability` has no such bias.

    References
    ----------
    Backblaze, erasure-coding-durability (binomial); Storj, A Decentralized Cloud Storage Network Framework, version 3,
    2018, section on durability (Poisson).

    Examples
    --------
    Backblaze's 17 + 3 with an annual failure rate of 0.405% and windows of 6.5 days.

    >>> import math
    >>> from storagekit.analytic.durability import window_loss
    >>> f"{window_loss(20, 3, -math.expm1(-0.00405 * 6.5 / 365), windows=365 / 6.5):.3e}"
    '7.354e-12'
    """
    require(parities < disks, "parities", parities, f"below {disks}, the number of disks of a group")
    special = special_of(namespace_of(failing))
    if failures == "binomial":
        lost = special.betainc(parities + 1.0, float(disks - parities), failing)
    else:
        lost = special.gammainc(parities + 1.0, disks * failing)
    return as_number(any_of_many(lost, windows))


@validate
def surviving(
    probabilities: Annotated[Sequence[float], several(SHARE, 1, "probabilities")],
) -> NDArray:
    """Return the distribution of the number of disks that survive with unequal probabilities.

    Parameters
    ----------
    probabilities : sequence of float
        Probability of each disk to survive, at least one.

    Returns
    -------
    array of float, shape `[number + 1]`
        Probability of each number of surviving disks (Poisson binomial distribution). A code that needs k of the disks
        loses data with the sum of the first k values.

    Raises
    ------
    InputError
        If a probability is not between 0 and 1.

    Examples
    --------
    >>> from storagekit.analytic.durability import surviving
    >>> float(surviving([0.5] * 10)[:3].sum())
    0.0546875
    """
    chances, space = stacked(probabilities), namespace_of(*probabilities)

    def with_one_more(number: Any, found: NDArray) -> NDArray:
        return found * (1 - chances[number]) + space.pad(found[:-1], (1, 0)) * chances[number]

    none = np.zeros(len(probabilities) + 1)
    none[0] = 1.0
    return repeated(len(probabilities), space.asarray(none), with_one_more)


@validate
def inspected(
    redundancy: Redundancy,
    failures: Failures,
    repair_below: Annotated[int, COUNT],
    interval: Time,
    duration: Span,
    first: Span | None = None,
) -> NDArray:
    """Return the distribution of the number of remaining shares of a file that is repaired at inspections only.

    Parameters
    ----------
    redundancy : Redundancy
        The code: n = k + r shares, of which k are needed.
    failures : Failures
        Failures of shares, with exponential lifetimes.
    repair_below : int
        An inspection replaces all lost shares if fewer than this number are left, and at least k.
    interval : float
        Time between inspections, seconds.
    duration : float
        Time after which the shares are counted, seconds. JAX must not trace the times, because the number of inspections
        is whole.
    first : float, optional
        Time of the first inspection, seconds; by default `interval`.

    Returns
    -------
    array of float, shape `[n + 1]`
        Probability of each number of remaining shares. The file is lost with the sum of the first k values.

    Raises
    ------
    InputError
        If an argument is out of range, lifetimes are not exponential, or there are more than 1,000 shares or 100,000
        inspections.

    References
    ----------
    Tahoe-LAFS, misc/operations_helpers/provisioning/reliability.py, the model of shares, checks and repairs.

    Examples
    --------
    >>> from storagekit.analytic.durability import inspected
    >>> from storagekit.core.units import HOUR
    >>> from storagekit.faults import Failures, Redundancy
    >>> year = 365 * 24 * HOUR
    >>> shares = inspected(Redundancy(3, 7), Failures(1 / 8, "rate", days=365), 7, 744 * HOUR, 5 * year)
    >>> f"{shares[:3].sum():.2e}"
    '3.36e-08'
    """
    shares, needed = redundancy.stripe, redundancy.data
    require(shares <= MOST_SHARES, "data + parities", shares, f"at most {MOST_SHARES} shares")
    require(failures.shape == 1, "shape of lifetimes", failures.shape, "1")
    if traced(interval, duration, first):
        raise InputError(
            "interval, duration or first: JAX cannot trace them, because the number of inspections is whole; give numbers"
        )
    begins = interval if first is None else first
    inspections = 0 if duration < begins else math.floor((duration - begins) / interval) + 1
    if inspections > MOST_INSPECTIONS:
        raise InputError(f"{inspections:.3g} inspections: give an interval for at most {MOST_INSPECTIONS} inspections")
    repair = np.identity(shares + 1)
    repaired = slice(needed, max(needed, min(repair_below, shares)))
    repair[repaired] = np.identity(shares + 1)[shares]
    state = np.identity(shares + 1)[shares]
    if inspections:
        state = state @ _decay(shares, failures.rate * begins) @ repair
        between = _decay(shares, failures.rate * interval) @ repair
        state = repeated(inspections - 1, state, lambda number, state: state @ between)
    rest = duration - begins - (inspections - 1) * interval if inspections else duration
    return state @ _decay(shares, failures.rate * max(0.0, rest))


def _decay(shares: int, hazard: float) -> NDArray:
    """Return the probabilities to go from each number of shares to each other, with a cumulative hazard of each share."""
    from scipy.special import binom  # not at the top: the planner's first answer starts faster

    space = namespace_of(hazard)
    before, after = np.indices((shares + 1, shares + 1))
    lost = np.maximum(before - after, 0)
    chances = binom(before, after) * space.exp(-hazard * after) * (-space.expm1(-hazard)) ** lost
    return space.where(after <= before, chances, 0.0)
