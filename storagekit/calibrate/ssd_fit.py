"""Fit of an SSD to latency logs of fio, and its comparison with the part of the logs that the fit did not use.

Each log has requests of one operation and size with a constant number of outstanding requests, as fio writes it with
`write_lat_log` and without `log_avg_msec`. Logs with one outstanding request give latencies. Logs with more of them give
the number of units and the largest rates.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.core.units import KB, US
from storagekit.core.validation import SIZE, Size, optional, several, text, validate
from storagekit.drive.ssd import MOST_UNITS, SSD, SSDFigures, closed_responses

# fewest requests of a log, and most requests outstanding
_FEWEST, _MOST_OUTSTANDING = 200, 4096
# largest number of outstanding requests, from Little's law, of a log that gives latencies
_ALONE = 1.5
# smallest number of outstanding requests of a log with a line for each request, and in ns
_LEAST_LOAD = 0.5
# The distribution of times has a mean for each part between these shares; rare times have narrow parts.
_EDGES = np.array([*np.linspace(0, 0.9, 19), 0.95, 0.98, 0.99, 0.995, 0.999, 1.0])
# numbers of units that are tried, and window of a sustained rate in seconds
_UNITS = np.unique(np.geomspace(1, MOST_UNITS, 120).astype(int))
_WINDOW = 1.0
# A rate counts as extrapolated if it is that much larger than the largest measured rate.
_BEYOND = 1.25
# factor by which more outstanding requests must at least take longer, so that they show the units
_LONGER = 1.05
_NS = 1e-9


@dataclass(frozen=True)
class _Run:
    """Requests of one operation and size with a constant number of outstanding requests.

    time: completion of each request, seconds. latency: response time of each request, seconds.
    """

    name: str
    writes: bool
    size: float
    time: NDArray
    latency: NDArray

    @property
    def span(self) -> float:
        # times are whole milliseconds
        return max(float(self.time[-1] - self.time[0]), 1e-3)

    @property
    def outstanding(self) -> int:
        """Return the mean number of outstanding requests by Little's law, rounded."""
        return max(1, round(self.load))

    @property
    def load(self) -> float:
        return float(self.latency.sum()) / self.span

    @property
    def mean(self) -> float:
        return float(self.latency.mean())

    @property
    def rate(self) -> float:
        """Return the sustained rate: the median over windows of a second in the second half of the run."""
        middle = (self.time[0] + self.time[-1]) / 2
        late = self.time[self.time >= middle]
        windows = max(1, int((late[-1] - late[0]) / _WINDOW)) if late.size > 1 else 1
        if windows < 2:
            return self.time.size / self.span
        counts, edges = np.histogram(late, windows)
        return float(np.median(counts / np.diff(edges)))

    def half(self, second: bool) -> "_Run":
        """Return the requests of the first, or of the second, half of the time."""
        chosen = (self.time >= (self.time[0] + self.time[-1]) / 2) == second
        return _Run(self.name, self.writes, self.size, self.time[chosen], self.latency[chosen])


@dataclass(frozen=True)
class FittedSSD:
    """An SSD that was fitted to logs.

    Parameters
    ----------
    ssd : SSD
        The SSD.
    comparison : Dataset
        For each log, the mean and the 99th percentile of the response times, measured and of the SSD, seconds. If half
        of each log was used for the fit, the measured times are from the other half.
    held_out : bool
        Whether only the first half of each log was used for the fit.
    notes : tuple of str
        Values that the logs do not determine.
    """

    ssd: SSD
    comparison: xr.Dataset
    held_out: bool
    notes: tuple[str, ...]

    def __str__(self) -> str:
        ssd, every = self.ssd, self.comparison
        ends = "complete in a buffer" if ssd.buffered else "wait for their units"
        lines = [f"{ssd.name}: {ssd.parallel} parallel units; writes {ends}"]
        for what in ("reads", "writes"):
            lines += [
                f"  {what} of {one.size / KB:g} KB: {one.latency / US:.0f} us on an idle drive, at most {one.rate:,.0f}/s"
                for one in getattr(ssd, what)
            ]
        lines += [f"  note: {note}" for note in self.notes]
        part = "second half of each log, which the fit did not use" if self.held_out else "logs of the fit"
        lines += ["", part, f"  {'log':<24}{'outstanding':>12}{'measured us':>13}{'model us':>10}{'difference':>12}"]
        for number in range(every.sizes["log"]):
            one = every.isel(log=number)
            measured, model = float(one.measured) / US, float(one.predicted) / US
            lines.append(
                f"  {str(one.log.values)[:23]:<24}{int(one.outstanding):>12}{measured:>13.0f}{model:>10.0f}"
                f"{model / measured - 1:>+12.1%}"
            )
        return "\n".join(lines)


def _paths(label: str, value: Any) -> tuple[Path, ...]:
    return tuple(Path(one) for one in several(_path, 1, "paths of logs")(label, value))


def _path(label: str, value: Any) -> Any:
    return value if isinstance(value, Path) else text(label, value)


