"""Shares of a server: mClock, with minimum and maximum rates, and a fair queue, with weights only.

Over several bricks, mClock applies the rates to each brick, and dmClock to the sum over all bricks.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

import xarray as xr

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement, with_interval, with_intervals
from storagekit.papers.since.claims import BRICK_STREAMS, BRICKS, SHARES, STREAMS, TENANTS
from storagekit.papers.since.selection import QUICK
from storagekit.placement import Replicas, Volumes
from storagekit.queue import FairQueue, MClock, OneCoordinator, Single
from storagekit.schedule import FCFS
from storagekit.simulation import by_stream, interval, ratio, sweep
from storagekit.workload import FixedSize, Group, RandomRequests, Threads

# Rates count as unchanged if they differ by less than this share.
_UNCHANGED = 0.02
# A rate keeps a reservation if it is at least this share of it.
_KEPT = 0.99
# Threads of a stream that is always active: enough that it always has waiting requests.
_THREADS = 12
QUEUES = ("mClock", "fair queue")


class Tenant(NamedTuple):
    """A stream of requests, and its rights under mClock.

    Parameters
    ----------
    weight : float
        Weight.
    least, most : float
        Minimum and maximum rate, requests a second.
    credit : int
        Idle credit, requests.
    threads : int
        Number of threads; 0 if the stream does not exist.
    think : float
        Mean think time of a thread, seconds.
    """

    weight: float = 1
    least: float = 0
    most: float = inf
    credit: int = 0
    threads: int = _THREADS
    think: float = 0


# Weights 1 to 3 with reservations of 250 requests a second for the first two, and a limit of 1,000 for the third.
_OF_SHARES = (Tenant(1, 250), Tenant(2, 250), Tenant(3, 0, 1000))
# Five tenants and the capacity of their server, requests a second. Two have reservations.
_FIVE = (Tenant(1, 300), Tenant(1, 250), Tenant(2), Tenant(2), Tenant(2))
TENANTS_CAPACITY, LIMIT, CREDIT = 1500, 300, 64
# A stream that is often idle: its threads think for 120 ms, so that it sends about half of its share.
_BURSTY = Tenant(1, think=0.12)
CASES: dict[str, tuple[Tenant, ...]] = {
    "2 active": _FIVE[:2],
    "3 active": _FIVE[:3],
    "4 active": _FIVE[:4],
    "5 active": _FIVE,
    "3 active, limit": (*_FIVE[:2], Tenant(2, most=LIMIT)),
    "bursty": (_BURSTY, *_FIVE[1:]),
    "bursty, credit": (_BURSTY._replace(credit=CREDIT), *_FIVE[1:]),
}
# Three bricks of 600 requests a second. mClock receives a third of the reservation and of the limit at each of them.
_COUNT, BRICKS_CAPACITY = 3, 1800
_OF_BRICKS = (Tenant(1, 500), Tenant(2), Tenant(3, most=600))
COORDINATED = ("dmClock", "mClock")
# Threads of the first stream at the first brick, and at the two others.
ACCESS = {"uniform": (4, 8), "skewed": (12, 0)}


def _scenario(queue: str, tenants: Sequence[Tenant], capacity: float) -> Scenario:
    """Return one server with five tenants. Absent tenants have no threads, so that all cases share a compiled program."""
    every = (*tenants, *[Tenant(threads=0)] * (len(_FIVE) - len(tenants)))
    weights, least, most, credits, *_ = zip(*every, strict=True)
    queues = {
        "mClock": MClock(1, weights, least, most, credits),
        "fair queue": FairQueue(1, weights, Single(), cost=MClock(1, weights).cost),
    }
    # 512 bytes are one sector, so the rate of the server is in requests a second
    requests = RandomRequests(FixedSize(512), 1.0)
    groups = [Group(requests, one.threads, one.think, stream=stream, most=_THREADS) for stream, one in enumerate(every)]
    slots = len(_FIVE) * _THREADS
    system = System(RateServer(capacity), Replicas(1), Hashing(), FCFS(), queue=queues[queue], slots=slots)
    return Scenario(system, Threads(groups))


def _over_bricks(queue: str, access: str) -> Scenario:
    """Return three bricks. The first stream uses all of them with uniform access, and only the first with skewed access."""
    weights, least, most, *_ = zip(*_OF_BRICKS, strict=True)
    parts = ([rate / _COUNT for rate in rates] for rates in (least, most))
    queues = {
        "dmClock": MClock(1, weights, least, most, coordinators=OneCoordinator()),
        "mClock": MClock(1, weights, *parts),
    }
    requests = RandomRequests(FixedSize(512), 1.0)
    here, elsewhere = ACCESS[access]
    # each brick has a volume of its own
    others = [1 + thread % 2 for thread in range(_THREADS)]
    groups = [
        Group(requests, here, volumes=[0] * _THREADS, most=_THREADS),
        Group(requests, elsewhere, volumes=others, most=_THREADS),
        *(
            Group(requests, _THREADS, stream=stream, volumes=[thread % _COUNT for thread in range(_THREADS)])
            for stream in (1, 2)
        ),
    ]
    layout = Volumes(2**10, [(brick,) for brick in range(_COUNT)], 8)
    drive = RateServer(BRICKS_CAPACITY / _COUNT)
    system = System(drive, layout, Hashing(), FCFS(), queue=queues[queue], slots=len(_OF_BRICKS) * _THREADS)
    return Scenario(system, Threads(groups, volume=2**10))


def _rates(effort: Effort, build: Callable[..., Scenario], axes: dict[str, Sequence], streams: int) -> xr.Dataset:
    length = {"requests": 2 * effort.requests, "warm_up": effort.requests}
    return sweep(build, axes, seeds=effort.seed_list, measures=by_stream(streams), **length)


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
    a limit of 1,000. The fair queue has the weights only. Service times are fixed and threads do not think, so that all
    seeds give the same run.
    """

    def build(queue: str, capacity: float) -> Scenario:
        return _scenario(queue, _OF_SHARES, capacity)

    data = _rates(effort, build, {"queue": queue, "capacity": capacity}, len(_FIVE)).isel(stream=slice(len(STREAMS)))
    return data.assign_coords(stream=list(STREAMS.values()))


