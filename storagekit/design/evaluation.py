"""Measures of a design at many points, from a formula or from simulations with common random numbers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.errors import JAXTypeError
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.provenance import made_by, made_jointly
from storagekit.design.estimates import measure_of, named_numbers, require_measures, require_simulated
from storagekit.engine import Scenario
from storagekit.simulation import sweep


class Evaluation(ABC):
    """Computes the measures of a design at points.

    Parameters
    ----------
    names : sequence of str
        The parameters.
    measures : sequence of str
        The measures.
    """

    # whether parameters with whole numbers may have fractions
    relaxes = True
    # whether the measures have derivatives
    smooth = False
    # smallest step of a search without derivatives, as a share of the range of a parameter
    accuracy = 1e-6
    # largest number of combinations of whole numbers that are all compared, without and with a search for each
    compared, searched = 10_000, 256

    def __init__(self, names: Sequence[str], measures: Sequence[str]):
        self.names, self.measures = list(names), list(measures)
        self.known: dict[bytes, NDArray] = {}
        self.attributes: dict[str, Any] = made_by("analytic") | {"varied": self.names}

    def at(self, points: NDArray) -> NDArray:
        """Return the measures at points. Measures at new points are computed.

        Parameters
        ----------
        points : array of float, shape `[point, parameter]`
            The points.

        Returns
        -------
        array of float, shape `[point, measure]`
            The measures.
        """
        new = {point.tobytes(): point for point in points if point.tobytes() not in self.known}
        if new:
            self.known |= dict(zip(new, self._computed(np.array(list(new.values()))), strict=True))
        return np.array([self.known[point.tobytes()] for point in points])

    def slopes(self, point: NDArray) -> NDArray:
        """Return the derivatives of all measures at a point, shape `[measure, parameter]`; NaN if they have none."""
        return np.full((len(self.measures), len(self.names)), np.nan)

    def further(self, point: NDArray) -> dict[str, float]:
        """Return further facts about a known point; by default none."""
        return {}

    @abstractmethod
    def _computed(self, points: NDArray) -> NDArray:
        """Return the measures at points that are not known, shape `[point, measure]`."""

    def _named(self, point: Any, whole: Container[str] = ()) -> dict[str, Any]:
        return {name: _number(name, value, whole) for name, value in zip(self.names, point, strict=True)}


class _Traced(Evaluation):
    """A formula that JAX traces, in double precision."""

    smooth = True

    def __init__(self, function: Callable[..., Any], names: Sequence[str], measures: Sequence[str]):
        super().__init__(names, measures)

        def measured(point):
            found = named_numbers(function(**self._named(point)))
            return jnp.stack([jnp.asarray(found[name], float) for name in self.measures])

        self._batch = jax.jit(jax.vmap(measured))
        self._slopes = jax.jit(jax.jacfwd(measured))

    def _computed(self, points: NDArray) -> NDArray:
        # powers of two, so that few sizes are compiled
        padded = np.resize(points, (1 << (len(points) - 1).bit_length(), points.shape[1]))
        with jax.enable_x64(True):
            return np.asarray(self._batch(padded))[: len(points)]

    def slopes(self, point: NDArray) -> NDArray:
        with jax.enable_x64(True):
            return np.asarray(self._slopes(point))


class _Plain(Evaluation):
    """A function of numbers that JAX cannot trace."""

    relaxes = False

    def __init__(
        self, function: Callable[..., Any], names: Sequence[str], measures: Sequence[str], whole: Sequence[str]
    ):
        super().__init__(names, measures)
        self._function, self._whole = function, frozenset(whole)

    def _computed(self, points: NDArray) -> NDArray:
        return np.array([self._measured(point) for point in points.tolist()], float)

    def _measured(self, point: Sequence[float]) -> list[float]:
        try:
            found = named_numbers(self._function(**self._named(point, self._whole)))
        except (InputError, ArithmeticError):
            return [np.nan] * len(self.measures)
        return [float(found[name]) for name in self.measures]


class _Simulated(Evaluation):
    """Simulations of scenarios; all points have the same random numbers."""

    relaxes = False
    accuracy = 1e-3
    compared, searched = 1_000, 16

    def __init__(
        self,
        build: Callable[..., Scenario],
        names: Sequence[str],
        measures: Sequence[str],
        whole: Sequence[str],
        settings: Mapping[str, Any],
    ):
        super().__init__(names, measures)
        self._build, self._whole, self._settings = build, frozenset(whole), settings
        self._made: list[dict[str, Any]] = []
        self._blocked: dict[bytes, float] = {}

    def _computed(self, points: NDArray) -> NDArray:
        measured = np.full((len(points), len(self.measures)), np.nan)
        scenarios: dict[int, Scenario] = {}
        for number, point in enumerate(points.tolist()):
            with suppress(InputError, ArithmeticError):
                scenarios[number] = self._build(**self._named(point, self._whole))
        if scenarios:
            built = list(scenarios.values())
            data = sweep(lambda point: built[point], {"point": list(range(len(built)))}, **self._settings)
            self.attributes = made_jointly([*self._made, data.attrs]) | {"varied": self.names}
            self._made = [self.attributes]
            measured[list(scenarios)] = np.stack([measure_of(data, name).mean(-1) for name in self.measures], -1)
            blocked = data.blocked.mean("seed").values
            self._blocked |= {
                points[number].tobytes(): float(one) for number, one in zip(scenarios, blocked, strict=True)
            }
        return measured

    def further(self, point: NDArray) -> dict[str, float]:
        return {"blocked": self._blocked[point.tobytes()]}


def evaluation_of(
    subject: Callable[..., Any],
    points: Sequence[Mapping[str, float]],
    objective: str | None,
    others: Sequence[str],
    whole: Sequence[str],
    settings: Mapping[str, Any],
) -> Evaluation:
    """Return the evaluation of a function.

    Parameters
    ----------
    subject : callable
        The function.
    points : sequence of mapping of str to float
        Values of all parameters. The function is called at these points, one after the other, until it returns a result.
    objective : str or None
        The first measure. None is the number that the function returns, or the mean response time of a simulation.
    others : sequence of str
        Further measures.
    whole : sequence of str
        Parameters that have only whole numbers.
    settings : mapping
        Arguments of `sweep`: seeds, requests, warm_up.

    Returns
    -------
    Evaluation
        The evaluation.

    Raises
    ------
    InputError
        If the function does not return the measures, or rejects all points.
    """
    first, point = _first(subject, points, whole)
    if isinstance(first, Scenario):
        chosen = _each(objective or "response", others)
        require_simulated(chosen)
        return _Simulated(subject, list(point), chosen, whole, settings)
    found = named_numbers(first)
    if objective is None and len(found) > 1:
        raise InputError(f"objective: give one of the measures that the function returns, {', '.join(found)}")
    measures = _each(objective or next(iter(found)), others)
    require_measures(measures, found)
    try:
        traced = _Traced(subject, list(point), measures)
        traced.slopes(np.array(list(point.values()), float))
    except (JAXTypeError, TypeError):
        return _Plain(subject, list(point), measures, whole)
    return traced


def _each(objective: str, others: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([objective, *others]))


def _number(name: str, value: float, whole: Container[str]) -> float:
    return int(value) if name in whole else value


def _first(
    subject: Callable[..., Any], points: Sequence[Mapping[str, float]], whole: Container[str]
) -> tuple[Any, Mapping[str, float]]:
    """Return the first result of a function, and the point."""
    failure: Exception | None = None
    for point in points:
        try:
            return subject(**{name: _number(name, value, whole) for name, value in point.items()}), point
        except (InputError, ArithmeticError) as fault:
            failure = fault
    raise InputError(f"the function fails at {len(points)} points within the bounds: {failure}") from failure