@validate
def fit_ssd(
    logs: Annotated[Sequence[str | Path], _paths],
    size: Size,
    *,
    name: str = "fitted SSD",
    endurance: Annotated[float | None, optional(SIZE)] = None,
    judge: bool = False,
) -> FittedSSD:
    """Fit an SSD to latency logs of fio.

    Parameters
    ----------
    logs : sequence of path
        Logs of one operation and size each, with a constant number of outstanding requests (`iodepth`). For each size, one
        log has one outstanding request. Some logs are of random reads, with enough outstanding requests for the largest rate.
        If there are no writes, writes are assumed to be as fast as reads.
    size : float
        Capacity of the SSD in bytes.
    name : str
        Name of the SSD, by default "fitted SSD".
    endurance : float, optional
        Bytes that can be written before the SSD is worn out; by default unknown.
    judge : bool
        Whether to fit to the first half of each log, and to compare with the second half. By default false: the fit and the
        comparison use the whole logs.

    Returns
    -------
    FittedSSD
        The SSD and the comparison.

    Raises
    ------
    InputError
        If a log cannot be read, has several operations or sizes or too few requests, or no log of reads has one outstanding
        request.

    Notes
    -----
    The number of outstanding requests of a log is the sum of its latencies divided by its duration (Little's law). The units
    and their service time minimize the squared logarithmic difference of the mean response times of the smallest reads from
    `SSD.response`. Writes either complete in a buffer or wait for their units: the fit selects the model that is nearer to
    the logs of writes. The largest rate of any other operation and size is the median rate over the seconds of its fastest
    log.
    """
    every = [_read(path) for path in tqdm(logs, desc="logs", unit="log", delay=2, leave=False)]
    used = [one.half(second=False) for one in every] if judge else every
    for one in used:
        if one.time.size < _FEWEST:
            raise InputError(
                f"log {one.name}: {one.time.size} requests in the part for the fit; give at least {_FEWEST}"
            )
    reads, writes = ([one for one in used if one.writes == kind] for kind in (False, True))
    if not reads:
        raise InputError("logs: none has reads; give a log of random reads with iodepth=1, and some with more")
    units, small, notes = _fitted_units(reads)
    of_reads, more = _figures(reads, small)
    notes += more
    if writes:
        of_writes, more = _figures(writes, None)
        notes += more
    else:
        of_writes = of_reads
        notes.append("no log has writes; they are assumed to be as fast as reads")
    most = max(1, int(of_reads[0].latency * of_reads[0].rate))
    ssd = SSD(name, size, of_reads, of_writes, min(units, most), endurance)
    if _may_wait(ssd):
        unbuffered = replace(ssd, buffered=False)
        if _distance(unbuffered, writes) < _distance(ssd, writes):
            ssd = unbuffered
    compared = [one.half(second=True) for one in every] if judge else every
    return FittedSSD(ssd, _comparison(ssd, compared), judge, tuple(notes))


def _read(path: Path) -> _Run:
    """Return the requests of a log. Raises InputError if it cannot be read, or if its requests differ."""
    if not path.is_file():
        raise InputError(f"log {path}: no such file; give a latency log of fio")
    try:
        with warnings.catch_warnings():
            # an empty file has a separate message
            warnings.simplefilter("ignore", UserWarning)
            rows = np.loadtxt(path, delimiter=",", usecols=(0, 1, 2, 3), ndmin=2)
    except OSError as fault:
        raise InputError(f"log {path}: {fault.strerror or fault}; give a latency log of fio") from fault
    except (ValueError, IndexError) as fault:
        raise InputError(
            f"log {path.name}: a line does not have time, latency, direction and size; give a latency log of fio"
        ) from fault
    if len(rows) < _FEWEST:
        raise InputError(f"log {path.name}: {len(rows)} requests; give at least {_FEWEST}")
    if not np.isfinite(rows).all() or (rows < 0).any() or (rows[:, 1] == 0).all():
        raise InputError(
            f"log {path.name}: times must be 0 or more, and latencies in ns above 0; give a latency log of fio"
        )
    time, latency, direction, size = rows[np.argsort(rows[:, 0], kind="stable")].T
    if {*np.unique(direction)} - {0.0, 1.0}:
        raise InputError(
            f"log {path.name}: it has directions other than 0 (read) and 1 (write); log only reads or only writes"
        )
    if np.ptp(direction) or np.ptp(size) or size[0] <= 0:
        raise InputError(
            f"log {path.name}: it has several operations or sizes; give a separate log for each operation and size"
        )
    return _Run(path.name, bool(direction[0]), float(size[0]), time * 1e-3, latency * _NS)


