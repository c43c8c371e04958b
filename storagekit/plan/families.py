"""Families of schemes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated

from storagekit.analytic.array.aspect import layouts
from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, Count, Validator, instance_of, several, shown, text, validate_fields
from storagekit.dispatch import ARS, AbstractDispatch, ShortestQueue
from storagekit.dispatch.ars import OF_WRITES
from storagekit.drive import SSD, Drive
from storagekit.placement.base import MOST_PARTS
from storagekit.plan.scheme import (
    Dispatched,
    DSPTFCopies,
    Hashed,
    Mirrored,
    Parity,
    Scheme,
    SplitRequests,
    SpreadParity,
)

# validator of the number of copies of all data, on different disks
COPIES = Validator(least=2, most=COUNT.most, whole=True)


class Family(ABC):
    """A family of schemes."""

    @abstractmethod
    def of(self, disks: int) -> list[Scheme]:
        """Return all schemes of the family with exactly `disks` disks."""


@dataclass(frozen=True)
class SRArrays(Family):
    """RAID 0, 1 and 10, and SR-Arrays.

    Parameters
    ----------
    replicas, mirrors : int
        Maximum number of rotational replicas, by default 6, and maximum number of mirrors, by default 4.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    replicas: Count = MOST_REPLICAS
    mirrors: Annotated[int, COUNT.up_to(1000)] = 4

    def __post_init__(self):
        validate_fields(self)

    def of(self, disks):
        every = layouts(disks, self.replicas)
        every = every.where(every.mirrors <= self.mirrors)
        return [Mirrored(every.at(number)) for number in range(every.count)]


@dataclass(frozen=True)
class ParityRAID(Family):
    """RAID 5, RAID 6 and codes of m + p, in parity groups of equal size.

    Parameters
    ----------
    parities, group : int
        Maximum number of parity disks in a group, by default 3, and maximum number of disks in a group, by default 24.
    full_stripes : bool
        Whether to include schemes that divide a request over the data disks of a group, for requests with at least 64 KB
        for each of these disks; true by default.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    parities: Count = 3
    group: Annotated[int, Validator(least=3, most=COUNT.most, whole=True)] = 24
    full_stripes: bool = True

    def __post_init__(self):
        validate_fields(self)

    def of(self, disks):
        return list(_groups(self, disks))


# each question tries 24 numbers of disks, and the next question tries most of them again
@lru_cache(maxsize=1024)
def _groups(family: ParityRAID, disks: int) -> tuple[Parity, ...]:
    """Return the schemes of a family with equal parity groups."""
    return tuple(
        Parity(group, parities, disks // group, full)
        for full in ((False, True) if family.full_stripes else (False,))
        for parities in range(1, family.parities + 1)
        for group in range(parities + 2, min(family.group, MOST_PARTS if full else family.group, disks) + 1)
        if disks % group == 0
    )


@dataclass(frozen=True)
class Code(Family):
    """One code of m + p on as many groups as the disks allow. The other disks are spares.

    Parameters
    ----------
    data, parities : int
        Number of disks with data, and number of parity disks, in a group.
    declustered : bool
        Whether the groups consist of other disks in each slice of the disks (`placement.DeclusteredParity`). All disks
        then serve requests, have a part of the spare space, and share the work of a lost disk. By default false.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> Code(8, 3).of(24)
    [Parity(group=11, parities=3, groups=2, full_stripes=False), Parity(group=11, parities=3, groups=2, full_stripes=True)]
    """

    data: Count
    parities: Count
    declustered: bool = False

    def __post_init__(self):
        validate_fields(self)
        # the number of disks of a group is limited too
        Parity(self.data + self.parities, self.parities)

    def of(self, disks):
        group = self.data + self.parities
        if disks < group:
            return []
        of = self.parities, disks // group
        return [
            SpreadParity(group, *of, full, disks) if self.declustered else Parity(group, *of, full)
            for full in ((False, True) if group <= MOST_PARTS else (False,))
        ]


@dataclass(frozen=True)
class ReplicatedBricks(Family):
    """Bricks of one disk each with copies of all data. Hashing or D-SPTF selects the replica for a read.

    Parameters
    ----------
    copies : int
        Maximum number of copies, at least 2; by default 3.

    Raises
    ------
    InputError
        If the number is out of range.
    """

    copies: Annotated[int, COPIES] = 3

    def __post_init__(self):
        validate_fields(self)

    def of(self, disks):
        return [
            kind(disks, copies)
            for copies in range(2, self.copies + 1)
            for kind in (Hashed, DSPTFCopies)
            if disks >= copies and disks % copies == 0
        ]


def _dispatchers() -> tuple[tuple[str, AbstractDispatch], ...]:
    return ("ARS", ARS()), ("shortest queue", ShortestQueue(2))


def _titled(label: str, value: object) -> tuple[str, AbstractDispatch]:
    """Return the name of a dispatcher and the dispatcher. Raises InputError if the value is not such a pair."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(f"{label} {shown(value)}: give a name and a dispatcher, as in ('ARS', sk.dispatch.ARS())")
    title = text("name of a dispatcher", value[0])
    return title, instance_of(AbstractDispatch, "one as sk.dispatch.ARS()")(f"dispatcher {title!r}", value[1])


