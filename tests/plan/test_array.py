"""Test the planner's ranking against independent formulas, random draws from its definitions, and its documented rules."""

import json
from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.analytic.array import equations
from storagekit.analytic.array.nearest_of_several import least_linear, least_sampled, most_linear
from storagekit.analytic.array.positioning import spindle
from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.drive import ideal_drive, load_drive
from storagekit.plan import RLOOK, RSATF, DriveFigures, Layout, MaxThroughput, MinMean, rank_many
from storagekit.plan.sr_array import _order, array

S, R, T = 10 * MS, 6 * MS, 2 * MS
PLAIN = DriveFigures(S, R, T)

questions = st.fixed_dictionaries(
    {
        "disks": st.integers(1, 48),
        "read_share": st.floats(0, 1),
        "background": st.floats(0, 1),
        "queue": st.floats(0.3, 40),
        "locality": st.floats(1, 20),
        "data": st.floats(0.1, 3),
        "mirrors": st.sampled_from([1, 2, None]),
        "objective": st.sampled_from([MinMean(), MaxThroughput()]),
    }
)


def layouts_of(answer):
    return [str(candidate.layout) for candidate in answer.ranking]


@given(questions)
@settings(max_examples=60)
def test_one_disk_per_block_costs_as_in_the_paper(question):
    """Equations 9, 12, 15 and 16 hold for D_m = 1, apart from the effect of disk queues on throughput."""
    answer = array(PLAIN, **question | {"mirrors": 1})
    disks, p, queue = question["disks"], answer.share, question["queue"]
    for one in answer.ranking:
        seek = S * question["data"]
        shape = (seek, R, one.layout.striping, one.layout.replicas, p)
        assert one.latency == pytest.approx(T + equations.mixed_latency(*shape, question["locality"]))
        service = equations.rlook_service(*shape, queue, question["locality"])
        rate = equations.array_throughput(disks, disks * queue, equations.disk_throughput(T, service))
        assert (one.paper_latency, one.paper_throughput) == pytest.approx((one.latency, rate))
        assert one.response == pytest.approx(disks * queue / one.throughput)
        # at most all disks without a seek, and at least one request on each after random ones
        arc = R / one.layout.replicas
        least = T + (2 * p - 1) * arc / 2 + (1 - p) * R
        assert one.throughput <= disks / least
        assert one.throughput >= 0.4 * min(queue, 1) * disks / one.latency


@given(questions)
@settings(max_examples=60)
def test_the_ranking_has_all_feasible_layouts_best_first(question):
    answer = array(PLAIN, **question)
    latency = question["objective"] == MinMean()
    scores = [one.latency if latency else -one.throughput for one in answer.ranking]
    assert all(later >= earlier - 1e-8 * abs(earlier) for earlier, later in pairwise(scores))
    fits = {
        f"{striping}x{replicas}x{mirrors}"
        for striping in range(1, 49)
        for replicas in range(1, 7)
        for mirrors in range(1, 49)
        if striping * replicas * mirrors == question["disks"]
        and question["mirrors"] in (mirrors, None)
        and striping >= question["data"] * (1 - 1e-9)
    }
    assert set(layouts_of(answer)) == fits
    assert answer.feasible == bool(fits) == (answer.configuration is not None)
    assert answer.binding.constraint
    json.dumps(answer.to_dict())
    assert str(answer)


def test_the_table_has_a_row_for_each_layout_with_units():
    answer = array(PLAIN, 12, read_share=0.8, queue=4)
    table = answer.table
    assert list(table.layout.values) == layouts_of(answer)
    assert table.latency.attrs["units"] == "s"
    assert table.throughput.values.tolist() == [one.throughput for one in answer.ranking]


def test_a_layout_is_parsed_from_its_text():
    assert Layout.parse("2x3x1") == Layout(2, 3, 1)
    assert Layout.parse(str(Layout(6, 1, 2))) == Layout(6, 1, 2)


