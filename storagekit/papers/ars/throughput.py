"""Throughput with fifty requests outstanding: figure 6, and what keeps ARS from the top of it.

Rates in requests a second, times in seconds.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import xarray as xr

from storagekit.dispatch import ARS
from storagekit.engine import Scenario
from storagekit.errors import InputError
from storagekit.metrics import Measurement, made_jointly, sweep
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL,
    CENTRAL_MEAN,
    CLIENTS,
    DSPTF,
    FOUR,
    ORDERS,
    PROTOCOLS,
    cluster,
    effort,
    layout,
    protocols_on,
    saturating,
)
from storagekit.papers.ars.comparing import CLOSE, beside, shown
from storagekit.papers.effort import Effort
from storagekit.papers.rows import Row, chosen, judging

QUICK = effort("quick")
# what is asked, and the share of reads
MIXES = {"reads": 1.0, "mixed": 0.5}
# Seconds of a run, and those at its start that are not counted. After 2 s shares have settled: of reads, the rates from 2 to
# 4 s and from 8 to 10 s differ by less than their intervals. In mixed runs the buffer of the node that cannot keep up has to
# fill first, because until then the other parts of writes cost nothing.
LENGTHS = {"reads": (4.0, 2.0), "mixed": (10.0, 8.0)}
# what the paper leaves open: the order that disks serve in, and how volumes are put on the nodes
READINGS = {
    "in order, scaled": ("in order", "scaled"),
    "shortest first": ("shortest first", "scaled"),
    "wrapped": ("in order", "wrapped"),
}
# seconds between two computations of a node's performance
WINDOWS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def in_orders(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = tuple(PROTOCOLS),
    mixes: Sequence[str] = tuple(MIXES),
    orders: Sequence[str] = tuple(ORDERS),
    on: str = "scaled",
    lengths: Mapping[str, tuple[float, float]] = MappingProxyType(LENGTHS),
) -> xr.Dataset:
    """Return requests a second of the protocols, both volumes, fifty outstanding (`protocol`, `mix`, `order`).

    Parameters
    ----------
    effort : Effort
        How many runs.
    protocols, mixes, orders : sequence
        Protocols as in `fig4`, mixes of `MIXES`, and the orders in which disks serve, of `ORDERS`.
    on : str
        How volumes are put on the nodes, see `fig4`.
    lengths : mapping of str to (float, float)
        Of each mix the seconds of a run, and how many of them pass before requests are counted.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If there is no order of that name.
    """
    volumes = layout(on)
    for order in orders:
        if order not in ORDERS:
            raise InputError(f"disks serve {order!r}: unknown; it is one of {', '.join(ORDERS)}")
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, mix: str, order: str) -> Scenario:
        arrivals = saturating(read_share=MIXES[mix], on=volumes)
        return cluster(dispatch[protocol], arrivals, on=volumes, schedule=ORDERS[order])

    found = []
    for mix in mixes:
        axes = {"protocol": list(dispatch), "mix": [mix], "order": list(orders)}
        seconds, warm_up = lengths[mix]
        # while a buffer is full requests wait outside
        found.append(sweep(run, axes, seeds=effort.seed_list, seconds=seconds, warm_up=warm_up, allow_held_up=True))
    data = xr.concat(found, "mix", data_vars="all", join="exact", combine_attrs=made_jointly)
    return data.assign_attrs(paper="ars", exhibit="ars.fig6")


def fig6(effort: Effort = QUICK, *, order: str = "in order", **of_runs: Any) -> xr.Dataset:
    """Return requests a second of the protocols where disks serve in one order (figure 6). of_runs: see `in_orders`."""
    return in_orders(effort, orders=[order], **of_runs).sel(order=order, drop=True)


def fig6_readings(
    orders: xr.Dataset, effort: Effort = QUICK, *, protocols: Sequence[Row] = FOUR, **of_runs: Any
) -> xr.Dataset:
    """Return the same under each of `READINGS` (`reading`). orders: of `in_orders`. of_runs: of the runs that are not among
    these, see `in_orders`."""
    names = chosen(protocols, PROTOCOLS, "protocol").names
    data = []
    for order, on in READINGS.values():
        there = orders if on == "scaled" else in_orders(effort, protocols=protocols, orders=[order], on=on, **of_runs)
        data.append(there.sel(protocol=names, order=order, drop=True))
    return xr.concat(data, xr.Variable("reading", list(READINGS)), combine_attrs=made_jointly)


def windows(
    effort: Effort = QUICK,
    *,
    windows: Sequence[float] = WINDOWS,
    volumes: Sequence[str] = ("replicated", "both"),
    seconds: float = 20.0,
    seeds: int = 5,
) -> xr.Dataset:
    """Requests a second of ARS, reads, fifty outstanding, against how often a client computes its nodes' performance; of the
    later half of so many `seconds`."""

    def run(volume: str, window: float, views: str) -> Scenario:
        shared = views == "shared"
        dispatch = ARS(clients=CLIENTS, window=window, shared=shared)
        return cluster(dispatch, saturating(volume), schedule=ORDERS["in order"])

    axes = {"volume": list(volumes), "window": list(windows), "views": ["own", "shared"]}
    data = sweep(run, axes, seeds=effort.successive(seeds), seconds=seconds, warm_up=seconds / 2)
    return data.assign_attrs(paper="ars", exhibit="ars.windows")


@judging("protocol", FOUR)
def fig6_findings(data: xr.Dataset, readings: xr.Dataset | None = None) -> list[Measurement]:
    """Figure 6, with disks that serve in order. readings: of `fig6_readings`."""
    rate = data.request_rate
    least = {name: beside(rate, name, CENTRAL) for name in (ADAPTIVE, DSPTF)}
    near = {name: bool((its.sel(statistic="low") >= 1 - CLOSE).all()) for name, its in least.items()}
    over = beside(rate, DSPTF, ADAPTIVE)
    known = "" if CENTRAL_MEAN not in rate.protocol.values else (
        f"; ARS over one that knows mean service times only: {shown(beside(rate, ADAPTIVE, CENTRAL_MEAN), 'mix')}"
    )  # fmt: skip
    said = "; ".join(f"{mix}: {_rates(rate.sel(mix=mix))}" for mix in rate.mix.values)
    return [
        Measurement(
            "ars.fig6.near_central",
            all(near.values()),
            note=f"{_beside_central(rate)}{known}; requests a second, {said}{_read_otherwise(readings)}; "
            "the window of 0.03 s is the longest tried at which shares do not swing; throughput was in sight then",
        ),
        Measurement(
            "ars.fig6.dsptf_ahead",
            bool((over.sel(statistic="low") > 1).all()) and bool((over.sel(statistic="mean") <= 1 + CLOSE).all()),
            note=f"D-SPTF over ARS: {shown(over, 'mix')}; slightly: at most {1 + CLOSE:g}, said after it was seen",
        ),
    ]


def _beside_central(rate: xr.DataArray) -> str:
    return "; ".join(f"{name} over Central: {shown(beside(rate, name, CENTRAL), 'mix')}" for name in (ADAPTIVE, DSPTF))


def _read_otherwise(readings: xr.Dataset | None) -> str:
    """What other readings of the paper give, in words."""
    if readings is None:
        return ""
    others = list(READINGS)[1:]
    return "".join(f"; {name}: {_beside_central(readings.request_rate.sel(reading=name))}" for name in others)


def _rates(rate: xr.DataArray) -> str:
    means = rate.mean("seed")
    return ", ".join(f"{name} {float(means.sel(protocol=name)):.0f}" for name in means.protocol.values)
