"""Chart of the rates of streams under mClock and under a fair queue."""

from collections.abc import Mapping

import altair as alt
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.papers.since.claims import SHARES, STREAMS


def shares(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the rates of three streams by the capacity of their server, with the exact allocation of mClock.

    Parameters
    ----------
    summary : Dataset
        `stream_rate` over `queue`, `capacity`, `stream` and `statistic`.
    paper : mapping of str to float
        Exact values by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The rates in requests a second.
    """
    palette = dict(zip(STREAMS.values(), COLOURS, strict=False))
    side = AxisStyle("Requests a second", scale=alt.Scale(domain=[0, 1600]))
    exact = SHARES.numbers(paper).reindex(capacity=summary.capacity)
    panels = [
        headed(
            grouped(
                summary.stream_rate.sel(queue=queue),
                "capacity",
                "stream",
                palette,
                side,
                "Stream",
                heading="Capacity (requests a second)",
                paper=exact if queue == "mClock" else None,
                form=".0f",
                width=110,
            ),
            queue[:1].upper() + queue[1:] if queue != "mClock" else queue,
        )
        for queue in summary["queue"].values.tolist()
    ]
    mean = summary.stream_rate.sel(queue="mClock", statistic="mean")
    error = float(abs(mean / exact - 1).max())
    return finished(
        side_by_side(panels, legends="shared"),
        "Rates of three streams that always have waiting requests",
        f"mClock keeps minimum and maximum rates; its rates differ by at most {error:.1%} from the exact allocation.",
        "A fair queue has weights only, so the first stream falls below 250 requests a second. Dashes are exact values.",
    )
