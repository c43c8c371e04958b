"""Charts of the search: the unfairness of the worst intervals divided by each bound, and a counterexample."""

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered, from_zero, level, upright
from storagekit.charts.panels import headed
from storagekit.charts.theme import COLOURS, HEIGHT, PAPER, finished
from storagekit.papers.dsfq.draw.palette import BLACK, BLUE, SKY, VERMILION

NAMES = {
    "theorem1": "theorem 1",
    "theorem2.printed": "theorem 2 as printed",
    "theorem2.repaired": "theorem 2 as corrected",
    "theorem4.printed": "theorem 4 as printed",
    "theorem4.repaired": "theorem 4 as corrected",
    "theorem1.unscheduled": "theorem 1, no scheduling",
    "theorem2.single": "theorem 2, each brick separately",
}
PALETTE = dict(zip(NAMES.values(), COLOURS, strict=True))
SHARE = "Largest unfairness divided by the bound"
# Smaller ratios to a bound are not shown.
LEAST = 1e-3


def search(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return curves of the largest unfairness divided by each bound, over settings and over rounds of the search.

    Parameters
    ----------
    data : Dataset
        Result of `searched`.

    Returns
    -------
    altair.TopLevelMixin
        The chart has two panels. A ratio above 1 breaks the bound.
    """
    panels = [
        headed(_settings(data), "Random settings"),
        headed(_climbed(data), "Hill climbing from the worst setting"),
    ]
    tightest = {name: float(data.tightest.sel(bound=name)) for name in NAMES}
    broken = ", ".join(NAMES[name] for name in data.target.values if tightest[name] > 1)
    return finished(
        alt.hconcat(*panels, spacing=30).resolve_scale(color="shared"),
        "Largest unfairness found by search, divided by each bound",
        f"A ratio above 1 breaks a bound. The search breaks these bounds: {broken or 'none'}.",
        f"The search uses {data.attrs['settings']:,} random settings, then hill climbing. We corrected the bounds of "
        "theorems 2 and 4. The last two lines of the legend are other schedulers, for which the paper does not claim "
        f"the bound. Ratios below {LEAST:g} are not shown.",
    )


def counterexample(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return the timeline of the worst interval in a run that exceeds the bound of theorem 4 as printed.

    Parameters
    ----------
    data : Dataset
        Result of `counterexample`.

    Returns
    -------
    altair.TopLevelMixin
        The chart has two panels over the time in ms: the service of each stream by brick, and the difference of the
        streams, both in sectors.
    """
    of = data.attrs
    served = data.served.stack(pair=["stream", "brick"]).transpose("pair", "time")
    rows = [
        {"time": when * 1e3, "served": value, "where": f"{stream} on {brick}"}
        for (stream, brick), column in zip(served.pair.values.tolist(), served.values, strict=True)
        for when, value in zip(data.time.values, column, strict=True)
        if column.any()
    ]
    apart = pd.DataFrame({"time": data.time.values * 1e3, "unfairness": data.unfairness.values})
    panels = [
        headed(_served(pd.DataFrame(rows)), "Service by stream and brick"),
        headed(_apart(apart, of["bound"]), "Difference of the streams"),
    ]
    return finished(
        alt.hconcat(*panels, spacing=30),
        "A counterexample to the printed bound of theorem 4",
        f"After {of['requests']} requests, the service of f and g differs by {of['unfair']:,.0f} sectors. The printed "
        f"bound is {of['bound']:,.0f}, and our corrected bound is {of['repaired']:,.0f}.",
        f"Each stream has {of['coordinators']} coordinators, and the depth D is {of['depth']}. A sector is a unit of "
        "cost.",
    )


def _served(rows: pd.DataFrame) -> Layered:
    """Return curves of the sectors that each brick has served for each stream, over time."""
    names = list(dict.fromkeys(rows["where"]))
    shades = {
        name: VERMILION if name[0] == "g" else shade for name, shade in zip(names, (BLUE, SKY, *COLOURS), strict=False)
    }
    same = {"shorthand": "where:N", "title": None, "sort": names, "legend": alt.Legend(orient="top-left")}
    line = (
        alt.Chart(rows)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=_milliseconds(),
            y=alt.Y("served:Q", title="Served (sectors)", scale=from_zero(float(rows["served"].to_numpy().max()))),
            color=alt.Color(**same, scale=alt.Scale(domain=names, range=[shades[name] for name in names])),
            strokeDash=alt.StrokeDash(**same, scale=alt.Scale(domain=names, range=[[1, 0], [6, 3], [2, 2]])),
        )
    )
    return alt.layer(line).properties(height=HEIGHT)


def _apart(rows: pd.DataFrame, bound: float) -> Layered:
    top = max(bound, float(rows["unfairness"].to_numpy().max()))
    line = (
        alt.Chart(rows)
        .mark_line(interpolate="step-after", strokeWidth=2, color=BLACK)
        .encode(x=_milliseconds(), y=alt.Y("unfairness:Q", title="Unfairness (sectors)", scale=from_zero(top)))
    )
    return alt.layer(line, level(bound, f"printed bound: {bound:,.0f}")).properties(height=HEIGHT)


def _milliseconds() -> alt.X:
    return alt.X("time:Q", title="Time (ms)", scale=alt.Scale(zero=False))


def _settings(data: xr.Dataset) -> Layered:
    """Return the cumulative distribution over the random settings of the largest unfairness divided by each bound."""
    parts = np.linspace(0, 1, 101)
    rows = []
    for bound in data.bound.values.tolist():
        share = data.share.sel(bound=bound).values
        share = share[share > 0]
        if share.size:
            rows += [
                {"part": p, "share": s, "bound": NAMES[bound]}
                for p, s in zip(parts, np.quantile(share, parts), strict=True)
                if s >= LEAST
            ]
    most = max(1.0, *(row["share"] for row in rows))
    lines = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line()
        .encode(
            x=alt.X(
                "share:Q",
                scale=alt.Scale(type="log", domain=[LEAST, 1.2 * most], nice=False),
                axis=alt.Axis(values=[10.0**power for power in range(-3, 7)], format="~g"),
                title=SHARE,
            ),
            y=alt.Y("part:Q", title="Settings with at most this ratio", axis=alt.Axis(format="%")),
            color=_bounds(),
        )
    )
    return alt.layer(lines, upright(1.0, "the bound", "right", HEIGHT - 16)).properties(height=HEIGHT)


def _climbed(data: xr.Dataset) -> Layered:
    """Return curves of the largest ratio that the search has found up to each round."""
    rows = data.climbed.rename("share").to_dataframe().reset_index().assign(bound=lambda row: row.target.map(NAMES))
    lines = (
        alt.Chart(rows)
        .mark_line()
        .encode(
            x=alt.X("round:Q", title="Round", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("share:Q", title=SHARE, scale=from_zero(max(1.0, float(rows["share"].to_numpy().max())))),
            color=_bounds(),
        )
    )
    one = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(y="one:Q")
    return alt.layer(lines, one).properties(height=HEIGHT)


def _bounds() -> alt.Color:
    scale = alt.Scale(domain=list(PALETTE), range=list(PALETTE.values()))
    return alt.Color("bound:N", title="Bound", sort=list(PALETTE), scale=scale)
