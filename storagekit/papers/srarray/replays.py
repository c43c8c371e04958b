"""The exhibits that replay traces: figures 6 to 10, and the real traces of the same family.

Every Dataset has the measures of a sweep over `layout` and, where the rate rises, its `scale`, and over `seed`, which numbers
the windows of the trace; response times leave asynchronous writes out and include the overhead.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

from storagekit.analytic.array import equations
from storagekit.metrics import sweep
from storagekit.papers.srarray.system import MECHANICS, QUICK, WORKLOADS, DiskArray, Effort, Run, large, small, window
from storagekit.plan import Layout, best_sr_array
from storagekit.resources import real_traces
from storagekit.units import MS, SECTOR
from storagekit.workload import wrapped
from storagekit.workload.trace import read
from storagekit.workload.trace.locality import seek_locality

DISKS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12)
TPCC_DISKS = (12, 18, 24, 30, 36)
CELLO_LAYOUTS = ("2x3x1", "3x2x1", "1x6x1", "3x1x2", "1x1x6", "6x1x1")
TPCC_LAYOUTS = ("9x4x1", "12x3x1", "18x1x2", "18x2x1", "36x1x1")
CELLO_SCALES = (1.0, 4.0, 16.0, 32.0, 45.0, 64.0, 80.0, 96.0, 112.0, 128.0, 180.0)
TPCC_SCALES = (1.0, 2.0, 4.0, 6.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 16.0, 20.0)
LIMIT = 15 * MS
# in the folder of real traces
REAL = {"hplajw": "hplajw-1992/ajw.1week.srt.xz", "cello2003": "cello-hpl-2003/hourly.03126.srt.bz2"}


def recommended(workload: str, disks: int) -> Layout:
    """The SR-Array that the paper's rule gives for a workload (equation 5 with S / L, propagation in the background)."""
    model = WORKLOADS[workload]
    return rule(disks, model.read_share, model.locality)


def rule(disks: int, read_share: float, locality: float) -> Layout:
    """The aspect ratio of equation 5, rounded as the paper does; propagation in the background makes p one."""
    answer = best_sr_array(MECHANICS, disks, read_share=read_share, queue=1.0, locality=locality, background=1.0)
    assert answer.paper is not None
    return answer.paper.layout


def modelled(workload: str, shape: Layout) -> float:
    """Response time that the latency model gives an SR-Array, seconds: equation 4 and the overhead."""
    seek, turn, locality = MECHANICS.full_seek, MECHANICS.revolution, WORKLOADS[workload].locality
    latency = equations.read_latency(seek, turn, shape.striping, shape.replicas, locality)
    return MECHANICS.overhead + float(latency)


def aspects(disks: int, most: int = equations.MOST_REPLICAS) -> list[str]:
    """Every D_s x D_r x 1 of so many disks."""
    return [f"{disks // r}x{r}x1" for r in range(1, most + 1) if disks % r == 0]


def fig6(effort: Effort = QUICK, *, workload: str = "Cello base", disks: Sequence[int] = DISKS) -> xr.Dataset:
    """Response time of a Cello workload at its own speed: striping, RAID-10, mirrors and every SR-Array (figures 6, 7)."""
    names = [name for count in disks for name in aspects(count)]
    names += [f"{count // 2}x1x2" for count in disks if count % 2 == 0] + [
        f"1x1x{count}" for count in disks if count > 1
    ]
    data = over_windows(effort, workload, small(effort), [Run(name) for name in dict.fromkeys(names)])
    return on_axes(data, ("layout",)).assign_attrs(exhibit="srarray.fig6")


def fig8(effort: Effort = QUICK, *, disks: Sequence[int] = TPCC_DISKS) -> xr.Dataset:
    """Response time of TPC-C at its own speed from 12 to 36 disks (figure 8)."""
    names = [name for count in disks for name in aspects(count)] + [f"{count // 2}x1x2" for count in disks]
    data = over_windows(effort, "TPC-C", large(effort), [Run(name) for name in names])
    return on_axes(data, ("layout",)).assign_attrs(exhibit="srarray.fig8")


