"""A drive of one's own from one log: arm and platter, then controller, bus and buffer; and how near it comes on another."""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import xarray as xr

from storagekit.calibrate.controller_fit import FittedElectronics, fit_electronics
from storagekit.calibrate.drive_check import demerit_by_class
from storagekit.calibrate.drive_fit import FittedDrive, fit_drive
from storagekit.calibrate.measured_drive import Controller, buffered_stream, measured_stream
from storagekit.drive import Drive, Electronics, facts_of
from storagekit.workload.trace import RequestTrace


class FittedLog(NamedTuple):
    """drive: with its timing, fitted where `arm` is; electronics: None where nothing was known to begin with."""

    drive: Drive
    electronics: Electronics | None
    arm: FittedDrive | None
    behind: FittedElectronics | None
    source: str

    def __str__(self) -> str:
        return "\n\n".join(str(one) for one in (self.arm, self.behind) if one is not None)

    def facts(self) -> dict[str, Any]:
        """The fields of a drive file. Raises InputError as `facts_of` does."""
        known = facts_of(self.drive, self.source)
        return known | ({"electronics": self.behind.facts()} if self.behind is not None else {})


def fit_log(trace: RequestTrace, start: Drive, electronics: Electronics | None, keep_arm: bool = False) -> FittedLog:
    """The drive on which a log was measured: `fit_drive`, unless the arm is kept, then `fit_electronics` where something is
    known to begin with. What a controller takes before the arm moves is then the electronics', and nothing the arm's.

    Raises InputError as these do.
    """
    arm = None if keep_arm else fit_drive(trace, start, electronics and Controller.of(electronics))
    drive, behind = start if arm is None else arm.drive, None
    if electronics is not None:
        if arm is not None:
            drive = eqx.tree_at(lambda one: one.overhead, drive, np.zeros_like(drive.overhead))
        behind = fit_electronics(trace, drive, electronics)
    source = f"fitted to {trace.source.name}, on the geometry of {start.name}"
    return FittedLog(drive, behind and behind.electronics, arm, behind, source)


def judged(trace: RequestTrace, *drives: tuple[Drive, Electronics | None]) -> list[xr.Dataset]:
    """How near each of these drives, with its electronics if they are known, comes to a log: `demerit_by_class`."""
    return [
        demerit_by_class(
            measured_stream(trace, drive) if electronics is None else buffered_stream(trace, drive, electronics)
        )
        for drive, electronics in drives
    ]
