"""Bricks that fail, drawn: the promise that every request is answered."""

from collections.abc import Sequence

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, level, table
from storagekit.charts.panels import side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.papers.dsptf.draw.palette import TO_MS, room_for


def failing(summary: xr.Dataset) -> alt.TopLevelMixin:
    """What a brick that stops and comes back costs, by `loss` of claims and `timeout` (s) of clients."""
    loop = float(summary.attrs["loop"])
    panels = [
        (summary.outstanding, "Requests in the loop", 1.0, ".1f", loop),
        (summary.resent, "Reads sent again", 1.0, ".0f", None),
        (summary.extra_services, "Reads served twice (%)", 100.0, ".1f", None),
        (summary.response, "Mean response time (ms)", TO_MS, ".0f", None),
    ]
    return finished(
        side_by_side([_by_loss(*panel) for panel in panels], legends="shared"),
        "A brick stops and comes back",
        f"two copies on eight bricks, {loop:.0f} outstanding, 90% reads; one brick is away for 30% of the run",
    )


def _by_loss(values: xr.DataArray, words: str, factor: float, form: str, line: float | None) -> Layered:
    """Bars by loss, side by side for each time-out."""
    rows = table(values, factor)
    rows["lost"] = [f"{share:.0%}" for share in rows["loss"]]
    rows["waits"] = [f"{timeout:g} s" for timeout in rows["timeout"]]
    waits = list(rows["waits"].unique())
    top = room_for(rows, line or 0.0)
    base = alt.Chart(rows).encode(
        x=alt.X("lost:N", title=f"{title('loss')}", sort=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("waits:N", sort=waits),
    )
    colour = alt.Color("waits:N", title=title("timeout"), scale=alt.Scale(domain=waits, range=COLOURS[4:6]))
    layers: Sequence[Layered | alt.Chart] = [
        base.mark_bar().encode(y=alt.Y("mean", title=words, scale=alt.Scale(domain=[0, top])), color=colour),
        base.mark_rule(strokeWidth=1.5).encode(y="low", y2="high"),
        base.mark_text(fontSize=11).encode(y=alt.value(190), text=alt.Text("mean", format=form)),
    ]
    if line is not None:
        layers = [*layers, level(line, f"{line:.0f}")]
    return alt.layer(*layers).properties(width=165, height=200)
