"""The exhibits that need no array: the witnesses of the drive model, the head tracking, the stand-ins."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from storagekit.analytic.headtracking import Access, HeadTracking, accuracy, adjust_slack, confidence, prediction_error
from storagekit.dispatch import Hashing
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.metrics import interval, sweep
from storagekit.metrics.measured_drive import Controller, measured_stream
from storagekit.papers.srarray.system import QUICK, WORKLOADS, Effort
from storagekit.placement import Replicas
from storagekit.resources import data_path, real_traces
from storagekit.schedule import FCFS, LOOK, SATF, OneOf
from storagekit.units import HOUR, KB, MS
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.workload.standin import compare
from storagekit.workload.trace import read

# DiskSim's names for them
POLICIES = {"FCFS": "FCFS", "LOOK": "ELEVATOR_LBN", "SPTF": "SPTF_OPT"}
# measured streams of a folder of real traces, and DiskSim 4.0's parameters of what stands before the mechanics: a sector's
# time on the bus, the overheads of a read miss after a read and after a write
STREAMS = {
    "atlas10k": ("atlas10k.trace.xz", Controller(0.099 * MS)),
    "cheetah9lp": ("cheetah9LP.trace.xz", Controller(0.105 * MS, 0.28362 * MS, 0.08673 * MS)),
}


def disksim() -> dict[tuple[str, int], float]:
    """DiskSim 4.0's throughput on the Atlas 10K by policy and requests outstanding (data/reference)."""
    with data_path("reference", "disksim_atlas10k.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] == "closed"]
    return {(row["policy"], int(row["pending_N"])): float(row["throughput_iops"]) for row in rows}


def fig5(effort: Effort = QUICK, *, depths: Sequence[int] = (1, 2, 4, 8, 16)) -> xr.Dataset:
    """Throughput of our model and of DiskSim 4.0 on one Atlas 10K, by `policy` and `depth` (in place of figure 5).

    Variables `ours` [policy, depth, statistic] and `reference` [policy, depth], requests a second; NaN where DiskSim was not
    run.
    """
    requests = RandomRequests(FixedSize(4 * KB), 1.0)
    drive = load_drive("atlas10k")

    def disk(policy: int, depth: int) -> Scenario:
        schedule = OneOf((FCFS(), LOOK(), SATF()), policy)
        return Scenario(
            System(drive, Replicas(1), Hashing(), schedule, drives=1, slots=16), ClosedLoop(requests, depth)
        )

    seeds = list(range(effort.first_seed, effort.first_seed + effort.seeds))
    axes = {"policy": range(len(POLICIES)), "depth": list(depths)}
    data = sweep(disk, axes, seeds=seeds, requests=5 * effort.loop_requests)
    known = disksim()
    reference = [[known.get((name, depth), np.nan) for depth in depths] for name in POLICIES.values()]
    found = xr.Dataset({"ours": interval(data).throughput, "reference": (("policy", "depth"), reference)})
    return found.assign_coords(policy=list(POLICIES)).assign_attrs(data.attrs, paper="srarray", exhibit="srarray.fig5")


def table2(
    effort: Effort = QUICK,
    *,
    intervals: Sequence[float] = (30.0, 60.0, 120.0, 240.0, 480.0),
    slacks: Sequence[float] = (0.0, 1.0, 2.0, 3.0, 4.0),
) -> xr.Dataset:
    """The head-position predictor by Monte Carlo: section 3.2 and table 2.

    `within` [interval]: share of predictions within 1% of a turn when recalibrated every so many seconds. By `slack`
    (sectors): `misses`, and in seconds `mean_error`, `sd_error`, `demerit`; `demerit_share` of the access time. `kept_slack`
    and `on_target`: where the feedback loop ends up.
    """
    seed, count = effort.first_seed, 40 * effort.loop_requests
    tracked = [HeadTracking(interval=seconds) for seconds in intervals]
    within = [float(confidence(prediction_error(model, count, seed=seed))) for model in tracked]
    default, access = HeadTracking(), Access()
    found = [accuracy(default, access, slack, count, seed=seed) for slack in slacks]
    kept = adjust_slack(default, access, 0.0, seed=seed)
    by_slack = {
        "misses": [one.misses for one in found],
        "mean_error": [one.mean_error for one in found],
        "sd_error": [one.sd_error for one in found],
        "access": [one.access_time for one in found],
        "demerit": [one.demerit for one in found],
        "demerit_share": [one.demerit_share for one in found],
    }
    data = xr.Dataset(
        {"within": ("interval", within)}
        | {name: ("slack", [float(value) for value in values]) for name, values in by_slack.items()}
        | {"kept_slack": float(np.asarray(kept.sectors).ravel()[-1]), "on_target": float(np.mean(kept.on_target))},
        coords={"interval": list(intervals), "slack": list(slacks)},
    )
    return data.assign_attrs(paper="srarray", exhibit="srarray.table2", seed=seed, samples=count, basis="simulated")


def table3(effort: Effort = QUICK, *, hours: float | None = None) -> xr.Dataset:
    """The stand-ins beside table 3: `target` and `measured` by `workload` and `quantity`, SI units.

    hours: how much of each is generated, at most all of it; by default a tenth in quick, the whole in full. Counts of a part
    are scaled to the whole.
    """
    rows, generated = {}, []
    for name, model in WORKLOADS.items():
        part = hours if hours is not None else (np.inf if effort.requests >= 2_500 else model.duration / HOUR / 10)
        stop = min(part * HOUR, model.duration)
        compared = compare(model, model.generate(seed=effort.first_seed, stop=stop))
        whole = model.duration / stop
        generated.append(stop / HOUR)
        rows[name] = {
            quantity: (one.target, one.measured * (whole if quantity in ("requests", "duration") else 1.0))
            for quantity, one in compared.items()
        }
    quantities = list(next(iter(rows.values())))
    values = np.array([[rows[name][quantity] for quantity in quantities] for name in rows])
    return xr.Dataset(
        {"target": (("workload", "quantity"), values[..., 0]), "measured": (("workload", "quantity"), values[..., 1])}
        | {"hours": ("workload", generated)},
        coords={"workload": list(rows), "quantity": quantities},
    ).assign_attrs(paper="srarray", exhibit="srarray.table3", seed=effort.first_seed, basis="stand-in")


def measured_drives(folder: str | Path = "") -> dict[str, float]:
    """The demerit (seconds) of our drives against streams measured on real ones, where `real_traces(folder)` has them."""
    found = {}
    for name, (file, controller) in STREAMS.items():
        path = real_traces(folder) / "disksim-valid" / file
        if path.exists():
            stream = measured_stream(read(path), load_drive(name), controller)
            found[name] = float(stream.demerit)
    return found
