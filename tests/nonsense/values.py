"""Impossible values, by what would be possible."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


class Nothing:
    """Of no kind that anybody takes."""

    def __repr__(self) -> str:
        return "Nothing()"


# numbers of no kind at all
NO_NUMBERS = (math.nan, "x", "1", b"1", 1j, None, {}, Nothing(), np.array([math.nan]), np.array(["1"]),
              np.array(["1"], dtype=object))  # fmt: skip
# beyond 32 and 64 bits, and beyond what a sum of two holds
HUGE = (2**31, 2**32 + 2, 2**63, 10**20)
NO_TEXT = (3, math.nan, None, b"x", [], Nothing())
# a class is not what it makes, a word is not what it names
NO_OBJECTS = ("nonsense", None, 3, math.nan, [], {}, Nothing(), Nothing)
NO_FLAGS = ("no", "False", None, math.nan, 2, [], Nothing())


def impossible(usual: Any, signed: bool = False) -> Iterator[tuple[Any, bool]]:
    """Values in place of `usual`, each with whether it is impossible for certain: others may be answered, rightly.

    A usual value that is an int says that only whole numbers are meant. None is possible where it is usual.
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
        # a class can be called, as a function can
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
    """Of a sequence: what is none, and with the last of its values spoiled."""
    kind = type(usual) if type(usual) in (list, tuple) else list
    yield from ((value, True) for value in (math.nan, Nothing(), 1j))
    yield from ((value, False) for value in (kind(), "x", np.array(1.0)))
    if len(usual):
        for value, certain in impossible(usual[-1], signed):
            yield kind([*usual[:-1], value]), certain
