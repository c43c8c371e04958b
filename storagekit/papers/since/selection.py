"""Policies that select a replica: the power of two choices, memory, join-idle-queue, hedged and tied requests.

There are exact results for servers with exponential service times. There are none for disks. The exhibit on disks therefore
compares the later policies with D-SPTF and ARS, which use the service times of the disks.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from storagekit.core.units import MS, US
from storagekit.dispatch import (
    ARS,
    C3,
    DSPTF,
    AbstractDispatch,
    DispatchSwitch,
    Hashing,
    Hedged,
    JoinIdleQueue,
    Redundant,
    ShortestQueue,
    ShortestQueueWithMemory,
)
from storagekit.drive import Drive, RateServer, load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.effort import Effort, of_profile
from storagekit.papers.measurement import Measurement, with_interval, with_intervals
from storagekit.papers.since.claims import FIELDS, FLOORS, LATER
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import interval, ratio, sweep
from storagekit.workload import ExponentialSize, PoissonArrivals, RandomRequests, RecordedArrivals, Requests

QUICK = Effort(seeds=4, requests=2_000)
# Mean service time of a server, seconds. Sizes are whole sectors; with a mean of 20,000 sectors the rounding is negligible.
SERVICE, SECTORS = 10 * MS, 20_000
SERVERS = 32
# Requests of a run on servers, as a multiple of the requests of a run on disks.
_LONGER = 9
ON_SERVERS: dict[str, AbstractDispatch] = {
    "two choices": ShortestQueue(2),
    "memory": ShortestQueueWithMemory(1, 1),
    "tied": Redundant(2),
    "idle queues, random": JoinIdleQueue(4, 1),
    "idle queues, shorter of two": JoinIdleQueue(4, 2),
}
BRICKS = 8
# Delay of a hedged read: the 95% quantile of the response time of "Hashing" on equal bricks at the lowest load is 19.8 ms.
HEDGE = 20 * MS
ON_DISKS: dict[str, AbstractDispatch] = {
    "D-SPTF": DSPTF(50 * US),
    "Two choices": ShortestQueue(2),
    "Memory": ShortestQueueWithMemory(1, 1),
    "Idle queues": JoinIdleQueue(2, 2),
    "Hedged": Hedged(HEDGE),
    "Tied": Redundant(2),
    "C3 ranking": C3(),
    "ARS": ARS(shared=True, clients=1),
    "Hashing": Hashing(),
}
# Policies with compiled programs of their own; the others share one. Every event of a program computes all its policies.
# D-SPTF has the most events, because its messages take time, and the state of clients takes most of the time of an event.
_APART = (("D-SPTF",), ("C3 ranking", "ARS"))
_TOGETHER = tuple(name for name in ON_DISKS if not any(name in apart for apart in _APART))
# Speeds of the bricks under each condition.
_ALIKE = (1.0,) * BRICKS
CONDITIONS = {
    "equal bricks": _ALIKE,
    "two kinds": (1.0,) * 4 + (0.5,) * 4,
    "a slow brick": (0.25,) + (1.0,) * 7,
    "bursts": _ALIKE,
    "popular data": _ALIKE,
}
# Conditions with requests of their own.
_STREAMS = ("bursts", "popular data")
# Load: request rate divided by the maximum rate of all bricks in order of arrival, with this service time.
LOADS, DISK_SERVICE = (0.3, 0.5, 0.7), 8.6 * MS
# Bursts: rates as multiples of the mean, which alternate after this number of requests.
BURSTS, _PHASE = (0.4, 1.6), 100
# Popular data: exponent of Zipf's law, and number of objects of 4 KB.
ZIPF, OBJECTS, BLOCK = 1.0, 100_000, 8


def effort(profile: str, first_seed: int = 0) -> Effort:
    """Return the number and length of the runs for a profile, "quick" or "full".

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first of the seeds, by default 0.

    Returns
    -------
    Effort
        Number and length of the runs.

    Raises
    ------
    InputError
        If the profile is unknown.
    """
    return of_profile(profile, {"quick": QUICK, "full": Effort(seeds=16, requests=20_000)}, first_seed)


def _servers(dispatch: AbstractDispatch, load: float, servers: int, most: int) -> Scenario:
    """Return servers with exponential service. most: the largest number of servers of the scenarios of one program."""
    drive = RateServer(SECTORS / SERVICE, capacity=2**28)
    system = System(drive, Replicas(servers), dispatch, FCFS(), slots=6 * most, drives=most)
    return Scenario(
        system, PoissonArrivals(RandomRequests(ExponentialSize(SECTORS * 512.0), 1.0), servers * load / SERVICE)
    )


def _normalized(effort: Effort, build: Callable[..., Scenario], axes: dict[str, Sequence]) -> xr.Dataset:
    length = {"requests": _LONGER * effort.requests, "warm_up": effort.requests}
    data = sweep(build, axes, seeds=effort.seed_list, allow_blocked=True, **length)
    data["normalized"] = data.response / SERVICE
    data.normalized.attrs = {"units": "1", "long_name": "mean response time divided by the mean service time"}
    return data


def mean_fields(
    effort: Effort = QUICK, *, policy: Sequence[str] = tuple(ON_SERVERS), load: Sequence[float] = (0.5, 0.7, 0.9)
) -> xr.Dataset:
    """Return the mean response time of 32 servers under several policies.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    policy : sequence of str
        Names of `ON_SERVERS`.
    load : sequence of float
        Utilizations of the servers.

    Returns
    -------
    Dataset
        `normalized`, the mean response time in mean service times, and further measures over `policy`, `load` and `seed`.

    Notes
    -----
    The exact results are limits for many servers. With 32 servers, response times are longer by a few percent, and by more at
    a high load. Requests have exponential sizes, and both copies of a tied request have the same size. A tied request is
    withdrawn from the other server when it starts, without a delay.
    """

    def build(policy: str, load: float) -> Scenario:
        dispatch = DispatchSwitch(tuple(ON_SERVERS.values()), list(ON_SERVERS).index(policy))
        return _servers(dispatch, load, SERVERS, SERVERS)

    return _normalized(effort, build, {"policy": policy, "load": load})


def floors(
    effort: Effort = QUICK, *, servers: Sequence[int] = (4, 10), load: Sequence[float] = (0.7, 0.9)
) -> xr.Dataset:
    """Return the mean response time of servers with one common queue, the minimum for every policy.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    servers : sequence of int
        Numbers of servers.
    load : sequence of float
        Utilizations of the servers.

    Returns
    -------
    Dataset
        `normalized` and further measures over `servers`, `load` and `seed`.

    Notes
    -----
    With D-SPTF and messages that take no time, an idle server claims the oldest waiting request, as in one common queue.
    """

    def build(servers: int, load: float) -> Scenario:
        return _servers(DSPTF(0.0), load, servers, 16)

    return _normalized(effort, build, {"servers": servers, "load": load})


class DiskReads(NamedTuple):
    """Requests of a run.

    Parameters
    ----------
    gap : array of float, shape `[request]`
        Time to the next request, as a multiple of the mean.
    sector : array of int, shape `[request]`
        First sector.
    """

    gap: NDArray
    sector: NDArray


# policies and loads differ, but the requests of a condition do not
@lru_cache(maxsize=64)
def stream(condition: str, seed: int, count: int, capacity: int) -> DiskReads:
    """Return the requests of a run on disks.

    Conditions that differ only in the speeds of the bricks have the same requests, so that their runs share batches.

    Parameters
    ----------
    condition : str
        A name of `CONDITIONS`.
    seed : int
        Seed of the run.
    count : int
        Number of requests.
    capacity : int
        Number of sectors of a disk.

    Returns
    -------
    DiskReads
        The requests, with a mean gap of 1.
    """
    random = np.random.default_rng([seed, _STREAMS.index(condition) + 1 if condition in _STREAMS else 0])
    gap = random.exponential(size=count)
    if condition == "bursts":
        rate = np.asarray(BURSTS)[(np.arange(count) // _PHASE) % 2]
        gap = gap / rate / np.mean(1 / np.asarray(BURSTS))
    blocks = capacity // BLOCK
    if condition != "popular data":
        return DiskReads(gap, random.integers(0, blocks, count) * BLOCK)
    share = np.cumsum(1 / np.arange(1, OBJECTS + 1) ** ZIPF)
    rank = np.searchsorted(share, random.random(count) * share[-1])
    return DiskReads(gap, random.permutation(blocks)[:OBJECTS][rank] * BLOCK)


def _disks(drive: Drive, policy: str, condition: str, load: float, run: int, requests: int) -> Scenario:
    speeds = CONDITIONS[condition]
    # a run that ends at a number of completions needs some more arrivals
    count = requests + 256
    requested = stream(condition, run, count, int(drive.capacity))
    random = np.random.default_rng([run, len(_STREAMS) + 1])
    bits = (requested.sector.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    columns: dict[str, Any] = {
        "number": np.arange(count, dtype=np.int32),
        "sector": requested.sector.astype(np.int32),
        "sectors": np.full(count, BLOCK, np.int32),
        "read": np.ones(count, bool),
        "receiving": random.integers(0, 2**32, count, np.uint32),
        "address_hash": bits.astype(np.uint32),
        "asynchronous": np.zeros(count, bool),
        "stream": np.zeros(count, np.int32),
        "client": np.zeros(count, np.int32),
    }
    gap: Any = np.append(requested.gap[:-1], np.inf).astype(np.float32)
    arrivals = RecordedArrivals(Requests(**columns), gap, scale=load * sum(speeds) / DISK_SERVICE)
    slow = FaultSchedule(*(Slowdown(brick, speed) for brick, speed in enumerate(speeds)))
    names = next((names for names in _APART if policy in names), _TOGETHER)
    dispatch = DispatchSwitch(tuple(ON_DISKS[name] for name in names), names.index(policy))
    return Scenario(System(drive, Replicas(BRICKS), dispatch, SATF(), faults=slow, slots=64), arrivals)


def tails(
    effort: Effort = QUICK,
    *,
    policy: Sequence[str] = tuple(ON_DISKS),
    condition: Sequence[str] = tuple(CONDITIONS),
    load: Sequence[float] = LOADS,
) -> xr.Dataset:
    """Return the response times of eight bricks with copies of all data, by policy, condition and load.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    policy : sequence of str
        Names of `ON_DISKS`.
    condition : sequence of str
        Names of `CONDITIONS`.
    load : sequence of float
        Request rate, divided by the maximum rate at which all bricks serve in order of arrival.

    Returns
    -------
    Dataset
        `response`, `p99` and further measures over `policy`, `condition`, `load` and `seed`.

    Notes
    -----
    Clients read blocks of 4 KB at random. Each seed has its own requests, which are the same for all policies. A brick
    serves its waiting reads in the order of the shortest positioning time. Where a policy overloads a brick, the response
    times depend on the length of the run.
    """
    runs = effort.seed_list
    axes = {"policy": policy, "condition": condition, "load": load, "run": runs}
    drive = load_drive("atlas10k")

    def build(policy: str, condition: str, load: float, run: int) -> Scenario:
        return _disks(drive, policy, condition, load, run, effort.requests)

    length = {"requests": effort.requests, "warm_up": effort.requests // 5}
    data = sweep(build, axes, seeds=[effort.first_seed], allow_blocked=True, **length)
    attributes = data.attrs | {"seeds": runs}
    data = data.isel(seed=0, drop=True).rename(run="seed").assign_attrs(attributes)
    data["p99"] = data.response_quantile.sel(quantile=0.99, drop=True)
    data.p99.attrs = {"units": "s", "long_name": "99% quantile of the response time"}
    return data


def mean_fields_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the mean response times of many servers.

    Parameters
    ----------
    data : Dataset
        Result of `mean_fields`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.mean_fields`.
    """
    rows = interval(data).normalized
    note = f"The simulation has {SERVERS} servers. The exact value is the limit for many servers."
    found = with_intervals(FIELDS, rows, note)
    normalized = data.normalized
    random, shorter, choices, memory = (
        normalized.sel(policy=name)
        for name in ("idle queues, random", "idle queues, shorter of two", "two choices", "memory")
    )
    low = normalized["load"] <= 0.7
    return [
        *found,
        above_one("since.mean_fields.shorter_idle_queue", ratio(random, shorter)),
        above_one(
            "since.mean_fields.idle_queue_overhead", ratio((choices - 1)[{"load": low}], (shorter - 1)[{"load": low}])
        ),
        above_one("since.mean_fields.memory_alone", ratio(memory, choices)),
    ]


