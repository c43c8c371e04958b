"""Locality of a trace on its devices: seeks, sequential runs, re-reads of written data, and footprint.

Each device is examined separately, in order of arrival. No function loops over requests.
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
    device, distance = _seeks(trace)
    if not len(distance):
        return None
    sizes = trace.ends() if capacity is None else [capacity[name] for name in trace.devices]
    random = np.asarray(sizes, np.float64)[device].mean() / 3
    observed = np.abs(distance).mean()
    return float(random / observed) if observed > 0 else float("inf")


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
    _, distance = _seeks(trace)
    return float(np.count_nonzero(distance == 0) / len(trace))


def _seeks(trace: RequestTrace) -> tuple[np.ndarray, np.ndarray]:
    """Return the device and the signed distance, bytes, of every request except the first of each device: [seek]."""
    order = np.argsort(trace.device, kind="stable")
    device, offset = trace.device[order], trace.offset[order]
    end = offset + trace.size[order]
    same = device[1:] == device[:-1]
    return device[1:][same], (offset[1:] - end[:-1])[same]


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
    total = 0
    for device in _each_device(trace):
        order = np.argsort(device.offset, kind="stable")
        first = device.offset[order] // block
        stop = (device.offset + device.size - 1)[order] // block + 1
        # in order of start, only the part of an interval beyond all earlier ones is new
        covered = np.concatenate([[0], np.maximum.accumulate(stop)[:-1]])
        total += int(np.maximum(stop - np.maximum(first, covered), 0).sum())
    return total * block


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
    order = np.argsort(trace.device, kind="stable")  # sorted by device, then by arrival
    device, offset, time = trace.device[order], trace.offset[order], trace.time[order]
    read, end = trace.read[order], offset + trace.size[order]
    hits = 0
    for first, last in pairwise(np.flatnonzero(np.diff(device, prepend=-1, append=-1))):
        which = slice(first, last)
        hits += _reads_after_writes(time[which], offset[which], end[which], read[which], within)
    return float(hits / len(trace))


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


def _each_device(trace: RequestTrace):
    """Yield the requests of each device that has requests, in order of arrival."""
    order = np.argsort(trace.device, kind="stable")
    bounds = np.flatnonzero(np.diff(trace.device[order])) + 1
    for which in np.split(order, bounds):
        yield trace.take(which)
