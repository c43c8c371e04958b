"""Test the real traces, whole and damaged, against the counts and figures in their provenance files."""

import bz2
import lzma

import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.workload.trace import characteristics, chunks, read

FINANCIAL = "spc-financial1-10k/Financial1.first10000.spc.xz"
WEBSEARCH = "spc-websearch1-60s/WebSearch1.first60s.spc.xz"
HPLAJW = "hplajw-1992/ajw.1week.srt.xz"
CELLO = "cello-hpl-2003/hourly.03126.srt.bz2"
VALIDATE = "disksim-valid/{}.trace.xz"

# (figure, value, half a unit of the last digit in provenance.md)
STATED = {
    FINANCIAL: ("spc", [
        ("requests", 10_000, 0), ("duration", 259.60, 0.005), ("rate", 38.5, 0.05),
        ("read_share", 0.4078, 5e-5), ("mean_size", 5528, 0.5), ("devices", 22, 0),
    ]),
    WEBSEARCH: ("spc", [
        ("requests", 24_783, 0), ("duration", 60.055, 5e-4), ("rate", 412.7, 0.05),
        ("read_share", 0.9998, 5e-5), ("mean_size", 15_418, 1), ("devices", 6, 0),
        ("interarrival_cov", 1.33, 0.005),
    ]),
    HPLAJW: ("srt", [
        ("requests", 44_519, 0), ("duration", 603_064.588892, 1e-6), ("rate", 0.0738, 5e-5),
        ("read_share", 0.2929, 5e-5), ("mean_size", 5914, 0.5), ("mean_read_size", 4718, 0.5),
        ("mean_write_size", 6410, 0.5), ("devices", 2, 0), ("interarrival_cov", 9.81, 0.005),
        ("sequential_share", 0.0135, 5e-5), ("mean_response", 0.1167, 5e-5),
        ("median_response", 0.0321, 5e-5), ("p95_response", 0.5186, 5.1e-5),
    ]),
    CELLO: ("srt", [
        ("requests", 43_000, 0), ("duration", 3699.1445, 5e-5), ("rate", 11.62, 0.005),
        ("read_share", 0.2458, 5e-5), ("mean_size", 15_865.2, 0.05),
        ("mean_read_size", 12_634, 0.5), ("mean_write_size", 16_918, 0.5), ("devices", 77, 0),
        ("interarrival_cov", 5.07, 0.005), ("sequential_share", 0.276, 5e-4),
        ("mean_response", 0.004463, 5e-7), ("median_response", 0.001292, 5e-7),
        ("p95_response", 0.0154, 5e-5),
    ]),
    # Measured service means, ms: 3.893, 4.273, 15.298.
    VALIDATE.format("atlas10k"): ("disksim-validate", [
        ("requests", 10_000, 0), ("mean_response", 3.893e-3, 5e-7), ("devices", 1, 0)]),
    VALIDATE.format("cheetah9LP"): ("disksim-validate", [
        ("requests", 10_000, 0), ("mean_response", 4.273e-3, 5e-7), ("devices", 1, 0)]),
    VALIDATE.format("hp_c2247a"): ("disksim-validate", [
        ("requests", 9_999, 0), ("mean_response", 15.298e-3, 5e-7), ("devices", 1, 0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", STATED)
def test_figures_agree_with_the_stated_ones(shared, name):
    format_name, stated = STATED[name]
    trace = read(shared / name)
    assert trace.source.format == format_name and trace.source.disorder == 0
    figures = characteristics(trace).as_dict()
    for figure, value, tolerance in stated:
        assert figures[figure] == pytest.approx(value, abs=tolerance), figure


def test_financial_begins_with_the_published_line(shared):
    trace = read(shared / FINANCIAL)
    assert (trace.offset[0], trace.size[0], trace.read[0], trace.time[0]) == (
        303_567 * 512, 3584, False, 0.0,
    )  # fmt: skip
    assert np.mean(np.diff(trace.time) == 0) == pytest.approx(0.45, abs=0.005)


def test_websearch_writes_and_extent(shared):
    trace = read(shared / WEBSEARCH)
    assert trace.origin == 0.011413 and np.count_nonzero(~trace.read) == 4
    assert trace.ends().max() == pytest.approx(17.9e9, abs=0.05e9)
    shares = {size: np.mean(trace.size == size * 1024) for size in (8, 16, 24, 32)}
    assert shares == pytest.approx({8: 0.601, 16: 0.122, 24: 0.078, 32: 0.198}, abs=5e-4)


def test_hplajw_first_records_and_last_byte(shared):
    trace = read(shared / HPLAJW)
    np.testing.assert_allclose(trace.time[:3], [0, 22_479e-6, 35_279e-6], rtol=1e-15)
    assert [trace.devices[i] for i in trace.device[:3]] == ["1", "1", "0"]
    assert trace.offset[:3].tolist() == [270_336, 266_240, 3_137_536]
    assert trace.size[:3].tolist() == [4096, 4096, 2048]
    np.testing.assert_allclose(trace.measured_response[:3], [19_687e-6, 10_038e-6, 32_924e-6])
    assert trace.ends().max() == 334_876_672
    assert np.bincount(trace.device).tolist() == [42_252, 2_267]
    assert trace.measured_response.max() == pytest.approx(6.7808, abs=1e-4)


def test_hplajw_equals_its_normalised_copy(shared):
    """Compare times, addresses and flags with the CSV file in the same folder."""
    trace = read(shared / HPLAJW)
    with lzma.open(shared / "hplajw-1992/hplajw.csv.xz", "rt") as lines:
        layout = "i8,i8,i8,i8,U1,U1,i8,i8,i8"
        table = np.loadtxt(lines, layout, delimiter=",", skiprows=1)
    np.testing.assert_allclose(trace.time, table["f0"] / 1e6, rtol=1e-15)
    np.testing.assert_array_equal(trace.device, table["f1"])
    np.testing.assert_array_equal(trace.offset, table["f2"])
    np.testing.assert_array_equal(trace.size, table["f3"])
    np.testing.assert_array_equal(trace.read, table["f4"] == "R")
    np.testing.assert_array_equal(trace.asynchronous, table["f5"] == "A")
    np.testing.assert_allclose(trace.measured_response, table["f7"] / 1e6, rtol=1e-15)


def test_cello_devices_and_clock(shared):
    trace = read(shared / CELLO)
    # 2003-05-18 18:04:04 UTC
    assert int(trace.origin) == 1_053_281_044
    assert np.count_nonzero(trace.device == trace.devices.index(f"0x{520183808:08x}")) == 7409
    assert list(trace.devices) == sorted(trace.devices)
    assert trace.ends().max() == 17_616_773_120
    assert (trace.offset.min(), trace.offset.max()) == (2_367_488, 17_616_764_928)
    assert trace.measured_response.max() == pytest.approx(0.1742, abs=5e-5)


def test_validate_keeps_one_request_outstanding(shared):
    trace = read(shared / VALIDATE.format("atlas10k"))
    done = trace.time + trace.measured_response
    np.testing.assert_allclose(trace.time[1:], (done + trace.think)[:-1], atol=1e-9)


def test_chunks_of_a_real_trace(shared, monkeypatch):
    monkeypatch.setattr("storagekit.workload.trace.srt.CHUNK", 10_000)
    assert [len(part) for part in chunks(shared / CELLO)] == [10_000] * 4 + [3_000]


@pytest.mark.parametrize("name", [FINANCIAL, HPLAJW, CELLO])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_real_file_cut_short(shared, tmp_path, name, share):
    packed = (shared / name).read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(packed[: int(share * len(packed))])
    with pytest.raises(InputError, match=r"cut is truncated: its (xz|bzip2) stream ends early"):
        read(path)


def test_a_real_binary_record_cut(shared, tmp_path):
    plain = lzma.decompress((shared / HPLAJW).read_bytes())
    path = tmp_path / "cut.srt"
    path.write_bytes(plain[:-20])
    with pytest.raises(InputError, match="record 44519 is truncated after 36 of 56 bytes"):
        read(path)


def test_a_real_binary_record_lost(shared, tmp_path):
    """Four lost bytes shift every later record; the error names the first of them."""
    plain = bz2.decompress((shared / CELLO).read_bytes())
    at = 298 + 88 * 41_000
    path = tmp_path / "shifted.srt"
    path.write_bytes(plain[:at] + plain[at + 4 :])
    with pytest.raises(InputError, match=r"record (41001 has length 458753|43000 is truncated)"):
        read(path)


def test_a_real_line_corrupted(shared, tmp_path):
    lines = lzma.decompress((shared / WEBSEARCH).read_bytes()).split(b"\n")
    lines[20_000] = lines[20_000].replace(b"R", b"?")
    path = tmp_path / "harmed"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(InputError, match=r"line 20001 has opcode '\?', must be 'r' or 'w'"):
        read(path)
