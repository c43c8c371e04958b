"""The replayed traces of section 4.1, drawn: response times against disks, rate and memory."""

from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt
import numpy as np
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, Side, level, lines, named_points, points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.srarray.look import (
    CELLO,
    RATES,
    REPLICAS,
    SCHEDULERS,
    SCHEMES,
    TO_MS,
    TPCC,
)
from storagekit.charts.theme import finished

RESPONSE = f"{title('response')} (ms)"
LIMIT = 15e-3
SHOWN = 30.0
# the layout that the paper's ratios of sustainable rates are to, and which other each of them is of
RATIOS = {
    "Cello base": ("2x3x1", {"cello_vs_raid10": "3x1x2", "cello_vs_striping": "6x1x1"}),
    "TPC-C": ("36x1x1", {"tpcc_vs_18x2": "18x2x1", "tpcc_vs_raid10": "18x1x2"}),
}
# Cello base in bytes (table 3), which is what the paper charges for a disk; disks, scale of the rate and claim
DATA = 8.4e9
BREAK_EVEN = {"Cello base": ((2, 1.0, "cello_double"), (4, 1.0, "cello_four"), (2, 3.0, "cello_triple"))}
Said = Sequence[tuple[float, float, str]]


def fig6(response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Response time against disks by scheme; a panel for each workload, which are the variables.

    The scheme "Model" is drawn as the SR-Array's, dashed. The paper's three ratios are of six disks on Cello base.
    """
    ours = _at(response["Cello base"], scheme="SR-Array", disks=6)
    said = [
        (6, ours * paper["srarray.fig6.six_vs_raid10"], "RAID-10"),
        (6, ours * paper["srarray.fig6.six_vs_striping"], "Striping"),
        (1, ours * paper["srarray.fig6.six_vs_one"], "one disk"),
    ]
    panels = [
        headed(_by_scheme(rows, said if name == "Cello base" else (), "equation 4"), str(name))
        for name, rows in response.data_vars.items()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 6: one request at a time, more disks",
        "stand-ins at their own rate; diamonds: the paper's ratios to the SR-Array of six disks",
    )


def fig7(aspects: xr.Dataset, response: xr.Dataset) -> alt.TopLevelMixin:
    """SR-Arrays with each number of replicas, and a line through those that the rule gives; a panel for each workload.

    aspects: by disks and replicas. response: by scheme and disks, as in `fig6`.
    """
    panels = [headed(_by_aspect(aspects[name], response[name]), str(name)) for name in aspects.data_vars]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 7: other shapes of the same disks",
        "stand-ins at their own rate; the line goes through the shapes that equation 5 gives",
    )


def fig8(response: xr.DataArray, aspects: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """TPC-C: schemes on the left, shapes of the SR-Array on the right."""
    most = int(response.disks.max())
    ours = _at(response, scheme="SR-Array", disks=most)
    said = [
        (most, ours * paper["srarray.fig8.vs_raid10"], "RAID-10"),
        (most, ours * paper["srarray.fig8.vs_striping"], "Striping"),
    ]
    shown = response.drop_sel(scheme=["Model", "D-way mirror"], errors="ignore")
    panels = [
        headed(_by_scheme(shown, said, None), "Schemes"),
        headed(_by_aspect(aspects, response), "Shapes of the SR-Array"),
    ]
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 8: TPC-C at its own rate",
        f"stand-in; diamonds: the paper's ratios to the SR-Array of {most} disks; grey: the shapes that equation 5 gives",
    )


def fig9(response: xr.Dataset) -> alt.TopLevelMixin:
    """Response time against rate by layout and scheduler; a panel for each workload, which are the variables.

    Schedulers are "LOOK" and "SATF", which on an SR-Array are RLOOK and RSATF; layouts without LOOK are left out.
    """
    panels = []
    for name, rows in response.data_vars.items():
        rows = rows.sel(layout=rows.sel(scheduler="LOOK", drop=True).notnull().any(["scale", "statistic"]))
        pairs = [(layout, way) for layout in rows.layout.values.tolist() for way in rows.scheduler.values.tolist()]
        named = {_scheduled(layout, way): rows.sel(layout=layout, scheduler=way, drop=True) for layout, way in pairs}
        joined = xr.concat(list(named.values()), dim="series").assign_coords(series=list(named))
        palette = {one: colour for kind, colour in SCHEDULERS.items() for one in named if one.endswith(f" {kind}")}
        panels.append(headed(_against_rate(joined, "series", "Layout and scheduler", palette), str(name)))
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 9: schedulers as the rate rises",
        f"stand-ins; what lies above {SHOWN:.0f} ms is cut off",
    )


def fig10(response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Response time against rate by layout under SATF and RSATF; a panel for each workload, "Cello base" and "TPC-C"."""
    panels = []
    for name, rows in response.sel(scheduler="SATF").data_vars.items():
        best, ratios = RATIOS[str(name)]
        ours = _reached(rows.sel(layout=best, statistic="mean"))
        said = [(ours / paper[f"srarray.fig10.{key}"], LIMIT * TO_MS, words) for key, words in ratios.items()]
        drawn = _against_rate(rows, "layout", title("layout"), TPCC if name == "TPC-C" else CELLO)
        panels.append(headed(_marked(drawn, said, "scale"), str(name)))
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 10: layouts as the rate rises",
        "stand-ins; diamonds: the rates at 15 ms that the paper's ratios to our "
        f"{' and '.join(best for best, _ in RATIOS.values())} give; cut off at {SHOWN:.0f} ms",
    )


