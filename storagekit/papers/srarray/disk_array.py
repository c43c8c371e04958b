"""Disk arrays of the paper, and the synthetic traces that they replay (section 4.1)."""

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


def placement_of(shape: Layout, drive: Drive, data: float) -> SRMirror:
    """Return the placement of a data set on a layout. The size of the data set is rounded up to whole stripe units.

    Parameters
    ----------
    shape : Layout
        D_s x D_r x D_m.
    drive : Drive
        Drive of all disks.
    data : float
        Size of the data set, bytes.

    Returns
    -------
    SRMirror
        The placement.

    Raises
    ------
    InputError
        If the data set does not fit on the disks.
    """
    full = SRMirror(shape.striping, shape.replicas, shape.mirrors)
    each = int(full.capacity(drive)) // full.unit
    # The share is a float32. Half a stripe unit is added, so that rounding does not remove a unit.
    return replace(full, data=(math.ceil(data / SECTOR / full.unit) + 0.5) / each)


def window(workload: str, requests: int, number: int) -> RequestTrace:
    """Return a window of a synthetic trace: successive requests, of which the first is selected at random.

    Parameters
    ----------
    workload : str
        A name of `WORKLOADS`.
    requests : int
        Number of requests in the window. If the trace is shorter, the window is the whole trace.
    number : int
        Number of the window. It is the seed of the trace and of the choice of the first request. Windows with different
        numbers are independent.

    Returns
    -------
    RequestTrace
        The window. Its time starts at 0.
    """
    trace = _all_of(workload, number)
    return cut(trace, _window(trace, requests, number))


def cut(trace: RequestTrace, which: slice) -> RequestTrace:
    """Return a part of a trace, with times that start at 0.

    Parameters
    ----------
    trace : RequestTrace
        The whole trace.
    which : slice
        The requests of the part.

    Returns
    -------
    RequestTrace
        The part.
    """
    found = trace.take(which)
    return replace(found, time=found.time - found.time[0])


def remembered(workload: str, requests: int, number: int) -> np.ndarray:
    """Return the reuse distance of each request of a window, in blocks of a request's size.

    Parameters
    ----------
    workload, requests, number
        The window, see `window`.

    Returns
    -------
    ndarray of int32, shape `[request]`
        For each request, the size of the smallest LRU cache in which the request hits, in blocks. It is `NEVER` for a
        write, and for a read of a block that was not accessed before.

    Notes
    -----
    The cache has received all requests of the trace before the window.
    """
    trace = _all_of(workload, number)
    window = _window(trace, requests, number)
    # A reuse distance depends only on earlier requests, so the requests after the window are left out.
    so_far = trace.take(slice(0, window.stop))
    distances = read_distances(so_far, WORKLOADS[workload].request_size, first=window.start)
    return np.minimum(distances, NEVER).astype(np.int32)


def _window(trace: RequestTrace, requests: int, number: int) -> slice:
    """Return the slice of a trace that selects the requests of a window."""
    # The start is uniform over requests, not over time, because most requests arrive in busy periods.
    first = int(np.random.default_rng([number, 1]).integers(max(0, len(trace) - requests) + 1))
    return slice(first, first + requests)


@lru_cache(maxsize=4)
def _all_of(workload: str, number: int) -> RequestTrace:
    """Return the whole synthetic trace of a workload."""
    return generate(WORKLOADS[workload], seed=number)


class ArrayRun(NamedTuple):
    """Parameters of one run of an exhibit.

    The simulator receives all of these parameters as numbers, so the runs of a figure are one batch.

    Parameters
    ----------
    layout : str
        D_s x D_r x D_m, as in "2x3x1".
    scale : float
        Request rate in the run divided by the request rate of the trace, by default 1.
    look : int
        Scheduler: 1 for RLOOK, or 0 for RSATF, which is the default.
    memory : float
        Size of an LRU cache in front of the array, bytes, by default 0.
    """

    layout: str
    scale: float = 1.0
    look: int = 0
    memory: float = 0.0


