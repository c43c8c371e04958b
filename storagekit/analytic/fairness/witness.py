"""Find the unfairness of a run: the worst interval of its log, in one pass over the events.

A bound applies to every interval in which both streams are backlogged. Let U(t) be the difference between the service
of the two streams up to time t, each divided by its weight. In one period of backlog, the worst interval is the largest
fall of U, or of -U. A fall is the highest value so far minus the current value. The search therefore takes n steps for
a log of n events, and need not compare n^2 intervals. Sums are float64, and sums of integer costs are exact up to 2^53.
"""

from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped
from numpy.typing import ArrayLike

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT
from storagekit.core.errors import InputError
from storagekit.core.namespaces import namespace_of
from storagekit.core.validation import POSITIVE, numbers, require, shown, traced, validate

# the value of `INSTANT` in a log of float32
_INSTANT = float(np.float32(INSTANT))


def _flags(label: str, value: Bool[AnyArray, "..."]) -> Bool[np.ndarray, "..."]:
    """Return the value as an array of bool. Raises InputError unless each element is true or false."""
    given = np.asarray(value)
    if given.dtype.kind != "b" and given.size:
        raise InputError(f"{label} {shown(value)}: give True or False after each event")
    return given.astype(bool)


@validate
def largest_unfairness(
    served: Annotated[Shaped[AnyArray, "event stream *batch"], numbers],
    weights: Annotated[ArrayLike, numbers],
    backlogged: Annotated[Bool[AnyArray, "event *batch"], _flags],
    gap: Annotated[Float[AnyArray, "event *batch"], numbers],
) -> Float[np.ndarray, "*batch"]:
    """Return the largest unfairness of any interval in which both streams are backlogged at one brick.

    The unfairness is | W_f / phi_f - W_g / phi_g |, with the work W for streams f and g and their weights phi.

    Parameters
    ----------
    served : array of float, shape `[event, stream, *batch]`
        Cost of the requests that ended at each event, at any brick, for the two streams of the pair.
    weights : array of float, shape `[stream]` or `[stream, *batch]`
        Weights phi of the two streams.
    backlogged : array of bool, shape `[event, *batch]`
        Whether both streams are backlogged at the brick from the end of the event on.
    gap : array of float, shape `[event, *batch]`
        Time in seconds, since the previous event, during which the two streams were not both backlogged; 0 if both were
        always backlogged.

    Returns
    -------
    array of float, shape `[*batch]`
        Largest unfairness, cost divided by weight; 0 if there is no period of backlog.

    Raises
    ------
    InputError
        If there are not two streams, shapes differ, a cost or gap is below 0 or not finite, or a weight is not above
        0.

    Notes
    -----
    A period of backlog begins at the end of an event. The event that ends a period belongs to the period, and so do all
    other events at the same instant: a gap of `INSTANT` or less does not end a period. Service between periods is not
    counted. The result is a step function of `gap`.

    References
    ----------
    dsfq, equation 1.
    """
    cost, joint, away = _log(served, backlogged, gap, "event", "stream")
    require(cost.shape[1] == 2, "streams", cost.shape[1], "2, because unfairness compares two streams")
    POSITIVE.each("weight", weights)
    require(
        np.shape(weights)[:1] == (2,), "weights of shape", str(np.shape(weights)), "one for each of the two streams"
    )
    weights = namespace_of(weights).asarray(weights, float)
    normalized = cost / _with_runs(weights, cost.ndim - 1, "weights")[None]
    apart = normalized[:, 0] - normalized[:, 1]
    return namespace_of(apart).maximum(_largest_fall(apart, joint, away), _largest_fall(-apart, joint, away))


@validate
def worst_interval(
    normalized: Annotated[Float[np.ndarray, "event stream"], numbers],
    backlogged: Annotated[Bool[np.ndarray, " event"], _flags],
    gap: Annotated[Float[np.ndarray, " event"], numbers],
) -> tuple[int, int]:
    """Return the interval with the largest unfairness, as the numbers of the events that begin and end the interval.

    Parameters
    ----------
    normalized : array of float, shape `[event, stream]`
        Cost served at each event, divided by the weights of the two streams.
    backlogged : array of bool, shape `[event]`
        See `largest_unfairness`, for one run.
    gap : array of float, shape `[event]`
        See `largest_unfairness`, for one run.

    Returns
    -------
    begin : int
        Number of the event at whose end the interval begins.
    end : int
        Number of the event with which the interval ends.

    Raises
    ------
    InputError
        If there are not two streams, shapes differ, or a cost or gap is below 0 or not finite.

    Notes
    -----
    The function compares every pair of a beginning and an end in a period, so it is only for short logs. The results are
    whole numbers and have no derivatives. The result of `largest_unfairness` has derivatives.
    """
    require(normalized.ndim == 2, "normalized of shape", str(normalized.shape), "[event, stream], for one run")
    require(normalized.shape[1] == 2, "streams", normalized.shape[1], "2, because unfairness compares two streams")
    normalized, backlogged, gap = _log(normalized, backlogged, gap, "event", "stream")
    path = (normalized[:, 0] - normalized[:, 1]).cumsum()
    best, away, begins = (0.0, 0, 0), np.inf, [0]
    for event, (now, gone) in enumerate(zip(backlogged, gap, strict=True)):
        away += gone
        # The event that ends a period belongs to it, and so do events at the same instant.
        begins = [*begins, event] if away <= _INSTANT else [event]
        best = max(best, *((abs(float(path[begin] - path[event])), begin, event) for begin in begins))
        away = 0.0 if now else away
    return best[1], best[2]


