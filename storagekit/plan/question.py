"""What a planner is asked, and the limits that its numbers have."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from storagekit.analytic.array.aspect import Layouts, layouts
from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.core.checks import require_kind, shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, Kind
from storagekit.drive import Drive
from storagekit.plan.goal import Goal
from storagekit.plan.objective import Objective

Aim = TypeVar("Aim", bound=Objective | Goal)


# Disks of one array: all their factors are gone through.
DISKS = COUNT.up_to(100_000, "; plan one of several equal arrays")
# Of more heads, the ways to choose among them are more than a number of 64 bits holds.
MIRRORS = COUNT.up_to(1000)
ANY_MIRRORS = MIRRORS.up_to(MIRRORS.most, ", or None for any")
# Requests for each disk: with fewer than the least, rounding decides.
QUEUE = Kind(least=1e-6, most=1e9)


def with_mirrors(every: Layouts, mirrors: int | None) -> Layouts:
    """Those with so many mirrors, for None with any number that can be told."""
    return every.where(every.mirrors <= MIRRORS.most) if mirrors is None else every.mirrored(mirrors)


def planned_drive(label: str, value: Any) -> Drive | DriveFigures:
    """The value. Raises InputError unless formulas can be asked about it."""
    if not isinstance(value, Drive | DriveFigures):
        raise InputError(f"{label} {shown(value)}: give a drive, as load_drive(name) does, or DriveFigures")
    return value


def require_ranking(objective: Any, scheduler: Any) -> None:
    """Raises InputError unless layouts can be ranked by the one under the other."""
    require_kind("objective", objective, Objective, "Latency() or Throughput()")
    require_kind("scheduler", scheduler, Scheduler, "RLOOK() or RSATF()")


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
        return with_mirrors(layouts(disks, self.most_replicas), self.mirrors)
