"""The paper's arrays, and its workloads on them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, cast

import equinox as eqx
import jax
import numpy as np
import xarray as xr
from jax import Array

from storagekit.cache import RecordedLRU
from storagekit.core.batching import real
from storagekit.core.provenance import made_jointly
from storagekit.core.units import SECTOR
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive
from storagekit.engine import Scenario, System
from storagekit.papers.srarray.disk import FILE_SYSTEM_BLOCK, PAPERS_TABLE, ArrayEffort, paper_drive
from storagekit.placement import SRMirror
from storagekit.plan import Layout
from storagekit.schedule import RLOOK, RSATF, ScheduleSwitch
from storagekit.simulation import sweep
from storagekit.workload import RecordedArrivals, recorded
from storagekit.workload.reuse import read_distances
from storagekit.workload.synthetic import CELLO_BASE, CELLO_DISK6, TPCC, SeekingTraceModel, generate
from storagekit.workload.trace import RequestTrace
from storagekit.write import Background

WORKLOADS: dict[str, SeekingTraceModel] = {model.name: model for model in (CELLO_BASE, CELLO_DISK6, TPCC)}
NEVER = np.iinfo(np.int32).max


def placed(shape: Layout, drive: Drive, data: float) -> SRMirror:
    """Return a layout with room for `data` bytes, rounded up to whole stripe units."""
    full = SRMirror(shape.striping, shape.replicas, shape.mirrors)
    each = int(full.capacity(drive)) // full.unit
    # a share is float32: half a unit more, so that rounding takes none away
    return replace(full, data=(math.ceil(data / SECTOR / full.unit) + 0.5) / each)


def window(workload: str, requests: int, number: int) -> RequestTrace:
    """Return `requests` successive requests of a synthetic trace, at most all of it, from a random one on.

    Windows of different numbers are independent.
    """
    trace = _all_of(workload, number)
    return cut(trace, _place(trace, requests, number))


def cut(trace: RequestTrace, which: slice) -> RequestTrace:
    """Return a part of a trace. Its time starts at 0."""
    found = trace.take(which)
    return replace(found, time=found.time - found.time[0])


def remembered(workload: str, requests: int, number: int) -> np.ndarray:
    """Return the smallest LRU cache in which each request of that window hits, in blocks of a request's size.

    The cache has received all requests of the trace before the window. The result is int32, `[request]`.
    """
    trace = _all_of(workload, number)
    place = _place(trace, requests, number)
    # a distance depends on the requests before it, not on the rest of the trace
    so_far = trace.take(slice(0, place.stop))
    distances = read_distances(so_far, WORKLOADS[workload].request_size, first=place.start)
    return np.minimum(distances, NEVER).astype(np.int32)


def _place(trace: RequestTrace, requests: int, number: int) -> slice:
    # at a request and not at a time: most requests come where it is busy
    first = int(np.random.default_rng([number, 1]).integers(max(0, len(trace) - requests) + 1))
    return slice(first, first + requests)


@lru_cache(maxsize=4)
def _all_of(workload: str, number: int) -> RequestTrace:
    return generate(WORKLOADS[workload], seed=number)


class ArrayRun(NamedTuple):
    """One run of an exhibit. All fields are numbers to the engine, so a figure is one batch.

    layout: D_s x D_r x D_m. scale: rate of the requests over that of the trace. look: 1 for RLOOK, 0 for RSATF. memory: size
    of an LRU cache in front of the array, bytes.
    """

    layout: str
    scale: float = 1.0
    look: int = 0
    memory: float = 0.0


class DiskArray(NamedTuple):
    """The settings that all layouts of an exhibit share.

    drives: the largest number of disks. slots: numbers of slots to try, in this order. table: number of delayed writes at
    which propagation is forced. longest: windows are padded to this number of requests, so that all exhibits on these disks
    share a program. block: size of a block of memory, bytes.
    """

    drive: Drive
    drives: int
    slots: tuple[int, ...]
    table: int
    longest: int
    block: int = FILE_SYSTEM_BLOCK

    def system(self, run: ArrayRun, data: float, distances: np.ndarray) -> System:
        """Return the array of a run, for a data set of `data` bytes. Writes propagate in the background.

        distances: see `RecordedLRU`. A hit takes the processing time that precedes every access.
        """
        return System(
            self.drive,
            placed(Layout.parse(run.layout), self.drive, data),
            NearestIdle(),
            ScheduleSwitch((RSATF(), RLOOK()), run.look),
            Background(self.table),
            cache=RecordedLRU(cast(Array, distances), run.memory, self.drive.overhead, self.block // SECTOR),
            drives=self.drives,
        )

    def replays(
        self, trace: RequestTrace, data: float, distances: np.ndarray | None = None
    ) -> Callable[[ArrayRun], Scenario]:
        """Return a function that returns the scenario of a run: the trace, on its array with `data` bytes of data.

        distances: the smallest cache in which each request hits (`remembered`), `[request]`. By default none hits.
        """
        count = max(self.longest, len(trace))
        known = np.full(count, NEVER, np.int32)
        if distances is not None:
            known[: len(trace)] = distances
        arrivals = padded(recorded(trace, self._sectors(data)), count)

        def of(run: ArrayRun) -> Scenario:
            return Scenario(
                self.system(run, data, known), eqx.tree_at(lambda one: one.scale, arrivals, real(run.scale))
            )

        return of

    def _sectors(self, data: float) -> int:
        return int(placed(Layout(1, 1, 1), self.drive, data).capacity(self.drive))


def small(effort: ArrayEffort) -> DiskArray:
    """Up to twelve disks, for the Cello workloads."""
    return DiskArray(paper_drive(), 12, (64,), effort.table, effort.rate_requests)


def large(effort: ArrayEffort) -> DiskArray:
    """Up to 36 disks, for TPC-C."""
    table = min(2 * effort.table, PAPERS_TABLE)
    return DiskArray(paper_drive(TPCC.request_size), 36, (64, 256), table, effort.rate_requests, TPCC.request_size)


def padded(arrivals: RecordedArrivals, count: int) -> RecordedArrivals:
    """Return the same arrivals in arrays of `count` rows. The added requests never arrive."""
    missing = count - arrivals.gap.shape[0]

    def longer(column):
        values = np.asarray(column)
        return np.concatenate([values, np.repeat(values[-1:], missing)])

    requests = jax.tree.map(longer, arrivals.requests)
    return RecordedArrivals(requests, real(longer(arrivals.gap)), arrivals.scale)


def over_windows(
    effort: ArrayEffort, workload: str, array: DiskArray, runs: Sequence[ArrayRun], warm_up: float = 0.0
) -> xr.Dataset:
    """Simulate every run on every window of a synthetic trace. Dimensions: `run` and `seed`, the number of the window.

    All runs of a window are one batch. warm_up: the share of a window's requests before the measurement begins.
    """
    size = WORKLOADS[workload].data
    found = []
    for number in effort.successive(effort.windows):
        trace = window(workload, effort.requests, number)
        held = remembered(workload, effort.requests, number) if any(run.memory for run in runs) else None
        replay = array.replays(trace, size, held)
        data = sweep(
            lambda run, replay=replay: replay(runs[run]),
            {"run": range(len(runs))},
            seeds=[number],
            requests=len(trace),
            warm_up=int(warm_up * len(trace)),
            allow_held_up=True,
            slots=array.slots,
        )
        found.append(data)
    # "all": variables without a seed, such as the warm-up, differ between windows
    joined = xr.concat(found, dim="seed", data_vars="all", combine_attrs=made_jointly)
    coords = {name: ("run", [getattr(run, name) for run in runs]) for name in ("layout", "scale", "memory")}
    return joined.assign_coords(coords).assign_attrs(
        paper="srarray",
        workload=workload,
        basis="stand-in",
        slots=array.slots[-1],
        table=array.table,
        window=len(trace),
    )


def on_axes(data: xr.Dataset, axes: Sequence[str]) -> xr.Dataset:
    """Return the dimension `run` as a grid over its coordinates `axes`, in the order of the runs; NaN without a run."""
    order = {axis: list(dict.fromkeys(data[axis].values.tolist())) for axis in axes}
    others = [name for name in data.coords if data[name].dims == ("run",) and name not in axes]
    plain = data.drop_vars(others)
    if len(axes) == 1:
        return plain.swap_dims(run=axes[0])
    return plain.set_index(run=list(axes)).unstack("run").reindex(order)
