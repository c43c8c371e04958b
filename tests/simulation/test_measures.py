"""Test measures defined by a user, as in a notebook cell: their sums, their labels, and rejected definitions."""

import doctest
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.core.errors import SimulationError
from storagekit.core.resources import data_path
from storagekit.core.units import MS, SECTOR
from storagekit.dispatch import Hashing, central
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import (
    COMPLETED,
    AccessLog,
    Record,
    ResponseLog,
    Scenario,
    Sum,
    System,
    completed,
    execute,
    keys,
    stack,
)
from storagekit.engine.run import CHUNK
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.simulation import STANDARD, Measure, history, replay, simulate, sweep
from storagekit.simulation.measures import sums_of
from storagekit.simulation.standard_measures import ELAPSED, READS, SERVED
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.workload.trace import read as read_trace
from storagekit.write import AllCopies

DRIVE = ideal_drive(full_seek=8 * MS, revolution=6 * MS)
READ, WRITE = 0, 1
LIMITS = [5 * MS, 10 * MS, 20 * MS, 50 * MS]
# the number of reads and of writes that completed within each limit
WITHIN = Sum(
    "within",
    lambda report, operation, limit: (
        completed(report) & (report.completed.read == (operation == READ)) & (report.completed.response <= limit)
    ),
    int,
    along={"operation": [READ, WRITE], "limit": LIMITS},
)
DISTRIBUTION = Measure("distribution", "1", "requests completed within a limit", (WITHIN,), lambda within: within)
PROMPT = Measure(
    "prompt",
    "1",
    "share of requests completed within 20 ms",
    (WITHIN, COMPLETED),
    lambda within, completed: within.sel(limit=20 * MS).sum("operation") / completed,
)
SEEKING = Sum("seeking", lambda report: jnp.where(report.served, report.seek, 0.0), by_drive=True)
SEEKS = Measure(
    "seeks", "1", "share of time that each arm moves", (SEEKING, ELAPSED), lambda seek, elapsed: seek / elapsed
)
OWN = (DISTRIBUTION, PROMPT, SEEKS)


def loop(copies=2, depth=6, drive=DRIVE) -> Scenario:
    system = System(drive, Replicas(copies), Hashing(), SATF(), AllCopies(), drives=3, slots=32)
    return Scenario(system, ClosedLoop(RandomRequests(ExponentialSize(4096), 0.7), depth))


@pytest.fixture(scope="module")
def seen():
    return simulate(loop(), requests=2000, seed=3, warm_up=0, measures=OWN)


@pytest.fixture(scope="module")
def swept():
    return sweep(loop, {"copies": [1, 3], "depth": [2, 6]}, seeds=2, requests=500, measures=OWN)


def logged(scenario, seed, requests, log):
    """Return the log entries of the events that `simulate` measures, in chunks that start before the last completion."""
    log_of_run = execute(*stack([scenario], [seed]), requests, Record(log=log)).log
    number = log_of_run.number if isinstance(log, ResponseLog) else log_of_run.completed.number
    done = np.sum(number.reshape(-1, CHUNK) >= 0, axis=1)
    measured_events = np.repeat(np.cumsum(done) - done < requests, CHUNK)
    return jax.tree.map(lambda column: column.ravel()[measured_events], log_of_run)


def test_a_histogram_counts_the_completions(seen):
    """Compare with NumPy's count of all completions of the same run."""
    log = logged(loop(), 3, 2000, ResponseLog())
    happened = log.number >= 0
    response, read = log.response[happened], log.read[happened]
    counts = [[np.sum(response[read == which] <= np.float32(limit)) for limit in LIMITS] for which in (True, False)]
    assert seen.distribution.dims == ("operation", "limit")
    assert seen.distribution.values.tolist() == counts
    assert min(counts[0]) < max(counts[0]) and counts[0] != counts[1]
    assert float(seen.prompt) == np.sum(response <= np.float32(20 * MS)) / len(response)
    assert seen.limit.values.tolist() == LIMITS and seen.operation.values.tolist() == [READ, WRITE]


