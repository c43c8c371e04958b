"""Arithmetic over lanes, against NumPy's of each lane alone."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from storagekit.lanes import nth_least

COLUMN = arrays.arrays(np.float32, st.sampled_from([1, 4, 30]), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]))


@given(COLUMN, st.integers(-1, 45))
def test_nth_least_is_where_sorting_puts_it_ties_and_all(column: np.ndarray, number: int):
    other = column[::-1]
    values = jnp.stack([column, other], axis=1)
    found = nth_least(values, jnp.full((1, 2), number, jnp.int32))
    expected = np.sort(column)[number - 1] if 1 <= number <= len(column) else np.inf
    np.testing.assert_array_equal(found, [[expected, expected]])
