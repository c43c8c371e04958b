"""Conversion between drives and the fields of a drive file.

The fields are validated first. Geometry, seek curve and times are then made from the fields.
"""

from collections.abc import Mapping
from typing import Annotated, Any, cast

import numpy as np
from jaxtyping import Array

from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.core.validation import REAL, instance_of, validate
from storagekit.drive.fields import FieldRule, checked, field
from storagekit.drive.geometry import Geometry, geometry
from storagekit.drive.mechanical import Drive
from storagekit.drive.seek import SeekTable, seek_table

FACTS = instance_of(Mapping, "the fields of a drive file, as returned by sk.drive.drive_facts")
# Limits of the fields of a drive; times in ms.
FIELDS = {
    "rpm": FieldRule(float, 60.0, 1e6),
    "cylinders": FieldRule(int, 2, 10**7),
    "heads": FieldRule(int, 1, 1000),
    "head_switch_ms": FieldRule(float, 0.0, 1e3),
    # Negative if a drive starts to write before it has settled as far as a read requires.
    "write_settle_ms": FieldRule(float, -1e3, 1e3),
    "overhead_ms": FieldRule(float, 0.0, 1e4),
}
ZONE_FIELDS = {
    "first_cylinder": FieldRule(int, 0, 10**8),
    "cylinders": FieldRule(int, 1, 10**8),
    "sectors_per_track": FieldRule(int, 1, 10**7),
    "track_skew": FieldRule(int, 0, 10**7),
    "cylinder_skew": FieldRule(int, 0, 10**7),
    "first_offset": FieldRule(int, -(10**7), 10**7),
    "reserved": FieldRule(int, 0, 10**9),
    "spares": FieldRule(int, 0, 10**9),
    "sparing_cylinders": FieldRule(int, 1, 10**8),
}
# Optional fields of a zone, which most drives do not need.
_ZONE_EXTRAS = {"track_spares": FieldRule(int, 0, 10**7)}


@validate
def drive_from_facts(facts: Annotated[dict[str, Any], FACTS], source: str) -> Drive:
    """Return the drive that the fields of a drive file describe.

    Parameters
    ----------
    facts : dict
        The fields (data/drives/README.md).
    source : str
        Name of the file in error messages, and of the drive if field `name` is missing.

    Returns
    -------
    Drive
        The drive.

    Raises
    ------
    InputError
        If a field is missing or impossible.
    """
    value = {name: checked(facts, name, rule, f"drive file {source}") for name, rule in FIELDS.items()}
    zones = _zones(facts, value["cylinders"], value["heads"], source)
    points = field(facts, "seek_ms", f"drive file {source}")
    try:
        seek = seek_table(np.asarray(REAL.each("seek curve:", points), float) * [1, units.MS], value["cylinders"])
    except ValueError as fault:
        raise InputError(f"drive file {source}: field 'seek_ms': {fault}") from fault
    quickest = _quickest(seek, value)
    if value["write_settle_ms"] * units.MS + quickest < 0:
        raise InputError(
            f"drive file {source}: field 'write_settle_ms' is {value['write_settle_ms']:g}; its sum with the shortest "
            f"arm movement, {quickest / units.MS:g} ms, must not be negative"
        )
    return Drive(
        geometry=_geometry(facts, zones, value["heads"], source),
        seek=seek,
        revolution=units.revolution(value["rpm"]),
        head_switch=value["head_switch_ms"] * units.MS,
        write_settle=value["write_settle_ms"] * units.MS,
        overhead=value["overhead_ms"] * units.MS,
        settles_on_switch=int(_settles_on_switch(facts, source)),
        name=checked(facts, "name", FieldRule(str), f"drive file {source}") if "name" in facts else source,
    )


