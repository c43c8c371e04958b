"""Data sheets of SSDs as files, and in a line of text: `iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB`."""

import math
from pathlib import Path
from typing import Annotated, Any

from storagekit.core.errors import InputError
from storagekit.core.units import KB, US
from storagekit.core.validation import shown, validate
from storagekit.drive.fields import FieldRule, checked
from storagekit.drive.library import drive_name, drive_path, file_facts, is_ssd_line, is_ssd_sheet
from storagekit.drive.ssd import MOST_UNITS, SSD, SSDFigures, spread_pairs

_EXAMPLE = "iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB"
_GB, _TB, _MB = 1e9, 1e12, 1e6
_RATE, _TIME = FieldRule(float, 1e-3, 1e9), FieldRule(float, 1e-3, 1e6)
# By field: argument of `SSD.from_datasheet`, unit, and limits.
_SHEET = {
    "read_iops": ("read_rate", 1.0, _RATE),
    "write_iops": ("write_rate", 1.0, _RATE),
    "read_mb_s": ("read_bandwidth", _MB, FieldRule(float, 1e-3, 1e6)),
    "write_mb_s": ("write_bandwidth", _MB, FieldRule(float, 1e-3, 1e6)),
    "read_latency_us": ("read_latency", US, _TIME),
    "write_latency_us": ("write_latency", US, _TIME),
}
_SIZES = {"capacity_tb": _TB, "capacity_gb": _GB}
_FIGURES = {"kb", "latency_us", "iops", "spread"}
_OPTIONAL = {
    "units": ("units", 1, FieldRule(int, 1, MOST_UNITS)),
    "endurance_tb": ("endurance", _TB, FieldRule(float, 1e-3, 1e9)),
}
_BUFFERED = "buffered"
_MEASURED = ("reads", "writes")
_TEXTS = ("name", "source", "assumed")
# words of a line, and the fields of their one or two values
_WORDS = {
    "iops": ("read_iops", "write_iops"),
    "latency": ("read_latency_us", "write_latency_us"),
    "rate": ("read_mb_s", "write_mb_s"),
    "size": ("capacity_tb",),
    "units": ("units",),
    "endurance": ("endurance_tb",),
}
_NEEDED = ("iops", "latency", "rate", "size")
# factors from the unit of a word to the unit of its fields
_UNITS = {
    "latency": {"us": 1.0, "ms": 1e3},
    "rate": {"MB/s": 1.0, "GB/s": 1e3},
    "size": {"TB": 1.0, "GB": 1e-3},
    "endurance": {"TB": 1.0, "PB": 1e3},
}


def is_ssd(name: str | Path) -> bool:
    """Return whether a name is the data sheet of an SSD, as a file or as a line."""
    if is_ssd_line(str(name)):
        return True
    path = Path(name)
    return path.suffix in (".toml", ".json") and path.is_file() and is_ssd_sheet(file_facts(path))


@validate
def load_ssd(name: Annotated[str | Path, drive_name]) -> SSD:
    """Return the SSD that a file or a line of data-sheet values describes.

    Parameters
    ----------
    name : str or path
        One of these:

        - a data sheet, TOML or JSON, with the fields read_iops, write_iops (random requests of 4 KB, sustained), read_mb_s,
          write_mb_s (sequential), read_latency_us, write_latency_us (one request outstanding), and capacity_tb or
          capacity_gb; optional are units, endurance_tb (bytes that can be written), buffered (true or false, see `SSD`),
          and the texts name, source and assumed;
        - a file with measured times, as `storagekit drive fit-ssd` writes it: tables `reads` and `writes` with the fields
          kb, latency_us, iops and spread in place of the fields of the data sheet;
        - a line such as `iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB`, with the values of reads and of
          writes, and optionally `units=80` and `endurance=7PB`.

        TB, GB and MB are 10^12, 10^9 and 10^6 bytes; kb are 1,024 bytes.

    Returns
    -------
    SSD
        The SSD.

    Raises
    ------
    InputError
        If the file cannot be read, or a field is missing, unknown or impossible.

    Examples
    --------
    >>> load_ssd("iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB").units
    80
    """
    if is_ssd_line(str(name)):
        return ssd_from_facts(_facts_of_line(str(name)), "given as text")
    path = drive_path(name)
    return ssd_from_facts(file_facts(path), str(path))