def tenants(effort: Effort = QUICK, *, queue: Sequence[str] = QUEUES, case: Sequence[str] = tuple(CASES)) -> xr.Dataset:
    """Return the rates and response times of up to five tenants that share a server of 1,500 requests a second.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    queue : sequence of str
        Names of `QUEUES`.
    case : sequence of str
        Names of `CASES`.

    Returns
    -------
    Dataset
        `stream_rate`, `stream_response` and further measures over `queue`, `case`, `stream` and `seed`; 0 or NaN for
        tenants that do not exist in a case.

    Notes
    -----
    The tenants have the weights 1, 1, 2, 2 and 2. The first two have reservations of 300 and 250 requests a second.
    These numbers are commonly cited from the mClock paper, where tenants start one after another; here each number of
    active tenants is a run. In the case with a limit, the third tenant has at most 300 requests a second. In the bursty
    cases, the threads of the first tenant think for 120 ms in the mean, it has no reservation, and all five tenants are
    active; in the second, it has an idle credit of 64 requests. Each tenant has 12 threads. The fair queue has the
    weights only.
    """

    def build(queue: str, case: str) -> Scenario:
        return _scenario(queue, CASES[case], TENANTS_CAPACITY)

    data = _rates(effort, build, {"queue": queue, "case": case}, len(_FIVE))
    return data.assign_coords(stream=TENANTS)


