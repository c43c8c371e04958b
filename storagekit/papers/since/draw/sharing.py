"""Charts of the rates of streams under mClock, dmClock and a fair queue."""

from collections.abc import Iterable, Mapping

import altair as alt
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle, Layered
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.papers.since.claims import BRICK_STREAMS, BRICKS, SHARES, STREAMS, TENANTS


def _by_queue(
    rates: xr.DataArray,
    axis: str,
    streams: Iterable[str],
    most: float,
    *,
    heading: str = "",
    exact: xr.DataArray | None = None,
    only: str = "",
    words: Mapping[str, str] | None = None,
    width: float = 110,
) -> list[Layered]:
    """Return a panel of bars for each queue. `exact` belongs to the queue `only`; `most` ends the vertical axis."""
    palette = dict(zip(streams, COLOURS, strict=False))
    side = AxisStyle("Requests a second", scale=alt.Scale(domain=[0, most]))
    return [
        headed(
            grouped(
                rates.sel(queue=queue),
                axis,
                "stream",
                palette,
                side,
                "Stream (requests/s)",
                heading=heading,
                words=words,
                paper=exact if queue == only else None,
                form=".0f",
                width=width,
            ),
            queue if "Clock" in queue else queue.capitalize(),
        )
        for queue in rates["queue"].values.tolist()
    ]


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
    exact = SHARES.numbers(paper).reindex(capacity=summary.capacity)
    rates, heading = summary.stream_rate, "Capacity (requests a second)"
    panels = _by_queue(rates, "capacity", STREAMS.values(), 1600, heading=heading, exact=exact, only="mClock")
    mean = summary.stream_rate.sel(queue="mClock", statistic="mean")
    error = float(abs(mean / exact - 1).max())
    return finished(
        side_by_side(panels, legends="shared"),
        "Rates of three streams that always have waiting requests",
        f"mClock keeps minimum and maximum rates; its rates differ by at most {error:.1%} from the exact allocation.",
        "A fair queue has weights only: at 875 and 1,200 requests a second, the first stream is below 250. Dashes are exact.",
    )


def tenants(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the rates of two tenants with reservations, and their response times in further cases.

    Parameters
    ----------
    summary : Dataset
        `stream_rate` and `stream_response` over `queue`, `case`, `stream` and `statistic`.

    Returns
    -------
    altair.TopLevelMixin
        The rates in requests a second, and the response times in milliseconds.
    """
    active = {name: name.split()[0] for name in summary["case"].values.tolist() if name.endswith("active")}
    reserved = summary.stream_rate.sel(case=list(active), stream=TENANTS[:2])
    panels = _by_queue(reserved, "case", TENANTS[:2], 900, heading="Active tenants", words=active, width=75)
    limit, bursty = ["3 active", "3 active, limit"], ["bursty", "bursty, credit"]
    words = dict(zip([*limit, *bursty], ["3", "3, limit", "5, bursty", "5, credit"], strict=True))
    times = summary.stream_response.sel(queue="mClock", case=[*limit, *bursty], stream=TENANTS[:2])
    side = AxisStyle("Mean response time (ms)", factor=1e3)
    palette = dict(zip(TENANTS, COLOURS[:2], strict=False))
    response = grouped(times, "case", "stream", palette, side, None, heading="Active tenants", words=words, width=75)
    kept, below = (
        float(reserved.sel(case="5 active", stream=TENANTS[0], statistic="mean", queue=queue))
        for queue in ("mClock", "fair queue")
    )
    return finished(
        side_by_side([*panels, headed(response, "mClock")], legends="shared"),
        "Two tenants with reservations of 300 and 250 requests a second, on a server of 1,500",
        f"With five active tenants, the first has {kept:.0f} requests a second with mClock, {below:.0f} with a fair queue.",
        "Weights 1, 1, 2, 2, 2. Limit: 300 requests a second for tenant 3. Bursty: tenant 1 is often idle and has no "
        "reservation; credit: the same with an idle credit of 64 requests.",
    )


def bricks(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the rates of three streams over three bricks, with the exact allocation.

    Parameters
    ----------
    summary : Dataset
        `stream_rate` over `queue`, `access`, `stream` and `statistic`.
    paper : mapping of str to float
        Exact values by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The rates in requests a second.
    """
    rates, exact = summary.stream_rate, BRICKS.numbers(paper)
    heading = "Access of the first stream"
    panels = _by_queue(rates, "access", BRICK_STREAMS.values(), 1200, heading=heading, exact=exact, only="dmClock")
    first = rates.sel(access="skewed", stream=BRICK_STREAMS["first"], statistic="mean")
    kept, below = (float(first.sel(queue=queue)) for queue in ("dmClock", "mClock"))
    return finished(
        side_by_side(panels, legends="shared"),
        "Rates of three streams over three bricks of 600 requests a second",
        f"If the first stream uses one brick only, it has {kept:.0f} requests/s with dmClock, and {below:.0f} with mClock.",
        "Skewed: the first stream uses the first brick only. mClock has a third of each rate at a brick. Dashes are exact.",
    )
