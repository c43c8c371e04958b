"""Equation 16 beside the simulation, drawn."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.srarray.draw.palette import PERCENT

# percent, so that maps with small errors look pale beside others
LEAST_RANGE = 30.0


def equation16(error: xr.DataArray, drive: str) -> alt.TopLevelMixin:
    """Relative error of equation 16 as a heat map over disks and queue for each disk, a panel for each write share.

    drive: what the subtitle calls the simulated one.
    """
    rows = (PERCENT * error.sel(statistic="mean", drop=True)).rename("error").reset_coords(drop=True)
    most = max(LEAST_RANGE, float(abs(rows).max()))
    frame = rows.to_dataframe().reset_index()
    panels = [
        headed(_cells(frame.query("write_share == @share"), most, number == 0), f"{share:.0%} writes", width=220)
        for number, share in enumerate(error.write_share.values.tolist())
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Equation 16 against the simulated RLOOK array",
        f"{drive}; percent of the simulated throughput, at the layout that the rule gives",
    )


def _cells(frame: pd.DataFrame, most: float, first: bool) -> Layered:
    """Coloured cells with their numbers; the first panel of a row names the y axis."""
    base = alt.Chart(frame).encode(
        x=alt.X("disks:O", title=title("disks"), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("each:O", title=title("each") if first else None, sort="descending"),
    )
    shade = alt.Color(
        "error:Q",
        title="Formula less simulation (%)",
        scale=alt.Scale(scheme="blueorange", domain=[-most, most], reverse=True),
        legend=alt.Legend(orient="bottom", gradientLength=300, titleLimit=300),
    )
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("error:Q", format="+.0f"),
        color=alt.when(abs(alt.datum.error) > 0.7 * most).then(alt.value("white")).otherwise(alt.value("black")),
    )
    return alt.layer(base.mark_rect().encode(color=shade), text).properties(height=220)
