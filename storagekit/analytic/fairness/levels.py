"""Where total proportional sharing settles at bricks that several streams wait for."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.checks import numbers, require, require_broadcast, require_each_positive
from storagekit.core.kinds import takes


class WaterLevel(NamedTuple):
    """What streams backlogged at the same bricks come to.

    level: L, the normalized rate of those that are served there. rates: `[..., stream]`, the normalized rate of each over
    all bricks, L or what it gets elsewhere where that is more. service: `[..., stream]`, what each gets there, a second,
    not normalized; 0 of a stream that is blocked.
    """

    level: NDArray
    rates: NDArray
    service: NDArray


@takes(other=numbers, weights=numbers, capacity=numbers)
def water_level(other: ArrayLike, weights: ArrayLike, capacity: ArrayLike) -> WaterLevel:
    """The long-run rates under TOTAL-DSFQ of streams that are all backlogged at a set S of bricks.

        sum over f of phi_f max(0, L - other_f) = capacity

    other: `[..., stream]`, what each gets at bricks outside S, a second and over its weight. weights: `[..., stream]`, phi.
    capacity: `[...]`, what the bricks of S serve together, a second. Leading axes broadcast.

    The streams in ascending order of `other`, the first k alone would be raised to

        L_k = (capacity + sum of phi_f other_f) / sum of phi_f,  f the first k

    and the level is the least L_k: the first k alone never get more than the capacity, so that no L_k is below the level,
    and with those that are served it is the level.

    Raises InputError unless rates and capacity are 0 or more, weights above 0, and all finite. Source: dsfq, theorem 3.
    """
    require_broadcast(other=other, weights=weights)
    other, weights = np.broadcast_arrays(np.asarray(other, float), np.asarray(weights, float))
    capacity = np.asarray(capacity, float)
    require(other.ndim > 0 and other.shape[-1] > 0, "streams", 0, "at least 1, along the last axis")
    require_broadcast(rates_elsewhere=other[..., 0], capacity=capacity)
    for label, values in (("rate elsewhere", other), ("capacity", capacity)):
        require((values >= 0) & np.isfinite(values), label, values, "0 or more and finite")
    require_each_positive("weight", weights)
    order = np.argsort(other, axis=-1, kind="stable")
    ordered, weight = np.take_along_axis(other, order, -1), np.take_along_axis(weights, order, -1)
    least = ordered[..., :1]
    # from the least rate on, so that a small capacity is not lost beside a large rate
    filled = capacity[..., None] + np.cumsum(weight * (ordered - least), axis=-1)
    above = np.min(filled / np.cumsum(weight, axis=-1), axis=-1, keepdims=True)
    here = np.maximum(0, above - (other - least))
    return WaterLevel((least + above)[..., 0], other + here, weights * here)