def by_scheme(data: xr.Dataset, workload: str, disks: Sequence[int]) -> xr.DataArray:
    """Response times, seconds, of `fig6` or `fig8` by `scheme` and `disks`; the SR-Array is the best of its aspect ratios.

    data: of either, over windows (`seed`), by whose mean the best is chosen; workload: its name, for the model.
    NaN where a scheme has no such number of disks. The scheme "Model" is equation 4's latency and the overhead, of the layout
    that the paper's rule gives.
    """
    mean = data.response.mean("seed")
    schemes = {
        "SR-Array": [min(aspects(count), key=lambda name: float(mean.sel(layout=name))) for count in disks],
        "D-way mirror": [f"1x1x{count}" for count in disks],
        "RAID-10": [f"{count / 2:g}x1x2" for count in disks],
        "Striping": [f"{count}x1x1" for count in disks],
    }
    blank = xr.full_like(data.response.isel(layout=0, drop=True), np.nan)
    known = set(data.layout.values)

    def row(names: list[str]) -> xr.DataArray:
        found: list[xr.DataArray] = [
            data.response.sel(layout=name, drop=True) if name in known else blank for name in names
        ]
        return xr.concat(found, dim="disks")

    rows = [row(names) for names in schemes.values()]
    model = [modelled(workload, recommended(workload, count)) for count in disks]
    rows.append(blank.fillna(0.0) + xr.DataArray(model, dims="disks"))
    joined = xr.concat(rows, dim="scheme", coords="minimal", compat="override").rename("response")
    return joined.assign_coords(scheme=[*schemes, "Model"], disks=list(disks))


def by_aspect(data: xr.Dataset, disks: Sequence[int], most: int = equations.MOST_REPLICAS) -> xr.DataArray:
    """Response times, seconds, of SR-Arrays by `disks` and `replicas`, D_r up to `most` (figure 7); NaN where none is."""
    blank = xr.full_like(data.response.isel(layout=0, drop=True), np.nan)

    def cell(count: int, replicas: int) -> xr.DataArray:
        name = f"{count // replicas}x{replicas}x1"
        return data.response.sel(layout=name, drop=True) if count % replicas == 0 else blank

    rows = [xr.concat([cell(count, r) for r in range(1, most + 1)], dim="replicas") for count in disks]
    return xr.concat(rows, dim="disks").assign_coords(disks=list(disks), replicas=range(1, most + 1)).rename("response")


def fig10(effort: Effort = QUICK, *, workload: str = "Cello base", scales: Sequence[float] | None = None) -> xr.Dataset:
    """Response time as the rate rises: six disks for Cello base, 36 for TPC-C (figures 9 and 10).

    Dimension `scheduler`: "SATF" (RSATF on replicas) for every layout, "LOOK" (RLOOK) for those of figure 9. Windows are as
    long as those of memory, and a fifth of each passes unmeasured, so that an array that cannot keep up has time to show it.
    """
    effort = effort._replace(requests=effort.memory_requests)
    array, names, rates = _family(effort, workload)
    pair = [names[0], names[-1]]
    points = [(name, float(scale)) for name in names for scale in scales or rates]
    runs = [Run(name, scale, look=0) for name, scale in points]
    runs += [Run(name, scale, look=1) for name, scale in points if name in pair]
    found = over_windows(effort, workload, array, runs, warm_up=0.2)
    named = found.assign_coords(scheduler=("run", [("SATF", "LOOK")[run.look] for run in runs]))
    return on_axes(named, ("layout", "scale", "scheduler")).assign_attrs(exhibit="srarray.fig10")


def sustained(data: xr.Dataset, limit: float = LIMIT) -> xr.DataArray:
    """The scale of the rate at which the mean response time reaches `limit`, for each layout and window.

    Between scales both are interpolated logarithmically. NaN where no scale reaches the limit, or the first exceeds it.
    """

    def crossing(response: np.ndarray, scale: np.ndarray) -> float:
        above = np.flatnonzero(response > limit)
        if len(above) == 0 or above[0] == 0:
            return float("nan")
        first = int(above[0])
        low, high = np.log(response[first - 1 : first + 1])
        part = (np.log(limit) - low) / (high - low)
        return float(np.exp(np.interp(part, [0, 1], np.log(scale[first - 1 : first + 1]))))

    return xr.apply_ufunc(
        crossing, data.response, data.scale, input_core_dims=[["scale"], ["scale"]], vectorize=True
    ).rename("sustained_scale")


