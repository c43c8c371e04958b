"""Chart of the accuracy of head tracking: table 2 (section 3.2)."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import level, paper_points
from storagekit.charts.panels import headed
from storagekit.charts.paper import figures
from storagekit.charts.theme import finished
from storagekit.charts.words import counted
from storagekit.core.axes import title
from storagekit.core.units import US
from storagekit.papers.srarray.draw.palette import BLUE, PERCENT

PANEL, ROW = 280, 44
# Rows of table 2. Each has the key of the claim and of the variable, the name, the factor from our unit to the shown
# unit, the factor from the claim's unit to the shown unit, and the format.
FIGURES = (
    ("misses", "Misses (%)", PERCENT, PERCENT, ".2f"),
    ("mean_error", "Mean error (µs)", 1 / US, 1.0, ".1f"),
    ("sd_error", "Standard deviation of errors (µs)", 1 / US, 1.0, ".0f"),
    ("access", "Access (µs)", 1 / US, 1.0, ",.0f"),
    ("demerit", "Demerit (µs)", 1 / US, 1.0, ".0f"),
    ("demerit_share", "Demerit (% of an access)", PERCENT, PERCENT, ".1f"),
)
# Recalibration interval in the paper's claim on predictions, seconds.
TWO_MINUTES = 120.0


def table2(data: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return charts of the accuracy by recalibration interval and of the misses by slack, with the values of table 2.

    Parameters
    ----------
    data : Dataset
        Result of `storagekit.papers.srarray.table2`, with `within` over `interval` (seconds) and `misses` over `slack`
        (sectors).
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The curves are in %, and the times of the table in µs.
    """
    titles = (f"{title('interval')} (s)", "Predictions within 1% of a turn (%)")
    goal = PERCENT * (1 - paper["srarray.head.slack"])
    left = _curve(data.within, "interval", *titles, 100.0)
    most = max(1.1 * goal, PERCENT * float(data.misses.max()))
    right = _curve(
        data.misses, "slack", f"{title('slack')} (sectors)", "Requests that miss their target sector (%)", most
    )
    said = paper_points([(TWO_MINUTES, PERCENT * paper["srarray.head.recalibration"])], "interval", titles)
    kept = data.sel(slack=max(1.0, round(float(data.kept_slack))), method="nearest")
    panels = [
        headed(alt.layer(left, said), "Accuracy by interval", PANEL),
        headed(alt.layer(right, level(goal, f"paper: at most {goal:g}%")), "Misses by slack", PANEL),
        headed(_figures(kept, paper), "Measured value, with the paper's value below it", 100),
    ]
    within = PERCENT * float(data.within.sel(interval=TWO_MINUTES, method="nearest"))
    none, some = (PERCENT * float(one.misses) for one in (data.isel(slack=0), kept))
    slack = counted(float(kept.slack), "sector")
    return finished(
        alt.hconcat(*panels, spacing=30),
        "Table 2: accuracy of head tracking by software",
        f"With an interval of two minutes, {within:.0f}% of predictions are within 1% of a turn (paper: "
        f"{PERCENT * paper['srarray.head.recalibration']:.0f}%). A slack of {slack} reduces the misses from "
        f"{none:.2f}% to {some:.2f}% of the requests.",
        "The values are from a Monte Carlo simulation with assumed noise. The interval is the time between "
        "recalibrations, and the slack is the margin before the target sector. The table on the right is for a slack "
        f"of {slack}. The paper does not give its slack.",
        legends="bottom",
    )


def _figures(kept: xr.Dataset, paper: Mapping[str, float]) -> alt.LayerChart | alt.FacetChart:
    """Return the table of our values and the paper's values."""
    rows = [
        (words, format(float(kept[key]) * ours, form), format(paper[f"srarray.table2.{key}"] * theirs, form), "")
        for key, words, ours, theirs, form in FIGURES
    ]
    frame = pd.DataFrame(rows, columns=["figure", "ours", "paper", "kept"])
    return figures(frame, "figure", "kept").properties(height=ROW * len(rows))


def _curve(values: xr.DataArray, x: str, x_title: str, y_title: str, top: float) -> alt.Chart:
    """Return a curve of fractions, in percent."""
    frame = (values * PERCENT).rename("value").reset_coords(drop=True).to_dataframe().reset_index()
    return (
        alt.Chart(frame)
        .mark_line(point={"size": 45, "color": BLUE}, color=BLUE)
        .encode(
            x=alt.X(x, title=x_title, scale=alt.Scale(zero=False, nice=False, padding=8), axis=_ticks(values[x])),
            y=alt.Y("value", title=y_title, scale=alt.Scale(domain=[0, top])),
        )
    )


def _ticks(axis: xr.DataArray) -> alt.Axis:
    """Return an axis with ticks at the simulated values."""
    return alt.Axis(values=axis.values.tolist(), format=".6~g")
