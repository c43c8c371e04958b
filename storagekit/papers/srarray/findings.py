"""What the exhibits on one disk, and the loops, show, claim by claim (ids of data/claims/srarray.yaml)."""

import numpy as np
import xarray as xr

from storagekit.metrics import Measurement, interval, ratio, with_interval
from storagekit.papers.srarray.loops import crossover
from storagekit.units import HOUR, US

TRACKING = (
    "Monte Carlo of a predictor with assumed noise: time stamps late by 30 us on average, spindles wandering 0.2 ppm in two "
    "minutes, seeks within 30 us; the paper gives none of these"
)
QUANTITIES = {
    "gb": ("data_size", 1e9),
    "ios": ("requests", 1.0),
    "hours": ("duration", HOUR),
    "rate": ("rate", 1.0),
    "reads": ("read_share", 1.0),
    "async_writes": ("asynchronous_write_share", 1.0),
    "seek_locality": ("seek_locality", 1.0),
    "read_after_write": ("read_after_write_share", 1.0),
}
CONSTANT_OVERHEAD = (
    "the overhead of 2.7 ms that the model charges every access has the transfer of 8 KB and the settling of an average seek "
    "in it, while these requests have 512 bytes and short seeks settle faster"
)
COLUMNS = {"cello_base": "Cello base", "cello_disk6": "Cello disk 6", "tpcc": "TPC-C"}


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


def table2_findings(data: xr.Dataset) -> list[Measurement]:
    """Table 2 and section 3.2, at the slack that the feedback loop keeps, the nearest whole one."""
    kept = float(data.kept_slack)
    row = data.sel(slack=max(1.0, round(kept)), method="nearest")
    at = f"slack of {float(row.slack):.0f} sectors (the paper's is not given); {TRACKING}"
    others = ", ".join(f"{float(m):.2%} at {float(s):.0f}" for s, m in zip(data.slack, data.misses, strict=True))
    within = ", ".join(f"{float(w):.1%} at {float(s):.0f} s" for s, w in zip(data.interval, data.within, strict=True))
    return [
        Measurement("srarray.table2.misses", float(row.misses), note=f"misses by slack: {others}; {at}"),
        Measurement("srarray.table2.mean_error", float(row.mean_error) / US, note=f"zero by construction; {at}"),
        Measurement("srarray.table2.sd_error", float(row.sd_error) / US, note=at),
        Measurement(
            "srarray.table2.access",
            float(row.access) / US,
            note=f"seek without settling, rotation, transfer and stamp delay; no command overhead; {at}",
        ),
        Measurement("srarray.table2.demerit", float(row.demerit) / US, note=at),
        Measurement("srarray.table2.demerit_share", float(row.demerit_share), note=at),
        Measurement(
            "srarray.head.recalibration",
            float(data.within.sel(interval=120)),
            note=f"within 1% of a turn, by interval: {within}; {TRACKING}",
        ),
        Measurement(
            "srarray.head.slack",
            float(data.on_target),
            holds=bool(data.on_target > 0.99),
            note=f"feedback keeps a slack of {kept:.1f} sectors",
        ),
    ]


def table3_findings(data: xr.Dataset) -> list[Measurement]:
    """Table 3 of the stand-ins, which are made to match it."""
    found = []
    for key, workload in COLUMNS.items():
        for name, (quantity, unit) in QUANTITIES.items():
            measured = float(data.measured.sel(workload=workload, quantity=quantity)) / unit
            hours = float(data.hours.sel(workload=workload))
            note = f"the stand-in is made to match; {hours:.3g} hours of it generated"
            if name == "read_after_write" and hours < 1.5:
                note, measured = f"{note}: too few for what an hour re-reads; profile full takes the whole", None
            found.append(Measurement(f"srarray.table3.{key}[{name}]", measured, basis="stand-in", note=note))
    return found


def fig12_findings(data: xr.Dataset) -> list[Measurement]:
    """Figure 12: random reads against the number of disks."""
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
        f"{scheme} {float(growth.sel(scheme=scheme, queue=few).mean('seed')):.1f}x"
        for scheme in ("SR-Array", "RAID-10", "Striping")
        if np.isfinite(growth.sel(scheme=scheme).mean())
    )
    told = "; ".join(
        f"{scheme}: {float(gap.sel(queue=few)):.2f} at {few}, {float(gap.sel(queue=many)):.2f} at {many}"
        for scheme, gap in gaps.items()
    )
    return [
        Measurement("srarray.fig12.scales", best, note=f"fastest at {most} disks; from 1 disk, queue {few}: {grown}"),
        tracks("srarray.fig12.model", apart, "equation 16 over the simulated RLOOK array less 1", CONSTANT_OVERHEAD),
        Measurement("srarray.fig12.narrows", narrower, note=f"SR-Array over the others at {most} disks: {told}"),
    ]


def fig13_findings(data: xr.Dataset) -> list[Measurement]:
    """Figure 13: foreground writes on six disks."""
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
    said = ", ".join(f"{scheduler} {share:.2f} at {queue}" for (scheduler, queue), share in mean.items())
    look = crossing["RLOOK", few]
    left = all(mean["RSATF", queue] < mean["RLOOK", queue] for queue in (few, many))
    apart = (data.model / data.request_rate.sel(scheduler="RLOOK") - 1).mean("seed")
    return [
        Measurement("srarray.fig13.raid10_worst", worst, note="3x1x2 lowest of the three from a write share of 0.4 up"),
        Measurement(
            "srarray.fig13.striping",
            bool(1 - fall < (1 - others) / 2),
            note="less than half of what the others lose: with writes alone it keeps at least "
            f"{float(fall):.2f} of its reads' throughput, the others at most {float(others):.2f}",
        ),
        with_interval(
            "srarray.fig13.crossover_rlook",
            look,
            f"crossings: {said}",
            holds=bool(max(mean["RLOOK", few], mean["RLOOK", many]) < 0.5),
        ),
        Measurement(
            "srarray.fig13.crossover_rsatf",
            left and mean["RSATF", many] < mean["RSATF", few],
            note=f"crossings: {said}",
        ),
        tracks(
            "srarray.fig13.model",
            apart.drop_sel(layout="3x1x2"),
            "equation 16 over the simulated RLOOK arrays 3x2x1 and 6x1x1 less 1 (RAID-10, by D_r x D_m, worst "
            f"{float(abs(apart.sel(layout='3x1x2')).max()):.0%})",
            CONSTANT_OVERHEAD,
        ),
    ]


def tracks(
    claim: str, apart: xr.DataArray, what: str, why: str, basis: str = "simulated", within: float = 0.15
) -> Measurement:
    """Whether a model follows a measurement: relative errors `apart` within 15% (the scorecard's "near") at every point.

    what, why: what is compared, and why it differs, in words.
    """
    worst, mean = float(abs(apart).max()), float(apart.mean())
    note = f"{what}: mean {mean:+.1%}, worst {worst:.1%}; {why}"
    return Measurement(claim, worst, basis=basis, note=note, holds=worst <= within)


def paired(numerator: xr.DataArray, denominator: xr.DataArray) -> xr.DataArray:
    """Ratio over the windows with its interval."""
    return ratio(numerator.drop_vars("layout", errors="ignore"), denominator.drop_vars("layout", errors="ignore"))
