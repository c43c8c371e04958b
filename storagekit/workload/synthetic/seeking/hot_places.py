"""How much goes to the places of a stand-in that stay hot, so that its locality comes out.

Requests are placed one by one, each without regard to the last: among the hot places or anywhere. So the distance between
two that follow one another is that of any two, on one disk or on any number that the data are striped over.
"""

from __future__ import annotations

import math

__all__ = ["hot_share"]

RANDOM = 1 / 3
"""Mean distance of two random places / data."""


def hot_share(locality: float, reads: float, read_stretch: float, write_stretch: float) -> float | None:
    """The share of requests that go to the hot places, so that the mean seek is 1 / (3 L) of the data; None where none does.

    locality: L, at least 1. reads: the share of the hot requests that go to the stretch that is read, the others to the one
    that is written. The stretches lie in the middle of the data, one within the other; their lengths are shares of it. With
    a share h, mean distances within the hot places w, between them and anywhere b, it is

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
    # a h^2 - 2 c h + d = 0, the smaller root, in the form that loses no digits
    a, c, d = within - 2 * between + RANDOM, RANDOM - between, RANDOM - RANDOM / locality
    return d / (c + math.sqrt(c**2 - a * d)) if d else 0.0


def _apart(one: float, other: float) -> float:
    """Mean distance of a random place on one stretch to one on another with the same middle, given their lengths."""
    long, short = max(one, other), min(one, other)
    return long / 4 + short**2 / (12 * long)
