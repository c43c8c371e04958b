"""Fit of the timing of a drive with known geometry to service times that were measured on it."""

from typing import Any, NamedTuple, cast

import numpy as np
import xarray as xr
from jaxtyping import Array

from storagekit.calibrate.arm_fit import SAMPLES, ArmFit, Estimate, Knots, Moves, fit_arm
from storagekit.calibrate.measured_drive import Controller, lies_apart, measured_service, thinks
from storagekit.calibrate.spindle_fit import SEARCHED, Completions, FittedSpindle, fit_spindle
from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.core.provenance import made_by
from storagekit.drive import Drive, SeekTable, Target, facts_of
from storagekit.workload.trace import RequestTrace


class FittedDrive(NamedTuple):
    """A drive whose timing was fitted to a log.

    drive: the drive; times that could not be fitted have the values of the initial drive. controller: times of
    controller and bus for `measured_stream`, with the fitted bus time. table: a dataset. For each `parameter`, it has
    the `value` and the `standard_error` (seconds; NaN if there is no error), whether the parameter was `identified`,
    and a `note`: the requests on which the value is based, or the reason why it was not fitted. For each `distance`
    (cylinders, at the knots of the seek curve), it has `seek` and `seek_error` (seconds). The curve is fitted between
    the first and the last of these distances. Outside this range, the drive has the seek curve of the initial drive,
    scaled to join the fitted curve.
    """

    drive: Drive
    controller: Controller
    table: xr.Dataset

    def __str__(self) -> str:
        table = self.table
        lines = [f"{self.drive.name}: fitted to {table.attrs['trace']}"]
        rows = zip(*(table[name].values for name in ("parameter", "value", "standard_error", "note")), strict=True)
        for name, value, error, note in rows:
            error = f" +- {error / units.MS:.6f}" if np.isfinite(error) else ""
            lines.append(f"{name:<13} {value / units.MS:10.6f}{error} ms  {note}")
        knots = zip(*(table[name].values for name in ("distance", "seek", "seek_error")), strict=True)
        lines += [f"seek {far:8.0f} {time / units.MS:10.3f} +- {error / units.MS:.3f} ms" for far, time, error in knots]
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """Return the fields of a drive file, for `load_drive`. Raise InputError if `facts_of` raises it."""
        table = self.table
        return facts_of(self.drive, f"fitted to {table.attrs['trace']}, on the geometry of {table.attrs['start']}")


