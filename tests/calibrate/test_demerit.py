"""The demerit by hand, and the properties of a distance between distributions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.calibrate import demerit
from storagekit.core.errors import InputError

SAMPLES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30)


@given(SAMPLES, st.floats(-10, 10))
def test_demerit_of_equal_samples_is_zero_and_of_a_shift_the_shift(sample, shift):
    values = np.array(sample)
    assert demerit(values, values[::-1]) == 0
    assert demerit(values, values + shift) == pytest.approx(abs(shift), abs=1e-9)


@given(SAMPLES, SAMPLES, st.integers(1, 4))
def test_demerit_is_of_distributions_not_of_samples(one, other, times):
    assert demerit(one * times, other) == pytest.approx(demerit(one, other), abs=1e-6)
    assert demerit(other, one) == pytest.approx(demerit(one, other), abs=1e-9)


def test_demerit_by_hand():
    """{0, 0, 6} against {0, 3}: the distance is 0 up to a half, 3 up to two thirds, and 3 above: sqrt(9/2)."""
    assert demerit([0, 6, 0], [3, 0]) == pytest.approx(math.sqrt(9 / 2))
    # equally many values: the differences of the sorted samples
    assert demerit([3.0, 1.0], [2.0, 5.0]) == pytest.approx(math.sqrt((1 + 4) / 2))
    # a distance of 1 over the levels 1/2 to 2/3
    assert demerit([0.0, 1.0], [0.0, 0.0, 1.0]) == pytest.approx(math.sqrt(1 / 6))


def test_demerit_of_a_long_sample_does_not_depend_on_its_order():
    sample = np.random.default_rng(0).random(1000)
    assert demerit(sample, np.random.default_rng(1).permutation(sample)) == 0
    assert demerit(sample, sample + 0.25) == pytest.approx(0.25)


def test_an_empty_sample_is_rejected_in_one_line():
    with pytest.raises(InputError, match=r"^samples of 0 and 1 values: a distribution needs at least 1$"):
        demerit([], [1.0])
