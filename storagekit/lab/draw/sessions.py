"""Chart of the number of guaranteed sessions against the agents of an object and the stripe unit."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from storagekit.charts.live import FilledDashboard, Template
from storagekit.charts.marks import Layered
from storagekit.charts.theme import COLOURS, WIDTH, finished
from storagekit.core.units import KB, MB

UNITS = tuple(4 * KB << power for power in range(9))
# from light to dark by size of the unit
_SHADES = ["#c6dbef", "#9ecae1", "#7fb6da", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b", "#041f4a"]


def by_shape(rows: Sequence[Mapping[str, Any]]) -> FilledDashboard:
    """Return the chart of sessions against the agents of an object. There is one line for each stripe unit.

    The maximum is marked. rows: the result of `lab.sessions.Promised.rows`.
    """
    named = [{**row, "named": in_words(row["unit"])} for row in rows]
    most = [row | {"says": f"{row['sessions']:,}"} for row in named if row["best"]]
    return FilledDashboard(_CHART.spec, {"shapes": named, "best": most})


def in_words(unit: float) -> str:
    """Return a striping unit in bytes as text, such as 256 KB or 2 MB."""
    return f"{unit / MB:g} MB" if unit >= MB else f"{unit / KB:g} KB"


def _drawing() -> alt.TopLevelMixin:
    return finished(
        _lines().properties(width=WIDTH, height=280),
        "Guaranteed sessions",
        "The number of agents includes parity. The circle marks the maximum.",
    )


def _lines() -> Layered:
    x = alt.X(
        "agents:Q", title="Agents per object", scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(tickMinStep=1)
    )
    y = alt.Y("sessions:Q", title="Sessions", scale=alt.Scale(zero=True), axis=alt.Axis(tickMinStep=1))
    names = [in_words(unit) for unit in reversed(UNITS)]
    shades = alt.Scale(domain=names, range=_SHADES[::-1])
    colour = alt.Color("named:N", title="Unit", scale=shades, legend=alt.Legend(symbolType="stroke", symbolOpacity=1))
    base = alt.Chart(alt.NamedData(name="shapes")).encode(
        x, y, colour, tooltip=["agents:Q", "named:N", "sessions:Q", "binds:N"]
    )
    best = alt.Chart(alt.NamedData(name="best")).encode(x, y)
    return alt.layer(
        base.mark_line(strokeWidth=2),
        base.mark_point(filled=True, size=28, opacity=1),
        best.mark_point(size=190, stroke=COLOURS[1], strokeWidth=2.5, filled=False),
        best.mark_text(dy=-16, color=COLOURS[1], fontWeight="bold", fontSize=12).encode(text="says:N"),
    )


_CHART = Template(_drawing)
