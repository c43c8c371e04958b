"""Throughput with fifty requests outstanding: figure 6, and what keeps ARS from the top of it.

Rates in requests a second, times in seconds.
"""

from collections.abc import Sequence

import xarray as xr

from storagekit.dispatch import ARS
from storagekit.engine import Scenario
from storagekit.metrics import Measurement, sweep
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    CENTRAL,
    CLIENTS,
    DSPTF,
    PROTOCOLS,
    cluster,
    effort,
    layout,
    saturating,
)
from storagekit.papers.ars.comparing import CLOSE, beside, shown, swept
from storagekit.papers.effort import Effort
from storagekit.schedule import FCFS, SATF

QUICK = effort("quick")
# what is asked, and the share of reads
MIXES = {"reads": 1.0, "mixed": 0.5}
ORDERS = {"in order": FCFS(), "shortest first": SATF()}
# seconds between two computations of a node's performance
WINDOWS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def fig6(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[str] = tuple(PROTOCOLS),
    mixes: Sequence[str] = tuple(MIXES),
    orders: Sequence[str] = ("in order",),
    on: str = "scaled",
) -> xr.Dataset:
    """Requests a second of the protocols, both volumes, fifty outstanding (figure 6). orders: what disks take next."""
    volumes = layout(on)

    def run(protocol: str, mix: str, order: str) -> Scenario:
        arrivals = saturating(read_share=MIXES[mix], on=volumes)
        return cluster(PROTOCOLS[protocol](volumes), arrivals, on=volumes, schedule=ORDERS[order])

    axes = {"protocol": list(protocols), "mix": list(mixes), "order": list(orders)}
    return swept(run, axes, effort, "fig6")


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
        return cluster(ARS(clients=CLIENTS, window=window, shared=shared), saturating(volume))

    axes = {"volume": list(volumes), "window": list(windows), "views": ["own", "shared"]}
    data = sweep(run, axes, seeds=effort.successive(seeds), seconds=seconds, warm_up=seconds / 2)
    return data.assign_attrs(paper="ars", exhibit="ars.windows")


def fig6_findings(data: xr.Dataset) -> list[Measurement]:
    """Figure 6, with disks that serve in order."""
    rate = data.request_rate.sel(order="in order")
    least = {name: beside(rate, name, CENTRAL) for name in (ADAPTIVE, DSPTF)}
    near = {name: bool((its.sel(statistic="low") >= 1 - CLOSE).all()) for name, its in least.items()}
    over = beside(rate, DSPTF, ADAPTIVE)
    shares = "; ".join(f"{name} over Central: {shown(its, 'mix')}" for name, its in least.items())
    said = "; ".join(f"{mix}: {_rates(rate.sel(mix=mix))}" for mix in rate.mix.values)
    return [
        Measurement("ars.fig6.near_central", all(near.values()), note=f"{shares}; requests a second, {said}"),
        Measurement(
            "ars.fig6.dsptf_ahead",
            bool((over.sel(statistic="low") > 1).all()) and bool((over.sel(statistic="mean") <= 1 + CLOSE).all()),
            note=f"D-SPTF over ARS: {shown(over, 'mix')}; slightly: at most {1 + CLOSE:g}, said after it was seen",
        ),
    ]


def _rates(rate: xr.DataArray) -> str:
    means = rate.mean("seed")
    return ", ".join(f"{name} {float(means.sel(protocol=name)):.0f}" for name in means.protocol.values)
