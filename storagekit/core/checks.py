"""Numbers as they are given: refused in a line where a question cannot have them.

A line names the value, its limit and, where that does not say it, the remedy.
"""

import inspect
import math
import sys
from collections.abc import Callable, Sequence
from numbers import Real
from reprlib import repr as shortened
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from storagekit.core.errors import InputError

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
# elements of an array that a message shows, and whole numbers that it does not write in full
_FEW, _LONG = 4, 10**30


def traced(*values) -> bool:
    """Whether any value is not known yet: JAX is tracing the program that it is part of, and nothing can be said of it."""
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(value, jax.core.Tracer) for value in values)


def require(holds, label: str, value, limit: str, unit: str = "") -> None:
    """Raises InputError unless `holds`, or all of it where it is a mask of values: the first that fails is named."""
    if traced(holds) or np.all(holds):
        return
    wrong = np.broadcast_to(value, np.shape(holds))[~np.asarray(holds)].flat[0] if np.ndim(holds) else value
    raise InputError(f"{label} {written(wrong)}{unit and f' {unit}'}: it must be {limit}")


def real_objects(given: np.ndarray) -> bool:
    """Whether an array of Python's objects holds real numbers alone."""
    return given.dtype.kind == "O" and all(isinstance(one, Real) for one in given.flat)


def numbers(label: str, value) -> np.ndarray:
    """What was given as an array of numbers, NaN and infinity among them. Raises InputError for what is none."""
    try:
        given = np.asarray(value)
        # Python's whole numbers beyond 64 bits are objects to NumPy; of 16 bits it cannot compare with those of 64
        if real_objects(given) or given.dtype == np.float16:
            given = given.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{label} {shown(value)}: give a number") from None
    # an empty list is of no kind
    if given.dtype.kind not in "iuf" and not (given.dtype.kind == "b" and given.ndim):
        raise InputError(f"{label} {shown(value)}: give a number")
    return given


def require_broadcast(**values) -> None:
    """Raises InputError unless arrays of these names go together, element by element."""
    shapes = {label: np.shape(value) for label, value in values.items()}
    if len({*shapes.values(), ()}) <= 2:
        return
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        named = ", ".join(f"{label.replace('_', ' ')} {shape}" for label, shape in shapes.items() if shape)
        raise InputError(f"arrays of shapes that do not go together: {named}; give them one shape") from None


def require_number(label: str, value) -> None:
    """Raises InputError for anything but one number."""
    given = np.asarray(value)
    if given.ndim:
        raise InputError(f"{label} of {given.size} values: give one number, and ask again for each other")
    if given.dtype.kind not in "biuf" and not real_objects(given):
        raise InputError(f"{label} {shown(value)}: give a number")


def require_whole(label: str, value, least: int = 1, otherwise: str = "") -> None:
    """Raises InputError for anything but one whole number, at least `least`; `otherwise` ends the message."""
    require_number(label, value)
    if not least <= value < np.inf or not (isinstance(value, int) or value == np.round(value)):
        raise InputError(f"{label} {value}: give a whole number, at least {least}{otherwise}")


def require_positive(label: str, value, unit: str = "") -> None:
    """Raises InputError for anything but one number above 0 and finite."""
    require_number(label, value)
    require(0 < value < np.inf, label, value, "above 0 and finite", unit)


def require_each_positive(label: str, values, unit: str = "") -> None:
    """Raises InputError unless every value is above 0 and finite: of a field that holds one, or one for each lane."""
    if traced(values):
        return
    given = numbers(label, values)
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
    if traced(value):
        return
    # Python's whole numbers beyond 64 bits are objects to NumPy
    most, given = MOST_SECONDS[meaning], np.atleast_1d(float(value) if isinstance(value, int) else value)
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
    if isinstance(value, np.generic):
        return shortened(value.item())
    if isinstance(value, np.ndarray):
        return shortened(value.tolist()) if value.size <= _FEW else f"an array of {value.dtype}, {list(value.shape)}"
    if type(value) is int:
        return written(value)
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
    if isinstance(value, int) and abs(value) >= _LONG:
        return f"of some {int(value.bit_length() / math.log2(10)) + 1} digits"
    given = np.asarray(value)
    if given.ndim or given.dtype.kind != "f":
        return str(value)
    number = float(given)
    return f"{number:.0f}" if number.is_integer() and abs(number) < MOST_IN_FULL else f"{number:g}"
