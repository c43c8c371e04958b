"""Real traces, drawn."""

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Side, points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.srarray.draw.palette import RATES, RESPONSE, TO_MS


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
