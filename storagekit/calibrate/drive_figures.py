"""Data-sheet values, seek curve and zones of a drive model."""

from typing import Annotated, NamedTuple, cast

import numpy as np
import xarray as xr
from jaxtyping import Array

from storagekit.core import units
from storagekit.core.validation import instance_of, validate
from storagekit.drive import Drive
from storagekit.drive.seek import mean_seek

# Distances of a seek curve: all distances up to NEAR cylinders; EVENLY evenly spaced distances up to the share SHORT of
# the longest distance, where the curve is steep; and EVENLY evenly spaced distances over the whole range.
NEAR, SHORT, EVENLY = 256, 0.05, 512


# Validator of a drive with cylinders and zones.
DRIVE = instance_of(Drive, 'a drive, as sk.load_drive("atlas10k")')


class DatasheetFigures(NamedTuple):
    """Data-sheet values of a drive, in bytes, seconds, and bytes per second.

    Seek times are times of a read. average_seek: mean over all pairs of cylinders, including pairs of the same
    cylinder. Rates are given for the first (outer) and the last (inner) zone. Media rates are rates within a track.
    Sustained rates are rates over whole cylinders, with head and cylinder switches.
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


@validate
def figures(drive: Annotated[Drive, DRIVE]) -> DatasheetFigures:
    """Return the data-sheet values of a drive.

    Parameters
    ----------
    drive : Drive
        The drive.

    Returns
    -------
    DatasheetFigures
        The data-sheet values.
    """
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


@validate
def zone_map(drive: Annotated[Drive, DRIVE]) -> xr.Dataset:
    """Return the zones of a drive in the order of their addresses.

    Parameters
    ----------
    drive : Drive
        The drive.

    Returns
    -------
    Dataset
        For each zone (dimension `zone`): `first_byte` and `size` of its data, bytes; `first_cylinder` and `cylinders`;
        `sectors_per_track`, of 512 bytes, with spares; `media_rate` and `sustained_rate`, bytes per second.
    """
    shape = drive.geometry
    begins = np.asarray(shape.first_sector)
    length, tracks, data = (
        np.asarray(one, float) for one in (shape.sectors_per_track, shape.group_tracks, shape.group_sectors)
    )
    per_second = units.SECTOR / float(drive.revolution)
    # Rotation past skews and spares in a group of cylinders that shares spares, in sectors.
    across = tracks / shape.heads
    skews = (tracks - across) * shape.track_skew + across * shape.cylinder_skew
    lost = skews + tracks * shape.track_spares + shape.group_spares
    columns = {
        "first_byte": (begins * units.SECTOR, "bytes", "first byte of the zone"),
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


@validate
def seek_curve(drive: Annotated[Drive, DRIVE]) -> xr.Dataset:
    """Return the seek time of a drive as a function of distance.

    Parameters
    ----------
    drive : Drive
        The drive.

    Returns
    -------
    Dataset
        For each `distance` in cylinders, from 1 to the longest distance: the time in seconds of the arm movement of a
        `read` and of a `write`, including settling. Attribute `average_seek`: see `DatasheetFigures`.
    """
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
