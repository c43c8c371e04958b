"""How shares come to rest: nearly equal queues, windows so long that shares swing, and a node that slows down.

Times in seconds, rates a second.
"""

import time
from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from storagekit.core.provenance import made_by
from storagekit.dispatch import ARS, AbstractDispatch
from storagekit.engine import Scenario
from storagekit.engine.run import CHUNK
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL_HEADS,
    CLIENTS,
    NODES,
    PROTOCOLS,
    RATE,
    cluster,
    effort,
    saturating,
    synthetic,
)
from storagekit.papers.ars.watching import Answers, WatchedAccesses, watched
from storagekit.papers.effort import Effort
from storagekit.simulation import described
from storagekit.simulation.windows import windows as over_time

QUICK = effort("quick")
# where copies of the replicated volume are: node 0 is full of fragments
HOLDERS = (1, 2, 3)
# a load at which it matters who serves, and the seconds after which the largest node slows down
# 106 requests a second, of some 250 that three nodes serve, and 205 once the largest has half its speed
LOAD, SLOWS, SECONDS = 12.0, 30.0, 90.0
# seconds over which shares are averaged, in which some 300 requests are served
EVERY = 3.0
# whether all clients have one view of the nodes
VIEWS = {"own": False, "shared": True}
# seconds between two looks at who has how many requests: short beside their responses
LOOK = 0.01


def equal(
    effort: Effort = QUICK, *, windows: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0), seeds: int = 4, chunks: int = 300
) -> xr.Dataset:
    """How many of fifty reads of replicated data are at each node, and how that swings (`views`, `window`, `seed`, `node`).

    Shares go by size over response time, so that they rest where shares times responses are equal: as many at each node,
    whatever its speed. Where a client sees late what came of its shares, they do not rest.

    outstanding: requests at a node on average; rate: those that it answers a second; swing: the standard deviation over time
    of its share of the fifty; all in the later half of a run. held: what is outstanding as time passes, in the first run.
    views: "own", each client's, or one "shared".
    """
    began, seeds_used = time.perf_counter(), effort.successive(seeds)
    scenarios = [
        cluster(ARS(clients=CLIENTS, window=window, shared=shared), saturating("replicated"))
        for shared in VIEWS.values()
        for window in windows
    ]
    found = [_placed(*run) for run in watched(scenarios, seeds_used, chunks)]
    # what is never answered is not counted: as far as nothing of it had been asked
    ends = [float(answers.at[-1] - answers.response.max()) for _, answers in found]
    moments = np.arange(min(ends) / 2, min(ends), LOOK)
    shape = (len(VIEWS), len(windows), len(seeds_used), len(HOLDERS))
    held = np.array([_held(node, answers, moments) for node, answers in found]).reshape(*shape, -1)
    rate = np.array([_rates(node, answers, moments) for node, answers in found]).reshape(shape)
    dims = ("views", "window", "seed", "node")
    swing = (held / held.sum(axis=3, keepdims=True)).std(axis=-1)
    data = xr.Dataset(
        {
            "outstanding": (dims, held.mean(axis=-1), {"units": "1", "long_name": "requests outstanding"}),
            "rate": (dims, rate, {"units": "1/s", "long_name": "requests answered"}),
            "swing": (dims, swing, {"units": "1", "long_name": "standard deviation of the share outstanding"}),
            "held": (("views", "window", "node", "time"), held[:, :, 0], {"units": "1"}),
        },
        coords={
            "views": list(VIEWS), "window": list(windows), "seed": seeds_used, "node": list(HOLDERS),
            "time": ("time", moments, {"units": "s"}),
        },
    )  # fmt: skip
    made = made_by("simulated", seeds_used, time.perf_counter() - began)
    told = described(scenarios) | {"events_per_run": CHUNK * chunks}
    return data.assign_attrs(made | told, paper="ars", exhibit="ars.equal")


