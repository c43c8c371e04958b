"""Mechanical drives of several kinds, with one computation for each access instead of one for each kind.

The kind of a brick's drive selects the parameters of the drive, and a single computation uses these parameters. A
scheduler compares requests only by the location where each request begins, its start. The start of each request on a
drive of every kind is computed and stored. The end and the transfer time are computed only for the chosen request, from
its address on the drive that serves it.
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
    """The location on a drive where a request begins.

    track: number with the head in its lowest bits (see `head_bits`), and the cylinder in its other bits. angle: angle
    at which the request begins, turns.
    """

    track: Int[AnyArray, "*#row"]
    angle: Float[AnyArray, "*#row"]


class Starts(NamedTuple):
    """Addresses of requests, and their starts on drives.

    of_kind: one entry for each kind, with the starts on a drive of this kind; or a single entry, with the start of each
    request on the drive that serves it.
    """

    sector: Int[AnyArray, "*#row"]
    count: Int[AnyArray, "*#row"]
    of_kind: tuple[Start, ...]


def of_kind(kind: Int[AnyArray, "*#row"], found: Sequence[Num[AnyArray, "*#row"]]) -> Num[AnyArray, "*#row"]:
    """Return, for each element of `kind`, the value of this kind.

    found: the values of all kinds, in order.
    """
    return reduce(lambda chosen, new: jnp.where(kind == new[0], new[1], chosen), enumerate(found[1:], 1), found[0])


def head_bits(drives: Sequence[Drive]) -> int:
    """Return the number of bits that are needed to store the number of a head of any of the drives."""
    return (max(drive.heads for drive in drives) - 1).bit_length()


def start_on_each(drives: Sequence[Drive], sector: Int[Array, "*row"], count: Int[Array, "*row"]) -> Starts:
    """Return the starts of requests on each of the drives."""
    shapes = [drive.geometry for drive in drives]
    each = jnp.arange(len(drives), dtype=jnp.int32).reshape((-1,) + (1,) * sector.ndim)
    zone = zones_numbered(shapes, zone_number(shapes, each, sector[None]))
    start = zone.location(sector[None])
    tracks = _packed(start, drives)
    return Starts(sector, count, tuple(Start(tracks[kind], start.angle[kind]) for kind in range(len(drives))))


def start_on_one(
    drives: Sequence[Drive],
    kind: Int[AnyArray, "*#row"],
    sector: Int[AnyArray, "*#row"],
    count: Int[AnyArray, "*#row"],
) -> Starts:
    """Return the start of each request on a drive of kind `kind`."""
    shapes = [drive.geometry for drive in drives]
    zone = zones_numbered(shapes, zone_number(shapes, kind, sector))
    start = zone.location(sector)
    return Starts(sector, count, (Start(_packed(start, drives), start.angle),))


def _packed(start: SectorLocation, drives: Sequence[Drive]) -> Int[Array, "*row"]:
    return ((start.cylinder << head_bits(drives)) | start.head).astype(jnp.int32)


def target_of_kind(drives: Sequence[Drive], starts: Starts, kind: Int[AnyArray, "*#row"]) -> Target:
    """Return the location of requests on a drive of kind `kind`."""
    start = jax.tree.map(lambda *parts: of_kind(kind, parts), *starts.of_kind)
    shapes, bits = [drive.geometry for drive in drives], head_bits(drives)
    ends = first_and_last(starts.sector, starts.count)
    zone = zones_numbered(shapes, zone_number(shapes, kind, ends))
    drive = selected_drive(drives, kind)
    target = zone.locate(ends, drive.revolution, drive.step)
    return target._replace(cylinder=start.track >> bits, head=start.track & (2**bits - 1), angle=start.angle)


def selected_drive(drives: Sequence[Drive], kind: Int[AnyArray, "*#row"]) -> Drive:
    """Return a drive with the times of kind `kind`.

    This drive must not locate requests, because its geometry is the geometry of the first drive.
    """

    def selected(name: str) -> Float[AnyArray, "*#row"] | Int[AnyArray, "*#row"]:
        return of_kind(kind, [getattr(drive, name) for drive in drives])

    return Drive(
        geometry=drives[0].geometry,
        seek=selected_seek(kind, [drive.seek for drive in drives]),
        revolution=selected("revolution"),
        head_switch=selected("head_switch"),
        write_settle=selected("write_settle"),
        overhead=selected("overhead"),
        settles_on_switch=selected("settles_on_switch"),
        name="selected by kind",
    )


class Selected(AbstractMechanics):
    """Mechanics of a drive of kind `kind`.

    Parameters
    ----------
    drives : sequence of Drive
        A drive of each kind.
    kind : int, `[*row]`
        Number of the kind; the first kind has number 0.
    """

    drives: tuple[Drive, ...]
    kind: Int[AnyArray, "*#row"]
    drive: Drive

    def __init__(self, drives: Sequence[Drive], kind: Int[AnyArray, "*#row"]):
        self.drives, self.kind, self.drive = tuple(drives), kind, selected_drive(drives, kind)

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
        # Computed once for each kind, not for each brick: the seconds are the same for all bricks, and a remainder is slow.
        return of_kind(self.kind, [drive.drift(seconds) for drive in self.drives])


class SelectedTable(AbstractSeek):
    """One of several measured seek curves. The times of all curves are stored one after the other in `times`.

    first: index of the first entry of the curve in `times`. longest: longest distance of the curve, cylinders.
    """

    times: Float[AnyArray, "entry"]
    first: Int[AnyArray, "*#row"]
    longest: Int[AnyArray, "*#row"]

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return jnp.take(self.times, self.first + jnp.clip(distance, 0, self.longest), mode="clip")


class SelectedSeek(AbstractSeek):
    """Seek curve of kind `kind`, selected among curves of any classes."""

    curves: tuple[AbstractSeek, ...]
    kind: Int[AnyArray, "*#row"]

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return of_kind(self.kind, [curve(distance) for curve in self.curves])


def selected_seek(kind: Int[AnyArray, "*#row"], curves: Sequence[AbstractSeek]) -> AbstractSeek:
    """Return the seek curve of kind `kind`. If all curves are tables, one look-up is sufficient."""
    tables = [curve.times for curve in curves if isinstance(curve, SeekTable)]
    if len(tables) < len(curves):
        return SelectedSeek(tuple(curves), kind)
    longest = [whole(table.size - 1) for table in tables]
    first = [whole(before) for before in np.cumsum([0, *(table.size for table in tables)])[:-1]]
    return SelectedTable(jnp.concatenate(tables), of_kind(kind, first), of_kind(kind, longest))
