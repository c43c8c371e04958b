"""Checks of equation 5 and theorem 4 with a small simulator of one brick: start-time fair queueing with depth 1.

The brick serves one unit of cost in a second. Both streams have weight 1, and all requests have cost 1.
"""

import heapq
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from storagekit.analytic.fairness import Side, bound_total, printed
from storagekit.core.provenance import made_by
from storagekit.core.validation import COUNT
from storagekit.papers.measurement import Measurement

F, G = 0, 1
# Number of requests that a stream sends to other bricks after its absence, and length of the absence in seconds.
BATCH, AWAY = 200, 200
# Numbers of coordinators of the stream, and number of requests of each stream that wait at the brick.
COORDINATORS, WAITING = (1, 5, 10, 20, 40, 60), 2
DEPTH = 1
# Number of requests that the brick serves: enough for every coordinator to send to it again.
SERVICES = 400
# Interpretations of D_SFQ in equation 8. The paper calls it the queue depth of the start-time fair queue at the brick.
INTERPRETATIONS = ("requests of one stream that wait", "all requests that wait", "all requests at the brick")


class Arrival(NamedTuple):
    """A request that reaches the brick.

    time: time of arrival, seconds. stream: number of the stream. delay: delay by equation 5. virtual: whether another
    brick serves the request, so that this brick only counts its cost.
    """

    time: float
    stream: int
    delay: float = 0.0
    virtual: bool = False


def served(arrivals: Sequence[Arrival]) -> list[float]:
    """Return the time in seconds at which the service of each request begins.

    Parameters
    ----------
    arrivals : sequence of Arrival
        The requests.

    Notes
    -----
    Start tags follow equations 5 and 6. The virtual time is the start tag of the last request whose service began. A
    virtual request takes no time.
    """
    begins = [0.0] * len(arrivals)
    brick = _Brick()
    coming = sorted(range(len(arrivals)), key=lambda number: (arrivals[number].time, number))
    at = 0
    while at < len(coming) or brick.waiting:
        if not brick.waiting:
            brick.now = max(brick.now, arrivals[coming[at]].time)
        while at < len(coming) and arrivals[coming[at]].time <= brick.now:
            brick.receive(arrivals[coming[at]], coming[at])
            at += 1
        if brick.waiting:
            number = brick.begin()
            begins[number] = brick.now
            brick.now += 0 if arrivals[number].virtual else 1
    return begins


class _Brick:
    """A brick with start-time fair queueing.

    now: time, seconds. virtual: virtual time. finish: finish tag of the last request of each stream. waiting: start tag
    and number of each waiting request.
    """

    def __init__(self):
        self.now, self.virtual, self.finish = 0.0, 0.0, [0.0, 0.0]
        self.waiting: list[tuple[float, int]] = []

    def receive(self, one: Arrival, number: int) -> None:
        start = max(self.virtual, self.finish[one.stream] + one.delay)
        self.finish[one.stream] = start + 1
        heapq.heappush(self.waiting, (start, number))

    def begin(self) -> int:
        self.virtual, number = heapq.heappop(self.waiting)
        return number


def equation5(batch: int = BATCH, away: int = AWAY) -> xr.Dataset:
    """Return the time that a returning stream waits for service at a brick, under equation 5 and under broadcast.

    Another stream is always backlogged at the brick. The first stream is served once and is then away. On its return it
    sends `batch` requests to other bricks simultaneously, and then one request to this brick.

    Parameters
    ----------
    batch : int
        Number of requests to other bricks, at least 1.
    away : int
        Time for which the first stream is away, seconds, at least 1.

    Returns
    -------
    Dataset
        `wait` over `scheme`, seconds. Under "equation 5" the request to this brick carries the cost of the batch as its
        delay. Under "broadcast" all requests are sent to this brick; a request to another brick arrives here as a
        virtual request (section 3.1).

    Raises
    ------
    InputError
        If a number is out of range.
    """
    began = time.perf_counter()
    COUNT("requests to other bricks", batch)
    COUNT("seconds away", away)
    backlog = [Arrival(0.0, G)] * (2 * (batch + away))
    first, last = Arrival(0.0, F), Arrival(float(away), F)
    virtual = [last._replace(virtual=True)] * batch
    schemes = {
        "equation 5": [first, last._replace(delay=float(batch)), *backlog],
        "broadcast": [first, *virtual, last, *backlog],
    }
    waits = [served(one)[len(one) - len(backlog) - 1] - away for one in schemes.values()]
    data = xr.Dataset(
        {"wait": ("scheme", waits, {"units": "s", "long_name": "time until the stream is served"})},
        coords={"scheme": list(schemes)},
    )
    made = made_by("analytic", wall=time.perf_counter() - began)
    return data.assign_attrs(made | {"paper": "dsfq", "exhibit": "dsfq.equation5", "batch": batch, "away": away})


