"""Figures 5 and 7, drawn: a stream's requests as they go to two bricks, each with the delay that it carries."""

import altair as alt
import xarray as xr

from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.dsfq.draw.palette import BLUE, ORANGE

HEIGHT = 90


def example_delays(data: xr.Dataset) -> alt.TopLevelMixin:
    """A box for each request at its brick, its number the delay, its colour the coordinator. data: of `example_delays`."""
    rows = data.to_dataframe().reset_index()
    panels = []
    for setting in data.setting.values.tolist():
        base = alt.Chart(rows[rows["setting"] == setting]).encode(
            x=alt.X("request:O", title="Request of the stream", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("brick:N", title="Brick"),
        )
        scale = alt.Scale(domain=[1, 2], range=[BLUE, ORANGE])
        box = base.mark_rect(stroke="white", strokeWidth=3).encode(
            color=alt.Color("coordinator:N", title="Coordinator", scale=scale)
        )
        text = base.mark_text(fontSize=15, fontWeight="bold", color="white").encode(text="delay:Q")
        panels.append(headed(alt.layer(box, text).properties(height=HEIGHT), setting.capitalize(), 260))
    return finished(
        side_by_side(panels, legends="shared"),
        "Figures 5 and 7: the delays that requests carry",
        "numbers: the cost sent elsewhere since that coordinator last sent to the brick; to A 0, 2, 0, or 0, 1 and 1",
    )
