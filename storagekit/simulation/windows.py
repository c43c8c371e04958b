"""What streams get as time goes by: sums over windows of simulated time, each event in the window in which it happened."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.core.checks import require, require_kind
from storagekit.core.errors import InputError
from storagekit.core.kinds import MOST_COUNTED, flag, several, takes, text
from storagekit.core.units import SECTOR
from storagekit.engine import NO_REQUEST, Record, Runner, Scenario, ServiceLog, batches, stack
from storagekit.engine.batch import SCENARIO
from storagekit.engine.run import SEEDS
from storagekit.simulation.experiment import built, check_axes, grid, listed
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import fewest, groups, provided
from storagekit.simulation.run_length import NUMERIC

# chunks of events between two looks at the log
STRIDE = 8
# dimensions of what windows returns
OWN = ("window", "stream")


class Timed(NamedTuple):
    """What happened in some `lanes`: a log, `Services` of NumPy arrays `[event, lane]`, what it says of bricks
    `[event, brick, lane]`, and the seconds at which each event began and ended, from the start of the run."""

    lanes: slice
    begin: np.ndarray
    end: np.ndarray
    log: Any


@takes(seconds=NUMERIC, window=NUMERIC, backlog=flag, title=text)
def windows(
    build: Callable[..., Scenario],
    axes: Mapping[str, Sequence[Any]],
    *,
    seconds: float,
    window: float = 1.0,
    seeds: int | Sequence[int] = (0,),
    backlog: bool = False,
    title: str = "simulating",
) -> xr.Dataset:
    """`build(**point)` at every point of the grid that `axes` span, for so many seconds from an empty system.

    Returns, over the axes, `seed`, `window` (its coordinate the middle of each, in seconds) and `stream`: `throughput`, bytes
    a second of requests answered, `rate`, requests answered a second, `response`, their mean response time; and by `brick`
    too `service`, bytes a second that its drives transferred, and, if `backlog` is asked for, the share of the time in which
    requests of the stream waited there to be handed over. Raises InputError where requests have no clients, whose
    streams these are, and for windows longer than the run.
    """
    require(0 < seconds < 1e9, "a run of", seconds, "above 0 and below 1e9", "s")
    require(0 < window <= seconds, "windows of", window, f"above 0 and at most the {seconds:g} s of the run", "s")
    require(
        seconds / window <= MOST_COUNTED,
        "windows of",
        window,
        f"at least {seconds / MOST_COUNTED:g} s, of which a run of {seconds:g} s has {MOST_COUNTED}",
        "s",
    )
    require_kind("axes", axes, Mapping, "a mapping of build's parameters to values, as {'replicas': [2, 4]}")
    check_axes(axes, (), OWN)
    seeds = listed(seeds)
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if not points:
        raise InputError("an axis has no values; give each at least one")
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
            for place, member in enumerate(members):
                found[member] = sums.dataset(place * len(seeds), seeds)
    flat = xr.concat([one for one in found if one is not None], dim="point", join="outer")
    length = {"seconds_per_run": seconds, "window": window}
    return grid(flat, axes).assign_attrs(provenance(scenarios, axes, seeds, length, time.perf_counter() - began))


@takes(scenarios=several(SCENARIO, 1, "scenarios"), seeds=SEEDS, seconds=NUMERIC, backlog=flag)
def logs(
    scenarios: Sequence[Scenario], seeds: Sequence[int], seconds: float, *, backlog: bool = False
) -> Iterator[Timed]:
    """The service log of scenarios of one structure, piece by piece, until each lane has had so many seconds.

    Lanes run over the scenarios, and within each over the seeds. backlog: whether it is kept.
    """
    require(0 < seconds < 1e9, "a run of", seconds, "above 0 and below 1e9", "s")
    merged, key = stack(provided(scenarios, fewest(scenarios)), seeds)
    first = 0
    for part, lane_keys, used in batches(merged, key, padded=False):
        runner = Runner(part, lane_keys, Record(log=ServiceLog(backlog)))
        now = np.zeros(used)
        while now.min() < seconds:
            log = jax.tree.map(lambda array, used=used: by_event(array)[..., :used], runner.advance(STRIDE)[1])
            end = now + np.cumsum(log.elapsed, axis=0, dtype=np.float64)
            begin = np.concatenate([now[None], end[:-1]])
            yield Timed(slice(first, first + used), begin, end, log)
            # whose threads have all stopped has nothing more to tell
            now = np.where(np.any((log.elapsed > 0) | np.isfinite(log.entered), axis=0), end[-1], seconds)
        first += used


def by_event(array: np.ndarray) -> np.ndarray:
    """`[chunk, event, row, lane]` as `[event, row, lane]`, without an axis of one row."""
    joined = array.reshape(-1, *array.shape[2:])
    return joined[:, 0] if joined.shape[1] == 1 else joined


def together(pieces: Sequence[Timed]) -> Timed:
    """The pieces of one run's log, one after the other."""
    columns = jax.tree.map(lambda *parts: np.concatenate(parts), *[tuple(piece[1:]) for piece in pieces])
    return Timed(pieces[0].lanes, *columns)


