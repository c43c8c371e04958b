"""Charts of the throughput with fifty requests outstanding: figure 6, and the effect of the window of ARS."""

import altair as alt
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle, Layered, lines
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import HEIGHT, finished
from storagekit.core.units import MB
from storagekit.papers.ars.draw.palette import GREEN, ORANGE, PROTOCOLS, RATE, WHISKERS, over_central, with_own

MIXES = {"reads": "Reads only", "mixed": "Half writes"}
VIEWS = {"by each client": GREEN, "shared by all clients": ORANGE}
# Width of the bars of a mix, and height of a panel, pixels.
GROUP, LOW = 190, 190
NAMED = {"own": "by each client", "shared": "shared by all clients"}


def fig6(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the throughput by mix and protocol.

    Parameters
    ----------
    summary : Dataset
        Result of `fig6` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in requests/s.
    """
    drawn = _bars(summary.request_rate, AxisStyle(RATE), width=240)
    found = over_central(summary.request_rate, "The throughput")
    how = (
        "The requests are for both volumes, and 50 are outstanding. Mixed requests are measured after the buffer of "
        f"the slowest node has filled. {WHISKERS}"
    )
    return finished(drawn, "Figure 6: throughput", found, how)


def fig6_interpretations(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the throughput under each interpretation of details that the paper does not give.

    Parameters
    ----------
    summary : Dataset
        Result of `fig6_interpretations` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The chart has a panel for each interpretation. The throughput is in requests/s.
    """
    rate = summary.request_rate
    # One interpretation has reads only, and lacks some protocols.
    present = {
        interpretation: rate.sel(interpretation=interpretation, drop=True)
        .dropna("mix", how="all")
        .dropna("protocol", how="all")
        for interpretation in rate.interpretation.values.tolist()
    }
    panels = [
        headed(_bars(its, AxisStyle(RATE), GROUP, height=LOW), interpretation.capitalize(), GROUP * its.sizes["mix"])
        for interpretation, its in present.items()
    ]
    return finished(
        in_rows(panels, 2),
        "Figure 6 under other interpretations of the paper: throughput",
        f"{over_central(rate, 'Over all interpretations, the throughput')}",
        "The panels differ in the service order of the nodes, in the layout of the volumes, and in the number of "
        "requests that a node serves simultaneously. With a queue for each disk, only reads are simulated. Each panel "
        f"has a separate scale. {WHISKERS}",
    )


def _bars(rate: xr.DataArray, side: AxisStyle, width: int, *, height: float = HEIGHT) -> Layered:
    colours = with_own(PROTOCOLS, rate)
    return grouped(
        rate, "mix", "protocol", colours, side, "Protocol", words=MIXES, form=",.0f", width=width, height=height
    )


def buffers(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the throughput of mixed requests by the size of the buffers.

    Parameters
    ----------
    summary : Dataset
        Result of `buffers` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in requests/s.
    """
    words = {
        size: "unlimited" if size == summary.attrs["unlimited"] else f"{size / MB:g} MB"
        for size in summary.buffer.values.tolist()
    }
    drawn = grouped(
        summary.request_rate, "buffer", "protocol", PROTOCOLS, AxisStyle(RATE), "Protocol",
        heading="Buffer of each node", words=words, form=",.0f", width=130,
    )  # fmt: skip
    return finished(
        drawn,
        "Figure 6: throughput by the size of the buffers for delayed writes",
        f"{over_central(summary.request_rate, 'The throughput')}",
        "Half of the requests are writes, and 50 requests are outstanding. When the buffers are full, writes wait "
        f"for the slowest node. {WHISKERS}",
    )


def windows(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return curves of the throughput of ARS against the window of ARS, in one panel for each volume.

    Parameters
    ----------
    summary : Dataset
        Result of `windows` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in requests/s, and the window in s.
    """
    named = summary.assign_coords(views=[NAMED.get(one, one) for one in summary.views.values])
    at = AxisStyle(
        "Window: time between computations of the shares (s)", 1.0, alt.Scale(type="log", nice=False, padding=10),
        alt.Axis(values=summary.window.values.tolist(), format="~g"),
    )  # fmt: skip
    top = alt.Scale(domain=[0, 1.05 * float(summary.request_rate.max())], nice=False)
    panels = [
        headed(
            lines(
                named.request_rate.sel(volume=volume),
                "window",
                "views",
                VIEWS,
                (at, AxisStyle(RATE, scale=top)),
                "Nodes measured",
            ),
            volume.capitalize(),
        )
        for volume in summary.volume.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Throughput of ARS by its window",
        "If each client measures the nodes separately, the highest and the lowest throughput over the windows are "
        f"{', '.join(_best_and_worst(summary, volume) for volume in summary.volume.values)}.",
        "50 reads are outstanding. Either each of the five clients measures the nodes separately, or all clients "
        f"share one measurement. {WHISKERS}",
    )


def _best_and_worst(summary: xr.Dataset, volume: str) -> str:
    rate = summary.request_rate.sel(statistic="mean", volume=volume, views="own")
    ends = " and ".join(
        f"{float(rate.sel(window=at)):,.0f}/s with a window of {float(at):g} s"
        for at in (rate.idxmax("window"), rate.idxmin("window"))
    )
    return f"{ends} ({volume})"
