"""Local reconstruction codes with random coefficients over a prime field, whose ranks are an oracle for counts and reads."""

import numpy as np

PRIME = 2**31 - 1


def local_code(data: int, local_groups: int, global_parities: int) -> np.ndarray:
    """Return the vectors of the units over the data, `[unit, data]`: local parities, global parities, and data.

    Random coefficients give a code that tolerates every loss that such a code can tolerate, almost surely.
    """
    draw = np.random.default_rng([data, local_groups, global_parities])
    coefficients = draw.integers(1, PRIME, (local_groups + global_parities, data))
    coefficients[:local_groups] *= np.arange(data) // (data // local_groups) == np.arange(local_groups)[:, None]
    return np.concatenate([coefficients, np.identity(data, np.int64)])


def ranks(matrices: np.ndarray) -> np.ndarray:
    """Return the rank of each matrix over the field; shape `[matrix, row, column]`."""
    left, found = matrices % PRIME, np.zeros(len(matrices), int)
    every = np.arange(len(left))
    for column in range(left.shape[2]):
        usable = (left[:, :, column] != 0) & (np.arange(left.shape[1]) >= found[:, None])
        has, pivot = usable.any(axis=1), usable.argmax(axis=1)
        at = np.minimum(found, left.shape[1] - 1)
        chosen, other = left[every, pivot].copy(), left[every, at].copy()
        left[every[has], pivot[has]] = other[has]
        left[every[has], at[has]] = chosen[has]
        scaled = chosen * _inverse(chosen[:, column])[:, None] % PRIME
        below = has[:, None] & (np.arange(left.shape[1]) > at[:, None])
        left = np.where(below[:, :, None], (left - left[:, :, [column]] * scaled[:, None] % PRIME) % PRIME, left)
        found += has
    return found


def in_span(vector: np.ndarray, vectors: np.ndarray) -> bool:
    """Return whether vectors, `[vector, column]`, determine another vector."""
    both = np.concatenate([vectors, vector[None]])
    alone = np.concatenate([vectors, np.zeros_like(vector)[None]])
    first, second = ranks(np.stack([both, alone]))
    return bool(first == second)


def _inverse(numbers: np.ndarray) -> np.ndarray:
    """Return the inverses of numbers, by Fermat's little theorem."""
    found, power = np.ones_like(numbers), numbers.copy()
    for place in range(31):
        if (PRIME - 2) >> place & 1:
            found = found * power % PRIME
        power = power * power % PRIME
    return found
