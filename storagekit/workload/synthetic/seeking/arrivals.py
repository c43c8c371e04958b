"""Arrival times of a synthetic trace: the load of each interval, and the arrivals within it."""

from __future__ import annotations

import numpy as np

from storagekit.workload.synthetic.seeking.model import SeekingTraceModel

__all__ = ["flushed", "shares_of_time", "synchronous"]


def shares_of_time(model: SeekingTraceModel, seed: int | np.integer) -> np.ndarray:
    """Return, for each interval of each block, the share of all requests that arrives in the interval.

    Parameters
    ----------
    model : SeekingTraceModel
        The model.
    seed : int
        Seed, from 0 to 2**64 - 1.

    Returns
    -------
    ndarray of float64, shape (block, interval)
        Shares that sum to 1. All intervals have the same length.

    Notes
    -----
    Time is halved repeatedly, until the parts are the intervals. At each step, one of the two halves is drawn at
    random. It receives the share `busier` of the requests of both halves. Arrivals are therefore bursty at every scale
    down to the interval.
    """
    draw = np.random.Generator(np.random.Philox(key=np.array([seed, 2**64 - 1], np.uint64)))
    share, busier = np.ones(1), model.busier
    for _ in range(model.halvings):
        first = np.where(draw.random(len(share)) < 0.5, busier, 1 - busier)
        share = (share[:, None] * np.stack([first, 1 - first], axis=1)).ravel()
    return share.reshape(model.blocks, -1)


def synchronous(model: SeekingTraceModel, draw: np.random.Generator, count: int, length: float) -> np.ndarray:
    """Draw the arrival times of the synchronous requests of one interval.

    Parameters
    ----------
    model : SeekingTraceModel
        The model.
    draw : numpy.random.Generator
        The random numbers.
    count : int
        Number of requests.
    length : float
        Length of the interval, s.

    Returns
    -------
    ndarray of float64, shape (count,)
        Times from the start of the interval, s, in ascending order. The gaps are scaled to fill the interval.

    Notes
    -----
    The gaps are hyperexponential. Let m be the mean gap, c the coefficient of variation, and s the burst gap. With
    probability p the mean of a gap is (m - (1-p) s) / p. Otherwise its mean is s. The values m and c require

        p = (m - s)^2 / ((1 + c^2) m^2 / 2 + s^2 - 2 m s)

    With c = 1 the gaps are exponential. If m is not above the burst gap, all gaps have mean m.
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
    """Draw the arrival times of the asynchronous writes of one interval.

    Parameters
    ----------
    model : SeekingTraceModel
        The model.
    draw : numpy.random.Generator
        The random numbers.
    count : int
        Number of writes.
    length : float
        Length of the interval, s.

    Returns
    -------
    ndarray of float64, shape (count,)
        Times from the start of the interval, s.

    Notes
    -----
    Each write belongs to a flush, which is drawn at random. A flush begins in the middle of its period. No flush
    therefore crosses the border of an interval. The period is adjusted so that a whole number of periods fills the
    interval. If a burst would last longer than 0.49 of a period, all bursts of the interval are compressed.
    """
    flushes = max(1, round(length / model.flush_period))
    period = length / flushes
    which = np.sort(draw.integers(flushes, size=count))
    gap = draw.standard_exponential(count) * model.flush_gap
    elapsed = np.cumsum(gap)
    head = np.searchsorted(which, np.arange(flushes))  # index of the first write of each flush
    within = elapsed - elapsed[head[which]] if count else elapsed
    longest, most = within.max(initial=0.0), 0.49 * period
    return (which + 0.5) * period + (within * (most / longest) if longest > most else within)