def above_one(claim: str, ratios: xr.DataArray) -> Measurement:
    """Return the finding that all ratios are above 1, with the ratio whose interval has the lowest end.

    Parameters
    ----------
    claim : str
        Identifier of the claim.
    ratios : DataArray, shape [*axes, statistic]
        The values mean, low and high, as `ratio` returns them.

    Returns
    -------
    Measurement
        The finding.
    """
    axes = [name for name in ratios.dims if name != "statistic"]
    cells = ratios.expand_dims("cell") if not axes else ratios.stack(cell=axes)
    least = cells.isel(cell=int(np.argmin(cells.sel(statistic="low").values)))
    where = ", ".join(f"{name} {least[name].item()}" for name in axes)
    row = least.drop_vars([name for name in least.coords if name != "statistic"])
    text = f"The number is the ratio whose interval has the lowest end{where and f', at {where}'}."
    return with_interval(claim, row, text, holds=bool(float(row.sel(statistic="low")) > 1))


def floors_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on servers with one common queue.

    Parameters
    ----------
    data : Dataset
        Result of `floors`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.floors`.
    """
    return with_intervals(FLOORS, interval(data).normalized)


def tails_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the response times of disks.

    Parameters
    ----------
    data : Dataset
        Result of `tails` with all policies and conditions.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.tails`.
    """
    lightest = {"condition": "equal bricks", "load": float(data["load"].min())}
    tied = ratio(data.p99.sel(policy="Hashing", **lightest), data.p99.sel(policy="Tied", **lightest))
    best = data.p99.sel(policy=list(LATER)).min("policy")
    slow = data.p99.sel(condition="a slow brick")
    others = [name for name in data.policy.values.tolist() if name != "Hashing"]
    return [
        above_one("since.tails.tied", tied),
        above_one("since.tails.dsptf", ratio(best, data.p99.sel(policy="D-SPTF"))),
        above_one("since.tails.slow_brick", ratio(slow.sel(policy="Hashing"), slow.sel(policy=others).max("policy"))),
    ]
