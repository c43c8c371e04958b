"""Test tables: columns that the caller names, columns that a header determines, and what is skipped, limited or warned."""

import time
import warnings
from random import Random

import damaged_traces
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.workload.trace import read

HEADER = "ts,volume,op,lba,blocks,latency_us\n"
ROWS = "0.5,b,read,8,2,70\n0.75,a,W,16,1,90\n0.8,a,trim,0,0,1\n"
NAMED = "time=ts,device=volume,operation=op,offset=lba:sectors,size=blocks:sectors,response=latency_us:us"
NUMBERED = "time=1,device=2,operation=3,offset=4:sectors,size=5:sectors,response=6:us"


def saved(folder, text: str | bytes, name="table.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def assert_rows(trace):
    assert trace.source.format == "table" and trace.devices == ("a", "b") and trace.device.tolist() == [1, 0]
    assert trace.time.tolist() == [0.0, 0.25] and trace.origin == 0.5
    assert trace.offset.tolist() == [4096, 8192] and trace.size.tolist() == [1024, 512]
    assert trace.read.tolist() == [True, False] and trace.source.skipped == {"trim": 1}
    np.testing.assert_allclose(trace.measured_response, [70e-6, 90e-6], rtol=1e-15)


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", "  "])
@pytest.mark.parametrize(("header", "columns"), [(HEADER, NAMED), ("", NUMBERED), (HEADER, NUMBERED)])
def test_named_columns_are_read_with_any_separator(tmp_path, separator, header, columns):
    text = (header + ROWS).replace(",", separator)
    assert_rows(read(saved(tmp_path, text), columns=columns))


def test_a_mapping_of_columns_is_as_good_as_text(tmp_path):
    columns = dict(part.split("=") for part in NAMED.split(","))
    assert_rows(read(saved(tmp_path, HEADER + ROWS), columns=columns))


def test_comments_and_a_byte_order_mark_may_stand_before_the_header(tmp_path):
    assert_rows(read(saved(tmp_path, "\ufeff# made by hand\n\n" + HEADER + ROWS), columns=NAMED))


def test_plain_names_determine_the_columns_and_the_interpretation_is_noted(tmp_path):
    text = "time_us,device,op,offset_bytes,nr_sectors,note\n1500000,x,R,4096,8,hello world\n2500000,x,W,0,1,\n"
    trace = read(saved(tmp_path, text))
    assert trace.time.tolist() == [0.0, 1.0] and trace.size.tolist() == [4096, 512]
    assert trace.source.notes == (
        "columns: time from time_us (us), offset from offset_bytes (bytes), size from nr_sectors (sectors), operation "
        "from op, device from device",
    )


@pytest.mark.parametrize(
    ("header", "unclear"),
    [
        ("time,device,op,offset_bytes,size_bytes", "the unit of time is not given"),
        ("time_us,device,op,offset,lba,size_bytes", "offset may be offset, lba"),
        ("time_us,device,color,offset_bytes,size_bytes", "no name for operation"),
    ],
)
def test_names_that_leave_a_doubt_raise_with_the_mapping_to_complete(tmp_path, header, unclear):
    values = ",".join("1" for _ in header.split(","))
    with pytest.raises(InputError, match=rf"{unclear}.*columns\): time="):
        read(saved(tmp_path, f"{header}\n{values}\n"))


def test_numbers_of_operations_need_their_meaning(tmp_path):
    text = "1,0,512,0\n2,0,512,1\n"
    columns = "time=1,offset=2,size=3,operation=4"
    assert read(saved(tmp_path, text), columns=columns + ":0=read").read.tolist() == [True, False]
    assert read(saved(tmp_path, text), columns=columns + ":1=read").read.tolist() == [False, True]
    with pytest.raises(InputError, match="line 1 has column 4 '0', must be a word such as R, read"):
        read(saved(tmp_path, text), columns=columns)


@pytest.mark.parametrize(("operation", "reads"), [("read", True), ("write", False)])
def test_a_table_without_operations_has_one_for_all_requests(tmp_path, operation, reads):
    """A trace of a cache, as libCacheSim reads it: time-col=1,obj-id-col=2,obj-size-col=3."""
    text = "time,obj_id,obj_size,next\n1,7,512,-1\n2,9,1024,-1\n"
    columns = f"time=time,offset=obj_id:pages,size=obj_size,operation=:{operation}"
    trace = read(saved(tmp_path, text), columns=columns)
    assert trace.read.tolist() == [reads, reads] and trace.offset.tolist() == [7 * 4096, 9 * 4096]
    assert trace.source.notes == (
        "columns: time from time (s), offset from obj_id (pages), size from obj_size (bytes), all requests are "
        f"{operation}s",
    )
    numbers = read(saved(tmp_path, text.partition("\n")[2]), columns=f"time=1,offset=2,size=3,operation=:{operation}")
    assert numbers.read.tolist() == [reads, reads] and numbers.offset.tolist() == [7, 9]


DATED = (
    "2024-02-29T23:59:59.999999,R,0,512\n2024-03-01 00:00:00.000001Z,W,512,512\n2024-03-01 00:00:00.0000013,R,9,512\n"
)


@pytest.mark.parametrize("mark", ["", "#\n"])
@pytest.mark.parametrize("header", ["", "when,op,offset,size\n", "time,op,offset,size\n"])
def test_dates_are_read_as_seconds_since_1970(tmp_path, mark, header):
    """With a named, a numbered and a plain column; in blocks that are parsed at once, and line by line."""
    columns = None if "time" in header else f"time={'when' if header else 1},operation=2,offset=3,size=4"
    trace = read(saved(tmp_path, mark + header + DATED), columns=columns)
    assert trace.time.tolist() == [0.0, 2e-6, 2.3e-6] and trace.origin == pytest.approx(1709251199.999999, abs=1e-6)
    assert trace.read.tolist() == [True, False, True] and "(date, UTC)" in trace.source.notes[0]


@pytest.mark.parametrize(
    "wrong",
    ["2024-02-30T00:00:00", "2024-03-01 24:00:00", "2024-03-01", "2024-03-01  00:00:00", "1969-12-31 23:59:59",
     "2262-01-01 00:00:00", "2024-03-01 00:00:00+02:00", "2024-03-01 00:00:00.", "2024-03-01 00:00:60", "1709251200"],
)  # fmt: skip
def test_a_date_that_does_not_exist_or_has_another_form_raises(tmp_path, wrong):
    text = DATED + f"{wrong},R,0,512\n"
    with pytest.raises(InputError, match=r"line 4 has column 1 '.*', must be a date and time in UTC from 1970 to 2261"):
        read(saved(tmp_path, text), columns="time=1,operation=2,offset=3,size=4")


def test_dates_have_no_unit(tmp_path):
    with pytest.raises(InputError, match="column 1 has dates, which have no unit; give time=1"):
        read(saved(tmp_path, DATED), columns="time=1:us,operation=2,offset=3,size=4")


def test_a_missing_operation_raises_with_the_column_or_the_operation_of_all(tmp_path):
    with pytest.raises(
        InputError, match="operation is missing; give operation=NAME, or operation=:read if all requests"
    ):
        read(saved(tmp_path, HEADER + ROWS), columns="time=ts,offset=lba,size=blocks")


def test_requests_without_data_are_skipped_and_counted(tmp_path):
    """Also where a column without a use has the name of the size."""
    text = "size,time_us,op,lba,size\nx,5,R,8,0\nx,6,R,8,512\nx,7,trim,8,0\n"
    columns = "time=time_us:us,operation=op,offset=lba:sectors,size=5"
    for mark in ("", "#\n"):
        trace = read(saved(tmp_path, text + mark), columns=columns)
        assert trace.size.tolist() == [512] and trace.source.skipped == {"empty": 1, "trim": 1}


def test_codes_of_scsi_commands_are_operations(tmp_path):
    text = "1;28;0;512\n2;0x2A;0;512\n3;8;0;512\n4;0a;0;512\n5;35;0;0\n6;a0;0;0\n"
    columns = "time=1,operation=2:scsi,offset=3,size=4"
    trace = read(saved(tmp_path, text), columns=columns)
    assert trace.read.tolist() == [True, False, True, False] and trace.source.skipped == {"flush": 1, "other": 1}
    with pytest.raises(InputError, match="line 3 has column 2 'ff', must be the operation code of a SCSI command"):
        read(saved(tmp_path, text.replace(";8;", ";ff;")), columns=columns)


THESIOS = (
    "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,from_flash_cache,cache_hit,"
    "request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time,simulated_disk_start_time,"
    "simulated_latency\n"
    "aa,4096,app,1,COLD,REPLICATED,READ,OTHER,0,0,1050624,0,0,1705305600.25,0.0,0.0,0.001\n"
    "bb,0,app,1,WARM,REPLICATED,WRITE,OTHER,0,-1,8192,0,0,1705305600.5,0.0,0.0,0.002\n"
    "bb,0,app,1,WARM,REPLICATED,READ,OTHER,0,-1,0,0,0,1705305600.75,0.0,0.0,0.002\n"
)
IOSNOOP = (
    "STARTs          ENDs            COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n"
    "5982800.302061  5982800.302679  supervise    1809   W    202,1    17039600     4096       0.62\n"
    "5982800.302423  5982800.302842  supervise    1809   R    202,1    17039608     512        0.42\n"
)


def test_the_names_of_thesios_are_plain(tmp_path):
    trace = read(saved(tmp_path, THESIOS))
    assert trace.devices == ("aa", "bb") and trace.time.tolist() == [0.0, 0.25] and trace.read.tolist() == [True, False]
    assert trace.offset.tolist() == [4096, 0] and trace.size.tolist() == [1050624, 8192]
    assert trace.source.skipped == {"empty": 1}


def test_the_columns_of_iosnoop_are_named(tmp_path):
    columns = "time=STARTs,offset=BLOCK:sectors,size=BYTES,operation=TYPE,device=DEV,response=LATms:ms"
    trace = read(saved(tmp_path, IOSNOOP), columns=columns)
    assert trace.devices == ("202,1",) and trace.read.tolist() == [False, True] and trace.size.tolist() == [4096, 512]
    np.testing.assert_allclose(trace.time, [0, 362e-6], atol=1e-9)
    np.testing.assert_allclose(trace.measured_response, [0.62e-3, 0.42e-3])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("time=ts,offset=lba", "size is missing; give size=NAME"),
        ("time=ts,offset=lba,size=blocks,operation=op,where=x", "column 'where': give one of time, offset"),
        ("time=ts:minutes,offset=lba,size=blocks,operation=op", "unit of time 'minutes': give one of s, ms, us, ns"),
        ("time=ts,offset=lba:sectors,size=nothing,operation=op", "has no column 'nothing' for size; give one of"),
        ("time=9,offset=lba:sectors,size=blocks,operation=op", "has no column '9' for time"),
        ("time=ts,operation=:trim", "operation has no column; give operation=NAME"),
        ("time=:read", "time has no column; give time=NAME"),
        ("time ts", "'time ts' has no ="),
        ("time=a,time=b", "time is given twice"),
        ("device=a:s", "device has no unit; give device=a"),
    ],
)
def test_wrong_columns_raise_in_one_line(tmp_path, columns, message):
    with pytest.raises(InputError, match=message) as caught:
        read(saved(tmp_path, HEADER + ROWS), columns=columns)
    assert "\n" not in str(caught.value)


