"""Test that a replay in blocks, from a file, or after an interruption gives the result of an uninterrupted one."""

import gzip

import numpy as np
import pytest

import storagekit as sk
from storagekit.cli.trace_options import Selection
from storagekit.core import checkpoint
from storagekit.core.errors import InputError
from storagekit.core.streaming_quantiles import StreamingQuantiles
from storagekit.simulation import replaying
from storagekit.simulation.replay_results import ReplayResults
from storagekit.workload.trace import convert, read, request_trace
from storagekit.workload.trace.stored import outline_of

REQUESTS = 7000
DRIVE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=2TB"


def system(**more):
    drive, two = sk.load_drive(DRIVE), sk.placement.Replicas(2)
    return sk.System(drive, two, sk.dispatch.DSPTF(), sk.schedule.SATF(), **{"slots": 64} | more)


def lines(count: int, seed: int = 5) -> str:
    """Return a table of requests to three devices, a few of them out of order, beyond 2^31 sectors and asynchronous."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(12e3, count)) + rng.uniform(0, 20e3, count)
    offsets = rng.integers(0, 2**28, count) * 4096
    rows = [
        f"{time:.0f},{'RW'[int(write)]},{offset},{size},sd{device}\n"
        for time, write, offset, size, device in zip(
            times,
            rng.random(count) < 0.4,
            offsets,
            rng.choice([4096, 65536], count),
            rng.integers(0, 3, count),
            strict=True,
        )
    ]
    return "time_us,operation,offset_bytes,size_bytes,device\n" + "".join(rows)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "long.csv"
    path.write_text(lines(REQUESTS))
    return path


@pytest.fixture(scope="module")
def whole(path):
    """The replay of the trace in memory, in one block."""
    return sk.replay(read(path), system(), scale=2.0)


@pytest.fixture
def blocks_of_2048(monkeypatch):
    monkeypatch.setattr(replaying, "ROWS", 2**11)


def same(one, other):
    """Assert that two replays agree in every measure to the last bit."""
    for name in set(one.data_vars) & set(other.data_vars):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    assert one.attrs["overloaded"] == other.attrs["overloaded"]


def test_blocks_give_the_result_of_the_whole_trace(path, whole, blocks_of_2048):
    same(whole, sk.replay(read(path), system(), scale=2.0))


@pytest.mark.parametrize("form", ["csv", "gzip", "parquet"])
def test_a_file_gives_the_result_of_the_trace_in_memory(path, whole, blocks_of_2048, tmp_path, monkeypatch, form):
    if form == "gzip":
        packed = tmp_path / "long.csv.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    if form == "parquet":
        convert(path, tmp_path / "long.parquet")
        path = tmp_path / "long.parquet"
    monkeypatch.setattr("storagekit.workload.trace.reading.ORDERED", 900)
    found = sk.replay(sk.open_trace(path, disorder_limit=1.0), system(), scale=2.0)
    same(whole, found)
    assert "response_time" not in found and int(found.requests) == REQUESTS and found.wrapped > 0


def test_the_closed_loop_is_the_same_in_blocks(path, monkeypatch):
    trace, one = read(path, requests=5000), system(slots=128)
    whole = sk.replay(trace, one, depth=16)
    monkeypatch.setattr(replaying, "ROWS", 2**11)
    same(whole, sk.replay(trace, one, depth=16))


def test_a_selection_and_a_compaction_of_a_file_are_those_of_the_memory(path):
    def chosen(parts):
        for part in parts:
            yield part.select([name for name in ("sd0", "sd2") if name in part.devices])

    for compact in (False, True):
        file = sk.open_trace(path, select=chosen, compact=compact)
        trace = read(path).select(["sd0", "sd2"])
        trace = trace.compacted() if compact else trace
        parts = list(file.parts())
        for column in ("time", "device", "offset", "size", "read"):
            np.testing.assert_array_equal(
                np.concatenate([getattr(part, column) for part in parts]), getattr(trace, column)
            )
        assert (file.outline.requests, file.outline.largest) == (len(trace), 65536)
        assert list(file.outline.ends) == list(trace.devices) and file.outline.end >= outline_of(trace).end


class Interrupted(Exception):
    """Stands for the end of the process."""


def interrupt_after(monkeypatch, steps: int) -> None:
    """Save the state after every step, and raise after some steps."""
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    left = iter(range(steps))
    save = checkpoint.Checkpoint.save

    def saved(self, arrays):
        save(self, arrays)
        if next(left, None) is None:
            raise Interrupted

    monkeypatch.setattr(checkpoint.Checkpoint, "save", saved)


@pytest.mark.parametrize("stored", [False, True])
def test_an_interrupted_replay_continues_to_the_same_result(path, whole, blocks_of_2048, tmp_path, stored):
    trace, file = sk.open_trace(path) if stored else read(path), tmp_path / "state"
    for steps in (0, 2, 5):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
            interrupt_after(patch, steps)
            sk.replay(trace, system(), scale=2.0, checkpoint=file)
    served = []
    with pytest.MonkeyPatch.context() as patch:
        add = ReplayResults.add_sums
        patch.setattr(ReplayResults, "add_sums", lambda self, tally: (served.append(1), add(self, tally))[1])
        same(whole, sk.replay(trace, system(), scale=2.0, checkpoint=file))
    # the steps before the interruptions are not simulated again
    assert 0 < len(served) <= 2.5 * REQUESTS / (replaying.STRIDE * replaying.CHUNK) - 5 and not file.exists()


def test_the_number_of_slots_continues_too(path, tmp_path):
    """The requests of the trace need more than the first number of slots, and the attempts with fewer are not repeated."""
    trace, crowded = read(path, requests=4000), system(slots=-1)
    whole = sk.replay(trace, crowded, scale=4.0)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        interrupt_after(patch, 6)
        sk.replay(trace, crowded, scale=4.0, checkpoint=tmp_path / "state")
    same(whole, sk.replay(trace, crowded, scale=4.0, checkpoint=tmp_path / "state"))


def test_an_attempt_with_more_slots_does_not_continue_one_with_fewer(path, tmp_path):
    trace, crowded = read(path, requests=4000), system(slots=-1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "EVERY", 0.0)
        found = sk.replay(trace, crowded, scale=4.0, checkpoint=tmp_path / "state")
    same(sk.replay(trace, crowded, scale=4.0), found)


def test_a_checkpoint_of_another_layout_of_the_same_requests_is_refused(path, tmp_path):
    file, swapped = tmp_path / "state", tmp_path / "swapped.csv"
    swapped.write_text(path.read_text().replace("sd0", "x").replace("sd1", "sd0").replace("x", "sd1"))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        interrupt_after(patch, 0)
        sk.replay(sk.open_trace(path), system(), checkpoint=file)
    for other in (sk.open_trace(path, compact=True), sk.open_trace(swapped)):
        with pytest.raises(InputError, match="belongs to another run"):
            sk.replay(other, system(), checkpoint=file)


def test_a_checkpoint_that_cannot_be_written_is_an_error_at_once(path):
    with pytest.raises(OSError, match="/proc/none"):
        sk.replay(read(path, requests=10), system(), checkpoint="/proc/none/state")


def test_devices_that_appear_late_are_selected(tmp_path, monkeypatch):
    late = tmp_path / "late.csv"
    rows = [f"{time},R,{4096 * time},4096,{'ab'[time >= 900]}\n" for time in range(1000)]
    late.write_text("time_ms,operation,offset_bytes,size_bytes,device\n" + "".join(rows))
    monkeypatch.setattr("storagekit.workload.trace.reading.ORDERED", 200)
    monkeypatch.setattr("storagekit.workload.trace.text.BLOCK", 2000)
    chosen = Selection(devices="b").parts
    trace = sk.open_trace(late, disorder_limit=0.1, select=chosen)
    assert trace.outline.requests == 100 and list(trace.outline.ends) == ["b"]
    same(sk.replay(read(late).select("b"), system()), sk.replay(trace, system()))
    with pytest.raises(InputError, match="no device 'c'"):
        sk.open_trace(late, select=Selection(devices="c").parts)


def test_a_selection_without_parts_is_refused(path):
    with pytest.raises(InputError, match="has no part"):
        sk.open_trace(path, select=lambda parts: iter(()))


def test_a_checkpoint_of_another_replay_is_refused(path, tmp_path):
    trace, file = read(path, requests=3000), tmp_path / "state"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        interrupt_after(patch, 0)
        sk.replay(trace, system(), checkpoint=file)
    for other in ({"scale": 2.0}, {"seed": 1}, {"depth": 4}):
        with pytest.raises(InputError, match="belongs to another run"):
            sk.replay(trace, system(), checkpoint=file, **other)
    with pytest.raises(InputError, match="belongs to another run"):
        sk.replay(read(path, requests=2999), system(), checkpoint=file)
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(InputError, match="is not a checkpoint"):
        sk.replay(trace, system(), checkpoint=file)
    np.save(file.with_suffix(".npy"), np.zeros(3))
    with pytest.raises(InputError, match="is not a checkpoint"):
        sk.replay(trace, system(), checkpoint=file.with_suffix(".npy"))


def test_a_file_that_changes_is_refused(path, tmp_path):
    changing = tmp_path / "long.csv"
    changing.write_text(lines(3000))
    trace = sk.open_trace(changing)
    for content in (lines(2000), lines(3000).replace("sd1", "sd9"), lines(3000) + "9e9,R,0,4096,sd0\n", lines(3000)):
        changing.write_text(content)
        with pytest.raises(InputError, match="has changed since it was opened"):
            sk.replay(trace, system())


def test_a_file_that_grows_during_its_replay_is_refused(path, tmp_path, monkeypatch):
    growing = tmp_path / "growing.csv"
    growing.write_text(lines(5000))
    trace = sk.open_trace(growing)
    feed, text = replaying._Replaying._feed, growing.read_text()
    monkeypatch.setattr(replaying, "ROWS", 2**11)
    monkeypatch.setattr(
        replaying._Replaying, "_feed", lambda self: (feed(self), growing.write_text(text + "9e9,R,0,4096,sd0\n"))
    )
    with pytest.raises(InputError, match="has changed since it was opened"):
        sk.replay(trace, system())


def test_arrivals_of_another_structure_are_refused(path):
    trace = request_trace([0.0, 1.0], [0, 0], [0, 4096], [512, 512], [True, True])
    arrivals = sk.workload.recorded(trace, 10_000)
    runner = sk.engine.Runner(sk.Scenario(system(), arrivals), sk.engine.keys([0])[:, 0], sk.engine.Record())
    with pytest.raises(InputError, match="another structure"):
        runner.feed(sk.workload.recorded(trace, 10_000, depth=1))
    with pytest.raises(InputError, match="another structure"):
        runner.feed(sk.workload.recorded(trace.take(slice(1)), 10_000))
    with pytest.raises(InputError, match="another simulation"):
        runner.resume(runner.state()[1:])


def test_streaming_quantiles_continue_from_their_state(monkeypatch):
    monkeypatch.setattr(StreamingQuantiles, "EXACT", 500)
    values = np.random.default_rng(4).exponential(1.0, 900)
    for at in (0, 300, 700):
        straight, first, second = (StreamingQuantiles() for _ in range(3))
        straight.add(values)
        first.add(values[:at])
        second.resume(first.state())
        second.add(values[at:])
        assert second.at(0.1, 0.5, 0.99) == straight.at(0.1, 0.5, 0.99)
    assert np.isnan(StreamingQuantiles().at(0.5)).all()
