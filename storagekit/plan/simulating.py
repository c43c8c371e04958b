"""Layouts as scenarios of the engine, many of them as the lanes of one batch.

Requests have one sector, so that nearly all of an access besides positioning is the overhead, as in the formulas.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import equinox as eqx
import jax
import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.srarray import MOST_REPLICAS
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive, ideal_drive
from storagekit.drive.seek import LinearSeek
from storagekit.engine import (
    AllCopies,
    Background,
    FirstCopy,
    Foreground,
    Scenario,
    System,
    Tally,
    batches,
    execute,
    stack,
    structure,
)
from storagekit.errors import InputError
from storagekit.placement import SRMirror
from storagekit.plan.costs import Load
from storagekit.plan.layout import Layout
from storagekit.plan.scheduler import RLOOK, RSATF, Scheduler
from storagekit.plan.spindle import Mechanics
from storagekit.schedule import FCFS, LOOK, SATF
from storagekit.units import SECTOR
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests

# settings up to this many disks share a compilation
_DISKS = 48
# sectors of a track, a prime, and of a stripe unit, on a drive that the formulas describe
_TRACK = 509
_UNIT = 8
# of requests that come by themselves; more wait outside, and their wait counts
_WAITING = 64
# few sizes, so that few programs are compiled
_SLOTS = (1, 64, 512, 2048, 8192)


@dataclass(frozen=True)
class Asked:
    """What a lane simulates: a layout, and who asks: `outstanding` at a time or, where that is None, `rate` a second."""

    drive: Drive
    layout: Layout
    load: Load
    scheduler: Scheduler | None
    outstanding: int | None
    rate: float = 0.0


@dataclass(frozen=True)
class Simulated:
    """Mean response, seconds, and requests a second, `[lane, seed]`; attrs: what made them."""

    response: NDArray
    throughput: NDArray
    attrs: dict[str, Any]


def simulated_drive(drive: Drive | Mechanics, overhead: float | None) -> Drive:
    """The engine's drive for the planner's, `overhead` seconds in the place of the drive's own where given."""
    if isinstance(drive, Mechanics):
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


def simulate(asked: Sequence[Asked], seeds: Sequence[int], requests: int) -> Simulated:
    """Every lane with every seed, the same requests for all; measured after a fifth of `requests`.

    Raises InputError for more than the engine addresses.
    """
    began = time.perf_counter()
    warm_up = requests // 5
    scenarios = [_scenario(one) for one in asked]
    groups: dict[tuple, list[int]] = {}
    for number, scenario in enumerate(scenarios):
        groups.setdefault(structure(scenario), []).append(number)
    response, rate = np.empty((2, len(asked), len(seeds)))
    for members in groups.values():
        response[members], rate[members] = _batch([scenarios[number] for number in members], seeds, requests, warm_up)
    attrs = {
        "basis": "simulated",
        "storagekit": _version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "backend": jax.default_backend(),
        "precision": "float32",
        "drive": ", ".join(dict.fromkeys(one.drive.name for one in asked)),
        "schedule": ", ".join(dict.fromkeys(type(one.system.schedule).__name__ for one in scenarios)),
        "completion": ", ".join(dict.fromkeys(type(one.system.completion).__name__ for one in scenarios)),
        "propagation": ", ".join(dict.fromkeys(type(one.system.propagation).__name__ for one in scenarios)),
        "dispatch": NearestIdle.__name__,
        "seeds": [int(seed) for seed in seeds],
        "requests_per_run": int(requests),
        "warm_up_requests": int(warm_up),
        "wall_seconds": round(time.perf_counter() - began, 3),
    }
    return Simulated(response, rate, attrs)


def _version() -> str:
    try:
        return metadata.version("storagekit")
    except metadata.PackageNotFoundError:
        return "not installed"


def _batch(scenarios: list[Scenario], seeds: Sequence[int], requests: int, warm_up: int) -> NDArray:
    """Response and rate, `[2, scenario, seed]`."""
    merged, key = stack(scenarios, seeds)
    found = []
    for part, lane_keys, counted in batches(merged, key):
        found.append(_measured(execute(part, lane_keys, requests).tally, warm_up)[:, :counted])
    return np.concatenate(found, axis=1).reshape(2, len(scenarios), len(seeds))


def _measured(tally: Tally, warm_up: int) -> NDArray:
    """Response and rate of each lane over the chunks that begin once it has answered `warm_up` requests."""
    answered = (tally.reads + tally.writes).astype(np.int64)
    kept = np.cumsum(answered, axis=0) - answered >= warm_up

    def total(sums: Any) -> NDArray:
        return np.where(kept, sums, 0).sum(axis=(0, 1), dtype=float)

    count = total(answered)
    return np.stack([total(tally.read_response + tally.write_response) / count, count / total(tally.elapsed)])


def _scenario(asked: Asked) -> Scenario:
    load, layout = asked.load, asked.layout
    delayed = float(np.asarray(load.background)) > 0 and float(np.asarray(load.read_share)) < 1
    room = slots(asked.outstanding, delayed)
    system = System(
        asked.drive,
        _placement(asked.drive, layout, load),
        NearestIdle(),
        _discipline(asked.scheduler),
        FirstCopy() if delayed else AllCopies(),
        # forced while half of the slots is left, so that copies that wait keep no requests out
        Background(room // 2) if delayed else Foreground(),
        drives=max(_DISKS, layout.disks),
        slots=room,
    )
    requests = RandomRequests(FixedSize(float(SECTOR)), load.read_share, load.locality, alignment=1)
    if asked.outstanding is None:
        return Scenario(system, PoissonArrivals(requests, asked.rate))
    return Scenario(system, ClosedLoop(requests, asked.outstanding))


def _placement(drive: Drive, layout: Layout, load: Load) -> SRMirror:
    most = max(MOST_REPLICAS, layout.replicas)
    sizes = (layout.striping, layout.replicas, layout.mirrors, load.data)
    # the formulas' drive has one zone and no skew: large stripe units would begin at a few angles, and their requests find
    # the platter there or not, where the formulas have uniform angles
    if drive.heads == 1 and isinstance(drive.seek, LinearSeek):
        return SRMirror(*sizes, unit=_UNIT, most_replicas=most)
    return SRMirror(*sizes, most_replicas=most)


def _discipline(scheduler: Scheduler | None):
    if scheduler is None:
        return FCFS()
    if isinstance(scheduler, RLOOK):
        return LOOK()
    if isinstance(scheduler, RSATF):
        return SATF()
    raise InputError(f"scheduler {scheduler!r}: the simulation knows RLOOK() and RSATF()")


def slots(outstanding: int | None, delayed: bool) -> int:
    """Room for the requests and, where copies are delayed, for the writes that they keep."""
    wanted = _WAITING if outstanding is None else outstanding * (4 if delayed else 1)
    if wanted > _SLOTS[-1]:
        raise InputError(f"{wanted} requests at once: at most {_SLOTS[-1]} are simulated; lower the queue or the disks")
    return next(size for size in _SLOTS if size >= wanted)
