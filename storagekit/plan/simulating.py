"""Layouts as scenarios of the simulation engine, simulated as one batch.

A request has one sector. Except for positioning, nearly all of an access is then the overhead, as in the formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.elevator import RLOOK, RSATF, Scheduler
from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive, ideal_drive
from storagekit.drive.seek import LinearSeek
from storagekit.engine import Scenario, System
from storagekit.placement import SRMirror
from storagekit.schedule import FCFS, LOOK, SATF
from storagekit.simulation import sweep
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies, Background

# settings with up to this number of disks share a compiled program
_DISKS = 48
# sectors of a track (a prime) and of a stripe unit, on a drive of the formulas
_TRACK = 509
_UNIT = 8
# number of slots for open arrivals; further requests wait outside the slots, and this waiting time is included
_WAITING = 64
# few sizes, so that few programs are compiled
_SLOTS = (1, 64, 512, 2048, 8192)


@dataclass(frozen=True)
class LayoutRun:
    """A simulation run of one layout with `outstanding` requests or, if that is None, with `rate` requests a second."""

    drive: Drive
    layout: Layout
    load: Load
    scheduler: Scheduler | None
    outstanding: int | None
    rate: float = 0.0


@dataclass(frozen=True)
class Simulated:
    """Mean response time in seconds and throughput in requests a second, `[run, seed]`; attrs: their provenance."""

    response: NDArray
    throughput: NDArray
    attrs: dict[str, Any]


def simulated_drive(drive: Drive | DriveFigures, overhead: float | None) -> Drive:
    """Return the engine's drive for a planner's drive. overhead: seconds that replace the drive's overhead, if given."""
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


def simulate(asked: Sequence[LayoutRun], seeds: Sequence[int], requests: int) -> Simulated:
    """Simulate every layout with every seed and the same requests. The measurement begins after a fifth of `requests`.

    Raises InputError for addresses beyond the range of the engine.
    """
    scenarios = [_scenario(one) for one in asked]
    data = sweep(
        lambda lane: scenarios[lane],
        {"lane": range(len(scenarios))},
        seeds=seeds,
        requests=requests,
        warm_up=requests // 5,
        allow_held_up=True,
    )
    # the attributes of the first layout do not describe all layouts
    attrs = {name: value for name, value in data.attrs.items() if name not in ("scenario", "varied")}
    return Simulated(data.response.values, data.request_rate.values, attrs)


def _scenario(asked: LayoutRun) -> Scenario:
    load, layout = asked.load, asked.layout
    delayed = float(np.asarray(load.background)) > 0 and float(np.asarray(load.read_share)) < 1
    room = slots(asked.outstanding, delayed)
    system = System(
        asked.drive,
        _placement(asked.drive, layout, load),
        NearestIdle(),
        discipline(asked.scheduler),
        # a small table, so that a run of some thousand requests includes all copies of its writes
        Background(room // 2) if delayed else AllCopies(),
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
    # The drive of the formulas has one zone and no skew. Large stripe units would begin at only a few angles, whereas the
    # formulas assume uniform angles.
    if drive.heads == 1 and isinstance(drive.seek, LinearSeek):
        return SRMirror(*sizes, unit=_UNIT, most_replicas=most)
    return SRMirror(*sizes, most_replicas=most)


def discipline(scheduler: Scheduler | None):
    """Return the engine's scheduler for a scheduler of the formulas; FCFS for None. Raises InputError for an unknown one."""
    if scheduler is None:
        return FCFS()
    if isinstance(scheduler, RLOOK):
        return LOOK()
    if isinstance(scheduler, RSATF):
        return SATF()
    raise InputError(f"scheduler {scheduler!r}: the simulation knows RLOOK() and RSATF()")


def slots(outstanding: int | None, delayed: bool) -> int:
    """Return the number of slots for the requests and, with delayed copies, for one completed write on each disk."""
    wanted = _WAITING if outstanding is None else outstanding + (_DISKS if delayed else 0)
    if wanted > _SLOTS[-1]:
        raise InputError(
            f"{wanted} requests outstanding: at most {_SLOTS[-1]} are simulated; give a shorter queue or fewer disks"
        )
    return next(size for size in _SLOTS if size >= wanted)
