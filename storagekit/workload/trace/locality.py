"""Locality of a trace on its devices: seeks, sequential runs, re-reads of written data, and footprint.

Each class receives the requests in order of arrival, in one or several parts, and needs memory for what the requests
touch, not for the requests. Each device is examined separately. No function loops over requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from storagekit.workload.trace.records import RequestTrace

__all__ = [
    "Footprint", "ReadsAfterWrites", "Seeks", "read_after_write_share", "seek_locality", "sequential_share",
    "touched_bytes",
]  # fmt: skip

BLOCK = 4096  # bytes, of the footprint
HOUR = 3600.0  # s
SEGMENT = 2**20
"""Requests that are examined together, at least."""


class Seeks:
    """Distances from the end of each request to the start of the next request on the same device."""

    def __init__(self):
        self._requests = 0
        self._sequential = 0
        self._distance = 0.0
        self._seeks = np.zeros(0, np.int64)  # [device]
        self._last = np.zeros(0, np.int64)  # end of the last request of each device, -1 before its first
        self._ends = np.zeros(0, np.int64)
        self._devices: tuple[str, ...] = ()

    def add(self, trace: RequestTrace) -> None:
        """Add the next requests. They may have further devices after the devices of earlier parts."""
        more = len(trace.devices) - len(self._last)
        self._devices = trace.devices
        self._seeks, self._ends = np.pad(self._seeks, (0, more)), np.pad(self._ends, (0, more))
        self._last = np.pad(self._last, (0, more), constant_values=-1)
        self._requests += len(trace)
        for device, offset, end in _each_device(trace):
            before = np.concatenate([self._last[device : device + 1], end[:-1]])
            distance = (offset - before)[int(before[0] < 0) :]
            self._seeks[device] += len(distance)
            self._sequential += int(np.count_nonzero(distance == 0))
            self._distance += float(np.abs(distance).sum(dtype=np.float64))
            self._last[device] = end[-1]
            self._ends[device] = max(self._ends[device], int(end.max()))

    @property
    def ends(self) -> list[int]:
        """Address after the last byte that a request accesses, for each device."""
        return self._ends.tolist()

    @property
    def used(self) -> int:
        """Number of devices that have requests."""
        return int(np.count_nonzero(self._ends))

    @property
    def sequential_share(self) -> float:
        """Number of requests that begin at the end of the previous one on the same device / number of all requests."""
        return self._sequential / self._requests

    def locality(self, capacity: Mapping[str, int] | None = None) -> float | None:
        """Return the seek locality; see `seek_locality`."""
        total = int(self._seeks.sum())
        if not total:
            return None
        sizes = self._ends if capacity is None else [capacity[name] for name in self._devices]
        random = float(np.asarray(sizes, np.float64) @ self._seeks) / 3
        return random / self._distance if self._distance > 0 else float("inf")


class Footprint:
    """The distinct blocks that requests touch.

    Parameters
    ----------
    block : int
        Size of the aligned blocks, bytes; by default 4096.
    """

    def __init__(self, block: int = BLOCK):
        self._block = block
        self._parts: list[np.ndarray] = []  # (device, first block, block after the last), [3, interval]
        self._merged = 0
        self._waiting = 0

    def add(self, trace: RequestTrace) -> None:
        """Add further requests, in any order."""
        first = trace.offset // self._block
        stop = (trace.offset + trace.size - 1) // self._block + 1
        self._parts.append(_merged(np.stack([trace.device.astype(np.int64), first, stop])))
        self._waiting += self._parts[-1].shape[1]
        if self._waiting > max(SEGMENT, self._merged):
            self._merge()

    def _merge(self) -> np.ndarray:
        self._parts = [_merged(np.concatenate(self._parts, axis=1))]
        self._merged, self._waiting = self._parts[0].shape[1], 0
        return self._parts[0]

    def bytes(self) -> int:
        """Return the bytes in the blocks, summed over devices."""
        if not self._parts:
            return 0
        _, first, stop = self._merge()
        return int((stop - first).sum()) * self._block


def _merged(intervals: np.ndarray) -> np.ndarray:
    """Return the union of intervals as disjoint intervals, sorted by device and start: [3, interval]."""
    device, first, stop = intervals[:, np.lexsort(intervals[1::-1])]
    reach = np.empty_like(stop)
    for begin, end in pairwise(np.flatnonzero(np.diff(device, prepend=-1, append=-1))):
        reach[begin:end] = np.maximum.accumulate(stop[begin:end])
    new = np.ones(len(device), bool)
    new[1:] = (device[1:] != device[:-1]) | (first[1:] > reach[:-1])
    last = np.append(np.flatnonzero(new)[1:], len(device)) - 1
    return np.stack([device[new], first[new], reach[last]])


class ReadsAfterWrites:
    """The reads of data that was written recently on the same device.

    Memory is proportional to the number of writes within the time, and at least to `SEGMENT` requests.

    Parameters
    ----------
    within : float
        Time since the write below which data is recently written, s; by default 3600.
    """

    def __init__(self, within: float = HOUR):
        self._within = within
        self._writes = _Requests.none()  # recent writes of earlier parts
        self._waiting: list[_Requests] = []
        self._hits = 0

    def add(self, trace: RequestTrace) -> None:
        """Add the next requests."""
        end = trace.offset + trace.size
        self._waiting.append(_Requests(trace.device, trace.time, trace.offset, end, trace.read))
        if sum(map(len, self._waiting)) >= max(SEGMENT, len(self._writes)):
            self._examine()

    def _examine(self) -> None:
        some = _Requests.joined([self._writes, *self._waiting])
        order = np.argsort(some.device, kind="stable")  # sorted by device, then by arrival
        device = some.device[order]
        for first, last in pairwise(np.flatnonzero(np.diff(device, prepend=-1, append=-1))):
            which = order[first:last]
            self._hits += _reads_after_writes(
                some.time[which], some.begin[which], some.end[which], some.read[which], self._within
            )
        recent = ~some.read & (some.time > some.time[-1] - self._within) if len(some) else some.read
        self._writes, self._waiting = some.where(recent), []

    def count(self) -> int:
        """Return the number of reads so far."""
        self._examine()
        return self._hits


class _Requests:
    """Columns of requests: device, arrival time, first byte, byte after the last, and whether it is a read."""

    def __init__(self, device, time, begin, end, read):
        self.device, self.time, self.begin, self.end, self.read = device, time, begin, end, read

    def __len__(self) -> int:
        return len(self.time)

    @classmethod
    def none(cls) -> _Requests:
        empty = np.zeros(0, np.int64)
        return cls(empty.astype(np.int32), empty.astype(float), empty, empty, empty.astype(bool))

    @classmethod
    def joined(cls, parts: list[_Requests]) -> _Requests:
        return cls(*(np.concatenate(columns) for columns in zip(*(part._columns() for part in parts), strict=True)))

    def where(self, mask: np.ndarray) -> _Requests:
        return type(self)(*(column[mask] for column in self._columns()))

    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.device, self.time, self.begin, self.end, self.read


def seek_locality(
    trace: RequestTrace, capacity: Mapping[str, int] | None = None
) -> float | None:  # fmt: skip
    """Return the seek locality L: mean random seek distance / mean observed seek distance (srarray, Table 3).

    Parameters
    ----------
    trace : RequestTrace
        The trace.
    capacity : mapping of str to int, optional
        Size of each device in bytes, keyed by name. By default a device ends at the end of its last request, and L is
        then a lower bound.

    Returns
    -------
    float or None
        L; inf if every observed distance is zero, None if no device has two requests.

    Notes
    -----
    A seek runs from the end of one request to the start of the next request on the same device. The distance of a seek
    is measured in bytes of address, because a trace has no cylinders. Seeks of distance zero count. On a device of C
    bytes, the mean distance of two uniformly random locations is C/3. Both means are over all seeks of all devices, so
    each device is weighted by its number of requests.

    References
    ----------
    (srarray, Table 3).
    """
    seeks = Seeks()
    seeks.add(trace)
    return seeks.locality(capacity)


def sequential_share(trace: RequestTrace) -> float:
    """Return the share of requests that begin at the end of the previous request on the same device.

    Parameters
    ----------
    trace : RequestTrace
        The trace, with at least one request.

    Returns
    -------
    float
        Number of these requests / number of all requests.
    """
    seeks = Seeks()
    seeks.add(trace)
    return seeks.sequential_share


def touched_bytes(trace: RequestTrace, block: int = BLOCK) -> int:
    """Return the number of bytes in the distinct blocks that requests touch.

    Parameters
    ----------
    trace : RequestTrace
        The trace.
    block : int
        Size of the aligned blocks, bytes; by default 4096.

    Returns
    -------
    int
        Bytes, summed over devices.
    """
    touched = Footprint(block)
    touched.add(trace)
    return touched.bytes()


def read_after_write_share(trace: RequestTrace, within: float = HOUR) -> float:
    """Return the share of requests that read recently written data.

    Parameters
    ----------
    trace : RequestTrace
        The trace, with at least one request.
    within : float
        Time since the write below which data is recently written, s; by default 3600.

    Returns
    -------
    float
        Number of reads that access any byte written on the same device less than `within` seconds before / number of
        all requests.

    Notes
    -----
    (srarray, Table 3) counts reads of "the same data". Here any overlap is sufficient.
    """
    found = ReadsAfterWrites(within)
    found.add(trace)
    return found.count() / len(trace)


def _reads_after_writes(
    time: np.ndarray, begin: np.ndarray, end: np.ndarray, read: np.ndarray, within: float
) -> int:  # fmt: skip
    """Return the number of reads of one device that access a byte written less than `within` seconds before."""
    sure = read & _same_start(time, begin, read, within)
    # the other reads need a search, unless no write ever touches their bytes
    reads = np.flatnonzero(read & ~sure)
    reads = reads[_overlaps(begin[reads], end[reads], begin[~read], end[~read])]
    writes = np.flatnonzero(~read)
    writes = writes[_overlaps(begin[writes], end[writes], begin[reads], end[reads])]
    # for each read, in that order: the first write that is recent enough, and the first write after the read
    first = np.searchsorted(writes, np.searchsorted(time, time[reads] - within, side="right"))
    last = np.searchsorted(writes, reads)
    # a write that ends before a read's first byte also begins before its last one
    begun = _smaller(begin[writes], first, last, end[reads])
    ended = _smaller(end[writes], first, last, begin[reads] + 1)
    return int(np.count_nonzero(sure)) + int(np.count_nonzero(begun > ended))


def _same_start(time: np.ndarray, begin: np.ndarray, read: np.ndarray, within: float) -> np.ndarray:
    """Return whether the last write before each request that begins at the same byte is recent: [request] bool."""
    order = np.argsort(begin, kind="stable")
    number = np.arange(len(order))
    group = np.maximum.accumulate(np.where(np.diff(begin[order], prepend=-1) != 0, number, 0))
    latest = np.maximum.accumulate(np.where(read[order], -1, number))
    sorted_time = time[order]
    found = np.empty(len(order), bool)
    found[order] = (latest >= group) & (sorted_time - sorted_time[latest] < within)
    return found


def _overlaps(begin: np.ndarray, end: np.ndarray, other_begin: np.ndarray, other_end: np.ndarray) -> np.ndarray:
    """Return whether each interval overlaps one of the other intervals: [interval] bool."""
    if not len(other_begin):
        return np.zeros(len(begin), bool)
    begun = np.searchsorted(np.sort(other_begin), end)
    ended = np.searchsorted(np.sort(other_end), begin, side="right")
    return begun > ended


def _smaller(values: np.ndarray, first: np.ndarray, last: np.ndarray, than: np.ndarray) -> np.ndarray:
    """Return, for each query, the number of entries in values[first:last] that are smaller than `than`: [query] int64.

    Memory is proportional to the arguments. The method is a wavelet matrix (Claude and Navarro, SPIRE 2012). Values are
    sorted by the bits of their ranks, beginning with the highest bit. At each bit, a query continues with the values
    that have the same bit as its limit. If this bit of the limit is one, all values with a zero there are smaller.
    """
    distinct, rank = np.unique(values, return_inverse=True)
    limit = np.searchsorted(distinct, than)
    first, last, count = first.copy(), last.copy(), np.zeros(len(than), np.int64)
    for bit in reversed(range(len(distinct).bit_length())):
        ones = (rank >> bit & 1).astype(bool)
        zeros = np.concatenate([[0], np.cumsum(~ones)])  # zeros before each location
        above = (limit >> bit & 1).astype(bool)
        count += np.where(above, zeros[last] - zeros[first], 0)
        first, last = (np.where(above, zeros[-1] + at - zeros[at], zeros[at]) for at in (first, last))
        rank = np.concatenate([rank[~ones], rank[ones]])
    return count


def _each_device(trace: RequestTrace) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the device, the offsets and the ends of the requests of each device that has requests, in order."""
    order = np.argsort(trace.device, kind="stable")
    device = trace.device[order]
    for first, last in pairwise(np.flatnonzero(np.diff(device, prepend=-1, append=-1))):
        which = order[first:last]
        yield int(device[first]), trace.offset[which], trace.offset[which] + trace.size[which]
