"""Laws of `plan.schemes`: more disks, fewer requests, less data and a faster drive are never worse."""

import numpy as np
import pytest

from storagekit.drive import load_drive
from storagekit.plan import MaxCapacity, MaxThroughput, MinMean, MinP99, schemes

SLOW, FAST = (load_drive(f"rpm=7200,seek=1/8.5/18ms,rate={rate}MB/s,size=18TB") for rate in (250, 275))
OBJECTIVES = {"mean": MinMean(), "p99": MinP99(), "throughput": MaxThroughput(), "usable": MaxCapacity()}
SIZES = (4096, 16384, 65536, 262144, 2**20, 2**22)
# the grid of times on which distributions are computed changes means by up to this share
GRID = 2e-3


def quality(drive, disks: int, measure: str, **question) -> tuple[bool, bool, float]:
    """Return whether a scheme is recommended, whether it survives a failure without overload, and its measure, negated if
    less is better."""
    best = schemes(drive, disks, objective=OBJECTIVES[measure], **question).recommended
    if best is None:
        return False, False, -np.inf
    value = getattr(best, measure)
    return (
        True,
        not (question["tolerate"] and best.degraded >= 1),
        value if measure in ("throughput", "usable") else -value,
    )


def questions(count: int, seed: int):
    draw = np.random.default_rng(seed)
    for _ in range(count):
        disks = int(draw.integers(4, 60))
        yield disks, str(draw.choice(list(OBJECTIVES))), {
            "size": float(draw.choice(SIZES)),
            "read_share": float(draw.choice([1, 0.9, 0.7, 0.3])),
            "data": float(draw.uniform(0.05, 0.4)) * disks * 18e12,
            "rate": float(draw.uniform(2, 70)) * disks,
            "tolerate": int(draw.integers(0, 3)),
        }  # fmt: skip


def assert_never_worse(count: int, seed: int) -> None:
    for disks, measure, question in questions(count, seed):
        possible, safe, value = quality(SLOW, disks, measure, **question)
        if not possible:
            continue
        better = {
            "a disk more": (SLOW, disks + 1, question),
            "fewer requests": (SLOW, disks, question | {"rate": 0.95 * question["rate"]}),
            "less data": (SLOW, disks, question | {"data": 0.95 * question["data"]}),
            "a faster drive": (FAST, disks, question),
        }
        for what, (drive, number, changed) in better.items():
            found = quality(drive, number, measure, **changed)
            least = (True, safe, value - GRID * abs(value))
            assert found >= least, (what, disks, measure, question, found, least)


def test_what_relieves_the_disks_is_never_worse():
    assert_never_worse(40, 3)


@pytest.mark.slow
def test_what_relieves_the_disks_is_never_worse_in_two_thousand_questions():
    assert_never_worse(2000, 4)
