"""Popularity of the data of a synthetic trace, and the hit rate of an LRU cache that follows from it.

The data is a sequence of chunks in descending order of popularity. A chunk has two cache blocks. A request chooses a
chunk with a probability in proportion to its popularity, independently of earlier requests. It accesses the whole chunk
(a pair), or one of its halves.

There are too many chunks to compute a sum over all chunks. The rank of a chunk is therefore a real number x from 0 to
1. A result then depends only on the number of requests per chunk, not on the number of chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import boxcox1p, inv_boxcox1p

from storagekit.core.errors import InputError
from storagekit.core.validation import AMOUNT, SHARE, Validator, unchecked, validate, validate_fields

__all__ = ["Popularity", "expected_hit_rate", "fitted"]

NUMERIC = Validator(endless=True)
"""Validator of the type only; the checks below validate the range."""
STEEPEST = 8.0
"""The largest alpha: far above all known values, but small enough that numbers do not overflow."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(256)


@dataclass(frozen=True)
class Popularity:
    """The popularity of data by rank: a power law that is nearly flat for the most popular data, the head.

    Parameters
    ----------
    alpha : float
        Exponent, from 0 to 8; 0 if all data is equally popular.
    head : float
        Share of the data that is about as popular as the most popular data, from 1e-9 to 1.

    Raises
    ------
    InputError
        If a value is out of its range.

    Notes
    -----
    The probability that a request accesses data of rank x is in proportion to

        p(x) = (1 + x / head)^-alpha,  0 < x < 1
    """

    alpha: Annotated[float, NUMERIC]
    head: float

    def __post_init__(self):
        validate_fields(self)
        NUMERIC("head", self.head)
        if not 0 <= self.alpha <= STEEPEST:
            raise InputError(f"alpha {self.alpha:g}: must be from 0 (equal popularity) to {STEEPEST:g}")
        if not 1e-9 <= self.head <= 1:
            raise InputError(f"head {self.head:g}: must be a fraction of the data, from 1e-9 to 1")

    @validate
    def rank(self, share: Annotated[np.ndarray, SHARE.each]) -> np.ndarray:
        """Return the rank x such that a given share of all requests accesses data with ranks below x.

        Parameters
        ----------
        share : ndarray of float, any shape
            Shares of all requests, from 0 to 1.

        Returns
        -------
        ndarray of float, shape of `share`
            Ranks x, from 0 to 1.

        Notes
        -----
        This is the inverse of the distribution function. It converts uniform random numbers from 0 to 1 into ranks
        drawn by popularity.
        """
        steep, share = 1 - self.alpha, np.asarray(share)
        rank = self.head * inv_boxcox1p(share * boxcox1p(1 / self.head, steep), steep)
        return np.minimum(rank, 1.0)  # with a steep law, rounding may give a rank above 1

    # not SHARE: on a grid the last rank may be above 1 by rounding
    @validate
    def intensity(self, rank: Annotated[np.ndarray, AMOUNT.each]) -> np.ndarray:
        """Return the number of requests to the data of a rank, divided by the mean number over all data.

        Parameters
        ----------
        rank : ndarray of float, any shape
            Ranks x, from 0 to 1.

        Returns
        -------
        ndarray of float, shape of `rank`
            The ratios.
        """
        total = self.head * boxcox1p(1 / self.head, 1 - self.alpha)  # the integral of p
        return np.exp(-self.alpha * np.log1p(np.asarray(rank) / self.head)) / total


