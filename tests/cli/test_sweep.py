"""`storagekit sweep`: its output, files, stored points and rejected input."""

import json
import sys

import pytest
import xarray as xr
from helpers import assert_same_bytes

FILE = """
import storagekit as sk

server = sk.drive.RateServer(1e5)
mixed = sk.workload.RandomRequests(sk.workload.FixedSize(4096), 0.8)

class Mine(sk.schedule.FCFS):
    pass

def build(schedule, depth):
    system = sk.System(server, sk.placement.Replicas(2), sk.dispatch.Hashing(), schedule, slots=64)
    return sk.Scenario(system, sk.workload.ClosedLoop(mixed, depth))

axes = {"schedule": [sk.schedule.SATF(), Mine()], "depth": [1, 4]}
seeds = 4
requests = 200
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "depths.py"
    path.write_text(FILE)
    return path


def test_a_sweep_is_printed_written_and_kept(storagekit, file, tmp_path):
    status, text, said = storagekit("sweep", "depths.py", "--store", "points")
    lines = text.splitlines()
    assert status == 0 and lines[0].split()[:2] == ["schedule", "depth"]
    assert [line.split()[:2] for line in lines[1:5]] == [[a, b] for a in ("SATF", "Mine") for b in "14"]
    assert lines[-1].endswith("depths.nc") and "0 of 4 points are in points; 4 to run" in said
    with xr.open_dataset(tmp_path / "depths.nc", engine="h5netcdf") as data:
        assert dict(data.response.sizes) == {"schedule": 2, "depth": 2, "seed": 4}
        assert data.schedule.values.tolist() == ["SATF", "Mine"] and data.attrs["basis"] == "simulated"
        rate = float(data.request_rate.sel(schedule="SATF", depth=4).mean())
    status, text, said = storagekit("sweep", str(file), "--store", "points", "--json", "--out", "other/again.nc")
    report = json.loads(text)
    assert status == 0 and "4 of 4 points are in points; 0 to run" in said and report["out"] == "other/again.nc"
    assert report["points"][1]["requests_per_second"] == pytest.approx(rate) and report["points"][1]["depth"] == 4
    with xr.open_dataset("depths.nc") as one, xr.open_dataset("other/again.nc") as other:
        assert_same_bytes(one, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_workers_write_the_same_bytes(storagekit, file):
    """The file defines a class, and stderr contains only the program's own messages."""
    pytest.importorskip("distributed", reason="needs the extra `distributed`: Dask is not installed")
    assert storagekit("sweep", "depths.py", "--out", "one.nc")[0] == 0
    status, _, said = storagekit("sweep", "depths.py", "--out", "two.nc", "--workers", "2")
    assert status == 0 and "Traceback" not in said
    with xr.open_dataset("one.nc") as one, xr.open_dataset("two.nc") as two:
        assert_same_bytes(one, two)


def test_a_grid_without_axes_is_one_point(storagekit, file):
    build = FILE.replace("build(schedule, depth)", "build(schedule=sk.schedule.FCFS(), depth=2)")
    file.write_text(build + "axes = {}\nseeds = 1\n")
    status, text, _ = storagekit("sweep", "depths.py")
    assert status == 0 and len(text.splitlines()) == 4 and "±" not in text


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (FILE.replace("def build", "def other"), "depths.py: `build` is not defined"),
        (FILE.replace("axes =", "grid ="), "depths.py: `axes` is not defined"),
        (FILE.replace("axes =", "axes = 3 #"), "`build` must be a function, and `axes` a dictionary"),
        (FILE.replace("mixed", "requests").replace("\nrequests = 200", ""), "`requests` is a RandomRequests"),
        (FILE.replace("seeds = 4", "seeds = = 4"), "depths.py:15: invalid syntax"),
        (FILE + "1 / 0\n", "depths.py:17: ZeroDivisionError: division by zero"),
        (FILE.replace("slots=64", "slots=64 // (depth - 1)"), "depths.py:11: ZeroDivisionError"),
        (FILE.replace("build(schedule, depth)", "build(schedule)"), "got an unexpected keyword argument 'depth'"),
        (FILE.replace("seeds = 4", "seeds = []"), "no seeds: give at least one"),
    ],
    ids=["build", "axes", "kind", "requests", "syntax", "fault", "within build", "parameters", "seeds"],
)
def test_an_invalid_file_is_rejected_in_one_line(storagekit, file, source, says):
    file.write_text(source)
    status, text, said = storagekit("sweep", "depths.py")
    assert status == 2 and not text and says in said and said.count("\n") == 1
    assert not list(file.parent.glob("*.nc"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("nothing.py",), "nothing.py: no such Python file"),
        (("depths.py", "--workers", "0"), "--workers 0: give at least 1"),
        (("depths.py", "--workers", "2", "--scheduler-file", "x.json"), "give only one of them"),
        (("depths.py", "--store", "depths.py"), "store 'depths.py': File exists; give the path of a folder"),
        (("depths.py", "--out", "depths.py/x.nc"), "--out depths.py/x.nc: "),
        (("depths.py", "--out", "."), "--out .: this is a folder; give a writable file"),
    ],
)
def test_impossible_options_are_rejected_in_one_line(storagekit, file, options, says):
    status, text, said = storagekit("sweep", *options)
    assert status == 2 and not text and says in said and said.count("\n") == 1


def test_without_dask_the_remedy_is_named(storagekit, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for option in (("--workers", "2"), ("--scheduler-file", "scheduler.json")):
        status, _, said = storagekit("sweep", "depths.py", *option)
        assert status == 2 and "Dask is not installed; run pip install 'storagekit[distributed]'" in said


def test_a_missing_scheduler_file_is_named(storagekit, file):
    pytest.importorskip("distributed", reason="needs the extra `distributed`: Dask is not installed")
    status, _, said = storagekit("sweep", "depths.py", "--scheduler-file", "none.json")
    assert status == 2 and "none.json: no such file; give the file that" in said
