"""Convergence of the shares of ARS: equal queues, oscillation with long windows, and adaptation to a slower node.

The share of a node is the fraction of the requests that ARS sends to the node.

Times are in seconds, rates in requests a second.
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
# Nodes with copies of the replicated volume; fragments of the other volume fill node 0.
HOLDERS = (1, 2, 3)
# LOAD: multiple of the published load at which the selection of nodes matters. SLOWS: time at which the largest node
# slows down, seconds. SECONDS: length of a run. 106 requests arrive a second. The three nodes can serve about 250
# requests a second, and about 205 when the largest node runs at half its speed.
LOAD, SLOWS, SECONDS = 12.0, 30.0, 90.0
# Seconds over which a share is averaged; about 300 requests are served in this time.
EVERY = 3.0
# Whether all clients share one measurement of the nodes.
VIEWS = {"own": False, "shared": True}
# Seconds between two samples of the number of requests at each node. This is short compared with response times.
LOOK = 0.01


def equal(
    effort: Effort = QUICK, *, windows: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0), seeds: int = 4, chunks: int = 300
) -> xr.Dataset:
    """Return the number of outstanding requests at each node under ARS.

    In total, fifty reads of replicated data are outstanding.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    windows : sequence of float
        Windows of ARS: times between two computations of the nodes' performance, seconds.
    seeds : int
        Number of runs, by default 4.
    chunks : int
        Number of chunks of events in each run, by default 300.

    Returns
    -------
    Dataset
        Variables over `views`, `window`, `seed` and `node`. `outstanding`: mean number of outstanding requests at a
        node. `rate`: throughput of a node, requests a second. `swing`: standard deviation over time of the node's
        fraction of all outstanding requests. `held`, over `views`, `window`, `node` and `time`: number of outstanding
        requests at a node in the first run. `views` is "own" if each client measures the nodes separately, and "shared"
        if all clients use one common measurement.

    Notes
    -----
    All values are from the second half of the time that all runs cover. ARS sets the share of a node in proportion to
    the performance of the node: the bytes of the responses divided by the sum of their response times. The shares are
    therefore in equilibrium when the product of share and mean response time is equal at all nodes. Every node then has
    the same number of outstanding requests, whatever its speed. With a long window a client measures the effect of its
    shares late, and the shares oscillate.
    """
    began, seeds_used = time.perf_counter(), effort.successive(seeds)
    scenarios = [
        cluster(ARS(clients=CLIENTS, window=window, shared=shared), saturating("replicated"))
        for shared in VIEWS.values()
        for window in windows
    ]
    found = [_with_node(*run) for run in watched(scenarios, seeds_used, chunks)]
    # Requests that do not complete in the run are not counted, so the count ends before any of these requests is sent.
    ends = [float(answers.at[-1] - answers.response.max()) for _, answers in found]
    moments = np.arange(min(ends) / 2, min(ends), LOOK)
    shape = (len(VIEWS), len(windows), len(seeds_used), len(HOLDERS))
    held = np.array([_held(node, answers, moments) for node, answers in found]).reshape(*shape, -1)
    rate = np.array([_rates(node, answers, moments) for node, answers in found]).reshape(shape)
    dims = ("views", "window", "seed", "node")
    swing = (held / held.sum(axis=3, keepdims=True)).std(axis=-1)
    data = xr.Dataset(
        {
            "outstanding": (dims, held.mean(axis=-1), {"units": "1", "long_name": "outstanding requests"}),
            "rate": (dims, rate, {"units": "1/s", "long_name": "throughput of the node"}),
            "swing": (dims, swing, {"units": "1", "long_name": (
                "standard deviation over time of the share of outstanding requests"
            )}),
            "held": (("views", "window", "node", "time"), held[:, :, 0], {"units": "1"}),
        },
        coords={
            "views": list(VIEWS), "window": list(windows), "seed": seeds_used, "node": list(HOLDERS),
            "time": ("time", moments, {"units": "s"}),
        },
    )  # fmt: skip
    made = made_by("simulated", seeds_used, time.perf_counter() - began)
    facts = described(scenarios) | {"events_per_run": CHUNK * chunks}
    return data.assign_attrs(made | facts, paper="ars", exhibit="ars.equal")


def _with_node(accesses: WatchedAccesses, answers: Answers) -> tuple[Int[np.ndarray, " answer"], Answers]:
    """Return the node of each completed request (-1 if the log has no access of the request), and the completions."""
    node = np.full(max(accesses.number.max(), answers.number.max()) + 1, -1)
    node[accesses.number] = accesses.node
    return node[answers.number], answers


def _held(
    node: Int[np.ndarray, " answer"], answers: Answers, moments: Float[np.ndarray, " time"]
) -> Int[np.ndarray, "node time"]:
    """Return the number of outstanding requests at each node of `HOLDERS` at each time of `moments`."""
    arrival_time, left = answers.at - answers.response, answers.at
    return np.stack([
        np.searchsorted(np.sort(arrival_time[node == one]), moments, "right")
        - np.searchsorted(np.sort(left[node == one]), moments, "right")
        for one in HOLDERS
    ])  # fmt: skip


def _rates(node: Int[np.ndarray, " answer"], answers: Answers, moments: Float[np.ndarray, " time"]) -> list[float]:
    """Return the throughput in requests a second of each node of `HOLDERS`, from the first to the last of `moments`."""
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
    """Return the fraction of the bytes that the largest node serves, over time.

    The largest node slows down to half its speed during the run. All requests are reads of replicated data.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    windows : sequence of float
        Windows of ARS: times between two computations of the nodes' performance, seconds.
    load : float
        Multiple of the published load, by default 12.
    seconds : float
        Length of a run, by default 90 s.
    every : float
        Time over which a share is averaged, by default 3 s.
    seeds : int
        Number of runs, by default 16.

    Returns
    -------
    Dataset
        `share` over `protocol`, `seed` and `time`. The protocols are ARS with each window, and the centralized protocol
        that uses the positions of the heads. `time` is the middle of each interval of `every` seconds.
    """
    dispatchers: dict[str, AbstractDispatch] = {
        f"{ADAPTIVE}, {window:g} s": ARS(clients=CLIENTS, window=window) for window in windows
    }
    # Of the centralized protocols, only this one uses the present duration of an access, so only it adapts.
    dispatchers[CENTRAL_HEADS] = PROTOCOLS[CENTRAL_HEADS]()
    largest = len(NODES) - 1

    def run(protocol: str) -> Scenario:
        slow = FaultSchedule(Slowdown(largest, 0.5, int(load * RATE * SLOWS)))
        return cluster(dispatchers[protocol], synthetic("replicated", load=load), faults=slow)

    of_windows = over_time(
        run, {"protocol": list(dispatchers)}, seconds=seconds, window=every, seeds=effort.successive(seeds)
    )
    service = of_windows.service.sum("stream").rename(window="time")
    share = service.sel(brick=largest) / service.sum("brick")
    share.attrs = {"units": "1", "long_name": "share of the largest node in the transferred bytes"}
    return share.to_dataset(name="share").assign_attrs(of_windows.attrs, paper="ars", exhibit="ars.halved", slows=SLOWS)


def settled(data: xr.Dataset) -> dict[str, float]:
    """Return, for each protocol, the time from the slowdown until the share of the largest node has settled.

    Parameters
    ----------
    data : Dataset
        Result of `halved`.

    Returns
    -------
    dict of str to float
        Settling time by protocol, seconds: the time from the slowdown to the end of the last interval of time in which
        the mean share differs from its final value by more than the tolerance. It is 0 if there is no such interval.
        Its resolution is the length of an interval.

    Notes
    -----
    The final value is the mean share in the last third of the time after the slowdown. The initial value is the mean
    share in the second half of the time before the slowdown. The tolerance is a tenth of the difference of the two
    values, plus two standard errors of the share.
    """
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