def _fitted_units(reads: Sequence[_Run]) -> tuple[int, float, list[str]]:
    """Return the number of units, the largest rate of the smallest reads, and notes."""
    size = min(one.size for one in reads)
    runs = [one for one in reads if one.size == size]
    alone = _alone(runs)
    queued = [one for one in runs if one is not alone]
    latency, fastest = alone.mean, max(one.rate for one in runs)
    if not queued:
        return 1, fastest, ["all reads have one outstanding request, which does not determine the units: assumed is 1"]
    slowest = max(queued, key=lambda one: one.mean)
    if slowest.mean < _LONGER * latency:
        raise InputError(
            f"log {slowest.name}: {slowest.outstanding} outstanding reads take {slowest.mean / latency:.2f} times as long as "
            "one, which does not show the largest rate; add a log with a higher iodepth"
        )
    most = min(_MOST_OUTSTANDING, max(one.outstanding for one in queued))
    rows = np.array([min(most, one.outstanding) - 1 for one in queued])
    measured = np.log([one.mean for one in queued])

    def distance(share: float, units: float) -> float:
        return float(((np.log(closed_responses(latency, share * latency, units, most)[rows]) - measured) ** 2).sum())

    found = [minimize_scalar(distance, bounds=(1e-3, 1.0), args=(float(units),), method="bounded") for units in _UNITS]
    best = int(np.argmin([one.fun for one in found]))
    units = int(_UNITS[best])
    rate = units / (float(found[best].x) * latency)
    notes = []
    if rate > _BEYOND * fastest:
        notes.append(
            f"the largest measured rate of small reads is {fastest:,.0f} a second; {rate:,.0f} is extrapolated, and more "
            "outstanding requests would measure it"
        )
    return units, rate, notes


def _alone(runs: Sequence[_Run]) -> _Run:
    """Return the run with one outstanding request. Raises InputError if there is none."""
    one = min(runs, key=lambda each: each.load)
    if one.load < _LEAST_LOAD:
        raise InputError(
            f"log {one.name}: the latencies sum to {one.load:.0%} of its duration; give a log in ns, a line for each "
            "request, without log_avg_msec"
        )
    if one.load > _ALONE:
        what = "writes" if one.writes else "reads"
        raise InputError(
            f"logs of {what} of {one.size:g} bytes: the fewest outstanding requests are {one.load:.1f}; add a log with "
            "iodepth=1"
        )
    return one


def _figures(runs: Sequence[_Run], small: float | None) -> tuple[tuple[SSDFigures, ...], list[str]]:
    """Return the figures of each size, and notes. small: largest rate of the smallest size, if it was fitted."""
    found: list[SSDFigures] = []
    notes = []
    for size in sorted({one.size for one in runs}):
        some = [one for one in runs if one.size == size]
        alone, rate = _alone(some), max(one.rate for one in some)
        if small is not None and not found:
            rate = small
        elif len(some) == 1:
            what = "writes" if alone.writes else "reads"
            notes.append(f"{what} of {size / KB:g} KB have one log, whose rate is taken as the largest one")
        # a larger request is never faster, and one outstanding request is not faster than all
        latency = max([alone.mean, *(one.latency for one in found)])
        rate = max(1 / latency, min([rate, *(one.rate for one in found)]))
        found.append(SSDFigures(size, latency, rate, _spread(alone.latency)))
    return tuple(found), notes


def _spread(latency: NDArray) -> tuple[tuple[float, float], ...]:
    """Return the shares and the means of the parts of a distribution, as multiples of its mean."""
    ordered = np.sort(latency)
    ends = np.unique((np.r_[_EDGES] * ordered.size).round().astype(int))
    sums = np.add.reduceat(ordered, ends[:-1])
    shares = np.diff(ends) / ordered.size
    multiples = sums / np.diff(ends) / ordered.mean()
    return tuple(zip(shares.tolist(), multiples.tolist(), strict=True))


def _may_wait(ssd: SSD) -> bool:
    """Return whether a small write may take its whole time on one of the units."""
    return ssd.parallel <= ssd.writes[0].latency * ssd.writes[0].rate * (1 + 1e-9)


def _distance(ssd: SSD, runs: Sequence[_Run]) -> float:
    """Return the mean squared logarithmic difference of the mean response times of runs; 0 without runs."""
    return float(np.mean([np.log(_predicted(ssd, one) / one.mean) ** 2 for one in runs])) if runs else 0.0


def _comparison(ssd: SSD, runs: Sequence[_Run]) -> xr.Dataset:
    runs = sorted(runs, key=lambda one: (one.writes, one.size, one.outstanding))
    predicted = [_predicted(ssd, one) for one in runs]
    columns = {
        "writes": ([one.writes for one in runs], {"long_name": "whether the requests are writes"}),
        "size": ([one.size for one in runs], {"units": "bytes", "long_name": "size of the requests"}),
        "outstanding": ([one.outstanding for one in runs], {"units": "1", "long_name": "outstanding requests"}),
        "measured": ([one.mean for one in runs], {"units": "s", "long_name": "measured mean response time"}),
        "predicted": (predicted, {"units": "s", "long_name": "mean response time of the model"}),
        "rate": ([one.time.size / one.span for one in runs], {"units": "1/s", "long_name": "measured rate"}),
    }
    data = {name: ("log", np.array(values), attrs) for name, (values, attrs) in columns.items()}
    return xr.Dataset(data, {"log": [one.name for one in runs]}, {"drive": ssd.name})


def _predicted(ssd: SSD, run: _Run) -> float:
    return ssd.response(run.size, run.outstanding, writes=run.writes)