def test_columns_are_for_a_table_alone(tmp_path):
    with pytest.raises(InputError, match="columns are for a table, not for the format msr"):
        read(saved(tmp_path, HEADER + ROWS), "msr", columns=NAMED)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 10**15), st.integers(0, 2**40), st.integers(1, 2**20), st.booleans()),
        min_size=1, max_size=40,
    ),
    units=st.tuples(st.sampled_from(["s", "ms", "us", "ns"]), st.sampled_from(["bytes", "sectors", "KiB"])),
)  # fmt: skip
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_rows_are_read_back_in_their_units(tmp_path, rows, units):
    time_unit, size_unit = units
    rows = sorted(rows, key=lambda row: row[0])
    text = "".join(f"{'R' if r else 'W'};{t};{o};{n}\n" for t, o, n, r in rows)
    trace = read(
        saved(tmp_path, text), columns=f"operation=1,time=2:{time_unit},offset=3:{size_unit},size=4:{size_unit}"
    )  # fmt: skip
    start, offset, size, is_read = zip(*rows, strict=True)
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[time_unit]
    scale = {"bytes": 1, "sectors": 512, "KiB": 1024}[size_unit]
    np.testing.assert_array_equal(trace.time, [(t - start[0]) / ticks for t in start])
    assert trace.offset.tolist() == [scale * one for one in offset]
    assert trace.size.tolist() == [scale * one for one in size] and trace.read.tolist() == list(is_read)


