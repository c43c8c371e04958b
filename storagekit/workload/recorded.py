"""Arrivals of a trace: the requests at their recorded times, with their addresses mapped to the sectors of a system."""

from typing import Annotated, cast

import numpy as np
from jaxtyping import Array
from numpy.typing import DTypeLike

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, real
from storagekit.core.errors import InputError
from storagekit.core.validation import Count, Sectors, validate
from storagekit.workload.arrivals import RecordedArrivals, RecordedLoop
from storagekit.workload.randomness import scramble
from storagekit.workload.requests import Requests
from storagekit.workload.trace import RequestTrace
from storagekit.workload.trace.records import TRACE

BLOCK = 8


@validate
def recorded(
    trace: Annotated[RequestTrace, TRACE], capacity: Sectors, scale: float = 1.0, unit: Sectors = BLOCK,
    depth: Count | None = None,
) -> RecordedArrivals:  # fmt: skip
    """Return the arrivals of a trace on a system.

    Parameters
    ----------
    trace : RequestTrace
        The trace. Its devices are concatenated into one address space.
    capacity : int
        Size of the system, sectors.
    scale : float
        Factor by which the recorded arrival rate is multiplied; by default 1. With a factor above 1 the trace runs
        faster.
    unit : int
        Size of an addressed unit, sectors; by default 8, which is 4 KB. Dispatchers use the hash of an address, which
        is computed from the number of the unit where a request begins.

    depth : int, optional
        Number of outstanding requests of a closed loop, which replaces the recorded times. By default the requests
        arrive at their recorded times.

    Returns
    -------
    RecordedArrivals
        The arrivals, the same in every run.

    Raises
    ------
    InputError
        If the trace has no requests or no times, or a request is as large as the capacity.

    Notes
    -----
    Addresses wrap around at the capacity minus the largest request. Below that sector, the order and the distances of
    addresses are preserved. `wrapped` returns the share of requests that wrap around. The brick that receives a request
    is drawn once, and is the same in every run.
    """
    if not len(trace):
        raise InputError(f"{trace.source.name} has no request in this window; give a wider window")
    if depth is None and not trace.source.timed:
        raise InputError(
            f"{trace.source.name} has no arrival times; give the number of outstanding requests of a closed loop (depth, "
            "--depth)"
        )
    sectors = _sectors(trace)
    # the field for the length of a request has 32 bits
    if int(sectors.max()) >= min(capacity, 2**31):
        raise InputError(
            f"a request of {int(trace.size.max())} bytes: the system has {capacity * units.SECTOR} bytes; use larger "
            "drives"
        )
    sector = (trace.concatenated().offset // units.SECTOR) % _wraps_at(trace, capacity)
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
    if depth is None:
        return RecordedArrivals(requests, real(gap), scale)
    return RecordedLoop(requests, real(np.where(np.isfinite(gap), 0.0, gap)), scale, outstanding=depth)


def _column(values: np.ndarray, kind: DTypeLike) -> AnyArray:
    """Return a field of all requests as an array of the type `kind`.

    The result is a NumPy array, because JAX would compile programs that only fill arrays.
    """
    return cast(Array, values.astype(kind, copy=False))


@validate
def wrapped(trace: Annotated[RequestTrace, TRACE], capacity: Sectors) -> float:
    """Return the share of requests whose addresses wrap around in `recorded`.

    Parameters
    ----------
    trace : RequestTrace
        The trace. Its devices are concatenated into one address space.
    capacity : int
        Size of the system, sectors.

    Returns
    -------
    float
        The share of requests that begin at or after the sector at which addresses wrap around (see `recorded`).
    """
    return float(np.mean(trace.concatenated().offset // units.SECTOR >= _wraps_at(trace, capacity)))


def _wraps_at(trace: RequestTrace, capacity: int) -> int:
    """Return the sector at which addresses wrap around: the capacity minus the largest request."""
    return capacity - int(_sectors(trace).max())


def _sectors(trace: RequestTrace) -> np.ndarray:
    return np.maximum(1, -(-trace.size // units.SECTOR))
