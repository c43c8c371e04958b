"""Conversion of DiskSim 3 and 4 parameter files into the fields of a drive file.

A file has one block `disksim_disk`, or else one block `dm_disk`. Either contains `dm_layout_g1` and `dm_mech_g1`. These
parameters are ignored: slipped and remapped sectors, an error in the speed of rotation, the scheduler inside the drive,
a low water mark, reading of free blocks, and parameters that have an effect only with several outstanding requests. A
buffer that differs from the model in other ways raises InputError.

References
----------
Bucy et al., DiskSim 4.0 reference manual, CMU-PDL-08-101.
"""

import math
from pathlib import Path
from typing import Any

from storagekit.core.errors import InputError
from storagekit.drive.facts import FIELDS, ZONE_FIELDS
from storagekit.drive.fields import FieldRule, checked, field
from storagekit.drive.parv import ParameterBlock, Value, read_blocks

SUFFIXES = (".parv", ".diskspecs", ".model")

# For each field of `controller` in a drive file: the parameter of disksim_disk. Times are in ms, multiplied by the
# time scale.
_OVERHEADS = {
    "read_hit_after_read_ms": "Read hit over. after read",
    "read_hit_after_write_ms": "Read hit over. after write",
    "read_miss_after_read_ms": "Read miss over. after read",
    "read_miss_after_write_ms": "Read miss over. after write",
    "write_hit_after_read_ms": "Write hit over. after read",
    "write_hit_after_write_ms": "Write hit over. after write",
    "write_miss_after_read_ms": "Write miss over. after read",
    "write_miss_after_write_ms": "Write miss over. after write",
    "read_disconnect_after_read_ms": "Read disconnect afterread",
    "read_disconnect_after_write_ms": "Read disconnect afterwrite",
    "write_disconnect_ms": "Write disconnect overhead",
    "first_reselect_ms": "First reselect overhead",
    "other_reselect_ms": "Other reselect overhead",
    "preparation_ms": "Data preparation overhead",
    "read_completion_ms": "Read completion overhead",
    "write_completion_ms": "Write completion overhead",
}
_EXTRA = {
    "command_ms": "Extradisc command overhead",
    "first_ms": "Extradisc disconnect overhead",
    "second_ms": "Extradisc 2nd disconnect overhead",
    "seek_ms": "Extradisc seek delta",
}
# DiskSim's switches; for some of them, several values mean on.
_SWITCHES = {
    "over_requested": "Read-ahead over requested",
    "ahead_on_hit": "Read-ahead on idle hit",
    "stops_in_sector": "Stop prefetch in sector",
    "zero_latency_read": "Immediate buffer read",
    "zero_latency_write": "Immediate buffer write",
    "writes_behind": "Fast write level",
    "combines": "Combine seq writes",
    "write_segment": "Use separate write segment",
}
# Buffer parameters for which the model has a single behaviour, and the values that mean this behaviour.
_ONE_WAY = {
    "Minimum read-ahead (blks)": (0,),
    "Allow almost read hits": (0,),
    "Allow sneaky full read hits": (0,),
    "Allow sneaky partial read hits": (0,),
    "Allow sneaky intermediate read hits": (0,),
    "Preseeking level": (0,),
    "Disconnect write if seek": (0,),
    "Write hit stop prefetch": (1,),
    "Read directly to buffer": (1,),
    "Immediate transfer partial hit": (1,),
}
_MODEL = {"cylinders": "Number of cylinders", "heads": "Number of data surfaces"}
_MECHANICS = {
    "rpm": "Rotation speed (in rpms)",
    "head_switch_ms": "Head switch time",
    "write_settle_ms": "Add. write settling delay",
}
_ZONE = {
    "first_cylinder": "First cylinder number",
    "sectors_per_track": "Blocks per track",
    "track_skew": "Skew for track switch",
    "cylinder_skew": "Skew for cylinder switch",
    "first_offset": "Offset of first block",
    "reserved": "Empty space at zone front",
    "spares": "Number of spares",
}
_SCHEMES = (0, 1, 2, 3, 7, 8, 9)
_TIME, _SWITCH = FieldRule(float, 0, 1e4), FieldRule(int, -1, 9)


