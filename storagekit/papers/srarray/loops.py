"""The exhibits of section 4.2: a constant number of small requests outstanding, throughput.

Writes propagate in the foreground: every copy is written before the write is answered.
"""

from collections.abc import Sequence

import equinox as eqx
import numpy as np
import xarray as xr

from storagekit.analytic.array import equations
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive, SeekFit
from storagekit.engine import Scenario, System
from storagekit.lanes import real
from storagekit.metrics import sweep
from storagekit.papers.srarray.system import MECHANICS, QUICK, Effort, paper_drive
from storagekit.placement import SRMirror
from storagekit.plan import Layout, Throughput, best_sr_array
from storagekit.schedule import RLOOK, RSATF, OneOf
from storagekit.units import SECTOR
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

LOCALITY = 3.0
DISKS = (1, 2, 4, 6, 8, 9, 12)
QUEUES = (8, 32)
SCHEDULERS = ("RSATF", "RLOOK")
FIG13_LAYOUTS = ("3x2x1", "6x1x1", "3x1x2")


def loop(
    name: str,
    queue: int,
    write_share: float,
    scheduler: str,
    *,
    drive: Drive | None = None,
    drives: int = 12,
    slots: int = 64,
) -> Scenario:
    """`queue` requests of 512 bytes outstanding in the whole array, seek locality 3 (section 4.2).

    name: the layout, as in "2x3x1". write_share: of the requests, 0 to 1. scheduler: of `SCHEDULERS`. drive: the paper's by
    default. drives, slots: room for disks and for requests; scenarios that have the same share a compilation.
    """
    shape = Layout.parse(name)
    placement = SRMirror(shape.striping, shape.replicas, shape.mirrors)
    schedule = OneOf((RSATF(), RLOOK()), SCHEDULERS.index(scheduler))
    system = System(drive or paper_drive(), placement, NearestIdle(), schedule, drives=drives, slots=slots)
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(SECTOR), 1 - write_share, LOCALITY), queue))


def recommended(disks: int, queue: int, write_share: float = 0.0) -> str:
    """The SR-Array that the paper's rule gives for a queue of `queue` in all (equation 13; equation 10 up to 3 a disk)."""
    answer = best_sr_array(
        MECHANICS,
        disks,
        read_share=1 - write_share,
        queue=queue / disks,
        locality=LOCALITY,
        objective=Throughput(),
    )
    assert answer.paper is not None
    return str(answer.paper.layout)


def modelled(name: str, queue: int, write_share: float) -> float:
    """Requests a second that equations 15 and 16 give; D_r D_m stands for D_r (section 2.5)."""
    shape = Layout.parse(name)
    disks = shape.disks
    service = equations.rlook_service(
        MECHANICS.full_seek,
        MECHANICS.revolution,
        shape.striping,
        shape.replicas * shape.mirrors,
        1 - write_share,
        queue / disks,
        LOCALITY,
    )
    one = equations.disk_throughput(MECHANICS.overhead, service)
    return float(equations.array_throughput(disks, queue, one))


def fig12(effort: Effort = QUICK, *, disks: Sequence[int] = DISKS, queues: Sequence[int] = QUEUES) -> xr.Dataset:
    """Throughput of random reads against the number of disks (figure 12), by `scheme`, `disks` and `queue`."""
    names = {(count, queue): recommended(count, queue) for count in disks for queue in queues}

    def name(scheme: str, count: int, queue: int) -> str:
        if scheme == "RAID-10":
            return f"{max(count // 2, 1)}x1x{min(count, 2)}"
        return f"{count}x1x1" if scheme == "Striping" else names[count, queue]

    def satf(scheme: str, disks: int, queue: int) -> Scenario:
        return loop(name(scheme, disks, queue), queue, 0.0, "RSATF")

    def rlook(disks: int, queue: int) -> Scenario:
        return loop(names[disks, queue], queue, 0.0, "RLOOK")

    grid = {"disks": list(disks), "queue": list(queues)}
    schemes = ["SR-Array", "RAID-10", "Striping"]
    some = _swept(satf, {"scheme": schemes, **grid}, effort)
    look = _swept(rlook, grid, effort).expand_dims(scheme=["SR-Array, RLOOK"])
    data = xr.concat([some, look], dim="scheme", combine_attrs="override")
    # RAID-10 needs an even number of disks
    odd = (data.scheme == "RAID-10") & (data.disks % 2 == 1)
    data["request_rate"] = data.request_rate.where(~odd)
    data["model"] = (
        ("disks", "queue"),
        [[modelled(names[count, queue], queue, 0.0) for queue in queues] for count in disks],
        {"units": "1/s", "long_name": "requests per second by equation 16"},
    )
    data["layout"] = (("disks", "queue"), [[names[count, queue] for queue in queues] for count in disks])
    return data.assign_attrs(exhibit="srarray.fig12")


