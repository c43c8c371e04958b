"""Numbers as they are given: refused in a line where a question cannot have them.

A line names the value, its limit and, where that does not say it, the remedy.
"""

import inspect
from collections.abc import Callable, Sequence

import numpy as np

from storagekit.errors import InputError

# every whole number up to it is a float64
MOST_IN_FULL = 2.0**53


def require(holds, label: str, value, limit: str, unit: str = "") -> None:
    """Raises InputError unless `holds`, or all of it where it is a mask of values: the first that fails is named."""
    if np.all(holds):
        return
    wrong = np.broadcast_to(value, np.shape(holds))[~np.asarray(holds)].flat[0] if np.ndim(holds) else value
    raise InputError(f"{label} {written(wrong)}{unit and f' {unit}'}: it must be {limit}")


def require_number(label: str, value) -> None:
    """Raises InputError for anything but one number."""
    given = np.asarray(value)
    if given.ndim:
        raise InputError(f"{label} of {given.size} values: give one number, and ask again for each other")
    if given.dtype.kind not in "biuf":
        raise InputError(f"{label} {value!r}: give a number")


def require_whole(label: str, value, least: int = 1, otherwise: str = "") -> None:
    """Raises InputError for anything but one whole number, at least `least`; `otherwise` ends the message."""
    require_number(label, value)
    if not least <= value < np.inf or value != np.round(value):
        raise InputError(f"{label} {value}: give a whole number, at least {least}{otherwise}")


def require_positive(label: str, value, unit: str = "") -> None:
    """Raises InputError for anything but one number above 0 and finite."""
    require_number(label, value)
    require(0 < value < np.inf, label, value, "above 0 and finite", unit)


def require_each_positive(label: str, values, unit: str = "") -> None:
    """Raises InputError unless every value is above 0 and finite: of a field that holds one, or one for each lane."""
    given = np.asarray(values)
    require((given > 0) & np.isfinite(given), label, given, "above 0 and finite", unit)


def require_not_negative(label: str, value, unit: str = "") -> None:
    """Raises InputError for anything but one number, 0 or more and finite."""
    require_number(label, value)
    require(0 <= value < np.inf, label, value, "0 or more and finite", unit)


def require_share(label: str, value) -> None:
    """Raises InputError for anything but one number from 0 to 1."""
    require_number(label, value)
    require(0 <= value <= 1, label, value, "between 0 and 1")


def require_takes(label: str, function: Callable, given: Sequence[str]) -> None:
    """Raises InputError unless a function that somebody wrote can be called with what it will be given, in this order."""
    try:
        inspect.signature(function).bind(*given)
    except (TypeError, ValueError) as fault:
        raise InputError(f"{label}: its function is given {', '.join(given) or 'nothing'}: {fault}") from fault


def written(value) -> str:
    """A value as a message shows it: whole numbers in full, as bytes and sectors are counted, others to six digits."""
    given = np.asarray(value)
    if given.ndim or given.dtype.kind != "f":
        return str(value)
    number = float(given)
    return f"{number:.0f}" if number.is_integer() and abs(number) < MOST_IN_FULL else f"{number:g}"