def is_disksim(path: Path) -> bool:
    """Return whether a file has the suffix of a DiskSim parameter file."""
    return path.suffix.lower() in SUFFIXES


def disksim_facts(path: Path) -> dict[str, Any]:
    """Return the fields of a drive file, without `controller`, from a DiskSim parameter file.

    Parameters
    ----------
    path : path
        The parameter file.

    Returns
    -------
    dict
        The fields, as in data/drives. If zones extend beyond the declared number of cylinders, the end of the last zone
        determines the number of cylinders.

    Raises
    ------
    InputError
        If a parameter is missing, or has a value that is not supported. The message names file, block and parameter.

    Notes
    -----
    The model supports the seek types `extracted` (with the seek curve in a file in the same folder) and `hplplus10`,
    the access time trackSwitchPlusRotation, mapping schemes 0 and 1, sparing schemes 0 to 3 and 7 to 9, and skews in
    sectors.
    """
    blocks = read_blocks(path)
    disk = _single(blocks, "disksim_disk", path)
    model = _inner(disk, "Model", "dm_disk") if disk else _single(blocks, "dm_disk", path)
    if model is None:
        raise InputError(f"drive file {path}: no disksim_disk or dm_disk block; give a file that describes a disk")
    layout = _inner(model, "Layout Model", "dm_layout_g1")
    mechanics = _inner(model, "Mechanical Model", "dm_mech_g1")
    facts = {name: _number(model, label, FIELDS[name]) for name, label in _MODEL.items()}
    facts |= {name: _number(mechanics, label, FIELDS[name]) for name, label in _MECHANICS.items()}
    _chosen(mechanics, "Access time type", ("trackSwitchPlusRotation",))
    _chosen(layout, "Skew units", ("sectors",), "sectors")
    zones = _zones(layout)
    last = zones[-1]["first_cylinder"] + zones[-1]["cylinders"]
    facts["cylinders"] = max(facts["cylinders"], last)
    return facts | {
        "name": (disk or model).name,
        "source": str(path),
        "serpentine": _chosen(layout, "LBN-to-PBN mapping scheme", (0, 1)) == 1,
        "overhead_ms": _scale(disk) * _number(disk, "Per-request overhead time", _TIME, 0.0) if disk else 0.0,
        "seek_ms": _seek(mechanics, facts["cylinders"]),
        "zones": zones,
    }


def disksim_controller(path: Path) -> dict[str, Any] | None:
    """Return the field `controller` of a drive file from a DiskSim parameter file.

    Parameters
    ----------
    path : path
        The parameter file.

    Returns
    -------
    dict or None
        Controller, bus and buffer; None if the file has no `disksim_disk`. The time of a sector on the bus is the
        longest of the times of the buses in the file and of the drive's bulk sector transfer time.

    Raises
    ------
    InputError
        If a parameter is missing, or has a value that is not supported.
    """
    blocks = read_blocks(path)
    disk = _single(blocks, "disksim_disk", path)
    if disk is None:
        return None
    scale = _scale(disk)
    found = {
        "overheads": {name: scale * _number(disk, label, _TIME, 0.0) for name, label in _OVERHEADS.items()},
        "bus": _bus(disk, [block for block in blocks if block.kind == "disksim_bus"]),
        "buffer": _buffer(disk),
    }
    # The time scale applies to all times except this one and the pause below.
    found["overheads"]["least_seek_ms"] = _number(disk, "Minimum seek delay", _TIME, 0.0)
    if _number(disk, "Extra write disconnect", _SWITCH, 0):
        pause = _number(disk, "Extradisc inter-disconnect delay", _TIME)
        extra = {name: scale * _number(disk, label, _TIME) for name, label in _EXTRA.items()}
        found["extra_disconnect"] = extra | {"pause_ms": pause}
    return found


