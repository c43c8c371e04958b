"""Requests of several classes in one stream of arrivals."""

import numpy as np
import pytest

import storagekit as sk
from storagekit.core.errors import InputError
from storagekit.engine import keys
from storagekit.simulation import by_stream
from storagekit.workload import FixedSize, MixedRequests, PoissonArrivals, RandomRequests

PAGES = RandomRequests(FixedSize(8192), read_share=0.7)
IMAGES = RandomRequests(FixedSize(2.0**20), read_share=1.0, alignment=2048)
CAPACITY = 2**27


def drawn(mixed, count=40_000, seed=0):
    return mixed.draw(CAPACITY, np.asarray(keys([seed]))[:, 0], np.zeros(1, np.int32), count)


def test_each_class_has_its_share_its_sizes_and_its_operations():
    """Shares within four standard errors; addresses do not depend on the class."""
    found = drawn(MixedRequests([PAGES, IMAGES], [3.0, 1.0]))
    stream, count = np.asarray(found.stream), 40_000
    assert abs(np.mean(stream == 1) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / count)
    pages, images = stream == 0, stream == 1
    sectors, sector = np.asarray(found.sectors), np.asarray(found.sector)
    assert set(sectors[pages]) == {16} and set(sectors[images]) == {2048}
    assert not np.any(sector[images] % 2048) and np.any(sector[pages] % 2048)
    assert abs(np.asarray(found.read)[pages].mean() - 0.7) < 4 * np.sqrt(0.21 / pages.sum())
    assert np.asarray(found.read)[images].all()
    for which in (pages, images):
        assert abs(sector[which].mean() / CAPACITY - 0.5) < 4 / np.sqrt(12 * which.sum())
    assert np.max(sector + sectors) <= CAPACITY


def test_one_class_is_the_model_itself():
    mixed, plain = drawn(MixedRequests([PAGES], [2.0])), drawn(PAGES)
    for one, other in zip(mixed, plain, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_the_order_of_arrivals_is_independent_of_the_classes():
    """Successive classes are independent: a class follows another as often as its share says."""
    stream = np.asarray(drawn(MixedRequests([PAGES, IMAGES, PAGES], [2.0, 1.0, 1.0])).stream)
    shares, count = np.array([0.5, 0.25, 0.25]), len(stream) - 1
    seen = np.histogram2d(stream[:-1], stream[1:], bins=[np.arange(4) - 0.5] * 2)[0] / count
    assert np.all(np.abs(seen - np.outer(shares, shares)) < 4.5 * np.sqrt(np.outer(shares, shares) / count))


def test_streams_of_a_simulation_have_the_rates_of_the_classes():
    system = sk.System(
        sk.drive.ideal_drive(full_seek=1e-3, revolution=1e-3),
        sk.placement.Striped(4, 2048),
        sk.dispatch.Hashing(),
        sk.schedule.FCFS(),
    )
    mixed = MixedRequests([PAGES, RandomRequests(FixedSize(65536), 1.0)], [300.0, 100.0])
    seen = sk.simulate(sk.Scenario(system, PoissonArrivals(mixed, 400.0)), requests=8000, measures=by_stream(2))
    assert seen.stream_rate.values == pytest.approx([300.0, 100.0], rel=0.06)


@pytest.mark.parametrize(
    ("models", "shares", "message"),
    [
        ([PAGES], [1.0, 2.0], "one share for each model"),
        ([PAGES, IMAGES], [1.0, 0.0], "share of a class"),
        ([], [], "models"),
    ],
)
def test_impossible_classes_are_refused(models, shares, message):
    with pytest.raises(InputError, match=message):
        MixedRequests(models, shares)


def test_a_class_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="2048 sectors"):
        MixedRequests([PAGES, IMAGES], [1.0, 1.0]).check(1000)
