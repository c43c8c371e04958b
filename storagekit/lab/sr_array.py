"""Rotational replicas: striping, copies on one disk, and mirrors, with sliders."""

import pandas as pd

from storagekit.charts import AnswerText, ChoiceControl, Dashboard, Slider
from storagekit.charts.live import FilledDashboard
from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.lab.draw.ranked import Bars, ranked, ranking
from storagekit.lab.drives import KNOWN, drive_of
from storagekit.lab.page import LabPage
from storagekit.plan import LayoutAnswer, MaxThroughput, MinMean, array

_OBJECTIVES = {"most requests/s": MaxThroughput(), "shortest single request": MinMean()}
_CHART = ranking(
    (
        Bars("latency", "Response time of a single request (ms)", ".1f"),
        Bars("throughput", "Requests/s with the selected queue", ",.0f"),
    ),
    "D_s x D_r x D_m",
)


def answer(
    drive: str, disks: int, read_share: float, queue: float, locality: float, data: float, objective: str
) -> LayoutAnswer:
    """Return the answer of `sk.plan.array` for a drive of `KNOWN`.

    read_share: percent. data: percent of the raw capacity.
    """
    found = array(
        drive_of(drive),
        disks,
        read_share=read_share / 100,
        queue=queue,
        locality=locality,
        data=data / 100 * disks,
        objective=_OBJECTIVES[objective],
        mirrors=None,
    )
    if not found.feasible:
        raise InputError(f"no layout of {disks} drives is possible: {found.binding}")
    return found


def words(found: LayoutAnswer) -> AnswerText:
    """Return a text: the best layout, the meaning of its factors, and the layout that the paper's rule selects."""
    best = found.ranking[0]
    layout = best.layout
    parts = [f"striping factor {layout.striping}"]
    parts += [f"{layout.replicas} copies at equal angles on each disk"] if layout.replicas > 1 else []
    parts += [f"{layout.mirrors} mirrors"] if layout.mirrors > 1 else []
    lines = [
        f"{', '.join(parts).capitalize()}: {best.latency / MS:.2f} ms for a single request, {best.throughput:,.0f} "
        "requests/s.",
        "The rule of the SR-Array paper, rounded to whole disks, "
        + (f"gives {found.paper.layout}." if found.paper else "gives no feasible layout."),
        *([] if found.binding.constraint == "none" else [f"Binding constraint: {found.binding}"]),
    ]
    shown = found.ranking[:6]
    table = pd.DataFrame(
        {
            "single request (ms)": [one.latency / MS for one in shown],
            "requests/s": [one.throughput for one in shown],
            "response (ms)": [one.response / MS for one in shown],
        },
        index=pd.Index([str(one.layout) for one in shown], name="layout"),
    )
    return AnswerText(f"{layout}", lines, table)


def draw(found: LayoutAnswer) -> FilledDashboard:
    """Return the chart of the ranking: response time of a single request, and throughput."""
    every = found.ranking
    columns = {
        "name": [str(one.layout) for one in every],
        "latency": [one.latency / MS for one in every],
        "throughput": [one.throughput for one in every],
    }
    return _CHART.filled(rows=ranked(pd.DataFrame(columns)))


def dashboard() -> Dashboard:
    """Return the interactive page with its controls, as a `Dashboard`."""
    controls = {
        "drive": ChoiceControl("Drive", {name: name for name in KNOWN}, few=list(KNOWN)[:1]),
        "disks": Slider("Drives", 12, 1, 48, few=[6, 12, 24]),
        "read_share": Slider("Reads (%)", 70, 0, 100, 5, few=[50, 70, 90, 100]),
        "queue": Slider("Requests waiting per drive", 2, 0.5, 32, 0.5, few=[1, 2, 8]),
        "locality": Slider("Seek locality", 3, 1, 20, 0.5, few=[1, 3]),
        "data": Slider("Data (% of raw capacity)", 10, 1, 60, few=[10, 30]),
        "objective": ChoiceControl("Objective", {name: name for name in _OBJECTIVES}),
    }
    return Dashboard(answer, draw, controls, words)


PAGE = LabPage(
    "Rotational replicas",
    "Spare capacity can reduce response times. Wider striping shortens seeks, copies at equal angles on one disk "
    "shorten the rotational latency, and mirrors do both for reads. The best combination depends on the fraction of "
    "reads, the queue and the capacity.",
    dashboard,
)
