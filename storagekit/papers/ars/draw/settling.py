"""Charts of the convergence of ARS: equal queues, oscillation of the shares, and adaptation to a slower node."""

from collections.abc import Mapping, Sequence

import altair as alt
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle, from_zero, lines, ribbons, upright
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import HEIGHT, finished
from storagekit.papers.ars.draw.palette import (
    BLACK,
    BLUE,
    BY_NAME,
    GREEN,
    NAMES,
    ORANGE,
    PERCENT,
    PURPLE,
    RATE,
    SKY,
    VERMILION,
    WHISKERS,
)

LINES = (GREEN, ORANGE, VERMILION, SKY)
# Colours that are not in `BY_VIEWS`.
WINDOWS = (SKY, PURPLE, BLACK)
VIEWS = {"own": "by each client", "shared": "shared by all clients"}
BY_VIEWS = dict(zip(VIEWS.values(), (GREEN, ORANGE), strict=True))
# Seconds of a run that a line shows.
SHOWN = 4.0


def equal(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the number of outstanding requests and of the throughput of each node, by window of ARS.

    Each client measures the nodes separately.

    Parameters
    ----------
    summary : Dataset
        Result of `equal` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The two panels are one above the other. The throughput is in requests/s.
    """
    own = summary.sel(views="own", drop=True)
    named = own.assign_coords(node=[NAMES[node] for node in own.node.values.tolist()])
    words = {window: f"{window:g} s" for window in summary.window.values.tolist()}
    panels = [
        headed(
            grouped(
                values, "window", "node", BY_NAME, AxisStyle(axis), "Node",
                heading="Window of ARS", words=words, form=form, width=100,
            ),
            heading,
            100 * len(words),
        )
        for values, axis, heading, form in (
            (named.outstanding, "Outstanding requests", "At each node", ".1f"),
            (named.rate, RATE, "Throughput of each node", ".0f"),
        )
    ]  # fmt: skip
    return finished(
        in_rows([panel.properties(height=180) for panel in panels], 1),
        "Equilibrium of ARS: outstanding requests and throughput of each node",
        f"{_held(own.sel(statistic='mean'))}",
        f"{_outstanding(summary):.0f} reads of replicated data are outstanding. Each client measures the nodes "
        f"separately. {WHISKERS}",
    )


def _held(mean: xr.Dataset) -> str:
    """Return sentences that compare the throughput and the outstanding requests of the slowest and the fastest node."""
    first = mean.rate.isel(window=0)
    slowest, quickest = int(first.idxmin("node")), int(first.idxmax("node"))
    more = mean.outstanding.sel(node=slowest, drop=True) / mean.outstanding.sel(node=quickest, drop=True)
    ratios = ", ".join(f"{float(one):.2f} with windows of {float(one.window):g} s" for one in (more[0], more[-1]))
    faster = float(first.sel(node=quickest) / first.sel(node=slowest))
    return (
        f"Node {quickest}, the fastest, serves {faster:.0f} times as many requests as node {slowest}, the slowest. "
        f"The number of outstanding requests at node {slowest} divided by the number at node {quickest} is {ratios}."
    )


def _outstanding(summary: xr.Dataset) -> float:
    return float(summary.outstanding.sel(statistic="mean").sum("node").mean())


def swings(summary: xr.Dataset, held: xr.DataArray, compared: Sequence[float] = (0.03, 0.1, 1.0)) -> alt.TopLevelMixin:
    """Return curves of the oscillation at the slowest node.

    One panel has the standard deviation by window of ARS. The other has the number of outstanding requests over time in
    one run.

    Parameters
    ----------
    summary : Dataset
        Result of `equal` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    held : DataArray, shape [views, window, node, time]
        Number of outstanding requests in one run, as `equal` returns it.
    compared : sequence of float
        Windows of ARS for which a curve over time is drawn, seconds.

    Returns
    -------
    altair.TopLevelMixin
        The standard deviation is in % of all outstanding requests. Windows and times are in s.
    """
    node = int(summary.rate.sel(statistic="mean").isel(views=0, window=0).idxmin("node"))
    named = summary.assign_coords(views=[VIEWS.get(one, one) for one in summary.views.values.tolist()])
    at = AxisStyle(
        "Window of ARS (s)", 1.0, alt.Scale(type="log", nice=False, padding=10),
        alt.Axis(values=summary.window.values.tolist(), format="~g"),
    )  # fmt: skip
    top = from_zero(float(named.swing.sel(node=node).max()) * PERCENT)
    side = AxisStyle("Standard deviation (% of outstanding requests)", PERCENT, top)
    left = lines(named.swing.sel(node=node), "window", "views", BY_VIEWS, (at, side), "Nodes measured")
    shade = dict(zip([f"{window:g} s" for window in compared], WINDOWS, strict=False))
    rows = held.sel(node=node, views="own", window=list(compared)).rename("requests").reset_coords(drop=True)
    table = rows.to_dataframe().reset_index()
    table["of"] = [f"{window:g} s" for window in table["window"]]
    begin = float(held.time[0])
    right = (
        alt.Chart(table[table["time"] < begin + SHOWN])
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("time:Q", title="Time (s)", scale=alt.Scale(nice=False, zero=False)),
            y=alt.Y(
                "requests:Q",
                title="Outstanding requests at the node",
                scale=from_zero(float(table["requests"].to_numpy().max())),
            ),
            color=alt.Color(
                "of:N",
                title="Window",
                scale=alt.Scale(domain=list(shade), range=list(shade.values())),
            ),
        )
    )
    return finished(
        side_by_side(
            [headed(left, "Oscillation by window"), headed(alt.layer(right).properties(height=HEIGHT), "In one run")],
            legends="independent",
        ),
        f"Oscillation under ARS: share of the outstanding requests at node {NAMES[node]}",
        "If each client measures the nodes separately, the standard deviation of this share is "
        f"{_ends(summary.swing.sel(node=node))}.",
        f"{_outstanding(summary):.0f} reads of replicated data are outstanding. The left panel shows the standard "
        "deviation of the share over time. In the right panel each client measures the nodes separately. "
        f"{WHISKERS}",
    )


def _ends(swing: xr.DataArray) -> str:
    own = swing.sel(statistic="mean", views="own")
    return ", ".join(f"{float(one):.0%} with windows of {float(one.window):g} s" for one in (own[0], own[-1]))


def halved(summary: xr.Dataset, settled: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return curves of the fraction of the bytes that the largest node serves, over time.

    Parameters
    ----------
    summary : Dataset
        Result of `halved` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    settled : mapping of str to float
        Settling time of the share under each protocol, seconds; result of `settled`.

    Returns
    -------
    altair.TopLevelMixin
        The fraction is in %, and the time in s.
    """
    names = summary.protocol.values.tolist()
    adaptive = [name for name in names if not name.startswith("Central")]
    colours = dict(zip(adaptive, LINES, strict=False)) | {"Central, heads known": BLUE}
    at = AxisStyle("Time (s)", scale=alt.Scale(nice=False, zero=False))
    side = AxisStyle("Bytes served by the largest node (%)", PERCENT, from_zero(float(summary.share.max()) * PERCENT))
    drawn = ribbons(summary.share, "time", "protocol", colours, (at, side), "Protocol, window")
    rule = upright(summary.attrs["slows"], "half speed from this time", "right", drop=8)
    soon = " / ".join(f"{name}: {settled[name]:g} s" for name in names)
    return finished(
        alt.layer(drawn, rule).properties(width=560, height=260),
        "Share of the bytes that the largest node serves, before and after it slows down",
        f"Time from the slowdown until the share has settled: {soon}.",
        f"All requests are reads of replicated data. The share is measured over intervals of {_spacing(summary):g} s. "
        f"Bands are 95% intervals over {summary.attrs['replications']} runs.",
    )


def _spacing(data: xr.Dataset) -> float:
    """Return the time between two points of a time series, in seconds."""
    return float(data.time[1] - data.time[0])
