"""A brick that stops after it has claimed reads, and comes back; claims that get lost on top; what that shows (section 3)."""

from collections.abc import Sequence

import xarray as xr

from storagekit.arbitration import Lossy
from storagekit.core.units import KB
from storagekit.dispatch import DSPTF
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, outage
from storagekit.papers.dsptf.brick_group import LATENCY, QUICK, Effort
from storagekit.papers.measurement import Measurement
from storagekit.placement import Declustered
from storagekit.schedule import SATF
from storagekit.simulation import sweep
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import Immediate

BRICKS, COPIES, OUTSTANDING = 8, 2, 32
# of the requests: when the brick stops, and when it is back
STOPS, BACK = 0.4, 0.7
# what a write on its way to disk, or a read queued where nobody heard that it is taken, occupies
SLOTS = 128
# so many times the requests of other loops: what is under way as measuring begins and ends must not look like a loss
LONGER = 3


def failing(
    effort: Effort = QUICK, *, losses: Sequence[float] = (0.0, 0.05), timeouts: Sequence[float] = (0.1, 1.0)
) -> xr.Dataset:
    """Two copies declustered over eight bricks, one of which stops for a while, in a closed loop (dimensions loss, timeout).

    A closed loop that lost a request would hold fewer from then on: `outstanding` says how many it held, in the mean.
    `resent` counts the reads that clients sent again after their time-out, a figure that the paper does not give.
    """
    drive, count = load_drive("atlas10k"), LONGER * effort.requests
    requests = RandomRequests(ExponentialSize(4 * KB), 0.9)

    def system(loss: float, timeout: float) -> Scenario:
        stops = outage(0, int(STOPS * count), int(BACK * count))
        whole = System(
            drive,
            Declustered(BRICKS, COPIES),
            DSPTF(LATENCY, delivery=Lossy(loss)),
            SATF(),
            Immediate(),
            condition=FaultSchedule(stops, timeout=timeout),
            drives=BRICKS,
            slots=SLOTS,
        )
        return Scenario(whole, ClosedLoop(requests, OUTSTANDING))

    data = sweep(
        system,
        {"loss": list(losses), "timeout": list(timeouts)},
        seeds=effort.seed_list,
        requests=count,
        warm_up=count // 5,
        allow_held_up=True,
    )
    return data.assign_attrs(paper="dsptf", exhibit="dsptf.protocol", loop=OUTSTANDING)


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
