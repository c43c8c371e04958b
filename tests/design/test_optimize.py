"""The optimizer: problems with known optima, brute force, and a queue whose largest rate is known."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

import storagekit as sk
from storagekit.analytic import response_mm1
from storagekit.core.units import MS
from storagekit.drive import RateServer
from storagekit.workload import ExponentialSize, PoissonArrivals, RandomRequests

SERVICE = 10 * MS


def shared(rates, load):
    """Return the mean response time of servers as a function of the shares of all but the last."""

    def response(**shares):
        every = [*shares.values(), 1 - sum(shares.values())]
        busy = [
            jnp.where(share * load < rate, share / (rate - share * load), jnp.inf)
            for share, rate in zip(every, rates, strict=True)
        ]
        return {"response": sum(busy), "last": every[-1]}

    return response


def square_roots(rates, load) -> np.ndarray:
    """The optimal shares: spare capacities are in proportion to the square roots of the rates (all servers are used)."""
    rates = np.asarray(rates)
    spare = (rates.sum() - load) * np.sqrt(rates) / np.sqrt(rates).sum()
    return (rates - spare) / load


@pytest.mark.parametrize("seed", range(4))
def test_load_is_split_by_the_rule_of_square_roots(seed):
    random = np.random.default_rng(seed)
    rates = random.uniform(80, 200, random.integers(2, 5))
    load = 0.5 * rates.sum()
    exact = square_roots(rates, load)
    assert (exact > 0).all()
    bounds = {f"share_{number}": (0.0, 1.0) for number in range(len(rates) - 1)}
    found = sk.optimize(
        shared(rates, load), bounds, objective="response", constraints={"last": (0.0, None)}, starts=256
    )
    np.testing.assert_allclose(list(found.values.values()), exact[:-1], atol=2e-3)
    assert found.measures["response"] == pytest.approx(float(np.sum(exact / (rates - exact * load))), rel=1e-5)


def layout(seed):
    """A random array: time of a request with `rows` of disks, `replicas` of data and a stripe unit, and its cost."""
    random = np.random.default_rng(seed)
    seek, turn, price, unit_price = (
        random.uniform(4, 12),
        random.uniform(4, 12),
        random.uniform(0.05, 0.4),
        random.uniform(0.5, 2),
    )

    def measures(rows, replicas, unit):
        positioning = seek / rows**0.5 + turn / (2 * replicas)
        return {
            "response": positioning + 2 / unit + unit_price * unit,
            "cost": price * rows * replicas,
        }

    return measures


@pytest.mark.parametrize("seed", range(6))
def test_whole_numbers_and_a_stripe_unit_agree_with_brute_force(seed):
    measures, limit = layout(seed), 3.0
    bounds = {"rows": (1, 12), "replicas": (1, 6), "unit": (0.2, 5.0)}
    found = sk.optimize(
        measures,
        bounds,
        objective="response",
        constraints={"cost": (None, limit)},
        whole=["rows", "replicas"],
        starts=8,
    )
    units = np.geomspace(0.2, 5.0, 2001)
    brute = min(
        (float(times.min()), rows, replicas)
        for rows in range(1, 13)
        for replicas in range(1, 7)
        if measures(rows, replicas, 1.0)["cost"] <= limit
        for times in [measures(rows, replicas, units)["response"]]
    )
    assert (
        found.combinations == 72 and not found.proved and (found.values["rows"], found.values["replicas"]) == brute[1:]
    )
    assert found.measures["response"] == pytest.approx(brute[0], rel=1e-5)
    assert found.measures["response"] <= brute[0] * (1 + 1e-9)
    # fractions are never worse
    relaxed = measures(**found.relaxed)
    assert relaxed["response"] <= found.measures["response"] * (1 + 1e-6)
    assert relaxed["cost"] <= limit * (1 + 1e-5)
    assert found.gap == pytest.approx(found.measures["response"] / relaxed["response"] - 1, rel=0.05, abs=1e-6)


def test_many_combinations_are_compared_around_the_relaxed_optimum():
    found = sk.optimize(
        lambda a, b: (a - 1234.4) ** 2 + (b - 77.7) ** 2, {"a": (1, 5000), "b": (1, 5000)}, whole=["a", "b"]
    )
    assert found.values == {"a": 1234.0, "b": 78.0} and not found.proved and found.combinations == 4
    few = sk.optimize(lambda a: (a - 12.4) ** 2, {"a": (1, 50)}, whole=["a"])
    assert few.values == {"a": 12.0} and few.proved and few.combinations == 50


def test_a_function_without_derivatives_agrees_with_one_that_has_them():
    def traced(x, y):
        return {"f": (x - 3) ** 2 + (y - 0.5) ** 2 + x * y, "g": x + y}

    def plain(x, y):
        return {name: float(value) for name, value in traced(x, y).items()}

    ways = [
        sk.optimize(one, {"x": (0.1, 10), "y": (-2, 2)}, objective="f", constraints={"g": (None, 2.0)})
        for one in (traced, plain)
    ]
    # by Lagrange: x + y = 2 and 2 (x - 3) + y = 2 (y - 0.5) + x
    assert ways[0].values == pytest.approx({"x": 3.5, "y": -1.5}, abs=1e-4)
    assert ways[1].values == pytest.approx(ways[0].values, abs=2e-3)
    assert ways[0].active == ("g",) and "at its limit: g" in str(ways[0])


def test_each_combination_is_searched_from_several_points():
    """Two valleys in x; the deeper one is far from the relaxed optimum of the other parameter."""

    def valleys(n, x):
        depth = jnp.where(n > 1.5, 1.0, 0.0)
        return (n - 1.4) ** 2 + 2 - jnp.exp(-200 * (x - 0.2) ** 2) - (1 + depth) * jnp.exp(-200 * (x - 0.8) ** 2)

    found = sk.optimize(valleys, {"n": (1, 3), "x": (0.05, 1.0)}, whole=["n"], starts=64)
    assert found.values["n"] == 2 and found.values["x"] == pytest.approx(0.8, abs=1e-2)


def test_a_limit_of_zero_has_the_scale_of_its_measure():
    found = sk.optimize(
        lambda x: {"x": x, "slack": 1e-9 * (x - 1)}, {"x": (0.01, 10)}, objective="x", constraints={"slack": (0, None)}
    )
    assert found.values["x"] == pytest.approx(1.0, rel=1e-4)


def test_an_objective_near_zero_is_searched_to_its_minimum():
    found = sk.optimize(lambda x: x - 1 + 1e-9, {"x": (0.01, 100.0)}, starts=1)
    assert found.values["x"] == pytest.approx(0.01) and found.converged and found.active == ("bound of x",)
    zero = sk.optimize(lambda n: (n - 3.0) ** 2, {"n": (1, 9)}, whole=["n"])
    assert math.isnan(zero.gap) and zero.values == {"n": 3.0}


def test_points_that_the_function_rejects_are_not_feasible():
    def above_two(x):
        if x < 2:
            raise sk.InputError("x is too small")
        return float(x) ** 2

    assert sk.optimize(above_two, {"x": (1, 6)}, whole=["x"]).values == {"x": 2.0}
    assert sk.optimize(above_two, {"x": (0.5, 3.5)}, steps=200).values["x"] == pytest.approx(2.0, abs=1e-2)
    few = sk.optimize(lambda x: (float(x) - 3) ** 2, {"x": (0.1, 100.0)}, starts=1, steps=5)
    assert not few.converged and "raise steps" in str(few)


def test_the_largest_rate_with_a_bound_of_the_tail_is_that_of_the_formula():
    """99% of the requests of M/M/1 complete within ln(100) / (1 / S - rate)."""
    limit = 70 * MS
    reads = RandomRequests(ExponentialSize(20_000 * 512.0), 1.0)
    server = RateServer(20_000 / SERVICE, capacity=2**28)

    def queue(rate):
        system = sk.System(server, sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.FCFS(), slots=128)
        return sk.Scenario(system, PoissonArrivals(reads, 2 * rate))

    found = sk.optimize(
        queue,
        {"rate": (5.0, 90.0)},
        objective="request_rate",
        maximize=True,
        constraints={"p99": (None, limit)},
        starts=2,
        steps=8,
        requests=4000,
        warm_up=500,
    )
    exact = 1 / SERVICE - math.log(100) / limit
    assert found.active == ("p99",)
    # quantiles have errors of up to 1.6%, which move the spare capacity by as much, in addition to the sample
    assert found.values["rate"] == pytest.approx(exact, abs=0.05 * (1 / SERVICE - exact))
    assert found.attributes["basis"] == "simulated" and found.attributes["varied"] == ["rate"]
    assert found.attributes["blocked"] == 0 and found.attributes["maximize"] == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sk.optimize(lambda x: x, {}), "no parameters"),
        (lambda: sk.optimize(lambda x: x, {"x": (2, 1)}), "bounds of x 2: it must be at most the upper limit, 1"),
        (lambda: sk.optimize(lambda x: x, {"x": 1}), "bounds of x 1: give a pair"),
        (lambda: sk.optimize(lambda x: x, {"x": (None, 1)}), "each parameter needs a lower and an upper bound"),
        (lambda: sk.optimize(lambda x: x, {"x": (0, 1.5)}, whole=["x"]), "bounds of x: give whole numbers"),
        (lambda: sk.optimize(lambda x: x, {"x": (0, 1)}, whole=["y"]), "whole 'y' has no bounds"),
        (lambda: sk.optimize(lambda y: y, {"x": (0, 1)}), "cannot be called with x"),
        (lambda: sk.optimize(lambda x: {"a": x, "b": x}, {"x": (0, 1)}), "objective: give one of"),
        (lambda: sk.optimize(lambda x: {}, {"x": (0, 1)}), "empty mapping"),
        (lambda: sk.optimize(lambda x, key: x, {"x": (0, 1)}), "it has the parameter key"),
        (
            lambda: sk.optimize(lambda x: 1 / (x - x), {"x": (0, 1)}),
            "the function fails at 16 points within the bounds",
        ),
        (lambda: sk.optimize(lambda x: x, {1: (0, 1)}), "a parameter: given 1; give text"),
        (
            lambda: sk.optimize(lambda x: {"a": x}, {"x": (0, 1)}, objective="c"),
            "measure 'c': give a measure that the function returns, a",
        ),
        (lambda: sk.optimize(lambda x: float(x), {"x": (0, 10**6)}, whole=["x"]), "combinations of whole numbers"),
        (
            lambda: sk.optimize(lambda x: {"a": x, "b": x}, {"x": (1, 2)}, objective="a", constraints={"b": (3, None)}),
            "no compared point meets the constraints: the nearest has b 2, limit 3, at x 2",
        ),
        (lambda: sk.optimize(lambda x: response_mm1(x, 1.0), {"x": (2.0, 3.0)}), "no point has a finite value"),
    ],
)
def test_bad_input_is_refused(call, says):
    assert_refused(call, says)
