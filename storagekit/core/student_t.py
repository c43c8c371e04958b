"""Student's t: how wide a confidence interval is."""

from typing import Any

import numpy as np


def half_width(replications: Any, level: float = 0.95) -> Any:
    """Return half the width of a confidence interval of a mean, in standard errors.

    Parameters
    ----------
    replications : int or array
        Independent values under the mean. The result is NaN where there is only one.
    level : float
        Probability that the interval holds the mean, 0.95 by default.

    Examples
    --------
    >>> from storagekit.core.student_t import half_width
    >>> f"{half_width(10):.3f}"
    '2.262'
    """
    # the function behind scipy.stats.t.ppf: scipy.stats itself takes a third of a second to import
    from scipy.special import stdtrit

    return stdtrit(np.subtract(replications, 1), 0.5 + level / 2)