def traces(effort: Effort = QUICK, folder: str | Path = "", *, scales: Sequence[float] = (1.0, 8.0, 64.0)):
    """Real traces through the six-disk layouts of figure 10, by `trace`, `layout`, `scale` and `seed` (spindle phases).

    folder: see `resources.real_traces`; None is returned where none of it is there. Each trace's devices are laid end to end
    as one data set, what lies beyond the drive's size wrapping around (`wrapped`); `requests_of` it, as many as a window of a
    stand-in has, are run from its start. `recommended` is the layout of equation 5 at the `locality` of these requests.
    """
    lying = {name: real_traces(folder) / file for name, file in REAL.items()}
    there = {name: path for name, path in lying.items() if path.is_file()}
    if not there:
        return None
    array, found = small(effort), []
    for name, path in there.items():
        cut = read(path).take(slice(0, effort.requests))
        size = float(min(cut.concatenated().ends()[0], 0.99 * array.drive.capacity * SECTOR))
        data = sweep(
            lambda layout, scale, cut=cut, size=size: array.replays(Run(layout, scale), cut, size),
            {"layout": list(CELLO_LAYOUTS), "scale": list(scales)},
            seeds=list(range(effort.first_seed, effort.first_seed + 4)),
            requests=len(cut),
            warm_up=0,
            allow_held_up=True,
        )
        whole = cut.concatenated()
        folded = replace(whole, offset=whole.offset % int(size))
        local = seek_locality(folded, {whole.devices[0]: int(size)}) or 1.0
        data["requests_of"], data["locality"] = ((), len(cut)), ((), local)
        data["recommended"] = ((), str(rule(6, float(cut.read.mean()), max(1.0, local))))
        data["wrapped"] = ((), wrapped(cut, int(size / SECTOR)))
        found.append(data.assign_coords(trace=name))
    joined = xr.concat(found, dim="trace", combine_attrs="override")
    return joined.assign_attrs(paper="srarray", exhibit="srarray.traces", basis="trace")


def _family(effort: Effort, workload: str) -> tuple[DiskArray, list[str], tuple[float, ...]]:
    """The array of figures 9 and 10, its layouts, the recommended one first and striping last, and the rates."""
    if workload == "TPC-C":
        return large(effort), list(TPCC_LAYOUTS), TPCC_SCALES
    return small(effort), list(CELLO_LAYOUTS), CELLO_SCALES


def over_windows(
    effort: Effort, workload: str, array: DiskArray, runs: Sequence[Run], warm_up: float = 0.0
) -> xr.Dataset:
    """Every run on every window of a stand-in, all runs of a window as one batch: dimensions `run` and `seed`, the window.

    warm_up: the share of each window's requests that passes before measuring begins.
    """
    size = WORKLOADS[workload].data
    found = []
    for number in range(effort.first_seed, effort.first_seed + effort.windows):
        trace = window(workload, effort.requests, number)
        data = sweep(
            lambda run, trace=trace: array.replays(runs[run], trace, size),
            {"run": range(len(runs))},
            seeds=[number],
            requests=effort.requests,
            warm_up=int(warm_up * effort.requests),
            allow_held_up=True,
        )
        found.append(data)
    joined = xr.concat(found, dim="seed", combine_attrs="override")
    coords = {name: ("run", [getattr(run, name) for run in runs]) for name in ("layout", "scale", "memory")}
    return joined.assign_coords(coords).assign_attrs(
        paper="srarray",
        workload=workload,
        basis="stand-in",
        slots=array.slots,
        table=array.table,
        window=effort.requests,
    )


def on_axes(data: xr.Dataset, axes: Sequence[str]) -> xr.Dataset:
    """The dimension `run` as the grid that its coordinates `axes` span, NaN where nothing was run, in the order they came."""
    order = {axis: list(dict.fromkeys(data[axis].values.tolist())) for axis in axes}
    others = [name for name in data.coords if data[name].dims == ("run",) and name not in axes]
    plain = data.drop_vars(others)
    if len(axes) == 1:
        return plain.swap_dims(run=axes[0])
    return plain.set_index(run=list(axes)).unstack("run").reindex(order)
