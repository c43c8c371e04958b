"""Scenarios of random requests of users, and of sequential streams such as a backup."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from storagekit.core.units import SECTOR
from storagekit.core.validation import Count, Positive, Seed, instance_of, require, several, validate, validate_fields
from storagekit.engine import Scenario, System
from storagekit.engine.system import MOST_NARROW
from storagekit.simulation.merging import background_requests, merged_scenario, regular_arrivals, users_requests
from storagekit.workload.requests import AbstractRequests


@dataclass(frozen=True)
class ChunkStream:
    """A stream that reads or writes data in the order of their addresses, at a constant rate.

    Parameters
    ----------
    rate : float
        Bytes a second.
    chunk : float
        Bytes of a request, whole sectors.
    read : bool
        Whether the stream reads, by default true; otherwise it writes.

    Raises
    ------
    InputError
        If a number is out of range, or the chunk is not whole sectors.
    """

    rate: Positive
    chunk: Positive
    read: bool = True

    def __post_init__(self):
        validate_fields(self)
        require(self.chunk % SECTOR == 0, "chunk", self.chunk, f"a multiple of {SECTOR}", "bytes")

    @property
    def sectors(self) -> int:
        """Return the number of sectors of a request."""
        return int(self.chunk / SECTOR)


_STREAMS = several(instance_of(ChunkStream, "one as ChunkStream(50e6, chunk=2**20)"), of="streams")


@validate
def mixed_scenario(
    system: Annotated[System, instance_of(System, "a System(...)")],
    users: Annotated[
        AbstractRequests, instance_of(AbstractRequests, "a model of requests, such as RandomRequests(...)")
    ],
    *,
    rate: Positive,
    streams: Annotated[Sequence[ChunkStream], _STREAMS] = (),
    data: Positive | None = None,
    requests: Count = 20_000,
    seed: Seed = 0,
) -> Scenario:
    """Return a scenario of users' requests and of sequential streams.

    Parameters
    ----------
    system : System
        The array.
    users : RandomRequests or MixedRequests
        Model of the users' requests.
    rate : float
        Users' requests per second. They arrive as a Poisson stream.
    streams : sequence of ChunkStream
        The streams; none by default.
    data : float, optional
        Bytes at the beginning of the layout over which the streams pass; by default all of the layout.
    requests : int
        Number of requests, of users and streams together.
    seed : int
        Seed of the arrival times, the addresses, and the beginning of each stream. A scenario has the same requests in
        all runs: replications need scenarios with different seeds.

    Returns
    -------
    Scenario
        The scenario. Users have the stream 0, or the numbers of their classes, and the sequential streams follow.

    Raises
    ------
    InputError
        If the layout has several settings, a stream does not fit in the data, or a number is out of range.

    Notes
    -----
    The requests of a stream arrive at constant intervals, in the order of their addresses from a random address. The last
    address is followed by the first. No client waits for them, so that all measures of response times describe the users'
    requests only. `by_stream` measures each stream.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.simulation import ChunkStream, by_stream, mixed_scenario
    >>> layout = sk.placement.Striped(6, 2048)
    >>> system = sk.System(sk.load_drive("atlas10k"), layout, sk.dispatch.Hashing(), sk.schedule.FCFS())
    >>> users = sk.workload.RandomRequests(sk.workload.FixedSize(8192), read_share=1.0)
    >>> backup = ChunkStream(10e6, chunk=2**20)
    >>> seen = sk.simulate(mixed_scenario(system, users, rate=200.0, streams=[backup]), requests=4000, measures=by_stream(2))
    >>> f"{float(seen.stream_throughput[1]) / 1e6:.0f} MB/s"
    '10 MB/s'
    """
    arriving = [users_requests(system, users, rate, requests, seed)]
    capacity = int(system.placement.capacity(system.drive))
    room, draw = capacity if data is None else min(capacity, int(data / SECTOR)), np.random.default_rng(seed)
    for number, one in enumerate(streams, users.stream_count):
        positions = room // one.sectors
        require(positions >= 1, "chunk", one.sectors, f"at most {room}, the data", "sectors")
        narrow = system.long_addresses or room <= MOST_NARROW
        require(narrow, "layout", room, f"at most {MOST_NARROW} sectors in a system with 32-bit addresses", "sectors")
        time = regular_arrivals("rate of a stream", one.rate, one.sectors, float(arriving[0].time[-1]), draw, requests)
        sector = (draw.integers(positions) + np.arange(len(time), dtype=np.int64)) % positions * one.sectors
        arriving.append(background_requests(time, sector, one.sectors, number, one.read))
    return merged_scenario(system, arriving, requests)
