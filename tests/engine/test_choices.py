"""What a drive that chooses has to choose from."""

import pytest

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.metrics import simulate
from storagekit.papers.dsptf.brick_group import QUEUE
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.units import KB
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.write import AllCopies, AtOnce


@pytest.mark.parametrize(
    ("write", "read_share", "share"), [(AllCopies(), 0.5, 1.0), (AtOnce(), 1.0, 1.0), (AtOnce(), 0.0, 0.0)]
)
def test_what_is_answered_does_not_count_among_what_waits_for_an_answer(write, read_share, share):
    """One brick, one copy: all that waits is to be answered, unless writes are answered as they come."""
    loop = ClosedLoop(RandomRequests(FixedSize(4 * KB), read_share), 4)
    system = System(RateServer(1000), Replicas(1), Hashing(), FCFS(), write, slots=8)
    data = simulate(Scenario(system, loop), requests=200, measures=[QUEUE], allow_held_up=True)
    assert float(data.queue_length) == pytest.approx(share * float(data.candidates)) and float(data.candidates) > 2
