"""Searches for the best point of a design problem."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, NonlinearConstraint, minimize
from scipy.stats import qmc
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.core.validation import REAL, require, shown, text
from storagekit.design.evaluation import Evaluation

# largest violation of a constraint, relative to the limit, or to the range of the measure if the limit is 0
FEASIBLE = 1e-6
# number of the first points from which searches start: with derivatives, and without
_SEARCHES = {True: 4, False: 1}
# number of searches for each combination of whole numbers
_EACH = {True: 2, False: 1}
# SLSQP ends with this status if rounding hides the descent, near an optimum
_AT_PRECISION = 8
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
        ends = np.array(
            [pair_of(f"bounds of {text('a parameter', name)}", pair) for name, pair in bounds.items()], float
        )
        if np.isnan(ends).any():
            raise InputError(
                "bounds: each parameter needs a lower and an upper bound; give a wide range if none is known"
            )
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
        """Return the coordinates of points: the inverse of the method `points`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(points / self.low) / np.log(self.high / self.low)
            return np.nan_to_num(np.where(self.low > 0, logarithms, (points - self.low) / (self.high - self.low)))

    def steepness(self, point: NDArray) -> NDArray:
        """Return the derivative of each parameter with respect to its coordinate, at a point."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.low > 0, point * np.log(self.high / self.low), self.high - self.low)

    @property
    def ends(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of each parameter."""
        return {
            name: (float(low), float(high)) for name, low, high in zip(self.names, self.low, self.high, strict=True)
        }

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
    ranges : array of float, shape `[measure]`
        Range of each measure over the first points, above 0.
    """

    evaluation: Evaluation
    space: Space
    sign: float
    limits: dict[str, tuple[float, float]]
    steps: int
    ranges: NDArray

    def rows(self) -> Iterator[tuple[str, int, float, float]]:
        """Yield each limit: name of the measure, its index, the sign of the excess, and the limit."""
        for name, ends in self.limits.items():
            for sign, limit in zip((-1.0, 1.0), ends, strict=True):
                if not math.isnan(limit):
                    yield name, self.evaluation.measures.index(name), sign, limit

    def excess(self, measures: NDArray) -> NDArray:
        """Return the violation of each limit, positive if violated; shape `[..., limit]`. See `FEASIBLE` for the unit."""
        found = [
            sign * (measures[..., index] - limit) / (abs(limit) or self.ranges[index])
            for _, index, sign, limit in self.rows()
        ]
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


class Found(NamedTuple):
    """The result of a search.

    Parameters
    ----------
    point : array of float, shape `[parameter]`
        The best point.
    converged : bool
        Whether the search ended before its largest number of steps.
    """

    point: NDArray
    converged: bool


def search(problem: Problem, start: NDArray, free: NDArray) -> Found:
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
    Found
        The better one of the first and the last point.
    """
    evaluation, space = problem.evaluation, problem.space
    if not free.any():
        return Found(start, True)
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

    begin, size = measured(first[free])[0], problem.ranges[0]
    begin = begin if np.isfinite(begin) else 0.0

    def objective(coordinates: NDArray) -> float:
        found = problem.sign * (measured(coordinates)[0] - begin) / size
        return found if np.isfinite(found) else _WORSE

    def excess(coordinates: NDArray) -> NDArray:
        return np.nan_to_num(problem.excess(measured(coordinates)), nan=_WORSE, posinf=_WORSE, neginf=-_WORSE)

    rows = list(problem.rows())
    which = [index for _, index, _, _ in rows]
    factors = np.array([sign / (abs(limit) or problem.ranges[index]) for _, index, sign, limit in rows])
    smooth = evaluation.smooth
    options: dict[str, Any] = {"jac": lambda x: problem.sign * slopes(x)[0] / size} if smooth else {}
    if rows and smooth:
        fixed = (slopes(first[free])[which] == 0).all(-1)
        if (fixed & (excess(first[free]) > FEASIBLE)).any():
            return Found(start, True)  # no free parameter changes a limit that is violated
    if rows:
        jacobian: dict[str, Any] = {"jac": lambda x: slopes(x)[which] * factors[:, None]} if smooth else {}
        options["constraints"] = NonlinearConstraint(excess, -np.inf, 0, **jacobian)
    if smooth:
        options |= {"method": "SLSQP", "options": {"maxiter": problem.steps, "ftol": 1e-10}}
    else:
        radii = {"initial_tr_radius": 0.1, "final_tr_radius": problem.evaluation.accuracy}
        options |= {"method": "COBYQA", "options": {"maxfev": problem.steps, **radii}}
    found = minimize(objective, first[free], bounds=Bounds(0, 1), **options)
    ended = found.success or found.status == _AT_PRECISION
    return Found(problem.best_of(np.array([point(found.x), start])), bool(ended))


