"""Data sheets in a line of text: `rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB`."""

import math
import re
from typing import Any

from storagekit.core.errors import InputError

_TIMES = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_SIZES = {"GB": 1e-3, "TB": 1.0}
_RATES = {"KB/s": 1e-3, "MB/s": 1.0, "GB/s": 1e3}
_EXAMPLE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"
# Field of a data sheet file for each word of the line: first times, which have units, then numbers without units.
_TIMED = {"switch": "head_switch_ms", "settle": "write_settle_ms", "overhead": "overhead_ms"}
_COUNTED = {"heads": "heads", "sector": "sector_bytes"}
_KNOWN = ("rpm", "seek", "rate", "size", *_TIMED, *_COUNTED)
# Capacity in TB. Larger drives are assumed to have sectors of 4 KB, and one head for each TB.
_LARGE = 2
# Rate of the innermost tracks divided by the rate of the outermost tracks, if a data sheet gives a single rate.
INNER = 0.5


def is_words(name: str) -> bool:
    """Return whether a text is a data sheet in a line, and not a name or path of a drive."""
    return re.match(r"[a-z]+=", name) is not None


def sheet_facts(line: str) -> dict[str, Any]:
    """Return the fields of a data sheet file from a data sheet in a line.

    Parameters
    ----------
    line : str
        Pairs `word=value`, separated by commas. The required words are rpm, seek, rate and size. The word seek has the
        track-to-track, average and full-stroke seek time of a read. The word rate has the sustained rates of the
        outermost and the innermost tracks. A single rate is the rate of the outermost tracks, and the rate of the
        innermost tracks is then half of it. The optional words are heads, sector, switch (the time of a head switch),
        settle (the extra seek time of writes) and overhead. For drives above 2 TB, the defaults are one head for each
        TB and sectors of 4096 bytes.

    Returns
    -------
    dict
        The fields.

    Raises
    ------
    InputError
        If a word is unknown, given twice or missing, or a value cannot be read.
    """
    given: dict[str, str] = {}
    for part in line.split(","):
        word, mark, value = part.strip().partition("=")
        if not mark or word not in _KNOWN or word in given:
            wrong = "given twice" if word in given else "unknown"
            raise InputError(
                f"drive: {part.strip()[:40]!r} is {wrong}; give {', '.join(_KNOWN)}, for example {_EXAMPLE}"
            )
        given[word] = value.strip()
    for word in ("rpm", "seek", "rate", "size"):
        if word not in given:
            raise InputError(f"drive: {word} is missing; give all values, for example {_EXAMPLE}")
    seeks = _numbers("seek", given["seek"], 3, _TIMES)
    rates = _numbers("rate", given["rate"], given["rate"].count("/") or 1, _RATES)
    size = _numbers("size", given["size"], 1, _SIZES)[0]
    facts: dict[str, Any] = {
        "name": line,
        "rpm": _plain("rpm", given["rpm"]),
        "capacity_tb": size,
        "outer_rate_mb_s": rates[0],
        "inner_rate_mb_s": rates[-1] * (INNER if len(rates) == 1 else 1),
        **dict(zip(("track_seek_ms", "average_seek_ms", "full_seek_ms"), seeks, strict=True)),
        **{field: _numbers(word, given[word], 1, _TIMES)[0] for word, field in _TIMED.items() if word in given},
        **{field: _plain(word, given[word]) for word, field in _COUNTED.items() if word in given},
    }
    large = {"sector_bytes": 4096, "heads": math.ceil(size)}
    return (large if size > _LARGE else {"sector_bytes": 512}) | facts


def _numbers(word: str, value: str, count: int, units: dict[str, float]) -> list[float]:
    """Return the `count` numbers of a text such as 1/8.5/18ms, converted to the unit whose factor in `units` is 1."""
    unit = next((one for one in sorted(units, key=len, reverse=True) if value.lower().endswith(one.lower())), None)
    parts = value[: -len(unit)].split("/") if unit else []
    if unit is None or len(parts) != count:
        many = "one number" if count == 1 else f"{count} numbers separated by slashes"
        raise InputError(
            f"drive: {word}={value[:40]}: give {many} and a unit ({', '.join(units)}), for example {_EXAMPLE}"
        )
    return [_plain(word, part) * units[unit] for part in parts]


def _plain(word: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"drive: {word}={value[:40]!r} is not a number; give a number, for example {_EXAMPLE}")
    return number
