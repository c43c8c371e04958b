"""DiskSim's parameter files as drives: every included measured drive, written as such a file, is read back
unchanged."""

import re

import jax
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.drive import drive_facts, drive_names, load_controller, load_drive

# drives whose facts come from DiskSim
MEASURED = [name for name in drive_names() if "controller" in drive_facts(name)]
OVERHEADS = {
    "Read hit over. after read": "read_hit_after_read",
    "Read hit over. after write": "read_hit_after_write",
    "Read miss over. after read": "read_miss_after_read",
    "Read miss over. after write": "read_miss_after_write",
    "Write hit over. after read": "write_hit_after_read",
    "Write hit over. after write": "write_hit_after_write",
    "Write miss over. after read": "write_miss_after_read",
    "Write miss over. after write": "write_miss_after_write",
    "Read completion overhead": "read_completion",
    "Write completion overhead": "write_completion",
    "Data preparation overhead": "preparation",
    "First reselect overhead": "first_reselect",
    "Other reselect overhead": "other_reselect",
    "Read disconnect afterread": "read_disconnect_after_read",
    "Read disconnect afterwrite": "read_disconnect_after_write",
    "Write disconnect overhead": "write_disconnect",
    "Minimum seek delay": "least_seek",
}
EXTRA = {
    "Extradisc command overhead": "command",
    "Extradisc disconnect overhead": "first",
    "Extradisc inter-disconnect delay": "pause",
    "Extradisc 2nd disconnect overhead": "second",
    "Extradisc seek delta": "seek",
}
BUFFER = {
    "Number of buffer segments": ("segments", 0),
    "Segment size (in blks)": ("sectors", 0),
    "Buffer continuous read": ("read_ahead", 0),
    "Maximum read-ahead (blks)": ("most_ahead", 0),
    "High (read) water mark": ("high_water", 0.0),
    "Read-ahead over requested": ("over_requested", False),
    "Read-ahead on idle hit": ("ahead_on_hit", False),
    "Stop prefetch in sector": ("stops_in_sector", False),
    "Immediate buffer read": ("zero_latency_read", False),
    "Immediate buffer write": ("zero_latency_write", False),
    "Fast write level": ("writes_behind", False),
    "Combine seq writes": ("combines", True),
    "Allow read hits on write data": ("hits_written", True),
    "Use separate write segment": ("write_segment", False),
}


def written(kind: str, values: dict, name: str = "") -> str:
    inside = ",\n".join(f"{label} = {value}" for label, value in values.items())
    return f"{kind} {name} {{ # its parameters\n{inside}\n}}"


