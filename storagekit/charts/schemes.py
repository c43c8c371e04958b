"""Chart of a ranking of schemes: predictions and simulation."""

import altair as alt
import pandas as pd

from storagekit.charts.theme import COLOURS, finished

Chart = alt.TopLevelMixin
_BAR, _ROW = "#9ecae1", 22
_WIDE = 420


def ranking(rows: pd.DataFrame, measure: str, title: str, *says: str) -> Chart:
    """Return bars of the value `predicted` of each `scheme`, in the order of the rows.

    If a row has a value in `simulated`, a mark next to the bar shows this value with its interval from `low` to `high`.
    measure: title of the axis, with its unit. says: see `finished`.
    """
    order = rows.scheme.tolist()
    across = alt.X("predicted:Q", title=measure, scale=alt.Scale(zero=True))
    down = alt.Y("scheme:N", sort=order, title=None)
    bars = alt.Chart(rows.assign(kind="predicted")).mark_bar(height={"band": 0.7})
    said = rows.assign(end=rows[["predicted", "high"]].max(axis=1), words=[_words(row) for row in rows.itertuples()])
    words = alt.Chart(said).mark_text(align="left", dx=7, fontSize=11).encode(alt.X("end:Q"), down, text="words:N")
    layers: list[alt.Chart] = [bars.encode(across, down, fill=alt.Fill(**_key("predicted", _BAR, "square"))), words]
    seen = rows.dropna(subset=["simulated"]).assign(kind="simulated")
    if len(seen):
        points = alt.Chart(seen).encode(y=down)
        layers.append(points.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(x="low:Q", x2="high:Q"))
        dot = points.mark_point(filled=True, size=60, opacity=1)
        layers.append(dot.encode(alt.X("simulated:Q"), color=alt.Color(**_key("simulated", COLOURS[0], "circle"))))
    height = max(3, len(rows)) * _ROW
    return finished(alt.layer(*layers).properties(width=_WIDE, height=height), title, *says)


def figure(value: float) -> str:
    """Return a number with three digits, or with all digits before the decimal point."""
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:,.0f}"


def _key(name: str, shade: str, symbol: str) -> dict:
    """Return an encoding of `kind` with a legend that shows its mark."""
    key = alt.Legend(title=None, orient="top", symbolType=symbol, symbolOpacity=1, symbolStrokeWidth=0)
    return {"shorthand": "kind:N", "scale": alt.Scale(domain=[name], range=[shade]), "legend": key}


def _words(row) -> str:
    """Return the numbers of a row as text."""
    found = figure(row.predicted)
    return found if pd.isna(row.simulated) else f"{found}, simulated {figure(row.simulated)}"
