"""Test the shapes of traces that people have: each file of ../shared/cases/traces is read as expected.json says."""

import json
import warnings

import pytest
from helpers import shared

from storagekit.core.errors import InputError
from storagekit.workload.trace import read

COLUMNS = {
    "header.csv": "time=ts,device=volume,operation=op,offset=lba:sectors,size=blocks:sectors,response=latency_us:us"
}
NOTES = {
    "blkparse_issue_complete.txt": (
        "the file has no Q events; arrivals are the D events, when the request is sent to the drive",
    ),
    "blkparse_dm_over_sda.txt": ("the requests of 253,0 are remapped to 8,0 and are counted once, at 8,0",),
}
READ = (
    "fio_v3.iolog", "fio_v2.iolog", "fio_clat_trim.1.log", "alibaba.csv", "tencent.csv", "header.csv", "msr_crlf.csv",
    *NOTES,
)  # fmt: skip
REFUSED = {
    "fio_bw.1.log": "by its name, this file is a log of bandwidth; give the log of clat or lat.*write_lat_log",
    "fio_clat_no_offset.1.log": "all lines have offset 0, which may be the priority.*log_offset=1",
}


def expected(name: str) -> dict:
    return json.loads((shared("cases", "traces") / "expected.json").read_text())[name]


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_its_documentation_says(name):
    given = expected(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = read(shared("cases", "traces") / name, columns=COLUMNS.get(name))
    assert len(trace) == given["requests"] and int(trace.read.sum()) == given["reads"]
    assert int(trace.size.sum()) == given["bytes"] and sorted(trace.devices) == sorted(given["devices"])
    assert trace.source.skipped == given.get("skipped", {})
    assert name not in NOTES or trace.source.notes == NOTES[name]


@pytest.mark.parametrize("name", REFUSED)
def test_a_log_that_is_not_one_line_a_request_raises(name):
    assert "refuse" in expected(name)
    with pytest.raises(InputError, match=REFUSED[name]):
        read(shared("cases", "traces") / name)


def test_a_bandwidth_log_is_refused_under_any_name(tmp_path):
    (tmp_path / "log").write_bytes((shared("cases", "traces") / "fio_bw.1.log").read_bytes())
    with pytest.raises(
        InputError, match=r"bandwidth, IOPS or mean latency of intervals, not of each request.*write_lat_log"
    ):
        read(tmp_path / "log")
