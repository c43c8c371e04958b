"""Share of requests to the hot regions of a synthetic trace, which determines its seek locality.

A hot region is a range of addresses that many requests access. Requests choose their locations independently of each
other: in a hot region, or anywhere in the data. The mean distance between two successive requests therefore equals the
mean distance between any two requests. This is true on one disk, and on any number of disks over which the data is
striped.
"""

from __future__ import annotations

import math

__all__ = ["hot_share"]

RANDOM = 1 / 3
"""Mean distance between two random locations, divided by the size of the data."""


def hot_share(locality: float, reads: float, read_region: float, write_region: float) -> float | None:
    """Return the share of requests that must access the hot regions for a given seek locality.

    With this share, the mean seek distance is 1 / (3 L) of the data. The regions are in the middle of the data, the
    shorter one within the longer one.

    Parameters
    ----------
    locality : float
        The seek locality L, at least 1.
    reads : float
        Share of the hot requests that access the region for reads. The other hot requests access the region for
        writes.
    read_region, write_region : float
        Lengths of the two regions, as shares of the data.

    Returns
    -------
    float or None
        The share, from 0 to 1; None if no share gives this locality.

    Notes
    -----
    Let w be the mean distance between two locations in the hot regions, and b the mean distance between such a
    location and any location. The share h solves

        h^2 w + 2 h (1 - h) b + (1 - h)^2 / 3 = 1 / (3 L)
    """
    within = (
        reads**2 * _apart(read_region, read_region)
        + 2 * reads * (1 - reads) * _apart(read_region, write_region)
        + (1 - reads) ** 2 * _apart(write_region, write_region)
    )
    between = reads * _apart(1.0, read_region) + (1 - reads) * _apart(1.0, write_region)
    if within > RANDOM / locality:
        return None
    # the smaller root of a h^2 - 2 c h + d = 0, in the form without cancellation
    a, c, d = within - 2 * between + RANDOM, RANDOM - between, RANDOM - RANDOM / locality
    return d / (c + math.sqrt(c**2 - a * d)) if d else 0.0


def _apart(one: float, other: float) -> float:
    """Return the mean distance between random locations on two regions with the given lengths and the same middle."""
    long, short = max(one, other), min(one, other)
    return long / 4 + short**2 / (12 * long)
