"""Response times under parity: the engine and the formulas against a scalar program written only for this test."""

import heapq
from collections import deque

import numpy as np
import pytest

from storagekit.analytic.array.loaded import TransferSizes, loaded
from storagekit.analytic.array.positioning import Linear
from storagekit.core.units import KB, MS
from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import ParityGroups
from storagekit.plan.scheme import Parity
from storagekit.schedule import FCFS
from storagekit.simulation import replicate
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies

pytestmark = pytest.mark.optimized

SEEK, TURN, CYLINDERS, TRACK = 12 * MS, 6 * MS, 2000, 512
DISKS, READS, SIZE = 6, 0.6, 8 * KB
TRANSFER = SIZE / 512 / TRACK * TURN
# disks of a group, parities, and requests a second that keep the disks between half and two thirds busy
CASES = [(6, 2, 150.0, False), (4, 2, 160.0, False), (6, 2, 100.0, True)]
SLOW = (6, 1, 210.0, False), (3, 1, 135.0, False), (6, 3, 145.0, False), (5, 1, 90.0, True)
CASES += [pytest.param(*case, marks=pytest.mark.slow) for case in SLOW]


class ScalarArray:
    """One group of disks, event by event. A write puts its reads in the queues, and its writes when they have ended.

    If `full`, a read is on all data disks of its row, and a write is on all disks and reads nothing.
    """

    def __init__(self, disks: int, parities: int, rate: float, seed: int, full: bool = False):
        self.random, self.full = np.random.default_rng(seed), full
        self.disks, self.parities, self.rate = disks, parities, rate
        self.queues = [deque() for _ in range(disks)]
        self.busy, self.arm = [False] * disks, [0.0] * disks
        self.phase = self.random.random(disks)
        self.events: list[tuple[float, int, int | None]] = []
        self.number, self.present = 0, {}
        self.ends: list[float] = []

    def add(self, now: float, disk: int, request: int) -> None:
        self.queues[disk].append(request)
        if not self.busy[disk]:
            self.begin(now, disk)

    def begin(self, now: float, disk: int) -> None:
        if not self.queues[disk]:
            return
        request = self.queues[disk].popleft()
        self.busy[disk] = True
        _, cylinder, angle, *_ = self.present[request]
        at = now + SEEK * abs(cylinder - self.arm[disk])
        self.arm[disk] = cylinder
        wait = (angle - (self.phase[disk] + at / TURN)) % 1.0 * TURN
        heapq.heappush(self.events, (at + wait + TRANSFER, disk, request))

    def arrive(self, now: float) -> None:
        self.number += 1
        order = self.random.permutation(self.disks).tolist()
        place = now, self.random.random(), self.random.random()
        if self.random.random() < READS:
            first, then = order[self.parities :] if self.full else order[:1], []
        elif self.full:
            first, then = order, []
        else:
            then, others = order[: 1 + self.parities], order[1 + self.parities :]
            first = others if len(others) < len(then) else list(then)
        self.present[self.number] = [*place, len(first), then]
        for disk in first:
            self.add(now, disk, self.number)
        heapq.heappush(self.events, (now + self.random.exponential(1 / self.rate), -1, None))

    def end(self, now: float, disk: int, number: int) -> None:
        self.busy[disk] = False
        request = self.present[number]
        request[3] -= 1
        if request[3] == 0 and request[4]:
            then, request[3], request[4] = request[4], len(request[4]), []
            for each in then:
                self.add(now, each, number)
        elif request[3] == 0:
            self.ends.append(now - self.present.pop(number)[0])
        if not self.busy[disk]:
            self.begin(now, disk)

    def mean(self, requests: int) -> float:
        """The mean response of the last three quarters of the requests."""
        self.arrive(0.0)
        while len(self.ends) < requests:
            now, disk, request = heapq.heappop(self.events)
            if request is None:
                self.arrive(now)
            else:
                self.end(now, disk, request)
        return float(np.mean(self.ends[requests // 4 :]))


@pytest.mark.parametrize(("disks", "parities", "rate", "full"), CASES)
def test_engine_formulas_and_a_scalar_program_agree(disks, parities, rate, full):
    """The means of the engine and the program agree within four standard errors; the formula is within 6% of both.

    The groups cover both methods: small writes of 5+1 and 4+2 read what they write, those of 2+2, 2+1 and 3+3 the other data.
    With full stripes, a request has one stripe unit on each data disk.
    """
    program = np.array([ScalarArray(disks, parities, rate, seed, full).mean(6000) for seed in range(6)])
    drive = ideal_drive(full_seek=SEEK, revolution=TURN, cylinders=CYLINDERS, sectors_per_track=TRACK)
    system = System(
        drive, ParityGroups(disks, parities, 1, 16, full), Broadcast(), FCFS(), AllCopies(), drives=DISKS, slots=128
    )
    ways = disks - parities if full else 1
    requests = RandomRequests(FixedSize(ways * SIZE), READS, alignment=16 * ways)
    found = replicate(Scenario(system, PoissonArrivals(requests, rate)), seeds=6, requests=6000, warm_up=1500)
    engine = found.response.values
    spread = np.sqrt((program.var(ddof=1) + engine.var(ddof=1)) / 6)
    assert abs(program.mean() - engine.mean()) < 4 * spread
    sizes = TransferSizes(np.array([TRANSFER]), np.ones(1))
    shape = Parity(disks, parities, 1, full).shape
    said = loaded(Linear(SEEK, TURN, 0.0), shape, 1.0, sizes, disks=disks, rate=rate, reads=READS)
    assert said.mean == pytest.approx((program.mean() + engine.mean()) / 2, rel=0.06)


def test_reads_alone_follow_pollaczek_and_khinchine():
    """Without writes each disk is an M/G/1 queue, whose mean is exact."""
    sizes = TransferSizes(np.array([TRANSFER]), np.ones(1))
    drive = ideal_drive(full_seek=SEEK, revolution=TURN, cylinders=CYLINDERS, sectors_per_track=TRACK)
    system = System(drive, ParityGroups(DISKS, 1, 1, 16), Broadcast(), FCFS(), AllCopies(), drives=DISKS, slots=128)
    arrivals = PoissonArrivals(RandomRequests(FixedSize(SIZE), 1.0, alignment=16), 300.0)
    response = replicate(Scenario(system, arrivals), seeds=6, requests=6000, warm_up=1500).response.values
    shape = Parity(DISKS, 1).shape
    said = loaded(Linear(SEEK, TURN, 0.0), shape, 1.0, sizes, disks=DISKS, rate=300.0, reads=1.0)
    assert abs(response.mean() - said.mean) < 4 * response.std(ddof=1) / np.sqrt(6) + 0.005 * said.mean
