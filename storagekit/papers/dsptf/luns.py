"""Hit rates of table 3 if the LUNs have unequal loads, and each LUN is on one group of eight bricks.

The paper has 50 LUNs and 16 GB of cache, which is 32 bricks of 512 MB. It states neither the location of the LUNs nor
their shares of the load. `traces.table3` places extents of all LUNs around the ring of bricks, so that every brick
stores an equal share of each LUN. Here each LUN is on one of four groups. The memory of one group may then be too large
for its LUNs, and the memory of another group too small.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import root_scalar

from storagekit.core.provenance import made_by
from storagekit.core.units import SECTOR
from storagekit.papers.dsptf.bricks import NAMES, TRACES, Setting, Source, TraceSystem, model_of
from storagekit.papers.dsptf.replays import QUICK, TraceEffort, through
from storagekit.papers.dsptf.samples import KIN, lun_shares
from storagekit.placement import Declustered
from storagekit.workload.reuse import hit_rates
from storagekit.workload.synthetic import Popularity, PopularTraceModel
from storagekit.workload.synthetic.popular import generate
from storagekit.workload.synthetic.popular.model import BLOCK
from storagekit.workload.synthetic.popular.popularity import STEEPEST, expected_hit_rate
from storagekit.workload.trace import RequestTrace

EXTENT = Declustered.extent * SECTOR
WIDE = TraceSystem(32, 8)
# Number of random assignments of LUNs to groups. The first of them is simulated.
LAYOUTS = 8
# The least balanced of all assignments: the busiest LUNs share a group.
BUSIEST_FIRST = -1
ORDERS = {"drawn": 0, "busiest first": BUSIEST_FIRST}
# Smallest and largest loss of hit rate in table 3 under hashing and LARD, which divide the memory among bricks.
FALLS = (0.02, 0.05)


def table3_luns(
    effort: TraceEffort = QUICK, *, traces: Sequence[str] = tuple(TRACES), layouts: int = LAYOUTS
) -> xr.Dataset:
    """Return the hit rates of reads if each LUN is on one group of bricks, and LUNs have unequal loads.

    The loads of the LUNs differ like the loads of the devices in public traces.

    Parameters
    ----------
    effort : TraceEffort
        Number and length of the runs.
    traces : sequence of str
        Names of `TRACES`.
    layouts : int
        Number of random assignments of LUNs to groups, by default 8.

    Returns
    -------
    Dataset
        `hit_rate`, shape `[trace, scheme, order]`: hit rate of reads, simulated as in `traces.table3`. With the order
        "drawn" the LUNs are assigned to groups at random. With "busiest first" the first group receives the busiest
        LUNs, the second group the busiest of the remaining LUNs, and so on. `hashing`, shape `[trace, layout]`: hit
        rate of exact LRU caches under hashing for each random assignment, computed without the simulator. `busiest`,
        shape `[trace, layout]`: share of the requests that go to the busiest group. `needed`, shape `[trace, fall]`:
        share of the requests that one group must have so that the hit rate falls by `fall`; see `share_needed`.
    """
    began = time.perf_counter()
    runs = {scheme: Setting(scheme, allocated=1.0) for scheme in NAMES[:4]}
    found, exact, busiest = [], [], []
    for name in traces:
        laid = [on_groups(name, effort.requests_on_32_bricks, effort.first_seed, layout) for layout in range(layouts)]
        orders = []
        for given in (
            laid[ORDERS["drawn"]],
            on_groups(name, effort.requests_on_32_bricks, effort.first_seed, BUSIEST_FIRST),
        ):
            data = through(given, WIDE, runs, name, effort.seed_list[:1], 1).whole.isel(seed=0, drop=True)
            orders.append(data[["hit_rate"]].drop_vars(["system", "scheme"]).rename(run="scheme"))
        found.append(xr.concat(orders, dim="order", combine_attrs="override").assign_coords(order=list(ORDERS)))
        exact.append([hashed_hit_rate(given) for given in laid])
        busiest.append([group_shares(given).max() for given in laid])
    data = xr.concat(found, dim="trace", combine_attrs="override").assign_coords(trace=list(traces))
    data = data.assign(hashing=(("trace", "layout"), exact), busiest=(("trace", "layout"), busiest))
    needed = [[share_needed(name, TRACES[name].hit_rate - fall) for fall in FALLS] for name in traces]
    data = data.assign(needed=(("trace", "fall"), needed)).assign_coords(fall=list(FALLS))
    data = data.assign_coords(layout=list(range(layouts)), basis=("trace", ["stand-in"] * len(traces)))
    made = made_by("stand-in", effort.seed_list[:1], time.perf_counter() - began)
    return data.assign_attrs(made, paper="dsptf", exhibit="dsptf.table3")


def popularity_within(model: PopularTraceModel, shares: NDArray[np.float64]) -> Popularity:
    """Return the popularity of the data of a LUN, fitted to the hit rate of the model.

    The hit rate of the model is the hit rate of one memory that all LUNs share.

    Parameters
    ----------
    model : PopularTraceModel
        Model of the trace.
    shares : array of float64, shape `[lun]`
        Shares of the requests that go to each LUN.

    Returns
    -------
    Popularity
        The popularity, which is the same within every LUN.

    Notes
    -----
    The calculation assumes that the memory is never full, which is true of all four traces (`PopularTraceModel`).
    """
    busy = shares[shares > 0]
    each = model.requests / model.chunks * len(shares) * busy

    def excess(alpha: float) -> float:
        law = Popularity(alpha, model.head)
        hits = [expected_hit_rate(law, float(requests), model.pairs, 1.0) for requests in each]
        return float(busy @ hits) - model.hit_rate

    return Popularity(float(root_scalar(excess, bracket=(0.0, STEEPEST), xtol=1e-9).root), model.head)


def on_groups(name: str, requests: int, seed: int, layout: int, system: TraceSystem = WIDE) -> Source:
    """Return a synthetic trace whose LUNs have unequal loads, with each LUN on one group of bricks of the system.

    Parameters
    ----------
    name : str
        A name of `TRACES`.
    requests : int
        Number of requests, 0 for the full length of the trace.
    seed : int
        Seed of the requests.
    layout : int
        Number of the random assignment of LUNs to groups (0, 1, ...), or `BUSIEST_FIRST`.
    system : TraceSystem
        The system, by default 32 bricks and eight replicas.

    Returns
    -------
    Source
        The trace.

    Notes
    -----
    The paper states neither the location of its 50 LUNs nor their shares of the load. This function assumes both, in
    addition to the assumptions of `source`. The shares of the LUNs are the `lun_shares` of the most similar public
    trace (`KIN`). Popularity within a LUN follows one law for all LUNs. The steepness of this law is such that one
    memory that all LUNs share has the published hit rate. In a random assignment the numbers of LUNs of two groups
    differ by at most one. With `BUSIEST_FIRST` the first group has the busiest LUNs, the second group the busiest of
    the remaining LUNs, and so on. The addresses are chosen so that `Declustered` keeps the groups on separate bricks.
    """
    model, trace, lun = _undealt(name, requests, seed)
    group, row = (placed[lun] for placed in _dealt(model.luns, system.bricks // system.replicas, layout))
    extent, rest = np.divmod(row * model.lun + trace.offset, EXTENT)
    offset = (extent * system.bricks + group * system.replicas) * EXTENT + rest
    return Source(replace(trace, offset=offset), model.scale, "stand-in")


@lru_cache(maxsize=2)
def _undealt(name: str, requests: int, seed: int) -> tuple[PopularTraceModel, RequestTrace, NDArray[np.int64]]:
    """Return the model, a trace, and the LUN of each request (0 is the busiest LUN).

    The addresses of the trace are relative to the start of the LUN.
    """
    model = model_of(name, requests)
    shares = lun_shares(KIN[name], model.luns)
    alone = replace(model, luns=1, data=model.lun)
    trace = generate(alone, seed=seed, popularity=popularity_within(model, shares))
    return model, trace, np.random.default_rng([seed, 1]).choice(model.luns, size=len(trace), p=shares)


def _dealt(luns: int, groups: int, layout: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each LUN and the position of the LUN in its group, two arrays of shape `[lun]`.

    The LUNs are in descending order of their load.
    """
    if layout == BUSIEST_FIRST:
        return np.divmod(np.arange(luns), -(-luns // groups))
    # The stream of random numbers differs from the stream that draws the LUNs of requests.
    row, group = np.divmod(np.random.default_rng([layout, 2]).permutation(luns), groups)
    return group, row


def groups_of(given: Source, system: TraceSystem = WIDE) -> NDArray[np.int64]:
    """Return, for a trace from `on_groups`, the group of bricks that each request goes to.

    Parameters
    ----------
    given : Source
        The trace.
    system : TraceSystem
        The system, by default 32 bricks and eight replicas.

    Returns
    -------
    array of int64, shape `[request]`
        Numbers of the groups.
    """
    return given.trace.offset // EXTENT % system.bricks // system.replicas


def group_shares(given: Source, system: TraceSystem = WIDE) -> NDArray[np.float64]:
    """Return, for each group of bricks, the share of the requests that go to the group.

    Parameters
    ----------
    given : Source
        The trace, a result of `on_groups`.
    system : TraceSystem
        The system, by default 32 bricks and eight replicas.

    Returns
    -------
    array of float64, shape `[group]`
        The shares.
    """
    each = np.bincount(groups_of(given, system), minlength=system.bricks // system.replicas)
    return each / each.sum()


def hashed_hit_rate(given: Source, system: TraceSystem = WIDE) -> float:
    """Return the hit rate of reads under hashing, if each brick has an exact LRU cache.

    Parameters
    ----------
    given : Source
        The trace, a result of `on_groups`.
    system : TraceSystem
        The system, by default 32 bricks and eight replicas.

    Returns
    -------
    float
        The number of reads that hit, divided by the number of reads.
    """
    hashed = np.asarray(system.arrivals(given).requests.address_hash) % system.replicas
    brick = groups_of(given, system) * system.replicas + hashed
    blocks = int(system.memory * given.scale) // BLOCK
    hits = 0.0
    for number in range(system.bricks):
        part = given.trace.take(np.flatnonzero(brick == number))
        if part.read.any():
            hits += float(hit_rates(part, blocks)) * int(part.read.sum())
    return hits / int(given.trace.read.sum())


def share_needed(name: str, hit_rate: float, system: TraceSystem = WIDE) -> float:
    """Return the share of requests and data that one group must have so that the hit rate falls to a given value.

    Parameters
    ----------
    name : str
        A name of `TRACES`.
    hit_rate : float
        The hit rate, below the hit rate of the trace.
    system : TraceSystem
        The system, by default 32 bricks and eight replicas.

    Returns
    -------
    float
        The share, or NaN if the hit rate stays higher even if one group has all requests and data.

    Notes
    -----
    The other groups have equal shares of the remaining requests and data. A byte is equally popular on all groups. A
    group with memory M and share s of the data then has the hit rate that a memory of M / s would have for all data.
    The result shows how unequal the groups must be for a given loss of hit rate. It is compared with samples, and is
    not used in any run.
    """
    model, groups = TRACES[name], system.bricks // system.replicas
    memory = system.memory * system.replicas

    def excess(share: float) -> float:
        shares = [share, *[(1 - share) / (groups - 1)] * (groups - 1)]
        return sum(one * model.expected_hit_rate(memory / one) for one in shares) - hit_rate

    most = 1 - 1e-3
    if not excess(most) < 0 < excess(1 / groups):
        return np.nan
    return float(root_scalar(excess, bracket=(1 / groups, most)).root)
