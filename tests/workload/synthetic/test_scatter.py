"""Test the scattering of ranks over locations: each occurs once, and neighbours are separated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from storagekit.workload.synthetic.popular.scatter import scattered


@given(st.integers(1, 5000), st.data())
def test_scattering_is_a_permutation(count, data):
    rank = np.arange(count)
    location = scattered(rank, count)
    assert np.array_equal(np.sort(location), rank)
    some = data.draw(st.lists(st.integers(0, count - 1), max_size=5))
    assert np.array_equal(scattered(np.array(some, np.int64), count), location[some])


def test_scattering_leaves_no_neighbours():
    """The mean distance of consecutive ranks is a third, as for random locations, and the correlation is zero."""
    count = 50 * 83_886
    location = scattered(np.arange(100_000), count) / count
    assert np.abs(np.diff(location)).mean() == pytest.approx(1 / 3, abs=4 * 0.24 / np.sqrt(50_000))
    assert stats.kstest(location, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(location[1:], location[:-1])[0, 1]) < 4 / np.sqrt(100_000)
    assert scattered(np.array([2**45 - 1, 0]), 2**45).max() < 2**45
