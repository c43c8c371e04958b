"""Calculate the mean of the smallest and of the largest of n positioning times (seek time plus rotational latency).

The n heads of a mirror are at independent distances and angles. A read goes to the head that arrives first, and a write
waits for the last head. The positioning time of a head is seek + U, with U uniform from 0 to `arc`, the time from one
replica to the next. If G(t) is the probability that the positioning time of one head exceeds t, the means for n heads
are

    E least = integral of G(t)^n,  E most = integral of 1 - (1 - G(t))^n
"""

from functools import lru_cache, partial
from math import comb
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.namespaces import evenly_spaced, interpolated, namespace_of, where_chosen
from storagekit.core.validation import (
    COUNT,
    MOST_COUNTED,
    SPAN,
    TIME,
    Shares,
    Spans,
    Validator,
    require,
    require_broadcast,
    traced,
    validate,
)

# The mean times are smooth functions of the ratio of the seek to seek + arc. Linear interpolation between these points is
# accurate to 1e-5.
_PARTS = np.linspace(0.0, 1.0, 401)
# Quadrature over a measured curve with these numbers of points is accurate to 0.1 percent.
_SEEK_SAMPLES = 64
_TIMES = 193
# number of heads that seek, or of requests among which one head chooses; it may be a fraction
_COPIES = Validator(least=1, most=MOST_COUNTED).each
# largest number of heads if some of them may be busy; with more heads, the binomial coefficients exceed a float64
_CHANCED = 1000


def _linear(full: ArrayLike, arc: ArrayLike, copies: ArrayLike, idle: ArrayLike = 1.0) -> None:
    """Raise InputError if the arguments do not fit together."""
    require_broadcast(full=full, arc=arc, copies=copies, idle=idle)
    if traced(full, arc, copies, idle):
        return
    full, arc, idle, copies = np.broadcast_arrays(full, arc, idle, copies)
    require(full + arc > 0, "sum of seek and arc", full + arc, "above 0", "s")
    if np.all(idle == 1) and copies.dtype.kind == "f":
        return
    require(copies.ndim > 0, "copies of shape", "()", "[.., layout]; give an array with one value for each layout")
    if np.any(idle < 1):
        whole = (copies <= _CHANCED) & (copies == np.round(copies))
        require(whole, "copies", copies, f"a whole number of at most {_CHANCED} where idle is below 1")
    require(copies == _column(copies), "copies", copies, "equal along all axes except the last")


def _last(full: ArrayLike, arc: ArrayLike, copies: ArrayLike) -> None:
    # Whole numbers may be stored as floats.
    _linear(full, arc, np.asarray(copies).astype(int))


def _sampled(seeks: ArrayLike, arc: ArrayLike, copies: ArrayLike, idle: ArrayLike = 1.0) -> None:
    """Raise InputError if the arguments do not fit together."""
    sampled, one_each = np.shape(seeks), np.shape(seeks)[:1]
    require(
        len(sampled) == 2 and 0 not in sampled, "seeks of shape", str(sampled), "[layout, sample], at least one of each"
    )
    for label, value in (("arc", arc), ("copies", copies)):
        require(
            np.shape(value) == one_each, f"{label} of shape", str(np.shape(value)), f"{one_each}, one for each layout"
        )
    require(
        np.shape(idle) in ((), one_each), "idle of shape", str(np.shape(idle)), f"() or {one_each}, the shape of arc"
    )


@validate(together=_linear)
def least_linear(full: Spans, arc: Spans, copies: Annotated[NDArray, _COPIES], idle: Shares = 1.0) -> NDArray:
    """Return the mean positioning time of the nearest of several heads, in seconds. Seek times are linear in distance.

    Parameters
    ----------
    full : float or array of float, shape `[..., layout]`
        Seek time from end to end, seconds. Each seek is between two uniform points.
    arc : float or array of float, shape `[..., layout]`
        Time from one replica to the next, seconds.
    copies : array, shape `[..., layout]`
        Number of heads, one for each mirrored copy. It may be a fraction if `idle` is 1.
    idle : float or array of float
        Probability that a head is idle, so that it can be chosen; 1 by default. If no head is idle, the positioning time
        is the time of a single head.

    Returns
    -------
    array of float, shape `[..., layout]`
        Mean time, seconds.

    Raises
    ------
    InputError
        If both `full` and `arc` are 0, or if `idle` is below 1 and a number of heads is above 1000 or not whole.
    """
    # a number that JAX traces may be below 1
    chosen = not traced(idle) and bool(np.all(np.asarray(idle) == 1))
    full, arc, idle, copies = _broadcast(full, arc, idle, copies)
    if chosen and copies.dtype.kind == "f":
        return _least_of_some(full, arc, copies)
    if chosen:
        return _looked_up(full, arc, copies, _least_table)
    total = (1 - idle) ** copies * _looked_up(full, arc, np.ones_like(copies), _least_table)
    column = _column(copies)
    for free in range(1, int(column.max(initial=0)) + 1):
        ways = np.broadcast_to(np.array([comb(int(n), free) for n in column], float), copies.shape)

        def with_free(total, full, arc, idle, copies, ways, free=free):
            weight = ways * idle**free * (1 - idle) ** np.maximum(copies - free, 0)
            return total + weight * _looked_up(full, arc, np.full_like(copies, free), _least_table)

        total = where_chosen(column >= free, with_free, total, full, arc, idle, copies, ways, otherwise=total)
    return total


