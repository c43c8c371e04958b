"""How much each measure of a system changes with each parameter."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import xarray as xr

from storagekit.core.provenance import made_by
from storagekit.core.validation import Amount, Count, Validator, called, optional, several, text, validate
from storagekit.design.estimates import Estimates, of_formula, of_simulation
from storagekit.design.fields import chosen_numbers, is_whole, point_of, require_parameters, takes_key, with_numbers
from storagekit.engine import Scenario
from storagekit.simulation import interval
from storagekit.simulation.confidence import LEVEL
from storagekit.simulation.experiment import listed

STEP = Validator(least=1e-4, most=0.5)
_NAMES = several(text, least=1, of="names")


@validate
def sensitivity(
    subject: Scenario | Callable[..., Any],
    with_respect_to: Sequence[str] | Mapping[str, float],
    *,
    measures: Annotated[Sequence[str] | None, optional(several(text, least=1))] = None,
    step: Annotated[float, STEP] = 0.05,
    seeds: int | Sequence[int] = 16,
    requests: Count = 20_000,
    warm_up: Amount | None = None,
    level: Annotated[float, LEVEL] = 0.95,
) -> xr.Dataset:
    """Estimate how much each measure changes with each parameter.

    Parameters
    ----------
    subject : Scenario or callable
        A scenario, or a function of the parameters that returns a scenario, a number, or a mapping from names to numbers. A
        function with a parameter `key` receives a random key of JAX.
    with_respect_to : sequence of str or mapping of str to float
        For a scenario, the paths of its numbers, such as `system.drive.revolution`; `design.numbers_of(scenario)` lists
        them. For a function, the values of its parameters.
    measures : sequence of str, optional
        Names of the measures; by default the mean response time of a simulation, and all numbers that a function returns.
        `p50`, `p95`, `p99` and `p999` are quantiles of the response time of a simulation.
    step : float
        Relative change of a parameter of a simulation to each side, by default 0.05. Whole numbers change by at least 1.
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
    from the step has the order of the square of the step, with one-sided differences of the step itself. The quantiles of a
    simulation have errors of up to 1.6% each, which add up to 16% of the elasticity with a step of 0.05; larger steps have
    smaller errors.

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
    found, values = _estimated(subject, with_respect_to, measures, step, seeds, requests, warm_up)
    return _labelled(found, values, level)


def _estimated(
    subject: Scenario | Callable[..., Any],
    with_respect_to: Sequence[str] | Mapping[str, float],
    measures: Sequence[str] | None,
    step: float,
    seeds: int | Sequence[int],
    requests: int,
    warm_up: float | None,
) -> tuple[Estimates, dict[str, float]]:
    numbered = listed(seeds)
    if isinstance(subject, Scenario):
        values = chosen_numbers(subject, _NAMES("with_respect_to", with_respect_to))
        whole = [is_whole(subject, name) for name in values]
        build: Callable[[Mapping[str, float]], Any] = partial(with_numbers, subject)
    else:
        values = point_of("with_respect_to", with_respect_to)
        require_parameters(called("subject", subject), list(values))
        whole = [isinstance(value, int) for value in values.values()]
        build = partial(_called, subject)
        if takes_key(subject) or not isinstance(build(values), Scenario):
            found = of_formula(subject, {name: float(value) for name, value in values.items()}, measures, numbered)
            attributes = made_by("analytic", numbered if takes_key(subject) else None)
            return found._replace(attributes=attributes | {"varied": list(values)}), values
    settings = {"seeds": numbered, "requests": requests, "warm_up": warm_up}
    return of_simulation(build, values, whole, measures or ["response"], step, **settings), values


def _called(function: Callable[..., Any], point: Mapping[str, float]) -> Any:
    return function(**point)


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
    data["at"] = "parameter", [float(value) for value in values.values()]
    data["method"] = "parameter", found.methods
    data.attrs |= found.attributes
    return data