def test_bytes_are_the_bytes_of_the_accesses():
    """A server transfers 2,000 sectors a second. Compare with the sizes of the requests whose accesses are in the log."""
    scenario = loop(drive=RateServer(2000))
    moved = Sum("moved", lambda report: report.transfer * 2000 * SECTOR)
    rate = Measure("rate", "B/s", "bytes read and written a second", (moved, ELAPSED), lambda moved, time: moved / time)
    data = simulate(scenario, requests=1000, seed=5, warm_up=0, measures=[rate])
    number = logged(scenario, 5, 1000, AccessLog()).number
    first, capacity = jnp.zeros((1, 1), jnp.int32), scenario.system.drive.capacity
    window = scenario.arrivals.window(capacity, jnp.asarray(keys([5])), first, 1 + int(number.max()))
    sizes = np.asarray(window.requests.sectors)[:, 0].astype(np.int64) * SECTOR
    assert float(data.rate * data.elapsed) == pytest.approx(sizes[number[number >= 0]].sum(), rel=1e-5)


def test_results_have_unit_and_meaning(seen, swept):
    for data in (seen, swept):
        for measure in (*STANDARD, *OWN):
            assert data[measure.name].attrs == {"units": measure.unit, "long_name": measure.meaning}


def test_own_measures_change_no_other(seen):
    alone = simulate(loop(), requests=2000, seed=3, warm_up=0)
    assert set(seen.data_vars) - set(alone.data_vars) == {measure.name for measure in OWN}
    for name in alone.data_vars:
        np.testing.assert_array_equal(seen[name], alone[name])


def test_every_point_has_separate_values(swept):
    """At least as many requests meet a higher limit, and the parts by drive add up to the whole."""
    assert swept.distribution.dims == ("copies", "depth", "operation", "limit", "seed")
    assert bool((swept.distribution.diff("limit") >= 0).all())
    most = swept.distribution.isel(limit=-1).sel(operation=READ)
    assert bool((most <= swept.requests * swept.read_fraction).all()) and float(most.min()) > 100
    seconds = (swept.seeks * swept.elapsed).sum("brick")
    np.testing.assert_allclose(seconds, swept.seek * swept.accesses, rtol=1e-5)
    assert bool(np.isnan(swept.seeks.sel(copies=1, brick=[1, 2])).all())
    assert not bool(np.isnan(swept.seeks.sel(copies=3)).any())


def test_pieces_of_a_run_have_user_measures():
    found = history(lambda depth: loop(2, depth), {"depth": [2, 6]}, requests=2000, pieces=4, measures=OWN)
    np.testing.assert_allclose(found.pieces.distribution.sum("piece"), found.whole.distribution)
    assert found.pieces.distribution.dims == ("depth", "operation", "limit", "seed", "piece")
    assert found.whole.prompt.long_name == PROMPT.meaning


def test_a_replay_has_user_measures():
    """Compare with the response time of every request, which a replay returns."""
    trace = read_trace(data_path("samples", "small.spc"))
    found = replay(trace, System(DRIVE, Replicas(2), central(), SATF(), slots=64), measures=[DISTRIBUTION])
    for limit in LIMITS:
        within = found.response_time.values <= np.float32(limit)
        counts = [np.sum(within & (found.read.values == which)) for which in (True, False)]
        assert found.distribution.sel(limit=limit).values.tolist() == counts


def test_a_record_has_the_requested_sums_and_those_of_the_loop():
    record = Record((SERVED, READS))
    tally = record.init(drives=3, batch=(5,))
    assert {name: (sums.shape, sums.dtype.name) for name, sums in tally.items()} == {
        "completed": ((1, 5), "int32"),
        "admitted": ((1, 5), "int32"),
        "choices": ((1, 5), "int32"),
        "served": ((3, 5), "int32"),
        "reads": ((1, 5), "int32"),
    }
    assert len(sums_of([*STANDARD, *STANDARD])) == len(sums_of(STANDARD))


