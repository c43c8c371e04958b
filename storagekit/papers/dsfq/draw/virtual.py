"""Charts of equation 5 compared with broadcast, and of theorem 4 with unit costs."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.theme import HEIGHT, finished
from storagekit.papers.dsfq.draw.palette import BLUE, ORANGE


def equation5(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the time that a stream waits for service after its absence.

    Parameters
    ----------
    data : Dataset
        Result of `equation5`.

    Returns
    -------
    altair.TopLevelMixin
        The times are in s.
    """
    rows = data.wait.to_dataframe().reset_index()
    base = alt.Chart(rows).encode(
        y=alt.Y("scheme:N", title=None, sort=None, axis=alt.Axis(minExtent=80)),
        x=alt.X("wait:Q", title="Time until the returning stream is served (s)"),
    )
    bars = alt.layer(
        base.mark_bar(color=BLUE), base.mark_text(align="left", dx=4).encode(text=alt.Text("wait:Q", format=",.0f"))
    )
    first, last = (float(data.wait.sel(scheme=name)) for name in data.scheme.values)
    return finished(
        bars.properties(width=560, height=80),
        "Waiting time of a returning stream under equation 5 and under broadcast",
        f"The stream is served after {first:g} s under equation 5, and after {last:g} s under broadcast to all "
        "bricks, so the two are not equivalent.",
        f"The stream was away for {data.attrs['away']} s and then sent {data.attrs['batch']} requests to other bricks "
        "simultaneously. The other stream is always backlogged. All costs are 1.",
    )


def many_coordinators(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return a curve of the unfairness against the number of coordinators, with the bounds of theorem 4.

    There is one bound for each interpretation of D_SFQ.

    Parameters
    ----------
    data : Dataset
        Result of `many_coordinators`.

    Returns
    -------
    altair.TopLevelMixin
        The unfairness is a cost, and each request costs 1.
    """
    rows = data.unfairness.to_dataframe().reset_index()
    points = (
        alt.Chart(rows)
        .mark_line(point=True, color=BLUE)
        .encode(
            x=alt.X("coordinators:Q", title="Coordinators of the stream"),
            y=alt.Y("unfairness:Q", title="Difference of service (cost)"),
        )
    )
    bounds = data.bound.isel(coordinators=-1, drop=True).to_dataframe().reset_index()
    bounds["said"] = [f"bound with D_SFQ = {interpretation}" for interpretation in bounds["interpretation"]]
    rules = alt.Chart(bounds).mark_rule(color=ORANGE, strokeDash=[5, 4]).encode(y="bound:Q")
    words = (
        alt.Chart(bounds)
        .mark_text(align="left", baseline="bottom", dx=4, dy=-2)
        .encode(y="bound:Q", x=alt.value(0), text="said:N")
    )
    broken = int(pd.Series(rows["unfairness"]).gt(float(data.bound.max())).sum())
    return finished(
        alt.layer(rules, words, points).properties(width=560, height=HEIGHT),
        "Difference of service between two streams and the bound of theorem 4, with unit costs",
        f"For {broken} of {len(rows)} numbers of coordinators, the difference exceeds the bound under every "
        "interpretation of D_SFQ.",
        "Each coordinator has sent one request to another brick. It reports the cost of this request with its next "
        "request to this brick, which it has not yet sent. Two requests of each stream wait at this brick, and the "
        "depth D is 1.",
    )
