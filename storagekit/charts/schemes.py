"""A ranking of schemes drawn: what is predicted of each, and what simulation gave."""

import altair as alt
import pandas as pd

from storagekit.charts.theme import COLOURS, finished

Chart = alt.TopLevelMixin
_BAR, _ROW = "#9ecae1", 22
_WIDE = 420


def ranking(rows: pd.DataFrame, measure: str, title: str, subtitle: str) -> Chart:
    """Bars of what is `predicted` of each `scheme`, in the order of the rows, with `simulated` and its interval `low` to
    `high` beside them where there are any; measure: what the axis is called, unit included."""
    order = rows.scheme.tolist()
    across = alt.X("predicted:Q", title=measure, scale=alt.Scale(zero=True))
    down = alt.Y("scheme:N", sort=order, title=None)
    keys = alt.Scale(domain=["predicted", "simulated"], range=[_BAR, COLOURS[1]])
    legend = alt.Color("kind:N", scale=keys, legend=alt.Legend(title=None, orient="top"))
    bars = alt.Chart(rows.assign(kind="predicted")).mark_bar(height={"band": 0.7}).encode(across, down, legend)
    said = rows.assign(end=rows[["predicted", "high"]].max(axis=1), words=[_words(row) for row in rows.itertuples()])
    words = alt.Chart(said).mark_text(align="left", dx=7, fontSize=11).encode(alt.X("end:Q"), down, text="words:N")
    layers: list[alt.Chart] = [bars, words]
    seen = rows.dropna(subset=["simulated"]).assign(kind="simulated")
    if len(seen):
        points = alt.Chart(seen).encode(y=down)
        layers.append(points.mark_rule(strokeWidth=2, color=COLOURS[1]).encode(x="low:Q", x2="high:Q"))
        layers.append(points.mark_point(filled=True, size=60, opacity=1).encode(alt.X("simulated:Q"), color=legend))
    height = max(3, len(rows)) * _ROW
    return finished(alt.layer(*layers).properties(width=_WIDE, height=height), title, subtitle)


def _words(row) -> str:
    """The figures of a row, three digits of each."""
    found = f"{row.predicted:.3g}" if row.predicted < 1000 else f"{row.predicted:,.0f}"
    if pd.isna(row.simulated):
        return found
    return (
        f"{found}, simulated {row.simulated:.3g}"
        if row.simulated < 1000
        else f"{found}, simulated {row.simulated:,.0f}"
    )
