"""Validation of arguments and fields from their annotations.

    @validate
    def response(rate: Rates, servers: Count) -> NDArray: ...

`Rates` and `Count` are annotated types: `Annotated[ArrayLike, RATE.each]` and `Annotated[int, COUNT]`. The metadata of
an annotated type is a validator, which is called with a name and a value. The validator returns a valid value; it
converts a whole number to an int. If the value is invalid, it raises InputError with one line: the name, the value, the
limit and, unless the limit implies it, the remedy. `validate` uses the annotations of a function, and `validate_fields`
uses the annotations of a dataclass or module. Text, bool, Literal, other classes, None and sequences of them are
validated without metadata (`validator_of`).

A number is invalid if it is not numeric (such as text), not finite, of the wrong sign, not whole, or out of range.
Several numbers are invalid where one number is expected. Values that JAX traces are unknown; they count as valid.
"""

import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Real
from reprlib import repr as shortened
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from storagekit.core.errors import InputError

# Every whole number up to this limit is a float64.
MOST_IN_FULL = 2.0**53
# For each meaning of a time, the limit in seconds above which the time was probably given in milliseconds. All limits
# are far above real values: a floppy drive seeks and turns within 0.3 s, a message over a satellite takes 0.6 s, users
# at terminals think for 12 s, and time-outs of hosts end after minutes.
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

# Largest number of axes of a list that may have elements that JAX traces. Lists from files may contain themselves.
MOST_AXES = 4
# the most frequent types of values that are not of JAX
HOST = frozenset({float, int, bool, str, type(None), np.ndarray, np.float64, np.bool_})
# Classes of this package are validated.
_PACKAGE = "storagekit."
# Largest number of elements of an array that a message shows, and least whole number that a message abbreviates.
_FEW, _LONG = 4, 10**30
# Largest count of objects that are processed one by one, or that take memory each.
MOST_COUNTED = 10**6
# float64 cannot represent every whole number above this limit.
MOST_EXACT = 2**53
# NumPy has no type for signed whole numbers from this limit on.
MOST_BITS = 2**63

Instance = TypeVar("Instance")
_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
Call = TypeVar("Call", bound=Callable[..., Any])


def traced(*values) -> bool:
    """Return whether any value is traced by JAX, so that it is unknown and cannot be validated."""
    # a loop, and first the types that are most frequent, because formulas call this function for every number
    for value in values:
        if type(value) in HOST:
            continue
        jax = sys.modules.get("jax")
        if jax is not None and isinstance(value, jax.core.Tracer):
            return True
    return False


def _holds_traced(value, depth: int = MOST_AXES) -> bool:
    """Return whether an element of nested lists or tuples, of at most `depth` levels, is traced by JAX."""
    if not isinstance(value, list | tuple) or depth == 0:
        return False
    return any(traced(one) or _holds_traced(one, depth - 1) for one in value)