# Limits, damage and doubt.

SPC = "".join(f"0,{8 * i},4096,r,{i / 10}\n" for i in range(100))


def test_no_more_than_the_requests_that_are_wanted_are_read(tmp_path):
    path = saved(tmp_path, SPC + "damaged\n")
    assert len(read(path, requests=60)) == 60
    with pytest.raises(InputError, match="line 101"):
        read(path)
    with pytest.raises(InputError, match="requests 0"):
        read(path, requests=0)


def test_damaged_lines_are_left_out_and_counted_up_to_their_limit(tmp_path):
    lines = SPC.splitlines(keepends=True)
    for at in (10, 50, 70):
        lines[at] = "0,x,4096,r,1\n"
    path = saved(tmp_path, "".join(lines))
    trace = read(path, skip_bad=3)
    assert len(trace) == 97 and trace.source.skipped == {"damaged": 3}
    with pytest.raises(InputError, match="line 71 has LBA 'x'"):
        read(path, skip_bad=2)


def test_a_few_unusual_lines_do_not_make_a_large_block_slow(tmp_path, monkeypatch):
    """Only blocks of a few lines around an unusual line are read line by line."""
    from storagekit.workload.trace.text import FEW, TextFormat

    slow = []
    whole = TextFormat._slow
    monkeypatch.setattr(
        TextFormat, "_slow", lambda self, block, stream: slow.append(block.lines) or whole(self, block, stream)
    )
    lines = [f"0,{8 * i},4096,r,{i}\n" for i in range(20_000)]
    lines[7_000] += "\n# a comment\n"
    trace = read(saved(tmp_path, "".join(lines)))
    assert len(trace) == 20_000 and trace.offset.tolist() == [4096 * i for i in range(20_000)]
    assert 0 < sum(slow) <= 2 * FEW


