"""The result of a check: predicted values and simulated values."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from storagekit.core.units import MS
from storagekit.plan.answer import finite, text_table

# Default of the largest relative difference that counts as agreement.
WITHIN = 0.05
# Units of measures in the text of a check, and their values in SI. Other measures are times in ms.
_UNITS = {"throughput": ("requests/s", 1.0), "rate": ("MB/s", 1e6)}


@dataclass(frozen=True)
class CheckRow:
    """One measure of one candidate: its predicted value and its simulated value.

    Parameters
    ----------
    candidate : str
        Name of the layout, the scheme or the stream.
    measure : str
        "response", "mean", "p95", "p99", "mean of" or "p99 of" a tenant in seconds, "throughput" in requests a second, or
        "rate" in bytes a second.
    predicted : float
        The predicted value; NaN if there is no formula.
    simulated, low, high : float
        The mean over the simulation runs, and the lower and upper end of its 95% confidence interval.
    limit : float, optional
        The limit of the measure in the question.
    cause : str
        The known cause of a difference that longer runs have confirmed, by default "".
    """

    candidate: str
    measure: str
    predicted: float
    simulated: float
    low: float
    high: float
    limit: float | None = None
    cause: str = ""

    @property
    def difference(self) -> float:
        """Return the predicted value divided by the simulated value, minus 1; NaN without a prediction."""
        if math.isnan(self.predicted):
            return math.nan
        return self.predicted / self.simulated - 1 if self.simulated else math.inf


@dataclass(frozen=True)
class Check:
    """Predicted and simulated values of candidates.

    Parameters
    ----------
    kind : str
        The kind of the candidates: "layout", "scheme" or "stream".
    rows : tuple of CheckRow
        The rows of each candidate, in the order of the ranking.
    attrs : dict
        Provenance of the simulation.
    scheduler : str
        Name of the scheduler of the disks, by default "".
    within : float
        The largest relative difference that counts as agreement, by default 5%.
    overloaded : tuple of str
        The candidates for which more requests arrived than were served, by default none.
    """

    kind: str
    rows: tuple[CheckRow, ...]
    attrs: dict[str, Any]
    scheduler: str = ""
    within: float = WITHIN
    overloaded: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return whether the relative difference of every prediction from its simulated value is at most `within`."""
        return all(math.isnan(row.predicted) or abs(row.difference) <= self.within for row in self.rows)

    @property
    def remarks(self) -> list[str]:
        """Return a sentence for each overload, each exceeded limit and each difference above `within`."""
        overloads = [
            f"{name}: more requests arrived than were served; the simulated times grow with the length of the run"
            for name in self.overloaded
        ]
        kept = [row for row in self.rows if row.candidate not in self.overloaded]
        return overloads + [remark for row in kept for remark in self._remarks(row)]

    def _remarks(self, row: CheckRow) -> Iterator[str]:
        if row.limit is not None and row.simulated > row.limit:
            value, limit = f"{row.simulated / MS:.1f} ms", f"{row.limit / MS:g} ms"
            yield f"{row.candidate}: the simulated {row.measure} is {value}, above the limit of {limit}"
        if abs(row.difference) > self.within:
            covered = row.low <= row.predicted <= row.high
            cause = "the simulation is too short to decide; use more requests or seeds" if covered else row.cause
            difference = (
                f"{row.candidate}: the predicted {row.measure} differs by {row.difference:+.0%} from the simulation"
            )
            yield f"{difference}: {cause}" if cause else difference

    def to_dict(self) -> dict[str, Any]:
        """Return the check as a dictionary for JSON, in seconds, bytes and requests a second."""
        values = ("measure", "predicted", "simulated", "low", "high", "difference")
        rows = [finite({self.kind: row.candidate} | {name: getattr(row, name) for name in values}) for row in self.rows]
        return {
            "rows": rows,
            "scheduler": self.scheduler,
            "within": self.within,
            "agrees": self.agrees,
            "overloaded": list(self.overloaded),
            "remarks": self.remarks,
            "attrs": self.attrs,
        }

    def __str__(self) -> str:
        heading = ", ".join(part for part in ("simulated", self.scheduler, self._runs()) if part)
        titles = (self.kind, "", "predicted", "simulated", "95% interval", "difference")
        table = text_table(titles, [self._cells(row) for row in self.rows], (0, 14, 11, 11, 22, 12))
        return "\n".join([heading, *table, *(self.remarks or [f"predictions agree within {self.within:.0%}"])])

    def _cells(self, row: CheckRow) -> tuple[str, ...]:
        unit, scale = _UNITS.get(row.measure, ("ms", MS))
        label = unit if row.measure in _UNITS else f"{row.measure}, {unit}"
        known = math.isfinite(row.predicted)
        predicted, simulated, low, high = (
            f"{value / scale:.2f}" for value in (row.predicted, row.simulated, row.low, row.high)
        )
        return (
            row.candidate,
            f"{label:<14}",
            predicted if known else "-",
            simulated,
            f"{low} to {high}",
            f"{row.difference:+.1%}" if known else "",
        )

    def _runs(self) -> str:
        seconds = self.attrs.get("seconds_per_run")
        length = f"{self.attrs['requests_per_run']} requests" if seconds is None else f"{seconds:.3g} s"
        return f"{len(self.attrs['seeds'])} runs of {length}"
