"""Charts of loads that change over time: figures 13 and 14."""

from collections.abc import Mapping

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, from_zero, lines, ribbons, upright
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.dsfq.draw.palette import RATE, STREAMS, TO_MB

PANEL, TALL = 330, 180
BANDS, WHISKERS = (f"{what} are 95% intervals over runs." for what in ("Bands", "Whiskers"))


def fig13(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return curves of the total throughputs of f, g and h over a period of h, in a panel for each number of threads.

    Parameters
    ----------
    summary : Dataset
        Result of `by_second` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    paper : mapping of str to float
        Values of the paper by claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in MB/s of 10^6 bytes, and the time in s.
    """
    said = paper["dsfq.fig13.follows"]
    rule = upright(said, f"paper: f follows within {said:g} s", "right", drop=4)
    panels = [
        headed(
            alt.layer(_over_time(summary.total.sel(threads=threads), "time", float(summary.total.max())), rule),
            f"{threads} threads of f and of g on A",
            PANEL,
        )
        for threads in summary.threads.values.tolist()
    ]
    mean = summary.total.sel(statistic="mean").mean("threads")
    share = mean.sel(stream="f") / mean.sel(stream="g")
    # Totals are level in the second half of each half of a period.
    half = float(share.time[-1] + share.time[0]) / 2
    on, off = (float(share.sel(time=slice(end - half / 2, end)).mean()) for end in (half, 2 * half))
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 13: total throughput of f and g while stream h starts and stops on B",
        f"After the totals have settled, the total of f divided by the total of g is {on:.2f} while h is on, and "
        f"{off:.2f} while h is off.",
        f"h starts at 0 s and stops at {half:g} s. Values are means over one second and over all periods of h. The "
        f"three streams have equal weights. {BANDS}",
    )


def fig13_depths(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a curve of the delay between the falls of the totals of g and f, against the depth D.

    Parameters
    ----------
    summary : Dataset
        Result of `fig13_depths` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).
    paper : mapping of str to float
        Values of the paper by claim.

    Returns
    -------
    altair.TopLevelMixin
        The delay is in s.
    """
    said = paper["dsfq.fig13.follows"]
    lag = summary.lag.expand_dims(stream=["f"])
    at = AxisStyle(
        "Depth D (requests in the disks of a brick)",
        1.0,
        alt.Scale(type="log", base=2, nice=False, padding=10),
        alt.Axis(values=summary.depth.values.tolist()),
    )
    top = from_zero(max(float(lag.max()), said))
    drawn = lines(
        lag, "depth", "stream", {"f": STREAMS["f"]}, (at, AxisStyle("Delay of f after g (s)", scale=top)), "Stream"
    )
    rule = alt.Chart(alt.Data(values=[{"said": said, "paper": f"paper: {said:g} s"}])).encode(y="said:Q")
    layers = [rule.mark_rule(strokeDash=[2, 3]), rule.mark_text(align="right", dy=-6, x=PANEL).encode(text="paper:N")]
    mean = summary.lag.sel(statistic="mean")
    return finished(
        alt.layer(drawn, *layers).properties(width=PANEL, height=TALL),
        "Figure 13: delay between the falls of the totals of g and f, by depth D",
        f"The delay is {float(mean[0]):.2f} s with D = {int(mean.depth[0])}, and {float(mean[-1]):.2f} s with "
        f"D = {int(mean.depth[-1])}.",
        "After stream h starts on B, the total throughput of g falls first, then the total of f. The delay is the time "
        f"between the midpoints of the two falls. {WHISKERS}",
    )


def fig14(data: xr.Dataset, summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return curves of the number of threads on A, and of the total throughputs under each policy.

    Parameters
    ----------
    data : Dataset
        Result of `fig14`.
    summary : Dataset
        Result of `smoothed` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The chart has a panel for the threads and a panel for each policy. Throughput is in MB/s of 10^6 bytes, and time
        in s.
    """
    threads = data.threads.sel(brick=0, drop=True).expand_dims(statistic=["mean", "low", "high"])
    most = float(summary.total.max())
    count = _over_time(threads, "window", float(threads.max()), "Threads on A", 1.0)
    panels = [headed(count, "(a) active threads on A", PANEL)]
    mean, apart = summary.total.sel(statistic="mean"), []
    for letter, policy in zip("bcde", summary.policy.values.tolist(), strict=False):
        name = "no scheduling" if policy == "none" else policy
        panels.append(headed(_over_time(summary.total.sel(policy=policy), "window", most), f"({letter}) {name}", PANEL))
        its = mean.sel(policy=policy)
        typical = float((abs(its.diff("stream").squeeze("stream", drop=True)) / its.mean("stream")).median())
        apart.append(f"{typical:.0%} with {name}")
    return finished(
        in_rows(panels, 2),
        "Figure 14: total throughput of f and g with sinusoidal loads, by policy",
        f"The median difference of the totals of f and g, divided by their mean, is {', '.join(apart)}.",
        f"Values are means over {summary.attrs['smoothed']:g} s. Both streams use A, and each stream also has two "
        f"bricks of its own. The paper does not give the periods of the loads. {BANDS}",
    )


def _over_time(values: xr.DataArray, x: str, most: float, title: str = RATE, factor: float = TO_MB) -> Layered:
    sides = (
        AxisStyle("Time (s)", scale=alt.Scale(nice=False, zero=False)),
        AxisStyle(title, factor, scale=from_zero(most * factor)),
    )
    return ribbons(values, x, "stream", STREAMS, sides, "Stream").properties(height=TALL)
