"""Test the response times of requests that are divided over several disks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.analytic.array.full_stripes import last_of
from storagekit.analytic.array.loaded import TransferSizes, loaded
from storagekit.analytic.array.positioning import Linear
from storagekit.analytic.array.shapes import Shape
from storagekit.core.errors import InputError
from storagekit.core.units import MS

TURN, SEEK, TRANSFER = 6 * MS, 12 * MS, 1 * MS
SPINDLE = Linear(SEEK, TURN, 0.0, 0.0)
SIZES = TransferSizes(np.array([TRANSFER]), np.array([1.0]))


def response(ways: int, written: int, rate: float, reads: float):
    shape = Shape(written=written, room=written / ways, group=written, ways=ways)
    return loaded(SPINDLE, shape, 1.0, SIZES, disks=written, rate=rate, reads=reads)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.floats(0, 1))
def test_the_largest_of_several_times_lies_between_common_and_independent_times(count, common):
    within = np.linspace(0, 1, 101)
    found = last_of(within, count, common)
    assert np.all(np.diff(found) >= -1e-9)
    assert np.all(found <= within + 2e-3) and np.all(found >= within**count - 2e-3)
    np.testing.assert_allclose(last_of(within, count, 0.0), within**count, atol=1e-6)


def test_a_request_to_idle_disks_waits_for_the_longest_rotation():
    """The seeks are equal: a mean of SEEK / 3. The longest of k rotations takes k / (k + 1) of a revolution."""
    for ways, written in ((4, 5), (8, 10)):
        for reads, count in ((1.0, ways), (0.0, written)):
            found = response(ways, written, 1e-6, reads)
            assert found.mean == pytest.approx(SEEK / 3 + count / (count + 1) * TURN + TRANSFER, rel=0.01)


def test_each_disk_is_busy_with_a_part_of_every_write_and_of_its_share_of_the_reads():
    access = SEEK / 3 + TURN / 2 + TRANSFER
    for reads in (0.0, 0.5, 1.0):
        found = response(8, 10, 60.0, reads)
        assert found.utilization == pytest.approx(60 * access * (reads * 8 / 10 + 1 - reads), rel=0.005)
        assert found.saturation == pytest.approx(60 / found.utilization)


def test_more_disks_make_a_request_wait_longer_at_the_same_utilization():
    means = [response(ways, ways + 1, 70.0, 0.0).mean for ways in (2, 4, 8, 16)]
    assert np.all(np.diff(means) > 0)
    assert response(4, 5, 200.0, 0.0).mean == np.inf


@pytest.mark.parametrize("changed", [{"heads": 2}, {"replicas": 2}, {"read_first": 1}, {"written": 2}])
def test_a_divided_request_has_no_copies_and_reads_nothing_first(changed):
    with pytest.raises(
        InputError,
        match=r"ways 4: give heads=1, replicas=1, written of at least 4 and read_first=0, not \d, \d, \d and \d",
    ):
        Shape(**{"written": 5, "ways": 4, **changed})
