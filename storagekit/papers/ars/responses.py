"""Response times: figures 4 and 5, and the load from which on the paper's order appears.

Times in seconds, shares as fractions.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import xarray as xr

from storagekit.engine import Scenario
from storagekit.metrics import Measurement
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL,
    CENTRAL_MEAN,
    DSPTF,
    FOUR,
    PROTOCOLS,
    RANDOMIZED,
    SETTINGS,
    cluster,
    effort,
    layout,
    synthetic,
)
from storagekit.papers.ars.comparing import CLOSE, ahead, beside, close, milliseconds, ranking, shown, swept
from storagekit.papers.ars.financial import Source, stand_in
from storagekit.papers.effort import Effort

QUICK = effort("quick")
# in what the published load is multiplied by; randomized requests outrun a node at about the last
LOADS = (1.0, 3.0, 10.0, 20.0, 30.0, 40.0)


def fig4(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[str] = tuple(PROTOCOLS),
    settings: Sequence[str] = tuple(SETTINGS),
    on: str = "scaled",
    whole_blocks: bool = False,
) -> xr.Dataset:
    """Response times of reads (figure 4). on: how the volumes are put on the nodes; whole_blocks: a coded read fetches the
    fragments of whole blocks, where it takes 1/m of what is asked otherwise; the paper says neither."""
    volumes = layout(on, whole_blocks)

    def run(protocol: str, volume: str) -> Scenario:
        return cluster(PROTOCOLS[protocol](volumes), synthetic(volume, on=volumes), on=volumes)

    return swept(run, {"protocol": list(protocols), "volume": list(settings)}, effort, "fig4")


def loads(
    effort: Effort = QUICK,
    *,
    loads: Sequence[float] = LOADS,
    protocols: Sequence[str] = FOUR,
    settings: Sequence[str] = tuple(SETTINGS),
    read_share: float = 1.0,
) -> xr.Dataset:
    """Response times of figure 4 at multiples of the published load, up to where randomized requests outrun a node."""

    def run(protocol: str, volume: str, load: float) -> Scenario:
        return cluster(PROTOCOLS[protocol](), synthetic(volume, read_share, load))

    return swept(run, {"protocol": list(protocols), "volume": list(settings), "load": list(loads)}, effort, "loads")


def fig5(
    effort: Effort = QUICK, *, protocols: Sequence[str] = tuple(PROTOCOLS), financial: Source | None = None
) -> xr.Dataset:
    """Response times of reads and writes, half each, and of Financial, on both volumes (figure 5).

    financial: the hour to run, by default its stand-in, of as many requests as `effort` has.
    """
    source = stand_in() if financial is None else financial

    def run(protocol: str, trace: str) -> Scenario:
        arrivals = synthetic(read_share=0.5) if trace == "synthetic" else source.arrivals(layout())
        return cluster(PROTOCOLS[protocol](), arrivals)

    data = swept(run, {"protocol": list(protocols), "trace": ["synthetic", "Financial"]}, effort, "fig5")
    return data.assign_attrs(basis=source.basis, financial=source.name)


def fig4_findings(data: xr.Dataset, busy: xr.Dataset) -> list[Measurement]:
    """Figure 4. busy: of `loads`, for what becomes of the order."""
    response = data.response
    order = beside(response, ADAPTIVE, CENTRAL)
    others = [name for name in FOUR if name != RANDOMIZED]
    replicated, coded = (response.sel(volume=volume) for volume in ("replicated", "erasure-coded"))
    dsptf = beside(replicated, DSPTF, CENTRAL)
    at_load = f"disks are busy {float(data.utilization.mean()):.1%} of the time" if "utilization" in data else ""
    return [
        Measurement(
            "ars.fig4.near_central",
            close(order),
            note=f"ARS over Central, close being at most {1 + CLOSE:g}: {shown(order, 'volume')}; "
            f"{by_means(response, 'volume')}; {at_load}; {appears(busy)}",
        ),
        Measurement(
            "ars.fig4.random_worst",
            all(ahead(response, name, RANDOMIZED) for name in others),
            note="ms, both volumes: " + milliseconds(response.sel(volume="both")),
        ),
        Measurement(
            "ars.fig4.dsptf_replicated",
            close(dsptf) and ahead(replicated, DSPTF, ADAPTIVE),
            note="ms: " + milliseconds(replicated),
        ),
        Measurement(
            "ars.fig4.dsptf_coded",
            ahead(coded, ADAPTIVE, DSPTF),
            note="ms: "
            + milliseconds(coded)
            + "; the paper has it that messages cost too much: here they take their time, and "
            "load neither nodes nor network; idle nodes begin at once, and the first two of four to end answer",
        ),
    ]


def appears(busy: xr.Dataset) -> str:
    """From which multiple of the published load on ARS is close to Central, in words, for each setting."""
    order = beside(busy.response, ADAPTIVE, CENTRAL)
    found = []
    for volume in order.volume.values:
        its = order.sel(volume=volume)
        near = its.sel(statistic="high") <= 1 + CLOSE
        best = float(its.sel(statistic="mean").min())
        loads = [f"{float(load):g}" for load in its["load"].values[near.values]]
        found.append(f"{volume} {'at ' + ', '.join(loads) if loads else f'at none (least {best:.2f})'}")
    return f"close at these multiples of the load: {'; '.join(found)}"


def by_means(response: xr.DataArray, dim: str) -> str:
    """How ARS stands beside the centralized protocol that knows mean service times only, in words."""
    if CENTRAL_MEAN not in response.protocol.values:
        return "with mean service times not run"
    return f"over one that knows mean service times only: {shown(beside(response, ADAPTIVE, CENTRAL_MEAN), dim)}"


def _orders(response: xr.DataArray) -> np.ndarray:
    """For each two protocols whether the first takes longer (1) or less (-1), for certain; else 0."""
    signs = []
    for one, other in itertools.combinations(FOUR, 2):
        taken = beside(response, one, other)
        low, high = (float(taken.sel(statistic=end)) for end in ("low", "high"))
        signs.append((low > 1) - (high < 1))
    return np.array(signs, int)


def fig5_findings(data: xr.Dataset) -> list[Measurement]:
    """Figure 5, whose Financial is what the Dataset says."""
    order = beside(data.response, ADAPTIVE, CENTRAL)
    four = data.response.sel(protocol=list(FOUR))
    ranks = [ranking(four.sel(trace=trace)) for trace in data.trace.values]
    signs = [_orders(four.sel(trace=trace)) for trace in data.trace.values]
    words = "; ".join(f"{trace} {', '.join(names)}" for trace, names in zip(data.trace.values, ranks, strict=True))
    source = f"Financial: {data.attrs['financial']}"
    return [
        Measurement(
            "ars.fig5.near_central",
            close(order),
            basis=data.attrs["basis"],
            note=f"ARS over Central: {shown(order, 'trace')}; {by_means(data.response, 'trace')}; {source}",
        ),
        Measurement(
            "ars.fig5.same_pattern",
            not np.any(signs[0] * signs[1] < 0),
            basis=data.attrs["basis"],
            note=f"from the quickest: {words}; {source}",
        ),
    ]