def best_found(problem: Problem, found: Iterable[Found]) -> Found:
    """Return the best one of the results of several searches."""
    ends = list(found)
    points = np.array([one.point for one in ends])
    return ends[problem.rank(problem.evaluation.at(points))[0]]


def relaxed_optimum(problem: Problem, starts: int) -> Found:
    """Return the best point that is found if whole numbers may have fractions.

    Parameters
    ----------
    problem : Problem
        The problem.
    starts : int
        Number of first points.

    Returns
    -------
    Found
        The point.
    """
    points = first_points(problem.space, starts)
    order = problem.rank(problem.evaluation.at(points))[: _SEARCHES[problem.evaluation.smooth]]
    every = np.ones(len(problem.space.names), bool)
    return best_found(problem, (search(problem, points[one], every) for one in _progress(order)))


def ranges_of(evaluation: Evaluation, points: NDArray) -> NDArray:
    """Return the range of each measure over some points, shape `[measure]`; its size, or 1, if the range is 0."""
    measures = evaluation.at(points)
    finite = np.where(np.isfinite(measures), measures, np.nan)
    known = np.any(np.isfinite(measures), axis=0, keepdims=True)[0]
    spread, size = np.ones((2, measures.shape[1]))
    spread[known] = np.nanmax(finite[:, known], 0) - np.nanmin(finite[:, known], 0)
    size[known] = np.nanmax(np.abs(finite[:, known]), 0)
    return np.where(spread > 0, spread, np.where(size > 0, size, 1.0))


def first_points(space: Space, starts: int) -> NDArray:
    """Return the centre of the space and points of a Sobol sequence, shape `[point, parameter]`."""
    drawn = qmc.Sobol(len(space.names), rng=0).random_base2(max(1, (starts - 1).bit_length()))
    unit = np.concatenate([np.full((1, len(space.names)), 0.5), drawn])
    return space.points(unit[:starts])


class Compared(NamedTuple):
    """The best point among combinations of whole numbers.

    Parameters
    ----------
    found : Found
        The point.
    combinations : int
        Number of combinations that were compared.
    every : bool
        Whether these are all combinations.
    """

    found: Found
    combinations: int
    every: bool


def best_whole(problem: Problem, relaxed: NDArray | None, starts: int) -> Compared:
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
    Compared
        The point.

    Raises
    ------
    InputError
        If there are too many combinations.
    """
    space, evaluation = problem.space, problem.evaluation
    free = ~space.whole
    limit = evaluation.searched if free.any() else evaluation.compared
    every = space.combinations <= limit
    if every:
        ranges = [range(int(low), int(high) + 1) for low, high in zip(space.low, space.high, strict=True)]
    elif relaxed is not None:
        ranges = [range(math.floor(one), math.ceil(one) + 1) for one in relaxed]
    else:
        ranges = []
    count = math.prod(len(ranges[index]) for index in np.flatnonzero(space.whole)) if ranges else space.combinations
    if count > limit:
        raise InputError(f"{count} combinations of whole numbers: at most {limit} can be compared; narrow the bounds")
    chosen = np.array(list(itertools.product(*(ranges[index] for index in np.flatnonzero(space.whole)))), float)
    begin = first_points(space, starts)
    begin = begin if relaxed is None else np.concatenate([relaxed[None], begin])
    tried = np.repeat(begin[None], len(chosen), 0)
    tried[:, :, space.whole] = chosen[:, None]
    if not free.any():
        return Compared(Found(problem.best_of(tried[:, 0]), True), count, every)
    measures = evaluation.at(tried.reshape(-1, len(space.names))).reshape(*tried.shape[:2], -1)
    ends = []
    for points, known in zip(_progress(tried), measures, strict=True):
        order = problem.rank(known)[: _EACH[evaluation.smooth]]
        ends += [search(problem, points[one], free) for one in order]
    return Compared(best_found(problem, ends), count, every)


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
        The names of measures, and of parameters as "bound of NAME".
    """
    near = np.abs(problem.excess(measures)) <= max(_AT_BOUND, 10 * problem.evaluation.accuracy)
    found = dict.fromkeys(name for (name, *_), close in zip(problem.rows(), near, strict=True) if close)
    space = problem.space
    unit = space.coordinates(point)
    ends = (np.minimum(unit, 1 - unit) <= _AT_BOUND) & (space.high > space.low)
    return (*found, *(f"bound of {name}" for name, one in zip(space.names, ends, strict=True) if one))
