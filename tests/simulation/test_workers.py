"""Test sweeps on workers: for any number of workers and any loss, results equal those of one machine.

Processes are real.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import xarray as xr
from helpers import assert_refused, assert_same_bytes

from storagekit.core.errors import InputError, SimulationError
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import COMPLETED, Scenario, Sum, System, completed
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import Measure, local_workers, sweep, workers
from storagekit.simulation import shards as piecewise
from storagekit.workload import ClosedLoop, ExponentialSize, PoissonArrivals, RandomRequests

distributed = pytest.importorskip("distributed", reason="needs the extra `distributed`: Dask is not installed")
dask = pytest.importorskip("dask")
ROOT = Path(workers.__file__).parents[2]
# Dask's processes and sockets end at arbitrary times
pytestmark = pytest.mark.filterwarnings("default")

LATE = Sum("late", lambda report: completed(report) & (report.completed.response > 0.01), int)
MISSED = Measure("missed", "1", "share that took long", (LATE, COMPLETED), lambda late, completed: late / completed)


class Mine(SATF):
    """A user's class that workers cannot import."""

    more: float = 1.0

    def doubled(self) -> float:
        return 2 * self.more


# workers compile with few optimizations, as this process does, because that is faster
QUICKLY = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
AXES = {"schedule": [FCFS(), Mine()], "depth": list(range(1, 13))}
EFFORT = {"seeds": 8, "requests": 400, "measures": [MISSED]}


def build(schedule, depth) -> Scenario:
    server = System(RateServer(1e5), Replicas(2), Hashing(), schedule, slots=64)
    return Scenario(server, ClosedLoop(RandomRequests(ExponentialSize(4096), 0.8), depth))


class Cluster:
    """A scheduler and its workers, as processes of this machine, started as a user starts them."""

    def __init__(self, folder: Path):
        self.folder, self.file, self.running, self.joined = folder, folder / "scheduler.json", [], []
        self.start("dask_scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0")

    def start(self, program: str, *more: str, **environment: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(self.file), *more]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        paths = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1"], env=os.environ | paths | environment, cwd=self.folder, **quiet
        )
        self.running.append(process)
        return process

    def worker(self, devices: int) -> subprocess.Popen:
        """Start a worker of one process with this number of devices, without a nanny that would restart it."""
        alone = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)]
        return self.start("dask_worker", *alone, JAX_NUM_CPU_DEVICES=str(devices), **QUICKLY)

    def have(self, *devices: int) -> list[subprocess.Popen]:
        """Return the workers with these numbers of devices; start those that do not run and end the others."""
        left = [(number, process) for number, process in self.joined if process.poll() is None]
        self.joined = []
        for number in devices:
            old = next((one for one in left if one[0] == number), None)
            if old:
                left.remove(old)
            self.joined.append(old or (number, self.worker(number)))
        for _, process in left:
            process.kill()
            process.wait()
        return [process for _, process in self.joined]

    @contextmanager
    def client(self, joined: int) -> Iterator:
        with distributed.Client(scheduler_file=str(self.file)) as client:
            client.wait_for_workers(joined, timeout=60)
            yield client

    def end(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.end()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory) -> Iterator[Cluster]:
    """A cluster for several tests, because a worker takes five seconds to start. Each test says which workers it has."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.end()


@pytest.fixture(autouse=True)
def sent_whole() -> Iterator[None]:
    """Send definitions of this module by value, because workers cannot import it."""
    with workers.sent_whole(__name__):
        yield


@pytest.fixture
def small(monkeypatch):
    """Use pieces of two points."""
    monkeypatch.setattr(piecewise, "LEAST", 1)
    monkeypatch.setattr(piecewise, "width", lambda runs: 16)


@pytest.fixture(scope="module")
def here() -> xr.Dataset:
    """Return the sweep on this machine alone, in large pieces."""
    return sweep(build, AXES, **EFFORT)


def test_one_and_two_workers_give_the_same_bytes(lasting, small, here):
    """Workers have two devices and one, and join between the sweeps."""
    for devices in ([2], [2, 1]):
        lasting.have(*devices)
        with lasting.client(len(devices)) as client:
            assert_same_bytes(sweep(build, AXES, **EFFORT, client=client), here)
            assert not client.futures


def test_a_worker_is_killed_and_nothing_is_lost(lasting, small, here, tmp_path, monkeypatch):
    """Kill a worker after the first two of twelve pieces, with others under way.

    The store is as complete as the result.
    """
    first, _ = lasting.have(1, 2)
    result, seen = workers._result, []

    def killing(future):
        done = result(future)
        seen.append(done)
        if len(seen) == 2:
            first.send_signal(signal.SIGKILL)
        return done

    monkeypatch.setattr(workers, "_result", killing)
    with lasting.client(2) as client:
        assert_same_bytes(sweep(build, AXES, **EFFORT, store=tmp_path / "store", client=client), here)
        assert len(seen) == 12 and len(client.nthreads()) == 1
    monkeypatch.undo()
    again = sweep(build, AXES, **EFFORT, store=tmp_path / "store")
    assert again.attrs["points_stored"] == 24
    assert_same_bytes(again, here)


def listen():
    """From now on, count JAX's compilation cache misses in this process."""
    import jax

    jax.missed = []
    jax.monitoring.register_event_listener(
        lambda event, **_: jax.missed.append(event) if event == "/jax/compilation_cache/cache_misses" else None
    )


