"""Properties of the scheduler that are not theorems: minimum shares, no idle brick, and use it or lose it."""

import time
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from storagekit.analytic.fairness import largest_drop, shortfall
from storagekit.core.errors import SimulationError
from storagekit.core.units import SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import Mixed, RateServer
from storagekit.engine import Scenario, System, stack
from storagekit.papers.dsfq.drawing import drawn
from storagekit.papers.dsfq.measuring import backlogged, observed_requests
from storagekit.papers.dsfq.search import QUICK, SearchEffort
from storagekit.papers.dsfq.settings import BRICKS, STREAMS, UNIT, Settings, fair, scenario, total
from storagekit.papers.dsfq.theorems import all_runs, key_of, made
from storagekit.papers.dsfq.watching import Watched
from storagekit.papers.measurement import Measurement
from storagekit.placement import Volumes
from storagekit.queue import FairQueue, Hybrid, MinimumOnly, Total
from storagekit.schedule import FCFS
from storagekit.workload import FixedSize, Group, RandomRequests, Steps, Threads

DELAYS = {"hybrid": Hybrid, "minimum only": MinimumOnly}
# Throughput of bricks A and B in sectors a second, and size of a request to A and to B in sectors. A request takes one
# second at either brick.
RATE, COST = (100.0, 20.0), (100, 20)
# AWAY: seconds for which g is away from A. FEW: seconds that count as a few requests. LONG: number of chunks of events
# of a run, enough for g to be served.
AWAY, FEW, LONG = 1000.0, 6.0, 64
# Numbers of threads of g: at A before g comes to A, at B before g comes to A, and at B from then on.
BEFORE = {"nowhere": (0, 0, 0), "A": (3, 0, 0), "B": (0, 2, 2), "nowhere, then B": (0, 0, 2)}


def minimums(effort: SearchEffort = QUICK) -> xr.Dataset:
    """Return the largest shortfall of a stream below its minimum share of a brick, divided by the allowed shortfall.

    The minimum share of a stream is random, between a twentieth and the whole of its share by weight.

    Parameters
    ----------
    effort : SearchEffort
        Gives the number of random settings, the first seed, and the length of the runs.

    Returns
    -------
    Dataset
        `share` over `delay` and `setting`: the largest shortfall of any stream divided by the shortfall that the
        function `shortfall` allows; 0 if no stream was backlogged.
    """
    began, generator = time.perf_counter(), np.random.default_rng([effort.first_seed, 2])
    settings = drawn(generator, effort.settings)
    part = settings.weights / settings.weights.sum(axis=0)
    least = (part * np.exp(generator.uniform(np.log(0.05), 0, part.shape))).astype(np.float32)
    key = key_of(effort, len(settings))
    shares = []
    for delay in DELAYS.values():
        log = all_runs(scenario(settings, fair(settings, delay(list(least[:, None])))), key, effort.chunks)
        shares.append(fallen(settings, log, least))
    data = xr.Dataset({"share": (("delay", "setting"), np.array(shares))}, coords={"delay": list(DELAYS)})
    return data.assign_attrs(made("dsfq.minimums", effort, began))


def fallen(settings: Settings, log: Watched, least: Float[np.ndarray, "stream run"]) -> Float[np.ndarray, " run"]:
    """Return, for each run, the largest shortfall of a stream at a brick divided by the allowed shortfall.

    The shortfall is the amount by which the service of the stream is below its minimum share.

    Parameters
    ----------
    settings : Settings
        The settings of the runs.
    log : Watched
        The log of the runs.
    least : array, shape [stream, run]
        Minimum share m of each stream.
    """
    at = log.brick[:, None] == np.arange(BRICKS)[:, None]
    work = np.where(at, log.cost[:, None], 0).astype(float)
    mine = work[:, None] * (log.stream[:, None] == np.arange(STREAMS)[:, None])[:, :, None]
    waits, gone = backlogged(log, (1 << np.arange(STREAMS)).astype(np.uint32))
    everybody: Any = np.broadcast_to(work[:, None], mine.shape)
    share = np.broadcast_to(least[:, None], mine.shape[1:])
    behind = largest_drop(mine, everybody, share, waits, gone)
    largest = observed_requests(log).largest
    allowed = shortfall(share, largest, largest.sum(axis=0) - largest, settings.depth)
    return np.max(np.where(behind > 0, behind / np.where(allowed > 0, allowed, 1), 0), axis=(0, 1))