def joint_backlog(timed: Timed, brick: int, streams: Sequence[int]) -> tuple[Any, Any]:
    """From when to when all of some streams have requests queued at a brick, as `analytic.fairness` takes it.

    timed: of the whole run, its backlog kept. Returns, `[event, lane]`, whether they do after each event, and the seconds of
    it in which they did not: between two that they do, those until the request came that was wanting.
    """
    log, bits = timed.log, np.uint32(sum(1 << stream for stream in streams))
    waited, waits = ((mask[:, brick] if mask.ndim == 3 else mask) & bits == bits for mask in (log.waited, log.waits))
    return lasting(waited, waits, log.entered, log.elapsed)


def lasting(waited: Any, waits: Any, entered: Any, elapsed: Any) -> tuple[Any, Any]:
    """Of something that holds while events last, once their request has entered, and after them: whether it holds from each
    on, and the seconds of each in which it did not. `[event, ...]`."""
    # what holds while an event lasts holds from the end of the one before
    after = np.concatenate([waited[1:], waits[-1:]])
    before = np.concatenate([np.zeros_like(waits[:1]), waits[:-1]])
    return after, np.where(waited, np.where(before, 0.0, np.minimum(entered, elapsed)), elapsed)


class _Sums:
    """Sums by lane, window, stream and, of service, brick."""

    def __init__(self, lanes: int, count: int, window: float, streams: int, bricks: int, backlog: bool):
        self.window = window
        self.shape = (lanes, count, streams)
        self.answered, self.sectors, self.waits = (np.zeros(self.shape) for _ in range(3))
        self.service = np.zeros((*self.shape, bricks))
        self.backlog = np.zeros((*self.shape, bricks)) if backlog else None

    def add(self, timed: Timed) -> None:
        lane = np.broadcast_to(np.arange(timed.lanes.start, timed.lanes.stop), timed.end.shape)
        log, answered = timed.log, timed.log.answered
        left = answered.number != NO_REQUEST
        at = (lane, timed.begin + answered.at, answered.stream)
        self._put(self.answered, left, at, np.ones(left.shape))
        self._put(self.sectors, left, at, answered.sectors)
        self._put(self.waits, left, at, answered.response)
        self._put(self.service, log.brick != NO_REQUEST, (lane, timed.end, log.stream, log.brick), log.sectors)
        if self.backlog is None:
            return
        for stream, brick in np.ndindex(*self.backlog.shape[2:]):
            _, gap = joint_backlog(timed, brick, (stream,))
            # events are short beside windows: each counts where it ends
            self._put(self.backlog, gap < log.elapsed, (lane, timed.end, stream, brick), log.elapsed - gap)

    def _put(self, total: np.ndarray, happened: np.ndarray, at: tuple, amount: np.ndarray) -> None:
        lane, moment, *rest = (np.broadcast_to(part, happened.shape)[happened] for part in at)
        window = (moment / self.window).astype(np.int64)
        kept = window < total.shape[1]
        index = np.ravel_multi_index([part[kept] for part in (lane, window, *rest)], total.shape)
        weights = amount[happened][kept].astype(np.float64)
        total += np.bincount(index, weights, total.size).reshape(total.shape)

    def dataset(self, first: int, seeds: Sequence[int]) -> xr.Dataset:
        mine = slice(first, first + len(seeds))
        axes = ("seed", "window", "stream")
        with np.errstate(invalid="ignore"):
            response = self.waits[mine] / self.answered[mine]
        of = {
            "throughput": (axes, self.sectors[mine] * SECTOR / self.window, "B/s", "bytes of the requests answered"),
            "rate": (axes, self.answered[mine] / self.window, "1/s", "requests answered"),
            "response": (axes, response, "s", "mean response time of the requests answered"),
            "service": (
                (*axes, "brick"),
                self.service[mine] * SECTOR / self.window,
                "B/s",
                "bytes transferred by a brick",
            ),
        }
        if self.backlog is not None:
            meaning = "share of the time in which requests wait at a brick"
            of["backlog"] = ((*axes, "brick"), self.backlog[mine] / self.window, "1", meaning)
        variables = {
            name: (dims, values, {"units": unit, "long_name": meaning})
            for name, (dims, values, unit, meaning) in of.items()
        }
        middle = (np.arange(self.shape[1]) + 0.5) * self.window
        return xr.Dataset(variables, coords={"seed": list(seeds), "window": ("window", middle, {"units": "s"})})
