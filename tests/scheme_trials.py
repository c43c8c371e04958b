"""Random questions about schemes, and the ranking of the planner against a simulation of the schemes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from storagekit.analytic.array.elevator import RLOOK
from storagekit.core.units import KB, MS
from storagekit.drive import Drive
from storagekit.plan import SchemesAnswer, schemes
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import Requirements
from storagekit.plan.simulating import scheme_requests, simulate_scheme

# A scheme is near the best if its loss is at most this share.
NEAR = 0.05
# Largest relative distance from the best prediction at which a scheme is simulated, and the maximum number of these schemes.
_APART, _MOST = 0.4, 6
_OUTSTANDING = 500
_SIZES = tuple(4 * KB * 4**power for power in range(5))


def random_drive(generator: np.random.Generator) -> Drive:
    """Return a drive of 1 to 20 TB and 5,400 to 15,000 rpm with matching seeks and rates."""
    rpm = float(generator.choice([5400, 7200, 10_000, 15_000]))
    average = generator.uniform(6, 11) * (7200 / rpm) ** 0.7
    size = generator.uniform(1, 20)
    outer = generator.uniform(150, 290)
    return Drive.from_datasheet(
        rpm=rpm,
        track_seek=generator.uniform(0.1, 0.2) * average * MS,
        average_seek=average * MS,
        full_seek=generator.uniform(1.9, 2.2) * average * MS,
        capacity=size * 1e12,
        outer_rate=outer * 1e6,
        inner_rate=outer * generator.uniform(0.45, 0.6) * 1e6,
        heads=int(np.ceil(size)),
        sector_bytes=4096,
        write_settle=generator.uniform(0.2, 0.8) * MS,
        name=f"{size:.1f} TB, {rpm:.0f} rpm",
    )


def random_needs(count: int, seed: int = 0, *, disks: tuple[int, int] = (8, 200)) -> list[Requirements]:
    """Return random questions.

    Each question has 8 to 200 drives of 1 to 20 TB (`random_drive`). The data is 5 to 45% of their capacity, and at most 30%
    if 2 failures are tolerated. Requests have 4 KB to 1 MB and any share of reads; 0 to 2 failures are tolerated. Half of
    the questions have up to 500 outstanding requests, 1 to 16 for each disk. The other half has a rate at which the disks
    of the scheme with the highest throughput are 20 to 80% busy.
    """
    generator = np.random.default_rng(seed)
    return [_random_question(generator, disks) for _ in range(count)]


def _random_question(generator: np.random.Generator, disks: tuple[int, int]) -> Requirements:
    drive, number = random_drive(generator), int(generator.integers(disks[0], disks[1] + 1))
    tolerate = int(generator.integers(0, 3))
    data = generator.uniform(0.05, 0.45 if tolerate < 2 else 0.3) * number * drive.capacity * 512
    size, read_share = float(generator.choice(_SIZES)), float(generator.uniform())
    given = (drive, number, data, ((size, 1.0),), read_share)
    outstanding = int(min(_OUTSTANDING, number * generator.uniform(1, 16)))
    busy = generator.uniform(0.2, 0.8)
    requirements = Requirements(*given, None, outstanding, tolerate, None, None, None, None)
    if generator.random() < 0.5:
        return requirements
    trickle = replace(requirements, rate=1.0, outstanding=None)
    most = max((one.throughput for one in answer_to(trickle).ranking), default=1.0)
    return replace(trickle, rate=busy * most)


def answer_to(needs: Requirements) -> SchemesAnswer:
    """Return the answer of `schemes` for given requirements."""
    return schemes(
        needs.drive,
        needs.disks,
        data=needs.data,
        size=dict(needs.sizes),
        read_share=needs.read_share,
        rate=needs.rate,
        outstanding=needs.outstanding,
        tolerate=needs.tolerate,
    )


def ranking_against_simulation(questions: Sequence[Requirements], *, seeds: int = 2) -> xr.Dataset:
    """Simulate the schemes near the top of the ranking of every question.

    Up to six schemes are simulated for each question. Their predicted values are within 40% of the best prediction. Schemes
    with worse predictions count as worse.

    Returns
    -------
    Dataset
        Dimension question. chosen, best: the first scheme of the ranking, and the best scheme of the simulation. shortfall:
        relative loss of the chosen scheme (in mean response time at a rate, otherwise in throughput). predicted, simulated:
        values of the chosen scheme, in seconds or requests a second. error: predicted over simulated value, minus 1.
        each_error: the same error for all simulated schemes, over `scheme`. within: share of the questions with a shortfall
        of at most 5%.
    """
    rows, errors = [], []
    for needs in questions:
        answer = answer_to(needs)
        if not answer.feasible:
            continue
        near = [one for one in answer.ranking if _score(needs, one) <= (1 + _APART) * _score(needs, answer.ranking[0])]
        found = [(one, _simulated_scheme(needs, one, seeds)) for one in near[:_MOST]]
        errors += [_figure(needs, one) / figure - 1 for one, figure in found]
        (chosen, figure), (best, least) = found[0], min(found, key=lambda pair: _less(needs, pair[1]))
        short = _less(needs, figure) / _less(needs, least) - 1
        rows.append(
            (str(chosen.scheme), str(best.scheme), short, _figure(needs, chosen), figure, needs.rate is not None)
        )
    chosen, best, short, said, seen, rated = (list(column) for column in zip(*rows, strict=True))
    data = xr.Dataset(
        {
            "chosen": ("question", chosen),
            "best": ("question", best),
            "shortfall": ("question", short, {"units": "1"}),
            "predicted": ("question", said),
            "simulated": ("question", seen),
            "error": ("question", np.array(said) / np.array(seen) - 1, {"units": "1"}),
            "at_a_rate": ("question", rated),
            "each_error": ("scheme", errors, {"units": "1"}),
        }
    )
    data["within"] = (data.shortfall <= NEAR).mean()
    data.attrs = {"basis": "simulated", "seeds": list(range(seeds))}
    return data


def _figure(needs: Requirements, one: Prediction) -> float:
    return one.throughput if needs.rate is None else one.mean


def _less(needs: Requirements, figure: float) -> float:
    """Return the score of a value; smaller is better."""
    return 1 / figure if needs.rate is None else figure


def _score(needs: Requirements, one: Prediction) -> float:
    return _less(needs, _figure(needs, one))


def _simulated_scheme(needs: Requirements, one: Prediction, seeds: int) -> float:
    length, scheduler = scheme_requests(needs, one.utilization), RLOOK() if needs.rate is None else None
    found = simulate_scheme(needs, one.scheme, scheduler, one.mean, range(seeds), length)
    return float(found.request_rate.mean() if needs.rate is None else found.response.mean())
