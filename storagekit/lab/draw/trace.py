"""A trace drawn: when its requests come, where they go, how large they are."""

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from storagekit.charts.live import Filled, Template
from storagekit.charts.theme import COLOURS, finished
from storagekit.units import KB

if TYPE_CHECKING:
    from storagekit.lab.trace import Advised
    from storagekit.workload.trace import RequestTrace

KINDS = {"reads": COLOURS[0], "writes": COLOURS[1]}
# bars over time, and points of it that are drawn
_BARS, _POINTS = 80, 1500
_WIDE, _HIGH = 460, 110


def character(answer: "Advised") -> Filled:
    """Arrivals over time, places over time, sizes; reads and writes apart. Times are the trace's own."""
    trace = answer.trace
    return Filled(_CHART.spec, {"arrivals": arrivals(trace), "places": places(trace), "sizes": sizes(trace)})


def arrivals(trace: "RequestTrace") -> list[dict[str, Any]]:
    """Requests a second in even steps of time, the last one's end included."""
    end = max(float(trace.time[-1]), 1e-9)
    edges = np.linspace(0, end, _BARS + 1)
    step = end / _BARS
    return [
        {"at": float(at), "until": float(at + step), "rate": float(count) / step, "kind": kind}
        for kind, of in _kinds(trace)
        for at, count in zip(edges[:-1], np.histogram(trace.time[of], edges)[0], strict=True)
    ]


def places(trace: "RequestTrace") -> list[dict[str, Any]]:
    """Where some of the requests go, evenly chosen, devices one after the other."""
    joined = trace.concatenated()
    chosen = np.unique(np.linspace(0, len(joined) - 1, _POINTS).round().astype(int))
    return [
        {"at": float(joined.time[one]), "gb": float(joined.offset[one]) / 1e9, "kind": _kind(bool(joined.read[one]))}
        for one in chosen
    ]


def sizes(trace: "RequestTrace") -> list[dict[str, Any]]:
    """Requests by size, each power of two in KB."""
    power = np.ceil(np.log2(np.maximum(trace.size, 1) / KB)).astype(int)
    return [
        {"size": f"{2.0**one:g}", "order": int(one), "percent": 100 * float(np.mean(of & (power == one))), "kind": kind}
        for kind, of in _kinds(trace)
        for one in np.unique(power)
    ]


def _kinds(trace: "RequestTrace") -> list[tuple[str, np.ndarray]]:
    return [("reads", trace.read), ("writes", ~trace.read)]


def _kind(read: bool) -> str:
    return "reads" if read else "writes"


def _drawing() -> alt.TopLevelMixin:
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())))
    time = alt.Axis(title="Time (s)", grid=False)
    rate = alt.Chart(alt.NamedData(name="arrivals")).mark_bar(orient="vertical")
    rate = rate.encode(
        alt.X("at:Q", axis=alt.Axis(title=None, labels=False, grid=False), scale=alt.Scale(nice=False)),
        alt.Y("rate:Q", title="Requests/s"),
        x2="until:Q",
        color=colour,
    )
    place = alt.Chart(alt.NamedData(name="places")).mark_circle(size=7, opacity=0.7)
    place = place.encode(
        alt.X("at:Q", axis=time, scale=alt.Scale(nice=False)), alt.Y("gb:Q", title="Place (GB)"), color=colour
    )
    size = alt.Chart(alt.NamedData(name="sizes")).mark_bar()
    size = size.encode(
        alt.X(
            "size:N",
            title="Size (KB, up to)",
            sort=alt.EncodingSortField("order", op="min"),
            axis=alt.Axis(labelAngle=0),
        ),
        alt.Y("percent:Q", title="Requests (%)"),
        color=colour,
    )
    panels = [one.properties(width=_WIDE, height=high) for one, high in ((rate, 80), (place, _HIGH), (size, 80))]
    return finished(alt.vconcat(*panels, spacing=10), "When, where, how much", "requests of the trace")


_CHART = Template(_drawing)
