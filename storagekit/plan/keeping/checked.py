"""Predictions of schemes beside their simulation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from storagekit.core.units import MS
from storagekit.plan.keeping.predicting import TELLING


@dataclass(frozen=True)
class Checked:
    """A measure of a scheme, predicted and simulated: mean, and its 95% interval low to high; seconds, requests a second."""

    predicted: float
    simulated: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Predicted over simulated, less 1; nan where no formula predicts it."""
        return self.predicted / self.simulated - 1


@dataclass(frozen=True)
class SchemeCheck:
    """A scheme's measures by name (throughput, mean, p99); overloaded: more came than was served. limits: what measures were
    to keep within."""

    scheme: str
    doubt: str
    measures: dict[str, Checked]
    overloaded: bool
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def remarks(self) -> list[str]:
        """A sentence for each measure that, simulated, is beyond what was asked; and for each whose prediction is more than
        5% from the simulation, and why, if that can be told."""
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
        return self.doubt


@dataclass(frozen=True)
class SchemesCheck:
    """The best schemes simulated; attrs: what made the figures."""

    rows: tuple[SchemeCheck, ...]
    attrs: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; seconds, requests a second."""
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
    """JSON has no infinity and no nan."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }
