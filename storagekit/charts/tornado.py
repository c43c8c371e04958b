"""Chart of sensitivities: one bar for each parameter, sorted by length."""

from typing import Annotated, Any

import altair as alt
import xarray as xr

from storagekit.charts.marks import table
from storagekit.charts.theme import COLOURS, WIDTH, finished
from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, optional, text, validate

# height of a row, pixels
_ROW = 26


def _sensitivities(label: str, value: Any) -> xr.Dataset:
    data = instance_of(xr.Dataset, "the result of sk.sensitivity(...)")(label, value)
    if "elasticity" not in data or not {"measure", "parameter", "statistic"} <= set(data.elasticity.dims):
        raise InputError(
            f"{label} has no elasticities by measure, parameter and statistic: give the result of sk.sensitivity"
        )
    return data


@validate
def tornado(
    data: Annotated[xr.Dataset, _sensitivities], measure: Annotated[str | None, optional(text)] = None
) -> alt.TopLevelMixin:
    """Return a chart of the elasticities of one measure, the largest at the top.

    Parameters
    ----------
    data : Dataset
        The result of `storagekit.sensitivity`.
    measure : str, optional
        The measure; by default the first one.

    Returns
    -------
    LayerChart
        A bar for each parameter, with its confidence interval as a whisker (Altair).

    Raises
    ------
    InputError
        If `data` has no such measure.

    Examples
    --------
    >>> import storagekit as sk
    >>> found = sk.sensitivity(lambda rate, service: sk.analytic.response_mm1(rate, service), {"rate": 50.0, "service": 0.01})
    >>> chart = sk.charts.tornado(found)
    """
    known = [str(one) for one in data.measure.values]
    name = known[0] if measure is None else measure
    if name not in known:
        raise InputError(f"measure {name!r}: give one of {', '.join(known)}")
    rows = table(data.elasticity.sel(measure=name))
    rows = rows.sort_values("mean", key=abs, ascending=False)
    order, means = rows["parameter"].tolist(), rows["mean"].tolist()
    rows["effect"] = ["increase" if one > 0 else "decrease" for one in means]
    rows["number"] = [f"{one:+.2f}" for one in means]
    rows["end"] = rows[["mean", "low", "high"]].max(axis=1).clip(lower=0)
    base = alt.Chart(rows).encode(y=alt.Y("parameter:N", sort=order, title=None, axis=alt.Axis(labelLimit=320)))
    title = f"Relative change of {name} for each relative change of the parameter"
    bar = base.mark_bar(height=0.65 * _ROW).encode(
        x=alt.X("mean:Q", title=title),
        color=alt.Color(
            "effect:N", legend=None, scale=alt.Scale(domain=["increase", "decrease"], range=[COLOURS[0], COLOURS[1]])
        ),
    )
    whisker = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    number = base.mark_text(align="left", dx=5).encode(x=alt.X("end:Q", title=title), text="number:N")
    chart = alt.layer(bar, whisker, number).properties(width=WIDTH, height=_ROW * len(order))
    finding = f"A 1% larger {order[0]} changes {name} by {means[0]:+.2f}%."
    interval = data.attrs.get("replications", 1) > 1
    drawn = (
        f"Whiskers are {data.attrs['confidence']:.0%} intervals over {data.attrs['replications']} seeds."
        if interval
        else ""
    )
    return finished(chart, f"Sensitivities of {name}", finding, *filter(None, [drawn]))
