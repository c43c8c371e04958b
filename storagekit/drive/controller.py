"""Measured parameters of the controller of a drive: its overheads, the bus, and the buffer.

The parameters are defined as in DiskSim 4.0. The values come from the drive files that contain these parameters.
`Drive` describes arm and platter.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.core.validation import Validator, flag, instance_of, shown, validate
from storagekit.drive.disksim_file import disksim_controller, is_disksim
from storagekit.drive.fields import FieldRule, checked, field
from storagekit.drive.library import drive_name, drive_path, file_facts


class Overheads(NamedTuple):
    """Times of the controller, in seconds; each is 0 by default.

    The suffixes `_after_read` and `_after_write` state whether the previous request was a read or a write.

    Parameters
    ----------
    read_hit_..., read_miss_..., write_hit_..., write_miss_... : float
        Time from the arrival of a request until data or the arm starts to move. A write is a hit if it completes when
        its data are in the buffer (`Buffer.writes_behind`).
    read_disconnect_..., write_disconnect : float
        Time until the drive gives up the bus.
    first_reselect : float
        Time until the drive has the bus again.
    other_reselect : float
        Time until the drive has the bus again after an extra disconnect.
    preparation : float
        Time before data move on the bus.
    read_completion, write_completion : float
        Time of the completion.
    least_seek : float
        Shortest time of an arm movement of a write.
    """

    read_hit_after_read: float = 0.0
    read_hit_after_write: float = 0.0
    read_miss_after_read: float = 0.0
    read_miss_after_write: float = 0.0
    write_hit_after_read: float = 0.0
    write_hit_after_write: float = 0.0
    write_miss_after_read: float = 0.0
    write_miss_after_write: float = 0.0
    read_disconnect_after_read: float = 0.0
    read_disconnect_after_write: float = 0.0
    write_disconnect: float = 0.0
    first_reselect: float = 0.0
    other_reselect: float = 0.0
    preparation: float = 0.0
    read_completion: float = 0.0
    write_completion: float = 0.0
    least_seek: float = 0.0


class ExtraDisconnect(NamedTuple):
    """Times in seconds of a write on a drive that disconnects twice.

    They apply to a write that follows another write without continuing it. They replace its overhead and disconnect.
    The drive receives the command, disconnects, pauses and reselects. It disconnects a second time after the data of
    the write have crossed the bus.

    Parameters
    ----------
    command : float
        Time of the command.
    first : float
        Time of the first disconnect.
    pause : float
        Time between the first disconnect and the reselection.
    second : float
        Time of the second disconnect.
    seek : float
        Time from the end of the command until the arm moves.
    """

    command: float
    first: float
    pause: float
    second: float
    seek: float


class Bus(NamedTuple):
    """The bus of a drive.

    Parameters
    ----------
    read, write : float
        Time of a sector on the bus, seconds.
    held : bool
        Whether the drive keeps the bus during a read from the time when its data begin to move, by default False.
    never_given_up : bool
        Whether the drive keeps the bus from the arrival of a request to its completion, by default False.
    """

    read: float
    write: float
    held: bool = False
    never_given_up: bool = False


class Buffer(NamedTuple):
    """The memory of a drive, and its use. Parameters of type bool are False by default unless stated.

    Parameters
    ----------
    segments : int
        Number of segments.
    sectors : int
        Number of sectors of a segment.
    read_ahead : int
        Extent of read-ahead after a read (DiskSim's continuous read modes), by default 0: none. 1: to the end of the
        track. 2: to the end of the cylinder. 3: as far as `most_ahead` allows. 4: to the end of the track, or of the
        next track.
    most_ahead : int
        Largest number of sectors that are read ahead. 0, the default, means the size of a segment.
    over_requested : bool
        Whether the limit of read-ahead, the size of a segment, is counted from the end of the request instead of its
        beginning.
    ahead_on_hit : bool
        Whether a read that is completely in the buffer starts read-ahead.
    stops_in_sector : bool
        Whether a request stops read-ahead within a sector, without waiting for the end of the sector.
    zero_latency_read, zero_latency_write : bool
        Whether a head that arrives in the middle of a request reads or writes the rest of the request first.
    writes_behind : bool
        Whether a write completes when its data are in the buffer.
    combines : bool
        Whether a write that continues a write in progress joins it, by default True.
    hits_written : bool
        Whether data that writes left in the buffer serve reads, by default True.
    write_segment : bool
        Whether one segment is for writes only.
    high_water : float
        Share of a read, from 0 to 1, that is in the buffer before the drive requests the bus, by default 0.
    keeps : bool
        Whether data that a request leaves in a segment may serve later requests, by default True.
    discards_read : bool
        Whether data that a read has returned are discarded even if `keeps` is true.
    """

    segments: int
    sectors: int
    read_ahead: int = 0
    most_ahead: int = 0
    over_requested: bool = False
    ahead_on_hit: bool = False
    stops_in_sector: bool = False
    zero_latency_read: bool = False
    zero_latency_write: bool = False
    writes_behind: bool = False
    combines: bool = True
    hits_written: bool = True
    write_segment: bool = False
    high_water: float = 0.0
    keeps: bool = True
    discards_read: bool = False


class DriveController(NamedTuple):
    """Parameters of the controller, the bus and the buffer of a drive.

    Parameters
    ----------
    overheads : Overheads
        Times of the controller.
    bus : Bus
        The bus.
    buffer : Buffer
        The buffer.
    extra : ExtraDisconnect, optional
        Times of writes that disconnect twice; None if no write disconnects twice.
    """

    overheads: Overheads
    bus: Bus
    buffer: Buffer
    extra: ExtraDisconnect | None


@validate
def load_controller(name: Annotated[str | Path, drive_name]) -> DriveController:
    """Return the parameters of controller, bus and buffer of a drive.

    Parameters
    ----------
    name : str or path
        Name of a drive (`drive_names()`), or a drive file (JSON or DiskSim's).

    Returns
    -------
    DriveController
        The parameters.

    Raises
    ------
    InputError
        If the file has no such parameters, or if a parameter is impossible.

    Examples
    --------
    >>> from storagekit.drive import load_controller
    >>> atlas = load_controller("atlas10k")
    >>> atlas.buffer.segments, atlas.buffer.sectors, f"{atlas.bus.read * 1e3:.3f} ms a sector"
    (10, 374, '0.099 ms a sector')
    """
    known = known_controller(name)
    if known is None:
        raise InputError(
            f"drive {str(name)!r}: its controller, bus and buffer are unknown; give a drive whose file has these "
            "parameters, such as 'atlas10k'"
        )
    return known


@validate
def known_controller(name: Annotated[str | Path, drive_name]) -> DriveController | None:
    """Return the parameters of controller, bus and buffer of a drive, or None if its file has no such parameters.

    Parameters
    ----------
    name : str or path
        Name of a drive (`drive_names()`), or a drive file (JSON or DiskSim's).

    Returns
    -------
    DriveController or None
        The parameters, with times in seconds.

    Raises
    ------
    InputError
        If there is no such drive, or if a parameter is impossible.
    """
    path = drive_path(name)
    facts = disksim_controller(path) if is_disksim(path) else file_facts(path).get("controller")
    if not isinstance(facts, dict | None):
        raise InputError(f"drive file {path}: field 'controller' is {shown(facts)}; it must be an object")
    return None if facts is None else controller(facts, str(path))


def controller(facts: dict[str, Any], source: str) -> DriveController:
    """Return the controller from the field `controller` of a drive file.

    Parameters
    ----------
    facts : dict
        Groups of parameters. Times are in ms, under names that end in `_ms`.
    source : str
        Name of the file in error messages.

    Returns
    -------
    DriveController
        The parameters, with times in seconds.

    Raises
    ------
    InputError
        If a group or a field is missing, unknown or impossible.
    """
    groups = ("overheads", "bus", "buffer", "extra_disconnect")
    for group in sorted(facts.keys() - set(groups), key=str):
        raise InputError(
            f"drive file {source}: controller: group {group!r} is unknown; give one of {', '.join(groups)}"
        )

    def of(kind: Any, group: str) -> Any:
        where = f"drive file {source}: controller: {group}"
        given = field(facts, group, f"drive file {source}: controller")
        if not isinstance(given, dict):
            raise InputError(f"{where} is {shown(given)}; it must be an object")
        known = {_written(name, one): (name, one) for name, one in kind.__annotations__.items()}
        unknown = sorted(given.keys() - known.keys(), key=str)
        if unknown:
            raise InputError(f"{where}: field {unknown[0]!r} is unknown; give one of {', '.join(known)}")
        wanted = {name for name, (own, _) in known.items() if own not in kind._field_defaults} | given.keys()
        values = {known[name][0]: checked(given, name, _rule(*known[name]), where) for name in sorted(wanted)}
        return kind(
            **{
                name: value * MS if _timed(name, kind.__annotations__[name]) else value
                for name, value in values.items()
            }
        )

    extra = of(ExtraDisconnect, "extra_disconnect") if "extra_disconnect" in facts else None
    return DriveController(of(Overheads, "overheads"), of(Bus, "bus"), of(Buffer, "buffer"), extra)


def require_possible(known: DriveController) -> None:
    """Raise InputError if a parameter of a drive's controller is impossible."""
    instance_of(DriveController, 'the controller of a drive, such as sk.drive.load_controller("atlas10k")')(
        "controller", known
    )
    for group, kind in {"overheads": Overheads, "bus": Bus, "buffer": Buffer, "extra": ExtraDisconnect}.items():
        given = getattr(known, group)
        if group == "extra" and given is None:
            continue
        instance_of(kind, f"a storagekit.drive.controller.{kind.__name__}(...)")(f"controller: {group}", given)
        for name, one in kind.__annotations__.items():
            label, value = f"controller: {group}: {name}", getattr(given, name)
            if isinstance(value, list | tuple):
                raise InputError(f"{label} {shown(value)}: give a number, or an array with one number for each run")
            _possible(name, one)(label, value)


def _possible(name: str, kind: type) -> Callable[[str, Any], Any]:
    """Return the validator of a parameter: the limits of a drive file, with times in seconds.

    Times and `most_ahead` may be arrays with one number for each run of the batch.
    """
    if kind is bool:
        return flag
    rule, timed = _rule(name, kind), _timed(name, kind)
    unit = MS if timed else 1
    several = timed or name == "most_ahead"
    return Validator(rule.least * unit, rule.most * unit, "s" if timed else "", whole=rule.kind is int, many=several)


def controller_facts(known: DriveController) -> dict[str, Any]:
    """Return the field `controller` of a drive file. This is the inverse of the function `controller`.

    Parameters
    ----------
    known : DriveController
        The parameters, with times in seconds.

    Returns
    -------
    dict
        Groups of parameters. Times are in ms, under names that end in `_ms`. Parameters with their default value are
        left out. The group of the extra disconnect is left out if `extra` is None.
    """
    groups = {
        "extra_disconnect" if name == "extra" else name: group for name, group in known._asdict().items() if group
    }

    def facts(group: Any) -> dict[str, Any]:
        kinds, usual = group.__annotations__, group._field_defaults
        return {
            _written(name, kinds[name]): value / MS if _timed(name, kinds[name]) else value
            for name, value in group._asdict().items()
            if name not in usual or value != usual[name]
        }

    return {name: facts(group) for name, group in groups.items()}


# Limits of a buffer's parameters: counts far above the counts of any drive (4,096 segments, 8 GB), the highest
# read-ahead mode of DiskSim, and a share. Times are at most 10 s, as in DiskSim's files.
_RULES = {
    "segments": FieldRule(int, 1, 4096),
    "sectors": FieldRule(int, 1, 2**24),
    "most_ahead": FieldRule(int, 0, 2**24),
    "read_ahead": FieldRule(int, 0, 4),
    "high_water": FieldRule(float, 0, 1),
}
_LONGEST = 1e4


def _timed(name: str, kind: type) -> bool:
    return kind is float and name not in _RULES


def _written(name: str, kind: type) -> str:
    """Return the name of a field in a file."""
    return f"{name}_ms" if _timed(name, kind) else name


def _rule(name: str, kind: type) -> FieldRule:
    return _RULES.get(name, FieldRule(kind, most=_LONGEST) if _timed(name, kind) else FieldRule(kind))
