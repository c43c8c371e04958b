"""Test SSDs: their times by hand, laws, files and lines, and impossible values."""

import json

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from ssd_simulation import closed_loop

import storagekit as sk
from storagekit.core.resources import data_path
from storagekit.core.units import KB
from storagekit.drive import SSD, SSDFigures, load_ssd
from storagekit.drive.ssd_sheet import facts_of_ssd, is_ssd, ssd_from_facts

LINE = "iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB,endurance=7PB"
NVME = load_ssd(LINE)
SHEET = {
    "read_iops": 90_000,
    "write_iops": 40_000,
    "read_mb_s": 550,
    "write_mb_s": 500,
    "read_latency_us": 100,
    "write_latency_us": 40,
    "capacity_gb": 960,
}
TABLES = {"capacity_gb": 960, "reads": [{"kb": 4, "latency_us": 100, "iops": 90_000}]} | {
    "writes": [{"kb": 4, "latency_us": 40, "iops": 40_000}]
}


def test_a_line_has_the_figures_of_the_data_sheet():
    assert NVME.size == 3.84e12 and NVME.endurance == 7e15 and NVME.capacity == 7_500_000_000
    # 80 us x 1,000,000 a second
    assert NVME.units == 80
    assert NVME.latency(4 * KB) == pytest.approx(80e-6) and NVME.latency(4 * KB, writes=True) == pytest.approx(20e-6)
    # the drive serves at most 1,000,000 small reads, 180,000 small writes, or 6.8 GB a second
    assert NVME.busy(4 * KB) == pytest.approx(80 / 1e6)
    assert NVME.busy(4 * KB, writes=True) == pytest.approx(80 / 180e3)
    assert NVME.busy(1024 * KB) == pytest.approx(80 * 1024 * KB / 6.8e9)
    assert NVME.bandwidth() == pytest.approx(6.8e9) and NVME.bandwidth(writes=True) == pytest.approx(4e9)
    assert NVME.latency(1024 * KB) == pytest.approx(80e-6 + 1020 * KB / 6.8e9)


def test_pages_of_a_request_are_on_different_units():
    assert [NVME.parts(size) for size in (512, 4 * KB, 4 * KB + 512, 128 * KB, 1024 * KB)] == [1, 1, 2, 32, 80]


def test_the_sample_file_is_the_line():
    sample = load_ssd(data_path("samples", "nvme.toml"))
    assert (sample.reads, sample.writes, sample.units) == (NVME.reads, NVME.writes, NVME.units)
    assert sample.name == "NVMe SSD of 3.84 TB" and sample.buffered


@given(st.floats(512, 2**24), st.floats(1.0, 4.0), st.booleans())
def test_larger_requests_never_take_less(size, factor, writes):
    larger = size * factor
    assert NVME.latency(larger, writes=writes) >= NVME.latency(size, writes=writes) * (1 - 1e-12)
    assert NVME.busy(larger, writes=writes) >= NVME.busy(size, writes=writes) * (1 - 1e-12)
    assert NVME.parts(larger) >= NVME.parts(size)


def test_a_file_of_a_measured_ssd_is_read_as_it_was_written(tmp_path):
    spread = ((0.9, 0.5), (0.1, 5.5))
    reads, writes = SSDFigures(4096, 93e-6, 43_000.0, spread), SSDFigures(4096, 1e-4, 3e4)
    ssd = SSD("mine", 256e9, (reads,), (writes,), 3, 1e14, False)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(facts_of_ssd(ssd, "fitted")))
    found = load_ssd(path)
    assert is_ssd(path) and (found.name, found.units, found.endurance, found.buffered) == ("mine", 3, 1e14, False)
    assert found.reads[0].spread == spread and found.reads[0].rate == 43_000
    assert found.reads[0].latency == pytest.approx(93e-6)
    assert np.asarray(found.spread(4096)).tolist() == [[0.9, 0.1], [0.5, 5.5]]


