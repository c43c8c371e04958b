"""Test sweeps with a store, without one, interrupted and resumed: equal bytes, and no point runs twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers import assert_refused, assert_same_bytes, slow_but

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer, load_drive
from storagekit.engine import COMPLETED, Runner, Scenario, Sum, System, completed
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import Measure, provisioning, sweep, sweeping, time_series
from storagekit.simulation import content_hash as contents
from storagekit.simulation import shards as piecewise
from storagekit.simulation import store as stored
from storagekit.simulation.run_length import run_length
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests

EFFORT = {"seeds": 8, "requests": 200}
DEPTHS = [1, 2, 3, 4, 5, 6, 8, 10]


def build(depth=4, copies=2, read_share=0.8, slots=None) -> Scenario:
    system = System(load_drive("atlas10k"), Replicas(copies), Hashing(), SATF(), slots=slots)
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(4096), read_share), depth))


@pytest.fixture(scope="module")
def whole() -> xr.Dataset:
    """Return the whole sweep, run at once without a store."""
    return sweep(build, {"depth": DEPTHS}, **EFFORT)


@pytest.fixture
def pairs(monkeypatch):
    """Use pieces of two points with eight seeds."""
    monkeypatch.setattr(piecewise, "LEAST", 1)
    monkeypatch.setattr(piecewise, "width", lambda runs: 16)


def counts(data: xr.Dataset) -> tuple[int, int]:
    return data.attrs["points_stored"], data.attrs["points_run"]


def test_stored_points_are_not_run_again(tmp_path, whole, capfd):
    few = sweep(build, {"depth": DEPTHS[:3]}, **EFFORT, store=tmp_path)
    assert counts(few) == (0, 3)
    assert_same_bytes(few, whole.sel(depth=DEPTHS[:3]))
    more = sweep(build, {"depth": DEPTHS}, **EFFORT, store=tmp_path)
    assert counts(more) == (3, 5)
    assert_same_bytes(more, whole)
    assert f"3 of 8 points are in {tmp_path}; 5 to run" in capfd.readouterr().err
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".nc"]


def test_nothing_is_simulated_if_all_points_are_stored(tmp_path, whole, monkeypatch):
    sweep(build, {"depth": DEPTHS}, **EFFORT, store=tmp_path)
    monkeypatch.setattr(sweeping, "finished", None)
    assert_same_bytes(sweep(build, {"depth": DEPTHS}, **EFFORT, store=tmp_path), whole)
    turned = sweep(build, {"depth": DEPTHS[::-1]}, **EFFORT, store=tmp_path)
    assert_same_bytes(turned.sel(depth=DEPTHS), whole)


@pytest.mark.parametrize(
    "points_stored", slow_but([[10, 1, 4, 3]], [[1], [2, 5, 10], [1, 2, 3, 4, 5, 6, 8], [10, 1, 4, 3]]), ids=str
)
def test_the_set_of_stored_points_changes_no_bit(tmp_path, whole, pairs, points_stored):
    sweep(build, {"depth": points_stored}, **EFFORT, store=tmp_path)
    resumed = sweep(build, {"depth": DEPTHS}, **EFFORT, store=tmp_path)
    assert counts(resumed) == (len(points_stored), len(DEPTHS) - len(points_stored))
    assert_same_bytes(resumed, whole)


def test_a_single_remaining_run_does_not_run_alone(tmp_path, monkeypatch):
    """In a sweep with one seed, a single run would use another program, with possibly different last digits."""
    settings, widths = piecewise.SweepSettings((3,), run_length(200, None, None)), []

    def watched(scenario, key, record):
        widths.append(key.shape[1])
        return Runner(scenario, key, record)

    monkeypatch.setattr(time_series, "Runner", watched)
    for points in ([build(2), build(4)], [build(4)]):
        (group,) = piecewise.grouped(points, seeds=1)
        (piece,) = piecewise.pieces(group, {len(points) - 1}, seeds=1)
        piecewise.finished(piece, settings, quiet=True)
    assert widths[0] > widths[1] == 1

    axes, effort = {"depth": [2, 4]}, {"seeds": [3], "requests": 200}
    both = sweep(build, axes, **effort)
    stored = sweep(build, axes, **effort, store=tmp_path)
    assert_same_bytes(stored, both)
    again = sweep(build, {"depth": [2, 4, 6]}, **effort, store=tmp_path)
    assert counts(again) == (2, 1)
    assert_same_bytes(again, sweep(build, {"depth": [2, 4, 6]}, **effort))
    alone = sweep(build, {"depth": [4]}, **effort, store=tmp_path)
    assert counts(alone) == (0, 1)
    assert_same_bytes(alone, sweep(build, {"depth": [4]}, **effort))


@pytest.mark.slow
def test_systems_of_other_sizes_keep_stored_points(tmp_path):
    """The sweep has three drives instead of two, and NaN for bricks that a point does not have."""
    two = sweep(build, {"copies": [1, 2]}, **EFFORT, store=tmp_path)
    assert two.sizes["brick"] == 2
    three = sweep(build, {"copies": [1, 2, 3]}, **EFFORT, store=tmp_path)
    assert counts(three) == (2, 1) and three.sizes["brick"] == 3
    assert_same_bytes(three, sweep(build, {"copies": [1, 2, 3]}, **EFFORT))
    assert_same_bytes(sweep(build, {"copies": [1]}, **EFFORT, store=tmp_path), sweep(build, {"copies": [1]}, **EFFORT))


def test_finished_points_survive_a_failure(tmp_path, whole, pairs, monkeypatch):
    """The sweep has four pieces of two points; the third fails."""
    run, ran = sweeping.finished, []

    def broken(piece, settings):
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(piece.members)
        return run(piece, settings)

    monkeypatch.setattr(sweeping, "finished", broken)
    with pytest.raises(KeyboardInterrupt):
        sweep(build, {"depth": DEPTHS}, **EFFORT, store=tmp_path)
    monkeypatch.setattr(sweeping, "finished", run)
    resumed = sweep(build, {"depth": DEPTHS}, **EFFORT, store=tmp_path)
    assert counts(resumed) == (4, 4)
    assert_same_bytes(resumed, whole)


def missed(limit) -> Measure:
    late = Sum("late", lambda report: completed(report) & (report.completed.response > limit), int)
    return Measure("missed", "seconds", "late", (late, COMPLETED), lambda late, completed: late / completed)


def simple(depth=4, read_share=0.8, slots=None) -> Scenario:
    """Return a scenario that compiles quickly."""
    system = System(RateServer(1e5), Replicas(1), Hashing(), FCFS(), slots=slots)
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(4096), read_share), depth))


OTHERS = {
    "a number": ({"read_share": [0.7]}, {}),
    "slots": ({"slots": [64]}, {}),
    "requests": ({}, {"requests": 201}),
    "a warm-up": ({}, {"warm_up": 30}),
    "seconds": ({}, {"seconds": 0.5}),
    "seeds": ({}, {"seeds": [*range(7), 8]}),
    "their order": ({}, {"seeds": range(7, -1, -1)}),
    "a measure": ({}, {"measures": [missed(0.01)]}),
    "its limit": ({}, {"measures": [missed(0.02)]}),
}


@pytest.mark.parametrize("other", slow_but({"requests", "a measure"}, OTHERS))
def test_another_parameter_is_another_point(tmp_path, other):
    axes, effort = {"depth": [2, 4]}, {"measures": [missed(0.015)], **EFFORT}
    sweep(simple, axes, **effort, store=tmp_path)
    changed, more = OTHERS[other]
    again = sweep(simple, {**axes, **changed}, **{**effort, **more}, store=tmp_path)
    assert counts(again) == (0, 2)
    assert counts(sweep(simple, axes, **effort, store=tmp_path)) == (2, 0)


@pytest.mark.slow
def test_another_version_is_another_point(tmp_path, monkeypatch):
    sweep(simple, {}, **EFFORT, store=tmp_path)
    made = contents.made_with()
    for name in ("storagekit", "source", "jax", "precision"):
        with monkeypatch.context() as patch:
            patch.setattr(stored, "made_with", lambda name=name: {**made, name: "another"})
            assert counts(sweep(simple, {}, **EFFORT, store=tmp_path)) == (0, 1)
    assert counts(sweep(simple, {}, **EFFORT, store=tmp_path)) == (1, 0)


@pytest.mark.parametrize("damage", slow_but({"cut", "flipped"}, ["cut", "flipped", "emptied", "foreign"]))
def test_a_damaged_file_is_named_and_ignored(tmp_path, whole, pairs, damage, capfd):
    axes = {"depth": DEPTHS[:4]}
    sweep(build, axes, **EFFORT, store=tmp_path)
    file = sorted(tmp_path.iterdir())[0]
    content = bytearray(file.read_bytes())
    if damage == "foreign":
        file.unlink()
        file = tmp_path / "other.nc"
        xr.Dataset({"x": ("point", [1.0])}).to_netcdf(file, engine="h5netcdf")
    elif damage == "flipped":
        content[len(content) * 3 // 4] ^= 1
        file.write_bytes(content)
    else:
        file.write_bytes(content[: len(content) // 2 if damage == "cut" else 0])
    again = sweep(build, axes, **EFFORT, store=tmp_path)
    assert counts(again) == (2, 2)
    assert_same_bytes(again, whole.sel(depth=DEPTHS[:4]))
    messages = capfd.readouterr().err.splitlines()
    assert [line for line in messages if str(file) in line and "run again" in line]


def test_an_impossible_store_raises(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    assert_refused(
        lambda: sweep(build, {}, **EFFORT, store=file), r"store '.*file': File exists; give the path of a folder"
    )

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert_refused(
        lambda: sweep(build, {}, **EFFORT, store=tmp_path), "No space left on device; earlier results are kept"
    )
    assert not list(tmp_path.glob("*.nc")) and not list(tmp_path.glob(".*.part"))


def overloaded(rate) -> Scenario:
    server = System(RateServer(1e5), Replicas(1), Hashing(), FCFS())
    return Scenario(server, PoissonArrivals(RandomRequests(FixedSize(512), read_share=1.0), rate=rate))


@pytest.mark.slow
def test_an_overload_in_a_store_also_raises_and_stays_stored(tmp_path, monkeypatch):
    """The load is twice and half of the server's capacity; the slots are 8 at first, then 32."""
    monkeypatch.setattr(provisioning, "FEWEST", 8)
    monkeypatch.setattr(provisioning, "MOST", 32)
    axes, effort = {"rate": [2e5, 5e4]}, {"seeds": 2, "requests": 400}
    fresh = sweep(overloaded, axes, **effort, allow_blocked=True)
    for _ in range(2):
        assert_refused(
            lambda: sweep(overloaded, axes, **effort, store=tmp_path), "waited outside, because 32 slots are too few"
        )
    again = sweep(overloaded, axes, **effort, allow_blocked=True, store=tmp_path)
    assert counts(again) == (2, 0)
    assert_same_bytes(again, fresh)
    monkeypatch.setattr(provisioning, "MOST", 128)  # otherwise the overloaded point would run with this number
    again = sweep(overloaded, axes, **effort, allow_blocked=True, store=tmp_path)
    assert counts(again) == (1, 1)
    assert_same_bytes(again, sweep(overloaded, axes, **effort, allow_blocked=True))


