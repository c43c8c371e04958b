"""How much of a run to leave out, because it still remembers that it began empty: MSER-5.

White, K. P. (1997), An effective truncation heuristic for bias reduction in simulation output, Simulation 69; with batches of
five observations in White, Cobb and Spratt (2000), A comparison of five steady-state truncation heuristics for simulation.
"""

import numpy as np
from jaxtyping import Float

# batches of a run. At 20,000 requests each has about five chunks of events, which are the observations
BATCHES = 80
# of a run in which nobody waits for an answer
OTHERWISE = 0.1


def mser(means: Float[np.ndarray, "batch"]) -> int:
    """How many of the first batches to leave out, at most half of them: as many as make the mean of the others surest.

    Minimizes the sum of squares about the mean of the `n - d` that are left, over `(n - d)` squared. NaN is left out.

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
    # the last batches agree with themselves whatever they are
    return int(seen[np.argmin(spread[: len(seen) // 2 + 1])])


def share_to_leave_out(response: Float[np.ndarray, "batch"], answers: Float[np.ndarray, "batch"]) -> float:
    """The share of a run to leave out, from sums over its batches: of the response times that somebody waited for, and of how
    many these were."""
    if not answers.any():
        return OTHERWISE
    means = np.divide(response, answers, out=np.full(len(response), np.nan), where=answers > 0)
    return mser(means) / len(means)
