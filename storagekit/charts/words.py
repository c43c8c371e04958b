"""Findings of a chart in words: parts of a subtitle."""

from collections.abc import Iterable, Sequence

import numpy as np


def listed(names: Sequence[str]) -> str:
    """Return names as in a sentence, "a, b and c"; empty text for no names."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def change(ratio: float, more: str = "more", less: str = "less", same: str = "as much") -> str:
    """Return the percentage by which a ratio is above or below 1: "38% more", "5% less".

    If the percentage rounds to 0, the result is `same`.
    """
    percent = round(100 * (ratio - 1))
    return same if percent == 0 else f"{abs(percent)}% {more if percent > 0 else less}"


def span(values: Iterable[float], form: str = ".0f") -> str:
    """Return the range of the finite values, "2 to 5". If both ends are written alike, return one number."""
    known = np.asarray([value for value in values if np.isfinite(value)])
    if not known.size:
        return "nothing"
    low, high = (format(float(end), form) for end in (known.min(), known.max()))
    return low if low == high else f"{low} to {high}"


def counted(number: float, noun: str) -> str:
    """Return a number and a noun. The noun is in the plural unless the number is 1: "1 sector", "2 sectors"."""
    return f"{number:g} {noun}" + ("" if number == 1 else "s")