def expected_hit_rate(popularity: Popularity, requests: float, pairs: float, cache: float) -> float:
    """Return the expected share of reads that find all their blocks in an LRU cache.

    The cache is empty at the start of the trace.

    Parameters
    ----------
    popularity : Popularity
        Popularity of the data.
    requests : float
        Number of requests of the whole trace divided by the number of chunks.
    pairs : float
        Number of requests that access both blocks of a chunk / number of requests.
    cache : float
        Number of blocks that the cache holds / number of blocks of the data.

    Returns
    -------
    float
        The share, from 0 to 1.

    Notes
    -----
    Reads and writes choose their data by the same law, and both leave the data in the cache.

    The duration of the trace is the unit of time. T is the time in which the cache fills, which is about the same for
    all blocks. At time t a request of one block hits if the block was accessed in the last min(t, T). Each block of a
    chunk with c requests is accessed at the rate b = (1 + pairs) c / 2, and

        mean over blocks of 1 - exp(-b T) = cache,  T = 1 if fewer blocks are ever touched
        one block: 1 - q(b),  a pair: 1 - 2 q(b) + q(c),  q(r) = mean over t of exp(-r min(t, T))

    Here q is the probability of no recent access. The term for a pair follows by inclusion and exclusion. It is exact,
    because requests for both blocks arrive independently of requests for one of the blocks.

    References
    ----------
    Che, Tung and Wang, Hierarchical Web caching systems, IEEE JSAC 20(7), 2002.
    """
    log_rank, width = _log_ranks(popularity.head)
    rank = popularity.head * np.expm1(log_rank)
    data = width * (rank + popularity.head)  # weights of an even mean over the data
    chunk = requests * unchecked(Popularity.intensity)(popularity, rank)
    block = (1 + pairs) / 2 * chunk

    def filled(time):
        return float(data @ -np.expm1(-block * time)) - cache

    # 0 without a cache; 1, the whole trace, if it accesses too few blocks to fill the cache
    fills = _root(filled, 1.0) if cache > 0 and filled(1.0) > 0 else float(cache > 0)
    one, none = _untouched(block, fills), _untouched(chunk, fills)
    hit = (1 - pairs) * (1 - one) + pairs * (1 - 2 * one + none)
    return float(data @ (hit * chunk)) / requests


@lru_cache(maxsize=256)
def fitted(head: float, requests: float, pairs: float, cache: float, wanted: float) -> Popularity:
    """Return the popularity with which `expected_hit_rate` equals `wanted`.

    Parameters
    ----------
    head : float
        See `Popularity`.
    requests, pairs, cache : float
        See `expected_hit_rate`.
    wanted : float
        The hit rate, from 0 to 1.

    Returns
    -------
    Popularity
        The popularity, with the given head.

    Raises
    ------
    InputError
        If the hit rate is too low for equal popularity, or too high for the largest alpha.
    """

    def excess(alpha):
        return expected_hit_rate(Popularity(alpha, head), requests, pairs, cache) - wanted

    least, most = excess(0.0) + wanted, excess(STEEPEST) + wanted
    if not least <= wanted <= most:
        raise InputError(
            f"hit rate {wanted:g}: with this cache, popularity gives hit rates from {least:.4g} to {most:.4g}; give "
            f"{'less data or a larger' if wanted > most else 'more data or a smaller'} cache"
        )
    return Popularity(_root(excess, STEEPEST), head)


def _root(function, highest: float) -> float:
    """Return the zero of a function between 0 and `highest`. The signs of the function at both ends differ."""
    return float(root_scalar(function, bracket=(0.0, highest), method="brentq", xtol=1e-12).root)


def _log_ranks(head: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the variable log(1 + x / head), and the weights of these points in an integral, [point].

    As a function of this variable, the popularity p is smooth over its whole range.
    """
    half = np.log1p(1 / head) / 2
    return half * (1 + NODES), half * WEIGHTS


def _untouched(rate: np.ndarray, fills: float) -> np.ndarray:
    """Return q(r) in the notes of `expected_hit_rate`, for the rates r = `rate` and the time T = `fills`.

    Before T the cache holds every block that was accessed so far. Afterwards it holds every block that was accessed in
    the last T.
    """
    gone = np.exp(-rate * fills)
    return -np.expm1(-rate * fills) / rate + (1 - fills) * gone
