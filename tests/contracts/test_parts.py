"""Requests of several parts, whoever is asked and whatever stops: none is lost, none is answered twice."""

from itertools import product

import numpy as np
import pytest

from storagekit.dispatch import (
    ARS,
    Broadcast,
    DispatchSwitch,
    Hashing,
    Hedged,
    NearestIdle,
    Preselection,
    Randomized,
    Redundant,
    ShortestQueue,
)
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, stack
from storagekit.faults import FaultSchedule, outage
from storagekit.faults.schedule import NEVER
from storagekit.placement import (
    RAID5,
    Coded,
    Node,
    ParityGroups,
    Replicas,
    Segments,
    SplitVolumes,
    Striped,
    Volume,
    Volumes,
)
from storagekit.schedule import SATF
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import AllCopies, Claimed, Committed, FirstCopy, Immediate

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=0.1e-3)
DISPATCHERS = (
    Broadcast(),
    Hashing(),
    NearestIdle(),
    ShortestQueue(2),
    Redundant(2),
    Redundant(3, finishing=True),
    Randomized(),
    ARS(window=0.1, patience=15e-3, extra=2),
    Preselection(1e-3),
)
# of copies one may stand for another
OF_COPIES = (*DISPATCHERS, Hedged(2e-3))
WRITES = (Immediate(), FirstCopy(), AllCopies())
# what is left for later does not grow for ever
APART = (Committed(buffer=8192.0, most=24), Claimed())
# what any one of the drives may be lost from, and what needs them all
SPARING = (Coded(2, 3), Coded(1, 3), Coded(2, 4), Replicas(4))
VOLUMES = ((0, 1), (2,), (3, 0, 1, 2), (2,))
NODES = Segments(
    (Node(1), Node(3, True)), (Volume(2**16, 2**12, 2), Volume(2**16, 2**12, 2, 2), Volume(2**16, 2**12, 1))
)
PARITY = RAID5(4, 8), ParityGroups(4, 2, 1, 8)
WHOLE = (Striped(4, 4), *PARITY, Coded(3, 3), SplitVolumes(4096, VOLUMES, 4), Volumes(4096, VOLUMES, 512), NODES)
# with parity nothing may be left for later
LEFT_OVER = tuple(layout for layout in WHOLE if layout not in PARITY)
LOOP = ClosedLoop(RandomRequests(ExponentialSize(8192), 0.6), 6)
WANTED, SLOTS, DRIVES = 400, 12, 4


# in CI the rules that differ most; with -m slow the others
CASES = [
    pytest.param(place, write, marks=[] if number % 4 == 1 else pytest.mark.slow)
    for number, (place, write) in enumerate(product((*SPARING[:1], *WHOLE), WRITES))
] + [
    pytest.param(place, write, marks=[] if number < 2 else pytest.mark.slow)
    for number, (place, write) in enumerate(product((*SPARING[:1], Replicas(4), *LEFT_OVER), APART))
]
STOPPING = [
    pytest.param(place, write, marks=[] if number in (1, 7, 10) else pytest.mark.slow)
    for number, (place, write) in enumerate(product(SPARING, WRITES))
]


def named(member) -> str:
    return type(member).__name__ + "".join(f" {value}" for value in vars(member).values())


def extra_most(placement, write) -> int:
    """Accesses that may be still to come, or have come for a request that is not answered yet."""
    rows = SLOTS + (write.most if isinstance(write, Committed) else 0)
    return rows * int(placement.fragments) + DRIVES


def told_by(placement, write, log, *conditions):
    """Every dispatcher under every condition, in one batch: the reports of the events `[event, lane]`, and sums by lane."""
    dispatchers = OF_COPIES if placement.alike else DISPATCHERS
    lanes = [
        Scenario(
            System(
                DRIVE,
                placement,
                DispatchSwitch(dispatchers, number),
                SATF(),
                write,
                condition=condition,
                drives=DRIVES,
                slots=SLOTS,
            ),
            LOOP,
        )
        for number, condition in product(range(len(dispatchers)), conditions)
    ]
    return execute(*stack(lanes, [5]), WANTED, Record(sums_of(STANDARD), log))


def assert_answered_once(reports, lane: int):
    number, response = reports.answered.number[:, lane], reports.answered.response[:, lane]
    happened = number >= 0
    answered = number[happened].tolist()
    assert len(set(answered)) == len(answered) >= WANTED
    # who is missing is still inside
    assert len(set(range(int(reports.admitted[:, lane].sum()))) - set(answered)) <= SLOTS
    assert np.min(response[happened]) >= 0 and np.min(reports.elapsed[:, lane]) >= 0
    return happened


@pytest.mark.parametrize(("placement", "write"), CASES, ids=named)
def test_no_request_is_lost_or_answered_twice(event_log, placement, write):
    outcome = told_by(placement, write, event_log, FaultSchedule())
    for lane, dispatch in enumerate(DISPATCHERS):
        reports = outcome.log
        happened = assert_answered_once(reports, lane)
        # a read takes as many accesses as it needs, and those that still run when it completes; a claimed write too
        read = reports.answered.read[happened, lane]
        assert np.min(reports.answered.response[happened, lane][read]) > 0.1e-3
        if isinstance(placement, Coded):
            sums = {name: float(outcome.tally[name][..., lane].sum()) for name in ("reads", "writes", "served")}
            of_write = int(placement.data if write.over_when_answered else placement.fragments)
            expected = int(placement.data) * sums["reads"] + of_write * sums["writes"]
            extra = sums["served"] - expected
            most = extra_most(placement, write)
            serves_in_vain = not np.all(dispatch.withdraws) or dispatch.claims.answers_tell
            assert -most <= extra and (extra <= most or serves_in_vain)


@pytest.mark.parametrize(("placement", "write"), STOPPING, ids=named)
def test_any_one_may_stop(event_log, placement, write):
    """Early, in the middle, for the time of an access, and for ever; time-outs of 20 ms. A loop that loses a request runs
    dry."""
    slowdowns = [(0, 0, 60), (1, 100, 250), (2, 150, 151), (0, 200, NEVER)]
    conditions = [FaultSchedule(outage(*slowdown), timeout=0.02) for slowdown in slowdowns]
    outcome = told_by(placement, write, event_log, *conditions)
    for lane in range(outcome.log.number.shape[1]):
        assert_answered_once(outcome.log, lane)
    assert outcome.tally["resent"].sum() > 0
