"""Answers: what is recommended, what it gives, what holds it back, and what was assumed."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.binding import Binding
from storagekit.drive import Drive
from storagekit.plan.objective import Objective
from storagekit.plan.paper_rule import Optimum
from storagekit.units import MS

if TYPE_CHECKING:
    from storagekit.plan.checking import Check

_SHOWN = 5


@dataclass(frozen=True)
class Candidate:
    """A layout and what it gives.

    latency: mean, seconds, of requests that come one at a time, T_o included; throughput: requests a second with the
    question's queue; response: mean, seconds, at that queue (Little's law); used: the fullest disk's share of cylinders;
    paper_latency and paper_throughput: by equations 9 and 12 to 16, D_r D_m in the place of D_r.
    """

    layout: Layout
    latency: float
    throughput: float
    response: float
    used: float
    paper_latency: float
    paper_throughput: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "layout": str(self.layout),
            "striping": self.layout.striping,
            "replicas": self.layout.replicas,
            "mirrors": self.layout.mirrors,
            "latency_s": self.latency,
            "throughput_per_s": self.throughput,
            "response_s": self.response,
            "used_share": self.used,
            "paper_latency_s": self.paper_latency,
            "paper_throughput_per_s": self.paper_throughput,
        }


@dataclass(frozen=True)
class LayoutAnswer:
    """How to lay out an array.

    feasible: False where no layout meets the question, and `binding` says why; recommended: the first of `ranking`, which
    holds every feasible layout, best first; paper: the layout of the paper's rule, and `optimum` what it was rounded from.
    `drive` to `overhead` are the question, for whoever checks the answer by simulation; `shares` is the part of data and
    requests of one disk, in the order in which drives of different kinds were given (one number for one kind).
    """

    feasible: bool
    recommended: Candidate | None
    ranking: tuple[Candidate, ...]
    paper: Candidate | None
    optimum: Optimum | None
    binding: Binding
    assumptions: tuple[str, ...]
    shares: tuple[float, ...]
    drive: Drive | DriveFigures | tuple[Drive | DriveFigures, ...]
    disks: int
    load: Load
    objective: Objective
    scheduler: Scheduler
    mirrors: int | None
    most_replicas: int
    overhead: float | None

    @property
    def configuration(self) -> Layout | None:
        """The recommended layout."""
        return self.recommended.layout if self.recommended else None

    @property
    def share(self) -> float:
        """p of equation 8."""
        return float(self.load.unpropagated)

    def check(self, *, candidates: int = 1, seeds: int = 16, requests: int | None = None) -> "Check":
        """The first `candidates` of the ranking simulated: predicted and simulated means, 95% interval, difference.

        Latency with one request outstanding, throughput with the question's queue for each disk, in a closed loop; the
        scheduler, and foreground writes to all copies or background ones, are the question's. seeds: independent runs,
        at least 2; requests: of each run, enough for about a percent by default. Raises InputError where the question has
        no answer, for drives of several kinds, and where only a part of the writes is propagated in idle time.
        """
        from storagekit.plan.checking import check_layout

        return check_layout(self, candidates=candidates, seeds=seeds, requests=requests)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the drive's tables, for JSON; times in seconds."""
        return {
            "feasible": self.feasible,
            "recommended": self.recommended.to_dict() if self.recommended else None,
            "paper_rule": self.paper.to_dict() if self.paper else None,
            "optimum": vars(self.optimum) if self.optimum else None,
            "binding": self.binding.to_dict(),
            "ranking": [candidate.to_dict() for candidate in self.ranking],
            "shares": list(self.shares),
            "assumptions": list(self.assumptions),
            "question": {
                "drive": drive_names(self.drive),
                "disks": self.disks,
                "objective": self.objective.name,
                "scheduler": self.scheduler.name,
                "mirrors": self.mirrors,
                "most_replicas": self.most_replicas,
                "overhead_s": self.overhead,
                "p": self.share,
                **load_dict(self.load),
            },
        }

    def __str__(self) -> str:
        lines = [f"{self.disks} disks, {drive_names(self.drive)}, for {self.objective.name}"]
        if self.recommended is None:
            return "\n".join([*lines, f"not feasible: {self.binding}"])
        best = self.recommended
        lines += [
            f"recommended {best.layout} (D_s x D_r x D_m): {best.latency / MS:.2f} ms alone, "
            f"{best.throughput:.0f} requests/s at {float(self.load.queue):g} a disk"
        ]
        if self.optimum:
            lines += [f"optimum before whole numbers: D_s {self.optimum.striping:.2f}, D_r {self.optimum.replicas:.2f}"]
        if self.paper:
            lines += [f"the paper's rule: {self.paper.layout}"]
        lines += [
            f"binding: {self.binding}",
            "",
            f"  {'layout':<10}{'latency ms':>12}{'requests/s':>12}{'response ms':>13}",
        ]
        lines += [
            f"  {one.layout!s:<10}{one.latency / MS:>12.2f}{one.throughput:>12.0f}{one.response / MS:>13.2f}"
            for one in self.ranking[:_SHOWN]
        ]
        return "\n".join([*lines, "", "assumed:", *(f"  - {line}" for line in self.assumptions)])


