"""Generate the requests of a synthetic trace whose hit rate is published, without a loop over requests."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from storagekit.core.validation import unchecked
from storagekit.workload.synthetic.popular.model import BLOCK, CHUNK, PopularTraceModel
from storagekit.workload.synthetic.popular.popularity import Popularity
from storagekit.workload.synthetic.popular.scatter import scattered
from storagekit.workload.synthetic.window import checked_end
from storagekit.workload.trace import RequestTrace, TraceSource

__all__ = ["generate"]

REQUESTS = 2**16
"""Approximate number of requests of a block: a short window is then fast, and NumPy is still efficient."""
COUNTING = 2**64 - 1
"""Key of the random numbers that give the number of requests of each block; other keys are numbers of blocks."""


class PopularBlock(NamedTuple):
    """Requests of one block in order of arrival, arrays of shape [request].

    time: seconds since the start of the trace. chunk: number of the 16 KB chunk in the data. pair: whether the whole
    chunk is accessed. half: the half that is accessed if the whole chunk is not, 0 or 1. read: whether the request is a
    read.
    """

    time: np.ndarray
    chunk: np.ndarray
    pair: np.ndarray
    half: np.ndarray
    read: np.ndarray


def generate(
    model: PopularTraceModel,
    *,
    seed: int | np.integer,
    start: float = 0.0,
    stop: float | None = None,
    popularity: Popularity | None = None,
) -> RequestTrace:
    """Generate the requests of a window of a synthetic trace.

    Parameters
    ----------
    model : PopularTraceModel
        The model.
    seed : int
        Seed, from 0 to 2**64 - 1.
    start : float
        Start of the window, s; by default 0. Times in the result are relative to `start`.
    stop : float, optional
        End of the window, s, exclusive; by default the end of the trace.
    popularity : Popularity, optional
        Popularity of the data; by default the popularity of the model, which gives the published hit rate.

    Returns
    -------
    RequestTrace
        The requests with start <= time < stop.

    Raises
    ------
    InputError
        If start and stop are not in order within the trace, the seed is not a whole number from 0 to 2**64 - 1, or no
        popularity gives the published hit rate.

    Notes
    -----
    A window contains the same requests as the corresponding part of the whole trace. Each block of about 65,000
    requests has a separate counter-based generator, whose key is the seed and the number of the block. The location of
    the popular data does not depend on the seed.
    """
    popularity = model.popularity if popularity is None else popularity
    stop = checked_end(model.name, model.duration, seed, start, stop)
    borders, before = _borders(model, seed)
    first = int(np.searchsorted(borders, start, "right")) - 1
    last = int(np.searchsorted(borders[:-1], stop, "left"))
    blocks = [
        _block(model, popularity, _draw(seed, index), borders[index : index + 2], before[index : index + 2])
        for index in range(first, last)
    ]
    joined = PopularBlock(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    device, chunk = np.divmod(joined.chunk, model.lun // CHUNK)
    trace = RequestTrace(
        time=joined.time,
        device=device.astype(np.int32),
        offset=chunk * CHUNK + joined.half * BLOCK,
        size=np.where(joined.pair, CHUNK, BLOCK),
        read=joined.read,
        devices=tuple(model.capacity),
        source=TraceSource(f"synthetic trace of {model.name}", "stand-in"),
    )
    return trace.window(start, math.inf if stop == model.duration else stop)


def _borders(model: PopularTraceModel, seed: int | np.integer) -> tuple[np.ndarray, np.ndarray]:
    """Return the times in seconds that separate blocks, and the number of requests before each time, `[block + 1]`.

    The numbers of requests in equal intervals are drawn as for independent arrivals. The whole trace is therefore a
    Poisson stream with a given total number of requests.
    """
    blocks = math.ceil(model.requests / REQUESTS)
    counts = _draw(seed, COUNTING).multinomial(model.requests, np.full(blocks, 1 / blocks))
    return np.linspace(0.0, model.duration, blocks + 1), np.concatenate([[0], np.cumsum(counts)])


def _draw(seed: int | np.integer, index: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([seed, index], np.uint64)))


def _block(
    model: PopularTraceModel, popularity: Popularity, draw: np.random.Generator, borders: np.ndarray, before: np.ndarray
) -> PopularBlock:
    """Return the requests between two borders, which are times in seconds.

    before: number of requests before each border.
    """
    begin, end = borders
    count = int(before[1] - before[0])
    time = begin + np.sort(draw.random(count)) * (end - begin)
    # rounding must not move a rank beyond the last, nor a request into the next block
    rank = np.minimum(
        model.chunks * unchecked(Popularity.rank)(popularity, draw.random(count)), model.chunks - 1
    ).astype(np.int64)
    pair = _marked(draw, model.pairs, before)
    return PopularBlock(
        time=np.minimum(time, np.nextafter(end, begin)),
        chunk=rank if model.together else scattered(rank, model.chunks),
        pair=pair,
        half=np.where(pair, 0, draw.integers(2, size=count)),
        read=_marked(draw, model.read_share, before),
    )


def _marked(draw: np.random.Generator, share: float, before: np.ndarray) -> np.ndarray:
    """Return a mask of the requests of a block that are of one kind, bool [request].

    share: the share of this kind among all requests. The number of marked requests in all blocks together is exact.
    """
    first, last = (int(number * share + 0.5) for number in before)
    return draw.permutation(np.arange(before[1] - before[0]) < last - first)
