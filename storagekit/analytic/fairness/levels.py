"""Calculate the long-run rates of total proportional sharing at bricks where several streams wait."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.namespaces import namespace_of
from storagekit.core.validation import POSITIVE, numbers, require, require_broadcast, validate


class WaterLevel(NamedTuple):
    """Long-run rates of streams that are backlogged at the same bricks.

    Parameters
    ----------
    level : array of float, shape `[...]`
        Level L, cost a second: the normalized rate (rate divided by weight) of the streams that these bricks serve.
    rates : array of float, shape `[..., stream]`
        Normalized rate of each stream over all bricks: the larger of L and its normalized rate at other bricks.
    service : array of float, shape `[..., stream]`
        Rate of each stream at these bricks, cost a second, not normalized. It is 0 for a stream whose rate at other
        bricks is at least L.
    """

    level: NDArray
    rates: NDArray
    service: NDArray


@validate
def water_level(
    other: Annotated[ArrayLike, numbers],
    weights: Annotated[ArrayLike, numbers],
    capacity: Annotated[ArrayLike, numbers],
) -> WaterLevel:
    """Return the long-run rates of streams under TOTAL-DSFQ. All streams are backlogged at a set S of bricks.

    Parameters
    ----------
    other : array of float, shape `[..., stream]`
        Rate of each stream at bricks outside S, divided by the weight of the stream, cost a second.
    weights : array of float, shape `[..., stream]`
        Weight phi of each stream.
    capacity : float or array of float, shape `[...]`
        Rate of all bricks of S together, cost a second. Leading axes broadcast.

    Returns
    -------
    WaterLevel
        The level, and the rates of the streams.

    Raises
    ------
    InputError
        If a rate or a capacity is below 0, a weight is not above 0, a value is not finite, or the arrays do not
        broadcast.

    Notes
    -----
    The level L solves

        sum over f of phi_f max(0, L - other_f) = capacity

    Let the streams be in ascending order of `other`. If only the first k streams were served, the level of these k
    streams would be

        L_k = (capacity + sum of phi_f other_f) / sum of phi_f

    with the sums over the first k streams. The level L is the smallest L_k: the first k streams never receive more than
    the capacity, so no L_k is below L, and L_k equals L if exactly the first k streams are served.

    References
    ----------
    dsfq, theorem 3.
    """
    require_broadcast(other=other, weights=weights)
    space = namespace_of(other, weights, capacity)
    other, weights = space.broadcast_arrays(space.asarray(other, float), space.asarray(weights, float))
    capacity = space.asarray(capacity, float)
    require(other.ndim > 0 and other.shape[-1] > 0, "streams", 0, "at least 1, along the last axis")
    require_broadcast(rates_elsewhere=other[..., 0], capacity=capacity)
    for label, values in (("rate at other bricks", other), ("capacity", capacity)):
        require((values >= 0) & space.isfinite(values), label, values, "0 or more and finite")
    POSITIVE.each("weight", weights)
    least = other.min(axis=-1, keepdims=True)
    # relative to the smallest rate, so that a small capacity is not lost in the rounding of a large rate
    demand, phi = _sums_of_lowest(other, weights * (other - least), weights)
    above = space.min((capacity[..., None] + demand) / phi, axis=-1, keepdims=True)
    here = space.maximum(0, above - (other - least))
    return WaterLevel((least + above)[..., 0], other + here, weights * here)


def _sums_of_lowest(key: NDArray, *terms: NDArray) -> list[NDArray]:
    """Return the sums of terms over the streams with the 1, 2, ... smallest keys, `[..., stream]`.

    With JAX, the sums are in the order of the streams, and equal keys share a sum.
    """
    if namespace_of(key, *terms) is not np:
        lowest = key[..., None, :] <= key[..., :, None]
        return [(lowest * term[..., None, :]).sum(axis=-1) for term in terms]
    order = np.argsort(key, axis=-1, kind="stable")
    return [np.cumsum(np.take_along_axis(term, order, -1), axis=-1) for term in terms]
