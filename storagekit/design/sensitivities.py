"""Sensitivities: the change of each measure of a system with each parameter."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.provenance import made_by
from storagekit.core.validation import (
    REAL,
    Amount,
    Count,
    Validator,
    called,
    instance_of,
    optional,
    several,
    text,
    validate,
)
from storagekit.design.estimates import Estimates, of_formula, of_simulation
from storagekit.design.fields import chosen_numbers, is_whole, point_of, require_parameters, takes_key, with_numbers
from storagekit.engine import Scenario
from storagekit.simulation import interval
from storagekit.simulation.confidence import LEVEL
from storagekit.simulation.experiment import listed

STEP = Validator(least=1e-4, most=0.5)
_MEANINGS = {
    "value": "mean of the measure",
    "elasticity": "relative change of the measure divided by the relative change of the parameter",
    "derivative": "change of the measure divided by the change of the parameter",
}
_NAMES = several(text, least=1, of="names")


def _estimates(label: str, value: Any) -> xr.Dataset:
    data = instance_of(xr.Dataset, "the result of sk.sensitivity(...)")(label, value)
    if not {"elasticity", "value"} <= set(data.data_vars):
        raise InputError(f"{label} has no elasticities: give the result of sk.sensitivity(...)")
    return data


@validate
def sensitivity(
    subject: Scenario | Callable[..., Any],
    with_respect_to: Sequence[str] | Mapping[str, float],
    *,
    whole: Annotated[Sequence[str], several(text)] = (),
    measures: Annotated[Sequence[str] | None, optional(several(text, least=1))] = None,
    step: Annotated[float, STEP] = 0.05,
    seeds: int | Sequence[int] = 16,
    requests: Count = 20_000,
    warm_up: Amount | None = None,
    level: Annotated[float, LEVEL] = 0.95,
) -> xr.Dataset:
    """Estimate the change of each measure with each parameter.

    Parameters
    ----------
    subject : Scenario or callable
        A scenario, or a function of the parameters that returns a scenario, a number, or a mapping from names to numbers. A
        function with a parameter `key` receives a random key of JAX.
    with_respect_to : sequence of str or mapping of str to float
        For a scenario, the paths of its numbers, such as `system.drive.revolution`; `design.numbers_of(scenario)` lists
        them. For a function, the values of its parameters.
    whole : sequence of str
        Parameters of a function that have only whole numbers, by default none. The fields of a scenario determine it.
    measures : sequence of str, optional
        Names of the measures; by default the mean response time of a simulation, and all numbers that a function returns.
        `p50`, `p95`, `p99` and `p999` are quantiles of the response time of a simulation.
    step : float
        Relative change of a parameter of a simulation to each side, by default 0.05. Whole numbers change by at least 1. A
        share of 0.9 changes by 0.045, and the remaining share by almost half.
    seeds : int or sequence of int
        The number of independent runs of each point, or their seeds, by default 16 runs.
    requests : int
        The smallest number of requests of each run, by default 20,000.
    warm_up : float, optional
        Number of requests at the start of a run that are not measured. By default, MSER-5 determines it for the scenario
        itself, and the other points have the same.
    level : float
        Confidence level of the intervals, by default 0.95.

    Returns
    -------
    Dataset
        `value` (measure, statistic), and `elasticity` and `derivative` (measure, parameter, statistic), with the statistics
        mean, low and high. The elasticity is the relative change of the measure divided by the relative change of the
        parameter. `at` and `method` (parameter) are the value of each parameter and the method of the estimate. A formula
        without random numbers has no interval.

    Raises
    ------
    InputError
        If a parameter or a measure does not exist, or if a parameter cannot be changed.

    Notes
    -----
    A formula is differentiated by JAX in double precision. A formula that JAX cannot trace is differentiated by finite
    differences, and must be smooth.

    In a simulation a small change reorders events, so that the derivative of one run is not the derivative of the mean. The
    estimate is a difference of two simulations with common random numbers, which is correct for every parameter. Its error
    from the step has the order of the square of the step, or of the step itself for one-sided differences. The quantiles of a
    simulation have errors of up to 1.6% each. With a step of 0.05 these add at most 0.3 to an elasticity, and usually far
    less, because both quantiles have similar errors.

    References
    ----------
    Glasserman and Yao, Some guidelines and guarantees for common random numbers, Management Science 38(6), 1992.

    Examples
    --------
    The response time of M/M/1 at 50% load has the elasticities 1 in the rate and 2 in the service time.

    >>> import storagekit as sk
    >>> def response(rate, service):
    ...     return sk.analytic.response_mm1(rate, service)
    >>> found = sk.sensitivity(response, {"rate": 50.0, "service": 0.01})
    >>> [round(float(one), 6) for one in found.elasticity.sel(measure="value", statistic="mean")]
    [1.0, 2.0]
    """
    found, values = _estimated(subject, with_respect_to, whole, measures, step, seeds, requests, warm_up)
    return _labelled(found, values, level)


def _estimated(
    subject: Scenario | Callable[..., Any],
    with_respect_to: Sequence[str] | Mapping[str, float],
    whole: Sequence[str],
    measures: Sequence[str] | None,
    step: float,
    seeds: int | Sequence[int],
    requests: int,
    warm_up: float | None,
) -> tuple[Estimates, dict[str, float]]:
    numbered = listed(seeds)
    if isinstance(subject, Scenario):
        values = chosen_numbers(subject, _NAMES("with_respect_to", with_respect_to))
        steps = [is_whole(subject, name) for name in values]
        build: Callable[[Mapping[str, float]], Any] = partial(with_numbers, subject)
    else:
        values = point_of("with_respect_to", with_respect_to)
        require_parameters(called("subject", subject), list(values))
        steps = [name in whole for name in values]
        build = partial(_called, subject, whole)
        if takes_key(subject) or not isinstance(_first(build, values), Scenario):
            found = of_formula(subject, {name: float(value) for name, value in values.items()}, measures, numbered)
            attributes = made_by("analytic", numbered if takes_key(subject) else None)
            return found._replace(attributes=attributes | {"varied": list(values)}), values
    settings = {"seeds": numbered, "requests": requests, "warm_up": warm_up}
    return of_simulation(build, values, steps, measures or ["response"], step, **settings), values


def _first(build: Callable[[Mapping[str, float]], Any], values: Mapping[str, float]) -> Any:
    try:
        return build(values)
    except TypeError as fault:
        given = ", ".join(f"{name}={value:g}" for name, value in values.items())
        raise InputError(f"subject: it fails with {given}: {fault}; name whole numbers in `whole`") from fault


def _called(function: Callable[..., Any], whole: Sequence[str], point: Mapping[str, float]) -> Any:
    return function(**{name: int(value) if name in whole else value for name, value in point.items()})


def _labelled(found: Estimates, values: Mapping[str, float], level: float) -> xr.Dataset:
    samples = xr.Dataset(
        {
            "value": (("measure", "seed"), found.values),
            "elasticity": (("measure", "parameter", "seed"), found.elasticities),
            "derivative": (("measure", "parameter", "seed"), found.derivatives),
        },
        {"measure": found.measures, "parameter": list(values)},
    )
    data = interval(samples, level=level).transpose("measure", "parameter", "statistic")
    for name, unit in (("value", "SI"), ("elasticity", "1"), ("derivative", "SI")):
        data[name].attrs = {"units": unit, "long_name": _MEANINGS[name]}
    data["at"] = "parameter", [float(value) for value in values.values()]
    data["method"] = "parameter", found.methods
    data.attrs |= found.attributes
    return data


@validate
def change_for(data: Annotated[xr.Dataset, _estimates], amount: Annotated[float, REAL]) -> xr.DataArray:
    """Return the relative change of each parameter that changes each measure by a given amount, to first order.

    Parameters
    ----------
    data : Dataset
        The result of `sensitivity`.
    amount : float
        Change of a measure, in its SI unit, such as -0.001 for one millisecond less.

    Returns
    -------
    DataArray, shape [measure, parameter]
        The relative changes, such as -0.02 for 2% less. NaN if the interval of the elasticity contains 0.

    Raises
    ------
    InputError
        If `data` is not the result of `sensitivity`.

    Examples
    --------
    >>> import storagekit as sk
    >>> found = sk.sensitivity(lambda rate, service: sk.analytic.response_mm1(rate, service), {"rate": 50.0, "service": 0.01})
    >>> change_for(found, -0.001).sel(measure="value").values.tolist()
    [-0.05, -0.025]
    """
    elasticity = data.elasticity
    contains_zero = elasticity.sel(statistic="low") * elasticity.sel(statistic="high") <= 0
    mean = {"statistic": "mean", "drop": True}
    return (amount / (data.value.sel(**mean) * elasticity.sel(**mean))).where(~contains_zero)
