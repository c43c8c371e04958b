"""Bricks of unequal speed under the synthetic load: table 4, and the sweep of the slow one's speed (section 5.2.1)."""

from collections.abc import Sequence

import xarray as xr

from storagekit.drive import load_drive
from storagekit.engine import Condition, ReceivingBrick, Scenario, Spell, System
from storagekit.metrics import sweep
from storagekit.papers.dsptf.bricks import NAMES, SLOW, SLOWNESS, TARGETS, Setting, dispatcher
from storagekit.papers.dsptf.exhibits import QUICK, Effort
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.units import KB
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests

SPEEDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
SLOTS = 48


def table4(
    effort: Effort = QUICK,
    *,
    speeds: Sequence[float] = SPEEDS,
    slowness: Sequence[str] = tuple(SLOWNESS),
    read_share: float = 0.9,
    outstanding: int = 16,
) -> xr.Dataset:
    """Throughput of a fast and a slow replica (dimension `brick`, 0 and 1) under five schemes (table 4).

    speeds: of the slow one; the table has 0.5. slowness: what "half the speed" concerns, see `bricks.SLOWNESS`. Weighted
    hashing sends to the two in proportion to their speeds.
    """
    drive = load_drive("atlas10k")
    requests = RandomRequests(ExponentialSize(4 * KB), read_share)

    def pair(scheme: str, speed: float, slowness: str) -> Scenario:
        system = System(
            drive,
            Replicas(2),
            dispatcher(Setting(scheme), 2, (1 / speed, 1.0)),
            SATF(),
            ReceivingBrick(),
            condition=Condition(Spell(SLOW, speed), **SLOWNESS[slowness]),
            drives=2,
            slots=SLOTS,
        )
        return Scenario(system, ClosedLoop(requests, outstanding))

    axes = {"scheme": list(NAMES), "speed": list(speeds), "slowness": list(slowness)}
    # long enough for LARD to have allocated its targets
    warm_up = max(effort.requests // 5, 4 * TARGETS)
    data = sweep(
        pair,
        axes,
        seeds=effort.seed_list,
        requests=effort.requests + warm_up,
        warm_up=warm_up,
        allow_held_up=True,
    )
    return data.assign_attrs(paper="dsptf", exhibit="dsptf.table4")
