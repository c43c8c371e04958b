"""What unequal and failing bricks show, claim by claim (ids of data/claims/dsptf.yaml)."""

import xarray as xr

from storagekit.metrics import Measurement, interval, with_interval
from storagekit.papers.dsptf.bricks import HALF, SLOW
from storagekit.papers.dsptf.system import KEYS

FAST = 1 - SLOW
# "nearly unaffected" and "to match"
LEVEL, SAME = 0.9, 0.05


def table4_findings(data: xr.Dataset, slowness: str = "service") -> list[Measurement]:
    """Table 4 and the sweep. slowness: the meaning of half the speed that is judged; notes give the others."""
    summary = interval(data).brick_throughput.sel(speed=HALF)
    others = [name for name in data.slowness.values.tolist() if name != slowness]
    found = []
    for label, brick in (("fast", FAST), ("slow", SLOW)):
        for key, scheme in KEYS.items():
            at = summary.sel(scheme=scheme, brick=brick)
            rest = ", ".join(f"{name} {float(at.sel(slowness=name, statistic='mean')):.0f}" for name in others)
            note = f"all of an access takes twice as long; if only this does: {rest}"
            found.append(with_interval(f"dsptf.table4.{label}[{key}]", at.sel(slowness=slowness), note))
    return [*found, _unaffected(data, slowness)]


def _unaffected(data: xr.Dataset, slowness: str) -> Measurement:
    """Whether the fast brick keeps its pace as the other slows, and under hashing falls to the slow one's."""
    mean = data.brick_throughput.mean("seed")
    kept = mean.sel(brick=FAST) / mean.sel(brick=FAST, speed=1.0)
    least = {name: float(kept.sel(scheme=name, slowness=slowness).min()) for name in ("Central SPTF", "D-SPTF")}
    apart = abs(mean.sel(brick=FAST) / mean.sel(brick=SLOW) - 1).sel(scheme="Hashing", slowness=slowness).max()
    at = ", ".join(
        f"{speed:g}: {float(kept.sel(scheme='D-SPTF', slowness=slowness, speed=speed)):.2f}"
        for speed in data.speed.values.tolist()
        if speed <= HALF
    )
    turning = float(kept.sel(scheme="D-SPTF").sel(slowness="rotation").min()) if "rotation" in data.slowness else None
    return Measurement(
        "dsptf.table4.fast_unaffected",
        all(value >= LEVEL for value in least.values()) and float(apart) <= SAME,
        note=f"what the fast brick keeps of its throughput under D-SPTF by the slow one's speed: {at}; under hashing the "
        f"two differ by {float(apart):.1%} at most; judged at {LEVEL:.0%} over the whole sweep"
        + ("" if turning is None else f"; if only the platter slows, at least {turning:.2f}")
        + "; writes, a tenth of the requests, go to both bricks, and the loop waits for them",
    )


def failing_findings(data: xr.Dataset) -> list[Measurement]:
    """A brick that stops after claiming (section 3). data: of `failing`."""
    held, loop = float(data.outstanding.min()), int(data.attrs["loop"])
    resent = data.resent.mean("seed")
    lost = resent.sel(loss=0.0).isel(timeout=0)
    response = data.response.mean("seed").isel(loss=0) * 1e3
    return [
        Measurement(
            "dsptf.protocol.brick_failure",
            held > loop - 0.2 and bool((data.resent > 0).all()),
            note=f"one of eight bricks stops and comes back: {float(lost):.0f} reads sent again, requests in the loop, at "
            f"least: {held:.2f} of {loop}, with and without 5% of claims lost; mean response "
            + ", ".join(
                f"{float(response.sel(timeout=timeout)):.0f} ms with a time-out of {timeout:g} s"
                for timeout in data.timeout.values.tolist()
            ),
        )
    ]
