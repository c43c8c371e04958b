"""Loading of drives by name or from a file, and the idealized drive of closed-form models."""

import json
import re
import tomllib
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from storagekit.core.errors import InputError
from storagekit.core.resources import drive_files
from storagekit.core.validation import SPAN, TIME, Validator, require_seconds, shown, validate
from storagekit.drive.disksim_file import disksim_facts, is_disksim
from storagekit.drive.facts import drive_from_facts
from storagekit.drive.geometry import geometry, plain_zone
from storagekit.drive.mechanical import Drive
from storagekit.drive.seek import CYLINDERS, LinearSeek
from storagekit.drive.sheet_file import drive_from_sheet, is_sheet
from storagekit.drive.sheet_words import is_words, sheet_facts

_NO_DISK = "drive: {} describes an SSD; give a disk here. For SSDs there are load_ssd and `storagekit plan schemes`"


def drive_name(label: str, value: Any) -> str | PathLike:
    """Return a name of a drive or a path to a file. Raise InputError if it is neither text nor a path."""
    if isinstance(value, str | PathLike):
        return value
    raise InputError(
        f"{label} {shown(value)}: give the name of a drive (see `storagekit list`) or the path of a drive file"
    )


def drive_names() -> list[str]:
    """Return the names that `load_drive` accepts: the drive files (JSON) and data sheets (TOML) in data/drives.

    Returns
    -------
    list of str
        The names, sorted.
    """
    return sorted(drive_files())


@validate
def load_drive(name: Annotated[str | Path, drive_name]) -> Drive:
    """Return the drive that a name, a file or a line of data-sheet values describes.

    Parameters
    ----------
    name : str or path
        One of these:

        - a name of `drive_names()`;
        - a drive file in JSON, with the fields of the files in data/drives;
        - a data sheet, TOML or JSON (`drive_from_sheet`);
        - a parameter file of DiskSim, .diskspecs, .parv or .model (`storagekit.drive.disksim_file`);
        - a data sheet in a line, such as `rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB`
          (`storagekit.drive.sheet_words`).

    Returns
    -------
    Drive
        The drive.

    Raises
    ------
    InputError
        If the name is unknown, the file cannot be read, or a field is missing or impossible.

    Examples
    --------
    >>> import storagekit as sk
    >>> drive = sk.load_drive("atlas10k")
    >>> f"{drive.capacity * sk.units.SECTOR / 1e9:.1f} GB, {float(drive.revolution) / sk.units.MS:.1f} ms a revolution"
    '9.2 GB, 6.0 ms a revolution'
    """
    if is_ssd_line(str(name)):
        raise InputError(_NO_DISK.format("it"))
    if is_words(str(name)):
        return drive_from_sheet(sheet_facts(str(name)), "given as text")
    path = drive_path(name)
    facts = drive_facts(path)
    if is_ssd_sheet(facts):
        raise InputError(_NO_DISK.format(path.name))
    return drive_from_sheet(facts, str(path)) if is_sheet(facts) else drive_from_facts(facts, str(path))


@validate
def drive_facts(name: Annotated[str | Path, drive_name]) -> dict[str, Any]:
    """Return the fields of the file of a drive.

    Parameters
    ----------
    name : str or path
        A drive, as for `load_drive`.

    Returns
    -------
    dict
        The fields of a drive file or a data sheet. DiskSim's parameters are converted to the fields of a drive file.

    Raises
    ------
    InputError
        If the name is unknown, or the file cannot be read.
    """
    if is_words(str(name)):
        return sheet_facts(str(name))
    path = drive_path(name)
    return disksim_facts(path) if is_disksim(path) else file_facts(path)


def is_ssd_line(name: str) -> bool:
    """Return whether a text is the data sheet of an SSD in a line."""
    return re.search(r"(^|,)\s*(iops|latency)=", name) is not None


def is_ssd_sheet(facts: dict[str, Any]) -> bool:
    """Return whether the fields of a file describe an SSD."""
    return not {"read_iops", "write_iops", "reads", "writes"}.isdisjoint(facts)


def drive_path(name: str | Path) -> Path:
    """Return the file of a drive, given its name or a path. Raise InputError if there is no file."""
    path = drive_files().get(str(name), Path(name))
    if len(path.name) > 255 or not path.is_file():
        near = ", ".join(get_close_matches(path.name[:40], drive_names(), cutoff=0.0))
        raise InputError(
            f"drive {str(name)[:40]!r}: unknown; give the path of a drive file, or a name from `storagekit list`, for "
            f"example {near}"
        )
    return path


def file_facts(path: Path) -> dict[str, Any]:
    """Return the fields of a drive file or a data sheet. Raise InputError unless it is TOML or a JSON object."""
    toml = path.suffix == ".toml"
    try:
        text = path.read_text(encoding="utf-8")
        facts = tomllib.loads(text) if toml else json.loads(text)
    except RecursionError:
        raise InputError(f"drive file {path}: nested too deeply; see the files in data/drives") from None
    except (OSError, ValueError) as fault:
        raise InputError(f"drive file {path}: {fault}; it must be {'TOML' if toml else 'one JSON object'}") from fault
    if not isinstance(facts, dict):
        raise InputError(f"drive file {path}: the content is a {type(facts).__name__}; it must be one JSON object")
    return facts


@validate
def ideal_drive(
    *,
    full_seek: Annotated[float, SPAN.each],
    revolution: Annotated[float, TIME.each],
    cylinders: Annotated[int, CYLINDERS] = 10_000,
    sectors_per_track: Annotated[int, Validator(least=1, most=10**7, whole=True)] = 512,
    overhead: Annotated[float, SPAN.each] = 0.0,
) -> Drive:
    """Return the drive of closed-form models: one head, equal tracks, linear seeks, no settling and no skew.

    Parameters
    ----------
    full_seek : float
        Seek time S from end to end, seconds.
    revolution : float
        Time R of a revolution, seconds.
    cylinders : int
        Number of cylinders, by default 10,000.
    sectors_per_track : int
        Sectors of a track, by default 512.
    overhead : float
        Time in seconds that precedes every access, by default 0.

    Returns
    -------
    Drive
        The drive.

    Raises
    ------
    InputError
        If a time is impossible, or there are fewer than two cylinders or no sectors in a track.

    Notes
    -----
    Uniform addresses give a mean seek of S/3 and a mean rotation of R/2 (srarray, section 2).
    """
    for label, time, meaning in (
        ("full_seek", full_seek, "seek"),
        ("revolution", revolution, "revolution"),
        ("overhead", overhead, "overhead"),
    ):
        require_seconds(label, time, meaning)
    return Drive(
        geometry=geometry([plain_zone(cylinders, sectors_per_track)], 1, serpentine=False),
        seek=LinearSeek(full_seek, cylinders),
        revolution=revolution,
        head_switch=0.0,
        write_settle=0.0,
        overhead=overhead,
        name="ideal drive",
    )
