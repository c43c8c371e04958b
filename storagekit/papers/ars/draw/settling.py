"""How shares come to rest, drawn: nearly equal queues, where they swing, and a node that slows down."""

from collections.abc import Sequence

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Side, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import HEIGHT, PAPER, finished
from storagekit.papers.ars.draw.palette import (
    BLUE,
    BY_NAME,
    GREEN,
    NAMES,
    ORANGE,
    PERCENT,
    RATE,
    SKY,
    VERMILION,
    grouped,
)

LINES = (GREEN, ORANGE, VERMILION, SKY)
VIEWS = {"own": "each client its own", "shared": "one for all clients"}
BY_VIEWS = dict(zip(VIEWS.values(), (GREEN, ORANGE), strict=True))
# seconds of a run that a line has room for
SHOWN = 4.0


def equal(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Requests at each node, and those that it serves, by window, where clients have views of their own. summary: of `equal`,
    over `statistic`."""
    own = summary.sel(views="own", drop=True)
    named = own.assign_coords(node=[NAMES[node] for node in own.node.values.tolist()])
    words = {window: f"{window:g} s" for window in summary.window.values.tolist()}
    panels = [
        headed(
            grouped(
                values, "window", "node", BY_NAME, Side(axis), "Node",
                heading="Window of ARS", words=words, form=form, width=100,
            ),
            heading,
            100 * len(words),
        )
        for values, axis, heading, form in (
            (named.outstanding, "Requests outstanding", "At each node", ".1f"),
            (named.rate, RATE, "Served by each node", ".0f"),
        )
    ]  # fmt: skip
    return finished(
        side_by_side(panels, legends="shared"),
        "Where shares rest: nearly as many requests at each node, whatever its speed, while windows are short",
        "ARS, reads of replicated data, 50 outstanding; with longer windows the slowest node holds more, and shares swing",
    )


def swings(summary: xr.Dataset, held: xr.DataArray, compared: Sequence[float] = (0.03, 0.1, 1.0)) -> alt.TopLevelMixin:
    """How much shares swing, by window, and what of it is seen at the slowest node in one run. summary: of `equal`, over
    `statistic`; held: its series; compared: whose windows are drawn."""
    node = int(summary.rate.sel(statistic="mean").isel(views=0, window=0).idxmin("node"))
    named = summary.assign_coords(views=[VIEWS.get(one, one) for one in summary.views.values.tolist()])
    at = Side(
        "Window of ARS (s)", 1.0, alt.Scale(type="log", nice=False, padding=10),
        alt.Axis(values=summary.window.values.tolist(), format="~g"),
    )  # fmt: skip
    side = Side("Standard deviation (% of what is outstanding)", PERCENT, alt.Scale(domainMin=0))
    left = lines(named.swing.sel(node=node), "window", "views", BY_VIEWS, (at, side), "Views of nodes")
    shade = dict(zip([f"{window:g} s" for window in compared], LINES, strict=False))
    rows = held.sel(node=node, views="own", window=list(compared)).rename("requests").reset_coords(drop=True)
    table = rows.to_dataframe().reset_index()
    table["of"] = [f"{window:g} s" for window in table["window"]]
    begin = float(held.time[0])
    right = (
        alt.Chart(table[table["time"] < begin + SHOWN])
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("time:Q", title="Time (s)", scale=alt.Scale(nice=False, zero=False)),
            y=alt.Y("requests:Q", title="Requests outstanding there", scale=alt.Scale(domain=[0, 50])),
            color=alt.Color(
                "of:N", title="Window, own views", scale=alt.Scale(domain=list(shade), range=list(shade.values()))
            ),
        )
    )
    return finished(
        side_by_side(
            [headed(left, "How much it swings"), headed(alt.layer(right).properties(height=HEIGHT), "In one run")],
            legends="independent",
        ),
        f"Where shares swing: node {NAMES[node]}",
        "ARS, reads of replicated data, 50 outstanding; standard deviation over time of what is at the slowest node",
    )


def halved(data: xr.Dataset) -> alt.TopLevelMixin:
    """The largest node's share of what is served, over time. data: of `halved`."""
    share = data.share.mean("seed") * PERCENT
    rows = share.rename("value").reset_coords(drop=True).to_dataframe().reset_index()
    names = data.protocol.values.tolist()
    adaptive = [name for name in names if name != "Central"]
    colours = dict(zip(adaptive, LINES, strict=False)) | {"Central": BLUE}
    shade = alt.Scale(domain=names, range=[colours[name] for name in names])
    line = (
        alt.Chart(rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("time:Q", title="Time (s)", scale=alt.Scale(nice=False)),
            y=alt.Y("value:Q", title="Share of the largest node (%)", scale=alt.Scale(zero=True)),
            color=alt.Color("protocol:N", title="Protocol, window", scale=shade, sort=names),
        )
    )
    at = pd.DataFrame({"at": [data.attrs["slows"]], "words": ["half its speed from here"]})
    rule = alt.Chart(at).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x="at:Q")
    text = alt.Chart(at).mark_text(align="left", dx=4, color=PAPER).encode(x="at:Q", y=alt.value(8), text="words")
    return finished(
        alt.layer(line, rule, text).properties(width=560, height=260),
        "A node slows down: how soon shares follow",
        f"reads of replicated data; mean over {data.sizes['seed']} runs and stretches of {_stretch(data):g} s, "
        "within which nothing is told apart",
    )


def _stretch(data: xr.Dataset) -> float:
    """Seconds from one point of a series to the next."""
    return float(data.time[1] - data.time[0])
