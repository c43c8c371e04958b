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
# Multiples of the published load. At about the last load, the requests under Randomized exceed the capacity of a node.
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
        Whether a read of erasure-coded data fetches whole fragments of its blocks from the m nodes that it needs.
        Otherwise each of the m nodes sends 1/m of the requested bytes of each block. The paper does not say which of
        the two it simulates.
    slots : int
        Number of requests in the system for which memory is reserved.

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
    protocols : sequence
        Names of `PROTOCOLS`, and pairs of a name and a dispatcher of your own.
    settings : sequence of str
        Names of `cluster.SETTINGS`.
    read_share : float
        Fraction of reads, by default 1.
    on : str
        The layout, see `cluster.layout`.

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
    """Return the response times of the synthetic trace and of the trace Financial on both volumes (figure 5).

    Half of the requests of the synthetic trace are writes.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    protocols : sequence
        Names of `PROTOCOLS`, and pairs of a name and a dispatcher of your own.
    financial : FinancialSource, optional
        The source of the hour of Financial, by default a synthetic trace. `effort` gives the number of requests.
    on : str
        The layout, see `cluster.layout`.

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
        Result of `loads`, for the loads at which ARS is close to the centralized protocol.

    Returns
    -------
    list of Measurement
        One finding for each claim of `ars.fig4`.

    Raises
    ------
    InputError
        If `data` lacks a protocol of `FOUR`.
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
                "The claim holds if the response times of ARS and of the centralized protocol are close on all "
                f"volumes: ARS takes at most {1 + CLOSE:g} times as long, with 95% confidence. The ratio is "
                f"{shown(order, 'volume')}.{idle} Few requests wait, so the centralized protocol sends all reads to "
                "the fastest node. ARS also uses slower nodes, because it sends each node a share of the requests in "
                f"proportion to the performance of the node. {appears(busy)}{_heads_known(response, 'volume')}"
            ),
        ),
        Measurement(
            "ars.fig4.random_worst",
            all(ahead(response, name, RANDOMIZED) for name in others),
            note="The claim holds if every other protocol has a shorter response time than Randomized on all volumes, "
            "with 95% confidence. The mean response times with requests for both volumes are, in ms, "
            f"{milliseconds(response.sel(volume='both'))}.",
        ),
        Measurement(
            "ars.fig4.dsptf_replicated",
            close(dsptf) and ahead(replicated, DSPTF, ADAPTIVE),
            note=(
                f"The claim holds if D-SPTF takes at most {1 + CLOSE:g} times as long as the centralized protocol, and "
                "less time than ARS, with 95% confidence. The mean response times are, in ms, "
                f"{milliseconds(replicated)}. Under D-SPTF, every node with a copy bids with its head position. Of "
                "the other protocols, only 'Central, heads known' uses head positions."
            ),
        ),
        Measurement(
            "ars.fig4.dsptf_coded",
            ahead(coded, ADAPTIVE, DSPTF),
            note=(
                "The claim holds if D-SPTF has a longer response time than ARS, with 95% confidence. The mean response "
                f"times are, in ms, {milliseconds(coded)}. The paper names the cost of messages as the reason, but "
                "gives no number. In this model, a claim message takes the latency of the network, and the first two "
                f"of four nodes serve the request. The protocol '{MESSAGES}' adds {MESSAGE / MS:g} ms of latency for "
                "each message, but no load on the nodes."
            ),
        ),
    ]


WHERE = {"replicated": "for replicated data", "erasure-coded": "for erasure-coded data", "both": "for both volumes"}


def appears(busy: xr.Dataset) -> str:
    """Return a sentence for each volume on the loads at which the response times of ARS and Central are close.

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
        found.append(
            f"The response times of ARS and of the centralized protocol {WHERE.get(volume, volume)} are close {at}."
        )
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
    """Return, for each pair of protocols, 1 if the first protocol is slower, -1 if it is faster, otherwise 0.

    A protocol is slower or faster if its response time differs with 95% confidence.
    """
    signs = {}
    for pair in itertools.combinations(FOUR, 2):
        taken = beside(response, *pair)
        low, high = (float(taken.sel(statistic=end)) for end in ("low", "high"))
        signs[pair] = (low > 1) - (high < 1)
    return signs


@judging("protocol", FOUR)
def fig5_findings(data: xr.Dataset, wrapped: xr.Dataset | None = None) -> list[Measurement]:
    """Return the findings on the claims of figure 5.

    The claim that both traces have the same pattern holds under two conditions. No run is overloaded. Each pair of
    protocols has the same relation in both traces: with 95% confidence the first protocol is faster, or it is slower,
    or neither can be shown.

    Parameters
    ----------
    data : Dataset
        Result of `fig5`.
    wrapped : Dataset, optional
        Result of `fig5` for the layout "wrapped", for the note on ARS and the centralized protocol.

    Returns
    -------
    list of Measurement
        One finding for each claim of `ars.fig5`.

    Raises
    ------
    InputError
        If `data` lacks a protocol of `FOUR`.
    """
    order = beside(data.response, ADAPTIVE, CENTRAL)
    four = data.response.sel(protocol=list(FOUR))
    ranks = [ranking(four.sel(trace=trace)) for trace in data.trace.values]
    one, other = (_orders(four.sel(trace=trace)) for trace in data.trace.values)
    unlike = [" and ".join(pair) for pair in one if one[pair] != other[pair]]
    words = " and ".join(
        f"{', '.join(names)} on the {trace} trace" for trace, names in zip(data.trace.values, ranks, strict=True)
    )
    apart = f" The traces differ in the relation of these pairs: {', '.join(unlike)}." if unlike else ""
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
                f"The claim holds if the response time of ARS is at most {1 + CLOSE:g} times the response time of the "
                "centralized protocol on both traces, with 95% confidence. The ratio is "
                f"{shown(order, 'trace')}.{elsewhere} {source}{_heads_known(data.response, 'trace')}"
            ),
        ),
        Measurement(
            "ars.fig5.same_pattern",
            not unlike and bool(four.notnull().all()),
            basis=data.attrs["basis"],
            note="The claim holds if no run is overloaded and each pair of protocols has the same relation on both "
            "traces: faster, slower, or no difference, with 95% confidence. From the fastest to the slowest, the "
            f"protocols are {words}.{apart} {source}",
        ),
    ]