@pytest.mark.parametrize("name", ["2x3", "2x3x1x1", "a", "2x3x"])
def test_a_layout_is_three_numbers(name):
    with pytest.raises(InputError, match="give D_s x D_r x D_m, for example 2x3x1"):
        Layout.parse(name)


def test_the_papers_rule_is_shown_with_the_ranking():
    """With six disks and L = 4.14, the rule rounds 4.7 down to 3. Equation 4 is smaller at 6 (1.31 ms against 1.40 ms)."""
    answer = array(DriveFigures(S, R), 6, read_share=1, queue=1, locality=4.14)
    assert answer.optimum.replicas == pytest.approx(4.73, abs=0.005)
    assert answer.paper.layout == Layout(2, 3, 1)
    assert answer.configuration == Layout(1, 6, 1)
    assert answer.paper.latency == pytest.approx(equations.read_latency(S, R, 2, 3, 4.14))


def test_the_papers_rule_counts_mirrors_as_replicas():
    """With 24 disks and L = 1.5 the optimum is 5.7 copies. Two mirrors leave 2.8 per disk, and 2 divides 12."""
    answer = array(PLAIN, 24, read_share=1, queue=1, locality=1.5, mirrors=2)
    assert answer.optimum.replicas == pytest.approx(5.69, abs=0.01)
    assert answer.paper.layout == Layout(6, 2, 2)


def test_nine_disks_are_limited_by_their_factors():
    answer = array(PLAIN, 9, read_share=1, queue=1, locality=4.14)
    assert answer.paper.layout == answer.configuration == Layout(3, 3, 1)
    assert answer.binding.constraint == "D_r must be a factor of 9"
    assert answer.binding.value == pytest.approx(5.79, abs=0.01)


@pytest.mark.parametrize(
    ("disks", "question", "constraint"),
    [
        (12, {"read_share": 0.4}, "p <= 1/2"),
        (7, {"read_share": 1.0}, "D_r must be a factor of 7"),
        (16, {"read_share": 1.0, "locality": 20.0}, "at most 6 rotational replicas"),
        (4, {"read_share": 1.0, "locality": 20.0}, "capacity"),
        (4, {"read_share": 0.6, "mirrors": 2}, "mirrors >= 2"),
        (6, {"read_share": 1.0, "locality": 2.0}, "none"),
    ],
)
def test_the_binding_constraint(disks, question, constraint):
    assert array(PLAIN, disks, queue=1, **question).binding.constraint.startswith(constraint)


@pytest.mark.parametrize(
    ("scheduler", "assumed"), [(RLOOK(), "RLOOK: with n waiting"), (RSATF(), "RSATF: the drive serves the nearest")]
)
def test_the_assumptions_name_the_regime(scheduler, assumed):
    answer = array(PLAIN, 4, read_share=0.5, background=0.25, queue=8, scheduler=scheduler)
    assert any(assumed in line for line in answer.assumptions)
    assert any("8 requests for each disk" in line for line in answer.assumptions)
    assert any(line.startswith("25% of the writes") for line in answer.assumptions)


def test_fewer_mirrors_win_when_scores_differ_by_rounding_only():
    score, mirrors = np.array([1.0, 1.0 - 1e-13, 0.9, 1.0]), np.array([2, 3, 4, 1])
    assert _order(score, mirrors).tolist() == [2, 3, 0, 1]


def test_half_foreground_writes_give_pure_striping():
    for objective in (MinMean(), MaxThroughput()):
        answer = array(PLAIN, 12, read_share=0.5, queue=8, mirrors=None, objective=objective)
        assert answer.configuration == Layout(12, 1, 1)


def test_writes_in_the_background_count_like_reads():
    answer = array(PLAIN, 12, read_share=0.2, background=1.0, queue=8)
    reads = array(PLAIN, 12, read_share=1.0, queue=8)
    assert answer.share == 1
    assert answer.recommended == reads.recommended


