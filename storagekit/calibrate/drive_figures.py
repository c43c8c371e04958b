"""What a drive model amounts to: the figures that data sheets print, its seek curve, its zones."""

from typing import NamedTuple, cast

import numpy as np
import xarray as xr
from jaxtyping import Array

from storagekit.core import units
from storagekit.core.kinds import a, takes
from storagekit.drive import Drive
from storagekit.drive.seek import mean_seek

# of a seek curve: every distance up to NEAR, then so many EVENLY up to a SHORT share of the longest, where it is steep, and
# over all
NEAR, SHORT, EVENLY = 256, 0.05, 512


# what has cylinders and zones
DRIVE = a(Drive, 'a drive, as sk.load_drive("atlas10k")')


class DatasheetFigures(NamedTuple):
    """A drive in a data sheet's terms: bytes, seconds, bytes a second.

    average_seek: over all pairs of cylinders, the same cylinder twice included; all seeks are a read's. Rates of the first
    and the last zone: `media` within a track, `sustained` over whole cylinders, head and cylinder switches included.
    """

    capacity: int
    sector_bytes: int
    cylinders: int
    heads: int
    zones: int
    rpm: float
    revolution: float
    track_seek: float
    average_seek: float
    full_seek: float
    head_switch: float
    write_settle: float
    overhead: float
    outer_media_rate: float
    inner_media_rate: float
    outer_sustained_rate: float
    inner_sustained_rate: float


@takes(drive=DRIVE)
def figures(drive: Drive) -> DatasheetFigures:
    """The figures of a drive."""
    shape, zones = drive.geometry, zone_map(drive)
    revolution = float(drive.revolution)
    near, far = _seeks(drive, np.array([1, drive.cylinders - 1]))
    return DatasheetFigures(
        capacity=drive.capacity * units.SECTOR,
        sector_bytes=drive.grain * units.SECTOR,
        cylinders=drive.cylinders,
        heads=drive.heads,
        zones=len(shape.first_sector),
        rpm=units.MINUTE / revolution,
        revolution=revolution,
        track_seek=float(near),
        average_seek=mean_seek(drive.seek, drive.cylinders),
        full_seek=float(far),
        head_switch=float(drive.head_switch),
        write_settle=float(drive.write_settle),
        overhead=float(drive.overhead),
        outer_media_rate=float(zones.media_rate[0]),
        inner_media_rate=float(zones.media_rate[-1]),
        outer_sustained_rate=float(zones.sustained_rate[0]),
        inner_sustained_rate=float(zones.sustained_rate[-1]),
    )


@takes(drive=DRIVE)
def zone_map(drive: Drive) -> xr.Dataset:
    """The zones of a drive in the order of their addresses (dimension `zone`).

    `first_byte` and `size` of their data, bytes; `first_cylinder`, `cylinders`, `sectors_per_track` (of 512 bytes, spares
    included); `media_rate` and `sustained_rate`, bytes a second.
    """
    shape = drive.geometry
    begins = np.asarray(shape.first_sector)
    length, tracks, data = (
        np.asarray(one, float) for one in (shape.sectors_per_track, shape.group_tracks, shape.group_sectors)
    )
    per_second = units.SECTOR / float(drive.revolution)
    # of a group of cylinders with spares of its own: what the platter turns past without data
    across = tracks / shape.heads
    skews = (tracks - across) * shape.track_skew + across * shape.cylinder_skew
    lost = skews + tracks * shape.track_spares + shape.group_spares
    columns = {
        "first_byte": (begins * units.SECTOR, "bytes", "where its data begin"),
        "size": (np.diff(begins, append=shape.capacity) * units.SECTOR, "bytes", "data"),
        "first_cylinder": (np.asarray(shape.first_cylinder), "1", "first cylinder"),
        "cylinders": (np.asarray(shape.cylinders), "1", "cylinders"),
        "sectors_per_track": (np.asarray(shape.sectors_per_track), "sectors", "sectors of a track"),
        "media_rate": (length * per_second, "bytes/s", "rate within a track"),
        "sustained_rate": (length * per_second * data / (data + lost), "bytes/s", "rate over whole cylinders"),
    }
    return xr.Dataset(
        {name: ("zone", value, {"units": unit, "long_name": said}) for name, (value, unit, said) in columns.items()},
        attrs={"drive": drive.name},
    )


@takes(drive=DRIVE)
def seek_curve(drive: Drive) -> xr.Dataset:
    """Seconds of arm movement by `distance` in cylinders, from 1 to the longest: of a `read`, and of a `write`, settling
    included. Attribute `average_seek`: see `DatasheetFigures`."""
    longest = drive.cylinders - 1
    evenly = [np.linspace(1, max(last, 1), EVENLY).round().astype(int) for last in (SHORT * longest, longest)]
    distance = np.unique(np.concatenate([np.arange(1, min(NEAR, longest) + 1), *evenly]))
    read = _seeks(drive, distance)
    times = {"read": read, "write": read + float(drive.write_settle)}
    return xr.Dataset(
        {kind: ("distance", time, {"units": "s", "long_name": f"seek of a {kind}"}) for kind, time in times.items()},
        coords={"distance": ("distance", distance, {"units": "cylinders"})},
        attrs={"drive": drive.name, "average_seek": mean_seek(drive.seek, drive.cylinders)},
    )


def _seeks(drive: Drive, distance: np.ndarray) -> np.ndarray:
    return np.asarray(drive.seek(cast(Array, distance)), float)
