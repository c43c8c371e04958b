"""Throughput with a constant number of small requests outstanding: figures 12 and 13 (section 4.2)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from storagekit.analytic.array import equations
from storagekit.core.units import SECTOR
from storagekit.dispatch import NearestIdle
from storagekit.drive import Drive
from storagekit.engine import Scenario, System
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.srarray.agreement import tracks
from storagekit.papers.srarray.disk import FORMULAS_DRIVE, QUICK, ArrayEffort, loop_overhead, paper_drive
from storagekit.placement import SRMirror
from storagekit.plan import Layout, MaxThroughput
from storagekit.plan.sr_array import array
from storagekit.schedule import RLOOK, RSATF, ScheduleSwitch
from storagekit.simulation import interval, sweep
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

CONSTANT_OVERHEAD = (
    "In equation 16 every access has an overhead of 2.7 ms minus the transfer time of 7.5 KB, because a request has "
    "512 bytes instead of 8 KB. This overhead includes the settling of an average seek, but short seeks settle faster."
)
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
    """Return a closed loop of requests of 512 bytes on an array, with a seek locality of 3 (section 4.2).

    Parameters
    ----------
    name : str
        The layout, as in "2x3x1".
    queue : int
        Number of requests outstanding in the whole array.
    write_share : float
        Share of writes, 0 to 1.
    scheduler : str
        A name of `SCHEDULERS`.
    drive : Drive, optional
        Drive of all disks, by default `paper_drive()`.
    drives, slots : int
        The largest number of disks and of outstanding requests, by default 12 and 64. Scenarios with equal values share
        a compiled program.

    Returns
    -------
    Scenario
        The array and the loop.
    """
    shape = Layout.parse(name)
    placement = SRMirror(shape.striping, shape.replicas, shape.mirrors)
    schedule = ScheduleSwitch((RSATF(), RLOOK()), SCHEDULERS.index(scheduler))
    system = System(drive or paper_drive(), placement, NearestIdle(), schedule, drives=drives, slots=slots)
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(SECTOR), 1 - write_share, LOCALITY), queue))


def recommended_for_queue(disks: int, queue: int, write_share: float = 0.0) -> str:
    """Return the SR-Array layout that the paper's rule gives for a number of outstanding requests.

    Parameters
    ----------
    disks : int
        Number of disks.
    queue : int
        Number of requests outstanding in the whole array.
    write_share : float
        Share of writes, 0 to 1, by default 0.

    Returns
    -------
    str
        The layout, as in "2x3x1".

    Notes
    -----
    The rule is equation 13, or equation 10 if there are up to 3 outstanding requests for each disk.

    References
    ----------
    srarray, equations 10 and 13.
    """
    answer = array(
        FORMULAS_DRIVE,
        disks,
        read_share=1 - write_share,
        queue=queue / disks,
        locality=LOCALITY,
        objective=MaxThroughput(),
    )
    assert answer.paper is not None
    return str(answer.paper.layout)


def modelled_rate(name: str, queue: int, write_share: float) -> float:
    """Return the throughput of an array by equations 15 and 16, requests a second.

    Parameters
    ----------
    name : str
        The layout, as in "2x3x1".
    queue : int
        Q, the number of requests outstanding in the whole array.
    write_share : float
        w, the share of writes, 0 to 1.

    Returns
    -------
    float
        Requests a second.

    Notes
    -----
        T_read = T(D_s, D_r D_m, p=1)
        T_write = D_m (T_o + T(D_s, D_r, p=0)) - T_o
        N_1 = 1 / (T_o + (1 - w) T_read + w T_write)
        N_D = D (1 - (1 - 1/D)^Q) N_1

    T is the service time that `rlook_service` returns for Q / D requests for each disk, and T_o is `loop_overhead`. D
    is the number of disks, and the layout is D_s x D_r x D_m. A read has a choice of D_r D_m replicas (section 2.5). A
    write takes an access with a seek on each of D_m disks (section 4.2), and writes D_r copies in each access. N_1 is
    the throughput of one disk, and N_D the throughput of the array.

    References
    ----------
    srarray, equations 15 and 16, sections 2.5 and 4.2.
    """
    shape = Layout.parse(name)
    disks = shape.disks

    def service(replicas: int, read_share: float) -> float:
        drive = FORMULAS_DRIVE.full_seek, FORMULAS_DRIVE.revolution
        return equations.rlook_service(*drive, shape.striping, replicas, read_share, queue / disks, LOCALITY)

    overhead = loop_overhead()
    reads = service(shape.replicas * shape.mirrors, 1.0)
    writes = shape.mirrors * (overhead + service(shape.replicas, 0.0)) - overhead
    one = equations.disk_throughput(overhead, (1 - write_share) * reads + write_share * writes)
    return float(equations.array_throughput(disks, queue, one))


def fig12(effort: ArrayEffort = QUICK, *, disks: Sequence[int] = DISKS, queues: Sequence[int] = QUEUES) -> xr.Dataset:
    """Return the throughput of random reads for each number of disks (figure 12).

    Parameters
    ----------
    effort : ArrayEffort
        Number and length of the runs.
    disks : sequence of int
        Numbers of disks.
    queues : sequence of int
        Numbers of requests outstanding in the whole array, by default 8 and 32.

    Returns
    -------
    Dataset
        `request_rate`, over `scheme`, `disks`, `queue` and `seed`: requests a second; NaN for RAID-10 on an odd number
        of disks. `model`, over `disks` and `queue`: requests a second by equation 16. `layout`, over `disks` and
        `queue`: layout of the SR-Array.

    References
    ----------
    srarray, figure 12.
    """
    names = {(count, queue): recommended_for_queue(count, queue) for count in disks for queue in queues}

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
    some = swept(satf, {"scheme": schemes, **grid}, effort)
    look = swept(rlook, grid, effort).expand_dims(scheme=["SR-Array, RLOOK"])
    data = xr.concat([some, look], dim="scheme", combine_attrs="override")
    # RAID-10 needs an even number of disks.
    odd = (data.scheme == "RAID-10") & (data.disks % 2 == 1)
    data["request_rate"] = data.request_rate.where(~odd)
    data["model"] = (
        ("disks", "queue"),
        [[modelled_rate(names[count, queue], queue, 0.0) for queue in queues] for count in disks],
        {"units": "1/s", "long_name": "requests per second by equation 16"},
    )
    data["layout"] = (("disks", "queue"), [[names[count, queue] for queue in queues] for count in disks])
    return data.assign_attrs(exhibit="srarray.fig12")


def fig13(
    effort: ArrayEffort = QUICK,
    *,
    write_shares: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    queues: Sequence[int] = QUEUES,
) -> xr.Dataset:
    """Return the throughput of six disks for each fraction of foreground writes (figure 13).

    Parameters
    ----------
    effort : ArrayEffort
        Number and length of the runs.
    write_shares : sequence of float
        Shares of writes, 0 to 1.
    queues : sequence of int
        Numbers of requests outstanding in the whole array, by default 8 and 32.

    Returns
    -------
    Dataset
        `request_rate`, in requests a second, over `layout`, `queue`, `write_share`, `scheduler` and `seed`. `model` is
        the rate by equation 16, over `layout`, `queue` and `write_share`.

    References
    ----------
    srarray, figure 13.
    """

    def point(layout: str, queue: int, write_share: float, scheduler: str) -> Scenario:
        return loop(layout, queue, write_share, scheduler)

    axes = {
        "layout": list(FIG13_LAYOUTS),
        "queue": list(queues),
        "write_share": list(write_shares),
        "scheduler": list(SCHEDULERS),
    }
    data = swept(point, axes, effort)
    data["model"] = (
        ("layout", "queue", "write_share"),
        [[[modelled_rate(n, q, w) for w in write_shares] for q in queues] for n in FIG13_LAYOUTS],
        {"units": "1/s", "long_name": "requests per second by equation 16"},
    )
    return data.assign_attrs(exhibit="srarray.fig13")


def crossover(data: xr.Dataset, scheduler: str, queue: int) -> xr.DataArray:
    """Return the fraction of writes above which striping (6x1x1) is faster than the SR-Array (3x2x1).

    Parameters
    ----------
    data : Dataset
        Result of `fig13`.
    scheduler : str
        A name of `SCHEDULERS`.
    queue : int
        Number of requests outstanding in the whole array.

    Returns
    -------
    DataArray
        Write share, 0 to 1, over `seed`; 1 if striping is never faster.
    """
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


def swept(build, axes: dict, effort: ArrayEffort) -> xr.Dataset:
    """Return the measures of a closed loop at every point of a grid.

    Parameters
    ----------
    build : callable
        Returns the scenario of a point. Its arguments are the names of `axes`.
    axes : dict of str to list
        Values on each axis.
    effort : ArrayEffort
        Number and length of the runs.

    Returns
    -------
    Dataset
        The measures over the axes and `seed`.
    """
    seeds = effort.seed_list
    # A mirrored write releases its slot when it completes, and a loop never has more requests than its queue. So no
    # request waits for a slot.
    data = sweep(build, axes, seeds=seeds, requests=effort.loop_requests, warm_up=effort.loop_requests // 5)
    return data.assign_attrs(paper="srarray", basis="simulated", locality=LOCALITY)


def fig12_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 12, on the throughput of random reads.

    Parameters
    ----------
    data : Dataset
        Result of `fig12`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.fig12`.

    References
    ----------
    srarray, figure 12 and section 4.2.
    """
    rate = data.request_rate
    most = int(data.disks.max())
    growth = rate.sel(disks=most) / rate.sel(disks=int(data.disks.min()))
    fastest = rate.sel(disks=most).mean("seed")
    best = all(
        str(fastest.sel(queue=queue).idxmax("scheme").item()) == "SR-Array" for queue in data["queue"].values.tolist()
    )
    gaps = {
        scheme: (rate.sel(scheme="SR-Array", disks=most) / rate.sel(scheme=scheme, disks=most)).mean("seed")
        for scheme in ("Striping", "RAID-10")
    }
    few, many = (int(queue) for queue in sorted(data["queue"].values))
    narrower = all(float(gap.sel(queue=many)) < float(gap.sel(queue=few)) for gap in gaps.values())
    apart = (data.model / rate.sel(scheme="SR-Array, RLOOK") - 1).mean("seed")
    grown = ", ".join(
        f"{scheme} {float(growth.sel(scheme=scheme, queue=few).mean('seed')):.1f}"
        for scheme in ("SR-Array", "RAID-10", "Striping")
        if np.isfinite(growth.sel(scheme=scheme).mean())
    )
    text = " ".join(
        f"For {scheme}, the ratio is {float(gap.sel(queue=few)):.2f} with {few} requests outstanding, and "
        f"{float(gap.sel(queue=many)):.2f} with {many}."
        for scheme, gap in gaps.items()
    )
    return [
        Measurement(
            "srarray.fig12.scales",
            best,
            note=(
                f"The claim holds if the SR-Array is the fastest scheme with {most} disks. From 1 to {most} disks, "
                f"with {few} outstanding requests, the throughput grows by these factors: {grown}."
            ),
        ),
        tracks(
            "srarray.fig12.model", apart, "equation 16, compared with the simulated RLOOK array,", CONSTANT_OVERHEAD
        ),
        Measurement(
            "srarray.fig12.narrows",
            narrower,
            note=(
                f"A ratio is the throughput of the SR-Array divided by the throughput of another scheme, with {most} "
                f"disks. The claim holds if the ratios are smaller with more requests outstanding. {text}"
            ),
        ),
    ]


