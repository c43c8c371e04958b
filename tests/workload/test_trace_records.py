"""Test RequestTrace: validated construction, windows, devices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.workload.trace import read, request_trace

#         0     1     2      3
TIME = [0.0, 10.0, 10.0, 25.5]
DEVICE = [1, 0, 1, 2]


def sample(**changes):
    columns = {
        "time": TIME,
        "device": DEVICE,
        "offset": [0, 4096, 8192, 512],
        "size": [512, 1024, 512, 512],
        "read": [True, False, True, False],
    }
    return request_trace(**{**columns, **changes})


def test_arrays_become_si_columns():
    trace = sample(measured_response=[0.1, 0.2, 0.3, 0.4])
    assert len(trace) == 4 and trace.devices == ("0", "1", "2")
    assert trace.time.dtype == np.float64 and trace.device.dtype == np.int32
    assert trace.offset.dtype == trace.size.dtype == np.int64 and trace.read.dtype == bool
    assert list(trace.columns()) == [
        "time", "device", "offset", "size", "read", "measured_response",
    ]  # fmt: skip


def test_a_window_includes_its_start_excludes_its_stop_and_counts_from_its_start():
    cut = sample(origin=1000.0, think=[1, 2, 3, 4]).window(10, 25.5)
    assert cut.time.tolist() == [0.0, 0.0] and cut.origin == 1010.0
    assert cut.offset.tolist() == [4096, 8192] and cut.think.tolist() == [2, 3]
    assert len(sample().window(100, 200)) == 0
    with pytest.raises(InputError, match="start < stop"):
        sample().window(5, 5)


def test_selected_devices_are_renumbered_and_keep_the_clock():
    one = sample().select("2")
    assert one.time.tolist() == [25.5] and one.device.tolist() == [0] and one.devices == ("2",)
    two = sample().select(["2", "1"])
    assert two.devices == ("1", "2") and two.device.tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="no device '7' in arrays; give one of 0, 1, 2"):
        sample().select("7")


def test_concatenated_devices_follow_one_another():
    joined = sample().concatenated()
    # Device 0 ends at 5120 and device 1 at 8704 of its address space.
    assert joined.offset.tolist() == [5120, 4096, 5120 + 8192, 5120 + 8704 + 512]
    assert joined.devices == ("0+1+2",) and joined.device.tolist() == [0] * 4
    wide = sample().concatenated({"0": 10**6, "1": 10**6, "2": 10**6})
    assert wide.offset.tolist() == [10**6, 4096, 10**6 + 8192, 2 * 10**6 + 512]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": [0, 1, 2]}, r"shape"),
        ({"size": [512] * 3}, r"size has shape \(3,\), time has \(4,\)"),
        ({"time": [0, 1, np.nan, 2]}, r"request 2 has time nan"),
        ({"time": [-1, 0, 1, 2]}, r"request 0 has time -1\.0"),
        ({"time": [0, 2, 1, 3]}, r"request 2 has time 1\.0, .*sort"),
        ({"device": [0, -1, 0, 0]}, r"request 1 has device -1"),
        ({"devices": ["a", "b"]}, r"request 3 has device 2, must be an index from 0 to 1"),
        ({"offset": [0, 0, -512, 0]}, r"request 2 has offset -512"),
        ({"size": [1, 1, 1, 0]}, r"request 3 has size 0, must be from 1"),
        ({"measured_response": [0, 0, -0.1, 0]}, r"request 2 has measured_response -0\.1"),
        ({"think": [0, np.inf, 0, 0]}, r"request 1 has think inf"),
    ],
)
def test_invalid_arrays_raise_with_the_fault(changes, message):
    with pytest.raises(InputError, match=message):
        sample(**changes)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 400), st.integers(1, 40)), min_size=1, max_size=40),
    st.sampled_from([512, 4096, 2**20]),
)
def test_a_compacted_trace_keeps_what_lies_together(rows, extent):
    """Bytes of one extent keep their distances, other bytes stay apart, and no room is left over."""
    device, offset, size = (np.array(column) for column in zip(*rows, strict=True))
    offset, size = 512 * offset, 512 * size
    whole = request_trace(np.arange(len(rows)), device, offset, size, [True] * len(rows), devices=list("abc"))
    packed = whole.compacted(extent)
    locations: dict[tuple[int, int], int] = {}
    for one in range(len(rows)):
        for sector in range(int(size[one]) // 512):
            source = (int(device[one]), int(offset[one]) // 512 + sector)
            location = int(packed.offset[one]) // 512 + sector
            # a byte has one place, and no two bytes share one
            assert locations.setdefault(source, location) == location
    assert len(set(locations.values())) == len(locations)
    extents = {(d, s * 512 // extent) for d, s in locations}
    assert max(locations.values()) * 512 < len(extents) * extent
    assert packed.devices == ("3 devices, compacted",) and packed.size.tolist() == size.tolist()


def test_logs_of_several_jobs_are_one_trace_by_their_clocks(tmp_path):
    one, two = tmp_path / "clat.1.log", tmp_path / "clat.2.log"
    one.write_text("".join(f"{10 * i}, 1000000, 0, 4096, {4096 * i}, 0, {10_000_000 * i}\n" for i in range(9)))
    two.write_text(
        "".join(
            f"{10 * i + 5}, 2000000, {1 + i % 2}, 512, {512 * i}, 0, {10_000_000 * i + 5_000_000}\n" for i in range(9)
        )
    )
    both = read([one, two])
    assert len(both) == 9 + 5 and both.devices == ("0",) and both.source.skipped == {"trim": 4}
    assert (np.diff(both.time) >= 0).all() and both.time[-1] == pytest.approx(0.085)
    assert both.read.sum() == 9 and both.measured_response.max() == pytest.approx(0.002)
    assert len(read([one, two], requests=6)) == 6
    with pytest.raises(InputError, match="no traces to merge"):
        read([])
