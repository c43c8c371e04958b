"""The unfairness that a run had: the worst interval of a log, in one pass over its events.

A bound speaks of every interval of joint backlog. In one period of backlog the worst interval of a path U(t) is the largest
fall of U, or of -U: the highest value so far less the present one. So a log of n events takes n steps and not n^2 intervals.
Sums are float64: of whole costs they are exact up to 2^53, however long a run is.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped
from numpy.typing import ArrayLike

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT
from storagekit.core.checks import numbers, require, require_each_positive, shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import takes

# as a log in float32 has it
_INSTANT = float(np.float32(INSTANT))


def _flags(label: str, value: Bool[AnyArray, "..."]) -> Bool[np.ndarray, "..."]:
    """The value. Raises InputError unless all of it is true or false."""
    given = np.asarray(value)
    if given.dtype.kind != "b" and given.size:
        raise InputError(f"{label} {shown(value)}: give True or False after each event")
    return given.astype(bool)


@takes(served=numbers, weights=numbers, backlogged=_flags, gap=numbers)
def largest_unfairness(
    served: Shaped[AnyArray, "event stream *batch"],
    weights: ArrayLike,
    backlogged: Bool[AnyArray, "event *batch"],
    gap: Float[AnyArray, "event *batch"],
) -> Float[np.ndarray, "*batch"]:
    """The largest | W_f / phi_f - W_g / phi_g | of any interval in which two streams are both backlogged at one brick.

    served: cost of what ended at each event, at any brick, for the two streams of the pair. weights: `[stream]`, or
    `[stream, *batch]`. backlogged: whether both are backlogged at the brick from the end of the event on. gap: seconds since
    the event before during which they were not; 0 where there were none.

    Periods of backlog begin at the end of an event. The event that ends one belongs to it, and so does what happens in the
    same instant: a gap of `INSTANT` or less ends no period. What is served between periods counts nowhere. 0 where there is
    no period.

    Raises InputError where there are not two streams, shapes differ, a cost or gap is not 0 or more and finite, or a weight
    not above 0. Source: dsfq, equation 1.
    """
    cost, joint, away = _log(served, backlogged, gap, "event", "stream")
    require(cost.shape[1] == 2, "streams", cost.shape[1], "2: unfairness is between the two of a pair")
    require_each_positive("weight", weights)
    require(
        np.shape(weights)[:1] == (2,), "weights of shape", str(np.shape(weights)), "one for each of the two streams"
    )
    normalized = cost / _with_lanes(np.asarray(weights, float), cost.ndim - 1, "weights")[None]
    apart = normalized[:, 0] - normalized[:, 1]
    return np.maximum(_largest_fall(apart, joint, away), _largest_fall(-apart, joint, away))


@takes(normalized=numbers, backlogged=_flags, gap=numbers)
def worst_interval(
    normalized: Float[np.ndarray, "event stream"],
    backlogged: Bool[np.ndarray, " event"],
    gap: Float[np.ndarray, " event"],
) -> tuple[int, int]:
    """Where `largest_unfairness` is found: after which event the interval begins, and with which it ends.

    normalized: what was served at each event, over the weights of the two streams. backlogged, gap: as there, of one run. For
    short logs: every beginning of a period is held against every end.
    """
    require(normalized.ndim == 2, "normalized of shape", str(normalized.shape), "[event, stream]: of one run")
    require(normalized.shape[1] == 2, "streams", normalized.shape[1], "2: unfairness is between the two of a pair")
    normalized, backlogged, gap = _log(normalized, backlogged, gap, "event", "stream")
    path = (normalized[:, 0] - normalized[:, 1]).cumsum()
    best, away, begins = (0.0, 0, 0), np.inf, [0]
    for event, (now, gone) in enumerate(zip(backlogged, gap, strict=True)):
        away += gone
        # the event that ends a period belongs to it, and what happens in that instant
        begins = [*begins, event] if away <= _INSTANT else [event]
        best = max(best, *((abs(float(path[begin] - path[event])), begin, event) for begin in begins))
        away = 0.0 if now else away
    return best[1], best[2]


@takes(served=numbers, total=numbers, share=numbers, backlogged=_flags, gap=numbers)
def largest_drop(
    served: Shaped[AnyArray, "event *batch"],
    total: Shaped[AnyArray, "event *batch"],
    share: ArrayLike,
    backlogged: Bool[AnyArray, "event *batch"],
    gap: Float[AnyArray, "event *batch"],
) -> Float[np.ndarray, "*batch"]:
    """The furthest that a stream falls behind a share of one brick: the largest m W_A - W_f of any interval of its backlog.

    served, total: cost of what ended at each event at the brick, for the stream and for all of them. share: m, a number or
    one for each lane. backlogged, gap: as in `largest_unfairness`, of this stream alone. What `shortfall` bounds.
    """
    cost, own, away = _log(served, backlogged, gap, "event")
    work, part = np.asarray(total, float), np.asarray(share, float)
    require(work.shape == cost.shape, "total of shape", str(work.shape), f"{cost.shape}, as what was served is")
    require((work >= 0) & np.isfinite(work), "total", work, "0 or more and finite")
    require((part >= 0) & (part <= 1), "share", part, "between 0 and 1")
    return _largest_fall(cost - _with_lanes(part[None], cost.ndim, "share") * work, own, away)


def _log(served, backlogged, gap, *axes: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns of a log on the host, of shapes that agree."""
    served, backlogged, gap = np.asarray(served, float), np.asarray(backlogged, bool), np.asarray(gap, float)
    names = ", ".join(axes)
    require(served.ndim >= len(axes), "served of shape", str(served.shape), f"[{names}, *batch]")
    expected = served.shape[:1] + served.shape[len(axes) :]
    for label, column in (("backlogged", backlogged), ("gap", gap)):
        require(
            column.shape == expected, f"{label} of shape", str(column.shape), f"{expected}: a row for each event served"
        )
    for label, column in (("served", served), ("gap", gap)):
        require((column >= 0) & np.isfinite(column), label, column, "0 or more and finite")
    return served, backlogged, gap