def spares_as_disksim_has_them(zones: list[dict]) -> tuple[int, list[int]]:
    """A sparing scheme that all zones can use, and the number of spares of each zone."""
    if any(zone.get("track_spares") for zone in zones):
        return 3, [zone["track_spares"] for zone in zones]
    spares = [zone["spares"] for zone in zones]
    if not any(spares):
        return 7, [5] * len(zones)
    if any(zone["sparing_cylinders"] != zone["cylinders"] for zone in zones):
        return 8, spares
    if not any(zone["spares"] % zone["sectors_per_track"] for zone in zones):
        return 1, [zone["spares"] // zone["sectors_per_track"] for zone in zones]
    return 9, spares


def model_text(facts: dict, seek: dict) -> str:
    scheme, spares = spares_as_disksim_has_them(facts["zones"])
    zones = [
        {
            "First cylinder number": zone["first_cylinder"],
            "Last cylinder number": zone["first_cylinder"] + zone["cylinders"] - 1,
            "Blocks per track": zone["sectors_per_track"],
            "Offset of first block": f"{zone['first_offset']:.6f}",
            "Empty space at zone front": zone["reserved"],
            "Skew for track switch": f"{zone['track_skew']:.6f}",
            "Skew for cylinder switch": zone["cylinder_skew"],
            "Number of spares": some,
            "slips": "[ 12, 1024 ]",
            "defects": "[]",
        }
        for zone, some in zip(facts["zones"], spares, strict=True)
    ]
    layout = {
        "LBN-to-PBN mapping scheme": int(facts["serpentine"]),
        "Sparing scheme used": scheme,
        "Rangesize for sparing": facts["zones"][0]["sparing_cylinders"],
        "Zones": "[" + ",\n".join(written("dm_layout_g1_zone", zone) for zone in zones) + "]",
    }
    mechanics = {
        "Access time type": "trackSwitchPlusRotation",
        **seek,
        "Add. write settling delay": facts["write_settle_ms"],
        "Head switch time": facts["head_switch_ms"],
        "Rotation speed (in rpms)": facts["rpm"],
        "Percent error in rpms": "0.000000",
    }
    disk = {
        "Number of data surfaces": facts["heads"],
        "Number of cylinders": facts["cylinders"],
        "Block count": 1,
        "Layout Model": written("dm_layout_g1", layout),
        "Mechanical Model": written("dm_mech_g1", mechanics),
    }
    return written("dm_disk", disk, "model")


def disk_text(controller: dict, scale: float = 1.0) -> str:
    overheads, bus, buffer = (controller[group] for group in ("overheads", "bus", "buffer"))
    extra = controller.get("extra_disconnect")
    values = {
        "Model": "source disk.model",
        "Time scale for overheads": scale,
        "Bulk sector transfer time": 0.0,
        "Hold bus entire read xfer": int(bus.get("held", False)),
        "Never disconnect": int(bus.get("never_given_up", False)),
        "Scheduler": "disksim_ioqueue { Scheduling policy = 1 }",
        "Set watermark by reqsize": 1,
        "Enable caching in buffer": 1,
        **{label: buffer.get(name, default) for label, (name, default) in BUFFER.items()},
        "Read-ahead over requested": -1 if buffer.get("discards_read") else buffer.get("over_requested", False),
        **{label: overheads.get(f"{name}_ms", 0.0) for label, name in OVERHEADS.items()},
        "Extra write disconnect": int(extra is not None),
        **{label: (extra or {}).get(f"{name}_ms", 0.0) for label, name in EXTRA.items()},
    }
    return written(
        "disksim_disk", {label: int(it) if it is True or it is False else it for label, it in values.items()}, "disk"
    )


def curve_text(points: list) -> str:
    return f"Seek distances measured: {len(points)}\n" + "".join(f"{d},   {time:.9f}\n" for d, time in points)


EXTRACTED = {"Seek type": "extracted", "Full seek curve": "disk.seek"}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a drive of data/drives as DiskSim's files, in the folder of the test."""
    monkeypatch.chdir(tmp_path)

    def files(facts: dict, seek: dict = EXTRACTED, scale: float = 1.0) -> None:
        (tmp_path / "disk.model").write_text(model_text(facts, seek))
        (tmp_path / "disk.seek").write_text(curve_text(facts["seek_ms"]))
        (tmp_path / "disk.diskspecs").write_text(disk_text(facts["controller"], scale))
        bus = facts["controller"]["bus"]
        times = {"Read block transfer time": bus["read_ms"], "Write block transfer time": bus["write_ms"]}
        buses = written("disksim_bus", times, "BUS1") + written("disksim_bus", dict.fromkeys(times, 0.0), "BUS0")
        (tmp_path / "disk.parv").write_text(f"{buses}\nsource disk.diskspecs\ninstantiate [ disk0 ] as disk\n")

    return files


@pytest.fixture
def change(write, tmp_path):
    """Write a drive as DiskSim's files, with some text in one of them replaced."""

    def one(file: str, was: str, becomes: str, drive: str = "dec_rz26") -> None:
        write(drive_facts(drive))
        text = (tmp_path / file).read_text()
        assert was in text
        (tmp_path / file).write_text(text.replace(was, becomes))

    return one


@pytest.mark.parametrize("name", MEASURED)
def test_a_measured_drive_is_read_back(write, name):
    """Geometry, seek curve and times are the same to the last bit; from a .parv file controller, bus and buffer as
    well."""
    write(drive_facts(name))
    shipped = load_drive(name)
    for file in ("disk.parv", "disk.diskspecs", "disk.model"):
        drive = load_drive(file)
        assert (drive.capacity, drive.cylinders, drive.heads) == (shipped.capacity, shipped.cylinders, shipped.heads)
        pairs = zip(jax.tree.leaves(drive), jax.tree.leaves(shipped), strict=True)
        assert all(np.array_equal(one, other) for one, other in pairs)
    assert load_controller("disk.parv") == load_controller(name)


def test_a_drive_has_the_name_of_its_block(write):
    write(drive_facts("dec_rz26"))
    assert (load_drive("disk.diskspecs").name, load_drive("disk.model").name) == ("disk", "model")


def test_the_bus_is_the_slowest_in_the_path(write, tmp_path):
    """The drive's transfer time of a sector counts, and counts alone if no bus is described."""
    write(drive_facts("hp_c2247a"))
    path = tmp_path / "disk.diskspecs"
    path.write_text(path.read_text().replace("Bulk sector transfer time = 0.0", "Bulk sector transfer time = 0.18"))
    assert load_controller("disk.parv").bus[:2] == pytest.approx((0.18e-3, 0.18686e-3))
    assert load_controller(path).bus[:2] == pytest.approx((0.18e-3, 0.18e-3))


def test_all_overheads_except_two_are_scaled(write):
    write(drive_facts("hp_c2247a"), scale=2.0)
    overheads, _, _, extra = load_controller("disk.parv")
    assert overheads.read_miss_after_read == pytest.approx(2 * 0.55821e-3) and overheads.least_seek == pytest.approx(
        0.6e-3
    )
    assert extra is not None
    assert extra.command == pytest.approx(2 * 0.64244e-3) and extra.pause == pytest.approx(0.42885e-3)


def test_an_overhead_of_every_request_precedes_every_access(write, tmp_path):
    write(drive_facts("dec_rz26"), scale=0.5)
    path = tmp_path / "disk.diskspecs"
    path.write_text(path.read_text().replace("{ # its", "{ Per-request overhead time = 0.6, # its", 1))
    assert float(load_drive(path).overhead) == pytest.approx(0.3e-3)


HPL = {
    "Seek type": "hplplus10",
    "HPL seek equation values": "[ 300, 3.81, 0.33, 7.75, 0.0059, -1.0 ]",
    "First ten seek times": "[ 2.89, 3.68, 3.81, 3.98, 4.27, 4.65, 4.52, 4.65, 4.82, 4.99 ]",
}


def test_a_seek_formula_takes_over_from_the_first_ten_times(write):
    """The HP C2249A: 3.81 + 0.33 sqrt(d) below 300 cylinders, 7.75 + 0.0059 d from there on. The included drive samples
    this curve, to within 0.004 ms."""
    facts = drive_facts("hp_c2249a")
    write(facts, HPL)
    drive = load_drive("disk.model")
    far = np.array([1, 10, 11, 100, 299, 300, 2050])
    by_hand = [2.89, 4.99, 3.81 + 0.33 * 11**0.5, 7.11, 3.81 + 0.33 * 299**0.5, 9.52, 19.845]
    np.testing.assert_allclose(np.asarray(drive.seek(far)) * 1e3, by_hand, rtol=1e-6)
    every = np.arange(facts["cylinders"])
    shipped = load_drive("hp_c2249a")
    np.testing.assert_allclose(np.asarray(drive.seek(every)), np.asarray(shipped.seek(every)), atol=4e-6)


@pytest.mark.parametrize(("scheme", "spares", "lost"), [(0, 0, 0), (0, 7, 0), (2, 3, 3 * 2599), (9, 1000, 1000)])
def test_spares_follow_the_scheme(write, tmp_path, scheme, spares, lost):
    """Scheme 2: at the end of each of 2,599 cylinders; 9: of the zone; 0: no spares. 14 heads, 58 sectors per track,
    23,142 reserved."""
    write(drive_facts("dec_rz26"))
    path = tmp_path / "disk.model"
    text = path.read_text().replace("Sparing scheme used = 3", f"Sparing scheme used = {scheme}")
    path.write_text(text.replace("Number of spares = 1", f"Number of spares = {spares}"))
    assert load_drive(path).capacity == 2599 * 14 * 58 - 23_142 - lost


def test_zones_may_continue_after_the_last_declared_cylinder(write, tmp_path):
    """The HP C2490A's file declares 2,629 cylinders, and its last zone ends with number 2,629."""
    write(drive_facts("hp_c2490a"))
    path = tmp_path / "disk.model"
    path.write_text(path.read_text().replace("Number of cylinders = 2630", "Number of cylinders = 2629"))
    assert load_drive(path).cylinders == 2630


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        (
            "Rotation speed (in rpms) = 5360,\n",
            "",
            r"dm_mech_g1: field 'Rotation speed \(in rpms\)' is missing; add it",
        ),
        (
            "Rotation speed (in rpms) = 5360",
            "Rotation speed (in rpms) = -5360",
            r"is -5360; it must be between 60 and",
        ),
        (
            "Head switch time = 0.865",
            "Head switch time = soon",
            r"dm_mech_g1: field 'Head switch time' is 'soon'; it must be a n",
        ),
        ("Head switch time = 0.865", "Head switch time = -1", r"'Head switch time' is -1; it must be between 0"),
        (
            "settling delay = -0.483",
            "settling delay = -2",
            r"'write_settle_ms' is -2; its sum with the shortest arm movement",
        ),
        (
            "Number of cylinders = 2599",
            "Number of cylinders = []",
            r"dm_disk model: field 'Number of cylinders' is \[\]",
        ),
        (
            "Blocks per track = 58",
            "Blocks per track = 0",
            r"dm_layout_g1_zone 0: field 'Blocks per track' is 0; it must",
        ),
        ("Last cylinder number = 2598", "Last cylinder number = -1", r"zone 0: field 'Last cylinder number' is -1"),
        ("track switch = 7.000000", "track switch = 7.5", r"'Skew for track switch' is 7.5; it must be a whole number"),
        ("Number of spares = 1", "Number of spares = 58", r"zone 0: 58 spares per track leave no data sectors"),
        (
            "Sparing scheme used = 3",
            "Sparing scheme used = 5",
            r"dm_layout_g1: field 'Sparing scheme used' is 5; give one of 0",
        ),
        ("mapping scheme = 0", "mapping scheme = 2", r"field 'LBN-to-PBN mapping scheme' is 2; give one of 0, 1"),
        (
            "mapping scheme = 0",
            "mapping scheme = 0, Skew units = revolutions",
            r"'Skew units' is 'revolutions'; give one of sectors",
        ),
        ("Seek type = extracted", "Seek type = hpl", r"'Seek type' is 'hpl'; give one of extracted, hplplus10"),
        ("Seek type = extracted", "Seek type = hplplus10", r"'HPL seek equation values' is missing"),
        (
            "Full seek curve = disk.seek",
            "Full seek curve = gone.seek",
            r"'Full seek curve' is gone\.seek: No such file",
        ),
        ("Full seek curve = disk.seek", "Full seek curve = 5", r"'Full seek curve' is 5; it must be a file"),
        (
            "= trackSwitchPlusRotation",
            "= averageRotation",
            r"'Access time type' is 'averageRotation'; give one of trackSw",
        ),
        (
            "dm_layout_g1 ",
            "dm_layout_g4 ",
            r"dm_disk model: field 'Layout Model' is dm_layout_g4; it must be a dm_layout_g1 bl",
        ),
        ("dm_layout_g1_zone ", "zone ", r"'Zones' is zone; it must be a dm_layout_g1_zone block"),
        ("dm_disk ", "disk ", r"disk\.model: no disksim_disk or dm_disk block; give a file that describes a disk"),
        ("dm_disk ", "dm_disk B {}\ndm_disk ", r"2 dm_disk blocks \(B, model\); keep only one"),
    ],
)
def test_an_impossible_model_is_rejected(change, was, becomes, says):
    change("disk.model", was, becomes)
    assert_refused(lambda: load_drive("disk.model"), says)


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ("Number of buffer segments = 10,\n", "", r"disksim_disk disk: field 'Number of buffer segments' is missing"),
        ("Segment size (in blks) = 57", "Segment size (in blks) = 0", r"is 0; it must be at least 1"),
        (
            "Read hit over. after read = 1.229",
            "Read hit over. after read = -1",
            r"'Read hit over. after read' is -1; it must",
        ),
        ("continuous read = 1", "continuous read = 5", r"'Buffer continuous read' is 5; it must be between 0 and 4"),
        ("water mark = 0.0", "water mark = 1.5", r"'High \(read\) water mark' is 1.5; it must be between 0 and 1"),
        (
            "Extra write disconnect = 0",
            "Extra write disconnect = yes",
            r"'Extra write disconnect' is 'yes'; it must be",
        ),
    ],
)
def test_an_impossible_controller_is_rejected(change, was, becomes, says):
    change("disk.diskspecs", was, becomes)
    assert_refused(lambda: load_controller("disk.parv"), says)


