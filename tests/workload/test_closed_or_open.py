"""Test a closed loop and a Poisson stream as one component: results equal the two classes exactly."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.dispatch import Hashing
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.simulation import sweep
from storagekit.workload import ClosedLoop, ClosedOrOpen, ExponentialSize, PoissonArrivals, RandomRequests

REQUESTS = RandomRequests(ExponentialSize(4096), 0.7)
KINDS = {
    "closed": (ClosedLoop(REQUESTS, 8), ClosedOrOpen(REQUESTS, 8)),
    "open": (PoissonArrivals(REQUESTS, 80.0), ClosedOrOpen(REQUESTS, rate=80.0)),
}


def test_results_equal_the_results_of_the_two_classes():
    """This also holds where a closed loop and a stream are runs of one batch."""

    def run(kind: str, joint: bool) -> Scenario:
        system = System(load_drive("atlas10k"), Replicas(2), Hashing(), SATF(), slots=64)
        return Scenario(system, KINDS[kind][joint])

    axes = {"kind": list(KINDS)}
    alone, joint = (sweep(lambda kind, one=one: run(kind, one), axes, seeds=2, requests=200) for one in (False, True))
    for name in alone:
        np.testing.assert_array_equal(alone[name], joint[name], err_msg=name)
    assert joint.response.sel(kind="closed").mean() != joint.response.sel(kind="open").mean()


@pytest.mark.parametrize(
    "given, message",
    [
        ({"outstanding": -1}, "-1 requests outstanding: give at least 1 for a closed loop, or 0 for an open stream"),
        ({"rate": 0.0}, "arrival rate 0 a second: it must be above 0 and finite"),
    ],
)
def test_impossible_numbers_raise(given, message):
    assert_refused(lambda: ClosedOrOpen(REQUESTS, **given), message)
