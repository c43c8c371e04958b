"""Test the data of the charts of a trace, and the numbers of each device, against NumPy over the whole trace."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.charts.traces import overview as chart
from storagekit.workload.trace import request_trace
from storagekit.workload.trace.overview import BARS, POINTS, Overview

SIZES = np.array([512, 1024, 4096, 5000, 65536])


def trace(count: int, seed: int, devices: int = 4):
    rng = np.random.default_rng(seed)
    return request_trace(
        np.cumsum(rng.exponential(0.01, count)), rng.integers(0, devices, count), rng.integers(0, 10**9, count),
        rng.choice(SIZES, count), rng.random(count) < 0.6,
    )  # fmt: skip


def overview_of(*parts) -> Overview:
    overview = Overview()
    for part in parts:
        overview.add(part)
    return overview


@settings(max_examples=30)
@given(count=st.integers(1, 9000), cuts=st.lists(st.integers(0, 9000), max_size=6), seed=st.integers(0, 99))
def test_the_parts_of_a_trace_give_the_numbers_of_the_whole(count, cuts, seed):
    whole = trace(count, seed)
    bounds = [0, *sorted(min(cut, count) for cut in cuts), count]
    seen = overview_of(*(whole.take(slice(a, b)) for a, b in pairwise(bounds)))

    bars = seen.arrivals()
    assert 2 <= len(bars) <= 4 * BARS
    for kind, of in (("reads", whole.read), ("writes", ~whole.read)):
        mine = [bar for bar in bars if bar["kind"] == kind]
        counts = [round(bar["rate"] * (bar["until"] - bar["at"])) for bar in mine]
        assert sum(counts) == of.sum()
        # the requests before each bar, within rounding of the times at its edges
        before = np.searchsorted(whole.time[of], [bar["at"] for bar in mine[1:]])
        np.testing.assert_allclose(np.cumsum(counts)[:-1], before, atol=1)

    points = seen.offsets()
    assert min(count, POINTS // 2) <= len(points) <= 2 * POINTS + 1
    gaps = np.diff(np.searchsorted(whole.time, [point["at"] for point in points]))
    assert len(set(gaps.tolist())) <= 1
    starts = np.cumsum(whole.ends()) - whole.ends()
    first = points[-1]
    at = int(np.searchsorted(whole.time, first["at"]))
    assert first["gb"] == pytest.approx((starts[whole.device[at]] + whole.offset[at]) / 1e9)
    assert first["kind"] == ("reads" if whole.read[at] else "writes")

    assert {row["size"]: 0 for row in seen.sizes()}.keys() <= {"0.5", "1", "4", "8", "64"}
    small = sum(row["percent"] for row in seen.sizes() if row["order"] <= 2)
    assert small == pytest.approx(100 * np.mean(whole.size <= 4096))

    numbers = seen.devices()
    assert [of["requests"] for of in numbers.values()] == sorted(
        np.bincount(whole.device)[np.bincount(whole.device) > 0]
    )[::-1]
    for name, of in numbers.items():
        mine = whole.select(name)
        assert (of["requests"], of["data_size"]) == (len(mine), mine.ends()[0])
        assert of["read_share"] == pytest.approx(mine.read.mean()) and of["mean_size"] == pytest.approx(
            mine.size.mean()
        )


def test_devices_that_appear_later_are_added():
    early = request_trace([0.0], [0], [0], [512], [True], devices=["a"])
    late = request_trace([1.0, 2.0], [1, 1], [0, 512], [512, 512], [False, False], devices=["a", "b"])
    assert list(overview_of(early, late).devices()) == ["b", "a"]


def test_the_chart_contains_the_rows():
    seen = overview_of(trace(100, 1))
    spec = chart(seen.rows()).to_dict()
    assert spec["datasets"] == seen.rows() and len(spec["vconcat"]) == 3
