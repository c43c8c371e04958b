"""Sensitivities: formulas with known derivatives, and simulations of queues with known elasticities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

import storagekit as sk
from storagekit.analytic import response_mm1
from storagekit.core.units import MS
from storagekit.design.fields import with_numbers
from storagekit.drive import RateServer
from storagekit.workload import ClosedLoop, ExponentialSize, PoissonArrivals, RandomRequests

SERVICE = 10 * MS
# sizes are whole sectors; with a mean of 20,000 sectors the rounding is negligible
READS = RandomRequests(ExponentialSize(20_000 * 512.0), 1.0)
STEP = 0.05


def queue(arrivals, service: float = SERVICE) -> sk.Scenario:
    """Two servers with exponential service, each with half of the requests."""
    server = RateServer(20_000 / service, capacity=2**28)
    return sk.Scenario(
        sk.System(server, sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.FCFS(), slots=128), arrivals
    )


def open_queue(rate: float, service: float) -> sk.Scenario:
    return queue(PoissonArrivals(READS, 2 * rate), service)


def arc(function, value: float, step: float = STEP) -> float:
    """Return the elasticity between the two points of the estimate, so that the step causes no bias."""
    low, high = value * (1 - step), value * (1 + step)
    return np.log(function(high) / function(low)) / np.log(high / low)


def near(row, exact: float, most: float, also: float = 0.0) -> bool:
    """Whether an estimate agrees within twice its interval (four standard errors), which is at most `most`."""
    mean, low, high = row.values
    return abs(mean - exact) <= (high - low) + also and (high - low) / 2 <= most


def test_an_open_queue_has_the_elasticities_of_the_formula():
    at = {"rate": 50.0, "service": SERVICE}
    found = sk.sensitivity(
        open_queue, at, measures=["response", "p99", "throughput"], step=STEP, requests=4000, warm_up=500
    )
    for name in at:
        exact = arc(lambda value, name=name: response_mm1(**{**at, name: value}), at[name])
        assert near(found.elasticity.sel(measure="response", parameter=name), exact, 0.15)
        # the response time of M/M/1 is exponential, so that all quantiles have the elasticity of the mean
        assert near(found.elasticity.sel(measure="p99", parameter=name), exact, 0.5, 0.16)
    assert near(found.elasticity.sel(measure="throughput", parameter="rate"), 1.0, 0.02)
    assert near(found.elasticity.sel(measure="throughput", parameter="service"), 0.0, 0.02)
    at_service = {"measure": "response", "parameter": "service"}
    slope, ratio = found.derivative.sel(at_service), found.elasticity.sel(at_service) / SERVICE
    mean = found.value.sel(measure="response")
    assert float(slope[0]) == pytest.approx(float(ratio[0] * mean[0]))
    # the derivative is a product: its relative error is at least as large as the difference of those of its factors
    errors = [float((one[2] - one[0]) / one[0]) for one in (slope, ratio, mean)]
    assert errors[0] >= 0.99 * abs(errors[1] - errors[2]) and errors[0] <= 1.01 * (errors[1] + errors[2])


def test_a_closed_network_has_the_elasticities_of_mean_value_analysis():
    """Two exponential servers with equal visits and n requests: the throughput is n / (n + 1) of both rates together."""

    def throughput(outstanding: float) -> float:
        return outstanding / (outstanding + 1)

    scenario = queue(ClosedLoop(READS, outstanding=6))
    parameters = ["system.drive.rate", "arrivals.outstanding"]
    found = sk.sensitivity(scenario, parameters, measures=["throughput"], step=STEP, requests=4000, warm_up=500)
    rows = found.elasticity.sel(measure="throughput")
    # the same random numbers give the same order of events, so that only rounding remains
    assert near(rows.sel(parameter="system.drive.rate"), 1.0, 1e-5, 1e-5)
    # a whole number changes by one
    exact = np.log(throughput(7) / throughput(5)) / np.log(7 / 5)
    assert near(rows.sel(parameter="arrivals.outstanding"), exact, 0.05)
    assert found.at.values.tolist() == [pytest.approx(20_000 / SERVICE), 6]
    # the elasticity in the rate is certain, and the throughput is not
    value, slope = (
        found.value.sel(measure="throughput"),
        found.derivative.sel(measure="throughput", parameter=parameters[0]),
    )
    assert float((slope[2] - slope[1]) / slope[0]) == pytest.approx(float((value[2] - value[1]) / value[0]), rel=1e-3)


def test_a_formula_has_exact_derivatives():
    at = {"rate": 50.0, "service": 0.01}
    found = sk.sensitivity(lambda rate, service: response_mm1(rate, service), at)
    np.testing.assert_allclose(found.elasticity.sel(measure="value", statistic="mean"), [1.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(found.derivative.sel(measure="value", statistic="mean"), [4e-4, 4.0], rtol=1e-12)
    assert np.isnan(found.elasticity.sel(statistic="low")).all()


@settings(max_examples=20, deadline=None)
@given(st.floats(-3, 3), st.floats(0.1, 10))
def test_powers_have_their_exponent_with_and_without_jax(exponent, at):
    traced = sk.sensitivity(lambda x: x**exponent, {"x": at})
    plain = sk.sensitivity(lambda x: float(x) ** exponent, {"x": at})
    assert traced.method == "automatic differentiation" and plain.method == "finite difference"
    assert float(traced.elasticity.sel(statistic="mean").item()) == pytest.approx(exponent, abs=1e-9)
    assert float(plain.elasticity.sel(statistic="mean").item()) == pytest.approx(exponent, abs=1e-6)


def test_a_random_formula_has_the_interval_of_the_ratio():
    """The mean of 1,000 exponential times plus a constant c has the elasticity m / (m + c) in the mean m."""

    def mean(key, m):
        return {"mean": m * jnp.mean(jax.random.exponential(key, (1000,))) + 3.0}

    found = sk.sensitivity(mean, {"m": 1.0}, seeds=64)
    row = found.elasticity.sel(measure="mean", parameter="m")
    assert near(row, 0.25, 0.01)
    # sd of the sample mean: 1 / sqrt(1000); d(m / (m + 3)) / dm = 3 / 16; Student's t for 63 degrees of freedom: 2.0
    assert float(row[2] - row[1]) / 2 == pytest.approx(2.0 * 3 / 16 / 1000**0.5 / 64**0.5, rel=0.4)


def test_a_limit_is_not_passed():
    """The read share is at most 1: the difference is one-sided there, and the other runs have the same warm-up."""
    requests = RandomRequests(ExponentialSize(20_000 * 512.0), 1.0)
    scenario = queue(ClosedLoop(requests, outstanding=2))
    found = sk.sensitivity(scenario, ["arrivals.requests.read_share"], measures=["request_rate"], requests=1000)
    assert found.method.item() == "one-sided difference, common random numbers"
    # a write needs both servers
    assert float(found.elasticity.sel(statistic="low").item()) > 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sk.sensitivity(queue(ClosedLoop(READS, 2)), ["rate"]), "'rate' is not a number of the scenario"),
        (lambda: sk.sensitivity(queue(ClosedLoop(READS, 2)), ["system.synchronized"]), "is 0: a relative change"),
        (lambda: sk.sensitivity(queue(ClosedLoop(READS, 2)), ["arrivals.outstanding"], measures=["x"]), "measure 'x'"),
        (lambda: sk.sensitivity(lambda x: float(x > 1) + x, {"x": 1.0}), "value is not smooth in x at 1"),
        (lambda: sk.sensitivity(lambda x: "much", {"x": 1.0}), "the function must return a scenario"),
        (lambda: sk.sensitivity(lambda x: x, {"y": 1.0}), "cannot be called with y"),
        (lambda: sk.sensitivity(lambda x: x, {}), "no parameters"),
        (
            lambda: sk.sensitivity(lambda x: {"a": x}, {"x": 1.0}, measures=["b"]),
            "give a measure that the function returns, a",
        ),
        (lambda: sk.sensitivity(lambda x, key: float(x), {"x": 1.0}), "JAX cannot trace"),
        (lambda: sk.sensitivity(lambda x: x - 1, {"x": 1.0}), "value is 0 at this point, and has no elasticity"),
        (lambda: sk.sensitivity(lambda x: {}, {"x": 1.0}), "empty mapping"),
        (
            lambda: sk.sensitivity(
                queue(ClosedLoop(READS, 2)),
                ["arrivals.outstanding"],
                measures=["write_response"],
                requests=400,
                warm_up=50,
            ),
            "write_response is nan at this point, and has no elasticity",
        ),
        (lambda: sk.sensitivity(lambda x: jnp.ones(3) * x, {"x": 1.0}), "the function must return a scenario"),
        (lambda: sk.sensitivity(lambda n: sum(range(n)), {"n": 10}), "it fails with n=10"),
        (lambda: sk.design.change_for(sk.sensitivity(lambda x: x, {"x": 1.0})[["at"]], 1.0), "has no elasticities"),
    ],
)
def test_bad_input_is_refused(call, says):
    assert_refused(call, says)


def test_the_chart_sorts_parameters_by_their_elasticity():
    found = sk.sensitivity(lambda a, b, c: a * b**-3 * c**2, {"a": 1.0, "b": 1.0, "c": 1.0})
    spec = sk.charts.tornado(found).to_dict()
    assert spec["layer"][0]["encoding"]["y"]["sort"] == ["b", "c", "a"]
    assert_refused(lambda: sk.charts.tornado(found, "mean"), "measure 'mean': give one of value")
    assert_refused(lambda: sk.charts.tornado(found.drop_vars("elasticity")), "no elasticities")


def test_a_table_is_changed_by_a_factor():
    system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.FCFS())
    scenario = sk.Scenario(system, ClosedLoop(READS, 2))
    known = sk.design.numbers_of(scenario)
    assert known["system.drive.seek.times"] == 1.0 and known["arrivals.outstanding"] == 2.0
    changed = with_numbers(scenario, {"system.drive.seek.times": 1.5, "system.drive.revolution": 0.004})
    np.testing.assert_allclose(changed.system.drive.seek.times, 1.5 * np.asarray(system.drive.seek.times))
    assert sk.design.numbers_of(changed) == known | {"system.drive.revolution": pytest.approx(0.004)}


def test_measures_keep_the_order_of_the_function():
    found = sk.sensitivity(lambda x: {"second": x, "first": 2 * x}, {"x": 1.0})
    assert found.measure.values.tolist() == ["second", "first"] and found.value.sel(
        statistic="mean"
    ).values.tolist() == [1, 2]


def test_a_whole_number_of_one_changes_to_one_side():
    """With whole numbers a step of one is taken; 0 is not a relative change."""
    found = sk.sensitivity(
        lambda depth: queue(ClosedLoop(READS, depth)),
        {"depth": 1},
        whole=["depth"],
        measures=["throughput"],
        requests=1000,
    )
    assert found.method.item() == "one-sided difference, common random numbers"
    # n / (n + 1) of both servers: from 1/2 to 2/3
    assert near(found.elasticity.sel(measure="throughput", parameter="depth"), np.log(4 / 3) / np.log(2), 0.2)


def test_the_change_for_an_amount_is_that_of_the_derivative():
    found = sk.sensitivity(lambda a, b: 3 * a * b**2, {"a": 2.0, "b": 5.0})
    change = sk.design.change_for(found, -1.5)
    np.testing.assert_allclose(change.sel(measure="value"), [-0.01, -0.005])
    unsure = found.copy(deep=True)
    unsure.elasticity.loc[{"parameter": "a", "statistic": "low"}] = -1
    unsure.elasticity.loc[{"parameter": "a", "statistic": "high"}] = 3
    assert sk.design.change_for(unsure, 1.0).sel(measure="value").isnull().values.tolist() == [True, False]
