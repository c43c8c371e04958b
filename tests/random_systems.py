"""Draw random systems from every component of the package, and check the invariants of their runs.

One generator draws the structure of a system, another its numbers. All settings of one structure therefore compile once
and run in one batch. Every component needs a row in `MAKERS`; `without_a_maker` finds missing rows.

    python tests/random_systems.py --minutes 20     # draws structures for 20 minutes
"""

import argparse
import hashlib
import importlib
import math
import pkgutil
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import isabstract
from typing import Any, NamedTuple, Self

import jax
import numpy as np
from jaxtyping import Array

import storagekit
from storagekit.arbitration import Lossy
from storagekit.cache import LRU, AbstractCache, BrickLRU, NoCache, RecordedLRU
from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.dispatch import (
    ARS,
    C3,
    DSPTF,
    LARD,
    AbstractDispatch,
    Broadcast,
    Central,
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
    WeightedHashing,
)
from storagekit.drive import AbstractDrive, Flash, Mixed, RateServer, ideal_drive, load_buffered
from storagekit.engine import AbstractLog, Record, Runner, Scenario, System, stack
from storagekit.engine.batch import select_runs, steps
from storagekit.faults import FaultSchedule, Slowdown, outage
from storagekit.placement import (
    RAID5,
    AbstractPlacement,
    AfterLoss,
    Bricks,
    Coded,
    Declustered,
    DeclusteredParity,
    LocalReconstruction,
    Node,
    ParityGroups,
    Replicas,
    Segments,
    SplitVolumes,
    SRMirror,
    Striped,
    Volume,
    Volumes,
)
from storagekit.queue import AbstractQueue, Depth, FairQueue, MClock, OneCoordinator, Unlimited
from storagekit.schedule import CLOOK, FCFS, LOOK, SATF, SSTF, AbstractSchedule, ScheduleSwitch
from storagekit.workload import (
    AbstractArrivals,
    ClosedLoop,
    ClosedOrOpen,
    ExponentialSize,
    FixedSize,
    Group,
    MixedSizes,
    OnOff,
    PoissonArrivals,
    RandomRequests,
    Threads,
    recorded,
)
from storagekit.workload.trace import request_trace
from storagekit.write import (
    AbstractWrite,
    AllCopies,
    Background,
    Claimed,
    Committed,
    FirstCopy,
    Immediate,
    ReceivingBrick,
    WriteSwitch,
)

RUNS, WANTED = 12, 300
RECORDED = 4000
SMALL = 8 * units.KB
SECTORS = 3 * 2**14
# relative error of float32 sums of the requests' times in the system
EXACT = 1e-4


class Draws(NamedTuple):
    """Generators of the structure (`form`) and of its numbers (`number`), for one part of a scenario.

    Each part has generators of its own, so that a new component changes only the structures that use it. `drives`, `bricks`
    and `spare` describe the layout after it is drawn.
    """

    structure: int
    form: random.Random
    number: random.Random
    drives: int = 0
    bricks: int = 0
    spare: int = 0

    @classmethod
    def of(cls, structure: int, setting: int, part: str, layout: System | None = None) -> Self:
        form, number = random.Random(f"{structure} {part}"), random.Random(f"{structure} {setting} {part}")
        if layout is None:
            return cls(structure, form, number)
        return cls(structure, form, number, layout.drives, layout.bricks.count, int(np.min(layout.placement.spare)))


def _drive(draws: Draws) -> AbstractDrive:
    return ideal_drive(full_seek=8e-3, revolution=6e-3, overhead=draws.form.choice([0.0, 0.2e-3]))


def _mixed(draws: Draws) -> AbstractDrive:
    kinds = ideal_drive(full_seek=8e-3, revolution=6e-3), ideal_drive(full_seek=4e-3, revolution=4e-3)
    return Mixed(kinds, tuple(draws.form.randrange(2) for _ in range(8)))


