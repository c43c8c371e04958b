"""Calculate rates under HYBRID-DSFQ: proportional shares of all bricks together, with a minimum share of every brick.

A stream receives at least its minimum share at every brick where it is backlogged. The minimum share caps the delay of
a request at F times its cost, with F from `delay_factor`. Let the virtual time of a brick rise at the rate v. A
backlogged stream receives service at the rate x at this brick, and at the rate o at all other bricks. Each request
advances the tags of its stream by the cost of the request plus its delay, divided by the weight phi of the stream:

    v = (x + min(o, F x)) / phi,   so that   x = max(phi v - o, phi v / (1 + F))

The rate v is the value at which the brick is fully used. If all streams wait at a brick and only one stream is capped,
the capped stream receives exactly its minimum share. It receives more if some streams do not wait at the brick, or if
streams that are not capped also receive service at other bricks.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from storagekit.analytic.fairness.bounds import delay_factor
from storagekit.analytic.fairness.maxmin import MaxMin, Numeric, Reach, max_min_rates
from storagekit.core.validation import validate

# Largest change of a settled rate between two rounds, relative to the largest capacity. Rounding errors may change rates by
# 1e-11.
_STILL = 1e-10
_ROUNDS = 20_000


@dataclass(frozen=True)
class WithMinimums:
    """Rates of streams with minimum shares.

    Parameters
    ----------
    rates : MaxMin
        Rates, allocation and bottlenecks.
    lifted : array of bool, shape `[stream, brick]`
        Whether the stream's minimum share determines its service at the brick. This is the case if the stream's total
        service, divided by its weight, would otherwise exceed the level of the brick.
    """

    rates: MaxMin
    lifted: Bool[np.ndarray, "stream brick"]


class _Brick(NamedTuple):
    """Inputs for filling a brick, all `[stream]`: weights, weights / (1 + F), service at other bricks, and demand."""

    weight: np.ndarray
    least: np.ndarray
    elsewhere: np.ndarray
    demand: np.ndarray

    def served(self, level: ArrayLike) -> np.ndarray:
        """Return the service of each stream if virtual time rises at the rate `level`."""
        height = np.asarray(level)[..., None]
        return np.minimum(np.maximum(self.weight * height - self.elsewhere, self.least * height), self.demand)


@validate
def hybrid_rates(
    capacity: Numeric,
    weights: Numeric,
    reach: Reach,
    demand: Numeric = np.inf,
    minimum: Numeric = 0.0,
) -> WithMinimums:
    """Return the long-run rates of streams with demands and minimum shares.

    A stream is backlogged where its demand is infinite. Elsewhere its demand limits its service.

    Parameters
    ----------
    capacity : array of float, shape `[brick]`
        Service rate of each brick, cost a second.
    weights : array of float, shape `[stream]`
        Weight phi of each stream.
    reach : array of bool, shape `[stream, brick]`
        Whether the stream sends requests to the brick.
    demand : float or array of float, shape `[stream, brick]`
        Demand of each stream at each brick, cost a second; infinite by default, for streams that are always backlogged.
    minimum : float or array of float, shape `[stream]`
        Minimum share phi_min of each stream, at most its share of the sum of all weights; 0 by default, for no minimum.
        If no stream has a minimum, the rates equal the result of `max_min_rates`.

    Returns
    -------
    WithMinimums
        Rates, and the bricks where a minimum determines the service.

    Raises
    ------
    InputError
        Under the conditions of `max_min_rates` and, for minimums, of `delay_factor`.
    RuntimeError
        If the rates do not converge.

    Notes
    -----
    The bricks are filled one after another, until no rate changes. While a brick is filled, the service of its streams
    at the other bricks is fixed.

    NumPy computes the rates, which have no derivatives.

    References
    ----------
    dsfq, section 3.4, equations 11 and 12.
    """
    minimum = np.asarray(minimum, float)
    start = max_min_rates(capacity, weights, reach, demand, minimum)
    demand, capacity, weights = start.demand, np.asarray(capacity, float), np.asarray(weights, float)
    least = weights * _capped(weights, np.broadcast_to(minimum, weights.shape))
    if not np.any(least):
        return WithMinimums(start, np.zeros(demand.shape, bool))
    served, level = _settled(capacity, weights, least, demand, start.allocation)
    rates = served.sum(axis=1)
    full = np.isfinite(level) & (level > 0)
    waits = (demand > served * (1 + 1e-9)) & full
    elsewhere = rates[:, None] - served
    height = np.where(full, level, 0)
    lifted = waits & (least[:, None] * height > weights[:, None] * height - elsewhere + 1e-9 * capacity.max())
    return WithMinimums(MaxMin(rates, served, demand, waits), lifted)


def _capped(weights: np.ndarray, minimum: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + F) of each stream, and 0 for a stream without a minimum."""
    shares = weights / weights.sum()
    # If there is only one stream, it receives the full capacity of every brick.
    some = (minimum > 0) & (shares < 1)
    found = np.zeros(len(weights))
    found[some] = 1 / (1 + delay_factor(shares[some], minimum[some]))
    return found


def _settled(
    capacity: np.ndarray, weights: np.ndarray, least: np.ndarray, demand: np.ndarray, served: np.ndarray
) -> tuple[Float[np.ndarray, "stream brick"], Float[np.ndarray, " brick"]]:
    """Return the final service, `[stream, brick]`, and the level of each brick, infinite if the brick is not full."""
    served, level = served.copy(), np.zeros(len(capacity))
    for _ in range(_ROUNDS):
        before = served.copy()
        for brick, room in enumerate(capacity):
            elsewhere = served.sum(axis=1) - served[:, brick]
            served[:, brick], level[brick] = _filled(_Brick(weights, least, elsewhere, demand[:, brick]), room)
        if np.abs(served - before).max() <= _STILL * capacity.max():
            return served, level
    raise RuntimeError(
        f"rates of {len(weights)} streams at {len(capacity)} bricks did not converge in {_ROUNDS} iterations"
    )


def _filled(brick: _Brick, room: float) -> tuple[np.ndarray, float]:
    """Return the service of each stream, and the level at which the brick is full or all demand is met.

    The level is infinite if all demand is met.
    """
    if brick.demand.sum() <= room:
        return brick.demand, np.inf
    here = brick.demand > 0
    weight, least, elsewhere, demand = (field[here] for field in brick)
    slope = weight - least
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.where(slope > 0, elsewhere / slope, 0)
        # lower of the two levels at which the demand of each stream is met: by its total, and by its minimum
        met = np.minimum((demand + elsewhere) / weight, np.where(least > 0, demand / least, np.inf))
    # Service is linear between these levels. Above the last level, either the service of no stream rises, or the service of
    # all remaining streams rises linearly.
    bends = np.unique(np.concatenate([[0.0], turns, met]))
    bends = bends[np.isfinite(bends)]
    of = _Brick(weight, least, elsewhere, demand)
    sums = of.served(bends).sum(axis=-1)
    last = int(np.searchsorted(sums, room, side="right")) - 1
    rising = of.served(np.append(bends, bends[-1] + 1)).sum(axis=-1)
    gap = np.diff(np.append(bends, bends[-1] + 1))[last]
    level = bends[last] + (room - sums[last]) / (rising[last + 1] - rising[last]) * gap
    found = np.zeros(len(here))
    found[here] = np.maximum(of.served(level), 0)
    return found, float(level)
