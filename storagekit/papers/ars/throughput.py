"""Throughput with fifty requests outstanding: figure 6, and what keeps ARS from the top of it.

Rates in requests a second, times in seconds.
"""

from collections.abc import Mapping, Sequence
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
# seconds that each is run for, of which the later half counts: shares have settled, and in the mixed runs the buffer of the
# node that cannot keep up is full; before that the other parts of writes cost nothing
SECONDS = {"reads": 4.0, "mixed": 16.0}
# of the readings beside it, whose intervals need not be so narrow
SHORTER = {"reads": 2.0, "mixed": 10.0}
# what the paper leaves open, and how `fig6` is asked for it
READINGS: Mapping[str, Mapping[str, Any]] = {
    "in order, scaled": {},
    "shortest first": {"order": "shortest first"},
    "wrapped": {"on": "wrapped"},
}
# seconds between two computations of a node's performance
WINDOWS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def fig6(
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = tuple(PROTOCOLS),
    mixes: Sequence[str] = tuple(MIXES),
    order: str = "in order",
    on: str = "scaled",
    seconds: Mapping[str, float] = SECONDS,
) -> xr.Dataset:
    """Requests a second of the protocols, both volumes, fifty outstanding (figure 6), once that is steady: of the later half
    of so many `seconds` of each mix, whatever requests `effort` asks for. order: what disks take next, one of `ORDERS`;
    on: how volumes are put on the nodes, see `fig4`."""
    volumes = layout(on)
    if order not in ORDERS:
        raise InputError(f"disks serve {order!r}: unknown; it is one of {', '.join(ORDERS)}")
    dispatch = protocols_on(volumes, protocols)

    def run(protocol: str, mix: str) -> Scenario:
        arrivals = saturating(read_share=MIXES[mix], on=volumes)
        return cluster(dispatch[protocol], arrivals, on=volumes, schedule=ORDERS[order])

    def steady(mix: str) -> xr.Dataset:
        axes, much = {"protocol": list(dispatch), "mix": [mix]}, seconds[mix]
        # while a buffer is full requests wait outside
        return sweep(run, axes, seeds=effort.seed_list, seconds=much, warm_up=much / 2, allow_held_up=True)

    data = xr.concat([steady(mix) for mix in mixes], "mix", combine_attrs=made_jointly)
    return data.assign_attrs(paper="ars", exhibit="ars.fig6")


def fig6_readings(
    first: xr.Dataset,
    effort: Effort = QUICK,
    *,
    protocols: Sequence[Row] = FOUR,
    seconds: Mapping[str, float] = SHORTER,
) -> xr.Dataset:
    """The same under each of `READINGS` (`reading`). first: of `fig6`, as it stands there; the others run for `seconds`."""
    others = [fig6(effort, protocols=protocols, seconds=seconds, **how) for how in READINGS.values() if how]
    data = [first.sel(protocol=chosen(protocols, PROTOCOLS, "protocol").names), *others]
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
    others = [name for name, how in READINGS.items() if how]
    return "".join(f"; {name}: {_beside_central(readings.request_rate.sel(reading=name))}" for name in others)


def _rates(rate: xr.DataArray) -> str:
    means = rate.mean("seed")
    return ", ".join(f"{name} {float(means.sel(protocol=name)):.0f}" for name in means.protocol.values)
