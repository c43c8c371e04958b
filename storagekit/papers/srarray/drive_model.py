"""The drive model beside DiskSim and beside measured drives, and what that shows: figure 5."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from storagekit.dispatch import Hashing
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.metrics import Measurement, interval, sweep
from storagekit.metrics.measured_drive import Controller, measured_stream
from storagekit.papers.srarray.disk import QUICK, ArrayEffort
from storagekit.placement import Replicas
from storagekit.resources import data_path, real_traces
from storagekit.schedule import FCFS, LOOK, SATF, ByNumber
from storagekit.units import KB, MS
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
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


def fig5(effort: ArrayEffort = QUICK, *, depths: Sequence[int] = (1, 2, 4, 8, 16)) -> xr.Dataset:
    """Throughput of our model and of DiskSim 4.0 on one Atlas 10K, by `policy` and `depth` (in place of figure 5).

    Variables `ours` [policy, depth, statistic] and `reference` [policy, depth], requests a second; NaN where DiskSim was not
    run.
    """
    requests = RandomRequests(FixedSize(4 * KB), 1.0)
    drive = load_drive("atlas10k")

    def disk(policy: int, depth: int) -> Scenario:
        schedule = ByNumber((FCFS(), LOOK(), SATF()), policy)
        return Scenario(
            System(drive, Replicas(1), Hashing(), schedule, drives=1, slots=16), ClosedLoop(requests, depth)
        )

    seeds = effort.seed_list
    axes = {"policy": range(len(POLICIES)), "depth": list(depths)}
    data = sweep(disk, axes, seeds=seeds, requests=5 * effort.loop_requests)
    known = disksim()
    reference = [[known.get((name, depth), np.nan) for depth in depths] for name in POLICIES.values()]
    found = xr.Dataset({"ours": interval(data).throughput, "reference": (("policy", "depth"), reference)})
    return found.assign_coords(policy=list(POLICIES)).assign_attrs(data.attrs, paper="srarray", exhibit="srarray.fig5")


def measured_drives(folder: str | Path = "") -> dict[str, float]:
    """The demerit (seconds) of our drives against streams measured on real ones, where `real_traces(folder)` has them."""
    found = {}
    for name, (file, controller) in STREAMS.items():
        path = real_traces(folder) / "disksim-valid" / file
        if path.exists():
            stream = measured_stream(read(path), load_drive(name), controller)
            found[name] = float(stream.demerit)
    return found


def fig5_findings(data: xr.Dataset, demerits: dict[str, float] | None = None) -> list[Measurement]:
    """Figure 5 with DiskSim in the prototype's place. demerits: seconds, of measured drives, where there are any."""
    apart = abs(data.ours.sel(statistic="mean") / data.reference - 1)
    worst = float(apart.max())
    where = apart.where(apart == apart.max(), drop=True)
    drives = "; ".join(f"{name}: {seconds * 1e3:.3f} ms" for name, seconds in (demerits or {}).items())
    note = (
        f"against DiskSim 4.0 on an Atlas 10K, worst at {where.policy.values[0]!s}, {int(where.depth.values[0])} outstanding"
        + (f"; demerit against random reads measured on drives: {drives}" if drives else "")
    )
    return [Measurement("srarray.fig5.discrepancy", worst, note=note, holds=worst < 0.03)]
