"""Test synthetic traces defined by their hit rate.

The tests compare with their tables and an exact LRU cache, and check that requests are valid.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from storagekit.core.errors import InputError
from storagekit.core.units import GB, HOUR, KB
from storagekit.reproduce.claims import load_claims
from storagekit.workload.reuse import hit_rates
from storagekit.workload.synthetic import (
    CELLO2002,
    FINANCIAL,
    SAP,
    WEBSEARCH,
    Popularity,
    PopularTraceModel,
    compare,
    generate,
    popular,
)
from storagekit.workload.synthetic.popular.generation import REQUESTS

FOUR = pytest.mark.parametrize("model", [SAP, CELLO2002, WEBSEARCH, FINANCIAL], ids=lambda model: model.name)
HALF_A_POINT = 0.005
SMALL = PopularTraceModel(
    name="small",
    requests=3 * REQUESTS + 1,
    duration=1000.0,
    read_share=0.7,
    mean_size=10 * KB,
    hit_rate=0.7,
    central_cache=GB,
    luns=7,
    data=4 * GB,
)
TINY = replace(SMALL, requests=2_000, data=50_000_000, central_cache=20_000_000)


def columns(trace):
    return trace.time, trace.device, trace.offset, trace.read, trace.size


def equal_traces(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(columns(one), columns(other), strict=True))


def check_figures(model):
    """Counts are exact up to rounding; a trace ends one gap before its duration; the hit rate is random."""
    found = compare(model, generate(model, seed=2))
    assert set(found) == set(model.targets())
    assert found["requests"].error == 0
    for name in ("duration", "rate", "read_share", "mean_size"):
        assert abs(found[name].error) < 10 / model.requests, f"{name}: {found[name]}"
    hits = found["read_hit_rate"]
    assert abs(hits.measured - hits.target) < HALF_A_POINT, hits


@FOUR
def test_every_figure_at_a_32nd(model):
    check_figures(model.scaled(1 / 32))


@pytest.mark.slow
@FOUR
def test_every_figure_of_tables_2_and_3(model):
    check_figures(model)


@FOUR
def test_targets_are_the_published_figures(model):
    claims = {claim.id: claim.expected for claim in load_claims("dsptf")}
    key = model.name.lower()
    table_2 = {name: claims[f"dsptf.table2.{key}[{name}]"] for name in ("reads", "size_kb", "requests", "hours")}
    targets = model.targets()
    assert targets["read_share"] == table_2["reads"] and targets["requests"] == table_2["requests"]
    assert targets["mean_size"] == table_2["size_kb"] * KB and targets["duration"] == table_2["hours"] * HOUR
    assert targets["read_hit_rate"] == claims[f"dsptf.table3.central[{key}]"]
    assert model.luns == 50 and model.central_cache == 16 * GB


@pytest.mark.parametrize(("model", "alpha"), [(SAP, 1.116), (CELLO2002, 1.115), (WEBSEARCH, 1.044), (FINANCIAL, 1.061)])
def test_the_popularity_agrees_with_the_docstrings(model, alpha):
    assert model.popularity.alpha == pytest.approx(alpha, abs=5e-4)
    assert model.scaled(1 / 32).popularity.alpha == pytest.approx(alpha, abs=1e-3)


@FOUR
def test_the_central_cache_never_fills(model):
    """The docstring states this; a cache of 64 GB, for all of the data, has no more hits."""
    assert model.expected_hit_rate(64 * GB) == pytest.approx(model.hit_rate, abs=1e-9)
    assert 11 * GB < (1 - model.hit_rate) * model.requests * model.mean_size < 14 * GB


@FOUR
def test_a_smaller_cache_has_the_expected_hit_rate_at_every_scale(model):
    """Caches of 1 and 4 GB do fill: an exact LRU confirms the promises of `scaled` and `cache`."""
    sizes = np.array([1, 4]) * GB
    expected = [model.expected_hit_rate(size) for size in sizes]
    for fraction in (1 / 64, 1 / 16):
        part = model.scaled(fraction)
        measured = hit_rates(generate(part, seed=4), [part.cache(size) // (8 * KB) for size in sizes])
        assert measured == pytest.approx(expected, abs=2 * HALF_A_POINT if fraction < 1 / 32 else HALF_A_POINT)
        assert [part.expected_hit_rate(size) for size in sizes] == pytest.approx(expected, abs=1e-3)
        assert part.rate == pytest.approx(model.rate)


def test_contiguous_popular_data_have_the_same_hit_rate():
    apart, together = SMALL, replace(SMALL, together=True)
    rates = [compare(model, generate(model, seed=0))["read_hit_rate"].measured for model in (apart, together)]
    assert rates[0] == rates[1]
    first = [float(np.mean(generate(model, seed=0).device == 0)) for model in (apart, together)]
    assert first[0] == pytest.approx(1 / 7, abs=0.05) and first[1] > 0.7


def test_chunks_are_drawn_by_popularity_and_halves_evenly():
    """For contiguous data, a chunk's number is its rank: Kolmogorov-Smirnov test against the law, at a fixed seed."""
    model = replace(SMALL, together=True)
    trace = generate(model, seed=1).concatenated(model.capacity)
    jitter = np.random.default_rng(0).random(len(trace))
    rank = (trace.offset // (16 * KB) + jitter) / model.chunks
    steep, head = 1 - model.popularity.alpha, model.head
    share = ((1 + rank / head) ** steep - 1) / ((1 + 1 / head) ** steep - 1)  # share of requests below the rank
    assert stats.kstest(share, "uniform").pvalue > 0.01
    upper = trace.offset[trace.size == 8 * KB] // (8 * KB) % 2
    assert upper.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(upper)))
    # operation and size are drawn independently
    table = np.histogram2d(trace.read, trace.size, bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > 0.01


@cache
def whole(seed):
    return generate(SMALL, seed=seed)


@given(st.lists(st.floats(0, SMALL.duration), min_size=2, max_size=2, unique=True), st.integers(0, 2))
@settings(max_examples=40)
def test_a_window_equals_a_slice_of_the_whole(ends, seed):
    start, stop = sorted(ends)
    part = generate(SMALL, seed=seed, start=start, stop=stop)
    expected = whole(seed).take((whole(seed).time >= start) & (whole(seed).time < stop))
    assert equal_traces(part, replace(expected, time=expected.time - start))
    assert part.origin == start


def test_adjacent_windows_at_a_block_border_share_and_lose_nothing():
    border = SMALL.duration / 4
    before, after = generate(SMALL, seed=1, stop=border), generate(SMALL, seed=1, start=border)
    assert len(before) + len(after) == SMALL.requests
    assert before.time[-1] < border


def test_the_seed_decides():
    assert equal_traces(generate(TINY, seed=7), generate(TINY, seed=np.int64(7)))
    first, second = generate(TINY, seed=7), generate(TINY, seed=2**64 - 1)
    assert np.mean(first.offset == second.offset) < 0.1


def test_arrivals_are_poisson():
    """Arrivals are uniform given their number.

    Kolmogorov-Smirnov tests over 20 seeds have p-values that are uniform too. Counts in the first of four blocks vary
    like independent arrivals: variance over mean, over 120 seeds, is 3/4.
    """
    chances = [stats.kstest(generate(SMALL, seed=seed).time / SMALL.duration, "uniform").pvalue for seed in range(20)]
    assert stats.kstest(chances, "uniform").pvalue > 0.01
    assert stats.kstest(np.diff(generate(SMALL, seed=5).time) * SMALL.rate, "expon").pvalue > 0.01
    counts = np.array([len(generate(SMALL, seed=seed, stop=SMALL.duration / 4)) for seed in range(120)])
    assert counts.var(ddof=1) / counts.mean() == pytest.approx(0.75, abs=4 * 0.75 * np.sqrt(2 / 120))


@st.composite
def models(draw):
    luns = draw(st.integers(1, 9))
    return PopularTraceModel(
        name="any",
        requests=draw(st.integers(2, 400)),
        duration=draw(st.floats(1e-3, 1e6)),
        read_share=draw(st.floats(0.01, 1)),
        mean_size=draw(st.floats(8, 16)) * KB,
        hit_rate=0.5,
        luns=luns,
        data=luns * draw(st.integers(16 * KB, 50 * 16 * KB)),
        together=draw(st.booleans()),
    )


@given(models(), st.integers(0, 2**64 - 1), st.floats(0, 8), st.floats(-9, 0))
def test_every_synthetic_trace_is_valid(model, seed, alpha, log_head):
    trace = popular.generate(model, seed=seed, popularity=Popularity(alpha, 10**log_head))
    assert len(trace) == model.requests
    assert (np.diff(trace.time) >= 0).all() and trace.time[0] >= 0 and trace.time[-1] < model.duration
    assert (trace.device >= 0).all() and (trace.device < model.luns).all()
    assert (trace.offset >= 0).all() and (trace.offset + trace.size <= model.lun).all()
    assert model.luns * model.lun <= model.data == pytest.approx(model.luns * model.lun, abs=model.luns * 16 * KB)
    assert np.isin(trace.size, [8 * KB, 16 * KB]).all() and (trace.offset % trace.size == 0).all()
    for laid in (trace, trace.concatenated(model.capacity)):
        assert (laid.offset // (64 * KB) == (laid.offset + laid.size - 1) // (64 * KB)).all()
    assert np.count_nonzero(trace.read) == pytest.approx(model.requests * model.read_share, abs=1)
    assert trace.size.sum() == pytest.approx(model.requests * model.mean_size, abs=8 * KB)
    assert trace.devices == tuple(model.capacity) and trace.source.name == "synthetic trace of any"


def test_scaling_keeps_the_documented_figures():
    part = SAP.scaled(1 / 8).scaled(1 / 4)
    assert part.scale == 1 / 32 and part.cache(16 * GB) == GB // 2
    assert part.requests == pytest.approx(SAP.requests / 32, abs=1)
    assert part.rate == pytest.approx(SAP.rate, rel=1e-12)
    assert part.data == pytest.approx(2 * GB, rel=1e-3) and part.data == part.chunks * 16 * KB
    assert part.luns == 50 and list(part.capacity)[::49] == ["lun 0", "lun 49"]
    assert SAP.cache(100_000) == 12 * 8 * KB


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"requests": 1}, "1 requests"),
        ({"duration": float("nan")}, "duration nan s"),
        ({"read_share": 0.0}, "read share 0"),
        ({"read_share": 1.1}, "read share 1.1"),
        ({"mean_size": 4 * KB}, "mean size 4096 B"),
        ({"mean_size": 17 * KB}, "mean size 17408 B"),
        ({"hit_rate": 1.0}, "hit rate 1"),
        ({"central_cache": 0}, "cache of 0 B"),
        ({"luns": 0}, "0 LUNs"),
        ({"data": 100_000}, "size of the data 100000 B"),
        ({"head": 0.0}, "head 0: must be a fraction of the data"),
        ({"scale": -1.0}, "scale -1"),
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
        (lambda: generate(TINY, seed=-1), "seed -1"),
        (lambda: generate(TINY, seed=0.5), "seed 0.5"),
        (lambda: generate(TINY, seed=0, start=5.0, stop=5.0), "window from 5 s to 5 s"),
        (lambda: generate(TINY, seed=0, stop=1e6), "window from 0 s to 1e+06 s"),
        (lambda: TINY.scaled(0.0), "fraction 0 of small: it must be above 0"),
        (lambda: TINY.scaled(float("inf")), "fraction inf of small: it must be above 0"),
        (lambda: TINY.scaled(1e-4), "give at least 0.0023"),
        (lambda: SMALL.scaled(1e-6), "the trace would have 0 requests and 0 B on 7 LUNs; give at least 2.7e-05"),
        (lambda: replace(TINY, data=GB).scaled(1e-4), "give at least 0.001"),
        (lambda: TINY.cache(-1.0), "cache of -1 B"),
        (lambda: TINY.expected_hit_rate(float("nan")), "cache of nan B"),
        (lambda: replace(SMALL, hit_rate=0.01).popularity, "give more data or a smaller cache"),
        (lambda: generate(replace(SMALL, hit_rate=0.99999, data=2**50), seed=0), "give less data or a larger cache"),
        (lambda: compare(TINY, generate(TINY, seed=0).take(slice(0))), "has no read"),
    ],
)
def test_bad_calls_raise_in_one_line(call, message):
    with pytest.raises(InputError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)


def test_the_smallest_fraction_named_in_the_error_is_enough():
    assert TINY.scaled(0.0023).chunks == 7 and SMALL.scaled(2.7e-5).chunks == 7
    assert replace(TINY, data=GB).scaled(0.001).requests == 2
