"""Response times: figures 4 and 5, and the load from which on the paper's order appears.

Times in seconds, shares as fractions.
"""

import itertools
from collections.abc import Sequence

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
    SLOTS,
    cluster,
    effort,
    layout,
    protocols_on,
    synthetic,
)
from storagekit.papers.ars.comparing import CLOSE, ahead, beside, close, milliseconds, ranking, shown, swept
from storagekit.papers.ars.financial import Source, stand_in
from storagekit.papers.effort import Effort
from storagekit.papers.rows import Row, judging

QUICK = effort("quick")
# in what the published load is multiplied by; randomized requests outrun a node at about the last
LOADS = (1.0, 3.0, 10.0, 20.0, 30.0, 40.0)


def fig4(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = tuple(PROTOCOLS),
    settings: Sequence[str] = tuple(SETTINGS),
    on: str = "scaled",
    whole_blocks: bool = False,
    slots: int = SLOTS,
) -> xr.Dataset:
    """Response times of reads (figure 4). protocols: those to run, and your own beside them, each a pair of a name and a
    dispatcher; what compares protocols finds the paper's by their names. on: how the volumes are put on the nodes;
    whole_blocks: a coded read fetches the fragments of whole blocks, where it takes 1/m of what is asked otherwise; the paper
    says neither. slots: requests held at once, of which this load needs a few."""
    volumes = layout(on, whole_blocks)
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, volume: str) -> Scenario:
        return cluster(dispatch[protocol], synthetic(volume, on=volumes), on=volumes, slots=slots)

    return swept(run, {"protocol": list(dispatch), "volume": list(settings)}, effort, "fig4")


def loads(
    effort: Effort = QUICK,
    *,
    loads: Sequence[float] = LOADS,
    protocols: Sequence[Row] = FOUR,
    settings: Sequence[str] = tuple(SETTINGS),
    read_share: float = 1.0,
    on: str = "scaled",
) -> xr.Dataset:
    """Response times of figure 4 at multiples of the published load, up to where randomized requests outrun a node.
    protocols: as in `fig4`."""
    volumes = layout(on)
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, volume: str, load: float) -> Scenario:
        return cluster(dispatch[protocol], synthetic(volume, read_share, load, volumes), on=volumes)

    return swept(run, {"protocol": list(dispatch), "volume": list(settings), "load": list(loads)}, effort, "loads")


def fig5(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = tuple(PROTOCOLS),
    financial: Source | None = None,
    on: str = "scaled",
) -> xr.Dataset:
    """Response times of reads and writes, half each, and of Financial, on both volumes (figure 5).

    financial: the hour to run, by default its stand-in, of as many requests as `effort` has. protocols, and on, how the
    volumes are put on the nodes: see `fig4`.
    """
    source, volumes = stand_in() if financial is None else financial, layout(on)
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, trace: str) -> Scenario:
        arrivals = synthetic(read_share=0.5, on=volumes) if trace == "synthetic" else source.arrivals(volumes)
        return cluster(dispatch[protocol], arrivals, on=volumes)

    data = swept(run, {"protocol": list(dispatch), "trace": ["synthetic", "Financial"]}, effort, "fig5")
    return data.assign_attrs(basis=source.basis, financial=source.name)


@judging("protocol", FOUR)
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


def _orders(response: xr.DataArray) -> dict[tuple[str, str], int]:
    """For each two protocols whether the first takes longer (1) or less (-1), for certain; else 0."""
    signs = {}
    for pair in itertools.combinations(FOUR, 2):
        taken = beside(response, *pair)
        low, high = (float(taken.sel(statistic=end)) for end in ("low", "high"))
        signs[pair] = (low > 1) - (high < 1)
    return signs


@judging("protocol", FOUR)
def fig5_findings(data: xr.Dataset, wrapped: xr.Dataset | None = None) -> list[Measurement]:
    """Figure 5, whose Financial is what the Dataset says. wrapped: the same with volumes wrapped around the nodes.

    Patterns are the same where all runs last and each two protocols, if they differ for certain in one trace, differ so in
    the other.
    """
    order = beside(data.response, ADAPTIVE, CENTRAL)
    four = data.response.sel(protocol=list(FOUR))
    ranks = [ranking(four.sel(trace=trace)) for trace in data.trace.values]
    one, other = (_orders(four.sel(trace=trace)) for trace in data.trace.values)
    unlike = [" and ".join(pair) for pair in one if one[pair] != other[pair]]
    words = "; ".join(f"{trace} {', '.join(names)}" for trace, names in zip(data.trace.values, ranks, strict=True))
    apart = f"; not alike: {', '.join(unlike)}" if unlike else ""
    source = f"Financial: {data.attrs['financial']}"
    elsewhere = "" if wrapped is None else f"; wrapped: {shown(beside(wrapped.response, ADAPTIVE, CENTRAL), 'trace')}"
    return [
        Measurement(
            "ars.fig5.near_central",
            close(order),
            basis=data.attrs["basis"],
            note=f"ARS over Central: {shown(order, 'trace')}{elsewhere}; {by_means(data.response, 'trace')}; {source}",
        ),
        Measurement(
            "ars.fig5.same_pattern",
            not unlike and bool(four.notnull().all()),
            basis=data.attrs["basis"],
            note=f"from the quickest: {words}{apart}; {source}",
        ),
    ]
