"""What a planner is asked."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from storagekit.analytic.array.aspect import Layouts, layouts
from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.drive import Drive
from storagekit.plan.goal import Goal
from storagekit.plan.objective import Objective

Aim = TypeVar("Aim", bound=Objective | Goal)


@dataclass(frozen=True)
class Question(Generic[Aim]):
    """An array, what it serves and what is wanted of it.

    drive: of all disks, or a tuple with one for each; disks: how many there are, or at most may be; aim: the `Objective` by
    which layouts are ranked, or the `Goal` to be met with the fewest disks; scheduler: under which throughput is predicted,
    None for the order of arrival; mirrors: D_m, None for any; most_replicas: the most copies on one disk; overhead: T_o in
    seconds in the place of the drive's own, None for that.
    """

    drive: Drive | DriveFigures | tuple[Drive | DriveFigures, ...]
    disks: int
    load: Load
    aim: Aim
    scheduler: Scheduler | None
    mirrors: int | None
    most_replicas: int
    overhead: float | None

    @property
    def drive_name(self) -> str:
        """What the drive, or each kind of several, is called."""
        if not isinstance(self.drive, tuple):
            return self.drive.name
        names = [one.name for one in self.drive]
        return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))

    @property
    def least_mirrors(self) -> int:
        """D_m, or its least where any will do."""
        return self.mirrors or 1

    @property
    def scheduler_name(self) -> str:
        return self.scheduler.name if self.scheduler else "FCFS"

    def layouts(self, disks: int) -> Layouts:
        """Those of so many disks among which to choose, whether or not the data fits."""
        return layouts(disks, self.most_replicas).mirrored(self.mirrors)
