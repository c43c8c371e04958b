"""The disks of an array, of one kind or of several."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.aspect import Layouts
from storagekit.analytic.array.costs import Costs, Load, costs
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import Curve, DriveFigures, Linear, Spindle, spindle
from storagekit.core.checks import require_whole
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, POSITIVE, a, hold, several, takes, unchecked
from storagekit.drive import Drive

# asked with what has been looked at
_costs = unchecked(costs)
# a share of the cylinders may be this much above one by rounding
_SLACK = 1 + 1e-9


@dataclass(frozen=True)
class DiskKind:
    """Disks of one kind: their timing, how many, and the capacity of one in capacities of the array's mean disk."""

    spindle: Linear | Curve
    count: int
    capacity: float

    def __post_init__(self):
        hold(self, spindle=a(Spindle, "the view of a drive, spindle(load_drive(name))"), count=COUNT, capacity=POSITIVE)


@dataclass(frozen=True)
class Population:
    """All disks of an array."""

    kinds: tuple[DiskKind, ...]

    def __post_init__(self):
        hold(self, kinds=several(a(DiskKind), 1, "kinds of disks"))

    @property
    def disks(self) -> int:
        return sum(kind.count for kind in self.kinds)

    @property
    def counts(self) -> NDArray:
        return np.array([kind.count for kind in self.kinds])

    def divides(self, layouts: Layouts) -> NDArray:
        """Layouts whose mirrors can be disks of the same kind."""
        return np.all(self.counts[:, None] % layouts.mirrors == 0, axis=0)


def population(drive: Drive | DriveFigures | Sequence, disks: int, overhead: float | None) -> Population:
    """One drive for all disks, or a sequence with one drive for each. Raises InputError for a bad drive or count."""
    require_whole("disks", disks)
    if isinstance(drive, Drive | DriveFigures):
        return Population((DiskKind(spindle(drive, overhead), int(disks), 1.0),))
    if not isinstance(drive, Sequence) or isinstance(drive, str):
        raise InputError(
            f"drive {drive!r}: give a drive, as load_drive(name) does, DriveFigures, or a sequence with one for each disk"
        )
    if len(drive) != disks:
        raise InputError(f"{len(drive)} drives for {disks} disks: give one drive for each disk, or one for all")
    different: list[list] = []
    for one in drive:
        same = next((kind for kind in different if _alike(kind[0], one)), None)
        if same is None:
            different.append([one, 1])
        else:
            same[1] += 1
    # these raise for what is no drive
    views = [spindle(one, overhead) for one, _ in different]
    mean = sum(one.capacity * count for one, count in different) / disks
    found = zip(views, different, strict=True)
    return Population(tuple(DiskKind(view, count, one.capacity / mean) for view, (one, count) in found))


def _alike(one, other) -> bool:
    return one is other or (isinstance(one, DriveFigures) and isinstance(other, DriveFigures) and one == other)


@dataclass(frozen=True)
class SharedCosts:
    """Costs of each layout and how its disks share them.

    used: cylinders in use, kind by layout; requests: share of the requests that one disk of a kind gets, alike.
    """

    costs: Costs
    used: NDArray
    requests: NDArray

    @property
    def fits(self) -> NDArray:
        return np.all(self.used <= _SLACK, axis=0)


@takes(disks=a(Population), load=a(Load), layouts=a(Layouts), scheduler=a(Scheduler))
def shared_costs(disks: Population, load: Load, layouts: Layouts, scheduler: Scheduler) -> SharedCosts:
    """Costs where every disk is equally busy: one disk's share of the data is inverse to the time its requests take.

    That time grows with the share, so that shares are found by iteration (damped: it converges because seeks grow no
    faster than the reach).
    """
    counts = disks.counts[:, None]

    def each(requests: NDArray) -> list[Costs]:
        used = np.minimum(_used(disks, load, layouts, requests), 1.0)
        return [
            _costs(kind.spindle, load, layouts, disks.disks, row, scheduler)
            for kind, row in zip(disks.kinds, used, strict=True)
        ]

    def balanced(requests: NDArray) -> NDArray:
        wanted = np.sqrt(requests / np.array([one.disk_time for one in each(requests)]))
        return wanted / (counts * wanted).sum(axis=0)

    requests = np.full((len(disks.kinds), layouts.count), 1 / disks.disks)
    if len(disks.kinds) > 1:
        from scipy.optimize import fixed_point

        requests = np.asarray(fixed_point(balanced, requests, xtol=1e-9, maxiter=500, method="iteration"))
    found = each(requests)
    weight = counts * requests
    latency = (weight * np.array([one.latency for one in found])).sum(axis=0)
    disk_time = disks.disks * (requests * np.array([one.disk_time for one in found])).max(axis=0)
    busy = (counts * np.array([one.busy for one in found])).sum(axis=0) / disks.disks
    return SharedCosts(Costs(latency, disk_time, busy), _used(disks, load, layouts, requests), requests)


def _used(disks: Population, load: Load, layouts: Layouts, requests: NDArray) -> NDArray:
    capacity = np.array([[kind.capacity] for kind in disks.kinds])
    return load.data * requests * layouts.copies / capacity
