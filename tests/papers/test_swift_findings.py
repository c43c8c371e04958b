"""Test the findings from Swift's figures, on data made by hand."""

import numpy as np
import pytest
import xarray as xr

from storagekit.core.units import KB, MB
from storagekit.papers.swift import figures
from storagekit.papers.swift.gigabit_system import LARGE_UNIT


def over_disks(disks: list[int], rates: list[float]) -> xr.DataArray:
    """Return means, with low and high far from them."""
    means, coords = np.asarray(rates, float), {"disks": disks, "statistic": ["mean", "low", "high"]}
    return xr.DataArray(np.stack([means, means / 9, means * 9], axis=1), coords=coords, dims=("disks", "statistic"))


@pytest.mark.parametrize(
    ("disks", "rates", "expected"),
    [
        ([4, 8, 16], [1, 2, 4], [2, 2]),
        ([4, 8, 16], [1, 1.6, 1.6 * 1.6], [1.6, 1.6]),
        # two doublings in one step, and then three
        ([4, 16, 128], [1, 4, 32], [2, 2]),
        ([4, 16], [1, 2.56], [1.6]),
        # half as much again is 0.585 of a doubling
        ([8, 12], [2, 3], [2]),
    ],
)
def test_growth_is_reported_for_each_doubling(disks, rates, expected):
    mean = over_disks(disks, rates).sel(statistic="mean")
    assert figures._doublings(mean, "disks") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("series", "least", "holds"),
    [
        ({"a": [1, 2, 4]}, 2.0, True),
        ({"a": [1, 1.6, 2.56]}, 1.6, False),
        ({"a": [1, 1.71, 1.71**2]}, 1.71, True),
        ({"a": [1, 1.69, 1.69**2]}, 1.69, False),
        # one series bends, and one has two points: the worst step of the worst series counts
        ({"a": [1, 2, 3]}, 1.5, False),
        ({"a": [1, 2, 4], "b": [3, 4.8, 9.6]}, 1.6, False),
    ],
)
def test_nearly_linear_means_a_factor_of_1_7_for_every_doubling_of_every_series(series, least, holds):
    data = {name: over_disks([4, 8, 16], rates) for name, rates in series.items()}
    found = figures._linear("swift.fig5.linear", data, "disks")
    assert found.measured == pytest.approx(least) and found.holds is holds
    assert all(f" ({name})" in found.note for name in series)


def sustained_by_hand(disk_growth: float, unit_growth: float) -> xr.Dataset:
    """Return 12 MB/s for 32 disks with 32 KB, less with each halving of either; two seeds differ by 1%."""
    units, disks = [8 * KB, 16 * KB, 32 * KB], [8, 16, 32]
    rate = 12e6 / unit_growth ** np.arange(2, -1, -1)[:, None] / disk_growth ** np.arange(2, -1, -1)
    values = rate[..., None] * np.array([0.995, 1.005])
    axes = ("unit", "disks", "seed")
    rates = {"data_rate": (axes, values), "rate": (axes, values / MB), "utilization": (axes, 0 * values + 0.44)}
    return xr.Dataset(rates, coords={"unit": units, "disks": disks})


@pytest.mark.parametrize(("disks", "units", "holds"), [(2, 1.9, True), (1.6, 2, False), (2, 1.6, True)])
def test_figure_6_is_compared_with_figure_5_and_may_be_linear_in_disks(disks, units, holds):
    data = sustained_by_hand(disks, units)
    small = data.isel(unit=[0]).rename(unit="device").assign_coords(device=["base"])
    found = {one.id: one for one in figures.fig6_findings(data, small)}
    assert found["swift.fig6.linear"].measured == pytest.approx(units**2)
    assert found["swift.fig6.linear_disks"].measured is holds
    most = found["swift.fig6.rate_32"]
    assert (
        most.measured == pytest.approx(12)
        and most.low < 12 < most.high
        and "of 2^20 bytes the value is 11.4" in most.note
    )


def test_figure_5_is_judged_on_the_base_device_and_linear_on_both():
    rates = np.array([[0.5, 1.0, 2.0], [0.4, 0.7, 1.1]]) * 1e6
    data = xr.Dataset(
        {"data_rate": (("device", "disks", "seed"), rates[..., None] * np.array([0.99, 1.01]))},
        coords={"device": ["base", "slower"], "disks": [8, 16, 32]},
    )
    rate, linear = figures.fig5_findings(data)
    assert (
        rate.measured == pytest.approx(2)
        and "base device is base" in rate.note
        and "slower device reaches 1.10" in rate.note
    )
    assert linear.measured == pytest.approx(1.1 / 0.7) and linear.holds is False


