"""Test synthetic traces defined by their seeks.

The tests compare with their table, compare windows with the whole, and check that requests are valid.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from storagekit.core.errors import InputError
from storagekit.core.units import HOUR, KB
from storagekit.workload.synthetic import CELLO_BASE, CELLO_DISK6, TPCC, SeekingTraceModel, compare, generate
from storagekit.workload.synthetic.seeking.hot_locations import hot_share
from storagekit.workload.trace import UNITS
from storagekit.workload.trace.characteristics import interarrival_cov
from storagekit.workload.trace.locality import read_after_write_share, seek_locality

# relative; counts are exact up to rounding, a trace ends one gap before its duration, and L and re-reads are random
TOLERANCE = {"seek_locality": 0.02, "read_after_write_share": 0.03}
EXACT = 2e-4
PUBLISHED = pytest.mark.parametrize("model", [CELLO_BASE, CELLO_DISK6, TPCC], ids=lambda model: model.name)

SMALL = SeekingTraceModel(
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


def columns(trace):
    return trace.time, trace.offset, trace.read, trace.asynchronous, trace.size


def equal_traces(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(columns(one), columns(other), strict=True))


@pytest.mark.slow
@PUBLISHED
def test_every_figure_of_table_3(model):
    """Compare whole traces with (srarray, Table 3)."""
    for name, figure in compare(model, generate(model, seed=2)).items():
        assert abs(figure.error) < TOLERANCE.get(name, EXACT), f"{name}: {figure}"


def test_cello_base_has_its_shares_over_time():
    """Use the whole trace, since its load varies from day to day."""
    found = compare(CELLO_BASE, generate(CELLO_BASE, seed=3))
    for name in ("rate", "read_share", "asynchronous_write_share"):
        assert found[name].error == pytest.approx(0, abs=EXACT), name
    for name, allowed in TOLERANCE.items():
        assert found[name].error == pytest.approx(0, abs=allowed), name


def striped(trace, disks: int):
    """Return the requests by their target disk, and the data of each disk, when striped in units of 64 KB."""
    unit = trace.offset // (64 * KB)
    names = tuple(map(str, range(disks)))
    offset = unit // disks * (64 * KB) + trace.offset % (64 * KB)
    return replace(trace, device=(unit % disks).astype(np.int32), offset=offset, devices=names)


@PUBLISHED
@pytest.mark.parametrize("disks", [1, 6, 12])
def test_locality_survives_striping(model, disks):
    """On real disks too, striping over six leaves 0.63 to 1.22 of the locality (see `SeekingTraceModel`).

    The standard error is below 1%.
    """
    trace = generate(model, seed=1, stop=min(model.duration, 250_000 / model.rate))
    each = {str(disk): model.data // disks for disk in range(disks)}
    assert seek_locality(striped(trace, disks), each) == pytest.approx(model.locality, rel=0.05)


def test_targets_are_met_by_solving_for_them():
    """Over 40 seeds, the mean is within 4 standard errors."""
    traces = [generate(SMALL, seed=seed) for seed in range(40)]
    for target, measured in (
        (1 / SMALL.locality, [1 / seek_locality(trace, {"small": SMALL.data}) for trace in traces]),
        (SMALL.read_after_write, [read_after_write_share(trace) for trace in traces]),
    ):
        error = np.std(measured, ddof=1) / np.sqrt(len(traces))
        assert abs(np.mean(measured) - target) < 4 * error + 0.002 * target
        assert error < 0.02 * target  # otherwise the line above would be no test


@given(
    st.floats(1, 50),
    st.floats(0, 1),
    st.floats(1e-3, 1),
    st.floats(1e-3, 1),
    st.integers(0, 2**32 - 1),
)
def test_the_hot_share_gives_the_mean_distance(locality, reads, read_region, write_region, seed):
    """Compare with random distances, within 4 standard errors.

    The share is undefined only if the hot locations alone are too far apart.
    """
    share = hot_share(locality, reads, read_region, write_region)
    draw = np.random.default_rng(seed)
    hot = draw.random((2, 20_000)) < (1.0 if share is None else share)
    length = np.where(hot, np.where(draw.random(hot.shape) < reads, read_region, write_region), 1.0)
    apart = np.abs(np.diff(length * (draw.random(hot.shape) - 0.5), axis=0))[0]
    allowed = 4 * apart.std() / np.sqrt(len(apart))
    if share is None:
        assert apart.mean() > 1 / (3 * locality) - allowed
    else:
        assert 0 <= share <= 1 and apart.mean() == pytest.approx(1 / (3 * locality), abs=allowed)


def test_random_requests_have_no_hot_locations():
    assert hot_share(1.0, 0.5, 0.04, 0.005) == 0


def test_targets_have_the_names_of_the_characteristics():
    assert set(SMALL.targets()) <= set(UNITS)
    assert CELLO_BASE.rate == pytest.approx(2.84, abs=0.005)
    assert CELLO_DISK6.rate == pytest.approx(2.56, abs=0.005)
    assert TPCC.rate == pytest.approx(500, abs=0.5)


@given(st.lists(st.floats(0, SMALL.duration), min_size=2, max_size=2, unique=True), st.integers(0, 3))
def test_a_window_equals_a_slice_of_the_whole(ends, seed):
    start, stop = sorted(ends)
    whole = generate(SMALL, seed=seed)
    part = generate(SMALL, seed=seed, start=start, stop=stop)
    expected = whole.take((whole.time >= start) & (whole.time < stop))
    assert equal_traces(part, replace(expected, time=expected.time - start))
    assert part.origin == start


def test_adjacent_windows_at_a_block_border_share_and_lose_nothing():
    border = SMALL.duration / SMALL.blocks
    before = generate(SMALL, seed=1, stop=border)
    after = generate(SMALL, seed=1, start=border)
    assert len(before) + len(after) == SMALL.requests
    assert before.time[-1] < border


def test_the_seed_decides():
    assert equal_traces(generate(SMALL, seed=7), generate(SMALL, seed=7))
    first, second = generate(SMALL, seed=7), generate(SMALL, seed=8)
    assert np.mean(first.offset == second.offset) < 0.01


@st.composite
def models(draw):
    size = 2 ** draw(st.integers(9, 16))
    duration = draw(st.floats(1, 3 * HOUR))
    requests = draw(st.integers(3, 400))
    reads = draw(st.floats(0, 1))
    asynchronous = draw(st.floats(0, 1)) * (1 - reads)
    waited_for = max(requests * (1 - asynchronous), 1e-9)
    return SeekingTraceModel(
        name="any",
        data=draw(st.integers(2 * size, 10**9)),
        requests=requests,
        duration=duration,
        read_share=reads,
        asynchronous_share=min(asynchronous, 1 - reads),
        locality=draw(st.floats(1, 10)),
        read_after_write=reads * draw(st.floats(0, 1)),
        interarrival_cov=draw(st.floats(1, 30)),
        burst_gap=draw(st.floats(0, 0.9)) * duration / waited_for,
        request_size=size,
        dispersion=draw(st.floats(0, 0.4)) * requests * (duration > 1200),
        read_region=draw(st.floats(1e-6, 0.05)),
        write_region=draw(st.floats(1e-6, 0.05)),
        flush_period=draw(st.floats(0.1, 1e4)),
        flush_gap=draw(st.floats(0, 100)),
    )


@given(models(), st.integers(0, 2**64 - 1))
def test_every_synthetic_trace_is_valid(model, seed):
    trace = generate(model, seed=seed)
    assert len(trace) == model.requests
    assert (np.diff(trace.time) >= 0).all() and trace.time[0] >= 0 and trace.time[-1] < model.duration
    assert (trace.offset >= 0).all() and (trace.offset + trace.size <= model.data).all()
    assert (trace.offset // (64 * KB) == (trace.offset + trace.size - 1) // (64 * KB)).all()
    assert np.count_nonzero(trace.read) == pytest.approx(model.requests * model.read_share, abs=1)
    assert np.count_nonzero(trace.asynchronous) == pytest.approx(model.requests * model.asynchronous_share, abs=1)
    assert not (trace.asynchronous & trace.read).any()


def test_poisson_gaps_are_exponential():
    """Use a Kolmogorov-Smirnov test at a fixed seed; given their number, arrivals of a block are uniform."""
    model = replace(SMALL, interarrival_cov=1.0, asynchronous_share=0.0, duration=HOUR)
    time = generate(model, seed=5).time
    assert stats.kstest(time / HOUR, "uniform").pvalue > 0.01
    assert stats.kstest(np.diff(time) * model.requests / HOUR, "expon").pvalue > 0.01


@pytest.mark.parametrize("cov", [1.0, 2.0, 6.5])
def test_synchronous_gaps_have_the_stated_variation_and_pace(cov):
    """The trace is so long that 12% exceeds three standard errors at the largest CoV; bursts keep their gap."""
    model = replace(SMALL, requests=200_000, duration=200 * HOUR, interarrival_cov=cov, burst_gap=0.02)
    trace = generate(model, seed=0)
    time = trace.time[~trace.asynchronous]
    assert interarrival_cov(time) == pytest.approx(cov, rel=0.12)
    if cov > 6:
        short = np.diff(time)[np.diff(time) < 0.1]
        assert short.mean() == pytest.approx(0.02, rel=0.1)


def test_asynchronous_writes_arrive_in_bursts_every_30_seconds():
    trace = generate(replace(SMALL, duration=4 * 600.0), seed=0)
    phase = trace.time[trace.asynchronous] % 30
    assert ((phase >= 15 - 1e-6) & (phase < 15.1)).all()
    flushes = np.unique(trace.time[trace.asynchronous] // 30)
    assert len(flushes) == 80


@PUBLISHED
def test_written_data_are_read_only_by_re_reads(model):
    """Without re-reads there are no such reads. With them, only reads before the first write of a block are missing."""
    none, all_ = (replace(model, read_after_write=share) for share in (0.0, model.read_share))
    stop = 2_000 / model.rate
    assert read_after_write_share(generate(none, seed=0, stop=stop)) == 0
    trace = generate(all_, seed=0, stop=stop)
    assert read_after_write_share(trace) == pytest.approx(trace.read.mean(), abs=0.01)


def test_re_reads_reach_back_an_hour_at_the_start_and_the_end_of_a_block():
    """All writes of the last hour are equally likely, across the borders of blocks.

    Ages are uniform, with a mean of half an hour, within 4 standard errors. The data are so large that hardly any
    location is written twice.
    """
    model = replace(SMALL, data=10**13, requests=40_000, duration=4 * HOUR, read_after_write=0.4, interarrival_cov=1.0)
    trace, written, seen = generate(model, seed=0), {}, []
    for time, offset, read in zip(trace.time, trace.offset, trace.read, strict=True):
        if read and offset in written and time > HOUR:
            seen.append((time % HOUR / HOUR, (time - written[offset]) / HOUR))
        elif not read:
            written[offset] = time
    within, age = np.array(seen).T
    for part in (within < 0.1, within > 0.9):
        assert age[part].mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / part.sum()))
        assert part.sum() > 500 and age[part].max() < 1


def test_hot_locations_do_not_move():
    """The regions keep their share from the first hours to the last, within 4 standard errors."""
    trace = generate(CELLO_BASE, seed=4)
    location = trace.offset / CELLO_BASE.data
    for region, of in ((CELLO_BASE.read_region, trace.read), (CELLO_BASE.write_region, ~trace.read)):
        inside = np.abs(location - 0.5) < region / 2
        expected = CELLO_BASE.hot + (1 - CELLO_BASE.hot) * region
        if of is trace.read:  # re-reads go to the locations of writes, within the region
            expected += CELLO_BASE.reread * (1 - CELLO_BASE.hot) * (CELLO_BASE.write_region - region)
        for part in np.array_split(np.flatnonzero(of), 7):
            assert inside[part].mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / len(part)))


def test_requests_in_ten_minutes_vary_as_stated():
    """The index of dispersion over a week is the sum of two terms.

    One comes from busy and idle intervals, the other from bursts (CoV^2).
    """
    for dispersion in (0.0, 850.0):
        model = replace(CELLO_BASE, dispersion=dispersion)
        time = generate(model, seed=1).time
        counts = np.histogram(time, bins=np.linspace(0, model.duration, 2**model.halvings + 1))[0]
        assert counts.var() / counts.mean() == pytest.approx(dispersion, abs=0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"request_size": 3000}, "request size 3000 B"),
        ({"request_size": 128 * KB}, "request size 131072 B"),
        ({"data": 100}, "size of the data 100 B"),
        ({"requests": 1}, "1 requests"),
        ({"duration": float("nan")}, "duration nan s"),
        ({"duration": 1e9}, "at least one request per hour"),
        ({"read_share": 1.2}, "read share 1.2"),
        ({"asynchronous_share": 0.7}, "the sum exceeds 1"),
        ({"read_after_write": 0.6}, "it exceeds the read share 0.5"),
        ({"locality": 0.9}, "locality 0.9"),
        ({"read_region": 0.0}, "read region 0 of the data"),
        ({"write_region": 1.5}, "write region 1.5 of the data"),
        ({"locality": 50.0}, "locality 50: not reached even if all requests access the hot regions"),
        ({"dispersion": -1.0}, "dispersion -1"),
        ({"dispersion": 1e6}, "dispersion 1000000"),
        ({"interarrival_cov": 0.5}, "interarrival CoV 0.5"),
        ({"burst_gap": 10.0}, "burst gap 10 s"),
        ({"flush_period": 0.0}, "flush period 0 s"),
        ({"flush_gap": -1.0}, "flush gap -1 s"),
    ],
)
def test_bad_parameters_raise_in_one_line(change, message):
    with pytest.raises(InputError) as error:
        replace(SMALL, **change)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"seed": -1}, "seed -1"),
        ({"seed": 0.5}, "seed 0.5"),
        ({"seed": 0, "start": 5.0, "stop": 5.0}, "window from 5 s to 5 s"),
        ({"seed": 0, "stop": 1e6}, "window from 0 s to 1e+06 s"),
    ],
)
def test_bad_windows_and_seeds_raise_in_one_line(call, message):
    with pytest.raises(InputError) as error:
        generate(SMALL, **call)
    assert message in str(error.value) and "\n" not in str(error.value)
