"""The answer about schemes: what each gives, what was assumed, and how well simulation bears it out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from storagekit.analytic.array.elevator import Scheduler
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, optional, takes
from storagekit.core.units import HOUR, KB, MS
from storagekit.plan.keeping.aims import Aim
from storagekit.plan.keeping.checked import SchemesCheck, finite
from storagekit.plan.keeping.needs import Requirements
from storagekit.plan.keeping.predicting import Prediction

if TYPE_CHECKING:
    import xarray as xr

_SHOWN = 10
_TB = 1e12
# of a `Prediction`, with units and meaning
COLUMNS = {
    "throughput": ("1/s", "requests a second: with those outstanding, or before the disks are overloaded"),
    "mean": ("s", "mean response time"),
    "p95": ("s", "response time that 95% of the requests keep within"),
    "p99": ("s", "response time that 99% of the requests keep within"),
    "utilization": ("1", "share of the time that a disk works"),
    "usable": ("bytes", "data that fit"),
    "survives": ("1", "disks that may be lost, whichever they are"),
    "cost": ("", "price of the disks"),
    "degraded": ("1", "utilization of the busiest disk while another is lost"),
    "rebuild": ("s", "time until a lost disk's data is on another, in what requests leave"),
    "binds": ("", "what decides the response time"),
    "basis": ("", "a formula, or simulation where none holds"),
}


@dataclass(frozen=True)
class SchemesAnswer:
    """Every scheme that meets what is needed, best first (`ranking`); `refused` have room for the data and survive what they
    have to, and are too slow, or busier than the goal allows; `small` survive and have no room for it. binding: why there is
    none, where `feasible` is False."""

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
        """The first of the ranking."""
        return self.ranking[0] if self.ranking else None

    @property
    def table(self) -> "xr.Dataset":
        """The ranking as a Dataset over `scheme`, SI units; `table.to_pandas()` is the table of it."""
        import xarray as xr

        columns = {
            name: ("scheme", [getattr(one, name) for one in self.ranking], {"units": unit, "long_name": meaning})
            for name, (unit, meaning) in COLUMNS.items()
        }
        names = [one.name for one in self.ranking]
        bases = dict.fromkeys(one.basis for one in self.ranking)
        told = {"basis": " and ".join(bases), "goal": self.goal.name, "assumed": "; ".join(self.assumptions)}
        return xr.Dataset(columns, {"scheme": names}, attrs=told)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the answer rests on, in plain sentences, the data first."""
        needs = self.needs
        sizes = ", ".join(f"{share:.0%} of {size / KB:g} KB" for size, share in needs.sizes)
        lines = [
            f"{needs.data / _TB:g} TB of data, {needs.data / needs.capacity:.3g} of the {needs.disks} drives' worth, spread "
            "evenly over the disks, at their outer edge",
            f"requests of {sizes}, {needs.read_share:.0%} reads, at random over all of the data",
            "no request is split, unless its scheme says so: a stripe unit holds the largest, and parity is of whole units",
            "writes are answered when every copy, or data and parity, are on disk; NVRAM would hide that, but not the work",
            "a small write under parity reads data and parity, and writes them a revolution later; requests that take longer "
            "than that, or than the arc between replicas, are not laid out so",
        ]
        if needs.again.any():
            lines.append("a write of a part of a physical sector takes a revolution more")
        if needs.rate is not None:
            lines.append("requests come by themselves (Poisson), and each disk serves its own in order of arrival")
        else:
            lines.append(
                f"{needs.outstanding} requests are kept outstanding, at disks chosen at random; disks serve them by "
                f"{self.scheduler.name}: no formula says which time 99% of them keep within (`check` does)"
            )
        if self.goal.most_busy < 1 and needs.rate is not None:
            lines.append(f"disks are to be busy {self.goal.most_busy:.0%} of the time at most")
        simulated = [one.name for one in (*self.ranking, *self.refused) if one.basis == "simulated"]
        if simulated:
            lines.append(
                f"simulated, as no formula holds: {'; '.join(simulated)}; at a rate, at most as many requests as would keep "
                "the disks busy all the time"
            )
        lines.append(f"{needs.drive.name}: {needs.drive.heads} heads, sectors of {512 * needs.drive.grain} bytes")
        return (
            *lines,
            "one lost: how busy the busiest disk is while another is lost, overloaded from 100% on; a rebuild has the time "
            "that requests leave then, at the drive's sequential rate",
        )

    def check(self, *, schemes: int = 3, seeds: int = 8, requests: int | None = None) -> SchemesCheck:
        """The first `schemes` of the ranking simulated: predicted and simulated figures, 95% interval, difference.

        seeds: independent runs, at least 2. requests: of each run, enough for some percent by default. Raises InputError
        where the question has no answer, and for more than the simulation has room for.
        """
        return self.checker(self, schemes=schemes, seeds=seeds, requests=requests)

    @takes(check=optional(a(SchemesCheck, "what check() returns")))
    def chart(self, check: SchemesCheck | None = None) -> Any:
        """The ranking drawn (Altair), with what was simulated beside it; check: of `check()`."""
        from storagekit.plan.keeping.drawing import draw

        if not self.ranking:
            raise InputError(f"nothing to draw, the question has no answer: {self.binding}")
        seen = {} if check is None else {row.scheme: row.measures for row in check.rows}
        return draw(self.needs, self.ranking, self.goal, seen)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; seconds, bytes, requests a second."""
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
            f"to survive {needs.tolerate}, for {self.goal.name}"
        ]
        best = self.recommended
        if best is None:
            nearest = ["", *_listed(self.refused)] if self.refused else []
            rest = self._others()
            return "\n".join([*lines, f"not feasible: {self.binding}", *nearest, *rest, "", *self._assumed()])
        tail = f", 99% within {best.p99 / MS:.1f} ms" if math.isfinite(best.p99) else ""
        lines += [
            f"recommended: {best.name} ({_disks(best.scheme.disks)}): mean {best.mean / MS:.1f} ms{tail}, at most "
            f"{best.throughput:.0f} requests/s, {best.usable / _TB:.4g} TB usable, survives {best.survives}",
            "",
            *_listed(self.ranking),
            *self._others(),
            "",
            *self._assumed(),
        ]
        return "\n".join(lines)

    def _others(self) -> list[str]:
        """The names of those that are not in the table."""
        slow = [one.name for one in self.refused[:_SHOWN]] if self.ranking else []
        told = {"too slow": slow, "too little room": self.small[:_SHOWN]}
        return [f"  {what}: {'; '.join(names)}" for what, names in told.items() if names]

    def _assumed(self) -> list[str]:
        return ["assumed:", *(f"  - {line}" for line in self.assumptions)]


def _listed(ranking: Sequence[Prediction]) -> list[str]:
    """The first of them, a line each."""
    shown = ranking[:_SHOWN]
    wide = 2 + max(len(one.name) for one in shown)
    priced = math.isfinite(shown[0].cost)
    lines = [
        f"  {'scheme':<{wide}}{'requests/s':>10}{'mean ms':>9}{'p99 ms':>8}{'busy':>6}{'TB':>7}{'survives':>9}"
        f"{'one lost':>9}{'rebuild h':>10}{'cost' if priced else '':>{9 * priced}}   binds"
    ]
    for one in shown:
        mean, tail = (f"{time / MS:.1f}" if math.isfinite(time) else "-" for time in (one.mean, one.p99))
        lost = f"{one.degraded:.0%}" if math.isfinite(one.degraded) else "-"
        again = {math.inf: "never"}.get(one.rebuild, f"{one.rebuild / HOUR:.1f}" if one.rebuild >= 0 else "-")
        price = f"{one.cost:>9g}" if priced else ""
        lines.append(
            f"  {one.name:<{wide}}{one.throughput:>10.0f}{mean:>9}{tail:>8}{one.utilization:>6.0%}"
            f"{one.usable / _TB:>7.4g}{one.survives:>9}{lost:>9}{again:>10}{price}   {one.binds}"
        )
    more = len(ranking) - len(shown)
    return lines + ([f"  and {more} more"] if more > 0 else [])


def _disks(count: int) -> str:
    return f"{count} disk{'s' if count > 1 else ''}"


def _row(one: Prediction) -> dict[str, Any]:
    figures = {name: getattr(one, name) for name in COLUMNS}
    return {"scheme": one.name, "disks": one.scheme.disks, "spare": one.spare, **finite(figures)}
