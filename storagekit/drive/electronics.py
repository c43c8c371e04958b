"""What stands between a drive's platters and its host, as measured: the controller's overheads, the bus, the buffer.

Figures alone, in the terms of DiskSim 4.0's parameters, from the drive files that have them; `Drive` is arm and platter.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from storagekit.core.checks import require_kind, shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import Kind, flag, takes
from storagekit.core.units import MS
from storagekit.drive.disksim_file import disksim_electronics, is_disksim
from storagekit.drive.fields import FieldRule, checked, field
from storagekit.drive.library import drive_name, drive_path, file_facts


class Overheads(NamedTuple):
    """The controller's times, seconds; `after` says what the request before was.

    read_hit, read_miss, write_hit, write_miss: from the arrival of a request until data moves, or the arm; a write is a hit
    where it is answered from the buffer (`Buffer.writes_behind`). disconnect: until the bus is given up. first_reselect:
    until it is had again; other_reselect: after an extra disconnect. preparation: before data moves on the bus. completion:
    of the answer. least_seek: a write's arm movement takes at least so long.
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
    """What a write that does not go on from the write before does in place of its overhead and disconnect, seconds: command,
    first disconnect, a pause; then it reselects, and when its data has come disconnects a second time. The arm moves `seek`
    after the command."""

    command: float
    first: float
    pause: float
    second: float
    seek: float


class Bus(NamedTuple):
    """read, write: seconds of a sector on the bus. held: it is not given up within a read whose data has begun to move; never
    given up: not at all, from a request's arrival on."""

    read: float
    write: float
    held: bool = False
    never_given_up: bool = False


class Buffer(NamedTuple):
    """The drive's memory: `segments` of `sectors` each.

    read_ahead: how far the drive reads on after a read: 0 not at all, 1 to the end of the track, 2 of the cylinder, 3 as far
    as `most_ahead` says, 4 to the end of the track, or of the next one (DiskSim's continuous read modes). most_ahead:
    sectors; 0 for as many as the segment has room for. over_requested: these after the request's end, not its beginning.
    ahead_on_hit: a read that is all in the buffer starts the drive reading on. stops_in_sector: a request that arrives need
    not wait for the end of the sector that is read ahead. zero_latency_read, zero_latency_write: of a request whose middle
    the head comes upon, that part is read or written first. writes_behind: a write is answered when its data is in the
    buffer. combines: a write that goes on from one under way joins it. hits_written: reads are answered from what writes
    left. write_segment: one segment is for writes alone. high_water: the share of a read that is in the buffer before the
    bus is asked for. keeps: what requests leave in a segment may answer others; discards_read: but for what a read was given.
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


class Electronics(NamedTuple):
    """Controller, bus and buffer of a drive; extra: None where writes do not disconnect twice."""

    overheads: Overheads
    bus: Bus
    buffer: Buffer
    extra: ExtraDisconnect | None


@takes(name=drive_name)
def load_electronics(name: str | Path) -> Electronics:
    """Those of a drive of `drive_names()`, or of a drive file, JSON or DiskSim's, that has them. Raises InputError where it
    has not, or a figure is impossible.

    >>> from storagekit.drive import load_electronics
    >>> atlas = load_electronics("atlas10k")
    >>> atlas.buffer.segments, atlas.buffer.sectors, f"{atlas.bus.read * 1e3:.3f} ms a sector"
    (10, 374, '0.099 ms a sector')
    """
    known = known_electronics(name)
    if known is None:
        raise InputError(
            f"drive {str(name)!r}: nothing is known of its controller, bus and buffer; name one that was measured"
        )
    return known


@takes(name=drive_name)
def known_electronics(name: str | Path) -> Electronics | None:
    """As `load_electronics`; None of a drive of which nothing is known."""
    path = drive_path(name)
    facts = disksim_electronics(path) if is_disksim(path) else file_facts(path).get("electronics")
    if not isinstance(facts, dict | None):
        raise InputError(f"drive file {path}: field 'electronics' is {shown(facts)}; it must be an object")
    return None if facts is None else electronics(facts, str(path))


def electronics(facts: dict[str, Any], source: str) -> Electronics:
    """From the `electronics` of a drive file, times in ms under names that end in `_ms`; `source` names it in errors."""

    groups = ("overheads", "bus", "buffer", "extra_disconnect")
    for group in sorted(facts.keys() - set(groups), key=str):
        raise InputError(
            f"drive file {source}: electronics: group {group!r} is unknown; it is one of {', '.join(groups)}"
        )

    def of(kind: Any, group: str) -> Any:
        where = f"drive file {source}: electronics: {group}"
        given = field(facts, group, f"drive file {source}: electronics")
        if not isinstance(given, dict):
            raise InputError(f"{where} is {shown(given)}; it must be an object")
        known = {_written(name, one): (name, one) for name, one in kind.__annotations__.items()}
        unknown = sorted(given.keys() - known.keys(), key=str)
        if unknown:
            raise InputError(f"{where}: field {unknown[0]!r} is unknown; it is one of {', '.join(known)}")
        asked = {name for name, (own, _) in known.items() if own not in kind._field_defaults} | given.keys()
        values = {known[name][0]: checked(given, name, _rule(*known[name]), where) for name in sorted(asked)}
        return kind(
            **{
                name: value * MS if _timed(name, kind.__annotations__[name]) else value
                for name, value in values.items()
            }
        )

    extra = of(ExtraDisconnect, "extra_disconnect") if "extra_disconnect" in facts else None
    return Electronics(of(Overheads, "overheads"), of(Bus, "bus"), of(Buffer, "buffer"), extra)


def require_possible(known: Electronics) -> None:
    """Raises InputError where a figure of a drive's electronics, which may have been made by hand, is impossible."""
    require_kind("electronics", known, Electronics, 'those of a drive, as sk.drive.load_electronics("atlas10k")')
    for group, kind in {"overheads": Overheads, "bus": Bus, "buffer": Buffer, "extra": ExtraDisconnect}.items():
        given = getattr(known, group)
        if group == "extra" and given is None:
            continue
        require_kind(f"electronics: {group}", given, kind, f"a storagekit.drive.electronics.{kind.__name__}(...)")
        for name, one in kind.__annotations__.items():
            label, value = f"electronics: {group}: {name}", getattr(given, name)
            if isinstance(value, list | tuple):
                raise InputError(f"{label} {shown(value)}: give a number, or an array with one for each lane")
            _possible(name, one)(label, value)


