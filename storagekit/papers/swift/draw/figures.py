"""Figures 3 to 6: completion time against load, and what can be sustained."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, Side, lines, named_points, table
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, HEIGHT, PAPER, finished
from storagekit.papers.swift.draw.palette import DISK_COLOURS, MEGA, UNIT_COLOURS, in_kb
from storagekit.units import MB


def fig3(summary: xr.DataArray, data: xr.Dataset, paper: Mapping[str, float] | None = None) -> alt.TopLevelMixin:
    """Completion time against load by disks, a panel for each unit.

    summary: the completion time over `statistic`; data: what it was made of, for `rate` and the bounds `low` and `high`.
    paper: its numbers by claim id; the largest load of 32 disks is drawn where the unit is largest.
    """
    panels: list[Layered] = [
        headed(_against_load(summary.sel(unit=unit), data.sel(unit=unit)), f"units of {in_kb(unit)}", width=280)
        for unit in summary.unit.values.tolist()
    ]
    if paper:
        panels[-1] = alt.layer(panels[-1], _said_load(paper["swift.fig3.knee_32"])).properties(title=panels[-1].title)
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 3: a megabyte from more disks, and in larger pieces",
        "seek 16 ms, rotation 8.3 ms, 2.5 MB/s; up to nine tenths of saturation; shaded: what formulas allow, disks alone",
    )


def fig4(summary: xr.DataArray, data: xr.Dataset) -> alt.TopLevelMixin:
    """The same of small requests on the slower disk; as `fig3`."""
    return finished(
        _against_load(summary, data).properties(width=420, height=HEIGHT),
        "Figure 4: 128 KB in units of 4 KB, slower disk",
        "seek 16 ms, rotation 8.3 ms, 1.5 MB/s; shaded: what formulas allow, disks alone",
    )


def fig5(summary: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Sustained data-rate against disks by device; over a dimension `statistic`. paper: its numbers by claim id."""
    palette = dict(zip(summary.device.values.tolist(), COLOURS, strict=False))
    sides = (Side(title("disks")), Side("Data-rate (MB/s)", 1 / MEGA))
    drawn = lines(summary, "disks", "device", palette, sides, "Disk")
    said = [(32, paper["swift.fig5.rate_32"], "paper, approximately")]
    return finished(
        alt.layer(drawn, named_points(said, "disks", (sides[0].title, sides[1].title), "left")),
        "Figure 5: what a client can sustain, 128 KB in units of 4 KB",
        "at the load where a request takes, on average, as long as requests are apart",
    )


def fig6(summary: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """The same of requests of a megabyte, by unit."""
    named = summary.assign_coords(unit=[in_kb(unit) for unit in summary.unit.values])
    sides = (Side(title("disks")), Side("Data-rate (MB/s)", 1 / MEGA))
    drawn = lines(named, "disks", "unit", dict(reversed(UNIT_COLOURS.items())), sides, title("unit"))
    said = [(32, paper["swift.fig6.rate_32"], "paper, nearly")]
    return finished(
        alt.layer(drawn, named_points(said, "disks", (sides[0].title, sides[1].title), "left")),
        "Figure 6: what a client can sustain, 1 MB",
        "at the load where a request takes, on average, as long as requests are apart",
    )


def _said_load(rate: float) -> Layered:
    """A vertical line at a load that the paper states, with its name."""
    base = alt.Chart(pd.DataFrame({"rate": [rate], "words": [f"paper: {rate:g}/s"]})).encode(x="rate:Q")
    words = base.mark_text(align="right", baseline="top", dx=-4, color=PAPER).encode(y=alt.value(2), text="words")
    return alt.layer(base.mark_rule(color=PAPER, strokeDash=[2, 3]), words)


def what_if(data: xr.Dataset) -> alt.TopLevelMixin:
    """The completion time of one system against load, and what limits it. data: of `papers.swift.what_if`."""
    said = data.attrs
    rate = said["saturation"] * said["request"] / MEGA
    seeds = data.completion
    edges = {"mean": seeds.mean("seed"), "low": seeds.min("seed"), "high": seeds.max("seed")}
    summary = xr.Dataset(edges).to_dataarray("statistic")
    busy = data.utilization.isel(disks=0, load=-1)
    others = ", ".join(f"{name} {float(busy.sel(resource=name)):.0%}" for name in busy.resource.values.tolist())
    return finished(
        _against_load(summary, data).properties(width=420, height=HEIGHT),
        f"{said['drive']}: at most {rate:,.0f} MB/s, limited by the {said['bottleneck']}",
        f"requests of {said['request'] / MB:g} MB; busy at the last point: {others}; whiskers: four streams",
    )


def _against_load(summary: xr.DataArray, data: xr.Dataset) -> Layered:
    """Completion time over requests a second, by disks, on a logarithmic axis, with the band between the bounds."""
    rows = table(summary)
    for name, column in (("rate", "rate"), ("low", "least"), ("high", "most")):
        rows = rows.merge(data[name].rename(column).reset_coords(drop=True).to_dataframe().reset_index())
    rows["disks"] = rows["disks"].astype(str)
    present = [name for name in DISK_COLOURS if name in set(rows["disks"])] or list(rows["disks"].unique())
    shades = alt.Scale(domain=present, range=[DISK_COLOURS.get(name, COLOURS[0]) for name in present])
    base = alt.Chart(rows).encode(
        x=alt.X("rate:Q", title="Requests a second"),
        color=alt.Color("disks:N", title=title("disks"), scale=shades, legend=alt.Legend(symbolOpacity=1)),
    )
    scale = alt.Scale(type="log", nice=False, padding=6)
    y = alt.Y("mean:Q", title="Time to complete a request (s)", scale=scale)
    return alt.layer(
        base.mark_area(opacity=0.15).encode(y=alt.Y("least:Q", scale=scale), y2="most"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=scale), y2="high"),
        base.mark_point(size=22, filled=True).encode(y=y),
    )
