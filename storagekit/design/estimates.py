"""Estimates of derivatives: of formulas by JAX, of simulations by differences with common random numbers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.errors import JAXTypeError
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import shown, traced
from storagekit.design.fields import takes_key
from storagekit.engine import Scenario
from storagekit.simulation import STANDARD, sweep

# name of a result that is a single number
VALUE = "value"
# quantiles of the response time that have a name
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
# relative step of the differences of a formula that JAX cannot trace, and their largest relative error
_STEP, _ERROR = 1e-3, 1e-2


class Estimates(NamedTuple):
    """Values and derivatives of measures, one sample for each seed.

    Parameters
    ----------
    measures : list of str
        Names of the measures.
    values : array of float, shape `[measure, seed]`
        The measures.
    elasticities, derivatives : array of float, shape `[measure, parameter, seed]`
        Numbers whose mean over the seeds is the elasticity or the derivative, and whose spread is the spread of the estimate.
    methods : list of str
        The method of each parameter.
    attributes : dict
        The provenance.
    """

    measures: list[str]
    values: NDArray
    elasticities: NDArray
    derivatives: NDArray
    methods: list[str]
    attributes: dict[str, Any]


def named_numbers(result: Any) -> dict[str, Any]:
    """Return the result of a function as a dictionary of numbers, or raise InputError.

    Parameters
    ----------
    result : Any
        A number, or a mapping from names to numbers.

    Returns
    -------
    dict
        The numbers; a single number has the name `value`.

    Raises
    ------
    InputError
        If the result is neither.
    """
    found = dict(result) if isinstance(result, Mapping) else {VALUE: result}
    if not found:
        raise InputError(
            "the function returned an empty mapping: it must return a scenario, a number, or a mapping of numbers"
        )
    for name, one in found.items():
        number = np.shape(one) == () and (traced(one) or np.asarray(one).dtype.kind in "iuf")
        if not number:
            raise InputError(
                f"{name} {shown(one)}: the function must return a scenario, a number, or a mapping of numbers"
            )
    return found


def require_finite(measures: Sequence[str], means: NDArray) -> None:
    """Raise InputError if a measure has no elasticity because it is 0, infinite or undefined.

    Parameters
    ----------
    measures : sequence of str
        Names of the measures.
    means : array of float, shape `[measure, point]`
        The means of the measures at the point and at the points around it.

    Raises
    ------
    InputError
        If a mean is 0 or not finite.
    """
    for name, row in zip(measures, means, strict=True):
        wrong = row[(row == 0) | ~np.isfinite(row)]
        if wrong.size:
            raise InputError(f"{name} is {wrong[0]:g} at this point, and has no elasticity: leave it out of measures")


def require_measures(measures: Sequence[str], found: Mapping[str, Any]) -> None:
    """Raise InputError if a function did not return a measure.

    Parameters
    ----------
    measures : sequence of str
        The measures.
    found : mapping
        The numbers that the function returned.

    Raises
    ------
    InputError
        If a measure is missing.
    """
    for name in measures:
        if name not in found:
            raise InputError(
                f"measure {name!r}: give a measure that the function returns, {', '.join(map(str, found))}"
            )


def of_formula(
    function: Callable[..., Any], values: Mapping[str, float], measures: Sequence[str] | None, seeds: Sequence[int]
) -> Estimates:
    """Differentiate a function of numbers at a point.

    Parameters
    ----------
    function : callable
        The function. If it has a parameter `key`, it receives a random key of JAX for each seed.
    values : mapping of str to float
        The point.
    measures : sequence of str, optional
        The measures; by default all numbers that the function returns.
    seeds : sequence of int
        The seeds; a function without `key` is evaluated once.

    Returns
    -------
    Estimates
        The derivatives, in double precision.

    Raises
    ------
    InputError
        If the function does not return the measures as numbers, a measure is 0, or finite differences with two steps differ.

    Notes
    -----
    JAX differentiates the function if it can trace it. Otherwise, the derivative in x is the difference of two values at
    x (1 +- 0.001), which is compared with a difference of half the step. A step function that JAX traces has the
    derivative 0.
    """
    with jax.enable_x64(True):
        point = {name: jnp.asarray(value, float) for name, value in values.items()}
        try:
            found, slopes = _traced(function, point, seeds)
            method = "automatic differentiation"
        except (JAXTypeError, TypeError):
            found, slopes = _differences(function, values)
            method = "finite difference"
    measures = list(found if measures is None else measures)
    require_measures(measures, found)
    numbers = np.array([found[name] for name in measures], float)
    require_finite(measures, numbers.mean(-1, keepdims=True))
    derivatives = np.array([[slopes[name][one] for one in values] for name in measures], float)
    means = numbers.mean(-1)[:, None, None]
    scaled = derivatives * np.array(list(values.values()), float)[:, None]
    elasticities = scaled / means - (scaled.mean(-1, keepdims=True) / means) * (numbers[:, None] / means - 1)
    return Estimates(measures, numbers, elasticities, derivatives, [method] * len(values), {})


def _traced(function: Callable[..., Any], point: Mapping[str, Any], seeds: Sequence[int]) -> tuple[dict, dict]:
    names: list[str] = []

    def numbers(point: Mapping[str, Any], **key: Any) -> list[Any]:
        found = named_numbers(function(**point, **key))
        names[:] = found  # JAX would sort a dictionary
        return [jnp.asarray(one, float) for one in found.values()]

    def both(**key: Any) -> tuple[list, list]:
        return numbers(point, **key), jax.jacfwd(lambda point: numbers(point, **key))(dict(point))

    if takes_key(function):
        keys = jnp.stack([jax.random.key(seed) for seed in seeds])
        found, slopes = jax.jit(jax.vmap(lambda key: both(key=key)))(keys)
    else:
        found, slopes = jax.tree.map(lambda one: one[None], jax.jit(both)())
    return dict(zip(names, found, strict=True)), dict(zip(names, slopes, strict=True))


def _differences(function: Callable[..., Any], values: Mapping[str, float]) -> tuple[dict, dict]:
    if takes_key(function):
        raise InputError(
            "JAX cannot trace the function: a function with random numbers must use operations of JAX only"
        )
    found = named_numbers(function(**values))
    slopes: dict[str, dict[str, NDArray]] = {name: {} for name in found}
    for parameter, value in values.items():
        ends = []
        for step in (_STEP, _STEP / 2):
            width = step * (abs(value) or 1.0)
            high, low = (named_numbers(function(**{**values, parameter: value + sign * width})) for sign in (1, -1))
            ends.append({name: (float(high[name]) - float(low[name])) / (2 * width) for name in found})
        for name in found:
            coarse, fine = ends[0][name], ends[1][name]
            if not abs(coarse - fine) <= _ERROR * max(abs(fine), 1e-6 * abs(float(found[name]) / (value or 1.0))):
                raise InputError(
                    f"{name} is not smooth in {parameter} at {value:g}: its slope is {coarse:g} with a step of {_STEP:g}, "
                    f"and {fine:g} with half of it"
                )
            slopes[name][parameter] = np.array([(4 * fine - coarse) / 3])
    return {name: np.array([float(one)]) for name, one in found.items()}, slopes


class Sides(NamedTuple):
    """Two points on both sides of a value of one parameter.

    Parameters
    ----------
    low, high : float
        The values of the parameter.
    scenarios : tuple of Scenario
        The scenarios at both points.
    method : str
        What is computed from the points.
    """

    low: float
    high: float
    scenarios: tuple[Scenario, Scenario]
    method: str


def sides_of(
    build: Callable[[Mapping[str, float]], Scenario], values: Mapping[str, float], name: str, step: float, whole: bool
) -> Sides:
    """Return the points for the difference in one parameter.

    Parameters
    ----------
    build : callable
        Returns the scenario at a point.
    values : mapping of str to float
        The point.
    name : str
        The parameter.
    step : float
        Relative step on each side.
    whole : bool
        Whether the parameter has only whole numbers. The step is then rounded, and is at least 1.

    Returns
    -------
    Sides
        The points. If one side is out of the range of the parameter, or reaches 0, the point itself replaces it.

    Raises
    ------
    InputError
        If the parameter is 0, or both sides are out of range.
    """
    value = values[name]
    if value == 0:
        raise InputError(f"{name} is 0: a relative change needs a value other than 0")
    width = max(1, round(step * abs(value))) if whole else step * abs(value)
    found: list[tuple[float, Scenario]] = []
    failure: InputError | None = None
    for end in (value - width, value + width):
        try:
            if end * value <= 0:
                raise InputError(f"{name} {end:g}: a relative change needs two values of the same sign")
            found.append((end, build({**values, name: end})))
        except InputError as fault:
            failure = fault
            found.append((value, build(values)))
    (low, first), (high, second) = found
    if low == high and failure is not None:
        raise failure
    kind = "one-sided difference" if value in (low, high) else "central difference"
    return Sides(low, high, (first, second), f"{kind}, common random numbers")


def of_simulation(
    build: Callable[[Mapping[str, float]], Scenario],
    values: Mapping[str, float],
    whole: Sequence[bool],
    measures: Sequence[str],
    step: float,
    **settings: Any,
) -> Estimates:
    """Estimate the derivatives of simulated measures at a point.

    Parameters
    ----------
    build : callable
        Returns the scenario at a point.
    values : mapping of str to float
        The point.
    whole : sequence of bool
        Whether each parameter has only whole numbers.
    measures : sequence of str
        Names of the measures.
    step : float
        Relative step on each side.
    **settings
        Arguments of `sweep`: seeds, requests, warm_up.

    Returns
    -------
    Estimates
        The estimates.

    Raises
    ------
    InputError
        If a parameter cannot be changed, or a measure does not exist.

    Notes
    -----
    All points have the same random numbers and the same length of the warm-up, which is determined at the given point.
    For the means a and b of a measure at parameters x < y, the elasticity is ln(b / a) / ln(y / x).
    """
    require_simulated(measures)
    sides = [sides_of(build, values, name, step, one) for name, one in zip(values, whole, strict=True)]
    centre = sweep(lambda: build(values), {}, **settings)
    middle = np.array([measure_of(centre, name) for name in measures])
    settings = settings | {"warm_up": float(centre.warm_up)}
    scenarios = [scenario for one in sides for scenario in one.scenarios]
    data = sweep(lambda point: scenarios[point], {"point": list(range(len(scenarios)))}, **settings)
    ends = np.array([measure_of(data, name) for name in measures]).reshape(len(measures), len(sides), 2, -1)
    means = ends.mean(-1)
    require_finite(measures, np.concatenate([middle.mean(-1, keepdims=True), means.reshape(len(measures), -1)], 1))
    distance = np.array([np.log(one.high / one.low) for one in sides])
    estimate = np.log(means[:, :, 1] / means[:, :, 0]) / distance
    relative = ends / means[..., None]
    elasticities = estimate[..., None] + (relative[:, :, 1] - relative[:, :, 0]) / distance[:, None]
    at = np.array(list(values.values()))[:, None]
    # the derivative is a product, whose interval includes the error of the measure itself
    mean = middle.mean(-1, keepdims=True)
    derivatives = (elasticities * mean[:, None] + estimate[..., None] * (middle - mean)[:, None]) / at
    attributes = dict(centre.attrs) | {"step": step, "varied": list(values), "warm_up_requests": settings["warm_up"]}
    attributes["wall_seconds"] = centre.attrs["wall_seconds"] + data.attrs["wall_seconds"]
    methods = [one.method for one in sides]
    return Estimates(list(measures), middle, elasticities, derivatives, methods, attributes)


def require_simulated(measures: Sequence[str]) -> None:
    """Raise InputError if a measure is not one of a simulation.

    Parameters
    ----------
    measures : sequence of str
        Names of measures.

    Raises
    ------
    InputError
        If there is no such measure.
    """
    known = [*QUANTILES, *(one.name for one in STANDARD)]
    for name in measures:
        if name not in known:
            raise InputError(f"measure {name!r}: a simulation has {', '.join(known[:8])} and others; see `sk.simulate`")


def measure_of(data: xr.Dataset, name: str) -> NDArray:
    """Return a measure of a sweep. A measure with one value for each brick is averaged over the bricks.

    Parameters
    ----------
    data : Dataset
        The result of `sweep`, over `seed` and at most one other dimension.
    name : str
        Name of the measure.

    Returns
    -------
    array of float, shape `[..., seed]`
        The measure.
    """
    if name in QUANTILES:
        found = data.response_quantile.sel(quantile=QUANTILES[name], method="nearest")
    else:
        found = data[name].mean("brick") if "brick" in data[name].dims else data[name]
    return found.transpose(..., "seed").values
