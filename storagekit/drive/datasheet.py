"""Geometry and seek curve of a drive from the values of its data sheet."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.core.validation import POSITIVE, SPAN, Validator, require_seconds, shown, written
from storagekit.drive.geometry import Geometry, geometry, plain_zone
from storagekit.drive.seek import SeekFit, seek_from_three

# Number of zones of a drive whose rate falls from the outermost track to the innermost.
ZONES = 16
# Number of 512-byte sectors in a physical sector, by the size of the physical sector in bytes.
GRAINS = {512: 1, 4096: 8}
_POSITIVE = replace(POSITIVE, otherwise="; take it from the data sheet")
# Limits far beyond any real drive; rates in bytes per second, capacity in bytes.
_RPM, _HEADS = Validator(least=60, most=1e6), Validator(least=1, most=1000, whole=True)
_MOST_RATE, _MOST_CAPACITY = 1e11, 1e15
# Meaning of each time, which determines its upper limit.
_MEANINGS = {
    "track_seek": "track seek",
    "average_seek": "seek",
    "full_seek": "seek",
    "head_switch": "head switch",
    "write_settle": "settling",
}


class Sheet(NamedTuple):
    """Values of a data sheet.

    Parameters
    ----------
    rpm : float
        Revolutions per minute.
    track_seek, average_seek, full_seek : float
        Track-to-track, average and full-stroke seek time of a read, seconds.
    capacity : float
        Capacity, bytes.
    head_switch, write_settle : float
        Time of a head switch, and difference between the seek times of a write and of a read, seconds.
    heads : int
        Number of heads.
    sector_bytes : int
        Size of a physical sector, bytes, by default 512.
    media_rate : float, optional
        Rate within a track, equal on all tracks, bytes per second.
    outer_rate, inner_rate : float, optional
        In place of `media_rate`: sustained rates of the outermost and the innermost cylinders, bytes per second. They
        include head and cylinder switches.
    """

    rpm: float
    track_seek: float
    average_seek: float
    full_seek: float
    capacity: float
    head_switch: float
    write_settle: float
    heads: int
    sector_bytes: int = 512
    media_rate: float | None = None
    outer_rate: float | None = None
    inner_rate: float | None = None

    def check(self) -> None:
        """Raise InputError if a value is impossible."""
        for label in ("write_settle", "head_switch", "average_seek", "full_seek"):
            SPAN(label, getattr(self, label))
        positive = {
            "rpm": self.rpm,
            "track_seek": self.track_seek,
            "capacity": self.capacity,
            "heads": self.heads,
            **self._rates(),
        }
        for label, figure in positive.items():
            _POSITIVE(label, figure)
        _RPM("rpm", self.rpm)
        _HEADS("heads", self.heads)
        POSITIVE.up_to(_MOST_CAPACITY)("capacity", self.capacity)
        for label, rate in self._rates().items():
            POSITIVE.up_to(_MOST_RATE)(label, rate)
        for label, meaning in _MEANINGS.items():
            require_seconds(label, getattr(self, label), meaning)
        if self.sector_bytes not in list(GRAINS):
            known = " or ".join(map(str, GRAINS))
            raise InputError(f"sector_bytes {shown(self.sector_bytes)}: it must be {known} (4Kn and 512e: 4096)")
        rates = list(self._rates().values())
        if rates[0] < rates[-1]:
            raise InputError(
                f"inner_rate {written(rates[-1])} bytes/s is above outer_rate {written(rates[0])} bytes/s, but outer "
                "tracks are longer; swap the two rates"
            )

    def _rates(self) -> dict[str, float]:
        within = {"media_rate": self.media_rate}
        sustained = {"outer_rate": self.outer_rate, "inner_rate": self.inner_rate}
        given = {label: rate for label, rate in (within | sustained).items() if rate is not None}
        if given.keys() not in (within.keys(), sustained.keys()):
            named = " and ".join(given) or "no rate"
            raise InputError(f"{named}: give either media_rate, or both outer_rate and inner_rate")
        return given

    @property
    def revolution(self) -> float:
        """Return the time of a revolution in seconds."""
        return units.revolution(self.rpm)

    def seek(self, cylinders: int) -> SeekFit:
        """Return the curve through the three seek times. The average seek time is taken over all pairs of cylinders."""
        return seek_from_three(self.track_seek, self.average_seek, self.full_seek, cylinders)

    def geometry(self) -> Geometry:
        """Return zones whose tracks give the rates of the sheet, and whose cylinders give its capacity.

        The skews are just large enough for a head switch and a seek of one cylinder.
        """
        lengths = self._lengths()
        mean = float(np.mean(lengths))
        cylinders = round(self.capacity / units.SECTOR / (mean * self.heads))
        if cylinders < 10 * len(lengths):
            raise InputError(
                f"capacity {written(self.capacity)} bytes: with {mean * self.heads:.0f} sectors per cylinder the "
                f"drive has only {cylinders} cylinders; check the capacity"
            )
        edges = np.round(np.linspace(0, cylinders, len(lengths) + 1)).astype(int)
        zones = [
            plain_zone(int(end - first), int(length), *self._skews(int(length)), first=int(first))
            for first, end, length in zip(edges[:-1], edges[1:], lengths, strict=True)
        ]
        return geometry(zones, self.heads, serpentine=False)

    @property
    def _next_cylinder(self) -> float:
        return max(self.track_seek, self.head_switch) + self.write_settle

    def _lengths(self) -> np.ndarray:
        """Return the number of sectors of a track in each zone."""
        grain = GRAINS[self.sector_bytes]
        given = list(self._rates().values())
        if len(given) == 1:
            rates, turns = np.array(given), 1.0
        else:
            rates = np.linspace(given[0], given[1], ZONES)
            lost = (self.heads - 1) * self.head_switch + self._next_cylinder
            turns = 1 + lost / self.heads / self.revolution
        lengths = np.round(rates * turns * self.revolution / units.SECTOR / grain) * grain
        return np.maximum(lengths, grain).astype(int)

    def _skews(self, length: int) -> tuple[int, int]:
        per_second = length / self.revolution
        return math.ceil(self.head_switch * per_second), math.ceil(self._next_cylinder * per_second)
