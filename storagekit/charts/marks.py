"""Curves and bars with intervals, and the paper's figures marked beside them.

Data come as arrays over a dimension `statistic` (mean, low, high), as `storagekit.metrics.interval` makes them.
"""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.theme import HEIGHT, PAPER, WIDTH


def table(summary: xr.DataArray, factor: float = 1.0) -> pd.DataFrame:
    """One row for each point: its coordinates, and mean, low and high times `factor`."""
    wide = (summary * factor).to_dataset("statistic").reset_coords(drop=True)
    return wide[["mean", "low", "high"]].to_dataframe().reset_index()


def curves(
    summary: xr.DataArray,
    x: str,
    colour: str,
    *,
    titles: tuple[str, str, str],
    factor: float = 1.0,
    x_factor: float = 1.0,
    x_scale: alt.Scale | None = None,
    y_scale: alt.Scale | None = None,
    order: Sequence[str] | None = None,
) -> alt.LayerChart | alt.FacetChart:
    """A line for each value of `colour` over `x`, with its confidence interval as a whisker.

    titles: of the x axis, the y axis and the legend, units included. factor and x_factor turn SI into those units.
    """
    rows = table(summary, factor)
    rows[x] = rows[x] * x_factor
    series = list(order or rows[colour].unique())
    legend = alt.Legend(title=titles[2]) if len(series) > 1 else None
    whole = all(float(value).is_integer() for value in rows[x])
    axis = alt.Axis(tickMinStep=1, format="d") if whole else alt.Axis()
    base = alt.Chart(rows).encode(
        x=alt.X(x, title=titles[0], scale=x_scale or alt.Scale(zero=False), axis=axis),
        color=alt.Color(colour, type="nominal", sort=series, legend=legend),
    )
    # series may lie on top of one another, so that their dashes differ as well as their colours
    line = base.mark_line(point={"size": 30}, strokeWidth=2).encode(
        y=alt.Y("mean", title=titles[1], scale=y_scale or alt.Scale(zero=True)),
        strokeDash=alt.StrokeDash(colour, type="nominal", sort=series, legend=None),
    )
    whisker = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low", title=titles[1]), y2="high")
    return alt.layer(whisker, line).properties(width=WIDTH, height=HEIGHT)


def bars(
    summary: xr.DataArray,
    x: str,
    *,
    titles: tuple[str, str],
    factor: float = 1.0,
    order: Sequence[str] | None = None,
    paper: Mapping[str, float] | None = None,
    form: str = ",.1f",
) -> alt.LayerChart | alt.FacetChart:
    """A bar for each value of `x` with its interval and its number; the paper's figure is a dash across it."""
    rows = table(summary, factor)
    sort = list(order or rows[x].unique())
    top = 1.08 * max(float(summary.max()) * factor, *(paper or {"": 0.0}).values())
    base = alt.Chart(rows).encode(x=alt.X(x, type="nominal", title=titles[0], sort=sort, axis=alt.Axis(labelAngle=0)))
    layers = [
        base.mark_bar(width={"band": 0.6}, color="#9ecae1").encode(
            y=alt.Y("mean", title=titles[1], scale=alt.Scale(domain=[0, top]))
        ),
        base.mark_rule(strokeWidth=2, clip=True).encode(y=alt.Y("low", title=titles[1]), y2="high"),
        base.mark_text(fontSize=11).encode(y=alt.value(HEIGHT - 10), text=alt.Text("mean", format=form)),
    ]
    if paper:
        said = pd.DataFrame({x: list(paper), "paper": list(paper.values()), "series": "paper"})
        layers.append(
            alt.Chart(said)
            .mark_tick(thickness=3, width={"band": 0.8})
            .encode(
                x=alt.X(x, type="nominal", sort=sort),
                y="paper",
                color=alt.Color("series", type="nominal", title=None, scale=_paper_scale()),
            )
        )
    return alt.layer(*layers).properties(width=WIDTH / 2 + 20, height=HEIGHT)


def paper_points(points: Sequence[tuple[float, float]], x: str, titles: tuple[str, str]) -> alt.Chart:
    """The paper's figures as diamonds, to be layered over curves."""
    said = pd.DataFrame(points, columns=[x, "paper"]).assign(series="paper")
    return (
        alt.Chart(said)
        .mark_point(shape="diamond", size=110, filled=True, opacity=1)
        .encode(
            x=alt.X(x, title=titles[0]),
            y=alt.Y("paper", title=titles[1]),
            fill=alt.Fill("series", type="nominal", title=None, scale=_paper_scale()),
            color=alt.value(PAPER),
        )
    )


def _paper_scale() -> alt.Scale:
    return alt.Scale(domain=["paper"], range=[PAPER])


def explorer(
    values: xr.DataArray, x: str, colour: str, slider: str, *, titles: tuple[str, str, str, str], factor: float = 1.0
) -> alt.Chart:
    """Curves of means over `x` for each `colour`, with a slider for a third axis; alive in a page without a kernel.

    values: means over exactly these three axes. titles: of x, y, legend and slider.
    """
    rows = (values * factor).rename("value").reset_coords(drop=True).to_dataframe().reset_index()
    steps = sorted(rows[slider].unique().tolist())
    bind = alt.binding_select(options=steps, name=f"{titles[3]}: ")
    chosen = alt.param(name="chosen", value=steps[0], bind=bind)
    return (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X(x, title=titles[0], scale=alt.Scale(zero=False)),
            y=alt.Y("value", title=titles[1], scale=alt.Scale(domain=[0, factor * float(values.max())])),
            color=alt.Color(colour, type="nominal", title=titles[2]),
        )
        .transform_filter(alt.datum[slider] == chosen)
        .add_params(chosen)
        .properties(width=WIDTH, height=HEIGHT)
    )
