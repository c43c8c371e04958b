"""Response times with a larger cache, compared with more disks: figure 11 (section 4.1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from storagekit import plan
from storagekit.core.units import MB
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.srarray.agreement import paired
from storagekit.papers.srarray.disk import QUICK, ArrayEffort
from storagekit.papers.srarray.disk_array import WORKLOADS, ArrayRun, large, on_axes, over_windows, small
from storagekit.papers.srarray.replays import recommended, stand_in

CELLO_DISKS = (1, 2, 4)
TPCC_DISKS = (12, 18, 24, 36)
CELLO_MEMORY = (0, 32, 64, 128, 192, 256, 320, 384, 512)
TPCC_MEMORY = (0, 128, 256, 512, 1_024, 2_048, 4_096)
RATES = (1.0, 3.0)
REUSE = {
    "Cello base": (
        "The times after which the synthetic trace reads a block again are assumed. A cache of 1 to 4% of the data "
        "has more hits with this trace than with the similar real trace of 1992. Asynchronous writes go to disk, "
        "whether there is a cache or not."
    ),
    "TPC-C": (
        "We assume that the synthetic trace reads any block that was written in the preceding hour with equal "
        "probability."
    ),
}


class BreakEven(NamedTuple):
    """The memory that has the same effect as more disks, and the price ratio at which memory and disks cost the same.

    Parameters
    ----------
    disks : int
        Number of disks.
    memory : float or None
        Size of the memory, in bytes, with which the response time is the same as with `disks` disks. It is None if the
        response time is longer with every simulated size, or shorter already with the smallest size.
    ratio : float or None
        Price of a byte of memory divided by the price of a byte of disk at which the memory and the additional disks
        cost the same; None if `memory` is None.
    """

    disks: int
    memory: float | None
    ratio: float | None


def fig11(
    effort: ArrayEffort = QUICK, *, workload: str = "Cello base", memory: Sequence[float] | None = None
) -> xr.Dataset:
    """Return the response time with more disks, and with a cache in front of the fewest disks (figure 11).

    Parameters
    ----------
    effort : ArrayEffort
        Number and length of the windows.
    workload : str
        A name of `WORKLOADS`, by default "Cello base".
    memory : sequence of float, optional
        Sizes of the cache, bytes, by default `CELLO_MEMORY` or `TPCC_MEMORY`.

    Returns
    -------
    Dataset
        Variables over `scale` (one and three times the rate of the trace) and `seed` (the number of the window).
        `with_disks`, also over `disks`: response time without cache, seconds. `with_memory`, also over `memory`:
        response time of the fewest disks with a cache of this size, seconds. `hit_rate`, also over `memory`: fraction
        of the reads that hit.

    Notes
    -----
    The contents of the LRU cache at the start of a window, and its hits in the window, follow from all earlier requests
    of the trace.

    References
    ----------
    srarray, figure 11 and section 4.1.
    """
    cello = workload != "TPC-C"
    array = small(effort) if cello else large(effort)
    disks = CELLO_DISKS if cello else TPCC_DISKS
    sizes = [size * MB for size in (CELLO_MEMORY if cello else TPCC_MEMORY)] if memory is None else list(memory)
    shapes = [str(recommended(workload, count)) for count in disks]
    more_disks = [ArrayRun(shape, scale) for shape in shapes[1:] for scale in RATES]
    more_memory = [ArrayRun(shapes[0], scale, memory=size) for size in sizes for scale in RATES]
    data = on_axes(over_windows(effort, workload, array, more_disks + more_memory), ("layout", "scale", "memory"))
    found = xr.Dataset(
        {
            "with_disks": data.response.sel(memory=0, drop=True).sel(layout=shapes).rename(layout="disks"),
            "with_memory": data.response.sel(layout=shapes[0], drop=True),
            "hit_rate": data.hit_rate.sel(layout=shapes[0], drop=True),
        }
    )
    return found.assign_coords(disks=list(disks)).assign_attrs(data.attrs, exhibit="srarray.fig11")


def break_even(data: xr.Dataset, workload: str, disks: int, scale: float) -> BreakEven:
    """Return the memory with the same effect as more disks, and the price ratio at which the two cost the same.

    Parameters
    ----------
    data : Dataset
        Result of `fig11`. Its means over the windows are compared.
    workload : str
        A name of `WORKLOADS`.
    disks : int
        Number of disks.
    scale : float
        Request rate in the run divided by the request rate of the trace.

    Returns
    -------
    BreakEven
        The memory, interpolated between cache sizes, and the price ratio.

    Notes
    -----
    An additional disk is counted at the price of as much disk space as the data set needs (see `plan.memory`).

    References
    ----------
    srarray, section 4.1.
    """
    goal = float(data.with_disks.sel(disks=disks, scale=scale).mean("seed"))
    response = data.with_memory.sel(scale=scale).mean("seed").values
    size = data.memory.values.astype(float)
    enough = np.flatnonzero(response <= goal)
    if len(enough) == 0 or enough[0] == 0:
        return BreakEven(disks, None, None)
    first = int(enough[0])
    needed = float(np.interp(-goal, -response[first - 1 : first + 1], size[first - 1 : first + 1]))
    added = disks - int(data.disks.values[0])
    answer = plan.memory(cache=needed, disks=added, disk_size=WORKLOADS[workload].data)
    return BreakEven(disks, needed, answer.break_even)


def fig11_findings(base: xr.Dataset, tpcc: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 11, which compare memory with more disks.

    If no simulated size of the memory has the same effect as more disks, the finding has no measured value.

    Parameters
    ----------
    base, tpcc : Dataset
        Results of `fig11` for "Cello base" and "TPC-C".

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.fig11`.

    References
    ----------
    srarray, figure 11 and section 4.1.
    """
    wanted = [
        ("srarray.fig11.cello_double", base, "Cello base", 2, 1.0),
        ("srarray.fig11.cello_four", base, "Cello base", 4, 1.0),
        ("srarray.fig11.cello_triple", base, "Cello base", 2, 3.0),
        ("srarray.fig11.tpcc[rate_1]", tpcc, "TPC-C", 18, 1.0),
        ("srarray.fig11.tpcc[rate_3]", tpcc, "TPC-C", 18, 3.0),
    ]
    found = [
        _break_even(claim, break_even(data, workload, disks, scale), data, scale)
        for claim, data, workload, disks, scale in wanted
    ]
    disks = tpcc.with_disks.sel(scale=3.0)
    gain = paired(disks.sel(disks=18, drop=True), disks.sel(disks=36, drop=True))
    note = f"The value is the response time with 18 disks divided by the response time with 36 disks. {stand_in(tpcc)}"
    return [*found, with_interval("srarray.fig11.tpcc_disks", gain, note, "stand-in")]