@pytest.mark.parametrize(
    ("lines", "sign"),
    [
        ([f"0,77,4096,r,{i}" for i in range(50)], "all 50 requests are at byte 39424: .* may not be the address"),
        ([f"0,{i},4096,r,{i * 9000}" for i in range(50)], r"one request in 8,820 s on average: the unit of its times"),
        ([f"0,{i},4096,r,{i * 1e-9:.10f}" for i in range(50)], r"1.02e\+09 requests/s on average"),
        ([f"0,{i},4096,r,3" for i in range(50)], "all requests at the same time on average"),
    ],
)
def test_what_cannot_be_right_is_a_warning(tmp_path, lines, sign):
    with pytest.warns(RuntimeWarning, match=sign):
        read(saved(tmp_path, "\n".join(lines) + "\n"), disorder_limit=np.inf)


def test_a_plausible_trace_gives_no_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(saved(tmp_path, SPC))


def test_a_tar_archive_raises_with_the_command_that_extracts_it(tmp_path):
    import tarfile

    inner = saved(tmp_path, SPC, "trace.spc")
    with tarfile.open(tmp_path / "traces.tgz", "w:gz") as archive:
        archive.add(inner, "trace.spc")
    with pytest.raises(InputError, match="is a tar archive; extract it first"):
        read(tmp_path / "traces.tgz")


