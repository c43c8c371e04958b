"""Fit of a complete drive to one log, and its comparison with another log.

Arm and platter are fitted first, then controller, bus and buffer.
"""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import xarray as xr

from storagekit.calibrate.controller_fit import FittedController, fit_controller
from storagekit.calibrate.drive_check import demerit_by_class
from storagekit.calibrate.drive_fit import FittedDrive, fit_drive
from storagekit.calibrate.measured_drive import Controller, buffered_stream, measured_stream
from storagekit.drive import Drive, DriveController, facts_of
from storagekit.workload.trace import RequestTrace


class FittedLog(NamedTuple):
    """A drive that was fitted to a log.

    drive: the drive, with fitted timing if `arm` is given. controller: fitted parameters of controller, bus and
    buffer; None if these parameters were not known at the start. arm: the fit of arm and platter, or None. behind: the
    fit of controller, bus and buffer, or None. source: description of the origin.
    """

    drive: Drive
    controller: DriveController | None
    arm: FittedDrive | None
    behind: FittedController | None
    source: str

    def __str__(self) -> str:
        return "\n\n".join(str(one) for one in (self.arm, self.behind) if one is not None)

    def facts(self) -> dict[str, Any]:
        """Return the fields of a drive file. Raise InputError if `facts_of` raises it."""
        known = facts_of(self.drive, self.source)
        return known | ({"controller": self.behind.facts()} if self.behind is not None else {})


def fit_log(trace: RequestTrace, start: Drive, controller: DriveController | None, keep_arm: bool = False) -> FittedLog:
    """Fit a drive to a log that was measured on it.

    Parameters
    ----------
    trace : RequestTrace
        The log, measured with one outstanding request.
    start : Drive
        Geometry and timing from which the fit begins.
    controller : DriveController or None
        Controller, bus and buffer from which the fit begins, if they are known.
    keep_arm : bool
        Whether to keep the timing of arm and platter. By default False, and `fit_drive` fits this timing.

    Returns
    -------
    FittedLog
        The drive.

    Raises
    ------
    InputError
        If `fit_drive` or `fit_controller` raises it.

    Notes
    -----
    If both the drive and the controller are fitted, the time before the arm moves belongs to the controller, and the
    overhead of the drive is 0.
    """
    arm = None if keep_arm else fit_drive(trace, start, controller and Controller.of(controller))
    drive, behind = start if arm is None else arm.drive, None
    if controller is not None:
        if arm is not None:
            drive = eqx.tree_at(lambda one: one.overhead, drive, np.zeros_like(drive.overhead))
        behind = fit_controller(trace, drive, controller)
    source = f"fitted to {trace.source.name}, on the geometry of {start.name}"
    return FittedLog(drive, behind and behind.controller, arm, behind, source)


def judged(trace: RequestTrace, *drives: tuple[Drive, DriveController | None]) -> list[xr.Dataset]:
    """Return the demerit of each of several drives on a log, see `demerit_by_class`.

    Parameters
    ----------
    trace : RequestTrace
        The log.
    *drives : tuple of Drive and DriveController
        Each drive, with its controller, or None if it is not known.

    Returns
    -------
    list of Dataset
        Demerits by class of requests, one dataset for each drive.
    """
    return [
        demerit_by_class(
            measured_stream(trace, drive) if controller is None else buffered_stream(trace, drive, controller)
        )
        for drive, controller in drives
    ]