@validate
def facts_of(
    drive: Annotated[Drive, instance_of(Drive, 'a drive, as sk.load_drive("atlas10k")')], source: str
) -> dict[str, Any]:
    """Return the fields of a drive file that describe a drive: the inverse of `drive_from_facts`.

    Parameters
    ----------
    drive : Drive
        The drive.
    source : str
        Origin of the values, stored in the field `source`.

    Returns
    -------
    dict
        The fields. The seek curve contains the time for every distance, rounded to a nanosecond.

    Raises
    ------
    InputError
        If the drive has sectors of 4 KB, which drive files cannot describe.
    """
    if drive.grain != 1:
        raise InputError(
            f"{drive.name}: sectors of {drive.grain * units.SECTOR} bytes; drive files have sectors of 512 bytes only"
        )
    far = np.arange(1, drive.cylinders)
    seek = np.asarray(drive.seek(cast(Array, far)), float) / units.MS
    return {
        "name": drive.name,
        "source": source,
        "rpm": units.MINUTE / float(drive.revolution),
        "cylinders": drive.cylinders,
        "heads": drive.heads,
        "serpentine": bool(drive.geometry.serpentine),
        "head_switch_ms": float(drive.head_switch) / units.MS,
        "write_settle_ms": float(drive.write_settle) / units.MS,
        "overhead_ms": float(drive.overhead) / units.MS,
        "settles_on_switch": bool(drive.settles_on_switch),
        "seek_ms": [[int(at), round(float(time), 6)] for at, time in zip(far, seek, strict=True)],
        "zones": _facts_of_zones(drive.geometry),
    }


def _settles_on_switch(facts: dict[str, Any], source: str) -> bool:
    """Return whether a write settles after a head switch; by default True, as in DiskSim."""
    if "settles_on_switch" not in facts:
        return True
    return checked(facts, "settles_on_switch", FieldRule(bool), f"drive file {source}")


def _facts_of_zones(shape: Geometry) -> list[dict[str, int]]:
    same = [name for name in [*ZONE_FIELDS, *_ZONE_EXTRAS] if hasattr(shape, name)]
    columns = {name: getattr(shape, name) for name in same}
    track = shape.sectors_per_track - shape.track_spares
    columns["spares"] = shape.group_tracks * track - shape.group_sectors
    columns["sparing_cylinders"] = shape.group_tracks // shape.heads
    return [{name: int(column[at]) for name, column in columns.items()} for at in range(shape.first_sector.size)]


def _quickest(seek: SeekTable, value: dict) -> float:
    """Return the shortest time of an arm movement or of a head switch, in seconds.

    A head switch that takes no time is ignored.
    """
    moves = np.asarray(seek.times)[1:].min()
    switch = value["head_switch_ms"] * units.MS
    return float(min(moves, switch) if switch > 0 and value["heads"] > 1 else moves)


def _geometry(facts: dict, zones: list[dict], heads: int, source: str) -> Geometry:
    serpentine = "serpentine" in facts and checked(facts, "serpentine", FieldRule(bool), f"drive file {source}")
    shape = geometry(zones, heads, serpentine)
    ends = [*shape.first_sector[1:], shape.capacity]
    if any(end <= first for first, end in zip(shape.first_sector, ends, strict=True)):
        raise InputError(
            f"drive file {source}: spares and reserved sectors leave no room for data in a zone; lower their numbers"
        )
    return shape


def _zones(facts: dict, cylinders: int, heads: int, source: str) -> list[dict]:
    zones = field(facts, "zones", f"drive file {source}")
    if not isinstance(zones, list) or not zones or not all(isinstance(zone, dict) for zone in zones):
        raise InputError(f"drive file {source}: field 'zones' must be a list of at least one zone")
    found = []
    end = 0
    for number, zone in enumerate(zones):
        where = f"{source}, zone {number}"
        rules = ZONE_FIELDS | {name: rule for name, rule in _ZONE_EXTRAS.items() if name in zone}
        fields = dict.fromkeys(_ZONE_EXTRAS, 0) | {
            name: checked(zone, name, rule, f"drive file {where}") for name, rule in rules.items()
        }
        last = fields["first_cylinder"] + fields["cylinders"]
        if fields["first_cylinder"] < end or last > cylinders:
            raise InputError(
                f"drive file {where}: cylinders {fields['first_cylinder']} to {last - 1}; "
                f"zones must follow one another within 0 to {cylinders - 1}"
            )
        track = fields["sectors_per_track"] - fields["track_spares"]
        if track < 1:
            raise InputError(
                f"drive file {where}: {fields['track_spares']} spares per track leave no data sectors; lower "
                "'track_spares'"
            )
        if fields["spares"] >= fields["sparing_cylinders"] * heads * track:
            raise InputError(f"drive file {where}: {fields['spares']} spares leave no room for data; lower 'spares'")
        end = last
        found.append(fields)
    return found