def fig13(
    effort: Effort = QUICK,
    *,
    write_shares: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    queues: Sequence[int] = QUEUES,
) -> xr.Dataset:
    """Throughput of six disks against the share of foreground writes, by `layout`, `queue` and `scheduler` (figure 13)."""

    def point(layout: str, queue: int, write_share: float, scheduler: str) -> Scenario:
        return loop(layout, queue, write_share, scheduler)

    axes = {
        "layout": list(FIG13_LAYOUTS),
        "queue": list(queues),
        "write_share": list(write_shares),
        "scheduler": list(SCHEDULERS),
    }
    data = _swept(point, axes, effort)
    data["model"] = (
        ("layout", "queue", "write_share"),
        [[[modelled(n, q, w) for w in write_shares] for q in queues] for n in FIG13_LAYOUTS],
        {"units": "1/s", "long_name": "requests per second by equation 16"},
    )
    return data.assign_attrs(exhibit="srarray.fig13")


def model_error(
    effort: Effort = QUICK,
    *,
    disks: Sequence[int] = (2, 4, 6, 8, 12),
    queues: Sequence[float] = (0.5, 1.0, 2.0, 3.0, 5.0),
    write_shares: Sequence[float] = (0.0, 0.2, 0.4),
    drive: Drive | None = None,
) -> xr.Dataset:
    """Equation 16 against the simulated RLOOK array over disks, queue per disk (`each`) and write share.

    drive: `formula_drive()` for the formulas' own, whose seek is linear in distance, so that what is left is the
    approximation of the equation; by default the paper's drive, whose short seeks cost less than the formulas' constant, as
    do 512 bytes in place of 8 KB.

    The layout is the rule's at that point. Variable `error` is model / simulation - 1.
    """
    totals = {(count, each): max(1, round(count * each)) for count in disks for each in queues}

    def name(count: int, each: float, share: float) -> str:
        return recommended(count, totals[count, each], share)

    def point(disks: int, each: float, write_share: float) -> Scenario:
        shape = name(disks, each, write_share)
        return loop(shape, totals[disks, each], write_share, "RLOOK", drive=drive)

    data = _swept(point, {"disks": list(disks), "each": list(queues), "write_share": list(write_shares)}, effort)
    model = [[[modelled(name(d, q, w), totals[d, q], w) for w in write_shares] for q in queues] for d in disks]
    data["model"] = (("disks", "each", "write_share"), model, {"units": "1/s"})
    data["error"] = (data.model / data.request_rate - 1).assign_attrs(
        units="1", long_name="equation 16 / simulated - 1"
    )
    return data.assign_attrs(exhibit="srarray.equation16")


def formula_drive() -> Drive:
    """The drive that the formulas have in mind: a seek linear in distance, R, the overhead of 2.7 ms, nothing else.

    On the paper's geometry and under its name, so that the two share a compilation.
    """
    drive = paper_drive()
    return eqx.tree_at(
        lambda d: (d.seek, d.head_switch, d.write_settle, d.overhead),
        drive,
        (
            SeekFit(0.0, 0.0, MECHANICS.full_seek / (drive.cylinders - 1)),
            real(0.0),
            real(0.0),
            real(MECHANICS.overhead),
        ),
    )


def crossover(data: xr.Dataset, scheduler: str, queue: int) -> xr.DataArray:
    """The write share above which striping (6x1x1) beats the SR-Array (3x2x1), for each seed; 1 where it never does."""
    rate = data.request_rate.sel(scheduler=scheduler, queue=queue)
    lead = rate.sel(layout="3x2x1") - rate.sel(layout="6x1x1")

    def crossing(values: np.ndarray, share: np.ndarray) -> float:
        behind = np.flatnonzero(values < 0)
        if len(behind) == 0:
            return 1.0
        first = int(behind[0])
        if first == 0:
            return 0.0
        return float(np.interp(0.0, values[first - 1 : first + 1][::-1], share[first - 1 : first + 1][::-1]))

    core = [["write_share"], ["write_share"]]
    return xr.apply_ufunc(crossing, lead, data.write_share, input_core_dims=core, vectorize=True).rename("crossover")


def _swept(build, axes: dict, effort: Effort) -> xr.Dataset:
    seeds = list(range(effort.first_seed, effort.first_seed + effort.seeds))
    # a mirrored write holds no slot after its answer, and the loop never more than its own requests
    data = sweep(build, axes, seeds=seeds, requests=effort.loop_requests, warm_up=effort.loop_requests // 5)
    return data.assign_attrs(paper="srarray", basis="simulated", locality=LOCALITY)