def fig11(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Response time with more disks (`with_disks`) and with memory in bytes (`with_memory`), by `scale` of the rate.

    The attribute `workload` says whose it is. A diamond stands where the paper's break-even puts the memory, at the height
    of our array of as many disks.
    """
    workload = str(summary.attrs["workload"])
    pair = (summary.with_disks, summary.with_memory)
    most = max(float(one.sel(statistic="mean").max()) for one in pair) * TO_MS
    height = Side(RESPONSE, TO_MS, alt.Scale(domain=[0, 1.1 * most]))
    left = _by_rate(pair[0], "disks", Side(title("disks")), height)
    right = _by_rate(pair[1], "memory", Side(f"{title('memory')} (MB)", 1e-6), height)
    said = [_same_price(summary, paper, *one) for one in BREAK_EVEN.get(workload, ())]
    if said:
        right = alt.layer(right, named_points(said, "memory", (f"{title('memory')} (MB)", RESPONSE), "left"))
    note = "; diamonds: the memory that the paper finds as good as so many disks" if said else ""
    return finished(
        side_by_side([headed(left, "More disks"), headed(right, "More memory")], legends="shared").resolve_scale(
            y="shared"
        ),
        f"Figure 11: more disks or more memory, {workload}",
        f"stand-in; the memory is an LRU cache, and the disks stay at {int(summary.disks.min())}{note}",
    )


def _same_price(summary: xr.Dataset, paper: Mapping[str, float], disks: int, scale: float, claim: str):
    """Memory in MB, from the break-even ratio of a claim; response time in ms of ours with so many disks."""
    added = disks - int(summary.disks.min())
    memory = added * DATA / paper[f"srarray.fig11.{claim}"] / 1e6
    words = f"{disks} disks, rate {scale:g}"
    return memory, _at(summary.with_disks, disks=disks, scale=scale), words


def traces(response: xr.DataArray) -> alt.TopLevelMixin:
    """Response time of real traces by layout, a panel for each `trace`, the scales of the rate apart by colour."""
    names = [f"{scale:g}" for scale in response.scale.values]
    palette = dict(zip(names, RATES, strict=False))
    # an interval of a few runs may reach below zero, where a logarithm does not
    rows = response.assign_coords(scale=names).clip(min=1 / TO_MS)
    ticks = alt.Axis(values=[2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000], format="d")
    sides = (Side(title("layout")), Side(RESPONSE, TO_MS, alt.Scale(type="log", nice=False, padding=8), ticks))
    panels = [
        headed(points(rows.sel(trace=name), "layout", "scale", palette, sides, title("scale")), str(name))
        for name in response.trace.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Real traces through six disks",
        "the beginning of each trace, its devices end to end; RSATF, copies propagated in the background",
    )


def _by_scheme(response: xr.DataArray, said: Said, formula: str | None) -> Layered:
    """Lines by scheme; the paper's points `said`; the scheme "Model" as what `formula` gives the SR-Array."""
    model = None
    if formula is not None:
        model = response.sel(scheme="Model", statistic="mean", drop=True).expand_dims(scheme=["SR-Array"])
    sides = (Side(title("disks")), _around(response, [height for _, height, _ in said]))
    drawn = lines(
        response.drop_sel(scheme="Model", errors="ignore"),
        "disks",
        "scheme",
        SCHEMES,
        sides,
        title("scheme"),
        model=model,
        basis=("simulated", formula or ""),
    )
    side = "left" if said and said[0][0] == float(response.disks.max()) else "right"
    return _marked(drawn, said, "disks", side) if said else drawn


def _by_aspect(aspects: xr.DataArray, response: xr.DataArray) -> Layered:
    """Points for every number of replicas, and the line of the scheme "SR-Array"."""
    sides = (Side(title("disks")), _around(aspects))
    shapes = points(aspects, "disks", "replicas", REPLICAS, sides, f"{title('replicas')} on a disk")
    rule = response.sel(scheme="SR-Array", statistic="mean", drop=True).rename("mean").reset_coords(drop=True)
    line = (
        alt.Chart((rule * TO_MS).to_dataframe().reset_index())
        .mark_line(color="#999999", strokeWidth=2)
        .encode(x=alt.X("disks", title=title("disks")), y=alt.Y("mean", title=RESPONSE, scale=sides[1].scale))
    )
    return alt.layer(line, shapes)


def _against_rate(rows: xr.DataArray, colour: str, legend: str, palette: Mapping[str, str]) -> Layered:
    """Lines over the scale of the rate, cut off at `SHOWN`, with a level at `LIMIT`."""
    ticks = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200], format="d")
    sides = (
        Side(title("scale"), scale=alt.Scale(type="log", nice=False, padding=8), axis=ticks),
        Side(RESPONSE, TO_MS, alt.Scale(domain=[0, SHOWN])),
    )
    return alt.layer(
        level(LIMIT, f"{LIMIT * TO_MS:.0f} ms", TO_MS), lines(rows, "scale", colour, palette, sides, legend)
    )


