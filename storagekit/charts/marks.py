"""Curves and bars with intervals, and the paper's numbers as marks.

Data are arrays over a dimension `statistic` (mean, low, high), from `storagekit.simulation.interval`.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Annotated, Any, Literal, NamedTuple

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.theme import COLOURS, HEIGHT, PAPER, TINT, WIDTH
from storagekit.core.errors import InputError
from storagekit.core.validation import POSITIVE, REAL, Finite, Positive, instance_of, optional, several, text, validate

# symbol of a line or a tick in a legend
DASH = "M-1,-0.15L1,-0.15L1,0.15L-1,0.15Z"

Layered = alt.LayerChart | alt.FacetChart


def _summary(label: str, value: Any) -> xr.DataArray:
    """Return an array of means with their intervals, or raise InputError for another value."""
    array = instance_of(xr.DataArray, "an array with the dimension `statistic`, as returned by sk.interval")(
        label, value
    )
    if "statistic" not in array.dims:
        raise InputError(
            f"{label} of {', '.join(map(str, array.dims))}: the dimension `statistic` is missing; give the result of "
            "sk.interval"
        )
    return array


def _side(label: str, value: Any) -> "AxisStyle":
    side = instance_of(AxisStyle, "an axis, such as AxisStyle('Time (s)')")(label, value)
    TITLE("title of an axis", side.title)
    POSITIVE("factor of an axis", side.factor)
    return side


PALETTE = instance_of(Mapping, "colours by name, such as {'SATF': 'steelblue'}")
TITLE = optional(text)
TITLES = several(text, least=2)
ORDER = optional(several(text))


@validate
def table(summary: Annotated[xr.DataArray, _summary], factor: Finite = 1.0) -> pd.DataFrame:
    """Return one row for each point: its coordinates, and mean, low and high, multiplied by `factor`.

    Parameters
    ----------
    summary : DataArray
        Values over `statistic` (mean, low, high) and other dimensions, as returned by `interval`.
    factor : float
        Factor from the unit of `summary` to the unit of the table, by default 1.

    Returns
    -------
    DataFrame
        The table, with one column for each dimension except `statistic`, and the columns `mean`, `low` and `high`.

    Raises
    ------
    InputError
        If `summary` has no dimension `statistic`.
    """
    wide = (summary * factor).to_dataset("statistic").reset_coords(drop=True)
    return wide[["mean", "low", "high"]].to_dataframe().reset_index()


@validate
def curves(
    summary: Annotated[xr.DataArray, _summary],
    x: str,
    colour: str,
    *,
    titles: Annotated[tuple[str, str, str], several(text, least=3)],
    factor: Positive = 1.0,
    x_factor: Positive = 1.0,
    x_scale: alt.Scale | None = None,
    y_scale: alt.Scale | None = None,
    order: Annotated[Sequence[str] | None, ORDER] = None,
) -> Layered:
    """Return one line for each value of `colour` over `x`, with its confidence interval as a whisker.

    Parameters
    ----------
    summary : DataArray
        Values in SI units over the dimensions `x`, `colour` and `statistic` (mean, low, high).
    x, colour : str
        Names of the dimension of the x axis and of the dimension with one line for each value.
    titles : tuple of str
        Titles of the x axis, the y axis and the legend, with units.
    factor, x_factor : float
        Factors from SI units to the units of the y axis and of the x axis, by default 1.
    x_scale, y_scale : Scale, optional
        Scales of the axes (Altair); by default linear, with 0 on the y axis.
    order : sequence of str, optional
        The values of `colour` in the order of the legend, by default in the order of the data.

    Returns
    -------
    LayerChart
        Whiskers, lines and points, as layers of one chart (Altair).

    Raises
    ------
    InputError
        If `summary` has no dimension `statistic`, or if an argument is invalid.
    """
    rows = table(summary, factor)
    rows[x] = rows[x] * x_factor
    series = list(order or rows[colour].unique())
    legend = _legend(titles[2]) if len(series) > 1 else None
    whole = all(float(value).is_integer() for value in rows[x])
    axis = _whole_numbers() if whole else alt.Axis()
    colours = alt.Scale(domain=series, range=[shade for shade, _ in zip(cycle(COLOURS), series, strict=False)])
    base = alt.Chart(rows).encode(
        x=alt.X(x, title=titles[0], scale=x_scale or alt.Scale(zero=False, nice=False, padding=8), axis=axis),
        color=alt.Color(colour, type="nominal", scale=colours, legend=legend),
    )
    y = alt.Y("mean", title=titles[1], scale=y_scale or alt.Scale(zero=True))
    # lines may coincide; therefore their dashes differ, in addition to their colours and shapes
    dash = alt.StrokeDash(colour, type="nominal", sort=series, legend=None)
    line = base.mark_line(strokeWidth=2, clip=True).encode(y=y, strokeDash=dash)
    shape = alt.Shape(colour, type="nominal", scale=alt.Scale(domain=series), legend=legend)
    point = base.mark_point(size=45, filled=True, opacity=1).encode(y=y, shape=shape)
    whisker = base.mark_rule(strokeWidth=1.5, clip=True).encode(y=alt.Y("low", title=titles[1]), y2="high")
    return alt.layer(whisker, line, point).properties(width=WIDTH, height=HEIGHT)


class AxisStyle(NamedTuple):
    """The style of an axis.

    Parameters
    ----------
    title : str
        Title of the axis, with the unit.
    factor : float
        Factor from SI units to the unit of the axis, above 0; 1 by default.
    scale : Scale, optional
        Scale of the axis (Altair).
    axis : Axis, optional
        Ticks and labels of the axis (Altair).
    """

    title: str
    factor: float = 1.0
    scale: alt.Scale | None = None
    axis: alt.Axis | None = None


@validate
def lines(
    summary: Annotated[xr.DataArray, _summary],
    x: str,
    colour: str,
    palette: Annotated[Mapping[str, str], PALETTE],
    sides: Annotated[tuple[AxisStyle, AxisStyle], several(_side, least=2)],
    legend: Annotated[str | None, TITLE],
    *,
    model: xr.DataArray | None = None,
    basis: tuple[str, str] = ("simulated", "model"),
) -> Layered:
    """Return solid lines with points and whiskers for simulated values, and dashed lines of the same colours for formulas.

    NaN values are left out. Values outside a scale are clipped.

    Parameters
    ----------
    summary : DataArray
        Simulated values in SI units over the dimensions `x`, `colour` and `statistic` (mean, low, high).
    x, colour : str
        Names of the dimension of the x axis and of the dimension with one line for each value.
    palette : mapping of str to str
        Colour of each series, in the order of the legend. Other series are left out.
    sides : tuple of AxisStyle
        Styles of the x axis and the y axis.
    legend : str or None
        Title of the legend.
    model : DataArray, optional
        Means from formulas, in SI units, with the dimensions `x` and `colour`, for some or all of the series.
    basis : tuple of str
        Names in the legend of the simulated values and of the formulas, by default "simulated" and "model".

    Returns
    -------
    LayerChart
        Whiskers, lines and points, as layers of one chart (Altair).

    Raises
    ------
    InputError
        If `summary` has no dimension `statistic`, or if an argument is invalid.
    """
    whisker, point = _whiskers_and_points(summary, x, colour, palette, sides, legend)
    rows = _series(table(summary, sides[1].factor), x, colour, palette, sides[0].factor).assign(basis=basis[0])
    present = [name for name in palette if name in set(rows[colour])]
    if model is not None:
        said = (model * sides[1].factor).rename("mean").reset_coords(drop=True).to_dataframe().reset_index()
        rows = pd.concat([rows, _series(said, x, colour, palette, sides[0].factor).assign(basis=basis[1])])
    dashes = alt.Scale(domain=list(basis), range=[[1, 0], [5, 4]])
    key = alt.Legend(title=None) if model is not None else None
    line = (
        _coloured(rows, x, colour, palette, present, sides[0], legend)
        .mark_line(strokeWidth=2, clip=True)
        .encode(y=_height(sides[1]), strokeDash=alt.StrokeDash("basis", type="nominal", scale=dashes, legend=key))
    )
    return alt.layer(whisker, line, point).properties(width=WIDTH, height=HEIGHT)


def points(
    summary: xr.DataArray,
    x: str,
    colour: str,
    palette: Mapping[str, str],
    sides: tuple[AxisStyle, AxisStyle],
    legend: str | None,
) -> Layered:
    """Return the points and whiskers of `lines` without the lines; each series has its own shape."""
    layers = _whiskers_and_points(summary, x, colour, palette, sides, legend)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _whiskers_and_points(
    summary: xr.DataArray,
    x: str,
    colour: str,
    palette: Mapping[str, str],
    sides: tuple[AxisStyle, AxisStyle],
    legend: str | None,
) -> tuple[alt.Chart, alt.Chart]:
    base, present = _base(summary, x, colour, palette, sides, legend)
    shape = alt.Shape(colour, type="nominal", scale=alt.Scale(domain=present), legend=_legend(legend))
    whisker = base.mark_rule(strokeWidth=1.2, opacity=0.4, clip=True).encode(y=_height(sides[1], "low"), y2="high")
    point = base.mark_point(size=45, filled=True, opacity=1, clip=True).encode(y=_height(sides[1]), shape=shape)
    return whisker, point


def _base(
    summary: xr.DataArray,
    x: str,
    colour: str,
    palette: Mapping[str, str],
    sides: tuple[AxisStyle, AxisStyle],
    legend: str | None,
) -> tuple[alt.Chart, list[str]]:
    """Return a chart with the encodings that its marks share, and the series of the summary in the order of the legend."""
    rows = _series(table(summary, sides[1].factor), x, colour, palette, sides[0].factor)
    present = [name for name in palette if name in set(rows[colour])]
    return _coloured(rows, x, colour, palette, present, sides[0], legend), present


def _series(rows: pd.DataFrame, x: str, colour: str, palette: Mapping[str, str], factor: float) -> pd.DataFrame:
    """Return the rows that have a mean and a colour."""
    moved = {colour: rows[colour].astype(str)} | ({x: rows[x] * factor} if factor != 1 else {})
    known = rows["mean"].notna() & rows[colour].astype(str).isin(list(palette))
    return rows.assign(**moved).loc[known, :]


def _coloured(
    rows: pd.DataFrame,
    x: str,
    colour: str,
    palette: Mapping[str, str],
    present: Sequence[str],
    side: AxisStyle,
    legend: str | None,
) -> alt.Chart:
    """Return a chart of rows with the encodings that its marks share."""
    if pd.api.types.is_numeric_dtype(rows[x]):
        whole = all(float(value).is_integer() for value in rows[x])
        axis = side.axis or (_whole_numbers() if whole else alt.Axis())
        scale = side.scale or alt.Scale(zero=False, nice=False, padding=8)
        x_axis = alt.X(x, type="quantitative", title=side.title, axis=axis, scale=scale)
    else:
        x_axis = alt.X(x, type="nominal", title=side.title, sort=None, axis=side.axis or alt.Axis(labelAngle=0))
    colours = alt.Scale(domain=list(present), range=[palette[name] for name in present])
    shade = alt.Color(colour, type="nominal", scale=colours, legend=_legend(legend))
    return alt.Chart(rows).encode(x=x_axis, color=shade)


def _height(side: AxisStyle, field: str = "mean") -> alt.Y:
    axis = side.axis or alt.Axis()
    words = cut(side.title, side.scale)
    return alt.Y(field, type="quantitative", title=words, scale=side.scale or alt.Scale(zero=True), axis=axis)


def cut(words: str, scale: alt.Scale | None) -> str:
    """Return the title of an axis. If the scale does not begin at zero, the title states the lower end."""
    look = scale.to_dict() if scale is not None else {}
    domain = look.get("domain")
    if not words or look.get("type") == "log" or not isinstance(domain, list):
        return words
    least = min(float(end) for end in domain)
    return f"{words}, axis starts at {least:g}" if least > 0 else words


def _legend(words: str | None) -> alt.Legend:
    return alt.Legend(title=words, symbolOpacity=1)


def _whole_numbers() -> alt.Axis:
    return alt.Axis(tickMinStep=1, format="d")


def ribbons(
    summary: xr.DataArray,
    x: str,
    colour: str,
    palette: Mapping[str, str],
    sides: tuple[AxisStyle, AxisStyle],
    legend: str | alt.Legend | None,
) -> Layered:
    """Return one line for each series, inside a band that shows the confidence interval, for series with many points.

    legend: the legend, or its title.
    """
    base, present = _base(summary, x, colour, palette, sides, None)
    scale = alt.Scale(domain=present, range=[palette[name] for name in present])
    key = legend if isinstance(legend, alt.Legend) else alt.Legend(title=legend, symbolOpacity=1, symbolType=DASH)
    base = base.encode(color=alt.Color(colour, type="nominal", scale=scale, legend=key))
    band = base.mark_area(opacity=0.2, clip=True).encode(y=_height(sides[1], "low"), y2="high")
    line = base.mark_line(strokeWidth=1.8, clip=True).encode(y=_height(sides[1]))
    return alt.layer(band, line).properties(width=WIDTH, height=HEIGHT)


def shaded(spans: Sequence[tuple[float, float, str]]) -> Layered:
    """Return a grey area between two positions of the x axis for each span, with its name at the foot of the panel."""
    base = alt.Chart(pd.DataFrame(spans, columns=["from", "to", "words"])).encode(x="from:Q")
    words = base.mark_text(align="left", baseline="bottom", dx=4, fontSize=11, color=PAPER)
    area = base.mark_rect(color=PAPER, opacity=0.1).encode(x2="to")
    return alt.layer(area, words.encode(y=alt.value(HEIGHT - 4), text="words"))


def from_zero(highest: float) -> alt.Scale:
    """Return a scale from 0 to slightly above `highest`, so that the mark of this value is not cut off."""
    return alt.Scale(domain=[0, 1.05 * highest], nice=False)


def upright(at: float, words: str, side: Literal["left", "right"] = "left", drop: float = 2) -> Layered:
    """Return a thin vertical line at a position that the paper states, with its name `drop` pixels below the top."""
    base = alt.Chart(pd.DataFrame({"at": [at], "words": [words]})).encode(x="at:Q")
    alignment = {"align": "right", "dx": -4} if side == "left" else {"align": "left", "dx": 4}
    halo = base.mark_text(baseline="top", stroke="white", strokeWidth=3, **alignment)
    name = base.mark_text(baseline="top", color=PAPER, **alignment)
    rule = base.mark_rule(color=PAPER, strokeDash=[2, 3])
    return alt.layer(rule, *(text.encode(y=alt.value(drop), text="words") for text in (halo, name)))


@validate
def level(
    value: Finite,
    words: str,
    factor: Finite = 1.0,
    position: Literal["above left", "below right"] = "above left",
) -> Layered:
    """Return a thin horizontal line across a panel at `value` multiplied by `factor`, with its name.

    Parameters
    ----------
    value : float
        Height of the line, in an SI unit.
    words : str
        Name of the line.
    factor : float
        Factor from the SI unit to the unit of the y axis, by default 1.
    position : str
        Position of the name: "above left", the default, or "below right".

    Returns
    -------
    LayerChart
        The line and its name, as a layer over a chart with a numeric y axis (Altair).
    """
    rows = pd.DataFrame({"level": [value * factor], "words": [words]})
    rule = alt.Chart(rows).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(y="level:Q")
    ways = {
        "above left": (0, {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2}),
        "below right": ("width", {"align": "right", "baseline": "top", "dx": -4, "dy": 3}),
    }
    at, shift = ways[position]
    text = alt.Chart(rows).mark_text(color=PAPER, **shift)
    return alt.layer(rule, text.encode(x=alt.value(at), y="level:Q", text="words"))


def named_points(
    said: Sequence[tuple[float, float, str]],
    x: str,
    titles: tuple[str, str],
    side: Literal["left", "right"] = "right",
) -> Layered:
    """Return the paper's numbers as diamonds, each with its name on the given side, as a layer over lines."""
    rows = pd.DataFrame(said, columns=[x, "paper", "words"])
    base = alt.Chart(rows).encode(x=alt.X(x, title=titles[0]), y=alt.Y("paper", title=titles[1]), text="words")
    alignment = {"align": "left", "dx": 7} if side == "right" else {"align": "right", "dx": -7}
    halo = base.mark_text(fontSize=11, dy=-7, stroke="white", strokeWidth=3, **alignment)
    words = base.mark_text(fontSize=11, dy=-7, color=PAPER, **alignment)
    return alt.layer(halo, words, paper_points([(at, height) for at, height, _ in said], x, titles))


