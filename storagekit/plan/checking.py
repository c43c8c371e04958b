"""Checks of one answer by simulation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from storagekit.analytic.array.aspect import Layout
from storagekit.core.errors import InputError
from storagekit.core.student_t import half_width
from storagekit.core.validation import COUNT, Validator, optional
from storagekit.plan.answer import Check, LayoutAnswer, LayoutRow, SizeAnswer
from storagekit.plan.goal import ResponseGoal
from storagekit.plan.objective import Latency, Objective
from storagekit.plan.question import Question

if TYPE_CHECKING:
    from storagekit.plan.simulating import LayoutRun


# number of independent runs; an interval needs at least two
RUNS = Validator(least=2, most=10_000, whole=True, otherwise=", for an interval")
_REQUESTS = optional(COUNT.up_to(10**8))


def check_layout(answer: LayoutAnswer, *, candidates: int, seeds: int, requests: int | None) -> Check:
    """See `LayoutAnswer.check`."""
    _require_feasible(answer)
    candidates, seeds, requests = COUNT("candidates", candidates), RUNS("seeds", seeds), _REQUESTS("requests", requests)
    question, chosen = answer.question, answer.ranking[:candidates]
    asked = asked_of(question, [one.layout for one in chosen], outstanding(question))
    if isinstance(question.aim, Latency):
        return _checked("response", question.scheduler_name, asked, [one.latency for one in chosen], seeds, requests)
    return _checked("throughput", question.scheduler_name, asked, [one.throughput for one in chosen], seeds, requests)


def check_size(answer: SizeAnswer, *, seeds: int, requests: int | None) -> Check:
    """See `SizeAnswer.check`."""
    _require_feasible(answer)
    seeds, requests = RUNS("seeds", seeds), _REQUESTS("requests", requests)
    assert answer.layout is not None and answer.disks is not None
    assert answer.response is not None and answer.throughput is not None
    question, goal = answer.question, answer.question.aim
    if isinstance(goal, ResponseGoal):
        asked = asked_of(question, [answer.layout], None, goal.rate)
        return _checked("response", question.scheduler_name, asked, [answer.response], seeds, requests)
    asked = asked_of(question, [answer.layout], max(1, round(answer.disks * goal.outstanding)))
    return _checked("throughput", question.scheduler_name, asked, [answer.throughput], seeds, requests)


def outstanding(question: Question[Objective]) -> int:
    """Return the number of outstanding requests: one for a latency, the queues of all disks together for a throughput."""
    if isinstance(question.aim, Latency):
        return 1
    return max(1, round(question.disks * float(np.asarray(question.load.queue))))


def asked_of(
    question: Question, layouts: Sequence[Layout], outstanding: int | None, rate: float = 0.0
) -> list["LayoutRun"]:
    """Return the simulation runs of several layouts of a question.

    Each run has `outstanding` requests or, if that is None, arrivals at `rate` requests a second.
    """
    from storagekit.plan.simulating import LayoutRun, simulated_drive

    if isinstance(question.drive, tuple):
        raise InputError("drives of several kinds: the simulation has one kind; check an array of each kind")
    background = float(np.asarray(question.load.background))
    if background not in (0, 1) and float(np.asarray(question.load.read_share)) < 1:
        raise InputError(
            f"background {background:g}: the simulation propagates all writes in idle time (1) or none (0)"
        )
    one = simulated_drive(question.drive, question.overhead)
    return [LayoutRun(one, layout, question.load, question.scheduler, outstanding, rate) for layout in layouts]


def enough(outstanding: int | None) -> int:
    """Return the number of requests of a run: 4000 for open arrivals, otherwise max(2000, 8 `outstanding`)."""
    return 4000 if outstanding is None else max(2000, 8 * outstanding)


def _checked(
    measure: str,
    scheduler: str,
    asked: list["LayoutRun"],
    predicted: list[float],
    seeds: int,
    requests: int | None,
) -> Check:
    from storagekit.plan.simulating import simulate

    found = simulate(asked, range(seeds), requests or enough(asked[0].outstanding))
    values = found.response if measure == "response" else found.throughput
    mean = values.mean(axis=1)
    half = half_width(seeds) * values.std(axis=1, ddof=1) / np.sqrt(seeds)
    rows = tuple(
        LayoutRow(one.layout, *(float(figure) for figure in figures))
        for one, *figures in zip(asked, predicted, mean, mean - half, mean + half, strict=True)
    )
    return Check(measure, scheduler, rows, found.attrs)


def _require_feasible(answer: LayoutAnswer | SizeAnswer) -> None:
    if not answer.feasible:
        raise InputError(f"nothing to check, the question has no answer: {answer.binding}")
