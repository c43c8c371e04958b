"""Figures 4 and 5: response times, and the load at which the protocols have the order that the paper gives.

Times are in seconds. Shares are fractions.
"""

import itertools
from collections.abc import Sequence

import xarray as xr

from storagekit.core.units import MS
from storagekit.engine import Scenario
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL,
    CENTRAL_HEADS,
    COMPARED,
    DSPTF,
    FOUR,
    MESSAGE,
    MESSAGES,
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
from storagekit.papers.ars.financial import FinancialSource, stand_in
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement
from storagekit.papers.rows import Row, judging

QUICK = effort("quick")
# Multiples of the published load. At about the last, randomized requests exceed the capacity of a node.
LOADS = (1.0, 3.0, 6.0, 12.0, 18.0, 24.0)


def fig4(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = tuple(PROTOCOLS),
    settings: Sequence[str] = tuple(SETTINGS),
    on: str = "scaled",
    whole_blocks: bool = False,
    slots: int = SLOTS,
) -> xr.Dataset:
    """Return the response times of reads (figure 4).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    protocols : sequence
        Names of `PROTOCOLS`, and pairs of a name and a dispatcher of your own.
    settings : sequence of str
        Names of `cluster.SETTINGS`.
    on : str
        The layout, see `cluster.layout`.
    whole_blocks : bool
        Whether a read of erasure-coded data fetches whole fragments of its blocks from m nodes. Otherwise each of the m
        nodes sends 1/m of the requested bytes of each block. The paper does not say which.
    slots : int
        Requests in the system for which memory is reserved.

    Returns
    -------
    Dataset
        `response` and further measures over `protocol`, `volume` and `seed`.
    """
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
    """Return the response times of figure 4 at multiples of the published load.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    loads : sequence of float
        Multiples of the published load.
    protocols, settings, on
        See `fig4`.
    read_share : float
        Fraction of reads.

    Returns
    -------
    Dataset
        `response` over `protocol`, `volume`, `load` and `seed`; NaN where requests arrive faster than the nodes serve
        them.
    """
    volumes = layout(on)
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, volume: str, load: float) -> Scenario:
        return cluster(dispatch[protocol], synthetic(volume, read_share, load, volumes), on=volumes)

    return swept(run, {"protocol": list(dispatch), "volume": list(settings), "load": list(loads)}, effort, "loads")


