"""Choose between NumPy and JAX for formulas: NumPy for numbers and NumPy arrays, JAX for JAX arrays and traced values.

A formula receives its operations from `namespace_of`, so that the planner computes in NumPy without a compiled program, and
`jax.grad`, `jax.jit` and `jax.vmap` transform the same lines. Only traced values and JAX arrays import JAX.

The engine has `storagekit.core.arrays.namespace` instead, for which a number of Python selects JAX: the engine combines it
with tables that JAX traces and with float32, whereas a formula of numbers must compile nothing.
"""

import sys
from collections.abc import Callable, Sequence
from functools import reduce
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from storagekit.core.validation import HOST, traced


def _namespace_of(*values: Any) -> ModuleType | Any:
    """Return `jax.numpy` if a value, or an element of a sequence, is a JAX array, and `numpy` otherwise.

    Parameters
    ----------
    *values : Any
        The values.

    Returns
    -------
    module
        `numpy` or `jax.numpy`.
    """
    for value in values:
        if type(value) in HOST:
            continue
        if isinstance(value, list | tuple):
            space = _namespace_of(*value)
        else:
            space = value.__array_namespace__() if hasattr(value, "__array_namespace__") else np
        if space is not np:
            return space
    return np


if TYPE_CHECKING:

    def namespace_of(*values: Any):
        """Return NumPy, whose types a static checker uses for JAX's functions too."""
        return np
else:
    namespace_of = _namespace_of


def special_of(space: ModuleType | Any) -> ModuleType | Any:
    """Return the module of special functions that fits an array namespace: `scipy.special`, or its equivalent in JAX."""
    # not at the top: without special functions, formulas start faster
    if space is np:
        import scipy.special as special
    else:
        import jax.scipy.special as special
    return special


def as_number(value: Any) -> Any:
    """Return a value as a Python float; return a traced value unchanged, because it has no value yet."""
    return value if traced(value) else float(value)


def largest(*values: Any) -> Any:
    """Return the largest of some numbers; for JAX arrays, their element-wise maximum."""
    space = namespace_of(*values)
    return max(values) if space is np else reduce(space.maximum, values)


def smallest(*values: Any) -> Any:
    """Return the smallest of some numbers; for JAX arrays, their element-wise minimum."""
    space = namespace_of(*values)
    return min(values) if space is np else reduce(space.minimum, values)


def at_least(value: Any, limit: float) -> Any:
    """Return the larger of a value and a limit. At the limit, up to rounding, it has the derivative of the value."""
    space = namespace_of(value)
    if space is np:
        return np.maximum(value, limit)
    below = value < limit - max(1e-8, 64 * float(np.finfo(value.dtype).eps))
    return space.where(below, limit, value + value_of(space.maximum(limit - value, 0.0)))


def at_most(value: Any, limit: float) -> Any:
    """Return the smaller of a value and a limit. At the limit, up to rounding, it has the derivative of the value."""
    return -at_least(-value, -limit)


def value_of(value: Any) -> Any:
    """Return a value without its derivative, for a step function of the value."""
    return sys.modules["jax"].lax.stop_gradient(value) if traced(value) else value


def is_zero(value: Any) -> bool:
    """Return whether a number is known to be 0. A traced value may have any value."""
    return not traced(value) and not value


def is_true(value: Any) -> bool:
    """Return whether a condition is known to be true. A traced condition may be false."""
    return not traced(value) and bool(value)


def quotient(numerator: Any, denominator: Any, otherwise: Any = 0.0) -> Any:
    """Return a quotient, and another value where the denominator is not above 0. Its derivatives are finite."""
    space = namespace_of(numerator, denominator)
    positive = denominator > 0
    return space.where(positive, numerator / space.where(positive, denominator, 1.0), otherwise)


def power(base: Any, exponent: float) -> Any:
    """Return a power of numbers of at least 0. With JAX, the derivative of an exponent below 1 is 0 at a base of 0."""
    space = namespace_of(base)
    if space is np:
        return base**exponent
    positive = base > 0
    return space.where(positive, space.where(positive, base, 1.0) ** exponent, 0.0)


