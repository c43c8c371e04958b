"""The layout rule, against a tiny drive worked by hand.

The drive has two heads and a serpentine layout. Zone 0 has cylinders 0 and 1, 4 sectors per track, track skew 1 and
cylinder skew 2. Its first sector is reserved, and each cylinder ends with one spare. Zone 1 has cylinders 2 and 3, 3
sectors per track, skews 1 and 1, and its angle 0 is one sector late. So zone 0 holds 2 (8 - 1) - 1 = 13 sectors, and
zone 1 the 12 from sector 13 on. In zone 0 (skip the reserved sector, then add the skews: order + cylinder track skews,
2 per cylinder):

    sector           0    1    2 |  3    4    5 (spare) |  6    7    8    9 | 10   11   12 (spare)
    cylinder, head      0, 0     |     0, 1             |        1, 1       |    1, 0
    angle          1/4  2/4  3/4 | 1/4  2/4  3/4        | 3/4   0   1/4  2/4|  0   1/4  2/4

    sector          13   14   15 | 16   17   18 | 19   20   21 | 22   23   24
    cylinder, head      2, 0     |    2, 1      |    3, 1      |    3, 0
    angle          1/3  2/3   0  | 2/3   0  1/3 |  0   1/3 2/3 | 1/3  2/3   0
"""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from storagekit.drive import drive_from_facts, drive_names, load_drive
from storagekit.drive.geometry import divided

SHAPE = {"track_skew": 1, "reserved": 0, "first_offset": 0, "spares": 0, "cylinders": 2}
ZONES = [
    {
        **SHAPE,
        "first_cylinder": 0,
        "sectors_per_track": 4,
        "cylinder_skew": 2,
        "reserved": 1,
        "spares": 1,
        "sparing_cylinders": 1,
    },
    {
        **SHAPE,
        "first_cylinder": 2,
        "sectors_per_track": 3,
        "cylinder_skew": 1,
        "first_offset": 1,
        "sparing_cylinders": 2,
    },
]
CYLINDER = [0] * 6 + [1] * 7 + [2] * 6 + [3] * 6
HEAD = [0] * 3 + [1] * 3 + [1] * 4 + [0] * 3 + [0] * 3 + [1] * 3 + [1] * 3 + [0] * 3
ZONE_0 = np.array([1, 2, 3, 1, 2, 3, 3, 0, 1, 2, 0, 1, 2]) / 4
ZONE_1 = np.array([1, 2, 0, 2, 0, 1, 0, 1, 2, 1, 2, 0]) / 3
ANGLE = np.concatenate([ZONE_0, ZONE_1])
REVOLUTION = 10e-3


def _tiny(seek_ms):
    return drive_from_facts(
        {
            "rpm": 6000,
            "cylinders": 4,
            "heads": 2,
            "serpentine": True,
            "head_switch_ms": 0.5,
            "write_settle_ms": 0.25,
            "overhead_ms": 0.0,
            "seek_ms": seek_ms,
            "zones": ZONES,
        },
        "tiny",
    )


@pytest.fixture(scope="module")
def tiny():
    return _tiny([[1, 1.0], [3, 3.0]])


def test_the_layout_worked_by_hand(tiny):
    assert tiny.capacity == 25 and tiny.cylinders == 4
    target = tiny.locate(np.arange(25), np.ones(25, int))
    assert target.cylinder.tolist() == CYLINDER
    assert target.head.tolist() == HEAD
    np.testing.assert_allclose(target.angle, ANGLE, atol=1e-7)


@pytest.mark.parametrize(
    ("sector", "count", "turns"),
    [
        (0, 3, 3 / 4),  # on one track
        (2, 2, 3 / 4),  # 3/4 to 4/4, a sector of track skew, 5/4 to 6/4
        (18, 2, 3 / 3),  # 1/3 to 2/3, a sector of cylinder skew, 3/3 to 4/3
        (16, 6, 7 / 3),  # a track, a sector of skew, a track
        (12, 2, 1 / 4 + 7 / 12 + 1 / 3),  # 2/4 to 3/4; the arm arrives after 1/10 of a turn, and the data is at 4/3
        # a track of the first zone, then two of the next with its sector of skew in between
        (10, 9, 3 / 4 + 7 / 12 + 7 / 3),
    ],
)
def test_a_transfer_waits_out_the_skews_it_crosses(tiny, sector, count, turns):
    target = tiny.locate(np.array(sector), np.array(count))
    np.testing.assert_allclose(target.transfer, turns * REVOLUTION, rtol=1e-6)
    last = sector + count - 1
    assert (target.end.cylinder, target.end.head) == (CYLINDER[last], HEAD[last])


