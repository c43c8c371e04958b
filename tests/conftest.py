"""Shared fixtures of all tests: JAX's environment, and small systems whose numbers can be worked by hand."""

import ctypes
import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

# The Shardy partitioner and locations in the source take a fifth of the compilation of a short program. JAX reads these
# variables when it is imported. Processes that tests start do not have them, and compile as users do.
with pytest.MonkeyPatch.context() as patch:
    for variable in ("JAX_USE_SHARDY_PARTITIONER", "JAX_TRACEBACK_IN_LOCATIONS_LIMIT"):
        patch.setenv(variable, os.environ.get(variable, "0"))
    import jax

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import psutil
import typechecked  # noqa: F401  before anything imports storagekit
from browsing import tab  # noqa: F401  a fixture
from hypothesis import settings
from jaxtyping import config

from storagekit.core.devices import compiler_options
from storagekit.core.garbage import collect_rarely
from storagekit.engine import AbstractLog, Record, Scenario, batch
from storagekit.engine import run as engine_run
from storagekit.engine.run import Run, Static, chunk, compiled
from storagekit.engine.state import phases, random_phases, start
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import AbstractArrivals, RecordedArrivals, Requests

# NumPy's broadcasting must not hide a wrong number of axes
jax.config.update("jax_numpy_rank_promotion", "raise")
# property tests share their cores with other tests, so a slow example is no failure
settings.register_profile("storagekit", deadline=None)
settings.load_profile("storagekit")
# the heap of a test process is large, and each collection searches it
collect_rarely()
# Runs in a batch, for each device.
FEW_RUNS = 4
# XLA reads its flags when JAX starts. Its older emitters compile in three quarters of the time; JAX 0.11 has only the newer.
OLDER_EMITTERS = jax.__version_info__ < (0, 11)
with pytest.MonkeyPatch.context() as patch:
    if OLDER_EMITTERS:
        patch.setenv("XLA_FLAGS", f"{os.environ['XLA_FLAGS']} --xla_cpu_use_fusion_emitters=false")
    jax.devices()
# the event loop as users compile it
NEWER_EMITTERS = {"xla_cpu_use_fusion_emitters": True} if OLDER_EMITTERS else {}
LOOP = compiled(engine_run._advance.__wrapped__, compiler_options=compiler_options() | NEWER_EMITTERS)
# requests of a trace in `unfold`, or a multiple
TRACE = 32
# bytes
MOST_KEPT = 4 * 2**30


class EventLog(AbstractLog):
    """Everything an event reports, except the drive that served it."""

    def keep(self, scenario, state, report):
        return report._replace(served=jnp.any(report.served, axis=0, keepdims=True))


@pytest.fixture(autouse=True, scope="module")
def bounded_memory() -> Iterator[None]:
    """Bound the memory of compiled programs, which would take 10 GB for thousands of tests: clear JAX's caches when
    there are too many."""
    yield
    if psutil.Process().memory_info().rss < MOST_KEPT:
        return
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":
        # the C library returns the free memory to the system only on request
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(autouse=True, scope="module")
def compiled_quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compile the programs of a module without most optimizations, in small batches. That takes a quarter of the time.

    Most tests simulate a few runs, and the rest of a batch is padding. Modules marked `optimized` run their programs
    for long, so they compile as users do and fill their batches.
    """
    optimized = request.node.get_closest_marker("optimized") is not None
    jax.config.update("jax_disable_most_optimizations", not optimized)
    with pytest.MonkeyPatch.context() as patch:
        if optimized:
            patch.setattr(engine_run, "_advance", LOOP)
        else:
            patch.setattr(batch, "FEW_RUNS", FEW_RUNS)
        yield


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """Yield the list of events that JAX has compiled since the start of the test."""
    seen = []

    def note(name: str, seconds: float, **_) -> None:
        if "backend_compile" in name:
            seen.append(name)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield seen
    jax.monitoring.unregister_event_duration_listener(note)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """For tests that pass values of wrong types, to see them rejected as for users, whose calls are not
    type-checked."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def recorded() -> Callable[..., RecordedArrivals]:
    """Arrivals from hand-made columns: seconds, sector, sectors, read, receiving brick, address hash, asynchronous."""

    def recorded(
        times, *, sector=0, sectors=1, read=True, receiving=0, address_hash=0, asynchronous=False, **more
    ) -> RecordedArrivals:
        count = len(times)

        def column(values, kind):
            return np.broadcast_to(np.asarray(values, kind), (count,)).copy()

        return RecordedArrivals(
            requests=Requests(
                number=np.arange(count, dtype=np.int32),
                sector=column(sector, np.int32),
                sectors=column(sectors, np.int32),
                read=column(read, bool),
                receiving=column(receiving, np.uint32),
                address_hash=column(address_hash, np.uint32),
                asynchronous=column(asynchronous, bool),
                stream=column(0, np.int32),
                client=column(0, np.int32),
            ),
            gap=np.append(np.diff(times), np.inf).astype(np.float32),
            **more,
        )

    return recorded


def narrow(leaf):
    array = np.asarray(leaf)
    return jnp.asarray(array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype)))


@partial(jax.jit, static_argnums=(1,))
def first_chunk(numbers, static: Static, phase, key):
    scenario = eqx.combine(numbers, static.value)
    run = Run(start(scenario, phase, key), jnp.zeros(1, jnp.int32), key)
    return chunk(scenario, run, Record(sums_of(STANDARD), EventLog()))[1]


def padded(arrivals: AbstractArrivals) -> AbstractArrivals:
    """A trace in which the last request, which no other follows, is repeated: traces of similar lengths are one program."""
    if not isinstance(arrivals, RecordedArrivals):
        return arrivals
    more = -len(arrivals.gap) % TRACE
    return eqx.tree_at(
        lambda one: (one.requests, one.gap),
        arrivals,
        jax.tree.map(lambda column: np.pad(column, (0, more), mode="edge"), (arrivals.requests, arrivals.gap)),
    )


@pytest.fixture(scope="session")
def unfold() -> Callable:
    """The first chunk of a single run, event by event: `(sums, reports)`, with the platters initially at `phase` turns.

    Scenarios that differ only in numbers are one compiled program.
    """

    def unfold(scenario: Scenario, phase=None):
        scenario = eqx.tree_at(lambda one: one.arrivals, scenario, padded(scenario.arrivals))
        numbers, rest = eqx.partition(scenario, eqx.is_array_like)
        key = jnp.zeros(2, jnp.uint32)
        if phase is None:
            phase = phases(random_phases(key, scenario.system.drives), scenario.system)
        phase = jnp.asarray(phase, jnp.float32)
        tally, reports = jax.tree.map(np.asarray, first_chunk(jax.tree.map(narrow, numbers), Static(rest), phase, key))
        return SimpleNamespace(**tally), reports

    return unfold


@pytest.fixture(scope="session")
def event_log() -> AbstractLog:
    return EventLog()


@pytest.fixture(scope="session")
def control() -> ModuleType:
    """benchmarks/control.py, which is not part of the package."""
    path = Path(__file__).parents[1] / "benchmarks" / "control.py"
    if not path.exists():
        pytest.skip(f"no {path}: needs a checkout, this is an installed package")
    spec = importlib.util.spec_from_file_location("storagekit_control", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def fair_control(control) -> ModuleType:
    """benchmarks/fair_control.py, which imports benchmarks/control.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1])
        return importlib.import_module("benchmarks.fair_control")
