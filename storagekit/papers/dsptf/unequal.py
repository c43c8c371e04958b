"""Bricks of unequal speed under the synthetic load: table 4, the sweep of its slow brick (section 5.2.1), what they show."""

from collections.abc import Sequence

import xarray as xr

from storagekit.core.provenance import made_jointly
from storagekit.core.units import KB
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.dsptf.brick_group import KEYS, QUICK, Effort
from storagekit.papers.dsptf.bricks import HALF, NAMES, SLOW, SLOWNESS, TARGETS, TWICE, Setting, dispatcher, pace
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.rows import Row, chosen, judging
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.simulation import interval, sweep
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import ReceivingBrick

SPEEDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
SLOTS = 48
FAST = 1 - SLOW
# "nearly unaffected" and "to match"
LEVEL, SAME = 0.9, 0.05


def table4(
    effort: Effort = QUICK,
    *,
    schemes: Sequence[Row] = NAMES,
    speeds: Sequence[float] = SPEEDS,
    slowness: Sequence[str] = tuple(SLOWNESS),
    read_share: float = 0.9,
    outstanding: int = 16,
) -> xr.Dataset:
    """Throughput of a fast and a slow replica (dimension `brick`, 0 and 1) under five schemes (table 4).

    schemes: those to run, and your own beside them, each a pair of a name and a dispatcher. speeds: what the slow one is said
    to have of the other's; the table has 0.5, which has all seeds, while the others have a quarter of them, and NaN.
    slowness: what that means, see `bricks.SLOWNESS`. Weighted hashing sends to the two in proportion to the speed that slow
    parts have (`bricks.pace`).
    """
    drive = load_drive("atlas10k")
    requests = RandomRequests(ExponentialSize(4 * KB), read_share)
    names, own = chosen(schemes, NAMES)

    def pair(scheme: str, speed: float, slowness: str) -> Scenario:
        system = System(
            drive,
            Replicas(2),
            dispatcher(Setting(scheme, slowness=slowness), 2, speed, own),
            SATF(),
            ReceivingBrick(),
            condition=FaultSchedule(Slowdown(SLOW, pace(slowness, speed)), **SLOWNESS[slowness]),
            drives=2,
            slots=SLOTS,
        )
        return Scenario(system, ClosedLoop(requests, outstanding))

    # long enough for LARD to have allocated its targets
    warm_up = max(effort.requests // 5, 4 * TARGETS)

    def swept(some: Sequence[float], seeds: int) -> xr.Dataset:
        return sweep(
            pair,
            {"scheme": names, "speed": list(some), "slowness": list(slowness)},
            seeds=effort.successive(seeds),
            requests=effort.requests + warm_up,
            warm_up=warm_up,
            allow_held_up=True,
        )

    # the table is judged by its values, the sweep by how they change, far beyond what a quarter of the runs leaves open
    judged = [speed for speed in speeds if speed == HALF]
    others = [speed for speed in speeds if speed != HALF]
    parts = [swept(some, seeds) for some, seeds in ((judged, effort.seeds), (others, effort.few)) if some]
    data = xr.concat(parts, "speed", join="outer", combine_attrs=made_jointly).sel(speed=list(speeds))
    return data.assign_attrs(paper="dsptf", exhibit="dsptf.table4")


@judging("scheme", KEYS.values())
def table4_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the rows of table 4 and of the sweep, judged where an access takes twice as long; notes give the others."""
    slowness = TWICE
    summary = interval(data).brick_throughput.sel(speed=HALF)
    others = [name for name in data.slowness.values.tolist() if name != slowness]
    found = []
    for label, brick in (("fast", FAST), ("slow", SLOW)):
        for key, scheme in KEYS.items():
            at = summary.sel(scheme=scheme, brick=brick)
            rest = ", ".join(f"{name} {float(at.sel(slowness=name, statistic='mean')):.0f}" for name in others)
            note = (
                "an access of the slow brick takes twice as long, because section 5.2.1 sends two of three requests to the "
                f"fast brick; by other meanings of half the speed: {rest}; the table's slow brick has seven tenths of the "
                "fast one's pace, which is nearer to 1.5 times as long (degraded)"
            )
            if key == "weighted_hash":
                note += "; shares of 2 to 1, and of 3 to 2 if degraded"
            found.append(with_interval(f"dsptf.table4.{label}[{key}]", at.sel(slowness=slowness), note))
    return [*found, _unaffected(data, slowness)]


def _unaffected(data: xr.Dataset, slowness: str) -> Measurement:
    """Whether the fast brick keeps its pace as the other slows, and under hashing falls to the slow one's."""
    # how far it was slowed is not said
    mean = data.brick_throughput.mean("seed").sel(speed=data.speed >= HALF)
    kept = mean.sel(brick=FAST) / mean.sel(brick=FAST, speed=1.0)
    least = {name: float(kept.sel(scheme=name, slowness=slowness).min()) for name in ("Central SPTF", "D-SPTF")}
    apart = abs(mean.sel(brick=FAST) / mean.sel(brick=SLOW) - 1).sel(scheme="Hashing", slowness=slowness).max()
    at = ", ".join(
        f"{speed:g}: {float(kept.sel(scheme='D-SPTF', slowness=slowness, speed=speed)):.2f}"
        for speed in mean.speed.values.tolist()
        if speed < 1
    )
    turning = float(kept.sel(scheme="D-SPTF").sel(slowness="rotation").min()) if "rotation" in data.slowness else None
    return Measurement(
        "dsptf.table4.fast_unaffected",
        all(value >= LEVEL for value in least.values()) and float(apart) <= SAME,
        note="what the fast brick keeps of its throughput under D-SPTF by the slow one's speed (at 0.5 an "
        f"access takes twice as long): {at}; under hashing the two differ by {float(apart):.1%} at most; judged at "
        f"{LEVEL:.0%} down to that"
        + ("" if turning is None else f"; if only the platter slows, at least {turning:.2f}")
        + "; writes, a tenth of the requests, go to both bricks, and the loop waits for them",
    )
