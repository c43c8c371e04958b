"""The rule for the best layout on random questions: plans against the simulated array, which they never call."""

import numpy as np
import pytest
from helpers import slow_but

from storagekit.core.errors import InputError
from storagekit.drive import load_drive
from storagekit.plan import plan_against_simulation, random_questions

pytestmark = pytest.mark.optimized


def assert_plans_near_the_best(data):
    """For 95% of the questions, the recommended layout is the best simulated one or within 5% of it."""
    share = data.within.sel(rule="plan")
    assert np.all(share >= 0.95), f"{share.to_series().to_dict()}; worst {float(data.shortfall.max()):.1%}"


@pytest.mark.parametrize("questions", slow_but([3], [3, 20]))
def test_the_recommended_layout_is_the_best_simulated_or_near_it(questions):
    """Drives, disks, writes, queues and localities are random; every layout is simulated."""
    data = plan_against_simulation(random_questions(questions, seed=11, most_disks=16), effort=0.5)
    assert_plans_near_the_best(data)
    assert data.sizes == {"case": 3, "rule": 2, "question": questions}
    assert np.all(data.shortfall >= 0)
    assert data.attrs["basis"] == "simulated"
    # the formulas describe the elevator; where the arm also chooses by rotation, predictions are approximate
    error = data.predicted / data.figure - 1
    assert np.all(np.abs(error.sel(rule="plan", case=["latency", "throughput, RLOOK"]).mean("question")) < 0.02)
    assert np.all(np.abs(error.sel(rule="plan")) < 0.15)


@pytest.mark.slow
@pytest.mark.parametrize("mirrors", [1, 2])
def test_plans_are_near_the_best_up_to_48_disks_and_on_measured_drives(mirrors):
    real = [load_drive("cheetah9lp"), load_drive("atlas10k")]
    data = plan_against_simulation(random_questions(60, seed=12, real=real), effort=0.5, mirrors=mirrors)
    assert_plans_near_the_best(data)


def test_a_comparison_with_unknown_input_raises():
    with pytest.raises(InputError, match="case 'speed': give one of latency"):
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
        with pytest.raises(InputError, match=f"most_disks {most}: give a whole number, between 2 and"):
            random_questions(1, most_disks=most)
