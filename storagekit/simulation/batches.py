"""Sums over equal parts of each run. The length of a run is measured in requests or in seconds."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float

from storagekit.engine import Tally


def before(tally: Tally, by: str) -> Float[np.ndarray, "chunk *batch"]:
    """Return the cumulative sum `by` of each run at the beginning of each chunk of events.

    Parameters
    ----------
    tally : mapping of str to array, shape `[chunk, row, *batch]`
        The sums of each chunk, keyed by name.
    by : str
        Name of the sum.

    Returns
    -------
    array of float64, shape `[chunk, *batch]`
        The values.
    """
    done = tally[by][:, 0].astype(np.float64)
    return np.cumsum(done, axis=0) - done


def kept(
    tally: Tally, warm_up: float | Float[np.ndarray, "*batch"], amount: float | Float[np.ndarray, "*batch"], by: str
) -> Bool[np.ndarray, "chunk *batch"]:
    """Return a mask of the chunks of events that are measured in each run.

    A chunk is measured if, at its beginning, the cumulative sum `by` of the run is at least `warm_up` and less than
    `amount`. If these chunks add nothing to the sum, for example because the run is too short, all chunks of the run
    are measured.

    Parameters
    ----------
    tally : mapping of str to array, shape `[chunk, row, *batch]`
        The sums of each chunk, keyed by name.
    warm_up, amount : float or array, shape `[*batch]`
        Beginning and end of the measured part, in the unit of the sum `by`.
    by : str
        Name of the sum that measures the length of the run.

    Returns
    -------
    array of bool, shape `[chunk, *batch]`
        The mask.
    """
    begin = before(tally, by)
    mask = (begin >= warm_up) & (begin < amount)
    return mask | ((tally[by][:, 0] * mask).sum(axis=0) == 0)


def batch_sums(
    tally: Tally,
    names: Iterable[str],
    count: int,
    low: Float[np.ndarray, "run"],
    high: Float[np.ndarray, "run"],
    by: str,
) -> dict[str, Float[np.ndarray, "count row run"]]:
    """Return sums over equal parts of each run.

    A chunk of events is counted in the part in which it begins.

    Parameters
    ----------
    tally : mapping of str to array, shape `[chunk, row, run]`
        The sums of each chunk, keyed by name.
    names : iterable of str
        Names of the sums to return.
    count : int
        Number of parts.
    low, high : array of float, shape `[run]`
        Beginning of the first part and end of the last part, in the unit of the sum `by`.
    by : str
        Name of the sum that measures the length of the run.

    Returns
    -------
    dict of str to array of float64, shape `[count, row, run]`
        The sums, keyed by name.
    """
    begin = before(tally, by)
    interval = np.floor((begin - low) * count / (high - low)).astype(np.int64)
    inside = (interval >= 0) & (interval < count)
    runs = begin.shape[1]
    index = (np.clip(interval, 0, count - 1) * runs + np.arange(runs))[inside]

    def summed(part: Float[np.ndarray, "chunk run"]) -> Float[np.ndarray, "count run"]:
        return np.bincount(index, part[inside], count * runs).reshape(count, runs)

    return {
        name: np.stack([summed(tally[name][:, row]) for row in range(tally[name].shape[1])], axis=1) for name in names
    }
