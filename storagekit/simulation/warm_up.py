"""Determine the warm-up of a run by MSER-5. The warm-up is the part that depends on the empty start of the system.

References
----------
White, K. P. (1997), An effective truncation heuristic for bias reduction in simulation output, Simulation 69.
White, Cobb and Spratt (2000), A comparison of five steady-state truncation heuristics for simulation: batches of five
observations.
"""

import numpy as np
from jaxtyping import Float

# number of batches of a run; at 20,000 requests a batch has about five chunks of events, which are the observations
BATCHES = 80
# share to leave out of a run without synchronous requests
OTHERWISE = 0.1


def mser(means: Float[np.ndarray, "batch"]) -> int:
    """Return the number of initial batches to leave out, so that the mean of the other batches is most precise.

    Parameters
    ----------
    means : array of float, shape `[batch]`
        Mean of each batch. Batches with NaN are ignored.

    Returns
    -------
    int
        The number d of batches to leave out, at most half of all batches.

    Notes
    -----
    For n batches, d minimizes the sum of squared deviations of the `n - d` remaining batches from their mean, divided
    by `(n - d)` squared.

    Examples
    --------
    >>> import numpy as np
    >>> mser(np.array([9.0, 5.0, 2.0, 1.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0]))
    2
    """
    seen = np.flatnonzero(np.isfinite(means))
    if not len(seen):
        return 0
    values = means[seen] - np.mean(means[seen])
    left = len(values) - np.arange(len(values))
    total, squares = (np.cumsum(of[::-1])[::-1] for of in (values, values**2))
    spread = np.maximum(squares - total**2 / left, 0) / left**2
    # the sum of squares of the last few batches is small for any values; therefore at most half of the batches are left
    # out
    return int(seen[np.argmin(spread[: len(seen) // 2 + 1])])


def share_to_leave_out(response: Float[np.ndarray, "batch"], answers: Float[np.ndarray, "batch"]) -> float:
    """Return the share of a run that is its warm-up.

    Parameters
    ----------
    response : array of float, shape `[batch]`
        Sum of the response times of the synchronous requests of each batch.
    answers : array of float, shape `[batch]`
        Number of synchronous requests of each batch.

    Returns
    -------
    float
        The share; 0.1 if the run has no synchronous requests.
    """
    if not answers.any():
        return OTHERWISE
    means = np.divide(response, answers, out=np.full(len(response), np.nan), where=answers > 0)
    return mser(means) / len(means)
