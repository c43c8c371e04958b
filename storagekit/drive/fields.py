"""Validation of fields of files: each value is checked against a rule, and errors name the field."""

import math
from typing import Any, NamedTuple

from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, shown

_MOST = 1e300


class FieldRule(NamedTuple):
    """Limits of a field.

    kind: `float`; `int` for whole numbers only; `bool`; or `str`. least, most: range of a number.
    """

    kind: type
    least: float = 0.0
    most: float = math.inf


def field(facts: dict[str, Any], name: str, where: str) -> Any:
    """Return the value of a field. Raise InputError if the field is missing.

    where: name of the file in error messages.
    """
    if name not in facts:
        raise InputError(f"{where}: field {name!r} is missing; add it")
    return facts[name]


def checked(facts: dict[str, Any], name: str, rule: FieldRule, where: str) -> Any:
    """Return the value of a field, converted to the type of its rule.

    Raises InputError if the field is missing or violates the rule. where: name of the file in error messages.
    """
    value = field(facts, name, where)
    if rule.kind is str:
        return instance_of(str, "text")(f"{where}: field {name!r}", value)
    if rule.kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{where}: field {name!r} is {shown(value)}; it must be true or false")
        return value
    # Excludes infinity, and whole numbers that are too large for a float.
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST
    if not number or (rule.kind is int and int(value) != value):
        whole = "a whole" if rule.kind is int else "a"
        raise InputError(f"{where}: field {name!r} is {shown(value)}; it must be {whole} number")
    if not rule.least <= value <= rule.most:
        limit = f"between {rule.least:g} and {rule.most:g}" if math.isfinite(rule.most) else f"at least {rule.least:g}"
        raise InputError(f"{where}: field {name!r} is {value:g}; it must be {limit}")
    return rule.kind(value)