@validate
def bars(
    summary: Annotated[xr.DataArray, _summary],
    x: str,
    *,
    titles: Annotated[tuple[str, str], TITLES],
    factor: Positive = 1.0,
    order: Annotated[Sequence[str] | None, ORDER] = None,
    paper: Annotated[Mapping[str, float] | None, instance_of(Mapping, "a number by name")] = None,
    form: str = ",.1f",
) -> Layered:
    """Return one bar for each value of `x` with its interval and its number.

    A dash across the bar marks the paper's number.

    Parameters
    ----------
    summary : DataArray
        Values in SI units over the dimensions `x` and `statistic` (mean, low, high).
    x : str
        Name of the dimension with one bar for each value.
    titles : tuple of str
        Titles of the x axis and the y axis, with units.
    factor : float
        Factor from the SI unit to the unit of the y axis, above 0; 1 by default.
    order : sequence of str, optional
        The values of `x` from left to right, by default in the order of the data.
    paper : mapping of str to float, optional
        Numbers of the paper by value of `x`, in the unit of the y axis.
    form : str
        Format of the numbers on the bars, by default ",.1f" (one decimal place).

    Returns
    -------
    LayerChart
        Bars, whiskers, numbers and dashes, as layers of one chart (Altair).

    Raises
    ------
    InputError
        If `summary` has no dimension `statistic`, or if an argument is invalid.
    """
    rows, said = table(summary, factor), dict(paper or {})
    sort = list(order or rows[x].unique())
    top = 1.08 * max(float(rows[["mean", "high"]].max().max()), *said.values(), 0.0)
    base = alt.Chart(rows).encode(x=alt.X(x, type="nominal", title=titles[0], sort=sort, axis=alt.Axis(labelAngle=0)))
    scale = alt.Scale(domain=[0, top])
    layers: list[Layered | alt.Chart] = [
        base.mark_bar(width={"band": 0.6}, color=TINT).encode(y=alt.Y("mean", title=titles[1], scale=scale)),
        base.mark_rule(strokeWidth=2, clip=True).encode(y=alt.Y("low", title=titles[1]), y2="high"),
        base.mark_text(fontSize=11).encode(y=alt.value(HEIGHT - 10), text=alt.Text("mean", format=form)),
    ]
    if said:
        dashes = pd.DataFrame({x: list(said), "paper": list(said.values()), "series": "paper"})
        encoding = {"x": alt.X(x, type="nominal", sort=sort), "y": alt.Y("paper", title=titles[1])}
        tick = alt.Chart(dashes).mark_tick(thickness=3, width={"band": 0.8}, opacity=1)
        layers.append(tick.encode(**encoding, fill=paper_fill(LYING)))
    return alt.layer(*layers).properties(width=WIDTH / 2 + 20, height=HEIGHT)


