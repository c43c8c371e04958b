"""A trace as arrivals: its requests, at its times, addressed to the sectors of a system."""

from typing import cast

import numpy as np
from jaxtyping import Array
from numpy.typing import DTypeLike

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, real
from storagekit.core.errors import InputError
from storagekit.core.kinds import SECTORS, takes
from storagekit.workload.arrivals import RecordedArrivals
from storagekit.workload.randomness import scramble
from storagekit.workload.requests import Requests
from storagekit.workload.trace import RequestTrace
from storagekit.workload.trace.records import TRACE

BLOCK = 8


@takes(trace=TRACE, capacity=SECTORS, unit=SECTORS)
def recorded(trace: RequestTrace, capacity: int, scale: float = 1.0, unit: int = BLOCK) -> RecordedArrivals:
    """The arrivals of a trace on a system that offers `capacity` sectors.

    Devices lie end to end; addresses beyond the capacity wrap around (`wrapped` counts them), so that their order and
    distances survive. A request is known to dispatchers by the unit of `unit` sectors (4 KB) that it begins in, and sent
    to a brick that is drawn once and for all. scale > 1 runs the trace faster. Raises InputError where a single
    request exceeds the capacity, and for a trace without requests.
    """
    if not len(trace):
        raise InputError(f"{trace.source.name} holds no request here; choose a wider window")
    sectors = np.maximum(1, -(-trace.size // units.SECTOR))
    # as many sectors as a request's field holds
    if int(sectors.max()) >= min(capacity, 2**31):
        raise InputError(f"a request of {int(trace.size.max())} bytes: the system holds {capacity * units.SECTOR}")
    sector = (trace.concatenated().offset // units.SECTOR) % (capacity - int(sectors.max()))
    asynchronous = np.zeros(len(trace), bool) if trace.asynchronous is None else trace.asynchronous
    number = _column(np.arange(len(trace)), np.int32)
    gap = np.append(np.diff(trace.time), np.inf)
    requests = Requests(
        number=number,
        sector=addresses(sector),
        sectors=_column(sectors, np.int32),
        read=_column(trace.read, bool),
        receiving=scramble(number + len(trace)),
        address_hash=scramble(addresses(sector // unit)),
        asynchronous=_column(asynchronous & ~trace.read, bool),
        stream=_column(np.zeros(len(trace)), np.int32),
        client=_column(np.zeros(len(trace)), np.int32),
    )
    return RecordedArrivals(requests, real(gap), scale)


def _column(values: np.ndarray, kind: DTypeLike) -> AnyArray:
    """Return a field of all requests as this type. It stays NumPy's: JAX would compile programs that only fill arrays."""
    return cast(Array, values.astype(kind, copy=False))


@takes(trace=TRACE, capacity=SECTORS)
def wrapped(trace: RequestTrace, capacity: int) -> float:
    """The share of requests to addresses beyond `capacity` sectors."""
    return float(np.mean(trace.concatenated().offset // units.SECTOR >= capacity))
