"""The textbook's fork-join formulas: against one another, and against the recursion with exponential service times."""

import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.analytic import response_mm1
from storagekit.analytic.forkjoin import (
    RequestStream,
    completion_times,
    harmonic,
    response_bounds,
    response_interpolated,
    response_scaled,
    response_two,
)
from storagekit.analytic.forkjoin.exponential import heavy
from storagekit.core.errors import InputError

LOADS = np.array([0.1, 0.5, 0.8])


@pytest.fixture(scope="module")
def simulated():
    """Mean response time by queues and load, and its standard error; service times have mean 1."""
    found = {}
    generator = np.random.default_rng(3)
    for queues in (1, 2, 8, 32):
        gap = generator.exponential(size=(12_000, 1, 16)) / LOADS[:, None]
        part = generator.exponential(size=(12_000, 1, 16, queues))
        stream = RequestStream(jnp.asarray(gap), jnp.ones(gap.shape, bool), jnp.asarray(part), jnp.ones_like(part))
        mean = np.asarray(completion_times(stream))[2_000:].mean(axis=0)
        found[queues] = mean.mean(-1), mean.std(-1, ddof=1) / 4
    return found


def test_two_queues_agree_with_flatto_and_hahn(simulated):
    mean, error = simulated[2]
    exact = response_two(LOADS, 1.0)
    assert np.all(np.abs(mean - exact) < 4 * error) and np.all(4 * error < 0.1 * exact)


@pytest.mark.parametrize("queues", [8, 32])
def test_the_approximations_are_near(simulated, queues):
    mean, error = simulated[queues]
    for formula, within in ((response_scaled, 0.05), (response_interpolated, 0.05)):
        assert np.all(np.abs(formula(LOADS, 1.0, queues) - mean) < within * mean + 4 * error), formula.__name__


@pytest.mark.parametrize("queues", [2, 8, 32])
def test_the_bounds_hold(simulated, queues):
    mean, error = simulated[queues]
    low, high = response_bounds(LOADS, 1.0, queues)
    assert np.all(low < mean + 4 * error) and np.all(mean - 4 * error < high)


def test_all_formulas_are_equal_for_two_queues_and_mm1_for_one():
    load = np.linspace(0.01, 0.99, 20)
    np.testing.assert_allclose(response_scaled(load, 1.0, 2), response_two(load, 1.0))
    np.testing.assert_allclose(response_interpolated(load, 1.0, 2), response_two(load, 1.0))
    for formula in (response_scaled, response_interpolated):
        np.testing.assert_allclose(formula(load, 1.0, 1), response_mm1(load, 1.0))


def test_the_limits():
    """Without load the response is the latest of N exponential times. V_2 = 11/8, and heavy traffic is lighter than
    independent queues."""
    assert harmonic(3) == pytest.approx(11 / 6)
    assert heavy(2) == pytest.approx(11 / 8)
    for queues in (2, 5, 32):
        assert float(response_interpolated(1e-9, 2.0, queues)) == pytest.approx(2 * harmonic(queues))
        assert 1 < heavy(queues) < harmonic(queues)
    assert np.isinf(response_two(1.0, 1.0)) and np.isinf(response_interpolated(2.0, 1.0, 8))


@pytest.mark.parametrize("load", [1.0, 4.5, 12.0, 13.0])
def test_overload_has_an_infinite_response(load):
    assert response_two(load, 1.0) == response_scaled(load, 1.0, 32) == response_interpolated(load, 1.0, 32) == np.inf
    assert response_bounds(load, 1.0, 8) == (np.inf, np.inf)


@pytest.mark.parametrize("rate, service", [(-1.0, 1.0), (1.0, -1.0), (1.0, 0.0)])
def test_times_and_rates_are_positive(rate, service):
    for formula in (response_two, lambda *two: response_scaled(*two, 3), lambda *two: response_bounds(*two, 3)):
        with pytest.raises(InputError, match=r"rate -1|service"):
            formula(rate, service)


@pytest.mark.parametrize("queues", [0, 1.5, -2])
def test_queues_are_counted(queues):
    with pytest.raises(InputError, match="whole number"):
        harmonic(queues)


def test_too_many_queues_are_rejected():
    with pytest.raises(InputError, match="at most 64"):
        heavy(65)