def where_chosen(chosen: np.ndarray, function: Callable[..., Any], *arrays: Any, otherwise: Any) -> Any:
    """Return the results of an element-wise function where a mask is true, and other values elsewhere.

    Parameters
    ----------
    chosen : array of bool
        The mask, for the last axes of the arrays.
    function : callable
        The function. NumPy calls it for the chosen elements only. JAX calls it for all elements, so that it must be finite
        for them.
    *arrays : array
        Arguments of the function, of equal shapes.
    otherwise : array
        Values where the mask is false, of the same shape.

    Returns
    -------
    array
        The values.
    """
    space = namespace_of(*arrays, otherwise)
    if space is not np:
        return space.where(chosen, function(*arrays), otherwise)
    if chosen.all():
        return function(*arrays)
    found = np.array(otherwise)
    found[..., chosen] = function(*(array[..., chosen] for array in arrays))
    return found


def evenly_spaced(last: Any, count: int) -> Any:
    """Return numbers from 0 to `last` at even distances, along a new last axis."""
    space = namespace_of(last)
    if space is np:
        # the numbers of `numpy.linspace`, which is slower
        found = np.multiply.outer(last / (count - 1), np.arange(count))
        found[..., -1] = last
        return found
    # `jax.numpy.linspace` is a concatenation; see `joined`
    return space.asarray(last)[..., None] * np.linspace(0.0, 1.0, count).reshape((1,) * np.ndim(last) + (-1,))


def any_of_many(probability: Any, count: Any) -> Any:
    """Return the probability 1 - (1 - p)^n that any of n independent events occurs, without cancellation for a small p.

    Parameters
    ----------
    probability : float or array of float
        Probability p of each event, 0 to 1.
    count : float or array of float
        Number n of events, above 0, not necessarily whole.

    Returns
    -------
    float or array of float
        The probability.
    """
    space = namespace_of(probability, count)
    certain = probability >= 1
    none = count * space.log1p(-space.where(certain, 0.0, probability))
    return space.where(certain, 1.0, -space.expm1(none))


def interpolated(at: Any, points: Any, values: Any) -> Any:
    """Return values between points by linear interpolation, and the first or the last value beyond the points.

    Parameters
    ----------
    at : array
        Arguments.
    points : array, shape `[point]`
        Arguments of the values, in ascending order.
    values : array, shape `[point]`
        The values.

    Returns
    -------
    array
        Interpolated values, of the shape of `at`. At a point, the derivative is the slope of the next interval.

    Notes
    -----
    The CPU compiler of XLA (jaxlib 0.10) aborts on the derivatives of some programs with `jax.numpy.interp`, in which it
    fuses several gathers. Here one gather takes both ends of an interval, and a barrier keeps it apart.
    """
    space = namespace_of(at, points, values)
    if space is np:
        return np.interp(at, points, values)
    points, values = space.asarray(points), space.asarray(values)
    right = space.clip(space.searchsorted(points, at, side="right"), 1, points.size - 1)
    table = stacked([points, values]).T
    ends = sys.modules["jax"].lax.optimization_barrier(table[stacked([right - 1, right])])
    (first, low), (last, high) = ((end[..., 0], end[..., 1]) for end in ends)
    # points that differ by rounding errors only are one point, because their distance is no slope
    least = np.finfo(points.dtype).eps ** 0.6 * (points[-1] - points[0])
    share = quotient(at - first, space.where(last - first > least, last - first, 0.0))
    # not `clip`, whose derivative at a point is a half
    share = space.where(at < points[0], 0.0, space.where(at > points[-1], 1.0, share))
    return low + share * (high - low)