@pytest.mark.parametrize("queue", [1, 8])
@pytest.mark.parametrize("objective", [MinMean(), MaxThroughput()])
def test_a_linear_curve_agrees_with_the_closed_forms(queue, objective):
    """Compare results of integrals over the curve and of search with formulas."""
    question = {"read_share": 0.9, "queue": queue, "locality": 2.0, "objective": objective, "mirrors": None}
    curve = array(ideal_drive(full_seek=S, revolution=R, overhead=T), 12, **question)
    plain = array(PLAIN, 12, **question)
    assert curve.optimum.replicas == pytest.approx(plain.optimum.replicas, rel=1e-4)
    assert curve.paper.layout == plain.paper.layout
    assert curve.configuration == plain.configuration
    found = {one.layout: one for one in curve.ranking}
    for one in plain.ranking:
        assert found[one.layout].latency == pytest.approx(one.latency, rel=1e-3)
        assert found[one.layout].throughput == pytest.approx(one.throughput, rel=1e-3)


def test_a_measured_curve_is_averaged_over_its_distances():
    drive = load_drive("cheetah9lp")
    timing = spindle(drive)
    generator = np.random.default_rng(1)
    span = (drive.cylinders - 1) / 6
    distance = np.abs(generator.random(200_000) - generator.random(200_000)) * span
    times = np.interp(distance, np.arange(drive.cylinders), np.asarray(drive.seek(np.arange(drive.cylinders))))
    assert abs(times.mean() - timing.mean_seek(np.array(1 / 6))) < 4 * times.std() / np.sqrt(times.size)
    assert np.sqrt((times**2).mean()) == pytest.approx(float(timing.mean_square_seek(1 / 6)) ** 0.5, rel=5e-3)
    answer = array(drive, 3, read_share=0.5, background=1.0, queue=1, locality=2.0)
    striped = next(one for one in answer.ranking if one.layout == Layout(3, 1, 1))
    settle = 0.5 * float(drive.write_settle)
    seek = float(timing.mean_seek(timing.reach(1 / 6)))
    assert striped.latency == pytest.approx(seek + float(drive.revolution) / 2 + settle)


