"""Chart of the response time of a request against the load, for each number of agents."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from storagekit.charts.live import FilledDashboard, Template
from storagekit.charts.theme import COLOURS, WIDTH, finished


def against_load(rate: float, rows: Sequence[Mapping[str, Any]]) -> FilledDashboard:
    """Return the chart of the mean response time against the load, with a line at the load `rate`.

    There is one band for each number of agents, between the lower and the upper bound of the mean. rows: agents, rate
    (requests a second), low and high (ms).
    """
    named = [{**row, "named": str(row["agents"])} for row in rows]
    return FilledDashboard(_CHART.spec, {"bands": named, "load": [{"rate": rate}]})


def _drawing() -> alt.TopLevelMixin:
    x = alt.X("rate:Q", title="Requests/s", scale=alt.Scale(zero=True, nice=False))
    log = alt.Scale(type="log", nice=False, padding=4)
    y = alt.Y("low:Q", title="Mean response time of a request (ms)", scale=log)
    sort = alt.EncodingSortField(field="agents", op="min", order="ascending")
    shades = alt.Scale(range=[*COLOURS[:6], "#7f7f7f", "#000000"])
    colour = alt.Color(
        "named:N", title="Agents per request", sort=sort, scale=shades, legend=alt.Legend(symbolOpacity=1)
    )
    bands = alt.Chart(alt.NamedData(name="bands")).encode(x, y, color=colour)
    load_line = alt.Chart(alt.NamedData(name="load")).encode(x)
    drawn = alt.layer(
        bands.mark_area(opacity=0.22).encode(y2="high:Q"),
        bands.mark_line(strokeWidth=2),
        load_line.mark_rule(strokeDash=[4, 3], strokeWidth=1.5),
    )
    return finished(
        drawn.properties(width=WIDTH, height=280),
        "Response time of a request by load",
        "A band is between a lower and an upper bound of the mean, by formulas that consider only the disks. The "
        "dashed line is the selected load.",
    )


_CHART = Template(_drawing)
