"""The tour draws the results of the drive's model."""

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

SETTINGS = [(0.0, 0.0, 0.0), (0.2, 0.6, 0.3), (0.9, 0.05, 0.75), (0.5, 1.0, 0.99)]


def rows(way) -> dict[str, list[dict]]:
    return draw.request_way(way).data


@pytest.mark.parametrize("name", KNOWN.values())
@pytest.mark.parametrize("read", [True, False])
def test_the_drawn_times_add_up_to_the_times_of_the_drive(name, read):
    drive = load_drive(name)
    layout = SRMirror(stripes=1, replicas=4, unit=128)
    for arm, address, platter in SETTINGS:
        way = tour.request_way(drive, 4, arm, address, platter, 64 * KB, read)
        sector = np.array([round(address * (int(layout.capacity(drive)) // 128 - 1)) * 128])
        none = np.zeros(1, np.int32)
        words = none.astype(np.uint32)
        request = Requests(none, sector, none + 128, none == 0, words, words, none != 0, none, none)
        target = layout.locate(drive, request).target
        here = Arm(np.array([round(arm * (drive.cylinders - 1))]), none)
        totals = []
        for index in range(4):
            location = layout.replica(drive, target, none, index)
            positioning = drive.positioning(here, np.float32([platter]), location, np.array([read]))
            totals.append(float(positioning.total[0]) + float(location.transfer[0]))
        drawn = [row for row in rows(way)["bars"] if row["last"]]
        assert [row["end"] for row in drawn] == pytest.approx([total / MS for total in totals], rel=1e-5)
        # The scheduler takes the smallest positioning time; for copies of equal length, this is the first access to
        # end.
        assert int(way.taken) == int(np.argmin(totals))
        assert [row["shown"] == 1.0 for row in drawn] == [index == int(way.taken) for index in range(4)]


@pytest.mark.parametrize("name", [NEARLINE, "cheetah9lp"])
def test_the_data_are_under_the_head_when_the_wait_ends(name):
    for arm, address, platter in SETTINGS:
        way = tour.request_way(load_drive(name), 3, arm, address, platter)
        one = way.sel(replica=way.taken)
        begins = float(one.overhead + one.move + one.settle + one.rotation)
        turned = (way.attrs["platter"] + begins / way.attrs["revolution"]) % 1
        ahead = (float(one.angle) - turned + 0.5) % 1 - 0.5
        assert abs(ahead) < 1e-3
        # and the head is on their track, at the end of its trail
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


def test_the_wait_with_replicas_is_the_formulas_share_of_a_turn():
    """Compare R / (2 D_r) with each mean of 20,000 uniform waits, within four standard errors."""
    found = tour.waits(load_drive(NEARLINE))
    error = 2 * found.formula / np.sqrt(12 * found.attrs["accesses"])
    assert (abs(found.rotation - found.formula) < 4 * error).all()
    assert float(found.seek.max() - found.seek.min()) < 1e-5


def test_the_dashboard_names_the_replica_and_the_reason():
    dashboard = tour.dashboard(replicas=3, platter=10)
    way = tour.request_way(load_drive(NEARLINE), 3, 0.1, 0.6, 0.1)
    text = str(tour.summary(way))
    assert f"RSATF selects replica {int(way.taken)}" in text
    values = {name: control.meaning(control.widget().value) for name, control in dashboard.controls.items()}
    shown = dashboard.shown(values)
    assert text.splitlines()[0] in shown.said
    # only rows change, so that the chart keeps its layout and the slider its position
    assert dashboard.shown(values | {"replicas": 5, "arm": 90, "kind": False}).spec == shown.spec
    assert "at most 4" in dashboard.shown(values | {"replicas": 5, "drive": load_drive("toshiba_mk3001grrb")}).said


def test_an_arm_outside_the_drive_raises():
    with pytest.raises(InputError, match=r"arm -0\.1"):
        tour.request_way(load_drive(NEARLINE), arm=-0.1)
