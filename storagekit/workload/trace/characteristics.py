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
from storagekit.core.streaming_quantiles import StreamingQuantiles
from storagekit.core.validation import validate
from storagekit.workload.trace.locality import Footprint, ReadsAfterWrites, Seeks
from storagekit.workload.trace.records import TRACE, RequestTrace

__all__ = ["UNITS", "Summary", "TraceCharacteristics", "characteristics"]

WINDOW = 1.0  # s, of the peak arrival rate


@dataclass(frozen=True)
class TraceCharacteristics:
    """Characteristics of one trace. Values that the trace does not determine are None.

    Parameters
    ----------
    requests : int
        Number of requests.
    duration : float
        Time from the first arrival to the last, s.
    rate : float or None
        Number of requests / duration, per second (srarray, Table 3).
    read_share : float
        Number of reads / number of requests.
    mean_size, mean_read_size, mean_write_size : float or None
        Mean size of all requests, of the reads and of the writes, bytes.
    devices : int
        Number of devices with requests.
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
    mean_response, median_response, p95_response, p99_response : float or None
        Measured response times, s.
    mean_outstanding : float or None
        Mean number of requests in progress: the rate times the mean response time (Little's law).
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
    p99_response: float | None
    mean_outstanding: float | None

    def as_dict(self) -> dict[str, int | float | None]:
        """Return the characteristics, keyed by name, in the order of the parameters of this class."""
        return asdict(self)


_UNIT_OF = {
    "requests": "requests", "duration": "s", "rate": "requests/s", "devices": "devices",
    "mean_size": "B", "mean_read_size": "B", "mean_write_size": "B", "data_size": "B",
    "footprint": "B", "mean_response": "s", "median_response": "s", "p95_response": "s",
    "p99_response": "s",
}  # fmt: skip
UNITS: dict[str, str] = {f.name: _UNIT_OF.get(f.name, "1") for f in fields(TraceCharacteristics)}
"""Unit of each figure of `TraceCharacteristics.as_dict`; "1" for a share or a ratio."""


class Summary:
    """The characteristics of a trace of any length, from its parts in order of arrival.

    Memory grows with the blocks that requests touch and the writes of an hour, and not with the number of requests.
    """

    def __init__(self):
        self._requests = self._reads = self._asynchronous = 0
        self._bytes = self._bytes_read = 0
        self._gaps, self._peak = Gaps(), Peak()
        self._seeks, self._footprint, self._reread = Seeks(), Footprint(), ReadsAfterWrites()
        self._responses: StreamingQuantiles | None = None
        self._knows_asynchronous = False

    def add(self, trace: RequestTrace) -> None:
        """Add the next requests of the trace."""
        if not len(trace):
            return
        self._requests += len(trace)
        self._reads += int(np.count_nonzero(trace.read))
        self._bytes += int(trace.size.sum())
        self._bytes_read += int(trace.size[trace.read].sum())
        self._gaps.add(trace.time)
        self._peak.add(trace.time)
        for part in (self._seeks, self._footprint, self._reread):
            part.add(trace)
        if trace.asynchronous is not None:
            self._knows_asynchronous = True
            self._asynchronous += int(np.count_nonzero(trace.asynchronous & ~trace.read))
        if trace.measured_response is not None:
            self._responses = self._responses or StreamingQuantiles()
            self._responses.add(trace.measured_response)

    def result(self, name: str = "the trace") -> TraceCharacteristics:
        """Return the characteristics of the requests so far.

        Parameters
        ----------
        name : str
            Name of the trace, for messages.

        Returns
        -------
        TraceCharacteristics
            The characteristics.

        Raises
        ------
        InputError
            If there is no request.
        """
        count, reads = self._requests, self._reads
        if not count:
            raise InputError(f"{name} has no request in this window; give a wider window")
        duration = self._gaps.duration
        median, p95, p99 = self._responses.at(0.5, 0.95, 0.99) if self._responses else (None, None, None)
        mean = self._responses.mean if self._responses else None
        return TraceCharacteristics(
            requests=count,
            duration=duration,
            rate=count / duration if duration > 0 else None,
            read_share=reads / count,
            mean_size=self._bytes / count,
            mean_read_size=self._bytes_read / reads if reads else None,
            mean_write_size=(self._bytes - self._bytes_read) / (count - reads) if count > reads else None,
            devices=self._seeks.used,
            data_size=sum(self._seeks.ends),  # the sum over devices may exceed 64 bits
            footprint=self._footprint.bytes(),
            interarrival_cov=self._gaps.cov,
            peak_to_mean=self._peak.to_mean,
            seek_locality=self._seeks.locality(),
            read_after_write_share=self._reread.count() / count,
            asynchronous_write_share=self._asynchronous / count if self._knows_asynchronous else None,
            sequential_share=self._seeks.sequential_share,
            mean_response=mean,
            median_response=median,
            p95_response=p95,
            p99_response=p99,
            mean_outstanding=None if mean is None or not duration > 0 else mean * count / duration,
        )


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
        The characteristics. With more than four million requests, the quantiles of the response time are accurate to
        0.1%.

    Raises
    ------
    InputError
        If the trace has no requests.

    Notes
    -----
    Memory grows with the number of requests, and does not depend on their locations.
    """
    summary = Summary()
    summary.add(trace)
    return summary.result(trace.source.name)


