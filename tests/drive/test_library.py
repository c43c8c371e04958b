"""Drives from files and datasheets, and the idealized drive."""

import copy
import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.analytic import mean_rotation, mean_seek
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.core.units import KB
from storagekit.dispatch import Hashing
from storagekit.drive import (
    Arm,
    Drive,
    Mixed,
    SeekFit,
    drive_facts,
    drive_from_facts,
    drive_from_sheet,
    drive_names,
    facts_of,
    ideal_drive,
    load_controller,
    load_drive,
)
from storagekit.drive.controller import controller as given_controller
from storagekit.drive.seek import mean_seek as mean_over_cylinders
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import simulate
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

# sectors that the drive itself reports: field block_count of shared/drives, from DiskSim 4.0's diskspecs; for the
# Cheetah 15K.3 and the Deskstar 7K400 from their files
NOMINAL = {
    "atlas10k": 17_938_986,
    "atlas_iii": 17_783_250,
    "cheetah4lp": 8_887_200,
    "cheetah9lp": 17_783_240,
    "cheetah15k3": 35_843_686,
    "deskstar7k400": 781_422_768,
    "ibm18es": 17_916_240,
}
# drives whose spares are known exactly
EXACT = {
    "dec_rz26": 2_050_860,
    "hp_c2247a": 2_054_864,
    "hp_c2249a": 2_687_632,
    "hp_c2490a": 4_165_272,
    "hp_c3323a": 2_056_008,
    "st41601n": 2_676_846,
}
# datasheets: label in bytes, average seek, rates of the outermost and the innermost cylinders, as published or as the
# sheet assumes
SHEETS = {
    "seagate_exos_x20": (20e12, 7.4e-3, 285e6, 138e6),
    "toshiba_mg10_20tb": (20e12, 7.4e-3, 281e6, 136e6),
    "toshiba_mk3001grrb": (300e9, 2.7e-3, 200e6, 147e6),
    "wd_hc570": (22e12, 7.4e-3, 291e6, 141e6),
}
DRAWS = 40_000


@pytest.fixture
def facts() -> dict:
    return json.loads(data_path("drives", "atlas10k.json").read_text())


@pytest.mark.parametrize("name", sorted(NOMINAL))
def test_a_drive_file_holds_what_the_drive_reports(name):
    assert load_drive(name).capacity == pytest.approx(NOMINAL[name], rel=0.01)


@pytest.mark.parametrize("name", sorted(EXACT))
def test_a_drive_file_holds_exactly_what_the_drive_reports(name):
    assert load_drive(name).capacity == EXACT[name]


def test_the_barracuda_holds_more_than_it_reports():
    """Its zones without their spares have 4,217,670 sectors, and it reports 4,110,000."""
    assert 4_110_000 < load_drive("barracuda").capacity == 4_217_670


def test_every_drive_file_loads_and_has_sources():
    assert {*NOMINAL, *EXACT, "barracuda", *SHEETS} == set(drive_names())
    for name in drive_names():
        drive = load_drive(name)
        assert drive.capacity > 0 and np.all(np.asarray(drive.seek(np.arange(1, drive.cylinders))) > 0)
        assert drive_facts(name)["source"]


def mechanics(drive, read=True, seed=0):
    """Mean seek and rotation and their standard errors, from one uniform location to another at a random time."""
    random = np.random.default_rng(seed)
    sectors = random.integers(0, drive.capacity, (2, DRAWS))
    arm = drive.locate(sectors[0], np.ones(DRAWS, int)).end
    target = drive.locate(sectors[1], np.ones(DRAWS, int))
    phase = jnp.asarray(random.random(DRAWS), jnp.float32)
    found = drive.positioning(arm, phase, target, jnp.full(DRAWS, read))
    return tuple(
        (float(np.mean(part)), float(np.std(part)) / np.sqrt(DRAWS))
        for part in (np.asarray(found.seek), np.asarray(found.rotation))
    )


def test_the_ideal_drive_keeps_to_the_formulas():
    """The means are S/3 and R/2 (srarray, section 2), within four standard errors."""
    (seek, seek_error), (rotation, rotation_error) = mechanics(ideal_drive(full_seek=9e-3, revolution=6e-3))
    assert abs(seek - mean_seek(9e-3)) < 4 * seek_error
    assert abs(rotation - mean_rotation(6e-3)) < 4 * rotation_error


