"""Seek curves: the measured table, the smooth fit, and the curve through a datasheet's three figures."""

import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.drive import LinearSeek, SeekTable, fit_seek, load_drive
from storagekit.drive.seek import seek_from_three, seek_table


def test_a_table_is_linear_between_points_and_beyond_the_last():
    table = seek_table([(1, 1e-3), (3, 2e-3), (5, 2.4e-3)], cylinders=8)
    np.testing.assert_allclose(table(np.arange(8)), np.array([0, 1, 1.5, 2, 2.2, 2.4, 2.6, 2.8]) * 1e-3, rtol=1e-6)


def test_a_measured_curve_keeps_its_noise():
    """The Atlas 10K's first two points decrease: 1.245 ms for one cylinder, 1.157 for two."""
    np.testing.assert_allclose(load_drive("atlas10k").seek(np.array([0, 1, 2])), [0, 1.245e-3, 1.157e-3], rtol=1e-6)


def test_a_fit_recovers_the_curve_that_made_the_table():
    distance = np.arange(2000)
    made = np.where(distance > 0, 0.8e-3 + 0.1e-3 * np.sqrt(distance) + 0.2e-6 * distance, 0)
    fit = fit_seek(SeekTable(made.astype(np.float32)))
    np.testing.assert_allclose([fit.settle, fit.acceleration, fit.coast], [0.8e-3, 0.1e-3, 0.2e-6], rtol=1e-2)
    np.testing.assert_allclose(fit(distance), made, atol=1e-6)


def test_three_figures_give_a_curve_with_these_three_values():
    """The average is compared with the exact sum over every pair of cylinders."""
    curve = seek_from_three(0.8e-3, 4.7e-3, 10.5e-3, 5000)
    distance = np.arange(5000)
    pairs = np.where(distance == 0, 5000, 2 * (5000 - distance)) / 5000**2
    times = np.asarray(curve(distance))
    np.testing.assert_allclose(times[1], 0.8e-3, rtol=1e-3)
    np.testing.assert_allclose(times[-1], 10.5e-3, rtol=1e-3)
    assert (times * pairs).sum() == pytest.approx(4.7e-3, rel=2e-3)


@pytest.mark.parametrize("average", [3e-3, 9e-3])
def test_an_impossible_average_is_rejected(average):
    with pytest.raises(InputError, match=f"average seek {average:g} s.*must be between"):
        seek_from_three(0.8e-3, average, 10.5e-3, 5000)


@pytest.mark.parametrize(
    ("points", "complaint"),
    [
        ([(1, 1e-3)], "at least two pairs"),
        ([(3, 1e-3), (1, 2e-3)], "must increase"),
        ([(0, 1e-3), (1, 2e-3)], "must increase and start at 1 or more"),
        ([(1, 1e-3), (2, 0.0)], "must be above 0"),
    ],
)
def test_an_impossible_curve_is_rejected(points, complaint):
    with pytest.raises(InputError, match=complaint):
        seek_table(points, 10)


def test_the_formulas_arm_is_linear():
    arm = LinearSeek(np.float32(9e-3), cylinders=10)
    np.testing.assert_allclose(arm(np.array([0, 3, 9])), [0, 3e-3, 9e-3], rtol=1e-6)