def _broadcast(*values: ArrayLike) -> list[NDArray]:
    """Return the values as arrays of the same shape: arrays of JAX for values that JAX traces, otherwise of NumPy."""
    shape = np.broadcast_shapes(*map(np.shape, values))
    return [namespace_of(value).broadcast_to(value, shape) for value in values]


@validate(together=_last)
def most_linear(full: Spans, arc: Spans, copies: Annotated[NDArray, COUNT.each]) -> NDArray:
    """Return the mean positioning time of the farthest of several heads, in seconds. Seek times are linear in distance.

    Parameters
    ----------
    full : float or array of float, shape `[..., layout]`
        Seek time from end to end, seconds. Each seek is between two uniform points.
    arc : float or array of float, shape `[..., layout]`
        Time from one replica to the next, seconds.
    copies : array of int, shape `[..., layout]`
        Number of heads, one for each mirrored copy.

    Returns
    -------
    array of float, shape `[..., layout]`
        Mean time, seconds.

    Raises
    ------
    InputError
        If both `full` and `arc` are 0, or a number of heads is not whole.
    """
    full, arc, copies = _broadcast(full, arc, copies)
    return _looked_up(full, arc, copies, _most_table)


def _looked_up(full, arc, copies, table) -> NDArray:
    """Return the mean times by interpolation in the table of each number of heads."""
    whole = full + arc
    part = full / whole
    column = _column(copies)
    found = part
    for n in np.unique(column):
        mean = partial(interpolated, points=_PARTS, values=table(int(n)))
        found = where_chosen(column == n, mean, part, otherwise=found)
    return found * whole


def _column(copies: NDArray) -> NDArray:
    """Return the number of heads of each layout (last axis). The numbers are equal along all other axes."""
    return copies.reshape(-1, copies.shape[-1])[0] if copies.size else copies.reshape(-1)


def _least_of_some(full, arc, copies) -> NDArray:
    """Return the mean positioning time of the nearest of several heads. Their number may be a fraction.

    The mean is nearly a power of the number of heads, so the logarithm of the mean is interpolated in a table.
    """
    whole, space = full + arc, namespace_of(full, arc, copies)
    crowds, table = map(space.asarray, _crowd_table())
    row = space.minimum(interpolated(space.log(copies), crowds, space.arange(crowds.size)), crowds.size - 1.001)
    column = space.minimum(full / whole * (_PARTS.size - 1), _PARTS.size - 1.001)
    upper, left = row.astype(int), column.astype(int)
    down, right = row - upper, column - left
    above = (1 - right) * table[upper, left] + right * table[upper, left + 1]
    below = (1 - right) * table[upper + 1, left] + right * table[upper + 1, left + 1]
    return whole * space.exp((1 - down) * above + down * below)


@lru_cache(maxsize=1)
def _crowd_table() -> tuple[NDArray, NDArray]:
    """Return the logarithms of several numbers of heads, and of the mean smallest time for each, `[number, ratio]`.

    The numbers of heads are from 1 to 10,000.

    The ratios are seek / (seek + arc), as in `_PARTS`. The times are relative to seek + arc.
    """
    crowds = np.geomspace(1, 1e4, 41)
    return np.log(crowds), np.log([_least_table(crowd) for crowd in crowds])


@lru_cache(maxsize=256)
def _least_table(copies: float) -> NDArray:
    """Return the mean smallest time, relative to seek + arc, for each ratio seek / (seek + arc) in `_PARTS`."""
    exceeds, weights = _nodes()
    return (exceeds**copies * weights).sum(axis=1)


@lru_cache(maxsize=256)
def _most_table(copies: int) -> NDArray:
    """Return the mean largest time, relative to seek + arc, for each ratio seek / (seek + arc) in `_PARTS`."""
    exceeds, weights = _nodes()
    return ((1 - (1 - exceeds) ** copies) * weights).sum(axis=1)


