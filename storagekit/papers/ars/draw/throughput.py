"""Charts of the throughput with fifty requests outstanding: figure 6, and the effect of the window of ARS."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, lines
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import finished
from storagekit.core.units import MB
from storagekit.papers.ars.draw.palette import GREEN, ORANGE, PROTOCOLS, RATE, WHISKERS, grouped, over_central, with_own

MIXES = {"reads": "Reads only", "mixed": "Half of them writes"}
VIEWS = {"each client its own": GREEN, "one for all clients": ORANGE}
# Width of the bars of a mix, and height of a panel, pixels.
GROUP, LOW = 190, 190
NAMED = {"own": "each client its own", "shared": "one for all clients"}


def fig6(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the throughput by mix and protocol.

    Parameters
    ----------
    summary : Dataset
        Result of `fig6`, as means with intervals over `statistic`.
    """
    drawn = _bars(summary.request_rate, AxisStyle(RATE), width=240)
    found = over_central(summary.request_rate, "requests a second")
    how = (
        f"both volumes, 50 requests outstanding; mixed requests once the buffer of the slowest node is full; {WHISKERS}"
    )
    return finished(drawn, "Figure 6: throughput", found, how)


def fig6_readings(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the throughput under each interpretation of details that the paper does not give.

    Parameters
    ----------
    summary : Dataset
        Result of `fig6_readings`, as means with intervals over `statistic`.
    """
    rate = summary.request_rate
    # One interpretation has reads only.
    present = {
        reading: rate.sel(reading=reading, drop=True).dropna("mix", how="all")
        for reading in rate.reading.values.tolist()
    }
    panels = [
        headed(
            _bars(its, AxisStyle(RATE), GROUP).properties(height=LOW), reading.capitalize(), GROUP * its.sizes["mix"]
        )
        for reading, its in present.items()
    ]
    return finished(
        in_rows(panels, 2),
        "Figure 6: what the paper leaves open",
        f"{over_central(rate, 'throughput under all interpretations')}",
        f"the order in which nodes serve requests, the layout of the volumes, and nodes that serve several requests at once "
        f"(reads only); each panel has its own scale; {WHISKERS}",
    )


def _bars(rate: xr.DataArray, side: AxisStyle, width: int) -> Layered:
    colours = with_own(PROTOCOLS, rate)
    return grouped(rate, "mix", "protocol", colours, side, "Protocol", words=MIXES, form=",.0f", width=width)


def buffers(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the throughput of mixed requests by the size of the buffers.

    Parameters
    ----------
    summary : Dataset
        Result of `buffers`, as means with intervals over `statistic`.
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
        "Figure 6: the size of the buffers for delayed writes",
        f"{over_central(summary.request_rate, 'throughput')}",
        f"half of the requests are writes, 50 outstanding; full buffers make writes wait for the slowest node; {WHISKERS}",
    )


def windows(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return curves of the throughput of ARS against its window, in one panel for each volume.

    Parameters
    ----------
    summary : Dataset
        Result of `windows`, as means with intervals over `statistic`.
    """
    named = summary.assign_coords(views=[NAMED.get(one, one) for one in summary.views.values])
    at = AxisStyle(
        "Seconds between computations", 1.0, alt.Scale(type="log", nice=False, padding=10),
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
                "Views of nodes",
            ),
            volume.capitalize(),
        )
        for volume in summary.volume.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "What the window of ARS does to its throughput",
        f"with views of their own: {'; '.join(_best_and_worst(summary, volume) for volume in summary.volume.values)}",
        f"reads, 50 outstanding; each of five clients has its own view of the nodes, or all have one; {WHISKERS}",
    )


def _best_and_worst(summary: xr.Dataset, volume: str) -> str:
    rate = summary.request_rate.sel(statistic="mean", volume=volume, views="own")
    ends = " and ".join(
        f"{float(rate.sel(window=at)):,.0f}/s at {float(at):g} s"
        for at in (rate.idxmax("window"), rate.idxmin("window"))
    )
    return f"{volume} {ends}"