def joined(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Return arrays as one array, along an existing axis.

    The CPU compiler of XLA (jaxlib 0.10) aborts on some programs in which it fuses a concatenation with later operations. A
    barrier keeps the concatenation apart.
    """
    space = namespace_of(*arrays)
    found = space.concatenate(arrays, axis=axis)
    return found if space is np else sys.modules["jax"].lax.optimization_barrier(found)


def stacked(values: Sequence[Any]) -> Any:
    """Return numbers, or arrays of equal shapes, as one array with a new first axis; see `joined`."""
    space = namespace_of(*values)
    # faster than `numpy.stack`
    return np.array(values) if space is np else sys.modules["jax"].lax.optimization_barrier(space.stack(values))


def listed(array: Any) -> list[Any]:
    """Return the elements of an array as numbers of Python, or as scalars of JAX."""
    return list(array) if traced(array) else array.tolist()


def collected(times: int, start: Any, step: Callable[[Any, Any], tuple[Any, Any]]) -> Any:
    """Return the results of the steps of a recursion as one array with a new first axis; see `repeated`.

    Parameters
    ----------
    times : int
        Number of steps.
    start : array
        Initial state.
    step : callable
        Function of the number of the step, from 0, and of the state; it returns the next state and a result.

    Returns
    -------
    array
        The results.
    """
    if namespace_of(start) is not np:
        jax = sys.modules["jax"]
        further = jax.checkpoint(lambda state, number: step(number, state), prevent_cse=False)
        return jax.lax.scan(further, start, jax.numpy.arange(times))[1]
    found = []
    for number in range(times):
        start, result = step(number, start)
        found.append(result)
    return np.array(found)


def fixed_point(function: Callable[[Any], Any], start: Any) -> Any:
    """Return x = function(x) for traced values, found by iteration from `start`, with the derivatives of the solution.

    Parameters
    ----------
    function : callable
        Contraction of an array of floating-point numbers.
    start : array
        First value.

    Returns
    -------
    array
        The fixed point.

    Notes
    -----
    The implicit function theorem gives the derivative, from one linear system: dx = (1 - df/dx)^-1 df. The iteration ends
    when x changes by less than 50 rounding errors, or after 500 steps.
    """
    import jax
    import jax.numpy as jnp

    def solve(residual: Callable[[Any], Any], first: Any) -> Any:
        def unsettled(state: Any) -> Any:
            step, before, now = state
            change = jnp.abs(now - before) > 50 * jnp.finfo(now.dtype).eps * jnp.abs(now)
            return (step == 0) | (jnp.any(change) & (step < 500))

        def further(state: Any) -> Any:
            step, _, now = state
            return step + 1, now, now + residual(now)

        return jax.lax.while_loop(unsettled, further, (0, first, first))[2]

    def linear_solve(linear: Callable[[Any], Any], right: Any) -> Any:
        matrix = jax.jacobian(linear)(jnp.zeros_like(right)).reshape(right.size, right.size)
        return jnp.linalg.solve(matrix, right.ravel()).reshape(right.shape)

    start = jax.lax.stop_gradient(jnp.asarray(start, float))
    return jax.lax.custom_root(lambda x: function(x) - x, start, solve, linear_solve)


def recomputed(function: Callable[..., Any], *values: Any) -> Any:
    """Return the result of a function of JAX arrays. Its derivative computes the function again and keeps no large array."""
    return sys.modules["jax"].checkpoint(function)(*values)


def repeated(times: int, start: Any, step: Callable[[Any, Any], Any]) -> Any:
    """Return the last state of a recursion: a loop in Python, or one loop of a compiled program for traced values.

    Parameters
    ----------
    times : int
        Number of steps.
    start : Any
        Initial state: an array, or a tuple of arrays.
    step : callable
        Function of the number of the step, from 0, and of the state; it returns the next state.

    Returns
    -------
    Any
        State after all steps.
    """
    if namespace_of(start) is np:
        for number in range(times):
            start = step(number, start)
        return start
    jax = sys.modules["jax"]
    # A scan, unlike a loop with a bound, has a derivative in reverse mode.
    further = jax.checkpoint(lambda state, number: (step(number, state), None), prevent_cse=False)
    return jax.lax.scan(further, start, jax.numpy.arange(times))[0]