def busy(effort: SearchEffort = QUICK) -> xr.Dataset:
    """Return how often a brick under TOTAL-DSFQ has waiting requests while its devices could take one more request.

    Parameters
    ----------
    effort : SearchEffort
        Gives the number of random settings, the first seed, and the length of the runs.

    Returns
    -------
    Dataset
        Counts over `setting`, summed over bricks. `events`: number of events after which the brick had waiting
        requests. `free`: number of these events after which the devices of the brick had fewer than D requests, so that
        they could take one more request.
    """
    began, generator = time.perf_counter(), np.random.default_rng([effort.first_seed, 3])
    settings = drawn(generator, effort.settings)
    log = all_runs(total(settings), key_of(effort, len(settings)), effort.chunks)
    waits, free = left_free(settings, log)
    data = xr.Dataset(
        {"events": ("setting", waits.sum(axis=(0, 1))), "free": ("setting", (waits & free).sum(axis=(0, 1)))}
    )
    return data.assign_attrs(made("dsfq.busy", effort, began))


def left_free(
    settings: Settings, log: Watched
) -> tuple[Bool[np.ndarray, "event brick run"], Bool[np.ndarray, "event brick run"]]:
    """Return whether requests wait at each brick after each event, and whether its devices can take a further request.

    Parameters
    ----------
    settings : Settings
        The settings of the runs.
    log : Watched
        The log of the runs.
    """
    waits = log.waiting.reshape(len(log.waiting), BRICKS, STREAMS, -1).any(axis=2)
    return waits, log.outstanding < settings.depth


def returning(effort: SearchEffort = QUICK) -> xr.Dataset:
    """Return the time that a stream waits for its first service at a brick, by its use of bricks before.

    Streams f and g both come to brick A after 1,000 s. Weights are equal and D is 1. Each stream then has three threads
    at A. If g uses brick B, it has two threads there. B has a fifth of the speed of A.

    Parameters
    ----------
    effort : SearchEffort
        Only its `first_seed` is used.

    Returns
    -------
    Dataset
        `wait` over `before`: seconds from the arrival of g at A until its first request there completes. `before` says
        where g was. "nowhere": g had no requests. "A": g was alone at A during the first 500 s. "B": g was at B, and
        stays there. "nowhere, then B": g had no requests, and comes to B at the same time as to A.

    Raises
    ------
    SimulationError
        If the run ends before g is served.
    """
    began, runs = time.perf_counter(), [_returns(*counts) for counts in BEFORE.values()]
    log = all_runs(*stack(runs, [effort.first_seed]), LONG)
    now = log.elapsed.cumsum(axis=0, dtype=float)
    mine = (log.brick == 0) & (log.stream == 1) & (now > AWAY)
    if not mine.any(axis=0).all():
        raise SimulationError("A stream was not served before the end of its run. Use a longer run.")
    wait = np.take_along_axis(now, mine.argmax(axis=0)[None], axis=0)[0] - AWAY
    data = xr.Dataset({"wait": ("before", wait, {"units": "s"})}, coords={"before": list(BEFORE)})
    return data.assign_attrs(made("dsfq.returning", effort, began))


