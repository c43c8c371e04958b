"""Chart of a ranking of schemes."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from storagekit.charts.schemes import Chart, figure, ranking
from storagekit.core.units import MS
from storagekit.plan.scheme_ranking.aims import Aim
from storagekit.plan.scheme_ranking.checked import Checked
from storagekit.plan.scheme_ranking.predicting import Prediction
from storagekit.plan.scheme_ranking.requirements import Requirements

_DRAWN, _TIMES = 16, 8
# for each goal: the measure of the bars, its unit, and the title of the axis
_SHOWN = {
    "throughput": ("throughput", 1.0, "Requests a second"),
    "mean": ("mean", MS, "Mean response time (ms)"),
    "p95": ("p95", MS, "95% of the requests answered within (ms)"),
    "p99": ("p99", MS, "99% of the requests answered within (ms)"),
    "cost": ("mean", MS, "Mean response time (ms)"),
    "capacity": ("mean", MS, "Mean response time (ms)"),
}
# for each goal: the phrase about the best scheme
_BEST = {
    "throughput": "serves the most requests",
    "mean": "has the shortest mean response",
    "p95": "has the shortest 95% response",
    "p99": "has the shortest tail",
    "cost": "costs least",
    "capacity": "has the most capacity",
}


def draw(
    needs: Requirements, ranked: Sequence[Prediction], goal: Aim, seen: Mapping[str, Mapping[str, Checked]]
) -> Chart:
    """Return the chart; see `SchemesAnswer.chart`. seen: simulated values, keyed by scheme and measure."""
    measure, factor, title = _SHOWN[goal.name]
    if math.isnan(getattr(ranked[0], measure)):
        measure, factor, title = _SHOWN["mean"]
    best = getattr(ranked[0], measure)
    # times far above the best would compress the rest of the chart
    near = [one for one in ranked if measure == "throughput" or getattr(one, measure) <= _TIMES * best]
    rows = []
    for one in near[:_DRAWN]:
        found = seen.get(one.name, {}).get(measure)
        said = (found.simulated, found.low, found.high) if found else (math.nan,) * 3
        rows.append((one.name, getattr(one, measure) / factor, *(value / factor for value in said)))
    table = pd.DataFrame(rows, columns=["scheme", "predicted", "simulated", "low", "high"])
    heading = f"{needs.data / 1e12:g} TB on {needs.disks} drives: {ranked[0].name} {_BEST[goal.name]}"
    more = len(ranked) - len(rows)
    drawn = [f"{needs.drive.name}; schemes that tolerate {needs.tolerate} or more failures"]
    drawn += [f"{more} more not drawn"] if more > 0 else []
    drawn += ["whiskers: 95% over runs"] if bool(table.simulated.notna().any()) else []
    return ranking(table, title, heading, _beside(table, title), "; ".join(drawn))


def _beside(rows: pd.DataFrame, title: str) -> str:
    """Return a sentence with the values of the first two schemes."""
    first = zip(rows.scheme.head(2), rows.predicted.head(2), strict=True)
    told = "; the next, ".join(f"{scheme}: {figure(predicted)}" for scheme, predicted in first)
    return f"{title[0].lower()}{title[1:]}, {told}"
