"""Writes and failing nodes, drawn: what is on disk when, and who is asked."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import HEIGHT, finished
from storagekit.papers.ars.draw.palette import BLUE, GREEN, ORANGE, PERCENT, TO_MS, VERMILION

WHEN = {"answered": "when answered", "later": "in the end"}


def writes(data: xr.Dataset) -> alt.TopLevelMixin:
    """On how many nodes' disks writes are, a panel for each volume. data: of `writes`."""
    panels = []
    shade = alt.Scale(domain=list(WHEN.values()), range=[GREEN, BLUE])
    for volume in data.volume.values.tolist():
        its = data.sel(volume=volume)
        rows = pd.concat([_shares(its[name]).assign(when=words) for name, words in WHEN.items()])
        bar = (
            alt.Chart(rows[rows["nodes"] > 0])
            .mark_bar()
            .encode(
                x=alt.X("nodes:O", title="On so many nodes' disks", axis=alt.Axis(labelAngle=0)),
                xOffset=alt.XOffset("when:N", sort=list(WHEN.values())),
                y=alt.Y("share:Q", title="Writes (%)", scale=alt.Scale(domain=[0, 100])),
                color=alt.Color("when:N", title=None, scale=shade, sort=list(WHEN.values())),
            )
        )
        panels.append(headed(alt.layer(bar).properties(height=200), volume.capitalize(), 240))
    return finished(
        side_by_side(panels, legends="shared"),
        "Writes: committed on some nodes, in the others' buffers",
        "one copy or two fragments are on disk at the answer, at least; all in the end",
    )


def _shares(counts: xr.DataArray) -> pd.DataFrame:
    """Of all in percent."""
    share = (PERCENT * counts / counts.sum()).rename("share")
    return share.reset_coords(drop=True).to_dataframe().reset_index()


def extra(data: xr.Dataset) -> alt.TopLevelMixin:
    """Nodes asked and response times while the largest node is away, means over runs. data: of `extra`."""
    panels = [
        headed(_over_requests(data.asked, data, "Nodes that a read is sent to", 1.0, False), "Asked at once"),
        headed(_over_requests(data.response, data, "Mean response time (ms)", TO_MS, True), "How long it takes"),
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "A node fails: more are asked at once",
        "reads of coded data, 2 of 4; grey: the largest node is away; clients wait a second before they ask again; "
        f"mean over {data.sizes['seed']} runs",
    )


def _over_requests(values: xr.DataArray, data: xr.Dataset, words: str, factor: float, log: bool) -> Layered:
    rows = (values.mean("seed") * factor).rename("value").reset_coords(drop=True).to_dataframe().reset_index()
    rows["most"] = [_allowed(one) for one in rows["extra"]]
    names = [_allowed(one) for one in data.extra.values.tolist()]
    begins, ends = data.attrs["away"]
    away = pd.DataFrame({"from": [begins], "to": [ends]})
    shade = alt.Chart(away).mark_rect(color="#eeeeee").encode(x="from:Q", x2="to:Q")
    scale = alt.Scale(type="log", nice=False, padding=10) if log else alt.Scale(zero=False)
    line = (
        alt.Chart(rows)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("number:Q", title="Request", scale=alt.Scale(nice=False)),
            y=alt.Y("value:Q", title=words, scale=scale),
            color=alt.Color(
                "most:N",
                title="Asked besides",
                scale=alt.Scale(domain=names, range=[ORANGE, GREEN, VERMILION]),
                sort=names,
            ),
        )
    )
    return alt.layer(shade, line).properties(height=HEIGHT)


def _allowed(most: int) -> str:
    return f"up to {most}" if most else "nobody"
