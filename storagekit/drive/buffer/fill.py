"""Consecutive sectors under a head that reads without a pause: conversion between sectors and turns of the platter."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.drive.geometry import Geometry, SectorLocation, Zone, divided

# Tolerance for rounding, in sectors, when a sector has just passed or the head is at the beginning of a sector.
HAIR = 1e-3


class BufferFill(NamedTuple):
    """Sectors from `sector` to the end of its zone, as they pass under a head that follows the skews.

    zone: the zone. limit: first sector after the zone. angle: angle at which the head is at the beginning of `sector`,
    turns. passed: rotation of the platter from the zone's first sector to `sector`, in sectors.
    """

    zone: Zone
    sector: Int[AnyArray, "*#row"]
    limit: Int[AnyArray, "*#row"]
    passed: Int[AnyArray, "*#row"]
    angle: Float[AnyArray, "*#row"]

    @property
    def length(self) -> Float[AnyArray, "*#row"]:
        """Return the number of sectors that pass in a revolution."""
        return self.zone.sectors_per_track.astype(np.float32)

    @property
    def room(self) -> Int[AnyArray, "*#row"]:
        """Return the number of sectors of the fill."""
        return self.limit - self.sector

    def turns(self, count: Int[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        """Return the turns until the first `count` sectors have passed; 0 if `count` is 0."""
        last = self.zone.location(self.sector + jnp.clip(count, 1, self.room) - 1)
        return jnp.where(count > 0, (last.passed - self.passed + 1) / self.length, 0.0)

    def reached(self, turns: Float[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """Return the number of sectors that have passed completely after `turns`: the inverse of the method `turns`."""
        zone = self.zone
        data, track = zone.sectors_per_track - zone.track_spares, zone.sectors_per_track + zone.track_skew
        skew = zone.cylinder_skew - zone.track_skew
        cylinders, _ = divided(zone.group_tracks, zone.heads)
        # Rotation from the beginning of a group of cylinders to the beginning of the next group, in sectors.
        group_turn = cylinders * (zone.heads * track + skew) + zone.group_spares
        group_turn = group_turn - (zone.group_tracks * data - zone.group_sectors)
        swept = jnp.floor(jnp.maximum(turns, 0.0) * self.length + HAIR).astype(np.int32)
        group, rest = divided(self.passed + swept, group_turn)
        cylinder, rest = divided(rest, zone.heads * track + skew)
        order, _ = divided(rest, track)
        order = jnp.minimum(order, zone.heads - 1)
        on_track = jnp.minimum(rest - order * track, data)
        within = jnp.minimum((cylinder * zone.heads + order) * data + on_track, zone.group_sectors)
        return jnp.clip(zone.origin + group * zone.group_sectors + within - self.sector, 0, self.room)

    def location(self, sector: Int[AnyArray, "*#row"]) -> SectorLocation:
        """Return the location of a sector of the fill."""
        return self.zone.location(jnp.clip(sector, self.sector, self.limit - 1))

    def track(self, sector: Int[AnyArray, "*#row"]) -> tuple[Int[AnyArray, "*#row"], Int[AnyArray, "*#row"]]:
        """Return the first sector of the track of `sector`, and the sector after the last sector of this track."""
        data = self.zone.sectors_per_track - self.zone.track_spares
        _, within = divided(sector - self.zone.origin, self.zone.group_sectors)
        _, on_track = divided(within, data)
        together = jnp.minimum(data - on_track, self.zone.group_sectors - within)
        return sector - on_track, jnp.minimum(sector + together, self.limit)

    def cylinder_end(self, sector: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """Return the sector after the last sector of the cylinder of `sector`."""
        data = self.zone.sectors_per_track - self.zone.track_spares
        _, within = divided(sector - self.zone.origin, self.zone.group_sectors)
        track, _ = divided(within, data)
        _, order = divided(track, self.zone.heads)
        _, behind = self.track(sector)
        return jnp.minimum(behind + (self.zone.heads - 1 - order) * data, self.limit)


def buffer_fill(geometry: Geometry, sector: Int[AnyArray, "*#row"]) -> BufferFill:
    """Return the fill that begins at `sector`.

    Parameters
    ----------
    geometry : Geometry
        The zones of the drive.
    sector : array of int, shape `[*row]`
        Addresses. An address beyond the end of the drive is replaced by the last sector of the drive.

    Returns
    -------
    BufferFill
        For each address, the sectors from this address to the end of its zone.
    """
    sector = jnp.clip(sector, 0, geometry.capacity - 1)
    zone = geometry.at(sector)
    limit = jnp.full_like(sector, geometry.capacity)
    for first in geometry.first_sector[:0:-1]:
        limit = jnp.where(sector < first, jnp.asarray(first, sector.dtype), limit)
    location = zone.location(sector)
    return BufferFill(zone, sector, limit, location.passed, location.angle)
