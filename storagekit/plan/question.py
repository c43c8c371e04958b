"""The question to a planner, and the limits of its values."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from storagekit.analytic.array.aspect import Layouts, layouts
from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, Validator, instance_of, shown
from storagekit.drive import Drive
from storagekit.plan.goal import Goal
from storagekit.plan.objective import LAYOUT_OBJECTIVES, LayoutObjective

Criterion = TypeVar("Criterion", bound=LayoutObjective | Goal)


# Maximum number of disks of one array, because all factors of this number are enumerated.
DISKS = COUNT.up_to(100_000, "; plan one of several equal arrays")
# Maximum number of mirrors. With more heads, the number of possible choices among the heads exceeds 64 bits.
MIRRORS = COUNT.up_to(1000)
ANY_MIRRORS = MIRRORS.up_to(MIRRORS.most, ", or None for any")
# Number of requests for each disk. Below the minimum, rounding errors determine the result.
QUEUE = Validator(least=1e-6, most=1e9)


def with_mirrors(every: Layouts, mirrors: int | None) -> Layouts:
    """Return the layouts with the given number of mirrors; None allows any number."""
    return every.where(every.mirrors <= MIRRORS.most) if mirrors is None else every.mirrored(mirrors)


def planned_drive(label: str, value: Any) -> Drive | DriveFigures:
    """Return `value` if it is a drive that the formulas cover; raise InputError otherwise."""
    if not isinstance(value, Drive | DriveFigures):
        raise InputError(f"{label} {shown(value)}: give a drive, as load_drive(name) does, or DriveFigures")
    return value


def require_ranking(objective: Any, scheduler: Any) -> None:
    """Raise InputError if layouts cannot be ranked by this objective with this scheduler."""
    instance_of(LayoutObjective, "MinMean() or MaxThroughput()")("objective", objective)
    instance_of(Scheduler, "RLOOK() or RSATF()")("scheduler", scheduler)


@dataclass(frozen=True)
class Question(Generic[Criterion]):
    """An array, its load, and its goal.

    Parameters
    ----------
    drive : Drive, DriveFigures or tuple of these
        The drive of all disks, or one drive for each disk.
    disks : int
        Number of disks of a ranking, or maximum number of disks for a goal.
    load : Load
        The load.
    criterion : MinMean, MaxThroughput or Goal
        The objective of a ranking, or the goal to be met with the fewest disks.
    scheduler : Scheduler or None
        The scheduler for the predicted throughput; None for FCFS.
    mirrors : int or None
        D_m, the number of mirrors; None for any number.
    most_replicas : int
        Maximum number of copies on one disk.
    overhead : float or None
        Overhead T_o in seconds, which replaces the overhead of the drive; None for the overhead of the drive.
    """

    drive: Drive | DriveFigures | tuple[Drive | DriveFigures, ...]
    disks: int
    load: Load
    criterion: Criterion
    scheduler: Scheduler | None
    mirrors: int | None
    most_replicas: int
    overhead: float | None

    @property
    def drive_name(self) -> str:
        """Return the name of the drive or, if there are several drives, the number and name of each kind."""
        if not isinstance(self.drive, tuple):
            return self.drive.name
        names = [one.name for one in self.drive]
        return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))

    @property
    def least_mirrors(self) -> int:
        """Return D_m, or 1 if any number of mirrors is allowed."""
        return self.mirrors or 1

    @property
    def objective_name(self) -> str:
        """Return the name of the objective of a ranking, as in text and JSON."""
        return next(name for name, one in LAYOUT_OBJECTIVES.items() if isinstance(self.criterion, type(one)))

    @property
    def scheduler_name(self) -> str:
        return self.scheduler.name if self.scheduler else "FCFS"

    def layouts(self, disks: int) -> Layouts:
        """Return the layouts of `disks` disks, including layouts that are too small for the data."""
        return with_mirrors(layouts(disks, self.most_replicas), self.mirrors)
