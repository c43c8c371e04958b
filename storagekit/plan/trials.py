"""Comparison of the planner's layouts with the simulation on random questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.elevator import RLOOK, RSATF, Scheduler
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.core.validation import (
    POSITIVE,
    Count,
    Positive,
    Seed,
    Share,
    Span,
    Validator,
    Whole,
    instance_of,
    one_of,
    require,
    several,
    text,
    validate,
    validate_fields,
)
from storagekit.drive import Drive
from storagekit.plan.layout_answer import LayoutAnswer
from storagekit.plan.objective import LayoutObjective, MaxThroughput, MinMean
from storagekit.plan.question import DISKS, MIRRORS, planned_drive
from storagekit.plan.sr_array import array

if TYPE_CHECKING:
    import xarray as xr

# A layout counts as near the best layout if its relative loss is at most this.
NEAR = 0.05
# the cases of a comparison: objective and scheduler
CASES: dict[str, tuple[LayoutObjective, Scheduler]] = {
    "latency": (MinMean(), RLOOK()),
    "throughput, RLOOK": (MaxThroughput(), RLOOK()),
    "throughput, RSATF": (MaxThroughput(), RSATF()),
}
RULES = ("plan", "paper")
# maximum factor on the number of simulated requests; with this factor, the simulation takes hours
MOST_EFFORT = 1000


@dataclass(frozen=True)
class RandomQuestion:
    """A question to the planner, which is answered for each case of `CASES`.

    Parameters
    ----------
    drive : Drive or DriveFigures
        The drive of all disks.
    overhead : float
        Overhead of an access in seconds, which replaces the overhead of the drive.
    disks : int
        Number of disks.
    read_share : float
        Share of reads, 0 to 1.
    queue : int
        Number of outstanding requests per disk.
    locality : float
        Locality L, by which seek distances are divided.

    Raises
    ------
    InputError
        If a value is impossible.
    """

    drive: Annotated[Drive | DriveFigures, planned_drive]
    overhead: Span
    disks: Annotated[int, DISKS]
    read_share: Share
    queue: Count
    locality: Positive

    def __post_init__(self):
        validate_fields(self)


@validate
def random_questions(
    count: Whole,
    seed: Seed = 0,
    *,
    real: Annotated[Sequence[Drive], several(instance_of(Drive, "drives, as load_drive(name)"), of="drives")] = (),
    share: Share = 0.25,
    most_disks: int = 48,
) -> list[RandomQuestion]:
    """Return random questions with uniformly distributed parameters.

    The parameters are the full seek time (5 to 20 ms), the time of a revolution (4 to 12 ms), the overhead (0.5 to 3
    ms), the number of disks (2 to `most_disks`), the share of reads (0.5 to 1, with writes in the foreground), the
    queue of each disk (1 to 32) and the locality L (1 to 20).

    Parameters
    ----------
    count : int
        Number of questions.
    seed : int
        Seed of the random numbers, by default 0.
    real : sequence of Drive
        Drives that replace the random drives in a share of the questions, by default none.
    share : float
        Share of the questions with a drive from `real`, 0 to 1; by default 0.25. It has no effect if `real` is empty.
    most_disks : int
        Maximum number of disks, by default 48.

    Returns
    -------
    list of RandomQuestion
        The questions.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    most_disks = Validator(least=2, most=DISKS.most, whole=True)("most_disks", most_disks)
    generator = np.random.default_rng(seed)
    questions = []
    for _ in range(count):
        drive = DriveFigures(generator.uniform(5, 20) * MS, generator.uniform(4, 12) * MS)
        if generator.random() < share and real:
            drive = real[int(generator.integers(len(real)))]
        questions.append(
            RandomQuestion(
                drive=drive,
                overhead=generator.uniform(0.5, 3) * MS,
                disks=int(generator.integers(2, most_disks + 1)),
                read_share=generator.uniform(0.5, 1),
                queue=int(generator.integers(1, 33)),
                locality=generator.uniform(1, 20),
            )
        )
    return questions


