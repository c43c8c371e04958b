"""Schemes without a formula; their values come from simulation (`simulating.seen`)."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from storagekit.analytic.array.shapes import Shape
from storagekit.core.errors import InputError
from storagekit.core.validation import Validator, instance_of, several, shown, text, validate_fields
from storagekit.dispatch import ARS, AbstractDispatch, ShortestQueue
from storagekit.dispatch.ars import OF_WRITES
from storagekit.placement import Striped
from storagekit.placement.base import MOST_PARTS
from storagekit.plan.scheme_ranking.families import COPIES, Family
from storagekit.plan.scheme_ranking.scheme import CopiesScheme, Scheme


class SimulatedOnly(Scheme):
    """A scheme that has to be simulated.

    Its shape determines its capacity. `accesses` contains the numbers of disks that a read and a write occupy. Each of these
    disks serves one of the `cuts` pieces of the request.
    """

    @property
    @abstractmethod
    def accesses(self) -> tuple[int, int]: ...

    @property
    @abstractmethod
    def cuts(self) -> int: ...

    @property
    def caveat(self):
        return "both were simulated, with other runs"


@dataclass(frozen=True)
class Dispatched(SimulatedOnly, CopiesScheme):
    """Replicated bricks; a dispatcher selects the replica. title: name of the dispatcher."""

    title: str
    dispatcher: AbstractDispatch

    @property
    def shape(self):
        return Shape(written=self.copies, room=float(self.copies), group=min(self.bricks, 2 * self.copies - 1))

    @property
    def accesses(self):
        return 1, self.copies

    @property
    def cuts(self):
        return 1

    @property
    def sort(self):
        return type(self), self.copies, self.title

    def __str__(self):
        return f"{self.copies} copies, {self.title}"

    def dispatch(self):
        return self.dispatcher


@dataclass(frozen=True)
class SplitRequests(SimulatedOnly):
    """RAID 0 with a stripe unit that is a part of the largest request; several disks serve a request together (swift)."""

    count: int
    ways: int

    @property
    def disks(self):
        return self.count

    @property
    def shape(self):
        return Shape()

    @property
    def accesses(self):
        return self.ways, self.ways

    @property
    def cuts(self):
        return self.ways

    @property
    def tolerates(self):
        return 0

    @property
    def sort(self):
        return type(self), self.ways

    def degraded(self, reads, read, write, plain):
        return np.nan

    def __str__(self):
        return f"RAID 0, requests split over {self.ways} disks"

    def placement(self, drive, data, unit):
        return Striped(self.count, unit // self.ways)

    def dispatch(self):
        from storagekit.dispatch import Broadcast

        return Broadcast()


def _dispatchers() -> tuple[tuple[str, AbstractDispatch], ...]:
    return ("ARS", ARS()), ("shortest queue", ShortestQueue(2))


def _titled(label: str, value: object) -> tuple[str, AbstractDispatch]:
    """Return the name of a dispatcher and the dispatcher. Raises InputError if the value is not such a pair."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(f"{label} {shown(value)}: give what it is called and it, as in ('ARS', sk.dispatch.ARS())")
    title = text("what a dispatcher is called", value[0])
    return title, instance_of(AbstractDispatch, "one as sk.dispatch.ARS()")(f"dispatcher {title!r}", value[1])


@dataclass(frozen=True)
class Protocols(Family):
    """Bricks of one disk each with 2 to `copies` copies of all data, for each of several named dispatchers.

    The default dispatchers are ARS and the shorter of two queues. There is no scheme for more than 31 disks, the maximum
    of ARS.
    """

    copies: Annotated[int, COPIES] = 2
    dispatchers: Annotated[
        tuple[tuple[str, AbstractDispatch], ...], several(_titled, of="dispatchers with what they are called")
    ] = field(default_factory=_dispatchers)

    def __post_init__(self):
        validate_fields(self)

    def of(self, disks):
        if disks > OF_WRITES:
            return []
        return [
            Dispatched(disks, copies, title, one)
            for copies in range(2, min(self.copies, disks) + 1)
            for title, one in self.dispatchers
            if disks % copies == 0
        ]


@dataclass(frozen=True)
class SplitTransfers(Family):
    """RAID 0 that splits requests over 2, 4 or 8 disks, or over the numbers in `ways`, on arrays of up to 32 disks."""

    ways: Annotated[tuple[int, ...], several(Validator(least=2, most=8, whole=True), of="ways")] = (2, 4, 8)

    def __post_init__(self):
        validate_fields(self)
        for one in self.ways:
            # a stripe unit is a part of a page
            if 8 % one:
                raise InputError(f"ways {one}: a request is split in 2, 4 or 8; give one of these")

    def of(self, disks):
        return [SplitRequests(disks, one) for one in self.ways if one <= disks <= MOST_PARTS]
