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
from storagekit.design.fields import require_parameters, takes_key
from storagekit.design.searching import (
    FEASIBLE,
    Compared,
    Problem,
    Space,
    at_limit,
    best_whole,
    first_points,
    pair_of,
    ranges_of,
    relaxed_optimum,
)
from storagekit.simulation.experiment import listed

STEPS = COUNT.up_to(10_000)
STARTS = COUNT.up_to(4096)
# smallest number of points from which the ranges of the measures of a formula are determined
_FEWEST = 16
# an objective that is smaller than this share of its range is 0
_LEAST_RANGE = 1e-9
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
        Difference between the objective at `values` and at `relaxed`, divided by the value at `relaxed`; NaN if that is 0.
    active : tuple of str
        Constraints and bounds that hold with equality: within 0.01%, or 1% for simulations.
    combinations : int
        Number of combinations of whole numbers that were compared.
    proved : bool
        Whether `values` is the global optimum, because all combinations of whole numbers were compared and no other
        parameters were searched.
    converged : bool
        Whether the search ended before its largest number of steps.
    evaluations : int
        Number of points at which the measures were computed.
    attributes : dict
        The provenance of the measures, and the problem.
    """

    values: dict[str, float]
    measures: dict[str, float]
    objective: str
    relaxed: dict[str, float]
    gap: float
    active: tuple[str, ...]
    combinations: int
    proved: bool
    converged: bool
    evaluations: int
    attributes: dict[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """Return the parameters and the measures, one line each."""
        points = [f"{name:<24} {value:.6g}" for name, value in self.values.items()]
        results = [f"{name:<24} {value:.6g}" for name, value in self.measures.items()]
        limits = f"at its limit: {', '.join(self.active)}" if self.active else "no constraint is at its limit"
        compared = "the best of several local searches"
        if self.proved:
            compared = f"the best of all {self.combinations} combinations of whole numbers"
        elif self.combinations:
            compared = f"the best of {self.combinations} combinations of whole numbers"
            compared += "" if self.relaxed == self.values else f", {self.gap:.2%} from the optimum with fractions"
        ended = [] if self.converged else ["the search reached its largest number of steps: raise steps"]
        blocked = self.attributes.get("blocked", 0)
        waited = [f"{blocked:.0f} arrivals waited for a slot: raise System.slots"] if blocked else []
        return "\n".join([*points, *results, limits, f"{self.evaluations} evaluations; {compared}", *ended, *waited])


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
    A formula that JAX traces is optimized by sequential quadratic programming (SLSQP) with its derivatives. Other functions
    and simulations are optimized by COBYQA, which needs no derivatives. Simulations of all points have the same random
    numbers, so that the objective is a function of the parameters. The optimum is therefore the optimum for these random
    numbers. A search finds a local optimum. The first points are a Sobol sequence. Points at which the function raises
    InputError or ArithmeticError are not feasible.

    A parameter whose lower bound is above 0 is searched on a logarithmic scale. If the lower bound is 0, the scale is linear:
    give a lower bound above 0 for a wide range.

    With whole numbers, all combinations are compared if there are at most 10,000 (1,000 for simulations). If the search
    also has other parameters, these are searched for each combination, and the limit is 256 combinations (16 for
    simulations). Above the limit, the combinations around the relaxed optimum of a formula are compared.

    In a simulation arrivals may wait for a slot, so that overloaded points have long response times. The attribute `blocked`
    is the mean number of arrivals that waited at the optimum.

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
    if takes_key(subject):
        raise InputError(
            "subject: it has the parameter key; give a function that averages over its random numbers itself"
        )
    limits = {name: pair_of(f"constraint of {name}", pair) for name, pair in constraints.items()}
    points = first_points(space, starts)
    rounded = np.where(space.whole, np.clip(np.round(points), space.low, space.high), points)
    settings = {"seeds": listed(seeds), "requests": requests, "warm_up": warm_up, "allow_blocked": True}
    named = [dict(zip(space.names, point, strict=True)) for point in rounded.tolist()]
    evaluation = evaluation_of(subject, named, objective, list(limits), whole, settings)
    # formulas are cheap: a few more points show the ranges of their measures
    begin = first_points(space, max(starts, _FEWEST)) if evaluation.relaxes else rounded
    problem = Problem(evaluation, space, -1.0 if maximize else 1.0, limits, steps, ranges_of(evaluation, begin))
    if not space.whole.any():
        best = relaxed_optimum(problem, starts)
        return _answer(problem, Compared(best, 0, False), best.point)
    relaxed = relaxed_optimum(problem, starts).point if evaluation.relaxes else None
    best = best_whole(problem, relaxed, starts)
    return _answer(problem, best, best.found.point if relaxed is None else relaxed)


def _answer(problem: Problem, best: Compared, relaxed: NDArray) -> Optimum:
    evaluation, names = problem.evaluation, problem.space.names
    measures, other = evaluation.at(np.array([best.found.point, relaxed]))
    found = dict(zip(names, best.found.point.tolist(), strict=True))
    where = ", ".join(f"{name} {value:.6g}" for name, value in found.items())
    if not np.isfinite(measures[0]):
        raise InputError(f"no point has a finite {evaluation.measures[0]}: narrow the bounds or raise starts")
    if problem.excess(measures).max(initial=0.0) > FEASIBLE:
        name, index, _, limit = list(problem.rows())[int(np.argmax(problem.excess(measures)))]
        reached = f"{name} {measures[index]:.8g}, limit {limit:.8g}"
        raise InputError(
            f"no compared point meets the constraints: the nearest has {reached}, at {where}; relax a constraint"
        )
    facts = {"objective": evaluation.measures[0], "maximize": int(problem.sign < 0), "bounds": str(problem.space.ends)}
    size = abs(other[0])
    return Optimum(
        values=found,
        measures=dict(zip(evaluation.measures, measures.tolist(), strict=True)),
        objective=evaluation.measures[0],
        relaxed=dict(zip(names, relaxed.tolist(), strict=True)),
        gap=float(abs(measures[0] - other[0]) / size) if size > _LEAST_RANGE * problem.ranges[0] else np.nan,
        active=at_limit(problem, best.found.point, measures),
        combinations=best.combinations,
        proved=best.every and bool(problem.space.whole.all()),
        converged=best.found.converged,
        evaluations=len(evaluation.known),
        attributes=evaluation.attributes | facts | evaluation.further(best.found.point),
    )
