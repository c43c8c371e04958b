"""Stand-ins known by their seeks against their table, their windows against the whole, and what no request may do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from storagekit.errors import InputError
from storagekit.units import HOUR, KB
from storagekit.workload.standin import (
    CELLO_BASE,
    CELLO_DISK6,
    TPCC,
    Mixture,
    SeekingStandIn,
    calibrate,
    compare,
    generate,
)
from storagekit.workload.trace import UNITS
from storagekit.workload.trace.characteristics import interarrival_cov
from storagekit.workload.trace.locality import read_after_write_share, seek_locality

# relative; counts are exact but for rounding, a trace ends a gap before its duration does, L and re-reads are drawn
TOLERANCE = {"seek_locality": 0.02, "read_after_write_share": 0.03}
EXACT = 2e-4

SMALL = SeekingStandIn(
    name="small",
    data=100_000_000,
    requests=6_001,
    duration=3.3 * HOUR,
    read_share=0.5,
    asynchronous_share=0.2,
    locality=4.0,
    read_after_write=0.1,
    interarrival_cov=4.0,
    burst_gap=0.01,
)
MIXTURE = Mixture(jump=0.2, reread=0.3)
MIXED = SMALL.carrying(MIXTURE)


def columns(trace):
    return trace.time, trace.offset, trace.read, trace.asynchronous, trace.size


def same(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(columns(one), columns(other), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("model", [CELLO_BASE, CELLO_DISK6, TPCC], ids=lambda model: model.name)
def test_every_figure_of_table_3(model):
    """(srarray, Table 3), whole traces, of a seed that was not calibrated on."""
    for name, figure in compare(model, generate(model, seed=2)).items():
        assert abs(figure.error) < TOLERANCE.get(name, EXACT), f"{name}: {figure}"


def test_a_day_of_cello_base_has_its_shares():
    """A seventh of the trace: twice the tolerance, about the square root of seven; counts are exact by the hour."""
    day = generate(CELLO_BASE, seed=3, stop=24 * HOUR)
    found = compare(CELLO_BASE, day)
    for name in ("rate", "read_share", "asynchronous_write_share"):
        assert found[name].error == pytest.approx(0, abs=1e-3), name
    for name, allowed in TOLERANCE.items():
        assert found[name].error == pytest.approx(0, abs=2.5 * allowed), name


@pytest.mark.slow
@pytest.mark.parametrize("model", [CELLO_BASE, CELLO_DISK6, TPCC], ids=lambda model: model.name)
def test_a_published_model_carries_the_mixture_that_calibration_finds(model):
    found, kept = calibrate(model), model.mixture
    assert found.jump == pytest.approx(kept.jump, rel=0.02)
    assert found.reread == pytest.approx(kept.reread, rel=0.02)


def test_calibration_meets_targets_it_has_not_seen():
    """40 fresh seeds: mean within 4 standard errors and the tolerance of the calibration, which has its own error."""
    traces = [generate(SMALL, seed=seed) for seed in range(40)]
    for target, measured in (
        (1 / SMALL.locality, [1 / seek_locality(trace, {"small": SMALL.data}) for trace in traces]),
        (SMALL.read_after_write, [read_after_write_share(trace) for trace in traces]),
    ):
        error = np.std(measured, ddof=1) / np.sqrt(len(traces))
        assert abs(np.mean(measured) - target) < 4 * error * np.sqrt(2) + 0.002 * target
        assert error < 0.02 * target  # or the line above says nothing


def test_an_altered_copy_is_calibrated_anew():
    wide = replace(SMALL.carrying(calibrate(SMALL)), near_distance=0.05)
    assert wide.mixture is None
    trace = generate(wide, seed=0)
    assert not same(trace, generate(wide.carrying(calibrate(SMALL)), seed=0))
    assert same(trace, generate(wide.carrying(calibrate(wide)), seed=0))


def test_targets_have_the_names_of_the_characteristics():
    assert set(SMALL.targets()) <= set(UNITS)
    assert CELLO_BASE.rate == pytest.approx(2.84, abs=0.005)
    assert CELLO_DISK6.rate == pytest.approx(2.56, abs=0.005)
    assert TPCC.rate == pytest.approx(500, abs=0.5)


@given(st.lists(st.floats(0, SMALL.duration), min_size=2, max_size=2, unique=True), st.integers(0, 3))
def test_a_window_is_that_slice_of_the_whole(ends, seed):
    start, stop = sorted(ends)
    whole = generate(MIXED, seed=seed)
    part = generate(MIXED, seed=seed, start=start, stop=stop)
    expected = whole.take((whole.time >= start) & (whole.time < stop))
    assert same(part, replace(expected, time=expected.time - start))
    assert part.origin == start


def test_windows_that_meet_at_a_border_of_blocks_share_nothing_and_lose_nothing():
    border = SMALL.duration / SMALL.blocks
    before = generate(MIXED, seed=1, stop=border)
    after = generate(MIXED, seed=1, start=border)
    assert len(before) + len(after) == SMALL.requests
    assert before.time[-1] < border


def test_the_seed_decides():
    assert same(generate(MIXED, seed=7), generate(MIXED, seed=7))
    first, second = generate(MIXED, seed=7), generate(MIXED, seed=8)
    assert np.mean(first.offset == second.offset) < 0.01


@st.composite
def models(draw):
    size = 2 ** draw(st.integers(9, 16))
    duration = draw(st.floats(1, 3 * HOUR))
    requests = draw(st.integers(3, 400))
    reads = draw(st.floats(0, 1))
    asynchronous = draw(st.floats(0, 1)) * (1 - reads)
    waited_for = max(requests * (1 - asynchronous), 1e-9)
    return SeekingStandIn(
        name="any",
        data=draw(st.integers(2 * size, 10**9)),
        requests=requests,
        duration=duration,
        read_share=reads,
        asynchronous_share=min(asynchronous, 1 - reads),
        locality=2.0,
        read_after_write=0.0,
        interarrival_cov=draw(st.floats(1, 30)),
        burst_gap=draw(st.floats(0, 0.9)) * duration / waited_for,
        request_size=size,
        near_distance=draw(st.floats(1e-6, 0.3)),
        flush_period=draw(st.floats(0.1, 1e4)),
        flush_gap=draw(st.floats(0, 100)),
    )


@given(models(), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**64 - 1))
def test_every_stand_in_is_a_valid_trace(model, jump, reread, seed):
    trace = generate(model.carrying(Mixture(jump, reread)), seed=seed)
    assert len(trace) == model.requests
    assert (np.diff(trace.time) >= 0).all() and trace.time[0] >= 0 and trace.time[-1] < model.duration
    assert (trace.offset >= 0).all() and (trace.offset + trace.size <= model.data).all()
    assert (trace.offset // (64 * KB) == (trace.offset + trace.size - 1) // (64 * KB)).all()
    assert np.count_nonzero(trace.read) == pytest.approx(model.requests * model.read_share, abs=model.blocks + 1)
    assert np.count_nonzero(trace.asynchronous) == pytest.approx(model.requests * model.asynchronous_share, abs=1)
    assert not (trace.asynchronous & trace.read).any()


def test_poisson_gaps_are_exponential():
    """Kolmogorov-Smirnov at a fixed seed; conditioned on their number, arrivals of a block are uniform."""
    model = replace(SMALL, interarrival_cov=1.0, asynchronous_share=0.0, duration=HOUR)
    time = generate(model.carrying(MIXTURE), seed=5).time
    assert stats.kstest(time / HOUR, "uniform").pvalue > 0.01
    assert stats.kstest(np.diff(time) * model.requests / HOUR, "expon").pvalue > 0.01


@pytest.mark.parametrize("cov", [1.0, 2.0, 6.5])
def test_synchronous_gaps_have_the_stated_variation_and_pace(cov):
    """Long enough that 12% is more than three standard errors at the largest CoV; bursts keep to their gap."""
    model = replace(SMALL, requests=200_000, duration=200 * HOUR, interarrival_cov=cov, burst_gap=0.02)
    trace = generate(model.carrying(MIXTURE), seed=0)
    time = trace.time[~trace.asynchronous]
    assert interarrival_cov(time) == pytest.approx(cov, rel=0.12)
    if cov > 6:
        short = np.diff(time)[np.diff(time) < 0.1]
        assert short.mean() == pytest.approx(0.02, rel=0.1)


def test_asynchronous_writes_come_in_bursts_every_30_seconds():
    trace = generate(replace(SMALL, duration=3 * HOUR).carrying(MIXTURE), seed=0)
    phase = trace.time[trace.asynchronous] % 30
    assert ((phase >= 15 - 1e-6) & (phase < 15.1)).all()
    flushes = np.unique(trace.time[trace.asynchronous] // 30)
    assert len(flushes) > 0.9 * 360  # 1200 writes over 360 flushes: e^-3.3 of them have none


def test_jumps_alone_are_random_and_rereads_return_to_earlier_writes():
    """Uniform jumps: L is 1, standard error 1/sqrt(2 x 6000). With all reads returning, each read counts, but for those
    before the first write of a block."""
    data = replace(SMALL, data=10**12)  # so large that nothing is read again by accident
    jumping = generate(data.carrying(Mixture(1.0, 0.0)), seed=0)
    assert seek_locality(jumping, {"small": data.data}) == pytest.approx(1, abs=4 / np.sqrt(12_000))
    assert read_after_write_share(jumping) < 1e-3
    returning = generate(data.carrying(Mixture(1.0, 1.0)), seed=0)
    assert read_after_write_share(returning) == pytest.approx(data.read_share, rel=0.02)


def test_short_moves_have_the_stated_mean_length():
    """One jump a block, all else short moves; folding at the ends of the data shortens a few of them."""
    trace = generate(replace(SMALL, requests=50_000, near_distance=0.002).carrying(Mixture(0.0, 0.0)), seed=0)
    moved = np.abs(trace.offset[1:] - trace.offset[:-1] - SMALL.request_size)
    assert np.sort(moved)[:-4].mean() == pytest.approx(0.002 * SMALL.data, rel=0.03)
    sequential = generate(replace(SMALL, near_distance=1e-9).carrying(Mixture(0.0, 0.0)), seed=0)
    onward = np.diff(sequential.offset) == SMALL.request_size
    assert np.abs(np.diff(onward.astype(int))).sum() <= 2 * 2 * SMALL.blocks  # folding turns it round, a block jumps
    assert onward[: SMALL.requests // SMALL.blocks].any()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"request_size": 3000}, "request size 3000 B"),
        ({"request_size": 128 * KB}, "request size 131072 B"),
        ({"data": 100}, "data of 100 B"),
        ({"requests": 1}, "1 requests"),
        ({"duration": float("nan")}, "duration nan s"),
        ({"duration": 1e9}, "at least one an hour"),
        ({"read_share": 1.2}, "read share 1.2"),
        ({"asynchronous_share": 0.7}, "together above 1"),
        ({"read_after_write": 0.6}, "above the read share 0.5"),
        ({"locality": 0.9}, "locality 0.9"),
        ({"near_distance": 0.5}, "near distance 0.5"),
        ({"interarrival_cov": 0.5}, "interarrival CoV 0.5"),
        ({"burst_gap": 10.0}, "burst gap 10 s"),
        ({"flush_period": 0.0}, "flush period 0 s"),
        ({"flush_gap": -1.0}, "flush gap -1 s"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(change, says):
    with pytest.raises(InputError) as error:
        replace(SMALL, **change)
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "says"),
    [
        ({"seed": -1}, "seed -1"),
        ({"seed": 0.5}, "seed 0.5"),
        ({"seed": 0, "start": 5.0, "stop": 5.0}, "window from 5 s to 5 s"),
        ({"seed": 0, "stop": 1e6}, "window from 0 s to 1e+06 s"),
    ],
)
def test_bad_windows_and_seeds_are_refused_in_one_line(call, says):
    with pytest.raises(InputError) as error:
        generate(MIXED, **call)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_targets_that_contradict_one_another_are_refused():
    """So few places that jumps read after write by accident, more than is asked for."""
    with pytest.raises(InputError, match=r"near as a mixture comes to 1.5 and 0.01; change the near distance"):
        calibrate(replace(SMALL, data=1_000_000, locality=1.5, read_after_write=0.01))
    with pytest.raises(InputError, match="jump 2: it must be between 0 and 1"):
        Mixture(2.0, 0.0)
