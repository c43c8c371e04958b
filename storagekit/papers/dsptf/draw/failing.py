"""Chart of the failure of a brick, after which every request still completes."""

import altair as alt
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle, Layered, from_zero, level
from storagekit.charts.panels import side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.charts.words import span
from storagekit.core.axes import title
from storagekit.papers.dsptf.draw.palette import TO_MS


def failing(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the effects of a brick that stops and comes back, by fraction of lost claims and by time-out of clients.

    Parameters
    ----------
    summary : Dataset
        `outstanding`, `resent`, `extra_services` and `response` over `loss`, `timeout` (seconds) and `statistic`.

    Returns
    -------
    altair.TopLevelMixin
        The four panels have the requests in the loop, the reads sent again, the reads served twice in %, and the mean
        response time in ms.
    """
    loop = float(summary.attrs["loop"])
    panels = [
        (summary.outstanding, "Requests in the loop", 1.0, ".1f", loop),
        (summary.resent, "Reads sent again", 1.0, ".0f", None),
        (summary.extra_services, "Reads served twice (%)", 100.0, ".1f", None),
        (summary.response, "Mean response time (ms)", TO_MS, ".0f", None),
    ]
    means = summary.sel(statistic="mean")
    slow = (means.response.isel(timeout=-1) / means.response.isel(timeout=0)).values
    return finished(
        side_by_side([_by_loss(*panel) for panel in panels], legends="shared"),
        "Failure and recovery of one brick",
        f"{_lost(means.outstanding, loop)}. A time-out of {float(summary.timeout[-1]):g} s instead of "
        f"{float(summary.timeout[0]):g} s makes the mean response time {span(slow, '.1f')} times as long. Up to "
        f"{100 * float(means.extra_services.max()):.1f}% of reads are served twice.",
        f"Eight bricks store two copies of the data. {loop:.0f} requests are outstanding, and 90% of requests are "
        "reads. One brick is down for 30% of the run. The time-out is the time after which a client sends a read "
        "again. Whiskers are 95% intervals.",
        legends="bottom",
    )


def _lost(outstanding: xr.DataArray, loop: float) -> str:
    missing = loop - float(outstanding.min())
    return "No request is lost" if missing < 0.5 else f"{missing:.0f} requests are missing from the loop"


def _by_loss(values: xr.DataArray, words: str, factor: float, form: str, line: float | None) -> Layered:
    """Return a group of bars for each probability of loss. A group has a bar for each time-out."""
    waits = [f"{timeout:g} s" for timeout in values.timeout.values]
    named = values.assign_coords(timeout=waits, loss=[f"{share:.0%}" for share in values.loss.values])
    side = AxisStyle(words, factor, from_zero(max(factor * float(values.max()), line or 0.0)))
    colours = dict(zip(waits, COLOURS[4:6], strict=False))
    drawn = grouped(
        named, "loss", "timeout", colours, side, title("timeout"),
        heading=title("loss"), foot=True, form=form, width=95, height=200,
    )  # fmt: skip
    return drawn if line is None else alt.layer(drawn, level(line, f"{line:.0f}"))
