"""Quantiles of response times that every result contains."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Int

from storagekit.core.streaming_quantiles import StreamingQuantiles
from storagekit.engine import quantiles
from storagekit.simulation.measures import QUANTILES

SHARES = (0.5, 0.95, 0.99, 0.999)
ALL, READS, WRITES = QUANTILES
POOLED = "pooled_response_quantile"
_MEANINGS = {
    ALL: "quantiles of the response time of requests, without asynchronous writes",
    READS: "quantiles of the response time of reads",
    WRITES: "quantiles of the response time of writes, without asynchronous writes",
    POOLED: "quantiles of the response time of the requests of all seeds",
}


def from_bins(bins: Int[np.ndarray, "2 lane bin"], seeds: int) -> xr.Dataset:
    """Return the quantiles of each run from binned response times, accurate to 1.6%.

    Parameters
    ----------
    bins : array of int, shape `[2, lane, bin]`
        Number of reads and number of writes in each bin, see `engine.binned`.
    seeds : int
        Number of consecutive runs that belong to one point.

    Returns
    -------
    Dataset
        Quantiles of the response times of requests, reads and writes, seconds, with the dimensions `quantile` and
        `lane`. With several seeds, also the quantiles over the requests of all seeds of a point, the same for each of
        its runs.
    """
    counts = {ALL: bins.sum(axis=0), READS: bins[0], WRITES: bins[1]}
    if seeds > 1:
        points = counts[ALL].reshape(-1, seeds, bins.shape[-1]).sum(axis=1)
        counts[POOLED] = np.repeat(points, seeds, axis=0)
    found = {name: quantiles(some, np.array(SHARES)) for name, some in counts.items()}
    return _labelled({name: (("quantile", "lane"), values) for name, values in found.items()})


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
    told = {name: (*of, {"units": "s", "long_name": _MEANINGS[name]}) for name, of in variables.items()}
    return xr.Dataset(told, coords={"quantile": list(SHARES)})
