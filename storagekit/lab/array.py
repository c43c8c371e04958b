"""Layout of an array: the planner's question about schemes, with sliders."""

import math

import pandas as pd

from storagekit.charts import AnswerText, ChoiceControl, Dashboard, Slider, StepsControl
from storagekit.charts.live import FilledDashboard
from storagekit.core.errors import InputError
from storagekit.core.units import HOUR, KB, MS, SECTOR
from storagekit.lab.draw.ranked import Bars, Span, ranked, ranking, spanned
from storagekit.lab.drives import KNOWN, drive_of
from storagekit.lab.page import LabPage
from storagekit.plan import MaxCapacity, MaxThroughput, MinCost, MinMean, MinP99, SchemesAnswer, schemes

_TB = 1e12
_RATE, _OUTSTANDING = "arrives at a rate", "keeps requests outstanding"
_OBJECTIVES = {
    "shortest mean": MinMean(),
    "shortest 99th percentile": MinP99(),
    "most requests/s": MaxThroughput(),
    "fewest drives": MinCost(),
    "most capacity": MaxCapacity(),
}
_CHART = ranking(
    (
        Span("Response time: mean | 99th percentile (ms)"),
        Bars("throughput", "Maximum requests/s", ",.0f"),
    ),
    "Scheme",
)
_LISTED = 8


def answer(
    drive: str,
    disks: int,
    data: float,
    size: float,
    read_share: float,
    load: str,
    rate: float,
    outstanding: int,
    tolerate: int,
    objective: str,
) -> SchemesAnswer:
    """Return the answer of `sk.plan.schemes` for the values of the controls.

    drive: a name in `KNOWN`. data: percent of the raw capacity.

    Raises InputError if no scheme is feasible.
    """
    spindle, comes = drive_of(drive), load == _RATE
    found = schemes(
        spindle,
        disks,
        data=data / 100 * disks * float(spindle.capacity) * SECTOR,
        size=size * KB,
        read_share=read_share / 100,
        rate=rate if comes else None,
        outstanding=None if comes else outstanding,
        tolerate=tolerate,
        objective=_OBJECTIVES[objective],
    )
    if not found.feasible:
        raise InputError(f"no scheme of {disks} drives meets these requirements: {found.binding}")
    return found


def words(found: SchemesAnswer) -> AnswerText:
    """Return a text: the recommended scheme, its predicted performance, and the schemes that are too slow."""
    best, needs = found.ranking[0], found.needs
    load = f"{needs.rate:g} requests/s" if needs.rate is not None else f"{needs.outstanding} outstanding"
    tail = f", 99th percentile {best.p99 / MS:.0f} ms" if math.isfinite(best.p99) else ""
    lines = [
        f"Mean response time {best.mean / MS:.1f} ms{tail}, mostly {best.binds}; maximum {best.throughput:,.0f} "
        f"requests/s; disk utilization {best.utilization:.0%}.",
        f"Question: {needs.data / _TB:.3g} TB on {needs.disks} x {needs.drive.name}, {load}; "
        f"tolerated failures: {needs.tolerate}.",
    ]
    if found.refused:
        lines.append(f"Too slow for this load: {', '.join(one.name for one in found.refused[:4])}.")
    return AnswerText(f"{best.name}, of {best.scheme.disks} drives", lines, _table(found))


def _table(found: SchemesAnswer) -> pd.DataFrame:
    shown = found.ranking[:_LISTED]
    return pd.DataFrame(
        {
            "mean response (ms)": [one.mean / MS for one in shown],
            "99th percentile (ms)": [one.p99 / MS for one in shown],
            "requests/s": [one.throughput for one in shown],
            "utilization (%)": [100 * one.utilization for one in shown],
            "capacity (TB)": [one.usable / _TB for one in shown],
            "tolerates": [one.tolerates for one in shown],
            "rebuild (h)": [one.rebuild / HOUR for one in shown],
        },
        index=pd.Index([one.name for one in shown], name="scheme"),
    )


def draw(found: SchemesAnswer) -> FilledDashboard:
    """Return the chart of the ranking: response times and throughput."""
    every = found.ranking
    columns = spanned([one.mean / MS for one in every], [one.p99 / MS for one in every]) | {
        "name": [one.name for one in every],
        "throughput": [one.throughput for one in every],
    }
    return _CHART.filled(rows=ranked(pd.DataFrame(columns)))


def dashboard() -> Dashboard:
    """Return the interactive page with its controls, as a `Dashboard`."""
    controls = {
        "drive": ChoiceControl("Drive", {name: name for name in KNOWN}, few=list(KNOWN)[:1]),
        "disks": Slider("Drives", 12, 2, 60, few=[6, 12, 24]),
        "data": Slider("Data (% of raw capacity)", 25, 1, 80, few=[25]),
        "size": StepsControl("Request size (KB)", 64, [4, 8, 16, 32, 64, 128, 256, 512, 1024], few=[4, 64]),
        "read_share": Slider("Reads (%)", 70, 0, 100, 5, few=[30, 70]),
        "load": ChoiceControl("Load", {_RATE: _RATE, _OUTSTANDING: _OUTSTANDING}, few=[_RATE]),
        "rate": Slider("Requests/s, if they arrive at a rate", 500, 20, 5000, 20, few=[200, 500, 1000]),
        "outstanding": Slider("Requests outstanding, if kept", 32, 1, 512, few=[32]),
        "tolerate": Slider("Failures to tolerate", 1, 0, 3, few=[0, 1, 2]),
        "objective": ChoiceControl("Objective", {name: name for name in _OBJECTIVES}, few=["shortest mean"]),
    }
    return Dashboard(answer, draw, controls, words)


PAGE = LabPage(
    "Lay out an array",
    "Which scheme suits given drives, data and requests: RAID 10, 5 or 6, an erasure code, or rotational replicas? "
    "All results on this page are computed from formulas.",
    dashboard,
)
