"""Test every format: hand-written samples, random records written and read back, faults, damage."""

import struct
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.workload.trace import RequestTrace, chunks, read, request_trace

FILETIME = 128_166_372_003_061_629
SRT_HEADERS = {
    "1.3": b"$$TR_IOREC-1.3 (test)\0\nversion = 1.3;\nsectorsize  = 256,\n\f",
    "1.7": b"$$TR_IOREC-1.7 : test\0\nversion = 1.7;\n\f",
}
anytime = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


# Writers: each converts rows (time us, device, 512 B block, blocks, read, response us) to bytes.


def write_spc(rows):
    return "".join(f"{d},{b},{n * 512},{'R' if r else 'w'},{t / 1e6:.6f}\n" for t, d, b, n, r, _ in rows).encode()


def write_msr(rows):
    return "".join(
        f"{FILETIME + t * 10},usr,{d},{'Read' if r else 'Write'},{b * 512},{n * 512},{w * 10}\n"
        for t, d, b, n, r, w in rows
    ).encode()


def write_disksim(rows):
    return "".join(f"{t / 1e3:.3f} {d} {b} {n} {r:x}\n" for t, d, b, n, r, _ in rows).encode()


def write_srt13(rows):
    return SRT_HEADERS["1.3"] + b"".join(
        struct.pack(
            ">14I", 56, 0x40001, t // 10**6, t % 10**6, 0, w, n * 512, b * 2,
            0x08000000 | d << 8 | 7, 4, 0, r | 0x100, 0, 1,
        )
        for t, d, b, n, r, w in rows
    )  # fmt: skip


def write_srt17(rows):
    return SRT_HEADERS["1.7"] + b"".join(
        struct.pack(
            ">16IQ4I", 88, 0x70001, t // 10**6, t % 10**6, 0, w, n * 512, 1, d, 0, 0, r, 0, 0, 0, 0,
            b * 512, 0, 0, 0, 0,
        )
        for t, d, b, n, r, w in rows
    )  # fmt: skip


def write_validate(rows):
    return "".join(f"{'R' if r else 'W'} Hit {b:8d} {n:3d} {w}.00000 {t}.5\n" for t, _, b, n, r, w in rows).encode()


