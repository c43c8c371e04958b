"""The answer about schemes: predicted values of each scheme, assumptions, and a check by simulation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

from storagekit.analytic.array.elevator import Scheduler
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import HOUR, KB, MS
from storagekit.core.validation import instance_of, validate
from storagekit.plan.scheme_ranking.aims import Aim
from storagekit.plan.scheme_ranking.checked import SchemesCheck, finite
from storagekit.plan.scheme_ranking.predicting import Prediction
from storagekit.plan.scheme_ranking.requirements import Requirements

if TYPE_CHECKING:
    import xarray as xr

_SHOWN = 10
_TB = 1e12
# fields of a `Prediction`, with units and meanings
COLUMNS = {
    "throughput": ("1/s", "requests a second: with those outstanding, or before the disks are overloaded"),
    "mean": ("s", "mean response time"),
    "p95": ("s", "response time that 95% of the requests keep within"),
    "p99": ("s", "response time that 99% of the requests keep within"),
    "utilization": ("1", "share of the time that a disk works"),
    "usable": ("bytes", "data that fit"),
    "tolerates": ("1", "disks that may be lost, whichever they are"),
    "cost": ("", "price of the disks"),
    "degraded": ("1", "utilization of the busiest disk while another is lost"),
    "rebuild": ("s", "time until a lost disk's data is on another, in what requests leave"),
    "binds": ("", "what decides the response time"),
    "basis": ("", "a formula, or simulation where none holds"),
}


@dataclass(frozen=True)
class SchemesAnswer:
    """The ranking of all schemes that meet the requirements, the best first.

    refused: schemes that hold the data and tolerate the failures, but are too slow, or busier than the goal allows. small:
    schemes that tolerate the failures, but are too small for the data. binding: the reason why no scheme is feasible, if
    `feasible` is False.
    """

    needs: Requirements
    goal: Aim
    scheduler: Scheduler
    ranking: tuple[Prediction, ...]
    refused: tuple[Prediction, ...]
    small: tuple[str, ...]
    binding: Binding
    checker: Callable[..., SchemesCheck] = field(repr=False, compare=False)

    @property
    def feasible(self) -> bool:
        return bool(self.ranking)

    @property
    def recommended(self) -> Prediction | None:
        """Return the first scheme of the ranking."""
        return self.ranking[0] if self.ranking else None

    @property
    def table(self) -> "xr.Dataset":
        """Return the ranking as a Dataset with the dimension `scheme`, in SI units; `to_pandas()` makes it a DataFrame."""
        import xarray as xr

        columns = {
            name: ("scheme", [getattr(one, name) for one in self.ranking], {"units": unit, "long_name": meaning})
            for name, (unit, meaning) in COLUMNS.items()
        }
        names = [one.name for one in self.ranking]
        bases = dict.fromkeys(one.basis for one in self.ranking)
        told = {"basis": " and ".join(bases), "goal": self.goal.name, "assumptions": "; ".join(self.assumptions)}
        return xr.Dataset(columns, {"scheme": names}, attrs=told)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions of the answer as sentences. The assumptions about the data come first."""
        needs = self.needs
        sizes = ", ".join(f"{size / KB:g} KB" + (f" ({share:.0%})" if share < 1 else "") for size, share in needs.sizes)
        lines = [
            f"{needs.data / _TB:g} TB of data, the capacity of {needs.data / needs.capacity:.3g} of the {needs.disks} drives,"
            " evenly on all disks, from the outer edge",
            f"{sizes} requests, {needs.read_share:.0%} reads, random addresses over all of the data",
            "requests are not split, except by schemes that say so: a stripe unit holds the largest request, and parity "
            "covers whole units",
            "a write completes when all copies, or data and parity, are on disk; NVRAM would hide the time, but not the work",
            "a small write under parity reads data and parity, and writes them one revolution later; schemes are excluded if "
            "a request takes longer than a revolution, or than the arc between replicas",
        ]
        if needs.again.any():
            lines.append("a write of a part of a physical sector takes one more revolution")
        if needs.rate is not None:
            lines.append("arrivals are Poisson, and each disk serves its requests in order of arrival")
        else:
            lines.append(
                f"{needs.outstanding} requests are outstanding at random disks under {self.scheduler.name}; no formula gives "
                "their 99% response time, but `check` measures it"
            )
        if self.goal.most_busy < 1 and needs.rate is not None:
            lines.append(f"the disk utilization is limited to {self.goal.most_busy:.0%}")
        simulated = [one.name for one in (*self.ranking, *self.refused) if one.basis == "simulated"]
        if simulated:
            lines.append(
                f"simulated, because there is no formula: {'; '.join(simulated)}; their maximum throughput assumes disks "
                "that are always busy"
            )
        lines.append(f"{needs.drive.name}: {needs.drive.heads} heads, sectors of {512 * needs.drive.grain} bytes")
        return (
            *lines,
            "one lost: utilization of the busiest disk while another disk is lost; from 100% on it is overloaded. A rebuild "
            "uses the idle time of the disks, at the sequential rate of the drive",
        )

    def check(self, *, schemes: int = 3, seeds: int = 8, requests: int | None = None) -> SchemesCheck:
        """Simulate the first `schemes` schemes of the ranking.

        Returns predicted and simulated values, 95% intervals and differences. seeds: number of independent runs, at least 2.
        requests: number of requests in each run; the default gives errors of some percent. Raises InputError if no scheme is
        feasible, or if a simulation is too large.
        """
        return self.checker(self, schemes=schemes, seeds=seeds, requests=requests)

    @validate
    def chart(
        self, check: Annotated[SchemesCheck | None, instance_of(SchemesCheck, "what check() returns")] = None
    ) -> Any:
        """Return the chart of the ranking (Altair), with the simulated values of `check`."""
        from storagekit.plan.scheme_ranking.drawing import draw

        if not self.ranking:
            raise InputError(f"nothing to draw, the question has no answer: {self.binding}")
        seen = {} if check is None else {row.scheme: row.measures for row in check.rows}
        return draw(self.needs, self.ranking, self.goal, seen)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON, in seconds, bytes and requests a second."""
        names = [one.name for one in fields(self.needs) if one.name not in ("drive", "sizes")]
        asked = {name: getattr(self.needs, name) for name in names}
        return {
            "feasible": self.feasible,
            "recommended": self.recommended.name if self.recommended else None,
            "goal": self.goal.name,
            "ranking": [_row(one) for one in self.ranking],
            "refused": [_row(one) for one in self.refused],
            "small": list(self.small),
            "binding": self.binding.to_dict(),
            "assumptions": list(self.assumptions),
            "question": {"drive": self.needs.drive.name, "sizes": [list(one) for one in self.needs.sizes], **asked},
        }

    def __str__(self) -> str:
        needs = self.needs
        load = f"{needs.rate:g} requests/s" if needs.rate is not None else f"{needs.outstanding} outstanding"
        lines = [
            f"{needs.data / _TB:g} TB on {needs.disks} x {needs.drive.name}, {load}, {needs.read_share:.0%} reads, "
            f"tolerates {needs.tolerate} failure{'s' if needs.tolerate != 1 else ''}; ranked by {self.goal.meaning}"
        ]
        best = self.recommended
        if best is None:
            nearest = ["", *_listed(self.refused)] if self.refused else []
            rest = self._others()
            return "\n".join([*lines, f"not feasible: {self.binding}", *nearest, *rest, "", *self._assumed()])
        tail = f", 99% within {best.p99 / MS:.1f} ms" if math.isfinite(best.p99) else ""
        lines += [
            f"recommended: {best.name} ({_disks(best.scheme.disks)}): mean {best.mean / MS:.1f} ms{tail}, at most "
            f"{best.throughput:.0f} requests/s, {best.usable / _TB:.4g} TB usable, tolerates {best.tolerates}",
            "",
            *_listed(self.ranking),
            *self._others(),
            "",
            *self._assumed(),
        ]
        return "\n".join(lines)

    def _others(self) -> list[str]:
        """Return lines with the names of the schemes that are too slow or too small, which are not in the table."""
        slow = [one.name for one in self.refused[:_SHOWN]] if self.ranking else []
        told = {"too slow": slow, "too small": self.small[:_SHOWN]}
        return [f"  {what}: {'; '.join(names)}" for what, names in told.items() if names]

    def _assumed(self) -> list[str]:
        return ["assumptions:", *(f"  - {line}" for line in self.assumptions)]


def _listed(ranking: Sequence[Prediction]) -> list[str]:
    """Return the first schemes of a ranking as lines of a table."""
    shown = ranking[:_SHOWN]
    wide = 2 + max(len(one.name) for one in shown)
    priced = math.isfinite(shown[0].cost)
    lines = [
        f"  {'scheme':<{wide}}{'requests/s':>10}{'mean ms':>9}{'p99 ms':>8}{'busy':>6}{'TB':>7}{'tolerates':>10}"
        f"{'one lost':>9}{'rebuild h':>10}{'cost' if priced else '':>{9 * priced}}   binds"
    ]
    for one in shown:
        mean, tail = (f"{time / MS:.1f}" if math.isfinite(time) else "-" for time in (one.mean, one.p99))
        lost = f"{one.degraded:.0%}" if math.isfinite(one.degraded) else "-"
        again = {math.inf: "never"}.get(one.rebuild, f"{one.rebuild / HOUR:.1f}" if one.rebuild >= 0 else "-")
        price = f"{one.cost:>9g}" if priced else ""
        lines.append(
            f"  {one.name:<{wide}}{one.throughput:>10.0f}{mean:>9}{tail:>8}{one.utilization:>6.0%}"
            f"{one.usable / _TB:>7.4g}{one.tolerates:>10}{lost:>9}{again:>10}{price}   {one.binds}"
        )
    more = len(ranking) - len(shown)
    return lines + ([f"  and {more} more"] if more > 0 else [])


def _disks(count: int) -> str:
    return f"{count} disk{'s' if count > 1 else ''}"


def _row(one: Prediction) -> dict[str, Any]:
    figures = {name: getattr(one, name) for name in COLUMNS}
    return {"scheme": one.name, "disks": one.scheme.disks, "spare": one.spare, **finite(figures)}
