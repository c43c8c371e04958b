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
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive
from storagekit.engine import Scenario, System
from storagekit.lanes import real
from storagekit.metrics import made_jointly, sweep
from storagekit.papers.srarray.disk import FILE_SYSTEM_BLOCK, PAPERS_TABLE, ArrayEffort, paper_drive
from storagekit.placement import SRMirror
from storagekit.plan import Layout
from storagekit.schedule import RLOOK, RSATF, ByNumber
from storagekit.units import SECTOR
from storagekit.workload import RecordedArrivals, recorded
from storagekit.workload.reuse import read_distances
from storagekit.workload.standin import CELLO_BASE, CELLO_DISK6, TPCC, SeekingStandIn, generate
from storagekit.workload.trace import RequestTrace
from storagekit.write import Background

WORKLOADS: dict[str, SeekingStandIn] = {model.name: model for model in (CELLO_BASE, CELLO_DISK6, TPCC)}
NEVER = np.iinfo(np.int32).max


def placed(shape: Layout, drive: Drive, data: float) -> SRMirror:
    """A layout on drives of a kind, with room for `data` bytes in whole stripe units and no more."""
    full = SRMirror(shape.striping, shape.replicas, shape.mirrors)
    each = int(full.capacity(drive)) // full.unit
    # a share is float32: half a unit more, so that rounding takes none away
    return replace(full, data=(math.ceil(data / SECTOR / full.unit) + 0.5) / each)


def window(workload: str, requests: int, number: int) -> RequestTrace:
    """`requests` successive requests of a stand-in, at most all of it, beginning at any; every number is another,
    independent window."""
    trace = _all_of(workload, number)
    return cut(trace, _place(trace, requests, number))


def cut(trace: RequestTrace, which: slice) -> RequestTrace:
    """Successive requests of a trace, whose time counts from the first of them."""
    found = trace.take(which)
    return replace(found, time=found.time - found.time[0])


def remembered(workload: str, requests: int, number: int) -> np.ndarray:
    """Return for each request of that window how many blocks of a request's size an LRU cache must hold for it to hit.

    The cache has received all requests of the trace before the window: `[request]`, int32.
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


class Run(NamedTuple):
    """What an exhibit varies: the layout, the trace's rate (times its own), RLOOK (1) in place of RSATF (0), and the bytes of
    an LRU cache in front. All are numbers to the engine, so that a figure is one batch."""

    layout: str
    scale: float = 1.0
    look: int = 0
    memory: float = 0.0


class DiskArray(NamedTuple):
    """What is the same for every layout that an exhibit compares.

    slots: requests held at once, of which each run gets the first number that is enough, or the last. table: delayed writes
    at which propagation is forced. Windows are padded to `longest` requests, so that all exhibits on these disks share a
    compilation. block: bytes, of memory.
    """

    drive: Drive
    drives: int
    slots: tuple[int, ...]
    table: int
    longest: int
    block: int = FILE_SYSTEM_BLOCK

    def system(self, run: Run, data: float, distances: np.ndarray) -> System:
        """The array of a run, for a data set of `data` bytes; writes propagate in the background. distances: see
        `RecordedLRU`; what it answers takes the processing that precedes every access."""
        return System(
            self.drive,
            placed(Layout.parse(run.layout), self.drive, data),
            NearestIdle(),
            ByNumber((RSATF(), RLOOK()), run.look),
            Background(self.table),
            cache=RecordedLRU(cast(Array, distances), run.memory, self.drive.overhead, self.block // SECTOR),
            drives=self.drives,
        )

    def replays(
        self, trace: RequestTrace, data: float, distances: np.ndarray | None = None
    ) -> Callable[[Run], Scenario]:
        """A trace to a data set of `data` bytes on the array of any run, which all have room for as much.

        distances: [request], what memory must hold for each (`remembered`); by default none of it is held.
        """
        count = max(self.longest, len(trace))
        known = np.full(count, NEVER, np.int32)
        if distances is not None:
            known[: len(trace)] = distances
        arrivals = padded(recorded(trace, self._sectors(data)), count)

        def of(run: Run) -> Scenario:
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
    # what the seeds of a window have in common too, such as its warm-up
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
    """The dimension `run` as the grid that its coordinates `axes` span, NaN where nothing was run, in the order they came."""
    order = {axis: list(dict.fromkeys(data[axis].values.tolist())) for axis in axes}
    others = [name for name in data.coords if data[name].dims == ("run",) and name not in axes]
    plain = data.drop_vars(others)
    if len(axes) == 1:
        return plain.swap_dims(run=axes[0])
    return plain.set_index(run=list(axes)).unstack("run").reindex(order)