def curves(times: dict[int, list[float]], rates: dict[int, list[float]], loads: list[float]) -> xr.Dataset:
    """Return completion times over requests a second, by disks, in units of 32 KB; two seeds differ by 1%."""
    seeds = np.array([0.995, 1.005])
    values = np.array(list(times.values()))[None, ..., None] * seeds
    return xr.Dataset(
        {
            "completion": (("unit", "disks", "load", "seed"), values),
            "rate": (("unit", "disks", "load"), np.array(list(rates.values()))[None]),
        },
        coords={"unit": [LARGE_UNIT], "disks": list(times), "load": loads},
    )


def test_twice_the_time_alone_by_hand():
    """A request alone takes 1 s; at 2/s it takes 1.5 s and at 4/s 3 s: 2 s is a third of the way, at 2.67/s."""
    data = curves({4: [1.0, 1.5, 3.0]}, {4: [0.5, 2.0, 4.0]}, [0.02, 0.5, 0.9])
    assert figures.twice(data, LARGE_UNIT, 4) == pytest.approx(2 + 2 / 3)


@pytest.mark.parametrize(("middle", "holds"), [(1.0, True), (1.09, True), (1.12, False), (1.3, False)])
def test_the_curve_is_level_up_to_a_tenth_of_a_second_at_the_knee_of_32_disks(middle, holds):
    """From a bend at 13/s the time rises so steeply that the knee is there."""
    times = {4: [6.0, 10.0, 50.0], 32: [1.0, middle, 500.0]}
    rates = {4: [0.1, 1.7, 3.0], 32: [0.5, 13.0, 13.5]}
    found = figures.fig3_findings(curves(times, rates, [0.02, 0.5, 0.9]), sustained_by_hand(2, 2))
    flat = next(one for one in found if one.id == "swift.fig3.flat")
    assert flat.measured == pytest.approx(middle - 1, abs=0.01) and flat.holds is holds


@pytest.mark.parametrize(("most", "holds"), [(24.0, True), (1.0, False)])
def test_four_disks_saturate_soonest_if_their_time_doubles_at_the_lowest_rate(most, holds):
    """With 4 disks, the time doubles to 1.2 s at 1.86/s; with 32, to 0.2 s at 0.57 of the largest load here."""
    times = {4: [0.6, 1.0, 5.0], 32: [0.1, 0.15, 0.5]}
    rates = {4: [0.1, 1.8, 3.0], 32: [0.02 * most, 0.5 * most, most]}
    found = figures.fig3_findings(curves(times, rates, [0.02, 0.5, 0.9]), sustained_by_hand(2, 2))
    assert next(one for one in found if one.id == "swift.fig3.four_disks").measured is holds


@pytest.mark.parametrize(
    ("rates_of_8", "holds"),
    [
        ([2.0, 4.0, 6.0], True),
        # the curves cross at the top, or at the bottom
        ([2.0, 4.0, 2.5], False),
        ([0.5, 4.0, 6.0], False),
        # the same curve ends at a lower load
        ([1.0, 2.0, 3.0], False),
    ],
)
def test_the_order_of_figure_4_is_broken_where_curves_cross(rates_of_8, holds):
    data = curves({4: [1.0, 2.0, 4.0], 8: [1.0, 2.0, 4.0]}, {4: [1.0, 2.0, 3.0], 8: rates_of_8}, [0.02, 0.5, 0.9])
    (found,) = figures.fig4_findings(data.sel(unit=LARGE_UNIT))
    assert found.measured is holds


def test_the_ring_is_judged_at_the_papers_load():
    """The load is 22 requests/s of 32 packets of 32 KB, at 1 Gb/s with 10 us for the token, plus control packets."""
    ring = figures.shared_findings()[1]
    data = 22 * 32 * (32 * KB / 125e6 + 10e-6)
    assert data < ring.measured < 1.01 * data and ring.holds
    assert "exceeds 22% at loads above 2" in ring.note


def test_curves_without_a_common_time_are_not_judged():
    """With 4 disks requests take at least 10 s, and with 32 at most 5 s."""
    times = np.array([[10.0, 15.0, 20.0], [1.0, 3.0, 5.0]])[..., None]
    data = xr.Dataset(
        {
            "completion": (("disks", "load", "seed"), times),
            "rate": (("disks", "load"), np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])),
        },
        coords={"disks": [4, 32], "load": [0.1, 0.5, 0.9], "seed": [0]},
    )
    (found,) = figures.fig4_findings(data)
    assert found.measured is None and "at least 10 s, but 32 disks take at most 5 s" in found.note
