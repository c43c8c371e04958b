"""Test inputs that could cost a reader more than their size.

They have long fields, compression bombs, floods, sums beyond 64 bits, or much overlap.
"""

import bz2
import gzip
import lzma
import time
import tracemalloc

import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.workload.reuse import hit_rates
from storagekit.workload.trace import characteristics, read, request_trace, streams

PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
GOOD = {
    "spc": b"0,1,512,r,0.5",
    "msr": b"128166372003061629,usr,0,Read,512,512,413",
    "disksim": b"10.5 2 100 8 1",
    "disksim-validate": b"R Hit 100 8 663.0 45422.0",
    "fio": b"1, 70000, 0, 512, 0, 0, 25000",
    "blkparse": b"8,0 3 1 0.000000005 697 Q R 100 + 8 [a]",
    "ftrace": b"a-1 [003] .... 0.000005: block_rq_issue: 8,0 R 4096 () 100 + 8 [a]",
    "biosnoop": b"0.5 fio 697 sda R 100 4096 0.25",
}
FIELDS = [(name, which) for name, line in GOOD.items() for which in range(len(line.replace(b",", b" ").split()))]
LONG = 60_000
# seconds on a shared processor; algorithms of quadratic time take far longer here
SOON = 5.0
# each token slows an expression that tries many alternatives before it fails
TOKENS = [
    b"1" * LONG,
    b"1" * LONG + b"x",
    b"0" * LONG + b"1",
    b"1." + b"1" * LONG + b"x",
    b"1" * (LONG // 2) + b"." + b"1" * (LONG // 2) + b"e1x",
    b"1e" + b"1" * LONG + b"x",
    b"1e-" + b"1" * LONG,
    b"+" * LONG,
    b"0x" + b"f" * LONG,
    b"Z" * LONG,
    b")" * LONG,
    b"1,1" * (LONG // 3),
    b"+ 1 " * (LONG // 4),
    b" " * LONG + b"?",
    b"\t " * (LONG // 2) + b"1",
]


def save(folder, data):
    path = folder / "sample"
    path.write_bytes(data)
    return path


def swapped(line, which, token):
    """Return the line with field `which` replaced and unchanged separators."""
    fields = line.replace(b",", b" ").split()
    begin = 0
    for field in fields[:which]:
        begin = line.index(field, begin) + len(field)
    begin = line.index(fields[which], begin)
    return line[:begin] + token + line[begin + len(fields[which]) :]


def refusal(path, *given):
    """Return the error message of reading the file, or "" if reading succeeds; both must be fast."""
    began = time.process_time()
    try:
        read(path, *given)
        message = ""
    except InputError as fault:
        message = str(fault)
    assert time.process_time() - began < SOON
    assert "\n" not in message and message.isprintable() and len(message.replace(str(path), "")) < 400
    return message


def peak(call):
    """Return the peak memory during a call, in bytes above the memory before it."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("name", "which"), FIELDS)
def test_no_field_takes_long_to_reject(tmp_path, name, which):
    for token in TOKENS:
        line = swapped(GOOD[name], which, token)
        refusal(save(tmp_path, GOOD[name] + b"\n" + line + b"\n"), name)
        refusal(save(tmp_path, line + b"\n" + GOOD[name] + b"\n"))


@pytest.mark.parametrize("summary", [b"Total (" + b")" * LONG, b"CPU" + b"0" * LONG, b"CPU0 (" + b"):" * (LONG // 2)])
def test_no_summary_takes_long_to_reject(tmp_path, summary):
    assert refusal(save(tmp_path, GOOD["blkparse"] + b"\n" + summary + b"x\n"))


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("length", [70_000, 2_000_000, 5_000_000])
def test_the_limit_of_a_line_does_not_depend_on_its_position_in_a_block(tmp_path, name, length):
    """Blanks around a field are allowed, but a line that is too long raises at any position in a block."""
    line = GOOD[name] + b"\n"
    padded = swapped(GOOD[name], 0, GOOD[name].replace(b",", b" ").split()[0] + b" " * length) + b"\n"
    if name == "blkparse":
        padded = GOOD[name] + b" " * length + b"x\n"
    message = refusal(save(tmp_path, line + padded + line), name)
    assert "line 2 is longer than 65536 bytes" in message


@pytest.mark.parametrize("filling", [b"\n", b"# note\n", b" \r\n"])
def test_many_lines_without_content_at_the_start_are_passed_in_linear_time(tmp_path, filling):
    count = 400_000
    path = save(tmp_path, filling * count + GOOD["spc"] + b"\nx\n")
    began = time.process_time()
    with pytest.raises(InputError, match=f"line {count + 2} has 1 field"):
        read(path, "spc")
    assert time.process_time() - began < SOON


def test_leading_zeros_do_not_change_a_number(tmp_path):
    zeros = b"0" * 30_000
    for around in (b"", b"# line by line\n"):
        trace = read(save(tmp_path, around + zeros + b"7," + zeros + b"5,512,r,0.5\n"), "spc")
        assert trace.devices == ("7",) and trace.offset.tolist() == [5 * 512]


def bomb(name, beginning, filling) -> bytes:
    """Return a compressed file with a beginning and 4 GB of one byte after it."""
    packed = PACKERS[name](beginning) + PACKERS[name](filling * 20_000_000) * 200
    assert len(packed) < 5_000_000
    return packed


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize(
    ("beginning", "filling"),
    [
        (b"\0", b"\0"),
        (b"0,1,512,r,0.0\nx\n", b"\n"),
        (b"0,1,512,r,0.0\n", b"\n"),
        (b"0,1,512,r,0.0\n", b" "),
    ],
)
def test_a_bomb_raises_before_it_is_unpacked(tmp_path, name, beginning, filling):
    assert refusal(save(tmp_path, bomb(name, beginning, filling)))


def test_memory_for_a_bomb_stays_small(tmp_path):
    path = save(tmp_path, bomb("bzip2", b"0,1,512,r,0.0\nx\n", b"\n"))
    assert peak(lambda: refusal(path)) < 100e6


@pytest.mark.filterwarnings("ignore:.*returns to the beginning")
def test_a_trace_that_repeats_itself_is_no_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "FREE", 2**17)
    lines = b"".join(b"%d,%d,4096,r,%d.5\n" % (i % 3, 8 * i, i) for i in range(20_000))
    for pack in PACKERS.values():
        assert len(read(save(tmp_path, pack(lines) * 2), disorder_limit=1e9)) == 40_000


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_flood_of_incomplete_requests_takes_linear_time(tmp_path):
    count = 8_000
    queued = b"".join(b"8,0 0 %d 0.%09d 1 Q R %d + 8 [a]\n" % (i, i, 1000 * i) for i in range(count))
    completed = b"".join(b"8,0 0 %d 1.%09d 1 C R %d + 8 [0]\n" % (i, i, 1000 * i + 500) for i in range(count))
    assert "has no request" in refusal(save(tmp_path, queued + completed))
    stacked = b"".join(b"8,0 0 %d 0.%09d 1 Q R 100 + 8 [a]\n" % (i, i) for i in range(count))
    assert refusal(save(tmp_path, stacked + stacked.replace(b" 0.", b" 1.").replace(b"Q", b"C"))) == ""


def far_devices(count=4):
    end = 2**62
    return request_trace(np.arange(count), np.arange(count), [end - 512] * count, [512] * count, [True] * count)


def test_the_total_size_of_devices_is_exact_beyond_64_bits():
    assert characteristics(far_devices()).data_size == 4 * 2**62


def test_devices_that_do_not_fit_end_to_end_raise():
    with pytest.raises(InputError, match=r"device 1 .*would exceed 2\*\*62 bytes; select fewer devices") as caught:
        far_devices().concatenated()
    assert "\n" not in str(caught.value)
    alone = far_devices().select("2")
    assert alone.concatenated().offset.tolist() == [2**62 - 512]
    with pytest.raises(InputError, match=r"exceed 2\*\*62"):
        far_devices().concatenated(dict.fromkeys("0123", 2**63))


def test_the_rate_of_a_long_trace_does_not_wrap():
    count = 20_000
    time = np.concatenate([np.zeros(count - 1), [1e15]])
    zeros = np.zeros(count, int)
    figures = characteristics(request_trace(time, zeros, zeros, zeros + 512, zeros))
    assert figures.peak_to_mean == pytest.approx((count - 1) * 1e15 / count)


def overlapping(count, size=2**20, span=2**30):
    rng = np.random.default_rng(5)
    offset = rng.integers(0, span - size, count)
    return request_trace(np.arange(count), np.zeros(count), offset, np.full(count, size), rng.random(count) < 0.5)


def test_memory_for_overlapping_requests_grows_with_their_number_alone():
    trace = overlapping(100_000)
    assert peak(lambda: characteristics(trace)) < 100e6


def test_cache_hits_of_requests_beyond_any_memory_raise():
    zeros = np.zeros(1000, int)
    trace = request_trace(zeros, zeros, zeros, zeros + 2**40, zeros == 0)
    with pytest.raises(InputError, match=r"134217728000 blocks of 8192 bytes.*larger block"):
        hit_rates(trace, [1])
