"""Data sheets as files, in the units that data sheets print."""

from typing import Annotated, Any

from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.core.validation import MOST_SECONDS, shown, validate
from storagekit.drive.facts import FACTS
from storagekit.drive.fields import FieldRule, checked
from storagekit.drive.mechanical import Drive

_MB, _GB, _TB = 1e6, 1e9, 1e12
_RATE = FieldRule(float, 0, 1e5)


def _time(meaning: str) -> FieldRule:
    """Return the limits of a time in ms, given its meaning, such as "seek"."""
    return FieldRule(float, 0, MOST_SECONDS[meaning] / units.MS)


# By field: argument of `Drive.from_datasheet`, unit, and limits.
_NEEDED = {
    "rpm": ("rpm", 1, FieldRule(float, 60, 1e6)),
    "track_seek_ms": ("track_seek", units.MS, _time("track seek")),
    "average_seek_ms": ("average_seek", units.MS, _time("seek")),
    "full_seek_ms": ("full_seek", units.MS, _time("seek")),
}
_CAPACITIES = {
    "capacity_tb": ("capacity", _TB, FieldRule(float, 0, 1000)),
    "capacity_gb": ("capacity", _GB, FieldRule(float, 0, 1e6)),
}
_RATES = {
    "media_rate_mb_s": ("media_rate", _MB, _RATE),
    "outer_rate_mb_s": ("outer_rate", _MB, _RATE),
    "inner_rate_mb_s": ("inner_rate", _MB, _RATE),
}
_OPTIONAL = {
    "head_switch_ms": ("head_switch", units.MS, _time("head switch")),
    "write_settle_ms": ("write_settle", units.MS, _time("settling")),
    "overhead_ms": ("overhead", units.MS, _time("overhead")),
    "heads": ("heads", 1, FieldRule(int, 1, 1000)),
    "sector_bytes": ("sector_bytes", 1, FieldRule(int, 1)),
}
_WORDS = ("name", "source", "assumed")


def is_sheet(facts: dict[str, Any]) -> bool:
    """Return whether `facts` are the fields of a data sheet and not of a drive file."""
    only_here = (_NEEDED.keys() - {"rpm"}) | _CAPACITIES.keys() | _RATES.keys()
    return "zones" not in facts and not only_here.isdisjoint(facts)


@validate
def drive_from_sheet(facts: Annotated[dict[str, Any], FACTS], source: str) -> Drive:
    """Return the drive that the fields of a data sheet describe.

    Parameters
    ----------
    facts : dict
        The fields. The required fields are rpm; either capacity_tb or capacity_gb; track_seek_ms, average_seek_ms and
        full_seek_ms of a read; and either media_rate_mb_s, or both outer_rate_mb_s and inner_rate_mb_s. TB, GB and MB
        are 10^12, 10^9 and 10^6 bytes. The optional fields are heads, sector_bytes, head_switch_ms, write_settle_ms,
        overhead_ms, and three texts: name, source and assumed. The text `assumed` states assumptions that are not in
        the data sheet. See `Drive.from_datasheet`.
    source : str
        Name of the file in error messages, and of the drive if field `name` is missing.

    Returns
    -------
    Drive
        The drive.

    Raises
    ------
    InputError
        If a field is missing, unknown or impossible.
    """
    where, known = f"data sheet {source}", _NEEDED | _CAPACITIES | _RATES | _OPTIONAL
    unknown = sorted(facts.keys() - known.keys() - set(_WORDS), key=str)
    if unknown:
        raise InputError(f"{where}: field {shown(unknown[0])} is unknown; give one of {', '.join(known)}")
    if sum(name in facts for name in _CAPACITIES) != 1:
        raise InputError(f"{where}: give exactly one of {' and '.join(_CAPACITIES)}")
    wanted = [name for name in known if name in _NEEDED or name in facts]
    figures = {known[name][0]: checked(facts, name, known[name][2], where) * known[name][1] for name in wanted}
    try:
        return Drive.from_datasheet(
            **figures, name=checked(facts, "name", FieldRule(str), where) if "name" in facts else source
        )
    except InputError as fault:
        raise InputError(f"{where}: {fault}") from fault