@validate
def plan_against_simulation(
    questions: Annotated[Sequence[RandomQuestion], several(instance_of(RandomQuestion), of="questions")],
    *,
    seed: Seed = 0,
    effort: float = 1.0,
    mirrors: Annotated[int, MIRRORS] = 1,
    cases: Annotated[Sequence[str], several(text, of="cases")] = tuple(CASES),
) -> "xr.Dataset":
    """Simulate every layout of every question, and compare the choices of the planner and of the paper's rule.

    Parameters
    ----------
    questions : sequence of RandomQuestion
        The questions.
    seed : int
        First seed of the simulations, by default 0.
    effort : float
        Factor on the number of simulated requests. The default, 1, gives means with an error of about half a percent.
    mirrors : int
        D_m, the number of mirrors, by default 1.
    cases : sequence of str
        Names from `CASES`, by default all.

    Returns
    -------
    Dataset
        The dimensions are `case`, `rule` and `question`. The rule "plan" takes the first layout of the ranking. The rule
        "paper" rounds the optimum of the formula down to possible whole numbers. `best` is the best layout in the
        simulation, and `chosen` the layout that the rule selects. `best_figure` and `figure` are the simulated values of
        these two layouts, in seconds or requests a second. `predicted` is the predicted value of the chosen layout.
        `shortfall` is the relative loss of the chosen layout compared with the best layout. `within` is the share of the
        questions with a shortfall of at most 5%. Values are NaN if no layout is feasible.

    Raises
    ------
    InputError
        If a case is unknown, or if a number is out of range.
    """
    import xarray as xr

    from storagekit.core.provenance import made_jointly

    POSITIVE("effort", effort)
    require(
        effort <= MOST_EFFORT,
        "effort",
        effort,
        f"at most {MOST_EFFORT}; for smaller errors, call several times with different seeds",
    )
    if not cases:
        raise InputError(f"cases: none given; give some of {', '.join(CASES)}")
    several(one_of(*CASES))("case", cases)
    answers = {case: [_answer(question, case, mirrors) for question in questions] for case in cases}
    parts, made = [], []
    for case in cases:
        scores, attrs = _simulated_layouts(answers[case], case, seed, effort)
        parts.append(_compared(answers[case], scores, case == "latency"))
        made += attrs
    data = xr.concat(parts, dim=xr.IndexVariable("case", list(cases)))
    near = (data.shortfall <= NEAR).where(data.shortfall.notnull())
    data["within"] = near.mean("question")
    data.within.attrs = {"units": "1", "long_name": f"share of the questions with a shortfall of at most {NEAR:.0%}"}
    data = data.assign_coords({name: ("question", values) for name, values in _columns(questions).items()})
    data.attrs = made_jointly(made) | {"mirrors": mirrors, "seed": seed, "effort": effort}
    return data


def _answer(question: RandomQuestion, case: str, mirrors: int) -> LayoutAnswer:
    objective, scheduler = CASES[case]
    return array(
        question.drive,
        question.disks,
        read_share=question.read_share,
        queue=question.queue,
        locality=question.locality,
        objective=objective,
        scheduler=scheduler,
        mirrors=mirrors,
        overhead=question.overhead,
    )


def _simulated_layouts(
    answers: Sequence[LayoutAnswer], case: str, seed: int, effort: float
) -> tuple[list[dict[Layout, float]], list[dict]]:
    """Simulate every layout in the ranking of each answer.

    Returns, for each answer, the score of each layout, and the provenance of the simulations. A smaller score is
    better.
    """
    from storagekit.plan.simulating import layout_requests, layout_scenario, layout_slots, simulate

    every = [(number, one.layout) for number, answer in enumerate(answers) for one in answer.ranking]
    # layouts with the same number of slots are simulated together, with equally long runs
    groups: dict[int, list[tuple[int, Layout]]] = {}
    for number, layout in every:
        groups.setdefault(layout_slots(answers[number].outstanding, False), []).append((number, layout))
    scores: list[dict[Layout, float]] = [{} for _ in answers]
    made = []
    for group in groups.values():
        scenarios = [
            layout_scenario(answers[number].question, layout, answers[number].outstanding) for number, layout in group
        ]
        longest = max(layout_requests(answers[number].outstanding) for number, _ in group)
        requests = max(256, int(effort * longest))
        found = simulate(scenarios, range(seed, seed + 4), requests=requests, warm_up=requests // 5)
        made.append(found.attrs)
        mean = found.mean("seed")
        figures = mean.response.values if case == "latency" else 1 / mean.request_rate.values
        for (number, layout), figure in zip(group, figures, strict=True):
            scores[number][layout] = float(figure)
    return scores, made


def _compared(answers: list[LayoutAnswer], scores: list[dict[Layout, float]], latency: bool) -> "xr.Dataset":
    import xarray as xr

    rows = [[_row(answer, score, rule) for answer, score in zip(answers, scores, strict=True)] for rule in RULES]
    best, chosen, least, score, predicted = (
        np.array([[row[column] for row in line] for line in rows]) for column in range(5)
    )
    unit = "s" if latency else "1/s"
    figures = {
        "best_figure": (least if latency else 1 / least, unit, "simulated value of the best layout"),
        "figure": (score if latency else 1 / score, unit, "simulated value of the chosen layout"),
        "predicted": (predicted, unit, "predicted value of the chosen layout"),
        "shortfall": (1 - least / score, "1", "relative loss of the chosen layout against the best layout"),
    }
    data = xr.Dataset(
        {"best": (("rule", "question"), best), "chosen": (("rule", "question"), chosen)}, coords={"rule": list(RULES)}
    )
    for name, (values, units, meaning) in figures.items():
        data[name] = (("rule", "question"), values, {"units": units, "long_name": meaning})
    return data


def _row(answer: LayoutAnswer, score: dict[Layout, float], rule: str) -> tuple[str, str, float, float, float]:
    """Return the best and the chosen layout, their scores, and the predicted value of the chosen layout."""
    chosen = answer.recommended if rule == "plan" else answer.paper
    if chosen is None or not score:
        return "", "", np.nan, np.nan, np.nan
    best = min(score, key=lambda layout: score[layout])
    predicted = getattr(chosen, answer.question.objective_name)
    return str(best), str(chosen.layout), score[best], score[chosen.layout], predicted


def _columns(questions: Sequence[RandomQuestion]) -> dict[str, NDArray]:
    names = ("disks", "read_share", "queue", "locality", "overhead")
    columns = {name: np.array([getattr(question, name) for question in questions]) for name in names}
    return columns | {"drive": np.array([question.drive.name for question in questions])}
