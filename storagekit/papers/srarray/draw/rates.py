"""Charts of response times against the rate of the requests: figures 9 and 10 (section 4.1)."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, level, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.paper import dropped_points
from storagekit.charts.theme import finished
from storagekit.charts.words import listed
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import CELLO, RATES, RESPONSE, SCHEDULERS, TO_MS, TPCC

LIMIT = 15e-3
SHOWN = 30.0
# The layout in the numerator of the paper's ratios of sustainable rates, and the layout in each denominator.
RATIOS = {
    "Cello base": ("2x3x1", {"cello_vs_raid10": "3x1x2", "cello_vs_striping": "6x1x1"}),
    "TPC-C": ("36x1x1", {"tpcc_vs_18x2": "18x2x1", "tpcc_vs_raid10": "18x1x2"}),
}


def fig9(response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of the response time against the rate, by layout and scheduler (figure 9).

    Parameters
    ----------
    response : Dataset
        A variable and a panel for each workload: response time in seconds over `layout`, `scale`, `scheduler` and
        `statistic`. Layouts without the scheduler "LOOK" are not drawn.
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms. The rate is a multiple of the rate of the trace.

    Notes
    -----
    On an SR-Array the schedulers "LOOK" and "SATF" are RLOOK and RSATF. If the paper gives a ratio of the rates of two
    drawn layouts at a response time of `LIMIT` (figure 10), a point shows the ratio.
    """
    panels, found = [], []
    for name, rows in response.data_vars.items():
        rows = rows.sel(layout=rows.sel(scheduler="LOOK", drop=True).notnull().any(["scale", "statistic"]))
        pairs = [(layout, way) for layout in rows.layout.values.tolist() for way in rows.scheduler.values.tolist()]
        named = {_scheduled(layout, way): rows.sel(layout=layout, scheduler=way, drop=True) for layout, way in pairs}
        joined = xr.concat(list(named.values()), dim="series").assign_coords(series=list(named))
        palette = {one: colour for kind, colour in SCHEDULERS.items() for one in named if one.endswith(f" {kind}")}
        drawn = _against_rate(joined, "series", "Layout and scheduler", palette)
        said = _said(str(name), rows.sel(scheduler="SATF"), paper)
        panels.append(headed(_with(drawn, said), str(name)))
        found += [_gained(rows.sel(layout=layout, statistic="mean")) for layout in rows.layout.values.tolist()]
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 9: response time by request rate, for schedulers with and without copies",
        f"The sustained rate at {LIMIT * TO_MS:.0f} ms under (R)SATF, divided by the rate under (R)LOOK, is "
        f"{listed(found)}. In the paper this gain is smaller with copies than without.",
        f"The traces are synthetic. The axis ends at {SHOWN:.0f} ms. A diamond marks the rate that the paper implies "
        "for the layout named below it: our sustained rate of the best layout, divided by the paper's ratio of the two "
        "rates (figure 10). Whiskers are 95% intervals.",
        legends="bottom",
    )


def _gained(rows: xr.DataArray) -> str:
    """Return a phrase with the rate of a layout at `LIMIT` under (R)SATF, divided by the rate under (R)LOOK."""
    return f"{_over(rows.sel(scheduler='SATF'), rows.sel(scheduler='LOOK'))} for {rows.layout.item()}"


def _over(first: xr.DataArray, second: xr.DataArray) -> str:
    """Return the rate of the first curve at `LIMIT` divided by the rate of the second curve, as text.

    The text is a lower bound if the first curve does not reach `LIMIT`.
    """
    known = first.dropna("scale")
    bound = "more than " if float(known.max()) < LIMIT else ""
    return f"{bound}{_reached(first) / _reached(second):.2f}"


