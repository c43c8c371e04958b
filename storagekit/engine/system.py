"""A system of disks, and a scenario: a system with somebody asking."""

import equinox as eqx
import numpy as np

from storagekit.dispatch import AbstractDispatch
from storagekit.drive import AbstractDrive
from storagekit.engine.completion import AbstractCompletion, AllCopies
from storagekit.errors import InputError
from storagekit.placement import AbstractPlacement
from storagekit.schedule import AbstractSchedule
from storagekit.workload import AbstractArrivals

MOST_DRIVES = 32
MOST_SECTORS = 2**31


class System(eqx.Module):
    """Drives that hold copies, and how they share the work.

    drive: the model of every spindle; each has a random phase of its own. drives: how many the engine provides for, at
    least as many as the placement uses (more lets settings with different numbers share one compilation).
    slots: requests the system holds at once; further arrivals wait outside and are counted.
    """

    drive: AbstractDrive
    placement: AbstractPlacement
    dispatch: AbstractDispatch
    schedule: AbstractSchedule
    completion: AbstractCompletion
    drives: int = eqx.field(static=True)
    slots: int = eqx.field(static=True)

    def __init__(self, drive, placement, dispatch, schedule, completion=None, *, drives: int, slots: int):
        self.drive = drive
        self.placement = placement
        self.dispatch = dispatch
        self.schedule = schedule
        self.completion = AllCopies() if completion is None else completion
        self.drives = drives
        self.slots = slots

    def __check_init__(self):
        if not 1 <= self.drives <= MOST_DRIVES:
            raise InputError(f"{self.drives} drives in one system: give 1 to {MOST_DRIVES}, or run groups as lanes")
        used = int(np.max(self.placement.drives))
        if used > self.drives:
            raise InputError(f"{used} copies on {self.drives} drives: lower the copies or add drives")
        if self.slots < 1:
            raise InputError(f"{self.slots} request slots: give at least 1")
        capacity = self.placement.capacity(self.drive)
        if not 0 < capacity < MOST_SECTORS:
            raise InputError(f"a capacity of {capacity} sectors: the engine addresses 1 to {MOST_SECTORS - 1} (1 TB)")
        self.dispatch.check(used)


class Scenario(eqx.Module):
    """A system and its arrivals: what `simulate` runs."""

    system: System
    arrivals: AbstractArrivals

    def __check_init__(self):
        most = self.arrivals.most_outstanding
        if most is not None and most > self.system.slots:
            raise InputError(f"{most} requests outstanding in {self.system.slots} slots: raise System.slots")
