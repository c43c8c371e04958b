"""Optimal values of the parameters of a design, within bounds and constraints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import (
    COUNT,
    Amount,
    Count,
    called,
    flag,
    instance_of,
    optional,
    several,
    text,
    validate,
)
from storagekit.design.evaluation import evaluation_of
from storagekit.design.fields import require_parameters
from storagekit.design.searching import (
    FEASIBLE,
    Problem,
    Space,
    at_limit,
    best_whole,
    first_points,
    pair_of,
    relaxed_optimum,
)
from storagekit.simulation.experiment import listed

STEPS = COUNT.up_to(10_000)
STARTS = COUNT.up_to(4096)
_LIMITS = instance_of(Mapping, "a mapping from measures to pairs of limits, such as {'p99': (None, 0.05)}")
_BOUNDS = instance_of(Mapping, "a mapping from parameters to pairs, such as {'unit': (4096, 1e6)}")


@dataclass(frozen=True)
class Optimum:
    """The best point of a design problem.

    Parameters
    ----------
    values : dict of str to float
        The parameters.
    measures : dict of str to float
        The measures at this point.
    objective : str
        Name of the measure that is minimized or maximized.
    relaxed : dict of str to float
        The best point if whole numbers may have fractions; equal to `values` if there are no whole numbers or if they cannot
        have fractions.
    gap : float
        Relative difference between the objective at `values` and at `relaxed`, 0 or more.
    active : tuple of str
        Constraints and bounds that hold with equality.
    proved : bool
        Whether all combinations of the whole numbers were compared.
    evaluations : int
        Number of points at which the measures were computed.
    attributes : dict
        The provenance of the measures.
    """

    values: dict[str, float]
    measures: dict[str, float]
    objective: str
    relaxed: dict[str, float]
    gap: float
    active: tuple[str, ...]
    proved: bool
    evaluations: int
    attributes: dict[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """Return the parameters and the measures, one line each."""
        points = [f"{name:<24} {value:.6g}" for name, value in self.values.items()]
        results = [f"{name:<24} {value:.6g}" for name, value in self.measures.items()]
        limits = f"at its limit: {', '.join(self.active)}" if self.active else "no constraint is at its limit"
        compared = f"best of several local searches, {self.gap:.2%} from the optimum with fractions"
        if self.proved:
            compared = "all combinations of whole numbers were compared"
        elif self.relaxed == self.values:
            compared = "best of several local searches"
        return "\n".join([*points, *results, limits, f"{self.evaluations} evaluations; {compared}"])


@validate
def optimize(
    subject: Annotated[Callable[..., Any], called],
    bounds: Annotated[Mapping[str, tuple[float, float]], _BOUNDS],
    *,
    objective: Annotated[str | None, optional(text)] = None,
    maximize: Annotated[bool, flag] = False,
    constraints: Annotated[Mapping[str, tuple[float | None, float | None]], _LIMITS] = {},
    whole: Annotated[Sequence[str], several(text)] = (),
    starts: Annotated[int, STARTS] = 16,
    steps: Annotated[int, STEPS] = 100,
    seeds: int | Sequence[int] = 16,
    requests: Count = 20_000,
    warm_up: Amount = 2_000.0,
) -> Optimum:
    """Find the parameters that minimize or maximize a measure.

    Parameters
    ----------
    subject : callable
        Function of the parameters that returns a scenario, a number, or a mapping from names of measures to numbers.
    bounds : mapping of str to (float, float)
        Lower and upper bound of each parameter.
    objective : str, optional
        The measure; by default the number that the function returns, or the mean response time of a simulation.
    maximize : bool
        Whether the measure is maximized; by default it is minimized.
    constraints : mapping of str to (float or None, float or None)
        Least and largest value of measures, such as {"p99": (None, 0.05)}; none by default.
    whole : sequence of str
        Parameters that have only whole numbers, by default none.
    starts : int
        Number of points that are compared first, by default 16. A search starts from the best of them, or from the best
        four if the function has derivatives.
    steps : int
        Largest number of steps of each search, by default 100.
    seeds : int or sequence of int
        The number of independent runs of each point of a simulation, or their seeds, by default 16.
    requests : int
        The smallest number of requests of each run, by default 20,000.
    warm_up : float
        Number of requests at the start of a run that are not measured, by default 2,000.

    Returns
    -------
    Optimum
        The best point.

    Raises
    ------
    InputError
        If an argument is invalid, or no point that was found meets the constraints.

    Notes
    -----
    A formula that JAX traces is optimized by sequential quadratic programming (SLSQP) with its derivatives, other functions
    and simulations by COBYQA, which needs none. Simulations of all points have the same random numbers, so that the
    objective is a function of the parameters; the optimum is that of the sample. Positive parameters are searched on a
    logarithmic scale. A search finds a local optimum; the first points are a Sobol sequence.

    With whole numbers, all combinations are compared if there are at most 10,000 (256 if other parameters must be searched
    for each). Otherwise, the combinations around the relaxed optimum are compared.

    References
    ----------
    Kraft, A software package for sequential quadratic programming, DFVLR-FB 88-28, 1988. Ragonneau and Zhang, COBYQA, 2024.

    Examples
    --------
    Two servers of rates 100 and 50 requests a second share 60 requests a second:

    >>> import storagekit as sk
    >>> def response(share):
    ...     first = sk.analytic.response_mm1(60 * share, 1 / 100)
    ...     return share * first + (1 - share) * sk.analytic.response_mm1(60 * (1 - share), 1 / 50)
    >>> best = sk.optimize(response, {"share": (0.5, 1.0)})
    >>> f"{best.values['share']:.3f} to the first server: {best.measures['value'] * 1e3:.1f} ms"
    '0.788 to the first server: 20.6 ms'
    """
    space = Space.of(bounds, whole)
    require_parameters(subject, space.names)
    limits = {name: pair_of(f"constraint of {name}", pair) for name, pair in constraints.items()}
    middle = np.where(space.whole, space.low, first_points(space, 1)[0])
    point = dict(zip(space.names, middle.tolist(), strict=True))
    settings = {"seeds": listed(seeds), "requests": requests, "warm_up": warm_up, "allow_blocked": True}
    evaluation = evaluation_of(subject, point, objective, list(limits), whole, settings)
    problem = Problem(evaluation, space, -1.0 if maximize else 1.0, limits, steps)
    if not space.whole.any():
        best = relaxed_optimum(problem, starts)
        return _answer(problem, best, best, proved=False)
    relaxed = relaxed_optimum(problem, starts) if evaluation.relaxes else None
    best, proved = best_whole(problem, relaxed, starts)
    return _answer(problem, best, best if relaxed is None else relaxed, proved)


def _answer(problem: Problem, best: NDArray, relaxed: NDArray, proved: bool) -> Optimum:
    evaluation, names = problem.evaluation, problem.space.names
    measures, compared = evaluation.at(np.array([best, relaxed]))
    found = dict(zip(names, best.tolist(), strict=True))
    where = ", ".join(f"{name} {value:.4g}" for name, value in found.items())
    if not np.isfinite(measures[0]):
        raise InputError(
            f"no point has a finite {evaluation.measures[0]}, such as {where}: narrow the bounds or raise starts"
        )
    if problem.excess(measures).max(initial=0.0) > FEASIBLE:
        name, index, _, limit = list(problem.rows())[int(np.argmax(problem.excess(measures)))]
        reached = f"{name} {measures[index]:.4g}, limit {limit:.4g}"
        raise InputError(
            f"no point meets the constraints: the nearest has {reached}, at {where}; relax a limit or a bound"
        )
    return Optimum(
        values=found,
        measures=dict(zip(evaluation.measures, measures.tolist(), strict=True)),
        objective=evaluation.measures[0],
        relaxed=dict(zip(names, relaxed.tolist(), strict=True)),
        gap=float(abs(measures[0] - compared[0]) / (abs(compared[0]) or 1)),
        active=at_limit(problem, best, measures),
        proved=proved,
        evaluations=len(evaluation.known),
        attributes=evaluation.attributes,
    )
