"""Numbers as they are given: refused in a line where a question cannot have them.

A line names the value, its limit and, where that does not say it, the remedy.
"""

import inspect
from collections.abc import Callable, Sequence
from reprlib import repr as shortened
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from storagekit.errors import InputError

# every whole number up to it is a float64
MOST_IN_FULL = 2.0**53
# Seconds above which a time is taken for milliseconds, by what it means. All are far beyond what is built or asked for: a
# floppy drive seeks and turns within 0.3 s, a message over a satellite takes 0.6 s, users at terminals think for 12 s, the
# time-outs of hosts end after minutes.
MOST_SECONDS = MappingProxyType({
    "seek": 1.0,
    "track seek": 0.1,
    "revolution": 1.0,
    "head switch": 0.1,
    "settling": 0.1,
    "overhead": 0.5,
    "latency": 1.0,
    "response": 5.0,
    "thought": 15.0,
    "time-out": 600.0,
})  # fmt: skip

Kind = TypeVar("Kind")


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
        raise InputError(f"{label} {shown(value)}: give a number")


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


def require_seconds(label: str, value, meaning: str) -> None:
    """Raises InputError where a time, or any of several, is longer than one of that `meaning` (`MOST_SECONDS`) can be: most
    likely it was given in milliseconds. NaN and what is below 0 are for others to refuse."""
    most, given = MOST_SECONDS[meaning], np.asarray(value)
    long = given[given > most] if given.dtype.kind in "biuf" else given[:0]
    if long.size:
        first = written(long.flat[0])
        raise InputError(
            f"{label} {first} s: it must be at most {most:g}; times are in seconds, {first} ms are {first} * sk.units.MS"
        )


def require_kind(label: str, value, kind: type[Kind], give: str) -> Kind:
    """The value. Raises InputError unless it is one of `kind`; give: what to give in its place, with an example. A class of
    that kind, and a function that makes one, are told apart from what they make."""
    if isinstance(value, kind):
        return value
    makes = isinstance(value, type) and issubclass(value, kind)
    # functions of ours make members, as `dispatch.central` does
    if makes or (inspect.isroutine(value) and (value.__module__ or "").startswith("storagekit.")):
        raise InputError(f"{label}: given {shown(value)}; give one that it makes, {value.__name__}(...)")
    raise InputError(f"{label}: given {shown(value)}; give {give}")


def of_kind(label: str, kind: type[Kind], give: str) -> Callable[[Kind], Kind]:
    """`require_kind` as the converter of a field."""

    def same(value: Kind) -> Kind:
        return require_kind(label, value, kind, give)

    return same


def shown(value) -> str:
    """What was given, in a message: numbers and words as they are, of anything else what it is and where it is from."""
    if isinstance(value, type) or inspect.isroutine(value):
        return f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"
    kind = type(value)
    if kind.__module__ == "builtins":
        return shortened(value)
    return f"{kind.__name__} of {'.'.join(kind.__module__.split('.')[:2])}"


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