@pytest.mark.parametrize("count", [1, 4, 32])
def test_outstanding_requests_agree_with_a_simulated_closed_loop(count):
    """8 units of 60 us, and 40 us outside of them."""
    drive = SSD("eight", 1e12, (SSDFigures(4096, 100e-6, 8 / 60e-6),), (SSDFigures(4096, 100e-6, 8 / 60e-6),), 8)
    ends, times = closed_loop(100e-6, 60e-6, 8, count, 40_000, seed=3)
    expected = times[4000:].mean()
    assert drive.response(4096, count) == pytest.approx(expected, rel=0.03)
    # Little's law
    assert count / expected == pytest.approx(36_000 / (ends[-1] - ends[3999]), rel=0.03)


@given(st.integers(1, 64), st.integers(1, 200), st.floats(1.0, 10.0), st.booleans())
def test_outstanding_requests_are_between_the_bounds_of_a_closed_network(units, count, outside, buffered):
    """At least the latency, and at least the bottleneck; at most all requests at one unit."""
    busy = 1e-4 / outside
    figures = SSDFigures(4096, 1e-4, units / busy)
    drive = SSD("some", 1e12, (figures,), (figures,), units, buffered=buffered)
    for writes in (False, True):
        found = drive.response(4096, count, writes=writes)
        assert found >= max(1e-4, count * busy / units) * (1 - 1e-9)
        assert found <= 1e-4 + (count - 1) * busy + 1e-12
    assert drive.response(4096, count, writes=True) <= drive.response(4096, count) * (1 + 1e-9)


def test_a_disk_is_no_ssd():
    assert is_ssd(LINE) and is_ssd(data_path("samples", "nvme.toml"))
    assert not any(is_ssd(name) for name in ("cheetah9lp", "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"))
    assert not is_ssd(data_path("samples", "nearline.toml"))
    assert_refused(lambda: sk.load_drive(data_path("samples", "nvme.toml")), "describes an SSD; give a disk here")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"read_iops": 0}, "field 'read_iops' is 0; it must be between 0.001"),
        ({"read_iops": None}, "field 'read_iops' is None"),
        ({"rpm": 7200}, "field '?rpm'? is unknown"),
        ({"capacity_tb": 1}, "give exactly one of capacity_tb and capacity_gb"),
        ({"units": 10}, "units 10: it must be at most 9, the latency of a read times its rate"),
        ({"buffered": 1}, "field 'buffered' is 1; it must be true or false"),
        ({"read_latency_us": 2e6}, "it must be between 0.001"),
    ],
)
def test_impossible_fields_of_a_data_sheet_are_rejected(change, message):
    assert_refused(lambda: ssd_from_facts(SHEET | change, "mine.toml"), message)
    assert_refused(lambda: ssd_from_facts(SHEET | change, "mine.toml"), "data sheet mine.toml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reads": []}, "field 'reads' must be a list of at least one table"),
        ({"reads": [{"kb": 4, "latency_us": 100}]}, "reads 0: field 'iops' is missing"),
        ({"reads": [TABLES["reads"][0] | {"spread": [[0.5, 1.0]]}]}, "spread 0.5: it must be 1"),
        ({"reads": [TABLES["reads"][0] | {"spread": [[1.0, 2.0]]}]}, "spread 2: it must be 1"),
        ({"reads": [TABLES["reads"][0] | {"spread": 3}]}, "spread 3: give pairs of a share and a multiple"),
        ({"reads": [TABLES["reads"][0], TABLES["reads"][0]]}, "4096 bytes twice"),
        (
            {"reads": [TABLES["reads"][0], {"kb": 8, "latency_us": 100, "iops": 91_000}]},
            "the rate of larger requests must not be higher",
        ),
    ],
)
def test_impossible_tables_are_rejected(change, message):
    assert_refused(lambda: ssd_from_facts(TABLES | change, "mine.json"), message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("iops=1/2,iops=3/4", "'iops=3/4' is given twice"),
        ("iops=1/2,rpm=7200", "'rpm=7200' is unknown"),
        ("iops=100/50,latency=80/20us,rate=1/1GB/s", "'size' is missing"),
        ("iops=100", "iops=100 cannot be read; give the value of reads and of writes"),
        ("iops=100/50,latency=80/20", "in us or ms"),
        ("iops=100/x,size=1TB", "iops=100/x cannot be read"),
    ],
)
def test_impossible_lines_are_rejected(line, message):
    assert_refused(lambda: load_ssd(line), message)
