"""Response times under parity: the engine and the formulas against a scalar program written only for this test."""

import numpy as np
import pytest

from storagekit.analytic.array.loaded import TransferSizes, loaded
from storagekit.analytic.array.positioning import Linear
from storagekit.analytic.array.shapes import Shape
from storagekit.core.units import KB, MS
from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import ParityGroups
from storagekit.schedule import FCFS
from storagekit.simulation import replicate
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies

pytestmark = pytest.mark.optimized

SEEK, TURN, CYLINDERS, TRACK = 12 * MS, 6 * MS, 2000, 512
DISKS, READS, SIZE = 6, 0.6, 8 * KB
RATE = {1: 240.0, 2: 180.0, 3: 140.0}


def scalar(parities: int, rate: float, seed: int, requests: int) -> float:
    """The mean response. Each disk serves its parts in order of arrival; one number per disk is the time at which it
    becomes free."""
    generator = np.random.default_rng(seed)
    transfer = SIZE / 512 / TRACK * TURN
    free, arm = np.zeros(DISKS), np.zeros(DISKS)
    phase = generator.random(DISKS)
    now, total, counted = 0.0, 0.0, 0
    for number in range(requests):
        now += generator.exponential(1 / rate)
        cylinder, angle = generator.random(), generator.random()
        chosen = generator.permutation(DISKS)[: 1 if generator.random() < READS else 1 + parities]
        ends = []
        for disk in chosen:
            begins = max(now, free[disk]) + SEEK * abs(cylinder - arm[disk])
            wait = (angle - (phase[disk] + begins / TURN)) % 1.0 * TURN
            free[disk] = begins + wait + transfer + (TURN if len(chosen) > 1 else 0.0)
            arm[disk] = cylinder
            ends.append(free[disk])
        if number >= requests // 4:
            total, counted = total + max(ends) - now, counted + 1
    return total / counted


@pytest.mark.parametrize("parities", [1, 2, 3])
def test_engine_formulas_and_a_scalar_program_agree(parities):
    """The means of the engine and the program agree within four standard errors; the formula is within 4% of both."""
    program = np.array([scalar(parities, RATE[parities], seed, 6000) for seed in range(6)])
    drive = ideal_drive(full_seek=SEEK, revolution=TURN, cylinders=CYLINDERS, sectors_per_track=TRACK)
    system = System(
        drive, ParityGroups(DISKS, parities, 1, 16), Broadcast(), FCFS(), AllCopies(), drives=DISKS, slots=128
    )
    requests = RandomRequests(FixedSize(SIZE), READS, alignment=16)
    found = replicate(Scenario(system, PoissonArrivals(requests, RATE[parities])), seeds=6, requests=6000, warm_up=1500)
    engine = found.response.values
    spread = np.sqrt((program.var(ddof=1) + engine.var(ddof=1)) / 6)
    assert abs(program.mean() - engine.mean()) < 4 * spread
    sizes = TransferSizes(np.array([SIZE / 512 / TRACK * TURN]), np.ones(1))
    shape = Shape(written=1 + parities, turned=1.0, group=DISKS)
    said = loaded(Linear(SEEK, TURN, 0.0), shape, 1.0, sizes, disks=DISKS, rate=RATE[parities], reads=READS)
    assert said.mean == pytest.approx((program.mean() + engine.mean()) / 2, rel=0.04)


def test_reads_alone_follow_pollaczek_and_khinchine():
    """Without writes each disk is an M/G/1 queue, whose mean is exact."""
    sizes = TransferSizes(np.array([SIZE / 512 / TRACK * TURN]), np.ones(1))
    drive = ideal_drive(full_seek=SEEK, revolution=TURN, cylinders=CYLINDERS, sectors_per_track=TRACK)
    system = System(drive, ParityGroups(DISKS, 1, 1, 16), Broadcast(), FCFS(), AllCopies(), drives=DISKS, slots=128)
    arrivals = PoissonArrivals(RandomRequests(FixedSize(SIZE), 1.0, alignment=16), 300.0)
    response = replicate(Scenario(system, arrivals), seeds=6, requests=6000, warm_up=1500).response.values
    said = loaded(Linear(SEEK, TURN, 0.0), Shape(), 1.0, sizes, disks=DISKS, rate=300.0, reads=1.0)
    assert abs(response.mean() - said.mean) < 4 * response.std(ddof=1) / np.sqrt(6) + 0.005 * said.mean