def write_fio(rows) -> bytes:
    """Write lines with priorities and issue times."""
    return b"".join(
        b"%d, %d, %d, %d, %d, 0x0000, %d\n" % ((t + w) // 1000, w * 1000, not r, n * 512, b * 512, t * 1000)
        for t, _, b, n, r, w in rows
    )


def write_blkparse(rows) -> bytes:
    events = [(t, "Q", i) for i, (t, *_) in enumerate(rows)] + [(t + w, "C", i) for i, (t, *_, w) in enumerate(rows)]
    lines = []
    for number, (t, action, i) in enumerate(sorted(events, key=lambda event: (event[0], event[1] == "C"))):
        _, device, block, blocks, is_read, _ = rows[i]
        tail = "[0]" if action == "C" else "[fio]"
        lines.append(
            f"{'8,' + str(device):>5} {number % 4:>4} {number:>8} {t // 10**6:>5}.{t % 10**6 * 1000:09} {77:>5} {action:>2} "
            f"{'R' if is_read else 'WS':>3} {block} + {blocks} {tail}\n"
        )
    return "".join(lines).encode()


def write_biosnoop(rows) -> bytes:
    return b"".join(
        b"%d.%06d fio 697 sd%d %s %d %d %d.%03d\n"
        % (*divmod(t + w, 10**6), d, b"R" if r else b"WS", b, n * 512, *divmod(w, 1000))
        for t, d, b, n, r, w in rows
    )


WRITERS = {
    "biosnoop": write_biosnoop,
    "blkparse": write_blkparse,
    "spc": write_spc,
    "msr": write_msr,
    "disksim": write_disksim,
    "srt13": write_srt13,
    "srt17": write_srt17,
}
DEVICE_NAME = {"biosnoop": "sd{}", "blkparse": "8,{}", "msr": "usr.{}", "srt17": "0x{:08x}"}

rows = st.lists(
    st.tuples(
        st.integers(0, 10**10), st.integers(0, 30), st.integers(0, 2**29), st.integers(1, 2**20),
        st.booleans(), st.integers(0, 10**9),
    ),
    min_size=1, max_size=30,
).map(sorted)  # fmt: skip

ROWS = [(0, 0, 8, 2, True, 5), (1500, 11, 16, 8, False, 70), (2000, 2, 24, 1, True, 900)]
ALL = {**WRITERS, "validate": write_validate, "fio": write_fio}


def save(folder, data, name="sample"):
    path = folder / name
    path.write_bytes(data)
    return path


def checked(trace: RequestTrace) -> RequestTrace:
    """Return the same trace from the constructor that rejects anything invalid."""
    return request_trace(
        trace.time, trace.device, trace.offset, trace.size, trace.read, devices=trace.devices,
        measured_response=trace.measured_response, think=trace.think,
    )  # fmt: skip


def assert_same(one: RequestTrace, other: RequestTrace):
    assert one.devices == other.devices and one.origin == other.origin
    assert one.columns().keys() == other.columns().keys()
    for name, array in one.columns().items():
        np.testing.assert_array_equal(array, other.columns()[name], err_msg=name)
        assert array.dtype == other.columns()[name].dtype


# Samples worked by hand.


def test_spc_sample(tmp_path):
    text = b"0,303567,3584,w,0.000000\n3,55590,3072,R,0.026214\n10,1,512,r,0.5\n"
    trace = read(save(tmp_path, text))
    assert trace.source.format == "spc" and trace.devices == ("0", "3", "10")
    assert trace.device.tolist() == [0, 1, 2]
    assert trace.offset.tolist() == [303567 * 512, 55590 * 512, 512]
    assert trace.size.tolist() == [3584, 3072, 512]
    assert trace.read.tolist() == [False, True, True]
    assert trace.time.tolist() == [0.0, 0.026214, 0.5]
    assert trace.asynchronous is None and trace.measured_response is None


def test_msr_sample_keeps_every_tick_of_the_filetime(tmp_path):
    text = (
        b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
        b"128166372003061629,hm,1,Read,383496192,32768,413\n"
        b"128166372003061630,prxy,0,Write,0,512,10000000\n"
    )
    trace = read(save(tmp_path, text))
    assert trace.source.format == "msr" and trace.devices == ("hm.1", "prxy.0")
    assert trace.time.tolist() == [0.0, 1e-7]
    assert trace.origin == 12816637200.3061629
    assert trace.measured_response.tolist() == [41.3e-6, 1.0]


def test_disksim_sample_has_hexadecimal_flags(tmp_path):
    trace = read(save(tmp_path, b"10.5 2 100 8 1\n12.5 0 7 1 0\n20 2 108 8 2b\n"))
    assert trace.source.format == "disksim" and trace.devices == ("0", "2")
    assert trace.origin == 0.0105 and trace.time.tolist() == [0.0, 0.002, 0.0095]
    assert trace.offset.tolist() == [51200, 3584, 55296]
    assert trace.read.tolist() == [True, False, True]


def test_vscsi_sample_has_the_header_of_vscsistats_as_comments(tmp_path):
    text = (
        b"#Vscsi Cmd Trace. (Trace Format Version 1)\n"
        b"#Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,Time Stamp (microseconds)\n"
        b"2147483692,4096,1,write,24048792,2756778716647\n2147483769,512,2,read,6322464,2756778716649\n"
        b"2147483770,0,0,read,0,2756778716650\n"
    )
    trace = read(save(tmp_path, text))
    assert trace.source.format == "vscsi" and trace.devices == ("0",) and trace.source.skipped == {"empty": 1}
    assert trace.time.tolist() == [0.0, 2e-6] and trace.size.tolist() == [4096, 512]
    assert trace.offset.tolist() == [24048792 * 512, 6322464 * 512] and trace.read.tolist() == [False, True]


@pytest.mark.parametrize("header", [b"version,time,op,size,lbn\n", b""])
def test_libcachesim_sample_has_codes_of_scsi_and_whole_seconds(tmp_path, header):
    """Codes 2a and 8A are writes, 28 and 0x88 reads, 42 is a trim. Two requests of a second are half a second apart."""
    text = (
        b"1,33898,2a,512,42932745\n1,33898,28,4096,7\n1,33899,42,512,8\n1,33900,0x88,512,9\n2,33900,8A,1024,10\n"
        b"1,33900,28,0,11\n"
    )
    trace = read(save(tmp_path, header + text))
    assert trace.source.format == "libcachesim" and trace.source.skipped == {"trim": 1, "empty": 1}
    assert trace.time.tolist() == [0.0, 0.5, 2.0, 2.5] and trace.read.tolist() == [False, True, True, False]
    assert trace.offset.tolist() == [42932745 * 512, 7 * 512, 9 * 512, 10 * 512]
    assert trace.size.tolist() == [512, 4096, 512, 1024] and "whole seconds" in trace.source.notes[0]


WITHOUT_DATA = {
    "msr": ("1{i},hm,1,{op},512,{size},4\n", ("Read", "Trim", "FLUSH")),
    "alibaba": ("4,{op},512,{size},1{i}\n", ("R",)),
    "tencent": ("153832320{i},8,{size},{op},3\n", ("0",)),
    "fiu": ("1{i} 7 proc 8 {size} {op} 6 0\n", ("R", "D", "flush")),
}


@pytest.mark.parametrize("comment", [b"", b"#\n"])
@pytest.mark.parametrize("kind", WITHOUT_DATA)
def test_requests_without_data_and_of_other_kinds_are_skipped_and_counted(tmp_path, kind, comment):
    """In blocks that are parsed at once, and line by line."""
    line, operations = WITHOUT_DATA[kind]
    rows = [(operations[0], 0), (operations[0], 8), (operations[0], 0), *((one, 0) for one in operations[1:])]
    rows.append((operations[0], 16))
    text = "".join(line.format(i=i, op=op, size=size) for i, (op, size) in enumerate(rows))
    trace = read(save(tmp_path, comment + text.encode()))
    assert trace.source.format == kind and len(trace) == 2 and (trace.size % 8 == 0).all() and trace.read.all()
    others = {"trim": 1, "flush": 1} if len(operations) > 1 else {}
    assert trace.source.skipped == {"empty": 2} | others


def test_validate_arrivals_follow_service_and_think_times(tmp_path):
    text = (
        b"W Hit    4583176   4    663.00000  45422.00000\n"
        b"R Miss   100 12   1000.0  2000.5\n"
        b"R Doub   200  1   1.0  0.0\n"
    )
    trace = read(save(tmp_path, text))
    assert trace.source.format == "disksim-validate"
    np.testing.assert_allclose(trace.time, [0, 46085e-6, 49085.5e-6], rtol=1e-15)
    np.testing.assert_allclose(trace.measured_response, [663e-6, 1e-3, 1e-6], rtol=1e-15)
    np.testing.assert_allclose(trace.think, [45422e-6, 2000.5e-6, 0], rtol=1e-15)


def test_fio_logs_give_the_issue_times_of_requests(tmp_path):
    """Issue times are 5 us and 25 us after the start.

    Without issue times, the time is the entry's time minus the latency. For the second request this is a millisecond
    minus 70 us.
    """
    issued = b"0, 700000, 0, 4096, 8192, 0, 5000\n1, 70000, 1, 512, 0, 0, 25000\n"
    trace = read(save(tmp_path, issued))
    assert trace.source.format == "fio" and trace.devices == ("0",)
    np.testing.assert_allclose(trace.time, [0, 20e-6], rtol=1e-15)
    np.testing.assert_allclose(trace.measured_response, [0.7e-3, 0.07e-3], rtol=1e-15)
    assert (trace.offset.tolist(), trace.size.tolist(), trace.read.tolist()) == ([8192, 0], [4096, 512], [True, False])
    for rest in (b"", b", 0"):
        short = b"".join(line.rsplit(b", ", 2)[0] + rest + b"\n" for line in issued.splitlines())
        assert read(save(tmp_path, short)).time == pytest.approx([0, 1.63e-3])


def test_srt_flags_and_sectors(tmp_path):
    trace = read(save(tmp_path, write_srt13(ROWS)))
    assert trace.source.format == "srt" and trace.devices == ("0", "2", "11")
    assert trace.asynchronous.tolist() == [True] * 3
    assert trace.offset.tolist() == [8 * 512, 16 * 512, 24 * 512]
    longer = write_srt13(ROWS).replace(b"sectorsize  = 256", b"sectorsize  = 512")
    assert read(save(tmp_path, longer)).offset.tolist() == [8 * 1024, 16 * 1024, 24 * 1024]


# Random records, written and read back.


@pytest.mark.parametrize("kind", WRITERS)
@anytime
@given(rows=rows)
def test_written_records_are_read_back(tmp_path, kind, rows):
    trace = read(save(tmp_path, WRITERS[kind](rows)))
    start, device, block, blocks, is_read, response = zip(*rows, strict=True)
    np.testing.assert_allclose(trace.time, np.subtract(start, start[0]) / 1e6, atol=2e-12)
    named = [trace.devices[i] for i in trace.device]
    assert named == [DEVICE_NAME.get(kind, "{}").format(d) for d in device]
    assert trace.offset.tolist() == [512 * b for b in block]
    assert trace.size.tolist() == [512 * n for n in blocks]
    assert trace.read.tolist() == list(is_read)
    if kind in ("msr", "srt13", "srt17", "biosnoop"):
        np.testing.assert_allclose(trace.measured_response, np.divide(response, 1e6), rtol=1e-15)
    if kind == "blkparse":
        # equal requests in progress at the same time cannot be distinguished: compare only the times of their
        # completions
        ends = np.add(start, response) - start[0]
        found = np.rint((trace.time + trace.measured_response) * 1e6)
        of_kind = [sorted(zip(device, block, blocks, is_read, when, strict=True)) for when in (ends, found)]
        assert of_kind[0] == of_kind[1]
    checked(trace)


FIELDS = {"spc": 5, "msr": 7, "disksim": 5, "validate": 6, "fio": 7, "biosnoop": 8}


@pytest.mark.parametrize("kind", FIELDS)
@settings(anytime, max_examples=50)
@given(rows=rows)
def test_line_by_line_equals_whole_blocks(tmp_path, kind, rows):
    data = ALL[kind](rows)
    fast = read(save(tmp_path, data))
    slow = read(save(tmp_path, b"# a comment\n\n  \n" + data.replace(b"\n", b"\r\n")))
    assert_same(fast, slow)


@pytest.mark.parametrize(("kind", "which"), [(kind, n) for kind, count in FIELDS.items() for n in range(count)])
@settings(anytime, max_examples=40)
@given(token=st.text("0123456789+-._eExXrRwWadinf \t\r\x00\xff,", max_size=24))
def test_both_passes_agree_on_any_field(tmp_path, kind, which, token):
    lines = ALL[kind](ROWS).split(b"\n")
    glue = b"," if b"," in lines[1] else b" "
    parts = lines[1].split() if glue == b" " else lines[1].split(b",")
    assert len(parts) == FIELDS[kind]
    parts[which] = token.encode("latin-1")
    lines[1] = glue.join(parts)
    name = "disksim-validate" if kind == "validate" else kind

    def outcome(data):
        try:
            return read(save(tmp_path, data), name, disorder_limit=np.inf)
        except InputError as error:
            return str(error)

    fast, slow = outcome(b"\n".join(lines)), outcome(b"#\n" + b"\n".join(lines))
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == str(slow).replace("line 3", "line 2")
    else:
        assert_same(fast, slow)


@pytest.mark.parametrize("kind", ALL)
def test_joined_chunks_equal_the_result_of_read(tmp_path, kind, monkeypatch):
    # Late chunks bring devices that sort before those of early ones.
    rows = [(1000 * i, 12 - i // 40, 8 * i, 1 + i % 5, i % 3 == 0, i) for i in range(500)]
    path = save(tmp_path, ALL[kind](rows))
    whole = read(path)
    monkeypatch.setattr("storagekit.workload.trace.text.BLOCK", 1000)
    monkeypatch.setattr("storagekit.workload.trace.srt.CHUNK", 37)
    monkeypatch.setattr("storagekit.workload.trace.block_events.CHUNK", 37)
    parts = list(chunks(path))
    assert len(parts) > 5
    assert_same(read(path), whole) if kind != "validate" else None
    np.testing.assert_allclose(np.concatenate([part.time for part in parts]), whole.time)
    names = [part.devices[i] for part in parts for i in part.device]
    assert names == [whole.devices[i] for i in whole.device]


# Order of time.


def test_small_disorder_is_sorted_stably_and_counted(tmp_path):
    text = b"0,1,512,r,5.0\n0,2,512,r,4.0\n0,3,512,r,4.5\n0,4,512,r,5.0\n0,5,512,r,4.0\n"
    trace = read(save(tmp_path, text))
    assert (trace.offset // 512).tolist() == [2, 5, 3, 1, 4]
    assert trace.time.tolist() == [0.0, 0.0, 0.5, 1.0, 1.0] and trace.origin == 4.0
    assert trace.source.disorder == 3


def test_large_disorder_raises_at_its_line(tmp_path):
    path = save(tmp_path, b"0,1,512,r,100\n#\n0,2,512,r,200\n0,3,512,r,120\n")
    with pytest.raises(InputError, match=r"line 4 is 80 s earlier .*only up to 60 s.*disorder_limit"):
        read(path)
    assert read(path, disorder_limit=100).source.disorder == 1


def test_equal_times_keep_the_order_of_the_file(tmp_path):
    lines = [b"0,%d,512,r,%d" % (i, 7 - i * i % 7) for i in range(2000)]
    trace = read(save(tmp_path, b"\n".join(lines) + b"\n"))
    expected = sorted(range(2000), key=lambda i: 7 - i * i % 7)
    assert (trace.offset // 512).tolist() == expected


def test_blank_lines_are_counted_in_line_numbers(tmp_path):
    text = b"0,1,512,r,100\n\n0,2,512,r,200\n0,3,512,r,120\n"
    with pytest.raises(InputError, match="line 4 is 80 s earlier"):
        read(save(tmp_path, text))
    assert len(read(save(tmp_path, text), disorder_limit=80)) == 3


def test_records_are_counted_across_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("storagekit.workload.trace.srt.CHUNK", 2)
    with pytest.raises(InputError, match="record 3 is truncated"):
        read(save(tmp_path, write_srt17(ROWS)[:-1]))


def test_disorder_is_seen_across_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("storagekit.workload.trace.text.BLOCK", 16)
    path = save(tmp_path, b"0,1,512,r,100\n0,2,512,r,200\n0,3,512,r,120\n")
    with pytest.raises(InputError, match="line 3"):
        read(path)


# Faults, one by one.

GOOD = b"0,1,512,r,0.0\n"
FAULTS = [
    ("spc", GOOD + b"0,x,512,r,1.0\n", r"line 2 has LBA 'x', must be an integer from 0"),
    ("spc", GOOD + b"0,1.5,512,r,1.0\n", r"line 2 has LBA '1\.5'"),
    ("spc", GOOD + b"0,-4,512,r,1.0\n", r"line 2 has LBA '-4'"),
    ("spc", GOOD + b"0,99999999999999999999,512,r,1.0\n", r"line 2 has LBA '9{20}'"),
    ("spc", GOOD + b"0," + b"9" * 9000 + b",512,r,1.0\n", r"line 2 has LBA '9{37}\.\.\.'"),
    ("spc", GOOD + b"0,1,-512,r,1.0\n", r"line 2 has size '-512'"),
    ("spc", GOOD + b"-1,1,512,r,1.0\n", r"line 2 has ASU '-1'"),
    ("spc", GOOD + b"0,1,512,q,1.0\n", r"line 2 has opcode 'q', must be 'r' or 'w'"),
    ("spc", GOOD + b"0,1,512,rw,1.0\n", r"line 2 has opcode 'rw'"),
    ("spc", GOOD + b"0,1,512," + b" " * 15 + b"rw,1.0\n", r"line 2 has opcode 'rw'"),
    ("spc", GOOD + b"0,1,512,r,-1.0\n", r"line 2 has timestamp '-1\.0', must be a number from 0"),
    ("spc", GOOD + b"0,1,512,r,nan\n", r"line 2 has timestamp 'nan'"),
    ("spc", GOOD + b"0,1,512,r,inf\n", r"line 2 has timestamp 'inf'"),
    ("spc", GOOD + b"0,1,512,r\n" + GOOD, r"line 2 has 4 fields .*must have 5: ASU, LBA"),
    ("spc", GOOD + GOOD.strip() + GOOD, r"line 2 has 9 fields"),
    ("spc", GOOD + b"0,1,51", r"line 2 has 3 fields .*ends in the middle of this line"),
    ("spc", GOOD + b"\x00\x01\xfe\n", r"line 2 has .*must be printable ASCII"),
    ("spc", GOOD + b"0,1,512,r,1.0\x0c\n", r"line 2 has"),
    ("msr", b"1,h,0,Reed,0,1,1\n", r"line 1 has Type 'Reed', must be 'Read' or 'R' or 'Write' or 'W'"),
    ("msr", b"1,h,0,ReadReadReadReadRead,0,1,1\n", r"line 1 has Type"),
    ("msr", b"1," + b"h" * 64 + b",0,Read,0,1,1\n", r"line 1 has Hostname"),
    ("msr", b"1,,0,Read,0,1,1\n", r"line 1 has Hostname ''"),
    ("disksim", b"1.0 0 5 1 zz\n", r"line 1 has flags 'zz', must be a hexadecimal"),
    ("disksim", b"1.0 0 5 0 1\n", r"line 1 has blocks '0'"),
    ("disksim-validate", b"R Hit 5 1 -3.0 1\n", r"line 1 has service '-3\.0'"),
    ("fio", b"1, 2, 0, 512\n", r"has lines of 4 fields, without offsets; log the offsets \(fio: log_offset=1\)"),
    ("fio", b"1, 2, 3, 512, 0\n", r"line 1 has direction '3', must be '0' or '1' or '2'"),
    ("fio", b"1, 2, 0, 512, 0, 0\n1, 2, 0, 512, 0\n", r"line 2 has 5 fields .*must have 6: time, value"),
    ("spc", b"# nothing\n\n", r"has no request"),
    ("spc", b"1" * 3_000_000, r"line 1 is longer than 65536 bytes"),
    ("spc", SRT_HEADERS["1.7"], r"line 1 has"),
    ("srt", GOOD, r"begins with b'0,1,512.*an SRT trace begins with"),
    ("srt", SRT_HEADERS["1.7"].replace(b"1.7", b"1.5"), r"SRT version '1\.5'; only versions 1\.3"),
    ("srt", SRT_HEADERS["1.7"][:-1], r"no form feed"),
    ("srt", SRT_HEADERS["1.7"], r"has no request"),
    (
        "srt",
        write_srt13(ROWS).replace(b"\f", b"\nsectorsize = 512\n\f"),
        r"sector sizes \[256, 512\]",
    ),
    ("srt", write_srt17(ROWS)[:-1], r"record 3 is truncated after 87 of 88 bytes"),
    ("srt", write_srt17(ROWS)[:-89], r"record 2 is truncated after 87 of 88 bytes"),
]


@pytest.mark.parametrize(("name", "data", "message"), FAULTS, ids=lambda v: str(v)[:30])
def test_a_fault_is_named_with_its_place(tmp_path, name, data, message):
    with pytest.raises(InputError, match=message) as caught:
        read(save(tmp_path, data), name)
    text = str(caught.value)
    assert "sample" in text and "\n" not in text and len(text) < 400


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        (0, 57, "record 2 has length 57, must be 88 bytes"),
        (1, 9, "record 2 has type 9"),
        (3, 1_000_000, "record 2 has arrival 1000000"),
        (4, 2**31, "record 2 has end 70"),
        (6, 0, "record 2 has size 0"),
        (16, 2**31, "record 2 has offset -"),
    ],
)
def test_a_damaged_binary_word_is_named(tmp_path, word, value, message):
    data = bytearray(write_srt17(ROWS))
    struct.pack_into(">I", data, len(SRT_HEADERS["1.7"]) + 88 + 4 * word, value)
    with pytest.raises(InputError, match=message):
        read(save(tmp_path, bytes(data)))


def test_a_fault_deep_in_the_file_is_named_by_its_line(tmp_path):
    lines = [b"0,1,512,r,%d.0" % i for i in range(200_000)]
    lines[150_000] = b"0,1,512,r,oops"
    with pytest.raises(InputError, match=r"line 150001 has timestamp 'oops'"):
        read(save(tmp_path, b"\n".join(lines)))


@pytest.mark.parametrize("whole", [lambda path: [read(path)], chunks])
def test_a_last_line_without_its_end_gives_a_warning(tmp_path, whole):
    path = save(tmp_path, GOOD + GOOD.strip())
    with pytest.warns(
        RuntimeWarning, match=r"sample line 2 .the last. has no line end: .*fetch the file again"
    ) as warned:
        assert sum(map(len, whole(path))) == 2
    assert len(warned) == 1
    assert sum(map(len, whole(save(tmp_path, GOOD + GOOD + b"  \t")))) == 2


def test_text_after_a_summary_of_blkparse_may_be_cut_anywhere(tmp_path):
    assert len(read(save(tmp_path, write_blkparse(ROWS) + b"CPU0 (8,0):\n Reads Queued:   0,   "))) == 3


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("numbers", [(0, 1, 4, 7, 11), pytest.param(range(12), marks=pytest.mark.slow)], ids=len)
def test_no_cut_is_silently_read_as_a_shorter_file(tmp_path, kind, numbers):
    """A cut within a line or a record raises or warns; without either, all records before the cut are read."""
    data = ALL[kind]([(1500 * i, i % 3, 8 * i, 1 + i % 5, i % 2 == 0, 70 * i) for i in numbers])
    whole = read(save(tmp_path, data))
    warned = 0
    for end in range(1, len(data)):
        try:
            with warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always")
                part = read(save(tmp_path, data[:end]))
        except InputError:
            continue
        if noted:
            warned += 1
            assert data[end - 1 : end] != b"\n" and len(noted) == 1
            continue
        for name, array in part.columns().items():
            if name != "device":
                np.testing.assert_array_equal(array, whole.columns()[name][: len(part)], err_msg=f"{name}, {end} bytes")
        assert kind.startswith("srt") or data[:end].rstrip(b" ").endswith(b"\n")
    assert (warned > 0) != kind.startswith("srt")


# Recognising a format.


@pytest.mark.parametrize("kind", ALL)
def test_the_format_is_recognised_for_any_file_name(tmp_path, kind):
    trace = read(save(tmp_path, ALL[kind](ROWS), "trace.txt"))
    assert trace.source.format == {
        "srt13": "srt", "srt17": "srt", "validate": "disksim-validate",
    }.get(kind, kind)  # fmt: skip


def test_a_damaged_first_line_does_not_hide_the_format(tmp_path):
    with pytest.raises(InputError, match=r"line 1 has opcode 'z'.*read as spc"):
        read(save(tmp_path, b"0,1,512,z,0.0\n" + GOOD))


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"hello world\n", r"2 fields, separated by blanks: 'hello world'"),
        (b"1,2\n3,4\n", r"2 fields, separated by commas: '1,2'"),
        (b"# made by hand\n\n7;80;40;R;5\n8;90;4;W;5\n", r"5 fields, separated by semicolons: '7;80;40;R;5'"),
        (b"7\t80\t4 0\tR\n8\t90\t4 0\tW\n", r"4 fields, separated by tabs: '7.{2}80.*'"),
        (b"7|80|4|R\n" * 3, r"4 fields, separated by bars: '7.80.4.R'"),
        (b"one\n", r"one field: 'one'"),
        (b"\x00\xff" * 500, r"one field: '\\x00\\xff.*\.\.\.'"),
    ],
)
def test_no_format_is_a_clear_error_with_the_form_of_the_first_line(tmp_path, data, form):
    with pytest.raises(
        InputError, match=rf"none of the formats srt, parquet, .*; its first line has {form}; name them: --columns time"
    ) as caught:
        read(save(tmp_path, data))
    assert str(caught.value).isprintable() and len(str(caught.value)) < 400 + len(str(tmp_path))


