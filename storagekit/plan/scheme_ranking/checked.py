"""Predictions of schemes and their simulation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from storagekit.core.units import MS
from storagekit.plan.scheme_ranking.predicting import TELLING


@dataclass(frozen=True)
class Checked:
    """A predicted value and its simulation, in seconds or requests a second.

    simulated: mean over the runs. low and high: ends of its 95% confidence interval.
    """

    predicted: float
    simulated: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Return the predicted value divided by the simulated value, minus 1; NaN without a prediction."""
        return self.predicted / self.simulated - 1


@dataclass(frozen=True)
class SchemeCheck:
    """The predicted and simulated values of a scheme, keyed by measure (such as throughput, mean or p99).

    overloaded: whether more requests arrived than were served. limits: limits of the measures, keyed by measure.
    """

    scheme: str
    caveat: str
    measures: dict[str, Checked]
    overloaded: bool
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def remarks(self) -> list[str]:
        """Return sentences about the simulation.

        There is one sentence for each measure beyond its limit, and one for each prediction that differs from the simulation
        by more than 5%, with the cause if it is known.
        """
        if self.overloaded:
            return [f"{self.scheme}: more requests came than were served; the simulated times grow with the run"]
        seen = {name: self.measures[name].simulated for name in self.limits}
        beyond = [
            f"{self.scheme}: {name} is {seen[name] / MS:.1f} ms in simulation, over the {limit / MS:g} asked"
            for name, limit in self.limits.items()
            if seen[name] > limit
        ]
        return beyond + [
            f"{self.scheme}: {name} is predicted {one.difference:+.0%} off: {self._because(one)}"
            for name, one in self.measures.items()
            if abs(one.difference) > TELLING
        ]

    def _because(self, one: Checked) -> str:
        if one.low <= one.predicted <= one.high:
            return "the simulation is too short to tell; give more requests or seeds"
        return self.caveat


@dataclass(frozen=True)
class SchemesCheck:
    """Simulation results of the best schemes. attrs: provenance of the simulation."""

    rows: tuple[SchemeCheck, ...]
    attrs: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON, in seconds and requests a second."""
        rows = [
            {
                "scheme": row.scheme,
                "overloaded": row.overloaded,
                "remarks": row.remarks,
                **{name: finite(vars(one) | {"difference": one.difference}) for name, one in row.measures.items()},
            }
            for row in self.rows
        ]
        return {"rows": rows, "attrs": self.attrs}

    def __str__(self) -> str:
        wide = 2 + max(len(row.scheme) for row in self.rows)
        runs = f"{len(self.attrs['seeds'])} runs of {self.attrs['requests']} requests"
        lines = [
            f"simulated, {runs}",
            f"  {'scheme':<{wide}}{'':<12}{'predicted':>11}{'simulated':>11}{'95% interval':>22}{'':>9}",
        ]
        for row in self.rows:
            for name, one in row.measures.items():
                unit, scale = ("requests/s", 1.0) if name == "throughput" else ("ms", MS)
                interval = f"{one.low / scale:.2f} to {one.high / scale:.2f}"
                said = f"{one.predicted / scale:>11.2f}" if math.isfinite(one.predicted) else f"{'-':>11}"
                off = f"{one.difference:>+9.1%}" if math.isfinite(one.difference) else ""
                label = f"{name}, {unit}" if name != "throughput" else unit
                lines.append(
                    f"  {row.scheme:<{wide}}{label:<12}{said}{one.simulated / scale:>11.2f}{interval:>22}{off}"
                )
        remarks = [remark for row in self.rows for remark in row.remarks]
        return "\n".join([*lines, *(remarks or [f"predictions agree within {TELLING:.0%}"])])


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with None instead of infinity and NaN, which JSON cannot represent."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }
