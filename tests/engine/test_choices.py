"""Test the number of requests from which a drive chooses."""

import pytest

from storagekit.core.units import KB
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.papers.dsptf.brick_group import QUEUE
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import simulate
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.write import AllCopies, Immediate


@pytest.mark.parametrize(
    ("write", "read_share", "share"), [(AllCopies(), 0.5, 1.0), (Immediate(), 1.0, 1.0), (Immediate(), 0.0, 0.0)]
)
def test_completed_writes_and_the_chosen_request_do_not_count_in_the_queue(write, read_share, share):
    """With one brick and one copy, every request except the chosen one counts, unless writes complete on arrival."""
    loop = ClosedLoop(RandomRequests(FixedSize(4 * KB), read_share), 4)
    system = System(RateServer(1000), Replicas(1), Hashing(), FCFS(), write, slots=8)
    data = simulate(Scenario(system, loop), requests=200, measures=[QUEUE], allow_blocked=True)
    assert float(data.candidates) > 2
    assert float(data.queue_length) == pytest.approx(share * (float(data.candidates) - 1))
