"""How popular each part of the data is, and how often an LRU cache then has what a read asks for.

The data is a row of chunks, two cache blocks each, by falling popularity. A request picks a chunk by its popularity,
whatever was asked before, and touches all of it (a pair) or either half. Chunks are too many to sum over, so a rank is
a number x from 0 to 1, and what holds for few requests to little data holds for many to much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import boxcox1p, inv_boxcox1p

from storagekit.core.errors import InputError
from storagekit.core.kinds import AMOUNT, SHARE, Kind, hold, takes, unchecked

__all__ = ["Popularity", "expected_hit_rate", "fitted"]

NUMERIC = Kind(endless=True)
"""Any number: of those that are not possible the messages below say more."""
STEEPEST = 8.0
"""The largest alpha: far beyond any that is known, and short of where numbers overflow."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(256)


@dataclass(frozen=True)
class Popularity:
    """A power law with a flat head: data of rank x is asked for in proportion to

        p(x) = (1 + x / head)^-alpha,  0 < x < 1

    alpha: how steep, 0 if all data is equally popular. head: share of the data about as popular as the first of it.
    Raises InputError where alpha is not from 0 to 8 or head not from 1e-9 to 1.
    """

    alpha: float
    head: float

    def __post_init__(self):
        hold(self, alpha=NUMERIC)
        replace(NUMERIC, unit="of the data")("head", self.head)
        if not 0 <= self.alpha <= STEEPEST:
            raise InputError(f"alpha {self.alpha:g}: must be from 0, all equally popular, to {STEEPEST:g}")
        if not 1e-9 <= self.head <= 1:
            raise InputError(f"head {self.head:g} of the data: must be from 1e-9 to 1")

    @takes(share=SHARE.each)
    def rank(self, share: np.ndarray) -> np.ndarray:
        """The rank x below which `share` of all requests go: the inverse of the distribution, so that of a number drawn
        evenly from 0 to 1 it makes a rank drawn by popularity. Any shape.
        """
        steep, share = 1 - self.alpha, np.asarray(share)
        rank = self.head * inv_boxcox1p(share * boxcox1p(1 / self.head, steep), steep)
        return np.minimum(rank, 1.0)  # where the law is steep, the last requests are too few for the precision

    # on a grid the last rank may be beyond 1 by rounding
    @takes(rank=AMOUNT.each)
    def intensity(self, rank: np.ndarray) -> np.ndarray:
        """Requests to data of this rank over those to the mean of all data. Any shape."""
        total = self.head * boxcox1p(1 / self.head, 1 - self.alpha)  # the integral of p
        return np.exp(-self.alpha * np.log1p(np.asarray(rank) / self.head)) / total


def expected_hit_rate(popularity: Popularity, requests: float, pairs: float, cache: float) -> float:
    """The share of reads that find all their blocks in an LRU cache which the trace met empty.

    requests: of the whole trace, per chunk. pairs: requests that touch both blocks of their chunk / requests.
    cache: blocks it holds / blocks of data. Reads and writes choose their data alike, and both leave it in the cache.

    A request of an empty cache at time t of a trace of length 1 finds a block that was touched in the last min(t, T):
    T, about the same for all blocks, is how long the cache takes to fill (Che, Tung and Wang, Hierarchical Web caching
    systems, IEEE JSAC 20(7), 2002). For a chunk asked for at rate c, either of its blocks is touched at the rate
    b = (1 + pairs) c / 2, and

        mean over blocks of 1 - exp(-b T) = cache,  T = 1 if fewer blocks are ever touched
        one block: 1 - q(b),  a pair: 1 - 2 q(b) + q(c),  q(r) = mean over t of exp(-r min(t, T))

    where q is the chance of not having been touched lately; the pair's is by inclusion and exclusion, exact as requests
    for both blocks and for either come independently.
    """
    log_rank, width = _log_ranks(popularity.head)
    rank = popularity.head * np.expm1(log_rank)
    data = width * (rank + popularity.head)  # weights of an even mean over the data
    chunk = requests * unchecked(Popularity.intensity)(popularity, rank)
    block = (1 + pairs) / 2 * chunk

    def filled(time):
        return float(data @ -np.expm1(-block * time)) - cache

    # without a cache at once, and never by the end of the trace where it touches too little
    fills = _root(filled, 1.0) if cache > 0 and filled(1.0) > 0 else float(cache > 0)
    one, none = _untouched(block, fills), _untouched(chunk, fills)
    hit = (1 - pairs) * (1 - one) + pairs * (1 - 2 * one + none)
    return float(data @ (hit * chunk)) / requests


@lru_cache(maxsize=256)
def fitted(head: float, requests: float, pairs: float, cache: float, wanted: float) -> Popularity:
    """The popularity with which `expected_hit_rate` is `wanted`; the other arguments are those of the two.

    Raises InputError where even equal popularity hits more often, or the steepest less often.
    """

    def excess(alpha):
        return expected_hit_rate(Popularity(alpha, head), requests, pairs, cache) - wanted

    least, most = excess(0.0) + wanted, excess(STEEPEST) + wanted
    if not least <= wanted <= most:
        raise InputError(
            f"hit rate {wanted:g}: popularity alone can make it from {least:.4g} to {most:.4g}; "
            f"give {'less data or a larger' if wanted > most else 'more data or a smaller'} cache"
        )
    return Popularity(_root(excess, STEEPEST), head)


def _root(function, highest: float) -> float:
    """Where a function is 0 between 0 and `highest`, at which its signs differ."""
    return float(root_scalar(function, bracket=(0.0, highest), method="brentq", xtol=1e-12).root)


def _log_ranks(head: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of log(1 + x / head) and the widths they stand for, [point]: p is smooth in it over all its range."""
    half = np.log1p(1 / head) / 2
    return half * (1 + NODES), half * WEIGHTS


def _untouched(rate: np.ndarray, fills: float) -> np.ndarray:
    """q(r) of `expected_hit_rate`, `fills` its T: before T the cache remembers everything, afterwards the last T."""
    gone = np.exp(-rate * fills)
    return -np.expm1(-rate * fills) / rate + (1 - fills) * gone
