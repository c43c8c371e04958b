"""Response times under Poisson arrivals: against simulated queues, and against known means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.analytic import response_mg1
from storagekit.analytic.array.loaded import Loaded, RequestClass, TransferSizes, loaded, loaded_by_class
from storagekit.analytic.array.positioning import Linear
from storagekit.analytic.array.shapes import Shape
from storagekit.core.units import MS

S, R = 10 * MS, 6 * MS
SPINDLE = Linear(S, R, 0.0, 1 * MS)
REACH = 0.25
SIZES = TransferSizes(np.array([1 * MS, 3 * MS]), np.array([0.75, 0.25]))


def response_times(shape=None, rate=100.0, reads=1.0, disks=4) -> Loaded:
    return loaded(SPINDLE, shape or Shape(), REACH, SIZES, disks=disks, rate=rate, reads=reads)


@pytest.fixture(scope="module")
def services() -> np.ndarray:
    """Random service times of a disk: a seek between two random locations, a rotational wait, and one of two
    transfers."""
    generator = np.random.default_rng(1)
    count = 400_000
    seek = np.abs(generator.random(count) - generator.random(count)) * S * REACH
    return seek + generator.random(count) * R + generator.choice(SIZES.seconds, count, p=SIZES.shares)


@pytest.mark.parametrize("busy", [0.1, 0.5, 0.8])
def test_one_disk_is_the_queue_of_pollaczek_and_khinchine_and_of_lindley(services, busy):
    """The mean is that of M/G/1 with the sample's moments. Quantiles are those of a simulated queue, from Lindley's
    recursion."""
    rate = busy / services.mean()
    found = response_times(rate=4 * rate)
    assert found.utilization == pytest.approx(busy, rel=3e-3)
    assert found.mean == pytest.approx(response_mg1(rate, services.mean(), (services**2).mean()), rel=6e-3)
    between = np.random.default_rng(2).exponential(1 / rate, services.size)
    walk = np.concatenate([[0.0], np.cumsum(services[:-1] - between[1:])])
    response = walk - np.minimum.accumulate(walk) + services
    for share in (0.5, 0.95, 0.99):
        # a queue at load 0.8 decorrelates within some hundred requests, so the sample has thousands of independent
        # parts
        assert found.quantile(share) == pytest.approx(np.quantile(response, share), rel=0.05)


def test_without_load_a_read_takes_the_nearest_head_and_a_write_the_last_disk():
    for heads, written, turned in ((1, 3, 1.0), (2, 2, 0.0), (3, 3, 0.0)):
        found = response_times(Shape(heads=heads, written=written, turned=turned), rate=1e-6, reads=0.4)
        arc, alone = np.array([R]), np.array([S * REACH / S])
        read = SPINDLE.least(alone, arc, np.array([heads]))[0]
        write = SPINDLE.most(alone, arc, np.array([written]))[0] + turned * R + 1 * MS
        transfer = float(SIZES.seconds @ SIZES.shares)
        assert found.mean == pytest.approx(0.4 * read + 0.6 * write + transfer, rel=2e-3)


def test_mirrored_reads_wait_as_where_one_queue_has_two_servers():
    """Erlang's C of 2 servers is a^2/(2 + a) at an offered load a. The share of responses above the longest access is
    smaller, since not all waiting requests exceed it."""
    found = response_times(Shape(heads=2, written=2), rate=200.0)
    offered = 2 * found.utilization
    longest = S * REACH + R + SIZES.seconds.max()
    slow = 1 - np.interp(longest, found.time, found.within)
    assert 0 < slow < offered**2 / (2 + offered) < found.utilization < response_times(rate=200.0).utilization


@settings(max_examples=40)
@given(
    st.floats(0.05, 0.9),
    st.floats(0, 1),
    st.sampled_from([Shape(), Shape(heads=2, written=2, room=2.0), Shape(written=3, turned=1.0), Shape(2, 1, 1, 0.5)]),
)
def test_the_distribution_is_valid_and_more_load_is_slower(part, reads, shape):
    most = response_times(shape, rate=1.0, reads=reads).saturation
    found, more = (response_times(shape, rate=share * most, reads=reads) for share in (part, part * 1.1))
    assert np.all(np.diff(found.within) >= -1e-12) and abs(found.within[0]) < 1e-8 and found.within[-1] > 0.999
    assert found.utilization == pytest.approx(part, rel=0.25)
    assert more.mean > found.mean and more.quantile(0.99) > found.quantile(0.99) > found.quantile(0.5)


def test_the_mean_is_pollaczeks_and_khinchines_up_to_saturation(services):
    """The loads are 0.9 to 0.99999 of saturation. The mean rises all the way."""
    shares = np.array([0.9, 0.95, 0.98, 0.99, 0.999, 0.9999, 0.99999])
    most = response_times().saturation
    means = np.array([response_times(rate=share * most).mean for share in shares])
    service = 4 / most
    square = (services**2).mean() * (service / services.mean()) ** 2
    np.testing.assert_allclose(means, response_mg1(shares * most / 4, service, square), rtol=0.01)
    assert np.all(np.diff(means) > 0)


def test_too_many_requests_have_no_mean():
    found = response_times(rate=10_000.0)
    assert found.utilization > 1 and found.mean == np.inf and found.quantile(0.99) == np.inf
    assert response_times(rate=0.999 * found.saturation).mean < np.inf


def test_a_class_without_sizes_has_the_sizes_of_the_array():
    """Also beside a class with other sizes: its response times are those of a class with the same sizes as an argument."""

    def means(sizes):
        classes = RequestClass(0.5, 0.5, (0.0, 1.0)), RequestClass(0.5, 0.5, sizes)
        found = loaded_by_class(SPINDLE, Shape(), REACH, SIZES, classes, disks=4, rate=100.0)
        return [one.mean for one in found]

    assert means(None) == means(tuple(SIZES.shares))
