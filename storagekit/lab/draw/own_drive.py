"""Charts of your own drive: its performance compared with another drive, and its fitted seek curve."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.live import FilledDashboard, Template
from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed
from storagekit.charts.theme import COLOURS, HEIGHT, WIDTH, finished

_MS, _MB = 1e3, 1e-6
# points of a curve
_POINTS = 120
_SHADES = ["yours", "other drive"]


class Drawn(NamedTuple):
    """The data of a drive: results of `calibrate.seek_curve` and `zone_map`, and random reads per second.

    reads: for each scheduler, a list over the queue depths.
    """

    curve: xr.Dataset
    zones: xr.Dataset
    reads: Mapping[str, Sequence[float]]


def beside(drives: Mapping[str, Drawn], depths: Sequence[int]) -> FilledDashboard:
    """Return charts of your drive and another drive: seek curves, rates by address, and random reads by queue depth."""
    named = dict(zip(_SHADES, drives.values(), strict=True))
    rows: dict[str, list[dict[str, Any]]] = {"seeks": [], "zones": [], "reads": []}
    for name, one in named.items():
        rows["seeks"] += _curve(one.curve, name)
        rows["zones"] += _zones(one.zones, name)
        rows["reads"] += [
            {"drive": name, "depth": depth, "rate": rate, "scheduler": scheduler}
            for scheduler, rates in one.reads.items()
            for depth, rate in zip(depths, rates, strict=True)
        ]
    return FilledDashboard(_BESIDE.spec, rows)


def _curve(curve: xr.Dataset, name: str) -> list[dict[str, Any]]:
    """Return rows of read seek time against the fraction of the full stroke. Rows are denser for short seeks."""
    longest = float(curve.distance[-1])
    chosen = np.unique(np.searchsorted(curve.distance, longest * np.linspace(0, 1, _POINTS) ** 2))
    some = curve.isel(distance=chosen[chosen < curve.sizes["distance"]])
    return [
        {"drive": name, "share": 100 * float(far) / longest, "ms": float(time) * _MS}
        for far, time in zip(some.distance.values, some.read.values, strict=True)
    ]


def _zones(zones: xr.Dataset, name: str) -> list[dict[str, Any]]:
    """Return the rate in each zone, with the beginning and the end of the zone as fractions of all data."""
    whole = float(zones.first_byte[-1] + zones["size"][-1])
    begins, sizes = zones.first_byte.values / whole, zones["size"].values / whole
    return [
        {"drive": name, "share": 100 * float(at), "rate": float(rate) * _MB, "order": 2 * zone + end}
        for zone, (begin, size, rate) in enumerate(zip(begins, sizes, zones.sustained_rate.values, strict=True))
        for end, at in enumerate((begin, begin + size))
    ]


def _over(name: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=name))


def _beside() -> alt.TopLevelMixin:
    scale = alt.Scale(domain=_SHADES, range=[COLOURS[1], COLOURS[0]])
    colour = alt.Color("drive:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", symbolOpacity=1))
    percent = alt.Scale(domain=[0, 100])
    seeks = _over("seeks").mark_line(strokeWidth=2)
    seeks = seeks.encode(
        alt.X("share:Q", title="Seek distance (% of the longest)", scale=percent),
        alt.Y("ms:Q", title="Seek (ms)"),
        colour,
    )
    zones = _over("zones").mark_line(strokeWidth=2)
    zones = zones.encode(
        alt.X("share:Q", title="Address (% of the data)", scale=percent),
        alt.Y("rate:Q", title="Sequential rate (MB/s)"),
        colour,
        order="order:Q",
    )
    dash = alt.StrokeDash(
        "scheduler:N",
        title=None,
        scale=alt.Scale(domain=["SATF", "LOOK"], range=[[1, 0], [5, 4]]),
        legend=alt.Legend(orient="bottom", symbolType="stroke", symbolSize=300),
    )
    depth = alt.X("depth:Q", title="Reads outstanding", scale=alt.Scale(type="log", base=2), axis=alt.Axis(format="d"))
    rate = alt.Y("rate:Q", title="Random reads (1/s)", scale=alt.Scale(zero=True))
    reads = _over("reads").mark_line(strokeWidth=2, point={"size": 22}).encode(depth, rate, colour, strokeDash=dash)
    panels = [one.properties(width=360, height=130) for one in (seeks, zones, reads)]
    drawn = alt.vconcat(*panels, spacing=12).resolve_scale(color="shared")
    return finished(
        drawn,
        "Your drive and the other drive",
        "The panels show seek times of reads, sequential rates, and random reads of 4 KB by formula.",
    )


_BESIDE = Template(_beside)


def fit(table: xr.Dataset, sheet: xr.Dataset, made: xr.Dataset | None = None) -> alt.TopLevelMixin:
    """Return the chart of the fitted seek curve with its standard errors, and of the curve from the data sheet.

    table: the table of a `FittedDrive`. sheet: `calibrate.seek_curve` of the data sheet. made: `calibrate.seek_curve`
    of the drive on which a sample was measured; None for a real log.
    """
    named = {"data sheet": sheet} | ({} if made is None else {"true drive": made})
    rows = pd.DataFrame(
        [
            {"distance": float(far), "ms": float(time) * _MS, "curve": name}
            for name, curve in named.items()
            for far, time in zip(curve.distance.values[::4], curve.read.values[::4], strict=True)
        ]
    )
    points = pd.DataFrame(
        {
            "distance": table.distance.values.astype(float),
            "ms": table.seek.values * _MS,
            "low": (table.seek - 2 * table.seek_error).values * _MS,
            "high": (table.seek + 2 * table.seek_error).values * _MS,
            "curve": "fitted",
        }
    )
    names = [*named, "fitted"]
    shades = {"data sheet": COLOURS[0], "true drive": "#888888", "fitted": COLOURS[1]}
    colour = alt.Color(
        "curve:N",
        title=None,
        scale=alt.Scale(domain=names, range=[shades[name] for name in names]),
        legend=alt.Legend(orient="bottom", symbolOpacity=1, labelLimit=240),
    )
    x = alt.X("distance:Q", title="Distance (cylinders)", axis=alt.Axis(format=",d", tickCount=6))
    line = alt.Chart(rows).mark_line(strokeWidth=2).encode(x, alt.Y("ms:Q", title="Seek of a read (ms)"), colour)
    base = alt.Chart(points).encode(x, color=colour)
    whisker = base.mark_rule(strokeWidth=1.5).encode(alt.Y("low:Q"), y2="high:Q")
    drawn: Layered = alt.layer(line, whisker, base.mark_point(filled=True, size=45, opacity=1).encode(y="ms:Q"))
    caption = (
        "Points are fitted values, and whiskers are two standard errors. The points include the overhead of a "
        "command if the fit could not separate it."
    )
    return finished(headed(drawn, "", WIDTH).properties(height=HEIGHT), "Seek curve fitted to measured times", caption)
