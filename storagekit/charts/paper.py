"""Compact forms of the paper's numbers: marks with names below the curves, and numbers below our numbers."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from storagekit.charts.marks import Layered, paper_points
from storagekit.charts.theme import HEIGHT, PAPER

# distance between the levels of neighbouring names
STEP = 14
# Height of a row of a table, pixels.
CELL = 46
# Smallest range of an axis of differences to either side, percent.
LEAST_RANGE = 5.0


def dropped_points(
    said: Sequence[tuple[float, float, str]], x: str, titles: tuple[str, str], steps: int = 2
) -> Layered:
    """Return the paper's numbers as diamonds with a thin line down to the name of each, as a layer over lines.

    said: position, height and name of each number. steps: number of levels for the names, so that neighbouring names do
    not overlap. The panel must have the height `HEIGHT`.
    """
    rows = pd.DataFrame(sorted(said), columns=[x, "paper", "words"])
    layers: list[Layered | alt.Chart] = []
    for step in range(min(steps, len(rows))):
        foot = alt.value(HEIGHT - 6 - STEP * step)
        base = alt.Chart(rows.iloc[step::steps]).encode(x=alt.X(x, title=titles[0]))
        layers.append(base.mark_rule(color=PAPER, opacity=0.6).encode(y=alt.Y("paper", title=titles[1]), y2=foot))
        halo = base.mark_text(fontSize=11, align="left", dx=4, stroke="white", strokeWidth=3)
        name = base.mark_text(fontSize=11, align="left", dx=4, color=PAPER)
        layers += [words.encode(y=foot, text="words") for words in (halo, name)]
    return alt.layer(*layers, paper_points([(at, height) for at, height, _ in sorted(said)], x, titles))


def figures(rows: pd.DataFrame, row: str, column: str) -> Layered:
    """Return a table of text, with `ours` in each cell and `paper` in grey below it.

    row, column: names of the columns of `rows` that contain the row and the column of each cell. A single column has no
    name. Without any text of the paper, `ours` is in the middle of its cell.
    """
    columns = alt.Axis(orient="top", labelAngle=0, labelLimit=200, domain=False, ticks=False, grid=False)
    named = columns if len(set(rows[column])) > 1 else None
    base = alt.Chart(rows).encode(
        x=alt.X(column, type="nominal", title=None, sort=None, axis=named),
        y=alt.Y(
            row,
            type="nominal",
            title=None,
            sort=None,
            axis=alt.Axis(labelLimit=220, domain=False, ticks=False, grid=False),
        ),
    )
    ours = base.mark_text(fontSize=13, dy=-7 if any(rows["paper"]) else 0).encode(text="ours:N")
    drawn = alt.layer(ours, base.mark_text(fontSize=11, dy=9, color=PAPER).encode(text="paper:N"))
    return drawn.properties(height=CELL * rows[row].nunique())


def differences(
    rows: pd.DataFrame, row: str, colour: str, palette: Mapping[str, str], words: str, legend: str | None
) -> Layered:
    """Return a point for each relative difference, for a chart next to a table of `figures`.

    rows: the difference as a column `error`, percent, with the columns `row` and `colour`. NaN values are left out.
    palette: colour of each value of `colour`. words: title of the axis. legend: title of the legend. The axis extends
    equally far to both sides of 0, at least to `LEAST_RANGE`, so that small differences look small.
    """
    names = [name for name in palette if name in set(rows[colour])]
    most = max(LEAST_RANGE, 1.1 * float(np.nanmax(abs(rows["error"].to_numpy(float)))))
    x = alt.X("error:Q", title=words, scale=alt.Scale(domain=[-most, most]))
    same = {"shorthand": colour, "type": "nominal", "title": legend}
    shades = alt.Scale(domain=names, range=[palette[name] for name in names])
    point = alt.Chart(rows.dropna(subset="error")).mark_point(size=60, filled=True, opacity=1)
    drawn = point.encode(
        x=x,
        y=alt.Y(row, type="nominal", title=None, sort=list(dict.fromkeys(rows[row])), axis=None),
        yOffset=alt.YOffset(colour, type="nominal", sort=names),
        color=alt.Color(**same, scale=shades),
        shape=alt.Shape(**same, scale=alt.Scale(domain=names)),
    )
    zero = alt.Chart(pd.DataFrame({"error": [0.0]})).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x=x)
    return alt.layer(zero, drawn)
