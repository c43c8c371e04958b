"""What is found in Swift's figures, on data made by hand."""

import numpy as np
import pytest
import xarray as xr

from storagekit.core.units import KB, MB
from storagekit.papers.swift import figures
from storagekit.papers.swift.gigabit_system import LARGE_UNIT


def over_disks(disks: list[int], rates: list[float]) -> xr.DataArray:
    """Means, and low and high far beside them."""
    means, coords = np.asarray(rates, float), {"disks": disks, "statistic": ["mean", "low", "high"]}
    return xr.DataArray(np.stack([means, means / 9, means * 9], axis=1), coords=coords, dims=("disks", "statistic"))


@pytest.mark.parametrize(
    ("disks", "rates", "expected"),
    [
        ([4, 8, 16], [1, 2, 4], [2, 2]),
        ([4, 8, 16], [1, 1.6, 1.6 * 1.6], [1.6, 1.6]),
        # two doublings at once, and three
        ([4, 16, 128], [1, 4, 32], [2, 2]),
        ([4, 16], [1, 2.56], [1.6]),
        # half as much again is 0.585 of a doubling
        ([8, 12], [2, 3], [2]),
    ],
)
def test_growth_is_told_for_each_doubling(disks, rates, expected):
    mean = over_disks(disks, rates).sel(statistic="mean")
    assert figures._doublings(mean, "disks") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("series", "least", "holds"),
    [
        ({"a": [1, 2, 4]}, 2.0, True),
        ({"a": [1, 1.6, 2.56]}, 1.6, False),
        ({"a": [1, 1.71, 1.71**2]}, 1.71, True),
        ({"a": [1, 1.69, 1.69**2]}, 1.69, False),
        # one that bends, and one of two: the worst step of the worst series
        ({"a": [1, 2, 3]}, 1.5, False),
        ({"a": [1, 2, 4], "b": [3, 4.8, 9.6]}, 1.6, False),
    ],
)
def test_nearly_linear_is_1_7_times_for_every_doubling_of_every_series(series, least, holds):
    data = {name: over_disks([4, 8, 16], rates) for name, rates in series.items()}
    found = figures._linear("swift.fig5.linear", data, "disks")
    assert found.measured == pytest.approx(least) and found.holds is holds
    assert all(f" times ({name})" in found.note for name in series)


def sustained_by_hand(disk_growth: float, unit_growth: float) -> xr.Dataset:
    """12 MB/s of 32 disks with 32 KB, less with each halving of either; two seeds 1% apart."""
    units, disks = [8 * KB, 16 * KB, 32 * KB], [8, 16, 32]
    rate = 12e6 / unit_growth ** np.arange(2, -1, -1)[:, None] / disk_growth ** np.arange(2, -1, -1)
    values = rate[..., None] * np.array([0.995, 1.005])
    axes = ("unit", "disks", "seed")
    rates = {"data_rate": (axes, values), "rate": (axes, values / MB), "utilization": (axes, 0 * values + 0.44)}
    return xr.Dataset(rates, coords={"unit": units, "disks": disks})


@pytest.mark.parametrize(("disks", "units", "holds"), [(2, 1.9, True), (1.6, 2, False), (2, 1.6, True)])
def test_figure_6_is_held_against_figure_5_and_may_be_linear_in_disks(disks, units, holds):
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
    """Completion times over requests a second, by disks, in units of 32 KB; two seeds 1% apart."""
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
    """1 s alone; 1.5 s at 2/s, 3 s at 4/s: 2 s a third of the way, at 2.67/s."""
    data = curves({4: [1.0, 1.5, 3.0]}, {4: [0.5, 2.0, 4.0]}, [0.02, 0.5, 0.9])
    assert figures.twice(data, LARGE_UNIT, 4) == pytest.approx(2 + 2 / 3)


@pytest.mark.parametrize(("middle", "holds"), [(1.0, True), (1.09, True), (1.12, False), (1.3, False)])
def test_level_is_a_tenth_of_a_second_up_at_the_knee_of_32_disks(middle, holds):
    """From a kink at 13/s on the time rises so steeply that the knee is there."""
    times = {4: [6.0, 10.0, 50.0], 32: [1.0, middle, 500.0]}
    rates = {4: [0.1, 1.7, 3.0], 32: [0.5, 13.0, 13.5]}
    found = figures.fig3_findings(curves(times, rates, [0.02, 0.5, 0.9]), sustained_by_hand(2, 2))
    flat = next(one for one in found if one.id == "swift.fig3.flat")
    assert flat.measured == pytest.approx(middle - 1, abs=0.01) and flat.holds is holds


@pytest.mark.parametrize(("most", "holds"), [(24.0, True), (1.0, False)])
def test_four_disks_saturate_soonest_if_their_time_doubles_at_the_lowest_rate(most, holds):
    """4 disks take twice as long, 1.2 s, at 1.86/s; 32, 0.2 s, at 0.57 of the most they carry here."""
    times = {4: [0.6, 1.0, 5.0], 32: [0.1, 0.15, 0.5]}
    rates = {4: [0.1, 1.8, 3.0], 32: [0.02 * most, 0.5 * most, most]}
    found = figures.fig3_findings(curves(times, rates, [0.02, 0.5, 0.9]), sustained_by_hand(2, 2))
    assert next(one for one in found if one.id == "swift.fig3.four_disks").measured is holds


@pytest.mark.parametrize(
    ("rates_of_8", "holds"),
    [
        ([2.0, 4.0, 6.0], True),
        # they cross at the top, at the bottom
        ([2.0, 4.0, 2.5], False),
        ([0.5, 4.0, 6.0], False),
        # the same curve carries no more
        ([1.0, 2.0, 3.0], False),
    ],
)
def test_the_order_of_figure_4_is_broken_where_curves_cross(rates_of_8, holds):
    data = curves({4: [1.0, 2.0, 4.0], 8: [1.0, 2.0, 4.0]}, {4: [1.0, 2.0, 3.0], 8: rates_of_8}, [0.02, 0.5, 0.9])
    (found,) = figures.fig4_findings(data.sel(unit=LARGE_UNIT))
    assert found.measured is holds


def test_the_ring_is_judged_at_the_load_that_the_paper_states():
    """22 requests/s of 32 packets of 32 KB, 1 Gb/s and 10 us for the token; control packets besides."""
    ring = figures.shared_findings()[1]
    data = 22 * 32 * (32 * KB / 125e6 + 10e-6)
    assert data < ring.measured < 1.01 * data and ring.holds
    assert "exceeds 22% from 2" in ring.note


def test_curves_without_a_common_time_are_not_judged():
    """4 disks take 10 s and more where 32 take 5 at most."""
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
