"""What a number may be, by its kind (a count, a time, a rate, a size, a share), and how arguments and fields are held to it.

    @takes(rate=RATE.each, servers=COUNT)
    def response(rate, servers): ...

A kind is called with a name and a value and returns the value, a whole number as an int. It raises InputError, in a line with
the name, the value, the limit and where that does not say it the remedy, for what is no number (text is none), not finite, of
the wrong sign, not whole, out of range, or several where one is asked for.
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

# Largest of what counts things that are gone through one by one, or of which each takes memory.
MOST_COUNTED = 10**6
# Beyond it whole numbers leave out some in float64.
MOST_EXACT = 2**53
# Beyond it NumPy has no whole numbers.
MOST_BITS = 2**63

_BY_PLACE = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD

Call = TypeVar("Call", bound=Callable[..., Any])


@dataclass(frozen=True)
class Kind:
    """Numbers of one kind, from `least` to `most`, of a `unit`.

    whole: whole numbers only. above: `least` itself is not possible. endless: infinity is. many: one number or an array of
    them. otherwise: the end of a message, a remedy.
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
        """The same of every number of an array, or of one."""
        return replace(self, many=True)

    def up_to(self, most: float, otherwise: str = "") -> "Kind":
        """The same, of at most so much."""
        return replace(self, most=most, otherwise=otherwise or self.otherwise)

    def __call__(self, label: str, value: Any) -> Any:
        """The value, of this kind. Raises InputError for any other."""
        # most are one number in its range, and are told at once
        plain = type(value) is int or (type(value) is float and not self.whole)
        within = plain and self.least <= value <= self.most and (self.whole or abs(value) < MOST_BITS)
        if within and not (self.above and value == self.least):
            return value
        if traced(value):
            return value
        if type(value) is int and self.whole:
            # exactly: as a real number 2^64 - 1 is 2^64
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
        # a field that a converter has made an array of stays one
        if self.whole and not (self.many and isinstance(value, np.ndarray)):
            return self(label, int(value))
        return float(value) if isinstance(value, int) and abs(value) >= MOST_BITS else value

    def _refusal(self, label: str, wrong: Any) -> str:
        asks, unit = "give" if self.whole else "it must be", self.unit and f" {self.unit}"
        return f"{label} {written(wrong)}{unit}: {asks} {self.limit}{self.otherwise}"

    @property
    def limit(self) -> str:
        """The limit in words: what a message ends with."""
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


# Of what there is at least one, and of what there may be none.
COUNT = Kind(least=1, most=MOST_COUNTED, whole=True)
NUMBER = Kind(least=0, most=MOST_COUNTED, whole=True)
# Whole numbers that are not gone through: addresses and sizes in sectors, sizes in bytes, positions from 0.
SECTORS = Kind(least=1, most=MOST_EXACT, whole=True)
ADDRESS = Kind(least=0, most=MOST_EXACT, whole=True)
SEED = Kind(least=0, most=2**64 - 1, whole=True)
# Seconds: of what takes time, of what may take none, and of a moment.
TIME = Kind(least=0, unit="s", above=True)
SPAN = Kind(least=0, unit="s")
MOMENT = Kind(unit="s")
RATE = Kind(least=0, unit="1/s")
# Bytes, of a request or a memory, and bytes a second.
SIZE = Kind(least=0, unit="bytes", above=True)
SPACE = Kind(least=0, unit="bytes")
SPEED = Kind(least=0, unit="bytes/s", above=True)
SHARE = Kind(least=0, most=1)
POSITIVE = Kind(least=0, above=True)
AMOUNT = Kind(least=0)
REAL = Kind()


def flag(label: str, value: Any) -> bool:
    """The value. Raises InputError unless it is true or false: "no" is neither."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InputError(f"{label} {shown(value)}: give True or False")


def text(label: str, value: Any) -> str:
    """The value. Raises InputError unless it is text."""
    return require_kind(label, value, str, "text")


def called(label: str, value: Any) -> Any:
    """The value. Raises InputError unless it can be called."""
    if callable(value):
        return value
    raise InputError(f"{label} {shown(value)}: give a function")


def one_of(*words: str) -> Callable[[str, Any], str]:
    """The kind of what is one of some words."""

    def known(label: str, value: Any) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise InputError(f"{label} {shown(value)}: give one of {', '.join(words)}")

    return known


def several(kind: Callable[[str, Any], Any], least: int = 0, of: str = "values") -> Callable[[str, Any], tuple]:
    """The kind of a sequence of values of a kind, each of which a message names; at least so many of them."""

    def each(label: str, value: Any) -> tuple:
        if isinstance(value, str | bytes | dict) or not np.iterable(value):
            raise InputError(f"{label} {shown(value)}: give several {of}, in a list")
        given = tuple(kind(label, one) for one in value)
        if len(given) < least:
            raise InputError(f"{label} of {len(given)} {of}: give at least {least}")
        return given

    return each


def a(kind: Any, give: str = "") -> Callable[[str, Any], Any]:
    """The kind of what is an object of a class, or of one of several; give: what a message asks for, an example of it."""

    def same(label: str, value: Any) -> Any:
        return require_kind(label, value, kind, give or f"a {kind.__name__}")

    return same


def takes(together: Callable[..., None] | None = None, /, **kinds: Callable[[str, Any], Any]) -> Callable[[Call], Call]:
    """A function whose arguments of these names are held to these kinds, unless they are what they are by default.

    together: then looks at all that is given, by name, and raises InputError where it does not go together, as
    `require_broadcast` does of arrays.
    """

    def decorate(function: Call) -> Call:
        parameters = inspect.signature(function).parameters
        if unknown := set(kinds) - set(parameters):
            raise TypeError(f"{function.__qualname__} has no argument {', '.join(sorted(unknown))}")
        # those that may be given by place: what `*more` takes has no kind
        names = tuple(name for name, one in parameters.items() if one.kind in _BY_PLACE)
        held = {name: (kind, parameters[name].default, name.replace("_", " ")) for name, kind in kinds.items()}

        def looked_at(name: str, value: Any) -> Any:
            if name not in held:
                return value
            kind, default, label = held[name]
            return value if value is default else kind(label, value)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            # too many, too few and unknown ones are Python's to refuse
            given = [looked_at(name, value) for name, value in zip(names, args, strict=False)]
            named = {name: looked_at(name, value) for name, value in kwargs.items()}
            if together is not None:
                together(**dict(zip(names, given, strict=False)) | named)
            return function(*given, *args[len(given) :], **named)

        return checked  # pyright: ignore[reportReturnType]

    return decorate


def unchecked(function: Call) -> Call:
    """What `takes` looks after, without it: for those who ask often, and of what they have looked at."""
    return getattr(function, "__wrapped__", function)


def hold(instance: Any, **kinds: Callable[[str, Any], Any]) -> None:
    """For `__post_init__`: an instance's fields of these names held to these kinds. Raises InputError for one that is not."""
    for name, kind in kinds.items():
        value = getattr(instance, name)
        if (found := kind(name.replace("_", " "), value)) is not value:
            object.__setattr__(instance, name, found)


def optional(kind: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """The kind of what may be None."""
    return lambda label, value: None if value is None else kind(label, value)
