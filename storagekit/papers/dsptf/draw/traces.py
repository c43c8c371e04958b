"""Charts of the traces: characteristics, hit rates, and response times of real traces."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.marks import STANDING, AxisStyle, Layered, cut, paper_fill
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.paper import differences, figures
from storagekit.charts.theme import COLOURS, OURS, finished
from storagekit.charts.words import change, listed, span
from storagekit.papers.dsptf.claims import TABLE2, TABLE3
from storagekit.papers.dsptf.draw.palette import (
    PANEL,
    PERCENT,
    RESPONSE,
    ROW,
    TO_MS,
    TRACES,
    caption,
    origin,
    over,
    scheme_rows,
    schemes_in,
    trace_names,
)

KB, HITS = 1024.0, "Hit rate of reads (%)"
# Figures of table 2: variable, heading, factors from our value and the claim to the unit shown, and format.
FIGURES = (
    ("reads", "Reads (%)", 100.0, 100.0, ",.1f"),
    ("size", "Mean size (KB)", 1 / KB, 1.0, ",.2f"),
    ("requests", "Requests", 1.0, 1.0, ",.0f"),
    ("duration", "Duration (h)", 1 / 3600, 1.0, ",.2f"),
)
# Statistics of the simulated part of a trace. In these statistics the part may deviate from the whole trace.
PARTS = {
    "rate": "rate",
    "read_share": "share of reads",
    "mean_size": "mean size",
    "read_hit_rate": "hit rate of Central",
}


def table2(data: xr.Dataset, compared: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the characteristics of each trace above the published numbers, and the errors of the simulated part.

    Parameters
    ----------
    data : Dataset
        `reads`, `size` (bytes), `requests`, `duration` (seconds) and `basis` over `trace`.
    compared : Dataset
        `value` over `trace`, `figure` and `kind` ("target", "measured").
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The table has a row for each trace. The errors are in %.
    """
    said = TABLE2.numbers(paper)
    rows = [
        (
            trace,
            heading,
            format(float(data[name].sel(trace=key)) * ours, form),
            format(float(said.sel(trace=key, figure=name)) * theirs, form),
        )
        for key, trace in trace_names(data.basis).items()
        for name, heading, ours, theirs, form in FIGURES
    ]
    height = 2 * ROW * len(data.trace)
    table = figures(pd.DataFrame(rows, columns=["trace", "figure", "ours", "paper"]), "trace", "figure")
    left = headed(table.properties(height=height), "Full length: our value above the paper's", 440)
    errors, colours = _errors(compared), dict(zip(PARTS.values(), COLOURS, strict=False))
    apart = differences(errors, "trace", "words", colours, "Difference from the target (%)", None)
    right = headed(apart.properties(height=height), "Simulated part of the synthetic traces", 240, offset=26)
    return finished(
        # Align the rows of both panels.
        alt.hconcat(left, right, spacing=60, bounds="flush"),
        "Table 2: characteristics of the traces",
        f"In the simulated part of the traces every statistic is within {errors['error'].abs().max():.1f}% of its "
        "target.",
        f"The traces are {origin(data.basis)}. The paper prints 85% reads for Financial. We simulate 23%, the share "
        "of the public trace, and the right panel compares with 23%.",
    )


def _errors(compared: xr.Dataset) -> pd.DataFrame:
    """Return the relative errors of the synthetic traces, percent, by name of trace and statistic."""
    value = compared.value.sel(figure=[name for name in PARTS if name in compared.figure])
    error = PERCENT * (value.sel(kind="measured", drop=True) / value.sel(kind="target", drop=True) - 1)
    frame = error.rename("error").to_dataframe().reset_index()
    return frame.assign(trace=frame["trace"].map(TRACES), words=frame["figure"].map(PARTS))


