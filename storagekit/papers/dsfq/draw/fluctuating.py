"""Loads that change in time, drawn: figures 13 and 14."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.dsfq.draw.palette import RATE, STREAMS, TO_MB

# seconds over which figure 14 is smoothed
SMOOTH = 5
PANEL = 330


def fig13(data: xr.Dataset) -> alt.TopLevelMixin:
    """Totals of f, g and h over a turn of h, a panel for each number of threads. data: of `fig13`."""
    smooth = data.total.mean("seed").rolling(time=4, center=True, min_periods=1).mean()
    most = float(smooth.max()) * TO_MB
    panels = [
        headed(_over_time(smooth.sel(threads=threads), "time", most), f"{threads} threads of f and of g on A", PANEL)
        for threads in data.threads.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 13: h comes and goes on B, and f follows g",
        "h is on for 10 s, then off; mean over turns and runs, a second at a time; weights 1:1:1",
    )


def fig14(data: xr.Dataset) -> alt.TopLevelMixin:
    """Threads on A, then the totals under each policy. data: of `fig14`."""
    threads = data.threads.sel(brick=0).rename("value")
    total = data.service.sum("brick").mean("seed").rolling(window=SMOOTH, center=True).mean()
    most = float(total.max()) * TO_MB
    count = _over_time(threads, "window", float(threads.max()), "Threads on A", 1.0)
    panels = [headed(count, "(a) threads on A, of those that are on", PANEL)]
    for letter, policy in zip("bcde", data.policy.values.tolist(), strict=False):
        heading = f"({letter}) {'no scheduling' if policy == 'none' else policy}"
        panels.append(headed(_over_time(total.sel(policy=policy), "window", most), heading, PANEL))
    rows = [side_by_side(panels[first : first + 2], legends="shared") for first in range(0, len(panels), 2)]
    return finished(
        alt.vconcat(*rows),
        "Figure 14: sinusoidal loads under each policy",
        f"totals of f and g, means of {SMOOTH} s; both have A and two bricks each of their own; periods are ours",
    )


def _over_time(values: xr.DataArray, x: str, most: float, title: str = RATE, factor: float = TO_MB) -> Layered:
    rows = (values * factor).rename("value").reset_coords(drop=True).to_dataframe().reset_index().dropna()
    present = [name for name in STREAMS if name in set(rows["stream"])]
    colours = alt.Scale(domain=present, range=[STREAMS[name] for name in present])
    line = (
        alt.Chart(rows)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X(x, type="quantitative", title="Time (s)", scale=alt.Scale(nice=False)),
            y=alt.Y("value", type="quantitative", title=title, scale=alt.Scale(domain=[0, 1.05 * most])),
            color=alt.Color("stream", type="nominal", title="Stream", scale=colours),
        )
    )
    return alt.layer(line).properties(height=180)
