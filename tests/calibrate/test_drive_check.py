"""The demerit by class and the distributions, for streams worked by hand."""

import numpy as np
import pytest
import xarray as xr

from storagekit.calibrate.drive_check import demerit_by_class, distributions, modelled
from storagekit.core.units import MS


def stream(measured, service, read, **more) -> xr.Dataset:
    columns = {"measured": np.array(measured) * MS, "service": np.array(service) * MS, "read": np.array(read)} | more
    return xr.Dataset({name: ("request", values) for name, values in columns.items()})


# Reads are 2 ms too slow, writes 1 ms too fast, in any order. Sorted: 6, 8 against 4, 6 for reads; 1, 5 against 2, 6
# for writes.
STREAM = stream([4, 6, 2, 6], [8, 6, 5, 1], [True, True, False, False])


def test_reads_and_writes_by_hand():
    """All requests: 2, 4, 6, 6 measured, 1, 5, 6, 8 modelled; differences 1, 1, 0, 2."""
    found = demerit_by_class(STREAM)
    assert found.kind.values.tolist() == ["all", "read", "write"]
    assert found.requests.values.tolist() == [4, 2, 2]
    np.testing.assert_allclose(found.measured, np.array([4.5, 5, 4]) * MS)
    np.testing.assert_allclose(found.modelled, np.array([5, 7, 3]) * MS)
    np.testing.assert_allclose(found.demerit, np.array([np.sqrt(6 / 4), 2, 1]) * MS)
    np.testing.assert_allclose(found.share, [np.sqrt(1.5) / 4.5, 2 / 5, 1 / 4])


def test_isolated_reads_are_a_class_where_there_are_some():
    found = demerit_by_class(STREAM.assign(apart=("request", [False, True, True, True])))
    assert found.kind.values.tolist() == ["all", "read", "write", "read apart"]
    assert int(found.requests[-1]) == 1 and float(found.demerit[-1]) == pytest.approx(0)


def test_a_class_without_requests_has_no_figures():
    found = demerit_by_class(stream([1, 2], [1, 2], [True, True]))
    assert int(found.requests.sel(kind="write")) == 0
    assert np.isnan(found.sel(kind="write").demerit) and np.isnan(found.sel(kind="write").share)
    assert float(found.demerit.sel(kind="read")) == 0
    assert distributions(stream([1, 2], [1, 2], [True, True])).kind.values.tolist() == ["read"]


def test_distributions_rise_from_the_shortest_to_the_longest():
    times = distributions(STREAM)
    assert (times.diff("share") >= 0).all()
    np.testing.assert_allclose(times.sel(kind="read", share=[0, 1]), np.array([[4, 6], [6, 8]]) * MS)
    assert float(times.sel(kind="write", basis="measured", share=0.5)) == 2 * MS


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({}, "arm and platter; no buffer (no hits, read-ahead or write-behind), no controller time for writes"),
        (
            {"sector": 1e-4, "write": 2e-4},
            "arm and platter, 0.1 ms of bus transfer per sector, a controller time of 0.2 ms for a write; no b",
        ),
        ({"sector": 1e-4, "model": "arm, platter and buffer"}, "arm, platter and buffer"),
    ],
)
def test_the_model_describes_its_parts(attributes, says):
    assert modelled(STREAM.assign_attrs(attributes)).startswith(says)
