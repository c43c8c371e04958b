"""How shares come to rest: equal queues, a node that slows down, and windows so long that shares swing.

Times in seconds, rates a second.
"""

import time
from collections.abc import Sequence

import numpy as np
import xarray as xr

from storagekit.dispatch import ARS, AbstractDispatch
from storagekit.engine import Condition, Scenario, Spell
from storagekit.metrics import made_by
from storagekit.metrics.windows import windows as over_time
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL,
    CLIENTS,
    NODES,
    PROTOCOLS,
    RATE,
    cluster,
    effort,
    saturating,
    synthetic,
)
from storagekit.papers.ars.watching import watched
from storagekit.papers.effort import Effort

QUICK = effort("quick")
# where copies of the replicated volume are: node 0 is full of fragments
HOLDERS = (1, 2, 3)
# a load at which it matters who serves, and the seconds after which the largest node slows down
LOAD, SLOWS, SECONDS = 20.0, 30.0, 90.0


def equal(
    effort: Effort = QUICK, *, windows: Sequence[float] = (0.03, 0.1, 0.3, 1.0), seeds: int = 4, chunks: int = 240
) -> xr.Dataset:
    """How many of fifty reads of replicated data are at each node on average, and how many it serves (`window`, `node`).

    Shares go by size over response time, so that they rest where shares times responses are equal: as many at each node,
    whatever its speed.
    """
    began = time.perf_counter()
    seeds_used = effort.successive(seeds)
    found = np.array([[_held(window, [seed], chunks) for seed in seeds_used] for window in windows])
    dims = ("window", "seed", "node")
    data = xr.Dataset(
        {"outstanding": (dims, found[:, :, 0]), "rate": (dims, found[:, :, 1])},
        coords={"window": list(windows), "seed": seeds_used, "node": list(HOLDERS)},
    )
    return data.assign_attrs(
        made_by("simulated", seeds_used, time.perf_counter() - began), paper="ars", exhibit="ars.equal"
    )


def _held(window: float, seeds: list[int], chunks: int) -> tuple[list[float], list[float]]:
    """Mean requests at each holder, and those it serves a second, once shares have settled: the later half of a run."""
    scenario = cluster(ARS(clients=CLIENTS, window=window), saturating("replicated"))
    [(accesses, answers)] = watched([scenario], seeds, chunks)
    node = dict(zip(accesses.number.tolist(), accesses.node.tolist(), strict=True))
    where = np.array([node.get(number, -1) for number in answers.number.tolist()])
    late = answers.at > answers.at[-1] / 2
    length = answers.at[-1] / 2
    held = [float(answers.response[late & (where == one)].sum() / length) for one in HOLDERS]
    return held, [float(np.sum(late & (where == one)) / length) for one in HOLDERS]


def halved(
    effort: Effort = QUICK,
    *,
    windows: Sequence[float] = (0.1, 1.0, 10.0),
    load: float = LOAD,
    seconds: float = SECONDS,
    every: float = 1.0,
    seeds: int = 16,
) -> xr.Dataset:
    """Of the bytes that all nodes serve, the share of the largest as time passes: it slows to half its speed on the way, all
    requests being reads of replicated data, at `load` times the published one.

    `protocol`, ARS with each of the windows and Central; `seed`; `time`, the middle of each stretch of `every` seconds.
    """
    dispatchers: dict[str, AbstractDispatch] = {
        f"{ADAPTIVE}, {window:g} s": ARS(clients=CLIENTS, window=window) for window in windows
    }
    dispatchers[CENTRAL] = PROTOCOLS[CENTRAL]()
    largest = len(NODES) - 1

    def run(protocol: str) -> Scenario:
        slow = Condition(Spell(largest, 0.5, int(load * RATE * SLOWS)))
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
    two standard errors."""
    mean, error = data.share.mean("seed"), data.share.std("seed", ddof=1) / np.sqrt(data.sizes["seed"])
    times, slows = data.time.values, float(data.attrs["slows"])
    found = {}
    for protocol in data.protocol.values:
        its, wide = (part.sel(protocol=protocol).values for part in (mean, error))
        before = its[(times > slows / 2) & (times < slows)].mean()
        end = its[times > times[-1] - (times[-1] - slows) / 3].mean()
        away = np.flatnonzero((times > slows) & (np.abs(its - end) > 0.1 * abs(before - end) + 2 * wide))
        found[str(protocol)] = float(times[away[-1]] - slows) if away.size else 0.0
    return found
