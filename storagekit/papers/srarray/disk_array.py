"""The paper's arrays, and its workloads on them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np
import xarray as xr

from storagekit.cache import LRU
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive
from storagekit.engine import Scenario, System
from storagekit.errors import InputError
from storagekit.lanes import real
from storagekit.metrics import sweep
from storagekit.papers.srarray.disk import ArrayEffort, paper_drive
from storagekit.placement import SRMirror
from storagekit.plan import Layout
from storagekit.schedule import RLOOK, RSATF, ByNumber
from storagekit.units import KB, MB, SECTOR
from storagekit.workload import RecordedArrivals, recorded
from storagekit.workload.standin import CELLO_BASE, CELLO_DISK6, TPCC, SeekingStandIn, generate
from storagekit.workload.trace import RequestTrace
from storagekit.write import Background

WORKLOADS: dict[str, SeekingStandIn] = {model.name: model for model in (CELLO_BASE, CELLO_DISK6, TPCC)}
MOST_MEMORY = 512 * MB
WAYS = 8


def placed(shape: Layout, drive: Drive, data: float) -> SRMirror:
    """A layout on drives of a kind, with room for `data` bytes in whole stripe units and no more."""
    full = SRMirror(shape.striping, shape.replicas, shape.mirrors)
    each = int(full.capacity(drive)) // full.unit
    # a share is float32: half a unit more, so that rounding takes none away
    return replace(full, data=(math.ceil(data / SECTOR / full.unit) + 0.5) / each)


def window(workload: str, requests: int, number: int) -> RequestTrace:
    """`requests` successive requests of a stand-in, beginning at any of its requests; every number is another, independent
    window."""
    trace = _all_of(workload, number)
    if len(trace) < requests:
        raise InputError(f"{requests} requests of {workload}: it has {len(trace)}; ask for fewer")
    # at a request and not at a time: most requests come where it is busy
    first = int(np.random.default_rng([number, 1]).integers(len(trace) - requests + 1))
    found = trace.take(slice(first, first + requests))
    return replace(found, time=found.time - found.time[0])


@lru_cache(maxsize=4)
def _all_of(workload: str, number: int) -> RequestTrace:
    return generate(WORKLOADS[workload], seed=number)


class Run(NamedTuple):
    """What an exhibit varies: the layout, the trace's rate (times its own), RLOOK (1) in place of RSATF (0), and the bytes of
    an LRU cache in front. All are numbers to the engine, so that a figure is one batch."""

    layout: str
    scale: float = 1.0
    look: int = 0
    memory: float = 0.0


class DiskArray(NamedTuple):
    """What is the same for every layout that an exhibit compares.

    slots: requests held at once. table: delayed writes at which propagation is forced; the paper's 10,000 entries would take
    longer to fill than a window of a trace lasts, so that the windows would end with most of the propagation still to do;
    with a short table it is paid for within the window. Windows are padded to `longest` requests, so that all exhibits on
    these disks share a compilation.
    """

    drive: Drive
    drives: int
    slots: int
    table: int
    longest: int

    def system(self, run: Run, data: float) -> System:
        """The array of a run, for a data set of `data` bytes; writes propagate in the background."""
        return System(
            self.drive,
            placed(Layout.parse(run.layout), self.drive, data),
            NearestIdle(),
            ByNumber((RSATF(), RLOOK()), run.look),
            Background(self.table),
            cache=LRU(run.memory, sets=MOST_MEMORY // (8 * KB) // WAYS, ways=WAYS),
            drives=self.drives,
            slots=self.slots,
        )

    def replays(self, run: Run, trace: RequestTrace, data: float) -> Scenario:
        """A trace to a data set of `data` bytes on that array."""
        system = self.system(run, data)
        arrivals = recorded(trace, int(system.placement.capacity(self.drive)), run.scale)
        return Scenario(system, padded(arrivals, max(self.longest, len(trace))))


def small(effort: ArrayEffort) -> DiskArray:
    """Up to twelve disks, for the Cello workloads."""
    return DiskArray(paper_drive(), 12, 64, 64, effort.memory_requests)


def large(effort: ArrayEffort) -> DiskArray:
    """Up to 36 disks, for TPC-C."""
    return DiskArray(paper_drive(), 36, 256, 128, effort.memory_requests)


def padded(arrivals: RecordedArrivals, count: int) -> RecordedArrivals:
    """The same arrivals in arrays of `count` rows; none of the rows added ever arrives."""
    missing = count - arrivals.gap.shape[0]

    def longer(column):
        values = np.asarray(column)
        return np.concatenate([values, np.repeat(values[-1:], missing)])

    requests = jax.tree.map(longer, arrivals.requests)
    return RecordedArrivals(requests, real(longer(arrivals.gap)), arrivals.scale)


def over_windows(
    effort: ArrayEffort, workload: str, array: DiskArray, runs: Sequence[Run], warm_up: float = 0.0
) -> xr.Dataset:
    """Every run on every window of a stand-in, all runs of a window as one batch: dimensions `run` and `seed`, the window.

    warm_up: the share of each window's requests that passes before measuring begins.
    """
    size = WORKLOADS[workload].data
    found = []
    for number in effort.successive(effort.windows):
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