@pytest.mark.filterwarnings("ignore:.*returns to the beginning")
def test_zstd_is_read_directly_and_damage_in_it_raises(tmp_path):
    import pyarrow

    packed = pyarrow.compress(SPC.encode() * 50, codec="zstd", asbytes=True)
    assert len(read(saved(tmp_path, packed), disorder_limit=np.inf)) == 5_000
    with pytest.raises(InputError, match=r"truncated|damaged"):
        read(saved(tmp_path, packed[: len(packed) // 2]), disorder_limit=np.inf)


# Recognition, and signs of a wrong reading.

FORMAT = {"srt13": "srt", "srt17": "srt", "blkparse-issue": "blkparse", "blkparse-remap": "blkparse"}


@pytest.mark.parametrize("kind", [kind for kind in damaged_traces.KINDS if kind != "table"])
def test_every_format_is_recognized_from_its_content(tmp_path, kind):
    """With and without a header, and in files of one and of many lines."""
    for number in range(60):
        path = saved(tmp_path, damaged_traces.valid(kind, Random(f"{kind} {number}")), "sample")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = read(path).source.format
        except InputError as fault:
            # a file with trims or empty requests alone, and a log of fio with one offset in all lines
            assert "has no request" in str(fault) or "all lines have offset" in str(fault)
        else:
            assert found == FORMAT.get(kind, kind)


@pytest.mark.parametrize("line", ["# a line of the description of the trace\n", "\n", " \t\r\n", "#\n"])
def test_a_long_description_does_not_hide_the_format(tmp_path, line):
    for lines in (30, 1000):
        text = "\ufeff" + line * lines + "0,8,4096,r,1.5\n0,16,512,w,1.75\n"
        trace = read(saved(tmp_path, text))
        assert trace.source.format == "spc" and trace.offset.tolist() == [4096, 8192]
        with pytest.raises(InputError, match=f"line {lines + 2} has opcode 'x'.*read as spc"):
            read(saved(tmp_path, text.replace("w", "x", 1)))
        named = read(saved(tmp_path, line * lines + HEADER + ROWS), columns=NAMED)
        assert_rows(named)


def test_a_header_may_stand_in_a_later_block_than_the_description(tmp_path, monkeypatch):
    monkeypatch.setattr("storagekit.workload.trace.text.BLOCK", 40)
    assert_rows(read(saved(tmp_path, "# a line of the description\n" * 9 + HEADER + ROWS), columns=NAMED))


def test_a_description_longer_than_the_beginning_of_a_file_takes_linear_time(tmp_path):
    began = time.process_time()
    with pytest.raises(InputError, match="it has no line with content at its beginning"):
        read(saved(tmp_path, "#\n" * 40_000 + "0,8,4096,r,1.5\n"))
    assert time.process_time() - began < 2
    assert len(read(saved(tmp_path, "#\n" * 40_000 + "0,8,4096,r,1.5\n"), "spc")) == 1


def test_a_header_of_another_table_is_no_header_of_msr(tmp_path):
    trace = read(saved(tmp_path, "timestamp_us,host,disk,type,offset,size,latency\n5,a,b,R,512,512,7\n"))
    assert trace.source.format == "table" and trace.origin == pytest.approx(5e-6)


def test_two_runs_in_one_file_are_a_warning_with_the_line(tmp_path):
    run = [f"0,{8 * i},4096,r,{i / 100}" for i in range(60)]
    with pytest.warns(RuntimeWarning, match="line 61 returns to the beginning of the trace: it may be two runs"):
        read(saved(tmp_path, "\n".join(run + run) + "\n"))
    overtaken = [*run[:40], run[41], run[40], *run[42:]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(saved(tmp_path, "\n".join(overtaken) + "\n")).source.disorder == 1


def test_sizes_below_a_sector_are_a_warning(tmp_path):
    with pytest.warns(RuntimeWarning, match="are smaller than 512 bytes: sizes and offsets may be in sectors"):
        read(saved(tmp_path, "".join(f"0,{8 * i},8,r,{i / 100}\n" for i in range(60))))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("j_iops.1.log", "5, 1, 0, 4096, 8192\n", "by its name, this file is a log of IOPS"),
        ("j_slat.2.log", "5, 1, 0, 4096, 8192\n", "by its name, this file is a log of submission latencies"),
        (
            "clat.log",
            "".join(f"{500 * i}, {9 * i}, {i % 2}, 0, 0\n" for i in range(8)),
            "of intervals, not of each request",
        ),
        ("clat.log", "5, 1, 0, 4096\n6, 1, 0, 4096\n", "without offsets; log the offsets"),
    ],
)
def test_other_logs_of_fio_are_refused_with_the_reason(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message):
        read(saved(tmp_path, text, name))


def test_quoted_fields_may_contain_separators(tmp_path):
    text = '"time_us","op","lba","size_bytes","note"\n"5","R",8,"512","a, b"\n7,"W",16,1024,""\n'
    trace = read(saved(tmp_path, text))
    assert (
        trace.time.tolist() == [0.0, 2e-6]
        and trace.offset.tolist() == [4096, 8192]
        and trace.size.tolist() == [512, 1024]
    )
    with pytest.raises(InputError, match=r"line 3 has a wrong quote .*must have a pair around a whole field"):
        read(saved(tmp_path, text.replace('1024,""', '1024,"')))


def test_a_layout_of_blkparse_is_a_table(tmp_path):
    """The page of formats has this layout and these columns."""
    path = tmp_path / "layout.txt"
    path.write_text("8,0   0.000000123 WS 2048 8\n8,0   0.001000456 R 4096 16\n8,16  0.002000000 D 0 8\n")
    trace = read(path, columns="device=1,time=2:s,operation=3,offset=4:sectors,size=5:sectors")
    assert trace.devices == ("8,0",) and trace.source.skipped == {"trim": 1}
    np.testing.assert_allclose(trace.time, [0, 0.001000333])
    assert (trace.offset.tolist(), trace.size.tolist(), trace.read.tolist()) == (
        [2**20, 2**21],
        [4096, 8192],
        [False, True],
    )
