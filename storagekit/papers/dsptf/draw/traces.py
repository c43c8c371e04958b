"""The traces themselves, drawn: what they are, how often memory answers them, and real ones of their kind."""

import math
from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, Side, paper_scale
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, PAPER, finished
from storagekit.papers.dsptf.draw.palette import (
    COLOUR,
    KEYS,
    PANEL,
    PERCENT,
    RESPONSE,
    ROW,
    TO_MS,
    TRACES,
    origin,
    scheme_rows,
    schemes_in,
    trace_names,
)

KB = 1024.0
# of table 2: variable, key of the claim, heading, what turns ours and the claim into the unit shown, and its format
FIGURES = (
    ("reads", "reads", "Reads (%)", 100.0, 100.0, ",.1f"),
    ("size", "size_kb", "Mean size (KB)", 1 / KB, 1.0, ",.2f"),
    ("requests", "requests", "Requests", 1.0, 1.0, ",.0f"),
    ("duration", "hours", "Duration (h)", 1 / 3600, 1.0, ",.2f"),
)
# figures of the part that runs, which a part can have wrong
PARTS = {"rate": "rate", "read_share": "share of reads", "mean_size": "mean size", "read_hit_rate": "hit rate, Central"}


def table2(data: xr.Dataset, compared: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """The figures of each trace above the published ones; right: how far off the stand-ins are as long as they run here.

    data: `reads`, `size` (bytes), `requests`, `duration` (s) and `basis` over `trace`. compared: `value` over `trace`,
    `figure` and `kind` ("target", "measured").
    """
    rows = [
        (
            trace,
            heading,
            format(float(data[name].sel(trace=key)) * ours, form),
            format(_said(paper, key, claim) * theirs, form),
        )
        for key, trace in trace_names(data.basis).items()
        for name, claim, heading, ours, theirs, form in FIGURES
    ]
    frame = pd.DataFrame(rows, columns=["trace", "figure", "ours", "published"])
    axis = alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False)
    base = alt.Chart(frame).encode(
        x=alt.X("figure:N", title=None, sort=None, axis=axis),
        y=alt.Y("trace:N", title=None, sort=None, axis=alt.Axis(domain=False, ticks=False)),
    )
    cells = [
        base.mark_text(fontSize=13, dy=-7).encode(text="ours:N"),
        base.mark_text(fontSize=11, dy=9, color=PAPER).encode(text="published:N"),
    ]
    height = 2 * ROW * len(data.trace)
    left = headed(alt.layer(*cells).properties(height=height), "At full length: ours, and below it the paper's", 440)
    right = headed(
        _errors(compared).properties(height=height), "The part of the stand-ins that runs here", 240, offset=18
    )
    # the rows of both panels belong together, whatever axes and headings take
    return finished(alt.hconcat(left, right, spacing=60, bounds="flush"), "Table 2: the traces", origin(data.basis))


def _said(paper: Mapping[str, float], trace: str, figure: str) -> float:
    return paper[f"dsptf.table2.{trace}[{figure}]"]


def _errors(compared: xr.Dataset) -> Layered:
    """Relative errors of the stand-ins in percent, a shape and colour for each figure."""
    value = compared.value.sel(figure=[name for name in PARTS if name in compared.figure])
    error = PERCENT * (value.sel(kind="measured", drop=True) / value.sel(kind="target", drop=True) - 1)
    frame = error.rename("error").to_dataframe().reset_index()
    frame = frame.assign(trace=frame["trace"].map(TRACES), words=frame["figure"].map(PARTS))
    words = list(PARTS.values())
    colour = alt.Scale(domain=words, range=COLOURS[: len(words)])
    most = max(1.0, 1.1 * float(frame["error"].abs().max()))
    x = alt.X("error:Q", title="Ours less published (%)", scale=alt.Scale(domain=[-most, most]))
    point = (
        alt.Chart(frame)
        .mark_point(size=60, filled=True, opacity=1)
        .encode(
            x=x,
            y=alt.Y("trace:N", title=None, sort=None, axis=None),
            yOffset=alt.YOffset("words:N", sort=words),
            color=alt.Color("words:N", title=None, scale=colour),
            shape=alt.Shape("words:N", title=None, scale=alt.Scale(domain=words)),
        )
    )
    zero = alt.Chart(pd.DataFrame({"error": [0.0]})).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x=x)
    return alt.layer(zero, point)


def table3(data: xr.Dataset, paper: Mapping[str, float], placed: str = "32 bricks of 512 MB") -> alt.TopLevelMixin:
    """Hit rates of reads by scheme, the paper's beside ours; a panel for each trace. placed: where data lies."""
    panels, schemes = [], schemes_in(data)
    every = [PERCENT * float(data.hit_rate.min()), PERCENT * float(data.hit_rate.max())]
    every += [PERCENT * value for claim, value in paper.items() if claim.startswith("dsptf.table3.")]
    scale = alt.Scale(domain=[5 * (min(every) // 5), 5 * ((max(every) + 2) // 5 + 1)])
    for number, (key, name) in enumerate(trace_names(data.basis).items()):
        ours = [PERCENT * float(data.hit_rate.sel(trace=key, scheme=scheme)) for scheme in schemes]
        # of a reader's own the paper says nothing
        said = [PERCENT * paper.get(f"dsptf.table3.{KEYS.get(scheme)}[{key}]", math.nan) for scheme in schemes]
        frame = pd.DataFrame({"scheme": schemes, "ours": ours, "paper": said, "series": "paper"})
        panels.append(headed(_rates(frame, scale, named=number == 0), name, PANEL))
    return finished(
        side_by_side(panels, legends="shared"),
        "Table 3: how often memory answers",
        f"{origin(data.basis)}, made to match the paper's Central SPTF; eight replicas, 50 LUNs, {placed}",
    )


def _rates(frame: pd.DataFrame, scale: alt.Scale, named: bool) -> Layered:
    axis = alt.Axis() if named else alt.Axis(labels=False, ticks=False)
    base = alt.Chart(frame).encode(y=alt.Y("scheme:N", title=None, sort=list(frame["scheme"]), axis=axis))
    x = alt.X("ours", title="Hits of reads (%)", scale=scale)
    dash = base.mark_tick(thickness=3, height={"band": 0.6}).encode(
        x=alt.X("paper", title="Hits of reads (%)", scale=scale),
        color=alt.Color("series:N", title=None, scale=paper_scale()),
    )
    point = base.mark_point(size=70, filled=True, opacity=1, color=COLOUR["Central SPTF"]).encode(x=x)
    number = base.mark_text(align="right", fontSize=11).encode(
        x=alt.value(PANEL - 2), text=alt.Text("ours", format=".1f")
    )
    return alt.layer(dash, point, number).properties(height=ROW * len(frame))


def traces(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Response time of reads (above) and hit rate (below) of real traces by scheme; a column for each `trace`."""
    columns, schemes = [], schemes_in(summary)
    for number, name in enumerate(summary.trace.values.tolist()):
        row = summary.sel(trace=name)
        time = scheme_rows(row.missed, schemes, Side(RESPONSE, TO_MS), named=number == 0, form=",.3r")
        most = alt.Scale(domain=[0, 100])
        hits = scheme_rows(row.hit_rate, schemes, Side("Hits of reads (%)", PERCENT, most), named=number == 0)
        columns.append(alt.vconcat(headed(time, name, PANEL), hits.properties(width=PANEL)))
    return finished(
        alt.hconcat(*columns, spacing=30),
        "Real traces on two equal bricks",
        f"the beginning of each {title('trace').lower()}, its devices end to end; above, reads that memory does not answer",
    )
