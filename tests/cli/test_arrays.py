"""Arrays that `compare` and `replay` take by name, and the selection of requests before it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from storagekit.cli.arrays import array_of, is_array
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.drive import load_drive
from storagekit.schedule import FCFS
from storagekit.simulation import replay
from storagekit.workload.trace import read

CLOUD = str(data_path("samples", "cloud.csv"))
DRIVE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=4TB"


@pytest.fixture(scope="module")
def results():
    trace, drive = read(CLOUD, requests=600), load_drive(DRIVE)
    names = ("raid6-6", "4+2")
    return trace, {name: replay(trace, array_of(drive, name, FCFS(), int(trace.size.max()))) for name in names}


@pytest.mark.parametrize("operation", ["reads", "writes"])
def test_every_array_accesses_as_many_drives_as_its_level_says(operation):
    """A read accesses one drive, and a write one for each copy.

    With parity, a write reads what it writes: data and each parity. With two data units and one of parity it reads only the
    other data unit.
    """
    base, drive = read(CLOUD, requests=300), load_drive(DRIVE)
    trace = replace(base, read=np.full(len(base), operation == "reads"))
    expected = {"raid0-6": (1, 1), "raid10-6": (1, 2), "raid5-6": (1, 4), "raid6-6": (1, 6), "2x2+1": (1, 3)}
    service = {}
    for name, accesses in expected.items():
        data = replay(trace, array_of(drive, name, FCFS(), int(trace.size.max())))
        assert float(data.accesses.sum()) / len(trace) == accesses[operation == "writes"], name
        service[name] = float(data.service_time)
    for name in ("raid5-6", "raid6-6", "2x2+1"):
        assert service[name] == pytest.approx(service["raid0-6"], abs=0.2 * float(drive.revolution)), name


def test_raid_6_on_six_drives_is_the_code_of_four_and_two(results):
    _, found = results
    assert found["raid6-6"].response_time.identical(found["4+2"].response_time)


def test_names_of_arrays_are_told_from_dispatchers():
    assert all(map(is_array, ("2x3x1", "raid5-6", "8+2", "2x8+2")))
    assert not any(map(is_array, ("hashing", "jsq2", "raid5", "raid7-3", "8+", "dsptf")))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raid5", "layout 'raid5': give an SR-Mirror"),
        ("raid10-5", "RAID 10 needs an even number of drives; give raid10-6"),
        ("raid5-1", "parities 1: must be below 1"),
        ("0+2", "parities 2: must be below 2"),
    ],
)
def test_an_array_that_cannot_be_raises_in_one_line(name, message):
    with pytest.raises(InputError, match=message):
        array_of(load_drive(DRIVE), name, FCFS(), 4096)


def test_a_selection_is_the_same_in_info_and_in_replay(storagekit):
    options = ("--sample", "0.5", "--from", "2", "--until", "12")
    status, text, _ = storagekit("trace", "info", CLOUD, *options, "--json")
    assert status == 0
    status, replayed, _ = storagekit("replay", CLOUD, *options, "--json", "--drive", DRIVE, "--dispatch", "hashing")
    assert status == 0 and json.loads(replayed)["requests"] == json.loads(text)["requests"] < 300


def test_unknown_devices_and_empty_selections_are_refused(storagekit):
    for options, message in (
        (("--devices", "nine"), "no device 'nine' in"),
        (("--from", "1000"), "has no request in the selection"),
        (("--sample", "0"), "--sample 0: give a share above 0"),
        (("--from", "5", "--until", "2"), "--until 2: must be later than --from 5"),
    ):
        status, text, error = storagekit("trace", "info", CLOUD, *options)
        assert (status, text) == (2, "") and message in error and error.count("\n") == 1


def test_what_is_left_out_and_how_columns_are_taken_is_said(storagekit, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("time_us,op,lba,size_bytes\n1,R,8,512\n2,trim,8,512\n3,W,16,512\n")
    status, text, error = storagekit("trace", "info", str(table), "--json")
    assert status == 0 and json.loads(text)["left_out"] == {"trim": 1}
    assert "left out: 1 trim" in error and "note: columns: time from time_us (us)" in error
    status, text, error = storagekit("trace", "convert", str(table), str(tmp_path / "t.parquet"))
    assert status == 0 and text.strip() == str(tmp_path / "t.parquet") and "left out: 1 trim" in error
    status, again, _ = storagekit("trace", "info", str(tmp_path / "t.parquet"), "--json")
    assert json.loads(again)["requests"] == 2 and json.loads(again)["left_out"] == {"trim": 1}


def test_addresses_beyond_the_modelled_drives_are_a_warning(storagekit):
    status, _, error = storagekit("replay", CLOUD, "--requests", "50", "--drive", "atlas10k", "--dispatch", "hashing")
    assert status == 0 and "the modelled system has 9 GB, so that addresses wrap around" in error
    assert "give larger or more drives" in error


def test_every_format_is_listed_with_its_fields(storagekit):
    status, text, _ = storagekit("trace", "formats")
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert status == 0 and lines["alibaba"] == "device_id,opcode,offset,length,timestamp" and len(lines) >= 14