class DiskArray(NamedTuple):
    """Settings that all layouts of an exhibit share.

    Parameters
    ----------
    drive : Drive
        Drive of all disks.
    drives : int
        The largest number of disks.
    slots : tuple of int
        Numbers of slots, in the order in which they are tried: the next number is used if requests wait for a slot.
    table : int
        Number of entries in the table of delayed writes. If the table is full, delayed copies move to the foreground
        queues.
    longest : int
        Windows are padded to this number of requests, so that all exhibits on these disks share a compiled program.
    block : int
        Size of a block of the cache, bytes, by default 8 KB.
    """

    drive: Drive
    drives: int
    slots: tuple[int, ...]
    table: int
    longest: int
    block: int = FILE_SYSTEM_BLOCK

    def system(self, run: ArrayRun, data: float, distances: np.ndarray) -> System:
        """Return the array of a run. Writes propagate to the other copies in the background.

        Parameters
        ----------
        run : ArrayRun
            Layout, scheduler and cache size.
        data : float
            Size of the data set, bytes.
        distances : ndarray of int, shape `[request]`
            Reuse distance of each request, blocks; see `RecordedLRU`.

        Returns
        -------
        System
            The array. A cache hit takes the processing time that precedes every access.
        """
        return System(
            self.drive,
            placement_of(Layout.parse(run.layout), self.drive, data),
            NearestIdle(),
            ScheduleSwitch((RSATF(), RLOOK()), run.look),
            Background(self.table),
            cache=RecordedLRU(cast(Array, distances), run.memory, self.drive.overhead, self.block // SECTOR),
            drives=self.drives,
        )

    def replays(
        self, trace: RequestTrace, data: float, distances: np.ndarray | None = None
    ) -> Callable[[ArrayRun], Scenario]:
        """Return a function that returns, for the parameters of a run, the scenario of the trace on the array.

        Parameters
        ----------
        trace : RequestTrace
            The requests.
        data : float
            Size of the data set, bytes.
        distances : ndarray of int, shape `[request]`, optional
            Reuse distance of each request, blocks (see `remembered`). By default no request hits.

        Returns
        -------
        callable
            Takes an `ArrayRun` and returns its `Scenario`.
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
        """Return the size of the data set in sectors, rounded up to whole stripe units."""
        return int(placement_of(Layout(1, 1, 1), self.drive, data).capacity(self.drive))


def small(effort: ArrayEffort) -> DiskArray:
    """Return the array of up to twelve disks for the Cello workloads.

    Parameters
    ----------
    effort : ArrayEffort
        Gives the size of the table of delayed writes, and the length of the longest window.

    Returns
    -------
    DiskArray
        The array, with 64 slots.
    """
    return DiskArray(paper_drive(), 12, (64,), effort.table, effort.rate_requests)


def large(effort: ArrayEffort) -> DiskArray:
    """Return the array of up to 36 disks for TPC-C.

    Parameters
    ----------
    effort : ArrayEffort
        Gives the size of the table of delayed writes, and the length of the longest window.

    Returns
    -------
    DiskArray
        The array, with 64 or 256 slots. Its table has twice `effort.table` entries, but at most `PAPERS_TABLE`.
    """
    table = min(2 * effort.table, PAPERS_TABLE)
    return DiskArray(paper_drive(TPCC.request_size), 36, (64, 256), table, effort.rate_requests, TPCC.request_size)


def padded(arrivals: RecordedArrivals, count: int) -> RecordedArrivals:
    """Return the same arrivals in arrays of `count` rows.

    Parameters
    ----------
    arrivals : RecordedArrivals
        The arrivals, in arrays of at most `count` rows.
    count : int
        Number of rows.

    Returns
    -------
    RecordedArrivals
        The padded arrivals. The added requests never arrive.
    """
    missing = count - arrivals.gap.shape[0]

    def longer(column):
        values = np.asarray(column)
        return np.concatenate([values, np.repeat(values[-1:], missing)])

    requests = jax.tree.map(longer, arrivals.requests)
    return RecordedArrivals(requests, real(longer(arrivals.gap)), arrivals.scale)


def over_windows(
    effort: ArrayEffort, workload: str, array: DiskArray, runs: Sequence[ArrayRun], warm_up: float = 0.0
) -> xr.Dataset:
    """Simulate every run on every window of a synthetic trace.

    Parameters
    ----------
    effort : ArrayEffort
        Gives the number and the length of the windows, and the first seed.
    workload : str
        A name of `WORKLOADS`.
    array : DiskArray
        The settings of the array.
    runs : sequence of ArrayRun
        The runs. All runs of a window are one batch.
    warm_up : float
        Fraction of a window's requests before the measurement begins, by default 0.

    Returns
    -------
    Dataset
        The measures over `run` and `seed`, where `seed` is the number of the window. The dimension `run` has the
        coordinates `layout`, `scale` and `memory`.
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
            allow_blocked=True,
            slots=array.slots,
        )
        found.append(data)
    # With "all", variables without a seed, such as the warm-up, can differ between windows.
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
    """Return the data with a grid over other coordinates instead of the dimension `run`.

    Parameters
    ----------
    data : Dataset
        The measures, with the dimension `run`.
    axes : sequence of str
        Names of coordinates along `run`.

    Returns
    -------
    Dataset
        The measures over `axes`. The labels of each axis are in the order of the runs. A point without a run is NaN.
    """
    order = {axis: list(dict.fromkeys(data[axis].values.tolist())) for axis in axes}
    others = [name for name in data.coords if data[name].dims == ("run",) and name not in axes]
    plain = data.drop_vars(others)
    if len(axes) == 1:
        return plain.swap_dims(run=axes[0])
    return plain.set_index(run=list(axes)).unstack("run").reindex(order)
