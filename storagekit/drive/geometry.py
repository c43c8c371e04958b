"""Zoned geometry: cylinder, head and angle of a logical sector.

The rules are the rules of DiskSim 4.0's layout modules. Within a zone, cylinder c (from 0) has the tracks h = 0, 1, ...
in the order of addresses. Sector s of track h begins at

    angle = ([h + (heads-1) c] track_skew + c cylinder_skew + s + first_offset) / sectors_per_track   (mod 1 turn)

A transfer that crosses to the next track or cylinder therefore continues one skew later. A serpentine layout uses the
heads of odd cylinders in reverse. A transfer that crosses to the next zone waits there for its data, because tracks of
that zone have another length and begin at another angle. Slipped and remapped sectors are not modelled; the Atlas 10K
has 64 of these among its 17.9 million sectors.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from storagekit.core.arrays import AnyArray, namespace
from storagekit.drive.base import Arm, Target

# Tolerance for rounding, turns; less than a tenth of a sector.
SLACK = 1e-5


class SectorLocation(NamedTuple):
    """The position of a sector.

    passed: rotation of the platter from the zone's first sector to this sector, in sectors, including skews and spares.
    angle: angle at which the sector begins, in turns.
    """

    cylinder: Int[AnyArray, "*#row"]
    head: Int[AnyArray, "*#row"]
    passed: Int[AnyArray, "*#row"]
    angle: Float[AnyArray, "*#row"]


class Zone(NamedTuple):
    """For each sector, the parameters of its zone and of its drive (see `Geometry`)."""

    origin: Int[AnyArray, "*#row"]
    first_cylinder: Int[AnyArray, "*#row"]
    sectors_per_track: Int[AnyArray, "*#row"]
    track_spares: Int[AnyArray, "*#row"]
    track_skew: Int[AnyArray, "*#row"]
    cylinder_skew: Int[AnyArray, "*#row"]
    first_offset: Int[AnyArray, "*#row"]
    group_tracks: Int[AnyArray, "*#row"]
    group_sectors: Int[AnyArray, "*#row"]
    group_spares: Int[AnyArray, "*#row"]
    begin: Int[AnyArray, "*#row"]
    close: Int[AnyArray, "*#row"]
    onward: Int[AnyArray, "*#row"]
    heads: int | Int[AnyArray, "*#row"]
    serpentine: int | Int[AnyArray, "*#row"]

    def locate(
        self,
        ends: Int[AnyArray, "2 *#row"],
        revolution: Float[AnyArray, "..."],
        step: Callable[[Int[AnyArray, "*row"]], Float[AnyArray, "*row"]],
    ) -> Target:
        """Return the positions of requests in these zones.

        ends: first and last sector of each request (see `first_and_last`).

        revolution: time of a turn of the platter, seconds. If a request crosses into the next zone, the arm moves for
        `step(cylinders)` seconds, and the request then waits for its data to pass under the head. A request may not
        extend beyond the next zone.
        """
        location = self.location(ends)
        start, end = location.passed
        first, last = self.sectors_per_track.astype(np.float32)
        within = (end - start + 1).astype(np.float32) / first
        here, there = (self.close[0] - start).astype(np.float32), (end - self.begin[1] + 1).astype(np.float32)
        least = here / first + step(self.onward[0]) / revolution + there / last
        # The rotation from the first sector to the end of the last has a known fraction of a turn, plus whole turns.
        turned = location.angle[1] + 1 / last - location.angle[0]
        space = namespace(turned, least)
        across = turned + space.ceil(least - turned - SLACK)
        swept = space.where(self.origin[0] == self.origin[1], within, across)
        # Addresses may have 64 bits, but the event loop carries 32 bits.
        cylinder, head = location.cylinder.astype(np.int32), location.head.astype(np.int32)
        return Target(cylinder[0], head[0], location.angle[0], swept * revolution, Arm(cylinder[1], head[1]))

    def location(self, sector: Int[AnyArray, "*#row"]) -> SectorLocation:
        """Return the position of a sector. Spares at the end of each track and of each group of cylinders are skipped."""
        length = self.sectors_per_track
        offset = sector - self.origin
        group, within = divided(offset, self.group_sectors)
        track_in_group, on_track = divided(within, length - self.track_spares)
        track = group * self.group_tracks + track_in_group
        cylinder, order = divided(track, self.heads)
        reverse = (cylinder % 2) * self.serpentine
        head = order + reverse * (self.heads - 1 - 2 * order)
        skew = (track - cylinder) * self.track_skew + cylinder * self.cylinder_skew
        _, ahead = divided(skew + on_track + self.first_offset, length)
        angle = ahead.astype(np.float32) / length.astype(np.float32)
        spared = track * self.track_spares + group * self.group_spares
        # The sum may overflow on a drive with nearly 2^31 sectors. Callers use differences only, which stay correct.
        return SectorLocation(self.first_cylinder + cylinder, head, offset + skew + spared, angle)


# Fields with one number for each zone.
_OF_ZONE = Zone._fields[:-2]


def _facts(values: ArrayLike) -> Int[AnyArray, "zone"]:
    # 64-bit NumPy numbers, so that the host can locate the addresses of large drives and long traces.
    return cast(Array, np.asarray(values, np.int64))


class Geometry(eqx.Module):
    """The zones of a drive. All tracks of a zone have the same number of sectors.

    Parameters
    ----------
    first_sector : array of int, shape `[zone]`
        Address of the first data sector.
    first_cylinder, cylinders : array of int, shape `[zone]`
        First cylinder, and number of cylinders.
    sectors_per_track : array of int, shape `[zone]`
        Number of sectors of a track, including spares.
    track_spares : array of int, shape `[zone]`
        Number of sectors at the end of each track that hold no data.
    track_skew, cylinder_skew : array of int, shape `[zone]`
        Distance in sectors by which the next track of the same cylinder, or of the next cylinder, begins later.
    first_offset : array of int, shape `[zone]`
        Distance from the index mark to the first sector of the zone, sectors.
    reserved : array of int, shape `[zone]`
        Number of sectors at the start of the zone that have no address.
    group_tracks, group_sectors : array of int, shape `[zone]`
        Number of tracks and of data sectors of a group of cylinders that shares spares.
    group_spares : array of int, shape `[zone]`
        Number of spare sectors of the group that are on a track with data, so that the platter has to turn past these
        sectors.
    begin, close : array of int, shape `[zone]`
        Rotation of the platter (`SectorLocation.passed`) at the zone's first data sector, and at the end of its last
        data sector, in sectors.
    onward : array of int, shape `[zone]`
        Distance from the end of the last data sector to the data of the next zone, including spare cylinders, in
        cylinders; 0 for the last zone.
    heads : int
        Number of tracks of a cylinder.
    serpentine : int
        1 if odd cylinders use their heads in reverse order, otherwise 0.
    capacity : int
        Number of data sectors of the drive.
    span : int
        Number of cylinders of the drive.
    """

    first_sector: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    first_cylinder: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    cylinders: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    sectors_per_track: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    track_spares: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    track_skew: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    cylinder_skew: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    first_offset: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    reserved: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    group_tracks: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    group_sectors: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    group_spares: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    begin: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    close: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    onward: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    heads: int = eqx.field(static=True)
    serpentine: int = eqx.field(static=True)
    capacity: int = eqx.field(static=True)
    span: int = eqx.field(static=True)

    @property
    def origin(self) -> Int[AnyArray, "zone"]:
        """Return the address that the first sector of each zone would have if reserved sectors had addresses too."""
        return self.first_sector - self.reserved

    def zone_of(self, sector: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """Return the number of the zone that holds each sector."""
        if isinstance(sector, np.ndarray | np.integer):
            return np.searchsorted(self.first_sector[1:], sector, side="right")
        return _last_not_above(jnp.asarray(self.first_sector), sector, 0, self.first_sector.size)

    def at(self, sector: Int[AnyArray, "*#row"]) -> Zone:
        """Return the zone of each sector."""
        zone = self.zone_of(sector)
        columns = [getattr(self, name) for name in _OF_ZONE]
        if isinstance(sector, np.ndarray | np.integer):
            found: Any = [column[zone] for column in columns]
        else:
            found = _looked_up([jnp.asarray(column) for column in columns], zone)
        return Zone(*found, heads=self.heads, serpentine=self.serpentine)


def first_and_last(sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Int[AnyArray, "2 *row"]:
    """Return the first and the last of `count` sectors that begin at address `sector`, stacked along the first axis."""
    if isinstance(sector, np.ndarray | np.integer):
        return np.stack(np.broadcast_arrays(sector, sector + count - 1))
    # No concatenation: XLA's CPU compiler emits code that is fused with a concatenation once for each operand. Nested
    # concatenations would grow exponentially.
    first, further = jnp.broadcast_arrays(sector, count - 1)
    end = jnp.arange(2, dtype=first.dtype).reshape((2,) + (1,) * first.ndim)
    return first[None] + end * further[None].astype(first.dtype)


def zone_number(
    shapes: Sequence[Geometry], kind: Int[AnyArray, "*#row"], sector: Int[AnyArray, "*#row"]
) -> Int[Array, "*row"]:
    """Return the number of the zone of each sector. The zones of all `shapes` are numbered one after another.

    kind: index of the geometry in `shapes` to which the sector belongs.
    """
    ends = np.cumsum([0, *(shape.first_sector.size for shape in shapes)])
    edges = jnp.asarray(np.stack([ends[:-1], ends[1:]]), jnp.int32)
    begin, end = jnp.take(edges, jnp.expand_dims(kind, tuple(range(sector.ndim - kind.ndim))), axis=1, mode="clip")
    return _last_not_above(jnp.concatenate([shape.first_sector for shape in shapes]), sector, begin, end)


# Without `jit`, each call from outside the engine compiles the loop again: `locate` takes 21 ms instead of 4 ms.
@jax.jit
def _last_not_above(
    firsts: Int[Array, "zone"],
    sector: Int[AnyArray, "*#row"],
    begin: int | Int[AnyArray, "*#row"],
    end: int | Int[AnyArray, "*#row"],
) -> Int[Array, "*row"]:
    """Return the index of the last entry of `firsts` that is at most `sector`.

    The entries are in ascending order. Only the entries from index `begin` to `end` - 1 are searched. The index is
    `begin` where all these entries are above `sector`. The binary search is a loop of the program because XLA
    stores the values that a loop carries; XLA's CPU compiler would emit an unrolled search again for each use of its
    result.
    """
    steps = (firsts.size - 1).bit_length()

    def halve(step: int | Int[Array, ""], found: Int[Array, "*row"]) -> Int[Array, "*row"]:
        probe = found + jnp.left_shift(1, steps - 1 - step).astype(jnp.int32)
        return jnp.where((probe < end) & (sector >= jnp.take(firsts, probe, mode="clip")), probe, found)

    return jax.lax.fori_loop(0, steps, halve, begin + jnp.zeros_like(sector, jnp.int32))


def zones_numbered(shapes: Sequence[Geometry], number: Int[Array, "*row"]) -> Zone:
    """Return the zones with the given numbers (see `zone_number`)."""

    def column(name: str) -> Int[Array, "zone"]:
        return jnp.concatenate([jnp.broadcast_to(getattr(one, name), one.first_sector.shape) for one in shapes])

    return Zone(*_looked_up([column(name) for name in Zone._fields], number))


def _looked_up(columns: list[Array], number: Int[AnyArray, "*row"]) -> Int[Array, "column *row"]:
    # One table and one look-up: XLA repeats a separate look-up at each use. A repetition takes 0.5% of a D-SPTF event.
    return jnp.take(jnp.stack(columns), number, axis=1, mode="clip")


def geometry(zones: list[dict], heads: int, serpentine: bool) -> Geometry:
    """Return the geometry of a drive.

    Parameters
    ----------
    zones : list of dict
        Fields of each zone, as in a drive file (data/drives/README.md).
    heads : int
        Number of heads.
    serpentine : bool
        Whether odd cylinders use the heads in reverse.

    Returns
    -------
    Geometry
        The geometry.
    """
    field = {name: np.array([zone[name] for zone in zones]) for name in zones[0]}
    group_tracks = field["sparing_cylinders"] * heads
    track = field["sectors_per_track"] - field["track_spares"]
    group_sectors = group_tracks * track - field["spares"]
    groups = field["cylinders"] // field["sparing_cylinders"]
    rest = (field["cylinders"] - groups * field["sparing_cylinders"]) * heads * track
    held = _facts(groups * group_sectors + rest - field["reserved"])
    first = np.concatenate([[0], np.cumsum(held)])
    given = {
        "first_cylinder": field["first_cylinder"],
        "sectors_per_track": field["sectors_per_track"],
        "track_spares": field["track_spares"],
        "track_skew": field["track_skew"],
        "cylinder_skew": field["cylinder_skew"],
        "first_offset": field["first_offset"],
        "group_tracks": group_tracks,
        "group_sectors": group_sectors,
        "group_spares": field["spares"] % track,
    }
    columns = {name: _facts(column) for name, column in given.items()}
    first_sector, unknown = first[:-1], held * 0
    zone = Zone(
        **columns,
        origin=_facts(first_sector - field["reserved"]),
        begin=unknown,
        close=unknown,
        onward=unknown,
        heads=heads,
        serpentine=int(serpentine),
    )
    begin, end = zone.location(_facts(first_sector)), zone.location(_facts(first[1:] - 1))
    return Geometry(
        **columns,
        first_sector=first_sector,
        reserved=field["reserved"],
        cylinders=field["cylinders"],
        begin=begin.passed,
        close=end.passed + 1,
        onward=np.append(begin.cylinder[1:] - end.cylinder[:-1], 0),
        heads=heads,
        serpentine=int(serpentine),
        capacity=int(first[-1]),
        span=int((field["first_cylinder"] + field["cylinders"]).max()),
    )


def plain_zone(
    cylinders: int, sectors_per_track: int, track_skew: int = 0, cylinder_skew: int = 0, first: int = 0
) -> dict:
    """Return the fields of a zone without spares that begins at cylinder `first`. Skews are in sectors."""
    return {
        "first_cylinder": first,
        "cylinders": cylinders,
        "sectors_per_track": sectors_per_track,
        "track_skew": track_skew,
        "cylinder_skew": cylinder_skew,
        "first_offset": 0,
        "reserved": 0,
        "track_spares": 0,
        "spares": 0,
        "sparing_cylinders": cylinders,
    }


def divided(
    number: Int[AnyArray, "*#row"], by: int | Int[AnyArray, "*#row"]
) -> tuple[Int[AnyArray, "*#row"], Int[AnyArray, "*#row"]]:
    """Return the quotient, rounded down, and the remainder of integers; `by` is at least 1.

    A CPU divides integers one by one, but several floating-point numbers simultaneously. In float32, a quotient of 31
    bits has an error of a few hundred at most. Dividing the remainder again reduces the error of the quotient to at
    most 1. The sign of the last remainder gives the direction of this error.
    """
    if isinstance(number, np.ndarray | np.integer):
        return divmod(number, by)
    if number.dtype.itemsize > 4:
        return jnp.divmod(number, jnp.asarray(by, number.dtype))
    by = jnp.asarray(by, jnp.int32)
    each = 1 / by.astype(jnp.float32)
    quotient = (number.astype(jnp.float32) * each).astype(jnp.int32)
    quotient = quotient + jnp.floor((number - quotient * by).astype(jnp.float32) * each).astype(jnp.int32)
    rest = number - quotient * by
    quotient = quotient + (rest >= by) - (rest < 0)
    return quotient, number - quotient * by
