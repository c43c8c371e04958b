"""Numbers as a reader wants them: measured ones in the paper's digits, others in as many as they are sure of, none as powers
of ten. Files keep full precision.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

# decimals where the paper says 0: its row is judged by 0.01 and 0.03
OF_ZERO = 3
# significant digits of a number that nothing stands beside, and of half the width of an interval
SIGNIFICANT, OF_INTERVAL = 4, 2


def printed(value: float | tuple[float, float] | None) -> str:
    """A paper's number as its claims file has it, "2.0" with its 0; "1.12 to 1.27" of an interval, "" of none."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " to ".join(printed(end) for end in value)
    text = f"{value:.10g}"
    return f"{text}.0" if isinstance(value, float) and text.lstrip("-").isdigit() else text


def decimals_of(text: str) -> int | None:
    """Decimals of a number as it is printed, the most of several ("1.12 to 1.27"); None where there is none."""
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
    """Decimals in which to show what was measured beside what a paper expects.

    One more than the paper's number has, but no more than that where the two are the same in them; none of a whole number.

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
    """Decimals in which a number has so many significant digits; none of a whole one, and of 0."""
    if not math.isfinite(value) or float(value).is_integer():
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def sure(mean: float, low: float, high: float) -> int:
    """Decimals of a mean, so many that half its interval has two significant digits; without one, `significant`."""
    half = (high - low) / 2
    if not (math.isfinite(half) and half > 0):
        return significant(mean)
    # an interval of nearly nothing says little of the digits
    return min(significant(half, OF_INTERVAL), significant(mean, SIGNIFICANT + 2) if mean else 9)


def fixed(value: float, decimals: int, sign: str = "") -> str:
    """A number in so many decimals, what rounds to 0 without a minus."""
    rounded = round(value, decimals)
    return f"{rounded if rounded else 0.0:{sign}.{decimals}f}"


def spread(values: Sequence[Any], decimals: int) -> str:
    """The ends of an interval in so many decimals: "183.2 to 184.5"."""
    return " to ".join(fixed(value, decimals) for value in values)
