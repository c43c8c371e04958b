"""Numbers of 64 bits against Python's integers."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core import int64_pair
from storagekit.core.int64_pair import Pair

ALL = 2**64
words = st.integers(0, 2**32 - 1)
numbers = st.one_of(st.integers(0, ALL - 1), st.integers(0, 100), st.integers(ALL - 100, ALL - 1))


def split(number: int) -> Pair:
    return Pair(jnp.asarray([number >> 32], jnp.uint32), jnp.asarray([number & (2**32 - 1)], jnp.uint32))


def joined(number: Pair) -> int:
    return (int(number.high[0]) << 32) | int(number.low[0])


@given(numbers, numbers)
def test_sums_and_differences_wrap_around(one, other):
    assert joined(int64_pair.add(split(one), split(other))) == (one + other) % ALL
    assert joined(int64_pair.subtract(split(one), split(other))) == (one - other) % ALL


@given(numbers, st.integers(-(2**63) + 1, 2**63 - 1))
def test_the_earlier_of_two_numbers_is_found_at_any_position(one, ahead):
    other = (one + ahead) % ALL
    assert bool(int64_pair.before(split(one), split(other))[0]) == (ahead > 0)
    assert joined(int64_pair.later(split(one), split(other))) == (other if ahead > 0 else one)
    assert joined(int64_pair.earlier(split(one), split(other))) == (one if ahead > 0 else other)


@given(words, words)
def test_products_are_exact(one, other):
    found = int64_pair.product(*(jnp.asarray([word], jnp.uint32) for word in (one, other)))
    assert joined(found) == one * other


def test_zero_is_zero():
    assert all(np.all(word == 0) for word in int64_pair.zeros(2, 3)) and int64_pair.zeros(2, 3).high.shape == (2, 3)