def _possible(name: str, kind: type) -> Callable[[str, Any], Any]:
    """What a figure may be: as in a file, but in seconds. Times, and how far is read ahead, may differ from lane to lane."""
    if kind is bool:
        return flag
    rule, timed = _rule(name, kind), _timed(name, kind)
    unit = MS if timed else 1
    several = timed or name == "most_ahead"
    return Kind(rule.least * unit, rule.most * unit, "s" if timed else "", whole=rule.kind is int, many=several)


def electronics_facts(known: Electronics) -> dict[str, Any]:
    """The `electronics` of a drive file, as `electronics` reads them: groups of figures, times in ms under names that say so;
    what a drive has not is left out, as are figures that are what they are where none is given."""
    groups = {
        "extra_disconnect" if name == "extra" else name: group for name, group in known._asdict().items() if group
    }

    def told(group: Any) -> dict[str, Any]:
        kinds, usual = group.__annotations__, group._field_defaults
        return {
            _written(name, kinds[name]): value / MS if _timed(name, kinds[name]) else value
            for name, value in group._asdict().items()
            if name not in usual or value != usual[name]
        }

    return {name: told(group) for name, group in groups.items()}


# of a buffer: counts with the most that any drive comes near (4,096 segments, 8 GB), the highest of DiskSim's modes, and a
# share; times are at most 10 s, as in DiskSim's files
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
    """A field's name in a file."""
    return f"{name}_ms" if _timed(name, kind) else name


def _rule(name: str, kind: type) -> FieldRule:
    return _RULES.get(name, FieldRule(kind, most=_LONGEST) if _timed(name, kind) else FieldRule(kind))
