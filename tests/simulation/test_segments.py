"""Test that a trace in parallel segments gives the results of the requests simulated one after the other."""

import numpy as np
import pytest
from helpers import shared

import storagekit as sk
from storagekit.core import units
from storagekit.simulation import segments
from storagekit.simulation.segments import SAME, Stretch, why_not
from storagekit.workload.trace import read
from storagekit.workload.trace.records import RequestTrace

REQUESTS = 12_000
# requests that a segment simulates before those it counts
BEFORE = 768
PROTOCOLS = {
    "hashing": sk.dispatch.Hashing,
    "D-SPTF": sk.dispatch.DSPTF,
    "JSQ": lambda: sk.dispatch.ShortestQueue(2),
}


def system(dispatch=None, drives: int = 4, **more) -> sk.System:
    arm, copies = sk.load_drive("atlas10k"), sk.placement.Declustered(drives, 2)
    chosen = sk.dispatch.Hashing() if dispatch is None else dispatch
    return sk.System(arm, copies, chosen, sk.schedule.SATF(), **{"slots": 64} | more)


def poisson(rate: float, requests: int = REQUESTS, seed: int = 3, span: float = 8e9) -> RequestTrace:
    """A trace of requests of 4 KB at random addresses below `span` bytes, 70% reads, with pauses."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1 / rate, requests)
    gaps[:: requests // 3] = 2.0
    blocks = rng.integers(0, int(span) // 4096, requests)
    nothing = np.zeros(requests, np.int32)
    return RequestTrace(
        np.cumsum(gaps) - gaps[0], nothing, blocks * 4096, np.full(requests, 4096), rng.random(requests) < 0.7, ("d",)
    )


@pytest.fixture
def short_segments(monkeypatch):
    """Use segments for short traces, and several batches of them."""
    monkeypatch.setattr(segments, "LONG", 2**12)
    monkeypatch.setattr(segments, "BEFORE", BEFORE)
    monkeypatch.setattr(segments, "ROWS", 2**13)
    monkeypatch.setattr(segments, "TOGETHER", 4500)


def agree(trace, model, most_changed: float, **more):
    """Assert that both ways to simulate agree, and return the share of response times that differ."""
    parallel, sequential = sk.replay(trace, model, **more), sk.replay(trace, model, parallel=False, **more)
    assert parallel.attrs["not_parallel"] == "" and parallel.attrs["segments"] > 1
    assert sequential.attrs["segments"] == 1
    difference = np.abs(parallel.response_time - sequential.response_time)
    changed = float(np.mean(difference > SAME))
    assert not np.any(np.isnan(difference)) and changed <= most_changed
    for name in set(parallel.data_vars) - {"response_time"}:
        one, other = parallel[name].values, sequential[name].values
        if changed == 0 and np.issubdtype(one.dtype, np.integer):
            np.testing.assert_array_equal(one, other, err_msg=name)
        np.testing.assert_allclose(one, other, rtol=2e-5 + 10 * most_changed, atol=1e-6, err_msg=name)
    return changed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_segments_equal_the_whole_trace(protocol, short_segments):
    # accesses of almost equal length are served in another order only where claims compare them
    agree(poisson(240), system(PROTOCOLS[protocol]()), 2e-3 if protocol == "D-SPTF" else 0.0)


def test_the_scale_of_a_trace_and_different_spindles(short_segments):
    agree(poisson(80), system(), 0.0, scale=3.0, seed=7)


def test_a_trace_in_a_file(short_segments, tmp_path):
    trace = poisson(240)
    path = tmp_path / "trace.csv"
    rows = zip(trace.time * 1e6, trace.read, trace.offset, strict=True)
    table = "".join(f"{time:.0f},{'WR'[int(read)]},{offset},4096\n" for time, read, offset in rows)
    path.write_text("time_us,operation,offset_bytes,size_bytes\n" + table)
    stored, held = sk.replay(sk.open_trace(path), system()), sk.replay(read(path), system())
    assert stored.attrs["segments"] == held.attrs["segments"] > 1
    for name in stored.data_vars:
        np.testing.assert_array_equal(stored[name], held[name], err_msg=name)


def test_an_overloaded_system_is_simulated_one_request_after_the_other(short_segments):
    trace, model = poisson(2000, 6500), system(slots=1024)
    found = sk.replay(trace, model)
    assert found.attrs["segments"] == 1 and "response times" in found.attrs["not_parallel"]
    np.testing.assert_array_equal(found.response_time, sk.replay(trace, model, parallel=False).response_time)


def test_more_slots_are_tried_until_no_request_waits(short_segments):
    trace = poisson(240)
    burst = slice(7000, 7100)
    trace.time[burst] = trace.time[burst.start]
    found = sk.replay(trace, system(slots=None))
    assert found.held_up == 0 and found.attrs["segments"] > 1
    expected = sk.replay(trace, system(slots=256), parallel=False)
    assert np.mean(np.abs(found.response_time - expected.response_time) > SAME) < 1e-3


def test_a_drive_without_an_access_prevents_segments(short_segments):
    # bytes of the first drive of two, so the position of the other arm stays unknown
    model = sk.System(
        sk.load_drive("atlas10k"),
        sk.placement.Striped(2, int(1e6)),
        sk.dispatch.Hashing(),
        sk.schedule.SATF(),
        slots=64,
    )
    found = sk.replay(poisson(60, span=4e8), model)
    assert found.attrs["segments"] == 1 and found.attrs["not_parallel"]


def test_what_depends_on_earlier_requests_prevents_segments():
    long = segments.LONG
    assert why_not(system(), long, None) == ""
    assert "fewer" in why_not(system(), long - 1, None)
    assert "closed loop" in why_not(system(), long, 4)
    for model, name in (
        (system(cache=sk.cache.BrickLRU.sized(units.MB, bricks=4)), "BrickLRU"),
        (system(sk.dispatch.LARD()), "LARD"),
        (system(condition=sk.faults.FaultSchedule(sk.faults.outage(1, 0, 10))), "FaultSchedule"),
    ):
        assert name in why_not(model, long, None)


def test_many_drives_need_more_requests(short_segments):
    assert why_not(system(), REQUESTS, None) == ""
    assert "fewer" in why_not(system(drives=400), REQUESTS, None)


def test_a_checkpoint_prevents_segments(short_segments, tmp_path):
    found = sk.replay(poisson(240, 4200), system(), checkpoint=tmp_path / "saved.npz")
    assert found.attrs["segments"] == 1 and "checkpoint" in found.attrs["not_parallel"]


def test_a_segment_continues_if_enough_successive_response_times_agree():
    stretch = Stretch(np.array([0, 100, 200]), before=40)
    stretch._accessed[:] = True
    stretch.response[0, :100] = np.linspace(0.01, 0.02, 100)
    # first the segment differs, then ten requests agree, which is a quarter
    stretch.response[1, :40] = stretch.response[0, 60:100] + 1e-3
    stretch.response[1, 20:30] = stretch.response[0, 80:90] + SAME / 2
    assert stretch.differ(np.empty(0)).tolist() == []
    stretch.response[1, 25] += 2 * SAME
    assert stretch.differ(np.empty(0)).tolist() == [1]
    stretch.response[1, :40] = stretch.response[0, 60:100]
    stretch._accessed[1] = False
    assert stretch.differ(np.empty(0)).tolist() == [1]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "parts",
    [
        ("cello-hpl-2003", "hourly.03126.srt.bz2"),
        ("spc-financial1-10k", "Financial1.first10000.spc.xz"),
        ("spc-websearch1-60s", "WebSearch1.first60s.spc.xz"),
    ],
    ids=lambda parts: parts[0],
)
def test_real_traces(parts, protocol, monkeypatch):
    monkeypatch.setattr(segments, "LONG", 2**12)
    model = sk.System(
        sk.load_drive("toshiba_mk3001grrb"),
        sk.placement.Replicas(8),
        PROTOCOLS[protocol](),
        sk.schedule.SATF(),
        slots=1024,
    )
    # where claims compare accesses of almost equal length, rounding changes the order of accesses in a burst
    agree(read(shared("traces", *parts), requests=10_000), model, 0.02 if protocol == "D-SPTF" else 2e-3)
