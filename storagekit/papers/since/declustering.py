"""Declustered parity: response times without a loss, after a loss and during a rebuild, by the size of the groups."""

from collections.abc import Sequence

import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.provenance import made_jointly
from storagekit.core.units import SECTOR
from storagekit.dispatch import Broadcast
from storagekit.drive import Drive, load_drive
from storagekit.engine import Scenario, System
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement, with_interval, with_intervals
from storagekit.papers.since.claims import ACCESSES
from storagekit.papers.since.selection import QUICK, above_one
from storagekit.placement import AbstractPlacement, AfterLoss, DeclusteredParity
from storagekit.schedule import SATF
from storagekit.simulation import by_stream, interval, ratio, rebuild_scenario, sweep
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests

DISKS = 21
# Smallest group: in smaller groups, writes read other units.
FEWEST = 4
# Sizes of the groups. Each leaves the space of one of the 21 disks free, as distributed spare space.
GROUPS = (4, 10, 20)
# Requests of a run, as a multiple of the requests of a run of `tails`.
_LONGER = 3
# Users' requests a second, with which the disks are busy for about a quarter of the time.
USERS, RATE = RandomRequests(FixedSize(4096), read_share=0.5), 300.0
# Restored bytes a second during a rebuild, and bytes of one request of the rebuild.
REBUILD, CHUNK = 4e6, 2**20
STATES = ("no loss", "after a loss", "during a rebuild")
# Response times count as equal if they differ by less than this share.
_EQUAL = 0.05


def declustering(effort: Effort = QUICK, *, group: Sequence[int] = GROUPS) -> xr.Dataset:
    """Return the response times of 21 disks with declustered parity, by the size of the groups.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    group : sequence of int
        Numbers of units of a row, including its parity, in increasing order; at least 4, and not a divisor of 21.

    Returns
    -------
    Dataset
        Over `state`, `group` and `seed`: `response`, mean response time of users' requests, seconds. Over `group` and
        `seed`: `accesses`, accesses for each user's request after a loss; `rebuild_time`, estimated time of a rebuild that
        uses all idle time of the disks, seconds.

    Raises
    ------
    InputError
        If a group is too small, or leaves no spare space.

    Notes
    -----
    Half of the requests are reads. All have 4 KB. After a loss, a read of lost data reads all other units of its row. All
    disks share this work. With small groups, each disk has a small part of it.

    The simulated rebuild restores 4 MB a second to the distributed spare space, in the order of addresses. The estimate
    `rebuild_time` uses the additional utilization of the disks for each restored byte of this rebuild, and the idle time
    at its beginning. It assumes that a rebuild works on many slices at once, so that all disks share it at any time. A
    rebuild in the order of addresses uses only the disks of one group at a time, and takes longer.
    """
    for size in group:
        if size < FEWEST or DISKS % size == 0 or size > DISKS:
            raise InputError(
                f"group {size}: give a size from {FEWEST} to {DISKS - 1} that does not divide {DISKS}, so that spare "
                "space is distributed"
            )
    drive, runs, requests = load_drive("atlas10k"), effort.seed_list, _LONGER * effort.requests

    def system(layout: AbstractPlacement) -> System:
        return System(drive, layout, Broadcast(), SATF())

    def complete(group: int) -> Scenario:
        return Scenario(system(DeclusteredParity(DISKS, group)), PoissonArrivals(USERS, RATE))

    def lost(group: int, run: int, **rebuild: float) -> Scenario:
        layout = system(AfterLoss(DeclusteredParity(DISKS, group)))
        # a run that ends at a number of completions needs some more arrivals
        return rebuild_scenario(layout, USERS, rate=RATE, requests=requests + 200, seed=run, **rebuild)

    length = {"requests": requests, "warm_up": requests // 5}
    found = [sweep(complete, {"group": group}, seeds=runs, **length)]
    for rebuild in ({}, {"rebuild_rate": REBUILD, "chunk": CHUNK}):
        data = sweep(
            lambda group, run, rebuild=rebuild: lost(group, run, **rebuild),
            {"group": group, "run": runs},
            seeds=[effort.first_seed],
            measures=by_stream(2),
            **length,
        )
        found.append(data.isel(seed=0, drop=True).rename(run="seed"))
    response = xr.concat([one.response for one in found], "state").assign_coords(state=list(STATES))
    busy = [one.utilization.sum("brick") / (DISKS - 1) for one in found[1:]]
    restored = xr.DataArray([_restored(drive, size) for size in group], {"group": list(group)})
    work = (busy[1] - busy[0]) / found[2].stream_throughput.sel(stream=1, drop=True)
    data = xr.Dataset(
        {
            "response": response.assign_attrs(units="s", long_name="mean response time"),
            "accesses": (found[1].accesses / found[1].requests).assign_attrs(
                units="1", long_name="accesses of a request"
            ),
            "rebuild_time": (restored * work / (1 - busy[0])).assign_attrs(
                units="s", long_name="estimated time of a rebuild that uses all idle time"
            ),
        }
    )
    return data.assign_attrs(made_jointly([one.attrs for one in found]) | {"seeds": runs})


def _restored(drive: Drive, group: int) -> float:
    """Return the number of bytes that a rebuild restores: the used space of a disk without its spare space."""
    layout = AfterLoss(DeclusteredParity(DISKS, group))
    return float(layout.used(drive)) * SECTOR * (1 - float(layout.layout.spare_units) / DISKS)


def declustering_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on declustered parity.

    Parameters
    ----------
    data : Dataset
        Result of `declustering`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.declustering`.
    """
    response = data.response
    intact = ratio(response.sel(state=STATES[0]), response.sel(state=STATES[0]).isel(group=0))
    equal = bool(((intact.sel(statistic="low") > 1 - _EQUAL) & (intact.sel(statistic="high") < 1 + _EQUAL)).all())
    apart = int(abs(intact.sel(statistic="mean") - 1).argmax("group"))
    farthest = intact.isel(group=apart).drop_vars(["group", "state"])
    text = (
        f"The number is the response time with groups of {int(data.group[apart])}, divided by the response time with "
        f"groups of {int(data.group[0])}."
    )
    return [
        with_interval("since.declustering.no_loss", farthest, text, holds=equal),
        above_one("since.declustering.after_loss", _steps(response.sel(state=STATES[1], drop=True))),
        above_one("since.declustering.rebuild", _steps(response.sel(state=STATES[2], drop=True))),
        above_one("since.declustering.rebuild_time", _steps(data.rebuild_time)),
        *with_intervals(ACCESSES, interval(data).accesses),
    ]


def _steps(values: xr.DataArray) -> xr.DataArray:
    """Return the ratio of the value with each size of the groups to the value with the next smaller size."""
    return ratio(values, values.shift(group=1)).isel(group=slice(1, None))
