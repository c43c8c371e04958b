"""Test the arrival times of requests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.engine import keys
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests, RecordedArrivals
from storagekit.workload.recorded import recorded as from_trace
from storagekit.workload.recorded import wrapped
from storagekit.workload.trace import request_trace

CAPACITY = 1_000_000
REQUESTS = RandomRequests(FixedSize(4096), 1.0)
COUNT = 40_000


def gaps(arrivals, first=0, count=COUNT):
    return np.asarray(arrivals.window(CAPACITY, keys([2])[:, 0], np.array([first], np.int32), count).gap, float)


def test_poisson_gaps_are_exponential():
    """Compare with mean 1/rate, an equal standard deviation, and a share of 1/e above the mean; four standard errors."""
    gap = gaps(PoissonArrivals(REQUESTS, 50.0)) * 50
    assert abs(gap.mean() - 1) < 4 / np.sqrt(COUNT)
    assert abs(gap.std() - 1) < 4 * np.sqrt(2 / COUNT)
    assert abs((gap > 1).mean() - np.exp(-1)) < 4 * np.sqrt(np.exp(-1) * (1 - np.exp(-1)) / COUNT)
    assert abs(np.corrcoef(gap[1:], gap[:-1])[0, 1]) < 4 / np.sqrt(COUNT)
    assert np.all(np.isfinite(gap) & (gap >= 0))


def test_a_faster_stream_is_the_same_stream_scaled():
    np.testing.assert_allclose(
        gaps(PoissonArrivals(REQUESTS, 10.0)), 10 * gaps(PoissonArrivals(REQUESTS, 100.0)), rtol=1e-6
    )


def test_recorded_requests_arrive_as_recorded(recorded):
    arrivals = recorded([0.0, 1.0, 1.5, 4.0], sector=[10, 20, 30, 40])
    window = arrivals.window(CAPACITY, keys([0])[:, 0], np.array([1], np.int32), 3)
    assert np.asarray(window.requests.number).tolist() == [1, 2, 3]
    assert np.asarray(window.requests.sector).tolist() == [20, 30, 40]
    np.testing.assert_allclose(window.gap, [0.5, 2.5, np.inf])
    faster = RecordedArrivals(arrivals.requests, arrivals.gap, 2.0)
    np.testing.assert_allclose(gaps(faster, count=3), [0.5, 0.25, 1.25])


def test_a_trace_scale_of_zero_raises(recorded):
    arrivals = recorded([0.0, 1.0])
    with pytest.raises(InputError, match="trace scale 0: it must be above 0"):
        RecordedArrivals(arrivals.requests, arrivals.gap, 0.0)


def test_the_replacement_counts_after_the_choice_or_before_it():
    """DiskSim and dsptf's figure 1 have N-1 candidates; the other convention has N."""
    after, before = ClosedLoop(REQUESTS, 4), ClosedLoop(REQUESTS, 4, replaced_before_choice=True)
    now, earlier = np.array([1.0]), np.array([0.9])
    assert not after.precedes(now, now)[0] and before.precedes(now, now)[0]
    assert after.precedes(earlier, now)[0] and before.precedes(earlier, now)[0]


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 64)), min_size=1), st.integers(65, 2000))
def test_the_share_of_wrapped_addresses_is_the_share_of_moved_requests(requests, capacity):
    sector, sectors = np.array(requests).T
    count = len(requests)
    trace = request_trace(np.arange(float(count)), np.zeros(count), sector * 512, sectors * 512, np.ones(count, bool))
    moved = np.asarray(from_trace(trace, capacity).requests.sector).ravel() != sector
    assert wrapped(trace, capacity) == pytest.approx(moved.mean())