def test_an_arm_too_late_for_the_next_zone_waits_a_turn_more():
    """The platter is at 3/4 after sector 12, and sector 13 begins at 4/3, 5.83 ms later."""
    transfer = [float(_tiny([[1, ms], [3, 7.0]]).locate(np.array(12), np.array(2)).transfer) for ms in (5.8, 5.9)]
    np.testing.assert_allclose(np.array(transfer) / REVOLUTION, [7 / 6, 13 / 6], rtol=1e-6)


def test_spares_at_the_end_of_each_track_worked_by_hand():
    """One head, track skew 0, cylinder skew 1, tracks of 4 sectors with the last one spare:

    sector      0    1    2 (spare) |  3    4    5 (spare) |  6
    angle       0   1/4  2/4  3/4   | 1/4  2/4  3/4   0    | 2/4
    """
    zone = {
        **SHAPE,
        "track_skew": 0,
        "cylinder_skew": 1,
        "first_cylinder": 0,
        "cylinders": 3,
        "sectors_per_track": 4,
        "track_spares": 1,
        "sparing_cylinders": 3,
    }
    figures = {
        "rpm": 6000,
        "cylinders": 3,
        "heads": 1,
        "head_switch_ms": 0.5,
        "write_settle_ms": 0.25,
        "overhead_ms": 0.0,
    }
    drive = drive_from_facts(figures | {"seek_ms": [[1, 1.0], [2, 2.0]], "zones": [zone]}, "tiny")
    assert drive.capacity == 9
    target = drive.locate(np.arange(7), np.ones(7, int))
    assert target.cylinder.tolist() == [0, 0, 0, 1, 1, 1, 2]
    np.testing.assert_allclose(target.angle, np.array([0, 1, 2, 1, 2, 3, 2]) / 4)
    # from 2/4 past the spare sector and one sector of skew to 5/4, then one more
    np.testing.assert_allclose(drive.locate(np.array(2), np.array(2)).transfer, 4 / 4 * REVOLUTION, rtol=1e-6)


