"""What workload a trace holds, in the terms of the papers' tables of trace characteristics.

(dsptf, Table 2) gives read share, mean size, requests and duration; (srarray, Table 3) gives data
size, I/Os, duration, rate, read and asynchronous write shares, seek locality and read after write.
Both use these numbers as model inputs, so `as_dict` does too. All in SI; `UNITS` says which.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.kinds import takes
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
    """Figures of one trace; None where the trace cannot say.

    requests, devices: counts. duration: s from the first arrival to the last.
    rate: requests / duration, /s (srarray, Table 3). read_share: reads / requests.
    mean_size, mean_read_size, mean_write_size: bytes.
    data_size: bytes up to the end of the last request, summed over devices; what (srarray,
    Table 3) calls data size is that of the disks, which a trace can only bound from below.
    footprint: bytes in distinct 4 KiB blocks touched.
    interarrival_cov: standard deviation / mean of the times between arrivals; 1 if Poisson.
    peak_to_mean: most arrivals in any second / mean per second, seconds counted from the first.
    seek_locality: L of (srarray, Table 3); see `locality.seek_locality`.
    read_after_write_share: reads of what was written less than an hour before / requests
    (srarray, Table 3). asynchronous_write_share: / requests, as is the read share beside it.
    sequential_share: requests that begin where the one before on their device ended / requests.
    mean_response, median_response, p95_response: measured, s.
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
        """Figures by name, in the order above."""
        return asdict(self)


_UNIT_OF = {
    "requests": "requests", "duration": "s", "rate": "requests/s", "devices": "devices",
    "mean_size": "B", "mean_read_size": "B", "mean_write_size": "B", "data_size": "B",
    "footprint": "B", "mean_response": "s", "median_response": "s", "p95_response": "s",
}  # fmt: skip
UNITS: dict[str, str] = {f.name: _UNIT_OF.get(f.name, "1") for f in fields(TraceCharacteristics)}
"""Unit of each figure of `TraceCharacteristics.as_dict`; "1" for a share or a ratio."""


@takes(trace=TRACE)
def characteristics(trace: RequestTrace) -> TraceCharacteristics:
    """The figures of `trace`; memory grows with the number of its requests, wherever they lie.

    Raises InputError for a trace without requests.
    """
    if not len(trace):
        raise InputError(f"{trace.source.name} holds no request here; choose a wider window")
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
        data_size=sum(trace.ends().tolist()),  # of several devices it may have more than 64 bits
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
    """Standard deviation / mean of the gaps in time [request], s; None if all are zero."""
    gap = np.diff(time)
    return float(gap.std() / gap.mean()) if len(gap) and gap.mean() > 0 else None


def peak_to_mean(time: np.ndarray, window: float = WINDOW) -> float:
    """Most arrivals in a window of `window` s / mean over the windows of time [request], s.

    The windows count from the first arrival; the last, cut by the end, counts whole.
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
