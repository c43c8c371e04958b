"""A datasheet in one line: the same drive as from a file, and one clear line for invalid input."""

import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.drive import Drive, load_drive
from storagekit.drive.sheet_words import is_words, sheet_facts

LINE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"


def test_figures_come_back():
    drive = load_drive(LINE)
    assert drive.capacity * 512 == pytest.approx(18e12, rel=1e-3)
    assert float(drive.revolution) == pytest.approx(60 / 7200)
    assert sheet_facts(LINE)["inner_rate_mb_s"] == 125 and drive.grain == 8 and drive.heads == 18


def test_it_is_the_drive_of_the_file():
    line = "rpm=7200,seek=1/8.5/17ms,rate=285/130MB/s,size=20TB,heads=20,settle=0.5ms,sector=4096"
    ours, theirs = load_drive(line), load_drive("data/samples/nearline.toml")
    assert ours.capacity == theirs.capacity and ours.cylinders == theirs.cylinders
    assert float(ours.write_settle) == float(theirs.write_settle)


def test_units_are_read():
    facts = sheet_facts("rpm=15000, seek=200/2900/5800us, rate=0.2/0.1GB/s, size=600GB, switch=0.3ms")
    assert facts["average_seek_ms"] == pytest.approx(2.9) and facts["inner_rate_mb_s"] == pytest.approx(100)
    assert facts["capacity_tb"] == pytest.approx(0.6) and facts["sector_bytes"] == 512


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rpm=7200,seek=1/8.5/18ms,rate=250MB/s", "size is missing; give all values, for example rpm="),
        (
            "rpm=7200,seek=8.5ms,rate=250MB/s,size=18TB",
            "seek=8.5ms: give 3 numbers separated by slashes and a unit",
        ),
        ("rpm=7200,seek=1/8.5/18,rate=250MB/s,size=18TB", "seek=1/8.5/18: give 3 numbers"),
        ("rpm=7200,speed=3,size=18TB", "'speed=3' is unknown; give rpm, seek"),
        ("rpm=7200,rpm=5400", "'rpm=5400' is given twice"),
        ("rpm=fast,seek=1/8.5/18ms,rate=250MB/s,size=18TB", "rpm='fast' is not a number"),
        ("rpm=7200,seek=1/8.5/18ms,rate=250,size=18TB", "rate=250: give one number and a unit"),
        ("rpm=7200,seek=1/8.5/18s,rate=250MB/s,size=18TB", "track_seek|seek"),
        (f"{LINE},heads=nan", "heads='nan' is not a number"),
        (f"{LINE},heads=2.5", "field 'heads' is 2.5; it must be a whole number"),
        ("rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=infTB", "size='inf' is not a number"),
    ],
)
def test_invalid_input_raises_one_line(line, message):
    assert_refused(lambda: load_drive(line), message)


@given(st.text("rpmseekrateize=/.,0123456789MBTsGK ", max_size=60).map(lambda text: "rpm=" + text))
def test_any_text_is_a_drive_or_raises_one_line(line):
    assert is_words(line)
    try:
        assert isinstance(load_drive(line), Drive)
    except InputError as fault:
        assert "\n" not in str(fault)
