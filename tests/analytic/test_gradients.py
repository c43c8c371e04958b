"""The derivatives of all formulas against finite differences, at random points and at the edges of their domains.

    python tests/analytic/test_gradients.py [WORD ...]   # prints a table: worst relative error, and the cost of a gradient

The public functions and classes are found by introspection, with the valid calls of tests/nonsense/packages/analytic.py.
The real arguments of a call are its floats and arrays of floats, also in the fields of its arguments. One compiled program
for each function computes values and gradients of many points: `jax.jit` of `jax.vmap` of `jax.value_and_grad`.
"""

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nonsense.packages.analytic import NOT_ATTACKED, VALID_CALLS
from nonsense.public_callables import methods, public_callables

from storagekit.analytic.array.kinds import population
from storagekit.analytic.array.loaded import Loaded
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.analytic.durability import Chain, Durability
from storagekit.core.errors import InputError
from storagekit.core.namespaces import fixed_point
from storagekit.core.validation import Validator, validators_of
from storagekit.drive import Drive
from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair

# Functions and classes without derivatives in their real arguments, and the reason.
NOT_DIFFERENTIABLE = {
    "analytic.array.equations.practical_replicas": "the result is a whole number",
    "analytic.durability.Chain.paths": "the result is sorted by shares",
    "analytic.fairness.hybrid_rates": "the rates are found by iteration on the host",
    "analytic.fairness.max_min_rates": "linear programs on the host find the limited streams",
    "analytic.fairness.worst_interval": "the result is two whole numbers",
    "analytic.forkjoin.Disk.like": "the drive is a structure; its mean times are computed on the host",
    "analytic.forkjoin.Simulation": "the random numbers are drawn on the host; `RequestStream` has derivatives",
    "analytic.forkjoin.Simulation.completion": "the systems are structures; `completion_times` has derivatives",
    "analytic.forkjoin.Striping": "a request has a whole number of blocks",
    "analytic.forkjoin.completion_quantile": "the derivative is a statistical estimate; see test_sensitivity.py",
    "analytic.forkjoin.sustainable_rate": "the parameters are those of a function of the user; see test_sensitivity.py",
    "analytic.headtracking.": "Monte Carlo on the host, whose results are shares of random events",
}
# Real arguments that are held: counts, and numbers of which the result is a step function.
HELD = {
    "analytic.array.positioning.spindle": ("capacity",),
    # the shares sum to 1, so that none changes alone
    "analytic.array.loaded.loaded": ("shares",),
    "analytic.array.loaded.loaded_by_class": ("shares", "sizes[0]", "sizes[1]"),
    "analytic.durability.durability": ("bit_error_rate", "days", "shape", "matched", "refill", "acceleration"),
    "analytic.durability.chain_of": ("bit_error_rate", "days", "shape", "matched", "refill", "acceleration"),
    "analytic.durability.rare_loss": ("bit_error_rate", "refill"),
    "analytic.durability.inspected": ("interval", "duration", "first", "shape", "matched", "acceleration"),
    "analytic.fairness.largest_drop": ("gap",),
    "analytic.fairness.largest_unfairness": ("gap",),
    "analytic.forkjoin.RequestStream": ("blocks",),
    "analytic.forkjoin.StripedSystem": ("striping.request", "striping.unit"),
    "analytic.forkjoin.completion_times": ("stream.blocks",),
}
MODEL = ReliabilityModel(Redundancy(8, 2), Failures(0.02), Repair(1e5, detection=3600.0))
TWO_KINDS = population([DriveFigures(0.01, 0.006, 0.002)] * 2 + [DriveFigures(0.02, 0.008, 0.001)] * 2, 4, None)
# Calls with other arguments than those of tests/nonsense, which may be at the edge of a domain.
CALLS: dict[str, dict[str, Any]] = {
    "analytic.array.closed_loop.shape_of": {"share": 0.5},
    "analytic.array.costs.costs": {"disks": 9.0},
    "analytic.array.kinds.shared_costs": {"disks": TWO_KINDS},
    "analytic.durability.chain_of": {"model": MODEL},
    "analytic.durability.durability": {"model": MODEL},
    "analytic.durability.rare_loss": {"model": dataclasses.replace(MODEL, failures=Failures(0.02, shape=1.2))},
}
# Results of JAX that are compared with small differences of their own: response times are computed on a finer grid, the
# shares of the disks are iterated until they change less, and NumPy computes the number beside a removable pole.
OWN_DIFFERENCES = (
    "analytic.array.closed_loop.waiting_at_choice",
    "analytic.array.kinds.shared_costs",
    "analytic.array.loaded.loaded",
    "analytic.array.loaded.loaded_by_class",
)
# Results that are interpolated between the points of a table or of a grid of times, so that they have many kinks.
INTERPOLATED = (
    "analytic.array.costs.costs",
    "analytic.array.kinds.shared_costs",
    "analytic.array.loaded.loaded",
    "analytic.array.loaded.Loaded.quantile",
    "analytic.array.nearest_of_several.least",
    "analytic.array.nearest_of_several.most",
)
# largest relative errors: at random points, at an edge with one-sided differences, and of an interpolated result
CLOSE, AT_EDGE, ON_GRID = 1e-5, 1e-4, 1e-2
# Real arguments without a derivative at an edge, and the reason.
KINKS = {
    ("analytic.array.costs.costs", "disks"): "fewer disks than a layout has",
    ("analytic.array.loaded.Loaded.quantile", "share"): "the shortest and the longest response time",
    ("analytic.durability.chain_of", "model.repair.detection"): "without detection, the chain has fewer states",
    ("analytic.durability.durability", "model.repair.detection"): "without detection, the chain has fewer states",
}
# Programs that compile for long.
LARGE = (
    "analytic.array.kinds.shared_costs",
    "analytic.array.loaded.loaded",
    "analytic.array.loaded.loaded_by_class",
)
POINTS = 2