def fit_drive(trace: RequestTrace, start: Drive, controller: Controller | None = None) -> FittedDrive:
    """Fit the timing of a drive to a log that was measured on it with one outstanding request.

    Parameters
    ----------
    trace : RequestTrace
        The log; `trace.measured_response` are its service times.
    start : Drive
        Initial model of the drive, from a drive file, or from a data sheet that implies the true track lengths of the
        drive. The fit keeps the geometry of this model, and begins with its timing.
    controller : Controller, optional
        Times of controller and bus, by default all 0. The fit keeps the bus time if the log does not determine it.

    Returns
    -------
    FittedDrive
        The drive, and a table of its parameters with standard errors.

    Raises
    ------
    InputError
        If the log has no service times or offsets, has several devices or several outstanding requests, is larger than
        the drive, or has fewer than 400 requests that move the arm and wait for the platter.

    Notes
    -----
    The revolution and the bus are fitted first, by least squares with a robust loss on the completion times
    (`spindle_fit`). Seek curve, settling of a write, overhead and head switch are then fitted by maximum likelihood on
    the waits for the first sector (`arm_fit`). If completions do not coincide at any angle of the geometry, the fit
    keeps the revolution of `start` and the bus time of `controller`. The fit then uses only reads that are far from the
    requests before them (`apart` in the result of `measured_stream`).

    A drive has a single overhead. If a write that moves the arm has a different overhead, the difference is part of its
    settling time. The time in which a read returns from the drive to the host is also part of the overhead. The rates
    of zones are not fitted, because they follow from the geometry and the revolution.
    """
    service = _checked(trace, start)
    sectors = -(-trace.size // units.SECTOR)
    # On the host, where addresses have 64 bits.
    target = start.locate(cast(Array, trace.offset // units.SECTOR), cast(Array, sectors))
    turn = float(start.revolution)
    turns = np.asarray(target.transfer, float) / turn
    log = Completions(trace.time, trace.time + service, np.asarray(target.angle, float), turns, sectors, trace.read)
    spindle = fit_spindle(log, turn)
    bus = (controller or Controller()).sector
    if spindle is None:
        wait, usable = service - log.crossing(turn, bus), lies_apart(trace) & trace.read
    else:
        # After a request that did not wait for the platter, the position of the arm is unknown.
        turn, bus, wait = spindle.revolution, spindle.bus, spindle.wait
        usable = spindle.tied & np.append(False, spindle.tied[:-1])
    moves = _moves(target, wait, trace.read, usable)
    moving = np.count_nonzero(moves.distance)
    if moving < 2 * SAMPLES:
        raise InputError(
            f"{trace.source.name}: {moving} requests move the arm and wait for the platter, but a seek curve needs "
            f"{2 * SAMPLES}; give a longer log"
        )
    far = np.arange(start.cylinders)
    guess = _seconds(start, far) + float(start.overhead)
    arm = fit_arm(moves, guess, turn)
    drive = _drive(start, arm, turn, guess)
    return FittedDrive(
        drive,
        (controller or Controller())._replace(sector=bus),
        _table(trace, start, drive, spindle, arm, bus),
    )


def _checked(trace: RequestTrace, start: Drive) -> np.ndarray:
    """Return the service times of a log. Raise InputError if the log or the start cannot be used for a fit."""
    name, service = trace.source.name, measured_service(trace, start)
    if np.unique(trace.offset).size < 2:
        raise InputError(f"{name}: offset is the same for all requests; log their offsets (fio: log_offset=1)")
    if np.size(start.revolution) != 1:
        raise InputError(f"start: {np.size(start.revolution)} values of the revolution; give a drive with one value")
    thinks(trace)
    return service


def _seconds(drive: Drive, distance: np.ndarray) -> np.ndarray:
    return np.asarray(drive.seek(cast(Array, distance)), float)


def _moves(target: Target, wait: np.ndarray, read: np.ndarray, usable: np.ndarray) -> Moves:
    """Return the movements of the usable requests, without the first request, whose start is unknown."""
    cylinder, head = np.asarray(target.cylinder), np.asarray(target.head)
    distance = np.abs(cylinder[1:] - np.asarray(target.end.cylinder)[:-1])
    switched = head[1:] != np.asarray(target.end.head)[:-1]
    return Moves(*(column[usable[1:]] for column in (wait[1:], distance, switched, read[1:])))


def _drive(start: Drive, arm: ArmFit, revolution: float, guess: np.ndarray) -> Drive:
    overhead = arm.still_read.value if arm.still_read else float(start.overhead)
    switch = max(arm.switched.value - overhead, 0.0) if arm.switched else float(start.head_switch)
    return Drive(
        geometry=start.geometry,
        seek=SeekTable(_seek(arm.curve, overhead, guess)),
        revolution=revolution,
        head_switch=switch,
        write_settle=arm.settle.value if arm.settle else float(start.write_settle),
        overhead=overhead,
        name=f"{start.name}, as measured",
        grain=start.grain,
        settles_on_switch=start.settles_on_switch,
    )


def _seek(curve: Knots, overhead: float, guess: np.ndarray) -> np.ndarray:
    """Return the fitted seek time in seconds at each distance. The time never decreases with distance.

    Outside the fitted distances, the result is the curve `guess`, scaled to join the fitted curve.
    """
    far = np.arange(guess.size)
    low, high = curve.cylinders[0], curve.cylinders[-1]
    time = curve(far)
    below, above = far < low, far > high
    time[below] = np.minimum(guess[below] / guess[int(low)], 1) * curve.seconds[0]
    time[above] = guess[above] / guess[int(high)] * curve.seconds[-1]
    time = np.maximum(np.maximum.accumulate(time[1:]) - overhead, 0.0)
    return np.append(0.0, time)


def _parameters(drive: Drive, spindle: FittedSpindle | None, arm: ArmFit, bus: float) -> list[tuple]:
    """Return for each parameter: name, value, standard error, whether it was identified, and a note."""
    kept = "not identified, initial value kept: "
    untied = f"the completion times fit no revolution time within {SEARCHED:.0%} of the initial value"
    turning = "from the completion times"
    if spindle is None:
        rows = [
            ("revolution", float(drive.revolution), np.nan, False, kept + untied),
            ("bus sector", bus, np.nan, False, kept + untied),
        ]
    else:
        known = bool(np.isfinite(spindle.bus_error))
        rows = [
            ("revolution", spindle.revolution, spindle.revolution_error, True, turning),
            ("bus sector", bus, spindle.bus_error, known, turning if known else "no reads of different sizes"),
        ]

    def row(name: str, value: float, estimate: Estimate | None, missing: str) -> tuple:
        if estimate is None:
            return name, value, np.nan, False, kept + missing
        return name, value, estimate.error, True, f"from {estimate.requests} requests"

    apart = "" if spindle else " (only reads far from earlier requests are used)"
    rows += [
        row(
            "overhead",
            float(drive.overhead),
            arm.still_read,
            f"too few reads without arm movement; the seek times include the overhead{apart}",
        ),
        row("head switch", float(drive.head_switch), arm.switched, f"too few requests with only a head switch{apart}"),
        row("write settle", float(drive.write_settle), arm.settle, f"too few writes wait for the platter{apart}"),
    ]
    written = arm.still_write.value if arm.still_write else np.nan
    rows.append(
        row(
            "write overhead",
            written,
            arm.still_write,
            "too few writes without arm movement; the settling time includes this overhead",
        )
    )
    return rows


def _table(
    trace: RequestTrace, start: Drive, drive: Drive, spindle: FittedSpindle | None, arm: ArmFit, bus: float
) -> xr.Dataset:
    rows = _parameters(drive, spindle, arm, bus)
    names, values, errors, identified, notes = zip(*rows, strict=True)
    seek = arm.curve.seconds - float(drive.overhead)
    return xr.Dataset(
        {
            "value": (
                "parameter",
                list(values),
                {"units": "s", "long_name": "fitted value, or the value of the initial drive"},
            ),
            "standard_error": ("parameter", list(errors), {"units": "s"}),
            "identified": ("parameter", list(identified)),
            "note": ("parameter", list(notes)),
            "seek": ("distance", seek, {"units": "s", "long_name": "arm movement"}),
            "seek_error": (
                "distance",
                arm.curve.errors,
                {"units": "s", "long_name": "standard error of the sum of overhead and seek"},
            ),
        },
        coords={
            "parameter": list(names),
            "distance": ("distance", arm.curve.cylinders, {"units": "cylinders"}),
        },
        attrs=made_by("trace")
        | {
            "trace": trace.source.name,
            "start": start.name,
            "requests": len(trace),
            "noise_seconds": spindle.noise if spindle else np.nan,
        },
    )
