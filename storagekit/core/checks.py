"""Validators that reject impossible arguments with a message of one line.

The message names the value, its limit and, if the limit does not imply it, the remedy.
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

# Every whole number up to this limit is a float64.
MOST_IN_FULL = 2.0**53
# Limits above which a time was probably given in milliseconds, seconds, by the meaning of the time. All are far above
# real values: a floppy drive seeks and turns within 0.3 s, a message over a satellite takes 0.6 s, users at terminals
# think for 12 s, and time-outs of hosts end after minutes.
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
# Most elements of an array that a message shows, and least whole number that it abbreviates.
_FEW, _LONG = 4, 10**30


def traced(*values) -> bool:
    """Return whether any value is traced by JAX, so that it is unknown and cannot be validated.

    Parameters
    ----------
    *values : Any
        The values.

    Returns
    -------
    bool
        True if any value is a tracer.
    """
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(value, jax.core.Tracer) for value in values)


def require(holds, label: str, value, limit: str, unit: str = "") -> None:
    """Raise InputError unless a condition is true.

    Parameters
    ----------
    holds : bool or array of bool
        The condition, or one condition for each value. Traced conditions are not checked.
    label : str
        Name of the value in the message.
    value : Any
        The value, or the values. The message shows the first value whose condition is false.
    limit : str
        Limit of the value, as the end of the message.
    unit : str
        Unit of the value, by default "".

    Raises
    ------
    InputError
        If the condition is false.
    """
    if traced(holds) or np.all(holds):
        return
    wrong = np.broadcast_to(value, np.shape(holds))[~np.asarray(holds)].flat[0] if np.ndim(holds) else value
    raise InputError(f"{label} {written(wrong)}{unit and f' {unit}'}: it must be {limit}")


def real_objects(given: np.ndarray) -> bool:
    """Return whether an array consists of Python objects that are all real numbers."""
    return given.dtype.kind == "O" and all(isinstance(one, Real) for one in given.flat)


def numbers(label: str, value) -> np.ndarray:
    """Return a value as an array of numbers, which may include NaN and infinity.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.

    Returns
    -------
    ndarray
        The numbers.

    Raises
    ------
    InputError
        If the value is not numeric.
    """
    try:
        given = np.asarray(value)
        # NumPy stores Python integers beyond 64 bits as objects. It cannot compare 16-bit floats with 64-bit integers.
        if real_objects(given) or given.dtype == np.float16:
            given = given.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{label} {shown(value)}: give a number") from None
    # The array of an empty list is of float type, and passes this test.
    if given.dtype.kind not in "iuf" and not (given.dtype.kind == "b" and given.ndim):
        raise InputError(f"{label} {shown(value)}: give a number")
    return given


def require_broadcast(**values) -> None:
    """Raise InputError unless arrays broadcast with one another.

    Parameters
    ----------
    **values : array
        The arrays, by name.

    Raises
    ------
    InputError
        If their shapes do not broadcast.
    """
    shapes = {label: np.shape(value) for label, value in values.items()}
    if len({*shapes.values(), ()}) <= 2:
        return
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        named = ", ".join(f"{label.replace('_', ' ')} {shape}" for label, shape in shapes.items() if shape)
        raise InputError(f"arrays of shapes that do not go together: {named}; give them one shape") from None


def require_number(label: str, value) -> None:
    """Raise InputError unless a value is a single number.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.

    Raises
    ------
    InputError
        If the value is an array, or not a number.
    """
    given = np.asarray(value)
    if given.ndim:
        raise InputError(f"{label} of {given.size} values: give one number, and ask again for each other")
    if given.dtype.kind not in "biuf" and not real_objects(given):
        raise InputError(f"{label} {shown(value)}: give a number")


def require_whole(label: str, value, least: int = 1, otherwise: str = "") -> None:
    """Raise InputError unless a value is a single whole number, at least `least`.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.
    least : int
        The smallest allowed number, by default 1.
    otherwise : str
        The end of the message, by default "".

    Raises
    ------
    InputError
        If the value is not such a number.
    """
    require_number(label, value)
    if not least <= value < np.inf or not (isinstance(value, int) or value == np.round(value)):
        raise InputError(f"{label} {value}: give a whole number, at least {least}{otherwise}")


def require_positive(label: str, value, unit: str = "") -> None:
    """Raise InputError unless a value is a single number, above 0 and finite.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.
    unit : str
        Unit of the value, by default "".

    Raises
    ------
    InputError
        If the value is not such a number.
    """
    require_number(label, value)
    require(0 < value < np.inf, label, value, "above 0 and finite", unit)


def require_each_positive(label: str, values, unit: str = "") -> None:
    """Raise InputError unless every value is above 0 and finite.

    Parameters
    ----------
    label : str
        Name of the values in the message.
    values : number or array
        Value of a field, or one value for each run. Traced values are not checked.
    unit : str
        Unit of the values, by default "".

    Raises
    ------
    InputError
        If a value is out of range.
    """
    if traced(values):
        return
    given = numbers(label, values)
    require((given > 0) & np.isfinite(given), label, given, "above 0 and finite", unit)


def require_not_negative(label: str, value, unit: str = "") -> None:
    """Raise InputError unless a value is a single number, 0 or more and finite.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.
    unit : str
        Unit of the value, by default "".

    Raises
    ------
    InputError
        If the value is not such a number.
    """
    require_number(label, value)
    require(0 <= value < np.inf, label, value, "0 or more and finite", unit)


def require_share(label: str, value) -> None:
    """Raise InputError unless a value is a single number from 0 to 1.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.

    Raises
    ------
    InputError
        If the value is not such a number.
    """
    require_number(label, value)
    require(0 <= value <= 1, label, value, "between 0 and 1")


def require_seconds(label: str, value, meaning: str) -> None:
    """Raise InputError if a time is so long that it was probably given in milliseconds.

    NaN and negative values are not rejected here; other validators reject them.

    Parameters
    ----------
    label : str
        Name of the time in the message.
    value : number or array
        The time, or several times, seconds. Traced values are not checked.
    meaning : str
        Meaning of the time, a key of `MOST_SECONDS`, which gives its limit.

    Raises
    ------
    InputError
        If a time exceeds the limit.
    """
    if traced(value):
        return
    # NumPy stores Python integers beyond 64 bits as objects.
    most, given = MOST_SECONDS[meaning], np.atleast_1d(float(value) if isinstance(value, int) else value)
    long = given[given > most] if given.dtype.kind in "biuf" else given[:0]
    if long.size:
        first = written(long.flat[0])
        raise InputError(
            f"{label} {first} s: it must be at most {most:g}; times are in seconds, {first} ms are {first} * sk.units.MS"
        )


def require_kind(label: str, value, kind: type[Kind], give: str) -> Kind:
    """Return a value if it is an instance of a class.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.
    kind : type
        The class.
    give : str
        Allowed values, with an example, for the message. If the value is the class itself, or a function of this
        package, the message requests its result instead.

    Returns
    -------
    kind
        The value.

    Raises
    ------
    InputError
        If the value is not an instance of the class.
    """
    if isinstance(value, kind):
        return value
    makes = isinstance(value, type) and issubclass(value, kind)
    # Some functions of this package return components, for example `dispatch.central`.
    if makes or (inspect.isroutine(value) and (value.__module__ or "").startswith("storagekit.")):
        raise InputError(f"{label}: given {shown(value)}; give one that it makes, {value.__name__}(...)")
    raise InputError(f"{label}: given {shown(value)}; give {give}")


def of_kind(label: str, kind: type[Kind], give: str) -> Callable[[Kind], Kind]:
    """Return `require_kind` as the converter of a field.

    Parameters
    ----------
    label : str
        Name of the field in the message.
    kind : type
        The class.
    give : str
        Allowed values, with an example, for the message.

    Returns
    -------
    callable
        The converter.
    """

    def same(value: Kind) -> Kind:
        return require_kind(label, value, kind, give)

    return same


def shown(value) -> str:
    """Return the text for a value in a message.

    Numbers and words are shown in full. Other values are shown by their type and its origin.

    Parameters
    ----------
    value : Any
        The value.

    Returns
    -------
    str
        The text.
    """
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
    """Raise InputError unless a function of the user accepts the given arguments by position.

    Parameters
    ----------
    label : str
        Name of the function in the message.
    function : callable
        The function.
    given : sequence of str
        Names of the arguments, in their order.

    Raises
    ------
    InputError
        If the function cannot be called with them.
    """
    try:
        inspect.signature(function).bind(*given)
    except (TypeError, ValueError) as fault:
        raise InputError(f"{label}: its function is given {', '.join(given) or 'nothing'}: {fault}") from fault


def written(value) -> str:
    """Return the text for a number in a message.

    Whole numbers are written in full, because bytes and sectors are counted. Other numbers are written with six digits.
    An int of 10^30 or more is described by its number of digits.

    Parameters
    ----------
    value : Any
        The number.

    Returns
    -------
    str
        The text.
    """
    if isinstance(value, int) and abs(value) >= _LONG:
        return f"of some {int(value.bit_length() / math.log2(10)) + 1} digits"
    given = np.asarray(value)
    if given.ndim or given.dtype.kind != "f":
        return str(value)
    number = float(given)
    return f"{number:.0f}" if number.is_integer() and abs(number) < MOST_IN_FULL else f"{number:g}"
