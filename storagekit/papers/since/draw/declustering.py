"""Chart of declustered parity."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import curves
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.core.units import MS

_GROUP = "Units of a row, including parity"
_TO_MINUTES = 1 / 60


def declustering(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw response times and the estimated time of a rebuild against the size of the groups.

    Parameters
    ----------
    summary : Dataset
        `response` over `state`, `group` and `statistic`, and `rebuild_time` over `group` and `statistic`.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms, and the time of a rebuild in minutes.
    """
    times = summary.rebuild_time.expand_dims(state=["rebuild"])
    panels = [
        headed(
            curves(
                summary.response, "group", "state", titles=(_GROUP, "Mean response time (ms)", "State"), factor=1 / MS
            ),
            "Users' requests",
            330,
        ),
        headed(
            curves(times, "group", "state", titles=(_GROUP, "Time (minutes)", ""), factor=_TO_MINUTES),
            "Rebuild that uses all idle time (estimate)",
            330,
        ),
    ]
    response, rebuild = summary.response.sel(statistic="mean"), summary.rebuild_time.sel(statistic="mean")
    ends = [int(summary.group[end]) for end in (0, -1)]
    loss, less = (
        float(response.sel(state="after a loss", group=end) / response.sel(state="no loss", group=end)) for end in ends
    )
    return finished(
        side_by_side(panels, legends="independent"),
        "Declustered parity on 21 disks",
        f"A loss multiplies the response time by {less:.2f} with groups of {ends[1]}, and by {loss:.2f} with groups of "
        f"{ends[0]}; a rebuild in all idle time takes about {float(rebuild[-1]) * _TO_MINUTES:.0f} and "
        f"{float(rebuild[0]) * _TO_MINUTES:.0f} minutes.",
        "Atlas 10K, 300 requests/s of 4 KB, half of them reads. A rebuild in the left chart restores 4 MB/s. The time "
        "on the right is an estimate from this rebuild. Whiskers are 95% intervals.",
    )