def _unit(draws: Draws) -> int:
    return draws.form.choice([16, 64])


def _volumes(draws: Draws) -> list[list[int]]:
    return [[0, 1], [1, 2, 3], [0]][: draws.form.randint(1, 3)]


def _segments(draws: Draws) -> AbstractPlacement:
    nodes = [Node(draws.form.choice([1, 2])) for _ in range(draws.form.randint(3, 4))]
    needed = draws.form.choice([1, 2])
    return Segments(nodes, [Volume(SECTORS, 2**12, needed + draws.form.randint(0, 1), needed)])


def _after_loss(draws: Draws) -> AbstractPlacement:
    parities, full = draws.form.randint(1, 2), draws.form.random() < 0.3
    layout = ParityGroups(draws.form.randint(4, 6), parities, draws.form.randint(1, 2), _unit(draws), full)
    if draws.form.random() < 0.5:
        layout = DeclusteredParity(
            draws.form.randint(5, 7), draws.form.randint(4, 5), parities, _unit(draws), full, slice_sectors=256
        )
    return AfterLoss(layout, draws.number.randrange(4))


def _dispatch_switch(draws: Draws) -> AbstractDispatch:
    names = draws.form.sample([name for name in MAKERS[AbstractDispatch] if name != "DispatchSwitch"], 3)
    members = tuple(MAKERS[AbstractDispatch][name](draws) for name in names)
    return DispatchSwitch(members, draws.number.randrange(3))


def _schedule_switch(draws: Draws) -> AbstractSchedule:
    return ScheduleSwitch((FCFS(), SSTF(), LOOK(), CLOOK(), SATF()), draws.number.randrange(5))


def _write_switch(draws: Draws) -> AbstractWrite:
    return WriteSwitch((AllCopies(), Immediate(), FirstCopy(), ReceivingBrick()), draws.number.randrange(4))


def _requests(draws: Draws) -> RandomRequests:
    sizes = FixedSize(SMALL), ExponentialSize(SMALL), MixedSizes((SMALL, 4 * SMALL), (0.7, 0.3))
    return RandomRequests(draws.form.choice(sizes), draws.number.choice([0.0, 0.3, 0.7, 1.0]))


def _threads(draws: Draws) -> AbstractArrivals:
    steady = Group(_requests(draws), draws.number.randint(1, 6), draws.number.choice([0.0, 0.01]), most=6)
    at_times = Group(_requests(draws), OnOff(4, on=1.0, off=0.5), stream=1)
    return Threads([steady, at_times])