def fig5(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = COMPARED,
    financial: FinancialSource | None = None,
    on: str = "scaled",
) -> xr.Dataset:
    """Return the response times of two traces on both volumes: half reads and half writes, and Financial (figure 5).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    protocols, on
        See `fig4`.
    financial : Source, optional
        The hour of Financial; by default a synthetic trace with as many requests as `effort` gives.

    Returns
    -------
    Dataset
        `response` over `protocol`, `trace` and `seed`.
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
    """Return the findings on the claims of figure 4.

    Parameters
    ----------
    data : Dataset
        Result of `fig4`.
    busy : Dataset
        Result of `loads`, for the load at which the order of the paper appears.
    """
    response = data.response
    order = beside(response, ADAPTIVE, CENTRAL)
    others = [name for name in FOUR if name != RANDOMIZED]
    replicated, coded = (response.sel(volume=volume) for volume in ("replicated", "erasure-coded"))
    dsptf = beside(replicated, DSPTF, CENTRAL)
    idle = f" The disks are busy {float(data.utilization.mean()):.1%} of the time." if "utilization" in data else ""
    return [
        Measurement(
            "ars.fig4.near_central",
            close(order),
            note=(
                "The response time of ARS divided by the response time of the centralized protocol is "
                f"{shown(order, 'volume')}. We call the two close if the ratio is at most {1 + CLOSE:g}.{idle} Few "
                "requests wait, so the centralized protocol sends all reads to the fastest node. ARS also uses "
                "slower nodes, because it sends each node a share of the requests in proportion to its performance. "
                f"{appears(busy)}{_heads_known(response, 'volume')}"
            ),
        ),
        Measurement(
            "ars.fig4.random_worst",
            all(ahead(response, name, RANDOMIZED) for name in others),
            note=f"The mean response times on both volumes are, in ms, {milliseconds(response.sel(volume='both'))}.",
        ),
        Measurement(
            "ars.fig4.dsptf_replicated",
            close(dsptf) and ahead(replicated, DSPTF, ADAPTIVE),
            note=(
                f"The mean response times are, in ms, {milliseconds(replicated)}. Under D-SPTF, every node with a "
                "copy bids with its head position. The other protocols, including the centralized protocol, do not "
                "use head positions."
            ),
        ),
        Measurement(
            "ars.fig4.dsptf_coded",
            ahead(coded, ADAPTIVE, DSPTF),
            note=(
                f"The mean response times are, in ms, {milliseconds(coded)}. The paper names the cost of messages as "
                "the reason, but gives no number. In this model, a claim takes the latency of the network, and the "
                f"first two of four nodes serve the request. The protocol '{MESSAGES}' adds {MESSAGE / MS:g} ms of "
                "latency for each message, but no load."
            ),
        ),
    ]


WHERE = {"replicated": "for replicated data", "erasure-coded": "for erasure-coded data", "both": "for both volumes"}


def appears(busy: xr.Dataset) -> str:
    """Return a sentence for each volume on the loads at which the response time of ARS is close to that of Central.

    Parameters
    ----------
    busy : Dataset
        Result of `loads`.
    """
    order = beside(busy.response, ADAPTIVE, CENTRAL)
    found = []
    for volume in order.volume.values:
        its = order.sel(volume=volume)
        near = its.sel(statistic="high") <= 1 + CLOSE
        best = float(its.sel(statistic="mean").min())
        loads = [f"{float(load):g}" for load in its["load"].values[near.values]]
        at = (
            f"at {', '.join(loads)} times the published load"
            if loads
            else f"at none of the simulated loads (the smallest ratio is {best:.2f})"
        )
        found.append(f"The two response times {WHERE.get(volume, volume)} are close {at}.")
    return " ".join(found)


def _heads_known(response: xr.DataArray, dim: str) -> str:
    """Return a sentence that compares ARS with the centralized protocol that uses the positions of the heads."""
    if CENTRAL_HEADS not in response.protocol.values:
        return ""
    return (
        " The response time of ARS divided by the response time of a centralized protocol that uses the positions of "
        f"the heads is {shown(beside(response, ADAPTIVE, CENTRAL_HEADS), dim)}."
    )


def _orders(response: xr.DataArray) -> dict[tuple[str, str], int]:
    """Return, for each pair of protocols, 1 if the first is slower with 95% confidence, -1 if faster, otherwise 0."""
    signs = {}
    for pair in itertools.combinations(FOUR, 2):
        taken = beside(response, *pair)
        low, high = (float(taken.sel(statistic=end)) for end in ("low", "high"))
        signs[pair] = (low > 1) - (high < 1)
    return signs


@judging("protocol", FOUR)
def fig5_findings(data: xr.Dataset, wrapped: xr.Dataset | None = None) -> list[Measurement]:
    """Return the findings on the claims of figure 5.

    The patterns of the two traces are the same under two conditions. No run is overloaded. Each pair of protocols has
    the same relation in both traces: the first is faster, or slower, or not different, with 95% confidence.

    Parameters
    ----------
    data : Dataset
        Result of `fig5`.
    wrapped : Dataset, optional
        Result of `fig5` for the layout "wrapped", for a note.
    """
    order = beside(data.response, ADAPTIVE, CENTRAL)
    four = data.response.sel(protocol=list(FOUR))
    ranks = [ranking(four.sel(trace=trace)) for trace in data.trace.values]
    one, other = (_orders(four.sel(trace=trace)) for trace in data.trace.values)
    unlike = [" and ".join(pair) for pair in one if one[pair] != other[pair]]
    words = " and ".join(
        f"{', '.join(names)} on the {trace} trace" for trace, names in zip(data.trace.values, ranks, strict=True)
    )
    apart = f" The traces differ in the order of {', '.join(unlike)}." if unlike else ""
    source = f"The Financial trace is {data.attrs['financial']}."
    elsewhere = (
        ""
        if wrapped is None
        else f" In the layout with wrapped addresses, the ratio is "
        f"{shown(beside(wrapped.response, ADAPTIVE, CENTRAL), 'trace')}."
    )
    return [
        Measurement(
            "ars.fig5.near_central",
            close(order),
            basis=data.attrs["basis"],
            note=(
                "The response time of ARS divided by the response time of the centralized protocol is "
                f"{shown(order, 'trace')}. We call the two comparable if the ratio is at most {1 + CLOSE:g}. "
                f"{source}{elsewhere}{_heads_known(data.response, 'trace')}"
            ),
        ),
        Measurement(
            "ars.fig5.same_pattern",
            not unlike and bool(four.notnull().all()),
            basis=data.attrs["basis"],
            note=f"From the fastest to the slowest, the protocols are {words}.{apart} {source}",
        ),
    ]
