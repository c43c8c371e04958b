"""Arithmetic over a batch, against NumPy's results for each run alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from storagekit.arbitration import PreselectionBids
from storagekit.core.batching import any_row, count, first_true, min_row, nth_least, real, union
from storagekit.dispatch import ARS

COLUMN = arrays.arrays(np.float32, st.sampled_from([1, 4, 30]), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]))


@given(COLUMN, st.integers(-1, 45))
def test_nth_least_agrees_with_sorting_also_for_ties(column: np.ndarray, number: int):
    other = column[::-1]
    values = jnp.stack([column, other], axis=1)
    found = nth_least(values, jnp.full((1, 2), number, jnp.int32))
    expected = np.sort(column)[number - 1] if 1 <= number <= len(column) else np.inf
    np.testing.assert_array_equal(found, [[expected, expected]])


@pytest.mark.parametrize("rows", [1, 2, 7, 31, 32, 33, 75, 80])
def test_reductions_agree_with_numpy_for_any_number_of_rows(rows: int):
    """In each run of the batch another row is decisive: the smallest, the only true one, the only one with a bit."""
    words = np.random.default_rng(rows).integers(0, 2**32, (rows, rows), np.uint32)
    alone = np.eye(rows, dtype=bool)

    @jax.jit
    def reduced(words, alone):
        return (
            min_row(jnp.where(alone, -1.0, words.astype(jnp.float32))),
            any_row(alone),
            count(alone),
            first_true(alone)[0],
            union(jnp.where(alone, words, jnp.uint32(0))),
            count(words % 2 == 1),
            union(words),
        )

    expected = -1, True, 1, np.arange(rows), words.diagonal(), np.sum(words % 2, axis=0), np.bitwise_or.reduce(words)
    for found, value in zip(reduced(jnp.asarray(words), jnp.asarray(alone)), expected, strict=True):
        np.testing.assert_array_equal(found, np.broadcast_to(value, (1, rows)))
    nothing = jnp.zeros((rows, 2), bool)
    assert not any_row(nothing).any() and (first_true(nothing)[0] == rows).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: real("abc"), "'abc' is not a number; give one number, or one number for each run"),
        (lambda: real([1, [2, 3]]), r"\[1, \[2, 3\]\] is not a number"),
        (lambda: real(np.full(100, "a")), "is not a number"),
        (lambda: real(object()), "is not a number"),
        (lambda: ARS(window="abc"), "'abc' is not a number"),
        (lambda: PreselectionBids(latency="x"), "'x' is not a number"),
        (lambda: PreselectionBids(ahead="x"), "'x' is not a number"),
    ],
)
def test_values_that_are_not_numbers_are_rejected(unchecked, build, message):
    assert_refused(build, message)


def test_numbers_are_accepted_in_any_form_and_a_list_of_traced_ones_raises_jaxs_error(unchecked):
    for number in (2, 2.0, np.int64(2), np.float64(2), jnp.float32(2)):
        assert real(number).dtype == np.float32 and real(number) == 2
    np.testing.assert_array_equal(real([1, 2.5]), np.asarray([1, 2.5], np.float32))
    assert jax.jit(real)(2) == 2
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(lambda one: real([one, 1]))(2)
