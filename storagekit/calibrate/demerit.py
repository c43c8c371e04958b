"""Distance between two distributions of times, by which a drive model is assessed."""

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from storagekit.core.errors import InputError
from storagekit.core.validation import REAL, validate


@validate
def demerit(predicted: Annotated[ArrayLike, REAL.each], measured: Annotated[ArrayLike, REAL.each]) -> float:
    """Return the root mean square horizontal distance between two distribution functions.

    Parameters
    ----------
    predicted, measured : array_like
        A sample of each distribution, of any length, in the same unit.

    Returns
    -------
    float
        Distance, in the unit of the samples.

    Raises
    ------
    InputError
        If a sample is empty.

    Notes
    -----
        demerit^2 = integral from 0 to 1 of (F^-1(u) - G^-1(u))^2 du

    F and G are the distribution functions of `predicted` and `measured`.

    References
    ----------
    Ruemmler and Wilkes, An introduction to disk drive modeling, 1994.
    """
    first, second = (np.sort(np.asarray(sample, float).ravel()) for sample in (predicted, measured))
    if not (len(first) and len(second)):
        raise InputError(f"samples of {len(first)} and {len(second)} values: a distribution needs at least 1")
    # Both inverse distribution functions are constant between neighbours among these probabilities.
    ends = [np.arange(1, len(sample) + 1) / len(sample) for sample in (first, second)]
    height = np.union1d(*ends)
    middle = height - np.diff(height, prepend=0.0) / 2
    apart = [sample[np.minimum((middle * len(sample)).astype(int), len(sample) - 1)] for sample in (first, second)]
    return float(np.sqrt(np.sum(np.diff(height, prepend=0.0) * (apart[0] - apart[1]) ** 2)))
