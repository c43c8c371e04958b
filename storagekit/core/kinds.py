"""Validators of numbers by their kind: a count, a time, a rate, a size or a share.

    @takes(rate=RATE.each, servers=COUNT)
    def response(rate, servers): ...

A validator is called with a name and a value. It returns the value, a whole number as an int. Otherwise it raises
InputError. The message is one line with the name, the value, the limit and, if the limit does not imply it, the remedy.

A value is invalid if it is not a number (text is not), not finite, of the wrong sign, not whole, or out of range.
Several values are invalid for a kind of a single number.
"""

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from storagekit.core.checks import numbers, require_kind, shown, traced, written
from storagekit.core.errors import InputError

# Largest count of objects that are processed one by one, or that take memory each.
MOST_COUNTED = 10**6
# float64 cannot represent every whole number above this limit.
MOST_EXACT = 2**53
# NumPy has no type for signed whole numbers from this limit on.
MOST_BITS = 2**63

_BY_PLACE = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD

Call = TypeVar("Call", bound=Callable[..., Any])


@dataclass(frozen=True)
class Kind:
    """Validator of numbers of one kind, between two limits.

    Parameters
    ----------
    least, most : float
        The limits, by default -inf and inf.
    unit : str
        Unit of the numbers, by default "".
    whole : bool
        Whether only whole numbers are valid, by default False.
    above : bool
        Whether `least` itself is invalid, by default False.
    endless : bool
        Whether infinity is valid, by default False.
    many : bool
        Whether an array of numbers is valid, by default False.
    otherwise : str
        The end of a message, such as a remedy, by default "".
    """

    least: float = -math.inf
    most: float = math.inf
    unit: str = ""
    whole: bool = False
    above: bool = False
    endless: bool = False
    many: bool = False
    otherwise: str = ""

    @property
    def each(self) -> "Kind":
        """Return the same kind for one number or every number of an array."""
        return replace(self, many=True)

    def up_to(self, most: float, otherwise: str = "") -> "Kind":
        """Return the same kind with another upper limit.

        Parameters
        ----------
        most : float
            The upper limit.
        otherwise : str
            The end of a message; by default unchanged.

        Returns
        -------
        Kind
            The new kind.
        """
        return replace(self, most=most, otherwise=otherwise or self.otherwise)

    def __call__(self, label: str, value: Any) -> Any:
        """Return a value if it is valid.

        Parameters
        ----------
        label : str
            Name of the value in the message.
        value : Any
            The value. Traced values are returned unchanged.

        Returns
        -------
        number or array
            The value, a whole number as an int.

        Raises
        ------
        InputError
            If the value is invalid.
        """
        # Fast path: most values are a single number in its range.
        plain = type(value) is int or (type(value) is float and not self.whole)
        within = plain and self.least <= value <= self.most and (self.whole or abs(value) < MOST_BITS)
        if within and not (self.above and value == self.least):
            return value
        if traced(value):
            return value
        if type(value) is int and self.whole:
            # The message shows the exact int, because 2^64 - 1 as a float is 2^64.
            raise InputError(self._refusal(label, value))
        given = numbers(label, value)
        if given.ndim and not self.many:
            raise InputError(f"{label} of {given.size} values: give one number, and ask again for each other")
        fits = (given > self.least) if self.above else (given >= self.least)
        fits = fits & (given <= self.most) & (self.endless | np.isfinite(given))
        if self.whole:
            fits = fits & (given == np.round(given))
        if not np.all(fits):
            raise InputError(self._refusal(label, given[~fits].flat[0] if given.ndim else value))
        if given.ndim:
            return given if isinstance(value, list | tuple) else value
        # A field that a converter has changed to an array remains an array.
        if self.whole and not (self.many and isinstance(value, np.ndarray)):
            return self(label, int(value))
        return float(value) if isinstance(value, int) and abs(value) >= MOST_BITS else value

    def _refusal(self, label: str, wrong: Any) -> str:
        asks, unit = "give" if self.whole else "it must be", self.unit and f" {self.unit}"
        return f"{label} {written(wrong)}{unit}: {asks} {self.limit}{self.otherwise}"

    @property
    def limit(self) -> str:
        """Return the limit in words, as the end of a message."""
        whole = "a whole number, " if self.whole else ""
        least, most = written(self.least), written(self.most)
        finite = "" if self.endless or self.whole else " and finite"
        if math.isinf(self.least):
            return (
                f"{whole}at most {most}" if math.isfinite(self.most) else f"{whole or 'a number'}{finite}".rstrip(", ")
            )
        if math.isinf(self.most):
            if self.whole:
                return f"{whole}at least {least}"
            return f"above {least}{finite}" if self.above else f"{least} or more{finite}"
        if self.above:
            return f"{whole}above {least} and at most {most}"
        return f"{whole}between {least} and {most}"


# Counts of at least one object, and counts that may be zero.
COUNT = Kind(least=1, most=MOST_COUNTED, whole=True)
NUMBER = Kind(least=0, most=MOST_COUNTED, whole=True)
# Whole numbers that are not counts of objects: addresses and sizes in sectors, sizes in bytes, positions from 0.
SECTORS = Kind(least=1, most=MOST_EXACT, whole=True)
ADDRESS = Kind(least=0, most=MOST_EXACT, whole=True)
SEED = Kind(least=0, most=2**64 - 1, whole=True)
# Seconds: a time above 0, a time that may be 0, and a point in time.
TIME = Kind(least=0, unit="s", above=True)
SPAN = Kind(least=0, unit="s")
MOMENT = Kind(unit="s")
RATE = Kind(least=0, unit="1/s")
# Bytes of a request or a memory, and bytes a second.
SIZE = Kind(least=0, unit="bytes", above=True)
SPACE = Kind(least=0, unit="bytes")
SPEED = Kind(least=0, unit="bytes/s", above=True)
SHARE = Kind(least=0, most=1)
POSITIVE = Kind(least=0, above=True)
AMOUNT = Kind(least=0)
REAL = Kind()


