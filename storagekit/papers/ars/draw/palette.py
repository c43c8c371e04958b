"""Shared parts of the charts: colours of protocols and nodes, grouped bars, and tables."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, table
from storagekit.charts.theme import COLOURS, HEIGHT

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = COLOURS
YELLOW = "#c9b400"
TO_MS, PERCENT = 1e3, 100.0
RESPONSE = "Mean response time (ms)"
RATE = "Throughput (requests/s)"

PROTOCOLS = {
    "Randomized": PURPLE,
    "ARS": GREEN,
    "D-SPTF": VERMILION,
    "Central": BLUE,
    "Central, heads known": SKY,
    "D-SPTF, waits for the platter": YELLOW,
    "D-SPTF, starts immediately": BLACK,
    "D-SPTF, 0.1 ms a message": ORANGE,
}
# Colours of the reader's protocols.
FURTHER = ("#8c564b", "#7f7f7f")
# Numbers of the nodes as in table I.
NODES = {0: ORANGE, 1: SKY, 2: PURPLE, 3: BLUE}
DISKS = {0: "2 Atlas 10K", 1: "RAID 5 of 9 Ultrastar", 2: "1 Deskstar", 3: "18 Cheetah"}
NAMES = {node: f"{node}: {disks}" for node, disks in DISKS.items()}
BY_NAME = {NAMES[node]: colour for node, colour in NODES.items()}
UNMAPPED = "#e3e3e3"


CENTRAL, OTHERS = "Central", ("Randomized", "ARS", "D-SPTF")
WHISKERS = "Whiskers are 95% intervals over runs."


def over_central(values: xr.DataArray, words: str) -> str:
    """Return a sentence with the range of each protocol's means over the means of Central.

    The result is empty if Central or every other protocol is missing.

    Parameters
    ----------
    values : DataArray, shape [statistic, protocol, ...]
        The values.
    words : str
        Name of the values, as the subject of the sentence.
    """
    mean, told = values.sel(statistic="mean"), []
    present = mean.protocol.values.tolist()
    if CENTRAL not in present:
        return ""
    for name in OTHERS:
        share = (
            mean.sel(protocol=name) / mean.sel(protocol=CENTRAL, drop=True) if name in present else xr.DataArray(np.nan)
        )
        if bool(share.notnull().any()):
            ends = dict.fromkeys((f"{float(share.min()):.2f}", f"{float(share.max()):.2f}"))
            told.append(f"{' to '.join(ends)} ({name})")
    return f"{words}, divided by that of Central, is {', '.join(told)}." if told else ""


def with_own(palette: Mapping[str, str], data: xr.DataArray) -> dict[str, str]:
    """Return the colours of a palette, and further colours for protocols of the reader in `data`.

    Parameters
    ----------
    palette : mapping of str to str
        Colours by protocol.
    data : DataArray
        Values with a dimension `protocol`.
    """
    own = [name for name in data.protocol.values.tolist() if name not in palette]
    return {**palette, **dict(zip(own, cycle(FURTHER), strict=False))}


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
    form: str = ".1f",
    width: float = 150,
) -> Layered:
    """Return grouped bars with intervals and numbers; the word "overloaded" marks values that are NaN.

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
    form : str
        Format of the numbers, by default one decimal place.
    width : float
        Width of a group, pixels, by default 150.
    """
    rows = table(summary, side.factor)
    rows[colour] = rows[colour].astype(str)
    rows["place"] = [(words or {}).get(one, f"{one}") for one in rows[group]]
    present = [name for name in palette if name in set(rows[colour])]
    top = 1.12 * float(np.nanmax([*rows["mean"], *rows["high"]]))
    places = list(dict.fromkeys(rows["place"]))
    base = alt.Chart(rows).encode(
        x=alt.X("place:N", title=heading or None, sort=places, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset(colour, type="nominal", sort=present),
    )
    shade = alt.Scale(domain=present, range=[palette[name] for name in present])
    height = alt.Y("mean:Q", title=side.title, scale=side.scale or alt.Scale(domain=[0, top], nice=False))
    layers = [
        base.mark_bar().encode(y=height, color=alt.Color(colour, type="nominal", title=legend, scale=shade)),
        base.mark_rule(strokeWidth=1.5, clip=True).encode(y=alt.Y("low:Q", title=side.title), y2="high:Q"),
        base.mark_text(fontSize=10, dy=-5, baseline="bottom").encode(y="high:Q", text=alt.Text("mean:Q", format=form)),
    ]
    outrun = rows[rows["mean"].isna()]
    if len(outrun):
        none = alt.Chart(outrun).mark_text(fontSize=10, angle=270, align="left", color="#777777")
        layers.append(
            none.encode(
                x=alt.X("place:N", sort=places),
                xOffset=alt.XOffset(colour, type="nominal", sort=present),
                y=alt.value(HEIGHT - 4),
                text=alt.value("overloaded"),
            )
        )
    return alt.layer(*layers).properties(width=width * len(places), height=HEIGHT)


def cells(rows: pd.DataFrame, width: float) -> Layered:
    """Return a plain table of simulated figures, with the figures of the paper below them.

    Parameters
    ----------
    rows : DataFrame
        One row for each cell, with the columns `row`, `figure` (its column), `ours` and `said` (the paper's text, or
        empty).
    width : float
        Width of the table, pixels.
    """
    count = rows["row"].nunique()
    base = alt.Chart(rows).encode(
        x=alt.X(
            "figure:N",
            title=None,
            sort=None,
            axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False, labelLimit=150),
        ),
        y=alt.Y("row:N", title=None, sort=None, axis=alt.Axis(domain=False, ticks=False, labelLimit=220)),
    )
    ours = base.mark_text(fontSize=13, dy=-7 if any(rows["said"]) else 0).encode(text="ours:N")
    theirs = base.mark_text(fontSize=11, dy=9, color="#666666").encode(text="said:N")
    return alt.layer(ours, theirs).properties(width=width, height=46 * count)
