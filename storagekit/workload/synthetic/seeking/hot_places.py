"""Share of requests to the hot stretches of a synthetic trace, which determines its seek locality.

Requests choose their locations independently of each other: in the hot stretches, or anywhere. The mean distance
between two successive requests therefore equals the mean distance between any two. This holds on one disk, and on any
number of disks over which the data is striped.
"""

from __future__ import annotations

import math

__all__ = ["hot_share"]

RANDOM = 1 / 3
"""Mean distance of two random places / data."""


def hot_share(locality: float, reads: float, read_stretch: float, write_stretch: float) -> float | None:
    """Return the share of requests to the hot stretches that makes the mean seek distance 1 / (3 L) of the data.

    The stretches lie in the middle of the data, one within the other.

    Parameters
    ----------
    locality : float
        L, at least 1.
    reads : float
        Share of the hot requests that go to the stretch of the reads. The others go to the stretch of the writes.
    read_stretch, write_stretch : float
        Lengths of the two stretches, as shares of the data.

    Returns
    -------
    float or None
        The share, from 0 to 1; None if no share gives this locality.

    Notes
    -----
    The share h solves, with mean distance w within the hot stretches and b between them and a location anywhere,

        h^2 w + 2 h (1 - h) b + (1 - h)^2 / 3 = 1 / (3 L)
    """
    within = (
        reads**2 * _apart(read_stretch, read_stretch)
        + 2 * reads * (1 - reads) * _apart(read_stretch, write_stretch)
        + (1 - reads) ** 2 * _apart(write_stretch, write_stretch)
    )
    between = reads * _apart(1.0, read_stretch) + (1 - reads) * _apart(1.0, write_stretch)
    if within > RANDOM / locality:
        return None
    # the smaller root of a h^2 - 2 c h + d = 0, in the form without cancellation
    a, c, d = within - 2 * between + RANDOM, RANDOM - between, RANDOM - RANDOM / locality
    return d / (c + math.sqrt(c**2 - a * d)) if d else 0.0


def _apart(one: float, other: float) -> float:
    """Return the mean distance between random locations on two stretches with the same middle, given their lengths."""
    long, short = max(one, other), min(one, other)
    return long / 4 + short**2 / (12 * long)
