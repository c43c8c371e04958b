"""Scenarios of an array that has lost a drive: users' requests, and the rebuild as a background stream."""

from typing import Annotated, cast

import numpy as np
from jaxtyping import Array, Int

from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.core.validation import Count, Positive, Seed, instance_of, require, validate
from storagekit.engine import Scenario, System
from storagekit.engine.system import MOST_NARROW
from storagekit.placement import AfterLoss
from storagekit.simulation.merging import (
    Arriving,
    background_requests,
    merged_scenario,
    regular_arrivals,
    users_requests,
)
from storagekit.workload import RandomRequests

# number of the stream of the rebuild; the users have stream 0
REBUILD = 1
_SYSTEM = instance_of(System, "a System(...) with the placement sk.placement.AfterLoss(...)")
_USERS = instance_of(RandomRequests, "a model of requests, such as sk.workload.RandomRequests(...)")


@validate
def rebuild_scenario(
    system: Annotated[System, _SYSTEM],
    users: Annotated[RandomRequests, _USERS],
    *,
    rate: Positive,
    rebuild_rate: Positive | None = None,
    chunk: Positive | None = None,
    requests: Count = 20_000,
    seed: Seed = 0,
) -> Scenario:
    """Return a scenario of users' requests at an array that has lost a drive, with or without a rebuild.

    Parameters
    ----------
    system : System
        The array. Its placement is an `AfterLoss`.
    users : RandomRequests
        Model of the users' requests.
    rate : float
        Users' requests per second. They arrive as a Poisson stream.
    rebuild_rate : float, optional
        Bytes of the lost drive that are restored per second, by default none.
    chunk : float, optional
        Bytes of each request of the rebuild, a multiple of 512; by default a stripe unit. In a `DeclusteredParity` the
        size of a slice must be a multiple of the chunk.
    requests : int
        Number of users' requests, by default 20,000.
    seed : int
        Seed of the arrival times, the addresses, and the beginning of the rebuild, by default 0. A scenario has the same
        requests in all runs: replications need scenarios with different seeds.

    Returns
    -------
    Scenario
        The scenario. Users have stream 0, and the rebuild has stream 1.

    Raises
    ------
    InputError
        If the placement is not an `AfterLoss` with one setting, or if a number is out of range.

    Notes
    -----
    The requests of the rebuild arrive at constant intervals, in the order of their addresses from a random address. The
    last address is followed by the first. They are asynchronous writes. All measures of response times therefore
    describe the users' requests only. `by_stream(2)` measures the restored bytes per second, as `stream_throughput` of
    stream 1. It is below `rebuild_rate` if the rebuild cannot keep its rate. The queues of the rebuild then grow during
    the run, and the run may need `allow_blocked`.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.simulation import by_stream, rebuild_scenario
    >>> layout = sk.placement.AfterLoss(sk.placement.ParityGroups(6, 2))
    >>> system = sk.System(sk.load_drive("atlas10k"), layout, sk.dispatch.Broadcast(), sk.schedule.FCFS())
    >>> users = sk.workload.RandomRequests(sk.workload.FixedSize(8192), read_share=0.7)
    >>> during = rebuild_scenario(system, users, rate=60.0, rebuild_rate=1e6, requests=4000)
    >>> seen = sk.simulate(during, requests=4000, measures=by_stream(2))
    >>> f"{float(seen.stream_throughput[1]) / 1e6:.1f} MB/s"
    '1.0 MB/s'
    """
    layout = system.placement
    if not isinstance(layout, AfterLoss):
        raise InputError(
            f"a rebuild with the placement {type(layout).__name__}: give a system with the placement AfterLoss(...)"
        )
    if np.size(layout.lost) > 1:
        raise InputError("a rebuild of layouts with several settings: make a scenario for each setting")
    arriving = [users_requests(system, users, rate, requests, seed)]
    if rebuild_rate is not None:
        arriving.append(_rebuild(system, float(arriving[0].time[-1]), rebuild_rate, chunk, seed))
    return merged_scenario(system, arriving)


def _rebuild(system: System, last: float, rebuild_rate: float, chunk: float | None, seed: int) -> Arriving:
    """Return the requests of a rebuild, which are writes. last: time at which the users' requests end, s."""
    layout = system.placement
    assert isinstance(layout, AfterLoss)
    sectors, draw = _sectors(layout, chunk), np.random.default_rng(seed)
    arrival = regular_arrivals("rebuild rate", rebuild_rate, sectors, last, draw)
    address = _in_order(system, sectors, len(arrival), draw)
    return background_requests(arrival, int(layout.capacity(system.drive)) + address, sectors, REBUILD, read=False)


def _sectors(layout: AfterLoss, chunk: float | None) -> int:
    """Return the number of sectors of a request of the rebuild.

    Raises
    ------
    InputError
        If the chunk is not whole sectors, or does not fit into the rows of the layout.
    """
    unit, longest = layout.layout.unit, layout.longest_rebuild
    sectors = unit if chunk is None else chunk / SECTOR
    require(sectors == int(sectors), "chunk", chunk, f"a multiple of {SECTOR}", "bytes")
    if longest is not None:
        fits = sectors <= longest and longest % sectors == 0
        require(fits, "chunk", chunk, f"the {longest * SECTOR} bytes of a slice, or a divisor of this number", "bytes")
    return int(sectors)


def _in_order(system: System, sectors: int, count: int, draw: np.random.Generator) -> Int[np.ndarray, "row"]:
    """Return the addresses on the lost drive that successive requests of the rebuild restore.

    Raises
    ------
    InputError
        If the drive is smaller than a request, or the addresses need more bits than the addresses of the system.
    """
    layout = system.placement
    assert isinstance(layout, AfterLoss)
    capacity, used = int(layout.capacity(system.drive)), int(layout.used(system.drive))
    positions = used // sectors
    require(positions >= 1, "chunk", sectors, f"at most {used}, the space used on a drive", "sectors")
    if not system.long_addresses and capacity + used > MOST_NARROW:
        raise InputError(
            f"a rebuild of {used} sectors in a layout of {capacity} sectors: both together need more than 32 bits; use "
            "smaller drives, or a layout of 1.1 TB or more"
        )
    # More than half of the slices of each drive have data, over any succession of as many slices as drives.
    slice_of = 1 if layout.longest_rebuild is None else layout.longest_rebuild // sectors
    ahead = np.arange(2 * count + 2 * int(layout.drives) * slice_of, dtype=np.int64)
    address = (draw.integers(positions) + ahead) % positions * sectors
    return address[np.asarray(layout.holds_data(cast(Array, address)))][:count]
