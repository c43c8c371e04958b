"""Describe the disks of an array, of one kind or of several kinds, and divide the requests among the disks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.aspect import Layouts
from storagekit.analytic.array.costs import Costs, Load, costs
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import Curve, DriveFigures, Linear, Spindle, spindle
from storagekit.core.errors import InputError
from storagekit.core.namespaces import fixed_point, namespace_of
from storagekit.core.validation import (
    COUNT,
    Count,
    Positive,
    instance_of,
    several,
    traced,
    unchecked,
    validate,
    validate_fields,
)
from storagekit.drive import Drive

# version without validation, for arguments that have been validated
_costs = unchecked(costs)
# Rounding may raise a share of the cylinders above 1 by this factor.
_SLACK = 1 + 1e-9


@dataclass(frozen=True)
class DiskKind:
    """Disks of one kind.

    Parameters
    ----------
    spindle : Linear or Curve
        Timing of the drive.
    count : int
        Number of disks.
    capacity : float
        Capacity of a disk, relative to the mean capacity of the disks of the array.

    Raises
    ------
    InputError
        If a value has the wrong type or is out of range.
    """

    spindle: Annotated[Linear | Curve, instance_of(Spindle, "a Spindle, for example spindle(load_drive(name))")]
    count: Count
    capacity: Positive

    def __post_init__(self):
        validate_fields(self)


@dataclass(frozen=True)
class Population:
    """All disks of an array.

    Parameters
    ----------
    kinds : sequence of DiskKind
        At least one kind of disks.

    Raises
    ------
    InputError
        If there are no kinds, or an entry is not a `DiskKind`.
    """

    kinds: Annotated[tuple[DiskKind, ...], several(instance_of(DiskKind), 1, "kinds of disks")]

    def __post_init__(self):
        validate_fields(self)

    @property
    def disks(self) -> int:
        return sum(kind.count for kind in self.kinds)

    @property
    def counts(self) -> NDArray:
        return np.array([kind.count for kind in self.kinds])

    def divides(self, layouts: Layouts) -> NDArray:
        """Return a mask, `[layout]`, of the layouts whose mirrors can each consist of disks of one kind."""
        return np.all(self.counts[:, None] % layouts.mirrors == 0, axis=0)


def population(drive: Drive | DriveFigures | Sequence, disks: int, overhead: float | None) -> Population:
    """Return the disks of an array.

    Parameters
    ----------
    drive : Drive, DriveFigures or sequence of them
        The drive of all disks, or one drive for each disk.
    disks : int
        Number of disks.
    overhead : float or None
        Overhead of an access, seconds, which replaces the overhead of the drives; None for the drives' own overhead.

    Returns
    -------
    Population
        The disks. Equal drives form one kind.

    Raises
    ------
    InputError
        If a drive, the number of drives or the number of disks is wrong.
    """
    COUNT("disks", disks)
    if isinstance(drive, Drive | DriveFigures):
        return Population((DiskKind(spindle(drive, overhead), int(disks), 1.0),))
    if not isinstance(drive, Sequence) or isinstance(drive, str):
        raise InputError(
            f"drive {drive!r}: give load_drive(name), DriveFigures(...), or a sequence with one of them for each disk"
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
    # `spindle` raises InputError for an object that is not a drive.
    views = [spindle(one, overhead) for one, _ in different]
    mean = sum(one.capacity * count for one, count in different) / disks
    found = zip(views, different, strict=True)
    return Population(tuple(DiskKind(view, count, one.capacity / mean) for view, (one, count) in found))


def _alike(one, other) -> bool:
    if one is other or not (isinstance(one, DriveFigures) and isinstance(other, DriveFigures)):
        return one is other
    pairs = [(getattr(one, name), getattr(other, name)) for name in DriveFigures.__dataclass_fields__]
    return all(first is second or (not traced(first, second) and first == second) for first, second in pairs)


@dataclass(frozen=True)
class SharedCosts:
    """Costs of each layout, and the shares of the requests that the disks receive in each layout.

    Parameters
    ----------
    costs : Costs
        Costs of a request in each layout.
    used : array of float, shape `[kind, layout]`
        Share of the cylinders in use on a disk of each kind.
    requests : array of float, shape `[kind, layout]`
        Share of the requests that one disk of a kind receives.
    """

    costs: Costs
    used: NDArray
    requests: NDArray

    @property
    def fits(self) -> NDArray:
        return np.all(self.used <= _SLACK, axis=0)


@validate
def shared_costs(disks: Population, load: Load, layouts: Layouts, scheduler: Scheduler) -> SharedCosts:
    """Return the costs of each layout. The data is distributed so that every disk is equally busy.

    Parameters
    ----------
    disks : Population
        The disks of the array.
    load : Load
        Workload.
    layouts : Layouts
        Layouts of the disks.
    scheduler : Scheduler
        Scheduler of each disk.

    Returns
    -------
    SharedCosts
        Costs of each layout, and the share of the requests that a disk of each kind receives.

    Raises
    ------
    InputError
        If an argument has the wrong type.

    Notes
    -----
    The share of the data on a disk is inversely proportional to the time that a request to this disk takes. This time
    grows with the share, so the shares are found by damped iteration. The iteration converges because seek times grow
    no faster than the reach.
    """
    counts, space = disks.counts[:, None], namespace_of(*_numbers_of(disks, load))

    def each(requests: NDArray) -> list[Costs]:
        used = space.minimum(_used(disks, load, layouts, requests), 1.0)
        return [
            _costs(kind.spindle, load, layouts, disks.disks, row, scheduler)
            for kind, row in zip(disks.kinds, used, strict=True)
        ]

    def balanced(requests: NDArray) -> NDArray:
        wanted = space.sqrt(requests / space.stack([one.disk_time for one in each(requests)]))
        return wanted / (counts * wanted).sum(axis=0, keepdims=True)

    requests = space.full((len(disks.kinds), layouts.count), 1 / disks.disks)
    if len(disks.kinds) > 1 and space is not np:
        requests = fixed_point(balanced, requests)
    elif len(disks.kinds) > 1:
        from scipy import optimize

        requests = np.asarray(optimize.fixed_point(balanced, requests, xtol=1e-9, maxiter=500, method="iteration"))
    found = each(requests)
    weight = counts * requests
    latency = (weight * space.stack([one.latency for one in found])).sum(axis=0)
    disk_time = disks.disks * (requests * space.stack([one.disk_time for one in found])).max(axis=0)
    busy = (counts * space.stack([one.busy for one in found])).sum(axis=0) / disks.disks
    return SharedCosts(Costs(latency, disk_time, busy), _used(disks, load, layouts, requests), requests)


def _used(disks: Population, load: Load, layouts: Layouts, requests: NDArray) -> NDArray:
    capacity = [[kind.capacity] for kind in disks.kinds]
    return load.data * requests * layouts.copies[None] / namespace_of(capacity).asarray(capacity)


def _numbers_of(disks: Population, load: Load) -> Iterator[Any]:
    """Yield the numbers of the disks and of the load."""
    yield from vars(load).values()
    for kind in disks.kinds:
        yield kind.capacity
        yield from vars(kind.spindle).values()