def _by_rate(rows: xr.DataArray, x: str, across: Side, height: Side) -> Layered:
    """Lines for each scale of the rate."""
    names = [f"{scale:g}" for scale in rows.scale.values]
    palette = dict(zip(names, RATES, strict=False))
    return lines(rows.assign_coords(scale=names), x, "scale", palette, (across, height), title("scale"))


def _scheduled(layout: str, way: str) -> str:
    """A layout and its scheduler, whose name begins with R where a disk holds several copies."""
    return f"{layout}, {way}" if layout.split("x")[1] == "1" else f"{layout}, R{way}"


def _around(response: xr.DataArray, more: Sequence[float] = ()) -> Side:
    """Response times over the range of the means and of `more` values in ms, with a little room."""
    means = response.sel(statistic="mean") * TO_MS
    low, high = min(float(means.min()), *more, np.inf), max(float(means.max()), *more, -np.inf)
    room = 0.1 * (high - low)
    return Side(RESPONSE, TO_MS, alt.Scale(domain=[low - room, high + room], nice=False))


def _at(response: xr.DataArray, **where) -> float:
    """A mean in ms."""
    return float(response.sel(statistic="mean", **where)) * TO_MS


def _reached(response: xr.DataArray, limit: float = LIMIT) -> float:
    """The scale at which a rising curve of means reaches `limit`, both logarithmic; its last where it does not."""
    known = response.dropna("scale")
    return float(np.exp(np.interp(np.log(limit), np.log(known.values), np.log(known.scale.values))))


def _marked(chart: Layered, said: Said, x: str, side: Literal["left", "right"] = "right") -> Layered:
    return alt.layer(chart, named_points(said, x, (title(x), RESPONSE), side))
