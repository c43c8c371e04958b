"""Mechanical drives of several kinds: a brick's numbers are picked once, and what it does is computed once.

What many requests are compared by, where each begins, is located on every kind and kept. Where one ends and how long it takes
is asked of the one that is chosen, and computed from its address on the drive that it is for.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import whole
from storagekit.drive.base import AbstractMechanics, Arm, Positioning, Target
from storagekit.drive.geometry import SectorLocation, first_and_last, zone_number, zones_numbered
from storagekit.drive.mechanical import Drive
from storagekit.drive.seek import AbstractSeek, SeekTable
from storagekit.drive.slowed import Slowed


class Start(NamedTuple):
    """Where a request begins on a drive. place: the cylinder and, in its lowest bits, the head (see `head_bits`)."""

    place: Int[AnyArray, "*#row"]
    angle: Float[AnyArray, "*#row"]


class Starts(NamedTuple):
    """Requests, and where they begin on a drive of each kind; or on the one drive that each is for, whatever its kind."""

    sector: Int[AnyArray, "*#row"]
    count: Int[AnyArray, "*#row"]
    of_kind: tuple[Start, ...]


def of_kind(kind: Int[AnyArray, "*#row"], found: Sequence[Num[AnyArray, "*#row"]]) -> Num[AnyArray, "*#row"]:
    """Of one value for each kind, that of `kind`."""
    return reduce(lambda chosen, new: jnp.where(kind == new[0], new[1], chosen), enumerate(found[1:], 1), found[0])


def head_bits(drives: Sequence[Drive]) -> int:
    """Bits that hold the number of a head of any of the drives."""
    return (max(drive.heads for drive in drives) - 1).bit_length()


def start_on_each(drives: Sequence[Drive], sector: Int[Array, "*row"], count: Int[Array, "*row"]) -> Starts:
    """Where requests begin on each of the drives."""
    shapes = [drive.geometry for drive in drives]
    each = jnp.arange(len(drives), dtype=jnp.int32).reshape((-1,) + (1,) * sector.ndim)
    zone = zones_numbered(shapes, zone_number(shapes, each, sector[None]))
    start = zone.place(sector[None])
    places = _packed(start, drives)
    return Starts(sector, count, tuple(Start(places[kind], start.angle[kind]) for kind in range(len(drives))))


def start_on_one(
    drives: Sequence[Drive],
    kind: Int[AnyArray, "*#row"],
    sector: Int[AnyArray, "*#row"],
    count: Int[AnyArray, "*#row"],
) -> Starts:
    """Where requests begin, each on a drive of kind `kind`."""
    shapes = [drive.geometry for drive in drives]
    zone = zones_numbered(shapes, zone_number(shapes, kind, sector))
    start = zone.place(sector)
    return Starts(sector, count, (Start(_packed(start, drives), start.angle),))


def _packed(start: SectorLocation, drives: Sequence[Drive]) -> Int[Array, "*row"]:
    return ((start.cylinder << head_bits(drives)) | start.head).astype(jnp.int32)


def target_of_kind(drives: Sequence[Drive], starts: Starts, kind: Int[AnyArray, "*#row"]) -> Target:
    """Where requests lie on a drive of kind `kind`."""
    start = jax.tree.map(lambda *parts: of_kind(kind, parts), *starts.of_kind)
    shapes, bits = [drive.geometry for drive in drives], head_bits(drives)
    ends = first_and_last(starts.sector, starts.count)
    zone = zones_numbered(shapes, zone_number(shapes, kind, ends))
    drive = picked_drive(drives, kind)
    target = zone.locate(ends, drive.revolution, drive.step)
    return target._replace(cylinder=start.place >> bits, head=start.place & (2**bits - 1), angle=start.angle)


def picked_drive(drives: Sequence[Drive], kind: Int[AnyArray, "*#row"]) -> Drive:
    """A drive with the numbers of kind `kind`; it locates nothing."""

    def picked(name: str) -> Float[AnyArray, "*#row"] | Int[AnyArray, "*#row"]:
        return of_kind(kind, [getattr(drive, name) for drive in drives])

    return Drive(
        geometry=drives[0].geometry,
        seek=picked_seek(kind, [drive.seek for drive in drives]),
        revolution=picked("revolution"),
        head_switch=picked("head_switch"),
        write_settle=picked("write_settle"),
        overhead=picked("overhead"),
        settles_on_switch=picked("settles_on_switch"),
        name="picked by kind",
    )


class Picked(AbstractMechanics):
    """Arm and platter of a drive of kind `kind`. drive: with the numbers of that kind; it locates nothing."""

    drives: tuple[Drive, ...]
    kind: Int[AnyArray, "*#row"]
    drive: Drive

    def __init__(self, drives: Sequence[Drive], kind: Int[AnyArray, "*#row"]):
        self.drives, self.kind, self.drive = tuple(drives), kind, picked_drive(drives, kind)

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        return self.drive.positioning(arm, angle, target, read)

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> Slowed:
        return self.drive.at_speed(seek, turning)

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.drive.turns(seconds)

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.drive.seconds(turns)

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        # once for a kind and not for a brick: the same seconds pass for all, and a remainder takes long
        return of_kind(self.kind, [drive.drift(seconds) for drive in self.drives])


class PickedTable(AbstractSeek):
    """Of measured curves one after the other the one that begins at entry `first` and goes on to distance `longest`."""

    times: Float[AnyArray, "entry"]
    first: Int[AnyArray, "*#row"]
    longest: Int[AnyArray, "*#row"]

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return jnp.take(self.times, self.first + jnp.clip(distance, 0, self.longest), mode="clip")


class PickedSeek(AbstractSeek):
    """Of curves that may have nothing in common, that of kind `kind`."""

    curves: tuple[AbstractSeek, ...]
    kind: Int[AnyArray, "*#row"]

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return of_kind(self.kind, [curve(distance) for curve in self.curves])


def picked_seek(kind: Int[AnyArray, "*#row"], curves: Sequence[AbstractSeek]) -> AbstractSeek:
    """The curve of kind `kind`: looked up once where all are tables."""
    tables = [curve.times for curve in curves if isinstance(curve, SeekTable)]
    if len(tables) < len(curves):
        return PickedSeek(tuple(curves), kind)
    longest = [whole(table.size - 1) for table in tables]
    first = [whole(before) for before in np.cumsum([0, *(table.size for table in tables)])[:-1]]
    return PickedTable(jnp.concatenate(tables), of_kind(kind, first), of_kind(kind, longest))