@validate
def ssd_from_facts(facts: dict[str, Any], source: str) -> SSD:
    """Return the SSD that the fields of a file describe.

    Parameters
    ----------
    facts : dict
        The fields; see `load_ssd`.
    source : str
        Name of the file in error messages, and of the SSD if field `name` is missing.

    Returns
    -------
    SSD
        The SSD.

    Raises
    ------
    InputError
        If a field is missing, unknown or impossible.
    """
    where = f"data sheet {source}"
    measured = any(name in facts for name in _MEASURED)
    wanted = _MEASURED if measured else tuple(_SHEET)
    known = (*wanted, *_SIZES, *_OPTIONAL, _BUFFERED, *_TEXTS)
    unknown = sorted(facts.keys() - set(known), key=str)
    if measured and not _SHEET.keys().isdisjoint(facts):
        raise InputError(f"{where}: it has values of a data sheet and measured values; give values of only one kind")
    if unknown:
        listed = ", ".join(name for name in known if name not in _TEXTS)
        raise InputError(f"{where}: field {shown(unknown[0])} is unknown; give {listed}")
    if sum(name in facts for name in _SIZES) != 1:
        raise InputError(f"{where}: give exactly one of {' and '.join(_SIZES)}")
    size = next(
        checked(facts, key, FieldRule(float, 1e-6, 1e7), where) * unit for key, unit in _SIZES.items() if key in facts
    )
    others: dict[str, Any] = {
        into: checked(facts, key, rule, where) * unit for key, (into, unit, rule) in _OPTIONAL.items() if key in facts
    }
    if _BUFFERED in facts:
        others[_BUFFERED] = checked(facts, _BUFFERED, FieldRule(bool), where)
    name = checked(facts, "name", FieldRule(str), where) if "name" in facts else source
    try:
        if measured:
            reads, writes = (_figures(facts, key, where) for key in _MEASURED)
            return SSD(name, size, reads, writes, **others)
        given = {into: checked(facts, key, rule, where) * unit for key, (into, unit, rule) in _SHEET.items()}
        return SSD.from_datasheet(name, size, **given, **others)
    except InputError as fault:
        raise fault if str(fault).startswith(where) else InputError(f"{where}: {fault}") from fault


@validate
def facts_of_ssd(ssd: SSD, source: str = "") -> dict[str, Any]:
    """Return the fields of a file that describes an SSD, for `ssd_from_facts`.

    Parameters
    ----------
    ssd : SSD
        The SSD.
    source : str
        Origin of the values; by default not in the file.

    Returns
    -------
    dict
        The fields.
    """
    tables = {
        name: [
            {
                "kb": one.size / KB,
                "latency_us": one.latency / US,
                "iops": one.rate,
                "spread": [list(pair) for pair in one.spread],
            }
            for one in getattr(ssd, name)
        ]
        for name in _MEASURED
    }
    facts: dict[str, Any] = {"name": ssd.name, "capacity_gb": ssd.size / _GB, "units": ssd.parallel}
    facts[_BUFFERED] = ssd.buffered
    if source:
        facts["source"] = source
    if ssd.endurance is not None:
        facts["endurance_tb"] = ssd.endurance / _TB
    return facts | tables


def _figures(facts: dict[str, Any], name: str, where: str) -> tuple[SSDFigures, ...]:
    tables = facts.get(name)
    if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
        raise InputError(f"{where}: field {name!r} must be a list of at least one table")
    found = []
    for number, one in enumerate(tables):
        source = f"{where}, {name} {number}"
        size = checked(one, "kb", FieldRule(float, 1e-3, 1e7), source) * KB
        latency, rate = checked(one, "latency_us", _TIME, source) * US, checked(one, "iops", _RATE, source)
        unknown = sorted(one.keys() - _FIGURES, key=str)
        if unknown:
            raise InputError(f"{source}: field {shown(unknown[0])} is unknown; give {', '.join(sorted(_FIGURES))}")
        try:
            found.append(SSDFigures(size, latency, rate, spread_pairs("spread", one.get("spread", ((1.0, 1.0),)))))
        except InputError as fault:
            raise InputError(f"{source}: {fault}") from fault
    return tuple(found)


def _facts_of_line(line: str) -> dict[str, Any]:
    """Return the fields of a data sheet from a line. Raises InputError if it cannot be read."""
    facts: dict[str, Any] = {}
    seen = []
    for part in line.split(","):
        word, _, value = part.strip().partition("=")
        if word not in _WORDS or word in seen:
            wrong = "given twice" if word in seen else "unknown"
            raise InputError(f"SSD: {part.strip()[:40]!r} is {wrong}; give {', '.join(_WORDS)}, for example {_EXAMPLE}")
        seen.append(word)
        facts |= _values(word, value)
    missing = [word for word in _NEEDED if word not in seen]
    if missing:
        raise InputError(f"SSD: {missing[0]!r} is missing; give {', '.join(_NEEDED)}, for example {_EXAMPLE}")
    return facts


def _values(word: str, value: str) -> dict[str, float | int]:
    """Return the fields of a word of a line from its values, such as 80/20us."""
    fields, units = _WORDS[word], _UNITS.get(word, {"": 1.0})
    unit = next((one for one in sorted(units, key=len, reverse=True) if value.endswith(one)), None)
    parts = value.removesuffix(unit or "").strip().split("/") if unit is not None else []
    try:
        numbers = [float(one) for one in parts]
    except ValueError:
        numbers = []
    if len(numbers) != len(fields):
        several = "the value of reads and of writes" if len(fields) > 1 else "one value"
        ending = f" in {' or '.join(units)}" if any(units) else ""
        raise InputError(f"SSD: {word}={value[:40]} cannot be read; give {several}{ending}, for example {_EXAMPLE}")
    whole = fields == ("units",) and math.isfinite(numbers[0]) and numbers[0].is_integer()
    return {
        field: (int(number) if whole else number * units[unit or ""])
        for field, number in zip(fields, numbers, strict=True)
    }
