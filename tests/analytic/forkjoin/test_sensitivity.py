"""Derivatives of the recursion for fork-join queues, against the derivatives of exact results.

A replication is a stream of requests with its own random numbers. The mean over the replications is compared with an exact
derivative, in units of its standard error.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.analytic import response_mg1, response_mm1
from storagekit.analytic.forkjoin import (
    RequestStream,
    completion_quantile,
    completion_times,
    response_two,
    sustainable_rate,
)

RATE, SERVICE = 50.0, 0.01
REPLICATIONS, REQUESTS, WARM_UP = 48, 12_000, 1_000
SIGMAS = 4


def drawn(disks: int, law: Callable = np.random.Generator.exponential) -> tuple[np.ndarray, np.ndarray]:
    """Gaps and service times with mean 1, `[request, replication]` and `[request, replication, disk]`."""
    generator = np.random.default_rng(7)
    gap = generator.exponential(size=(REQUESTS, REPLICATIONS))
    return gap.astype(np.float32), law(generator, size=(REQUESTS, REPLICATIONS, disks)).astype(np.float32)


def uniform(generator: np.random.Generator, size: tuple) -> np.ndarray:
    return 2 * generator.random(size)


def times(parameters: jax.Array, gap: np.ndarray, work: np.ndarray) -> jax.Array:
    """The completion times of requests after the warm-up, as a function of the rate and of the mean service time."""
    rate, service = parameters
    read = np.ones(gap.shape, bool)
    stream = RequestStream(gap / rate, read, service * work, np.ones(work.shape, np.float32))
    return completion_times(stream)[WARM_UP:]


def of_replications(function: Callable, gap: np.ndarray, work: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The value of a function of the times in each replication, and its derivatives in the rate and in the service time."""

    def one(gap: jax.Array, work: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(lambda given: function(times(given, gap, work)))(jnp.array([RATE, SERVICE]))

    value, slope = jax.jit(jax.vmap(one, in_axes=1))(gap, work)
    return np.asarray(value), *np.asarray(slope).T


def assert_mean(found: np.ndarray, expected: float) -> None:
    error = found.std(ddof=1) / np.sqrt(found.size)
    # an interval that excludes half the derivative, or its double
    assert error < 0.04 * abs(expected)
    assert abs(found.mean() - expected) < SIGMAS * error, (found.mean(), expected, error)


@pytest.mark.parametrize(
    "disks, law, exact",
    [
        pytest.param(1, np.random.Generator.exponential, response_mm1, id="M/M/1"),
        pytest.param(1, uniform, lambda rate, mean: response_mg1(rate, mean, 4 / 3 * mean**2), id="M/G/1"),
        pytest.param(2, np.random.Generator.exponential, response_two, id="two queues"),
    ],
)
def test_the_derivatives_of_the_mean_are_those_of_the_exact_mean(disks, law, exact):
    """For a load of 1/2: in the arrival rate, and in the mean service time."""
    value, by_rate, by_service = of_replications(jnp.mean, *drawn(disks, law))
    assert_mean(value, float(exact(RATE, SERVICE)))
    step = 1e-4
    for found, number in ((by_rate, 0), (by_service, 1)):
        high, low = ([RATE, SERVICE] for _ in range(2))
        high[number] *= 1 + step
        low[number] *= 1 - step
        assert_mean(found, float(exact(*high) - exact(*low)) / (high[number] - low[number]))


def test_the_derivative_of_a_quantile_is_that_of_an_exponential_time():
    """The response time of M/M/1 is exponential with the mean S / (1 - rho)."""
    value, by_rate, by_service = of_replications(lambda found: completion_quantile(found, 0.9), *drawn(1))
    scale, idle = np.log(10.0), 1 - RATE * SERVICE
    assert_mean(value, scale * SERVICE / idle)
    assert_mean(by_service, scale / idle**2)
    assert_mean(by_rate, scale * (SERVICE / idle) ** 2)


def test_the_derivative_of_the_sustainable_rate():
    """M/M/1 sustains 1 / (2 S), and two queues the root of rho (12 - rho) = 8 (1 - rho)."""
    two = (20 - np.sqrt(400 - 32)) / 2
    for exact, load in ((response_mm1, 0.5), (response_two, two)):

        def rate(service, exact=exact):
            return sustainable_rate(lambda rate: exact(rate, service), 1 / SERVICE)

        value, slope = jax.value_and_grad(rate)(SERVICE)
        np.testing.assert_allclose(value, load / SERVICE, rtol=1e-5)
        np.testing.assert_allclose(slope, -load / SERVICE**2, rtol=1e-4)


def test_a_limit_below_the_sustainable_rate_has_no_derivative():
    value, slope = jax.value_and_grad(lambda service: sustainable_rate(lambda rate: response_mm1(rate, service), 10.0))(
        SERVICE
    )
    assert (value, slope) == (10.0, 0.0)


def test_the_sustainable_rate_of_a_simulation():
    """Its derivative is that of a simulation with other service times and the same random numbers."""
    gap, work = (column[:3_000, :1] for column in drawn(2))

    def rate(service):
        def mean(rate):
            stream = RequestStream(
                gap / rate, np.ones(gap.shape, bool), service * work, np.ones(work.shape, np.float32)
            )
            return jnp.mean(completion_times(stream))

        return sustainable_rate(mean, 1 / SERVICE)

    # The system has one unit of time, so that the rate is inversely proportional to the service time.
    value, slope = jax.jit(jax.value_and_grad(rate))(SERVICE)
    np.testing.assert_allclose(slope, -value / SERVICE, rtol=2e-3)
