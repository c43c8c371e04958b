"""Test that a trace in parallel segments gives the results of the requests simulated one after the other."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import shared, slow_but

import storagekit as sk
from storagekit.core import units
from storagekit.simulation import provisioning, segments
from storagekit.simulation.segments import SAME, SegmentBatch, SegmentsDiffer, reason_not_parallel
from storagekit.workload.recorded import TraceMapping
from storagekit.workload.trace import read
from storagekit.workload.trace.records import RequestTrace
from storagekit.workload.trace.stored import outline_of

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
    # the tests have fewer requests for each segment than real traces
    monkeypatch.setattr(segments, "_per_batch", lambda system: 8)


def reason(model: sk.System, requests: int, depth: int | None = None) -> str:
    """Return why a replay of `requests` requests is not simulated in parallel segments."""
    outline = replace(outline_of(poisson(240, 10)), requests=requests)
    capacity = int(model.placement.capacity(model.drive))
    return reason_not_parallel(model, TraceMapping(outline, capacity, depth=depth))


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


@pytest.mark.parametrize("protocol", slow_but({"hashing", "D-SPTF"}, PROTOCOLS))
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
    trace, model = poisson(2000, 6500), system()
    found = sk.replay(trace, model)
    assert found.attrs["segments"] == 1 and found.attrs["not_parallel"]
    np.testing.assert_array_equal(found.response_time, sk.replay(trace, model, parallel=False).response_time)


def test_more_slots_are_tried_until_no_request_waits(short_segments, monkeypatch):
    monkeypatch.setattr(provisioning, "FEWEST", 16)
    trace = poisson(240)
    burst = slice(7000, 7050)
    trace.time[burst] = trace.time[burst.start]
    found = sk.replay(trace, system(slots=None))
    assert found.blocked == 0 and found.attrs["segments"] > 1
    expected = sk.replay(trace, system(), parallel=False)
    assert np.mean(np.abs(found.response_time - expected.response_time) > SAME) < 1e-3


def striped(unit: int) -> sk.System:
    """Two drives with stripe units of `unit` sectors."""
    arm, stripes = sk.load_drive("atlas10k"), sk.placement.Striped(2, unit)
    return sk.System(arm, stripes, sk.dispatch.Hashing(), sk.schedule.SATF(), slots=64)


def test_a_drive_without_an_access_prevents_segments(short_segments):
    # bytes of the first drive of two, so the position of the other arm stays unknown
    found = sk.replay(poisson(60, span=4e8), striped(int(1e6)))
    assert found.attrs["segments"] == 1 and "no access" in found.attrs["not_parallel"]


def test_what_depends_on_earlier_requests_prevents_segments():
    long = segments.LONG
    assert reason(system(), long) == ""
    assert "fewer" in reason(system(), long - 1)
    assert "closed loop" in reason(system(), long, 4)
    for model, name in (
        (system(cache=sk.cache.BrickLRU.sized(units.MB, bricks=4)), "BrickLRU"),
        (system(sk.dispatch.LARD()), "LARD"),
        (system(faults=sk.faults.FaultSchedule(sk.faults.outage(1, 0, 10))), "FaultSchedule"),
    ):
        assert name in reason(model, long)


def test_many_drives_need_more_requests(short_segments):
    assert reason(system(), REQUESTS) == ""
    assert "fewer" in reason(system(drives=400), REQUESTS)


def test_a_checkpoint_prevents_segments(short_segments, tmp_path):
    found = sk.replay(poisson(240, 4200), system(), checkpoint=tmp_path / "saved.npz")
    assert found.attrs["segments"] == 1 and "checkpoint" in found.attrs["not_parallel"]


def continues(batch: SegmentBatch) -> bool:
    try:
        batch.require_continuous(None)
    except SegmentsDiffer:
        return False
    return True


def batch_of_two() -> SegmentBatch:
    """Two segments whose second one has the response times of the first, of 10 to 20 ms, at ten requests a second."""
    batch = SegmentBatch(np.array([0, 100, 200]), 40, np.arange(300) / 10)
    batch._accessed[:] = True
    batch.response[0, :100] = np.linspace(0.01, 0.02, 100)
    batch.response[1, :40] = batch.response[0, 60:100]
    return batch


def test_a_segment_continues_if_enough_successive_response_times_agree():
    batch = batch_of_two()
    assert continues(batch)
    # ten successive requests are a quarter, and they are the last ones
    batch.response[1, :30] += 1e-3
    assert continues(batch)
    batch.response[1, 30] += 2 * SAME
    assert not continues(batch)


def test_each_drive_has_an_access():
    batch = batch_of_two()
    batch._accessed[1] = False
    with pytest.raises(SegmentsDiffer, match="a drive has no access before request 100"):
        batch.require_continuous(None)


@pytest.mark.parametrize(
    ("request_number", "before", "after", "expected"),
    [
        # a request that is still in the system at request 100, in the first segment, in both, or in the second
        (65, 10.0, 0.01, False),
        (65, 10.0, 10.0, True),
        (65, 0.01, 10.0, False),
        # an older request than the segment has, which completes after request 100 or before it
        (50, 10.0, None, False),
        (50, 4.9, None, True),
    ],
)
def test_the_requests_in_the_system_are_equal(request_number, before, after, expected):
    batch = batch_of_two()
    batch.response[0, request_number] = before
    if after is not None:
        batch.response[1, request_number - 60] = after
    assert continues(batch) == expected


def test_an_overloaded_drive_with_few_requests_is_noticed(short_segments):
    """Requests of one drive are few and so long that they queue there, while nearly all response times agree."""
    requests, rng = 12_000, np.random.default_rng(1)
    size, offset = np.full(requests, 4096), rng.integers(0, 400_000, requests) * 4096
    long = np.arange(100, requests, 300)
    size[long], offset[long] = 350_000_000, 4_000_000 * 512
    trace = RequestTrace(
        np.arange(requests) / 60, np.zeros(requests, np.int32), offset, size, np.ones(requests, bool), ("d",)
    )
    model = striped(4_000_000)
    found = sk.replay(trace, model)
    assert found.attrs["segments"] == 1
    np.testing.assert_array_equal(found.response_time, sk.replay(trace, model, parallel=False).response_time)


def test_many_accesses_between_two_completions_are_progress(short_segments):
    trace = poisson(240, 6500)
    trace.time[3000:3200] = trace.time[3000]
    trace.read[3000:3200] = False
    model = sk.System(
        sk.load_drive("atlas10k"), sk.placement.Replicas(16), sk.dispatch.Hashing(), sk.schedule.SATF(), slots=256
    )
    assert sk.replay(trace, model).blocked == 0


def test_drives_that_do_not_rotate(short_segments):
    server = sk.drive.RateServer(rate=1e8, capacity=int(1e9))
    model = sk.System(server, sk.placement.Declustered(4, 2), sk.dispatch.Hashing(), sk.schedule.FCFS(), slots=64)
    agree(poisson(240), model, 0.0)


def test_asynchronous_writes(short_segments):
    trace = poisson(240)
    agree(replace(trace, asynchronous=~trace.read), system(), 0.0)


# FCFS is also that of drives that do not rotate
@pytest.mark.parametrize("schedule", [sk.schedule.LOOK(), pytest.param(sk.schedule.FCFS(), marks=pytest.mark.slow)])
def test_other_schedules(schedule, short_segments):
    copies = sk.placement.Declustered(4, 2)
    agree(poisson(240), sk.System(sk.load_drive("atlas10k"), copies, sk.dispatch.Hashing(), schedule, slots=64), 0.0)


def test_writes_that_complete_early_and_hedged_reads_prevent_segments():
    long = segments.LONG
    assert "ReceivingBrick" in reason(system(write=sk.write.ReceivingBrick()), long)
    assert "Hedged" in reason(system(sk.dispatch.Hedged()), long)


@pytest.mark.parametrize("drives", [2, 12, 128, 1000])
@pytest.mark.parametrize("width", [2, 32, 1024, 4096])
def test_segments_are_long_enough_to_be_compared(width, drives, monkeypatch):
    monkeypatch.setattr(segments, "width", lambda runs, state_size: width)
    before, count = segments._before(system(drives=drives)), segments._per_batch(system(drives=drives))
    assert 1 <= count <= width and count * 4 * before <= segments.TOGETHER


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("parts", "requests", "before"),
    [
        # after a burst, Cello needs more than 1,000 requests until the segments agree under D-SPTF
        (("cello-hpl-2003", "hourly.03126.srt.bz2"), 17_000, segments.BEFORE),
        (("spc-financial1-10k", "Financial1.first10000.spc.xz"), 10_000, 1000),
        (("spc-websearch1-60s", "WebSearch1.first60s.spc.xz"), 10_000, 1000),
    ],
    ids=["cello", "financial", "websearch"],
)
def test_real_traces(parts, requests, before, protocol, monkeypatch):
    monkeypatch.setattr(segments, "LONG", 2**12)
    monkeypatch.setattr(segments, "BEFORE", before)
    monkeypatch.setattr(segments, "_per_batch", lambda system: 8)
    model = sk.System(
        sk.load_drive("toshiba_mk3001grrb"),
        sk.placement.Replicas(8),
        PROTOCOLS[protocol](),
        sk.schedule.SATF(),
        slots=1024,
    )
    # The angles differ by 1.5 us from rounding. A sector that is just missed, or another order of two accesses of almost
    # equal length, changes the response times of the rest of a burst; the Poisson requests above have no such bursts.
    agree(read(shared("traces", *parts), requests=requests), model, 0.02)
