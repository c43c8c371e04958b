"""Characteristics of the workload in a trace, with the terms of the papers' tables.

(dsptf, Table 2) gives read share, mean size, requests and duration. (srarray, Table 3) gives data size, I/Os, duration,
rate, read and asynchronous write shares, seek locality and read after write. Both papers use these numbers as inputs of
models. `as_dict` returns all of them. All values are in SI units; `UNITS` gives the unit of each.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Annotated

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import validate
from storagekit.workload.trace.locality import (
    read_after_write_share,
    seek_locality,
    sequential_share,
    touched_bytes,
)
from storagekit.workload.trace.records import TRACE, RequestTrace

__all__ = ["UNITS", "TraceCharacteristics", "characteristics"]

WINDOW = 1.0  # s, of the peak arrival rate


@dataclass(frozen=True)
class TraceCharacteristics:
    """Characteristics of one trace. Values that the trace does not determine are None.

    Parameters
    ----------
    requests, devices : int
        Number of requests, and number of devices with requests.
    duration : float
        Time from the first arrival to the last, s.
    rate : float or None
        Number of requests / duration, per second (srarray, Table 3).
    read_share : float
        Number of reads / number of requests.
    mean_size, mean_read_size, mean_write_size : float or None
        Mean size of all requests, of the reads and of the writes, bytes.
    data_size : int
        Bytes up to the end of the last request, summed over devices. The data size of (srarray, Table 3) is the size of
        the disks; a trace gives only a lower bound of this size.
    footprint : int
        Bytes in distinct 4 KiB blocks that requests touch.
    interarrival_cov : float or None
        Standard deviation / mean of the times between arrivals; 1 for a Poisson stream.
    peak_to_mean : float
        Largest number of arrivals in a second / mean number of arrivals in a second. The first second begins at the
        first arrival.
    seek_locality : float or None
        L of (srarray, Table 3); see `locality.seek_locality`.
    read_after_write_share : float
        Number of reads of data that was written less than an hour before / number of requests (srarray, Table 3).
    asynchronous_write_share : float or None
        Number of asynchronous writes / number of requests.
    sequential_share : float
        Number of requests that begin at the end of the previous request on the same device / number of requests.
    mean_response, median_response, p95_response : float or None
        Measured response times, s.
    """

    requests: int
    duration: float
    rate: float | None
    read_share: float
    mean_size: float
    mean_read_size: float | None
    mean_write_size: float | None
    devices: int
    data_size: int
    footprint: int
    interarrival_cov: float | None
    peak_to_mean: float
    seek_locality: float | None
    read_after_write_share: float
    asynchronous_write_share: float | None
    sequential_share: float
    mean_response: float | None
    median_response: float | None
    p95_response: float | None

    def as_dict(self) -> dict[str, int | float | None]:
        """Return the characteristics, keyed by name, in the order of the parameters of this class."""
        return asdict(self)


_UNIT_OF = {
    "requests": "requests", "duration": "s", "rate": "requests/s", "devices": "devices",
    "mean_size": "B", "mean_read_size": "B", "mean_write_size": "B", "data_size": "B",
    "footprint": "B", "mean_response": "s", "median_response": "s", "p95_response": "s",
}  # fmt: skip
UNITS: dict[str, str] = {f.name: _UNIT_OF.get(f.name, "1") for f in fields(TraceCharacteristics)}
"""Unit of each figure of `TraceCharacteristics.as_dict`; "1" for a share or a ratio."""


@validate
def characteristics(trace: Annotated[RequestTrace, TRACE]) -> TraceCharacteristics:
    """Return the characteristics of a trace.

    Parameters
    ----------
    trace : RequestTrace
        The trace.

    Returns
    -------
    TraceCharacteristics
        The characteristics.

    Raises
    ------
    InputError
        If the trace has no requests.

    Notes
    -----
    Memory grows with the number of requests, and does not depend on their locations.
    """
    if not len(trace):
        raise InputError(f"{trace.source.name} has no request in this window; give a wider window")
    duration = float(trace.time[-1] - trace.time[0])
    return TraceCharacteristics(
        requests=len(trace),
        duration=duration,
        rate=len(trace) / duration if duration > 0 else None,
        read_share=float(trace.read.mean()),
        mean_size=float(trace.size.mean()),
        mean_read_size=_mean(trace.size[trace.read]),
        mean_write_size=_mean(trace.size[~trace.read]),
        devices=len(np.unique(trace.device)),
        data_size=sum(trace.ends().tolist()),  # the sum over devices may exceed 64 bits
        footprint=touched_bytes(trace),
        interarrival_cov=interarrival_cov(trace.time),
        peak_to_mean=peak_to_mean(trace.time),
        seek_locality=seek_locality(trace),
        read_after_write_share=read_after_write_share(trace),
        asynchronous_write_share=_asynchronous_writes(trace),
        sequential_share=sequential_share(trace),
        **_responses(trace.measured_response),
    )


def interarrival_cov(time: np.ndarray) -> float | None:
    """Return the coefficient of variation of the times between arrivals.

    Parameters
    ----------
    time : ndarray of float, shape (request,)
        Arrival times, s.

    Returns
    -------
    float or None
        Standard deviation / mean; None if there is no gap, or if all gaps are zero.
    """
    gap = np.diff(time)
    return float(gap.std() / gap.mean()) if len(gap) and gap.mean() > 0 else None


def peak_to_mean(time: np.ndarray, window: float = WINDOW) -> float:
    """Return the largest number of arrivals in a window, divided by the mean over all windows.

    Parameters
    ----------
    time : ndarray of float, shape (request,)
        Arrival times, s, in ascending order.
    window : float
        Length of a window, s; by default 1.

    Returns
    -------
    float
        The ratio. The first window begins at the first arrival. The last window counts as a whole window, although the
        trace may end within it.
    """
    index = np.floor((time - time[0]) / window).astype(np.int64)
    _, arrivals = np.unique(index, return_counts=True)
    return float(arrivals.max()) * float(index[-1] + 1) / len(time)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _asynchronous_writes(trace: RequestTrace) -> float | None:
    if trace.asynchronous is None:
        return None
    return float((trace.asynchronous & ~trace.read).mean())


def _responses(response: np.ndarray | None) -> dict[str, float | None]:
    names = ("mean_response", "median_response", "p95_response")
    if response is None:
        return dict.fromkeys(names)
    values = (response.mean(), *np.percentile(response, [50, 95]))
    return {name: float(value) for name, value in zip(names, values, strict=True)}
