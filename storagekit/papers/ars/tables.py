"""Tables I and II: the simulated nodes and volumes, compared with the numbers of the paper.

Capacities are in bytes, times in seconds.
"""

from itertools import accumulate

import numpy as np
import xarray as xr

from storagekit.core.provenance import made_by
from storagekit.core.units import MS, SECTOR
from storagekit.drive import load_drive
from storagekit.drive.seek import mean_seek
from storagekit.papers.ars.cluster import DRIVES, NODES, PUBLISHED, SCALED, drives, layout
from storagekit.placement.nodes import laid_out

# Table I: capacity of a disk (with decimal prefixes), rpm, and mean seek time.
SAID = {"capacity": (9.1e9, 9.1e9, 400e9, 4.5e9), "rpm": (10025, 7200, 7200, 10033)}
SAID_SEEK = tuple(ms * MS for ms in (5, 7, 8.2, 7.7))
VOLUMES = ("replicated", "erasure-coded")
# Layouts that differ in the data on each node.
LAYOUTS = ("scaled", "wrapped")


def table1() -> xr.Dataset:
    """Return the properties of the disks of each node, from the paper and from the drive files (table I).

    Returns
    -------
    Dataset
        Over `kind` ("published", "ours") and `node`: `capacity`, the capacity of a disk; `rpm`, its revolutions a
        minute; `seek`, its mean seek time. In "ours" the mean is over all pairs of cylinders of the drive file. Over
        `node`: `disks`, the number of disks; `drive`, the name of the drive; `raid5`, whether the node is a RAID 5;
        `room`, the capacity of a node for data, without the parity of a RAID 5.
    """
    found = [load_drive(name) for name in DRIVES]
    ours = {
        "capacity": [drive.capacity * SECTOR for drive in found],
        "rpm": [60 / float(drive.revolution) for drive in found],
        "seek": [float(mean_seek(drive.seek, drive.cylinders)) for drive in found],
    }
    said = SAID | {"seek": SAID_SEEK}
    units = {"capacity": "B", "rpm": "1/min", "seek": "s"}
    variables = {name: (("kind", "node"), [said[name], ours[name]], {"units": units[name]}) for name in ours}
    measured = layout().for_drive(drives(layout())).nodes
    data = xr.Dataset(
        variables
        | {
            "disks": ("node", [node.disks for node in NODES]),
            "drive": ("node", [drive.name for drive in found]),
            "raid5": ("node", [node.raid5 for node in NODES]),
            "room": ("node", [node.spaces * node.room * SECTOR for node in measured], {"units": "B"}),
        },
        coords={"kind": ["published", "ours"], "node": np.arange(len(NODES))},
    )
    return data.assign_attrs(made_by("analytic"), paper="ars", exhibit="ars.tableI")


def table2() -> xr.Dataset:
    """Return the properties of the volumes (table II) in two layouts.

    In the layout "scaled" the volumes are scaled until they fit on the nodes. In "wrapped" they have their published
    size.

    Returns
    -------
    Dataset
        Over `layout` and `volume`: `capacity`, the bytes of data; `stored`, the bytes of all copies or fragments. Over
        `volume`, as published: `segment`, the bytes of a segment; `block`, the bytes of a block; `parts`, the number of
        copies or fragments; `needed`, the number of copies or fragments that a read needs. Over `layout`, `volume` and
        `node`: `on`, the fraction of the volume's segments that have a copy or fragment on the node.
    """
    kinds = [layout(name) for name in LAYOUTS]
    capacity = np.array([SCALED, PUBLISHED]) * SECTOR
    parts, needed = (np.array([getattr(one, name) for one in kinds[0].volumes]) for name in ("parts", "needed"))
    data = xr.Dataset(
        {
            "capacity": (("layout", "volume"), capacity, {"units": "B"}),
            "stored": (("layout", "volume"), capacity * parts // needed, {"units": "B"}),
            "segment": ("volume", [one.segment * SECTOR for one in kinds[0].volumes], {"units": "B"}),
            "block": ("volume", [one.block * SECTOR for one in kinds[0].volumes], {"units": "B"}),
            "parts": ("volume", parts),
            "needed": ("volume", needed),
            "on": (("layout", "volume", "node"), [_on(name) for name in LAYOUTS], {"units": "1"}),
        },
        coords={"layout": list(LAYOUTS), "volume": list(VOLUMES), "node": np.arange(len(NODES))},
    )
    return data.assign_attrs(made_by("analytic"), paper="ars", exhibit="ars.tableII")


def _on(name: str) -> list[list[float]]:
    """Return, for each volume and node, the fraction of the segments that have a copy or fragment on the node."""
    volumes = layout(name).for_drive(drives(layout(name)))
    first = [*accumulate(volumes.brick_sizes, initial=0)]
    # Node of the first drive of each part of each segment. A part that does not exist is beyond all drives.
    where = (
        np.searchsorted(first, laid_out(volumes.nodes, volumes.volumes, volumes.wraps, volumes.spread)[::3], "right")
        - 1
    )
    ends = np.cumsum([volume.segments for volume in volumes.volumes])
    each = np.split(where, ends[:-1], axis=1)
    return [[float((its == node).any(axis=0).mean()) for node in range(len(NODES))] for its in each]
