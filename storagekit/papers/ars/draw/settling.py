"""How shares come to rest, drawn: equal queues, and a node that slows down."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Side
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import PAPER, finished
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


def equal(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Requests at each node, and those that it serves, by window. summary: of `equal`, over `statistic`."""
    named = summary.assign_coords(node=[NAMES[node] for node in summary.node.values.tolist()])
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
        "Where shares rest: as many requests at each node, whatever its speed",
        "ARS, reads of replicated data, 50 outstanding",
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
        f"reads of replicated data; mean over {data.sizes['seed']} runs",
    )