def _with_lanes(values: np.ndarray, dimensions: int, label: str) -> np.ndarray:
    """`values` with an axis of one for every lane axis that they lack."""
    require(
        values.ndim in (1, dimensions), f"{label} of shape", str(values.shape), "one for all lanes, or with them all"
    )
    return values.reshape(values.shape + (1,) * (dimensions - values.ndim))


class _Fall(NamedTuple):
    """Where the path stands since its period began, how high it was, how far it fell in any period, and for how many seconds
    there has been no backlog: none within a period, infinitely many before the first."""

    value: Array
    highest: Array
    furthest: Array
    away: Array


def _largest_fall(steps: np.ndarray, backlogged: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Largest U(t1) - U(t2), t1 <= t2 in one period, of the path U that moves by `steps [event, *batch]`."""
    with jax.enable_x64(True):
        return np.asarray(_scanned(*(jnp.asarray(column) for column in (steps, backlogged, gap))))


@jax.jit
def _scanned(
    steps: Float[Array, "event *batch"], backlogged: Bool[Array, "event *batch"], gap: Float[Array, "event *batch"]
) -> Float[Array, "*batch"]:
    nothing = jnp.zeros(steps.shape[1:], steps.dtype)
    before = _Fall(nothing, nothing, nothing, jnp.full_like(nothing, jnp.inf))
    after, _ = jax.lax.scan(lambda fall, event: (_step(fall, *event), None), before, (steps, backlogged, gap))
    return after.furthest


def _step(fall: _Fall, step: Array, backlogged: Array, gap: Array) -> _Fall:
    """One event. In a period, or in the instant that ends it, the path moves; after it there is none until the next begins,
    at this event's end and at 0."""
    away = fall.away + gap
    moves = away <= _INSTANT
    value = jnp.where(moves, fall.value + step, 0)
    highest = jnp.where(moves, jnp.maximum(fall.highest, value), 0)
    furthest = jnp.maximum(fall.furthest, highest - value)
    return _Fall(value, highest, furthest, jnp.where(backlogged, 0, away))