def fig10(response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of the response time against the rate for each layout, under SATF and RSATF (figure 10).

    Parameters
    ----------
    response : Dataset
        The variables "Cello base" and "TPC-C", one for each panel: response time in seconds over `layout`, `scale`,
        `scheduler` and `statistic`.
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms. The rate is a multiple of the rate of the trace.
    """
    panels, found = [], []
    for name, rows in response.sel(scheduler="SATF").data_vars.items():
        best, ratios = RATIOS[str(name)]
        mean = rows.sel(statistic="mean")
        found += [
            f"{_over(mean.sel(layout=best), mean.sel(layout=other))} times the rate of {other} (paper: "
            f"{paper[f'srarray.fig10.{key}']:g})"
            for key, other in ratios.items()
        ]
        found[-len(ratios)] = f"{best} has {found[-len(ratios)]}"
        drawn = _against_rate(rows, "layout", title("layout"), TPCC if name == "TPC-C" else CELLO)
        panels.append(headed(_with(drawn, _said(str(name), rows, paper)), str(name)))
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 10: response times of layouts by rate",
        f"The sustained rates at a response time of {LIMIT * TO_MS:.0f} ms compare as follows: {listed(found)}.",
        f"The traces are synthetic. The axis ends at {SHOWN:.0f} ms. A diamond marks the rate that the paper implies "
        "for the layout named below it: our sustained rate of the best layout, divided by the paper's ratio of the two "
        "rates. Whiskers are 95% intervals.",
        legends="bottom",
    )


def _said(workload: str, rows: xr.DataArray, paper: Mapping[str, float]) -> list[tuple[float, float, str]]:
    """Return the points at `LIMIT` that the paper implies: our rate of the best layout divided by the paper's ratio."""
    best, ratios = RATIOS[workload]
    drawn = rows.layout.values.tolist()
    if best not in drawn:
        return []
    ours = _reached(rows.sel(layout=best, statistic="mean"))
    others = {key: other for key, other in ratios.items() if other in drawn}
    return [(ours / paper[f"srarray.fig10.{key}"], LIMIT * TO_MS, other) for key, other in others.items()]


def _with(drawn: Layered, said: list[tuple[float, float, str]]) -> Layered:
    """Return a chart with the paper's points, or the chart alone if the list of points is empty."""
    return alt.layer(drawn, dropped_points(said, "scale", (title("scale"), RESPONSE))) if said else drawn


def _against_rate(rows: xr.DataArray, colour: str, legend: str, palette: Mapping[str, str]) -> Layered:
    """Return lines against the scale of the rate, cut off at `SHOWN` ms, with a horizontal line at `LIMIT`."""
    ticks = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200], format="d")
    sides = (
        AxisStyle(title("scale"), scale=alt.Scale(type="log", nice=False, padding=8), axis=ticks),
        AxisStyle(RESPONSE, TO_MS, alt.Scale(domain=[0, SHOWN])),
    )
    return alt.layer(
        level(LIMIT, f"{LIMIT * TO_MS:.0f} ms", TO_MS), lines(rows, "scale", colour, palette, sides, legend)
    )


def by_rate(rows: xr.DataArray, x: str, across: AxisStyle, height: AxisStyle) -> Layered:
    """Return lines, one colour for each scale of the rate.

    Parameters
    ----------
    rows : DataArray
        Values over `x`, `scale` and `statistic`.
    x : str
        Name of the horizontal axis.
    across, height : AxisStyle
        Styles of the horizontal and the vertical axis.
    """
    names = [f"{scale:g}" for scale in rows.scale.values]
    palette = dict(zip(names, RATES, strict=False))
    return lines(rows.assign_coords(scale=names), x, "scale", palette, (across, height), title("scale"))


def _scheduled(layout: str, way: str) -> str:
    """Return the text for a layout and its scheduler, whose name starts with R if a disk has several copies."""
    return f"{layout}, {way}" if layout.split("x")[1] == "1" else f"{layout}, R{way}"


def _reached(response: xr.DataArray, limit: float = LIMIT) -> float:
    """Return the scale at which a rising curve of means reaches `limit`, interpolated in logarithms.

    If the curve does not reach the limit, the function returns the largest scale.
    """
    known = response.dropna("scale")
    return float(np.exp(np.interp(np.log(limit), np.log(known.values), np.log(known.scale.values))))
