"""The paper's numbers where there is little room for them: named below the curves, or written below ours."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from storagekit.charts.marks import Layered, paper_points
from storagekit.charts.theme import HEIGHT, PAPER

# between the names of neighbours, which stand in steps
STEP = 14


def dropped_points(
    said: Sequence[tuple[float, float, str]], x: str, titles: tuple[str, str], steps: int = 2
) -> Layered:
    """The paper's figures as diamonds, to be layered over lines, with a thin line down to a name of each.

    said: place, height and name. steps: the names stand on so many, where neighbours do not meet, at the foot of a panel
    that is `HEIGHT` high.
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
    """A table: `ours` of a cell, and below it `paper` in grey, as they are written; `row` and `column` in their order.

    A single column has no name.
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
    ours = base.mark_text(fontSize=13, dy=-7).encode(text="ours:N")
    return alt.layer(ours, base.mark_text(fontSize=11, dy=9, color=PAPER).encode(text="paper:N"))
