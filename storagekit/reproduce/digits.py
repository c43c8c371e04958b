"""Format numbers for a reader, without powers of ten.

A measured number has about as many decimals as the paper's number; see `beside`. Other numbers have the digits that are
certain. Files keep full precision.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

# Smallest number of decimals if the paper's number is 0. The limits of the verdict are then 0.01 and 0.03.
OF_ZERO = 3
# Significant digits of a number without a reference, and of half the width of an interval.
SIGNIFICANT, OF_INTERVAL = 4, 2


def printed(value: float | tuple[float, float] | None) -> str:
    """Return a paper's number as the claims file writes it.

    Examples are "2.0" with its 0, "1.12 to 1.27" for an interval, and "" for no number.
    """
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " to ".join(printed(end) for end in value)
    text = f"{value:.10g}"
    return f"{text}.0" if isinstance(value, float) and text.lstrip("-").isdigit() else text


def decimals_of(text: str) -> int | None:
    """Return the number of decimals of a printed number, or None if a part of the text is not a number.

    For several numbers ("1.12 to 1.27") the largest count is returned.
    """
    found = [_exponent(word) for word in text.replace(" to ", " ").split()]
    known = [max(0, -exponent) for exponent in found if exponent is not None]
    return max(known) if known and len(known) == len(found) else None


def _exponent(word: str) -> int | None:
    try:
        exponent = Decimal(word).as_tuple().exponent
    except InvalidOperation:
        return None
    return exponent if isinstance(exponent, int) else None


def beside(expected: str, measured: float) -> int:
    """Return the number of decimals of a measured value that is shown next to the expected value of a paper.

    The measured value has one decimal more than the paper's number. If both values are equal when they are rounded to
    that decimal, it has as many decimals as the paper's number. If both values are whole numbers, it has no decimals.
    If the paper says 0, it has at least `OF_ZERO` decimals. If the paper gives no number, the result is from
    `significant`.

    >>> [f"{value:.{beside('188', value)}f}" for value in (187.99, 183.848, 190.0)]
    ['188', '183.8', '190']
    """
    decimals = decimals_of(expected)
    if decimals is None:
        return significant(measured)
    if float(measured).is_integer() and decimals == 0:
        return 0
    if _is_zero(expected):
        return max(decimals, OF_ZERO)
    same = " to " not in expected and round(measured, decimals + 1) == float(expected)
    return decimals if same else decimals + 1


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0
    except ValueError:
        return False


def significant(value: float, digits: int = SIGNIFICANT) -> int:
    """Return the number of decimals that gives a number `digits` significant digits; 0 for a whole number."""
    if not math.isfinite(value) or float(value).is_integer():
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def sure(mean: float, low: float, high: float) -> int:
    """Return the number of decimals of a mean with which half the width of its interval has two significant digits.

    Without an interval the result is from `significant`.
    """
    half = (high - low) / 2
    if not (math.isfinite(half) and half > 0):
        return significant(mean)
    # An interval of nearly zero width does not determine the digits.
    return min(significant(half, OF_INTERVAL), significant(mean, SIGNIFICANT + 2) if mean else 9)


def fixed(value: float, decimals: int, sign: str = "") -> str:
    """Return a number with a fixed number of decimals, without a minus sign if it rounds to 0."""
    rounded = round(value, decimals)
    return f"{rounded if rounded else 0.0:{sign}.{decimals}f}"


def spread(values: Sequence[Any], decimals: int) -> str:
    """Return the ends of an interval with a fixed number of decimals: "183.2 to 184.5"."""
    return " to ".join(fixed(value, decimals) for value in values)