def compiled() -> int:
    import jax

    return len(jax.missed)


@pytest.mark.slow
def test_a_structure_is_compiled_once_for_all_workers_of_a_machine(cluster, small, monkeypatch, tmp_path):
    """The cache is empty at first; one of three workers compiles, and the others find the program."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(3):
        cluster.worker(devices=1)
    with cluster.client(3) as client:
        client.run(listen)
        sweep(build, {"schedule": [FCFS()], "depth": list(range(1, 17))}, **EFFORT, client=client)
        missed = sorted(client.run(compiled).values())
    assert missed[:2] == [0, 0] and missed[2] > 0


def test_bad_input_on_a_worker_raises_in_one_line(lasting):
    server = System(RateServer(1e5), Replicas(1), Hashing(), FCFS(), slots=64)
    flood = PoissonArrivals(RandomRequests(ExponentialSize(512), 1.0), rate=4e5)
    lasting.have(2)
    with lasting.client(1) as client:
        call = lambda: sweep(lambda: Scenario(server, flood), {}, seeds=2, requests=3000, client=client)  # noqa: E731
        assert_refused(call, "arrivals waited outside, because 64 slots are too few")
        assert not client.futures
    assert_refused(
        lambda: sweep(build, AXES, **EFFORT, client="tcp://127.0.0.1:1"), r"give a synchronous distributed\.Client"
    )


def test_workers_with_other_versions_raise(lasting, monkeypatch):
    monkeypatch.setattr(workers, "made_with", lambda: {"storagekit": "0.0.1"})
    lasting.have(2)
    with (
        lasting.client(1) as client,
        pytest.raises(InputError, match=r"a worker has .* instead of 0\.0\.1.*: start the workers in"),
    ):
        sweep(build, AXES, **EFFORT, client=client)


@pytest.mark.slow
def test_a_lost_cluster_raises_one_line_and_finished_points_are_stored(cluster, small, tmp_path, monkeypatch):
    """The scheduler is killed after the first of twelve pieces."""
    result = workers._result

    def killing(future):
        done = result(future)
        cluster.running[0].send_signal(signal.SIGKILL)
        return done

    monkeypatch.setattr(workers, "_result", killing)
    cluster.worker(devices=1)
    with (
        cluster.client(1) as client,
        pytest.raises(SimulationError, match="the cluster was closed, or its scheduler is lost"),
    ):
        sweep(build, AXES, **EFFORT, store=tmp_path / "store", client=client)
    assert len(list((tmp_path / "store").glob("*.nc"))) == 1


def test_local_workers_share_the_cores(here, small, monkeypatch):
    """The work runs in two processes, and not in this one."""
    for name, value in QUICKLY.items():
        monkeypatch.setenv(name, value)
    with local_workers(2) as client:
        assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 2
        devices = client.run(lambda: os.environ["JAX_NUM_CPU_DEVICES"])
        assert set(devices.values()) == {str(max(1, workers.cores() // 2))}
        assert_same_bytes(sweep(build, AXES, **EFFORT, client=client), here)


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="needs a checkout, this is an installed package")
def test_the_example_in_the_docs_runs(cluster, tmp_path):
    """Run it as written, with the scheduler's file in the expected place."""
    document = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    example = next(
        one for one in re.findall(r"^```python\n(.*?)^```$", document, re.DOTALL | re.MULTILINE) if "Client" in one
    )
    cluster.worker(devices=2)
    with cluster.client(1):
        result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr[-2000:]
    assert "replicas" in result.stdout and "0 of 6 points are in points; 6 to run" in result.stderr
    assert list((tmp_path / "points").glob("*.nc"))


@pytest.mark.slow
def test_a_large_sweep_loses_a_worker_of_four(cluster, tmp_path):
    """Run 3,000 points and kill one worker after five seconds."""
    axes = {"schedule": [FCFS(), SATF()], "depth": list(range(1, 51)), "share": [number / 30 for number in range(30)]}

    def grid(schedule, depth, share) -> Scenario:
        server = System(RateServer(1e5), Replicas(2), Hashing(), schedule, slots=64)
        return Scenario(server, ClosedLoop(RandomRequests(ExponentialSize(4096), share), depth))

    effort = {"seeds": 4, "requests": 2000}
    first, *_ = [cluster.worker(devices=1) for _ in range(4)]
    with cluster.client(4) as client:
        client.loop.call_later(5, lambda: first.send_signal(signal.SIGKILL))
        began = time.monotonic()
        spread = sweep(grid, axes, **effort, client=client)
        assert time.monotonic() - began > 5 and len(client.nthreads()) == 3
    assert_same_bytes(spread, sweep(grid, axes, **effort))
