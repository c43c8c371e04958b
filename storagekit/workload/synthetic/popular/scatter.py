"""Scatter ranks over locations, by a permutation that looks random but is always the same."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["scattered"]

ROUND_KEYS = (0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A, 0xDAA66D2C7DDF743F, 0x78DDE6E5FD29F054)
"""Keys of the rounds of the network: multiples of the golden ratio in 64 bits. Other distinct numbers would do too."""


def scattered(rank: np.ndarray, count: int) -> np.ndarray:
    """Return the location of each rank, by a permutation that needs no table.

    Parameters
    ----------
    rank : ndarray of int, any shape
        Ranks from 0 to count - 1.
    count : int
        Number of locations.

    Returns
    -------
    ndarray of int64, shape of `rank`
        Locations from 0 to count - 1.

    Notes
    -----
    The permutation is a Feistel network over the rows and columns of the smallest square with enough locations. If a
    result is not below `count`, the network is applied to it again, until it is.

    References
    ----------
    Black and Rogaway, Ciphers with arbitrary finite domains, CT-RSA 2002.
    """
    side = math.isqrt(count - 1) + 1
    location = _shuffled(np.array(rank, np.int64), side)
    while (outside := location >= count).any():
        location[outside] = _shuffled(location[outside], side)
    return location


def _shuffled(value: np.ndarray, side: int) -> np.ndarray:
    """Return a permutation of 0 to side^2 - 1. Row and column are shifted in turn, each by a hash of the other."""
    row, column = np.divmod(value, side)
    for key in ROUND_KEYS:
        row, column = column, (row + (_hash(column, key) % np.uint64(side)).astype(np.int64)) % side
    return row * side + column


def _hash(value: np.ndarray, key: int) -> np.ndarray:
    """Return a hash of a value, uint64: the finalizer of SplitMix64."""
    x = value.astype(np.uint64) + np.uint64(key)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