def test_a_datasheet_becomes_a_drive_with_its_figures():
    """The Cheetah 9LP: 10,025 rpm; seeks of 0.98, 5.4 and 12.2 ms; 9.1 GB; about 20 MB/s."""
    drive = Drive.from_datasheet(
        rpm=10_025,
        track_seek=0.98e-3,
        average_seek=5.4e-3,
        full_seek=12.2e-3,
        capacity=9.1e9,
        media_rate=20e6,
        heads=12,
    )
    (seek, error), (rotation, rotation_error) = mechanics(drive)
    assert drive.capacity * 512 == pytest.approx(9.1e9, rel=1e-3)
    assert abs(seek - 5.4e-3) < 4 * error + 0.01 * 5.4e-3
    assert abs(rotation - 60 / 10_025 / 2) < 4 * rotation_error
    assert float(drive.seek(drive.cylinders - 1)) == pytest.approx(12.2e-3, rel=1e-3)
    # a track of data passes in one revolution
    assert float(drive.locate(np.array(0), np.array(234)).transfer) == pytest.approx(234 * 512 / 20e6, rel=0.01)


def test_the_cheetah_15k3_has_its_published_figures():
    """Mean seeks over uniform addresses are 3.6 ms for reads and 3.9 for writes, within 3%. The outermost track has 86
    MB/s.

    Sustained rates, with head and cylinder switches, are 75 MB/s there and 49 at the innermost track, within 5%,
    because the file derives its skews differently.
    """
    drive = load_drive("cheetah15k3")
    assert drive.capacity * 512 == pytest.approx(18.4e9, rel=0.01)
    for read, published in ((True, 3.6e-3), (False, 3.9e-3)):
        (seek, error), (rotation, rotation_error) = mechanics(drive, read)
        assert abs(seek - published) < 0.03 * published and error < 0.005 * published
        assert abs(rotation - 2e-3) < 4 * rotation_error

    def rate(sector, count):
        return count * 512 / float(drive.locate(np.array(sector), np.array(count)).transfer)

    assert rate(0, 672) == pytest.approx(86e6, rel=0.001)
    many = 50_000
    assert rate(0, many) == pytest.approx(75e6, rel=0.05)
    assert rate(drive.capacity - many, many) == pytest.approx(49e6, rel=0.05)


def test_the_deskstar_7k400_has_its_published_figures():
    """The mean seek over all pairs of cylinders, as the maker takes it, is 8.2 ms for reads and 1 ms more for writes.

    The rotation is half a turn at 7,200 rpm. Sustained rates are 61.4 and 29.8 MB/s in the first and the last zone,
    within 1%; within a track they are 1.177 times as high.
    """
    drive = load_drive("deskstar7k400")
    assert drive.capacity == 781_422_768
    assert mean_over_cylinders(drive.seek, drive.cylinders) == pytest.approx(8.2e-3, rel=0.002)
    (seek, error), (rotation, rotation_error) = mechanics(drive)
    (writing, _), _ = mechanics(drive, read=False)
    # the same locations: accesses on the same cylinder and track do not settle longer
    assert writing - seek == pytest.approx(1e-3, rel=0.01)
    # uniform sectors are less far apart than uniform cylinders, because the outer tracks hold more
    assert 0.95 * 8.2e-3 < seek < 8.2e-3 and error < 0.005 * seek
    assert abs(rotation - 60 / 7200 / 2) < 4 * rotation_error

    def rate(sector, count):
        return count * 512 / float(drive.locate(np.array(sector), np.array(count)).transfer)

    for first, track, sustained in ((0, 1177, 61.4e6), (drive.capacity - 50 * 5710, 571, 29.8e6)):
        assert rate(first, 50 * 10 * track) == pytest.approx(sustained, rel=0.01)
    assert rate(0, 1177) == pytest.approx(1.177 * 61.4e6, rel=0.002)