def positions(numbers: xr.DataArray) -> list[tuple[Any, float]]:
    """Return position and value of each entry of an array with one dimension, without NaN, for `paper_points`."""
    known = numbers.dropna(numbers.dims[0])
    return list(zip(known[numbers.dims[0]].values.tolist(), known.values.tolist(), strict=True))


@validate
def paper_points(
    points: Annotated[Sequence[tuple[float, float]], several(several(REAL, least=2))],
    x: str,
    titles: Annotated[tuple[str, str], TITLES],
) -> alt.Chart:
    """Return the paper's numbers as diamonds, as a layer over curves.

    Parameters
    ----------
    points : sequence of pair of float
        Positions on the x axis and the y axis, in the units of the axes.
    x : str
        Name of the dimension of the x axis.
    titles : tuple of str
        Titles of the x axis and the y axis, with units.

    Returns
    -------
    Chart
        The diamonds (Altair).
    """
    said = pd.DataFrame(points, columns=[x, "paper"]).assign(series="paper")
    return (
        alt.Chart(said)
        .mark_point(shape="diamond", size=110, filled=True, opacity=1)
        .encode(
            x=alt.X(x, title=titles[0]),
            y=alt.Y("paper", title=titles[1]),
            fill=paper_fill("diamond"),
        )
    )


# legend symbols of the paper's dash: `LYING` if the dash is across a vertical bar, `STANDING` across a horizontal bar
LYING, STANDING = "M-1,0L1,0", "M0,-1L0,1"


def paper_fill(symbol: str, **legend) -> alt.Fill:
    """Return the encoding that fills marks with the paper's colour, by the column `series`.

    The legend shows `symbol`: a shape, or its outline.
    """
    drawn = {"symbolStrokeColor": PAPER, "symbolStrokeWidth": 3} if symbol in (LYING, STANDING) else {}
    key = alt.Legend(symbolType=symbol, symbolOpacity=1, **drawn, **legend)
    return alt.Fill("series", type="nominal", title=None, scale=paper_scale(), legend=key)


def paper_scale() -> alt.Scale:
    """Return the colour scale of the paper's numbers, with their name in the legend."""
    return alt.Scale(domain=["paper"], range=[PAPER])