class Leaf(NamedTuple):
    """A real argument: its path, its value, and the validator of its domain if there is one."""

    path: str
    value: np.ndarray
    domain: Validator | None


def is_real(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f")


def parts(value: Any) -> list[tuple[str, Any]]:
    """The elements or fields of a value, with their names."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", getattr(value, name)) for name in value._fields]
    if isinstance(value, list | tuple):
        return [(f"[{number}]", one) for number, one in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Drive):
        return [(f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value) if field.init]
    return []


def leaves(value: Any, domains: dict[str, Validator], path: str = "", seen: set[int] | None = None) -> Iterator[Leaf]:
    """The real arguments within a value. An object that occurs twice counts once."""
    seen = set() if seen is None else seen
    for name, one in parts(value):
        if is_real(one):
            yield Leaf(path + name, np.asarray(one, float), domains.get(name.strip(".")))
        elif id(one) not in seen:
            seen |= {id(one)} if dataclasses.is_dataclass(one) else set()
            yield from leaves(one, validators_of(type(one)), path + name, seen)


def rebuilt(value: Any, given: dict[str, Any], path: str = "", seen: dict[int, Any] | None = None) -> Any:
    """A value with other real arguments, by path."""
    seen = {} if seen is None else seen
    if id(value) in seen:
        return seen[id(value)]
    new = {
        name: given[path + name] if path + name in given else rebuilt(one, given, path + name, seen)
        for name, one in parts(value)
    }
    if not any(one is not new[name] for name, one in parts(value)):
        return value
    if isinstance(value, dict):
        return new
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*new.values())
    if isinstance(value, list | tuple):
        return type(value)(new.values())
    seen[id(value)] = dataclasses.replace(value, **{name[1:]: one for name, one in new.items()})
    return seen[id(value)]


def results(value: Any) -> Iterator[Any]:
    """The real numbers of a result."""
    if isinstance(value, Loaded):
        yield from (value.mean, value.utilization, value.saturation, value.quantile(0.5), value.quantile(0.95))
    elif isinstance(value, Chain):
        yield from (value.mttdl, value.loss_probability(1.0))
    elif isinstance(value, Durability):
        yield from (value.loss_probability, value.nines, value.mttdl_years)
    elif hasattr(value, "dtype") or isinstance(value, float):
        if np.issubdtype(getattr(value, "dtype", float), np.floating):
            yield value
    else:
        for _, one in parts(value):
            yield from results(one)


class Case:
    """A public function as a function of its real arguments: a weighted sum of its real results."""

    def __init__(self, name: str):
        call = (public_callables("analytic") | methods("analytic"))[name]
        self.name, valid = name, VALID_CALLS[name]
        self.given = {**valid.given(), **CALLS.get(name, {})}
        self.call = valid.through or call
        held = HELD.get(name, ())
        self.leaves = [
            one for one in leaves(self.given, validators_of(call)) if not any(word in one.path for word in held)
        ]
        found = [np.asarray(one, float) for one in results(self.call(**self.given))] if self.leaves else []
        random = np.random.default_rng(1)
        self.weights = []
        for one in found:
            scale = np.where(np.isfinite(one) & (one != 0), np.abs(one), np.inf)
            self.weights.append(random.uniform(0.5, 1.5, one.shape) / scale)

    def __call__(self, values: list[Any]) -> Any:
        given = {leaf.path: value for leaf, value in zip(self.leaves, values, strict=True)}
        found = list(results(self.call(**rebuilt(self.given, given))))
        # A result that does not vanish at the point of the weights may be infinite at another point.
        return sum((weight * one).sum() for weight, one in zip(self.weights, found, strict=True) if np.any(weight))

    def host(self, values: list[np.ndarray]) -> float:
        """The sum from NumPy alone."""
        return float(self([float(one) if one.ndim == 0 else one for one in values]))

    def compiled(self) -> Callable[[list[np.ndarray]], float]:
        """The sum from JAX."""
        function = jax.jit(self)
        return lambda values: float(function([jnp.asarray(one) for one in values]))

    def points(self) -> list[list[np.ndarray]]:
        """Valid random points near the call."""
        random, found = np.random.default_rng(3), []
        for scale in (0.03, 0.003, 0.0):
            while len(found) < POINTS:
                point = [leaf.value * (1 + scale * random.uniform(-1, 1, leaf.value.shape)) for leaf in self.leaves]
                if scale and not self.is_valid(point):
                    break
                found.append(point)
        return found

    def is_valid(self, point: list[np.ndarray]) -> bool:
        """Whether a point is in the domain, and has the same number of results (a chain leaves out rates of 0)."""
        try:
            return bool(np.isfinite(self.host(point)))
        except (InputError, ValueError):
            return False

    def edges(self) -> Iterator[tuple[int, float, list[np.ndarray]]]:
        """The number of a real argument, the direction into its domain, and a point where it is at a limit."""
        for number, leaf in enumerate(self.leaves):
            domain = leaf.domain
            if domain is None or domain.whole or (self.name, leaf.path) in KINKS:
                continue
            limits = [(domain.least, 1.0)] if np.isfinite(domain.least) and not domain.above else []
            limits += [(domain.most, -1.0)] if domain.most <= 1 else []
            for limit, inward in limits:
                point = [np.array(one.value) for one in self.leaves]
                point[number] = np.full(leaf.value.shape, float(limit))
                if self.is_valid(point):
                    yield number, inward, point


def shifted(point: list[np.ndarray], number: int, index: tuple, by: float) -> list[np.ndarray]:
    found = [np.array(one) for one in point]
    found[number][index] += by
    return found


def difference(case: Callable, point: list[np.ndarray], number: int, index: tuple, share: float) -> float | None:
    """The central difference of order four, or None at a limit of the domain or at its sum of shares."""
    step = share * max(abs(point[number][index]), 1e-3)
    try:
        low, below, above, high = (case(shifted(point, number, index, by * step)) for by in (-2, -1, 1, 2))
    except InputError:
        return None
    return (low - 8 * below + 8 * above - high) / (12 * step)


def one_sided(case: Callable, point: list[np.ndarray], number: int, inward: float, size: float) -> float | None:
    """The difference of order three into the domain, summed over the elements of an argument."""
    step = 1e-5 * size * inward
    try:
        values = [case([one if i != number else one + k * step for i, one in enumerate(point)]) for k in range(4)]
    except InputError:
        return None
    return (-11 * values[0] + 18 * values[1] - 9 * values[2] + 2 * values[3]) / (6 * step)


def relative(found: float, expected: float, value: float, size: float) -> float:
    """The error relative to the derivative, or to a small elasticity, whichever is larger.

    The sum of all results is about 1 or more, so that a value near 0 has no digits.
    """
    return abs(found - expected) / max(abs(expected), 1e-4 * max(abs(value), 0.1) / size)


class Outcome(NamedTuple):
    """Largest errors of a function: of its derivatives inside, and at the edges; of its values; number of derivatives."""

    inside: tuple[float, str]
    edge: tuple[float, str]
    value: float
    count: int


def outcome(name: str) -> Outcome | None:
    """The largest errors of a function, or None if it has no real arguments or no real result."""
    case = Case(name)
    if not case.leaves or not case.weights:
        return None
    points, edges = case.points(), list(case.edges())
    every = [*points, *(point for _, _, point in edges)]
    batch = [jnp.asarray(np.stack(column)) for column in zip(*every, strict=True)]
    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(case)))(batch)
    values, gradients = np.asarray(values), [np.asarray(one) for one in gradients]
    reference, share = case.host, 1e-4
    if name in OWN_DIFFERENCES:
        reference, share = case.compiled(), 1e-5
    inside, edge, count = (0.0, ""), (0.0, ""), 0
    for at, point in enumerate(points):
        for number, leaf in enumerate(case.leaves):
            for index in np.ndindex(leaf.value.shape):
                expected = difference(reference, point, number, index, share)
                if expected is not None:
                    size = max(abs(float(leaf.value[index])), 1e-3)
                    error = relative(gradients[number][at][index], expected, values[at], size)
                    inside, count = max(inside, (error, f"{leaf.path}{list(index) or ''}")), count + 1
    for at, (number, inward, point) in enumerate(edges, len(points)):
        size = max(float(np.max(np.abs(case.leaves[number].value))), 1e-3)
        expected = one_sided(reference, point, number, inward, size)
        if expected is not None:
            error = relative(float(gradients[number][at].sum()), expected, values[at], size)
            edge, count = max(edge, (error, case.leaves[number].path)), count + 1
    host = np.array([case.host(point) for point in every])
    return Outcome(inside, edge, float(np.max(np.abs(values - host) / np.maximum(np.abs(host), 0.1))), count)


def names() -> list[str]:
    """The functions and classes with derivatives."""
    packages = tuple(name for name in NOT_DIFFERENTIABLE if name.endswith("."))
    return [name for name in VALID_CALLS if name not in NOT_DIFFERENTIABLE and not name.startswith(packages)]


def test_every_public_function_has_a_call():
    """A new public function is tested as soon as it is exported."""
    for name in public_callables("analytic") | methods("analytic"):
        assert name in VALID_CALLS or name in NOT_ATTACKED, (
            f"{name}: its derivatives are not tested; add a ValidCall to tests/nonsense/packages/analytic.py, or say in "
            "NOT_DIFFERENTIABLE of this file why it has no derivatives"
        )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else []) for name in names()]
)
def test_the_derivatives_are_those_of_finite_differences(name):
    with jax.enable_x64(True):
        found = outcome(name)
    if found is None:
        return
    close, near = (ON_GRID, ON_GRID) if name.startswith(INTERPOLATED) else (CLOSE, AT_EDGE)
    assert found.inside[0] < close, f"{found.inside[1]}: relative error {found.inside[0]:.1e}"
    assert found.edge[0] < near, f"{found.edge[1]} at its limit: relative error {found.edge[0]:.1e}"
    # at a removable pole of `closed_loop`, NumPy computes the number beside the pole
    assert found.value < (1e-3 if name in LARGE else 1e-6)


def test_the_derivative_of_a_fixed_point():
    """The root of x = cos(a x) / 2 has dx/da = -x s / (2 + a s) with s = sin(a x)."""
    with jax.enable_x64(True):
        both = jax.value_and_grad(lambda a: fixed_point(lambda x: jnp.cos(a * x) / 2, 0.3))(1.2)
        found, slope = map(float, both)
    sine = np.sin(1.2 * found)
    assert abs(found - np.cos(1.2 * found) / 2) < 1e-12
    assert abs(slope + found * sine / (2 + 1.2 * sine)) < 1e-12


def seconds(function: Callable, batch: list[Any]) -> float:
    """The least time of a call, seconds."""
    jax.block_until_ready(function(batch))
    found = []
    for _ in range(30):
        begin = time.perf_counter()
        jax.block_until_ready(function(batch))
        found.append(time.perf_counter() - begin)
    return min(found)


def cost_ratio(name: str, count: int = 256) -> float:
    """The time of value and gradient, divided by the time of the value, for a batch of points in one compiled program."""
    case = Case(name)
    points = case.points() * (count // POINTS)
    batch = [jnp.asarray(np.stack(column)) for column in zip(*points, strict=True)]
    value, both = (jax.jit(jax.vmap(one)) for one in (case, jax.value_and_grad(case)))
    return seconds(both, batch) / seconds(value, batch)


def main(words: list[str]) -> None:
    """Print the table of all functions whose name contains a word."""
    jax.config.update("jax_enable_x64", True)
    print(f"{'function':48} {'derivatives':>11} {'inside':>8} {'at edges':>8} {'value':>8} {'time':>5}  worst")
    for name in names():
        if words and not any(word in name for word in words):
            continue
        try:
            found = outcome(name)
            if found is not None:
                ratio = cost_ratio(name, 4 if name in LARGE else 256)
                print(
                    f"{name.removeprefix('analytic.'):48} {found.count:11} {found.inside[0]:8.0e} {found.edge[0]:8.0e} "
                    f"{found.value:8.0e} {ratio:5.1f}  {found.inside[1]} / {found.edge[1]}",
                    flush=True,
                )
        except Exception as fault:
            print(f"{name.removeprefix('analytic.'):48} {type(fault).__name__}: {str(fault)[:150]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