@pytest.mark.parametrize("name", sorted(set(drive_names()) - SHEETS.keys()))
def test_a_drive_written_down_is_the_same_drive(name):
    drive = load_drive(name)
    again = drive_from_facts(json.loads(json.dumps(facts_of(drive, "itself"))), "x.json")
    jax.tree.map(lambda was, now: np.testing.assert_allclose(now, was, rtol=1e-6, atol=1e-9), drive, again)


def test_a_drive_of_4_kb_sectors_cannot_be_written():
    assert_refused(
        lambda: facts_of(load_drive("wd_hc570"), "itself"),
        "sectors of 4096 bytes; drive files have sectors of 512 bytes only",
    )


@pytest.mark.parametrize("name", sorted(SHEETS))
def test_a_named_datasheet_becomes_a_drive_with_its_figures(name):
    """The capacity is within 0.5% of the label. The average seek over all pairs of cylinders and the rates of 50 MB at
    either end are within 1%. The sheet states its assumptions."""
    label, average, outer, inner = SHEETS[name]
    drive, many = load_drive(name), 100_000
    assert drive.capacity * 512 == pytest.approx(label, rel=5e-3)
    assert mean_over_cylinders(drive.seek, drive.cylinders) == pytest.approx(average, rel=0.01)
    for first, rate in ((0, outer), (drive.capacity - many, inner)):
        taken = float(drive.locate(np.array(first), np.array(many)).transfer)
        assert many * 512 / taken == pytest.approx(rate, rel=0.01)
    assert drive_facts(name)["assumed"]


@pytest.mark.parametrize("name", ["toshiba_mg10_20tb", "wd_hc570"])
def test_a_named_datasheet_works_in_a_system_of_64_bit_addresses(name):
    """At depth 1 the rate is 1 / (average seek + half a revolution + transfer) within 3%; uniform sectors are less far
    apart."""
    drive = load_drive(name)
    assert drive.capacity > 2**31
    requests = RandomRequests(FixedSize(4 * KB), 1.0)
    loop = Scenario(System(drive, Replicas(1), Hashing(), FCFS(), slots=8), ClosedLoop(requests, 1))
    expected = 1 / (7.4e-3 + 60 / 7200 / 2 + 4 * KB / 200e6)
    assert float(simulate(loop, requests=10_000).throughput) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("figure", ["rpm", "track_seek", "capacity", "media_rate", "heads"])
def test_a_datasheet_with_an_impossible_figure_is_rejected(figure):
    good = {
        "rpm": 7200,
        "track_seek": 1e-3,
        "average_seek": 5e-3,
        "full_seek": 12e-3,
        "capacity": 9e9,
        "media_rate": 2e7,
        "heads": 4,
    }
    with pytest.raises(InputError, match=f"{figure} 0: it must be above 0"):
        Drive.from_datasheet(**{**good, figure: 0})


FIELDS = ["rpm", "cylinders", "heads", "head_switch_ms", "write_settle_ms", "overhead_ms", "seek_ms", "zones"]


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field_is_named(facts, field):
    del facts[field]
    with pytest.raises(InputError, match=rf"field '{field}' is missing"):
        drive_from_facts(facts, "x.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rpm", 0),
        ("rpm", "fast"),
        ("rpm", float("nan")),
        ("cylinders", 10042.5),
        ("cylinders", float("inf")),
        ("heads", 0),
        ("heads", True),
        ("head_switch_ms", -0.1),
        ("overhead_ms", None),
        ("write_settle_ms", -0.177),
        ("seek_ms", [[1, 1.0], [1, 2.0]]),
        ("seek_ms", [[1, "slow"]]),
        ("seek_ms", 5),
        ("zones", []),
        ("zones", 7),
    ],
)
def test_an_impossible_value_is_named(facts, field, value):
    with pytest.raises(InputError, match=rf"field '{field}'"):
        drive_from_facts({**facts, field: value}, "x.json")


@pytest.mark.parametrize("field", ["first_cylinder", "cylinders", "sectors_per_track", "track_skew", "spares"])
def test_a_zone_without_a_field_is_named(facts, field):
    zones = copy.deepcopy(facts["zones"])
    del zones[2][field]
    with pytest.raises(InputError, match=rf"zone 2: field '{field}' is missing"):
        drive_from_facts({**facts, "zones": zones}, "x.json")


