"""One request's way through a drive: where its copies lie, how the head gets to each, and which one it takes."""

import numpy as np
import xarray as xr

from storagekit.checks import require, require_positive, require_share, require_whole
from storagekit.drive import Arm, Drive
from storagekit.errors import InputError
from storagekit.placement import SRMirror, nearest_replica
from storagekit.units import KB, SECTOR
from storagekit.workload import Requests

# what an access consists of, in this order, as the drive's model has it
PARTS = {
    "overhead": "the drive takes the command",
    "move": "the arm moves",
    "settle": "it settles to write",
    "rotation": "the platter brings the sector",
    "transfer": "the data pass",
}
MOST_REPLICAS = 6
# random accesses that a mean is taken over
_ACCESSES = 20_000


def request_way(
    drive: Drive,
    replicas: int = 3,
    arm: float = 0.2,
    address: float = 0.6,
    platter: float = 0.0,
    size: float = 64 * KB,
    read: bool = True,
) -> xr.Dataset:
    """The way of one request to each of its rotational replicas (dimension `replica`), as the drive's model has it.

    The request is one stripe unit of `size` bytes at `address`, a share of the data, on a disk of a 1 x D_r x 1 SR-Array, D_r
    being `replicas`. arm: where the arm rests, a share of the way inward; platter: where the platter stands when the request
    is taken, turns. Seconds of each of the `PARTS`, `cylinder`, `head` and `angle` (turns from the index mark) of the
    data; `taken`, of the replica that RSATF takes. Attributes: what was asked, `revolution`, `cylinders`,
    `zones` (where each begins, cylinders). Raises InputError for numbers out of range.
    """
    _require_possible(drive, replicas, arm, address, platter, size)
    sectors = max(round(size / SECTOR / drive.grain), 1) * drive.grain
    layout = SRMirror(stripes=1, replicas=replicas, unit=sectors)
    units = int(layout.capacity(drive)) // sectors
    target = _located(layout, drive, np.array([round(address * (units - 1)) * sectors]), sectors)
    here = Arm(np.array([round(arm * (drive.cylinders - 1))]), np.array([0]))
    angle = np.array([platter % 1.0], np.float32)
    none, reads = np.zeros(1, np.int32), np.array([read])
    places = [layout.replica(drive, target, none, index) for index in range(replicas)]
    takes = [drive.positioning(here, angle, place, reads) for place in places]
    reach = nearest_replica(layout, drive, drive, here, angle, target, reads, none, None)
    seek = _column(one.seek for one in takes)
    overhead = np.full(replicas, float(drive.overhead))
    moved = np.maximum(seek - overhead, 0.0)
    settle = np.where((moved > 0) & ~reads, float(drive.write_settle), 0.0)
    columns = {
        "overhead": overhead,
        "move": moved - settle,
        "settle": settle,
        "rotation": _column(one.rotation for one in takes),
        "transfer": _column(place.transfer for place in places),
    }
    angles = _column(place.angle for place in places) % 1.0
    return xr.Dataset(
        {name: ("replica", seconds, {"units": "s", "long_name": PARTS[name]}) for name, seconds in columns.items()}
        | {
            "cylinder": ("replica", _column(place.cylinder for place in places).astype(int)),
            "head": ("replica", _column(place.head for place in places).astype(int)),
            "angle": ("replica", angles, {"units": "turns"}),
        },
        coords={"replica": np.arange(replicas), "taken": int(reach.replica[0])},
        attrs={
            "drive": drive.name,
            "arm": int(here.cylinder[0]),
            "platter": float(angle[0]),
            "size": sectors * SECTOR,
            "kind": "read" if read else "write",
            "revolution": float(drive.revolution),
            "cylinders": drive.cylinders,
            "zones": np.asarray(drive.geometry.first_cylinder),
        },
    )


def waits(drive: Drive, size: float = 4 * KB, seed: int = 0) -> xr.Dataset:
    """What replicas buy (dimension `replicas`): mean `seek` (command, arm) and `rotation` of reads at random, seconds, the arm
    and the platter anywhere before, on a disk of the 1 x D_r x 1 SR-Array under RSATF; `formula`, R / (2 D_r)."""
    require_positive("size", size, "bytes")
    draw = np.random.default_rng(seed)
    shares, cylinders, angles = draw.random((3, _ACCESSES))
    sectors = max(round(size / SECTOR / drive.grain), 1) * drive.grain
    here = Arm((cylinders * drive.cylinders).astype(int), np.zeros(_ACCESSES, int))
    none, reads = np.zeros(_ACCESSES, np.int32), np.ones(_ACCESSES, bool)

    def mean(replicas: int) -> tuple[float, float]:
        layout = SRMirror(stripes=1, replicas=replicas, unit=sectors)
        units = int(layout.capacity(drive)) // sectors
        target = _located(layout, drive, (shares * units).astype(np.int64) * sectors, sectors)
        reach = nearest_replica(layout, drive, drive, here, angles.astype(np.float32), target, reads, none, None)
        return float(np.mean(reach.positioning.seek)), float(np.mean(reach.positioning.rotation))

    numbers = np.arange(1, min(MOST_REPLICAS, drive.heads) + 1)
    seek, rotation = np.array([mean(int(number)) for number in numbers]).T
    revolution = float(drive.revolution)
    return xr.Dataset(
        {
            "seek": ("replicas", seek, {"units": "s"}),
            "rotation": ("replicas", rotation, {"units": "s"}),
            "formula": ("replicas", revolution / (2 * numbers), {"units": "s"}),
        },
        coords={"replicas": numbers},
        attrs={"drive": drive.name, "accesses": _ACCESSES, "seed": seed, "size": sectors * SECTOR},
    )


def _located(layout: SRMirror, drive: Drive, sector: np.ndarray, sectors: int):
    none = np.zeros(sector.shape, np.int32)
    words = none.astype(np.uint32)
    requests = Requests(none, sector, none + sectors, none == 0, words, words, none != 0, none, none)
    return layout.locate(drive, requests).target


def _column(values) -> np.ndarray:
    return np.array([float(np.asarray(value)[0]) for value in values])


def _require_possible(drive: Drive, replicas: int, arm: float, address: float, platter: float, size: float) -> None:
    if not isinstance(drive, Drive):
        raise InputError(f"drive {getattr(drive, 'name', drive)}: it has no arm and no platter; give a disk")
    require_whole("replicas", replicas)
    most = min(MOST_REPLICAS, drive.heads)
    require(replicas <= most, "replicas", replicas, f"at most {most}, each on a track of its own of one cylinder")
    require_share("arm", arm)
    require_share("address", address)
    require_share("platter", platter)
    require_positive("size", size, "bytes")
