"""Measures of each stream over time: sums over windows of simulated time.

An event is counted in the window in which it happens.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.core.validation import MOST_COUNTED, instance_of, require, several, validate
from storagekit.engine import NO_REQUEST, Record, Runner, Scenario, ServiceLog, batches, stack
from storagekit.engine.batch import SCENARIO
from storagekit.engine.run import SEEDS
from storagekit.simulation.experiment import built, check_axes, grid, listed
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import fewest, groups, provided
from storagekit.simulation.run_length import NUMERIC

# number of chunks of events that are simulated before the log is read
STRIDE = 8
# dimensions of the result of `windows` in addition to the axes
OWN = ("window", "stream")


class Timed(NamedTuple):
    """Log of some runs, with the times of the events.

    Parameters
    ----------
    runs : slice
        Positions of these runs among all simulated runs.
    begin, end : array of float64, shape `[event, run]`
        Times at which each event began and ended, seconds from the start of the run.
    log : Services
        The log, NumPy arrays of shape `[event, run]`; fields with a value for each brick have the shape `[event,
        brick, run]`.
    """

    runs: slice
    begin: np.ndarray
    end: np.ndarray
    log: Any


@validate
def windows(
    build: Callable[..., Scenario],
    axes: Mapping[str, Sequence[Any]],
    *,
    seconds: Annotated[float, NUMERIC],
    window: Annotated[float, NUMERIC] = 1.0,
    seeds: int | Sequence[int] = (0,),
    backlog: bool = False,
    title: str = "simulating",
) -> xr.Dataset:
    """Simulate `build(**point)` at every point of the grid that `axes` spans, and return measures by window.

    Runs begin with an empty system.

    Parameters
    ----------
    build : callable
        Returns the scenario of a point.
    axes : mapping of str to sequence
        The values of each parameter of `build`.
    seconds : float
        Simulated time of a run, seconds, above 0 and below 1e9.
    window : float
        Length of a window, seconds, by default 1; at most `seconds`.
    seeds : int or sequence of int
        The number of runs of each point, or their seeds, by default a single run with seed 0.
    backlog : bool
        Whether `backlog` is computed, by default False.
    title : str
        Title of the progress bar, by default "simulating".

    Returns
    -------
    Dataset
        Measures over the axes, `seed`, `window` and `stream`. The coordinate of a window is its middle, in seconds.
        `throughput` is the bytes per second of completed requests, `rate` is the completed requests per second, and
        `response` is the mean response time of these requests. `service` and `backlog` also have the dimension `brick`.
        `service` is the bytes per second that the drives of the brick transferred. `backlog` is the share of the time
        for which requests of the stream waited at the brick to be issued.

    Raises
    ------
    InputError
        If requests have no clients and therefore no streams, if a window is longer than the run, or if a setting is
        impossible.
    """
    require(0 < seconds < 1e9, "length of the run", seconds, "above 0 and below 1e9", "s")
    require(
        0 < window <= seconds, "length of windows", window, f"above 0 and at most the {seconds:g} s of the run", "s"
    )
    require(
        seconds / window <= MOST_COUNTED,
        "length of windows",
        window,
        f"at least {seconds / MOST_COUNTED:g} s, because a simulation of {seconds:g} s may have at most "
        f"{MOST_COUNTED} windows",
        "s",
    )
    instance_of(Mapping, "a mapping from parameters of build to values, such as {'replicas': [2, 4]}")("axes", axes)
    check_axes(axes, (), OWN)
    seeds = listed(seeds)
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if not points:
        raise InputError("an axis has no values; give at least one for each axis")
    scenarios = [built(build, point) for point in points]
    began, count = time.perf_counter(), int(seconds / window + 1e-9)
    streams = max(scenario.arrivals.stream_count for scenario in scenarios)
    found: list[xr.Dataset | None] = [None] * len(points)
    done = 0.0
    with tqdm(total=round(seconds * len(points) * len(seeds)), desc=title, unit="s", delay=2, leave=False) as bar:
        for members, alike in groups(scenarios):
            bricks = alike[0].system.bricks.count
            sums = _Sums(len(alike) * len(seeds), count, window, streams, bricks, backlog)
            for timed in logs(alike, seeds, seconds, backlog=backlog):
                sums.add(timed)
                done += float(np.sum(np.minimum(timed.end[-1], seconds) - np.minimum(timed.begin[0], seconds)))
                bar.update(int(done) - bar.n)
            for index, member in enumerate(members):
                found[member] = sums.dataset(index * len(seeds), seeds)
    flat = xr.concat([one for one in found if one is not None], dim="point", join="outer")
    length = {"seconds_per_run": seconds, "window": window}
    return grid(flat, axes).assign_attrs(provenance(scenarios, axes, seeds, length, time.perf_counter() - began))


@validate
def logs(
    scenarios: Annotated[Sequence[Scenario], several(SCENARIO, 1, "scenarios")],
    seeds: Annotated[Sequence[int], SEEDS],
    seconds: Annotated[float, NUMERIC],
    *,
    backlog: bool = False,
) -> Iterator[Timed]:
    """Yield the service log of scenarios of one structure in pieces, until every run has reached a simulated time.

    The runs are ordered by scenario, and within a scenario by seed.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios.
    seeds : sequence of int
        The seeds.
    seconds : float
        Simulated time of a run, seconds, above 0 and below 1e9.
    backlog : bool
        Whether the log contains the backlog, by default False.

    Yields
    ------
    Timed
        The next piece of the log of some runs.

    Raises
    ------
    InputError
        If `seconds` is out of range, or if the scenarios differ in structure.
    """
    require(0 < seconds < 1e9, "length of the run", seconds, "above 0 and below 1e9", "s")
    merged, key = stack(provided(scenarios, fewest(scenarios)), seeds)
    first = 0
    for part, run_keys, used in batches(merged, key, padded=False):
        runner = Runner(part, run_keys, Record(log=ServiceLog(backlog)))
        now = np.zeros(used)
        while now.min() < seconds:
            log = jax.tree.map(lambda array, used=used: by_event(array)[..., :used], runner.advance(STRIDE)[1])
            end = now + np.cumsum(log.elapsed, axis=0, dtype=np.float64)
            begin = np.concatenate([now[None], end[:-1]])
            yield Timed(slice(first, first + used), begin, end, log)
            # a run whose threads have all stopped has no further events
            now = np.where(np.any((log.elapsed > 0) | np.isfinite(log.entered), axis=0), end[-1], seconds)
        first += used


def by_event(array: np.ndarray) -> np.ndarray:
    """Return an array of a log with one axis for all events, instead of one axis for chunks and one for their events.

    Parameters
    ----------
    array : array, shape `[chunk, event, row, run]`
        The array.

    Returns
    -------
    array, shape `[event, row, run]`, or `[event, run]` if it has one row
        The same values.
    """
    joined = array.reshape(-1, *array.shape[2:])
    return joined[:, 0] if joined.shape[1] == 1 else joined


def together(pieces: Sequence[Timed]) -> Timed:
    """Join the pieces of the log of the same runs into one log.

    Parameters
    ----------
    pieces : sequence of Timed
        The pieces in their order.

    Returns
    -------
    Timed
        The whole log.
    """
    columns = jax.tree.map(lambda *parts: np.concatenate(parts), *[tuple(piece[1:]) for piece in pieces])
    return Timed(pieces[0].runs, *columns)


def joint_backlog(timed: Timed, brick: int, streams: Sequence[int]) -> tuple[Any, Any]:
    """Return when all of the given streams have requests queued at a brick.

    The result has the form that `analytic.fairness` expects.

    Parameters
    ----------
    timed : Timed
        Log of the whole run, with its backlog.
    brick : int
        Number of the brick.
    streams : sequence of int
        Numbers of the streams.

    Returns
    -------
    after : array of bool, shape `[event, run]`
        Whether all streams have queued requests after each event.
    gap : array of float, shape `[event, run]`
        Time in seconds, within each event, during which at least one of the streams has no queued request. If the
        missing request enters during the event, the value is the time until this request enters.
    """
    log, bits = timed.log, np.uint32(sum(1 << stream for stream in streams))
    waited, waits = ((mask[:, brick] if mask.ndim == 3 else mask) & bits == bits for mask in (log.waited, log.waits))
    return lasting(waited, waits, log.entered, log.elapsed)


def lasting(waited: Any, waits: Any, entered: Any, elapsed: Any) -> tuple[Any, Any]:
    """Return whether a condition holds after each event, and for how long the condition fails during each event.

    Parameters
    ----------
    waited : array of bool, shape `[event, ...]`
        Whether the condition holds during the event, after the request of the event has entered.
    waits : array of bool, shape `[event, ...]`
        Whether the condition holds at the end of the event.
    entered : array of float, shape `[event, ...]`
        Time from the beginning of the event until its request enters, seconds; inf if no request enters.
    elapsed : array of float, shape `[event, ...]`
        Duration of the event, seconds.

    Returns
    -------
    after : array of bool, shape `[event, ...]`
        Whether the condition holds after the end of the event.
    gap : array of float, shape `[event, ...]`
        Time in seconds, within each event, during which the condition does not hold.
    """
    # a condition that holds during an event holds from the end of the previous event on
    after = np.concatenate([waited[1:], waits[-1:]])
    before = np.concatenate([np.zeros_like(waits[:1]), waits[:-1]])
    return after, np.where(waited, np.where(before, 0.0, np.minimum(entered, elapsed)), elapsed)


class _Sums:
    """Sums for each run, window and stream. The sums of service and backlog are also separate for each brick."""

    def __init__(self, runs: int, count: int, window: float, streams: int, bricks: int, backlog: bool):
        self.window = window
        self.shape = (runs, count, streams)
        self.completed, self.sectors, self.waits = (np.zeros(self.shape) for _ in range(3))
        self.service = np.zeros((*self.shape, bricks))
        self.backlog = np.zeros((*self.shape, bricks)) if backlog else None

    def add(self, timed: Timed) -> None:
        run = np.broadcast_to(np.arange(timed.runs.start, timed.runs.stop), timed.end.shape)
        log, completed = timed.log, timed.log.completed
        left = completed.number != NO_REQUEST
        at = (run, timed.begin + completed.at, completed.stream)
        self._put(self.completed, left, at, np.ones(left.shape))
        self._put(self.sectors, left, at, completed.sectors)
        self._put(self.waits, left, at, completed.response)
        self._put(self.service, log.brick != NO_REQUEST, (run, timed.end, log.stream, log.brick), log.sectors)
        if self.backlog is None:
            return
        for stream, brick in np.ndindex(*self.backlog.shape[2:]):
            _, gap = joint_backlog(timed, brick, (stream,))
            # an event is short compared with a window; it is therefore counted in the window in which it ends
            self._put(self.backlog, gap < log.elapsed, (run, timed.end, stream, brick), log.elapsed - gap)

    def _put(self, total: np.ndarray, happened: np.ndarray, at: tuple, amount: np.ndarray) -> None:
        run, moment, *rest = (np.broadcast_to(part, happened.shape)[happened] for part in at)
        window = (moment / self.window).astype(np.int64)
        kept = window < total.shape[1]
        index = np.ravel_multi_index([part[kept] for part in (run, window, *rest)], total.shape)
        weights = amount[happened][kept].astype(np.float64)
        total += np.bincount(index, weights, total.size).reshape(total.shape)

    def dataset(self, first: int, seeds: Sequence[int]) -> xr.Dataset:
        mine = slice(first, first + len(seeds))
        axes = ("seed", "window", "stream")
        with np.errstate(invalid="ignore"):
            response = self.waits[mine] / self.completed[mine]
        of = {
            "throughput": (
                axes,
                self.sectors[mine] * SECTOR / self.window,
                "B/s",
                "bytes per second of completed requests",
            ),
            "rate": (axes, self.completed[mine] / self.window, "1/s", "completed requests per second"),
            "response": (axes, response, "s", "mean response time of the completed requests"),
            "service": (
                (*axes, "brick"),
                self.service[mine] * SECTOR / self.window,
                "B/s",
                "bytes per second that a brick transfers",
            ),
        }
        if self.backlog is not None:
            meaning = "fraction of the time for which requests wait at a brick"
            of["backlog"] = ((*axes, "brick"), self.backlog[mine] / self.window, "1", meaning)
        variables = {
            name: (dims, values, {"units": unit, "long_name": meaning})
            for name, (dims, values, unit, meaning) in of.items()
        }
        middle = (np.arange(self.shape[1]) + 0.5) * self.window
        return xr.Dataset(variables, coords={"seed": list(seeds), "window": ("window", middle, {"units": "s"})})
