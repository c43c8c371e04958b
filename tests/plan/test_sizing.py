"""Test the fewest disks for a goal, and memory against disks."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from storagekit.analytic import response_mg1
from storagekit.analytic.array.aspect import layouts
from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.positioning import spindle
from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.drive import load_drive
from storagekit.plan import DriveFigures, ResponseGoal, ThroughputGoal, price_ratio
from storagekit.plan.goal import loaded_response
from storagekit.plan.memory_or_disks import memory
from storagekit.plan.sizing import size
from storagekit.plan.sr_array import array

S, R, T = 10 * MS, 6 * MS, 2 * MS
PLAIN = DriveFigures(S, R, T)


def test_response_equals_mg1_with_drawn_service_times():
    """There is one kind of access, reads on striped disks; random draws give its two moments."""
    generator = np.random.default_rng(1)
    seek = np.abs(generator.random(400_000) - generator.random(400_000)) * S / 4
    service = T + seek + generator.random(400_000) * R
    expected = response_mg1(60.0, service.mean(), (service**2).mean())
    striped = layouts(4).where(layouts(4).striping == 4)
    response, busy = loaded_response(spindle(PLAIN), Load(1.0, 0.0, 1.0, 1.0, 1.0), striped, 4, 240.0)
    assert response[0] == pytest.approx(expected, rel=2e-3)
    assert busy[0] == pytest.approx(60 * service.mean(), rel=2e-3)


def test_writes_add_their_moments_on_every_mirror():
    """Half of the requests are foreground writes, on 2 mirrored pairs with two replicas each."""
    generator = np.random.default_rng(2)
    count = 400_000
    drive = DriveFigures(S, R, T, write_settle=1 * MS)
    load = Load(0.5, 0.0, 1.0, 1.0, 0.5)
    chosen = layouts(4).where((layouts(4).replicas == 2) & (layouts(4).mirrors == 2))
    rate, accesses = 200.0, 1.5
    response, busy = loaded_response(spindle(drive), load, chosen, 4, rate)
    points = generator.random((2, count, 2))
    time = T + np.abs(points[0] - points[1]) * S / 2 + generator.random((count, 2)) * R / 2
    write = time + R / 2 + 1 * MS
    idle = 1 - rate * accesses / 4 * (0.5 * time.mean() + write.mean()) / accesses
    free = generator.random((count, 2)) < idle
    read = np.where(free.all(axis=1), time.min(axis=1), time[:, 0])
    mean = (0.5 * read.mean() + write.mean()) / accesses
    assert busy[0] == pytest.approx(rate * accesses / 4 * mean, rel=3e-3)
    # the chosen read has the same variance as a read without a choice
    squares = (0.5 * (read.mean() ** 2 + time.var()) + write.mean() ** 2 + write.var()) / accesses
    wait = response_mg1(rate * accesses / 4, mean, squares) - mean
    assert response[0] == pytest.approx(wait + 0.5 * read.mean() + 0.5 * write.max(axis=1).mean(), rel=5e-3)


@pytest.mark.parametrize("mirrors", [1, 2])
def test_without_load_the_response_is_the_latency(mirrors):
    load = Load(0.6, 0.3, 1.0, 2.0, 1.0)
    drive = DriveFigures(S, R, T, write_settle=1 * MS)
    every = layouts(12).where(layouts(12).mirrors == mirrors)
    response, _ = loaded_response(spindle(drive), load, every, 12, 1e-6)
    answer = array(drive, 12, read_share=0.6, background=0.3, queue=1, locality=2.0, mirrors=mirrors)
    assert sorted(response) == pytest.approx([one.latency for one in answer.ranking], rel=1e-6)


@given(st.floats(6 * MS, 40 * MS), st.floats(10, 2000), st.floats(0, 1), st.sampled_from([1, 2]))
@settings(max_examples=40)
def test_the_fewest_disks_meet_the_goal_and_one_less_does_not(response, rate, read_share, mirrors):
    question = {"read_share": read_share, "mirrors": mirrors}
    answer = size(PLAIN, ResponseGoal(response, rate), **question)
    json.dumps(answer.to_dict())
    if not answer.feasible:
        assert answer.binding.remedy in str(answer)
        return
    assert answer.response <= response
    assert answer.disks % mirrors == 0 and answer.layout.disks == answer.disks
    assert 0 < answer.utilization < 1
    assert answer.utilization * answer.throughput == pytest.approx(rate)
    if answer.disks > 1:
        fewer = size(PLAIN, ResponseGoal(response, rate), **question, most_disks=answer.disks - 1)
        assert not fewer.feasible


@given(st.floats(10, 3000), st.floats(1, 32), st.floats(0, 1), st.floats(0.3, 4))
@example(500, 32, 1.0, 2.5)  # more copies than fit would be faster
@settings(max_examples=40)
def test_a_throughput_goal_is_met_by_the_best_layout(rate, queue, read_share, data):
    answer = size(PLAIN, ThroughputGoal(rate, queue), read_share=read_share, data=data)
    if answer.feasible:
        layout = array(PLAIN, answer.disks, read_share=read_share, queue=queue, data=data)
        assert answer.throughput >= rate
        assert answer.throughput == pytest.approx(max(one.throughput for one in layout.ranking))


def test_data_on_part_of_a_disk_needs_the_whole_disk():
    """Data of 10.5 drives does not fit on 10 disks; mirrored, it does not fit on 20."""
    for data, mirrors, most in ((10.5, 1, 10), (10.25, 2, 20)):
        goal = ThroughputGoal(100, 8)
        answer = size(PLAIN, goal, read_share=1.0, data=data, mirrors=mirrors, most_disks=most)
        assert not answer.feasible and answer.binding.constraint.startswith("capacity")
        assert answer.binding.remedy == f"allow {most + 1} disks"


def test_capacity_and_mirrors_decide_for_an_easy_goal():
    answer = size(PLAIN, ThroughputGoal(10, 8), read_share=1, data=3.4, mirrors=2)
    assert answer.disks == 8
    assert answer.binding.constraint.startswith("capacity")


@pytest.mark.parametrize(
    ("goal", "question", "constraint", "limit"),
    [
        (ResponseGoal(2 * MS, 100), {}, "mechanical minimum", T + R / 12),
        (ResponseGoal(2.52 * MS, 1), {}, "response, s, of the best layout up to 256", 2.52 * MS),
        (ThroughputGoal(1e6, 8), {}, "disks: the goal needs more than 256", 2000),
        (ThroughputGoal(100, 8), {"data": 300.0}, "capacity", 256),
        (ResponseGoal(10 * MS, 1000), {"price": 400.0, "budget": 900.0}, "budget", 900),
    ],
)
def test_an_impossible_goal_names_the_constraint(goal, question, constraint, limit):
    answer = size(PLAIN, goal, read_share=1, **question)
    assert not answer.feasible
    assert answer.disks is None
    assert answer.binding.constraint.startswith(constraint)
    assert answer.binding.limit == pytest.approx(limit)
    assert answer.binding.remedy in str(answer)


def test_saturated_disks_are_reported_with_the_number_that_suffices():
    """Work M/G/1 by hand: an access of one disk takes T + S/3 + R/2 = 8.33 ms.

    One disk therefore serves 120 a second, not 500. The limit for the closest number of disks is the requested rate
    divided by their utilization.
    """
    goal = ResponseGoal(20 * MS, 500)
    answer = size(PLAIN, goal, read_share=1)
    binding = answer.binding
    assert answer.feasible and binding.remedy == f"relax the goal to use fewer than {answer.disks} disks"
    assert binding.constraint.startswith(f"load, requests/s: {answer.disks - 1} disks are saturated")
    assert binding.value == 500 and 400 < binding.limit < 500
    assert all(math.isfinite(figure) for figure in (binding.value, binding.limit))
    one = size(PLAIN, goal, read_share=1, most_disks=1).binding
    assert one.constraint.startswith("load, requests/s: 1 disk is saturated")
    assert one.limit == pytest.approx(1 / (T + S / 3 + R / 2))
    assert one.remedy == f"{answer.disks} disks meet the goal"


def test_too_few_disks_are_reported_with_the_number_needed():
    """The argument most_disks acts as a budget without a price."""
    goal = ResponseGoal(9 * MS, 500)
    needed = size(PLAIN, goal, read_share=1).disks
    short = size(PLAIN, goal, read_share=1, most_disks=needed - 1)
    assert not short.feasible and short.binding.remedy == f"{needed} disks meet the goal"
    assert short.binding.constraint == f"response, s, of the best layout up to {needed - 1} disks"


def test_a_price_is_multiplied_by_the_disks():
    answer = size(PLAIN, ResponseGoal(10 * MS, 1000), read_share=1, price=400, budget=1e6)
    assert answer.price == 400 * answer.disks


def test_a_real_drive_is_sized():
    answer = size(load_drive("cheetah9lp"), ResponseGoal(15 * MS, 500), read_share=0.7, overhead=2.7 * MS)
    assert answer.feasible
    assert "M/G/1" in str(answer)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ResponseGoal(-1, 100), "response -1"),
        (lambda: ThroughputGoal(0, 8), "rate 0"),
        (lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=1.4), "read_share 1.4"),
        (
            lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=1, budget=100),
            "give the price .* or give most_disks instead",
        ),
        (lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=1, price=-1), "price -1"),
        (lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=1, mirrors=1.5), "mirrors 1.5"),
        (lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=1, mirrors=float("nan")), "mirrors nan: give a"),
        (
            lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=1, most_disks=float("inf")),
            "most_disks inf: give a",
        ),
        (
            lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=[0.5, 1]),
            "read_share of 2 values: give one number",
        ),
        (lambda: size(PLAIN, ThroughputGoal(10, 8), read_share=1, price=[1, 2]), "price of 2 values"),
        (lambda: ThroughputGoal(10, [4, 8]), "queue of 2 values: give one number"),
        (lambda: size(PLAIN, 15, read_share=1), "goal: given 15"),
        (lambda: memory(cache=0, disks=1, disk_size=1), "cache 0"),
        (lambda: price_ratio(memory_price=1, memory_size=1, disk_price=-3, disk_size=1), "disk_price -3"),
    ],
)
def test_bad_input_raises(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(("cache", "disks", "expected"), [(126, 1, 67), (336, 3, 75)])
def test_break_even_agrees_with_the_paper(cache, disks, expected):
    """Section 4.1: an added disk costs 8.4 GB, the size of the data set, with 1 GB = 1000 MB."""
    assert round(memory(cache=cache * 1e6, disks=disks, disk_size=8.4e9).break_even) == expected


def test_the_price_ratio_agrees_with_the_paper():
    """Section 4.1 gives 57.

    It uses GB of 2^30 bytes for the disk and MB of 10^6 for the memory; no single convention gives this ratio.
    """
    prices = {"memory_price": 300, "disk_price": 400}
    assert round(price_ratio(**prices, memory_size=256e6, disk_size=18 * 2**30)) == 57
    assert price_ratio(**prices, memory_size=256e6, disk_size=18e9) == pytest.approx(52.7, abs=0.05)
    assert price_ratio(**prices, memory_size=256 * 2**20, disk_size=18 * 2**30) == pytest.approx(54.0, abs=0.05)


@pytest.mark.parametrize(("ratio", "cheaper"), [(57, "memory"), (80, "disks"), (None, None), (8400 / 126, "equal")])
def test_the_cheaper_one(ratio, cheaper):
    answer = memory(cache=126e6, disks=1, disk_size=8.4e9, price_ratio=ratio)
    assert answer.cheaper == cheaper
    assert "66.7" in str(answer)
    json.dumps(answer.to_dict())
