"""Types for annotations of functions that accept arrays of NumPy and of JAX, or arrays and single numbers."""

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

if TYPE_CHECKING:
    # A static checker rejects arithmetic on a union, so that it receives the type of an array only.
    AnyArray = Array
    Figures = np.ndarray
    Real = float
else:
    # Types of a field: arrays of NumPy on the host, arrays of JAX in the engine, and results of NumPy arithmetic.
    AnyArray = Array | np.ndarray | np.floating | np.integer
    # Types of the result of a formula, which is a number for numbers and an array for arrays.
    Figures = np.ndarray | np.floating | np.integer
    # A number, which may be a value that JAX traces.
    Real = float | int | np.floating | Array


def namespace(*values: Any) -> Any:
    """Return the array namespace for some values: NumPy if all are arrays or numbers of NumPy, otherwise JAX's NumPy.

    On the host NumPy computes the same float32 values immediately, while JAX would compile a program for each
    operation.

    Parameters
    ----------
    *values : Any
        The values.

    Returns
    -------
    module
        `numpy` or `jax.numpy`.
    """
    return np if all(isinstance(value, np.ndarray | np.generic) for value in values) else jnp
