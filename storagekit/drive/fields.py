"""Figures in files: each read, held against what it may be, and named where it is not."""

import math
from typing import Any, NamedTuple

from storagekit.core.checks import require_kind, shown
from storagekit.core.errors import InputError

_MOST = 1e300


class FieldRule(NamedTuple):
    """What a field may hold: a `float`, or an `int` for whole numbers only, from `least` to `most`; a `bool`; or a `str`."""

    kind: type
    least: float = 0.0
    most: float = math.inf


def field(facts: dict[str, Any], name: str, where: str) -> Any:
    """The value of a field; `where` names the file in errors. Raises InputError where it is missing."""
    if name not in facts:
        raise InputError(f"{where}: field {name!r} is missing; add it")
    return facts[name]


def checked(facts: dict[str, Any], name: str, rule: FieldRule, where: str) -> Any:
    """The value of a field, as the kind that its rule asks for. Raises InputError where it is missing or breaks the rule."""
    value = field(facts, name, where)
    if rule.kind is str:
        return require_kind(f"{where}: field {name!r}", value, str, "text")
    if rule.kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{where}: field {name!r} is {shown(value)}; it must be true or false")
        return value
    # neither infinity nor a whole number that no float is
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST
    if not number or (rule.kind is int and int(value) != value):
        whole = "a whole" if rule.kind is int else "a"
        raise InputError(f"{where}: field {name!r} is {shown(value)}; it must be {whole} number")
    if not rule.least <= value <= rule.most:
        limit = (
            f"between {rule.least:g} and {rule.most:g}" if math.isfinite(rule.most) else f"at or above {rule.least:g}"
        )
        raise InputError(f"{where}: field {name!r} is {value:g}; it must lie {limit}")
    return rule.kind(value)
