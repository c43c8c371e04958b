"""Recorded requests of users and of background streams, merged in the order of their arrival."""

from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Array, Float, Int

from storagekit.core.batching import addresses, real
from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.core.validation import require
from storagekit.engine import Scenario, System, keys
from storagekit.engine.run import int64_enabled
from storagekit.workload import PoissonArrivals, RecordedArrivals, Requests
from storagekit.workload.randomness import scramble
from storagekit.workload.requests import AbstractRequests

# largest number of requests of one background stream
_MOST = 10_000_000


class Arriving(NamedTuple):
    """Requests with their arrival times in seconds, both of shape `[row]`."""

    requests: Requests
    time: Float[np.ndarray, "row"]


def users_requests(system: System, users: AbstractRequests, rate: float, requests: int, seed: int) -> Arriving:
    """Return users' requests, which arrive as a Poisson stream.

    Raises
    ------
    InputError
        If the layout has several settings, or the requests do not fit in it.
    """
    capacity = system.placement.capacity(system.drive)
    if np.size(system.placement.drives) > 1 or np.size(capacity) > 1:
        raise InputError("layouts with several settings: make a scenario for each setting")
    users.check(capacity)
    with int64_enabled(system.long_addresses):
        drawn = PoissonArrivals(users, rate).window(
            capacity, cast(Array, keys([seed])[:, 0]), cast(Array, np.zeros(1, np.int32)), requests
        )
    columns = Requests(*(cast(Array, np.asarray(column)) for column in drawn.requests))
    return Arriving(columns, np.concatenate([[0.0], np.cumsum(np.asarray(drawn.gap, float)[:-1])]))


def regular_arrivals(
    what: str, rate: float, sectors: int, last: float, draw: np.random.Generator, most: int | None = None
) -> Float[np.ndarray, "row"]:
    """Return the arrival times of requests of one size at constant intervals, seconds.

    Parameters
    ----------
    what : str
        Name of the rate, for a message.
    rate : float
        Bytes a second.
    sectors : int
        Sectors of a request.
    last : float
        Time at which the users' requests end, seconds.
    draw : numpy.random.Generator
        Generator of the time of the first request.
    most : int, optional
        Largest number of requests, from the first request on; by default there is no limit.

    Returns
    -------
    array of float, shape `[row]`
        The times, below `last`.

    Raises
    ------
    InputError
        If there would be more than 10 million requests.
    """
    period = sectors * SECTOR / rate
    end = last if most is None else min(last, most * period)
    limit = _MOST * sectors * SECTOR / max(end, period)
    require(end <= _MOST * period, what, rate, f"at most {limit:.3g}, for at most {_MOST} requests", "bytes/s")
    return np.arange(draw.uniform(0, period), end, period)


def background_requests(
    time: Float[np.ndarray, "row"], sector: Int[np.ndarray, "row"], sectors: int, stream: int, read: bool
) -> Arriving:
    """Return requests of a background stream, for which no client waits.

    time: arrival times, seconds. sector: addresses. sectors: length of each request.
    """
    same = np.zeros(len(time), np.int32)
    receiving, address_hash = scramble(cast(Array, same + np.arange(len(time)))), scramble(cast(Array, sector))
    # the columns are in the order of the fields of `Requests`
    columns = (
        same,
        sector,
        same + sectors,
        same == int(not read),
        receiving,
        address_hash,
        same == 0,
        same + stream,
        same + stream,
    )
    return Arriving(Requests(*(cast(Array, column) for column in columns)), time)


def merged_scenario(system: System, arriving: list[Arriving], requests: int | None = None) -> Scenario:
    """Return the scenario of several streams of requests, in the order of their arrival.

    requests: number of requests, from the first request on; by default all.
    """
    time = np.concatenate([one.time for one in arriving])
    order = np.argsort(time, kind="stable")[:requests]
    columns = Requests(
        *(
            cast(Array, np.concatenate([np.asarray(each) for each in column])[order])
            for column in zip(*(one.requests for one in arriving), strict=True)
        )
    )
    number = cast(Array, np.arange(len(order), dtype=np.int32))
    columns = columns._replace(number=number, sector=addresses(columns.sector))
    gap = real(np.append(np.diff(time[order]), np.inf))
    return Scenario(system, RecordedArrivals(columns, gap, clients=True))
