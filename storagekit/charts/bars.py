"""Grouped bars with intervals, and the paper's numbers as dashes across the bars."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import xarray as xr

from storagekit.charts.marks import LYING, AxisStyle, Layered, paper_fill, table
from storagekit.charts.theme import HEIGHT


def grouped(
    summary: xr.DataArray,
    group: str,
    colour: str,
    palette: Mapping[str, str],
    side: AxisStyle,
    legend: str | None,
    *,
    heading: str = "",
    words: Mapping[Any, str] | None = None,
    paper: xr.DataArray | None = None,
    foot: bool = False,
    form: str = ".1f",
    width: float = 150,
    height: float = HEIGHT,
) -> Layered:
    """Return groups of bars with intervals and numbers; the word "overloaded" marks values that are NaN.

    Parameters
    ----------
    summary : DataArray, shape [statistic, group, colour]
        The values.
    group, colour : str
        The dimension of the groups, and the dimension of the bars of a group.
    palette : mapping of str to str
        Colour of each bar of a group.
    side : AxisStyle
        Style of the vertical axis.
    legend : str or None
        Title of the legend.
    heading : str
        Title of the horizontal axis, by default empty.
    words : mapping to str, optional
        Labels of the values of `group`.
    paper : DataArray, shape [group, colour], optional
        The paper's numbers, drawn as dashes across the bars. NaN values are left out.
    foot : bool
        Whether the numbers are at the foot of the bars; by default they are above the bars.
    form : str
        Format of the numbers, by default one decimal place.
    width, height : float
        Width of a group and height of the panel, pixels, by default 150 and the common height of all panels.
    """
    rows = table(summary, side.factor)
    rows[colour] = rows[colour].astype(str)
    rows["label"] = [(words or {}).get(one, f"{one}") for one in rows[group]]
    present = [name for name in palette if name in set(rows[colour])]
    rows["end"] = rows["high"]
    if paper is not None:
        points = (paper.sel({group: rows[group].to_xarray(), colour: rows[colour].to_xarray()}) * side.factor).values
        rows = rows.assign(paper=points, series="paper", end=np.fmax(rows["high"], points))
    labels = list(dict.fromkeys(rows["label"]))
    top = 1.12 * float(np.nanmax([*rows["mean"], *rows["end"]]))
    where = {
        "x": alt.X("label:N", title=heading or None, sort=labels, axis=alt.Axis(labelAngle=0)),
        "xOffset": alt.XOffset(colour, type="nominal", sort=present),
    }
    shade = alt.Scale(domain=present, range=[palette[name] for name in present])
    scale = side.scale or alt.Scale(domain=[0, top], nice=False)
    base = alt.Chart(rows).encode(**where)
    number = {"y": alt.value(height - 10)} if foot else {"y": "end:Q"}
    lifted = {} if foot else {"dy": -5, "baseline": "bottom"}
    layers = [
        base.mark_bar().encode(
            y=alt.Y("mean:Q", title=side.title, scale=scale),
            color=alt.Color(colour, type="nominal", title=legend, scale=shade),
        ),
        base.mark_rule(strokeWidth=1.5, clip=True).encode(y=alt.Y("low:Q", title=side.title), y2="high:Q"),
        base.mark_text(fontSize=10, **lifted).encode(**number, text=alt.Text("mean:Q", format=form)),
    ]
    if paper is not None:
        dash = alt.Chart(rows.dropna(subset="paper")).mark_tick(thickness=3, width={"band": 0.9}, opacity=1)
        layers.append(dash.encode(**where, y="paper:Q", fill=paper_fill(LYING)))
    overloaded = rows[rows["mean"].isna()]
    if len(overloaded):
        none = alt.Chart(overloaded).mark_text(fontSize=10, angle=270, align="left", color="#777777")
        layers.append(none.encode(**where, y=alt.value(height - 4), text=alt.value("overloaded")))
    return alt.layer(*layers).properties(width=width * len(labels), height=height)
