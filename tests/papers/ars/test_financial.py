"""Test Financial as the exhibits run it: one hour of a file with devices as clients, or a synthetic trace."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from storagekit.core.units import HOUR, SECTOR
from storagekit.papers import ars
from storagekit.papers.ars.cluster import CLIENTS, layout
from storagekit.papers.ars.financial import EXTENT, FinancialSource
from storagekit.workload import ClosedOrOpen, RecordedArrivals

# requests in each hour
HOURS = (40, 120, 80)
DEVICES = 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a complete file like the public one.

    Five storage units take turns; each goes through its addresses in steps of half an extent. Requests have 8 KB, and
    every third is a read.
    """
    rows = []
    for hour, count in enumerate(HOURS):
        for number in range(count):
            at = hour * HOUR + number * HOUR / count
            block = number // DEVICES * EXTENT // 2 // SECTOR
            rows.append(f"{number % DEVICES},{block},8192,{'w' if number % 3 else 'R'},{at:.6f}")
    (tmp_path / "spc").mkdir()
    (tmp_path / "spc" / "Financial1.spc").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.parametrize(("wanted", "hour"), [(50, 0), (10_000, 1), (81, 2)])
def test_the_hour_has_the_nearest_number_of_requests(folder, monkeypatch, wanted, hour):
    # the name `papers.ars.financial` is the function, not the module
    monkeypatch.setattr(importlib.import_module(FinancialSource.__module__), "REQUESTS", wanted)
    source = ars.financial(folder)
    assert source.trace is not None and source.basis == "trace"
    assert len(source.trace) == HOURS[hour] and source.trace.origin == hour * HOUR and source.trace.time[0] == 0
    # the name gives all requests of the hour, for any number that runs
    assert source.name == f"the hour of Financial1 that starts at hour {hour}, with {HOURS[hour]} requests"


def test_devices_are_clients_and_both_volumes_get_requests(folder):
    source, volumes = ars.financial(folder), layout()
    arrivals = source.arrivals(volumes)
    assert isinstance(arrivals, RecordedArrivals)
    requests = arrivals.requests
    # devices take turns, as in the file; no request is split, because segments are whole extents
    np.testing.assert_array_equal(requests.client, np.arange(HOURS[1]) % CLIENTS)
    assert arrivals.stores_streams and len(np.unique(requests.client)) == DEVICES == CLIENTS
    second = np.asarray(requests.sector) >= volumes.volumes[0].sectors
    # each volume has at least a quarter of the requests of every client
    share = np.array([second[np.asarray(requests.client) == client].mean() for client in range(CLIENTS)])
    assert np.all((share > 0.25) & (share < 0.75))
    np.testing.assert_array_equal(requests.read, np.arange(HOURS[1]) % 3 == 0)
    assert set(np.asarray(requests.sectors)) == {8192 // SECTOR}


def test_a_request_over_the_end_of_a_segment_keeps_its_client(folder):
    """A request of the first device crosses the end of the first segment.

    The request of the other device crosses no border.
    """
    source, volumes = ars.financial(folder), layout()
    assert source.trace is not None
    segment = volumes.volumes[0].segment * SECTOR
    # the extents of the first volume are every second one
    over = (2 * (segment // EXTENT) - 1) * EXTENT - 4096
    trace = source.trace.take(np.array([0, 1]))
    trace.offset[:] = [over, 0]
    arrivals = FinancialSource(trace, "trace", "two requests").arrivals(volumes)
    assert isinstance(arrivals, RecordedArrivals)
    np.testing.assert_array_equal(arrivals.requests.client, [0, 0, 1])


def test_without_the_file_the_trace_has_the_papers_figures(tmp_path):
    source = ars.financial(tmp_path)
    assert source.trace is None and source.basis == "stand-in"
    arrivals = source.arrivals(layout())
    assert isinstance(arrivals, ClosedOrOpen) and arrivals.outstanding == 0