@lru_cache(maxsize=1)
def _nodes() -> tuple[NDArray, NDArray]:
    """Return G at the nodes of a quadrature and the weights of the nodes, `[ratio, node]`.

    For each ratio in `_PARTS`, the longest seek is the ratio, and the arc is 1 - ratio.

    G is a polynomial between the ends of seek and arc. Gaussian quadrature is therefore exact for up to 21 heads, and
    nearly exact for more heads.
    """
    full, arc = _PARTS[:, None], 1 - _PARTS[:, None]
    nodes, weights = np.polynomial.legendre.leggauss(32)
    edges = np.concatenate([0 * full, np.minimum(full, arc), np.maximum(full, arc), 0 * full + 1], axis=1)
    half = np.diff(edges, axis=1)[:, :, None] / 2
    time = (edges[:, :-1, None] + half * (1 + nodes)).reshape(_PARTS.size, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        exceeds = np.where(arc > 0, (_area(time, full) - _area(time - arc, full)) / arc, (1 - time / full) ** 2)
        exceeds = np.where(full > 0, exceeds, 1 - time / arc)
    return np.clip(exceeds, 0, 1), (half * weights).reshape(_PARTS.size, -1)


def _area(time, full):
    """Return the integral from 0 to `time` of the probability that a seek takes longer than t.

    The probability is 1 below 0, (1 - t/full)^2 from 0 to `full`, and 0 above.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        within = full / 3 * (1 - (1 - np.clip(time / full, 0, 1)) ** 3)
    return np.where(time < 0, time, within)


@validate
def distances(power: Annotated[ArrayLike, Validator(least=0, above=True).each] = 2.0) -> NDArray:
    """Return equally likely samples of a distance d with the density k (1 - d)^(k - 1).

    Parameters
    ----------
    power : float or array of float
        Exponent k, above 0. The default of 2 is the density of the distance between two uniform points of a unit
        line.

    Returns
    -------
    array of float, shape `[..., sample]`
        Distances, each as a share of the line: the medians of 64 intervals of equal probability.

    Raises
    ------
    InputError
        If `power` is not above 0.
    """
    middle, space = (np.arange(_SEEK_SAMPLES) + 0.5) / _SEEK_SAMPLES, namespace_of(power)
    exponent = 1 / space.asarray(power, float)[..., None]
    return 1 - (1 - middle.reshape((1,) * (exponent.ndim - 1) + (-1,))) ** exponent


@validate(together=_sampled)
def least_sampled(
    seeks: Annotated[NDArray, SPAN.each],
    arc: Annotated[NDArray, TIME.each],
    copies: Annotated[NDArray, COUNT.each],
    idle: Shares = 1.0,
) -> NDArray:
    """Return the mean positioning time of the nearest of several heads, in seconds.

    The seek times are samples of any seek curve.

    Parameters
    ----------
    seeks : array of float, shape `[layout, sample]`
        Seek times, all equally likely, seconds.
    arc : array of float, shape `[layout]`
        Time from one replica to the next, seconds, above 0.
    copies : array of int, shape `[layout]`
        Number of heads, one for each mirrored copy.
    idle : float or array of float, shape `[layout]`
        Probability that a head is idle, so that it can be chosen; 1 by default. If no head is idle, the positioning time
        is the time of a single head.

    Returns
    -------
    array of float, shape `[layout]`
        Mean time, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the shapes differ.
    """
    exceeds, step = _exceeds(seeks, arc)
    space = namespace_of(exceeds, idle, copies)
    n, free = copies[:, None], space.broadcast_to(space.asarray(idle, float), copies.shape)[:, None]
    # sum over the number n of idle heads of P(n) G^n, with G instead of G^0
    chosen = (1 - free + free * exceeds) ** n - (1 - free) ** n * (1 - exceeds)
    return space.trapezoid(chosen, axis=1) * step


@validate(together=_sampled)
def most_sampled(
    seeks: Annotated[NDArray, SPAN.each], arc: Annotated[NDArray, TIME.each], copies: Annotated[NDArray, COUNT.each]
) -> NDArray:
    """Return the mean positioning time of the farthest of several heads, in seconds.

    The seek times are samples of any seek curve.

    Parameters
    ----------
    seeks : array of float, shape `[layout, sample]`
        Seek times, all equally likely, seconds.
    arc : array of float, shape `[layout]`
        Time from one replica to the next, seconds, above 0.
    copies : array of int, shape `[layout]`
        Number of heads, one for each mirrored copy.

    Returns
    -------
    array of float, shape `[layout]`
        Mean time, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the shapes differ.
    """
    exceeds, step = _exceeds(seeks, arc)
    return namespace_of(exceeds).trapezoid(1 - (1 - exceeds) ** copies[:, None], axis=1) * step


def _exceeds(seeks: NDArray, arc: NDArray) -> tuple[NDArray, NDArray]:
    """Return G at equal steps of time, `[layout, time]`, and the length of the steps in seconds, `[layout]`."""
    space = namespace_of(seeks, arc)
    last = seeks.max(axis=1) + arc
    time = evenly_spaced(last, _TIMES)
    until, before = _within(time, seeks), _within(time - arc[:, None], seeks)
    return space.clip((until - before) / arc[:, None], 0, 1), last / (_TIMES - 1)


def _within(time: NDArray, seeks: NDArray) -> NDArray:
    """Return the integral, up to each time, of the probability that a seek takes longer, `[layout, time]`.

    The integral is the mean of min(time, seek) over the samples.
    """
    space = namespace_of(time, seeks)
    if space is not np:
        return space.minimum(time[:, None], seeks[:, :, None]).mean(axis=1)
    # the same numbers, several times as fast with NumPy; before the shortest seek, the integral is the time
    seeks = np.sort(seeks, axis=1)
    above = 1 - np.arange(seeks.shape[1]) / seeks.shape[1]
    area = np.cumsum(np.diff(seeks, axis=1, prepend=0) * above, axis=1)
    found = [np.interp(*row) for row in zip(time, seeks, area, strict=True)]
    return np.where(time < seeks[:, :1], time, found)
