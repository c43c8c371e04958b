"""Test response times of SSDs against closed forms, laws, and an independent simulation."""

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from ssd_simulation import Kind, simulated

from storagekit.analytic.ssd import Phase, Times, UnitAccesses, UnitRequests, loaded_units

US = 1e-6


def always(seconds: float) -> Times:
    return Times(np.array([seconds]), np.array([1.0]))


def small_reads(rate: float, seconds: Times, units: int = 1):
    requests = [UnitRequests(1.0, seconds, (Phase(1, 1),))]
    (found,) = loaded_units(requests, [UnitAccesses(1.0, 1, 1, seconds)], rate=rate, drives=1, units=units, group=1)
    return found


@pytest.mark.parametrize("busy", [0.1, 0.5, 0.9, 0.97])
def test_constant_times_of_one_unit_are_an_md1_queue(busy):
    """The mean wait is rho s / 2 (1 - rho), and P(W <= t) for t < s is (1 - rho) exp(rho t / s)."""
    found = small_reads(busy / (100 * US), always(100 * US))
    assert found.mean == pytest.approx(100 * US * (1 + busy / (2 * (1 - busy))), rel=0.005)
    assert found.utilization == pytest.approx(busy)
    assert found.saturation == pytest.approx(1e4)
    within = np.interp(150 * US, found.time, found.within)
    assert within == pytest.approx((1 - busy) * np.exp(busy / 2), abs=0.01)


def test_two_times_have_the_wait_of_pollaczek_and_khinchine():
    mixed = Times(np.array([50.0, 450.0]) * US, np.array([0.75, 0.25]))
    found = small_reads(0.6 / mixed.mean, mixed)
    assert found.mean == pytest.approx(mixed.mean + 0.6 * mixed.square / (2 * mixed.mean * 0.4), rel=0.005)


def test_more_units_share_the_work():
    few, many = (small_reads(count * 5e3, always(100 * US), count) for count in (1, 8))
    assert many.mean == pytest.approx(few.mean) and many.saturation == pytest.approx(8 * few.saturation)


MIXES = {
    # reads of a page, and writes that complete in a buffer
    "buffered": [Kind(0.7, 90 * US, [(1, 1, 80 * US)]), Kind(0.3, 20 * US, [], (1, 1, 400 * US))],
    # requests of several pages on one drive, and writes with copies
    "several pages": [Kind(0.7, 60 * US, [(1, 4, 40 * US)]), Kind(0.3, 20 * US, [], (2, 4, 200 * US))],
    # reads before writes, which wait for their units
    "two phases": [Kind(0.5, 80 * US, [(1, 1, 80 * US)]), Kind(0.5, 280 * US, [(2, 1, 80 * US), (2, 1, 200 * US)])],
    # parts of one request on all units of three drives
    "full stripes": [Kind(1.0, 100 * US, [(3, 8, 100 * US)])],
}


@pytest.mark.parametrize(
    ("mix", "busy"), [("buffered", 0.7), ("several pages", 0.5), ("two phases", 0.6), ("full stripes", 0.6)]
)
def test_mixes_agree_with_the_simulation_of_units(mix, busy):
    """Four standard errors of runs, and 8% for the dependence of the waits of several units."""
    kinds, drives, units = MIXES[mix], 4, 8
    rate = busy * drives * units / sum(one.work for one in kinds)
    requests = [
        UnitRequests(one.share, always(one.latency), tuple(Phase(*phase[:2]) for phase in one.phases)) for one in kinds
    ]
    accesses = [
        UnitAccesses(one.share, count, pages, always(seconds))
        for one in kinds
        for count, pages, seconds in [*one.phases, one.background]
        if count
    ]
    found = loaded_units(requests, accesses, rate=rate, drives=drives, units=units, group=drives)
    runs = [simulated(kinds, rate, drives, units, 8000, seed) for seed in range(4)]
    for number, one in enumerate(found):
        for value, measure in ((one.mean, np.mean), (one.quantile(0.99), lambda times: np.quantile(times, 0.99))):
            each = np.array([measure(run[number]) for run in runs])
            error = each.std(ddof=1) / np.sqrt(each.size)
            assert value == pytest.approx(each.mean(), abs=4 * error + 0.08 * each.mean())


@given(
    st.floats(0.05, 0.9),
    st.integers(1, 16),
    st.lists(st.tuples(st.floats(1e-6, 1e-2), st.floats(0.01, 1)), min_size=1, max_size=6),
)
def test_a_higher_rate_is_never_faster(busy, units, times):
    shares = np.array([share for _, share in times])
    seconds = Times(np.array([time for time, _ in times]), shares / shares.sum())
    rate = busy * units / seconds.mean
    slow, fast = (small_reads(factor * rate, seconds, units) for factor in (1.0, 1.1))
    assert fast.mean >= slow.mean * (1 - 1e-9) >= seconds.mean * (1 - 1e-6)
    assert slow.quantile(0.99) <= fast.quantile(0.99) * 1.01
    assert (np.diff(slow.within) >= 0).all() and slow.within[-1] > 0.999


def test_beyond_the_largest_rate_units_are_overloaded():
    found = small_reads(2e4, always(100 * US))
    assert found.mean == np.inf and found.utilization == pytest.approx(2) and found.quantile(0.5) == np.inf


def test_the_largest_of_several_times_is_that_of_all_combinations():
    times = Times(np.array([3.0, 1.0, 2.0]), np.array([0.2, 0.5, 0.3]))
    found = times.largest_of(2)
    assert dict(zip(found.seconds.tolist(), found.shares.tolist(), strict=True)) == pytest.approx(
        {1.0: 0.25, 2.0: 0.64 - 0.25, 3.0: 0.36}
    )


def test_sums_of_many_times_keep_their_mean():
    times = Times(np.arange(1, 41) * US, np.full(40, 1 / 40))
    total = times.plus(times)
    assert total.seconds.size <= 200 and total.mean == pytest.approx(2 * times.mean)
    assert total.square == pytest.approx(2 * times.square + 2 * times.mean**2, rel=0.001)


def test_impossible_arguments_are_rejected():
    assert_refused(lambda: Times(np.array([1.0]), np.array([0.5])), "sum of the shares 0.5: it must be 1")
    assert_refused(lambda: Times(np.array([1.0, 2.0]), np.array([1.0])), "shape of seconds")
