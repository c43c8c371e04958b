"""Test the what-if page of DSFQ: shares, Little's law and the bound, by hand."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.papers.dsfq.what_if import two_streams, what_if

pytestmark = pytest.mark.optimized

SETTINGS = {
    "weight_f": 1.0,
    "weight_g": 1.0,
    "minimum": 0.0,
    "threads_f": 30,
    "threads_g": 15,
    "coordinators": 1,
    "rate_a": 6e6,
    "rate_b": 4e6,
}
MEAN, LARGEST = 8.5 * 1024, 16 * 1024


def test_shares_over_both_bricks_and_each_by_itself():
    data = what_if(**SETTINGS)
    np.testing.assert_allclose(data.rate.sel(policy="total"), [[5e6, np.nan], [1e6, 4e6]])
    np.testing.assert_allclose(data.rate.sel(policy="single"), [[3e6, np.nan], [3e6, 4e6]])
    assert data.attrs["held_back_f"] == "brick A" and data.attrs["held_back_g"] == "bricks A, B"


def test_latency_is_threads_over_rate():
    """With 30 threads of f, and 15 of g on each of its two bricks: 5 MB/s each under total, 3 and 7 under single."""
    latency = what_if(**SETTINGS).latency
    np.testing.assert_allclose(latency.sel(policy="total"), 30 * MEAN / 5e6)
    np.testing.assert_allclose(latency.sel(policy="single"), [30 * MEAN / 3e6, 30 * MEAN / 7e6])


def test_the_bound_grows_with_coordinators_by_a_batch_of_each():
    """With D 16 and D_SFQ 30, g at two bricks has a batch of 1 + 4 / 1 requests.

    The bound is (46 + 1 + 31) + (92 + 1 + 31 x 5) largest requests, and five more for each further coordinator of g.
    """
    one, three = (float(what_if(**SETTINGS | {"coordinators": count}).bound) for count in (1, 3))
    assert one == pytest.approx((78 + 93 + 155) * LARGEST)
    assert three - one == pytest.approx(2 * 5 * LARGEST)


def test_no_bound_where_g_gets_nothing_or_its_minimum():
    assert np.isinf(what_if(**SETTINGS | {"rate_b": 12e6}).bound)
    assert np.isinf(what_if(**SETTINGS | {"rate_b": 6e6, "minimum": 1 / 12}).bound)


def test_a_minimum_above_a_weight_equals_the_weight():
    answer = two_streams({"f": 3, "g": 1}, 0.5, (6e6, 6e6))
    assert [stream.minimum for stream in answer.question.streams.values()] == [0.25, 0.25]


def test_zero_threads_raise():
    assert_refused(
        lambda: what_if(**SETTINGS | {"threads_g": 0}), "threads 0: give a whole number, between 1 and 1000000"
    )