def shown(value) -> str:
    """Return the text for a value in a message: numbers and words in full, other values as type and package.

    Parameters
    ----------
    value : object
        The value.

    Returns
    -------
    str
        The text. Long text is shortened.
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


def written(value) -> str:
    """Return the text for a number in a message.

    Whole numbers are written in full, because bytes and sectors are counted. Other numbers are written with six digits.
    An int of 10^30 or more is described by its number of digits.
    """
    if isinstance(value, int) and abs(value) >= _LONG:
        return f"of about {int(value.bit_length() / math.log2(10)) + 1} digits"
    given = np.asarray(value)
    if given.ndim or given.dtype.kind != "f":
        return str(value)
    number = float(given)
    return f"{number:.0f}" if number.is_integer() and abs(number) < MOST_IN_FULL else f"{number:g}"


def real_objects(given: np.ndarray) -> bool:
    """Return whether an array consists of Python objects that are all real numbers."""
    return given.dtype.kind == "O" and all(isinstance(one, Real) for one in given.flat)


def numbers(label: str, value) -> np.ndarray:
    """Return a value as an array of numbers, which may include NaN and infinity; raise InputError if it is not numeric.

    Values that JAX traces, also in a list, are returned as an array of JAX, and count as valid.
    """
    if traced(value):
        return value
    if _holds_traced(value):
        return sys.modules["jax"].numpy.asarray(value)
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


@dataclass(frozen=True, repr=False)
class Validator:
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
    def each(self) -> "Validator":
        """Return the same validator for values that are one number or an array of numbers."""
        return replace(self, many=True)

    def up_to(self, most: float, otherwise: str = "") -> "Validator":
        """Return the same validator with another upper limit.

        Parameters
        ----------
        most : float
            The upper limit.
        otherwise : str
            The end of a message; by default unchanged.

        Returns
        -------
        Validator
            The new validator.
        """
        return replace(self, most=most, otherwise=otherwise or self.otherwise)

    def in_unit(self, unit: str) -> "Validator":
        """Return the same validator for numbers of another unit."""
        return replace(self, unit=unit)

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
            The value. A whole number is converted to an int.

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
        if traced(given):
            return given
        if given.ndim and not self.many:
            raise InputError(f"{label} of {given.size} values: give one number, and call once for each number")
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
        verb, unit = "give" if self.whole else "it must be", self.unit and f" {self.unit}"
        return f"{label} {written(wrong)}{unit}: {verb} {self.limit}{self.otherwise}"

    def __repr__(self) -> str:
        return f"<{self.limit}{self.unit and f', {self.unit}'}>"

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
COUNT = Validator(least=1, most=MOST_COUNTED, whole=True)
NUMBER = Validator(least=0, most=MOST_COUNTED, whole=True)
# Whole numbers that are not counts of objects: addresses and sizes in sectors, sizes in bytes, positions from 0.
SECTORS = Validator(least=1, most=MOST_EXACT, whole=True)
ADDRESS = Validator(least=0, most=MOST_EXACT, whole=True)
BYTES = SECTORS.up_to(MOST_EXACT, " bytes")
SEED = Validator(least=0, most=2**64 - 1, whole=True)
# Seconds: a time above 0, a time that may be 0, and a point in time.
TIME = Validator(least=0, unit="s", above=True)
SPAN = Validator(least=0, unit="s")
MOMENT = Validator(unit="s")
RATE = Validator(least=0, unit="1/s")
# Bytes of a request or a memory, and bytes a second.
SIZE = Validator(least=0, unit="bytes", above=True)
SPACE = Validator(least=0, unit="bytes")
SPEED = Validator(least=0, unit="bytes/s", above=True)
SHARE = Validator(least=0, most=1)
POSITIVE = Validator(least=0, above=True)
AMOUNT = Validator(least=0)
REAL = Validator()

# ---- annotated types: one number ----

Count = Annotated[int, COUNT]
Whole = Annotated[int, NUMBER]
Sectors = Annotated[int, SECTORS]
Address = Annotated[int, ADDRESS]
Seed = Annotated[int, SEED]
Time = Annotated[float, TIME]
Span = Annotated[float, SPAN]
Moment = Annotated[float, MOMENT]
Rate = Annotated[float, RATE]
Size = Annotated[float, SIZE]
Space = Annotated[float, SPACE]
Speed = Annotated[float, SPEED]
Share = Annotated[float, SHARE]
Positive = Annotated[float, POSITIVE]
Amount = Annotated[float, AMOUNT]
Finite = Annotated[float, REAL]

# ---- annotated types: one number, or an array of numbers ----

Times = Annotated[ArrayLike, TIME.each]
Spans = Annotated[ArrayLike, SPAN.each]
Rates = Annotated[ArrayLike, RATE.each]
Spaces = Annotated[ArrayLike, SPACE.each]
Shares = Annotated[ArrayLike, SHARE.each]


def flag(label: str, value: Any) -> bool:
    """Return a value if it is True or False; a word such as "no" is neither."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InputError(f"{label} {shown(value)}: give True or False")


def text(label: str, value: Any) -> str:
    """Return a value if it is text."""
    return instance_of(str, "text")(label, value)


def called(label: str, value: Any) -> Any:
    """Return a value if it can be called.

    Parameters
    ----------
    label : str
        Name of the argument, for the message of the error.
    value : object
        The value.

    Returns
    -------
    callable
        The value, unchanged.

    Raises
    ------
    InputError
        If the value cannot be called.
    """
    if callable(value):
        return value
    raise InputError(f"{label} {shown(value)}: give a function")


def one_of(*words: str) -> Callable[[str, Any], str]:
    """Return the validator of a value that must be one of some words."""

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
            raise InputError(f"{label} {shown(value)}: give a list of {of}")
        given = tuple(kind(label, one) for one in value)
        if len(given) < least:
            raise InputError(f"{label}: given {len(given)} {of}; give at least {least}")
        return given

    return each


