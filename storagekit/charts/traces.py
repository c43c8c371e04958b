"""Charts of a trace: arrivals, addresses and sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from storagekit.charts.live import FilledDashboard, Template
from storagekit.charts.theme import COLOURS, finished

KINDS = {"reads": COLOURS[0], "writes": COLOURS[1]}
_WIDE, _HIGH = 460, 110


def character(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> FilledDashboard:
    """Return three charts: arrivals over time, addresses over time, and sizes. Each separates reads from writes.

    Parameters
    ----------
    rows : mapping of str to sequence of mapping
        The result of `workload.trace.overview.Overview.rows`. Times are the arrival times of the trace.

    Returns
    -------
    FilledDashboard
        The charts, for a lab page.
    """
    return FilledDashboard(_CHART.spec, {name: [dict(one) for one in some] for name, some in rows.items()})


def overview(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> alt.TopLevelMixin:
    """Return the charts of `character` as one chart that can be saved."""
    drawn = _drawing()
    drawn.datasets = {name: [dict(one) for one in some] for name, some in rows.items()}
    return drawn


def _drawing() -> alt.TopLevelMixin:
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())))
    time = alt.Axis(title="Time (s)", grid=False)
    rate = alt.Chart(alt.NamedData(name="arrivals")).mark_bar(orient="vertical")
    rate = rate.encode(
        alt.X("at:Q", axis=alt.Axis(title=None, labels=False, grid=False), scale=alt.Scale(nice=False, padding=0)),
        alt.Y("rate:Q", title="Requests/s"),
        x2="until:Q",
        color=colour,
    )
    offset = alt.Chart(alt.NamedData(name="offsets")).mark_circle(size=7, opacity=0.7)
    offset = offset.encode(
        alt.X("at:Q", axis=time, scale=alt.Scale(nice=False, padding=0)),
        alt.Y("gb:Q", title="Address (GB)"),
        color=colour,
    )
    size = alt.Chart(alt.NamedData(name="sizes")).mark_bar()
    size = size.encode(
        alt.X(
            "size:N",
            title="Size (KB, up to)",
            sort=alt.EncodingSortField("order", op="min"),
            axis=alt.Axis(labelAngle=0),
        ),
        alt.Y("percent:Q", title="Requests (%)"),
        color=colour,
    )
    panels = [one.properties(width=_WIDE, height=high) for one, high in ((rate, 80), (offset, _HIGH), (size, 80))]
    return finished(
        alt.vconcat(*panels, spacing=10),
        "Arrivals, addresses and sizes",
        "Dots are an even sample of the requests; bars count all of them.",
    )


_CHART = Template(_drawing)
