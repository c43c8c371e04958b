"""Student's t against SciPy's distribution and against a table."""

import numpy as np
import pytest
from scipy import stats

from storagekit.core.student_t import half_width


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_it_is_the_quantile_of_scipys_distribution(level):
    replications = np.array([2, 3, 8, 16, 20, 1000])
    assert np.array_equal(half_width(replications, level), stats.t.ppf(0.5 + level / 2, replications - 1))


def test_two_values_of_a_printed_table():
    assert half_width(2) == pytest.approx(12.706, abs=5e-4)
    assert half_width(16) == pytest.approx(2.131, abs=5e-4)


def test_one_value_has_no_interval():
    assert np.isnan(half_width(1)) and np.isnan(half_width(0))