def table3(data: xr.Dataset, paper: Mapping[str, float], location: str = "32 bricks of 512 MB") -> alt.TopLevelMixin:
    """Draw our hit rates of reads and the paper's hit rates by scheme, in a panel for each trace.

    Parameters
    ----------
    data : Dataset
        `hit_rate` over `trace` and `scheme`, and `basis` over `trace`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.
    location : str
        Words for the location of the data in the subtitle, by default "32 bricks of 512 MB".

    Returns
    -------
    altair.TopLevelMixin
        Hit rates are in %.
    """
    panels, schemes = [], schemes_in(data)
    names = trace_names(data.basis)
    # The paper has no hit rates for other schemes and traces.
    said = PERCENT * TABLE3.numbers(paper).reindex(trace=list(names), scheme=schemes)
    ours = PERCENT * data.hit_rate.sel(scheme=schemes)
    every = [*ours.values.ravel(), *said.values.ravel()]
    scale = alt.Scale(domain=[5 * (np.nanmin(every) // 5), 5 * ((np.nanmax(every) + 2) // 5 + 1)])
    for number, (key, name) in enumerate(names.items()):
        columns = {"ours": ours.sel(trace=key).values, "paper": said.sel(trace=key).values}
        frame = pd.DataFrame({"scheme": schemes, **columns, "series": "paper"})
        panels.append(headed(_rates(frame, scale, named=number == 0), name, PANEL))
    pairs = [scheme for scheme in ("D-SPTF", "Hashing") if {scheme, "Central SPTF"} <= set(schemes)]
    losses = [f"{scheme} {_lost(ours, scheme, '.1f')} (paper: {_lost(said, scheme, '.0f')})" for scheme in pairs]
    found = (
        [f"The hit rates are below the hit rate of Central SPTF by these percentage points: {listed(losses)}"]
        if losses
        else []
    )
    return finished(
        side_by_side(panels, legends="shared"),
        "Table 3: hit rates of reads in memory",
        caption(found, schemes),
        f"The traces are {origin(data.basis)}. Every synthetic trace matches the paper's hit rate of Central SPTF. The "
        f"system has eight replicas, 50 LUNs and {location}.",
        legends="bottom",
    )


def _lost(rate: xr.DataArray, scheme: str, form: str) -> str:
    """Return, in words, the range over the traces of the loss of hit rate of a scheme, in percentage points.

    The loss is the hit rate of Central SPTF minus the hit rate of the scheme.
    """
    lost = rate.sel(scheme="Central SPTF") - rate.sel(scheme=scheme)
    return span(np.maximum(lost.values, 0), form)


def _rates(frame: pd.DataFrame, scale: alt.Scale, named: bool) -> Layered:
    axis = alt.Axis() if named else alt.Axis(labels=False, ticks=False)
    base = alt.Chart(frame).encode(y=alt.Y("scheme:N", title=None, sort=list(frame["scheme"]), axis=axis))
    words = cut(HITS, scale)
    x = alt.X("ours", title=words, scale=scale, axis=alt.Axis(tickCount=4))
    dash = base.mark_tick(thickness=3, height={"band": 0.6}, opacity=1).encode(
        x=alt.X("paper", title=words, scale=scale), fill=paper_fill(STANDING)
    )
    point = base.mark_point(size=70, filled=True, opacity=1, color=OURS).encode(x=x)
    number = base.mark_text(align="right", fontSize=11).encode(
        x=alt.value(PANEL - 2), text=alt.Text("ours", format=".1f")
    )
    return alt.layer(dash, point, number).properties(height=ROW * len(frame))


def traces(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the mean response times (above) and the hit rates (below) by scheme, in a column for each real trace.

    Parameters
    ----------
    summary : Dataset
        `response` and `hit_rate` over `trace`, `scheme` and `statistic`.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms, and hit rates in %.
    """
    columns, schemes, names = [], schemes_in(summary), summary.trace.values.tolist()
    for number, name in enumerate(names):
        row = summary.sel(trace=name)
        time = scheme_rows(row.response, schemes, AxisStyle(RESPONSE, TO_MS), named=number == 0, form=",.3r")
        most = alt.Scale(domain=[0, 100])
        hits = scheme_rows(row.hit_rate, schemes, AxisStyle(HITS, PERCENT, most), named=number == 0)
        columns.append(alt.vconcat(headed(time, name, PANEL), hits.properties(width=PANEL)))
    ratios = over(summary.response.sel(statistic="mean"), "Hashing")
    longer = [
        f"{change(ratio, 'more time', 'less time', 'as long')} on {name}"
        for ratio, name in zip(ratios, names, strict=False)
    ]
    found = [f"Compared with D-SPTF, requests take {listed(longer)} under hashing"] if longer else []
    return finished(
        alt.hconcat(*columns, spacing=30),
        "Real traces on two equal bricks: response times and hit rates",
        caption(found, schemes),
        "The runs use the beginning of each trace, with the addresses of its devices one after the other. Each panel "
        "of response times has a separate scale. Whiskers are 95% intervals.",
    )
