"""Answers: the recommendation, its predicted values, its binding constraint, and the assumptions."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.costs import Load
from storagekit.core.binding import Binding
from storagekit.core.units import MS
from storagekit.plan.goal import Goal
from storagekit.plan.objective import Objective
from storagekit.plan.paper_rule import Optimum
from storagekit.plan.question import Question

_SHOWN = 5


@dataclass(frozen=True)
class Candidate:
    """A layout with its predicted values.

    latency: mean response time of single requests, T_o included, seconds. throughput: requests a second with the queue of
    the question. response: mean response time with that queue (Little's law), seconds. used: share of the cylinders that
    is used on the fullest disk. paper_latency and paper_throughput: predictions of equations 9 and 12 to 16, with D_r D_m
    instead of D_r.
    """

    layout: Layout
    latency: float
    throughput: float
    response: float
    used: float
    paper_latency: float
    paper_throughput: float

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
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
class LayoutRow:
    """A layout with its predicted value and its simulated mean, in seconds or requests a second.

    low and high: ends of the 95% confidence interval of the simulated mean.
    """

    layout: Layout
    predicted: float
    simulated: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Return the relative difference: the predicted value divided by the simulated value, minus 1."""
        return self.predicted / self.simulated - 1


@dataclass(frozen=True)
class Check:
    """Predicted and simulated values, in the order of the ranking.

    measure: "response", in seconds, or "throughput", in requests a second. attrs: provenance of the simulation.
    """

    measure: str
    scheduler: str
    rows: tuple[LayoutRow, ...]
    attrs: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        rows = [asdict(row) | {"layout": str(row.layout), "difference": row.difference} for row in self.rows]
        return {"measure": self.measure, "scheduler": self.scheduler, "rows": rows, "attrs": self.attrs}

    def __str__(self) -> str:
        scale, unit = (MS, "ms") if self.measure == "response" else (1.0, "requests/s")
        lines = [
            f"simulated {self.measure}, {unit}, {self.scheduler}, {len(self.attrs['seeds'])} runs of "
            f"{self.attrs['requests_per_run']} requests",
            f"  {'layout':<10}{'predicted':>11}{'simulated':>11}{'95% interval':>22}{'difference':>12}",
        ]
        for row in self.rows:
            interval = f"{row.low / scale:.2f} to {row.high / scale:.2f}"
            lines.append(
                f"  {row.layout!s:<10}{row.predicted / scale:>11.2f}{row.simulated / scale:>11.2f}{interval:>22}"
                f"{row.difference:>+12.1%}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class LayoutAnswer:
    """The best layout of an array, and a ranking of all its layouts.

    feasible: False if no layout satisfies the question; `binding` then gives the reason. recommended: the first element of
    `ranking`, which contains every feasible layout, the best first. paper: the layout that the paper's rule selects.
    optimum: the optimum before rounding to whole numbers. shares: for each kind of drive, in the given order, the share of
    the data and of the requests that belongs to one disk. checker: the function that `check` calls with the answer.
    """

    feasible: bool
    recommended: Candidate | None
    ranking: tuple[Candidate, ...]
    paper: Candidate | None
    optimum: Optimum | None
    binding: Binding
    assumptions: tuple[str, ...]
    shares: tuple[float, ...]
    question: Question[Objective]
    checker: Callable[..., Check] = field(repr=False, compare=False)

    @property
    def configuration(self) -> Layout | None:
        """Return the recommended layout."""
        return self.recommended.layout if self.recommended else None

    @property
    def share(self) -> float:
        """Return p of equation 8, the share of requests that do not propagate copies in the foreground."""
        return float(self.question.load.unpropagated)

    def check(self, *, candidates: int = 1, seeds: int = 16, requests: int | None = None) -> Check:
        """Simulate the first `candidates` layouts of the ranking in a closed loop.

        A latency is simulated with one outstanding request, a throughput with the queue of the question at each disk. The
        scheduler and the propagation of writes are those of the question.

        Parameters
        ----------
        candidates : int
            Number of layouts.
        seeds : int
            Number of independent runs, at least 2.
        requests : int, optional
            Number of requests in each run; by default enough for an error of about 1%.

        Returns
        -------
        Check
            Predicted and simulated means, 95% intervals, and differences.

        Raises
        ------
        InputError
            If the question has no feasible layout, if there are drives of several kinds, or if only a part of the writes
            is propagated in idle time.
        """
        return self.checker(self, candidates=candidates, seeds=seeds, requests=requests)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON, without the tables of the drive; times in seconds."""
        asked = self.question
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
                "drive": asked.drive_name,
                "disks": asked.disks,
                "objective": asked.aim.name,
                "scheduler": asked.scheduler_name,
                "mirrors": asked.mirrors,
                "most_replicas": asked.most_replicas,
                "overhead_s": asked.overhead,
                "p": self.share,
                **_finite(asked.load),
            },
        }

    def __str__(self) -> str:
        asked = self.question
        lines = [f"{asked.disks} disks, {asked.drive_name}, for {asked.aim.name}"]
        if self.recommended is None:
            return "\n".join([*lines, f"not feasible: {self.binding}"])
        best = self.recommended
        lines += [
            f"recommended {best.layout} (D_s x D_r x D_m): {best.latency / MS:.2f} ms alone, "
            f"{best.throughput:.0f} requests/s at {float(asked.load.queue):g} a disk"
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

    disks, layout, response (seconds), throughput (requests a second), utilization (of a disk) and price belong to the
    recommended array. They are None if `feasible` is False; `binding` then names the missed requirement and by how much it
    is missed. checker: the function that `check` calls with the answer.
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
    question: Question[Goal]
    checker: Callable[..., Check] = field(repr=False, compare=False)

    def check(self, *, seeds: int = 16, requests: int | None = None) -> Check:
        """Simulate the recommended array. Return the predicted and simulated mean, the 95% interval and the difference.

        A response goal is simulated with Poisson arrivals and FCFS scheduling, a throughput goal in a closed loop with RLOOK.
        The arguments and errors are those of `LayoutAnswer.check`.
        """
        return self.checker(self, seeds=seeds, requests=requests)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON, without the tables of the drive; times in seconds."""
        asked = self.question
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
                "drive": asked.drive_name,
                "goal": {"kind": type(asked.aim).__name__, **vars(asked.aim)},
                "mirrors": asked.mirrors,
                "overhead_s": asked.overhead,
                **_finite(asked.load),
            },
        }

    def __str__(self) -> str:
        if not self.feasible:
            return f"{self.question.drive_name}: not feasible: {self.binding}"
        figures = [
            f"response {self.response / MS:.2f} ms" if self.response is not None else "",
            f"{self.throughput:.0f} requests/s" if self.throughput is not None else "",
            f"disks {self.utilization:.0%} busy" if self.utilization is not None else "",
            f"price {self.price:g}" if self.price is not None else "",
        ]
        lines = [
            f"{self.disks} disks, {self.question.drive_name}, as {self.layout} (D_s x D_r x D_m)",
            "  " + ", ".join(figure for figure in figures if figure),
            f"binding: {self.binding}",
        ]
        return "\n".join([*lines, "", "assumed:", *(f"  - {line}" for line in self.assumptions)])


def _finite(load: Load) -> dict[str, float]:
    values = {name: float(value) for name, value in vars(load).items()}
    return {name: value for name, value in values.items() if math.isfinite(value)}
