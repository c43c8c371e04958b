"""Fit of the controller, bus and buffer of a drive to its measured service times.

Drive files often describe another firmware version, or omit parameters. The times are fitted by robust least squares to
four distributions of service times: of reads after a read, reads after a write, writes after a read, and writes after a
write. Settings of the buffer are then changed one at a time. A change is kept if it brings the modelled distributions
nearer to the measured distributions.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy import optimize
from tqdm import tqdm

from storagekit.calibrate.demerit import demerit
from storagekit.calibrate.measured_drive import buffered_service, measured_service
from storagekit.core.errors import InputError
from storagekit.core.provenance import made_by
from storagekit.core.units import MS
from storagekit.drive import Drive, DriveController
from storagekit.drive.controller import controller_facts
from storagekit.workload.trace import RequestTrace

# Probabilities of the quantiles by which distributions are compared.
HEIGHTS = (np.arange(200) + 0.5) / 200
# Smallest number of requests of a class, or for a fitted time; number of parts of a log, for standard errors.
FEWEST, PARTS = 50, 8
# In seconds: step for numerical derivatives; longest overhead; error of a model that is always accepted.
STEP, LONGEST, FINEST = 0.02 * MS, 20 * MS, 0.02 * MS
# In standard deviations of a quantile: the loss of larger deviations grows more slowly than their square.
FAR = 3.0
# A setting of the buffer is changed if the change lowers the demerit by at least this share.
NEARER = 0.05
# In standard errors: a larger change of a fitted time contradicts its initial value.
CONTRADICTED = 3.0
# Largest number of rounds of fitted times and chosen settings; settings that are tried.
ROUNDS = 3
AMOUNTS = (0, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024)
SEGMENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
SWITCHES = ("ahead_on_hit", "stops_in_sector", "hits_written", "zero_latency_read", "zero_latency_write", "combines")


class FittedController(NamedTuple):
    """Parameters of a controller that were fitted to a log.

    controller: the fitted parameters. table: a dataset with one entry for each fitted time (dimension `parameter`):
    its values before and after the fit (`start`, `fitted`), the `standard_error` of the fitted value, seconds (NaN if
    the log does not determine it), and whether the log determines it (`identified`). The attributes `demerit_start` and
    `demerit_fitted` are the demerit on the log before and after the fit, seconds. The attribute `changed` lists the
    settings of the buffer that the fit changed.
    """

    controller: DriveController
    table: xr.Dataset

    def __str__(self) -> str:
        table = self.table
        lines = [
            "controller, bus and buffer: " + (table.attrs["changed"] or ("the settings of the buffer are unchanged"))
        ]
        columns = (table[name].values for name in ("parameter", "start", "fitted", "standard_error", "identified"))
        for name, start, fitted, error, identified in zip(*columns, strict=True):
            text = f" +- {error / MS:.4f} ms" if identified else " ms  not identified"
            was = f"  (was {start / MS:.4f})" if fitted != start else ", unchanged"
            lines.append(f"{name:<32} {fitted / MS:9.4f}{text}{was}")
        was, is_now = (table.attrs[f"demerit_{name}"] / MS for name in ("start", "fitted"))
        return "\n".join([*lines, f"demerit on this log: {is_now:.3f} ms (was {was:.3f})"])

    def facts(self) -> dict[str, Any]:
        """Return the field `controller` of a drive file."""
        return controller_facts(self.controller)


def fit_controller(trace: RequestTrace, drive: Drive, start: DriveController) -> FittedController:
    """Fit controller, bus and buffer of a drive to a log that was measured on it.

    Parameters
    ----------
    trace : RequestTrace
        The log, measured with one outstanding request; `trace.measured_response` are its service times.
    drive : Drive
        Arm and platter, which the fit does not change.
    start : DriveController
        Initial values of the parameters.

    Returns
    -------
    FittedController
        The fitted parameters.

    Raises
    ------
    InputError
        If the log is not usable (`measured_service`), or if each class has fewer than FEWEST requests.

    Notes
    -----
    These times are fitted: the overheads of hits and misses, the time of a sector on the bus in either direction, and
    the command and the pause of a drive that disconnects twice. These settings are chosen: the extent of read-ahead,
    the number of segments, and the switches of the buffer (SWITCHES). Standard errors come from PARTS parts of the log.
    """
    against = Distributions.of(trace, drive)
    times, controller = _fitted_times(trace, drive, start, against), start
    with tqdm(desc="buffers", unit="buffer", delay=2, leave=False) as bar:
        for _ in range(ROUNDS):
            chosen = _chosen(trace, drive, times.controller, against, bar.update)
            if chosen.buffer == controller.buffer:
                break
            controller = chosen
            times = _fitted_times(trace, drive, chosen, against)
    return FittedController(times.controller, _table(trace, drive, start, times))


class Distributions(NamedTuple):
    """Measured distributions of service times, by class of requests.

    members: mask of the requests of each class. measured: quantiles of their service times at HEIGHTS, seconds. noise:
    standard deviation of these quantiles due to chance, seconds. The fit divides deviations by this noise. Hits
    therefore have more weight than misses, whose rotational delay varies, and the overhead of hits is determined more
    precisely than the overhead of misses.
    """

    members: Bool[ndarray, "class request"]
    measured: Float[ndarray, "class height"]
    noise: Float[ndarray, "class height"]

    @classmethod
    def of(cls, trace: RequestTrace, drive: Drive) -> "Distributions":
        """Return the distributions of reads and of writes, separately after a read and after a write.

        Classes with fewer than FEWEST requests are left out.
        """
        took = measured_service(trace, drive)
        after_read = np.append(True, trace.read[:-1])
        classes = [(trace.read == read) & (after_read == after) for read in (True, False) for after in (True, False)]
        members = np.array([members for members in classes if np.count_nonzero(members) >= FEWEST])
        if not members.size:
            most = max(np.count_nonzero(members) for members in classes)
            raise InputError(
                f"{trace.source.name}: the largest class of requests (reads or writes, after a read or a write) has "
                f"{most} requests; a fit needs {FEWEST}; give a longer log"
            )
        return cls.at(members, took)

    @classmethod
    def at(cls, members: ndarray, took: ndarray) -> "Distributions":
        """Return the distributions of the classes that `members` marks. took: service times, seconds.

        The standard deviation of quantile p of n values is sqrt(p (1 - p) / n) divided by the density of the values at
        this quantile.
        """
        measured = np.array([_at_heights(took[one]) for one in members])
        slope = np.gradient(measured, HEIGHTS, axis=1)
        chance = np.sqrt(HEIGHTS * (1 - HEIGHTS) / members.sum(axis=1)[:, None])
        return cls(members, measured, np.hypot(chance * slope, FINEST))

    def apart(self, service: Float[ndarray, "request run"]) -> Float[ndarray, "class_height run"]:
        """Return the differences between modelled and measured quantiles, in standard deviations (`noise`)."""
        off = [
            (_at_heights(service[one]) - measured[:, None]) / noise[:, None]
            for one, measured, noise in zip(self.members, self.measured, self.noise, strict=True)
        ]
        return np.concatenate(off)

    def demerit(self, service: Float[ndarray, "request run"]) -> Float[ndarray, "run"]:
        """Return the root mean square of the demerits of all classes, in seconds, weighted by numbers of requests."""
        far = self.apart(service).reshape(*self.noise.shape, -1) * self.noise[..., None]
        return np.sqrt(np.average((far**2).mean(axis=1), axis=0, weights=self.members.sum(axis=1)))

    def part(self, which: slice, took: ndarray) -> "Distributions":
        """Return the distributions of the requests in `which`. took: service times of all requests, seconds."""
        inside = np.zeros(took.size, bool)
        inside[which] = True
        members = self.members & inside
        members = members[members.sum(axis=1) >= FEWEST // PARTS + 1]
        return Distributions.at(members, took)


def _at_heights(times: Float[ndarray, "request *batch"]) -> Float[ndarray, "height *batch"]:
    return np.quantile(times, HEIGHTS, axis=0, method="inverted_cdf")


class Times(NamedTuple):
    """Fitted times of the controller, in seconds.

    controller: all parameters. names: `group.field` of each fitted time. value, error: value and standard error of
    each fitted time. identified: whether the log determines the time.
    """

    controller: DriveController
    names: tuple[str, ...]
    value: Float[ndarray, "time"]
    error: Float[ndarray, "time"]
    identified: Bool[ndarray, "time"]


def _names(controller: DriveController) -> tuple[str, ...]:
    written = "write_hit" if controller.buffer.writes_behind else "write_miss"
    overheads = [
        f"overheads.{what}_after_{after}" for what in ("read_hit", "read_miss", written) for after in ("read", "write")
    ]
    extra = ["extra.command", "extra.pause"] if controller.extra else []
    return (*overheads, "bus.read", "bus.write", *extra)


def _with(controller: DriveController, names: tuple[str, ...], values: Any) -> DriveController:
    for name, value in zip(names, values, strict=True):
        group, field = name.split(".")
        controller = controller._replace(**{group: getattr(controller, group)._replace(**{field: value})})
    return controller


def _values(controller: DriveController, names: tuple[str, ...]) -> ndarray:
    return np.array(
        [getattr(getattr(controller, group), field) for group, field in (name.split(".") for name in names)]
    )


def _fitted_times(trace: RequestTrace, drive: Drive, start: DriveController, against: Distributions) -> Times:
    """Return the times that bring the modelled distributions nearest to the log, with the buffer settings of `start`.

    If no fitted time differs from its initial value by more than CONTRADICTED standard errors, all initial values are
    kept. Otherwise all identified times get their fitted values. The overhead of a hit and the bus time are observed
    only as a sum. Therefore one of the two must not keep its initial value while the other changes.
    """
    names = _names(start)
    begin = _values(start, names)

    def around(values: ndarray) -> ndarray:
        """Return service times, `[request, 1 + time]`: first with `values`, then with each value increased separately.

        The increase is STEP.
        """
        batch = values[:, None] + np.concatenate([np.zeros((values.size, 1)), STEP * np.eye(values.size)], axis=1)
        return buffered_service(trace, drive, _with(start, names, batch))

    last: dict[bytes, ndarray] = {}

    def off(values: ndarray) -> ndarray:
        key = values.tobytes()
        if key not in last:
            last.clear()
            last[key] = against.apart(around(values))
        return last[key]

    def slopes_of(values: ndarray) -> ndarray:
        return (off(values)[:, 1:] - off(values)[:, :1]) / STEP

    found = optimize.least_squares(
        lambda values: off(values)[:, 0],
        np.clip(begin, 1e-9, LONGEST),
        cast(Any, slopes_of),
        bounds=(0.0, LONGEST),
        x_scale=0.1 * MS,
        loss="soft_l1",
        f_scale=FAR,
        max_nfev=20,
    )
    service = around(found.x)
    slopes = np.abs(service[:, 1:] - service[:, :1]) > STEP / 4
    identified = slopes.sum(axis=0) >= FEWEST
    error = np.where(identified, _errors(service, trace, against), np.nan)
    contradicted = (np.abs(found.x - begin) > CONTRADICTED * error).any()
    value = np.where(identified & contradicted, found.x, begin)
    return Times(_with(start, names, value.tolist()), names, value, error, identified)


def _errors(service: ndarray, trace: RequestTrace, against: Distributions) -> ndarray:
    """Return the standard errors of the fitted times, in seconds.

    The times are fitted to each part of the log separately. The errors follow from the spread of the results. The times
    of a part are approximated by one Gauss-Newton step from the times of the whole log.
    """
    assert trace.measured_response is not None
    ends = np.linspace(0, len(trace), PARTS + 1).astype(int)
    moved = []
    for begin, end in pairwise(ends):
        part = against.part(slice(begin, end), trace.measured_response)
        if part.members.size:
            off = part.apart(service)
            slopes = (off[:, 1:] - off[:, :1]) / STEP
            moved.append(np.linalg.lstsq(slopes, -off[:, 0], rcond=1e-3)[0])
    return (
        np.std(moved, axis=0, ddof=1) / np.sqrt(len(moved)) if len(moved) > 1 else np.full(service.shape[1] - 1, np.nan)
    )


def _chosen(
    trace: RequestTrace, drive: Drive, controller: DriveController, against: Distributions, notify: Callable[[], Any]
) -> DriveController:
    """Return the controller with the buffer settings whose modelled distributions are nearest to the log.

    Settings are tried one after the other. A change is kept only if it brings the distributions nearer to the whole log
    and to each half of the log.
    """
    took = measured_service(trace, drive)

    halves = [against.part(half, took) for half in (slice(0, len(trace) // 2), slice(len(trace) // 2, None))]

    def distance(facts: dict[str, Any]) -> Float[ndarray, "part run"]:
        """Return the demerit over the log, and over each half of the log, in seconds."""
        notify()
        service = buffered_service(trace, drive, controller._replace(buffer=best._replace(**facts)))
        return np.array([part.demerit(service) for part in (against, *halves)])

    best = controller.buffer
    nearest = distance({})[:, 0]
    for facts in _tried(controller):
        if all(np.array_equal(getattr(best, name), value) for name, value in facts.items()):
            continue
        far = distance(facts)
        at = int(far[0].argmin())
        if (far[:, at] < nearest * (1 - NEARER)).all():
            nearest = far[:, at]
            best = best._replace(
                **{name: int(np.ravel(value)[at]) if np.ndim(value) else value for name, value in facts.items()}
            )
    return controller._replace(buffer=best)


def _tried(controller: DriveController) -> Iterator[dict[str, Any]]:
    """Yield alternative settings of the buffer, in order. Each entry of an array is simulated in a separate run."""
    buffer = controller.buffer
    amounts = np.array([amount for amount in AMOUNTS if amount <= buffer.sectors])
    for mode in (3, 2, 1):
        yield {"read_ahead": mode, "most_ahead": amounts}
    for mode in (0, 4):
        yield {"read_ahead": mode}
    for name in SWITCHES:
        yield {name: not getattr(buffer, name)}
    for count in SEGMENTS:
        yield {"segments": count}


def _table(trace: RequestTrace, drive: Drive, start: DriveController, times: Times) -> xr.Dataset:
    took = measured_service(trace, drive)
    before, after = (demerit(buffered_service(trace, drive, one)[:, 0], took) for one in (start, times.controller))
    facts = [(name, getattr(start.buffer, name), value) for name, value in times.controller.buffer._asdict().items()]
    changed = [f"{name} {now} (was {was})" for name, was, now in facts if was != now]
    seconds = {"units": "s"}
    return xr.Dataset(
        {
            "start": ("parameter", _values(start, times.names), seconds),
            "fitted": ("parameter", times.value, seconds),
            "standard_error": ("parameter", times.error, seconds),
            "identified": ("parameter", times.identified),
        },
        coords={"parameter": list(times.names)},
        attrs=made_by("trace")
        | {
            "trace": trace.source.name,
            "drive": drive.name,
            "requests": len(trace),
            "demerit_start": before,
            "demerit_fitted": after,
            "changed": ", ".join(changed),
        },
    )