@dataclass(frozen=True)
class SizeAnswer:
    """The fewest disks that meet a goal.

    disks, layout, response (seconds), throughput (requests a second) and price are of the recommended array, None where
    `feasible` is False, and `binding` then says what fails and by how much. utilization: share of the time a disk is busy.
    """

    feasible: bool
    disks: int | None
    layout: Layout | None
    response: float | None
    throughput: float | None
    utilization: float | None
    price: float | None
    binding: Binding
    assumptions: tuple[str, ...]
    drive: Drive | DriveFigures
    load: Load
    goal: Any
    mirrors: int
    overhead: float | None

    def check(self, *, seeds: int = 16, requests: int | None = None) -> "Check":
        """The recommended array simulated: predicted and simulated mean, 95% interval, difference.

        A response goal with Poisson arrivals, served in order of arrival; a throughput goal in a closed loop under RLOOK.
        Arguments and errors as in `LayoutAnswer.check`.
        """
        from storagekit.plan.checking import check_size

        return check_size(self, seeds=seeds, requests=requests)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the drive's tables, for JSON; times in seconds."""
        return {
            "feasible": self.feasible,
            "disks": self.disks,
            "layout": str(self.layout) if self.layout else None,
            "response_s": self.response,
            "throughput_per_s": self.throughput,
            "utilization": self.utilization,
            "price": self.price,
            "binding": self.binding.to_dict(),
            "assumptions": list(self.assumptions),
            "question": {
                "drive": drive_names(self.drive),
                "goal": {"kind": type(self.goal).__name__, **vars(self.goal)},
                "mirrors": self.mirrors,
                "overhead_s": self.overhead,
                **load_dict(self.load),
            },
        }

    def __str__(self) -> str:
        if not self.feasible:
            return f"{drive_names(self.drive)}: not feasible: {self.binding}"
        figures = [
            f"response {self.response / MS:.2f} ms" if self.response is not None else "",
            f"{self.throughput:.0f} requests/s" if self.throughput is not None else "",
            f"disks {self.utilization:.0%} busy" if self.utilization is not None else "",
            f"price {self.price:g}" if self.price is not None else "",
        ]
        lines = [
            f"{self.disks} disks, {drive_names(self.drive)}, as {self.layout} (D_s x D_r x D_m)",
            "  " + ", ".join(figure for figure in figures if figure),
            f"binding: {self.binding}",
        ]
        return "\n".join([*lines, "", "assumed:", *(f"  - {line}" for line in self.assumptions)])


def drive_names(drive) -> str:
    """What a drive, or each kind of several, is called."""
    if not isinstance(drive, tuple):
        return drive.name
    names = [one.name for one in drive]
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))


def load_dict(load: Load) -> dict[str, float]:
    values = {name: float(value) for name, value in vars(load).items()}
    return {name: value for name, value in values.items() if math.isfinite(value)}
