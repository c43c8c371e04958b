"""The question about streams on shared bricks, as objects and as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from storagekit.core.errors import InputError
from storagekit.core.validation import AMOUNT, NUMBER, POSITIVE, Validator, one_of, require, several, shown

# tolerance of sums of shares for rounding errors
_ROUNDING = 1e-9
Policy = Literal["total", "single"]
# names of the policies in answers
WORDS = {"total": "over all bricks together", "single": "each brick by itself"}


# validator of a sequence; its elements are validated later, with messages that name their context
_as_given = several(lambda _, value: value)


# Validator of a demand in bytes a second; infinite for no limit.
_DEMAND = Validator(least=0, above=True, endless=True, otherwise="; leave out bricks without a demand")


@dataclass(frozen=True)
class Stream:
    """A stream of requests that is served in proportion to a weight.

    Parameters
    ----------
    weight : float
        Weight phi. Only the ratios of the weights matter.
    bricks : sequence of int
        Numbers of the bricks that the stream uses, from 0.
    minimum : float, optional
        Guaranteed share of each of the stream's bricks, at most the share that corresponds to the weight of the stream.
    demand : float or mapping, optional
        Maximum rate at each of the stream's bricks, bytes a second; None for no limit. It is one value for all bricks,
        or a mapping from brick numbers to values. The demand at a brick that the mapping does not contain is unlimited.
    """

    weight: float
    bricks: Sequence[int]
    minimum: float | None = None
    demand: float | Mapping[int, float] | None = None


@dataclass(frozen=True)
class SharesQuestion:
    """Capacity of each brick in bytes a second, the streams keyed by name, and the policy."""

    bricks: tuple[float, ...]
    streams: dict[str, Stream]
    policy: Policy


class Numbers(NamedTuple):
    """The question as arrays.

    minimum: 0 for a stream without a minimum. demand: infinite without a limit, and 0 at bricks that the stream does
    not use.
    """

    capacity: Float[np.ndarray, " brick"]
    weights: Float[np.ndarray, " stream"]
    demand: Float[np.ndarray, "stream brick"]
    minimum: Float[np.ndarray, " stream"]


def asked_for(bricks: Sequence[float], streams: Mapping[str, Stream], policy: Policy) -> SharesQuestion:
    """Return the validated question. Raises InputError; see `storagekit.plan.shares`."""
    one_of(*WORDS)("policy", policy)
    bricks = _as_given("bricks", bricks)
    if not bricks:
        raise InputError("no bricks: give the rate of each brick in bytes a second")
    for number, rate in enumerate(bricks):
        POSITIVE.in_unit("bytes a second")(f"brick {number}: a rate of", rate)
    if not isinstance(streams, Mapping) or not streams:
        what = "no streams" if isinstance(streams, Mapping) else f"streams {shown(streams)}"
        raise InputError(f"{what}: give them by name, as in {{'f': Stream(weight=1, bricks=[0])}}")
    for name, stream in streams.items():
        _require_stream(name, stream, len(bricks))
    question = SharesQuestion(tuple(float(rate) for rate in bricks), dict(streams), policy)
    _require_minimums(question)
    return question


def numbers(question: SharesQuestion) -> Numbers:
    """Return the question as arrays, with streams and bricks in the order of the question."""
    streams = question.streams.values()
    demand = np.zeros((len(streams), len(question.bricks)))
    for index, stream in enumerate(streams):
        for brick in stream.bricks:
            demand[index, brick] = _limit(stream, brick)
    weights = np.array([float(stream.weight) for stream in streams])
    minimum = np.array([float(stream.minimum or 0) for stream in streams])
    return Numbers(np.array(question.bricks), weights, demand, minimum)


def _limit(stream: Stream, brick: int) -> float:
    """Return the demand of a stream at one of its bricks."""
    given = stream.demand.get(brick) if isinstance(stream.demand, Mapping) else stream.demand
    return np.inf if given is None else float(given)


def _require_stream(name: str, stream: Stream, bricks: int) -> None:
    label = f"stream {name!r}"
    if not isinstance(stream, Stream):
        raise InputError(f"{label}: a {type(stream).__name__}; give a Stream, as in Stream(weight=1, bricks=[0])")
    POSITIVE(f"{label}: a weight of", stream.weight)
    if not _as_given(f"{label}: bricks", stream.bricks):
        raise InputError(f"{label} without bricks: give the numbers of its bricks, as in bricks=[0]")
    for brick in stream.bricks:
        NUMBER(f"{label}: brick", brick)
        if brick >= bricks:
            raise InputError(
                f"{label}: brick {brick}: there are {bricks} bricks, 0 to {bricks - 1}; add this brick, or omit it"
            )
    if len(set(stream.bricks)) < len(stream.bricks):
        raise InputError(f"{label}: bricks {list(stream.bricks)}; name each brick once")
    if stream.minimum is not None:
        AMOUNT(f"{label}: a minimum share of", stream.minimum)
    limits = stream.demand if isinstance(stream.demand, Mapping) else {None: stream.demand}
    if not limits:
        raise InputError(f"{label}: an empty demand; leave it out, or give bytes a second by brick")
    for brick, rate in limits.items():
        if brick is not None and brick not in stream.bricks:
            raise InputError(
                f"{label}: a demand at brick {brick}, which the stream does not use; add the brick to bricks"
            )
        if rate is not None:
            _DEMAND(f"{label}: a demand of", rate)


def _require_minimums(question: SharesQuestion) -> None:
    together = sum(stream.weight for stream in question.streams.values())
    for number in range(len(question.bricks)):
        sums = sum(stream.minimum or 0 for stream in question.streams.values() if number in stream.bricks)
        limit = "at most 1; lower some minimums, or let fewer streams share the brick"
        require(sums <= 1 + _ROUNDING, f"brick {number}: minimum shares that sum to", sums, limit)
    for name, stream in question.streams.items():
        part = stream.weight / together
        limit = f"at most the stream's share of all weights, {part:.4g}; lower the minimum, or raise the weight"
        least = stream.minimum or 0
        require(least <= part * (1 + _ROUNDING), f"stream {name!r}: a minimum share of", least, limit)
