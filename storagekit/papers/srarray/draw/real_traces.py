"""Chart of response times of real traces."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.charts.words import listed
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import RATES, RESPONSE, TO_MS


def traces(response: xr.DataArray) -> alt.TopLevelMixin:
    """Return a chart of the response time of real traces by layout, with a panel for each trace.

    Parameters
    ----------
    response : DataArray
        Response time in seconds over `trace`, `layout`, `scale` and `statistic`. Each label of `scale` has a colour.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms, on a logarithmic axis.
    """
    names = [f"{scale:g}" for scale in response.scale.values]
    palette = dict(zip(names, RATES, strict=False))
    # An interval of a few runs may reach below zero, which a logarithmic axis cannot show.
    rows = response.assign_coords(scale=names).clip(min=1 / TO_MS)
    means = TO_MS * rows.sel(statistic="mean")
    scale = alt.Scale(type="log", domain=[0.8 * float(means.min()), 1.25 * float(means.max())], nice=False)
    ticks = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], format="d")
    sides = (AxisStyle(title("layout")), AxisStyle(f"{RESPONSE}, logarithmic", TO_MS, scale, ticks))
    panels = [
        headed(points(rows.sel(trace=name), "layout", "scale", palette, sides, title("scale")), str(name), 360)
        for name in response.trace.values.tolist()
    ]
    own = response.sel(statistic="mean").isel(scale=0)
    worse = [f"{float(one.sel(layout='6x1x1') / one.sel(layout='2x3x1')):.2f} on {one.trace.item()}" for one in own]
    return finished(
        side_by_side(panels, legends="shared"),
        "Response times of real traces on six disks, by layout",
        "At the rate of the traces, the response time of striping (6x1x1) divided by the response time of 2x3x1 is "
        f"{listed(worse)}.",
        "Each run uses requests from the middle of a trace. The address ranges of the trace's devices follow one "
        "another on the drive. The scheduler is RSATF, and copies propagate in the background. Whiskers are 95% "
        "intervals.",
        legends="bottom",
    )
