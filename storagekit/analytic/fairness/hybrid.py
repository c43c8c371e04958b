"""Rates under HYBRID-DSFQ: total shares, but for a minimum that every stream has of every brick at which it is backlogged.

A minimum share caps the delay of a request at F times its cost, F of `delay_factor`. While a brick's virtual time rises at v,
requests of a backlogged stream that is served x there and o elsewhere move its tags on by their cost and delay over phi,

    v = (x + min(o, F x)) / phi,   so that   x = max(phi v - o, phi v / (1 + F))

and v is what fills the brick. Where all streams wait at a brick and one alone is capped, its share is the minimum; it is more
where some of them are elsewhere, or where those that are not capped have service elsewhere too.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from storagekit.analytic.fairness.bounds import delay_factor
from storagekit.analytic.fairness.maxmin import STREAMS, MaxMin, max_min_rates
from storagekit.core.kinds import takes

# of the largest rate, between two rounds; rounding alone may move rates by 1e-11
_STILL = 1e-10
_ROUNDS = 20_000


@dataclass(frozen=True)
class WithMinimums:
    """Rates, and `lifted`, where a stream is served for its minimum alone: its total is above that of the others there."""

    rates: MaxMin
    lifted: Bool[np.ndarray, "stream brick"]


class _Brick(NamedTuple):
    """What fills a brick: weights, the least part phi / (1 + F) of them, service elsewhere, demand, all `[stream]`."""

    weight: np.ndarray
    least: np.ndarray
    elsewhere: np.ndarray
    demand: np.ndarray

    def served(self, level: ArrayLike) -> np.ndarray:
        """Of each stream while virtual time rises at `level`."""
        height = np.asarray(level)[..., None]
        return np.minimum(np.maximum(self.weight * height - self.elsewhere, self.least * height), self.demand)


@takes(**STREAMS)
def hybrid_rates(
    capacity: ArrayLike,
    weights: ArrayLike,
    reach: ArrayLike,
    demand: ArrayLike = np.inf,
    minimum: ArrayLike = 0.0,
) -> WithMinimums:
    """The long-run rates of streams that are backlogged where `demand` is infinite, or limited by it.

    capacity, weights, reach, demand: as in `max_min_rates`. minimum: `[stream]`, phi_min, at most the stream's share of all
    weights; 0 for none. Without any the rates are those of `max_min_rates`. Brick after brick is filled for what its streams
    have at the others, until nothing moves.

    Raises InputError as `max_min_rates` and, for minimums, `delay_factor` do; RuntimeError where rates do not settle. Source:
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
    """1 / (1 + F) of each stream, 0 of those without a minimum."""
    shares = weights / weights.sum()
    # a stream that is alone has all of every brick
    some = (minimum > 0) & (shares < 1)
    found = np.zeros(len(weights))
    found[some] = 1 / (1 + delay_factor(shares[some], minimum[some]))
    return found


def _settled(
    capacity: np.ndarray, weights: np.ndarray, least: np.ndarray, demand: np.ndarray, served: np.ndarray
) -> tuple[Float[np.ndarray, "stream brick"], Float[np.ndarray, " brick"]]:
    """What each stream has at each brick when nothing moves any more, and the bricks' levels, infinite where none is full."""
    served, level = served.copy(), np.zeros(len(capacity))
    for _ in range(_ROUNDS):
        before = served.copy()
        for brick, room in enumerate(capacity):
            elsewhere = served.sum(axis=1) - served[:, brick]
            served[:, brick], level[brick] = _filled(_Brick(weights, least, elsewhere, demand[:, brick]), room)
        if np.abs(served - before).max() <= _STILL * capacity.max():
            return served, level
    raise RuntimeError(f"rates of {len(weights)} streams at {len(capacity)} bricks did not settle in {_ROUNDS} rounds")


def _filled(brick: _Brick, room: float) -> tuple[np.ndarray, float]:
    """What each stream is served when the brick is full or all demand met, and the level, infinite if that is met."""
    if brick.demand.sum() <= room:
        return brick.demand, np.inf
    here = brick.demand > 0
    weight, least, elsewhere, demand = (field[here] for field in brick)
    slope = weight - least
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.where(slope > 0, elsewhere / slope, 0)
        # where each is met: by its total or, sooner, by its minimum
        met = np.minimum((demand + elsewhere) / weight, np.where(least > 0, demand / least, np.inf))
    # service is straight between these; beyond the last nobody is left to be raised, or all that are rise as one
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
