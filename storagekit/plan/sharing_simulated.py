"""Streams on shared bricks as a scenario of the engine: threads, fair queues, and bricks of given capacities."""

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.placement import Volumes
from storagekit.plan.sharing_question import Numbers, Policy
from storagekit.queue import AbstractDelay, FairQueue, Hybrid, Single, Total
from storagekit.schedule import FCFS
from storagekit.workload import Group, RandomRequests, Threads, UniformSize

# Sectors of a request, uniform between these limits, and the mean size in bytes. The sizes are nearly equal, because the
# predicted rates are those of a fluid. For unequal requests, a delay cap proportional to the cost of each request delays them
# less on average than a cap at the mean.
_SMALLEST, _LARGEST = 12, 20
MEAN = (_SMALLEST + _LARGEST) / 2 * SECTOR
# sectors of the volume of a brick; addresses have no effect on a brick with a fixed rate
_VOLUME = 2**20
# Number of threads with a think time for each backlogged thread. Their waiting time is then small against their think time.
_THINKING = 4


def shared(given: Numbers, policy: Policy, threads: int, depth: int) -> Scenario:
    """Return a scenario in which every stream has its own threads at each brick that it uses."""
    groups = [
        _group(int(stream), int(brick), given, threads, depth)
        for stream, brick in zip(*np.nonzero(given.demand), strict=True)
    ]
    capacity = given.capacity
    fastest = float(capacity.max())
    slower = [Slowdown(brick, rate / fastest) for brick, rate in enumerate(capacity) if rate < fastest]
    system = System(
        RateServer(fastest / SECTOR),
        Volumes(_VOLUME, [(brick,) for brick in range(len(capacity))]),
        Hashing(),
        FCFS(),
        queue=FairQueue(depth, given.weights.tolist(), _delay(policy, given.minimum)),
        condition=FaultSchedule(*slower),
        slots=sum(group.most for group in groups),
    )
    return Scenario(system, Threads(groups, volume=_VOLUME))


def _delay(policy: Policy, minimum: np.ndarray) -> AbstractDelay:
    if policy == "single":
        return Single()
    return Hybrid(minimum.tolist()) if np.any(minimum > 0) else Total()


def _group(stream: int, brick: int, given: Numbers, threads: int, depth: int) -> Group:
    """Return the threads of a stream at one brick: backlogged, or with a think time that limits the stream to its demand."""
    requests = RandomRequests(UniformSize((_SMALLEST - 1) * SECTOR + 1.0, _LARGEST * SECTOR), read_share=1.0)
    demand, think = given.demand[stream, brick], 0.0
    if np.isfinite(demand):
        threads = _THINKING * threads
        # a stream that is not limited waits for the residual capacity of the brick
        response = (depth + 0.5) * MEAN / given.capacity[brick]
        think = max(0.0, float(threads * MEAN / demand - response))
    return Group(requests, threads, think, stream=stream, volumes=[brick] * threads)