def instance_of(
    kind: type[Instance] | tuple[type, ...] | types.UnionType, give: str = ""
) -> Callable[[str, Any], Instance]:
    """Return the validator of an instance of a class, or of one of several classes.

    Parameters
    ----------
    kind : type, tuple of type or union
        The class or the classes.
    give : str
        Allowed values, with an example, for the message; by default the name of the class.

    Returns
    -------
    callable
        The validator. If the value is the class itself, or a function of this package, its message requests the result
        of a call instead.
    """

    def same(label: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        makes = isinstance(value, type) and issubclass(value, kind)
        # Some functions of this package return components, for example `dispatch.central`.
        if makes or (inspect.isroutine(value) and (value.__module__ or "").startswith("storagekit.")):
            raise InputError(f"{label}: given {shown(value)}; give its result, {value.__name__}(...)")
        raise InputError(f"{label}: given {shown(value)}; give {give or f'a {kind.__name__}'}")

    return same


def optional(kind: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """Return the validator of a value that may be None; `kind` validates other values."""

    def valid(label: str, value: Any) -> Any:
        return None if value is None else kind(label, value)

    valid.__wrapped__ = kind
    return valid


def validator_of(hint: Any) -> Callable[[str, Any], Any] | None:
    """Return the validator of an annotation.

    Parameters
    ----------
    hint : Any
        The annotation.

    Returns
    -------
    callable or None
        For an annotated type, the validator in its metadata. Without metadata, there are validators for str, bool,
        Literal and the classes of this package, for sequences of these types, and for unions of these types with None.
        For other annotations, such as `float` and arrays, the result is None.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        # The last validator counts, so that `Annotated[Count, COUNT.up_to(5)]` is narrower than `Count`.
        found = next((one for one in reversed(hint.__metadata__) if callable(one)), None)
        return found and (optional(found) if types.NoneType in typing.get_args(inner[0]) else found)
    if origin is Literal:
        return one_of(*inner) if all(isinstance(one, str) for one in inner) else None
    if origin in (typing.Union, types.UnionType):
        others = [one for one in inner if one is not types.NoneType]
        one = validator_of(others[0]) if len(others) == 1 else None
        return one and optional(one)
    if origin in (Sequence, tuple) and len(set(inner) - {...}) == 1:
        each = validator_of(inner[0]) if origin is Sequence or inner[-1] is ... else None
        return each and several(each)
    if not isinstance(hint, type):
        return None
    return {str: text, bool: flag}.get(hint) or (instance_of(hint) if hint.__module__.startswith(_PACKAGE) else None)


def _validators(annotations: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Callable[[str, Any], Any]]:
    """Return the validator of each annotation that has one; `names` resolves annotations that are text."""
    found = {}
    for name, hint in annotations.items():
        if isinstance(hint, str):
            try:
                hint = eval(hint, dict(names))
            except NameError:
                if "Annotated[" in hint:
                    raise
                # A class that is imported for type checkers only has no validator.
                continue
        if (one := validator_of(hint)) is not None:
            found[name] = one
    return found


def validate(
    function: Callable[..., Any] | None = None, /, *, together: Callable[..., None] | None = None
) -> Callable[..., Any]:
    """Decorate a function so that its arguments are validated by their annotations.

        @validate
        @validate(together=require_broadcast)

    An argument that is the default value of its parameter is not validated.

    Parameters
    ----------
    function : callable
        The function.
    together : callable, optional
        Function that is called with all given arguments by name after they have been validated. It raises InputError if
        they do not fit together.

    Returns
    -------
    callable
        The function with validation; a decorator if no function is given.
    """
    if function is None:
        return functools.partial(validate, together=together)
    parameters = inspect.signature(function).parameters
    # Parameters that may be given by position. Arguments of a `*more` parameter are not validated.
    names = tuple(name for name, one in parameters.items() if one.kind in _POSITIONAL)

    # Determined at the first call, because annotations may name classes that are defined later.
    @functools.cache
    def validators() -> dict[str, tuple[Callable[[str, Any], Any], Any, str]]:
        annotations = {
            name: one.annotation for name, one in parameters.items() if one.kind in (*_POSITIONAL, one.KEYWORD_ONLY)
        }
        found = _validators(annotations, inspect.unwrap(function).__globals__)
        return {name: (one, parameters[name].default, name.replace("_", " ")) for name, one in found.items()}

    def valid(name: str, value: Any) -> Any:
        if name not in validators():
            return value
        validator, default, label = validators()[name]
        return value if value is default else validator(label, value)

    @functools.wraps(function)
    def validated(*args: Any, **kwargs: Any) -> Any:
        # Python itself rejects missing, surplus and unknown arguments.
        given = [valid(name, value) for name, value in zip(names, args, strict=False)]
        named = {name: valid(name, value) for name, value in kwargs.items()}
        if together is not None:
            together(**dict(zip(names, given, strict=False)) | named)
        return function(*given, *args[len(given) :], **named)

    return validated


def validate_fields(instance: Any) -> None:
    """Validate the fields of a dataclass or module by their annotations, for `__post_init__` or `__check_init__`.

    Parameters
    ----------
    instance : Any
        The instance. A field whose validator returns another value is replaced.

    Raises
    ------
    InputError
        If a field is invalid.
    """
    for name, validator in _of_fields(type(instance)).items():
        value = getattr(instance, name)
        if (found := validator(name.replace("_", " "), value)) is not value:
            object.__setattr__(instance, name, found)


@functools.cache
def _of_fields(kind: type) -> dict[str, Callable[[str, Any], Any]]:
    """Return the validators of the fields of a class, beginning with the fields of its base classes."""
    found: dict[str, Callable[[str, Any], Any]] = {}
    for base in reversed(kind.__mro__):
        own = inspect.get_annotations(base)
        # An annotation replaces the annotation of a base class.
        found = {name: one for name, one in found.items() if name not in own}
        found |= _validators(own, vars(sys.modules[base.__module__]))
    return {name: found[name] for name in (field.name for field in fields(kind)) if name in found}


def validators_of(member: Any) -> dict[str, Validator]:
    """Return the validators of the numbers among the arguments of a function, or among the fields of a class.

    Parameters
    ----------
    member : callable or type
        A function with `validate`, or a dataclass.

    Returns
    -------
    dict of str to Validator
        The validator of each argument or field whose annotation has one.
    """
    if isinstance(member, type):
        found = _of_fields(member) if is_dataclass(member) else {}
    else:
        function = inspect.unwrap(getattr(member, "__func__", member))
        found = _validators(function.__annotations__, function.__globals__) if inspect.isfunction(function) else {}
    numeric = {name: getattr(one, "__wrapped__", one) for name, one in found.items()}
    return {name: one for name, one in numeric.items() if isinstance(one, Validator)}


def limits_of(member: Any) -> dict[str, str]:
    """Return the limits of arguments or fields in words, for the documentation.

    Parameters
    ----------
    member : callable or type
        A function with `validate`, or a dataclass.

    Returns
    -------
    dict of str to str
        The limit of each argument or field whose annotation has a `Validator`, with its unit.
    """
    return {name: repr(one)[1:-1] for name, one in validators_of(member).items()}


def unchecked(function: Call) -> Call:
    """Return a function without its validation, for frequent calls with arguments that are already validated."""
    return getattr(function, "__wrapped__", function)


def require(holds, label: str, value, limit: str, unit: str = "") -> None:
    """Raise InputError unless a condition on a value is true.

    Parameters
    ----------
    holds : bool or array of bool
        The condition, or one condition for each value. Traced conditions are not checked.
    label : str
        Name of the value in the message.
    value : Any
        The value or values. The message shows the first value for which the condition is false.
    limit : str
        Limit of the value, as the end of the message.
    unit : str
        Unit of the value, by default "".

    Raises
    ------
    InputError
        If the condition is false.
    """
    # most conditions are plain: this path is only faster
    if holds is True or traced(holds) or np.all(holds):
        return
    wrong = np.broadcast_to(value, np.shape(holds))[~np.asarray(holds)].flat[0] if np.ndim(holds) else value
    raise InputError(f"{label} {written(wrong)}{unit and f' {unit}'}: it must be {limit}")


def require_broadcast(**values) -> None:
    """Raise InputError unless arrays, given by name, broadcast with one another."""
    shapes = {label: np.shape(value) for label, value in values.items()}
    if len({*shapes.values(), ()}) <= 2:
        return
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        named = ", ".join(f"{label.replace('_', ' ')} {shape}" for label, shape in shapes.items() if shape)
        raise InputError(f"the shapes of the arrays do not match: {named}; give shapes that broadcast") from None


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
        If the function cannot be called with these arguments.
    """
    try:
        inspect.signature(function).bind(*given)
    except (TypeError, ValueError) as fault:
        raise InputError(
            f"{label}: the function cannot be called with the arguments {', '.join(given) or '(none)'}: {fault}"
        ) from fault
