"""Schemes: the capacity, the tolerated failures, the work of the disks, and the simulated system of each scheme."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.disk_load import Operation
from storagekit.analytic.array.shapes import Shape
from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.core.validation import Count, instance_of, validate_fields
from storagekit.dispatch import AbstractDispatch, Broadcast, Hashing, NearestIdle, central
from storagekit.drive import Drive
from storagekit.faults import Redundancy
from storagekit.placement import (
    AbstractPlacement,
    Declustered,
    DeclusteredParity,
    ParityGroups,
    SRMirror,
    Striped,
)
from storagekit.placement.parity import reads_other_data, require_group
from storagekit.placement.striped import UNIT
from storagekit.plan.transfers import paged

# bytes of consecutive data on one brick
EXTENT = 2**24


class SchemeFigures(NamedTuple):
    """The measures of a scheme, with the throughput in requests a second and times in seconds. See `Prediction`."""

    throughput: float
    mean: float
    p95: float
    p99: float
    utilization: float


class DegradedWork(NamedTuple):
    """The work of the disks while one disk is lost, and of its rebuild.

    Parameters
    ----------
    share : float
        Share of the requests that go to the disks with additional work, 0 to 1. The other requests are served as before.
    disks : int
        Number of the disks with additional work.
    shape : Shape
        Layout of these disks.
    operations : tuple of Operation or None
        Kinds of their requests; None if the layout alone determines them.
    moved : float
        Bytes that each of these disks reads or writes for each restored byte.
    together : int
        Number of these disks that a request of the rebuild occupies at the same time.
    content : float
        Share of the used space of a disk that has to be restored, 0 to 1; the rest is spare space.
    again : float
        Probability that a disk that was read for the rebuild is also read next, 0 to 1.
    replaced : bool
        Whether a spare disk replaces the lost disk; otherwise the other disks have spare space.
    """

    share: float
    disks: int
    shape: Shape
    operations: tuple[Operation, ...] | None
    moved: float
    together: int
    content: float = 1.0
    again: float = 1.0
    replaced: bool = True


class Scheme(ABC):
    """A scheme on `disks` disks.

    Requests are not split, except by full stripes: a stripe unit, or an extent, is at least as large as the largest
    request. A write completes when all copies, or data and parity, are on disk.
    """

    @property
    @abstractmethod
    def disks(self) -> int: ...

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Return the `Shape` of the scheme: the disks that a read or a write occupies, and the space on disk."""

    @property
    @abstractmethod
    def tolerates(self) -> int:
        """Return the number of lost disks that the scheme tolerates, for any choice of these disks."""

    @abstractmethod
    def degraded(self, reads: float, read: float, write: float, first: float) -> float:
        """Return the factor by which the work of the busiest disk grows if another disk is lost; NaN if data is lost.

        reads: share of reads. read: time of an access of a read. write: time of an access that writes. first: time of an
        access that reads before a write. Times are in seconds.
        """

    @property
    @abstractmethod
    def sort(self) -> tuple:
        """Return a key for the kind of the scheme. Schemes that differ only in the number of disks have equal keys."""

    @property
    @abstractmethod
    def caveat(self) -> str:
        """Return the reason why predictions may be inaccurate."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def placement(self, drive: Drive, data: float, unit: int) -> AbstractPlacement:
        """Return the placement of `data` bytes in stripe units of `unit` sectors."""

    @abstractmethod
    def dispatch(self) -> AbstractDispatch:
        """Return the dispatcher that selects the disks for a request."""

    def usable(self, capacity: float) -> float:
        """Return the capacity for data in bytes, on disks of `capacity` bytes each."""
        return self.disks * capacity / self.shape.room

    def after_loss(self, reads: float) -> DegradedWork | None:
        """Return the work of the disks while one disk is lost.

        The result is None, the default, if there is no formula or no redundancy. reads: share of reads.
        """
        return None

    @property
    def written_in_sequence(self) -> tuple[float, int]:
        """Return the accesses of a sequential write for each chunk, and the number of disks that it writes together."""
        return float(self.shape.written), self.shape.written

    def redundancy(self, capacity: float) -> Redundancy | None:
        """Return the groups of disks and the number of lost disks that a group tolerates.

        The result is None, the default, if a data loss also depends on the choice of the lost disks. capacity: bytes of
        data on each disk.
        """
        return None

    def suits(self, smallest: int) -> bool:
        """Return whether the scheme is meant for requests of at least `smallest` sectors; by default true."""
        return True

    def alignment(self, unit: int) -> int:
        """Return the number of sectors at whose multiples requests begin; by default the stripe unit of `unit` sectors."""
        return unit

    @property
    def whole_pages(self) -> bool:
        """Return whether requests are divided into whole pages of 4 KB; by default false."""
        return False

    def rebuild(self, moved: float, left: float) -> float:
        """Return the time in seconds to restore a lost disk.

        moved: time in seconds to read or to write the data of a disk. left: share of idle time of the other disks, above 0.
        """
        return moved / left


@dataclass(frozen=True)
class Mirrored(Scheme):
    """RAID 0, 1 and 10, and SR-Arrays. A read goes to the nearest idle head.

    Parameters
    ----------
    layout : Layout
        D_s x D_r x D_m (srarray, section 2.5).

    Raises
    ------
    InputError
        If the value is not a layout.
    """

    layout: Annotated[Layout, instance_of(Layout, "one as Layout(4, 1, 2)")]

    def __post_init__(self):
        validate_fields(self)

    @property
    def disks(self):
        return self.layout.disks

    @cached_property
    def shape(self):
        copies = self.layout.replicas, self.layout.mirrors
        return Shape(*copies, copies[1], 1 - 1 / copies[0], float(copies[0] * copies[1]))

    @property
    def tolerates(self):
        return self.layout.mirrors - 1

    def redundancy(self, capacity):
        mirrors = self.layout.mirrors
        return Redundancy(1, mirrors - 1, self.layout.disks // mirrors, capacity=capacity)

    def after_loss(self, reads):
        left = self.layout.mirrors - 1
        if not left:
            return None
        # the other disks of the mirror serve the requests of the lost disk, and one of them is read to restore it
        shape = replace(self.shape, heads=left, written=left)
        return DegradedWork((left + 1) / self.layout.disks, left, shape, None, 1 / left, 1, again=1 / left)

    @property
    def sort(self):
        return type(self), self.layout.replicas, self.layout.mirrors

    def degraded(self, reads, read, write, first):
        mirrors = self.layout.mirrors
        if mirrors == 1:
            return np.nan
        # the other disks of the mirror also serve the reads of the lost disk, and serve the same writes as before
        writes = (1 - reads) * mirrors * write
        return (reads * read * mirrors / (mirrors - 1) + writes) / (reads * read + writes)

    @property
    def caveat(self):
        if self.layout.mirrors > 1:
            return (
                "a mirror has a queue for reads, and each disk a queue for writes; the formulas do not separate queues"
            )
        return "the formulas assume that successive seeks of a disk are independent"

    def __str__(self):
        layout = self.layout
        if layout.replicas > 1:
            return f"SR-Array {layout}"
        if layout.mirrors == 1:
            return "RAID 0" if layout.disks > 1 else "one disk"
        kind = "RAID 1" if layout.striping == 1 else "RAID 10"
        return kind if layout.mirrors == 2 else f"{kind}, {layout.mirrors} copies"

    def placement(self, drive, data, unit):
        layout = self.layout
        full = SRMirror(layout.striping, layout.replicas, layout.mirrors, unit=unit)
        # size of the data divided by the capacity of a drive, as the layout counts capacity
        return replace(full, data=min(float(layout.striping), data / SECTOR / float(full.capacity(drive))))

    def dispatch(self):
        return NearestIdle()


@dataclass(frozen=True)
class Parity(Scheme):
    """RAID 5, 50, 6, 60, and codes of m + p, in parity groups of equal size.

    Parameters
    ----------
    group : int
        Number of disks in a group.
    parities : int
        Number of parity disks in a group, by default 1.
    groups : int
        Number of groups, by default 1.
    full_stripes : bool
        Whether each request is divided over the data disks of a group, so that a write reads nothing; by default false.

    Raises
    ------
    InputError
        If the numbers are impossible.
    """

    group: Count
    parities: Count = 1
    groups: Count = 1
    full_stripes: bool = False

    def __post_init__(self):
        validate_fields(self)
        if self.parities >= self.group:
            raise InputError(
                f"parities {self.parities}: must be below {self.group}, the number of disks of a group, because a "
                "group needs at least one disk for data"
            )
        require_group(self.group, self.parities, self.full_stripes)

    @property
    def disks(self):
        return self.group * self.groups

    @property
    def data(self) -> int:
        """Return the number of data disks in a group."""
        return self.group - self.parities

    @property
    def written_in_sequence(self):
        # full stripes, so that nothing is read first; requests that are divided divide each chunk over the data disks
        return self.group if self.full_stripes else self.group / self.data, self.group

    @property
    def reconstructs(self) -> bool:
        """Return whether a write within a stripe unit reads the other data of its row."""
        return reads_other_data(self.group, self.parities)

    @cached_property
    def shape(self):
        room, shared = self.disks / (self.data * self.groups), self._sharing
        if self.full_stripes:
            return Shape(written=self.group, room=room, group=shared, ways=self.data)
        written = 1 + self.parities
        first = self.data - 1 if self.reconstructs else written
        return Shape(written=written, room=room, group=shared, read_first=first, returns=not self.reconstructs)

    @property
    def _sharing(self) -> int:
        """Return the number of disks among which the requests of a group are spread."""
        return self.group

    @property
    def tolerates(self):
        return self.parities

    def redundancy(self, capacity):
        return Redundancy(self.data, self.parities, self.groups, capacity=capacity)

    @property
    def sort(self):
        # narrow groups whose writes read the other data are faster than wide groups
        return type(self), self.parities, self.full_stripes, self.data if self.reconstructs or self.full_stripes else 0

    def degraded(self, reads, read, write, first):
        shape = self.shape
        before = reads * shape.ways * read + (1 - reads) * (shape.read_first * first + shape.written * write)
        kinds = self._kinds_after_loss(reads).items()
        after = sum(
            share * (count * (first if written else read) + written * write) for (count, written, _), share in kinds
        )
        return after / before * self._sharing / (self._sharing - 1)

    def after_loss(self, reads):
        shape = replace(self.shape, group=self.group - 1)
        found = self._operations_after_loss(reads)
        moved = self.data / (self.group - 1)
        return DegradedWork(1 / self.groups, self.group - 1, shape, found, moved, self.data, again=moved)

    @property
    def _hit(self) -> float:
        """Return the probability that the row of a request has a unit on the lost disk, in groups with more work."""
        return 1.0

    def _operations_after_loss(self, reads: float) -> tuple[Operation, ...]:
        """Return the kinds of requests to a group that has lost a disk. reads: share of reads."""
        return tuple(Operation(share, *kind) for kind, share in self._kinds_after_loss(reads).items())

    def _kinds_after_loss(self, reads: float) -> dict[tuple[int, int, bool], float]:
        """Return the shares of the kinds of requests to a group that has lost a disk. reads: share of reads.

        A kind consists of two numbers and a truth value: the disks that a request reads first, the disks that it then writes,
        and whether both are the same disks.
        """
        group, data, parities, hit, writes = self.group, self.data, self.parities, self._hit, 1 - reads
        shape = self.shape
        # in rows without a lost unit
        found = [((shape.ways, 0, False), reads * (1 - hit))]
        found.append(((shape.read_first, shape.written, shape.returns), writes * (1 - hit)))
        if self.full_stripes:
            # a read of lost data reads parity instead, and a write leaves out the lost unit
            found += [((data, 0, False), reads * hit), ((0, group - 1, False), writes * hit)]
        else:
            found += [((1, 0, False), reads * hit * (group - 1) / group), ((data, 0, False), reads * hit / group)]
            # The lost unit is the data of a write, parity, or other data. The new parity is calculated from the old data and
            # parity, or from the other data of the row; lost data are calculated from parity first.
            own = data - 1, parities, False
            parity = (parities, parities, True) if parities <= data - 1 else (data - 1, parities, False)
            # without other parity there is nothing to calculate
            parity = parity if parities > 1 else (0, 1, False)
            other = (1 + parities, 1 + parities, True) if parities < data else (data, 1 + parities, False)
            units = ((own, 1), (parity, parities), (other, data - 1))
            found += [(kind, writes * hit * count / group) for kind, count in units]
        shares: dict[tuple[int, int, bool], float] = {}
        for kind, share in found:
            if share > 0:
                shares[kind] = shares.get(kind, 0.0) + share
        return shares

    @property
    def caveat(self):
        if self.full_stripes:
            return "the formulas describe the common waiting of the disks of a group by one correlation"
        return "the formulas describe the two phases of a write by the mean waiting times of the disks"

    def __str__(self):
        kind = {1: "RAID 5", 2: "RAID 6"}.get(self.parities, "code")
        if self.groups > 1:
            kind = {"RAID 5": "RAID 50", "RAID 6": "RAID 60"}.get(kind, kind)
        return f"{kind}, {self._numbers}"

    @property
    def _numbers(self) -> str:
        some = f"{self.groups} x " if self.groups > 1 else ""
        return f"{some}{self.data}+{self.parities}{', full stripes' if self.full_stripes else ''}"

    @property
    def whole_pages(self):
        return self.full_stripes

    def suits(self, smallest):
        # parts of less than the usual stripe unit take nearly as long as a whole request
        return not self.full_stripes or smallest >= self.data * UNIT

    def alignment(self, unit):
        return self._stripe_unit(unit) * self.data if self.full_stripes else unit

    def _stripe_unit(self, unit: int) -> int:
        """Return the number of sectors of a stripe unit, which are whole pages. unit: sectors of the largest request."""
        return paged(unit, self.data) if self.full_stripes else unit

    def placement(self, drive, data, unit):
        return ParityGroups(
            disks=self.group,
            parities=self.parities,
            groups=self.groups,
            unit=self._stripe_unit(unit),
            full_stripes=self.full_stripes,
        )

    def dispatch(self):
        return Broadcast()


@dataclass(frozen=True)
class SpreadParity(Parity):
    """A code of m + p whose groups are on changing disks (`placement.DeclusteredParity`).

    Parameters
    ----------
    group, parities, groups, full_stripes
        See `Parity`. Each address of the disks has `groups` groups.
    count : int
        Number of disks, at least the disks of `groups` groups. The capacity of the other disks is spare space on all disks.

    Raises
    ------
    InputError
        If the numbers are impossible.
    """

    count: Count = 0

    def __post_init__(self):
        super().__post_init__()
        if not self.groups * self.group <= self.count < (self.groups + 1) * self.group:
            raise InputError(
                f"count {self.count}: give {self.groups * self.group} to {(self.groups + 1) * self.group - 1} disks for "
                f"{self.groups} groups of {self.group} disks"
            )

    @property
    def disks(self):
        return self.count

    @property
    def _spares(self) -> int:
        """Return the number of disks whose space is spare space on all disks."""
        return self.count - self.group * self.groups

    @property
    def _sharing(self):
        return self.count

    @property
    def _hit(self):
        return self.group / self.count

    def after_loss(self, reads):
        if self.count == self.group:
            return super().after_loss(reads)
        count, spare = self.count, self._spares > 0
        shape = replace(self.shape, group=count - 1)
        # the disks also write to their spare space
        moved, content = (self.data + spare) / (count - 1), self.groups * self.group / count
        found = self._operations_after_loss(reads)
        return DegradedWork(1.0, count - 1, shape, found, moved, self.data + spare, content, replaced=not spare)

    def redundancy(self, capacity):
        return Redundancy(self.data, self.parities, pool=self.count, capacity=capacity)

    def rebuild(self, moved, left):
        if self.count == self.group:
            return super().rebuild(moved, left)
        # the other disks read the data units in the rows of the lost disk
        read = self.groups * self.group / self.count * self.data / (self.count - 1) * moved / left
        if not self._spares:
            # the disk that replaces the lost one has nothing else to do than to write
            return max(read, moved)
        return read * (self.data + 1) / self.data

    def __str__(self):
        spare = f", {self._spares} spare{'s' * (self._spares > 1)} distributed" if self._spares else ""
        return f"declustered code, {self._numbers}{spare}"

    def placement(self, drive, data, unit):
        return DeclusteredParity(
            disks=self.count,
            group=self.group,
            parities=self.parities,
            unit=self._stripe_unit(unit),
            full_stripes=self.full_stripes,
        )


@dataclass(frozen=True)
class CopiesScheme(Scheme):
    """Copies of all data on a ring of bricks with one disk each (`placement.Declustered`).

    Parameters
    ----------
    bricks, copies : int
        Number of bricks, and number of copies of each block.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    bricks: Count
    copies: Count

    def __post_init__(self):
        validate_fields(self)

    @property
    def disks(self):
        return self.bricks

    @property
    def tolerates(self):
        return self.copies - 1

    @property
    def sort(self):
        return type(self), self.copies

    def degraded(self, reads, read, write, first):
        # The other copies serve the reads of the lost disk. A direct neighbour on the ring shares the most data with the lost
        # disk, and therefore receives the most additional reads.
        more = 1 + 1 / (self.copies if self.bricks >= 2 * self.copies - 1 else self.copies - 1)
        writes = (1 - reads) * self.copies * write
        return (reads * read * more + writes) / (reads * read + writes)

    def placement(self, drive, data, unit):
        return Declustered(self.bricks, self.copies, extent=max(unit, EXTENT // SECTOR))


@dataclass(frozen=True)
class Hashed(CopiesScheme):
    """Replicated bricks; a hash of the address selects the replica (dsptf, section 4).

    Parameters
    ----------
    bricks, copies : int
        Number of bricks with one disk each, and number of copies of each block.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    @cached_property
    def shape(self):
        return Shape(written=self.copies, room=float(self.copies), group=min(self.bricks, 2 * self.copies - 1))

    @property
    def caveat(self):
        return "a write reaches all its bricks at the same time, but the formulas assume independent bricks"

    def __str__(self):
        return f"{self.copies} copies, hashing"

    def dispatch(self):
        return Hashing()


@dataclass(frozen=True)
class DSPTFCopies(CopiesScheme):
    """Replicated bricks; D-SPTF selects the replica (dsptf, section 3). There is no network latency.

    Parameters
    ----------
    bricks, copies : int
        Number of bricks with one disk each, and number of copies of each block.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    @cached_property
    def shape(self):
        # a brick shares data with `copies` - 1 neighbours on each side
        pool = min(self.bricks, 2 * self.copies - 1)
        return Shape(heads=self.copies, written=self.copies, room=float(self.copies), pool=pool)

    @property
    def caveat(self):
        return "bricks share data only with their neighbours; the formulas are wrong by up to 40% if bricks are busy"

    def __str__(self):
        return f"{self.copies} copies, D-SPTF"

    def dispatch(self):
        return central()


class SimulatedOnly(Scheme):
    """A scheme without a formula, which has to be simulated.

    The shape of the scheme determines its capacity. `accesses` contains the number of disks that a read occupies, and
    the number of disks that a write occupies. A request has `cuts` equal parts, and each of its disks serves one part.
    """

    @property
    @abstractmethod
    def accesses(self) -> tuple[int, int]: ...

    @property
    @abstractmethod
    def cuts(self) -> int: ...

    @property
    def caveat(self):
        return "the predicted value was also simulated, in other runs"


@dataclass(frozen=True)
class Dispatched(SimulatedOnly, Hashed):
    """Replicated bricks with any dispatcher, which selects the replica. title: name of the dispatcher."""

    title: str
    dispatcher: AbstractDispatch

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
    """RAID 0 whose stripe unit is a part of the largest request. Several disks serve one request together (swift)."""

    count: int
    ways: int

    @property
    def disks(self):
        return self.count

    @cached_property
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

    def degraded(self, reads, read, write, first):
        return np.nan

    def __str__(self):
        return f"RAID 0, requests split over {self.ways} disks"

    def placement(self, drive, data, unit):
        return Striped(self.count, unit // self.ways)

    def dispatch(self):
        return Broadcast()