@validate
def largest_drop(
    served: Annotated[Shaped[AnyArray, "event *batch"], numbers],
    total: Annotated[Shaped[AnyArray, "event *batch"], numbers],
    share: Annotated[ArrayLike, numbers],
    backlogged: Annotated[Bool[AnyArray, "event *batch"], _flags],
    gap: Annotated[Float[AnyArray, "event *batch"], numbers],
) -> Float[np.ndarray, "*batch"]:
    """Return the largest work by which a backlogged stream falls behind its share of a brick, in any interval.

    This work is m W_A - W_f, where W_A is the work of the brick for all streams, and W_f is its work for the stream.
    `shortfall` is a bound on this difference.

    Parameters
    ----------
    served : array of float, shape `[event, *batch]`
        Cost of the stream's requests that ended at the brick at each event.
    total : array of float, shape `[event, *batch]`
        Cost of all streams' requests that ended at the brick at each event.
    share : float or array of float, shape `[*batch]`
        Share m, 0 to 1.
    backlogged : array of bool, shape `[event, *batch]`
        Whether the stream is backlogged at the brick from the end of the event on.
    gap : array of float, shape `[event, *batch]`
        Time in seconds, since the previous event, during which the stream was not backlogged.

    Returns
    -------
    array of float, shape `[*batch]`
        Largest difference, a cost.

    Raises
    ------
    InputError
        If shapes differ, or a value is out of range.
    """
    cost, own, away = _log(served, backlogged, gap, "event")
    work, part = (namespace_of(given).asarray(given, float) for given in (total, share))
    require(work.shape == cost.shape, "total of shape", str(work.shape), f"{cost.shape}, the shape of served")
    require((work >= 0) & namespace_of(work).isfinite(work), "total", work, "0 or more and finite")
    require((part >= 0) & (part <= 1), "share", part, "between 0 and 1")
    return _largest_fall(cost - _with_runs(part[None], cost.ndim, "share") * work, own, away)


def _log(served, backlogged, gap, *axes: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of a log as arrays on the host, with shapes that agree."""
    served, gap = (namespace_of(column).asarray(column, float) for column in (served, gap))
    backlogged = np.asarray(backlogged, bool)
    names = ", ".join(axes)
    require(served.ndim >= len(axes), "served of shape", str(served.shape), f"[{names}, *batch]")
    expected = served.shape[:1] + served.shape[len(axes) :]
    for label, column in (("backlogged", backlogged), ("gap", gap)):
        require(
            column.shape == expected, f"{label} of shape", str(column.shape), f"{expected}, one value for each event"
        )
    for label, column in (("served", served), ("gap", gap)):
        require((column >= 0) & namespace_of(column).isfinite(column), label, column, "0 or more and finite")
    return served, backlogged, gap


def _with_runs(values: np.ndarray, dimensions: int, label: str) -> np.ndarray:
    """Return `values` with an axis of length 1 for every batch axis that is missing."""
    require(
        values.ndim in (1, dimensions), f"{label} of shape", str(values.shape), "one for all runs, or one for each run"
    )
    return values.reshape(values.shape + (1,) * (dimensions - values.ndim))


class _Fall(NamedTuple):
    """State of a path after an event.

    value: the value since the period began. highest: the highest value in the period. furthest: the largest fall in any
    period. away: seconds without backlog; 0 within a period and infinite before the first period.
    """

    value: Array
    highest: Array
    furthest: Array
    away: Array


def _largest_fall(steps: np.ndarray, backlogged: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Return the largest fall U(t1) - U(t2) of a path U, for t1 <= t2 in the same period of backlog.

    steps: change of U at each event, `[event, *batch]`.

    The number of events is rounded up to a power of two, so that logs of many lengths share a compiled program. The
    added events change nothing, because their steps and gaps are 0.
    """
    added = (1 << (len(steps) - 1).bit_length()) - len(steps) if len(steps) else 0
    columns = [
        namespace_of(column).pad(column, [(0, added)] + [(0, 0)] * (column.ndim - 1))
        for column in (steps, backlogged, gap)
    ]
    if traced(*columns):
        return _scanned(*(jnp.asarray(column) for column in columns))
    with jax.enable_x64(True):
        return np.asarray(_scanned(*(jnp.asarray(column) for column in columns)))


@jax.jit
def _scanned(
    steps: Float[Array, "event *batch"], backlogged: Bool[Array, "event *batch"], gap: Float[Array, "event *batch"]
) -> Float[Array, "*batch"]:
    nothing = jnp.zeros(steps.shape[1:], steps.dtype)
    before = _Fall(nothing, nothing, nothing, jnp.full_like(nothing, jnp.inf))
    after, _ = jax.lax.scan(lambda fall, event: (_step(fall, *event), None), before, (steps, backlogged, gap))
    return after.furthest


def _step(fall: _Fall, step: Array, backlogged: Array, gap: Array) -> _Fall:
    """Return the state after one event.

    The path changes in a period of backlog, and in the instant that ends the period. Afterwards the value of the path
    is 0. The next period begins at the end of an event.
    """
    away = fall.away + gap
    moves = away <= _INSTANT
    value = jnp.where(moves, fall.value + step, 0)
    highest = jnp.where(moves, jnp.maximum(fall.highest, value), 0)
    furthest = jnp.maximum(fall.furthest, highest - value)
    return _Fall(value, highest, furthest, jnp.where(backlogged, 0, away))
