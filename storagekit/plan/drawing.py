"""Chart of a ranking of schemes."""

import math
from collections.abc import Sequence

import pandas as pd

from storagekit.charts.schemes import Chart, figure, ranking
from storagekit.core.units import MS
from storagekit.plan.check import Check
from storagekit.plan.objective import Objective
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import Requirements

# maximum number of bars, and largest ratio of a drawn time to the best time
_DRAWN, _TIMES = 16, 8
# for each measure of the bars: its unit, and the title of the axis
_MEASURES = {
    "throughput": (1.0, "Requests a second"),
    "mean": (MS, "Mean response time (ms)"),
    "p95": (MS, "95th percentile of the response time (ms)"),
    "p99": (MS, "99th percentile of the response time (ms)"),
}


def draw(needs: Requirements, ranked: Sequence[Prediction], objective: Objective, check: Check | None) -> Chart:
    """Return the chart; see `SchemesAnswer.chart`."""
    measure = (
        objective.name if objective.name in _MEASURES and not math.isnan(getattr(ranked[0], objective.name)) else "mean"
    )
    factor, title = _MEASURES[measure]
    best = getattr(ranked[0], measure)
    # bars that are much longer than the best bar would compress the other bars
    near = [one for one in ranked if measure == "throughput" or getattr(one, measure) <= _TIMES * best]
    simulated = {(row.candidate, row.measure): row for row in check.rows} if check else {}
    rows = []
    for one in near[:_DRAWN]:
        found = simulated.get((one.name, measure))
        said = (found.simulated, found.low, found.high) if found else (math.nan,) * 3
        rows.append((one.name, getattr(one, measure) / factor, *(value / factor for value in said)))
    table = pd.DataFrame(rows, columns=["scheme", "predicted", "simulated", "low", "high"])
    heading = f"{needs.data / 1e12:g} TB on {needs.disks} drives: {ranked[0].name} ranks first by {objective.meaning}"
    more = len(ranked) - len(rows)
    drawn = [f"{needs.drive.name}; schemes that tolerate {needs.tolerate} or more failures"]
    drawn += [f"{more} other schemes are not drawn"] if more > 0 else []
    drawn += ["whiskers: 95% confidence intervals"] if bool(table.simulated.notna().any()) else []
    return ranking(table, title, heading, _beside(table, title), "; ".join(drawn))


def _beside(rows: pd.DataFrame, title: str) -> str:
    """Return the subtitle: the measure, and the predicted values of the first two schemes."""
    first = zip(rows.scheme.head(2), rows.predicted.head(2), strict=True)
    text = "; the next, ".join(f"{scheme}: {figure(predicted)}" for scheme, predicted in first)
    return f"{title[0].lower()}{title[1:]}, {text}"
