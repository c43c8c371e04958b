"""Plans against the simulated array, which they never call: single answers, and the law of the best layout on a grid."""

import json
import subprocess
import sys

import numpy as np
import pytest

from storagekit.drive import load_drive
from storagekit.errors import InputError
from storagekit.plan import (
    RSATF,
    DriveFigures,
    ResponseGoal,
    Throughput,
    ThroughputGoal,
    best_sr_array,
    plan_against_simulation,
    random_questions,
    size_array,
)
from storagekit.units import MS

PLAIN = DriveFigures(12 * MS, 8 * MS, 2 * MS)


def follows_the_law(data):
    """The layout that the plan recommends is the best one simulated, or within 5% of it, for 95% of the questions."""
    share = data.within.sel(rule="plan")
    assert np.all(share >= 0.95), f"{share.to_series().to_dict()}; worst {float(data.shortfall.max()):.1%}"


def test_the_recommended_layout_is_the_best_simulated_or_near_it():
    """Drives, disks, writes, queues and localities at random; every layout simulated."""
    data = plan_against_simulation(random_questions(40, seed=11, most_disks=16), effort=0.5)
    follows_the_law(data)
    assert data.sizes == {"case": 3, "rule": 2, "question": 40}
    assert np.all(data.shortfall >= 0)
    assert data.attrs["basis"] == "simulated"
    # the elevator is the formulas' own; where the arm chooses by the platter, predictions are only near
    error = data.predicted / data.figure - 1
    assert np.all(np.abs(error.sel(rule="plan", case=["latency", "throughput, RLOOK"]).mean("question")) < 0.02)
    assert np.all(np.abs(error.sel(rule="plan")) < 0.15)


@pytest.mark.slow
@pytest.mark.parametrize("mirrors", [1, 2])
def test_the_law_up_to_48_disks_and_on_measured_drives(mirrors):
    real = [load_drive("cheetah9lp"), load_drive("atlas10k")]
    data = plan_against_simulation(random_questions(60, seed=12, real=real), effort=0.5, mirrors=mirrors)
    follows_the_law(data)


def test_an_answer_is_checked_in_the_order_of_its_ranking():
    answer = best_sr_array(PLAIN, 12, read_share=0.8, queue=4, locality=3)
    check = answer.check(candidates=3)
    assert [row.layout for row in check.rows] == [one.layout for one in answer.ranking[:3]]
    for row, one in zip(check.rows, answer.ranking, strict=False):
        assert row.predicted == one.latency
        assert row.low < row.simulated < row.high
        # a sector's transfer, a 500th of a revolution, is not in T_o
        assert abs(row.difference) < 0.02
    assert "95% interval" in str(check)
    found = json.loads(json.dumps(check.to_dict()))
    assert found["rows"][0]["layout"] == str(answer.configuration)
    assert len(found["attrs"]["seeds"]) == 16


def test_background_writes_of_one_request_at_a_time_cost_one_copy():
    """The latency is that of reads; that a copy under way is not interrupted, the planner leaves out."""
    answer = best_sr_array(PLAIN, 12, read_share=0.5, background=1.0, queue=1, locality=3)
    (row,) = answer.check(seeds=4, requests=500).rows
    assert row.predicted == best_sr_array(PLAIN, 12, read_share=1.0, queue=1, locality=3).recommended.latency
    assert -0.2 < row.difference < 0.01


def test_a_throughput_is_checked_under_its_scheduler():
    asked = {"read_share": 0.8, "queue": 8, "locality": 3, "objective": Throughput()}
    elevator = best_sr_array(PLAIN, 8, **asked).check(seeds=4)
    nearest = best_sr_array(PLAIN, 8, **asked, scheduler=RSATF()).check(seeds=4)
    assert nearest.rows[0].simulated > 1.05 * elevator.rows[0].simulated
    assert abs(elevator.rows[0].difference) < 0.04
    assert (nearest.scheduler, nearest.attrs["schedule"]) == ("RSATF", "SATF")


@pytest.mark.parametrize("goal", [ThroughputGoal(300, 4), ResponseGoal(15 * MS, 150)])
def test_a_size_is_checked(goal):
    answer = size_array(PLAIN, goal, read_share=0.8)
    check = answer.check(seeds=8)
    (row,) = check.rows
    assert row.layout == answer.layout
    assert check.measure == ("response" if isinstance(goal, ResponseGoal) else "throughput")
    assert abs(row.difference) < 0.06


def refused():
    asked = {"read_share": 0.8, "queue": 2}
    return [
        (best_sr_array(PLAIN, 7, **asked, mirrors=2), {}, "nothing to check, .* 7 disks do not divide"),
        (size_array(PLAIN, ResponseGoal(1 * MS, 10), read_share=1), {}, "nothing to check, .*mechanical floor"),
        (best_sr_array(PLAIN, 4, **asked, background=0.5), {}, r"background 0\.5: the simulation"),
        (best_sr_array([PLAIN, DriveFigures(5 * MS, 4 * MS)], 2, **asked), {}, "several kinds"),
        (best_sr_array(PLAIN, 4, **asked), {"candidates": 0}, "candidates 0"),
        (best_sr_array(PLAIN, 4, **asked), {"seeds": 1}, "seeds 1: give a whole number, at least 2, for an interval"),
        (best_sr_array(PLAIN, 512, read_share=1, queue=64, objective=Throughput()), {}, "32768 requests at once"),
    ]


@pytest.mark.parametrize(("answer", "given", "message"), refused())
def test_what_cannot_be_checked_is_refused_in_a_line(answer, given, message):
    with pytest.raises(InputError, match=message) as refusal:
        answer.check(**given)
    assert "\n" not in str(refusal.value)


def test_a_comparison_refuses_what_it_does_not_know():
    with pytest.raises(InputError, match="case 'speed': it is one of latency"):
        plan_against_simulation([], cases=["speed"])
    with pytest.raises(InputError, match="effort 0"):
        plan_against_simulation([], effort=0)
    with pytest.raises(InputError, match="effort inf: it must be above 0 and finite"):
        plan_against_simulation([], effort=float("inf"))


def test_questions_are_drawn_within_their_bounds():
    drive = load_drive("cheetah9lp")
    questions = random_questions(200, 3, real=[drive])
    assert random_questions(200, 3, real=[drive]) == questions
    assert all(2 <= one.disks <= 48 and 1 <= one.queue <= 32 and 0.5 <= one.read_share <= 1 for one in questions)
    assert 30 < sum(one.drive is drive for one in questions) < 70
    for most in (1, float("inf")):
        with pytest.raises(InputError, match=f"most_disks {most}: give a whole number, at least 2"):
            random_questions(1, most_disks=most)


def test_planning_does_not_load_the_engine():
    code = "import sys, storagekit.plan; sys.exit('storagekit.engine' in sys.modules or 'xarray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
