"""Where a trace goes on its devices: seeks, sequential runs, data read again, data touched.

Each device is looked at by itself, in order of arrival. No function loops over requests.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    hits = sum(_reads_after_write(device, within) for device in _each_device(trace))
    return float(hits / len(trace))


def _reads_after_write(trace: RequestTrace, within: float) -> int:
    """How many reads overlap a write less than `within` s before, on one device.

    The device is cut at every start and end of a request into segments that requests touch whole
    or not at all, so overlap is exact; then one pass over (segment, time) finds for every touch the
    last write before it.
    """
    if trace.read.all() or not trace.read.any():
        return 0
    request, segment = _touches(trace)
    order = np.argsort(segment, kind="stable")  # within a segment still by arrival
    request, segment = request[order], segment[order]
    index = np.arange(len(request))
    begins = np.concatenate([[True], segment[1:] != segment[:-1]])
    begin = np.maximum.accumulate(np.where(begins, index, 0))
    written = np.maximum.accumulate(np.where(trace.read[request], -1, index))
    known = trace.read[request] & (written >= begin)
    age = trace.time[request[known]] - trace.time[request[written[known]]]
    return len(np.unique(request[known][age < within]))


def _touches(trace: RequestTrace) -> tuple[np.ndarray, np.ndarray]:
    """Request and segment, [touch], in order of arrival; see `_reads_after_write`."""
    end = trace.offset + trace.size
    cuts = np.unique(np.concatenate([trace.offset, end]))
    first = np.searchsorted(cuts, trace.offset)
    count = np.searchsorted(cuts, end) - first
    request = np.repeat(np.arange(len(trace)), count)
    before = np.cumsum(count) - count
    segment = np.arange(len(request)) - np.repeat(before - first, count)
    return request, segment


def _each_device(trace: RequestTrace):
    """The requests of each device that has any, in order of arrival."""
    order = np.argsort(trace.device, kind="stable")
    bounds = np.flatnonzero(np.diff(trace.device[order])) + 1
    for which in np.split(order, bounds):
        yield trace.take(which)
