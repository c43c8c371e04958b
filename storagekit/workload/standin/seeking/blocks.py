"""Requests of a stand-in, block by block: when they arrive, what they are, where they go. No loop over requests."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from storagekit.workload.standin.seeking.mixture import Mixture
from storagekit.workload.standin.seeking.model import SeekingStandIn
from storagekit.workload.standin.window import checked_end
from storagekit.workload.trace import RequestTrace, TraceSource

__all__ = ["joined"]


class Block(NamedTuple):
    """Requests of one block in order of arrival, [request]: s since the start of the trace, kind, byte address."""

    time: np.ndarray
    read: np.ndarray
    asynchronous: np.ndarray
    offset: np.ndarray


def joined(
    model: SeekingStandIn, mixture: Mixture, seed: int | np.integer, start: float, stop: float | None
) -> RequestTrace:
    """The window [start, stop) s of the stand-in, its requests drawn by the mixture; see `generation.generate`."""
    stop = checked_end(model.name, model.duration, seed, start, stop)
    borders = _borders(model)
    first = int(np.searchsorted(borders, start, "right")) - 1
    last = int(np.searchsorted(borders[:-1], stop, "left"))
    blocks = [_block(model, mixture, seed, index) for index in range(first, last)]
    drawn = Block(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    trace = RequestTrace(
        time=drawn.time,
        device=np.zeros(len(drawn.time), np.int32),
        offset=drawn.offset,
        size=np.full(len(drawn.time), model.request_size, np.int64),
        read=drawn.read,
        devices=(model.name,),
        asynchronous=drawn.asynchronous,
        source=TraceSource(f"stand-in for {model.name}", "stand-in"),
    )
    return trace.window(start, math.inf if stop == model.duration else stop)


def _borders(model: SeekingStandIn) -> np.ndarray:
    """[block + 1]: s at which blocks begin, and the last ends."""
    return np.linspace(0.0, model.duration, model.blocks + 1)


def _block(model: SeekingStandIn, mixture: Mixture, seed: int | np.integer, index: int) -> Block:
    draw = np.random.Generator(np.random.Philox(key=np.array([seed, index], np.uint64)))
    begin, end = _borders(model)[index : index + 2]
    length = model.duration / model.blocks
    asynchronous_writes, reads, synchronous_writes = _counts(model, index)
    waited_for = _bursty(model, draw, reads + synchronous_writes, length)
    flushed = _flushes(model, draw, asynchronous_writes, length)
    time = np.concatenate([waited_for, flushed])
    read = np.zeros(len(time), bool)
    read[:reads] = True
    draw.shuffle(read[: len(waited_for)])
    asynchronous = np.arange(len(time)) >= len(waited_for)
    order = np.argsort(time, kind="stable")
    read = read[order]
    time = np.minimum(begin + time[order], np.nextafter(end, begin))  # rounding must not carry one into the next block
    return Block(time, read, asynchronous[order], _places(model, mixture, draw, read) * model.request_size)


def _counts(model: SeekingStandIn, index: int) -> tuple[int, int, int]:
    """Asynchronous writes, reads and synchronous writes of a block: even over the blocks, exact in their sums."""
    before, through = (model.requests * block // model.blocks for block in (index, index + 1))

    def part(share: float) -> int:
        return int(through * share + 0.5) - int(before * share + 0.5)

    asynchronous = part(model.asynchronous_share)
    reads = min(part(model.read_share), through - before - asynchronous)
    return asynchronous, reads, through - before - asynchronous - reads


def _bursty(model: SeekingStandIn, draw: np.random.Generator, count: int, length: float) -> np.ndarray:
    """Arrivals, [count] s within the block, with hyperexponential gaps scaled to fill it.

    With probability p a gap is long, of mean (m - (1-p) s) / p, else of mean s, the burst gap; mean m and CoV c need

        p = (m - s)^2 / ((1 + c^2) m^2 / 2 + s^2 - 2 m s)

    and c = 1 makes it exponential.
    """
    if not count:
        return np.zeros(0)
    mean = model.duration / (model.requests * (1 - model.asynchronous_share))
    short = model.burst_gap / mean
    idle = (1 - short) ** 2 / ((1 + model.interarrival_cov**2) / 2 + short**2 - 2 * short)
    long = (1 - (1 - idle) * short) / idle
    gap = draw.standard_exponential(count + 1) * np.where(draw.random(count + 1) < idle, long, short)
    arrival = np.cumsum(gap)
    return arrival[:-1] / arrival[-1] * length if arrival[-1] > 0 else arrival[:-1]


def _flushes(model: SeekingStandIn, draw: np.random.Generator, count: int, length: float) -> np.ndarray:
    """Arrivals of asynchronous writes, [count] s within the block: each belongs to a flush drawn at random.

    Flushes stand in the middle of their periods, so that none straddles two blocks; where periods do not fill the block
    exactly they are stretched, and a burst that would outlast half a period is compressed.
    """
    flushes = max(1, round(length / model.flush_period))
    period = length / flushes
    which = np.sort(draw.integers(flushes, size=count))
    gap = draw.standard_exponential(count) * model.flush_gap
    since = np.cumsum(gap)
    head = np.searchsorted(which, np.arange(flushes))  # of each flush, its first write
    within = since - since[head[which]] if count else since
    longest, most = within.max(initial=0.0), 0.49 * period
    return (which + 0.5) * period + (within * (most / longest) if longest > most else within)


def _places(model: SeekingStandIn, mixture: Mixture, draw: np.random.Generator, read: np.ndarray) -> np.ndarray:
    """[request] int64: where each request goes, in units of its size.

    A run of short moves begins with a jump to anywhere, or where an earlier write of the block was. Runs are laid out on
    an endless line, relative to their beginning, and the line is then folded into the data like a strip of paper, which
    keeps distances, equal places and the uniform spread of jumps.
    """
    count = len(read)
    writes = np.flatnonzero(~read)
    written = np.cumsum(~read)  # a read sees only writes before it
    reread = read & (draw.random(count) < mixture.reread) & (written > 0)
    begins = reread | (draw.random(count) < mixture.jump)
    begins[0] = True
    near = model.near_distance * model.places
    move = np.rint(draw.standard_exponential(count) * near * draw.choice([-1.0, 1.0], size=count)).astype(np.int64)
    move += 1  # a distance counts from the end of the request before
    anywhere = draw.integers(model.places, size=count)
    source = np.zeros(count, np.int64)
    source[reread] = writes[(draw.random(count)[reread] * written[reread]).astype(np.int64)]

    run = np.cumsum(begins) - 1
    head = np.flatnonzero(begins)
    travelled = np.cumsum(move)
    offset = travelled - travelled[head][run]
    again = reread[head]
    start = np.where(again, offset[source[head]], anywhere[head])
    before = np.where(again, run[source[head]], len(head))  # the run that a re-read returns to
    place = _rooted(start, before)[run] + offset
    place %= 2 * model.places
    return np.where(place < model.places, place, 2 * model.places - 1 - place)


def _rooted(start: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Absolute starts of runs, each given relative to the run `before` it (their number: to zero), by pointer doubling."""
    root = len(start)
    start, before = np.append(start, 0), np.append(before, root)
    while (before != root).any():
        start, before = start + start[before], before[before]
    return start[:-1]
