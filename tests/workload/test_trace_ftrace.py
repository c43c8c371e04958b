"""Test the events block_rq_issue and block_rq_complete that ftrace, perf and trace-cmd print."""

import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.workload.trace import read

# two writes that are merged before they are issued, a read, a trim, a flush, and another event
FTRACE = b"""\
# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
             fio-697     [003] .....  12.000100: block_rq_issue: 8,0 WS 12288 () 100 + 24 [fio]
             fio-697     [003] .....  12.000150: block_rq_merge: 8,0 WS 4096 () 124 + 8 [fio]
       Web Co nt-698     [000] d..1.  12.000200: block_rq_issue: 8,16 RA 1024 () 5000 + 2 [Web Co nt]
             fio-697     [003] .....  12.000300: block_rq_issue: 8,0 DS 4096 () 900 + 8 [fio]
          <idle>-0       [003] ..s..  12.000400: block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]
             fio-697     [003] .....  12.000450: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [fio]
          <idle>-0       [001] d.h..  12.003700: block_rq_complete: 8,16 RA () 5000 + 2 [0]
          <idle>-0       [003] ..s..  12.005100: block_rq_complete: 8,0 WS () 100 + 24 [0]
"""
PERF = b"""\
fio   697 [003] 12.000100: block:block_rq_issue: 8,0 WS 12288 () 100 + 24 none,0,0 [fio]
fio 697/699 [003] 12.000200123:  1 block:block_rq_issue: 8,16 RA 1024 (28 00 00) 5000 + 2 be,0,4 [fio]
swapper     0 [001] 12.003700123:          block:block_rq_complete: 8,16 RA (28 00 00) 5000 + 2 be,0,4 [0]
swapper     0 [003] 12.005100:          block:block_rq_complete: 8,0 WS () 100 + 24 none,0,0 [0]
"""


def save(folder, data):
    path = folder / "sample"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("data", [FTRACE, PERF])
def test_a_sample_by_hand(tmp_path, data):
    trace = read(save(tmp_path, data))
    assert trace.source.format == "ftrace" and trace.devices == ("8,0", "8,16")
    np.testing.assert_allclose(trace.time, [0, 100e-6 + (data is PERF) * 123e-9], atol=1e-15)
    assert trace.device.tolist() == [0, 1] and trace.read.tolist() == [False, True]
    assert (trace.offset // 512).tolist() == [100, 5000] and (trace.size // 512).tolist() == [24, 2]
    np.testing.assert_allclose(trace.measured_response, [5e-3, 3.5e-3], rtol=1e-12)
    assert trace.asynchronous.tolist() == [False, False]
    assert trace.source.skipped == ({"trim": 1, "flush": 1} if data is FTRACE else {})
    assert trace.source.notes == ("arrivals are the block_rq_issue events, when the request is sent to the drive",)


def test_without_issues_requests_arrive_when_they_complete(tmp_path):
    data = b"\n".join(line for line in PERF.split(b"\n") if b"issue" not in line)
    trace = read(save(tmp_path, data))
    assert (trace.offset // 512).tolist() == [5000, 100] and trace.measured_response is None
    assert trace.source.notes[0].startswith(
        "the file has no block_rq_issue events; arrivals are the block_rq_complete events"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"ffffffff8140a3b1 blk_mq_start_request+0x1 ([kernel.kallsyms])",
            "line 2 is not an event .*without call graphs",
        ),
        (
            b"fio 697 [003] 12.5: block:block_rq_issue: 8,0 R 4096 () 1 + 8 [fio]",
            "line 2 is not an event with its time",
        ),
        (
            b"fio 697 [003] 12.000200: block:block_rq_issue: 8,0 R 4096 1 + 8 [fio]",
            "line 2 has '8,0 R 4096 1 .* must be device",
        ),
        (
            b"fio 697 [003] 12.000200: block:block_rq_issue: 8,0 R 4096 () 99999999999999999999 + 8 [fio]",
            "line 2 has 8 sectors",
        ),
        (
            b"fio 697 [003] 12.000000: block:block_rq_complete: 8,0 WS () 100 + 24 [0]",
            "line 2 completes a request that line 1",
        ),
    ],
)
def test_a_fault_is_named_with_its_line_or_left_out(tmp_path, line, message):
    lines = PERF.splitlines(keepends=True)
    path = save(tmp_path, lines[0] + line + b"\n" + b"".join(lines[1:]))
    with pytest.raises(InputError, match=message):
        read(path)
    trace = read(path, skip_bad=1)
    assert trace.source.skipped == {"damaged": 1} and 5000 in trace.offset // 512


def test_lost_events_warn_once(tmp_path):
    lines = PERF.splitlines(keepends=True)
    with pytest.warns(RuntimeWarning, match=r"events were lost; enlarge the buffer") as caught:
        trace = read(save(tmp_path, lines[0] + b"CPU:3 [LOST 12 EVENTS]\n" * 2 + b"".join(lines[1:])))
    assert len(caught) == 1 and len(trace) == 2
