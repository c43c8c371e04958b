"""Controllers, buses and buffers of measured drives: all that are included, and impossible figures."""

import copy
import json

import pytest
from helpers import assert_refused

from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.drive import drive_names, load_controller
from storagekit.drive.controller import controller

# drives from published figures and datasheets, whose controllers are unknown
SHEETS = {"seagate_exos_x20", "toshiba_mg10_20tb", "toshiba_mk3001grrb", "wd_hc570"}
UNMEASURED = {"cheetah15k3", "deskstar7k400"} | SHEETS


@pytest.fixture
def facts() -> dict:
    return json.loads(data_path("drives", "hp_c2247a.json").read_text())["controller"]


@pytest.mark.parametrize("name", sorted(set(drive_names()) - UNMEASURED))
def test_controllers_of_measured_drives_have_plausible_figures(name):
    """Overheads are below 4 ms, a bus has 2.5 MB/s or more, a buffer has 28 KB to 281 KB per segment."""
    overheads, bus, buffer, extra = load_controller(name)
    assert all(0 <= time < 4e-3 for time in overheads) and max(overheads) > 0
    assert 0 <= bus.read <= 0.2e-3 and 0 <= bus.write <= 0.2e-3
    assert buffer.segments >= 1 and 57 <= buffer.sectors <= 561 and 1 <= buffer.read_ahead <= 4
    assert (extra is not None) == name.startswith("hp_c224")


def test_figures_are_in_seconds():
    """The C2247A's figures are those of its parameter file."""
    overheads, bus, buffer, extra = load_controller("hp_c2247a")
    assert overheads.read_miss_after_read == pytest.approx(0.55821e-3) and bus.write == pytest.approx(0.18686e-3)
    assert (buffer.segments, buffer.sectors, buffer.high_water, bus.held) == (2, 256, 0.75, True)
    assert extra is not None and extra.pause == pytest.approx(0.42885e-3)


def test_an_unknown_drive_is_rejected():
    assert_refused(
        lambda: load_controller("atlas11k"),
        "drive 'atlas11k': unknown; give the path of a drive file, or a name .* for example atlas10k",
    )


@pytest.mark.parametrize("name", sorted(UNMEASURED))
def test_a_drive_without_a_controller_is_rejected(name):
    assert_refused(lambda: load_controller(name), f"drive '{name}': its controller, bus and buffer are unknown")


@pytest.mark.parametrize(
    ("group", "field", "value", "message"),
    [
        ("buffer", "segments", None, "buffer: field 'segments' is missing; add it"),
        ("buffer", "segments", 0, "buffer: field 'segments' is 0; it must be between 1 and 4096"),
        ("buffer", "read_ahead", 5, "field 'read_ahead' is 5; it must be between 0 and 4"),
        ("buffer", "high_water", 1.5, "field 'high_water' is 1.5; it must be between 0 and 1"),
        ("buffer", "ahead_on_hit", 1, "field 'ahead_on_hit' is 1; it must be true or false"),
        ("bus", "read_ms", -0.1, "bus: field 'read_ms' is -0.1; it must be between 0 and 10000"),
        ("bus", "read_ms", True, "bus: field 'read_ms' is True; it must be a number"),
        ("bus", "read_ms", "fast", "bus: field 'read_ms' is 'fast'"),
        ("overheads", "read_hit_after_read_ms", float("nan"), "'read_hit_after_read_ms' is nan"),
        ("extra_disconnect", "second_ms", None, "extra_disconnect: field 'second_ms' is missing"),
    ],
)
def test_an_impossible_figure_is_named(facts, group, field, value, message):
    wrong = copy.deepcopy(facts)
    wrong[group] = {name: given for name, given in wrong[group].items() if name != field}
    if value is not None:
        wrong[group][field] = value
    with pytest.raises(InputError, match=message):
        controller(wrong, "x.json")


@pytest.mark.parametrize(
    "group, field, value",
    [
        ("buffer", "segments", 10**9),
        ("buffer", "sectors", 10**12),
        ("buffer", "most_ahead", 2**31 - 1),
        ("bus", "read_ms", 1e30),
        ("overheads", "write_disconnect_ms", 1e5),
    ],
)
def test_implausible_figures_are_rejected(facts, group, field, value):
    wrong = {**facts, group: {**facts[group], field: value}}
    assert_refused(lambda: controller(wrong, "x.json"), f"{group}: field '{field}' is .*; it must be between")


def test_an_unknown_group_is_named(facts):
    assert_refused(lambda: controller({**facts, "nonsense": 1}, "x.json"), "group 'nonsense' is unknown; give one of")


def test_an_unknown_field_and_a_missing_group_are_named(facts):
    with pytest.raises(InputError, match="bus: field 'speed_ms' is unknown; give one of read_ms, write_ms"):
        controller({**facts, "bus": {**facts["bus"], "speed_ms": 1.0}}, "x.json")
    del facts["buffer"]
    with pytest.raises(InputError, match="controller: field 'buffer' is missing"):
        controller(facts, "x.json")
