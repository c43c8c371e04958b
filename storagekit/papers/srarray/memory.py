"""Figure 11: a bigger cache, or more disks?"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from storagekit.papers.srarray.replays import on_axes, over_windows, recommended
from storagekit.papers.srarray.system import QUICK, WORKLOADS, Effort, Run, large, small
from storagekit.plan import memory_or_disks
from storagekit.units import MB

CELLO_DISKS = (1, 2, 4)
TPCC_DISKS = (12, 18, 24, 36)
CELLO_MEMORY = (0, 16, 32, 64, 126, 192, 336)
TPCC_MEMORY = (0, 64, 128, 256, 400)
RATES = (1.0, 3.0)


def fig11(effort: Effort = QUICK, *, workload: str = "Cello base", memory: Sequence[float] | None = None) -> xr.Dataset:
    """Response time by `disks` without memory, and by `memory` with the fewest disks, at one and three times the rate.

    Variables `with_disks` [disks, scale, seed] and `with_memory` [memory, scale, seed] in seconds, `hit_rate` of reads;
    memory in bytes. It starts empty and fills from the window's own requests; its first half is not measured.
    """
    cello = workload != "TPC-C"
    array = small(effort) if cello else large(effort)
    disks = CELLO_DISKS if cello else TPCC_DISKS
    sizes = [size * MB for size in (CELLO_MEMORY if cello else TPCC_MEMORY)] if memory is None else list(memory)
    longer = effort._replace(requests=effort.memory_requests, windows=max(1, effort.windows // 3))
    shapes = [str(recommended(workload, count)) for count in disks]
    more_disks = [Run(shape, scale) for shape in shapes[1:] for scale in RATES]
    more_memory = [Run(shapes[0], scale, memory=size) for size in sizes for scale in RATES]
    data = on_axes(
        over_windows(longer, workload, array, more_disks + more_memory, warm_up=0.5), ("layout", "scale", "memory")
    )
    found = xr.Dataset(
        {
            "with_disks": data.response.sel(memory=0, drop=True).sel(layout=shapes).rename(layout="disks"),
            "with_memory": data.response.sel(layout=shapes[0], drop=True),
            "hit_rate": data.hit_rate.sel(layout=shapes[0], drop=True),
        }
    )
    model = WORKLOADS[workload]
    return found.assign_coords(disks=list(disks)).assign_attrs(
        data.attrs, exhibit="srarray.fig11", touched=longer.requests * model.request_size
    )


class BreakEven(NamedTuple):
    """Memory (bytes) that brings what `disks` disks bring, and the price ratio at which it costs as much; None if no size
    that was tried brings it."""

    disks: int
    memory: float | None
    ratio: float | None


def break_even(data: xr.Dataset, workload: str, disks: int, scale: float) -> BreakEven:
    """From the means of `fig11`, between cache sizes by interpolation; the size of the data set is what a disk is charged."""
    goal = float(data.with_disks.sel(disks=disks, scale=scale).mean("seed"))
    response = data.with_memory.sel(scale=scale).mean("seed").values
    size = data.memory.values.astype(float)
    enough = np.flatnonzero(response <= goal)
    if len(enough) == 0 or enough[0] == 0:
        return BreakEven(disks, None, None)
    first = int(enough[0])
    needed = float(np.interp(-goal, -response[first - 1 : first + 1], size[first - 1 : first + 1]))
    added = disks - int(data.disks.values[0])
    answer = memory_or_disks(cache=needed, disks=added, disk_size=WORKLOADS[workload].data)
    return BreakEven(disks, needed, answer.break_even)
