"""The throughput of ars' figure 6 against a scalar program: nodes that serve one request at a time, fifty reads
outstanding.

The program is written from section 5. It draws service times from the drives' mechanics at random arms, addresses and
angles. It shares nothing else with the package: neither the engine, nor the placements, nor the dispatchers.
"""

import heapq
from collections import deque
from itertools import count

import numpy as np
import pytest
from helpers import slow_but

from storagekit.core.units import SECTOR
from storagekit.drive import Arm, load_drive
from storagekit.papers import ars
from storagekit.papers.ars.cluster import DRIVES, SIZE, layout, services
from storagekit.papers.effort import Effort

pytestmark = pytest.mark.optimized

OUTSTANDING, WARM_UP, MEASURED = 50, 300, 1500
# Nodes that hold a copy, and nodes that hold a fragment, of the scaled volumes. A read needs one copy or two fragments.
COPIES, FRAGMENTS = (1, 2, 3), (0, 1, 2, 3)


def service_times(draw: np.random.Generator, name: str, needed: int, samples: int = 4000) -> np.ndarray:
    """Seconds of random reads over a whole disk. Sizes are exponential with a mean of 8 KB; with `needed` = 2, half of
    that."""
    drive = load_drive(name)
    sectors = np.maximum(np.ceil(draw.exponential(SIZE, samples) / SECTOR), 1)
    sectors = np.ceil(sectors / needed).astype(np.int64)
    before, after = draw.integers(0, drive.capacity - 2000, (2, samples))
    first, second = drive.locate(before, sectors), drive.locate(after, sectors)
    angle, reads = draw.random(samples), np.ones(samples, bool)
    found = drive.positioning(Arm(first.cylinder, first.head), angle, second, reads)
    return np.asarray(found.total + second.transfer, float)


def throughput(protocol: str, seed: int) -> float:
    """Reads a second: each node has a queue, in order of arrival, and serves one request at a time."""
    draw = np.random.default_rng(seed)
    times = {(node, needed): iter(np.resize(service_times(draw, name, needed), 20_000)) for node, name in
             enumerate(DRIVES) for needed in (1, 2)}  # fmt: skip
    means = services(layout())
    queues = [deque[tuple[int, int]]() for _ in DRIVES]
    busy, ends, left, number = [False] * len(DRIVES), list[tuple[float, int, int]](), dict[int, int](), count()

    def start(node: int, now: float):
        request, needed = queues[node].popleft()
        busy[node] = True
        heapq.heappush(ends, (now + next(times[node, needed]), node, request))

    def send(now: float):
        needed, holders = (1, COPIES) if draw.random() < 0.5 else (2, FRAGMENTS)
        if protocol == "Randomized":
            chosen = draw.choice(holders, needed, replace=False)
        else:
            chosen = sorted(holders, key=lambda node: (len(queues[node]) + busy[node] + 1) * means[node])[:needed]
        request = next(number)
        left[request] = needed
        for node in chosen:
            queues[node].append((request, needed))
            if not busy[node]:
                start(node, now)

    for _ in range(OUTSTANDING):
        send(0.0)
    done, begin, now = 0, 0.0, 0.0
    while done < WARM_UP + MEASURED:
        now, node, request = heapq.heappop(ends)
        busy[node] = False
        if queues[node]:
            start(node, now)
        left[request] -= 1
        if not left[request]:
            done += 1
            begin = now if done == WARM_UP else begin
            send(now)
    return MEASURED / (now - begin)


@pytest.mark.parametrize("protocol", slow_but(["Central"], ["Randomized", "Central"]))
def test_read_throughput_agrees_with_the_program(protocol):
    """Both agree within four standard errors."""
    ours = ars.fig6(Effort(seeds=6, requests=500), protocols=[protocol], mixes=["reads"]).request_rate.values.ravel()
    theirs = np.array([throughput(protocol, seed) for seed in range(6)])
    error = np.hypot(ours.std(ddof=1), theirs.std(ddof=1)) / np.sqrt(6)
    assert abs(ours.mean() - theirs.mean()) < 4 * error
    assert error < 0.03 * ours.mean()