def test_outer_zones_have_more_capacity():
    drive = load_drive("cheetah9lp")
    sectors = np.array([0.1, 0.5, 0.9]) * drive.capacity
    cylinders = drive.locate(sectors.astype(int), np.ones(3, int)).cylinder
    reach = spindle(drive).reach(np.array([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(reach, cylinders / (drive.cylinders - 1), atol=2e-3)
    assert np.all(reach < [0.1, 0.5, 0.9])


@pytest.mark.parametrize(("full", "arc"), [(7.0, 3.0), (1.0, 8.0), (5.0, 5.0)])
def test_the_first_and_the_last_of_three_heads(full, arc):
    generator = np.random.default_rng(2)
    size = (300_000, 3)
    times = np.abs(generator.random(size) - generator.random(size)) * full + generator.random(size) * arc
    line = np.array([full]), np.array([arc]), np.array([3])
    idle = generator.random(size) < 0.4
    some = np.where(idle, times, np.inf).min(axis=1)
    some = np.where(np.isinf(some), times[:, 0], some)
    for drawn, expected in (
        (times.min(axis=1), least_linear(*line)),
        (times.max(axis=1), most_linear(*line)),
        (some, least_linear(*line, 0.4)),
    ):
        assert abs(drawn.mean() - expected[0]) < 4 * drawn.std() / np.sqrt(drawn.size)
    samples = full * (1 - np.sqrt(1 - (np.arange(64) + 0.5) / 64))[None]
    assert least_sampled(samples, *line[1:], 0.4) == pytest.approx(least_linear(*line, 0.4), rel=1e-3)


def test_mirrors_without_arcs_or_seeks_reduce_to_the_papers_expectations():
    copies = np.array([1, 2, 5])
    nothing, one = np.zeros(3), np.ones(3)
    assert least_linear(one, nothing, copies) == pytest.approx(equations.seek_mirrored(1.0, copies))
    assert least_linear(nothing, one, copies) == pytest.approx(equations.rotation_random(1.0, copies))


def test_a_foreground_write_occupies_every_mirror():
    """With writes only, each of two disks makes an access for every request and is never idle.

    Each access is chosen among two thirds of the 15 other requests.
    """
    double = array(PLAIN, 2, read_share=0.0, queue=8, mirrors=2, data=0.5)
    access = T + 0.5 * S * 2 / (3 * (15 * 2 / 3 + 1)) + R / 2
    assert double.recommended.throughput * access == pytest.approx(1)


@pytest.mark.parametrize("drive", [PLAIN, ideal_drive(full_seek=S, revolution=R, overhead=T)])
def test_a_given_overhead_replaces_the_overhead_of_the_drive(drive):
    question = {"read_share": 1, "queue": 1}
    own, given = array(drive, 2, **question), array(drive, 2, **question, overhead=5 * MS)
    assert given.recommended.latency - own.recommended.latency == pytest.approx(3 * MS)


def test_a_background_write_settles_once():
    """Half of the requests are writes, on one disk.

    Each takes a choice of seven, half a turn, and settling for every second request.
    """
    drive = DriveFigures(S, R, T, write_settle=1 * MS)
    (one,) = array(drive, 1, read_share=0.5, background=1.0, queue=8).ranking
    assert 1 / one.throughput == pytest.approx(T + S / 12 + R / 2 + 0.5 * MS)


def test_reads_choose_among_the_idle_heads():
    """Of two mirrored disks, a single request can choose between both heads; each of two requests has one."""
    (alone,) = array(PLAIN, 2, read_share=1, queue=0.5, mirrors=2).ranking[:1]
    (both,) = array(PLAIN, 2, read_share=1, queue=1, mirrors=2).ranking[:1]
    line = np.array([S]), np.array([R]), np.array([2])
    # half of the disks are busy: on average, a request finds the other head idle with probability 1/2
    assert alone.throughput == pytest.approx(1 / (T + least_linear(*line, 0.5)[0]))
    assert both.throughput == pytest.approx(2 / (T + S / 3 + R / 2))


def test_a_distance_between_whole_cylinders_is_integrated_exactly():
    timing = spindle(ideal_drive(full_seek=S, revolution=R, cylinders=4))
    reach = np.array([0.1, 0.5, 0.8, 1.0])
    np.testing.assert_allclose(timing.mean_seek(reach), S * reach / 3, rtol=1e-6)


def test_data_that_shrinks_shortens_the_seek():
    answer = array(PLAIN, 1, read_share=1, queue=1, data=0.3)
    assert answer.recommended.latency == pytest.approx(T + 0.3 * S / 3 + R / 2)
    assert answer.recommended.used == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("disks", "question", "constraint", "value", "limit"),
    [
        (7, {"mirrors": 2}, "mirrors: 7 disks do not divide", 7, 8),
        (2, {"data": 3.5}, "capacity: 3.5 drives of data", 3.5, 2),
        (4, {"data": 3.0, "mirrors": 2}, "capacity: 3 drives of data with D_m = 2", 6, 4),
    ],
)
def test_an_infeasible_question_names_the_constraint(disks, question, constraint, value, limit):
    answer = array(PLAIN, disks, read_share=1, queue=1, **question)
    assert not answer.feasible
    assert answer.ranking == () and answer.recommended is None
    assert answer.binding.constraint.startswith(constraint)
    assert (answer.binding.value, answer.binding.limit) == (value, limit)
    assert answer.binding.remedy in str(answer)
    json.dumps(answer.to_dict())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"read_share": 1.4}, "read_share 1.4: it must be between 0 and 1"),
        ({"read_share": float("nan")}, "read_share nan"),
        ({"background": -0.1}, "background -0.1"),
        ({"queue": 0.0}, "queue 0"),
        ({"locality": -1.0}, "locality -1"),
        ({"data": 0.0}, "data 0"),
        ({"disks": 0}, "disks 0"),
        ({"disks": 2.5}, "disks 2.5"),
        ({"disks": 2**31}, "disks 2147483648: give a whole number, between 1 and 100000; plan one of several equal"),
        ({"queue": 1e-300}, "queue 1e-300: it must be between 1e-06 and 1000000000"),
        ({"mirrors": 2000}, "mirrors 2000: give a whole number, between 1 and 1000, or None for any"),
        ({"queue": [1, 2, 3]}, "queue of 3 values: give one number, and call once for each number"),
        ({"queue": "2"}, "queue '2': give a number"),
        ({"overhead": np.zeros(2)}, "overhead of 2 values"),
        ({"disks": [4, 6]}, "disks of 2 values"),
        ({"mirrors": 0}, "mirrors 0"),
        ({"mirrors": 1.5}, "mirrors 1.5"),
        ({"mirrors": float("nan")}, "mirrors nan: give a whole number, between 1 and 1000, or None for any"),
        ({"mirrors": float("inf")}, "mirrors inf: give a whole number"),
        ({"mirrors": [1, 2]}, "mirrors of 2 values"),
        ({"most_replicas": 0}, "most_replicas 0"),
        ({"most_replicas": float("nan")}, "most_replicas nan: give a whole number, between 1 and"),
        ({"overhead": -1.0}, "overhead -1"),
        ({"objective": "latency"}, r"give MinMean\(\) or MaxThroughput\(\)"),
        ({"scheduler": "SATF"}, r"give RLOOK\(\) or RSATF\(\)"),
        ({"drive": "cheetah9lp"}, "give load_drive"),
        ({"drive": [PLAIN]}, "1 drives for 4 disks"),
    ],
)
def test_bad_input_raises(wrong, message):
    question = {"drive": PLAIN, "disks": 4, "read_share": 0.7, "queue": 2} | wrong
    assert_refused(lambda: array(**question), message)


