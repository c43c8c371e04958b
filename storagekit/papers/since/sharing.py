"""Shares of a server: mClock, with minimum and maximum rates, and a fair queue, with weights only."""

from collections.abc import Sequence
from math import inf

import xarray as xr

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.since.claims import SHARES, STREAMS
from storagekit.papers.since.selection import QUICK
from storagekit.placement import Replicas
from storagekit.queue import FairQueue, MClock, Single
from storagekit.schedule import FCFS
from storagekit.simulation import by_stream, interval, sweep
from storagekit.workload import FixedSize, Group, RandomRequests, Threads

# Weights, and the smallest and the largest rates of the streams, requests a second.
WEIGHTS, RESERVATIONS, LIMITS = (100, 200, 300), (250, 250, 0), (inf, inf, 1000)
# Threads of each stream: enough that every stream always has waiting requests.
_THREADS = 12
QUEUES = ("mClock", "fair queue")


def _scenario(queue: str, capacity: float) -> Scenario:
    queues = {
        "mClock": MClock(1, WEIGHTS, RESERVATIONS, LIMITS),
        "fair queue": FairQueue(1, WEIGHTS, Single(), cost=MClock(1, WEIGHTS).cost),
    }
    requests = RandomRequests(FixedSize(512), 1.0)
    groups = [Group(requests, _THREADS, stream=stream) for stream in range(len(WEIGHTS))]
    # a request of 512 bytes is one sector
    system = System(RateServer(capacity), Replicas(1), Hashing(), FCFS(), queue=queues[queue], slots=3 * _THREADS)
    return Scenario(system, Threads(groups))


def shares(
    effort: Effort = QUICK, *, queue: Sequence[str] = QUEUES, capacity: Sequence[float] = (875, 1200, 1800, 3000)
) -> xr.Dataset:
    """Return the rates of three streams that always have waiting requests, by the capacity of their server.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    queue : sequence of str
        Names of `QUEUES`.
    capacity : sequence of float
        Capacities of the server, requests a second.

    Returns
    -------
    Dataset
        `stream_rate` and further measures over `queue`, `capacity`, `stream` and `seed`.

    Notes
    -----
    The streams have the weights 1, 2 and 3. The first and the second have a reservation of 250 requests a second, the third
    a limit of 1,000. The fair queue has the weights only.
    """
    axes = {"queue": queue, "capacity": capacity}
    length = {"requests": 2 * effort.requests, "warm_up": effort.requests}
    data = sweep(_scenario, axes, seeds=effort.seed_list, measures=by_stream(len(WEIGHTS)), **length)
    return data.assign_coords(stream=list(STREAMS.values()))


def shares_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the rates of the streams.

    Parameters
    ----------
    data : Dataset
        Result of `shares`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.shares`.
    """
    rows = interval(data).stream_rate
    ours = [
        with_interval(claim, rows.sel(queue="mClock", capacity=capacity, stream=stream))
        for claim, (stream, capacity) in SHARES.within(data)
    ]
    first = next(iter(STREAMS.values()))
    least = rows.sel(capacity=float(data.capacity.min()), stream=first, statistic="mean")
    below = float(least.sel(queue="fair queue"))
    kept = float(least.sel(queue="mClock")) >= 0.99 * RESERVATIONS[0]
    note = "The number is the rate of the first stream with the fair queue, requests a second."
    return [*ours, Measurement("since.shares.reservation", below, holds=kept and below < RESERVATIONS[0], note=note)]
