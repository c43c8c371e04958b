"""Searches for the best point of a design problem."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, NonlinearConstraint, minimize
from scipy.stats import qmc
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.core.validation import REAL, require, shown
from storagekit.design.evaluation import Evaluation

# largest number of combinations of whole numbers that are all compared: without and with a search for each
ENUMERATED, SEARCHED = 10_000, 256
# largest violation of a constraint, relative to the limit
FEASIBLE = 1e-6
# number of the first points from which searches start: with derivatives, and without
_SEARCHES = {True: 4, False: 1}
# the scaled objective where it is infinite
_WORSE = 1e3
# largest distance from a bound at which a parameter is at the bound, as a share of the range
_AT_BOUND = 1e-4


@dataclass(frozen=True)
class Space:
    """The bounds of the parameters.

    Parameters
    ----------
    names : tuple of str
        The parameters.
    low, high : array of float, shape `[parameter]`
        The bounds.
    whole : array of bool, shape `[parameter]`
        Whether a parameter has only whole numbers.
    """

    names: tuple[str, ...]
    low: NDArray
    high: NDArray
    whole: NDArray

    @classmethod
    def of(cls, bounds: Mapping[str, tuple[float, float]], whole: Sequence[str]) -> "Space":
        """Return the space of given bounds.

        Parameters
        ----------
        bounds : mapping of str to (float, float)
            The bounds of each parameter.
        whole : sequence of str
            Parameters that have only whole numbers.

        Returns
        -------
        Space
            The space.

        Raises
        ------
        InputError
            If a bound is invalid, or if `whole` has an unknown name.
        """
        if not bounds:
            raise InputError("bounds: no parameters; give at least one")
        for name in whole:
            if name not in bounds:
                raise InputError(f"whole {name!r} has no bounds: give one of {', '.join(map(str, bounds))}")
        ends = np.array([pair_of(f"bounds of {name}", pair) for name, pair in bounds.items()], float)
        if np.isnan(ends).any():
            raise InputError("bounds: give both bounds of each parameter, or a wide range")
        low, high = ends.T
        given = np.array([name in whole for name in bounds])
        if (given & ((low % 1 != 0) | (high % 1 != 0))).any():
            raise InputError(f"bounds of {', '.join(whole)}: give whole numbers")
        return cls(tuple(bounds), low, high, given)

    def points(self, unit: NDArray) -> NDArray:
        """Return the points at coordinates between 0 and 1; positive parameters have a logarithmic scale."""
        unit = np.clip(unit, 0, 1)
        scaled = self.low + unit * (self.high - self.low)
        with np.errstate(divide="ignore", invalid="ignore"):
            powers = np.exp(np.log(self.low) + unit * np.log(self.high / self.low))
        return np.clip(np.where(self.low > 0, powers, scaled), self.low, self.high)

    def coordinates(self, points: NDArray) -> NDArray:
        """Return the coordinates of points, the inverse of `points`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(points / self.low) / np.log(self.high / self.low)
            return np.nan_to_num(np.where(self.low > 0, logarithms, (points - self.low) / (self.high - self.low)))

    def steepness(self, point: NDArray) -> NDArray:
        """Return the derivatives of `points` in the coordinates."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.low > 0, point * np.log(self.high / self.low), self.high - self.low)

    @property
    def combinations(self) -> int:
        """Return the number of combinations of the whole numbers."""
        return math.prod((self.high - self.low + 1)[self.whole].astype(int).tolist())


def pair_of(label: str, pair: Any) -> tuple[float, float]:
    """Return a pair of limits; a limit of None is NaN.

    Parameters
    ----------
    label : str
        Name of the pair, for the message of the error.
    pair : (float or None, float or None)
        The lower and the upper limit.

    Returns
    -------
    (float, float)
        The limits.

    Raises
    ------
    InputError
        If `pair` is not a pair of numbers, or the lower limit is above the upper limit.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"{label} {shown(pair)}: give a pair (lower, upper)")
    low, high = (math.nan if one is None else float(REAL(label, one)) for one in pair)
    require(not low > high, label, low, f"at most the upper limit, {high:g}")
    return low, high