@pytest.mark.parametrize(
    ("label", "off"),
    [
        ("Combine seq writes", {"combines"}),
        ("Allow read hits on write data", {"hits_written"}),
        ("Enable caching in buffer", {"keeps", "read_ahead"}),
    ],
)
def test_common_features_may_be_off(change, label, off):
    change("disk.diskspecs", f"{label} = 1", f"{label} = 0")
    was, is_now = load_controller("dec_rz26").buffer, load_controller("disk.parv").buffer
    assert is_now == was._replace(**dict.fromkeys(off, 0))


def test_data_that_was_read_may_be_discarded(change):
    change("disk.diskspecs", "over requested = 1", "over requested = -1")
    was, is_now = load_controller("dec_rz26").buffer, load_controller("disk.parv").buffer
    assert is_now == was._replace(discards_read=True)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Minimum read-ahead (blks)", 16),
        ("Allow almost read hits", 1),
        ("Allow sneaky full read hits", 1),
        ("Allow sneaky partial read hits", 1),
        ("Allow sneaky intermediate read hits", 1),
        ("Preseeking level", 1),
        ("Disconnect write if seek", 1),
        ("Write hit stop prefetch", 0),
        ("Read directly to buffer", 0),
        ("Immediate transfer partial hit", 0),
    ],
)
def test_unsupported_buffer_settings_are_rejected(change, label, value):
    change("disk.diskspecs", "Extra write disconnect", f"{label} = {1 - bool(value)},\nExtra write disconnect")
    assert load_controller("disk.parv") == load_controller("dec_rz26")
    change("disk.diskspecs", "Extra write disconnect", f"{label} = {value},\nExtra write disconnect")
    assert_refused(lambda: load_controller("disk.parv"), rf"field '{re.escape(label)}' is {value}; give one of")


