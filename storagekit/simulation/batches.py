"""A run in stretches: sums over parts of it that are equally long, in requests or in seconds."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float

from storagekit.engine import Tally


def before(tally: Tally, by: str) -> Float[np.ndarray, "chunk *batch"]:
    """How much of the sum `by` each lane had when a chunk of events began."""
    done = tally[by][:, 0].astype(np.float64)
    return np.cumsum(done, axis=0) - done


def kept(
    tally: Tally, warm_up: float | Float[np.ndarray, "*batch"], amount: float | Float[np.ndarray, "*batch"], by: str
) -> Bool[np.ndarray, "chunk *batch"]:
    """The chunks that begin once a lane has the `warm_up` of the sum `by` and before it has the `amount`; all of a lane whose
    run is so short that none is left."""
    since = before(tally, by)
    mask = (since >= warm_up) & (since < amount)
    return mask | ((tally[by][:, 0] * mask).sum(axis=0) == 0)


def stretched(
    tally: Tally,
    names: Iterable[str],
    count: int,
    low: Float[np.ndarray, "lane"],
    high: Float[np.ndarray, "lane"],
    by: str,
) -> dict[str, Float[np.ndarray, "count row lane"]]:
    """Sums of those names over each of `count` equal stretches of a lane's run, from `low` of the sum `by` to `high`.

    A chunk counts for the stretch in which it begins.
    """
    since = before(tally, by)
    place = np.floor((since - low) * count / (high - low)).astype(np.int64)
    inside = (place >= 0) & (place < count)
    lanes = since.shape[1]
    index = (np.clip(place, 0, count - 1) * lanes + np.arange(lanes))[inside]

    def summed(part: Float[np.ndarray, "chunk lane"]) -> Float[np.ndarray, "count lane"]:
        return np.bincount(index, part[inside], count * lanes).reshape(count, lanes)

    return {
        name: np.stack([summed(tally[name][:, row]) for row in range(tally[name].shape[1])], axis=1) for name in names
    }
