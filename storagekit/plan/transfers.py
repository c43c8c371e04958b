"""Transfer times of requests at random addresses of a drive, in closed form.

In a zone whose tracks have `s` sectors, `d` of them with data, `n` sectors pass under the head in n / s revolutions.
Requests begin at random pages of 4 KB. Counted from the beginning of a track, a page begins at any multiple of g sectors,
plus a constant of the zone, where g is the largest common divisor of a page, of `d`, and of the sectors that share spares. A
request contains n - 1 boundaries of sectors. Boundaries at multiples of g are track boundaries with the probability g / d,
and other boundaries are never track boundaries. At a track boundary the platter turns past the skew and the spare sectors of
the track.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.units import PAGE, SECTOR
from storagekit.drive import Drive


def paged(sectors: NDArray | int, ways: int = 1) -> Any:
    """Return the number of sectors of each of `ways` equal parts of requests, rounded up to whole pages of 4 KB."""
    return -(-sectors // (ways * PAGE)) * PAGE


@dataclass(frozen=True)
class ZoneTransfers:
    """Parameters of the transfer times in each zone of a drive.

    Parameters
    ----------
    first : array of float, shape `[zone]`
        First sector of each zone.
    capacity : float
        Sectors of the drive.
    sector : array of float, shape `[zone]`
        Time in which a sector passes the head, seconds.
    data : array of float, shape `[zone]`
        Sectors of a track that hold data.
    common : array of int, shape `[zone]`
        The divisor g of the module docstring, sectors.
    shift : array of int, shape `[zone]`
        Sectors from the beginning of a request to the first place that can be a track boundary, below g.
    crossing : array of float, shape `[zone]`
        Mean time of a track boundary, seconds.
    grain : int
        Sectors of a physical sector.
    """

    first: NDArray
    capacity: float
    sector: NDArray
    data: NDArray
    common: NDArray
    shift: NDArray
    crossing: NDArray
    grain: int

    @classmethod
    def of(cls, drive: Drive) -> "ZoneTransfers":
        """Return the parameters of a drive."""
        zones, heads = drive.geometry, drive.geometry.heads
        length, spares = zones.sectors_per_track, zones.track_spares
        sector = float(drive.revolution) / length
        skew = ((heads - 1) * zones.track_skew + zones.cylinder_skew) / heads
        passed = skew + spares + zones.group_spares / np.maximum(zones.group_tracks, 1)
        data = length - spares
        common = np.gcd(np.gcd(PAGE, data), zones.group_sectors)
        first, shift = zones.first_sector.astype(float), zones.origin % common
        return cls(
            first, float(zones.capacity), sector, data.astype(float), common, shift, passed * sector, drive.grain
        )

    def times(self, sectors: NDArray, used: NDArray | float) -> tuple[NDArray, NDArray]:
        """Return the mean and the standard deviation of the transfer times of requests at random addresses.

        Parameters
        ----------
        sectors : array of int, shape `[size]`
            Sizes of the requests, sectors.
        used : float or array of float
            Share of the capacity that the addresses cover, from the outer edge.

        Returns
        -------
        mean, deviation : array of float, shape `[..., size]`
            Transfer times for each share in `used`, seconds.
        """
        share = self._shares(used)
        each, variance = self._by_zone(sectors)
        mean = share @ each.T
        square = ((variance + (each - mean[..., None]) ** 2) * share[..., None, :]).sum(axis=-1)
        return mean, np.sqrt(np.maximum(0.0, square))

    def slowest(self, sectors: int) -> float:
        """Return the mean transfer time of requests of a size in the zone where it is longest, seconds."""
        return float(self._by_zone(np.array([sectors]))[0].max())

    def sequential_rate(self, used: NDArray | float) -> NDArray:
        """Return the rate of long transfers on a disk that is filled to the share `used`, bytes a second."""
        return SECTOR / (self._shares(used) @ (self.sector + self.crossing / self.data))

    def _by_zone(self, sectors: NDArray) -> tuple[NDArray, NDArray]:
        """Return the mean and the variance of the transfer times in each zone, `[size, zone]`."""
        covered = -(-np.asarray(sectors)[:, None] // self.grain) * self.grain
        limits = (covered - 1 - self.shift) // self.common + (self.shift > 0)
        crossed = limits * self.common / self.data
        # there are as many boundaries as the mean, rounded up or down
        odd = crossed % 1
        return covered * self.sector + crossed * self.crossing, odd * (1 - odd) * self.crossing**2

    def _shares(self, used: NDArray | float) -> NDArray:
        """Return the share of the requests in each zone, which the used part of its sectors determines, `[..., zone]`."""
        end = np.minimum(used, 1.0)[..., None] * self.capacity
        sectors = np.maximum(np.minimum(np.append(self.first[1:], self.capacity), end) - self.first, 0.0)
        return sectors / sectors.sum(axis=-1, keepdims=True)
