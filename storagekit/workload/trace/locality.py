"""Where a trace goes on its devices: seeks, sequential runs, data read again, data touched.

Each device is looked at by itself, in order of arrival. No function loops over requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from storagekit.workload.trace.records import RequestTrace

__all__ = ["read_after_write_share", "seek_locality", "sequential_share", "touched_bytes"]

BLOCK = 4096  # bytes, of the footprint
HOUR = 3600.0  # s


def seek_locality(
    trace: RequestTrace, capacity: Mapping[str, int] | None = None
) -> float | None:  # fmt: skip
    """L = mean random seek distance / mean seek distance observed (srarray, Table 3).

    A seek runs from the end of one request to the start of the next on the same device, in bytes
    of address (a trace knows no cylinders); one of length zero counts. Uniformly random ends of
    a device of C bytes are C/3 apart. Both means are over all seeks of all devices, so each device
    weighs as its requests do. capacity: bytes of each device by name; without it C ends where
    the last request does, so that L is a lower bound. Returns inf if every distance is zero,
    None if no device has two requests.
    """
    device, distance = _seeks(trace)
    if not len(distance):
        return None
    sizes = trace.ends() if capacity is None else [capacity[name] for name in trace.devices]
    random = np.asarray(sizes, np.float64)[device].mean() / 3
    observed = np.abs(distance).mean()
    return float(random / observed) if observed > 0 else float("inf")


def sequential_share(trace: RequestTrace) -> float:
    """Requests that begin where the one before on their device ended / all requests."""
    _, distance = _seeks(trace)
    return float(np.count_nonzero(distance == 0) / len(trace))


def _seeks(trace: RequestTrace) -> tuple[np.ndarray, np.ndarray]:
    """Device and signed distance (bytes), [seek], of every request but each device's first."""
    order = np.argsort(trace.device, kind="stable")
    device, offset = trace.device[order], trace.offset[order]
    end = offset + trace.size[order]
    same = device[1:] == device[:-1]
    return device[1:][same], (offset[1:] - end[:-1])[same]


def touched_bytes(trace: RequestTrace, block: int = BLOCK) -> int:
    """Bytes in distinct aligned blocks of `block` bytes that any request touches."""
    total = 0
    for device in _each_device(trace):
        order = np.argsort(device.offset, kind="stable")
        first = device.offset[order] // block
        stop = (device.offset + device.size - 1)[order] // block + 1
        # Of each interval only what lies beyond all before it (in order of start) is new.
        covered = np.concatenate([[0], np.maximum.accumulate(stop)[:-1]])
        total += int(np.maximum(stop - np.maximum(first, covered), 0).sum())
    return total * block


def read_after_write_share(trace: RequestTrace, within: float = HOUR) -> float:
    """Reads of any byte written on that device less than `within` s before / all requests.

    (srarray, Table 3) has "the same data", of which any overlap is taken to be enough.
    """
    order = np.argsort(trace.device, kind="stable")  # device after device, on each by arrival
    by_device = trace.take(order)
    writes = np.flatnonzero(~by_device.read)
    reads = np.flatnonzero(by_device.read)
    # of each read's writes, counted in that order: the first that is young enough, and the first that is later
    first = np.searchsorted(writes, _within(by_device, within)[reads])
    last = np.searchsorted(writes, reads)
    begin, end = by_device.offset, by_device.offset + by_device.size
    # What ends before a read's first byte begins before its last one, too.
    begun = _smaller(begin[writes], first, last, end[reads])
    ended = _smaller(end[writes], first, last, begin[reads] + 1)
    return float(np.count_nonzero(begun > ended) / len(trace))


def _within(trace: RequestTrace, within: float) -> np.ndarray:
    """[request] the first request less than `within` s before each on its device; the trace is sorted by device."""
    first = np.empty(len(trace), np.int64)
    bounds = np.flatnonzero(np.diff(trace.device, prepend=-1, append=-1))
    for begin, end in pairwise(bounds):
        time = trace.time[begin:end]
        first[begin:end] = begin + np.searchsorted(time, time - within, side="right")
    return first


def _smaller(values: np.ndarray, first: np.ndarray, last: np.ndarray, than: np.ndarray) -> np.ndarray:
    """How many of values[first:last] are smaller than `than`, for each query: [query] int64, memory that of its arguments.

    Values are sorted by their ranks' bits, the highest first, and each query follows those that share the bits of its limit:
    where that has a one, all with a zero there are smaller (a wavelet matrix: Claude and Navarro, SPIRE 2012).
    """
    distinct, rank = np.unique(values, return_inverse=True)
    limit = np.searchsorted(distinct, than)
    first, last, count = first.copy(), last.copy(), np.zeros(len(than), np.int64)
    for bit in reversed(range(len(distinct).bit_length())):
        ones = (rank >> bit & 1).astype(bool)
        zeros = np.concatenate([[0], np.cumsum(~ones)])  # before each place
        above = (limit >> bit & 1).astype(bool)
        count += np.where(above, zeros[last] - zeros[first], 0)
        first, last = (np.where(above, zeros[-1] + at - zeros[at], zeros[at]) for at in (first, last))
        rank = np.concatenate([rank[~ones], rank[ones]])
    return count


def _each_device(trace: RequestTrace):
    """The requests of each device that has any, in order of arrival."""
    order = np.argsort(trace.device, kind="stable")
    bounds = np.flatnonzero(np.diff(trace.device[order])) + 1
    for which in np.split(order, bounds):
        yield trace.take(which)
