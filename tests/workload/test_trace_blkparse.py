"""Test the events of blkparse: requests formed from events, and the completion of each request."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.workload.trace import read

# a merge of two writes, a read that completes on another CPU, a flush, a discard, plugging; the last write is under way
SAMPLE = b"""\
  8,0    3        1     0.000000000   697  Q  WS 100 + 8 [kworker/3:1]
  8,0    3        2     0.000001829   697  G  WS 100 + 8 [kworker/3:1]
  8,0    3        3     0.000002500   697  P   N [kworker/3:1]
  8,0    3        4     0.000100000   697  Q   W 108 + 16 [fio #1]
  8,0    3        5     0.000101000   697  M   W 108 + 16 [fio #1]
  8,0    3        6     0.000102000   697  U   N [fio #1] 1
  8,0    3        7     0.000110000   697  D  WS 100 + 24 (   8000) [fio #1]
  8,16   0        1     0.001000000     0  Q   R 5000 + 2 [dd]
  8,0    3        8     0.001100000   697  Q FWS [jbd2/sda]
  8,0    3        9     0.001200000   697  Q  DS 900 + 800 [fstrim]
  8,0    3        0     0.001300000     0  m   N cfq697 insert_request
  8,16   1        1     0.003500000     0  C   R 5000 + 2 [0]
  8,0    0       10     0.005000000     0  C  WS 100 + 24 ( 4890000) [0]
  8,0    0       11     0.006000000   697  Q  WS 300 + 8 [fio #1]

CPU0 (sda):
 Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB
"""
anytime = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def save(folder, data):
    path = folder / "sample"
    path.write_bytes(data)
    return path


def test_a_sample_by_hand(tmp_path):
    trace = read(save(tmp_path, SAMPLE))
    assert trace.source.format == "blkparse" and trace.devices == ("8,0", "8,16")
    assert trace.time.tolist() == [0.0, 100e-6, 1e-3]
    assert trace.device.tolist() == [0, 0, 1]
    assert (trace.offset // 512).tolist() == [100, 108, 5000] and (trace.size // 512).tolist() == [8, 16, 2]
    assert trace.read.tolist() == [False, False, True]
    # written back without S: an asynchronous write
    assert trace.asynchronous.tolist() == [False, True, False]
    np.testing.assert_allclose(trace.measured_response, [5e-3, 4.9e-3, 2.5e-3], rtol=1e-12)


def test_without_completions_every_request_stays_and_none_is_measured(tmp_path):
    queued = b"\n".join(line for line in SAMPLE.split(b"\n") if b" C " not in line)
    trace = read(save(tmp_path, queued))
    assert len(trace) == 4 and trace.measured_response is None


@anytime
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**9),
            st.lists(st.integers(1, 64), min_size=1, max_size=5),
            st.integers(0, 10**9),
            st.booleans(),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_merged_requests_complete_together_and_alone(tmp_path, requests):
    """Requests are apart from one another; each is queued in pieces 100 ns apart, which are merged and complete as one."""
    events, expected = [], []
    for number, (start, pieces, took, is_read) in enumerate(requests):
        kind, at = "R" if is_read else "WS", number * 1000
        for piece, sectors in enumerate(pieces):
            events.append((start + 100 * piece, 0, f"Q {kind} {at} + {sectors} [a]"))
            expected.append((start + 100 * piece, at * 512, 500 - 100 * piece + took))
            at += sectors
        events.append((start + 500 + took, 1, f"C {kind} {number * 1000} + {sum(pieces)} [0]"))
    lines = [f"8,0 0 1 {at // 10**9}.{at % 10**9:09} 1 {text}" for at, _, text in sorted(events)]
    trace = read(save(tmp_path, "".join(f"{line}\n" for line in lines).encode()))
    first = min(at for at, _, _ in expected)
    found = zip(np.round(trace.time * 1e9) + first, trace.offset, np.round(trace.measured_response * 1e9), strict=True)
    assert sorted(tuple(map(int, row)) for row in found) == sorted(expected)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"8,0 3 2 0.000001829 697 Q WS", None),
        (
            b"8,0 3 2 0.0001829 697 Q WS 1 + 1 [a]",
            r"line 2 is not an event in the default format of blkparse .*run blkparse without -f",
        ),
        (b"8,0 3 2 0.000001829 697 ? WS 1 + 1 [a]", "line 2 is not an event"),
        (b"sda 3 2 0.000001829 697 Q WS 1 + 1 [a]", "line 2 is not an event"),
        (
            b"8,0 3 2 0.000001829 697 Q WS 99999999999999999999 + 1 [a]",
            "line 2 has 1 sectors at 9{20}, which exceeds a disk",
        ),
        (b"8,0 3 2 99999999999.000001829 697 Q WS 1 + 1 [a]", "line 2 has a time of 99999999999 s"),
        (
            b"8,0 3 2 0.000000000 697 C WS 100 + 8 [0]",
            "line 2 completes a request that line 1 queues later; sort the file by time",
        ),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, line, message):
    first = b"8,0 3 1 0.000000005 697 Q WS 100 + 8 [a]\n"
    path = save(tmp_path, first + line + b"\n")
    if message is None:
        assert len(read(path)) == 1
        return
    with pytest.raises(InputError, match=message) as caught:
        read(path, "blkparse")
    assert "sample" in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_ends_within_a_line_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"line 2 is not an event .*it ends in the middle of this line"):
        read(save(tmp_path, SAMPLE[:95]))
