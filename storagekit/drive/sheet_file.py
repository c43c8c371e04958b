"""Data sheets as small files, in the units that data sheets print."""

import math
from typing import Any

from storagekit import units
from storagekit.drive.mechanical import Drive
from storagekit.errors import InputError

_RATE, _GB, _TB = 1e6, 1e9, 1e12
# field: what it is of a drive, and in which unit
_NEEDED = {
    "rpm": ("rpm", 1.0),
    "track_seek_ms": ("track_seek", units.MS),
    "average_seek_ms": ("average_seek", units.MS),
    "full_seek_ms": ("full_seek", units.MS),
}
_CAPACITIES = {"capacity_tb": ("capacity", _TB), "capacity_gb": ("capacity", _GB)}
_OPTIONAL = {
    "media_rate_mb_s": ("media_rate", _RATE),
    "outer_rate_mb_s": ("outer_rate", _RATE),
    "inner_rate_mb_s": ("inner_rate", _RATE),
    "head_switch_ms": ("head_switch", units.MS),
    "write_settle_ms": ("write_settle", units.MS),
    "overhead_ms": ("overhead", units.MS),
    "heads": ("heads", 1),
    "sector_bytes": ("sector_bytes", 1),
}
_WHOLE = ("heads", "sector_bytes")
_WORDS = ("name", "source")


def is_sheet(facts: dict[str, Any]) -> bool:
    """Whether these are the fields of a data sheet, not of a drive file."""
    only_here = (_NEEDED.keys() - {"rpm"}) | _CAPACITIES.keys() | {name for name in _OPTIONAL if "rate" in name}
    return "zones" not in facts and not only_here.isdisjoint(facts)


def drive_from_sheet(facts: dict[str, Any], source: str) -> Drive:
    """A drive from the fields of a data sheet file; `source` names it in errors.

    rpm, capacity_tb or capacity_gb, track_seek_ms, average_seek_ms and full_seek_ms of a read; media_rate_mb_s, or
    outer_rate_mb_s and inner_rate_mb_s (TB, GB and MB of 10^12, 10^9 and 10^6 bytes). If known: heads, sector_bytes,
    head_switch_ms, write_settle_ms, overhead_ms; name and source. See `Drive.from_datasheet`. Raises InputError where a field
    is missing, unknown or impossible.
    """
    known = _NEEDED | _CAPACITIES | _OPTIONAL
    unknown = sorted(facts.keys() - known.keys() - set(_WORDS))
    if unknown:
        raise InputError(f"data sheet {source}: field {unknown[0]!r} is unknown; it is one of {', '.join(known)}")
    for field in _NEEDED:
        if field not in facts:
            raise InputError(f"data sheet {source}: field {field!r} is missing; add it")
    if sum(field in facts for field in _CAPACITIES) != 1:
        raise InputError(f"data sheet {source}: no or two capacities; give one of {' and '.join(_CAPACITIES)}")
    figures: dict[str, Any] = {
        name: _figure(facts[field], field, source) * unit for field, (name, unit) in known.items() if field in facts
    }
    for name in _WHOLE:
        if name in figures:
            figures[name] = int(figures[name])
    try:
        return Drive.from_datasheet(**figures, name=str(facts.get("name", source)))
    except InputError as fault:
        raise InputError(f"data sheet {source}: {fault}") from fault


def _figure(value: Any, field: str, source: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or (field in _WHOLE and value != int(value)):
        kind = "a whole number" if field in _WHOLE else "a number"
        raise InputError(f"data sheet {source}: field {field!r} is {value!r}; it must be {kind}")
    return value
