"""The paper's disk, its arrays and its workloads."""

import math
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from storagekit.cache import LRU
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive
from storagekit.engine import Background, FirstCopy, Scenario, System
from storagekit.errors import InputError
from storagekit.lanes import real
from storagekit.placement import SRMirror
from storagekit.plan import Layout, Mechanics
from storagekit.schedule import RLOOK, RSATF, OneOf
from storagekit.units import KB, MB, MS, SECTOR
from storagekit.workload import RecordedArrivals, recorded
from storagekit.workload.standin import CELLO_BASE, CELLO_DISK6, TPCC, StandIn
from storagekit.workload.trace import RequestTrace

# S follows from the worked values of section 4.1: 5.8 and 11.6 replicas for nine disks at L of 4.14 and 16.67; the reported
# times include an overhead of 2.7 ms
MECHANICS = Mechanics(full_seek=10 * MS, revolution=6 * MS, overhead=2.7 * MS, name="the formulas' ST39133LWV")
WORKLOADS: dict[str, StandIn] = {model.name: model for model in (CELLO_BASE, CELLO_DISK6, TPCC)}
AVERAGE_SEEK = 5.2 * MS
HEADS = 12
MOST_MEMORY = 512 * MB
WAYS = 8
MEDIA_RATE = 18.2e6


class Effort(NamedTuple):
    """How much to simulate: windows of a trace, requests in each, and where memory has to fill; replications of a loop,
    requests in each; questions put to the planner."""

    windows: int = 3
    requests: int = 800
    memory_requests: int = 3_000
    seeds: int = 8
    loop_requests: int = 1_500
    questions: int = 16
    first_seed: int = 0


QUICK = Effort()


def effort(profile: str, first_seed: int = 0) -> Effort:
    """The effort of a profile: "quick" for a look, "full" for the record."""
    known = {"quick": QUICK, "full": Effort(3, 3_000, 12_000, 16, 10_000, 24)}
    if profile not in known:
        raise InputError(f"profile {profile!r}: unknown; it is one of {', '.join(known)}")
    return known[profile]._replace(first_seed=first_seed)


def paper_drive() -> Drive:
    """The Seagate ST39133LWV as far as the paper describes it (table 1, sections 3.5 and 4.1).

    Given: 9.1 GB, 10,000 rpm, average seek 5.2 ms (reads) and 6.0 ms (writes), track switch 0.9 ms. Inferred: the full
    stroke takes S = 10 ms more than the settling in the average seek, 5.2 ms - S/3, so 11.9 ms; a one-cylinder
    seek is a track switch; twelve tracks a cylinder and their length are the Cheetah 9LP's, its nearest relative with known
    geometry; of the overhead of 2.7 ms, what is not settling nor the transfer of 8 KB precedes every access as processing.
    """
    settling = AVERAGE_SEEK - MECHANICS.full_seek / 3
    drive = Drive.from_datasheet(
        rpm=10_000,
        track_seek=0.9 * MS,
        average_seek=AVERAGE_SEEK,
        full_seek=settling + MECHANICS.full_seek,
        capacity=9.1e9,
        media_rate=MEDIA_RATE,
        head_switch=0.9 * MS,
        write_settle=0.8 * MS,
        heads=HEADS,
        name="Seagate ST39133LWV, from the paper's figures",
    )
    processing = MECHANICS.overhead - settling - 8 * KB / MEDIA_RATE
    return eqx.tree_at(lambda d: d.overhead, drive, np.float32(processing))


def placed(shape: Layout, drive: Drive, data: float) -> SRMirror:
    """A layout on drives of a kind, with room for `data` bytes in whole stripe units and no more."""
    full = SRMirror(shape.striping, shape.replicas, shape.mirrors)
    each = int(full.capacity(drive)) // full.unit
    # a share is float32: half a unit more, so that rounding takes none away
    return replace(full, data=(math.ceil(data / SECTOR / full.unit) + 0.5) / each)


def window(workload: str, requests: int, number: int) -> RequestTrace:
    """`requests` successive requests of a stand-in; every number is another, independent window."""
    model = WORKLOADS[workload]
    seconds = 1.5 * requests / model.rate + 120
    while len(trace := model.generate(seed=number, stop=min(seconds, model.duration))) < requests:
        if seconds >= model.duration:
            raise InputError(f"{requests} requests of {workload}: it has {len(trace)}; ask for fewer")
        seconds *= 2
    return trace.take(slice(0, requests))


class Run(NamedTuple):
    """What an exhibit varies: the layout, the trace's rate (times its own), RLOOK (1) in place of RSATF (0), and the bytes of
    an LRU cache in front. All are numbers to the engine, so that a figure is one batch."""

    layout: str
    scale: float = 1.0
    look: int = 0
    memory: float = 0.0


class DiskArray(NamedTuple):
    """What is the same for every layout that an exhibit compares.

    slots: requests held at once, delayed writes included. table: delayed writes at which propagation is forced; the paper's
    10,000 entries would take longer to fill than a window of a trace lasts, so that the windows would end with most of the
    propagation still to do; with a short table it is paid for within the window.
    Windows are padded to `longest` requests, so that all exhibits on these disks share a compilation.
    """

    drive: Drive
    drives: int
    slots: int
    longest: int

    @property
    def table(self) -> int:
        return self.slots // 2

    def system(self, run: Run, data: float) -> System:
        """The array of a run, for a data set of `data` bytes; writes propagate in the background."""
        return System(
            self.drive,
            placed(Layout.parse(run.layout), self.drive, data),
            NearestIdle(),
            OneOf((RSATF(), RLOOK()), run.look),
            FirstCopy(),
            Background(self.table),
            LRU(run.memory, sets=MOST_MEMORY // (8 * KB) // WAYS, ways=WAYS),
            drives=self.drives,
            slots=self.slots,
        )

    def replays(self, run: Run, trace: RequestTrace, data: float) -> Scenario:
        """A trace to a data set of `data` bytes on that array."""
        system = self.system(run, data)
        arrivals = recorded(trace, int(system.placement.capacity(self.drive)), run.scale)
        return Scenario(system, padded(arrivals, max(self.longest, len(trace))))


def small(effort: Effort) -> DiskArray:
    """Up to twelve disks, for the Cello workloads."""
    return DiskArray(paper_drive(), 12, 128, effort.memory_requests)


def large(effort: Effort) -> DiskArray:
    """Up to 36 disks, for TPC-C."""
    return DiskArray(paper_drive(), 36, 256, effort.memory_requests)


def padded(arrivals: RecordedArrivals, count: int) -> RecordedArrivals:
    """The same arrivals in arrays of `count` rows; none of the rows added ever arrives."""
    missing = count - arrivals.gap.shape[0]

    def longer(column):
        values = np.asarray(column)
        return np.concatenate([values, np.repeat(values[-1:], missing)])

    requests = jax.tree.map(longer, arrivals.requests)
    return RecordedArrivals(requests, real(longer(arrivals.gap)), arrivals.scale)
