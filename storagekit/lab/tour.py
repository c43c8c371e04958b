"""The path of one request through a drive: its copies, the movement of the head to each copy, and the selected copy."""

from collections.abc import Iterable
from typing import cast

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array

from storagekit.charts import AnswerText, ChoiceControl, Dashboard, Slider, StepsControl
from storagekit.core.arrays import AnyArray
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MS, SECTOR
from storagekit.core.validation import COUNT, SHARE, SIZE, require
from storagekit.drive import Arm, Drive, Target
from storagekit.lab.draw import tour as draw
from storagekit.lab.drives import NEARLINE, drive_choice
from storagekit.lab.page import LabPage
from storagekit.placement import SRMirror, nearest_replica
from storagekit.workload import Requests

# the parts of an access in the model of the drive, in order
PARTS = {
    "overhead": "command overhead",
    "move": "the arm moves",
    "settle": "the head settles for a write",
    "rotation": "the platter rotates to the sector",
    "transfer": "the data are transferred",
}
MOST_REPLICAS = 6
# number of random accesses for each mean
_ACCESSES = 20_000


def dashboard(
    drive: str = NEARLINE,
    replicas: int = 3,
    arm: float = 10,
    address: float = 60,
    platter: float = 0,
    size_kb: float = 64,
    kind: str = "read",
) -> Dashboard:
    """Return the page of a request's path, as a `Dashboard`; the arguments are the initial values of its controls.

    drive: name, file or data-sheet line. arm: position of the arm, percent of the cylinders, inward. address: percent
    of the data. platter: angle, percent of a revolution.
    """
    controls = {
        "drive": drive_choice(drive),
        "replicas": Slider("Replicas D_r", replicas, 1, MOST_REPLICAS, few=sorted({1, 2, MOST_REPLICAS, replicas})),
        "arm": Slider("Arm position (% inward)", arm, 0, 100, few=sorted({0, 50, arm})),
        "address": Slider("Address (% of data)", address, 0, 100, few=sorted({5, 90, address})),
        "platter": Slider("Platter angle (% of a revolution)", platter, 0, 100, few=sorted({0, 50, platter})),
        "size_kb": StepsControl("Size (KB)", size_kb, sorted({4, 16, 64, 256, 1024, size_kb}), few=[size_kb]),
        "kind": ChoiceControl("Request", {"read": True, "write": False}, value=kind, few=[kind]),
    }
    return Dashboard(_answer, draw.request_way, controls, summary)


def _answer(drive: Drive, arm: float, address: float, platter: float, size_kb: float, kind: bool, replicas: int):
    shares = (arm / 100, address / 100, platter / 100)
    return request_way(drive, int(replicas), *shares, size=size_kb * KB, read=kind)


PAGE = LabPage(
    "The path of a request",
    "A disk of an array holds several copies of each block, at equal angles in one cylinder. Choose the position of "
    "the arm and of the data, and step through the service time of the request.",
    dashboard,
)


def summary(way: xr.Dataset) -> AnswerText:
    """Return a text: the selected replica, the reason for the selection, and the times of the other replicas."""
    taken = int(way.taken)
    totals = way[list(PARTS)].to_dataarray("part").sum("part") / MS
    one = {part: float(way[part].sel(replica=taken)) / MS for part in PARTS}
    under = totals.sel(replica=taken) - one["transfer"]
    copies = way.sizes["replica"]
    lines = [
        f"The arm goes from cylinder {way.attrs['arm']:,} to {int(way.cylinder[taken]):,} in {one['move']:.2f} ms. "
        "All replicas are in this cylinder."
        if copies > 1
        else f"The arm goes from cylinder {way.attrs['arm']:,} to {int(way.cylinder[taken]):,} in {one['move']:.2f} ms.",
        f"Then the platter rotates for {one['rotation']:.2f} ms to the start of the data; a revolution takes "
        f"{way.attrs['revolution'] / MS:.2f} ms."
        + (f" Before a write, the head settles for {one['settle']:.2f} ms." if one["settle"] else "")
        + (f" Before the seek, the drive needs {one['overhead']:.2f} ms for the command." if one["overhead"] else ""),
    ]
    if copies > 1:
        later = np.sort((totals - totals.sel(replica=taken)).values)[1:]
        *first, last = [f"{more:.2f}" for more in later]
        others = f"{', '.join(first)} and {last} ms" if first else f"{last} ms"
        lines.append(
            f"RSATF selects replica {taken}, which has the shortest positioning time; the access to "
            f"{'the other replicas' if first else 'the other replica'} would end {others} later."
        )
    size = f"{way.attrs['size'] / KB:,.0f} KB"
    headline = (
        f"The first sector is under the head after {float(under):.2f} ms, and all {size} are transferred after "
        f"{float(totals.sel(replica=taken)):.2f} ms"
    )
    return AnswerText(headline, lines)


