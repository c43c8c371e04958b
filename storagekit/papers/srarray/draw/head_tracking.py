"""Head tracking, drawn: table 2."""

from collections.abc import Mapping

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import level, paper_points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.srarray.draw.palette import BLUE, PERCENT


def table2(data: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Head tracking: `within` against `interval` (s), and `misses` against `slack` (sectors)."""
    titles = (f"{title('interval')} (s)", "Predictions within 1% of a turn (%)")
    goal = PERCENT * (1 - paper["srarray.head.slack"])
    left = _curve(data.within, "interval", *titles, 100.0)
    most = max(1.1 * goal, PERCENT * float(data.misses.max()))
    right = _curve(data.misses, "slack", f"{title('slack')} (sectors)", "Requests that miss their target (%)", most)
    said = paper_points([(120, PERCENT * paper["srarray.head.recalibration"])], "interval", titles)
    allowed = level(goal, "as many may miss")
    panels = [
        headed(alt.layer(left, said), "How often it must look"),
        headed(alt.layer(right, allowed), "What aiming late saves"),
    ]
    return finished(
        side_by_side(panels, legends="independent"),
        "Table 2: where the head is, told by software",
        "Monte Carlo with assumed noise; diamond: the paper at two minutes",
    )


def _curve(values: xr.DataArray, x: str, x_title: str, y_title: str, top: float) -> alt.Chart:
    frame = (values * PERCENT).rename("value").reset_coords(drop=True).to_dataframe().reset_index()
    return (
        alt.Chart(frame)
        .mark_line(point={"size": 45}, color=BLUE)
        .encode(
            x=alt.X(x, title=x_title, scale=alt.Scale(zero=False, nice=False, padding=8)),
            y=alt.Y("value", title=y_title, scale=alt.Scale(domain=[0, top])),
        )
    )
