"""Arrivals of a trace: the requests at their recorded times, with their addresses mapped to the sectors of a system."""

from dataclasses import dataclass
from typing import Annotated, cast

import numpy as np
from jaxtyping import Array
from numpy.typing import DTypeLike

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, real
from storagekit.core.errors import InputError
from storagekit.core.validation import Count, Positive, Sectors, validate, validate_fields
from storagekit.workload.arrivals import RecordedArrivals, RecordedLoop
from storagekit.workload.randomness import scramble
from storagekit.workload.requests import Requests
from storagekit.workload.trace import RequestTrace
from storagekit.workload.trace.records import TRACE
from storagekit.workload.trace.stored import Outline, outline_of

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
        If the trace has no requests or no times, if a closed loop has a scale, or if a request is as large as the
        capacity.

    Notes
    -----
    Addresses wrap around at the capacity minus the largest request. Below that sector, the order and the distances of
    addresses are preserved. `wrapped` returns the share of requests that wrap around. The brick that receives a request
    is drawn once, and is the same in every run.
    """
    return TraceMapping(outline_of(trace), capacity, scale, unit, depth).arrivals(trace)


@dataclass(frozen=True)
class TraceMapping:
    """Conversion of the requests of a trace to arrivals at a system, for a whole trace or for its parts; see `recorded`.

    Parameters
    ----------
    outline : Outline
        Numbers of the whole trace.
    capacity, scale, unit, depth
        See `recorded`.

    Raises
    ------
    InputError
        If the trace has no requests or no times, if a closed loop has a scale, or if a request is not smaller than the
        capacity.
    """

    outline: Outline
    capacity: Sectors
    scale: Positive = 1.0
    unit: Sectors = BLOCK
    depth: Count | None = None

    def __post_init__(self):
        validate_fields(self)
        if not self.outline.requests:
            raise InputError(f"{self.outline.source.name} has no request in this window; give a wider window")
        if self.depth is not None and self.scale != 1:
            raise InputError(
                f"scale {self.scale:g} of a closed loop: the recorded times are not used; give either scale or depth"
            )
        # the field for the length of a request has 32 bits
        if self._longest >= min(self.capacity, 2**31):
            raise InputError(
                f"a request of {self.outline.largest} bytes: the system has {self.capacity * units.SECTOR} bytes; use "
                "larger drives"
            )

    @property
    def wraps_at(self) -> int:
        """The sector at which addresses wrap around: the capacity minus the largest request."""
        return self.capacity - self._longest

    @property
    def _longest(self) -> int:
        return int(_sectors(self.outline.largest))

    def wrapping(self, part: RequestTrace) -> int:
        """Return the number of requests of a part whose addresses wrap around."""
        return int(np.count_nonzero(self._sector(part) >= self.wraps_at))

    def arrivals(
        self, part: RequestTrace, first: int = 0, gap_after: float = np.inf, rows: int | None = None
    ) -> RecordedArrivals:
        """Return the arrivals of a part of the trace.

        Parameters
        ----------
        part : RequestTrace
            Successive requests of the trace.
        first : int
            Number of the first of them within the trace; by default 0.
        gap_after : float
            Time from the last of them to the next request, s; by default infinite, because there is none.
        rows : int, optional
            Number of rows of the arrays, by default the number of requests. Further rows never arrive.

        Returns
        -------
        RecordedArrivals
            The arrivals.

        Raises
        ------
        InputError
            If the trace has no times, and no depth is given.
        """
        if self.depth is None and not self.outline.source.timed:
            raise InputError(
                f"{self.outline.source.name} has no arrival times; give the number of outstanding requests of a closed "
                "loop (depth, --depth)"
            )
        missing = 0 if rows is None else rows - len(part)
        sector = self._sector(part) % self.wraps_at
        asynchronous = np.zeros(len(part), bool) if part.asynchronous is None else part.asynchronous
        number = _column(np.arange(first, first + len(part)), np.int32)
        nothing = _column(np.zeros(len(part)), np.int32)
        columns = Requests(
            number=number,
            sector=addresses(sector),
            sectors=_column(_sectors(part.size), np.int32),
            read=_column(part.read, bool),
            receiving=scramble(number + self.outline.requests),
            address_hash=scramble(addresses(sector // self.unit)),
            asynchronous=_column(asynchronous & ~part.read, bool),
            stream=nothing,
            client=nothing,
        )
        requests = Requests(*(np.concatenate([column, np.repeat(column[-1:], missing)]) for column in columns))
        gap = np.concatenate([np.diff(part.time), [gap_after], np.full(missing, np.inf)])
        if self.depth is None:
            return RecordedArrivals(requests, real(gap), self.scale, first=first)
        loop = real(np.where(np.isfinite(gap), 0.0, gap))
        return RecordedLoop(requests, loop, self.scale, first=first, outstanding=self.depth)

    def _sector(self, part: RequestTrace) -> np.ndarray:
        return part.concatenated(self.outline.ends).offset // units.SECTOR


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
    return TraceMapping(outline_of(trace), capacity).wrapping(trace) / len(trace)


def _sectors(size):
    """Return the number of sectors of requests of `size` bytes, at least 1."""
    return np.maximum(1, -(-size // units.SECTOR))
