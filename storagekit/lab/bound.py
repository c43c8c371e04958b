"""Bounds of unfairness: two streams on two bricks, and the bound on the difference between their services."""

import math

import xarray as xr

from storagekit.charts import AnswerText, Dashboard, Slider
from storagekit.charts.live import FilledDashboard
from storagekit.lab.draw.shared import WAYS, sharing
from storagekit.lab.page import LabPage
from storagekit.papers.dsfq.what_if import what_if

_MB = 1e6
_CHART = sharing(["f", "g"])


def answer(
    weight_f: float,
    weight_g: float,
    minimum: float,
    threads_f: int,
    threads_g: int,
    coordinators: int,
    rate_a: float,
    rate_b: float,
) -> xr.Dataset:
    """Return the result of `storagekit.papers.dsfq.what_if` for a minimum in percent and rates in MB/s."""
    counts = int(threads_f), int(threads_g), int(coordinators)
    return what_if(weight_f, weight_g, minimum / 100, *counts, rate_a * _MB, rate_b * _MB)


def words(found: xr.Dataset) -> AnswerText:
    """Return a text: the bound on the difference between the services of the streams, and the rate of each stream."""
    bound = float(found.bound)
    gets = ", ".join(
        f"{name} {float(found.rate.sel(policy='total', stream=name).sum()) / _MB:.2f} MB/s"
        for name in found.stream.values
    )
    held = "; ".join(f"{name} is limited by {found.attrs[f'held_back_{name}']}" for name in found.stream.values)
    lines = [f"With fairness over both bricks together: {gets}; {held}."]
    if math.isinf(bound):
        return AnswerText("No bound: g receives no service at A, or only its minimum share", lines)
    head = (
        f"The service of the streams differs by at most {bound / _MB:.2f} MB over any interval in which both are "
        "backlogged at A"
    )
    return AnswerText(
        head,
        [
            *lines,
            (
                "The bound is for service divided by weight, if every batch of requests has the mean composition (DSFQ "
                "paper, equation 8, corrected)."
            ),
        ],
    )


def draw(found: xr.Dataset) -> FilledDashboard:
    """Return the chart of rates by stream and brick under both policies."""
    rows = (found.rate / _MB).to_dataframe().dropna().reset_index()
    return _CHART.filled(rows=rows.assign(way=[WAYS[policy] for policy in rows.policy]))


def dashboard() -> Dashboard:
    """Return the interactive page with its controls, as a `Dashboard`."""
    few = [1, 2, 4]
    controls = {
        "weight_f": Slider("Weight of f, on A", 1, 0.5, 8, 0.5, few=few),
        "weight_g": Slider("Weight of g, on A and B", 1, 0.5, 8, 0.5, few=few),
        "minimum": Slider("Minimum share of a brick (%)", 0, 0, 50, few=[0, 10]),
        "threads_f": Slider("Threads of f", 30, 1, 100, few=[30]),
        "threads_g": Slider("Threads of g on each brick", 30, 1, 100, few=[30]),
        "coordinators": Slider("Coordinators of g", 1, 1, 16, few=[1, 4, 16]),
        "rate_a": Slider("Rate of brick A (MB/s)", 6, 1, 200, few=[6]),
        "rate_b": Slider("Rate of brick B (MB/s)", 4, 1, 200, few=[2, 4, 6, 12]),
    }
    return Dashboard(answer, draw, controls, words)


PAGE = LabPage(
    "Bound of the unfairness",
    "Stream f uses brick A, and stream g uses A and B. The rates are long-run means. Over short intervals the "
    "service of the streams may differ, up to a bound.",
    dashboard,
)
