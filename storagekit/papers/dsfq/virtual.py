"""What equation 5 and theorem 4 say, checked by a scalar program of one brick: start-time fair queueing with depth 1.

The brick serves a unit of cost in a second. Both streams have weight 1, and all requests a cost of 1.
"""

import heapq
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from storagekit.analytic.fairness import Side, bound_total, printed
from storagekit.checks import require_whole
from storagekit.metrics import Measurement, made_by

F, G = 0, 1
# requests that a stream sends to other bricks after it has been away, and the seconds for which it was away
BATCH, AWAY = 200, 200
# coordinators of the stream, and requests of each stream that wait at the brick
COORDINATORS, WAITING = (1, 5, 10, 20, 40, 60), 2
DEPTH = 1
# What D_SFQ may mean in equation 8: the paper calls it the queue depth of the start-time fair queue at the brick.
READINGS = ("requests of one stream that wait", "all requests that wait", "all requests at the brick")


class Arrival(NamedTuple):
    """A request that reaches the brick.

    time: seconds. stream: number. delay: of equation 5. virtual: whether it is served elsewhere and only counted here.
    """

    time: float
    stream: int
    delay: float = 0.0
    virtual: bool = False


def served(arrivals: Sequence[Arrival]) -> list[float]:
    """Return the time at which the service of each request begins, seconds; NaN for virtual requests.

    Start tags follow equations 5 and 6. The virtual time is the start tag of the last request in service.
    """
    begins, finish = [float("nan")] * len(arrivals), [0.0, 0.0]
    waiting: list[tuple[float, int]] = []
    coming = sorted(range(len(arrivals)), key=lambda number: (arrivals[number].time, number))
    now, virtual, at = 0.0, 0.0, 0
    while at < len(coming) or waiting:
        if not waiting and at < len(coming):
            now = max(now, arrivals[coming[at]].time)
        while at < len(coming) and arrivals[coming[at]].time <= now:
            one = arrivals[coming[at]]
            start = max(virtual, finish[one.stream] + one.delay)
            finish[one.stream] = start + 1
            if not one.virtual:
                heapq.heappush(waiting, (start, coming[at]))
            at += 1
        if waiting:
            virtual, number = heapq.heappop(waiting)
            begins[number] = now
            now += 1
    return begins


def equation5(batch: int = BATCH, away: int = AWAY) -> xr.Dataset:
    """Return the time until a stream that was away is served at a brick, under equation 5 and under broadcast.

    The other stream is always backlogged there. The stream is served once, is away, sends `batch` requests to other bricks
    at once, and then one to this brick.

    Parameters
    ----------
    batch : int
        Requests to other bricks, at least 1.
    away : int
        Time for which the stream is away, seconds, at least 1.

    Returns
    -------
    Dataset
        `wait`, seconds, by `scheme`: with equation 5 the request carries the cost of the batch as its delay; with broadcast
        all requests are sent to the brick, those to other bricks as virtual ones (section 3.1).

    Raises
    ------
    InputError
        If a number is out of range.
    """
    began = time.perf_counter()
    require_whole("requests to other bricks", batch)
    require_whole("seconds away", away)
    backlog = [Arrival(0.0, G)] * (2 * (batch + away))
    first, last = Arrival(0.0, F), Arrival(float(away), F)
    virtual = [last._replace(virtual=True)] * batch
    schemes = {
        "equation 5": [first, last._replace(delay=float(batch)), *backlog],
        "broadcast": [first, *virtual, last, *backlog],
    }
    waits = [max(np.nan_to_num(served(one)[: 1 + len(one) - len(backlog)])) - away for one in schemes.values()]
    data = xr.Dataset(
        {"wait": ("scheme", waits, {"units": "s", "long_name": "time until the stream is served"})},
        coords={"scheme": list(schemes)},
    )
    made = made_by("analytic", wall=time.perf_counter() - began)
    return data.assign_attrs(made | {"paper": "dsfq", "exhibit": "dsfq.equation5", "batch": batch, "away": away})


def many_coordinators(coordinators: Sequence[int] = COORDINATORS) -> xr.Dataset:
    """Return the unfairness of a stream with many coordinators, and the bound of theorem 4 under readings of D_SFQ.

    All costs are 1, and two requests of each stream wait at the brick. Then each coordinator of the first stream sends a
    request to another brick, which serves it at once. In the interval that ends with these the brick itself completes
    nothing, and the service of the streams differs by the number of coordinators: a coordinator reports the cost with its
    next request to the brick, which comes later.

    Parameters
    ----------
    coordinators : sequence of int
        Numbers of coordinators of the first stream, each at least 1.

    Returns
    -------
    Dataset
        `unfairness` over `coordinators`, and `bound` over `reading` of D_SFQ, in units of cost.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    began = time.perf_counter()
    for count in coordinators:
        require_whole("coordinators", count)
    batch = Side(weight=1.0, bricks=2, largest=1.0, largest_batch=2.0)
    alone = Side(weight=1.0, bricks=1, largest=1.0, largest_batch=1.0)
    depths = dict(zip(READINGS, (WAITING, 2 * WAITING, 2 * WAITING + DEPTH), strict=True))
    bounds = [float(bound_total(batch, alone, DEPTH, depth, printed)) for depth in depths.values()]
    unit = {"units": "1", "long_name": "difference of the service of both streams"}
    data = xr.Dataset(
        {
            "unfairness": ("coordinators", [float(count) for count in coordinators], unit),
            "bound": ("reading", bounds, {"units": "1", "long_name": "bound of theorem 4"}),
        },
        coords={"coordinators": list(coordinators), "reading": list(READINGS)},
    )
    made = made_by("analytic", wall=time.perf_counter() - began)
    return data.assign_attrs(made | {"paper": "dsfq", "exhibit": "dsfq.many_coordinators"})


def equation5_findings(back: xr.Dataset) -> list[Measurement]:
    """Judge whether equation 5 is equivalent to broadcast. back: of `equation5`."""
    by_delay, by_broadcast = (float(back.wait.sel(scheme=name)) for name in back.scheme.values)
    return [
        Measurement(
            "dsfq.equation5.equivalent",
            by_delay == by_broadcast,
            basis="analytic",
            note=f"A stream that was away for {back.attrs['away']} s, and then sent {back.attrs['batch']} requests to other "
            f"bricks, is served after {by_delay:g} s under equation 5 and after {by_broadcast:g} s under broadcast. Under "
            "broadcast each virtual request starts at the virtual time of its arrival or later; equation 5 adds their cost "
            "to the last finish tag, which the virtual time may have passed meanwhile.",
        )
    ]
