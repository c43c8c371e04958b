"""The bounds attacked, drawn: how much of each the worst intervals took, and a counterexample as a timeline."""

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import PAPER, finished
from storagekit.papers.dsfq.draw.palette import STREAMS

NAMES = {
    "theorem1": "theorem 1",
    "theorem2.printed": "theorem 2, printed",
    "theorem2.repaired": "theorem 2, repaired",
    "theorem4.printed": "theorem 4, printed",
    "theorem4.repaired": "theorem 4, repaired",
    "theorem1.unscheduled": "theorem 1, no scheduling",
    "theorem2.single": "theorem 2, brick by brick",
}
SHARE = "Worst interval, times the bound"


def search(data: xr.Dataset) -> alt.TopLevelMixin:
    """How much of each bound the worst interval of each setting took. data: of `searched`."""
    panels = [headed(alt.layer(_settings(data)), "At random"), headed(_climbed(data), "Climbing")]
    tightest = {name: float(data.tightest.sel(bound=name)) for name in NAMES}
    broken = ", ".join(NAMES[name] for name in data.target.values if tightest[name] > 1)
    return finished(
        side_by_side(panels, legends="independent"),
        "Bounds attacked: what is above 1 breaks",
        f"{data.attrs['settings']:,} settings; broken: {broken or 'none'}",
    )


def counterexample(data: xr.Dataset) -> alt.TopLevelMixin:
    """The worst interval of theorem 4 as printed. data: of `counterexample`."""
    of = data.attrs
    path = data.served.stack(place=["stream", "brick"])
    rows = [
        {"time": when * 1e3, "served": value, "stream": stream, "where": f"{stream} on {brick}"}
        for (stream, brick), column in zip(
            path.place.values.tolist(), path.transpose("place", "time").values, strict=True
        )
        for when, value in zip(data.time.values, column, strict=True)
        if column.any()
    ]
    served = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("time:Q", title="Time (ms)"),
            y=alt.Y("served:Q", title="Served (sectors)"),
            color=alt.Color(
                "stream:N", scale=alt.Scale(domain=list("fg"), range=[STREAMS["f"], STREAMS["g"]]), title="Stream"
            ),
            strokeDash=alt.StrokeDash("where:N", title=None),
        )
    )
    apart = pd.DataFrame({"time": data.time.values * 1e3, "unfairness": data.unfairness.values})
    line = (
        alt.Chart(apart)
        .mark_line(interpolate="step-after")
        .encode(x=alt.X("time:Q", title="Time (ms)"), y=alt.Y("unfairness:Q", title="Unfairness (sectors)"))
    )
    bound = (
        alt.Chart(pd.DataFrame({"bound": [of["bound"]]})).mark_rule(color=PAPER, strokeDash=[4, 3]).encode(y="bound:Q")
    )
    return finished(
        side_by_side(
            [headed(alt.layer(served), "What is served"), headed(alt.layer(line, bound), "Apart; dashed: the bound")],
            legends="independent",
        ),
        "Theorem 4 as printed, broken",
        f"{of['requests']} requests, {of['coordinators']} coordinators, D = {of['depth']}: {of['unfair']:,.0f} apart, bound "
        f"{of['bound']:,.0f}, repaired {of['repaired']:,.0f}",
    )


def _settings(data: xr.Dataset) -> alt.Chart:
    """The part of settings whose share is at most so much."""
    parts = np.linspace(0, 1, 101)
    rows = []
    for bound in data.bound.values.tolist():
        share = data.share.sel(bound=bound).values
        share = share[share > 0]
        if share.size:
            rows += [
                {"part": p, "share": s, "bound": NAMES[bound]}
                for p, s in zip(parts, np.quantile(share, parts), strict=True)
            ]
    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_line()
        .encode(
            x=alt.X("share:Q", scale=alt.Scale(type="log"), title=SHARE),
            y=alt.Y("part:Q", title="Part of settings", axis=alt.Axis(format="%")),
            color=alt.Color("bound:N", title=None),
        )
    )


def _climbed(data: xr.Dataset) -> Layered:
    """The tightest so far, by round."""
    rows = data.climbed.rename("share").to_dataframe().reset_index().assign(bound=lambda row: row.target.map(NAMES))
    lines = (
        alt.Chart(rows)
        .mark_line()
        .encode(
            x=alt.X("round:Q", title="Round"),
            y=alt.Y("share:Q", title=SHARE),
            color=alt.Color("bound:N", title=None),
        )
    )
    return alt.layer(lines, alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=PAPER).encode(y="one:Q"))