def flag(label: str, value: Any) -> bool:
    """Return a value if it is True or False; a word such as "no" is neither.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.

    Returns
    -------
    bool
        The value.

    Raises
    ------
    InputError
        If the value is not a bool.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InputError(f"{label} {shown(value)}: give True or False")


def text(label: str, value: Any) -> str:
    """Return a value if it is text.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.

    Returns
    -------
    str
        The value.

    Raises
    ------
    InputError
        If the value is not text.
    """
    return require_kind(label, value, str, "text")


def called(label: str, value: Any) -> Any:
    """Return a value if it can be called.

    Parameters
    ----------
    label : str
        Name of the value in the message.
    value : Any
        The value.

    Returns
    -------
    callable
        The value.

    Raises
    ------
    InputError
        If the value is not callable.
    """
    if callable(value):
        return value
    raise InputError(f"{label} {shown(value)}: give a function")


def one_of(*words: str) -> Callable[[str, Any], str]:
    """Return the validator of a value that must be one of some words.

    Parameters
    ----------
    *words : str
        The words.

    Returns
    -------
    callable
        The validator.
    """

    def known(label: str, value: Any) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise InputError(f"{label} {shown(value)}: give one of {', '.join(words)}")

    return known


def several(kind: Callable[[str, Any], Any], least: int = 0, of: str = "values") -> Callable[[str, Any], tuple]:
    """Return the validator of a sequence of values of one kind.

    Parameters
    ----------
    kind : callable
        Validator of each value.
    least : int
        Least number of values, by default 0.
    of : str
        Name of the values in a message, by default "values".

    Returns
    -------
    callable
        The validator, which returns a tuple.
    """

    def each(label: str, value: Any) -> tuple:
        if isinstance(value, str | bytes | dict) or not np.iterable(value):
            raise InputError(f"{label} {shown(value)}: give several {of}, in a list")
        given = tuple(kind(label, one) for one in value)
        if len(given) < least:
            raise InputError(f"{label} of {len(given)} {of}: give at least {least}")
        return given

    return each


def a(kind: Any, give: str = "") -> Callable[[str, Any], Any]:
    """Return the validator of an instance of a class, or of one of several classes.

    Parameters
    ----------
    kind : type or tuple of type
        The class or the classes.
    give : str
        Allowed values, with an example, for the message; by default the name of the class.

    Returns
    -------
    callable
        The validator.
    """

    def same(label: str, value: Any) -> Any:
        return require_kind(label, value, kind, give or f"a {kind.__name__}")

    return same


def takes(together: Callable[..., None] | None = None, /, **kinds: Callable[[str, Any], Any]) -> Callable[[Call], Call]:
    """Return a decorator that validates the arguments of a function.

    An argument that is the default value of its parameter is not validated.

    Parameters
    ----------
    together : callable, optional
        Function that is called with all given arguments by name after they have been validated. It raises InputError if
        they do not fit together, as `require_broadcast` does for arrays.
    **kinds : callable
        Validator of each argument, by name.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    TypeError
        By the decorator, if the function has no argument of such a name.
    """

    def decorate(function: Call) -> Call:
        parameters = inspect.signature(function).parameters
        if unknown := set(kinds) - set(parameters):
            raise TypeError(f"{function.__qualname__} has no argument {', '.join(sorted(unknown))}")
        # Parameters that may be given by position. Arguments of a `*more` parameter are not validated.
        names = tuple(name for name, one in parameters.items() if one.kind in _BY_PLACE)
        held = {name: (kind, parameters[name].default, name.replace("_", " ")) for name, kind in kinds.items()}

        def looked_at(name: str, value: Any) -> Any:
            if name not in held:
                return value
            kind, default, label = held[name]
            return value if value is default else kind(label, value)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            # Python itself rejects missing, surplus and unknown arguments.
            given = [looked_at(name, value) for name, value in zip(names, args, strict=False)]
            named = {name: looked_at(name, value) for name, value in kwargs.items()}
            if together is not None:
                together(**dict(zip(names, given, strict=False)) | named)
            return function(*given, *args[len(given) :], **named)

        return checked  # pyright: ignore[reportReturnType]

    return decorate


def unchecked(function: Call) -> Call:
    """Return a function without the validation of `takes`.

    It is for frequent calls with arguments that are already validated.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    callable
        The function that `takes` decorated, or `function` itself if it is not decorated.
    """
    return getattr(function, "__wrapped__", function)


def hold(instance: Any, **kinds: Callable[[str, Any], Any]) -> None:
    """Validate fields of an instance, for `__post_init__`.

    Parameters
    ----------
    instance : Any
        The instance. A field whose validator returns another value is replaced.
    **kinds : callable
        Validator of each field, by name.

    Raises
    ------
    InputError
        If a field is invalid.
    """
    for name, kind in kinds.items():
        value = getattr(instance, name)
        if (found := kind(name.replace("_", " "), value)) is not value:
            object.__setattr__(instance, name, found)


def optional(kind: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """Return the validator of a value that may be None.

    Parameters
    ----------
    kind : callable
        Validator of other values.

    Returns
    -------
    callable
        The validator.
    """
    return lambda label, value: None if value is None else kind(label, value)
