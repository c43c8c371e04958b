"""Charts of response times: figures 4 and 5, figure 4 at higher loads, and figure 4 under other interpretations."""

import altair as alt
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.ars.draw.palette import PROTOCOLS, RESPONSE, TO_MS, WHISKERS, over_central, with_own

IN_MS = AxisStyle(RESPONSE, TO_MS)
MEAN = "The mean response time"
VOLUMES = ("replicated", "erasure-coded", "both")
# Width of the bars of a volume, pixels.
GROUP = 115


def fig4(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the mean response time of reads by volume and protocol.

    Parameters
    ----------
    summary : Dataset
        Result of `fig4` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The chart has a group of bars for each volume, in ms.
    """
    colours = with_own(PROTOCOLS, summary.response)
    drawn = grouped(summary.response, "volume", "protocol", colours, IN_MS, "Protocol", width=200)
    busy = float(summary.utilization.sel(statistic="mean").mean()) if "utilization" in summary else None
    words = "" if busy is None else f" The disks are busy {busy:.1%} of the time."
    return finished(
        drawn,
        "Figure 4: mean response time of reads at the published load",
        f"{over_central(summary.response, MEAN)}{words}".strip(),
        WHISKERS,
    )


def interpretations(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the response times of figure 4 under each interpretation of details that the paper does not give.

    Parameters
    ----------
    summary : Dataset
        Results of `fig4` over `interpretation`, after `interval`. The dimension `statistic` holds the mean and the ends
        of the 95% interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The chart has a panel for each interpretation. Response times are in ms, on a common scale.
    """
    most = 1.12 * TO_MS * float(summary.response.max())
    side = IN_MS._replace(scale=alt.Scale(domain=[0, most], nice=False))
    panels, colours = [], with_own(PROTOCOLS, summary.response)
    for interpretation in summary.interpretation.values.tolist():
        # Some interpretations have only a part of the volumes.
        present = summary.response.sel(interpretation=interpretation, drop=True).dropna("volume", how="all")
        response = present.sel(volume=[volume for volume in VOLUMES if volume in present.volume])
        drawn = grouped(response, "volume", "protocol", colours, side, "Protocol", width=GROUP)
        panels.append(headed(drawn, interpretation.capitalize(), GROUP * response.sizes["volume"]))
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 4 under other interpretations of the paper: mean response time of reads",
        f"{over_central(summary.response, 'Over all interpretations, the mean response time')}",
        "Either the volumes are scaled until they fit on the nodes, or addresses beyond the end of a disk wrap "
        f"around. A read of erasure-coded data fetches the requested part of a block, or the whole block. {WHISKERS}",
    )


def loads(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return curves of the mean response time against the load, in one panel for each volume.

    Parameters
    ----------
    summary : Dataset
        Result of `loads` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms, and both axes are logarithmic.
    """
    times = summary["load"].values.tolist()
    at = AxisStyle(
        "Load (multiple of the published load)",
        1.0,
        alt.Scale(type="log", nice=False, padding=10),
        alt.Axis(values=times),
    )
    response = summary.response.sel(statistic=["mean", "low", "high"])
    colours = with_own(PROTOCOLS, response)
    low, high = (float(one) * TO_MS for one in (response.min(), response.max()))
    height = IN_MS._replace(scale=alt.Scale(type="log", domain=[0.9 * low, 1.1 * high], nice=False))
    panels = [
        headed(
            lines(response.sel(volume=volume), "load", "protocol", colours, (at, height), "Protocol"),
            volume.capitalize(),
            270,
        )
        for volume in summary.volume.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 4 at higher loads: mean response time of reads",
        f"{over_central(response.isel(load=-1), f'At {times[-1]:g} times the published load, the mean response time')}",
        f"Both axes are logarithmic. A line ends before the first load that overloads a node. {WHISKERS}",
    )


def fig5(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the mean response time by protocol. Each trace has a panel with a separate scale.

    Parameters
    ----------
    summary : Dataset
        Result of `fig5` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms.
    """
    colours = with_own(PROTOCOLS, summary.response)
    panels = [
        headed(
            grouped(summary.response.sel(trace=[trace]), "trace", "protocol", colours, IN_MS, "Protocol", width=270),
            heading,
            270,
        )
        for trace, heading in (("synthetic", "Synthetic, half writes"), ("Financial", "Financial, two thirds writes"))
        if trace in summary.trace.values
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 5: mean response time of reads and writes",
        f"{over_central(summary.response, MEAN)}",
        f"The requests are for both volumes. Each panel has a separate scale. The Financial trace is "
        f"{summary.attrs.get('financial', 'unknown')}. {WHISKERS}",
    )