def test_water_marks_are_by_the_size_of_requests(change):
    change("disk.diskspecs", "reqsize = 1", "reqsize = 0", drive="hp_c2247a")
    assert_refused(lambda: load_controller("disk.parv"), "'Set watermark by reqsize' is 0; give one of 1")


@pytest.mark.parametrize(
    ("curve", "says"),
    [
        ("", "the first line must be 'Seek distances measured: N'"),
        ("Seek times: 2\n1, 1.0\n2, 2.0\n", "the first line must be 'Seek distances measured: N'"),
        ("Seek distances measured: 2\n1, fast\n2, 2.0\n", "and each further line"),
        ("Seek distances measured: 2\n1\n2, 2.0\n", "and each further line"),
        (
            "Seek distances measured: 3\n1, 1.0\n2, 2.0\n",
            "2 distances, but the first line states 3; correct this number or the list",
        ),
        (
            "Seek distances measured: 2\n2, 1.0\n1, 2.0\n",
            "field 'seek_ms': seek curve: distances must increase and start at 1 or more",
        ),
        ("Seek distances measured: 2\n1, -1.0\n2, 2.0\n", "field 'seek_ms': seek curve: time"),
    ],
)
def test_an_impossible_seek_curve_is_rejected(write, tmp_path, curve, says):
    write(drive_facts("dec_rz26"))
    (tmp_path / "disk.seek").write_text(curve)
    assert_refused(lambda: load_drive("disk.diskspecs"), says)


def test_a_model_alone_has_no_controller(write):
    write(drive_facts("dec_rz26"))
    assert_refused(lambda: load_controller("disk.model"), "'disk.model': its controller, bus and buffer are unknown")
