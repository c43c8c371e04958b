"""Convert the candidates of a planner to scenarios of the simulation engine, and simulate these scenarios.

In scenarios of layouts, each request has one sector. An access then consists almost only of positioning and overhead,
as in the formulas of layouts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.elevator import RLOOK, RSATF, Scheduler
from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.dispatch import Hashing, NearestIdle
from storagekit.drive import Drive, LinearSeek, RateServer, ideal_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.placement import SRMirror, Volumes
from storagekit.plan.question import Question
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Scheme
from storagekit.plan.sharing_question import Numbers, Policy
from storagekit.plan.transfers import paged
from storagekit.queue import AbstractDelay, Depth, FairQueue, Hybrid, Single, Total
from storagekit.schedule import FCFS, LOOK, SATF
from storagekit.simulation import ChunkStream, mixed_scenario, sweep
from storagekit.workload import (
    ClosedLoop,
    FixedSize,
    Group,
    MixedRequests,
    MixedSizes,
    PoissonArrivals,
    RandomRequests,
    Threads,
    UniformSize,
)
from storagekit.write import AllCopies, Background

if TYPE_CHECKING:
    import xarray as xr

    from storagekit.simulation import Measure

# Arrays of up to these numbers of disks share a compiled program, and so do arrays of up to these numbers of slots.
_LAYOUT_DISKS = 48
_LAYOUT_SLOTS = (1, 64, 512, 2048, 8192)
_SCHEME_DISKS = (16, 64, 256, 1024, 4096)
_SCHEME_SLOTS = (32, 128, 512, 2048, 8192)
# Maximum numbers of streams, of bricks and of threads in a simulation of streams.
_MOST_STREAMS, _MOST_BRICKS, _MOST_THREADS = 64, 32, 2048
# Number of slots of a layout for open arrivals. Further requests wait outside the slots; this waiting time is included.
_WAITING = 64
# Number of slots of a scheme for each request that is in the array on average.
_ROOM = 3
# Number of sectors of a track (a prime), and of a stripe unit, on a drive that is given by `DriveFigures`.
_TRACK, _UNIT = 509, 8
# Number of requests in a run of a scheme: minimum, maximum, and multiple of the number of outstanding requests.
_ENOUGH, _LONGEST, _TIMES = 6000, 400_000, 12
# Length of a run in transients. The first two are the warm-up.
_TRANSIENTS = 6
# Maximum utilization for which the length of a run is determined.
NEARLY_SATURATED = 0.95
# If a smaller share of the arriving requests than this is served, the disks count as overloaded.
OVERLOAD = 0.97
# Limits of the uniform number of sectors of a request of a stream, and the mean size in bytes. The sizes are nearly
# equal, because the formulas treat requests as a fluid. If sizes are unequal, a delay cap in proportion to the cost of
# each request causes a smaller mean delay than a cap for the mean cost.
_SMALLEST, _LARGEST = 12, 20
MEAN = (_SMALLEST + _LARGEST) / 2 * SECTOR
# Number of sectors of the volume of a brick. Addresses have no effect on a brick with a fixed rate.
_VOLUME = 2**20
# Number of threads of a stream with a demand, divided by the number of threads of a backlogged stream. With this
# number, the waiting time of a thread is short compared with its think time.
_THINKING = 4


def simulate(
    scenarios: Sequence[Scenario],
    seeds: Sequence[int],
    *,
    requests: int = 0,
    seconds: float | None = None,
    warm_up: float,
    measures: Sequence["Measure"] = (),
) -> "xr.Dataset":
    """Return the measures of `sk.sweep` over `candidate` and `seed`. All scenarios receive the same requests.

    Raises InputError for addresses beyond the range of the engine.
    """
    data = sweep(
        lambda candidate: scenarios[candidate],
        {"candidate": range(len(scenarios))},
        seeds=seeds,
        requests=requests,
        seconds=seconds,
        warm_up=warm_up,
        measures=measures,
        allow_blocked=True,
    )
    # The description of the first scenario does not describe the others.
    hidden = {"varied"} if len(scenarios) == 1 else {"varied", "scenario"}
    data.attrs = {name: value for name, value in data.attrs.items() if name not in hidden}
    return data


def simulate_scheme(
    needs: Requirements, scheme: Scheme, scheduler: Scheduler | None, mean: float, seeds: Sequence[int], requests: int
) -> "xr.Dataset":
    """Return the measures of a scheme for each seed (dimension `seed`). A third of the requests is warm-up.

    For the other arguments see `scheme_scenario`.
    """
    scenario = scheme_scenario(needs, scheme, scheduler, mean)
    return simulate([scenario], seeds, requests=requests, warm_up=requests // 3).isel(candidate=0, drop=True)


def layout_scenario(question: Question, layout: Layout, outstanding: int | None, rate: float = 0.0) -> Scenario:
    """Return the scenario of a layout with `outstanding` requests, or with `rate` requests a second if `outstanding` is None.

    Raises InputError if the simulation does not cover the question.
    """
    load = question.load
    background, reads = float(np.asarray(load.background)), float(np.asarray(load.read_share))
    if isinstance(question.drive, tuple):
        raise InputError("drives of several kinds: the simulation has drives of one kind; check an array of each kind")
    if background not in (0, 1) and reads < 1:
        raise InputError(
            f"background {background:g}: the simulation propagates all writes in idle time (1) or none (0)"
        )
    drive, delayed = _drive(question.drive, question.overhead), background > 0 and reads < 1
    slots = layout_slots(outstanding, delayed)
    system = System(
        drive,
        _placement(drive, layout, float(np.asarray(load.data))),
        NearestIdle(),
        _schedule(question.scheduler),
        # a small table, so that a run of some thousand requests includes all copies of its writes
        Background(slots // 2) if delayed else AllCopies(),
        drives=max(_LAYOUT_DISKS, layout.disks),
        slots=slots,
    )
    requests = RandomRequests(FixedSize(float(SECTOR)), load.read_share, load.locality, alignment=1)
    if outstanding is None:
        return Scenario(system, PoissonArrivals(requests, rate))
    return Scenario(system, ClosedLoop(requests, outstanding))


def layout_slots(outstanding: int | None, delayed: bool) -> int:
    """Return the number of slots: one for each request and, with delayed copies, one more for each disk.

    The additional slots hold completed writes whose copies are delayed.
    """
    wanted = _WAITING if outstanding is None else outstanding + (_LAYOUT_DISKS if delayed else 0)
    return _step(wanted, _LAYOUT_SLOTS, "requests outstanding", "give a shorter queue or fewer disks")


def layout_requests(outstanding: int | None) -> int:
    """Return the number of requests of a run: 4000 for open arrivals, otherwise max(2000, 8 `outstanding`)."""
    return 4000 if outstanding is None else max(2000, 8 * outstanding)


def scheme_scenario(needs: Requirements, scheme: Scheme, scheduler: Scheduler | None, mean: float) -> Scenario:
    """Return the scenario of a scheme. scheduler: None for FCFS. mean: expected response time in seconds."""
    unit = scheme_unit(needs)
    placement = scheme.placement(needs.disk, needs.data, unit)
    requests = _requests(needs, scheme, unit, float(placement.capacity(needs.disk)) * SECTOR)
    wanted = needs.outstanding if needs.rate is None else int(_ROOM * needs.rate * mean) + _SCHEME_SLOTS[0]
    assert wanted is not None
    remedy = "check a part of the array"
    system = System(
        needs.disk,
        placement,
        scheme.dispatch(),
        _schedule(scheduler) if needs.queue_depth == 1 else SATF(),
        AllCopies(),
        queue=_queue(needs, scheme, mean),
        drives=_step(scheme.disks, _SCHEME_DISKS, "disks", remedy),
        slots=_step(wanted, _SCHEME_SLOTS, "simultaneous requests", remedy),
    )
    if needs.rate is not None:
        return Scenario(system, PoissonArrivals(requests, needs.rate))
    return Scenario(system, ClosedLoop(requests, wanted))


def scheme_unit(needs: Requirements) -> int:
    """Return the number of sectors of a stripe unit. It holds the largest request, and an access of a stream."""
    return max(paged(needs.largest), paged(int(needs.chunk / SECTOR)) if needs.streams else 0)


def _requests(needs: Requirements, scheme: Scheme, unit: int, capacity: float) -> RandomRequests | MixedRequests:
    """Return the model of the requests. unit: sectors of a stripe unit. capacity: bytes of the layout."""
    # requests are aligned to whole units, so that no request crosses a boundary
    local, alignment = max(1.0, capacity / needs.data), scheme.alignment(unit)
    sizes, models, shares = [size for size, _ in needs.sizes], [], []
    for one in needs.mixes:
        mix = dict(zip(sizes, needs.shares.tolist() if one.sizes is None else one.sizes, strict=True))
        used = {size: share for size, share in mix.items() if share > 0}
        own = MixedSizes(tuple(used), tuple(used.values()))
        models.append(RandomRequests(own, one.read_share, local, alignment))
        shares.append(one.share)
    return MixedRequests(models, shares) if needs.tenants else models[0]


def arrival_rate(needs: Requirements) -> float | None:
    """Return the number of requests of users and streams a second in a simulation; None with outstanding requests."""
    if needs.rate is None:
        return None
    return needs.rate + sum(one.rate for one in needs.streams) / (scheme_unit(needs) * SECTOR)


def require_simulated(needs: Requirements, scheme: Scheme) -> None:
    """Raise InputError if the engine would read before each write of a stream, in place of writing full stripes."""
    written = [one.name for one in needs.streams if one.writes]
    if written and scheme.shape.read_first:
        raise InputError(
            f"stream {written[0]!r} writes to {scheme}: the simulation would not write full stripes, and read before each "
            "write; check an answer with families=SRArrays(), or with streams that read"
        )


def with_streams(needs: Requirements, scheme: Scheme, scenario: Scenario, requests: int, seed: int) -> Scenario:
    """Return a scenario of `requests` requests with the sequential streams of the requirements.

    scenario: see `scheme_scenario`.
    """
    assert needs.rate is not None and isinstance(scenario.arrivals, PoissonArrivals)
    chunk = float(scheme_unit(needs) * SECTOR)
    every = [ChunkStream(one.rate, chunk, not one.writes) for one in needs.streams]
    return mixed_scenario(
        scenario.system,
        scenario.arrivals.requests,
        rate=needs.rate,
        streams=every,
        data=needs.data,
        requests=requests,
        seed=seed,
    )


def _queue(needs: Requirements, scheme: Scheme, mean: float) -> Depth | None:
    """Return the queue of disks with command queueing; None if the depth has almost no effect, or is not modelled.

    The depth has almost no effect if the number of requests at a disk exceeds it with a probability of at most about
    exp(-8). A queue of limited depth takes several times as long to simulate. It is not modelled if bricks claim requests,
    as with D-SPTF.
    """
    dispatch = scheme.dispatch()
    if needs.queue_depth == 1 or needs.rate is None or dispatch.arbitration.competes or dispatch.withdraws_late:
        return None
    shape, writes = scheme.shape, 1 - needs.read_share
    accesses = needs.read_share * shape.ways + writes * max(shape.written, shape.read_first)
    few = needs.queue_depth > 8 * needs.rate * accesses * mean / scheme.disks
    return None if few else Depth(needs.queue_depth)


def scheme_requests(needs: Requirements, busy: float) -> int:
    """Return the number of requests in a run at utilization `busy`, which lasts six transients.

    The transient of a queue lasts about 1/(1 - sqrt(busy))^2 service times (the relaxation time of an M/M/1 queue).
    """
    if needs.rate is None:
        assert needs.outstanding is not None
        return max(_ENOUGH, _TIMES * needs.outstanding)
    forgets = busy / (1 - min(busy, NEARLY_SATURATED) ** 0.5) ** 2
    return min(_LONGEST, max(_ENOUGH, int(_TRANSIENTS * forgets * needs.disks)))


def shares_scenario(given: Numbers, policy: Policy, threads: int, depth: int) -> Scenario:
    """Return a scenario of bricks with fair queues. Every stream has separate threads at each brick that it uses."""
    _require_room(len(given.weights), _MOST_STREAMS, "streams")
    _require_room(len(given.capacity), _MOST_BRICKS, "bricks")
    groups = [
        _group(int(stream), int(brick), given, threads, depth)
        for stream, brick in zip(*np.nonzero(given.demand), strict=True)
    ]
    slots = sum(group.most for group in groups)
    _require_room(slots, _MOST_THREADS, "threads")
    capacity = given.capacity
    fastest = float(capacity.max())
    slower = [Slowdown(brick, rate / fastest) for brick, rate in enumerate(capacity) if rate < fastest]
    system = System(
        RateServer(fastest / SECTOR),
        Volumes(_VOLUME, [(brick,) for brick in range(len(capacity))]),
        Hashing(),
        FCFS(),
        queue=FairQueue(depth, given.weights.tolist(), _delay(policy, given.minimum)),
        faults=FaultSchedule(*slower),
        slots=slots,
    )
    return Scenario(system, Threads(groups, volume=_VOLUME))


def _drive(drive: Drive | DriveFigures, overhead: float | None) -> Drive:
    """Return the drive of the engine for a drive of the planner.

    overhead: seconds that replace the overhead of the drive, if given.
    """
    if isinstance(drive, DriveFigures):
        plain = ideal_drive(
            full_seek=drive.full_seek,
            revolution=drive.revolution,
            overhead=drive.overhead if overhead is None else overhead,
            sectors_per_track=_TRACK,
        )
        return eqx.tree_at(lambda one: one.write_settle, plain, np.float32(drive.write_settle))
    if overhead is None:
        return drive
    return eqx.tree_at(lambda one: one.overhead, drive, np.float32(overhead))


def _placement(drive: Drive, layout: Layout, data: float) -> SRMirror:
    most = max(MOST_REPLICAS, layout.replicas)
    sizes = (layout.striping, layout.replicas, layout.mirrors, data)
    # The drive of the formulas has one zone and no skew. Large stripe units would begin at only a few angles, whereas the
    # formulas assume uniform angles.
    if drive.heads == 1 and isinstance(drive.seek, LinearSeek):
        return SRMirror(*sizes, unit=_UNIT, most_replicas=most)
    return SRMirror(*sizes, most_replicas=most)


def _schedule(scheduler: Scheduler | None) -> FCFS | LOOK | SATF:
    """Return the scheduler of the engine that corresponds to a scheduler of the formulas; FCFS for None.

    Raises InputError for an unknown scheduler.
    """
    if scheduler is None:
        return FCFS()
    if isinstance(scheduler, RLOOK):
        return LOOK()
    if isinstance(scheduler, RSATF):
        return SATF()
    raise InputError(f"scheduler {scheduler!r}: the simulation has only RLOOK() and RSATF()")


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


def _step(wanted: int, steps: tuple[int, ...], what: str, remedy: str) -> int:
    """Return the smallest value in `steps` that is at least `wanted`."""
    if wanted > steps[-1]:
        raise InputError(f"{wanted} {what}: at most {steps[-1]} are simulated; {remedy}")
    return next(size for size in steps if size >= wanted)


def _require_room(count: int, most: int, what: str) -> None:
    if count > most:
        raise InputError(f"{count} {what}: a simulation can have at most {most}; simulate a smaller part of the system")