@dataclass(frozen=True)
class Problem:
    """A design problem.

    Parameters
    ----------
    evaluation : Evaluation
        Computes the measures; the first measure is the objective.
    space : Space
        The bounds.
    sign : float
        1 to minimize the objective, -1 to maximize it.
    limits : dict of str to (float, float)
        The limits of other measures, NaN where there is none.
    steps : int
        Largest number of steps of a search.
    """

    evaluation: Evaluation
    space: Space
    sign: float
    limits: dict[str, tuple[float, float]]
    steps: int

    def rows(self) -> Iterator[tuple[str, int, float, float]]:
        """Yield each limit: name of the measure, its index, the sign of the excess, and the limit."""
        for name, ends in self.limits.items():
            for sign, limit in zip((-1.0, 1.0), ends, strict=True):
                if not math.isnan(limit):
                    yield name, self.evaluation.measures.index(name), sign, limit

    def excess(self, measures: NDArray) -> NDArray:
        """Return the violation of each limit relative to the limit, positive if violated; shape `[..., limit]`."""
        found = [sign * (measures[..., index] - limit) / (abs(limit) or 1) for _, index, sign, limit in self.rows()]
        return np.stack(found, -1) if found else np.zeros((*measures.shape[:-1], 0))

    def rank(self, measures: NDArray) -> NDArray:
        """Return the indices of points from the best to the worst; points without values are last.

        Parameters
        ----------
        measures : array of float, shape `[point, measure]`
            The measures.

        Returns
        -------
        array of int, shape `[point]`
            The order.
        """
        missing = ~np.isfinite(measures[:, 0])
        with np.errstate(invalid="ignore"):
            worst = np.nan_to_num(self.excess(measures).max(-1, initial=0.0), nan=np.inf)
        violated = np.where(worst > FEASIBLE, worst, 0.0)
        return np.lexsort((self.sign * measures[:, 0], violated, missing))

    def best_of(self, points: NDArray) -> NDArray:
        """Return the best of some points, shape `[parameter]`."""
        return points[self.rank(self.evaluation.at(points))[0]]


def search(problem: Problem, start: NDArray, free: NDArray) -> NDArray:
    """Search for a local optimum.

    Parameters
    ----------
    problem : Problem
        The problem.
    start : array of float, shape `[parameter]`
        The first point.
    free : array of bool, shape `[parameter]`
        Whether a parameter may change.

    Returns
    -------
    array of float, shape `[parameter]`
        The better one of the first and the last point.
    """
    evaluation, space = problem.evaluation, problem.space
    if not free.any():
        return start
    first = space.coordinates(start)

    def point(coordinates: NDArray) -> NDArray:
        unit = first.copy()
        unit[free] = coordinates
        # whole numbers are unchanged by the scale
        return np.where(free, space.points(unit), start)

    def measured(coordinates: NDArray) -> NDArray:
        return evaluation.at(point(coordinates)[None])[0]

    def slopes(coordinates: NDArray) -> NDArray:
        here = point(coordinates)
        return np.nan_to_num((evaluation.slopes(here) * space.steepness(here))[:, free], posinf=0, neginf=0)

    begin = abs(measured(first[free])[0])
    size = begin if np.isfinite(begin) and begin else 1.0

    def objective(coordinates: NDArray) -> float:
        found = problem.sign * measured(coordinates)[0] / size
        return found if np.isfinite(found) else _WORSE

    def excess(coordinates: NDArray) -> NDArray:
        return np.nan_to_num(problem.excess(measured(coordinates)), nan=_WORSE, posinf=_WORSE, neginf=-_WORSE)

    rows = list(problem.rows())
    which = [index for _, index, _, _ in rows]
    factors = np.array([sign / (abs(limit) or 1) for _, _, sign, limit in rows])
    smooth = evaluation.smooth
    options: dict[str, Any] = {"jac": lambda x: problem.sign * slopes(x)[0] / size} if smooth else {}
    if rows and smooth:
        fixed = (slopes(first[free])[which] == 0).all(-1)
        if (fixed & (excess(first[free]) > FEASIBLE)).any():
            return start  # no free parameter changes a limit that is violated
    if rows:
        jacobian: dict[str, Any] = {"jac": lambda x: slopes(x)[which] * factors[:, None]} if smooth else {}
        options["constraints"] = NonlinearConstraint(excess, -np.inf, 0, **jacobian)
    if smooth:
        options |= {"method": "SLSQP", "options": {"maxiter": problem.steps, "ftol": 1e-10}}
    else:
        radii = {"initial_tr_radius": 0.1, "final_tr_radius": problem.evaluation.accuracy}
        options |= {"method": "COBYQA", "options": {"maxfev": problem.steps, **radii}}
    found = minimize(objective, first[free], bounds=Bounds(0, 1), **options)
    return problem.best_of(np.array([point(found.x), start]))