def fig13_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 13, on foreground writes on six disks.

    Parameters
    ----------
    data : Dataset
        Result of `fig13`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.fig13`.

    References
    ----------
    srarray, figure 13 and section 4.2.
    """
    rate = data.request_rate.mean("seed")
    high = rate.sel(write_share=slice(0.4, None))
    worst = bool((high.sel(layout="3x1x2") <= high.min("layout") * (1 + 1e-9)).all())
    fall = (rate.sel(layout="6x1x1", write_share=1.0) / rate.sel(layout="6x1x1", write_share=0.0)).min()
    others = (rate.sel(write_share=1.0) / rate.sel(write_share=0.0)).drop_sel(layout="6x1x1").max()
    few, many = (int(queue) for queue in sorted(data["queue"].values))
    crossing = {
        (scheduler, queue): interval(crossover(data, scheduler, queue).to_dataset())["crossover"]
        for scheduler in ("RLOOK", "RSATF")
        for queue in (few, many)
    }
    mean = {point: float(row.sel(statistic="mean")) for point, row in crossing.items()}
    said = ", ".join(
        f"{share:.2f} under {scheduler} with {queue} outstanding" for (scheduler, queue), share in mean.items()
    )
    look = crossing["RLOOK", few]
    left = all(mean["RSATF", queue] < mean["RLOOK", queue] for queue in (few, many))
    apart = (data.model / data.request_rate.sel(scheduler="RLOOK") - 1).mean("seed")
    return [
        Measurement(
            "srarray.fig13.raid10_worst",
            worst,
            note="The claim holds if 3x1x2 is the slowest of the three layouts at write fractions of at least 0.4.",
        ),
        Measurement(
            "srarray.fig13.striping",
            bool(1 - fall < (1 - others) / 2),
            note=(
                "The claim holds if the relative loss of throughput from reads only to writes only is less than half "
                "as large for striping as for the other two layouts. The throughput with writes only divided by the "
                f"throughput with reads only is at least {float(fall):.2f} for striping, and at most "
                f"{float(others):.2f} for the other layouts."
            ),
        ),
        with_interval(
            "srarray.fig13.crossover_rlook",
            look,
            "The claim holds if, with either number of outstanding requests, striping overtakes 3x2x1 under RLOOK at a "
            f"write fraction below 0.5. The fractions are {said}.",
            holds=bool(max(mean["RLOOK", few], mean["RLOOK", many]) < 0.5),
        ),
        Measurement(
            "srarray.fig13.crossover_rsatf",
            left and mean["RSATF", many] < mean["RSATF", few],
            note="The claim holds if striping overtakes 3x2x1 at a lower write fraction under RSATF than under RLOOK, "
            "and, under RSATF, at a lower write fraction with more outstanding requests. The fractions are "
            f"{said}.",
        ),
        tracks(
            "srarray.fig13.model",
            apart,
            "equation 16, compared with the simulated RLOOK arrays,",
            "The largest errors by layout are "
            + ", ".join(f"{name} {float(abs(apart.sel(layout=name)).max()):.0%}" for name in apart.layout.values)
            + f". A write to 3x1x2 takes two seeks. {CONSTANT_OVERHEAD}",
        ),
    ]