def request_way(
    drive: Drive,
    replicas: int = 3,
    arm: float = 0.2,
    address: float = 0.6,
    platter: float = 0.0,
    size: float = 64 * KB,
    read: bool = True,
) -> xr.Dataset:
    """Return the path of one request to each of its rotational replicas (dimension `replica`), from the model of the drive.

    The request is one stripe unit of `size` bytes at `address`, a fraction of the data, on a disk of a 1 x D_r x 1
    SR-Array with D_r = `replicas`. arm: initial position of the arm, from 0 (outermost cylinder) to 1 (innermost).
    platter: angle at the start, in turns.

    Returns
    -------
    Dataset
        Duration of each of the `PARTS`, seconds; `cylinder`, `head` and `angle` (turns from the index mark) of the
        data; `taken`, the replica that RSATF selects. Attributes: the arguments, `revolution`, `cylinders`, and `zones`
        (the first cylinder of each zone).

    Raises
    ------
    InputError
        If a number is out of range.
    """
    _require_possible(drive, replicas, arm, address, platter, size)
    sectors = max(round(size / SECTOR / drive.grain), 1) * drive.grain
    layout = SRMirror(stripes=1, replicas=replicas, unit=sectors)
    units = int(layout.capacity(drive)) // sectors
    target = _located(layout, drive, _row(round(address * (units - 1)) * sectors), sectors)
    here = Arm(_row(round(arm * (drive.cylinders - 1))), _row(0))
    angle, none, reads = _row(np.float32(platter % 1.0)), _row(np.int32(0)), jnp.array([read])
    locations = [layout.replica(drive, target, none, index) for index in range(replicas)]
    takes = [drive.positioning(here, angle, location, reads) for location in locations]
    reach = nearest_replica(layout, drive, drive, here, angle, target, reads, none, None)
    seek = _column(one.seek for one in takes)
    overhead = np.full(replicas, float(drive.overhead))
    moved = np.maximum(seek - overhead, 0.0)
    settles = (_column(location.cylinder for location in locations) != int(here.cylinder[0])) | bool(
        drive.settles_on_switch
    )
    settle = np.where((moved > 0) & settles & (not read), float(drive.write_settle), 0.0)
    columns = {
        "overhead": overhead,
        "move": moved - settle,
        "settle": settle,
        "rotation": _column(one.rotation for one in takes),
        "transfer": _column(location.transfer for location in locations),
    }
    angles = _column(location.angle for location in locations) % 1.0
    return xr.Dataset(
        {name: ("replica", seconds, {"units": "s", "long_name": PARTS[name]}) for name, seconds in columns.items()}
        | {
            "cylinder": ("replica", _column(location.cylinder for location in locations).astype(int)),
            "head": ("replica", _column(location.head for location in locations).astype(int)),
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
    """Return the mean seek and rotation of random reads under RSATF, for each number of rotational replicas.

    The reads are on a disk of a 1 x D_r x 1 SR-Array, with D_r along the dimension `replicas`. Arm and platter begin at
    random positions.

    `seek` (command and arm movement) and `rotation` are mean times, seconds. `formula` is R / (2 D_r), the mean
    rotation according to the paper; R is the time of a revolution.
    """
    SIZE("size", size)
    draw = np.random.default_rng(seed)
    shares, cylinders, angles = draw.random((3, _ACCESSES), np.float32)
    sectors = max(round(size / SECTOR / drive.grain), 1) * drive.grain
    none, reads = _row(np.int32(0), _ACCESSES), jnp.ones(_ACCESSES, bool)
    here, angle = Arm(_as_array((cylinders * drive.cylinders).astype(int)), none), _as_array(angles)

    def mean(replicas: int) -> tuple[float, float]:
        layout = SRMirror(stripes=1, replicas=replicas, unit=sectors)
        units = int(layout.capacity(drive)) // sectors
        target = _located(layout, drive, _as_array((shares.astype(float) * units).astype(np.int64) * sectors), sectors)
        reach = nearest_replica(layout, drive, drive, here, angle, target, reads, none, None)
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


def _row(value: float | np.generic, count: int = 1) -> AnyArray:
    return _as_array(np.full(count, value))


def _as_array(values: np.ndarray) -> AnyArray:
    # NumPy on the host, because large drives have addresses of 64 bits
    return cast(Array, values)


def _located(layout: SRMirror, drive: Drive, sector: AnyArray, sectors: int) -> Target:
    none = _as_array(np.zeros(sector.shape, np.int32))
    words = none.astype(np.uint32)
    requests = Requests(none, sector, none + sectors, none == 0, words, words, none != 0, none, none)
    return layout.locate(drive, requests).target


def _column(values: Iterable[AnyArray]) -> np.ndarray:
    return np.array([float(np.asarray(value)[0]) for value in values])


def _require_possible(drive: Drive, replicas: int, arm: float, address: float, platter: float, size: float) -> None:
    if not isinstance(drive, Drive):
        raise InputError(f"drive {getattr(drive, 'name', drive)}: this drive has no arm and no platter; give a disk")
    COUNT("replicas", replicas)
    most = min(MOST_REPLICAS, drive.heads)
    require(
        replicas <= most,
        "replicas",
        replicas,
        f"at most {most}, because each replica needs a separate track of one cylinder",
    )
    SHARE("arm", arm)
    SHARE("address", address)
    SHARE("platter", platter)
    SIZE("size", size)
