"""Test characteristics of traces small enough to work by hand, and against slow definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.core.streaming_quantiles import StreamingQuantiles
from storagekit.workload.trace import UNITS, Summary, characteristics, request_trace
from storagekit.workload.trace.characteristics import peak_to_mean
from storagekit.workload.trace.locality import (
    ReadsAfterWrites,
    read_after_write_share,
    seek_locality,
    sequential_share,
    touched_bytes,
)


def trace(rows, **more):
    """Return a trace from rows of (time s, device, offset B, size B, read)."""
    time, device, offset, size, read = zip(*rows, strict=True)
    return request_trace(time, device, offset, size, read, **more)


def test_a_trace_worked_by_hand():
    figures = characteristics(
        trace(
            [
                (0.0, 0, 0, 4096, True),
                (1.0, 0, 4096, 4096, False),  # follows the request before it
                (1.5, 1, 8192, 1024, False),  # the first request on its device
                (2.0, 0, 40960, 8192, True),  # 32768 from the end of the last request on device 0
                (4.0, 1, 8192, 1024, True),  # 1024 back; reads data written 2.5 s before
            ],
            asynchronous=[False, True, False, True, False],
            measured_response=[0.010, 0.020, 0.030, 0.040, 0.050],
        )
    )
    assert figures.requests == 5 and figures.devices == 2
    assert figures.duration == 4.0 and figures.rate == 1.25
    assert figures.read_share == 0.6
    assert figures.mean_size == pytest.approx((4096 + 4096 + 1024 + 8192 + 1024) / 5)
    assert figures.mean_read_size == pytest.approx((4096 + 8192 + 1024) / 3)
    assert figures.mean_write_size == pytest.approx((4096 + 1024) / 2)
    assert figures.data_size == 49152 + 9216
    assert figures.footprint == 4096 * (1 + 1 + 2 + 1)
    # Gaps 1, 0.5, 0.5, 2: mean 1, variance (0 + .25 + .25 + 1) / 4.
    assert figures.interarrival_cov == pytest.approx(math.sqrt(0.375))
    # Seconds 0 to 4 hold 1, 2, 1, 0, 1 arrivals: at most 2 where the mean is 1.
    assert figures.peak_to_mean == 2.0
    # Seeks 0 and 32768 on device 0, 1024 on device 1.
    random = (49152 + 49152 + 9216) / 3 / 3
    assert figures.seek_locality == pytest.approx(random / ((0 + 32768 + 1024) / 3))
    assert figures.sequential_share == 0.2
    assert figures.read_after_write_share == 0.2
    assert figures.asynchronous_write_share == 0.2
    assert figures.mean_response == pytest.approx(0.030)
    assert figures.median_response == pytest.approx(0.030)
    assert figures.p95_response == pytest.approx(0.048) and figures.p99_response == pytest.approx(0.0496)
    # 1.25 requests a second, each for 30 ms
    assert figures.mean_outstanding == pytest.approx(1.25 * 0.030)


def test_figures_have_units_and_plain_types():
    figures = characteristics(trace([(0, 0, 0, 512, True), (1, 0, 512, 512, False)])).as_dict()
    assert figures.keys() == UNITS.keys()
    assert all(value is None or type(value) in (int, float) for value in figures.values())
    assert UNITS["rate"] == "requests/s" and UNITS["footprint"] == "B" and UNITS["read_share"] == "1"


def test_figures_that_need_several_requests_are_none():
    figures = characteristics(trace([(5, 0, 0, 512, True)]))
    assert figures.duration == 0 and figures.rate is None and figures.interarrival_cov is None
    assert figures.mean_write_size is None and figures.seek_locality is None
    assert figures.mean_response is None and figures.asynchronous_write_share is None
    assert figures.peak_to_mean == 1.0


def test_an_empty_window_is_an_input_error():
    with pytest.raises(InputError, match="has no request"):
        characteristics(trace([(0, 0, 0, 512, True)]).window(5, 6))


def test_random_addresses_have_locality_one():
    """Uniformly random positions are C/3 apart: L = 1 within its standard error."""
    count, capacity = 100_000, 10**9
    offset = np.random.default_rng(1).integers(0, capacity, count)
    trace = request_trace(np.arange(count), np.zeros(count), offset, np.ones(count), [True] * count)
    # |x - y| has sd C / sqrt(18), so the mean of n has a relative sd of 1 / sqrt(2 n). Neighbours share an end, which
    # at most doubles the variance.
    sigma = math.sqrt(2 / (2 * count))
    assert seek_locality(trace, {"0": capacity}) == pytest.approx(1, abs=4 * sigma)
    assert seek_locality(trace, {"0": 4 * capacity}) == pytest.approx(4, abs=16 * sigma)


def test_locality_of_a_sequential_trace_is_infinite():
    run = trace([(i, 0, 512 * i, 512, True) for i in range(5)])
    assert seek_locality(run) == math.inf
    assert sequential_share(run) == 0.8


def test_poisson_arrivals_have_cov_one():
    count = 100_000
    time = np.cumsum(np.random.default_rng(2).exponential(0.01, count))
    zeros = np.zeros(count, int)
    figures = characteristics(request_trace(time, zeros, zeros, zeros + 512, zeros))
    # The sd of an exponential's sample cov is 1 / sqrt(n).
    assert figures.interarrival_cov == pytest.approx(1, abs=4 / math.sqrt(count))
    assert figures.rate == pytest.approx(100, rel=4 / math.sqrt(count))


def test_an_hour_is_the_limit_of_read_after_write():
    def share(read_at, offset=0, device=0):
        return read_after_write_share(trace([(0, 0, 0, 1024, False), (read_at, device, offset, 512, True)]))

    assert share(3599.9) == 0.5
    assert share(3600.0) == 0.0
    assert share(1, offset=512) == 0.5
    assert share(1, offset=1024) == 0.0
    assert share(1, device=1) == 0.0


small_rows = st.lists(
    st.tuples(
        st.integers(0, 20), st.integers(0, 2), st.integers(0, 30), st.integers(1, 8), st.booleans()
    ),
    min_size=1, max_size=25,
).map(lambda rows: sorted(rows, key=lambda row: row[0]))  # fmt: skip


@given(small_rows, st.integers(1, 12))
def test_read_after_write_agrees_with_its_definition(rows, within):
    hits = 0
    for i, (time, device, start, size, is_read) in enumerate(rows):
        newest: dict[int, float] = {}
        for t, d, s, n, r in rows[:i]:
            if d == device and not r:
                newest.update(dict.fromkeys(range(s, s + n), t))
        ages = [time - newest[byte] for byte in range(start, start + size) if byte in newest]
        hits += bool(is_read and ages and min(ages) < within)
    assert read_after_write_share(trace(rows), within) == pytest.approx(hits / len(rows))


@given(small_rows, st.integers(1, 5))
def test_touched_bytes_agree_with_their_definition(rows, block):
    touched = {(device, byte // block) for _, device, start, size, _ in rows for byte in range(start, start + size)}
    assert touched_bytes(trace(rows), block) == block * len(touched)


@given(small_rows)
def test_seeks_agree_with_their_definition(rows):
    last: dict[int, int] = {}
    distances, ends = [], {d: max(s + n for _, e, s, n, _ in rows if e == d) for _, d, *_ in rows}
    for _, device, start, size, _ in rows:
        if device in last:
            distances.append((device, abs(start - last[device])))
        last[device] = start + size
    locality = seek_locality(trace(rows))
    if not distances:
        assert locality is None
        return
    observed = sum(d for _, d in distances)
    random = sum(ends[device] / 3 for device, _ in distances)
    assert locality == (pytest.approx(random / observed) if observed else math.inf)
    sequential = sum(d == 0 for _, d in distances)
    assert sequential_share(trace(rows)) == pytest.approx(sequential / len(rows))


def test_peak_counts_windows_from_the_first_arrival():
    time = np.array([10.5, 10.6, 11.4, 11.6, 13.5])
    # Windows from 10.5: 3, 1, 0, 1.
    assert peak_to_mean(time) == 3 / (5 / 4)


@given(
    st.lists(
        st.tuples(st.integers(0, 4000), st.integers(0, 3), st.integers(0, 60), st.integers(1, 20), st.booleans()),
        min_size=2,
        max_size=60,
    ),
    st.integers(1, 59),
)
def test_parts_of_a_trace_have_the_characteristics_of_the_whole(rows, at):
    rows = sorted(((time, device, 512 * offset, 512 * size, read) for time, device, offset, size, read in rows),
                  key=lambda row: row[0])  # fmt: skip
    whole = trace(rows, measured_response=[0.001 * (1 + row[2] % 7) for row in rows], devices=list("abcd"))
    summary = Summary()
    for part in (slice(0, at), slice(at, None)):
        summary.add(whole.take(part))
    for (name, one), other in zip(
        summary.result().as_dict().items(), characteristics(whole).as_dict().values(), strict=True
    ):
        assert one == pytest.approx(other), name


def test_many_responses_have_quantiles_within_a_thousandth():
    values = np.random.default_rng(3).exponential(0.01, StreamingQuantiles.EXACT + 50_000)
    many = StreamingQuantiles()
    for part in np.array_split(values, 7):
        many.add(part)
    np.testing.assert_allclose(
        many.at(0.01, 0.5, 0.95, 0.999), np.quantile(values, [0.01, 0.5, 0.95, 0.999]), rtol=1e-3
    )
    assert many.mean == pytest.approx(values.mean())


def test_writes_of_earlier_segments_count_for_an_hour(monkeypatch):
    """The share is the same whether the trace is examined at once or in many segments."""
    rng = np.random.default_rng(5)
    count = 4000
    time = np.cumsum(rng.exponential(5.0, count))
    rows = request_trace(time, rng.integers(0, 2, count), 512 * rng.integers(0, 300, count), 512 * rng.integers(1, 9, count),
                         rng.random(count) < 0.6)  # fmt: skip
    whole = read_after_write_share(rows)
    monkeypatch.setattr("storagekit.workload.trace.locality.SEGMENT", 64)
    found = ReadsAfterWrites()
    for start in range(0, count, 37):
        found.add(rows.take(slice(start, start + 37)))
    assert found.count() / count == whole and 0.2 < whole < 0.6
