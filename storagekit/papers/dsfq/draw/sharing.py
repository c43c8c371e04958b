"""Charts of two streams that share bricks: figures 8 to 12."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, from_zero, level, lines, paper_points, upright
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.dsfq.draw.palette import RATE, STREAMS, TO_MB, TO_MS, WHERE

ON_B = "Threads of g on B"
WHISKERS = "Whiskers are 95% intervals over runs. Most are smaller than the marks."


def fig8(summary: xr.Dataset, depth: int, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return curves of the throughput and the response time of both streams against the number of threads of g.

    Parameters
    ----------
    summary : Dataset
        Result of `fig8` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    depth : int
        The depth D whose curves are drawn.
    paper : mapping of str to float
        Values of the paper by claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in MB/s of 10^6 bytes, and the response time in ms.
    """
    one, at = summary.sel(depth=depth), AxisStyle("Threads of g")
    from_here = paper["dsfq.fig8.share_at"]
    rates = lines(one.throughput, "threads", "stream", STREAMS, (at, _to(one.throughput, RATE, TO_MB)), "Stream")
    waits = lines(
        one.response, "threads", "stream", STREAMS, (at, _to(one.response, "Response time (ms)", TO_MS)), "Stream"
    )
    share = upright(from_here, f"paper: full share from {from_here:g} threads on", drop=245)
    panels = [
        headed(alt.layer(rates, share), "Throughput"),
        headed(alt.layer(waits, upright(from_here, "")), "Response time"),
    ]
    end = one.sel(statistic="mean").isel(threads=-1)
    part = float(end.throughput.sel(stream="g") / end.throughput.sum("stream"))
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 8: throughput and response time on one brick, weights 1:2",
        f"With {int(end.threads)} threads, g receives {part:.0%} of the throughput of the brick. Its share by weight "
        f"is two thirds. The mean response time is {float(end.response.sel(stream='f')) * TO_MS:.0f} ms for f and "
        f"{float(end.response.sel(stream='g')) * TO_MS:.0f} ms for g.",
        f"Stream f has 30 threads, and the depth D is {depth}. {WHISKERS}",
    )


