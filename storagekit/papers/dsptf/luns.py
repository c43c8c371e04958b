"""LUNs that are unlike, each on one group of eight bricks: table 3 with the LUNs that it names.

The paper has 50 LUNs on 32 bricks and says neither where they lie nor how the load is divided among them. `traces.table3`
lays stretches of all of them around the ring of bricks, so that every brick has its share of everything; here a LUN is on one
of four groups, and the groups' memories may be too large for some and too small for others.
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
# drawn orders in which LUNs are dealt to groups, of which the first is simulated
LAYOUTS = 8
# the least even of all orders: the busiest LUNs share a group
BUSIEST_FIRST = -1
ORDERS = {"drawn": 0, "busiest first": BUSIEST_FIRST}
# what a divided memory loses in the paper's table, hashing and LARD, at least and at most
FALLS = (0.02, 0.05)


def table3_luns(
    effort: TraceEffort = QUICK, *, traces: Sequence[str] = tuple(TRACES), layouts: int = LAYOUTS
) -> xr.Dataset:
    """Hit rates of reads where every LUN lies on one replica group and LUNs are as unlike as devices of public traces.

    `hit_rate` [trace, scheme, order], simulated as in `traces.table3`: LUNs dealt to the groups in a drawn order, and group
    after group filled with the busiest that are left. `hashing` [trace, layout]: what exact LRU caches give hashing in many
    drawn orders, without a simulation; `busiest` [trace, layout]: the share of requests that the busiest group has;
    `needed` [trace, fall]: the share that it would have to have for hit rates to be lower by so much (`share_needed`).
    """
    began = time.perf_counter()
    runs = {scheme: Setting(scheme, allocated=1.0) for scheme in NAMES[:4]}
    found, exact, busiest = [], [], []
    for name in traces:
        laid = [on_groups(name, effort.wide, effort.first_seed, layout) for layout in range(layouts)]
        orders = []
        for given in (laid[ORDERS["drawn"]], on_groups(name, effort.wide, effort.first_seed, BUSIEST_FIRST)):
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
    """The popularity that all LUNs have within themselves, so that one memory for all has the model's hit rate.

    shares: of the requests, to each LUN. Supposes a memory that never fills, as in all four traces (`PopularTraceModel`).
    """
    busy = shares[shares > 0]
    each = model.requests / model.chunks * len(shares) * busy

    def excess(alpha: float) -> float:
        law = Popularity(alpha, model.head)
        hits = [expected_hit_rate(law, float(requests), model.pairs, 1.0) for requests in each]
        return float(busy @ hits) - model.hit_rate

    return Popularity(float(root_scalar(excess, bracket=(0.0, STEEPEST), xtol=1e-9).root), model.head)


def on_groups(name: str, requests: int, seed: int, layout: int, system: TraceSystem = WIDE) -> Source:
    """A stand-in whose LUNs are unlike, each on one replica group of the system (a named assumption beside `source`).

    The paper has 50 LUNs and does not say where they lie, nor how the load is divided among them. Here each is as popular as
    `lun_shares` of the trace's kin says; within every LUN popularity falls alike, as steeply as one memory for all needs for
    its published hit rate. LUNs are dealt to the groups in an order drawn by `layout`, so that groups have as many, as nearly
    as that goes; of `BUSIEST_FIRST`, the busiest on the first, and so on. The addresses are those at which `Declustered`
    keeps the groups apart. seed: of the requests.
    """
    model, trace, lun = _undealt(name, requests, seed)
    group, row = (placed[lun] for placed in _dealt(model.luns, system.bricks // system.replicas, layout))
    extent, rest = np.divmod(row * model.lun + trace.offset, EXTENT)
    offset = (extent * system.bricks + group * system.replicas) * EXTENT + rest
    return Source(replace(trace, offset=offset), model.scale, "stand-in")


@lru_cache(maxsize=2)
def _undealt(name: str, requests: int, seed: int) -> tuple[PopularTraceModel, RequestTrace, NDArray[np.int64]]:
    """A stand-in, its requests with addresses within their LUNs, and which of the LUNs, the busiest first, each is to."""
    model = model_of(name, requests)
    shares = lun_shares(KIN[name], model.luns)
    alone = replace(model, luns=1, data=model.lun)
    trace = generate(alone, seed=seed, popularity=popularity_within(model, shares))
    return model, trace, np.random.default_rng([seed, 1]).choice(model.luns, size=len(trace), p=shares)


def _dealt(luns: int, groups: int, layout: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The group of each LUN, the busiest first, and its place there, [lun]."""
    if layout == BUSIEST_FIRST:
        return np.divmod(np.arange(luns), -(-luns // groups))
    # a stream beside that for the LUNs of requests
    row, group = np.divmod(np.random.default_rng([layout, 2]).permutation(luns), groups)
    return group, row


def groups_of(given: Source, system: TraceSystem = WIDE) -> NDArray[np.int64]:
    """The group that each request of `on_groups` goes to, [request]."""
    return given.trace.offset // EXTENT % system.bricks // system.replicas


def group_shares(given: Source, system: TraceSystem = WIDE) -> NDArray[np.float64]:
    """The share of the requests that goes to each group, [group]."""
    each = np.bincount(groups_of(given, system), minlength=system.bricks // system.replicas)
    return each / each.sum()


def hashed_hit_rate(given: Source, system: TraceSystem = WIDE) -> float:
    """Reads that hashing answers from memory / reads, by an exact LRU cache for the requests of each brick of `on_groups`."""
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
    """The share of all requests that one group would have to have, and of the data, for hit rates to fall so far.

    The other groups share the rest alike, and a byte is as popular on one as on another, so that a group's memory is to its
    data what size / share is to all data. hit_rate: below that of the trace. NaN where not even a group that has everything
    falls so far. What a divided memory must lose, put as a skew: for comparison with samples, never for a run.
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