@pytest.mark.parametrize("field", ["full_seek", "revolution", "capacity", "overhead", "write_settle"])
def test_impossible_figures_of_a_drive_raise(field):
    assert_refused(
        lambda: DriveFigures(**{"full_seek": S, "revolution": R} | {field: -1.0}), f"{field.replace('_', ' ')} -1"
    )


def test_the_number_of_mirrors_has_an_upper_limit():
    answer = array(PLAIN, 2200, read_share=1, queue=1, mirrors=None, most_replicas=1)
    assert max(one.layout.mirrors for one in answer.ranking) == 550


def test_equal_drives_in_a_sequence_act_as_one_kind():
    question = {"read_share": 0.8, "queue": 2, "locality": 3.0}
    assert array([DriveFigures(S, R, T)] * 6, 6, **question).ranking == array(PLAIN, 6, **question).ranking


def test_different_drives_are_equally_busy():
    """Stripe over two drives of each kind: a share decreases with the time of a request, which grows with the share."""
    slow, fast = DriveFigures(S, R, T), DriveFigures(S / 2, R / 2, T / 2, name="fast")
    answer = array([slow, fast, slow, fast], 4, read_share=1, queue=1, objective=MaxThroughput())
    shares = np.array(answer.shares)
    assert 2 * shares.sum() == pytest.approx(1)
    replicas, busy = answer.configuration.replicas, []
    for timing, share in zip((slow, fast), shares, strict=True):
        used = share * replicas
        # with four requests at four disks, a choice has 1.2 candidates on average
        service = timing.overhead + used * timing.full_seek * 2 / 3 / 2.2 + timing.revolution / (2 * replicas)
        busy.append(answer.recommended.throughput * share * service)
    assert busy[0] == pytest.approx(busy[1], rel=0.02)
    assert 0.57 < busy[0] < 0.68
    # twice as fast at an equal share, and less at its larger share
    assert 1.5 < shares[1] / shares[0] < 2
    assert "equally busy" in str(answer)