def _bus(disk: ParameterBlock, buses: list[ParameterBlock]) -> dict[str, Any]:
    own = _number(disk, "Bulk sector transfer time", _TIME, 0.0)
    slowest = {
        f"{way}_ms": max([own, *(_number(bus, f"{way.title()} block transfer time", _TIME, 0.0) for bus in buses)])
        for way in ("read", "write")
    }
    held = _number(disk, "Hold bus entire read xfer", _SWITCH, 0) != 0
    return slowest | {"held": held, "never_given_up": _number(disk, "Never disconnect", _SWITCH, 0) != 0}


def _buffer(disk: ParameterBlock) -> dict[str, Any]:
    buffer: dict[str, Any] = {
        name: _number(disk, label, _SWITCH) != 0 for name, label in _SWITCHES.items() if label in disk.values
    }
    for label, known in _ONE_WAY.items():
        _chosen(disk, label, known, known[0])
    caching = _number(disk, "Enable caching in buffer", _SWITCH, 1) != 0
    ahead = _number(disk, "Buffer continuous read", FieldRule(int, 0, 4), 0)
    high_water = _number(disk, "High (read) water mark", FieldRule(float, 0, 1), 0.0)
    if high_water:
        _chosen(disk, "Set watermark by reqsize", (1,))
    return buffer | {
        "segments": _number(disk, "Number of buffer segments", FieldRule(int, 1)),
        "sectors": _number(disk, "Segment size (in blks)", FieldRule(int, 1)),
        "keeps": caching,
        "discards_read": _number(disk, "Read-ahead over requested", _SWITCH, 0) < 0,
        # Without caching no request could use data that are read ahead.
        "read_ahead": ahead if caching else 0,
        "hits_written": _number(disk, "Allow read hits on write data", _SWITCH, 1) != 0,
        "most_ahead": _number(disk, "Maximum read-ahead (blks)", FieldRule(int), 0),
        "high_water": high_water,
    }


def _zones(layout: ParameterBlock) -> list[dict[str, Any]]:
    listed = field(layout.values, "Zones", layout.where)
    if not isinstance(listed, list) or not listed:
        raise InputError(f"{layout.where}: field 'Zones' must be a list of at least one dm_layout_g1_zone")
    scheme = _chosen(layout, "Sparing scheme used", _SCHEMES)
    group = _number(layout, "Rangesize for sparing", ZONE_FIELDS["sparing_cylinders"]) if scheme == 8 else 1
    zones = [_of_kind(zone, "dm_layout_g1_zone", layout, "Zones") for zone in listed]
    # Zones have no names, so error messages number them.
    return [_zone(zone._replace(name=str(number)), scheme, group) for number, zone in enumerate(zones)]


def _zone(zone: ParameterBlock, scheme: int, group: int) -> dict[str, Any]:
    found = {name: _number(zone, label, ZONE_FIELDS[name]) for name, label in _ZONE.items()}
    first = found["first_cylinder"]
    last = _number(zone, "Last cylinder number", FieldRule(int, first, ZONE_FIELDS["cylinders"].most))
    cylinders, spares = last - first + 1, found["spares"]
    # For each sparing scheme: number of spare sectors, and number of cylinders in the group that ends with them. Scheme
    # 7 has its spares after the last zone, where they have no effect.
    at_the_end = {
        1: (spares * found["sectors_per_track"], cylinders),
        2: (spares, 1),
        8: (spares, group),
        9: (spares, cylinders),
    }
    some, of = at_the_end.get(scheme, (0, cylinders))
    sparing = {"spares": some, "sparing_cylinders": of, "track_spares": spares if scheme == 3 else 0}
    return found | {"cylinders": cylinders} | sparing