@dataclass(frozen=True)
class Protocols(Family):
    """Bricks of one disk each with copies of all data, for each of several named dispatchers.

    The family has no scheme with more than 31 disks, which is the maximum of ARS.

    Parameters
    ----------
    copies : int
        Maximum number of copies, at least 2; by default 2.
    dispatchers : sequence of (str, AbstractDispatch)
        Pairs of a name and a dispatcher; by default ARS, and the shorter of two queues.

    Raises
    ------
    InputError
        If a value is impossible.
    """

    copies: Annotated[int, COPIES] = 2
    dispatchers: Annotated[tuple[tuple[str, AbstractDispatch], ...], several(_titled, of="named dispatchers")] = field(
        default_factory=_dispatchers
    )

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
    """RAID 0 that splits requests over several disks, on arrays of up to 32 disks.

    Parameters
    ----------
    ways : sequence of int
        Numbers of disks over which a request is split, some of 2, 4 and 8; by default all three.

    Raises
    ------
    InputError
        If a number is impossible.
    """

    ways: Annotated[tuple[int, ...], several(Validator(least=2, most=8, whole=True), of="ways")] = (2, 4, 8)

    def __post_init__(self):
        validate_fields(self)
        for one in self.ways:
            # the stripe units of a request divide a page of 8 sectors into equal parts
            if 8 % one:
                raise InputError(f"ways {one}: a request is split in 2, 4 or 8 parts; give one of these numbers")

    def of(self, disks):
        return [SplitRequests(disks, one) for one in self.ways if one <= disks <= MOST_PARTS]


def on_ssds(families: Sequence[Family]) -> list[Family]:
    """Return the families that SSDs allow, without rotational replicas."""
    found = [replace(one, replicas=1) if isinstance(one, SRArrays) else one for one in families]
    return [one for one in found if isinstance(one, SRArrays | ParityRAID | Code)]


def default_families(drive: Drive | SSD, tolerate: int = 0, full_stripes: bool = True) -> tuple[Family, ...]:
    """Return the families that are ranked by default: RAID levels, codes, and SR-Arrays on drives that allow them.

    full_stripes: whether parity groups that divide each request over a full stripe are included.
    """
    # a drive with physical sectors of 4 KB hides the angle at which it stores a block, and an SSD has none
    replicas = 1 if isinstance(drive, SSD) or drive.grain > 1 else MOST_REPLICAS
    return SRArrays(replicas, max(4, tolerate + 1)), ParityRAID(max(3, tolerate), full_stripes=full_stripes)