def test_mirrors_are_of_one_kind():
    drives = [PLAIN, PLAIN, PLAIN, DriveFigures(S / 2, R / 2, T)]
    answer = array(drives, 4, read_share=1, queue=1, mirrors=2)
    assert answer.binding.constraint == "mirrors: 3 disks do not divide into mirrors of 2"
    assert {one.layout.mirrors for one in array(drives, 4, read_share=1, queue=1, mirrors=None).ranking} == {1}


@pytest.mark.parametrize("objective", [MinMean(), MaxThroughput()])
@pytest.mark.parametrize("mirrors", [1, 2, None])
def test_a_grid_of_questions_gets_the_results_of_single_questions(objective, mirrors):
    generator = np.random.default_rng(3)
    count = 60
    grid = {
        "full_seek": generator.uniform(3 * MS, 20 * MS, count),
        "revolution": generator.uniform(3 * MS, 12 * MS, count),
        "overhead": generator.uniform(0, 3 * MS, count),
        "disks": generator.integers(1, 49, count),
        "read_share": generator.random(count),
        "background": generator.random(count),
        "queue": generator.uniform(0.5, 12, count),
        "locality": generator.uniform(1, 20, count),
        "data": generator.uniform(0.1, 3, count),
    }
    ranked = rank_many(**grid, objective=objective, mirrors=mirrors)
    for number in range(count):
        one = {name: values[number] for name, values in grid.items()}
        drive = DriveFigures(*(float(one.pop(name)) for name in ("full_seek", "revolution", "overhead")))
        answer = array(drive, **one, objective=objective, mirrors=mirrors)
        assert ranked.feasible[number] == answer.feasible
        layout = tuple(int(row[number]) for row in (ranked.striping, ranked.replicas, ranked.mirrors))
        assert layout == (astuple(answer.configuration) if answer.configuration else (0, 0, 0))
        if answer.feasible:
            assert ranked.latency[number] == pytest.approx(answer.recommended.latency)
            assert ranked.throughput[number] == pytest.approx(answer.recommended.throughput)
            assert ranked.optimum[number] == pytest.approx(answer.optimum.replicas)


def test_a_grid_broadcasts_and_raises():
    ranked = rank_many(np.array([[6], [7]]), full_seek=S, revolution=R, read_share=np.array([0.4, 0.8, 1]), queue=1)
    assert ranked.replicas.shape == (2, 3)
    assert np.all(ranked.replicas[:, 0] == 1)
    assert not rank_many(7, full_seek=S, revolution=R, read_share=1, queue=1, mirrors=2).feasible
    with pytest.raises(InputError, match=r"read_share 1\.4"):
        rank_many(6, full_seek=S, revolution=R, read_share=[0.4, 1.4], queue=1)
    with pytest.raises(InputError, match=r"disks 2\.5: give a whole number, between 1 and 100000; plan one of"):
        rank_many([2, 2.5], full_seek=S, revolution=R, read_share=1, queue=1)
    with pytest.raises(
        InputError, match=r"the shapes of the arrays do not match: disks \(2,\), queue \(3,\); give arrays"
    ):
        rank_many([2, 4], full_seek=S, revolution=R, read_share=1, queue=[1, 2, 3])
    with pytest.raises(InputError, match=r"full_seek 15 s: it must be at most 1; times are in seconds"):
        rank_many(6, full_seek=15, revolution=R, read_share=1, queue=1)
    with pytest.raises(InputError, match="mirrors nan: give a whole number, between 1 and 1000, or None for any"):
        rank_many(6, full_seek=S, revolution=R, read_share=1, queue=1, mirrors=float("nan"))