def test_zones_that_overlap_are_refused(facts):
    facts["zones"][1]["first_cylinder"] -= 1
    with pytest.raises(InputError, match=r"zone 1: cylinders 432 to .*must follow one another"):
        drive_from_facts(facts, "x.json")


def test_spares_that_leave_no_data_are_refused(facts):
    zone = facts["zones"][0]
    zone["spares"] = zone["sparing_cylinders"] * zone["sectors_per_track"] * facts["heads"]
    with pytest.raises(InputError, match=r"zone 0.*'spares'"):
        drive_from_facts(facts, "x.json")


def test_spares_of_a_cylinder_may_fill_more_than_a_track(facts):
    zone = facts["zones"][0]
    zone["spares"], zone["sparing_cylinders"] = 2 * zone["sectors_per_track"], 1
    fewer = drive_from_facts(facts, "x.json")
    assert fewer.capacity == load_drive("atlas10k").capacity + 89 - 433 * zone["spares"]


def test_a_track_of_spares_is_refused(facts):
    facts["zones"][3]["track_spares"] = facts["zones"][3]["sectors_per_track"]
    with pytest.raises(InputError, match=r"zone 3.*'track_spares'"):
        drive_from_facts(facts, "x.json")


def test_a_drive_may_settle_sooner_for_a_write_than_for_a_read(facts):
    """It may not settle before it has begun to move: its head switch of 0.176 ms is its fastest move."""
    quick = drive_from_facts({**facts, "write_settle_ms": -0.176}, "x.json")
    arm = quick.locate(np.array(0), np.array(1)).end
    target = quick.locate(np.array(334), np.array(1))
    found = [float(quick.positioning(arm, jnp.float32(0), target, jnp.asarray(read)).seek) for read in (True, False)]
    np.testing.assert_allclose(found, [0.176e-3, 0.0], atol=1e-9)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "\x00\x01"])
def test_a_file_that_is_not_a_drive_is_refused(tmp_path, text):
    path = tmp_path / "drive.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"drive\.json.*one JSON object"):
        load_drive(path)


def test_an_unknown_name_lists_the_drives():
    with pytest.raises(InputError, match=r"'atlas11k': unknown.*atlas10k"):
        load_drive("atlas11k")


@pytest.mark.parametrize(
    ("suffix", "opens", "closes"), [(".json", "[", "]"), (".json", '{"zones": ', "}"), (".toml", "[", "]")]
)
def test_a_file_nested_100_000_deep_is_refused(tmp_path, suffix, opens, closes):
    path = (tmp_path / "deep").with_suffix(suffix)
    deep = 100_000
    path.write_text(("" if suffix == ".json" else "x = ") + opens * deep + "1" + closes * deep)
    assert_refused(lambda: load_drive(path), r"drive file .*deep.*: nested too deeply")


def test_a_deeply_nested_controller_is_rejected(tmp_path, facts):
    path = tmp_path / "deep.json"
    path.write_text(json.dumps(facts | {"controller": 0}).replace(": 0}", ": " + "[" * 900 + "]" * 900 + "}"))
    assert_refused(lambda: load_controller(path), "field 'controller' is .*; it must be an object")


def nested(deep: int) -> list:
    """A list nested `depth` times."""
    found: list = []
    for _ in range(deep):
        found = [found]
    return found


def endless() -> tuple[list, dict]:
    """A list and a mapping that contain themselves, as with YAML anchors."""
    found, facts = [], {}
    found.append(found)
    facts["zones"] = [facts]
    return found, facts


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    "value", [nested(100_000), *endless(), [endless()[1]]], ids=["deep", "list", "mapping", "zones"]
)
def test_facts_that_are_deep_or_contain_themselves_are_rejected(facts, field, value):
    assert_refused(lambda: drive_from_facts({**facts, field: value}, "x.json"), "drive file x.json")