def _seek(mechanics: ParameterBlock, cylinders: int) -> list[list[float]]:
    if _chosen(mechanics, "Seek type", ("extracted", "hplplus10")) == "extracted":
        named = field(mechanics.values, "Full seek curve", mechanics.where)
        if not isinstance(named, str):
            raise InputError(f"{mechanics.where}: field 'Full seek curve' is {named!r}; it must be a file name")
        return _curve(mechanics.file.parent / named, mechanics)
    division, root, by_root, line, by_line, _ = _numbers(mechanics, "HPL seek equation values", 6)
    near = _numbers(mechanics, "First ten seek times", 10)

    def far(distance: int) -> float:
        return root + by_root * math.sqrt(distance) if distance < division else line + by_line * distance

    return [[d, near[d - 1] if d <= 10 else far(d)] for d in range(1, max(cylinders, 3))]


def _curve(path: Path, mechanics: ParameterBlock) -> list[list[float]]:
    """Return the points `[cylinders, ms]` of a seek curve file.

    The file has `Seek distances measured: N`, then N lines. Each line has a distance in cylinders, a comma and a time
    in ms.
    """
    try:
        lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise InputError(f"{mechanics.where}: field 'Full seek curve' is {path}: {why}; put the file there") from fault
    where = f"seek curve file {path}"
    try:
        label, count = lines[0].split(":")
        points = [[float(part) for part in line.split(",")] for line in lines[1:]]
        good = label.strip() == "Seek distances measured" and all(len(point) == 2 for point in points)
        promised = int(count)
    except (ValueError, IndexError):
        good = False
    if not good:
        raise InputError(
            f"{where}: the first line must be 'Seek distances measured: N', and each further line 'distance, time in "
            "ms'"
        )
    if len(points) != promised:
        raise InputError(
            f"{where}: {len(points)} distances, but the first line states {promised}; correct this number or the list"
        )
    return points


def _single(blocks: list[ParameterBlock], kind: str, path: Path) -> ParameterBlock | None:
    found = [block for block in blocks if block.kind == kind]
    if len(found) > 1:
        names = ", ".join(block.name for block in found[:4])
        raise InputError(f"drive file {path}: {len(found)} {kind} blocks ({names}); keep only one")
    return found[0] if found else None


def _inner(block: ParameterBlock, label: str, kind: str) -> ParameterBlock:
    return _of_kind(field(block.values, label, block.where), kind, block, label)


def _of_kind(value: Value, kind: str, block: ParameterBlock, label: str) -> ParameterBlock:
    if not isinstance(value, ParameterBlock) or value.kind != kind:
        is_now = value.kind if isinstance(value, ParameterBlock) else repr(value)[:40]
        raise InputError(f"{block.where}: field {label!r} is {is_now}; it must be a {kind} block")
    return value


def _number(block: ParameterBlock, label: str, rule: FieldRule, otherwise: Any = None) -> Any:
    """Return a parameter that satisfies its rule; `otherwise`, if given, replaces a missing parameter."""
    return (
        otherwise
        if otherwise is not None and label not in block.values
        else checked(block.values, label, rule, block.where)
    )


def _numbers(block: ParameterBlock, label: str, count: int) -> list[float]:
    values = field(block.values, label, block.where)
    if not isinstance(values, list) or len(values) != count or not all(isinstance(one, int | float) for one in values):
        raise InputError(f"{block.where}: field {label!r} must be a list of {count} numbers")
    return [float(one) for one in values if isinstance(one, int | float)]


def _chosen(block: ParameterBlock, label: str, known: tuple, otherwise: Any = None) -> Any:
    value = (
        otherwise if label not in block.values and otherwise is not None else field(block.values, label, block.where)
    )
    if isinstance(value, ParameterBlock | list) or value not in known:
        shown = f"a {value.kind} block" if isinstance(value, ParameterBlock) else repr(value)[:40]
        raise InputError(f"{block.where}: field {label!r} is {shown}; give one of {', '.join(map(str, known))}")
    return value


def _scale(disk: ParameterBlock) -> float:
    return _number(disk, "Time scale for overheads", FieldRule(float, 0, 1e3), 1.0)
