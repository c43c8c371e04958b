"""Chart of a comparison of schemes: response times, their tails, and differences from a baseline with intervals."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed
from storagekit.charts.theme import COLOURS, PAPER, finished

Drawn = alt.TopLevelMixin
_MS = 1e3
# height of a row, and total height of everything around the rows, both in pixels
_ROW, _MARGIN = 34, 20


def comparison(summary: xr.Dataset, warned: list[str] | None = None) -> Drawn:
    """Return a chart with one row for each scheme.

    A row shows the mean response time with its 95% interval, the quantiles, and the relative difference of the mean and of
    the 99% quantile from the baseline `against`.

    Parameters
    ----------
    summary : Dataset
        Means and intervals by `scheme`, from `storagekit.compare`.
    warned : collection of str
        Schemes that are overloaded. The chart marks them.
    """
    schemes = summary.scheme.values.tolist()
    named = {scheme: f"{scheme} (overloaded)" if scheme in (warned or []) else scheme for scheme in schemes}
    order = list(named.values())
    against = summary.attrs["against"]
    panels = [
        headed(_responses(summary, named, order), "Response time, mean and tail", 340),
        headed(_differences(summary, named, order), f"Difference from {against}", 260),
    ]
    drawn = alt.hconcat(*panels, spacing=36).resolve_scale(color="independent", shape="independent")
    seeds = summary.attrs.get("replications", 1)
    where = summary.attrs.get("trace")
    caption = f"The runs have {seeds} seeds. Whiskers are 95% intervals over the seeds." + (
        f" The trace is {where.rsplit('/', 1)[-1]}." if where else ""
    )
    return finished(drawn, "Response times of the schemes", _finding(summary, warned or []), caption)


def _finding(summary: xr.Dataset, warned: list[str]) -> str:
    """Return a sentence that compares the response times of the fastest scheme without overload and of the baseline."""
    against = summary.attrs["against"]
    others = [scheme for scheme in summary.scheme.values.tolist() if scheme not in (against, *warned)]
    if not others:
        return "Only the baseline is not overloaded." if against not in warned else "Every scheme is overloaded."
    mean = summary.response_difference.sel(scheme=others)
    best = str(mean.sel(statistic="mean").idxmin("scheme").item())
    ours = mean.sel(scheme=best)
    middle, low, high = (100 * float(ours.sel(statistic=name)) for name in ("mean", "low", "high"))
    tail = 100 * float(summary.quantile_difference.sel(quantile=0.99, scheme=best, statistic="mean"))
    # a single seed has no interval
    sure = f" ({low:+.1f} to {high:+.1f})" if low == low else ""
    return (
        f"Response time of {best} compared with {against}: {middle:+.1f}%{sure} in the mean, and {tail:+.1f}% at the "
        "99th percentile."
    )


def _responses(summary: xr.Dataset, named: dict[str, str], order: list[str]) -> Layered:
    mean = _rows(summary.response, named, _MS).assign(figure="mean")
    quantiles = _rows(summary.response_quantile, named, _MS)
    quantiles["figure"] = [f"{100 * share:g}%" for share in quantiles["quantile"]]
    figures = ["mean", *(f"{100 * share:g}%" for share in summary["quantile"].values)]
    rows = pd.concat([mean, quantiles], ignore_index=True)
    shown = rows.loc[rows["mean"] > 0, :]
    ends = shown["mean"].to_numpy(float)
    scale = alt.Scale(type="log", domain=[0.8 * ends.min(), 1.25 * ends.max()], nice=False)
    x = alt.X("mean:Q", title="Response time (ms, logarithmic)", scale=scale)
    y = alt.Y("scheme:N", title=None, sort=order, axis=alt.Axis(labelLimit=260))
    shapes = alt.Scale(domain=figures, range=["diamond", "circle", "triangle-up", "square", "cross"])
    shades = alt.Scale(domain=figures, range=[COLOURS[6], *COLOURS[:4]])
    line = alt.Chart(shown).mark_line(color="#cccccc", strokeWidth=1.5).encode(x, y, detail="scheme:N", order="mean:Q")
    point = alt.Chart(shown).mark_point(filled=True, size=70, opacity=1)
    legend = alt.Legend(title="Mean and quantiles", orient="bottom", columns=5)
    drawn = point.encode(
        x,
        y,
        color=alt.Color("figure:N", scale=shades, legend=legend),
        shape=alt.Shape("figure:N", scale=shapes, legend=legend),
    )
    whisker = alt.Chart(shown).mark_rule(strokeWidth=1.5, clip=True)
    return alt.layer(line, whisker.encode(x=alt.X("low:Q"), x2="high:Q", y=y), drawn).properties(height=_height(order))


def _differences(summary: xr.Dataset, named: dict[str, str], order: list[str]) -> Layered:
    mean = _rows(summary.response_difference, named, 100).assign(figure="mean")
    tail = _rows(summary.quantile_difference.sel(quantile=0.99, drop=True), named, 100).assign(figure="99%")
    rows = pd.concat([mean, tail], ignore_index=True)
    figures = ["mean", "99%"]
    # numbers with enough distance to be read
    axis = alt.Axis(tickCount=6, labelFlush=False)
    x = alt.X("mean:Q", title="Difference of the response time (%)", scale=alt.Scale(zero=True, padding=8), axis=axis)
    y = alt.Y("scheme:N", title=None, sort=order, axis=alt.Axis(labels=False))
    colour = alt.Color(
        "figure:N",
        scale=alt.Scale(domain=figures, range=[COLOURS[6], COLOURS[2]]),
        legend=alt.Legend(title="Difference of", orient="bottom"),
    )
    apart = alt.YOffset("figure:N", sort=figures)
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x="zero:Q")
    whisker = (
        alt.Chart(rows)
        .mark_rule(strokeWidth=1.5)
        .encode(x=alt.X("low:Q"), x2="high:Q", y=y, yOffset=apart, color=colour)
    )
    point = alt.Chart(rows).mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, yOffset=apart, color=colour)
    return alt.layer(zero, whisker, point).properties(height=_height(order))


def _rows(values: xr.DataArray, named: dict[str, str], factor: float) -> pd.DataFrame:
    """Return one row for each point: the coordinates, the name of the scheme, and mean, low and high times `factor`."""
    wide = (values * factor).to_dataset("statistic").reset_coords(drop=True)
    rows = wide[["mean", "low", "high"]].to_dataframe().reset_index()
    return rows.assign(scheme=[named[scheme] for scheme in rows["scheme"]])


def _height(order: list[str]) -> float:
    return _MARGIN + _ROW * len(order)
