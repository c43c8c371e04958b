"""The unit interval that one client of ARS uses for reads, while a node slows down and recovers (section 4.1).

Times are in seconds. Lengths are fractions of the interval.
"""

import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from storagekit.core.provenance import made_by
from storagekit.core.validation import one_of, require
from storagekit.dispatch import ARS
from storagekit.dispatch.unit_interval import FREE, ONE
from storagekit.engine import AbstractLog, Record, Report, Runner, Scenario, State, stack
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.ars.cluster import CLIENTS, NODES, RATE, cluster, effort, synthetic
from storagekit.papers.effort import Effort
from storagekit.simulation import by_event, described

QUICK = effort("quick")
# Nodes with data of each volume in the scaled layout. Fragments fill node 0, so node 0 has no copies.
HELD = {"replicated": (1, 2, 3), "erasure-coded": (0, 1, 2, 3)}
LARGEST = len(NODES) - 1
# Multiple of the published load. At this load 71 requests arrive a second, and each request is for two nodes. The four
# nodes can serve about 180 requests a second.
LOAD = 8.0
SLOWS, RECOVERS, SECONDS = 20.0, 50.0, 80.0
WATCHED = 0
# Chunks of events between two checks of the simulated time.
STRIDE = 8


class Mapped(NamedTuple):
    """State of the unit interval after an event.

    elapsed: seconds since the previous event. owner: node of each subregion, FREE before the interval exists. filled:
    length that the node fills in each subregion, in units of 1/ONE of the interval; 0 before the interval exists.
    """

    elapsed: Any
    owner: Any
    filled: Any


class IntervalLog(AbstractLog):
    """Log of the unit interval that client `WATCHED` uses for reads of the data on a set of nodes.

    Parameters
    ----------
    nodes : tuple of int
        The nodes that hold the data.
    each : int
        Number of intervals in the pool of a client.
    """

    nodes: tuple[int, ...]
    each: int

    def keep(self, scenario: Scenario, state: State, report: Report) -> Mapped:
        pool = state.dispatch.pool
        like = state.dispatch.clock
        key = jnp.full_like(like, sum(1 << node for node in self.nodes), jnp.uint32)
        entry = pool.entry(key, jnp.full_like(like, WATCHED), self.each)
        owner, filled = entry.interval
        return Mapped(report.elapsed, jnp.where(entry.found, owner, FREE), jnp.where(entry.found, filled, 0))


def adapting(
    effort: Effort = QUICK,
    *,
    setting: str = "erasure-coded",
    window: float = 1.0,
    load: float = LOAD,
    node: int = LARGEST,
    seconds: float = SECONDS,
    every: float = 1.0,
) -> xr.Dataset:
    """Return the unit interval of the first client over time, in one run of reads.

    One node runs at half its speed from about `SLOWS` to about `RECOVERS` seconds after the start.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    setting : str
        The volume that is read: "replicated", or "erasure-coded", the default.
    window : float
        Time between two computations of the nodes' performance, by default 1 s.
    load : float
        Multiple of the published load, by default 8.
    node : int
        The node that slows down, by default the largest.
    seconds : float
        Length of the run, by default 80 s.
    every : float
        Time between two samples of the interval, by default 1 s.

    Returns
    -------
    Dataset
        Variables over `time` and `subregion`. `owner`: the node of a subregion, -1 if it belongs to no node. `filled`:
        the length that this node fills from the start of the subregion, as a fraction of the whole interval.

    Raises
    ------
    InputError
        If the setting is unknown, or `every` is not above 0 or exceeds `seconds`.
    """
    one_of(*HELD)("setting", setting)
    require(
        0 < every <= seconds,
        "time between samples",
        every,
        f"above 0 and at most {seconds:g} s, the length of the run",
        "s",
    )
    began = time.perf_counter()
    rate = load * RATE
    dispatch = ARS(clients=CLIENTS, window=window)
    slow = FaultSchedule(Slowdown(node, 0.5, int(SLOWS * rate), int(RECOVERS * rate)))
    scenario = cluster(dispatch, synthetic(setting, load=load), faults=slow)
    kept = _kept(scenario, IntervalLog(HELD[setting], dispatch.pool), effort.first_seed, seconds)
    moments = np.arange(1, int(seconds / every + 1e-9) + 1) * every
    # A sample is the state after the last event up to its time.
    last = np.maximum(np.searchsorted(np.cumsum(kept.elapsed, dtype=np.float64), moments, side="right") - 1, 0)
    dims = ("time", "subregion")
    data = xr.Dataset(
        {
            "owner": (dims, kept.owner[last], {"units": "1", "long_name": "node that a subregion is mapped to"}),
            "filled": (
                dims,
                kept.filled[last] / ONE,
                {"units": "1", "long_name": "fraction of the interval that the node fills"},
            ),
        },
        coords={"time": ("time", moments, {"units": "s"}), "subregion": np.arange(kept.owner.shape[1])},
    )
    made = made_by("simulated", [effort.first_seed], time.perf_counter() - began)
    about = {"paper": "ars", "exhibit": "ars.adapting", "setting": setting, "node": node, "window": window}
    length = {"seconds_per_run": seconds}
    return data.assign_attrs(made | described([scenario]) | length, slows=SLOWS, recovers=RECOVERS, **about)


def _kept(scenario: Scenario, log: IntervalLog, seed: int, seconds: float) -> Mapped:
    """Return the entries of the log in a run of at least `seconds`: arrays `[event]` and `[event, subregion]`."""
    merged, key = stack([scenario], [seed])
    runner, pieces, now = Runner(merged, key, Record(log=log)), [], 0.0
    while now < seconds:
        piece = jax.tree.map(by_event, runner.advance(STRIDE)[1])
        pieces.append(jax.tree.map(lambda array: array[..., 0], piece))
        now += float(np.sum(pieces[-1].elapsed, dtype=np.float64))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)