def _placed(accesses: WatchedAccesses, answers: Answers) -> tuple[Int[np.ndarray, " answer"], Answers]:
    """At which node each request was, -1 if the run ended first, and the answers."""
    node = np.full(max(accesses.number.max(), answers.number.max()) + 1, -1)
    node[accesses.number] = accesses.node
    return node[answers.number], answers


def _held(
    node: Int[np.ndarray, " answer"], answers: Answers, moments: Float[np.ndarray, " time"]
) -> Int[np.ndarray, "node time"]:
    """How many requests are outstanding at each holder at these moments."""
    arrival_time, left = answers.at - answers.response, answers.at
    return np.stack([
        np.searchsorted(np.sort(arrival_time[node == one]), moments, "right")
        - np.searchsorted(np.sort(left[node == one]), moments, "right")
        for one in HOLDERS
    ])  # fmt: skip


def _rates(node: Int[np.ndarray, " answer"], answers: Answers, moments: Float[np.ndarray, " time"]) -> list[float]:
    """Requests that each holder answers a second, between the first of these moments and the last."""
    within = (answers.at > moments[0]) & (answers.at <= moments[-1])
    return [float(np.sum(within & (node == one)) / (moments[-1] - moments[0])) for one in HOLDERS]


def halved(
    effort: Effort = QUICK,
    *,
    windows: Sequence[float] = (0.1, 1.0, 10.0),
    load: float = LOAD,
    seconds: float = SECONDS,
    every: float = EVERY,
    seeds: int = 16,
) -> xr.Dataset:
    """Of the bytes that all nodes serve, the share of the largest as time passes: it slows to half its speed on the way, all
    requests being reads of replicated data, at `load` times the published one.

    `protocol`, ARS with each of the windows and Central; `seed`; `time`, the middle of each stretch of `every` seconds.
    """
    dispatchers: dict[str, AbstractDispatch] = {
        f"{ADAPTIVE}, {window:g} s": ARS(clients=CLIENTS, window=window) for window in windows
    }
    # of the two the one that knows how long an access takes at present
    dispatchers[CENTRAL_HEADS] = PROTOCOLS[CENTRAL_HEADS]()
    largest = len(NODES) - 1

    def run(protocol: str) -> Scenario:
        slow = FaultSchedule(Slowdown(largest, 0.5, int(load * RATE * SLOWS)))
        return cluster(dispatchers[protocol], synthetic("replicated", load=load), condition=slow)

    told = over_time(
        run, {"protocol": list(dispatchers)}, seconds=seconds, window=every, seeds=effort.successive(seeds)
    )
    service = told.service.sum("stream").rename(window="time")
    share = service.sel(brick=largest) / service.sum("brick")
    share.attrs = {"units": "1", "long_name": "share of the largest node in what is transferred"}
    return share.to_dataset(name="share").assign_attrs(told.attrs, paper="ars", exhibit="ars.halved", slows=SLOWS)


def settled(data: xr.Dataset) -> dict[str, float]:
    """Seconds from the slowing of a node until the mean share of `halved` stays within a tenth of the way it has to go and
    two standard errors: up to the end of the last stretch in which it does not, 0 where it always does. What happens within
    a stretch is not told apart."""
    mean, error = data.share.mean("seed"), data.share.std("seed", ddof=1) / np.sqrt(data.sizes["seed"])
    times, slows = data.time.values, float(data.attrs["slows"])
    half = float(times[1] - times[0]) / 2
    found = {}
    for protocol in data.protocol.values:
        its, wide = (part.sel(protocol=protocol).values for part in (mean, error))
        before = its[(times > slows / 2) & (times < slows)].mean()
        end = its[times > times[-1] - (times[-1] - slows) / 3].mean()
        away = np.flatnonzero((times > slows) & (np.abs(its - end) > 0.1 * abs(before - end) + 2 * wide))
        found[str(protocol)] = float(times[away[-1]] + half - slows) if away.size else 0.0
    return found
