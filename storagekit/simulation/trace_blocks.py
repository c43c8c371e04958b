"""Blocks of the requests of a trace, so that a replay of a trace of any length needs constant memory."""

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload import RecordedArrivals
from storagekit.workload.recorded import TraceMapping
from storagekit.workload.trace import RequestTrace, TraceFile
from storagekit.workload.trace.records import joined

# smallest number of requests of a block; few lengths, so that traces share programs
FEWEST_ROWS = 2**11


class Blocks:
    """The arrivals of a trace in blocks of equal length, so that all blocks share a program.

    Parameters
    ----------
    trace : RequestTrace or TraceFile
        The trace.
    mapping : TraceMapping
        How its requests become arrivals.
    most : int
        Largest number of requests of a block.
    """

    def __init__(self, trace: RequestTrace | TraceFile, mapping: TraceMapping, most: int):
        self._mapping, self._requests = mapping, mapping.outline.requests
        self.rows = min(most, max(FEWEST_ROWS, 2 ** (self._requests - 1).bit_length()))
        self._parts = trace.parts() if isinstance(trace, TraceFile) else iter([trace])
        self._loaded: RequestTrace | None = None
        self._first = self._wrapping = 0

    def starting_at(self, number: int) -> RecordedArrivals:
        """Return the block that begins with request `number`, which is not before the previous block.

        Raises
        ------
        InputError
            If the file of the trace has become shorter.
        """
        # after the last request has entered, its infinite gap is still needed
        number = min(number, self._requests - 1)
        loaded, left = self._from(number, self._loaded), self._requests - number
        while loaded is None or len(loaded) < min(self.rows + 1, left):
            part = self._next()
            loaded = self._from(number, part if loaded is None else joined([loaded, part]))
        self._loaded = loaded = loaded.take(slice(0, left))
        after = loaded.time[self.rows] - loaded.time[self.rows - 1] if len(loaded) > self.rows else np.inf
        return self._mapping.arrivals(loaded.take(slice(0, self.rows)), number, float(after), self.rows)

    def reaches(self, number: int) -> bool:
        """Return whether the block has all requests before request `number`."""
        return min(number, self._requests) <= self._first + self.rows

    @property
    def wrapping(self) -> float:
        """Share of the requests whose addresses wrap around, among the requests that were read."""
        return self._wrapping / self._requests

    def _from(self, number: int, loaded: RequestTrace | None) -> RequestTrace | None:
        """Return the loaded requests from `number` on."""
        if loaded is None:
            return None
        before = min(number - self._first, len(loaded))
        self._first += before
        return loaded.take(slice(before, None))

    def _next(self) -> RequestTrace:
        part = next(self._parts, None)
        if part is None:
            name = self._mapping.outline.source.name
            raise InputError(f"{name} has fewer requests than before: do not change a trace during its replay")
        self._wrapping += self._mapping.wrapping(part)
        return part