def promise_findings(minimums: xr.Dataset, busy: xr.Dataset, returning: xr.Dataset) -> list[Measurement]:
    """Return the findings on the minimum shares of HYBRID-DSFQ and on the two properties of section 2.3.

    Parameters
    ----------
    minimums : Dataset
        Result of `minimums`.
    busy : Dataset
        Result of `busy`.
    returning : Dataset
        Result of `returning`.

    Returns
    -------
    list of Measurement
        One finding for each claim: `dsfq.hybrid.minimum`, `dsfq.work_conserving.never_idle` and
        `dsfq.work_conserving.use_or_lose`.
    """
    return [_minimum(minimums), _never_idle(busy), _use_or_lose(returning)]


def _returns(at_a: int, at_b: int, then_at_b: int) -> Scenario:
    """Return a scenario of `returning`.

    g has `at_a` threads at A during the first half of `AWAY` seconds, and `at_b` threads at B until `AWAY`. After
    `AWAY` it has three threads at A and `then_at_b` threads at B.
    """

    def group(cost: int, count: Steps, stream: int, brick: int, most: int) -> Group:
        drawn = RandomRequests(FixedSize(cost * SECTOR), read_share=1.0)
        return Group(drawn, count, stream=stream, volumes=(brick,) * most, most=most)

    groups = [
        group(COST[0], Steps([AWAY], [0, 3]), 0, 0, 3),
        group(COST[0], Steps([AWAY / 2, AWAY], [at_a, 0, 3]), 1, 0, 3),
        group(COST[1], Steps([AWAY], [at_b, then_at_b]), 1, 1, 2),
    ]
    drive, volumes = Mixed([RateServer(rate) for rate in RATE], (0, 1)), Volumes(UNIT, [[0], [1]], UNIT)
    queue = FairQueue(1, (1, 1), Total())
    return Scenario(System(drive, volumes, Hashing(), FCFS(), queue=queue, slots=16), Threads(groups, volume=UNIT))


def _minimum(data: xr.Dataset) -> Measurement:
    furthest = data.share.max("setting")
    shares = " and ".join(f"{float(furthest.sel(delay=name)):.3f} ({name})" for name in DELAYS)
    note = (
        "The value is the largest shortfall of a stream below its minimum share in any interval, divided by the "
        "shortfall that the bound allows. The claim holds if the value is at most 1. The value is the largest over "
        f"{data.sizes['setting']:,} settings and two policies. By policy, the largest ratio is {shares}."
    )
    worst = float(furthest.max())
    return Measurement("dsfq.hybrid.minimum", worst, note=note, holds=worst <= 1)


def _never_idle(data: xr.Dataset) -> Measurement:
    events, free = int(data.events.sum()), int(data.free.sum())
    note = (
        "The claim holds if the disks of a brick with waiting requests can never take one more request. After "
        f"{events:,} events a brick had waiting requests. After {free:,} of these events its disks could have taken "
        "one more request."
    )
    return Measurement("dsfq.work_conserving.never_idle", free, note=note, holds=free == 0 < events)


def _use_or_lose(data: xr.Dataset) -> Measurement:
    wait = {name: float(data.wait.sel(before=name)) for name in BEFORE}
    one_brick, across = wait["A"] - wait["nowhere"], wait["B"] - wait["nowhere, then B"]
    # The differences are in seconds. They are also numbers of requests, because each request takes one second.
    here, there = ("holds" if abs(longer) <= FEW else "does not hold" for longer in (one_brick, across))
    note = (
        "The use-it-or-lose-it property holds if the earlier service of a stream changes its later waiting time by at "
        f"most {FEW:g} s. On one brick the property {here}. If stream g had brick A alone for the first 500 s, and "
        f"returns when stream f arrives at 1,000 s, g waits {wait['A']:.0f} s. If g had no requests before, it waits "
        f"{wait['nowhere']:.0f} s. Across bricks the property {there}. If g used brick B for 1,000 s while A was idle, "
        f"it waits {wait['B']:.0f} s at A. If g arrives at both bricks simultaneously, it waits "
        f"{wait['nowhere, then B']:.0f} s at A. B has a fifth of the speed of A."
    )
    held = here == there == "holds"
    return Measurement("dsfq.work_conserving.use_or_lose", held, note=note)
