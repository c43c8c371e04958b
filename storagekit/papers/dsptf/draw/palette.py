"""Names and colours of the schemes, and horizontal bars, for the charts of all exhibits."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.marks import LYING, STANDING, AxisStyle, Layered, paper_fill, positions, table
from storagekit.charts.theme import COLOURS, PAPER, TINT
from storagekit.charts.words import listed
from storagekit.papers.dsptf.claims import FOUR, KEYS

SCHEMES, FIVE = list(FOUR.values()), list(KEYS.values())
# `curves` uses the same colours for the first four schemes.
COLOUR = dict(zip(FIVE, COLOURS, strict=False))
# Separator between a scheme and its variant in a name, as in "LARD, 0.1 of the run".
VARIANT = ", "
TRACES = {"sap": "SAP", "cello2002": "Cello2002", "websearch": "WebSearch", "financial": "Financial"}
TO_MS, PERCENT = 1e3, 100.0
RESPONSE = "Response time (ms)"
ROW, PANEL = 26, 185
# Name of a range of the paper in a legend.
RANGE = "paper, range"


def schemes_in(data: xr.DataArray | xr.Dataset, papers: Sequence[str] = SCHEMES) -> list[str]:
    """Return the schemes of the data in the order of a chart: the paper's schemes first, then your own.

    Parameters
    ----------
    data : DataArray or Dataset
        Data with the dimension `scheme`.
    papers : sequence of str
        Names of the paper's schemes in order, by default `SCHEMES`.
    """
    there = list(dict.fromkeys(data.scheme.values.tolist()))
    own = [name for name in there if name.split(VARIANT)[0] not in FIVE]
    return [name for name in papers if name in there] + own


def colours_of(schemes: Sequence[str]) -> dict[str, str]:
    """Return a colour for each scheme. Your own schemes have other colours than the paper's schemes."""
    further = cycle(COLOURS[len(FIVE) :])
    return {name: COLOUR[name] if name in COLOUR else next(further) for name in schemes}


def scheme_rows(
    summary: xr.DataArray,
    order: Sequence[str],
    side: AxisStyle,
    *,
    of: str = "scheme",
    said: Sequence[tuple[str, float, float]] = (),
    named: bool = True,
    form: str = ".1f",
) -> Layered:
    """Draw a horizontal bar for each scheme or each label of another dimension, with its 95% interval and its number.

    Parameters
    ----------
    summary : DataArray
        Values over the dimension `of` and `statistic`.
    order : sequence of str
        The rows in order.
    side : AxisStyle
        Style of the horizontal axis.
    of : str
        Dimension of the rows, by default "scheme".
    said : sequence of (str, float, float)
        For each mark of the paper: its row, and the lower and the upper end of the paper's range, in the unit of the
        axis. If the two ends are equal, the mark is a dash.
    named : bool
        Whether the rows have labels, by default true.
    form : str
        Format of the numbers, by default ".1f".
    """
    rows = table(summary, side.factor)
    rows = rows.loc[rows[of].isin(list(order)), :]
    most = room_for(rows, *(high for _, _, high in said))
    axis = alt.Axis() if named else alt.Axis(labels=False, ticks=False)
    base = alt.Chart(rows).encode(y=alt.Y(of, type="nominal", title=None, sort=list(order), axis=axis))
    x = alt.X("mean", title=side.title, scale=side.scale or alt.Scale(domain=[0, most]), axis=side.axis or alt.Axis())
    layers = [
        base.mark_bar(height={"band": 0.7}, color=TINT).encode(x=x),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low", title=side.title), x2="high"),
        base.mark_text(align="left", fontSize=11).encode(x=alt.value(5), text=alt.Text("mean", format=form)),
    ]
    if said:
        layers += _paper_rows(pd.DataFrame(said, columns=[of, "from", "to"]), of, order, side.title)
    return alt.layer(*layers).properties(height=ROW * len(order))


def dashes(said: xr.DataArray) -> list[tuple[str, float, float]]:
    """Return the paper's numbers by scheme, without NaN, as the argument `said` of `scheme_rows`."""
    return [(name, value, value) for name, value in positions(said)]


def room_for(rows: pd.DataFrame, *more: float) -> float:
    """Return a number slightly above the largest of the means, of the ends of intervals, and of `more`."""
    return 1.05 * float(np.nanmax([*rows["mean"], *rows["high"], *more]))


def _paper_rows(said: pd.DataFrame, of: str, order: Sequence[str], words: str) -> list[alt.Chart]:
    """Return a dash for each number of the paper, and a horizontal stroke for each range."""
    numbers = (said["from"] == said["to"]).to_numpy()
    y, at = alt.Y(of, type="nominal", title=None, sort=list(order)), alt.X("from:Q", title=words)
    layers = []
    if numbers.any():
        dash = alt.Chart(said.loc[numbers].assign(series="paper")).mark_tick(
            thickness=3, height={"band": 0.9}, opacity=1
        )
        layers.append(dash.encode(x=at, y=y, fill=paper_fill(STANDING)))
    if not numbers.all():
        stroke = alt.Chart(said.loc[~numbers].assign(series=RANGE)).mark_rule(strokeWidth=5)
        scale, key = alt.Scale(domain=[RANGE], range=[PAPER]), alt.Legend(symbolType=LYING, symbolStrokeWidth=5)
        colour = alt.Stroke("series:N", title=None, scale=scale, legend=key)
        layers.append(stroke.encode(x=at, x2="to:Q", y=y, stroke=colour))
    return layers


def origin(basis: xr.DataArray) -> str:
    """Return the words that follow "The traces are" in a subtitle."""
    return "synthetic, except the traces marked real" if (basis == "trace").any() else "synthetic"


def trace_names(basis: xr.DataArray) -> Mapping[str, str]:
    """Return the label of each trace in a chart; labels of real traces end in ", real".

    basis: basis of each trace over `trace`, "trace" for a real trace.
    """
    kinds = basis.to_series().to_dict()
    return {name: TRACES.get(name, name) + ", real" * (kind == "trace") for name, kind in kinds.items()}


def over(means: xr.DataArray, scheme: str, base: str = "D-SPTF") -> np.ndarray:
    """Return the means of a scheme divided by the means of `base`; an empty array if either scheme did not run."""
    if not {scheme, base} <= set(means.scheme.values.tolist()):
        return np.array([])
    return (means.sel(scheme=scheme) / means.sel(scheme=base)).values.ravel()


def caption(findings: Sequence[str], schemes: Sequence[str]) -> str:
    """Return the findings of a chart as sentences, or the schemes that ran if there are no findings."""
    return ". ".join(findings) + "." if findings else f"The chart shows {listed(list(schemes))}."
