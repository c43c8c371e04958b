"""What public traces of the same kinds say where table 2 is silent: how unlike devices are, and how arrivals bunch.

Facts of the samples come with the package (data/reference/trace_samples.csv), so that nothing needs the samples themselves.
"""

import csv
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from storagekit.core.resources import data_path
from storagekit.papers.dsptf.bricks import AS_PRINTED, Source

# the public trace nearest to each: of the same name or the same laboratory; for SAP, a database under transactions too
KIN = {"sap": "financial1", "cello2002": "cello2003", "websearch": "websearch1", "financial": "financial1"}
# samples of a trace's own name that tell how its arrivals bunch, at another rate: Financial1's gaps vary by 3.2 times their
# mean; those of WebSearch1's minute by 1.3, hardly more than those of Poisson arrivals, which are kept
GAPS = {"financial": "financial1", AS_PRINTED: "financial1"}


@lru_cache(maxsize=8)
def sampled(sample: str, figure: str) -> NDArray[np.int64]:
    """`value` and `count` of a figure of a sample, [row, 2].

    device: the requests to each device that has any, the busiest first. gap: how often two arrivals were so many ticks apart.
    Source: data/reference/trace_samples.csv.
    """
    with data_path("reference", "trace_samples.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["sample"], row["figure"]) == (sample, figure)]
    return np.array([[int(row["value"]), int(row["count"])] for row in rows], np.int64)


def lun_shares(sample: str, luns: int) -> NDArray[np.float64]:
    """Shares of the requests that go to so many equal LUNs, [lun], falling; they sum to 1.

    The share of the busiest k of the LUNs is that of the busiest k / luns of the sample's devices, with straight lines
    between them: the sample's Lorenz curve, cut into as many pieces as there are LUNs.
    """
    counts = sampled(sample, "device")[:, 1]
    curve = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    return np.diff(np.interp(np.linspace(0, 1, luns + 1), np.linspace(0, 1, len(curve)), curve))


def bunched(given: Source, sample: str, seed: int) -> Source:
    """The same requests in the same time, with gaps drawn from those of a sample, one independently of the next.

    Within a tick of the sample's clock they arrive at any moment. All is stretched alike, so that the mean gap stays what the
    trace had. seed: of the draw.
    """
    ticks, often = sampled(sample, "gap").T
    random = np.random.default_rng([seed, 3])
    drawn = random.choice(ticks, size=len(given.trace) - 1, p=often / often.sum())
    at = np.concatenate([[0], np.cumsum(drawn)])
    since = np.sort(at + random.random(len(at)))
    since -= since[0]
    time = given.trace.time
    return given._replace(trace=replace(given.trace, time=time[0] + since * (time[-1] - time[0]) / since[-1]))
