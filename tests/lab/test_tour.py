"""The tour: what is drawn is what the drive's model says."""

import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.core.units import KB, MS
from storagekit.drive import Arm, load_drive
from storagekit.lab import tour
from storagekit.lab.draw import tour as draw
from storagekit.lab.drives import KNOWN, NEARLINE
from storagekit.placement import SRMirror
from storagekit.workload import Requests

ASKED = [(0.0, 0.0, 0.0), (0.2, 0.6, 0.3), (0.9, 0.05, 0.75), (0.5, 1.0, 0.99)]


def rows(way) -> dict[str, list[dict]]:
    return draw.request_way(way).data


@pytest.mark.parametrize("name", KNOWN.values())
@pytest.mark.parametrize("read", [True, False])
def test_the_drawn_times_add_up_to_what_the_drive_says(name, read):
    drive = load_drive(name)
    layout = SRMirror(stripes=1, replicas=4, unit=128)
    for arm, address, platter in ASKED:
        way = tour.request_way(drive, 4, arm, address, platter, 64 * KB, read)
        sector = np.array([round(address * (int(layout.capacity(drive)) // 128 - 1)) * 128])
        none = np.zeros(1, np.int32)
        words = none.astype(np.uint32)
        asked = Requests(none, sector, none + 128, none == 0, words, words, none != 0, none, none)
        target = layout.locate(drive, asked).target
        here = Arm(np.array([round(arm * (drive.cylinders - 1))]), none)
        totals = []
        for index in range(4):
            place = layout.replica(drive, target, none, index)
            positioning = drive.positioning(here, np.float32([platter]), place, np.array([read]))
            totals.append(float(positioning.total[0]) + float(place.transfer[0]))
        drawn = [row for row in rows(way)["bars"] if row["last"]]
        assert [row["end"] for row in drawn] == pytest.approx([total / MS for total in totals], rel=1e-5)
        # the scheduler takes the least of positioning, which for copies of equal length is the first that ends
        assert int(way.taken) == int(np.argmin(totals))
        assert [row["shown"] == 1.0 for row in drawn] == [index == int(way.taken) for index in range(4)]


@pytest.mark.parametrize("name", [NEARLINE, "cheetah9lp"])
def test_when_the_wait_is_over_the_data_are_under_the_head(name):
    for arm, address, platter in ASKED:
        way = tour.request_way(load_drive(name), 3, arm, address, platter)
        one = way.sel(replica=way.taken)
        begins = float(one.overhead + one.move + one.settle + one.rotation)
        turned = (way.attrs["platter"] + begins / way.attrs["revolution"]) % 1
        ahead = (float(one.angle) - turned + 0.5) % 1 - 0.5
        assert abs(ahead) < 1e-3
        # and the head is on their track, where the trail ends
        assert draw.head_at(way, np.array([begins]))[0] == pytest.approx(rows(way)["arm"][0]["there"])
        trail = rows(way)["trail"]
        assert trail[0]["radius"] == pytest.approx(rows(way)["arm"][0]["left"])
        assert trail[-1]["at"] == pytest.approx(trail[-1]["total"])


def test_replicas_stand_at_even_angles_and_no_wait_is_longer_than_the_angle_between_them():
    drive = load_drive(NEARLINE)
    for replicas in range(1, 7):
        ways = [tour.request_way(drive, replicas, 0.3, 0.7, platter) for platter in (0.0, 0.21, 0.48, 0.9)]
        turn = ways[0].attrs["revolution"]
        angles = np.sort(ways[0].angle.values)
        assert np.diff([*angles, angles[0] + 1]) == pytest.approx(1 / replicas, abs=1e-5)
        assert max(float(way["rotation"].sel(replica=way.taken)) for way in ways) <= turn / replicas * 1.001


def test_what_replicas_buy_is_the_formulas_share_of_a_turn():
    """R / (2 D_r), each mean of 20,000 waits that are uniform: four standard errors."""
    found = tour.waits(load_drive(NEARLINE))
    error = 2 * found.formula / np.sqrt(12 * found.attrs["accesses"])
    assert (abs(found.rotation - found.formula) < 4 * error).all()
    assert float(found.seek.max() - found.seek.min()) < 1e-5


def test_the_board_says_which_replica_and_why():
    board = tour.board(replicas=3, platter=10)
    way = tour.request_way(load_drive(NEARLINE), 3, 0.1, 0.6, 0.1)
    said = str(tour.told(way))
    assert f"RSATF selects replica {int(way.taken)}" in said
    values = {name: control.meaning(control.widget().value) for name, control in board.controls.items()}
    shown = board.shown(values)
    assert said.splitlines()[0] in shown.said
    # only rows change, so that the chart stays as it is and its slider where it was
    assert board.shown(values | {"replicas": 5, "arm": 90, "kind": False}).spec == shown.spec
    assert "at most 4" in board.shown(values | {"replicas": 5, "drive": load_drive("toshiba_mk3001grrb")}).said


def test_a_drive_without_an_arm_is_refused():
    with pytest.raises(InputError, match=r"arm -0\.1"):
        tour.request_way(load_drive(NEARLINE), arm=-0.1)
