"""Test the events of blkparse: arrivals, completions and remapped devices, and files that are refused."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.workload.trace import block_events, chunks, read
from storagekit.workload.trace.blkparse import BLKPARSE_ALL, BlkparseAll

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
    assert trace.source.skipped == {"flush": 1, "trim": 1, "in progress": 1} and trace.source.notes == ()
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
            r"line 2 is not an event in the default layout of blkparse.*run blkparse -i FILE without -f",
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


def lines(*events) -> bytes:
    """Return a file of events, each as device, time in us, action and the rest of the line."""
    return b"".join(
        f"{device} 0 1 {time // 10**6}.{time % 10**6 * 1000:09} 77 {action} {rest} [a]\n".encode()
        for device, time, action, rest in events
    )


def timeline(trace) -> list[tuple[str, int, int]]:
    """Return the device, the time in us and the first sector of each request."""
    return [
        (trace.devices[device], round(time * 1e6), offset // 512)
        for device, time, offset in zip(trace.device, trace.time, trace.offset, strict=True)
    ]


# Arrivals.

ISSUED = "the file has no Q events; arrivals are the D events, when the request is sent to the drive"


def test_without_q_events_requests_arrive_when_they_are_issued(tmp_path):
    """The first request is requeued and issued again; the drive completes the second in two parts."""
    data = lines(
        ("8,0", 0, "D", "R 100 + 8"),
        ("8,0", 10, "R", "R 100 + 8"),
        ("8,0", 20, "D", "R 100 + 8"),
        ("8,0", 30, "D", "WS 500 + 16"),
        ("8,0", 40, "D", "DS 900 + 800"),
        ("8,0", 50, "C", "R 100 + 8"),
        ("8,0", 60, "C", "WS 500 + 8"),
        ("8,0", 70, "C", "WS 508 + 8"),
    )
    trace = read(save(tmp_path, data))
    assert timeline(trace) == [("8,0", 0, 100), ("8,0", 30, 500)]
    np.testing.assert_allclose(trace.measured_response, [50e-6, 40e-6], rtol=1e-12)
    assert trace.source.notes == (ISSUED,) and trace.source.skipped == {"trim": 1, "in progress": 1}


def test_with_completions_alone_requests_arrive_when_they_complete(tmp_path, monkeypatch):
    data = lines(*[("8,0", 10 * i, "C", f"{'R' if i % 3 else 'W'} {100 * i} + 8") for i in range(20)])
    path = save(tmp_path, data)
    trace = read(path)
    assert timeline(trace) == [("8,0", 10 * i, 100 * i) for i in range(20)]
    assert trace.measured_response is None
    assert trace.source.notes == (
        "the file has no Q and no D events; arrivals are the C events, when the request completes; response times are "
        "unknown",
    )
    monkeypatch.setattr(block_events, "CHUNK", 4)
    assert [len(part) for part in chunks(path)] == [4] * 5


def issued(count: int) -> bytes:
    return lines(*[("8,0", 10 * i + 5 * ends, "DC"[ends], f"R {100 * i} + 8") for i in range(count) for ends in (0, 1)])


def test_a_file_without_q_events_may_be_longer_than_its_head(tmp_path):
    data = issued(2000)
    assert len(data) > 2 * 65_536
    assert len(read(save(tmp_path, data))) == 2000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (issued(2000) + lines(("8,0", 20_000, "Q", "R 8 + 8")), "line 4001 is a Q event, .*taken from D events; sort"),
        (
            lines(*[("8,0", 10 * i, "C", "R 8 + 8") for i in range(3000)]) + lines(("8,0", 30_000, "D", "R 8 + 8")),
            "line 3001 is a D event, but the first 64 KiB have none, .*taken from C events; .*remove the D events",
        ),
    ],
)
def test_an_earlier_kind_of_arrival_after_the_head_raises(tmp_path, data, message):
    with pytest.raises(InputError, match=message):
        read(save(tmp_path, data))


def test_a_q_event_at_the_end_of_the_head_is_seen(tmp_path):
    """The Q event is the last whole line of the head."""
    begin = issued(5000)
    begin = begin[: begin.rindex(b"\n", 0, 65_495) + 1]
    queued = lines(("8,0", 10_000, "Q", "R 8 + 8"), ("8,0", 10_001, "C", "R 8 + 8 ( 1000)" + " " * 40))
    assert len(begin + queued.split(b"\n")[0]) < 65_536 < len(begin + queued)
    data = begin + queued + issued(10)
    assert timeline(read(save(tmp_path, data))) == [("8,0", 0, 8)]


# Remapped devices.

STACK = lines(
    ("253,1", 0, "Q", "R 0 + 8"),
    ("253,0", 1, "A", "R 384 + 8 <- (253,1) 0"),
    ("253,0", 2, "Q", "R 384 + 8"),
    ("8,0", 3, "A", "R 2432 + 8 <- (253,0) 384"),
    ("8,0", 4, "Q", "R 2432 + 8"),
    ("8,16", 5, "Q", "R 77 + 1"),
    ("8,0", 10, "C", "R 2432 + 8"),
    ("253,0", 11, "C", "R 384 + 8"),
    ("253,1", 12, "C", "R 0 + 8"),
    ("8,16", 13, "C", "R 77 + 1"),
)


def test_requests_of_two_layers_are_counted_once(tmp_path):
    trace = read(save(tmp_path, STACK))
    assert timeline(trace) == [("8,0", 0, 2432), ("8,16", 1, 77)]
    np.testing.assert_allclose(trace.measured_response, [6e-6, 8e-6], rtol=1e-12)
    assert trace.source.notes == ("the requests of 253,0 and 253,1 are remapped to 8,0 and are counted once, at 8,0",)


def test_the_format_blkparse_all_counts_all_devices_and_is_never_recognised(tmp_path):
    path = save(tmp_path, STACK)
    trace = read(path, "blkparse-all")
    assert timeline(trace) == [("253,1", 0, 0), ("253,0", 2, 384), ("8,0", 4, 2432), ("8,16", 5, 77)]
    assert trace.source.format == BlkparseAll().name == "blkparse-all" and trace.source.notes == ()
    assert read(path).source.format == "blkparse" and not BLKPARSE_ALL.recognises(STACK)


def test_a_partition_without_requests_of_its_own_drops_nothing(tmp_path):
    data = lines(("8,0", 0, "A", "W 100 + 8 <- (8,1) 36"), ("8,0", 1, "Q", "W 100 + 8"))
    trace = read(save(tmp_path, data))
    assert timeline(trace) == [("8,0", 0, 100)] and trace.source.notes == ()


def test_an_upper_device_is_kept_if_the_lower_one_has_no_requests(tmp_path):
    """The lines with 253,0 of a file: the requests of 8,0 are missing, but not the remaps."""
    data = b"".join(line + b"\n" for line in STACK.split(b"\n") if b"253,0" in line)
    trace = read(save(tmp_path, data))
    assert timeline(trace) == [("253,0", 0, 384)] and trace.source.notes == ()


def test_requests_before_the_first_remap_are_left_out_too(tmp_path):
    data = lines(("253,1", 0, "Q", "R 5 + 1"), ("253,1", 1, "Q", "DS 9 + 1"), ("253,1", 2, "C", "R 5 + 1")) + STACK
    trace = read(save(tmp_path, data), disorder_limit=1)
    assert timeline(trace) == [("8,0", 0, 2432), ("8,16", 1, 77)] and trace.source.skipped == {}


def test_a_device_is_an_upper_device_through_a_layer_without_requests(tmp_path):
    data = b"".join(line + b"\n" for line in STACK.split(b"\n") if not line.startswith(b"253,0") or b" A " in line)
    trace = read(save(tmp_path, data))
    assert timeline(trace) == [("8,0", 0, 2432), ("8,16", 1, 77)]
    assert trace.source.notes == ("the requests of 253,1 are remapped to 8,0 and are counted once, at 8,0",)


def test_devices_that_map_to_each_other_are_both_kept(tmp_path):
    data = lines(
        ("8,0", 0, "A", "R 1 + 1 <- (8,16) 1"),
        ("8,16", 1, "A", "R 1 + 1 <- (8,0) 1"),
        ("8,0", 2, "Q", "R 1 + 1"),
        ("8,16", 3, "Q", "R 1 + 1"),
    )
    assert timeline(read(save(tmp_path, data))) == [("8,0", 0, 1), ("8,16", 1, 1)]


def test_completions_of_an_upper_device_do_not_hide_requests_without_completions(tmp_path):
    data = lines(("253,1", 0, "Q", "R 5 + 1"), ("253,1", 2, "C", "R 5 + 1"))
    data += b"".join(line + b"\n" for line in STACK.split(b"\n") if b" C " not in line)
    assert timeline(read(save(tmp_path, data))) == [("8,0", 0, 2432), ("8,16", 1, 77)]


def stacked(upper: str, lower: str, *, kept: int = 40, start: int = 0) -> bytes:
    """Forty reads and writes of an upper device, and the first `kept` of them at a lower one, without remaps."""
    events = []
    for i in range(40):
        kind = f"{'RW'[i % 3 == 0]} {{}} + {8 + i % 5}"
        events.append((upper, start + 10 * i, "Q", kind.format(64 * i)))
        events.extend([(lower, start + 10 * i + 1, "Q", kind.format(64 * i + 2048))] * (i < kept))
    return lines(*events)


@pytest.mark.parametrize(
    ("upper", "lower", "kept"), [("253,0", "8,0", 40), ("9,127", "259,1", 39), ("254,3", "8,16", 40)]
)
def test_layers_without_remaps_give_a_warning_with_the_devices_of_one_layer(tmp_path, upper, lower, kept):
    with pytest.warns(RuntimeWarning, match=f"at {upper} and at {lower} are nearly .*--devices {lower}.*remaps"):
        trace = read(save(tmp_path, stacked(upper, lower, kept=kept)))
    assert len(trace) == 40 + kept


def test_two_upper_devices_are_compared_together_and_alone(tmp_path):
    both = stacked("253,0", "8,0") + stacked("253,1", "8,0", start=400)
    with pytest.warns(RuntimeWarning, match=r"at 253,0 and 253,1 and at 8,0 are nearly the same"):
        read(save(tmp_path, both))
    with pytest.warns(RuntimeWarning, match=r"at 253,0 and at 8,0 are nearly the same"):
        read(save(tmp_path, stacked("253,0", "8,0") + lines(*[("8,16", 500 + i, "Q", "R 7 + 8") for i in range(30)])))


@pytest.mark.parametrize("data", [stacked("8,0", "8,16"), stacked("253,0", "8,0", kept=35), stacked("253,0", "253,1")])
def test_devices_of_one_layer_or_with_other_requests_give_no_warning(tmp_path, data):
    assert len(read(save(tmp_path, data))) > 70


def test_all_devices_are_read_without_a_warning_if_they_are_wanted(tmp_path):
    assert len(read(save(tmp_path, stacked("253,0", "8,0")), "blkparse-all")) == 80


def test_the_note_is_renewed_as_devices_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(block_events, "CHUNK", 2)
    more = lines(
        ("253,9", 20, "Q", "R 0 + 8"),
        ("8,16", 21, "A", "R 8 + 8 <- (253,9) 0"),
        ("8,16", 22, "Q", "R 8 + 8"),
        ("8,16", 23, "C", "R 8 + 8"),
    )
    trace = read(save(tmp_path, STACK + more))
    assert trace.source.notes == (
        "the requests of 253,0, 253,1 and 253,9 are remapped to 8,0 and 8,16 and are counted once, at 8,0 and 8,16",
    )


def test_trims_and_flushes_are_counted_once(tmp_path):
    data = STACK + lines(
        ("253,0", 20, "Q", "DS 384 + 8"),
        ("8,0", 21, "A", "DS 2432 + 8 <- (253,0) 384"),
        ("8,0", 22, "Q", "DS 2432 + 8"),
        ("253,0", 23, "Q", "FWS"),
        ("8,0", 24, "Q", "FWS"),
    )
    assert read(save(tmp_path, data)).source.skipped == {"trim": 1, "flush": 1}


def test_a_remap_of_a_device_whose_requests_are_already_counted_raises(tmp_path, monkeypatch):
    monkeypatch.setattr(block_events, "CHUNK", 4)
    early = [("253,1", 10 * i + 5 * ends, "QC"[ends], f"R {100 * i} + 8") for i in range(2) for ends in (0, 1)]
    queued = [("253,1", i, "Q", f"R {100 * i} + 8") for i in range(4)]
    completed = [("253,1", 10 + i, "C", f"R {100 * i} + 8") for i in range(4)]
    assert len(read(save(tmp_path, lines(*early) + STACK))) == 2
    path = save(tmp_path, lines(*queued, *completed) + STACK)
    with pytest.raises(
        InputError, match=r"line 11 shows .* of 253,1 are remapped, .*\(format blkparse-all\), and select"
    ):
        read(path)
    assert len(read(path, "blkparse-all")) == 8


# Requests that are neither reads nor writes, and damaged lines.


def test_discards_flushes_and_zone_operations_are_counted_by_kind(tmp_path):
    kinds = ["R 1 + 1", "DS 9 + 9", "DES 9 + 9", "FWS", "FN", "FF 9 + 0", "ZR 9 + 9", "ZRA 9 + 9", "FWFS 8 + 1", "N"]
    data = lines(*[("8,0", i, action, kind) for i, kind in enumerate(kinds) for action in ("Q", "D")])
    trace = read(save(tmp_path, data))
    assert (trace.offset // 512).tolist() == [1, 8]
    assert trace.source.skipped == {"trim": 2, "flush": 3, "zone": 2}


@pytest.mark.parametrize(
    "bad",
    [
        b"8,0 3 2 0.0001829 697 Q WS 1 + 1 [a]\n",
        b"8,0 3 2 0.000001829 697 Q WS 99999999999999999999 + 1 [a]\n",
        b"8,0 3 2 99999999999.000001829 697 C WS 1 + 1 [a]\n",
        b"8,0 3 2 0.000000004 697 C WS 100 + 8 [0]\n",
    ],
)
def test_a_damaged_line_is_left_out_and_counted(tmp_path, bad):
    good = b"8,0 3 1 0.000000005 697 Q WS 200 + 8 [a]\n"
    path = save(tmp_path, good.replace(b"200", b"100") + good + bad + good.replace(b"Q", b"C"))
    with pytest.raises(InputError, match=r"line 3"):
        read(path)
    trace = read(path, skip_bad=1)
    assert (trace.offset // 512).tolist() == [200] and trace.source.skipped["damaged"] == 1


def test_requests_without_a_completion_are_counted_and_many_are_a_warning(tmp_path):
    lines = b"".join(b"8,0 3 %d 0.%09d 697 Q R %d + 8 [a]\n" % (i, 1000 * i, 100 * i) for i in range(100))
    with pytest.warns(RuntimeWarning, match="99 requests have no completion in the file and are left out; record"):
        trace = read(save(tmp_path, lines + b"8,0 3 101 1.0 697 C R 0 + 8 [0]\n".replace(b" 1.0 ", b" 1.000000000 ")))
    assert len(trace) == 1 and trace.source.skipped == {"in progress": 99}


# Files that are refused.


@pytest.mark.parametrize("magic", [b"\x07tae", b"eat\x07"])
@pytest.mark.parametrize("given", [None, "blkparse", "blkparse-all"])
def test_the_binary_files_of_blktrace_raise_with_the_command_that_converts_them(tmp_path, magic, given):
    with pytest.raises(InputError, match=r"binary output of blktrace.*blkparse -i NAME > NAME.txt"):
        read(save(tmp_path, magic + bytes(44)), given)


@pytest.mark.parametrize(
    "line",
    [
        b"8,0 0.000001829 Q WS 100 + 8 fio\n",
        b"  8,0  3  Q  R 100 + 8\n",
        b"8,0 3 2 12:00:01.000182 697 C WS 1 + 1 [0]\n",
    ],
)
def test_another_layout_raises_and_the_message_names_the_default_one(tmp_path, line):
    with pytest.raises(
        InputError, match=r"line 1 is not .* default layout of blkparse, device cpu .*blkparse -i FILE without -f"
    ):
        read(save(tmp_path, line * 3))