def _recorded(draws: Draws, depth: int | None = None) -> AbstractArrivals:
    chance = np.random.default_rng(draws.form.randrange(2**31))
    time_of = np.cumsum(chance.exponential(5e-3, RECORDED))
    offset = chance.integers(0, SECTORS * units.SECTOR // SMALL // 2, RECORDED) * SMALL
    size, read = np.full(RECORDED, SMALL), chance.random(RECORDED) < 0.7
    trace = request_trace(time_of - time_of[0], np.zeros(RECORDED, int), offset, size, read)
    scale = draws.number.choice([0.5, 1.0, 4.0])
    arrivals = recorded(trace, SECTORS, scale=1.0 if depth else scale, depth=depth)
    return replace(arrivals, clients=draws.form.choice([False, True]))


def _mclock(draws: Draws) -> AbstractQueue:
    """Limits that hold some parts back, or none, and rates at each brick or over all bricks."""
    weights, limit = (
        (draws.number.uniform(0.5, 2), draws.number.choice([0.0, 1.0])),
        draws.number.choice([30.0, math.inf]),
    )
    coordinators = OneCoordinator() if draws.form.random() < 0.5 else None
    return MClock(
        draws.number.choice([1, 3]), weights, (0.0, 20.0), (math.inf, limit), (2, 0), coordinators=coordinators
    )


def _recorded_lru(draws: Draws) -> AbstractCache:
    distances = np.random.default_rng(draws.form.randrange(2**31)).integers(0, 500, RECORDED)
    return RecordedLRU(distances.astype(np.int32), draws.number.choice([0.0, 1e6]), 0.1e-3)


def _brick_lru(draws: Draws) -> AbstractCache:
    capacity = draws.number.choice([0.0, 4.0 * SMALL, 16.0 * SMALL])
    return BrickLRU(capacity, bricks=draws.bricks, sets=4 * draws.bricks, ways=4, hit_time=0.2e-3)


MAKERS: dict[type, dict[str, Callable[[Draws], Any]]] = {
    AbstractDrive: {
        "Drive": _drive,
        "RateServer": lambda draws: RateServer(2e5, 2**20),
        "Flash": lambda draws: Flash(2e6, 1e-3, 2e-3, 5e-3, capacity=2**20),
        "Mixed": _mixed,
        "Buffered": lambda draws: load_buffered("cheetah9lp"),
    },
    AbstractPlacement: {
        "Replicas": lambda draws: Replicas(draws.form.randint(1, 4)),
        "SRMirror": lambda draws: SRMirror(
            draws.form.randint(1, 2), draws.form.randint(1, 3), draws.form.randint(1, 2)
        ),
        "Striped": lambda draws: Striped(draws.form.randint(1, 4), _unit(draws)),
        "RAID5": lambda draws: RAID5(draws.form.randint(3, 5), _unit(draws)),
        "ParityGroups": lambda draws: ParityGroups(
            draws.form.randint(4, 6), draws.form.randint(1, 2), 1, _unit(draws), draws.form.random() < 0.3
        ),
        "DeclusteredParity": lambda draws: DeclusteredParity(
            draws.form.randint(5, 7),
            draws.form.randint(4, 5),
            draws.form.randint(1, 2),
            _unit(draws),
            draws.form.random() < 0.3,
            slice_sectors=256,
        ),
        "AfterLoss": _after_loss,
        "Coded": lambda draws: Coded(2, draws.form.randint(2, 4)),
        "Declustered": lambda draws: Declustered(draws.form.randint(3, 6), draws.form.randint(1, 3), SECTORS, 512),
        "Volumes": lambda draws: Volumes(SECTORS, _volumes(draws), _unit(draws)),
        "SplitVolumes": lambda draws: SplitVolumes(SECTORS, _volumes(draws), _unit(draws)),
        "Segments": _segments,
        "Bricks": lambda draws: Bricks(Replicas(draws.form.randint(1, 3)), 2, _unit(draws)),
        "LocalReconstruction": lambda draws: LocalReconstruction(
            4, draws.form.randint(1, 2), draws.form.randint(1, 2), 1, _unit(draws), draws.form.random() < 0.3
        ),
    },
    AbstractDispatch: {
        "DSPTF": lambda draws: DSPTF(
            draws.number.choice([0.0, 50e-6, 2e-3]), delivery=Lossy(draws.number.choice([0.0, 0.05, 0.5]))
        ),
        "Preselection": lambda draws: Preselection(draws.number.choice([0.1e-3, 1e-3])),
        "Broadcast": lambda draws: Broadcast(),
        "Hashing": lambda draws: Hashing(),
        "WeightedHashing": lambda draws: WeightedHashing([draws.form.randint(1, 2) for _ in range(draws.drives)]),
        "LARD": lambda draws: LARD(draws.number.choice([1.0, 4.0]), draws.number.choice([5.0, 50.0])),
        "NearestIdle": lambda draws: NearestIdle(),
        "ARS": lambda draws: ARS(window=draws.number.choice([0.01, 0.3])),
        "C3": lambda draws: C3(draws.form.randint(1, 3), draws.number.choice([0.3, 0.9])),
        "Prequal": lambda draws: Prequal(
            draws.number.choice([0.4, 3.0]), draws.number.choice([2, 16]), draws.number.choice([0.02, 1.0])
        ),
        "Randomized": lambda draws: Randomized(),
        "Central": lambda draws: Central(tuple(draws.number.uniform(1e-3, 9e-3) for _ in range(draws.bricks))),
        "ShortestQueue": lambda draws: ShortestQueue(draws.form.randint(1, 3)),
        "ShortestQueueWithMemory": lambda draws: ShortestQueueWithMemory(
            draws.form.randint(1, 3), draws.number.randint(0, 3)
        ),
        "JoinIdleQueue": lambda draws: JoinIdleQueue(draws.number.randint(1, draws.drives), draws.form.randint(1, 3)),
        "Redundant": lambda draws: Redundant(draws.form.randint(1, 3), finishing=draws.form.random() < 0.5),
        "Hedged": lambda draws: Hedged(draws.number.uniform(1e-3, 0.1)),
        "DispatchSwitch": _dispatch_switch,
    },
    AbstractSchedule: {
        **{one.__name__: lambda draws, one=one: one() for one in (FCFS, SSTF, LOOK, CLOOK, SATF)},
        "ScheduleSwitch": _schedule_switch,
    },
    AbstractWrite: {
        **{one.__name__: lambda draws, one=one: one() for one in (AllCopies, Immediate, FirstCopy, ReceivingBrick)},
        "WriteSwitch": _write_switch,
        "Background": lambda draws: Background(draws.number.choice([1, 4, 60]), draws.number.randrange(2), most=64),
        "Committed": lambda draws: Committed(draws.number.choice([0.0, 1e5, 1e7]), most=64),
        "Claimed": lambda draws: Claimed(),
    },
    AbstractQueue: {
        "Unlimited": lambda draws: Unlimited(),
        "Depth": lambda draws: Depth(draws.number.choice([1, 2, 8])),
        "FairQueue": lambda draws: FairQueue(
            draws.number.choice([1, 3]), tuple(draws.number.uniform(0.5, 2) for _ in range(2))
        ),
        "MClock": _mclock,
    },
    AbstractCache: {
        "NoCache": lambda draws: NoCache(),
        "LRU": lambda draws: LRU(draws.number.choice([0.0, 16.0, 64.0]) * SMALL, 0.1e-3, sets=16, ways=8),
        "BrickLRU": _brick_lru,
        "RecordedLRU": _recorded_lru,
    },
    AbstractArrivals: {
        "ClosedLoop": lambda draws: ClosedLoop(_requests(draws), draws.number.randint(1, 8)),
        # from bricks that are sometimes idle to overload
        "PoissonArrivals": lambda draws: PoissonArrivals(_requests(draws), draws.number.choice([40.0, 200.0, 3000.0])),
        "ClosedOrOpen": lambda draws: ClosedOrOpen(_requests(draws), draws.number.choice([0, 4]), 200.0),
        "Threads": _threads,
        "RecordedArrivals": _recorded,
        "RecordedLoop": lambda draws: _recorded(draws, depth=draws.number.choice([1, 6])),
    },
}
# probability of the first component of a base class, which works with all others, in place of a random one
PLAIN = {AbstractDrive: 0.6, AbstractWrite: 0.3, AbstractQueue: 0.7, AbstractCache: 0.6}


def without_a_maker() -> set[str]:
    """Return the components of the package without a row in `MAKERS`, and rows without a component."""
    for module in pkgutil.walk_packages(storagekit.__path__, "storagekit."):
        if not {"papers", "reproduce", "lab"} & set(module.name.split(".")):
            importlib.import_module(module.name)
    wrong = set()
    for base, makers in MAKERS.items():
        there = {
            one.__name__
            for one in _below(base)
            if one.__module__.startswith("storagekit.") and ".papers." not in one.__module__ and not isabstract(one)
        }
        wrong |= {f"{base.__name__}: {name}" for name in there ^ set(makers)}
    return wrong


def _below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _made(base: type, draws: Draws) -> Any:
    makers = MAKERS[base]
    if draws.form.random() < PLAIN.get(base, 0.0):
        return next(iter(makers.values()))(draws)
    return makers[max(makers, key=lambda name: random.Random(f"{draws.structure} {name}").random())](draws)


def _faults(draws: Draws) -> FaultSchedule:
    """Draw a brick without faults, a slow one, one that stops for a time, or one that stops forever."""
    kind = draws.form.randrange(4 if draws.spare else 2)
    brick, later = draws.number.randrange(draws.bricks), draws.number.randint(1, 150)
    begins = draws.number.randint(0, 150)
    slowdowns = {
        0: (),
        1: (Slowdown(brick, draws.number.uniform(0.2, 0.9), begins, begins + later),),
        2: (outage(brick, begins, begins + later),),
        3: (outage(brick, begins),),
    }
    timeout, detection = draws.number.choice([(0.05, math.inf), (0.05, 0.0), (0.5, math.inf), (0.5, None)])
    return FaultSchedule(*slowdowns[kind], timeout=timeout, detection=detection)


def scenario(structure: int, setting: int) -> Scenario:
    """Return a random scenario, which is the same for the same two numbers.

    Raises
    ------
    InputError
        If the drawn components do not work together.
    """
    layout = None

    def part(base: type) -> Any:
        return _made(base, Draws.of(structure, setting, base.__name__, layout))

    drive, placement = part(AbstractDrive), part(AbstractPlacement)
    layout = System(drive, placement, Hashing(), FCFS())
    rest = Draws.of(structure, setting, "rest", layout)
    system = System(
        drive,
        placement,
        part(AbstractDispatch),
        part(AbstractSchedule),
        part(AbstractWrite),
        queue=part(AbstractQueue),
        cache=part(AbstractCache),
        faults=_faults(rest),
        slots=rest.form.choice([10, 24]),
        synchronized=rest.number.randrange(2),
    )
    return Scenario(system, part(AbstractArrivals))


def settings(structure: int, count: int = RUNS) -> list[Scenario]:
    """Return `count` settings of one structure.

    Raises
    ------
    InputError
        If its components do not work together.
    """
    return [scenario(structure, setting) for setting in range(count)]


class Events(NamedTuple):
    elapsed: Array
    number: Array
    response: Array
    admitted: Array


class EventLog(AbstractLog):
    """Log of the elapsed time, the admitted requests and the completed request of each event."""

    def keep(self, scenario, state, report):
        return Events(report.elapsed, report.completed.number, report.completed.response, report.admitted)


class Ran(NamedTuple):
    """Results of a batch: its log, shape `[event, *batch]`, and the slots at its end, shape `[slot, *batch]`."""

    events: Events
    slots: Any


def run(merged: Scenario, key: np.ndarray) -> Ran:
    """Run a batch until each run has completed `WANTED` requests.

    Raises
    ------
    SimulationError
        If a run stalls.
    """
    runner = Runner(merged, key, Record(log=EventLog()))
    logs = [log for _, log in steps(runner, WANTED)]
    count = key.shape[1]
    events = jax.tree.map(lambda *parts: np.concatenate([part.reshape(-1, count) for part in parts]), *logs)
    return Ran(events, jax.tree.map(np.asarray, runner.run.state.slots))


def broken(scenarios: list[Scenario], ran: Ran) -> Iterator[str]:
    """Yield the invariants that a batch violates."""
    events, slots = ran
    if not np.all(np.isfinite(events.elapsed)) or np.min(events.elapsed) < 0:
        yield f"time moves by {np.min(events.elapsed)}"
    for index, one in enumerate(scenarios):
        completed = events.number[:, index] >= 0
        numbers, response = events.number[completed, index], events.response[completed, index]
        open_ones = ~slots.completed[:, index] & (slots.number[:, index] >= 0)
        inside = set(slots.number[open_ones, index].tolist())
        admitted = set(range(int(events.admitted[:, index].sum())))
        where = f"run {index}"
        if len(set(numbers.tolist())) < len(numbers):
            yield f"{where}: completed twice"
        if len(numbers) < WANTED:
            yield f"{where}: {len(numbers)} completed"
        if not np.all(np.isfinite(response)) or np.min(response) < -1e-6:
            yield f"{where}: a response of {np.min(response)}"
        if set(numbers.tolist()) | inside != admitted or set(numbers.tolist()) & inside:
            lost, added = admitted - set(numbers.tolist()) - inside, inside - admitted
            yield f"{where}: lost {sorted(lost)[:5]}, too many {sorted(added)[:5]}"
        if isinstance(one.arrivals, ClosedLoop | ClosedOrOpen) and int(one.arrivals.outstanding) > 0:
            # Little's law: the number of outstanding requests of a closed loop is constant
            ages = -np.float64(slots.arrival_time[open_ones, index])
            total, taken = response.sum(dtype=np.float64) + ages.sum(), events.elapsed[:, index].sum(dtype=np.float64)
            due = taken * int(one.arrivals.outstanding)
            if abs(total - due) > EXACT * due:
                yield f"{where}: requests were there for {total:.6f} s, places for {due:.6f} s"


def differs(ours: Ran, theirs: Ran, index: int, other: int) -> bool:
    """Return whether the events of two runs differ in any byte, up to the end of the shorter one."""
    events = min(len(ours.events.elapsed), len(theirs.events.elapsed))
    return any(
        a[:events, index].tobytes() != b[:events, other].tobytes()
        for a, b in zip(ours.events, theirs.events, strict=True)
    )


def faults(structure: int, alone: bool) -> list[str] | None:
    """Return the violated invariants of a structure, or None if its components do not work together.

    Parameters
    ----------
    structure : int
        Number of the structure.
    alone : bool
        Whether the first run is repeated without the others, which compiles again.
    """
    try:
        scenarios = settings(structure)
        merged, key = stack(scenarios, [structure % 2**31])
    except InputError:
        return None
    ran = run(merged, key)
    found = list(broken(scenarios, ran))
    # the first five runs in another order, several times in one batch
    order = np.arange(RUNS)[::-1] % 5
    in_batch = run(select_runs(merged, order), key[:, order])
    found += [
        f"run {index}: differs in another batch" for at, index in enumerate(order) if differs(ran, in_batch, index, at)
    ]
    if alone:
        one = run(select_runs(merged, np.array([0])), key[:, :1])
        found += ["run 0: differs when alone"] * differs(ran, one, 0, 0)
    return found


def digests(structures: list[int]) -> dict[str, str]:
    """Return a hash of the events of each run, by structure and number of the run."""
    found = {}
    for structure in structures:
        events, _ = run(*stack(settings(structure), [structure]))
        for index in range(RUNS):
            columns = b"".join(column[:, index].tobytes() for column in events)
            found[f"{structure}/{index}"] = hashlib.sha256(columns).hexdigest()
    return found


def main() -> None:
    """Draw structures for some minutes, and print violated invariants and counts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first structure")
    arguments = parser.parse_args()
    jax.config.update("jax_numpy_rank_promotion", "raise")
    begin, counts, structure = time.monotonic(), Counter(), arguments.first
    while time.monotonic() - begin < 60 * arguments.minutes:
        try:
            found = faults(structure, alone=structure % 5 == 0)
        except Exception as fault:
            found = [f"{type(fault).__name__}: {fault}"]
        counts["rejected" if found is None else "faulty" if found else "sound"] += 1
        for one in found or ():
            print(structure, one, flush=True)
        structure += 1
    runs = (counts["sound"] + counts["faulty"]) * RUNS
    print(f"{dict(counts)}: {runs} settings, structures {arguments.first} to {structure - 1}")


if __name__ == "__main__":
    main()
