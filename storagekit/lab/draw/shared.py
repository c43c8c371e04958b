"""Chart of the rates of streams on each brick, under two policies."""

from collections.abc import Sequence

import altair as alt

from storagekit.charts import Template
from storagekit.charts.theme import COLOURS, THEME

WAYS = {"total": "both bricks together", "single": "each brick separately"}
OF_BRICK = {"A": COLOURS[0], "B": COLOURS[4]}


def sharing(streams: Sequence[str]) -> Template:
    """Return the chart of the rates of these streams at each brick, under two policies.

    The columns of the template's `rows` are `way` (the policy, one of `WAYS`), `stream`, `brick`, and `rate` in MB/s.
    """
    return Template(lambda: _chart(streams))


def _chart(streams: Sequence[str]) -> alt.TopLevelMixin:
    colours = alt.Scale(domain=list(OF_BRICK), range=list(OF_BRICK.values()))
    base = alt.Chart(alt.NamedData("rows")).encode(y=alt.Y("way:N", title=None, sort=list(WAYS.values())))
    along = alt.X("rate:Q", title="Rate (MB/s)", stack="zero", scale=alt.Scale(zero=True))
    bars = base.mark_bar(height={"band": 0.75}).encode(
        x=along,
        color=alt.Color("brick:N", title="Brick", scale=colours, legend=alt.Legend(orient="right")),
        order="brick:O",
    )
    total = base.transform_aggregate(rate="sum(rate)", groupby=["way", "stream"]).mark_text(
        align="left", dx=6, fontSize=11
    )
    layers = alt.layer(bars, total.encode(x="rate:Q", text=alt.Text("rate:Q", format=",.0f")))
    rows = alt.Row("stream:N", title=None, sort=list(streams))
    header = alt.Header(labelAngle=0, labelAlign="left", labelFontSize=12)
    facets = layers.properties(width=380, height=58, data=alt.NamedData("rows")).facet(row=rows.header(header))
    return facets.properties(spacing=8).configure(**THEME["config"])
