"""Quantiles of simulated times, and the sustainable rate, as functions that JAX differentiates.

JAX differentiates the recursion of `completion_times` itself: the derivative of each time for fixed random numbers
(infinitesimal perturbation analysis). Its mean is the derivative of the mean time, because the times are continuous, and
piecewise linear, in the service times and in the gaps between requests.
"""

from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from storagekit.core.validation import RATE, SHARE, SPAN, called, numbers, require, traced, validate

_TIMES, _SHARE, _RATE = SPAN.up_to(1e9).each, SHARE, RATE.up_to(1e9)
# largest number of steps of a bisection: more than the digits of a float64
_HALVINGS = 60


@validate
def completion_quantile(times: Annotated[ArrayLike, _TIMES], share: Annotated[float, _SHARE]) -> Array:
    """Return the time within which a share of requests completes, with the derivative of the quantile.

    Parameters
    ----------
    times : array of float, shape `[request]`
        Completion times of requests, seconds, such as a result of `completion_times` without its warm-up.
    share : float
        Share of the requests, 0 to 1. The result has no derivative in this number.

    Returns
    -------
    array of float, shape `[]`
        The time, seconds.

    Raises
    ------
    InputError
        If there are no times, or a value is out of range.

    Notes
    -----
    The derivative of a quantile q is the mean derivative of a time T that equals q,

        dq = E[dT | T = q]

    It is estimated by the mean of the derivatives of all times, weighted with a normal kernel around q. The bandwidth is
    the standard deviation of the times multiplied by n^(-1/3) for n times, so that the bias vanishes faster than the
    statistical error. Near the shortest and the longest time, the kernel has times on one side of q only, and the
    derivative is biased.

    References
    ----------
    Hong, Estimating quantile sensitivities, Operations Research 57(1), 2009. Liu and Hong, Kernel estimation of quantile
    sensitivities, Naval Research Logistics 56(6), 2009.

    Examples
    --------
    If all times are in proportion to a parameter, so is the quantile.

    >>> import jax
    >>> import numpy as np
    >>> from storagekit.analytic.forkjoin import completion_quantile
    >>> drawn = np.random.default_rng(0).exponential(size=10_000)
    >>> value, slope = jax.value_and_grad(lambda mean: completion_quantile(mean * drawn, 0.5))(2.0)
    >>> print(f"{value:.2f} {slope:.2f}")
    1.36 0.68
    """
    given = jnp.asarray(times if traced(times) else numbers("times", times), float)
    fits = given.ndim == 1 and given.size > 0
    require(fits, "times of shape", str(given.shape), "[request], with at least one request")
    return _quantile(given, jnp.asarray(share, given.dtype))


@jax.custom_jvp
def _quantile(times: Array, share: Array) -> Array:
    return jnp.quantile(times, share)


@_quantile.defjvp
def _quantile_jvp(values: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    times, share = values
    found = _quantile(times, share)
    width = jnp.maximum(jnp.std(times) * times.size ** (-1 / 3), np.finfo(times.dtype).tiny)
    # The largest exponent is 0, so that the sum of the weights is at least 1.
    exponents = -(((times - found) / width) ** 2) / 2
    weights = jnp.exp(exponents - jnp.max(exponents))
    return found, jnp.sum(weights / jnp.sum(weights) * tangents[0])


@validate
def sustainable_rate(completion: Annotated[Callable[[Any], Any], called], limit: Annotated[float, _RATE]) -> Array:
    """Return the rate at which the mean time to complete a request equals the mean time between requests.

    Parameters
    ----------
    completion : callable
        Function of the arrival rate (requests a second) that returns the mean completion time (seconds) with operations of
        JAX, for example a closed form or the mean of `completion_times`. It increases with the rate.
    limit : float
        Largest rate that is considered, such as the saturation rate, requests a second.

    Returns
    -------
    array of float, shape `[]`
        The rate, requests a second; `limit` if the completion time is shorter at every rate below.

    Raises
    ------
    InputError
        If an argument is invalid.

    Notes
    -----
    The rate r solves r T(r) = 1, and is found by bisection. The derivative in a parameter of T is from the implicit function
    theorem:

        dr = -r dT / (T + r dT/dr)

    At `limit`, the derivative is 0.

    References
    ----------
    swift, section 5.2.

    Examples
    --------
    The sustainable load of M/M/1 is 1/2, so that the rate is 1 / (2 S), and its derivative is -1 / (2 S^2).

    >>> import jax
    >>> from storagekit.analytic import response_mm1
    >>> from storagekit.analytic.forkjoin import sustainable_rate
    >>> def rate(service):
    ...     return sustainable_rate(lambda rate: response_mm1(rate, service), 1 / 0.01)
    >>> value, slope = jax.value_and_grad(rate)(0.01)
    >>> print(f"{value:.1f} {slope:.0f}")
    50.0 -5000
    """
    most = jax.lax.stop_gradient(jnp.asarray(limit, float))

    def excess(rate: Array) -> Array:
        return rate * completion(rate) - 1

    def solve(function: Callable[[Array], Array], first: Array) -> Array:
        def halved(number: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            middle = (ends[0] + ends[1]) / 2
            above = function(middle) > 0
            return jnp.where(above, ends[0], middle), jnp.where(above, middle, ends[1])

        low, high = jax.lax.fori_loop(0, _HALVINGS, halved, (jnp.zeros_like(first), first))
        return (low + high) / 2

    found = jax.lax.custom_root(excess, most, solve, lambda linear, right: right / linear(jnp.ones_like(right)))
    # the limit is no root
    return jnp.where(excess(most) < 0, most, found)