def fig9(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return curves of the total throughputs, and of the throughput of g by brick, against the threads of g on B.

    Parameters
    ----------
    summary : Dataset
        Result of `fig9` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    paper : mapping of str to float
        Values of the paper by claim.

    Returns
    -------
    altair.TopLevelMixin
        The chart has the panels (a) and (b). The throughput is in MB/s of 10^6 bytes.
    """
    few, many = (float(summary.threads[index]) for index in (0, -1))
    claim = "dsfq.fig9.b_{}".format
    said = [(few, paper[claim(name)]) for name in ("start[f]", "start[g_A]")]
    said += [(many, paper[claim(name)]) for name in ("end[f_A]", "end[g_A]", "end[g_B]")]
    marks = paper_points(said, "threads", (ON_B, RATE))
    # Draw the paper's diamonds below the curves, which are calibrated to them.
    large = alt.layer(marks, _totals(summary.sel(panel="b", drop=True), ON_B))
    panels = [
        headed(_totals(summary.sel(panel="a", drop=True), ON_B), "(a) files to 16 KB, weights 1:1"),
        headed(large, "(b) files to 1 MB, weights 1:4, calibrated bricks"),
    ]
    shares = _share(summary).isel(threads=-1)
    return finished(
        side_by_side(panels, legends="shared").resolve_scale(fill="shared"),
        "Figure 9: throughput of f and g on A and B, by the number of threads of g on B",
        f"With {many:g} threads of g on B, the total throughput of f divided by the total of g is "
        f"{float(shares.sel(panel='a')):.2f} in (a), and {float(shares.sel(panel='b')):.2f} in (b) (paper: "
        f"{paper['dsfq.fig9.b_ratio']:g}).",
        f"Each stream has 30 threads on A. {WHISKERS}",
    )


def fig10(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return curves of the total throughputs against the number of threads of g per brick.

    Parameters
    ----------
    summary : Dataset
        Result of `fig10` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    paper : mapping of str to float
        Values of the paper by claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in MB/s of 10^6 bytes.
    """
    on_a = summary.assign_coords(threads=summary.threads / 3)
    said = paper["dsfq.fig10.balanced_from"]
    rule = upright(said, f"paper: equal totals from {said:g} on", "right", drop=240)
    behind = 1 - 1 / _share(on_a)
    there, few = float(np.interp(said, on_a.threads, behind)), float(on_a.threads[0])
    return finished(
        alt.layer(_totals(on_a, "Threads of g per brick"), rule),
        "Figure 10: total throughput of f on one brick and of g striped over three bricks",
        f"With {said:g} threads of g per brick, the total of g is {there:.1%} below the total of f (paper: equal). "
        f"With {few:g} threads of g per brick, the total of g is {float(behind[0]):.0%} below.",
        "The threads of g use three bricks in turn, so the number of threads per brick is a third of their number. "
        "Stream f has 30 threads on A. Whiskers are 95% intervals over runs.",
    )


def fig11(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return curves of the total throughputs against the threads of g on B, in a panel for each number of coordinators.

    Parameters
    ----------
    summary : Dataset
        Result of `fig11` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in MB/s of 10^6 bytes.
    """
    counts = summary.coordinators.values.tolist()
    panels = [
        headed(
            _totals(summary.sel(coordinators=count), ON_B),
            f"{count} {'coordinator' if count == 1 else 'coordinators'}",
            240,
        )
        for count in counts
    ]
    widest = abs(1 - _share(summary)).max("threads")
    text = ", ".join(f"{float(widest.sel(coordinators=count)):.1%} with {count}" for count in counts)
    return finished(
        side_by_side(panels, legends="shared").resolve_scale(y="shared"),
        "Figure 11: total throughput of f and g with one, two and four coordinators",
        f"By number of coordinators, the largest difference between the totals of f and g is {text}.",
        f"The streams are the streams of figure 9(a). Each stream uses its coordinators in turn. {WHISKERS}",
    )


def fig12(summary: xr.Dataset, minimum: float, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return curves of the total throughputs under HYBRID-DSFQ, in a panel for each number of coordinators.

    Lines mark the minimum share of g on A, and the number of threads above which the paper's totals differ.

    Parameters
    ----------
    summary : Dataset
        Result of `fig12` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    minimum : float
        Minimum share of A for g.
    paper : mapping of str to float
        Values of the paper by claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in MB/s of 10^6 bytes.
    """
    service = summary.service.sel(statistic="mean")
    made = float(service.isel(brick=0).sum("stream").mean())
    said = paper["dsfq.fig12.balanced_below"]
    panels = []
    for count in summary.coordinators.values.tolist():
        one = summary.sel(coordinators=count)
        on_b = one.service.sel(statistic="mean", stream="g").isel(brick=1)
        # Threads with which g has the throughput on B at which the totals of the paper begin to differ.
        at = float(np.interp(said, on_b * TO_MB, on_b.threads))
        heading = f"{count} coordinator{'s in turn' if count > 1 else ''}"
        side = "right" if at < float(on_b.threads[-1]) / 2 else "left"
        parts = upright(at, f"paper: equal totals up to {said:g} MB/s on B", side, drop=180)
        floor = level(minimum * made, "minimum share of g on A", TO_MB, "below right")
        panels.append(headed(alt.layer(_totals(one, ON_B), floor, parts), heading))
    g_on_a = service.sel(stream="g").isel(brick=0, threads=-1) / service.isel(brick=0, threads=-1).sum("stream")
    ends = _share(summary).isel(threads=-1)
    return finished(
        side_by_side(panels, legends="shared").resolve_scale(y="shared"),
        "Figure 12: throughput of f and g when g has a minimum share of A",
        f"With {int(summary.threads[-1])} threads of g on B, g receives at least {float(g_on_a.min()):.1%} of A "
        f"(minimum share: {minimum:.1%}), and the total of f divided by the total of g is at least "
        f"{float(ends.min()):.2f}.",
        f"Each stream has 20 threads on A. {WHISKERS}",
    )


def _share(summary: xr.Dataset) -> xr.DataArray:
    """Return the mean total of f divided by the mean total of g."""
    total = summary.total.sel(statistic="mean")
    return total.sel(stream="f", drop=True) / total.sel(stream="g", drop=True)


def _to(values: xr.DataArray, words: str, factor: float) -> AxisStyle:
    return AxisStyle(words, factor, scale=from_zero(float(values.max()) * factor))


def _totals(summary: xr.Dataset, title: str) -> Layered:
    """Return curves of the total throughputs of f and g, and of the throughput of g on A and on all other bricks."""
    g = summary.service.sel(stream="g")
    series = {
        "f": summary.total.sel(stream="f"),
        "g": summary.total.sel(stream="g"),
        "g on A": g.isel(brick=0),
        "g elsewhere": g.isel(brick=slice(1, None)).sum("brick"),
    }
    rows = xr.concat([one.drop_vars(("stream", "brick"), errors="ignore") for one in series.values()], "series")
    rows = rows.assign_coords(series=list(series))
    return lines(rows, "threads", "series", WHERE, (AxisStyle(title), _to(summary.total, RATE, TO_MB)), None)
