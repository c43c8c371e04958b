"""Generate the requests of a synthetic trace whose seeks are published, without a loop over requests.

Each block of time is drawn separately: arrival times, then kinds, then locations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from storagekit.workload.synthetic.seeking.arrivals import flushed, shares_of_time, synchronous
from storagekit.workload.synthetic.seeking.model import SeekingTraceModel
from storagekit.workload.synthetic.window import checked_end
from storagekit.workload.trace import RequestTrace, TraceSource

__all__ = ["generate"]


class SeekingBlock(NamedTuple):
    """Requests of one block in order of arrival, arrays of shape [request].

    time: seconds since the start of the trace. read, asynchronous: kind of the request. offset: byte address.
    """

    time: np.ndarray
    read: np.ndarray
    asynchronous: np.ndarray
    offset: np.ndarray


def generate(
    model: SeekingTraceModel, *, seed: int | np.integer, start: float = 0.0, stop: float | None = None
) -> RequestTrace:
    """Generate the requests of a window of a synthetic trace.

    Parameters
    ----------
    model : SeekingTraceModel
        The model.
    seed : int
        Seed, from 0 to 2**64 - 1.
    start : float
        Start of the window, s; by default 0. Times in the result are relative to `start`.
    stop : float, optional
        End of the window, s, exclusive; by default the end of the trace.

    Returns
    -------
    RequestTrace
        The requests with start <= time < stop.

    Raises
    ------
    InputError
        If start and stop are not in order within the trace, or the seed is not a whole number from 0 to 2**64 - 1.

    Notes
    -----
    A window contains the same requests as the corresponding part of the whole trace. Each block of at most an hour has
    a separate counter-based generator, whose key is the seed and the number of the block. A re-read accesses the
    location of a random earlier write. This write is at most one block length older than the re-read.
    """
    stop = checked_end(model.name, model.duration, seed, start, stop)
    borders = np.linspace(0.0, model.duration, model.blocks + 1)
    first = int(np.searchsorted(borders, start, "right")) - 1
    last = int(np.searchsorted(borders[:-1], stop, "left"))
    # [block * interval + 1]: the share of all requests that have arrived at the start of each interval, and at the end
    arrived = np.append(0.0, np.cumsum(shares_of_time(model, seed)))
    arrived[-1] = 1.0
    blocks, before = [], None
    for index in range(max(0, first - 1), last):
        draw = np.random.Generator(np.random.Philox(key=np.array([seed, index], np.uint64)))
        block = _block(model, draw, index, borders[index : index + 2], arrived)
        if index >= first:
            blocks.append(_rereading(model, draw, before, block))
        before = block
    drawn = SeekingBlock(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    trace = RequestTrace(
        time=drawn.time,
        device=np.zeros(len(drawn.time), np.int32),
        offset=drawn.offset,
        size=np.full(len(drawn.time), model.request_size, np.int64),
        read=drawn.read,
        devices=(model.name,),
        asynchronous=drawn.asynchronous,
        source=TraceSource(f"synthetic trace of {model.name}", "stand-in"),
    )
    return trace.window(start, math.inf if stop == model.duration else stop)


def _block(
    model: SeekingTraceModel, draw: np.random.Generator, index: int, border: np.ndarray, arrived: np.ndarray
) -> SeekingBlock:
    """Return the requests of one block, without re-reads."""
    begin, end = border
    intervals = (len(arrived) - 1) // model.blocks
    length = (end - begin) / intervals
    waited_for, later, read = [], [], []
    for number in range(intervals):
        at = index * intervals + number
        asynchronous_writes, reads, synchronous_writes = _counts(model, *arrived[at : at + 2])
        waited_for.append(number * length + synchronous(model, draw, reads + synchronous_writes, length))
        later.append(number * length + flushed(model, draw, asynchronous_writes, length))
        kinds = np.arange(reads + synchronous_writes) < reads
        draw.shuffle(kinds)
        read.append(kinds)
    time = np.concatenate([*waited_for, *later])
    asynchronous = np.arange(len(time)) >= sum(map(len, waited_for))
    read = np.concatenate([*read, np.zeros(np.count_nonzero(asynchronous), bool)])
    order = np.argsort(time, kind="stable")
    time = np.minimum(begin + time[order], np.nextafter(end, begin))  # rounding must not reach the next block
    return SeekingBlock(
        time, read[order], asynchronous[order], _locations(model, draw, read[order]) * model.request_size
    )


def _counts(model: SeekingTraceModel, before: float, after: float) -> tuple[int, int, int]:
    """Return the numbers of asynchronous writes, reads and synchronous writes in an interval.

    before, after: cumulative shares of all requests at the start and at the end of the interval. The sums of the
    numbers over all intervals are exact.
    """
    waited_for = 1 - model.asynchronous_share
    of_these = min(1.0, model.read_share / waited_for) if waited_for else 0.0
    through = []
    for share in (before, after):
        requests = int(model.requests * share + 0.5)
        asynchronous = int(requests * model.asynchronous_share + 0.5)
        # reads are a share of the other requests, so that reads and asynchronous writes are never more than the requests
        reads = int((requests - asynchronous) * of_these + 0.5)
        through.append((asynchronous, reads, requests - asynchronous - reads))
    asynchronous, reads, synchronous_writes = (last - first for first, last in zip(*through, strict=True))
    return asynchronous, reads, synchronous_writes


def _locations(model: SeekingTraceModel, draw: np.random.Generator, read: np.ndarray) -> np.ndarray:
    """Return the location of each request, in multiples of the request size: int64 [request].

    Locations form pairs: reads access the first location of a pair, and writes the second.
    """
    count, pairs = len(read), model.locations // 2
    region = np.maximum(1, np.rint(np.where(read, model.read_region, model.write_region) * pairs)).astype(np.int64)
    length = np.where(draw.random(count) < model.hot, region, pairs)
    return 2 * ((pairs - length) // 2 + (draw.random(count) * length).astype(np.int64)) + ~read


def _rereading(
    model: SeekingTraceModel, draw: np.random.Generator, before: SeekingBlock | None, block: SeekingBlock
) -> SeekingBlock:
    """Return the block with some of its reads moved to recently written locations.

    The writes are at most one block length older than the read, so they are in this block or in the previous block. The
    re-reads at the start of a block therefore follow the same distribution as the re-reads at its end.
    """
    known = block if before is None else SeekingBlock(*map(np.concatenate, zip(before, block, strict=True)))
    written, location = known.time[~known.read], known.offset[~known.read]
    reads = np.flatnonzero(block.read)
    again = reads[draw.random(len(reads)) < model.reread]
    oldest = np.searchsorted(written, block.time[again] - model.duration / model.blocks, "right")
    newest = np.searchsorted(written, block.time[again], "left")
    which = oldest + (draw.random(len(again)) * (newest - oldest)).astype(np.int64)
    found = newest > oldest
    offset = block.offset.copy()
    offset[again[found]] = location[which[found]]
    return block._replace(offset=offset)
