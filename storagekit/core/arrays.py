"""What annotations call an array where NumPy's and JAX's, or arrays and single numbers, are treated alike."""

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

if TYPE_CHECKING:
    # a static checker knows no arithmetic on a union: code for all of them keeps to what an array can do
    AnyArray = Array
    Figures = np.ndarray
else:
    # of a field: NumPy's on the host, JAX's inside the engine, and what arithmetic on a NumPy number yields
    AnyArray = Array | np.ndarray | np.floating | np.integer
    # of a formula, which of numbers gives a number, of arrays an array
    Figures = np.ndarray | np.floating | np.integer


def namespace(*values: Any) -> Any:
    """Return NumPy where all `values` are NumPy's own arrays or numbers, else JAX's NumPy.

    On the host NumPy computes the same float32 at once; JAX would compile a program for each operation.
    """
    return np if all(isinstance(value, np.ndarray | np.generic) for value in values) else jnp
