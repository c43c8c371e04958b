"""The paper's system: a group of bricks that all hold every block, and a closed loop of small random requests."""

import math
from collections.abc import Sequence

import xarray as xr

from storagekit.dispatch import DSPTF, LARD, AbstractDispatch, Hashing, central
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.errors import InputError
from storagekit.metrics import Measure, sweep
from storagekit.papers.effort import Effort, of_profile
from storagekit.placement import Replicas
from storagekit.schedule import SATF, AbstractSchedule
from storagekit.units import KB, US
from storagekit.workload import AbstractSize, ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import AbstractWrite, AllCopies, AtOnce, FirstCopy, ReceivingBrick

LATENCY = 50 * US
SCHEMES: dict[str, AbstractDispatch] = {
    "Central SPTF": central(),
    "D-SPTF": DSPTF(LATENCY),
    "Hashing": Hashing(),
    "LARD": LARD(allocated=1.0),
}
READINGS: dict[str, AbstractWrite] = {
    "at once": AtOnce(),
    "first copy": FirstCopy(),
    "receiving brick": ReceivingBrick(),
    "all copies": AllCopies(),
}
# what claims call the schemes
KEYS = {
    "central": "Central SPTF",
    "dsptf": "D-SPTF",
    "hashing": "Hashing",
    "lard": "LARD",
    "weighted_hash": "Weighted hash",
}
# Requests held at once, of which 16 are unanswered: a write keeps its slot until its last copy is on disk, long after its
# answer under some readings. With 90% reads, and with fewer, where more writes wait.
SLOTS = {"at once": (128, 640), "first copy": (128, 256), "receiving brick": (48, 64), "all copies": (16, 16)}


QUICK = Effort()


def effort(profile: str, first_seed: int = 0) -> Effort:
    """The effort of a profile for the closed loops, each after a warm-up of a fifth of its requests."""
    return of_profile(profile, {"quick": QUICK, "full": Effort(seeds=64, requests=20_000)}, first_seed)


def sweep_loops(
    build, axes: dict, effort: Effort, exhibit: str, most_held_up: float = 1e-3, measures: Sequence[Measure] = ()
) -> xr.Dataset:
    """A sweep of the paper's loops; an arrival in a thousand may wait a moment for a slot, more is refused."""
    data = sweep(
        build,
        axes,
        seeds=effort.seed_list,
        requests=effort.requests,
        warm_up=effort.requests // 5,
        allow_held_up=True,
        measures=measures,
    )
    share = float((data.held_up / data.requests).max())
    if share > most_held_up:
        raise InputError(f"{share:.2%} of arrivals waited outside: raise the slots of dsptf.brick_group.SLOTS")
    data.attrs |= {"paper": "dsptf", "exhibit": f"dsptf.{exhibit}"}
    return data


def once_each(data: xr.Dataset, replicas: int | xr.DataArray) -> xr.Dataset:
    """The same with the throughput of accesses that serve somebody: a read that several bricks read counts once.

    data: standard measures of loops on so many replicas.
    """
    repeats = data.extra_services * data.read_fraction * data.request_rate / replicas
    return data.assign(throughput=(data.throughput - repeats).assign_attrs(data.throughput.attrs))


def group(
    dispatch: AbstractDispatch,
    *,
    replicas: int = 8,
    outstanding: int = 16,
    read_share: float = 0.9,
    size: AbstractSize | None = None,
    reading: str = "receiving brick",
    schedule: AbstractSchedule | None = None,
    drive: str = "atlas10k",
    slots: int | None = None,
) -> Scenario:
    """One replica group under the synthetic load of section 5.1.1.

    Sizes are exponential with mean 4 KB and addresses uniform unless given. reading: when a write is answered, one of
    `READINGS`; the paper does not say, and the receiving brick's is the reading whose table 1 comes nearest (DESIGN
    section 5), so it is the default here, marked as inferred.
    """
    if reading not in READINGS:
        raise InputError(f"reading {reading!r}: unknown; it is one of {', '.join(READINGS)}")
    mostly_reads, fewer_reads = SLOTS[reading]
    held = slots or (mostly_reads if read_share >= 0.9 else fewer_reads)
    system = System(
        load_drive(drive),
        Replicas(replicas),
        dispatch,
        SATF() if schedule is None else schedule,
        READINGS[reading],
        drives=max(8, replicas),
        slots=max(held, 2 ** math.ceil(math.log2(outstanding))),
    )
    requests = RandomRequests(ExponentialSize(4 * KB) if size is None else size, read_share)
    return Scenario(system, ClosedLoop(requests, outstanding))
