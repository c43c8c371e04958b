"""Test the charts of Swift's prototype as data: every row is included, with the right colour."""

import numpy as np
import pytest
import xarray as xr
from helpers import figures, heading, rows

from storagekit.papers.swift.draw import prototype as draw

GAINS = {"swift.table4.read_gain": 1.25, "swift.table4.write_doubles": 1.9}


@pytest.fixture
def checked() -> xr.Dataset:
    axes, shape = ("table", "operation", "size"), (4, 2, 3)
    mean = np.arange(24.0).reshape(shape) * 10 + 100
    beyond = np.zeros(shape)
    beyond[1, 0, 2] = 3.0
    impossible = np.zeros(shape, bool)
    impossible[0, 1, 1] = True
    values = {"mean": mean, "low": mean - 4, "high": mean + 4, "again_low": mean - 5, "again_high": mean + 5}
    return xr.Dataset(
        {name: (axes, value) for name, value in (values | {"beyond": beyond, "impossible": impossible}).items()},
        coords={"table": [1, 2, 3, 4], "operation": ["read", "write"], "size": [3, 6, 9]},
    )


@pytest.fixture
def predicted() -> xr.Dataset:
    values = np.arange(24.0).reshape(2, 2, 2, 3) + 300
    coords = {"operation": ["read", "write"], "interpretation": ["judged", "other"], "ethernets": [1, 2]}
    axes = ("operation", "interpretation", "ethernets", "statistic")
    return xr.Dataset({"rate": (axes, values)}, coords=coords | {"statistic": ["mean", "low", "high"]})


def test_every_rate_measured_and_predicted_is_drawn(checked, predicted):
    drawn = rows(draw.tables(checked, predicted, GAINS).to_dict())
    assert sorted(one["mean"] for one in drawn if "mean" in one) == sorted(checked["mean"].values.ravel())
    drawn_values = {(one["name"], one["series"], one["value"]) for one in drawn if "value" in one}
    assert drawn_values == {
        ("Swift, 1 Ethernet", draw.JUDGED, 300.0),
        ("Swift, 2 Ethernets", draw.JUDGED, 303.0),
        ("Swift, 2 Ethernets", draw.OTHER, 309.0),
        ("Swift, 1 Ethernet", draw.JUDGED, 312.0),
        ("Swift, 2 Ethernets", draw.JUDGED, 315.0),
        ("Swift, 2 Ethernets", draw.OTHER, 321.0),
    }
    words = {one["words"] for one in drawn if "words" in one}
    assert {"303 if times are exponential", "309 if times are fixed"} <= words


def test_rows_that_disagree_are_coloured_and_limits_are_from_the_mean(checked):
    chart = draw.intervals(checked)
    drawn = rows(chart.to_dict())
    assert len(drawn) == 24
    assert {(one["table"], one["row"]) for one in drawn if one["verdict"] == "disagrees"} == {
        (1, "Write 6 MB"),
        (2, "Read 9 MB"),
    }
    assert {(one["low"], one["high"], one["again_low"], one["again_high"]) for one in drawn} == {(-4, 4, -5, 5)}
    assert {2, 24} <= figures(heading(chart.to_dict()))


def test_reads_have_every_interpretation_above_the_measurement(checked):
    rates = [[888.0, 889.0], [888.0, 1065.0], [888.0, 1052.0], [888.0, 1243.0]]
    coords = {"random": ["nothing", "client", "wire", "both"], "ethernets": [1, 2]}
    spec = draw.reads(xr.Dataset({"rate": (("random", "ethernets"), rates)}, coords), checked).to_dict()
    drawn = {one["random"]: one["rate"] for one in rows(spec) if "random" in one}
    assert drawn == {"nothing": 889.0, "client": 1065.0, "wire": 1052.0, "both": 1243.0}
    printed = checked["mean"].sel(table=4, operation="read")
    band = next(one for one in rows(spec) if "low" in one)
    assert (band["low"], band["high"]) == (float(printed.min()), float(printed.max()))
