"""Outage of a brick that has claimed reads, with and without lost claim messages (section 3), and the finding on it."""

import math
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
# Fraction of the requests after which the brick stops, and fraction after which it is back.
STOPS, BACK = 0.4, 0.7
# Number of slots. A write that is not yet on disk has a slot. So has a read that stays in the queue of a brick because
# the brick did not receive the claim.
SLOTS = 128
# Number of requests of a run divided by the number in other loops. Runs are longer here, so that the requests in
# progress at the beginning and the end of the measurement do not look like a loss.
LONGER = 3


def failing(
    effort: Effort = QUICK, *, loss: Sequence[float] = (0.0, 0.05), timeout: Sequence[float] = (0.1, 1.0)
) -> xr.Dataset:
    """Return the measures of a closed loop on eight bricks, with an outage of one brick (section 3).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs. Each run has three times as many requests as `effort` gives.
    loss : sequence of float
        Probabilities that a claim is lost.
    timeout : sequence of float
        Times after which a client sends a read again, seconds. The paper does not give the time.

    Returns
    -------
    Dataset
        The measures over `loss`, `timeout` and `seed`. `outstanding`: mean number of requests in the loop. A lost
        request lowers this number. `resent`: number of reads that clients sent again after the time-out.

    Notes
    -----
    Each extent has two copies, which are declustered over the bricks.
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
            faults=FaultSchedule(stops, timeout=timeout, detection=math.inf),
            drives=BRICKS,
            slots=SLOTS,
        )
        return Scenario(whole, ClosedLoop(requests, OUTSTANDING))

    data = sweep(
        system,
        {"loss": list(loss), "timeout": list(timeout)},
        seeds=effort.seed_list,
        requests=count,
        warm_up=count // 5,
        allow_blocked=True,
    )
    return data.assign_attrs(paper="dsptf", exhibit="dsptf.protocol", loop=OUTSTANDING)


def failing_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the finding on a brick that stops after it has claimed reads (section 3).

    Parameters
    ----------
    data : Dataset
        Result of `failing`.

    Returns
    -------
    list of Measurement
        The finding on `dsptf.protocol.brick_failure`.
    """
    held, loop = float(data.outstanding.min()), int(data.attrs["loop"])
    resent = data.resent.mean("seed")
    lost = resent.sel(loss=0.0).isel(timeout=0)
    response = data.response.mean("seed").isel(loss=0) * 1e3
    return [
        Measurement(
            "dsptf.protocol.brick_failure",
            held > loop - 0.2 and bool((data.resent > 0).all()),
            note="One of eight bricks stops and comes back. The claim of the paper holds if clients send reads again "
            f"in every run, and on average more than {loop - 0.2:g} of the {loop} requests of the loop are "
            f"outstanding. A lost request would lower this number by 1. The number is at least {held:.2f}, with and "
            f"without the loss of 5% of the claim messages. Clients send {float(lost):.0f} reads again if no claim "
            "message is lost and the time-out is the shortest. If no claim message is lost, the mean response time is "
            + ", ".join(
                f"{float(response.sel(timeout=timeout)):.0f} ms with a time-out of {timeout:g} s"
                for timeout in data.timeout.values.tolist()
            )
            + ".",
        )
    ]
