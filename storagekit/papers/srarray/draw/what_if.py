"""A planner's answers, drawn: the ranking of layouts, and the best one over a grid of questions."""

from typing import Any, Protocol

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.theme import HEIGHT, finished
from storagekit.papers.srarray.draw.palette import BLUE, ORANGE, TO_MS

SHOWN = 12
ROLES = {"recommended": BLUE, "the paper's rule": ORANGE, "other": "#bbbbbb"}


class Answer(Protocol):
    """What `storagekit.plan.best_sr_array` answers."""

    def to_dict(self) -> dict[str, Any]: ...


def ranking(answer: Answer) -> alt.TopLevelMixin:
    """Latency alone and throughput of the best layouts, best first; the recommended one and the paper's stand out."""
    said = answer.to_dict()
    question = said["question"]
    heading = f"{question['disks']} disks, best {question['objective']} first"
    rows = pd.DataFrame(said["ranking"][:SHOWN], columns=["layout", "latency_s", "throughput_per_s"])
    if rows.empty:
        return finished(alt.Chart(rows).mark_bar(), heading, f"not feasible: {said['binding']['constraint']}")
    paper = (said["paper_rule"] or {}).get("layout")
    rows["role"] = ["the paper's rule" if name == paper else "other" for name in rows["layout"]]
    rows.loc[0, "role"] = "recommended"
    rows["latency"] = rows["latency_s"] * TO_MS
    panels = alt.hconcat(
        _ranked(rows, "latency", "Latency of a request alone (ms)", ".2f"),
        _ranked(rows, "throughput_per_s", "Throughput at that queue (IO/s)", ",.0f"),
    )
    best = rows.iloc[0]
    agrees = "" if paper is None else "; the paper's rule agrees" if paper == best["layout"] else f"; its rule: {paper}"
    return finished(
        panels,
        heading,
        f"{best['layout']}: {best['latency']:.2f} ms alone, {best['throughput_per_s']:,.0f} IO/s{agrees}",
    )


def _ranked(rows: pd.DataFrame, field: str, words: str, form: str) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart(rows).encode(
        x=alt.X(field, type="quantitative", title=words, scale=alt.Scale(domainMin=0)),
        y=alt.Y("layout:N", title=f"{title('layout')} (D_s x D_r x D_m)", sort=None),
    )
    scale = alt.Scale(domain=list(ROLES), range=list(ROLES.values()))
    bar = base.mark_bar().encode(color=alt.Color("role:N", title=None, scale=scale))
    text = base.mark_text(align="left", dx=4, fontSize=11).encode(
        text=alt.Text(field, type="quantitative", format=form)
    )
    return alt.layer(bar, text).properties(width=260, height=HEIGHT)


def best_layouts(data: xr.Dataset) -> alt.TopLevelMixin:
    """The best layout over `disks` and `read_share` for a queue chosen below; a click on a cell shows what it gives.

    data: `striping`, `replicas`, `mirrors` and `throughput` (requests a second) over `disks`, `read_share` and `each`, the
    requests outstanding for each disk.
    """
    frame = data.to_dataframe().reset_index()
    frame["layout"] = frame[["striping", "replicas", "mirrors"]].astype(str).agg("x".join, axis=1)
    frame["reads"] = (100 * frame["read_share"]).round().astype(int)
    queues, first = sorted(frame["each"].unique().tolist()), frame.iloc[len(frame) // 2]
    chosen = alt.param(
        name="each",
        value=queues[0],
        bind=alt.binding_select(options=queues, name=f"{title('each')}: "),
    )
    cell = alt.selection_point(
        name="cell", fields=["disks", "reads"], value=[{"disks": int(first["disks"]), "reads": int(first["reads"])}]
    )
    base = (
        alt.Chart(frame)
        .encode(
            x=alt.X("disks:O", title=title("disks"), axis=alt.Axis(labelAngle=0)),
            y=alt.Y("reads:O", title=f"{title('read_share')} (%)", sort="descending"),
        )
        .transform_filter(alt.datum.each == chosen)
    )
    shade = alt.Color("replicas:O", title=f"{title('replicas')} on a disk", scale=alt.Scale(scheme="blues"))
    rect = base.mark_rect(strokeWidth=3).encode(
        color=shade, stroke=alt.when(cell, empty=False).then(alt.value(ORANGE)).otherwise(alt.value(None))
    )
    ink = alt.when(alt.datum.replicas > 3).then(alt.value("white")).otherwise(alt.value("black"))
    text = base.mark_text(fontSize=10).encode(text="layout:N", color=ink)
    grid = alt.layer(rect.add_params(cell), text).add_params(chosen).properties(width=480, height=HEIGHT)
    across = alt.Scale(type="log", base=2, nice=False, padding=15)
    picked = (
        alt.Chart(frame)
        .transform_filter(cell)
        .encode(
            x=alt.X("each", title=title("each"), scale=across, axis=alt.Axis(values=queues)),
            y=alt.Y("throughput", title="Throughput (IO/s)"),
        )
    )
    line = picked.mark_line(point=True, color=BLUE)
    names = picked.mark_text(dy=-10, fontSize=10).encode(text="layout:N")
    return finished(
        alt.hconcat(grid, alt.layer(line, names).properties(width=260, height=HEIGHT)).resolve_scale(
            color="independent"
        ),
        "Which layout, for how many disks and reads?",
        "click a cell: the throughput of its best layout, by queue",
    )
