"""Financial as it is run: the hour of a file, its devices as clients, or what stands in for it."""

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
    """A whole file as the public one is: five storage units, which take turns, each going through its addresses by halves of
    an extent; 8 KB, every third a read."""
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
def test_the_hour_is_that_with_most_nearly_as_many_requests(folder, monkeypatch, wanted, hour):
    # `papers.ars.financial` is the function
    monkeypatch.setattr(importlib.import_module(FinancialSource.__module__), "REQUESTS", wanted)
    source = ars.financial(folder)
    assert source.trace is not None and source.basis == "trace"
    assert len(source.trace) == HOURS[hour] and source.trace.origin == hour * HOUR and source.trace.time[0] == 0
    # however many of them are run
    assert source.name == f"the hour of Financial1 that starts at hour {hour}, with {HOURS[hour]} requests"


def test_devices_are_clients_and_both_volumes_are_asked(folder):
    source, volumes = ars.financial(folder), layout()
    arrivals = source.arrivals(volumes)
    assert isinstance(arrivals, RecordedArrivals)
    asked = arrivals.requests
    # each in its turn, as in the file; nothing is divided, because segments are whole extents
    np.testing.assert_array_equal(asked.client, np.arange(HOURS[1]) % CLIENTS)
    assert arrivals.told_apart and len(np.unique(asked.client)) == DEVICES == CLIENTS
    second = np.asarray(asked.sector) >= volumes.volumes[0].sectors
    # neither volume has less than a quarter of the requests of any client
    share = np.array([second[np.asarray(asked.client) == client].mean() for client in range(CLIENTS)])
    assert np.all((share > 0.25) & (share < 0.75))
    np.testing.assert_array_equal(asked.read, np.arange(HOURS[1]) % 3 == 0)
    assert set(np.asarray(asked.sectors)) == {8192 // SECTOR}


def test_a_request_over_the_end_of_a_segment_keeps_its_client(folder):
    """Of the first device a request lies across the end of the first segment, that of the other across nothing."""
    source, volumes = ars.financial(folder), layout()
    assert source.trace is not None
    segment = volumes.volumes[0].segment * SECTOR
    # the extents of the first volume are every other one
    over = (2 * (segment // EXTENT) - 1) * EXTENT - 4096
    trace = source.trace.take(np.array([0, 1]))
    trace.offset[:] = [over, 0]
    arrivals = FinancialSource(trace, "trace", "two requests").arrivals(volumes)
    assert isinstance(arrivals, RecordedArrivals)
    np.testing.assert_array_equal(arrivals.requests.client, [0, 0, 1])


def test_without_the_file_it_is_the_papers_figures(tmp_path):
    source = ars.financial(tmp_path)
    assert source.trace is None and source.basis == "stand-in"
    arrivals = source.arrivals(layout())
    assert isinstance(arrivals, ClosedOrOpen) and arrivals.outstanding == 0
