"""Chart of the throughput and the 99% response time of protocols against the load, with a line at the selected load."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts import Template
from storagekit.charts.live import FilledDashboard
from storagekit.charts.marks import Layered, table
from storagekit.charts.theme import COLOURS, PAPER, THEME

PROTOCOLS = {"D-SPTF": COLOURS[0], "shortest queue": COLOURS[2], "LARD": COLOURS[3], "hashing": COLOURS[1]}
_MS = 1e3
_PANELS = {
    "request_rate": "Requests completed per second",
    "tail": "99th percentile of the response time (ms, logarithmic)",
}


def curves(data: xr.Dataset, load: int) -> FilledDashboard:
    """Return the chart of throughput and 99% response time of each protocol against the load.

    data: means and intervals of `request_rate` and `tail` (seconds) over `scheme` and `load`. load: the selected load,
    where the line is drawn.
    """
    parts = [table(data[name], _MS if name == "tail" else 1.0).assign(panel=name) for name in _PANELS]
    return _CHART.filled(rows=pd.concat(parts, ignore_index=True), here=pd.DataFrame({"load": [load]}))


def _chart() -> alt.TopLevelMixin:
    panels = [_panel(name, words) for name, words in _PANELS.items()]
    return alt.hconcat(*panels, spacing=24).configure(**THEME["config"])


def _panel(name: str, words: str) -> Layered:
    colours = alt.Scale(domain=list(PROTOCOLS), range=list(PROTOCOLS.values()))
    across = alt.Scale(type="log", base=2, nice=False, padding=12)
    x = alt.X("load:Q", title="Requests outstanding", scale=across, axis=alt.Axis(values=[1, 2, 4, 8, 16]))
    base = (
        alt.Chart(alt.NamedData("rows"))
        .transform_filter(alt.datum.panel == name)
        .encode(
            x=x,
            color=alt.Color("scheme:N", title=None, scale=colours, legend=alt.Legend(orient="bottom", symbolOpacity=1)),
        )
    )
    # tails of light and heavy loads differ by orders of magnitude
    scale = alt.Scale(type="log", nice=False, padding=8) if name == "tail" else alt.Scale(zero=True)
    y = alt.Y("mean:Q", title=words, scale=scale, axis=alt.Axis(format="~s"))
    here = alt.Chart(alt.NamedData("here")).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x=x)
    layers = [
        here,
        base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=2, point={"size": 35}).encode(y=y),
    ]
    return alt.layer(*layers).properties(width=270, height=240)


_CHART = Template(_chart)
