"""Quantiles of response times that every result contains, and their confidence intervals over several seeds.

References
----------
Woodruff, R. S. (1952), Confidence intervals for medians and other position measures, Journal of the American
Statistical Association 47.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from storagekit.core.streaming_quantiles import StreamingQuantiles
from storagekit.core.student_t import half_width
from storagekit.engine import quantiles
from storagekit.engine.histogram import counts_until
from storagekit.simulation.measures import OF_STREAMS, QUANTILES

SHARES = (0.5, 0.95, 0.99, 0.999)
ALL, READS, WRITES = QUANTILES
POOLED = "pooled_response_quantile"
LOW, HIGH = f"{POOLED}_low", f"{POOLED}_high"
# the same for each stream
POOLED_STREAMS = f"pooled_{OF_STREAMS}"
LOW_STREAMS, HIGH_STREAMS = f"{POOLED_STREAMS}_low", f"{POOLED_STREAMS}_high"
_POOLED, _POOLED_STREAMS = (POOLED, LOW, HIGH), (POOLED_STREAMS, LOW_STREAMS, HIGH_STREAMS)
# variables that have one value for all seeds of a point
OF_ALL_SEEDS = _POOLED + _POOLED_STREAMS
_MEANINGS = {
    ALL: "quantiles of the response time of requests, without asynchronous writes",
    READS: "quantiles of the response time of reads",
    WRITES: "quantiles of the response time of writes, without asynchronous writes",
    POOLED: "quantiles of the response time of the requests of all seeds",
    LOW: "lower ends of the 95% intervals of the quantiles of all seeds",
    HIGH: "upper ends of the 95% intervals of the quantiles of all seeds",
    OF_STREAMS: "quantiles of the response time of requests, by stream, without asynchronous requests",
    POOLED_STREAMS: "quantiles of the response time of the requests of all seeds, by stream",
    LOW_STREAMS: "lower ends of the 95% intervals of the quantiles of all seeds, by stream",
    HIGH_STREAMS: "upper ends of the 95% intervals of the quantiles of all seeds, by stream",
}


def from_bins(bins: Int[np.ndarray, "stream 2 run bin"], seeds: int) -> xr.Dataset:
    """Return the quantiles of each run from binned response times, accurate to 1.6%.

    Parameters
    ----------
    bins : array of int, shape `[stream, 2, run, bin]`
        Number of reads and number of writes in each bin, see `engine.binned`. The last entry along `stream` has the
        requests of streams without separate quantiles.
    seeds : int
        Number of consecutive runs that belong to one point.

    Returns
    -------
    Dataset
        Quantiles of the response times of requests, reads and writes, seconds, with the dimensions `quantile` and
        `run`. With several seeds, also the quantiles over the requests of all seeds of a point with their 95%
        intervals (see `pooled`), the same for each of its runs. If there are streams with separate quantiles, also the
        same quantiles for each `stream`.
    """
    reads, writes = bins.sum(axis=0)
    counts, shares = {ALL: reads + writes, READS: reads, WRITES: writes}, np.array(SHARES)
    found = {name: quantiles(some, shares) for name, some in counts.items()} | _of_seeds(counts[ALL], seeds, _POOLED)
    variables: dict[str, tuple] = {name: (("quantile", "run"), values) for name, values in found.items()}
    streams = [
        {OF_STREAMS: quantiles(some, shares)} | _of_seeds(some, seeds, _POOLED_STREAMS)
        for some in bins[:-1].sum(axis=1)
    ]
    for name in streams[0] if streams else ():
        variables[name] = (("quantile", "stream", "run"), np.stack([one[name] for one in streams], axis=1))
    return _labelled(variables)


def _of_seeds(counts: Int[np.ndarray, "run bin"], seeds: int, names: tuple[str, str, str]) -> dict[str, np.ndarray]:
    """Return the quantiles over all seeds of each run's point, and the ends of their intervals; nothing for one seed."""
    if seeds == 1:
        return {}
    points = pooled(counts.reshape(-1, seeds, counts.shape[-1]))
    return {name: np.repeat(values, seeds, axis=-1) for name, values in zip(names, points, strict=True)}


def pooled(counts: Int[np.ndarray, "point seed bin"]) -> Float[np.ndarray, "3 quantile point"]:
    """Return the quantiles over the requests of all runs of each point, and the ends of their 95% intervals.

    Parameters
    ----------
    counts : array of int, shape `[point, seed, bin]`
        Number of requests of each independent run in each bin.

    Returns
    -------
    array of float, shape `[3, quantile, point]`
        The quantiles, and the lower and upper ends of their intervals, seconds. The ends lie between the shortest and
        the longest response time. They are NaN for a point without requests.

    Notes
    -----
    The interval is Woodruff's. For the quantile q of share p, each run has a share of its requests that take at most q.
    These shares have a mean of p, and their differences between runs give its half-width h by Student's t. The ends of
    the interval are the quantiles of the shares p - h and p + h of all requests.

    The differences between the quantiles of the runs would give an interval that is too narrow. If a run is short or
    heavily loaded, the largest response times of the whole sample are in a few runs. These runs determine the pooled
    quantile, but have no effect on the quantiles of the other runs.
    """
    runs, whole = counts.shape[1], counts.sum(axis=1)
    shares = np.array(SHARES)
    at = quantiles(whole, shares)
    until = np.stack([counts_until(counts[:, run], at) for run in range(runs)])
    requests = counts.sum(axis=-1).T[:, None]
    # the mean share is a ratio of two sums over runs, and these are its residuals
    residuals = (until - shares[:, None] * requests) / np.maximum(requests.mean(axis=0), 1)
    half = half_width(runs) * residuals.std(axis=0, ddof=1) / np.sqrt(runs)
    ends = [quantiles(whole, np.clip(shares[:, None] + sign * half, 0, 1)) for sign in (-1, 1)]
    return np.stack([at, *ends])


def from_streams(times: Mapping[str, StreamingQuantiles]) -> xr.Dataset:
    """Return the quantiles of one run from the response times of its synchronous requests.

    Parameters
    ----------
    times : mapping of str to StreamingQuantiles
        Response times, seconds, of the requests for which a client waits, by the names in `QUANTILES`.

    Returns
    -------
    Dataset
        Quantiles of the response times of requests, reads and writes, seconds, with the dimension `quantile`.
    """
    return _labelled({name: ("quantile", list(of.at(*SHARES))) for name, of in times.items()})


def _labelled(variables: dict) -> xr.Dataset:
    described = {name: (*of, {"units": "s", "long_name": _MEANINGS[name]}) for name, of in variables.items()}
    return xr.Dataset(described, coords={"quantile": list(SHARES)})
