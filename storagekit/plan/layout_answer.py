"""Answers about layouts: the ranking for given disks, and the fewest disks for a goal."""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from storagekit.analytic.array.aspect import Layout
from storagekit.core.binding import Binding
from storagekit.core.units import MS
from storagekit.core.validation import COUNT
from storagekit.plan.answer import Answer, RankedAnswer, require_feasible, text_table
from storagekit.plan.check import Check
from storagekit.plan.goal import Goal, ResponseGoal
from storagekit.plan.objective import LayoutObjective, MinMean
from storagekit.plan.paper_rule import Optimum
from storagekit.plan.question import Question

_SHOWN = 5


@dataclass(frozen=True)
class Candidate:
    """A layout with its predicted values.

    Parameters
    ----------
    layout : Layout
        The layout D_s x D_r x D_m.
    latency : float
        Mean response time of single requests, including the overhead T_o, seconds.
    throughput : float
        Throughput at the queue length of the question, requests a second.
    response : float
        Mean response time at the queue length of the question (Little's law), seconds.
    used : float
        Share of the cylinders that the data occupy on the fullest disk.
    paper_latency, paper_throughput : float
        Predictions with the equations of the paper: latency in seconds (srarray, equation 9), and throughput in requests
        a second (equations 12 to 16). D_r D_m replaces D_r in these equations.
    """

    layout: Layout
    latency: float
    throughput: float
    response: float
    used: float
    paper_latency: float
    paper_throughput: float

    @property
    def name(self) -> str:
        """Return the layout as text."""
        return str(self.layout)

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
class LayoutAnswer(RankedAnswer[Candidate]):
    """The ranking of all feasible layouts of an array.

    Parameters
    ----------
    ranking : tuple of Candidate
        The layouts, the best first; empty if no layout is feasible.
    paper : Candidate, optional
        The layout that the paper's rule selects.
    optimum : Optimum, optional
        The optimal number of copies and the optimal striping, before they are rounded to whole numbers.
    binding : Binding
        The constraint that separates the best layout from the optimum. If no layout is feasible, the reason.
    assumptions : tuple of str
        The assumptions of the predictions.
    shares : tuple of float
        Share of the data and of the requests on one disk, for each kind of drive in the given order.
    question : Question
        The question.
    """

    KIND = "layout"
    COLUMNS = MappingProxyType(
        {
            "latency": ("s", "mean response time of single requests"),
            "throughput": ("1/s", "requests a second at the queue length of the question"),
            "response": ("s", "mean response time at the queue length of the question"),
            "used": ("1", "share of the cylinders that is used on the fullest disk"),
            "paper_latency": ("s", "latency of the paper's equation 9"),
            "paper_throughput": ("1/s", "throughput of the paper's equations 12 to 16"),
        }
    )

    ranking: tuple[Candidate, ...]
    paper: Candidate | None
    optimum: Optimum | None
    binding: Binding
    assumptions: tuple[str, ...]
    shares: tuple[float, ...]
    question: Question[LayoutObjective]

    @property
    def configuration(self) -> Layout | None:
        """Return the recommended layout."""
        return self.recommended.layout if self.recommended else None

    @property
    def share(self) -> float:
        """Return p of equation 8, the share of requests that do not propagate copies in the foreground."""
        return float(self.question.load.unpropagated)

    @property
    def outstanding(self) -> int:
        """Return the number of outstanding requests in a check.

        The number is 1 if the objective is the latency, otherwise the sum of the queue lengths of all disks.
        """
        if isinstance(self.question.criterion, MinMean):
            return 1
        return max(1, round(self.question.disks * float(np.asarray(self.question.load.queue))))

    def check(self, *, candidates: int = 1, seeds: int = 16, requests: int | None = None) -> Check:
        """Simulate the first `candidates` layouts of the ranking in a closed loop.

        A latency is simulated with one outstanding request, and a throughput with the question's queue length at each
        disk. The question also gives the scheduler and the propagation of writes.

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
        from storagekit.plan.checking import check_layouts

        require_feasible(self.feasible, self.binding)
        chosen = self.ranking[: COUNT("candidates", candidates)]
        predicted = {one.layout: getattr(one, self.question.objective_name) for one in chosen}
        measure = "response" if isinstance(self.question.criterion, MinMean) else "throughput"
        return check_layouts(self.question, predicted, measure, self.outstanding, 0.0, seeds=seeds, requests=requests)

    def _content(self):
        question = self.question
        return super()._content() | {
            "recommended": self.recommended.to_dict() if self.recommended else None,
            "paper_rule": self.paper.to_dict() if self.paper else None,
            "optimum": vars(self.optimum) if self.optimum else None,
            "shares": list(self.shares),
            "question": _question_facts(question)
            | {
                "disks": question.disks,
                "objective": question.objective_name,
                "scheduler": question.scheduler_name,
                "most_replicas": question.most_replicas,
                "p": self.share,
            },
        }

    def _lines(self):
        question = self.question
        lines = [f"{question.disks} disks, {question.drive_name}, for {question.objective_name}"]
        if self.recommended is None:
            return [*lines, f"not feasible: {self.binding}"]
        best = self.recommended
        lines += [
            f"recommended {best.layout} (D_s x D_r x D_m): {best.latency / MS:.2f} ms for a single request, "
            f"{best.throughput:.0f} requests/s with {float(question.load.queue):g} outstanding per disk"
        ]
        if self.optimum:
            lines += [f"optimum before rounding: D_s {self.optimum.striping:.2f}, D_r {self.optimum.replicas:.2f}"]
        if self.paper:
            lines += [f"the paper's rule: {self.paper.layout}"]
        rows = [
            (one.name, f"{one.latency / MS:.2f}", f"{one.throughput:.0f}", f"{one.response / MS:.2f}")
            for one in self.ranking[:_SHOWN]
        ]
        titles = ("layout", "latency ms", "requests/s", "response ms")
        return [*lines, f"binding: {self.binding}", "", *text_table(titles, rows, (10, 12, 12, 13))]


@dataclass(frozen=True)
class SizeAnswer(Answer):
    """The fewest disks that meet a goal. If no array is feasible, the optional values are None.

    Parameters
    ----------
    disks : int, optional
        Number of disks.
    layout : Layout, optional
        The layout of the disks.
    response : float, optional
        Mean response time, seconds.
    throughput : float, optional
        Requests a second: for a response goal an estimate of the largest possible rate, for a throughput goal the
        throughput of the closed loop.
    utilization : float, optional
        Utilization of a disk.
    price : float, optional
        Price of all disks.
    binding : Binding
        The constraint that prevents fewer disks or, if no array is feasible, the missed requirement.
    assumptions : tuple of str
        The assumptions of the predictions.
    question : Question
        The question.
    """

    disks: int | None
    layout: Layout | None
    response: float | None
    throughput: float | None
    utilization: float | None
    price: float | None
    binding: Binding
    assumptions: tuple[str, ...]
    question: Question[Goal]

    @property
    def feasible(self) -> bool:
        return self.disks is not None

    def check(self, *, seeds: int = 16, requests: int | None = None) -> Check:
        """Simulate the recommended array.

        A response goal is simulated with Poisson arrivals and FCFS scheduling, a throughput goal in a closed loop with RLOOK.

        Parameters
        ----------
        seeds : int
            Number of independent runs, at least 2.
        requests : int, optional
            Number of requests in each run; by default enough for an error of about 1%.

        Returns
        -------
        Check
            Predicted and simulated mean, 95% interval, and difference.

        Raises
        ------
        InputError
            If no array is feasible, or if only a part of the writes is propagated in idle time.
        """
        from storagekit.plan.checking import check_layouts

        require_feasible(self.feasible, self.binding)
        assert self.layout is not None and self.disks is not None
        goal, predicted = self.question.criterion, {self.layout: getattr(self, self.question.criterion.measure)}
        queues = None if isinstance(goal, ResponseGoal) else max(1, round(self.disks * goal.outstanding))
        return check_layouts(self.question, predicted, goal.measure, queues, goal.rate, seeds=seeds, requests=requests)

    def _content(self):
        question = self.question
        return {
            "feasible": self.feasible,
            "disks": self.disks,
            "layout": str(self.layout) if self.layout else None,
            "response_s": self.response,
            "throughput_per_s": self.throughput,
            "utilization": self.utilization,
            "price": self.price,
            "binding": self.binding.to_dict(),
            "question": _question_facts(question)
            | {"goal": {"kind": type(question.criterion).__name__, **vars(question.criterion)}},
        }

    def _lines(self):
        if not self.feasible:
            return [f"{self.question.drive_name}: not feasible: {self.binding}"]
        figures = [
            f"response {self.response / MS:.2f} ms" if self.response is not None else "",
            f"{self.throughput:.0f} requests/s" if self.throughput is not None else "",
            f"disks {self.utilization:.0%} busy" if self.utilization is not None else "",
            f"price {self.price:g}" if self.price is not None else "",
        ]
        return [
            f"{self.disks} disks, {self.question.drive_name}, as {self.layout} (D_s x D_r x D_m)",
            "  " + ", ".join(figure for figure in figures if figure),
            f"binding: {self.binding}",
        ]


def _question_facts(question: Question) -> dict[str, Any]:
    """Return the question for JSON, without the tables of the drive and without infinite numbers of the load."""
    load = {name: float(value) for name, value in vars(question.load).items()}
    return {
        "drive": question.drive_name,
        "mirrors": question.mirrors,
        "overhead_s": question.overhead,
        **{name: value for name, value in load.items() if math.isfinite(value)},
    }