class Gaps:
    """Mean and variance of the times between arrivals, from parts of a trace in order."""

    def __init__(self):
        self._count, self._mean, self._squares = 0, 0.0, 0.0
        self._first = self._last = np.nan

    def add(self, time: np.ndarray) -> None:
        """Add the next arrival times, s, at least one."""
        if np.isnan(self._last):
            self._first = float(time[0])
        gap = np.diff(time, prepend=[] if np.isnan(self._last) else [self._last])
        self._last = float(time[-1])
        if not len(gap):
            return
        # means and sums of squares of two parts give the same values of the whole (Chan, Golub and LeVeque, 1983)
        mean, count = float(gap.mean()), self._count + len(gap)
        difference = mean - self._mean
        self._squares += float(((gap - mean) ** 2).sum()) + difference**2 * self._count * len(gap) / count
        self._mean += difference * len(gap) / count
        self._count = count

    @property
    def duration(self) -> float:
        """Time from the first arrival to the last, s."""
        return self._last - self._first

    @property
    def cov(self) -> float | None:
        """Standard deviation / mean of the gaps; None if there is no gap, or if all gaps are zero."""
        return float(np.sqrt(self._squares / self._count)) / self._mean if self._count and self._mean > 0 else None


class Peak:
    """Largest number of arrivals in a window of fixed length, from parts of a trace in order.

    The first window begins at the first arrival.

    Parameters
    ----------
    window : float
        Length of a window, s; by default 1.
    """

    def __init__(self, window: float = WINDOW):
        self._window = window
        self._first = np.nan
        self._requests = self._most = self._latest = 0
        self._number = -1  # of the latest window

    def add(self, time: np.ndarray) -> None:
        """Add the next arrival times, s, at least one."""
        if np.isnan(self._first):
            self._first = float(time[0])
        index, arrivals = np.unique(np.floor((time - self._first) / self._window).astype(np.int64), return_counts=True)
        if index[0] == self._number:
            arrivals[0] += self._latest
        self._requests += len(time)
        self._most = max(self._most, int(arrivals.max()))
        self._number, self._latest = int(index[-1]), int(arrivals[-1])

    @property
    def to_mean(self) -> float:
        """The largest number / the mean over all windows. The last window counts as a whole window."""
        return float(self._most) * float(self._number + 1) / self._requests


def interarrival_cov(time: np.ndarray) -> float | None:
    """Return the coefficient of variation of the times between arrivals.

    Parameters
    ----------
    time : ndarray of float, shape (request,)
        Arrival times, s, at least one.

    Returns
    -------
    float or None
        Standard deviation / mean; None if there is no gap, or if all gaps are zero.
    """
    gaps = Gaps()
    gaps.add(time)
    return gaps.cov


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
    peak = Peak(window)
    peak.add(time)
    return peak.to_mean
