"""Check results against the simulated array, which the planner never calls."""

import json
import subprocess
import sys

import pytest
from helpers import assert_refused

from storagekit.core.units import MS
from storagekit.plan import RSATF, DriveFigures, MaxThroughput, ResponseGoal, ThroughputGoal
from storagekit.plan.sizing import size
from storagekit.plan.sr_array import array

PLAIN = DriveFigures(12 * MS, 8 * MS, 2 * MS)


def test_a_result_is_checked_in_the_order_of_its_ranking():
    answer = array(PLAIN, 12, read_share=0.8, queue=4, locality=3)
    check = answer.check(candidates=3)
    assert [row.candidate for row in check.rows] == [str(one.layout) for one in answer.ranking[:3]]
    for row, one in zip(check.rows, answer.ranking, strict=False):
        assert row.predicted == one.latency
        assert row.low < row.simulated < row.high
        # T_o does not include the transfer of a sector, a 500th of a revolution
        assert abs(row.difference) < 0.02
    assert "95% interval" in str(check)
    found = json.loads(json.dumps(check.to_dict()))
    assert found["rows"][0]["layout"] == str(answer.configuration)
    assert len(found["attrs"]["seeds"]) == 16


@pytest.mark.slow
def test_background_writes_of_one_request_at_a_time_cost_one_copy():
    """The latency is the latency of reads. The planner ignores that a copy under way is not interrupted."""
    answer = array(PLAIN, 12, read_share=0.5, background=1.0, queue=1, locality=3)
    (row,) = answer.check(seeds=4, requests=500).rows
    assert row.predicted == array(PLAIN, 12, read_share=1.0, queue=1, locality=3).recommended.latency
    assert -0.2 < row.difference < 0.01


def test_a_throughput_is_checked_under_its_scheduler():
    question = {"read_share": 0.8, "queue": 8, "locality": 3, "objective": MaxThroughput()}
    elevator = array(PLAIN, 8, **question).check(seeds=4)
    nearest = array(PLAIN, 8, **question, scheduler=RSATF()).check(seeds=4)
    assert nearest.rows[0].simulated > 1.05 * elevator.rows[0].simulated
    assert abs(elevator.rows[0].difference) < 0.04
    assert (nearest.scheduler, nearest.attrs["schedule"]) == ("RSATF", "SATF")


@pytest.mark.parametrize("goal", [ThroughputGoal(300, 4), ResponseGoal(15 * MS, 150)])
def test_a_size_is_checked(goal):
    answer = size(PLAIN, goal, read_share=0.8)
    check = answer.check(seeds=8)
    (row,) = check.rows
    assert row.candidate == str(answer.layout)
    assert row.measure == ("response" if isinstance(goal, ResponseGoal) else "throughput")
    assert abs(row.difference) < 0.06


def rejected():
    question = {"read_share": 0.8, "queue": 2}
    return [
        (array(PLAIN, 7, **question, mirrors=2), {}, "nothing to check, .* 7 disks do not divide"),
        (size(PLAIN, ResponseGoal(1 * MS, 10), read_share=1), {}, "nothing to check, .*mechanical minimum"),
        (array(PLAIN, 4, **question, background=0.5), {}, r"background 0\.5: the simulation"),
        (array([PLAIN, DriveFigures(5 * MS, 4 * MS)], 2, **question), {}, "several kinds"),
        (array(PLAIN, 4, **question), {"candidates": 0}, "candidates 0"),
        (
            array(PLAIN, 4, **question),
            {"seeds": 1},
            "seeds 1: give a whole number, between 2 and 10000, for an interval",
        ),
        (
            array(PLAIN, 512, read_share=1, queue=64, objective=MaxThroughput()),
            {},
            "32768 requests outstanding",
        ),
    ]


@pytest.mark.parametrize(("answer", "given", "message"), rejected())
def test_checks_of_impossible_results_raise_in_one_line(answer, given, message):
    assert_refused(lambda: answer.check(**given), message)


def test_planning_does_not_load_the_engine():
    code = "import sys, storagekit.plan; sys.exit('storagekit.engine' in sys.modules or 'xarray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
