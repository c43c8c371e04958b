"""Random numbers that depend only on a seed."""

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import SEED


def generator(seed: int) -> np.random.Generator:
    """Return a random number generator that is initialized with a seed.

    Raises
    ------
    InputError
        If the seed is not a whole number from 0 to 2^64 - 1.
    """
    if isinstance(seed, int | float) and seed >= 2**64:
        raise InputError(f"seed {seed}: give a whole number below 2^64")
    SEED("seed", seed)
    return np.random.Generator(np.random.Philox(key=np.array([seed, 0], np.uint64)))
