"""Test the popularity of data and its hit rates: by hand, by quadrature, and at the limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from storagekit.core.errors import InputError
from storagekit.workload.synthetic import Popularity
from storagekit.workload.synthetic.popular.popularity import expected_hit_rate, fitted


@pytest.mark.parametrize("pairs", [0.0, 0.4, 1.0])
def test_equal_popularity_is_counted_by_hand(pairs):
    """All blocks are touched at rate b = r (1 + pairs) / 2 for r requests a chunk.

    A cache of all data has a block at time t with probability 1 - exp(-b t). For a pair, one half may be cached by a
    request for the other half; requests for pairs and halves have the total rate r. A cache of half the data holds the
    last T = log(2) / b.
    """
    requests = 3.0
    even = Popularity(alpha=0.0, head=0.01)
    block = requests * (1 + pairs) / 2

    def hit(time):
        one, none = np.exp(-block * time), np.exp(-requests * time)
        return (1 - pairs) * (1 - one) + pairs * (1 - 2 * one + none)

    assert expected_hit_rate(even, requests, pairs, 1.0) == pytest.approx(quad(hit, 0, 1)[0], abs=1e-9)
    fills = np.log(2) / block
    halved = quad(lambda time: hit(min(time, fills)), 0, 1, points=[min(fills, 1)])[0]
    assert expected_hit_rate(even, requests, pairs, 0.5) == pytest.approx(halved, abs=1e-9)
    assert expected_hit_rate(even, requests, pairs, 0.0) == 0


@given(st.floats(0, 2), st.floats(-6, 0).map(lambda power: 10**power), st.floats(0.001, 1))
def test_the_share_of_requests_below_a_rank_inverts_the_rank_of_a_share(alpha, head, share):
    """Integrate the intensity up to rank(share) on a logarithmic grid: the integral equals the share."""
    law = Popularity(alpha, head)
    rank = law.rank(np.array([share, 1.0]))
    log_rank = np.linspace(0, np.log1p(rank[0] / head), 20_001)
    integrand = law.intensity(head * np.expm1(log_rank)) * head * np.exp(log_rank)
    assert np.trapezoid(integrand, log_rank) == pytest.approx(share, rel=1e-3)
    assert rank[1] == pytest.approx(1)


@given(st.floats(0, 8), st.floats(-9, 0))
def test_no_rank_lies_beyond_the_data(alpha, log_head):
    """This holds even if the law is so steep that the last share of requests is within rounding of all of them."""
    rank = Popularity(alpha, 10**log_head).rank(np.array([0.0, 0.5, 1 - 2**-53, 1.0]))
    assert rank[0] == 0 and (np.diff(rank) >= 0).all() and (rank <= 1).all()


@given(st.floats(0.2, 6), st.floats(-4, -1), st.floats(0, 1), st.floats(0.05, 1), st.floats(0.5, 3))
def test_fitting_finds_the_exponent_of_the_hit_rate(requests, log_head, pairs, cache, alpha):
    head = 10**log_head
    wanted = expected_hit_rate(Popularity(alpha, head), requests, pairs, cache)
    assert fitted(head, requests, pairs, cache, wanted).alpha == pytest.approx(alpha, abs=1e-5)


@pytest.mark.parametrize(
    ("alpha", "head", "message"),
    [(9.0, 0.1, "alpha 9"), (1.0, float("nan"), "head nan: "), (1.0, 2.0, "head 2")],
)
def test_a_law_out_of_range_raises_in_one_line(alpha, head, message):
    with pytest.raises(InputError) as error:
        Popularity(alpha, head)
    assert message in str(error.value) and "\n" not in str(error.value)
