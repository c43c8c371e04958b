"""When requests of a stand-in arrive: how busy each stretch of its time is, and when within one they come."""

from __future__ import annotations

import numpy as np

from storagekit.workload.synthetic.seeking.model import SeekingTraceModel

__all__ = ["flushed", "shares_of_time", "synchronous"]


def shares_of_time(model: SeekingTraceModel, seed: int | np.integer) -> np.ndarray:
    """[block, stretch]: the share of all requests that arrive in each stretch of each block; they are equally long.

    Time is halved again and again down to the stretches; every time one half, whichever is drawn, has the share `busier` of
    what arrives in both, so that it is bursty at every scale down to theirs.
    """
    draw = np.random.Generator(np.random.Philox(key=np.array([seed, 2**64 - 1], np.uint64)))
    share, busier = np.ones(1), model.busier
    for _ in range(model.halvings):
        first = np.where(draw.random(len(share)) < 0.5, busier, 1 - busier)
        share = (share[:, None] * np.stack([first, 1 - first], axis=1)).ravel()
    return share.reshape(model.blocks, -1)


def synchronous(model: SeekingTraceModel, draw: np.random.Generator, count: int, length: float) -> np.ndarray:
    """Arrivals, [count] s within a stretch of `length` s, with hyperexponential gaps scaled to fill it.

    With probability p a gap is long, of mean (m - (1-p) s) / p, else of mean s, the burst gap; mean m and CoV c need

        p = (m - s)^2 / ((1 + c^2) m^2 / 2 + s^2 - 2 m s)

    and c = 1 makes it exponential. Where so much arrives that m is below the burst gap, all gaps are of mean m.
    """
    if not count:
        return np.zeros(0)
    gap = draw.standard_exponential(count + 1)
    short = model.burst_gap * count / length
    if short < 1:
        idle = (1 - short) ** 2 / ((1 + model.interarrival_cov**2) / 2 + short**2 - 2 * short)
        long = (1 - (1 - idle) * short) / idle
        gap *= np.where(draw.random(count + 1) < idle, long, short)
    arrival = np.cumsum(gap)
    return arrival[:-1] / arrival[-1] * length if arrival[-1] > 0 else arrival[:-1]


def flushed(model: SeekingTraceModel, draw: np.random.Generator, count: int, length: float) -> np.ndarray:
    """Arrivals of asynchronous writes, [count] s within a stretch of `length` s: each belongs to a flush drawn at random.

    Flushes stand in the middle of their periods, so that none straddles two stretches; where periods do not fill the stretch
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
