"""Chart of a ranking: one row for each item, from the best, and one panel for each value."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd

from storagekit.charts import Template
from storagekit.charts.marks import Layered
from storagekit.charts.theme import COLOURS, THEME

MOST = 12
ROLES = {"best": COLOURS[0], "other": "#9ecae1"}
_ROW = 21
_ROOM = 60
# an explicit order, because a chart whose rows are replaced does not keep their order
_BY_RANK = alt.EncodingSortField("rank", op="min", order="ascending")


@dataclass(frozen=True)
class Bars:
    """A value that is drawn as a bar from 0 in each row.

    field: a column of the rows. title: title of its axis, with the unit. form: format of the number next to a bar.
    """

    field: str
    title: str
    form: str
    width: int = 110

    def marks(self, base: alt.Chart) -> list[alt.Chart]:
        along = base.encode(x=alt.X(f"{self.field}:Q", title=self.title, axis=alt.Axis(tickCount=3)))
        return [along.mark_bar(height={"band": 0.7}), *_haloed(along, alt.Text(f"{self.field}:Q", format=self.form))]


@dataclass(frozen=True)
class Span:
    """Times over several orders of magnitude: a point for the mean, and a tick for the 99% quantile if it is known.

    The rows have `mean`, `p99`, `end` and `words`; see `spanned`.
    """

    title: str
    width: int = 140

    def marks(self, base: alt.Chart) -> list[alt.Chart]:
        scale = alt.Scale(type="log", nice=False, padding=12)
        x = alt.X("mean:Q", title=self.title, scale=scale, axis=alt.Axis(format="~s", grid=False))
        words = base.encode(x=alt.X("end:Q", scale=scale))
        return [
            base.mark_rule(strokeWidth=2).encode(x=x, x2="end:Q"),
            base.mark_tick(thickness=2, height={"band": 0.6}).encode(x=alt.X("p99:Q", scale=scale)),
            base.mark_point(filled=True, size=70, opacity=1).encode(x=x),
            *_haloed(words, alt.Text("words:N")),
        ]


def ranking(panels: Sequence[Bars | Span], ranks: str) -> Template:
    """Return the chart of a ranking, whose `rows` are the result of `ranked`. ranks: the name of the ranked items."""
    return Template(
        lambda: alt.hconcat(
            *(_panel(panel, ranks if index == 0 else None) for index, panel in enumerate(panels)), spacing=_ROOM
        ).configure(**THEME["config"])
    )


def ranked(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first `MOST` of `rows`, which are sorted from the best, with two further columns.

    The columns are `role`, 'best' or 'other', which selects the colour, and `rank`, the rank from 0.
    """
    shown = rows.head(MOST)
    return shown.assign(role=["best", *["other"] * (len(shown) - 1)], rank=range(len(shown)))


def spanned(mean: Sequence[float], p99: Sequence[float]) -> dict[str, list]:
    """Return the columns that `Span` draws, from means and 99% quantiles. Unknown values are NaN."""
    end = [float(np.fmax(*pair)) for pair in zip(mean, p99, strict=True)]
    words = [
        _digits(one) + ("" if np.isnan(tail) else f" | {_digits(tail)}") for one, tail in zip(mean, p99, strict=True)
    ]
    return {"mean": list(mean), "p99": list(p99), "end": end, "words": words}


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _panel(panel: Bars | Span, ranks: str | None) -> Layered:
    axis = alt.Axis(labelLimit=200, ticks=False, domain=False) if ranks else None
    colours = alt.Scale(domain=list(ROLES), range=list(ROLES.values()))
    base = alt.Chart(alt.NamedData("rows")).encode(
        y=alt.Y("name:N", sort=_BY_RANK, title=ranks, axis=axis), color=alt.Color("role:N", scale=colours, legend=None)
    )
    return alt.layer(*panel.marks(base)).properties(width=panel.width, height=alt.Step(_ROW))


def _haloed(base: alt.Chart, number: alt.Text) -> list[alt.Chart]:
    """Return the layers that write `number` to the right of each point, readable over grid lines."""
    ink, halo = alt.value("#222222"), {"stroke": "white", "strokeWidth": 3}
    return [
        base.mark_text(align="left", dx=6, fontSize=10, **look).encode(text=number, color=ink) for look in (halo, {})
    ]
