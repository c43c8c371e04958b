"""Head tracking: exact without noise, worse with more noise, and variances worked out by hand."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.analytic.headtracking import (
    HeadTracking,
    TrackedAccess,
    accesses,
    accuracy,
    adjust_slack,
    calibrate,
    confidence,
    misses,
    prediction_error,
)
from storagekit.core.units import MS
from storagekit.drive import ideal_drive, load_drive

# 10,000 rpm; the drive of srarray's table 2 has similar tracks and seeks
TRACKING = HeadTracking(6 * MS)
ACCESS = TrackedAccess(300, 0.63 * MS)
SILENT = replace(TRACKING, wander=0.0, delay_mean=0.0)
DRIVES = 20_000


def spread(tracking: HeadTracking) -> float:
    """Standard deviation of the prediction error, s."""
    return float(prediction_error(tracking, DRIVES, seed=0).std() * tracking.revolution)


@pytest.mark.parametrize("intervals", [1, 2, 5])
def test_without_noise_the_head_is_where_it_is_predicted(intervals):
    silent = replace(SILENT, baseline=intervals * SILENT.interval)
    assert silent.reads == intervals + 1
    calibrated = calibrate(silent, 1000, seed=0)
    assert calibrated.estimate == pytest.approx(calibrated.turn, rel=1e-12)
    assert abs(prediction_error(silent, 1000, seed=0)).max() < 1e-7
    assert np.ptp(calibrated.turn) > 1e-6  # drives do differ


def test_without_noise_accesses_take_as_long_as_predicted():
    seen = accesses(SILENT, replace(ACCESS, seek_deviation=0.0), 1, 1000, seed=0)
    assert not seen.missed.any()
    assert seen.measured == pytest.approx(seen.predicted, abs=1e-9)


@pytest.mark.parametrize("k", [1, 3])
def test_delays_alone_give_the_variance_of_a_line_through_two_stamps(k):
    """The latest stamp is off by a, the one k intervals before by b. The error u of an interval later is a (1 + u/k) -
    b u/k.

    Averaged over u, its variance is E[(1 + u/k)^2 + (u/k)^2] = 1 + 1/k + 2/(3 k^2) times a stamp's variance. The
    tolerance is five standard errors of a sample with the kurtosis of a gamma of shape 2.
    """
    tracking = replace(TRACKING, wander=0.0, baseline=k * TRACKING.interval)
    stamp = TRACKING.delay_mean / math.sqrt(TRACKING.delay_shape)
    error = prediction_error(tracking, DRIVES, seed=0)
    # a mean delay shifts all values alike, so the mean error is zero
    assert abs(error.mean()) < 5 * error.std() / math.sqrt(DRIVES)
    expected = stamp * math.sqrt(1 + 1 / k + 2 / (3 * k**2))
    assert spread(tracking) == pytest.approx(expected, rel=5 * math.sqrt((6 - 1) / 4 / DRIVES))


@pytest.mark.parametrize("k", [1, 3])
def test_wander_alone_gives_the_variance_of_an_integrated_walk(k):
    """Over k intervals T before the read, the mean turn time lags behind by w (k T)^(1/2) / sqrt(3). At u T later this
    and the walk since then have the variance w^2 T^3 (k u^2/3 + u^3/3). Its mean over u is w^2 T^3 (k/9 + 1/12)."""
    tracking = replace(TRACKING, delay_mean=0.0, baseline=k * TRACKING.interval)
    scale = tracking.wander * tracking.interval**1.5
    assert spread(tracking) == pytest.approx(scale * math.sqrt(k / 9 + 1 / 12), rel=0.03)


@pytest.mark.parametrize("wander", [2e-9, 2e-8, 1e-7])
def test_the_default_baseline_has_the_least_error(wander):
    """No whole number of intervals has a smaller error, within the error of the samples (three standard errors of a
    difference)."""
    tracking = replace(TRACKING, wander=wander)
    fixed = {k: spread(replace(tracking, baseline=k * tracking.interval)) for k in (1, 2, 4, 9, 20, 60)}
    assert spread(tracking) < min(fixed.values()) * (1 + 3 / math.sqrt(DRIVES)) < max(fixed.values())


def test_like_a_drive():
    """A linear seek S has the mean S/3; over 1/(D_s L) of the stroke the mean is S / (3 D_s L)."""
    drive = ideal_drive(full_seek=9 * MS, revolution=8 * MS, cylinders=3_000, sectors_per_track=100)
    tracking, access = HeadTracking.like(drive), TrackedAccess.like(drive, striping=2, locality=3)
    assert tracking.revolution == pytest.approx(8 * MS)
    assert access.sectors_per_track == 100 and access.seek_mean == pytest.approx(0.5 * MS, rel=1e-3)
    # a drive with zones has a track of their mean length
    atlas = load_drive("atlas10k")
    lengths = atlas.geometry.sectors_per_track
    assert lengths.min() < TrackedAccess.like(atlas).sectors_per_track < lengths.max()


def test_turns_are_never_miscounted_while_intervals_grow():
    assert not calibrate(TRACKING, DRIVES, seed=1).lost.any()
    hasty = replace(TRACKING, first_interval=60.0)  # 0.1% of 10,000 turns is an uncertainty of 10 turns
    assert calibrate(hasty, DRIVES, seed=1).lost.mean() > 0.5


def test_the_error_grows_with_the_interval_and_with_either_noise():
    intervals = [spread(replace(TRACKING, interval=interval)) for interval in (120.0, 240.0, 480.0)]
    wander = [spread(replace(TRACKING, wander=wander)) for wander in (0.0, 5e-8, 2e-7)]
    delays = [spread(replace(TRACKING, delay_mean=delay)) for delay in (1e-5, 3e-5, 1e-4)]
    for spreads in (intervals, wander, delays):
        assert spreads[0] * 1.05 < spreads[1] and spreads[1] * 1.05 < spreads[2]
    assert confidence(prediction_error(TRACKING, DRIVES, seed=0), 0.01) > confidence(
        prediction_error(replace(TRACKING, interval=480.0), DRIVES, seed=0), 0.01
    )


def test_confidence_counts_both_sides():
    assert confidence([-0.02, -0.005, 0.0, 0.009, 0.011]) == pytest.approx(3 / 5)


def test_misses_grow_with_noise_and_shrink_with_slack():
    by_slack = [misses(TRACKING, ACCESS, slack, DRIVES, seed=0) for slack in (0, 1, 3, 8)]
    assert by_slack == sorted(by_slack, reverse=True) and by_slack[0] > 3 * by_slack[2]
    by_seek = [misses(TRACKING, replace(ACCESS, seek_deviation=sd), 1, DRIVES, seed=0) for sd in (1e-5, 5e-5, 2e-4)]
    assert by_seek == sorted(by_seek) and by_seek[2] > 3 * by_seek[0]
    assert misses(replace(TRACKING, delay_mean=1e-4), ACCESS, 1, DRIVES, seed=0) > 2 * by_slack[1]
    assert misses(TRACKING, replace(ACCESS, candidates=8), 0, DRIVES, seed=0) > 2 * by_slack[0]


def test_seek_errors_alone_miss_as_often_as_a_normal_tail():
    """The gap is uniform over R/3, the seek error normal with deviation s. Without slack s / sqrt(2 pi) / (R/3) of the
    reads miss. The tolerance is five sigma."""
    access = replace(ACCESS, seek_deviation=1e-4)
    expected = 1e-4 / math.sqrt(2 * math.pi) / (SILENT.revolution / 3)
    found = misses(SILENT, access, 0, 100_000, seed=0)
    assert found == pytest.approx(expected, abs=5 * math.sqrt(expected / 100_000))


def test_a_miss_costs_a_turn_and_a_hit_nothing_on_average():
    seen = accesses(TRACKING, ACCESS, 0, DRIVES, seed=0)
    error = seen.measured - seen.predicted
    assert seen.missed.any()
    assert error[seen.missed] == pytest.approx(TRACKING.revolution, abs=5e-4)
    hits = error[~seen.missed]
    assert abs(hits.mean()) < 5 * hits.std() / math.sqrt(len(hits)) and hits.std() < 1e-4


@pytest.mark.parametrize("start", [0, 3, 60, 300])
def test_feedback_reaches_its_goal_from_any_start(start):
    """With eight candidates and the nearest chosen, 4% miss without slack, so the feedback must act."""
    busy = replace(ACCESS, candidates=8)
    loop = adjust_slack(TRACKING, busy, start, rounds=500, batch=500, gain=0.5, seed=0)
    assert loop.sectors[0] == start
    assert loop.on_target[-100:].mean() > 0.99
    settled = loop.sectors[-100:]
    assert 1 < settled.mean() < 10 and settled.std() < 2
    if start == 0:
        assert loop.on_target[0] < 0.975


def test_accuracy_summarizes_its_accesses():
    seen = accesses(TRACKING, ACCESS, 1, 5000, seed=3)
    found = accuracy(seen)
    error = (seen.measured - seen.predicted)[~seen.missed]
    assert found.misses == seen.missed.mean() and found.access_time == pytest.approx(seen.measured.mean())
    assert (found.mean_error, found.sd_error) == pytest.approx((error.mean(), error.std()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: replace(TRACKING, interval=0.01), "interval 0.01 s: must be at least first_interval, 0.1 s"),
        (lambda: replace(TRACKING, baseline=0.0), "baseline 0"),
        (lambda: replace(TRACKING, baseline=2e5), "a baseline of 1001 reads: it must be at most 1000"),
        (lambda: replace(TRACKING, wander=-1.0), "wander -1"),
        (lambda: HeadTracking(float("nan")), "revolution nan"),
        (lambda: replace(TRACKING, speed_tolerance=1.0), "speed tolerance 1"),
        (lambda: replace(ACCESS, replicas=0), "replicas 0"),
        (lambda: replace(ACCESS, seek_deviation=-1e-6), "seek deviation -1e-06"),
        (lambda: calibrate(TRACKING, 0, seed=0), "0 drives"),
        (lambda: accesses(TRACKING, ACCESS, -1, 10, seed=0), "slack -1 sectors"),
        (lambda: adjust_slack(TRACKING, ACCESS, 301, seed=0), "slack 301: must be from 0 to the 300 sectors"),
        (lambda: adjust_slack(TRACKING, ACCESS, 0, goal=1.0, seed=0), "goal 1"),
        (lambda: adjust_slack(TRACKING, ACCESS, 0, rounds=0, seed=0), "0 rounds of 1000"),
    ],
)
def test_bad_input_is_rejected_in_one_line(call, message):
    assert_refused(call, re.escape(message))
