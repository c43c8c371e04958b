"""A drive's figures, each against an independent calculation: numbers of files, pairs of cylinders, located
transfers."""

import json

import numpy as np
import pytest

from storagekit.calibrate import figures, seek_curve, zone_map
from storagekit.core.resources import data_path
from storagekit.core.units import MS, SECTOR
from storagekit.drive import drive_names, ideal_drive, load_drive

DRIVES = ("atlas10k", "st41601n", "cheetah15k3")


@pytest.mark.parametrize("name", DRIVES)
def test_figures_are_those_of_the_file(name):
    facts = json.loads(data_path("drives", f"{name}.json").read_text())
    found = figures(load_drive(name))
    assert (found.cylinders, found.heads, found.zones) == (facts["cylinders"], facts["heads"], len(facts["zones"]))
    assert found.rpm == pytest.approx(facts["rpm"], rel=1e-6)
    assert found.track_seek == pytest.approx(facts["seek_ms"][0][1] * MS, rel=1e-6)
    assert found.head_switch == pytest.approx(facts["head_switch_ms"] * MS, rel=1e-6)
    assert found.write_settle == pytest.approx(facts["write_settle_ms"] * MS, rel=1e-6)
    for zone, rate in ((0, found.outer_media_rate), (-1, found.inner_media_rate)):
        length = facts["zones"][zone]["sectors_per_track"]
        assert rate == pytest.approx(length * 512 * facts["rpm"] / 60, rel=1e-6)


def test_the_average_seek_is_over_pairs_of_cylinders():
    """100,000 random pairs agree within four standard errors. A linear curve gives, by hand, full stroke / 3."""
    drive = load_drive("atlas10k")
    pairs = np.random.default_rng(0).integers(0, drive.cylinders, (2, 100_000))
    drawn = np.asarray(drive.seek(np.abs(pairs[0] - pairs[1])), float)
    assert figures(drive).average_seek == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(drawn.size))
    straight = figures(ideal_drive(full_seek=9 * MS, revolution=10 * MS, cylinders=1000))
    assert straight.average_seek == pytest.approx(3 * MS, rel=2e-3)
    assert (straight.track_seek, straight.full_seek) == pytest.approx((9 * MS / 999, 9 * MS))


def test_a_datasheets_sustained_rates_are_those_of_the_sheet():
    found = figures(load_drive(data_path("samples", "nearline.toml")))
    assert found.outer_sustained_rate == pytest.approx(285e6, rel=1e-3)
    assert found.inner_sustained_rate == pytest.approx(130e6, rel=1e-3)
    assert found.sector_bytes == 4096 and found.capacity == pytest.approx(20e12, rel=1e-5)


@pytest.mark.parametrize("name", drive_names())
def test_sustained_rates_agree_with_transfers(name):
    """A transfer goes from a location to the same location in the next group of cylinders, real or hypothetical, in the
    zone. It follows the drive's own layout, with skews and spares on the way."""
    drive = load_drive(name)
    zones, data = zone_map(drive), np.asarray(drive.geometry.group_sectors)
    first = zones.first_byte.values // SECTOR
    zone = drive.geometry.at(first)
    turns = (zone.location(first + data).passed - zone.location(first).passed) / zone.sectors_per_track
    np.testing.assert_allclose(zones.sustained_rate, data * SECTOR / (turns * float(drive.revolution)), rtol=1e-6)


@pytest.mark.parametrize("name", DRIVES)
def test_zones_follow_one_another_and_hold_the_drive(name):
    drive = load_drive(name)
    zones = zone_map(drive)
    ends = zones.first_byte.values + zones["size"].values
    np.testing.assert_array_equal(zones.first_byte[1:], ends[:-1])
    assert zones.first_byte[0] == 0 and ends[-1] == drive.capacity * SECTOR == figures(drive).capacity
    assert (zones.sustained_rate <= zones.media_rate).all()


def test_a_seek_curve_goes_from_the_next_cylinder_to_the_last():
    drive = load_drive("atlas10k")
    curve = seek_curve(drive)
    assert curve.distance[0] == 1 and curve.distance[-1] == drive.cylinders - 1
    assert (np.diff(curve.distance) > 0).all()
    np.testing.assert_allclose(curve.write - curve.read, 0.487 * MS, rtol=1e-3)
    np.testing.assert_allclose(curve.read.sel(distance=100), 2.015 * MS, rtol=0.02)


def test_a_drive_of_two_cylinders_has_a_curve():
    assert seek_curve(ideal_drive(full_seek=1 * MS, revolution=10 * MS, cylinders=2)).distance.values.tolist() == [1]
