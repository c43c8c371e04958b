"""A dispatcher selected by a number acts as the dispatcher itself: whole runs of both, request for request."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.arbitration import Lossy
from storagekit.dispatch import DSPTF, LARD, DispatchSwitch, Hashing, NearestIdle, WeightedHashing, central
from storagekit.drive import ideal_drive
from storagekit.engine import Record, ResponseLog, Scenario, System, execute, keys
from storagekit.faults import FaultSchedule, outage
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=0.1e-3)
REQUESTS = RandomRequests(ExponentialSize(8192), 0.7)
COMPONENTS = (
    DSPTF(1e-3),
    central(),
    Hashing(),
    LARD(1.0, 2.0, window=0.1),
    WeightedHashing(np.array([1.0, 2.0, 1.0])),
    NearestIdle(),
)
# dispatchers with lost claims and stopped bricks; a time-out of 20 ms
FAILING = (DSPTF(1e-3, delivery=Lossy(0.3)), LARD(1.0, 2.0))
STOPS = FaultSchedule(outage(1, 50, 150), outage(0, 200, 250), outage(2, 300, 350), timeout=0.02)


def response_times(dispatch, faults, outstanding) -> dict[int, float]:
    """Response times of at least 400 requests by their numbers."""
    system = System(DRIVE, Replicas(3), dispatch, SATF(), faults=faults, drives=3, slots=12)
    scenario = Scenario(system, ClosedLoop(REQUESTS, outstanding))
    log = execute(scenario, keys([3])[:, 0], 400, Record(log=ResponseLog())).log
    number, response = log.number.ravel(), log.response.ravel()
    return dict(zip(number[number >= 0].tolist(), response[number >= 0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("components", "faults", "outstanding"),
    [(COMPONENTS, None, 2), (FAILING, STOPS, 6)],
    ids=["all", "failing"],
)
def test_a_selected_dispatcher_acts_as_itself(components, faults, outstanding):
    """The structure compiles once; only the number differs. Two requests are outstanding, so that a brick may be
    idle."""
    chosen = [
        response_times(DispatchSwitch(components, index), faults, outstanding) for index in range(len(components))
    ]
    for index, component in enumerate(components):
        alone = response_times(component, faults, outstanding)
        assert len(alone) >= 400
        assert chosen[index].keys() == alone.keys()
        # another program rounds differently: 1 us in 10 ms
        np.testing.assert_allclose([chosen[index][n] for n in alone], list(alone.values()), rtol=0, atol=1e-6)
    # dispatchers with equal results would prove nothing
    means = [np.mean(list(found.values())) for found in chosen]
    assert np.min(np.diff(np.sort(means))) > 1e-5


def test_lead_time_and_network_latency_are_those_of_the_selected():
    for index, (lead, latency) in enumerate([(2e-3, 1e-3), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0)]):
        one = DispatchSwitch(COMPONENTS, index)
        assert (float(one.arbitration.lead_time), float(one.arbitration.network_latency)) == pytest.approx(
            (lead, latency)
        )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DispatchSwitch(COMPONENTS, 6), "dispatcher number 6: the switch has 6 entries, numbered from 0"),
        (lambda: DispatchSwitch(COMPONENTS, -1), "dispatcher number -1: the switch has 6 entries, numbered from 0"),
        (lambda: DispatchSwitch(()), "dispatcher number 0: the switch has 0 entries, numbered from 0"),
        (lambda: DispatchSwitch(COMPONENTS, 0.5), "0.5 is not a whole number"),
        (
            lambda: System(DRIVE, Replicas(2), DispatchSwitch(COMPONENTS), SATF(), drives=2, slots=4),
            "3 hash weights for 2 bricks: give one for each",
        ),
    ],
)
def test_impossible_numbers_are_rejected(build, message):
    assert_refused(build, message)
