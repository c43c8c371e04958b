"""Two streams that share bricks, drawn: figures 8 to 12."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered, Side, level, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import PAPER, finished
from storagekit.papers.dsfq.draw.palette import RATE, STREAMS, TO_MB, TO_MS, WHERE

ON_B = "Threads of g on B"
SHARED = "A"


def fig8(summary: xr.Dataset, depth: int, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Throughput and response of both streams against the threads of g. summary: of `fig8`, over `statistic`."""
    one, at = summary.sel(depth=depth), Side("Threads of g")
    share = pd.DataFrame({"at": [paper["dsfq.fig8.share_at"]], "words": ["paper: its share from here"]})
    rule = alt.Chart(share).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x="at:Q")
    text = (
        alt.Chart(share).mark_text(align="right", dx=-4, color=PAPER).encode(x="at:Q", y=alt.value(245), text="words")
    )
    rates = lines(one.throughput, "threads", "stream", STREAMS, (at, Side(RATE, TO_MB)), "Stream")
    waits = lines(one.response, "threads", "stream", STREAMS, (at, Side("Response (ms)", TO_MS)), "Stream")
    panels = [headed(alt.layer(rates, rule, text), "Throughput"), headed(alt.layer(waits, rule), "Response")]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 8: g gets its two thirds of a brick, and no more",
        f"30 threads of f, weights 1:2, D = {depth}; beyond its share g's threads wait and f is left alone",
    )


def fig9(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Totals, and what g gets on each brick, against its threads on B. summary: of `fig9`, over `statistic`."""
    panels = [
        headed(_totals(summary.sel(panel="a", drop=True), ON_B), "(a) files to 16 KB, weights 1:1"),
        headed(_totals(summary.sel(panel="b", drop=True), ON_B), "(b) files to 1 MB, weights 1:4, calibrated bricks"),
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 9: of what g gets on B, f gets its share back on A",
        "30 threads each on A; whiskers: 95%; once g has more on B than f could have of A, totals part",
    )


def fig10(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Totals against a third of the threads of g."""
    on_a = summary.assign_coords(threads=summary.threads / 3)
    return finished(
        _totals(on_a, "Threads of g, a third of all"),
        "Figure 10: g striped over three bricks",
        "30 threads of f on A; a thread of g is at one of three bricks at a time, most of them at A, which holds them up",
    )


def fig11(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Totals, and how far they are apart from second to second, by coordinators."""
    counts = summary.coordinators.values.tolist()
    panels = [headed(_totals(summary.sel(coordinators=count), ON_B), f"{count} in turn", 240) for count in counts]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 11: through one, two and four coordinators",
        "as figure 9(a); each coordinator knows a part of what goes elsewhere, and all of them the whole",
    )


def fig12(summary: xr.Dataset, minimum: float) -> alt.TopLevelMixin:
    """Totals under HYBRID-DSFQ, by coordinators; a line at g's minimum share of A."""
    made = float(summary.service.sel(statistic="mean", brick=0).sum("stream").mean())
    panels = [
        headed(
            alt.layer(_totals(summary.sel(coordinators=count), ON_B), level(minimum * made, "g's minimum of A", TO_MB)),
            f"{count} coordinator{'s in turn' if count > 1 else ''}",
        )
        for count in summary.coordinators.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 12: a twelfth of A is always g's",
        "20 threads each on A; totals part once g has much on B, and g is not shut out of A",
    )


def _totals(summary: xr.Dataset, title: str) -> Layered:
    """Both totals, and what g gets on A and elsewhere."""
    g = summary.service.sel(stream="g")
    series = {
        "f": summary.total.sel(stream="f"),
        "g": summary.total.sel(stream="g"),
        "g on A": g.sel(brick=0),
        "g elsewhere": g.isel(brick=slice(1, None)).sum("brick"),
    }
    rows = xr.concat([one.drop_vars(("stream", "brick"), errors="ignore") for one in series.values()], "series")
    rows = rows.assign_coords(series=list(series))
    return lines(rows, "threads", "series", WHERE, (Side(title), Side(RATE, TO_MB)), None)
