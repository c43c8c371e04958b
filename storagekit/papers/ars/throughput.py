"""Figure 6: throughput with fifty requests outstanding, and what limits the throughput of ARS.

Rates are in requests a second, times in seconds.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import xarray as xr

from storagekit.core.provenance import made_jointly
from storagekit.core.units import KB, MB
from storagekit.core.validation import one_of
from storagekit.dispatch import ARS
from storagekit.engine import Scenario
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL,
    CENTRAL_HEADS,
    CLIENTS,
    COMPARED,
    DSPTF,
    FOUR,
    NODES,
    ORDERS,
    PROTOCOLS,
    RANDOMIZED,
    UNLIMITED,
    cluster,
    effort,
    layout,
    protocols_on,
    saturating,
    writes,
)
from storagekit.papers.ars.comparing import CLOSE, beside, shown
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement
from storagekit.papers.rows import Row, chosen, judging
from storagekit.simulation import sweep

QUICK = effort("quick")
# Fraction of reads of each mix of requests.
MIXES = {"reads": 1.0, "mixed": 0.5}
# Length of a run of each mix, and length of the warm-up at its start, which is not measured; both in seconds. After 4 s
# the shares of ARS have settled. All writes reach the slowest node. About 60 writes arrive a second, which is more than
# this node serves, so after 12 s its buffer of 2 MB is full.
LENGTHS = {"reads": (10.0, 4.0), "mixed": (18.0, 12.0)}
# Interpretations of details that the paper does not give: the service order of nodes, the layout, and the mixes that
# are run. The verdicts follow from the first interpretation. The last interpretation has reads only, because with a
# separate queue for each disk the writes of D-SPTF on RAID 5 are not modelled.
INTERPRETATIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "in order, scaled": ("in order", "scaled", tuple(MIXES)),
    "shortest first": ("shortest first", "scaled", tuple(MIXES)),
    "wrapped": ("in order", "wrapped", tuple(MIXES)),
    "packed at the start of disks": ("in order", "packed", tuple(MIXES)),
    "each disk has its own queue": ("in order", "disks apart", ("reads",)),
}
# Sizes of the buffer of each node, bytes. A buffer of the last size never becomes full.
SIZES = (512 * KB, 2 * MB, 8 * MB, UNLIMITED)
# Length and warm-up of the runs of `buffers`, seconds.
FILLING = (28.0, 22.0)
# Windows of ARS: seconds between two computations of the nodes' performance.
WINDOWS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def fig6(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = COMPARED,
    mixes: Sequence[str] = tuple(MIXES),
    order: str = "in order",
    on: str = "scaled",
    lengths: Mapping[str, tuple[float, float]] = MappingProxyType(LENGTHS),
) -> xr.Dataset:
    """Return the throughput of the protocols on both volumes with fifty requests outstanding (figure 6).

    Parameters
    ----------
    effort : Effort
        Its seeds are the seeds of the runs. `lengths` gives the length of the runs.
    protocols : sequence
        Names of `PROTOCOLS`, and pairs of a name and a dispatcher of your own.
    mixes : sequence of str
        Names of `MIXES`.
    order : str
        The service order of nodes, a name of `ORDERS`.
    on : str
        The layout, see `cluster.layout`.
    lengths : mapping of str to (float, float)
        Length in seconds of the runs of each mix, and length of the warm-up at their start, which is not measured.

    Returns
    -------
    Dataset
        `request_rate` and further measures over `protocol`, `mix` and `seed`.

    Raises
    ------
    InputError
        If the order, the layout or a protocol is unknown.
    """
    volumes = layout(on)
    one_of(*ORDERS)("service order", order)
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, mix: str) -> Scenario:
        arrivals = saturating(read_share=MIXES[mix], on=volumes)
        return cluster(dispatch[protocol], arrivals, on=volumes, schedule=ORDERS[order])

    found = []
    for mix in mixes:
        axes = {"protocol": list(dispatch), "mix": [mix]}
        seconds, warm_up = lengths[mix]
        found.append(sweep(run, axes, seeds=effort.seed_list, seconds=seconds, warm_up=warm_up))
    data = xr.concat(found, "mix", data_vars="all", join="exact", combine_attrs=made_jointly)
    return data.assign_attrs(paper="ars", exhibit="ars.fig6")


def fig6_interpretations(
    judged: xr.Dataset, effort: Effort = QUICK, *, protocols: Sequence[Row] = FOUR, **of_runs: Any
) -> xr.Dataset:
    """Return the throughput under each interpretation of `INTERPRETATIONS`.

    Parameters
    ----------
    judged : Dataset
        Result of `fig6` for the first interpretation, from which the verdicts follow.
    effort : Effort
        Its seeds are the seeds of the runs.
    protocols : sequence
        Names of `PROTOCOLS`, and pairs of a name and a dispatcher of your own.
    **of_runs
        Further arguments of `fig6` for the other interpretations.

    Returns
    -------
    Dataset
        The variables of `fig6`, with a further dimension `interpretation`. The interpretation
        in which each disk has a separate queue has no values for `RANDOMIZED`.
    """
    names = chosen(protocols, PROTOCOLS, "protocol").names
    data = [judged.sel(protocol=names)]
    for order, on, mixes in list(INTERPRETATIONS.values())[1:]:
        # With more drives, each protocol needs another compiled program. Randomized is left out here, because no claim
        # is about it.
        rows = [row for row in protocols if row != RANDOMIZED] if on == "disks apart" else protocols
        data.append(fig6(effort, protocols=rows, mixes=mixes, order=order, on=on, **of_runs))
    return xr.concat(
        data, xr.Variable("interpretation", list(INTERPRETATIONS)), join="outer", combine_attrs=made_jointly
    )


def buffers(
    effort: Effort = QUICK,
    *,
    sizes: Sequence[float] = SIZES,
    protocols: Sequence[str] = (ADAPTIVE, DSPTF, CENTRAL),
    seconds: float = FILLING[0],
    warm_up: float = FILLING[1],
    seeds: int = 4,
) -> xr.Dataset:
    """Return the throughput for each size of the buffer for delayed writes. Half of the requests are writes.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    sizes : sequence of float
        Sizes of the buffer of each node, bytes.
    protocols : sequence of str
        Names of `PROTOCOLS`. D-SPTF does not buffer writes, so its throughput does not depend on the size.
    seconds, warm_up : float
        Length of a run, and length of the warm-up at its start; both in seconds. The warm-up is not measured.
    seeds : int
        Number of runs.

    Returns
    -------
    Dataset
        `request_rate` over `protocol`, `buffer` and `seed`.
    """

    def run(protocol: str, buffer: float) -> Scenario:
        dispatch = PROTOCOLS[protocol](None)
        write = writes(dispatch, [buffer] * len(NODES))
        return cluster(dispatch, saturating(read_share=0.5), schedule=ORDERS["in order"], write=write)

    axes = {"protocol": list(protocols), "buffer": list(sizes)}
    data = sweep(run, axes, seeds=effort.successive(seeds), seconds=seconds, warm_up=warm_up)
    return data.assign_attrs(paper="ars", exhibit="ars.buffers", unlimited=UNLIMITED)


def windows(
    effort: Effort = QUICK,
    *,
    windows: Sequence[float] = WINDOWS,
    volumes: Sequence[str] = ("replicated", "both"),
    seconds: float = 20.0,
    seeds: int = 5,
) -> xr.Dataset:
    """Return the throughput of ARS for each window of ARS. Fifty reads are outstanding.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    windows : sequence of float
        Windows of ARS: times between two computations of the nodes' performance, seconds.
    volumes : sequence of str
        Names of `cluster.SETTINGS`.
    seconds : float
        Length of a run. Only its second half is measured.
    seeds : int
        Number of runs.

    Returns
    -------
    Dataset
        `request_rate` over `volume`, `window`, `views` and `seed`. `views` is "own" if each client measures the nodes
        separately, and "shared" if all clients use one common measurement.
    """

    def run(volume: str, window: float, views: str) -> Scenario:
        shared = views == "shared"
        dispatch = ARS(clients=CLIENTS, window=window, shared=shared)
        return cluster(dispatch, saturating(volume), schedule=ORDERS["in order"])

    axes = {"volume": list(volumes), "window": list(windows), "views": ["own", "shared"]}
    data = sweep(run, axes, seeds=effort.successive(seeds), seconds=seconds, warm_up=seconds / 2)
    return data.assign_attrs(paper="ars", exhibit="ars.windows")


@judging("protocol", FOUR)
def fig6_findings(
    data: xr.Dataset, interpretations: xr.Dataset | None = None, buffered: xr.Dataset | None = None
) -> list[Measurement]:
    """Return the findings on the claims of figure 6.

    Parameters
    ----------
    data : Dataset
        Result of `fig6`.
    interpretations : Dataset, optional
        Result of `fig6_interpretations`, for the notes.
    buffered : Dataset, optional
        Result of `buffers`, for the notes.

    Returns
    -------
    list of Measurement
        One finding for each claim of `ars.fig6`.

    Raises
    ------
    InputError
        If `data` lacks a protocol of `FOUR`.
    """
    rate = data.request_rate
    least = {name: beside(rate, name, CENTRAL) for name in (ADAPTIVE, DSPTF)}
    near = all(
        bool((its.sel(statistic="low") >= 1 - CLOSE).all() & (its.sel(statistic="high") <= 1 + CLOSE).all())
        for its in least.values()
    )
    over = beside(rate, DSPTF, ADAPTIVE)
    heads = (
        " The throughput of ARS divided by the throughput of a centralized protocol that uses the positions of the "
        f"heads is {shown(beside(rate, ADAPTIVE, CENTRAL_HEADS), 'mix')}."
        if CENTRAL_HEADS in rate.protocol.values
        else ""
    )
    rates = " ".join(
        f"With the mix '{mix}', the throughput in requests/s is {_rates(rate.sel(mix=mix))}." for mix in rate.mix.values
    )
    return [
        Measurement(
            "ars.fig6.near_central",
            near,
            note=(
                "The claim holds if the throughputs of ARS and D-SPTF, divided by the throughput of the centralized "
                f"protocol, are within {CLOSE:.0%} of 1 for each mix, including their 95% intervals. The ratio to the "
                f"centralized protocol is {_beside_central(rate)}. {rates}{heads} {WHY_AHEAD} "
                f"{WHY_ARS}{_interpreted(interpretations)}"
            ),
        ),
        Measurement(
            "ars.fig6.dsptf_ahead",
            bool((over.sel(statistic="low") > 1).all()) and bool((over.sel(statistic="mean") <= 1 + CLOSE).all()),
            note=(
                "The claim holds if the throughput of D-SPTF is higher than the throughput of ARS for each mix, with "
                f"95% confidence, but by at most {CLOSE:.0%}. We chose this limit after the first measurement. The "
                f"throughput of D-SPTF divided by the throughput of ARS is {shown(over, 'mix')}. "
                f"{WHY_AHEAD}{_by_buffer(buffered)}"
            ),
        ),
    ]


WHY_ARS = (
    "A client of ARS computes the performance of the nodes every 0.03 s. The paper does not give this time, the window "
    "of ARS. We use the longest tested window with which the shares of the nodes oscillate at most 10% more than with "
    "the shortest tested window (exhibit swings)."
)
WHY_AHEAD = (
    "Under D-SPTF a write completes when enough copies are on disk to read the data. D-SPTF cancels the other copies, "
    "so it writes fewer copies than ARS, which writes all copies. When the buffer of the slowest node is full, this "
    "node limits the writes of ARS."
)


def _beside_central(rate: xr.DataArray) -> str:
    return " and ".join(f"{shown(beside(rate, name, CENTRAL), 'mix')} for {name}" for name in (ADAPTIVE, DSPTF))


def _interpreted(interpretations: xr.Dataset | None) -> str:
    """Return sentences on the throughput under the other interpretations of the paper."""
    if interpretations is None:
        return ""
    sentences = []
    for name in list(INTERPRETATIONS)[1:]:
        rate = interpretations.request_rate.sel(interpretation=name).dropna("mix", how="all")
        sentences.append(f"Under the interpretation '{name}', the ratio is {_beside_central(rate)}.")
    return f" The ratio to the centralized protocol depends on the interpretation of the paper. {' '.join(sentences)}"


def _by_buffer(buffered: xr.Dataset | None) -> str:
    """Return sentences on the ratios of the throughputs for each size of the buffers."""
    if buffered is None:
        return ""
    over = beside(buffered.request_rate, DSPTF, ADAPTIVE).sel(statistic="mean")
    near = beside(buffered.request_rate, ADAPTIVE, CENTRAL).sel(statistic="mean")
    ratios = ", ".join(f"{float(one):.2f} with {_size(float(one.buffer))}" for one in over)
    return (
        f" With half writes, this ratio depends on the size of the buffers: it is {ratios}. With the last of these "
        "sizes, the throughput of ARS divided by the throughput of the centralized protocol is "
        f"{float(near[-1]):.2f}."
    )


def _size(size: float) -> str:
    return "unlimited buffers" if size == UNLIMITED else f"{size / MB:g} MB"


def _rates(rate: xr.DataArray) -> str:
    means = rate.mean("seed")
    return ", ".join(f"{name} {float(means.sel(protocol=name)):.0f}" for name in means.protocol.values)
