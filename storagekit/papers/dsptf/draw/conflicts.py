"""Charts of messages and conflicts: tables 5 and 6."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, curves, paper_points, points, positions
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import OURS, finished
from storagekit.charts.words import span
from storagekit.core.axes import title
from storagekit.papers.dsptf.claims import TABLE5, TABLE6

EXTRA = "Messages per request beyond 2N"
# Width of a panel of table 6, pixels.
PANEL = 330
PHASES = {"random": "Its spindles have random phases.", "in step": "Its spindles are in step."}


def table5(messages: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the number of messages per request beyond 2N against the number of bricks.

    Each number N of replicas has a panel.

    Parameters
    ----------
    messages : DataArray
        Messages per request over `bricks`, `replicas` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The panels are in one row. Diamonds are the values of the paper.
    """
    extra = messages - 2 * messages.replicas
    said = TABLE5.numbers(paper).reindex(bricks=messages.bricks, replicas=messages.replicas)
    said -= 2 * said.replicas
    panels = [
        headed(_beyond(extra.sel(replicas=replicas), said.sel(replicas=replicas)), f"{replicas} replicas", 190)
        for replicas in messages.replicas.values.tolist()
    ]
    means = extra.sel(statistic="mean")
    ours, theirs = (span(every.values.ravel(), ".3f") for every in (means, said))
    return finished(
        side_by_side(panels, legends="shared"),
        "Table 5: messages per request",
        f"With N replicas, a request has 2N messages and {ours} further messages on average (paper: {theirs}). With "
        f"the largest N, it has {span(_by_bricks(means), '.3f')} further messages.",
        "The loop has reads only. Every claim after the first adds N messages. Each panel has a separate scale. "
        "Whiskers are 95% intervals.",
        legends="bottom",
    )


def _by_bricks(means: xr.DataArray) -> list[float]:
    return means.sel(replicas=means.replicas.max()).values.tolist()


def _beyond(extra: xr.DataArray, said: xr.DataArray) -> Layered:
    """Return our values with whiskers, and the paper's values as diamonds, against the number of bricks."""
    bricks = extra.bricks.values.tolist()
    across = AxisStyle(
        title("bricks"),
        scale=alt.Scale(type="log", base=2, nice=False, padding=20),
        axis=alt.Axis(values=bricks, format="d"),
    )
    most = 1.1 * float(np.nanmax([extra.max(), said.max()]))
    up = AxisStyle(EXTRA, scale=alt.Scale(domain=[0, most], nice=False), axis=alt.Axis(tickCount=5))
    ours = points(extra.expand_dims(series=["ours"]), "bricks", "series", {"ours": OURS}, (across, up), None)
    known = positions(said)
    paper = [paper_points(known, "bricks", (across.title, up.title))] if known else []
    return alt.layer(ours, *paper).properties(height=200)


def table6(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the percentage of the requests with conflicting claims, in a panel for each label of `spindles`.

    Parameters
    ----------
    summary : Dataset
        `contested_requests` over `replicas`, `read_share`, `latency`, `spindles` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Diamonds are the values of the paper.
    """
    titles = (title("replicas"), "Requests claimed twice (%)", "Reads, claim window")
    rows = summary.contested_requests.stack(setting=["read_share", "latency"])
    names = [f"{share:.0%}, {latency * 1e6:.0f} µs" for share, latency in rows.setting.values]
    rows = rows.drop_vars(["setting", "read_share", "latency"]).assign_coords(setting=names)
    said = 100 * TABLE6.numbers(paper).reindex(replicas=summary.replicas)
    panels = []
    for spindles in rows.spindles.values.tolist():
        drawn = curves(rows.sel(spindles=spindles, drop=True), "replicas", "setting", titles=titles, factor=100)
        marked = alt.layer(drawn, paper_points(positions(said), "replicas", titles[:2]))
        panels.append(headed(marked.properties(width=PANEL), f"Spindles: {spindles}", PANEL))
    means = 100 * rows.sel(statistic="mean")
    off = abs(np.log(means / said)).mean("replicas").stack(both=["spindles", "setting"])
    spindles, nearest = off.both.values[int(off.argmin("both"))]
    most = int(said.replicas.max())
    ours = float(means.sel(spindles=spindles, setting=nearest, replicas=most))
    return finished(
        side_by_side(panels, legends="shared"),
        "Table 6: requests with conflicting claims",
        f"The setting nearest to the paper has {nearest.replace(', ', ' reads and a claim window of ')}. "
        f"{PHASES[spindles]} With {most} replicas, {ours:.2f}% of its requests have conflicting claims (paper: "
        f"{float(said.sel(replicas=most)):.2f}%).",
        "16 requests are outstanding. A second claim within the claim window is a conflict. Diamonds are the paper's "
        "values. The paper does not give the share of reads or the phases of the spindles. Each panel has a separate "
        "scale. Whiskers are 95% intervals.",
    )
