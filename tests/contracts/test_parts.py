"""Requests of several parts, under every dispatcher and outage: none is lost, and none completes twice."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import requests_at

from storagekit.dispatch import (
    ARS,
    C3,
    Broadcast,
    DispatchSwitch,
    Hashing,
    Hedged,
    JoinIdleQueue,
    NearestIdle,
    Prequal,
    Preselection,
    Randomized,
    Redundant,
    ShortestQueue,
    ShortestQueueWithMemory,
)
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, stack
from storagekit.engine.admission import _wanted
from storagekit.engine.completion import rule_of
from storagekit.faults import FaultSchedule, outage
from storagekit.faults.schedule import NEVER
from storagekit.placement import (
    RAID5,
    AfterLoss,
    Coded,
    DeclusteredParity,
    LocalReconstruction,
    Node,
    ParityGroups,
    Replicas,
    Segments,
    SplitVolumes,
    Striped,
    Volume,
    Volumes,
)
from storagekit.placement.parity import AbstractParity
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
    ShortestQueueWithMemory(1, 2),
    JoinIdleQueue(2, 2),
    Redundant(2),
    Redundant(3, finishing=True),
    Randomized(),
    ARS(window=0.1, patience=15e-3, extra=2),
    C3(2),
    Prequal(2, 2, 0.02),
    Preselection(1e-3),
)
# any copy may replace another
OF_COPIES = (*DISPATCHERS, Hedged(2e-3))
# one of each kind: all parts, needed parts, a choice by figures, parts that are withdrawn late, a choice ahead of time
KINDS = (
    Broadcast(),
    Hashing(),
    ARS(window=0.1, patience=15e-3, extra=2),
    Redundant(3, finishing=True),
    Preselection(1e-3),
)
WRITES = (Immediate(), FirstCopy(), AllCopies())
# the writes that are left for later stay bounded
APART = (Committed(buffer=8192.0, most=24), Claimed())
# layouts that tolerate the loss of any one drive, and layouts that need all drives
SPARING = (Coded(2, 3), Coded(1, 3), Coded(2, 4), Replicas(4))
VOLUMES = ((0, 1), (2,), (3, 0, 1, 2), (2,))
NODES = Segments(
    (Node(1), Node(3, True)), (Volume(2**16, 2**12, 2), Volume(2**16, 2**12, 2, 2), Volume(2**16, 2**12, 1))
)
PARITY = RAID5(4, 8), ParityGroups(4, 2, 1, 8), DeclusteredParity(4, 4, 2, 8)
LOCAL = LocalReconstruction(2, 1, 1, 1, 8)
STRIPES = ParityGroups(4, 1, 1, 8, full_stripes=True)
AFTER_LOSS = AfterLoss(RAID5(3, 8)), AfterLoss(DeclusteredParity(4, 3, 1, 8), 1)
WHOLE = (
    Striped(4, 4),
    *PARITY,
    STRIPES,
    Coded(3, 3),
    SplitVolumes(4096, VOLUMES, 4),
    Volumes(4096, VOLUMES, 512),
    NODES,
    *AFTER_LOSS,
    LOCAL,
)
# with parity no write may be left for later
LEFT_OVER = tuple(layout for layout in WHOLE if layout not in (*PARITY, STRIPES, *AFTER_LOSS, LOCAL))
LOOP = ClosedLoop(RandomRequests(ExponentialSize(8192), 0.6), 6)
WANTED, SLOTS, DRIVES = 400, 12, 4


# By default the layouts and writes that differ most: all dispatchers with fragments, with outages and without, and one
# dispatcher of each kind with a parity, with volumes, after a loss, and with writes that are left for later or claimed.
CODED, OTHERS = Coded(2, 3), ((PARITY[0], WRITES[0]), (WHOLE[6], WRITES[2]), (AFTER_LOSS[0], WRITES[1]))
CASES = [
    *(pytest.param(*case, KINDS) for case in (*OTHERS, (CODED, APART[1]), *((NODES, write) for write in APART))),
    pytest.param(CODED, WRITES[1], DISPATCHERS),
] + [
    pytest.param(layout, write, DISPATCHERS, marks=pytest.mark.slow)
    for layout, write in (
        *product((*SPARING[:1], *WHOLE), WRITES),
        *product((*SPARING[:1], Replicas(4), *LEFT_OVER), APART),
    )
    if (layout, write) != (CODED, WRITES[1])
]
STOPPING = [
    pytest.param(layout, write, marks=[] if number == 10 else pytest.mark.slow)
    for number, (layout, write) in enumerate(product(SPARING, WRITES))
]


def name_of(component) -> str:
    if isinstance(component, tuple):
        return f"{len(component)} dispatchers"
    return type(component).__name__ + "".join(f" {value}" for value in vars(component).values())


def most_extra(placement, write) -> int:
    """Accesses that are still to come, or that belong to requests that have not completed."""
    rows = SLOTS + (write.most if isinstance(write, Committed) else 0)
    return rows * int(placement.fragments) + DRIVES


def outcomes(placement, write, dispatchers, log, *schedules):
    """Run every one of the dispatchers under every schedule of faults in one batch. Returns the reports of the events
    `[event, run]`, and sums by run."""
    runs = [
        Scenario(
            System(
                DRIVE,
                placement,
                DispatchSwitch(dispatchers, number),
                SATF(),
                write,
                faults=faults,
                drives=DRIVES,
                slots=SLOTS,
            ),
            LOOP,
        )
        for number, faults in product(range(len(dispatchers)), schedules)
    ]
    return execute(*stack(runs, [5]), WANTED, Record(sums_of(STANDARD), log))


def assert_completed_once(reports, run: int):
    number, response = reports.completed.number[:, run], reports.completed.response[:, run]
    happened = number >= 0
    completed = number[happened].tolist()
    assert len(set(completed)) == len(completed) >= WANTED
    # missing requests are still in the system
    assert len(set(range(int(reports.admitted[:, run].sum()))) - set(completed)) <= SLOTS
    assert np.min(response[happened]) >= 0 and np.min(reports.elapsed[:, run]) >= 0
    return happened


def on_nodes(write) -> Scenario:
    return Scenario(System(DRIVE, NODES, Hashing(), SATF(), write, slots=SLOTS), LOOP)


def writes_on(scenario: Scenario):
    """Return writes all over the volumes, and their locations."""
    sectors = np.arange(0, 3 * 2**16, 2**11)
    request = requests_at(sectors)._replace(read=np.zeros(len(sectors), bool))
    request = jax.tree.map(lambda column: column[None], request)
    return request, scenario.system.placement.locate(scenario.system.drive, request)


def test_parity_of_a_node_does_not_make_the_data_of_a_write_readable():
    for write, all_parts in ((FirstCopy(), False), (AllCopies(), True)):
        scenario = on_nodes(write)
        request, location = writes_on(scenario)
        layout = scenario.system.placement
        parts = layout.parts_of(location)
        parity = layout.companions(parts, location)
        rule = rule_of(scenario, request, location, parts, jnp.zeros(parts.shape, jnp.int32))
        assert parity.any()
        assert np.array_equal(rule.counted, parts if all_parts else parts & ~parity)
        assert np.array_equal(
            rule.needed, np.bitwise_count(np.asarray(parts)) if all_parts else layout.needed_of(location)
        )


def test_a_write_is_sent_to_its_data_and_not_to_the_parity_of_a_node():
    """Whatever parts are selected: as many data parts as a read needs, and no parity."""
    scenario = on_nodes(APART[0])
    layout = scenario.system.placement
    request, location = writes_on(scenario)
    parity = layout.companions(layout.parts_of(location), location)
    needed = layout.needed_of(location)
    assert np.unique(parity).size > 1 and set(np.ravel(needed).tolist()) == {1, 2}
    for selected in range(2 ** int(layout.parts)):
        routed = jnp.full(parity.shape, selected, jnp.uint32)
        sent = _wanted(scenario, request, location, routed, jnp.zeros(parity.shape, jnp.float32)).routed
        assert not np.any(sent & parity) and np.all(np.bitwise_count(np.asarray(sent)) >= needed)


@pytest.mark.parametrize(("placement", "write", "dispatchers"), CASES, ids=name_of)
def test_no_request_is_lost_or_completes_twice(event_log, placement, write, dispatchers):
    outcome = outcomes(placement, write, dispatchers, event_log, FaultSchedule())
    for run, dispatch in enumerate(dispatchers):
        reports = outcome.log
        happened = assert_completed_once(reports, run)
        # a read takes the accesses that it needs, plus those in progress when it completes; a claimed write too
        read = reports.completed.read[happened, run]
        assert np.min(reports.completed.response[happened, run][read]) > 0.1e-3
        if isinstance(placement, Coded):
            sums = {name: float(outcome.tally[name][..., run].sum()) for name in ("reads", "writes", "served")}
            of_write = int(placement.data if write.over_when_completed else placement.fragments)
            expected = int(placement.data) * sums["reads"] + of_write * sums["writes"]
            extra = sums["served"] - expected
            most = most_extra(placement, write)
            serves_in_vain = not np.all(dispatch.withdraws) or dispatch.arbitration.uses_completions
            assert -most <= extra and (extra <= most or serves_in_vain)
        if isinstance(placement, AbstractParity):
            # a write of the group of four has four accesses with either number of parities, and with full stripes
            sums = {name: float(outcome.tally[name][..., run].sum()) for name in ("reads", "writes", "served")}
            most, of_read = SLOTS * 4 + DRIVES, 3 if placement.full_stripes else 1
            assert -most <= sums["served"] - of_read * sums["reads"] - 4 * sums["writes"] <= most


@pytest.mark.parametrize(("placement", "write"), STOPPING, ids=name_of)
def test_any_one_brick_may_stop(event_log, placement, write):
    """Outages are early, in the middle, as short as an access, and forever, with time-outs of 20 ms. A closed loop that
    loses a request runs dry."""
    slowdowns = [(0, 0, 60), (1, 100, 250), (2, 150, 151), (0, 200, NEVER)]
    schedules = [FaultSchedule(outage(*slowdown), timeout=0.02) for slowdown in slowdowns]
    dispatchers = OF_COPIES if placement.is_replicated else DISPATCHERS
    outcome = outcomes(placement, write, dispatchers, event_log, *schedules)
    for run in range(outcome.log.number.shape[1]):
        assert_completed_once(outcome.log, run)
    assert outcome.tally["resent"].sum() > 0
