"""Impossible values for arguments, derived from usual values."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


class Nothing:
    """Object of a type that no function accepts."""

    def __repr__(self) -> str:
        return "Nothing()"


# values that are not numbers
NO_NUMBERS = (math.nan, "x", "1", b"1", 1j, None, {}, Nothing(), np.array([math.nan]), np.array(["1"]),
              np.array(["1"], dtype=object))  # fmt: skip
# beyond 32 bits, 64 bits and the sum of two such numbers
HUGE = (2**31, 2**32 + 2, 2**63, 10**20)
NO_TEXT = (3, math.nan, None, b"x", [], Nothing())
# a class is not its instance, and a name is not the named object
NO_OBJECTS = ("nonsense", None, 3, math.nan, [], {}, Nothing(), Nothing)
NO_FLAGS = ("no", "False", None, math.nan, 2, [], Nothing())


def impossible(usual: Any, signed: bool = False) -> Iterator[tuple[Any, bool]]:
    """Yield values in place of `usual`, each with a flag that is true if the value is certainly impossible.

    Other values may be valid. If `usual` is an int, only whole numbers are valid. None is valid if it is the usual value.
    """
    if isinstance(usual, bool | np.bool_):
        yield from ((value, True) for value in NO_FLAGS)
    elif isinstance(usual, int | float | np.integer | np.floating):
        yield from _numbers(usual, signed)
    elif isinstance(usual, np.ndarray) and usual.dtype.kind in "iuf":
        yield from _arrays(usual, signed)
    elif isinstance(usual, str):
        yield from ((value, True) for value in NO_TEXT)
    elif isinstance(usual, Mapping):
        yield from ((value, True) for value in ("nonsense", 3, math.nan, Nothing()))
    elif isinstance(usual, Sequence):
        yield from _several(usual, signed)
    else:
        # a class is valid in place of a function, because it can be called
        yield from ((value, not (value is Nothing and callable(usual))) for value in NO_OBJECTS if value is not usual)


def _numbers(usual: Any, signed: bool) -> Iterator[tuple[Any, bool]]:
    whole = isinstance(usual, int | np.integer)
    yield from ((value, True) for value in NO_NUMBERS)
    yield from ((value, whole or not signed) for value in (-math.inf, -1.5))
    yield from ((value, whole) for value in (math.inf, 0.5, 1.5, 1e-300, 1e300))
    yield from ((value, not signed) for value in (-1, -(2**32)))
    yield from ((value, False) for value in (0, 1, [], *HUGE))


def _arrays(usual: np.ndarray, signed: bool) -> Iterator[tuple[Any, bool]]:
    yield from ((value, True) for value in ("x", 1j, None, {}, Nothing(), usual.astype(str), usual * 1j))
    if usual.size:
        for value in (math.nan, math.inf, -math.inf, -1.0):
            spoiled = usual.astype(float)
            spoiled.flat[-1] = value
            yield spoiled, math.isnan(value) or (not signed and value < 0)
    yield from ((value, False) for value in (usual[None], usual[:0] if usual.ndim else usual, usual * 0))


def _several(usual: Sequence, signed: bool) -> Iterator[tuple[Any, bool]]:
    """Yield values that are not sequences, and sequences with an impossible last value."""
    kind = type(usual) if type(usual) in (list, tuple) else list
    yield from ((value, True) for value in (math.nan, Nothing(), 1j))
    yield from ((value, False) for value in (kind(), "x", np.array(1.0)))
    if len(usual):
        for value, certain in impossible(usual[-1], signed):
            yield kind([*usual[:-1], value]), certain