def test_a_file_of_comments_is_none_of_the_formats(tmp_path):
    with pytest.raises(InputError, match=r"none of the formats .* it has no line with content at its beginning"):
        read(save(tmp_path, b" \n\n#\n"))


def test_a_direction_of_a_trim_alone_is_no_log_of_fio(tmp_path):
    with pytest.raises(InputError, match="none of the formats"):
        read(save(tmp_path, b"2147483692,4096,2,write,24048792,x\n" * 3))


def test_an_unknown_format_name_lists_the_known(tmp_path):
    with pytest.raises(InputError, match="'blk' is unknown; give one of srt, parquet, fio-iolog, spc"):
        read(save(tmp_path, GOOD), "blk")


# Damage anywhere: an InputError or a valid trace, never anything else.


@st.composite
def damage(draw):
    """Draw a function that damages some bytes: it cuts, drops, overwrites or doubles a part."""
    at = draw(st.floats(0, 1))
    length = draw(st.integers(1, 40))
    junk = draw(st.binary(min_size=0, max_size=12))
    kind = draw(st.sampled_from(["cut", "drop", "overwrite", "double"]))

    def apply(data: bytes) -> bytes:
        i = int(at * len(data))
        if kind == "cut":
            return data[:i]
        if kind == "drop":
            return data[:i] + data[i + length :]
        if kind == "overwrite":
            return data[:i] + junk + data[i + len(junk) :]
        return data[: i + length] + data[i:]

    return apply


# damage can make a trace suspicious, and a warning then is right
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ALL)
@settings(anytime, max_examples=60)
@given(rows=rows, harm=damage(), named=st.booleans())
def test_damage_is_an_input_error_or_a_valid_trace(tmp_path, kind, rows, harm, named):
    path = save(tmp_path, harm(ALL[kind](rows)))
    forced = {"srt13": "srt", "srt17": "srt", "validate": "disksim-validate"}.get(kind, kind)
    try:
        checked(read(path, forced if named else None))
    except InputError as error:
        assert "sample" in str(error) and "\n" not in str(error)