def adding(of, name="own", **more) -> Measure:
    return Measure("mine", "1", "an example", (Sum(name, of, **more),), lambda own: own)


def nothing(report, *labels):
    return report.elapsed * 0


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        (
            (Measure("seek", "s", "mine", (READS,), lambda reads: reads),),
            "two measures have the name 'seek': rename one",
        ),
        ((PROMPT, PROMPT), "two measures have the name 'prompt'"),
        ((adding(nothing, "reads"),), "two sums have the name 'reads': rename one"),
        ((adding(nothing, along={"seed": [1, 2]}),), "sum 'own' along 'seed': the result already has this name"),
        ((adding(nothing, along={"read": [1, 2]}),), "sum 'own' along 'read': the result already has this name"),
        (
            (adding(nothing, along={"response": [1, 2]}),),
            "sum 'own' along 'response': the result already has this name",
        ),
        ((DISTRIBUTION, adding(nothing, along={"limit": [1, 2]})), "sums along 'limit' have different labels"),
        ((adding(nothing, along={"copies": [1, 2]}),), "an axis named 'copies': the result has a dimension"),
        (
            (adding(lambda report: report.served),),
            r"sum 'own' adds an array of shape \[3, \d+\] to a total of shape \[1, \d+\]: set by_drive",
        ),
        ((adding(lambda report: report.seek, kind=int),), "sum 'own' has kind int but adds fractions"),
        (
            (Measure("mine", "1", "mine", (READS,), lambda reads: 3.0),),
            "measure 'mine' does not return one number for each run",
        ),
        (
            (Measure("mine", "1", "mine", (READS,), lambda reads: reads.sum()),),
            "measure 'mine' does not return one number for",
        ),
    ],
)
def test_conflicting_measures_raise(measures, message):
    assert_refused(lambda: sweep(loop, {"copies": [1, 2]}, seeds=1, requests=200, measures=measures), message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Measure("brick", "1", "mine", (READS,), lambda reads: reads), "a measure named 'brick'"),
        (
            lambda: Measure("mine", "1", "mine", (READS,), lambda: 0),
            "measure 'mine': the function cannot be called with the arguments reads",
        ),
        (lambda: Sum("own", lambda: 0), "sum 'own': the function cannot be called with the arguments report"),
        (
            lambda: Sum("own", lambda report: 0, along={"limit": [1]}),
            "sum 'own': the function cannot be called with the arguments report, limit",
        ),
        (lambda: Sum("own", nothing, along={"limit": []}), "sum 'own' along 'limit': give a list of different numbers"),
        (
            lambda: Sum("own", nothing, along={"limit": [1, 1]}),
            "sum 'own' along 'limit': give a list of different numbers",
        ),
        (
            lambda: Sum("own", nothing, along={"limit": ["a"]}),
            "sum 'own' along 'limit': give a list of different numbers",
        ),
        (
            lambda: Sum("own", nothing, by_drive=True, along={"limit": [1]}),
            "both by_drive and along limit: give only one",
        ),
        (lambda: Sum("own", nothing, kind=str), "sum 'own' of kind <class 'str'>: give int"),
    ],
)
def test_impossible_definitions_raise(unchecked, make, message):
    assert_refused(make, message)


def test_a_sum_that_is_not_finite_stops_the_run():
    with pytest.raises(SimulationError, match="the total 'own' is not finite"):
        simulate(loop(), requests=200, measures=[adding(lambda report: jnp.log(report.elapsed * 0))])


@pytest.mark.parametrize(("module_name", "name"), [("engine.record", "Sum"), ("simulation.measures", "Measure")])
def test_the_docstring_examples_run(module_name, name):
    module = importlib.import_module(f"storagekit.{module_name}")
    found = doctest.DocTestFinder(recurse=False).find(getattr(module, name), name, globs=vars(module).copy())
    assert found[0].examples
    report: list[str] = []
    runner = doctest.DocTestRunner()
    runner.run(found[0], out=report.append)
    assert not runner.failures, "".join(report)
