"""Bricks of unequal speed under the synthetic load: table 4, and the slow brick at other speeds (section 5.2.1)."""

from collections.abc import Sequence

import xarray as xr

from storagekit.core.provenance import made_jointly
from storagekit.core.units import KB
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.dsptf.brick_group import QUICK, Effort
from storagekit.papers.dsptf.bricks import HALF, NAMES, SLOWNESS, TARGETS, TWICE, Setting, dispatcher, pace
from storagekit.papers.dsptf.claims import FAST, SLOW, TABLE4
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.rows import Row, chosen, judging
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.simulation import interval, sweep
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import ReceivingBrick

SPEEDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
SLOTS = 48
# Smallest fraction of the throughput that counts as nearly unaffected, and largest relative difference of a match.
LEVEL, SAME = 0.9, 0.05


def table4(
    effort: Effort = QUICK,
    *,
    scheme: Sequence[Row] = NAMES,
    speed: Sequence[float] = SPEEDS,
    slowness: Sequence[str] = tuple(SLOWNESS),
    read_share: float = 0.9,
    outstanding: int = 16,
) -> xr.Dataset:
    """Return the throughput of a fast and a slow replica under five schemes (table 4).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    scheme : sequence
        Names of schemes, and pairs of a name and a dispatcher of your own.
    speed : sequence of float
        Nominal speeds of the slow brick, as fractions of the other brick's speed. The table has 0.5.
    slowness : sequence of str
        What a nominal speed means, names of `bricks.SLOWNESS`.
    read_share : float
        Share of reads, by default 0.9.
    outstanding : int
        Number of requests outstanding, by default 16.

    Returns
    -------
    Dataset
        `brick_throughput` and further measures over `scheme`, `speed`, `slowness`, `brick` (0 and 1) and `seed`. For
        speeds other than 0.5 a quarter of the seeds is run, and the values of the other seeds are NaN.

    Raises
    ------
    InputError
        If a scheme is unknown.

    Notes
    -----
    Weighted hashing distributes the requests in proportion to the speeds of the bricks, as `bricks.pace` returns them.
    """
    drive = load_drive("atlas10k")
    requests = RandomRequests(ExponentialSize(4 * KB), read_share)
    names, own = chosen(scheme, NAMES)

    def pair(scheme: str, speed: float, slowness: str) -> Scenario:
        system = System(
            drive,
            Replicas(2),
            dispatcher(Setting(scheme, slowness=slowness), 2, speed, own),
            SATF(),
            ReceivingBrick(),
            faults=FaultSchedule(Slowdown(SLOW, pace(slowness, speed)), **SLOWNESS[slowness]),
            drives=2,
            slots=SLOTS,
        )
        return Scenario(system, ClosedLoop(requests, outstanding))

    # The warm-up is long enough for LARD to allocate its targets.
    warm_up = max(effort.requests // 5, 4 * TARGETS)

    def swept(some: Sequence[float], seeds: int) -> xr.Dataset:
        return sweep(
            pair,
            {"scheme": names, "speed": list(some), "slowness": list(slowness)},
            seeds=effort.successive(seeds),
            requests=effort.requests + warm_up,
            warm_up=warm_up,
            allow_blocked=True,
        )

    # Claims on the table compare values at half the speed. The claim on other speeds compares values at different
    # speeds. These values differ by far more than their uncertainty, even with a quarter of the runs.
    judged = [one for one in speed if one == HALF]
    others = [one for one in speed if one != HALF]
    parts = [swept(some, seeds) for some, seeds in ((judged, effort.seeds), (others, effort.few)) if some]
    data = xr.concat(parts, "speed", join="outer", combine_attrs=made_jointly).sel(speed=list(speed))
    return data.assign_attrs(paper="dsptf", exhibit="dsptf.table4")


@judging("scheme", NAMES)
def table4_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 4 and on other speeds of the slow brick.

    Parameters
    ----------
    data : Dataset
        Result of `table4`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsptf.table4`.

    Raises
    ------
    InputError
        If `data` lacks a scheme of `NAMES`.

    Notes
    -----
    The verdicts follow from runs in which an access of the slow brick takes twice as long. The notes give the results
    for other meanings of half the speed.
    """
    slowness = TWICE
    summary = interval(data).brick_throughput.sel(speed=HALF)
    others = [name for name in data.slowness.values.tolist() if name != slowness]
    found = []
    for claim, (brick, scheme) in TABLE4:
        at = summary.sel(scheme=scheme, brick=brick)
        rest = ", ".join(f"{float(at.sel(slowness=name, statistic='mean')):.0f} IO/s ({name})" for name in others)
        note = (
            "In this simulation an access of the slow brick takes twice as long, because section 5.2.1 sends two of "
            f"three requests to the fast brick. Other meanings of half the speed give {rest}. In the paper's table "
            "the throughput of the slow brick is seven tenths of the throughput of the fast brick. This is nearer to "
            "a slow brick whose accesses take 1.5 times as long (degraded)."
        )
        if scheme == "Weighted hash":
            note += " The fast brick receives two of three requests, or three of five if the slow brick is degraded."
        found.append(with_interval(claim, at.sel(slowness=slowness), note))
    return [*found, _unaffected(data, slowness)]


def _unaffected(data: xr.Dataset, slowness: str) -> Measurement:
    """Return the finding on the throughput of the fast brick as the other brick slows down.

    The claim holds if the fast brick nearly keeps its throughput under D-SPTF and Central SPTF, and if the two bricks
    have nearly equal throughputs under hashing.
    """
    # The paper does not state the speed of the slowed brick.
    mean = data.brick_throughput.mean("seed").sel(speed=data.speed >= HALF)
    kept = mean.sel(brick=FAST) / mean.sel(brick=FAST, speed=1.0)
    least = {name: float(kept.sel(scheme=name, slowness=slowness).min()) for name in ("Central SPTF", "D-SPTF")}
    apart = abs(mean.sel(brick=FAST) / mean.sel(brick=SLOW) - 1).sel(scheme="Hashing", slowness=slowness).max()
    at = ", ".join(
        f"{float(kept.sel(scheme='D-SPTF', slowness=slowness, speed=speed)):.2f} at {speed:g}"
        for speed in mean.speed.values.tolist()
        if speed < 1
    )
    turning = float(kept.sel(scheme="D-SPTF").sel(slowness="rotation").min()) if "rotation" in data.slowness else None
    return Measurement(
        "dsptf.table4.fast_unaffected",
        all(value >= LEVEL for value in least.values()) and float(apart) <= SAME,
        note="The claim is for speeds of the slow brick from 1 down to 0.5, and holds under two conditions. Under "
        f"D-SPTF and Central SPTF, the fast brick keeps at least {LEVEL:.0%} of its throughput at speed 1. Under "
        f"hashing, the throughputs of the two bricks differ by at most {SAME:.0%}. The fraction that the fast brick "
        f"keeps under D-SPTF, by speed of the slow brick, is: {at}. At a speed of 0.5 an access takes twice as long. "
        f"Under hashing the throughputs of the two bricks differ by at most {float(apart):.1%}."
        + ("" if turning is None else f" If only the rotation is slower, the fraction is at least {turning:.2f}.")
        + " The fast brick loses throughput because writes, a tenth of the requests, go to both bricks, and the "
        "loop waits for the slow brick.",
    )