PROGRAM = """
import sys
import storagekit as sk
from storagekit.simulation import shards
server = sk.System(sk.drive.RateServer(1e5), sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.FCFS(), slots=64)
def build(depth, read_share):
    requests = sk.workload.RandomRequests(sk.workload.ExponentialSize(4096), read_share)
    return sk.Scenario(server, sk.workload.ClosedLoop(requests, depth))
AXES = {"depth": list(range(1, %(depths)d + 1)), "read_share": [number / %(shares)d for number in range(%(shares)d)]}
EFFORT = {"seeds": 2, "requests": %(requests)d}
if __name__ == "__main__":
    if sys.argv[2:]:
        shards.LEAST, shards.width = 1, lambda runs: int(sys.argv[2])
    sk.sweep(build, AXES, **EFFORT, store=sys.argv[1])
"""


def killed_and_resumed(folder: Path, each: int, until: int, **size: int) -> tuple[xr.Dataset, xr.Dataset, int]:
    """Kill a sweeping program when its store has `until` files, and resume.

    Return the resumed sweep, a sweep without a store, and the number of points in complete files. `each` is the number
    of runs in a piece, 0 for the default.
    """
    source = PROGRAM % size
    program = folder / "program.py"
    program.write_text(source)
    store = folder / "store"
    command = [sys.executable, str(program), str(store), *([str(each)] if each else [])]
    running = subprocess.Popen(command, env=os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"})
    try:
        while len(list(store.glob("*.nc"))) < until:
            assert running.poll() is None, "the sweep ended before the kill"
            time.sleep(0.005)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    points_stored = 0
    for path in store.glob("*.nc"):
        with xr.open_dataset(path) as data:
            points_stored += data.sizes["point"]
    space: dict = {"__name__": "program"}
    exec(source, space)
    resumed = sweep(space["build"], space["AXES"], **space["EFFORT"], store=store)
    return resumed, sweep(space["build"], space["AXES"], **space["EFFORT"]), points_stored


def assert_survived(resumed: xr.Dataset, fresh: xr.Dataset, points_stored: int, until: int, each: int):
    points = int(np.prod([fresh.sizes[axis] for axis in ("depth", "read_share")]))
    assert until * each <= points_stored < points
    assert counts(resumed) == (points_stored, points - points_stored)
    assert_same_bytes(resumed, fresh)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a system that can kill")
def test_a_killed_sweep_resumes(tmp_path):
    """Kill a sweep of 60 points in pieces of four after the third piece."""
    resumed, fresh, points_stored = killed_and_resumed(tmp_path, each=8, until=3, depths=12, shares=5, requests=500)
    assert_survived(resumed, fresh, points_stored, until=3, each=4)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a system that can kill")
def test_ten_thousand_points_survive_a_kill(tmp_path):
    """Kill the sweep half way; at most the current piece is lost."""
    resumed, fresh, points_stored = killed_and_resumed(tmp_path, each=0, until=20, depths=50, shares=200, requests=1000)
    assert_survived(resumed, fresh, points_stored, until=20, each=256)
