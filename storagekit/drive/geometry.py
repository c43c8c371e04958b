"""Zoned geometry: from a logical sector to cylinder, head and angle.

The rules are those of DiskSim 4.0's layout modules. Within a zone, sector s of track h (its order within the cylinder)
of the zone's c-th cylinder begins at

    angle = ([h + (heads-1) c] track_skew + c cylinder_skew + s + first_offset) / sectors_per_track   (mod 1 turn)

so that a transfer which crosses to the next track, or cylinder, meets its data one skew later. A serpentine layout uses
the heads of odd cylinders in reverse. Slipped and remapped sectors are not modelled: 64 of the Atlas 10K's 17.9 million.
"""

from typing import NamedTuple, cast

import equinox as eqx
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Int

from storagekit.arrays import AnyArray
from storagekit.lanes import whole


class Place(NamedTuple):
    """A sector's cylinder and head, its track's order in the zone, and where it begins in sectors after angle 0."""

    cylinder: Int[AnyArray, "*#row"]
    head: Int[AnyArray, "*#row"]
    track: Int[AnyArray, "*#row"]
    angle_sectors: Int[AnyArray, "*#row"]


def _facts(values: ArrayLike) -> Int[AnyArray, "zone"]:
    # kept as 64-bit NumPy numbers, so that addresses of large drives and long traces can be located on the host
    return cast(Array, np.asarray(values))


class Geometry(eqx.Module):
    """Zones of equal track length. All fields but `heads` are one number for each zone."""

    first_sector: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    first_cylinder: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    cylinders: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    sectors_per_track: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    track_skew: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    cylinder_skew: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    first_offset: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    reserved: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    group_tracks: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    group_sectors: Int[AnyArray, "zone"] = eqx.field(converter=_facts)
    serpentine: Int[AnyArray, ""] = eqx.field(converter=whole)
    heads: int = eqx.field(static=True)
    capacity: int = eqx.field(static=True)
    span: int = eqx.field(static=True)

    def zone_of(self, sector: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """Index of the zone that holds each sector."""
        zone = (sector < 0) * 1
        for first in self.first_sector[1:]:
            zone = zone + (sector >= first) * 1
        return zone

    def place(self, zone: Int[AnyArray, "*#row"], offset: Int[AnyArray, "*#row"]) -> Place:
        """Where data sector `offset` of a zone lies. Spares are skipped at the end of each group of cylinders."""
        length = self.sectors_per_track[zone]
        offset = offset + self.reserved[zone]
        group = offset // self.group_sectors[zone]
        within = offset - group * self.group_sectors[zone]
        track_in_group = within // length
        sector = within - track_in_group * length
        track = group * self.group_tracks[zone] + track_in_group
        cylinder = track // self.heads
        order = track - cylinder * self.heads
        reverse = (cylinder % 2) * self.serpentine
        head = order + reverse * (self.heads - 1 - 2 * order)
        angle = (
            (order + (self.heads - 1) * cylinder) * self.track_skew[zone]
            + cylinder * self.cylinder_skew[zone]
            + sector
            + self.first_offset[zone]
        ) % length
        return Place(self.first_cylinder[zone] + cylinder, head, track, angle)

    def crossing(self, zone: Int[AnyArray, "*#row"], start: Place, end: Place) -> Int[AnyArray, "*#row"]:
        """Sectors' worth of rotation lost to skew between two places of one zone."""
        cylinders = end.cylinder - start.cylinder
        tracks = end.track - start.track - cylinders
        return tracks * self.track_skew[zone] + cylinders * self.cylinder_skew[zone]


def geometry(zones: list[dict], heads: int, serpentine: bool) -> Geometry:
    """A geometry from one mapping per zone with the fields of a drive file (see data/drives/README.md)."""
    field = {name: np.array([zone[name] for zone in zones]) for name in zones[0]}
    group_tracks = field["sparing_cylinders"] * heads
    group_sectors = group_tracks * field["sectors_per_track"] - field["spares"]
    groups = field["cylinders"] // field["sparing_cylinders"]
    rest = (field["cylinders"] - groups * field["sparing_cylinders"]) * heads * field["sectors_per_track"]
    held = groups * group_sectors + rest - field["reserved"]
    first = np.concatenate([[0], np.cumsum(held)])
    return Geometry(
        first_sector=first[:-1],
        first_cylinder=field["first_cylinder"],
        cylinders=field["cylinders"],
        sectors_per_track=field["sectors_per_track"],
        track_skew=field["track_skew"],
        cylinder_skew=field["cylinder_skew"],
        first_offset=field["first_offset"],
        reserved=field["reserved"],
        group_tracks=group_tracks,
        group_sectors=group_sectors,
        serpentine=serpentine,
        heads=heads,
        capacity=int(first[-1]),
        span=int((field["first_cylinder"] + field["cylinders"]).max()),
    )


def plain_zone(cylinders: int, sectors_per_track: int, track_skew: int = 0, cylinder_skew: int = 0) -> dict:
    """The fields of a zone that fills a whole drive and spares nothing."""
    return {
        "first_cylinder": 0,
        "cylinders": cylinders,
        "sectors_per_track": sectors_per_track,
        "track_skew": track_skew,
        "cylinder_skew": cylinder_skew,
        "first_offset": 0,
        "reserved": 0,
        "spares": 0,
        "sparing_cylinders": cylinders,
    }