def _break_even(claim: str, answer: BreakEven, data: xr.Dataset, scale: float) -> Measurement:
    """Return the finding on a price ratio. If there is no ratio, the note gives the reason."""
    reuse = f"{REUSE[data.attrs['workload']]} {stand_in(data)}"
    most = float(data.memory.max()) / 1e6
    response = data.with_memory.sel(scale=scale).mean("seed")
    best, least = float(response.min()), float(response.isel(memory=0))
    goal = float(data.with_disks.sel(disks=answer.disks, scale=scale).mean("seed"))
    if answer.ratio is None or answer.memory is None:
        reason = "already the smallest memory gives" if least <= goal else "no simulated memory gives"
        note = (
            f"The claim was not tested, because {reason} the response time of {answer.disks} disks. The shortest "
            f"response time with up to {most:.0f} MB is {best * 1e3:.2f} ms, and the response time with "
            f"{answer.disks} disks is {goal * 1e3:.2f} ms. {reuse}"
        )
        return Measurement(claim, None, basis="stand-in", note=note)
    return Measurement(
        claim,
        answer.ratio,
        basis="stand-in",
        note="The value is the ratio of the prices of a byte of memory and a byte of disk at which the memory and the "
        f"additional disks cost the same. A memory of {answer.memory / 1e6:.0f} MB gives the response time of "
        f"{answer.disks} disks. {reuse}",
    )
