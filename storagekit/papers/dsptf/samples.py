"""Statistics of public traces on two properties that table 2 omits: the load of devices, and the gaps between arrivals.

The statistics are part of the package (data/reference/trace_samples.csv), so the samples themselves are not needed.
"""

import csv
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from storagekit.core.resources import data_path
from storagekit.papers.dsptf.bricks import AS_PRINTED, Source

# The most similar public trace for each trace of the paper. It has the same name as the trace of the paper, or is from
# the same laboratory. For SAP it is another database that runs transactions.
KIN = {"sap": "financial1", "cello2002": "cello2003", "websearch": "websearch1", "financial": "financial1"}
# Public samples that supply the gaps between arrivals of a trace. A sample has the same name as the trace. The arrival
# rates of samples differ from the rates in table 2. The standard deviation of the gaps of Financial1 is 3.2 times their
# mean. In the minute of WebSearch1 it is 1.3 times the mean, hardly more than with Poisson arrivals, so WebSearch keeps
# Poisson arrivals.
GAPS = {"financial": "financial1", AS_PRINTED: "financial1"}


@lru_cache(maxsize=8)
def sampled(sample: str, figure: str) -> NDArray[np.int64]:
    """Return the table of one statistic of a sample.

    Parameters
    ----------
    sample : str
        Name of the sample.
    figure : str
        "device": the number of requests to each device, the busiest first, without devices that have no request. "gap":
        for each number of clock ticks, how often two successive arrivals were this number of ticks apart.

    Returns
    -------
    array of int64, shape `[row, 2]`
        The columns `value` and `count`.

    References
    ----------
    data/reference/trace_samples.csv.
    """
    with data_path("reference", "trace_samples.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["sample"], row["figure"]) == (sample, figure)]
    return np.array([[int(row["value"]), int(row["count"])] for row in rows], np.int64)


def lun_shares(sample: str, luns: int) -> NDArray[np.float64]:
    """Return the share of the requests that each of several LUNs of equal size receives, with the skew of a sample.

    Parameters
    ----------
    sample : str
        Name of the sample.
    luns : int
        Number of LUNs.

    Returns
    -------
    array of float64, shape `[lun]`
        The shares in descending order. Their sum is 1.

    Notes
    -----
    The busiest k of the `luns` LUNs receive the same share of the requests as the busiest fraction k / `luns` of the
    sample's devices. Between devices the share is interpolated linearly. In other words, the Lorenz curve of the sample
    is cut into `luns` parts.
    """
    counts = sampled(sample, "device")[:, 1]
    curve = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    return np.diff(np.interp(np.linspace(0, 1, luns + 1), np.linspace(0, 1, len(curve)), curve))


def bunched(given: Source, sample: str, seed: int) -> Source:
    """Return a trace with the same requests over the same time, but with gaps between arrivals drawn from a sample.

    Parameters
    ----------
    given : Source
        The trace.
    sample : str
        Name of the sample.
    seed : int
        Seed of the draw.

    Returns
    -------
    Source
        The trace with new arrival times.

    Notes
    -----
    The gaps are independent of each other. Within a tick of the sample's clock the arrival times are uniform. All times
    are scaled by one factor, so that the trace keeps its mean gap.
    """
    ticks, often = sampled(sample, "gap").T
    random = np.random.default_rng([seed, 3])
    drawn = random.choice(ticks, size=len(given.trace) - 1, p=often / often.sum())
    at = np.concatenate([[0], np.cumsum(drawn)])
    arrival_time = np.sort(at + random.random(len(at)))
    arrival_time -= arrival_time[0]
    time = given.trace.time
    return given._replace(
        trace=replace(given.trace, time=time[0] + arrival_time * (time[-1] - time[0]) / arrival_time[-1])
    )