@pytest.mark.parametrize("name", drive_names())
@settings(max_examples=30, derandomize=True)
@given(data=st.data())
def test_a_transfer_ends_where_its_last_sector_does(name, data):
    """For any request for whole physical sectors within a zone, with any skews and spares, the transfer agrees with the
    angles.

    Up to whole revolutions it takes the time from the angle of its first sector to the end of its last.
    """
    drive = load_drive(name)
    shape, grain = drive.geometry, drive.grain
    zone = data.draw(st.integers(0, shape.first_sector.size - 1))
    group = int(shape.group_sectors[zone])
    begin = int(shape.first_sector[zone])
    end = int(shape.first_sector[zone + 1]) if zone + 1 < shape.first_sector.size else drive.capacity
    # near the ends of groups, where the spares are
    border = begin + group * data.draw(st.integers(0, (end - begin) // group)) - int(shape.reserved[zone])
    first = min(max(border + data.draw(st.integers(-200, 200)), begin), end - 1) // grain * grain
    count = data.draw(st.integers(1, min(2000, end - first) // grain)) * grain
    turns = float(drive.locate(np.array(first), np.array(count)).transfer) / float(drive.revolution)
    ends = drive.locate(np.array([first, first + count - grain]), np.array([grain, grain])).angle
    apart = turns - (ends[1] - ends[0] + grain / shape.sectors_per_track[zone])
    assert apart == pytest.approx(round(float(apart)), abs=1e-4)


@pytest.mark.parametrize("name", sorted(set(drive_names()) - {"dec_rz26"}))  # this drive has only one zone
@settings(max_examples=20, derandomize=True)
@given(data=st.data())
def test_a_transfer_over_a_zones_end_takes_as_long_as_its_sectors_one_by_one(name, data):
    """From each sector the platter turns to the next one's angle, and enters the next zone only after the arm has
    arrived.

    Requests cover up to two tracks, so only the zone's last group of cylinders ends.
    """
    drive = load_drive(name)
    shape, grain, revolution = drive.geometry, drive.grain, float(drive.revolution)
    zone = data.draw(st.integers(0, shape.first_sector.size - 2))
    edge, length = int(shape.first_sector[zone + 1]), int(shape.sectors_per_track[zone]) // grain
    first = edge - data.draw(st.integers(1, length)) * grain
    count = edge - first + data.draw(st.integers(1, length)) * grain
    sector = np.arange(first, first + count, grain)
    each = drive.locate(sector, np.full_like(sector, grain))
    turn = np.asarray(each.transfer, float) / revolution
    gap = (each.angle[1:] - each.angle[:-1] - turn[:-1] + 1e-5) % 1 - 1e-5
    over = sector[1:] == edge
    moved = int((each.cylinder[1:] - each.cylinder[:-1])[over][0])
    step = max(float(drive.head_switch), float(drive.seek(moved))) / revolution
    gap[over] += gap[over] < step
    assert float(drive.locate(np.array(first), np.array(count)).transfer) / revolution == pytest.approx(
        float(turn.sum() + gap.sum()), abs=1e-3
    )


@pytest.mark.parametrize("name", ["atlas10k", "cheetah9lp", "cheetah4lp", "ibm18es"])
@settings(max_examples=30, derandomize=True)
@given(data=st.data())
def test_numpy_and_jax_agree(name, data):
    """The arithmetic in 64 bits and in 32 bits agrees: there is no overflow, and every angle lies in [0, 1)."""
    drive = load_drive(name)
    sectors = data.draw(st.lists(st.integers(0, drive.capacity - 512), min_size=1, max_size=8))
    counts = data.draw(st.lists(st.integers(1, 512), min_size=len(sectors), max_size=len(sectors)))
    wide = drive.locate(np.array(sectors, np.int64), np.array(counts, np.int64))
    padded = np.resize(np.array(sectors, np.int32), 8), np.resize(np.array(counts, np.int32), 8)
    narrow = drive.locate(*(jnp.asarray(column) for column in padded))
    for ours, theirs in zip(
        (wide.cylinder, wide.head, wide.end.cylinder, wide.end.head),
        (narrow.cylinder, narrow.head, narrow.end.cylinder, narrow.end.head),
        strict=True,
    ):
        assert ours.tolist() == np.asarray(theirs)[: len(sectors)].tolist()
    np.testing.assert_allclose(wide.angle, np.asarray(narrow.angle)[: len(sectors)], atol=1e-6)
    np.testing.assert_allclose(wide.transfer, np.asarray(narrow.transfer)[: len(sectors)], rtol=1e-6)
    assert np.all((wide.angle >= 0) & (wide.angle < 1))
    assert np.all(wide.cylinder < drive.cylinders) and np.all(wide.head < drive.geometry.heads)


@pytest.mark.parametrize("name", ["atlas10k", "cheetah9lp", "cheetah4lp", "ibm18es"])
def test_all_sectors_have_different_locations(name):
    """Every sector in a window across the drive's second zone boundary has a different location."""
    drive = load_drive(name)
    boundary = int(drive.geometry.first_sector[1])
    sector = np.arange(boundary - 3000, boundary + 3000)
    target = drive.locate(sector, np.ones_like(sector))
    locations = np.stack([target.cylinder, target.head, np.round(target.angle * 1e5)], axis=1)
    assert len(np.unique(locations, axis=0)) == len(sector)


LARGEST = 2**31 - 1
numbers = st.lists(st.integers(-LARGEST, LARGEST), min_size=1, max_size=64)


@settings(max_examples=50, derandomize=True)
@given(numbers, numbers, st.integers(-1, 1))
@example([2004253933, 227393204, 747644623], [668084645, 75797735, 32506288], 0)
def test_quotients_are_exact(number, by, offset):
    """For any two numbers of 32 bits with a divisor of at least 1, also at multiples and next to them, where rounding
    would show."""
    number, by = np.resize(number, 64), np.resize(np.maximum(np.abs(by), 1), 64)
    by = np.concatenate([by, by % 1000 + 1, 1 + by // 2**20])
    number = np.tile(number, 3)
    multiples = np.clip(number // by * by + offset, -LARGEST, LARGEST)
    for column in (number, multiples, np.full_like(number, LARGEST)):
        ours = divided(jnp.asarray(column, jnp.int32), jnp.asarray(by, jnp.int32))
        np.testing.assert_array_equal(np.stack(ours), np.stack(divmod(column, by)))


def test_positioning_worked_by_hand(tiny):
    """The arm is on cylinder 0, head 0, the platter at 1/4. A revolution takes 10 ms, a head switch 1/20 turn, settling
    1/40."""
    arm = tiny.locate(np.array(0), np.array(1)).end
    cases = [
        # sector, read: seek ms, rotation ms
        (2, True, 0.0, 5.0),  # 1/4 to 3/4
        (2, False, 0.0, 5.0),  # no move, no settling
        (0, True, 0.0, 0.0),  # already there
        (3, True, 0.5, 9.5),  # the head switch ends just too late for 1/4
        (3, False, 0.75, 9.25),  # and the write settles
        (6, True, 1.0, 4.0),  # seek longer than the switch; 1/4 + 1/10 to 3/4
        (13, True, 2.0, 8.8333333),  # two cylinders: 1/4 + 2/10 to 4/3
        (24, False, 3.25, 4.25),  # three, and a write: 1/4 + 3.25/10 to 1
    ]
    for sector, read, seek, rotation in cases:
        target = tiny.locate(np.array(sector), np.array(1))
        found = tiny.positioning(arm, jnp.float32(0.25), target, jnp.asarray(read))
        np.testing.assert_allclose(float(found.seek), seek * 1e-3, atol=1e-8, err_msg=f"{sector} {read}")
        assert float(found.rotation) * 1e3 == pytest.approx(rotation, abs=2e-6), (sector, read)
