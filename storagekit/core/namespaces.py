"""Choose between NumPy and JAX for formulas: NumPy for numbers and NumPy arrays, JAX for JAX arrays and traced values.

A formula receives its operations from `namespace_of`, so that the planner computes in NumPy without a compiled program, and
`jax.grad`, `jax.jit` and `jax.vmap` transform the same lines. Only traced values and JAX arrays import JAX.
"""

import sys
from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np

from storagekit.core.validation import traced


# the most frequent types of values that are not of JAX
_HOST = np.ndarray, float, int


def namespace_of(*values: Any) -> ModuleType | Any:
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
        if type(value) in _HOST:
            continue
        if isinstance(value, list | tuple):
            space = namespace_of(*value)
        else:
            space = value.__array_namespace__() if hasattr(value, "__array_namespace__") else np
        if space is not np:
            return space
    return np


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


def value_of(value: Any) -> Any:
    """Return a value without its derivative, for a choice that is a step function of the value.

    A value that `jax.jit` or `jax.vmap` traces stays traced; its derivatives are 0.
    """
    return sys.modules["jax"].lax.stop_gradient(value) if traced(value) else value


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
    return jax.lax.scan(lambda state, number: (step(number, state), None), start, jax.numpy.arange(times))[0]
