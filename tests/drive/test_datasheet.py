"""Drives from datasheets: the drive has the figures of the sheet, for drives large and small."""

import json
import tomllib

import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.core.units import KB, SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import Drive, load_drive
from storagekit.drive.seek import mean_seek
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import simulate
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

SHEET = {
    "rpm": 7200,
    "track_seek": 1e-3,
    "average_seek": 8.5e-3,
    "full_seek": 17e-3,
    "capacity": 20e12,
    "outer_rate": 285e6,
    "inner_rate": 130e6,
    "heads": 20,
    "sector_bytes": 4096,
}
REVOLUTION = 60 / 7200


@pytest.fixture(scope="module")
def nearline() -> Drive:
    return Drive.from_datasheet(**SHEET)


@pytest.mark.parametrize("capacity", [1e12, 20e12, 32e12])
def test_capacity_seek_and_rates_are_those_of_the_sheet(capacity):
    """Within 0.2%: the average over all pairs of cylinders, as makers take it, and the rates of 100 MB at either
    end."""
    drive = Drive.from_datasheet(**{**SHEET, "capacity": capacity})
    assert drive.capacity * SECTOR == pytest.approx(capacity, rel=2e-3)
    assert mean_seek(drive.seek, drive.cylinders) == pytest.approx(8.5e-3, rel=2e-3)
    assert float(drive.seek(np.array(drive.cylinders - 1))) == pytest.approx(17e-3, rel=1e-3)
    many = 200_000
    for first, rate in ((0, 285e6), (drive.capacity - many, 130e6)):
        taken = float(drive.locate(np.array(first), np.array(many)).transfer)
        assert many * SECTOR / taken == pytest.approx(rate, rel=2e-3)


def test_the_simulated_rate_at_depth_1_follows_from_seek_and_rotation(nearline):
    """The rate is 1 / (average seek + half a revolution + transfer) within 2%. Uniform sectors are less far apart than
    uniform cylinders, because the outer tracks hold more."""
    requests = RandomRequests(FixedSize(4 * KB), 1.0)
    loop = Scenario(System(nearline, Replicas(1), Hashing(), FCFS(), slots=8), ClosedLoop(requests, 1))
    seen = simulate(loop, requests=20_000)
    expected = 1 / (8.5e-3 + REVOLUTION / 2 + 4 * KB / 200e6)
    assert float(seen.throughput) == pytest.approx(expected, rel=0.02)


def test_4_kb_sectors_are_read_whole_and_written_in_part_a_revolution_later(nearline):
    """Sectors 0 to 7 are one physical sector. A write of a part of it, or of a part of the first or last of several,
    waits a revolution between reading and writing; an aligned write does not."""
    sector, count = np.array([0, 8, 3, 8, 6]), np.array([8, 16, 2, 15, 10])
    target = nearline.locate(sector, count)
    length = int(nearline.geometry.sectors_per_track[0])
    np.testing.assert_allclose(target.transfer, np.array([8, 16, 8, 16, 16]) / length * REVOLUTION, rtol=1e-6)
    assert target.again.tolist() == [0, 0, 1, 1, 1]
    arm = nearline.locate(np.array(0), np.array(1)).end
    found = [nearline.positioning(arm, jnp.float32(0.5), target, jnp.full(5, read)).rotation for read in (True, False)]
    np.testing.assert_allclose(found[1] - found[0], np.array([0, 0, 1, 1, 1]) * REVOLUTION, atol=1e-8)


FILE = """
name = "a nearline drive"
source = "its data sheet"
rpm = 7200
capacity_tb = 20
track_seek_ms = 1.0
average_seek_ms = 8.5
full_seek_ms = 17
outer_rate_mb_s = 285
inner_rate_mb_s = 130
heads = 20
sector_bytes = 4096
"""
FIGURES = tomllib.loads(FILE)


@pytest.mark.parametrize(("suffix", "text"), [(".toml", FILE), (".json", json.dumps(FIGURES))])
def test_a_datasheet_may_be_a_file(tmp_path, nearline, suffix, text):
    path = (tmp_path / "mine").with_suffix(suffix)
    path.write_text(text)
    drive = load_drive(path)
    assert drive.name == "a nearline drive"
    assert (drive.capacity, drive.cylinders, drive.grain) == (nearline.capacity, nearline.cylinders, 8)
    assert float(drive.seek(np.array(1000))) == pytest.approx(float(nearline.seek(np.array(1000))))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rpm": None}, "field 'rpm' is missing; add it"),
        ({"full_seek_ms": None}, "field 'full_seek_ms' is missing"),
        ({"capacity_tb": None}, "give exactly one of capacity_tb and capacity_gb"),
        ({"capacity_gb": 5}, "give exactly one of"),
        ({"average_seek_ms": "fast"}, "field 'average_seek_ms' is 'fast'; it must be a number"),
        ({"heads": 2.5}, "field 'heads' is 2.5; it must be a whole number"),
        ({"speed": 5}, "field 'speed' is unknown"),
        ({"rpm": -7200}, "field 'rpm' is -7200; it must be between 60 and 1e\\+06"),
        ({"overhead_ms": -1}, "field 'overhead_ms' is -1; it must be between"),
        ({"track_seek_ms": 0}, "data sheet .*track_seek 0: it must be above 0"),
        ({"inner_rate_mb_s": 300}, "data sheet .*swap the two"),
    ],
)
def test_an_impossible_datasheet_file_is_rejected(tmp_path, changed, says):
    path = tmp_path / "mine.json"
    figures = FIGURES | changed
    path.write_text(json.dumps({field: value for field, value in figures.items() if value is not None}))
    with pytest.raises(InputError, match=says):
        load_drive(path)


def test_a_file_that_is_not_toml_is_rejected(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("rpm = = 7200")
    with pytest.raises(InputError, match=r"mine\.toml.*it must be TOML"):
        load_drive(path)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"media_rate": 2e8}, "media_rate and outer_rate and inner_rate: give either media_rate"),
        ({"inner_rate": None}, "outer_rate: give either media_rate, or both outer_rate and inner_rate"),
        ({"outer_rate": None, "inner_rate": None}, "no rate: give either media_rate"),
        ({"outer_rate": 1e8}, "inner_rate 130000000 bytes/s is above outer_rate 100000000"),
        ({"inner_rate": 0}, "inner_rate 0: it must be above 0"),
        ({"sector_bytes": 1024}, "sector_bytes 1024: it must be 512 or 4096"),
        ({"head_switch": -1e-3}, r"head_switch -0\.001 s: it must be 0 or more"),
        ({"capacity": 1e8}, "capacity 100000000 bytes: .* check the capacity"),
        ({"average_seek": 16e-3}, "average seek 0.016 s"),
    ],
)
def test_contradictory_figures_are_rejected(changed, said):
    with pytest.raises(InputError, match=said):
        Drive.from_datasheet(**{**SHEET, **changed})
