"""Delayed propagation under a load that never lets the disks rest: section 3.4.

A closed loop of small requests to a few hot blocks of a 2 x 3 SR-Array: the foreground is never empty, so that a delayed
copy is written only where the table forces it, and blocks are overwritten before their copies are.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from storagekit.dispatch import NearestIdle
from storagekit.engine import Background, FirstCopy, NoLog, Runner, Scenario, System, pending, stack
from storagekit.metrics import Measurement
from storagekit.papers.srarray.system import QUICK, Effort, paper_drive
from storagekit.placement import SRMirror
from storagekit.schedule import RSATF
from storagekit.units import KB
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

REPLICAS = 3
DISKS = 6
OUTSTANDING = 24
SLOTS = 256
# addresses within so small a part of the array that a block is written again while its copies wait
HOT = 1 / 20_000


def delayed_writes(
    effort: Effort = QUICK, *, tables: Sequence[int] = (1, 8, 32, 128), hot: Sequence[float] = (HOT, 1.0)
) -> xr.Dataset:
    """Delayed writes by `table` (entries), `hot` (the share of the data that is asked for) and `seed`.

    `copies`: replicas written for each write answered; D_r of them if none is dropped and none is left. `pending`: the most
    entries in the table at any of the moments looked at. `recoverable`: the share of entries from which, at those
    moments, the table alone names a current replica and all that are not.
    """
    points = [(table, share) for table in tables for share in hot]
    scenarios = [_loop(table, share) for table, share in points]
    seeds = list(range(effort.first_seed, effort.first_seed + effort.seeds))
    stacked, keys = stack(scenarios, seeds)
    runner = Runner(stacked, keys, NoLog())
    accesses, answered = np.zeros(keys.shape[1]), np.zeros(keys.shape[1])
    most, sound = np.zeros(keys.shape[1]), np.ones(keys.shape[1])
    moments = 0
    while answered.min() < effort.loop_requests:
        tally, _ = runner.advance(4)
        moments += 1
        # a table that is filling is no steady state
        if moments > 2:
            accesses += tally.served.sum(axis=(0, 1))
            answered += (tally.reads + tally.writes)[:, 0].sum(axis=0)
        for lane in range(keys.shape[1]):
            table = pending(runner.run.state, stacked.system.placement, lane)
            settled = table.order > 0
            most[lane] = max(most[lane], int(settled.sum()))
            every = np.uint32(2**REPLICAS - 1)
            whole = (table.current != 0) & ((table.current ^ table.left) == every)
            sound[lane] = min(sound[lane], float(whole[settled].mean()) if settled.any() else 1.0)
    shape = (len(tables), len(hot), len(seeds))
    values = {"copies": accesses / answered, "pending": most, "recoverable": sound}
    return xr.Dataset(
        {name: (("table", "hot", "seed"), value.reshape(shape)) for name, value in values.items()},
        coords={"table": list(tables), "hot": list(hot), "seed": seeds},
        attrs={"paper": "srarray", "exhibit": "srarray.delayed_writes", "basis": "simulated", "moments": moments},
    )


def delayed_findings(data: xr.Dataset) -> list[Measurement]:
    """What section 3.4 promises; `tests/engine/test_delayed.py` holds it against a model of the disks' contents."""
    cold, hot = data.sel(hot=1.0), data.isel(hot=0)
    limits = data.table + DISKS + OUTSTANDING
    bounded = bool((cold.pending <= limits).all())
    forced = float(cold.copies.mean("seed").min())
    dropped = float(hot.copies.mean("seed").min())
    sound = float(data.recoverable.min())
    most = ", ".join(f"{int(table)}: {float(cold.pending.sel(table=table).max()):.0f}" for table in data.table)
    return [
        Measurement(
            "srarray.delayed_writes.table",
            forced,
            holds=bounded and forced > 0.95 * REPLICAS,
            note=f"replicas written a write while the foreground never rests, {REPLICAS} if all are; most entries by size of "
            f"table: {most}; tables up to 128 entries, the paper's 10,000 being a number like another",
        ),
        Measurement(
            "srarray.delayed_writes.discard",
            dropped,
            holds=dropped < forced,
            note=f"replicas written a write to hot blocks, {forced:.2f} to cold ones: the rest was overwritten in time",
        ),
        Measurement(
            "srarray.delayed_writes.recovery",
            sound,
            holds=sound == 1.0,
            note=f"share of entries from which the table alone completes the write, at {int(data.attrs['moments'])} moments",
        ),
    ]


def _loop(table: int, hot: float) -> Scenario:
    system = System(
        paper_drive(),
        SRMirror(DISKS // REPLICAS, REPLICAS),
        NearestIdle(),
        RSATF(),
        FirstCopy(),
        Background(table),
        drives=DISKS,
        slots=SLOTS,
    )
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(4 * KB), 0.0, 1 / hot), OUTSTANDING))