def bricks(
    effort: Effort = QUICK, *, queue: Sequence[str] = COORDINATED, access: Sequence[str] = tuple(ACCESS)
) -> xr.Dataset:
    """Return the rates of three streams over three bricks, by the bricks that the first stream uses.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    queue : sequence of str
        Names of `COORDINATED`.
    access : sequence of str
        Names of `ACCESS`.

    Returns
    -------
    Dataset
        `stream_rate` and further measures over `queue`, `access`, `stream` and `seed`.

    Notes
    -----
    The streams have the weights 1, 2 and 3, and always wait at every brick that they use. Over all bricks, the first has
    a reservation of 500 requests a second, the third a limit of 600. dmClock has these rates; mClock has a third of them
    at each brick. With skewed access, the first stream uses the first brick only. Service times are fixed and threads do
    not think, so that all seeds give the same run.
    """
    data = _rates(effort, _over_bricks, {"queue": queue, "access": access}, len(_OF_BRICKS))
    return data.assign_coords(stream=list(BRICK_STREAMS.values()))


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
    ours = with_intervals(SHARES, rows.sel(queue="mClock"))
    first = next(iter(STREAMS.values()))
    lowest = float(data.capacity.min())
    least = rows.sel(capacity=lowest, stream=first, statistic="mean")
    holds = float(least.sel(queue="mClock")) >= _KEPT * _OF_SHARES[0].least > float(least.sel(queue="fair queue"))
    note = f"The number is the rate of the first stream with the fair queue at {lowest:g} requests a second."
    below = rows.sel(capacity=lowest, stream=first, queue="fair queue")
    return [*ours, with_interval("since.shares.reservation", below, note, holds=holds)]


def tenants_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on tenants with reservations, a limit and an idle credit.

    Parameters
    ----------
    data : Dataset
        Result of `tenants` with all queues and cases.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.tenants`.
    """
    rows = interval(data)
    ours = data.sel(queue="mClock")
    least = rows.stream_rate.sel(queue="fair queue", case="5 active", stream=TENANTS[:2])
    active = [name for name in CASES if name.endswith("active")]
    kept = all(
        float(ours.stream_rate.sel(case=active, stream=name).mean("seed").min()) >= _KEPT * _FIVE[number].least
        for number, name in enumerate(TENANTS[:2])
    )
    mean = least.sel(statistic="mean").values
    below = all(mean[number] < _KEPT * _FIVE[number].least for number in range(2))
    limited, free = (ours.sel(case=name, stream=TENANTS[:2]) for name in ("3 active, limit", "3 active"))
    gain = ratio(free.stream_response.mean("stream"), limited.stream_response.mean("stream"))
    bursty, credit = (ours.sel(case=name) for name in ("bursty", "bursty, credit"))
    faster = ratio(*(one.stream_response.sel(stream=TENANTS[0]) for one in (bursty, credit)))
    rates = [one.stream_rate.sel(stream=TENANTS[1:]).mean("seed") for one in (bursty, credit)]
    change = float(abs(rates[1] / rates[0] - 1).max())
    return [
        with_interval(
            "since.tenants.limit",
            rows.stream_rate.sel(queue="mClock", case="3 active, limit", stream=TENANTS[2]),
        ),
        with_interval(
            "since.tenants.reservations",
            least.sel(stream=TENANTS[0]),
            "The number is the rate of the first of five active tenants with the fair queue, requests a second.",
            holds=kept and below,
        ),
        with_interval(
            "since.tenants.limit_response",
            gain,
            "The number is the mean response time of the two others without the limit, divided by that with the limit.",
            holds=bool(float(gain.sel(statistic="low")) > 1),
        ),
        with_interval(
            "since.tenants.credit",
            faster,
            "The number is its mean response time without the credit, divided by that with the credit. The rates of tenants "
            f"that always wait change by at most {change:.1%}; a change of less than {_UNCHANGED:.0%} counts as none.",
            holds=bool(float(faster.sel(statistic="low")) > 1) and change < _UNCHANGED,
        ),
    ]


def bricks_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the rates of streams over several bricks.

    Parameters
    ----------
    data : Dataset
        Result of `bricks`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.bricks`.
    """
    rows = interval(data).stream_rate
    ours = with_intervals(BRICKS, rows.sel(queue="dmClock"))
    below = rows.sel(queue="mClock", access="skewed", stream=BRICK_STREAMS["first"])
    holds = float(below.sel(statistic="mean")) < _KEPT * _OF_BRICKS[0].least
    note = "The number is the rate of the first stream with mClock at each brick, requests a second."
    return [*ours, with_interval("since.bricks.each_brick", below, note, holds=holds)]