def relaxed_optimum(problem: Problem, starts: int) -> NDArray:
    """Return the best point that is found if whole numbers may have fractions.

    Parameters
    ----------
    problem : Problem
        The problem.
    starts : int
        Number of first points.

    Returns
    -------
    array of float, shape `[parameter]`
        The point.
    """
    points = first_points(problem.space, starts)
    order = problem.rank(problem.evaluation.at(points))[: _SEARCHES[problem.evaluation.smooth]]
    every = np.ones(len(problem.space.names), bool)
    ends = [search(problem, points[one], every) for one in _progress(order)]
    return problem.best_of(np.array(ends))


def first_points(space: Space, starts: int) -> NDArray:
    """Return the centre of the space and points of a Sobol sequence, shape `[point, parameter]`."""
    drawn = qmc.Sobol(len(space.names), rng=0).random_base2(max(1, (starts - 1).bit_length()))
    unit = np.concatenate([np.full((1, len(space.names)), 0.5), drawn])
    return space.points(unit[:starts])


def best_whole(problem: Problem, relaxed: NDArray | None, starts: int) -> tuple[NDArray, bool]:
    """Return the best point with whole numbers.

    Parameters
    ----------
    problem : Problem
        The problem.
    relaxed : array of float, shape `[parameter]`, or None
        The best point with fractions, if there is one.
    starts : int
        Number of first points.

    Returns
    -------
    point : array of float, shape `[parameter]`
        The point.
    proved : bool
        Whether all combinations of whole numbers were compared.

    Raises
    ------
    InputError
        If there are too many combinations.
    """
    space = problem.space
    free = ~space.whole
    limit = SEARCHED if free.any() else ENUMERATED
    proved = space.combinations <= limit
    if not proved and relaxed is None:
        raise InputError(
            f"{space.combinations} combinations of whole numbers: at most {limit} can be compared; narrow the bounds"
        )
    if proved:
        ranges = [range(int(low), int(high) + 1) for low, high in zip(space.low, space.high, strict=True)]
    else:
        ranges = [range(math.floor(one), math.ceil(one) + 1) for one in (relaxed if relaxed is not None else ())]
    combinations = itertools.product(*(ranges[index] for index in np.flatnonzero(space.whole)))
    chosen = np.array(list(combinations), float)
    begin = first_points(space, starts) if relaxed is None else relaxed[None]
    tried = np.repeat(begin[None], len(chosen), 0)
    tried[:, :, space.whole] = chosen[:, None]
    if not free.any():
        return problem.best_of(tried[:, 0]), proved
    problem.evaluation.at(tried.reshape(-1, len(space.names)))
    return problem.best_of(np.array([search(problem, problem.best_of(one), free) for one in _progress(tried)])), proved


def _progress(searches: Any) -> Iterable[Any]:
    return tqdm(searches, desc="optimizing", unit="search", delay=2, leave=False)


def at_limit(problem: Problem, point: NDArray, measures: NDArray) -> tuple[str, ...]:
    """Return the names of the constraints and of the parameters that are at a limit, within the accuracy of the search.

    Parameters
    ----------
    problem : Problem
        The problem.
    point : array of float, shape `[parameter]`
        The point.
    measures : array of float, shape `[measure]`
        Its measures.

    Returns
    -------
    tuple of str
        The names.
    """
    near = np.abs(problem.excess(measures)) <= max(_AT_BOUND, 10 * problem.evaluation.accuracy)
    found = [name for (name, *_), close in zip(problem.rows(), near, strict=True) if close]
    unit = problem.space.coordinates(point)
    return (
        *found,
        *(name for name, one in zip(problem.space.names, unit, strict=True) if min(one, 1 - one) <= _AT_BOUND),
    )
