"""Traces that stay in their files, and are read in parts: `TraceFile`, and the numbers of a whole trace: `Outline`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import called, flag, require_takes, shown
from storagekit.workload.trace.formats import TraceFormat
from storagekit.workload.trace.reading import DISORDER_LIMIT, by_name, file_parts, in_order, with_devices
from storagekit.workload.trace.records import EXTENT, Extents, RequestTrace, TraceSource, compacted_name

__all__ = ["Outline", "TraceFile", "outline_of"]


@dataclass(frozen=True)
class Outline:
    """Numbers of a whole trace that its simulation needs before the first request.

    Parameters
    ----------
    source : TraceSource
        Origin of the trace.
    requests : int
        Number of requests.
    largest : int
        Size of the largest request, bytes.
    mean_size : float
        Mean size of the requests, bytes.
    ends : mapping of str to int
        Address after the last byte that a request accesses, by device, in the order of the devices.
    digest : str
        Digest of the requests and of `ends`, in hexadecimal. It differs if the trace is divided into parts differently.
    """

    source: TraceSource
    requests: int
    largest: int
    mean_size: float
    ends: Mapping[str, int]
    digest: str

    @property
    def end(self) -> int:
        """Address after the last byte if the devices are laid end to end, bytes."""
        return sum(self.ends.values())


class _Outlining:
    """Compute the `Outline` of a trace from its parts in order."""

    def __init__(self):
        self._requests = self._bytes = self._largest = 0
        self._ends: dict[str, int] = {}
        self._digest = hashlib.sha256()

    def add(self, trace: RequestTrace) -> None:
        """Add the next requests of the trace."""
        self._requests += len(trace)
        self._bytes += int(trace.size.sum())
        self._largest = max(self._largest, int(trace.size.max(initial=0)))
        for name, end in zip(trace.devices, trace.ends().tolist(), strict=True):
            self._ends[name] = max(self._ends.get(name, 0), end)
        for column in (trace.time, trace.device, trace.offset, trace.size, trace.read, trace.asynchronous):
            if column is not None:
                self._digest.update(np.ascontiguousarray(column).data)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices so far, in the order of their first requests."""
        return tuple(self._ends)

    def result(self, source: TraceSource, devices: tuple[str, ...]) -> Outline:
        """Return the outline of the requests so far, with the devices in the order of `devices`."""
        return self._outline(source, {name: self._ends.get(name, 0) for name in devices})

    def compacted(self, source: TraceSource, extents: Extents) -> Outline:
        """Return the outline of the requests so far if only the touched extents are kept."""
        name = compacted_name(len(self._ends))
        return self._outline(source, {name: len(extents) * EXTENT})

    def _outline(self, source: TraceSource, ends: dict[str, int]) -> Outline:
        mean = self._bytes / self._requests if self._requests else float("nan")
        digest = self._digest.copy()
        digest.update(repr(ends).encode())
        return Outline(source, self._requests, self._largest, mean, ends, digest.hexdigest())


def outline_of(trace: RequestTrace | TraceFile) -> Outline:
    """Return the outline of a trace in memory or in its file."""
    if isinstance(trace, TraceFile):
        return trace.outline
    outlining = _Outlining()
    outlining.add(trace)
    return outlining.result(trace.source, trace.devices)


class TraceFile:
    """A trace that stays in its file. Each pass reads the file again in parts, to save memory.

    The first pass, when the object is created, computes `outline` and raises for a file with a fault.

    Parameters
    ----------
    path : str or path
        The trace file, a regular file that can be read twice, plain or compressed by gzip, bzip2, xz or zstd.
    format : TraceFormat or str, optional
        One of `FORMATS`, or its name. By default the content determines it.
    disorder_limit : float
        Largest time by which a record may be earlier than a preceding record of the file, s; by default 60.
    columns : str or mapping of str to str, optional
        Columns of a table, see `read`. By default the format, or the names in the header, determine them.
    requests : int, optional
        Number of requests to read, from the start of the file; by default all.
    skip_bad : int
        Number of damaged lines to leave out before a damaged line raises; by default 0.
    select : callable, optional
        Function that receives an iterator over the parts of the trace and returns an iterator over the selected
        requests of each part, for example `lambda parts: (part.window(0, 60) for part in parts)`. By default all requests
        are selected.
    compact : bool
        Whether only the touched parts of the devices are kept, see `RequestTrace.compacted`; by default false.

    Raises
    ------
    InputError
        If the file has a fault, or cannot be read twice.

    Warns
    -----
    RuntimeWarning
        See `read`.

    Examples
    --------
    >>> import storagekit as sk
    >>> trace = sk.open_trace(sk.resources.data_path("samples", "small.spc"))
    >>> drives = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> f"{trace.outline.requests} requests, {float(sk.replay(trace, drives).response) / sk.units.MS:.0f} ms on average"
    '2000 requests, 11 ms on average'
    """

    def __init__(
        self, path: str | Path, format: TraceFormat | str | None = None, disorder_limit: float = DISORDER_LIMIT, *,
        columns: str | Mapping[str, str] | None = None, requests: int | None = None, skip_bad: int = 0,
        select: Callable[[Iterator[RequestTrace]], Iterator[RequestTrace]] | None = None, compact: bool = False,
    ):  # fmt: skip
        if select is not None:
            require_takes("select", called("select", select), ("parts",))
        flag("compact", compact)
        if not isinstance(path, str | Path):
            raise InputError(
                f"a trace in its file: given {shown(path)}; give one path, or use read_trace for several files"
            )
        if Path(path).exists() and not Path(path).is_file():
            raise InputError(f"{path} is not a regular file, and cannot be read twice; use read_trace")
        self._arguments = (path, format, disorder_limit, columns, requests, skip_bad)
        self._limit, self._select = disorder_limit, select or iter
        self._extents = Extents() if compact else None
        self._stamp = self._stamped()
        self.outline = self._outlined()

    def parts(self) -> Iterator[RequestTrace]:
        """Yield the requests in order of time, about 262,144 in each part. All parts have the same devices.

        Yields
        ------
        RequestTrace
            The next requests. Times are relative to the first request.

        Raises
        ------
        InputError
            If the file has changed since the first pass.
        """
        self.require_unchanged()
        for part in self._passed(warn=False):  # the first pass gave the warnings
            if not set(part.devices) <= set(self._devices):
                self.require_unchanged()
            whole = with_devices(part, self._devices)
            yield whole if self._extents is None else self._extents.compacted(whole)

    def require_unchanged(self) -> None:
        """Raise InputError if the file has changed since it was opened."""
        if self._stamped() != self._stamp:
            raise InputError(
                f"{self._arguments[0]} has changed since it was opened: do not change a trace while it is used"
            )

    def _stamped(self) -> tuple[int, ...] | None:
        """Return the size, the time of change and the number of the file; None without a file."""
        path = Path(self._arguments[0])
        if not path.exists():
            return None
        found = path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino

    def _passed(self, warn: bool) -> Iterator[RequestTrace]:
        return self._select(in_order(file_parts(*self._arguments, warn=warn), self._limit))

    def _outlined(self) -> Outline:
        outlining, last = _Outlining(), None
        for last in self._passed(warn=True):
            outlining.add(last)
            if self._extents is not None:
                self._extents.add(last)
        if last is None:
            raise InputError(f"the selection from {self._arguments[0]} has no part; return an iterator over parts")
        self._devices = by_name(outlining.devices)
        if self._extents is None:
            return outlining.result(last.source, self._devices)
        self._extents.renumber(np.array([self._devices.index(name) for name in outlining.devices], int))
        return outlining.compacted(last.source, self._extents)
