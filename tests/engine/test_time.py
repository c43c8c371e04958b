"""Results do not depend on the time that has passed, and the runs of a batch need not advance together."""

import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.dispatch import DSPTF, Hashing
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Record, ResponseLog, Scenario, System, execute, keys
from storagekit.engine.event import elapse
from storagekit.engine.state import start
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import simulate, sweep
from storagekit.workload import RecordedArrivals

WEEK = 604_800.0
# A revolution takes 1/128 s. Whole seconds are whole revolutions, after which the platters are back at their angles.
SPINDLE = ideal_drive(full_seek=8e-3, revolution=1 / 128)
SERVER = RateServer(1000)
COUNT = 300


def requests(recorded, idle):
    """Return one read, a second, and after `idle` a stream of reads and writes a few ms apart, with exactly equal gaps."""
    random = np.random.default_rng(1)
    gaps = random.exponential(8e-3, COUNT - 1)
    arrivals = recorded(
        np.concatenate([[0.0], np.cumsum(gaps)]),
        sector=random.integers(0, 500_000, COUNT),
        sectors=random.integers(1, 8, COUNT),
        read=random.random(COUNT) < 0.7,
        receiving=random.integers(0, 3, COUNT),
        address_hash=random.integers(0, 2**32, COUNT),
    )
    gap = arrivals.gap.copy()
    gap[0] = 1.0 + idle
    return RecordedArrivals(arrivals.requests, gap)


def responses(scenario) -> np.ndarray:
    log = execute(scenario, keys([1])[:, 0], COUNT, Record(log=ResponseLog())).log
    happened = log.number >= 0
    return log.response[happened][np.argsort(log.number[happened])]


@pytest.mark.parametrize(
    ("drive", "dispatch", "schedule", "idle"),
    [
        (SERVER, Hashing(), FCFS(), WEEK),
        (SERVER, DSPTF(0.5e-3), FCFS(), WEEK),
        # A longer gap is coarser than 1 us in float32, and so is the angle at which requests meet the platters.
        (SPINDLE, Hashing(), SATF(), 4.0),
        (SPINDLE, DSPTF(0.5e-3), SATF(), 4.0),
    ],
    ids=["server", "server with claims", "disk", "disk with claims"],
)
def test_later_every_response_is_the_same(recorded, drive, dispatch, schedule, idle):
    """Responses agree within 1 us, for any idle time of the drives."""
    system = System(drive, Replicas(3), dispatch, schedule, drives=3, slots=COUNT)
    now, later = (responses(Scenario(system, requests(recorded, wait))) for wait in (0.0, idle))
    np.testing.assert_allclose(later, now, rtol=0, atol=1e-6)


@pytest.mark.parametrize("idle", [1.0, 100.0, WEEK])
def test_platters_turn_on_however_long_the_drives_stand_idle(recorded, idle):
    """After whole revolutions each platter is back at its angle: 1 us is 1/8000 of a turn."""
    phase = jnp.asarray([0.1, 0.45, 0.8], jnp.float32)
    system = System(SPINDLE, Replicas(3), Hashing(), FCFS(), drives=3, slots=4)
    scenario = Scenario(system, recorded([0.0]))
    later = elapse(
        scenario, start(scenario, phase, jnp.zeros((2, *phase.shape[1:]), jnp.uint32)), jnp.asarray([idle], jnp.float32)
    )
    np.testing.assert_allclose(later.drives.phase, phase, atol=1e-4)


@pytest.mark.parametrize("idle", [1.0, 100.0, WEEK])
def test_a_gap_after_a_long_one_is_kept(recorded, idle):
    """Reads of 2 ms at idle + 0, 1, 1.5 and 50 ms: served until 2, 4, 6 and 52."""
    arrivals = recorded([0.0, 1.0, 2.0, 3.0, 4.0], sectors=2)
    gap = np.array([idle, 1e-3, 0.5e-3, 48.5e-3, np.inf], np.float32)
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), drives=1, slots=8)
    log = execute(
        Scenario(system, RecordedArrivals(arrivals.requests, gap)), keys([0])[:, 0], 5, Record(log=ResponseLog())
    ).log
    np.testing.assert_allclose(log.response[log.number >= 0], [2e-3, 2e-3, 3e-3, 4.5e-3, 2e-3], rtol=0, atol=1e-6)


def test_a_trace_ends_when_its_last_request_completes(recorded):
    arrivals = requests(recorded, 0.0)
    system = System(SPINDLE, Replicas(3), Hashing(), SATF(), drives=3, slots=COUNT)
    assert len(responses(Scenario(system, arrivals))) == COUNT


@pytest.mark.slow
def test_a_finished_run_of_a_batch_does_not_stop_the_others(recorded):
    """Replay the same 6000 requests slowly and fast: one run of the batch needs more events than the other."""
    count = 6000
    system = System(SERVER, Replicas(2), Hashing(), FCFS(), drives=2, slots=64)
    arrivals = recorded(np.arange(count) * 4e-3, address_hash=np.arange(count), read=np.arange(count) % 3 > 0)

    def paced(scale):
        return Scenario(system, RecordedArrivals(arrivals.requests, arrivals.gap, scale))

    data = sweep(paced, {"scale": [0.5, 100.0]}, requests=count, warm_up=0, seeds=1, allow_blocked=True)
    assert data.requests.values.ravel().tolist() == [count, count]


def test_a_short_trace_is_measured(recorded):
    """50 requests fit into the first chunk of events; the default warm-up must leave something to measure."""
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), drives=1, slots=64)
    data = simulate(Scenario(system, recorded(np.arange(50) * 2e-3)), requests=50)
    assert float(data.requests) > 0
    assert float(data.response) == pytest.approx(1e-3, rel=1e-4)