def test_facts_alone_that_contain_themselves_are_refused(facts):
    assert_refused(lambda: drive_from_facts(endless()[1], "x.json"), "field 'rpm' is missing")
    with pytest.raises(InputError, match="field 'zones' is unknown"):
        drive_from_sheet(endless()[1], "x.json")
    name, controller = facts | {"name": nested(100_000)}, {"bus": endless()[1]}
    assert_refused(lambda: drive_from_facts(name, "x.json"), "field 'name': given .*; give text")
    assert_refused(lambda: given_controller(controller | {"overheads": {}}, "x.json"), "bus: field 'zones' is unknown")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rpm", 10**400),
        ("seek_ms", [["1", "2"], ["3", "4"]]),
        ("seek_ms", [[1, 1j], [2, 3]]),
        ("heads", 10**400),
        ("name", 3),
    ],
)
def test_text_instead_of_numbers_and_huge_numbers_are_rejected(facts, field, value):
    assert_refused(lambda: drive_from_facts({**facts, field: value}, "x.json"), f"field '{field}'")


@pytest.mark.parametrize("settles", [True, False])
def test_a_write_settles_after_a_head_switch_unless_the_file_denies_it(facts, settles, tmp_path):
    """A seek always settles. A head switch is longer by the settling, or is the whole cost (srarray, section 4.1)."""
    file = {**facts, "head_switch_ms": 0.9, "write_settle_ms": 0.8, "settles_on_switch": settles}
    drive = drive_from_facts(file, "x.json")
    arm, zero = Arm(np.int32([5]), np.int32([0])), np.float32([0.0])

    def seek(cylinder: int, head: int, read: bool) -> float:
        target = drive.locate(np.int32([0]), np.int32([1]))
        target = target._replace(cylinder=np.int32([cylinder]), head=np.int32([head]))
        return float(drive.positioning(arm, zero, target, np.array([read])).seek[0]) - float(drive.overhead)

    assert seek(5, 1, True) == pytest.approx(0.9e-3) and seek(5, 0, False) == 0
    assert seek(5, 1, False) == pytest.approx(1.7e-3 if settles else 0.9e-3)
    assert seek(6, 1, False) - seek(6, 1, True) == pytest.approx(0.8e-3, rel=1e-4)
    again = facts_of(drive, "test")
    assert again["settles_on_switch"] is settles
    assert int(drive_from_facts(again, "y.json").settles_on_switch) == settles
    assert_refused(lambda: drive_from_facts({**file, "settles_on_switch": 1}, "x.json"), "must be true or false")
    assert_refused(lambda: replace(drive, settles_on_switch=2), "settles_on_switch 2: it must be 0 or 1")
    mixed = Mixed([drive, drive], [0, 1]).mechanics_of(np.int32([1]))
    target = drive.locate(np.int32([0]), np.int32([1]))._replace(cylinder=np.int32([5]), head=np.int32([1]))
    found = mixed.positioning(arm, zero, target, np.array([False])).seek[0] - drive.overhead
    assert float(found) == pytest.approx(1.7e-3 if settles else 0.9e-3, rel=1e-4)


def test_a_drive_that_settles_before_it_has_moved_is_rejected():
    """Its shortest move takes 1.01 ms."""
    drive = ideal_drive(full_seek=0.01, revolution=0.006)
    curve = SeekFit(1e-3, 1e-5, 0.0)
    assert float(replace(drive, seek=curve, write_settle=-1.01e-3).write_settle) < 0
    assert_refused(
        lambda: replace(drive, seek=curve, write_settle=-1.02e-3), r"write_settle -0.00102 s: .* at least -0.00101"
    )


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ({"full_seek": float("nan")}, "full seek nan s: it must be 0 or more and finite"),
        ({"revolution": 0.0}, "revolution 0 s: it must be above 0 and finite"),
        ({"cylinders": 1}, "cylinders 1: give a whole number, between 2"),
        ({"cylinders": 100.5}, "cylinders 100.5: give a whole number"),
        ({"sectors_per_track": "512"}, "sectors per track '512': give a number"),
        ({"overhead": -1e-3}, "overhead -0.001 s: it must be 0 or more"),
    ],
)
def test_an_impossible_ideal_drive_is_rejected(figures, says):
    assert_refused(lambda: ideal_drive(**({"full_seek": 0.01, "revolution": 0.006} | figures)), says)
