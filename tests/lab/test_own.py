"""Test the pages for a user's trace and drive: files dropped, fields typed, and measurements."""

import datetime
import os

import numpy as np
import pytest
from ipywidgets import FileUpload

from storagekit import lab
from storagekit.calibrate import figures
from storagekit.core.resources import data_path
from storagekit.drive import load_drive
from storagekit.lab import own_drive, trace
from storagekit.lab.drives import NEARLINE, mechanical
from storagekit.workload.trace.overview import Overview

SPC = b"0,1000,4096,r,0.1\n0,5000,8192,w,0.3\n1,200,4096,r,0.4\n0,9000,4096,r,1.1\n"


def test_a_dropped_file_is_read_like_a_file_on_disk():
    upload = trace.dashboard().controls["source"]
    assert upload.meaning(()) == trace.path_of()
    dropped = upload.meaning(({"name": "mine.spc", "content": memoryview(SPC)},))
    answer = trace.advised(dropped, mechanical(NEARLINE), disks=4)
    assert answer.found.requests == 4 and answer.found.read_share == 0.75
    text = str(trace.summary(answer))
    assert "mine.spc (spc): 4 requests" in text and "75% reads" in text


def test_a_dropped_file_that_is_no_trace_is_reported_by_its_name():
    dashboard = trace.dashboard()
    values = {name: control.meaning(control.widget().value) for name, control in dashboard.controls.items()}
    shown = dashboard.shown(values | {"source": trace.File("notes.txt", b"hello")})
    assert not shown.possible and "Notes.txt has none of the formats" in shown.said and "/tmp" not in shown.said


def test_the_chart_has_every_request_once():
    whole = trace.advised(trace.path_of(), mechanical(NEARLINE)).trace
    overview = Overview()
    overview.add(whole)
    bars = overview.arrivals()
    assert sum(row["rate"] * (row["until"] - row["at"]) for row in bars) == pytest.approx(len(whole))
    assert sum(row["percent"] for row in overview.sizes()) == pytest.approx(100)


def test_a_rate_that_no_scheme_serves_is_reported_as_overload():
    text = str(trace.summary(trace.advised(trace.path_of(), mechanical(NEARLINE), disks=4, scale=50)))
    assert text.startswith("No scheme of these drives sustains") and "overloaded" in text


def test_a_typed_drive_is_described_in_the_terms_of_a_data_sheet():
    answer = own_drive.beside(NEARLINE, "cheetah9lp")
    yours, other = answer.drives.values()
    assert yours.figures == figures(load_drive(NEARLINE)) and other.figures.capacity < yours.figures.capacity
    # with one read outstanding: the mean seek, half a turn, and the transfer of 4 KB
    least = yours.figures.average_seek + yours.figures.revolution / 2
    assert yours.reads["SATF"][0] == pytest.approx(1 / least, rel=0.02)
    assert np.all(np.diff(yours.reads["SATF"][1:]) > 0)
    shown = own_drive.dashboard().shown({"yours": "rpm=7200", "other": "cheetah9lp"})
    assert not shown.possible and "seek is missing" in shown.said


def test_a_sample_depends_on_its_seed_only_and_is_slower_than_the_sheet():
    one, same, other = (own_drive.sample("atlas10k", 400, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.measured_response, same.measured_response)
    assert not np.array_equal(one.measured_response, other.measured_response)
    true, sheet = own_drive.made("atlas10k"), load_drive("atlas10k")
    assert float(true.seek(np.array([500]))[0]) == pytest.approx(1.08 * float(sheet.seek(np.array([500]))[0]))
    # an access consists of the command, a seek, half a turn, in some cases settling, and a transfer
    means = figures(true)
    expected = means.overhead + means.average_seek + means.revolution / 2 + 0.3 * own_drive.SETTLE
    assert float(one.measured_response.mean()) == pytest.approx(expected, rel=0.15)


@pytest.mark.slow
def test_the_fit_finds_values_that_the_sheet_does_not_give():
    log = own_drive.sample(NEARLINE)
    found = own_drive.fitted(log, NEARLINE)
    true = own_drive.made(NEARLINE)
    assert float(found.drive.revolution) == pytest.approx(float(true.revolution), rel=2e-6)
    far = found.table.distance.values.round().astype(int)
    seen = np.asarray(true.seek(far), float) + own_drive.OVERHEAD
    assert (abs(found.table.seek.values - seen) < 5 * found.table.seek_error.values).all()
    table = own_drive.judged(log, NEARLINE, found)
    assert table.demerit["fitted", "all"] < 0.05 * table.demerit["data sheet", "all"]
    assert table.demerit["fitted", "all"] < 0.1


def test_figures_and_comparison_use_the_dropped_file():
    page = lab.open("trace", disks=4)
    assert trace.dropped(page) == trace.path_of()
    (upload,) = [one for one in page.children[0].children if isinstance(one, FileUpload)]
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    upload.value = ({"name": "mine.spc", "type": "", "size": len(SPC), "content": SPC, "last_modified": now},)
    file = trace.dropped(page)
    assert isinstance(file, trace.File) and file.content == SPC
    assert (
        trace.figures(file).loc["requests", "value"] == "4" != trace.figures(trace.path_of()).loc["requests", "value"]
    )


def test_a_drive_file_that_was_edited_is_read_again(tmp_path):
    file = tmp_path / "mine.toml"
    text = data_path("samples", "nearline.toml").read_text(encoding="utf-8")
    file.write_text(text)
    before = own_drive.amounts(str(file)).figures
    file.write_text(text.replace("rpm = 7200", "rpm = 5400"))
    os.utime(file, ns=(1, 1))
    assert (before.rpm, own_drive.amounts(str(file)).figures.rpm) == pytest.approx((7200, 5400))