def many_coordinators(coordinators: Sequence[int] = COORDINATORS) -> xr.Dataset:
    """Return the unfairness between two streams and the bound of theorem 4. One stream has several coordinators.

    All costs are 1. Each stream always has two requests waiting at the brick. The first stream sends its requests
    through its coordinators in turn. At one time each of these coordinators also sends a request to another brick,
    which serves it immediately. The coordinator reports the cost of that request with its next request to this brick.

    Parameters
    ----------
    coordinators : sequence of int
        Numbers of coordinators of the first stream, each at least 1.

    Returns
    -------
    Dataset
        Over `coordinators`: `unfairness`, the largest difference between the service of the two streams in any
        interval. Over `coordinators` and `interpretation`, the interpretation of D_SFQ: `bound`, the bound of theorem 4. Both
        are in units of cost.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    began = time.perf_counter()
    for count in coordinators:
        COUNT("coordinators", count)
    runs = [_run(count) for count in coordinators]
    unit = {"units": "1", "long_name": "difference between the service of both streams"}
    data = xr.Dataset(
        {
            "unfairness": ("coordinators", [run[0] for run in runs], unit),
            "bound": (
                ("coordinators", "interpretation"),
                [run[1] for run in runs],
                {"units": "1", "long_name": "bound of theorem 4"},
            ),
        },
        coords={"coordinators": list(coordinators), "interpretation": list(INTERPRETATIONS)},
    )
    made = made_by("analytic", wall=time.perf_counter() - began)
    return data.assign_attrs(made | {"paper": "dsfq", "exhibit": "dsfq.many_coordinators"})


def _run(coordinators: int) -> tuple[float, list[float]]:
    """Return the largest difference of service in any interval, and the bound under each interpretation of D_SFQ."""
    brick, streams = _Brick(), list[int]()
    unreported, batches, turn = [0] * coordinators, [0.0], 0

    def send(stream: int) -> None:
        nonlocal turn
        delay = 0
        if stream == F:
            delay, unreported[turn] = unreported[turn], 0
            batches.append(delay + 1.0)
            turn = (turn + 1) % coordinators
        brick.receive(Arrival(brick.now, stream, delay), len(streams))
        streams.append(stream)

    for stream in (F, G) * WAITING:
        send(stream)
    # Contribution of each completion to the service of the first stream less the service of the second.
    steps, waits = [], []
    for service in range(SERVICES):
        stream = streams[brick.begin()]
        send(stream)
        waits.append([sum(streams[number] == one for _, number in brick.waiting) for one in (F, G)])
        brick.now += 1
        steps.append(1 if stream == F else -1)
        if service == SERVICES // 4:
            # Each coordinator sends one request to the other brick, which serves all of them immediately.
            steps.append(coordinators)
            unreported = [1] * coordinators
    path = np.concatenate([[0], np.cumsum(steps)])
    one, every = max(max(pair) for pair in waits), max(sum(pair) for pair in waits)
    f = Side(weight=1.0, bricks=2, largest=1.0, largest_batch=max(batches))
    g = Side(weight=1.0, bricks=1, largest=1.0, largest_batch=1.0)
    bounds = [float(bound_total(f, g, DEPTH, depth, printed)) for depth in (one, every, every + DEPTH)]
    return float(path.max() - path.min()), bounds


def equation5_findings(back: xr.Dataset) -> list[Measurement]:
    """Return the finding whether equation 5 and broadcast are equivalent.

    Parameters
    ----------
    back : Dataset
        Result of `equation5`.

    Returns
    -------
    list of Measurement
        The finding on `dsfq.equation5.equivalent`.
    """
    by_delay, by_broadcast = (float(back.wait.sel(scheme=name)) for name in back.scheme.values)
    return [
        Measurement(
            "dsfq.equation5.equivalent",
            by_delay == by_broadcast,
            basis="analytic",
            note="The claim holds if a stream waits equally long for service under equation 5 and under broadcast. A "
            f"stream was away for {back.attrs['away']} s and then sent {back.attrs['batch']} requests to other "
            f"bricks. The stream is served after {by_delay:g} s under equation 5 and after {by_broadcast:g} s under "
            "broadcast. Under broadcast the start tag of each virtual request is at least the virtual time of its "
            "arrival. Equation 5 adds the cost of the requests to other bricks to the finish tag of the last request "
            "of the stream. When the stream returns, the virtual time may be above this finish tag.",
        )
    ]
