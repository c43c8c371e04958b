"""Families of schemes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from storagekit.analytic.array.aspect import layouts
from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.core.kinds import COUNT, Kind, hold
from storagekit.plan.scheme_ranking.scheme import DSPTFCopies, Hashed, Mirrored, Parity, Scheme

# copies of all data on different disks
COPIES = Kind(least=2, most=COUNT.most, whole=True)


class Family(ABC):
    """A family of schemes."""

    @abstractmethod
    def of(self, disks: int) -> list[Scheme]:
        """Return all schemes of a number of disks."""


@dataclass(frozen=True)
class SRArrays(Family):
    """RAID 0, 1 and 10, and SR-Arrays of up to `replicas` rotational replicas and `mirrors` mirrors."""

    replicas: int = MOST_REPLICAS
    mirrors: int = 4

    def __post_init__(self):
        hold(self, replicas=COUNT, mirrors=COUNT.up_to(1000))

    def of(self, disks):
        every = layouts(disks, self.replicas)
        every = every.where(every.mirrors <= self.mirrors)
        return [Mirrored(every.at(number)) for number in range(every.count)]


@dataclass(frozen=True)
class ParityRAID(Family):
    """RAID 5 and 6 and codes of m + p: up to `parities` disks of parity, in equal groups of up to `group` disks."""

    parities: int = 3
    group: int = 24

    def __post_init__(self):
        hold(self, parities=COUNT, group=Kind(least=3, most=COUNT.most, whole=True))

    def of(self, disks):
        return [
            Parity(group, parities, disks // group)
            for parities in range(1, self.parities + 1)
            for group in range(parities + 2, min(self.group, disks) + 1)
            if disks % group == 0
        ]


@dataclass(frozen=True)
class ReplicatedBricks(Family):
    """Bricks of one disk with up to `copies` copies of all data, read under hashing or D-SPTF."""

    copies: int = 3

    def __post_init__(self):
        hold(self, copies=COPIES)

    def of(self, disks):
        return [
            kind(disks, copies)
            for copies in range(2, self.copies + 1)
            for kind in (Hashed, DSPTFCopies)
            if disks >= copies and disks % copies == 0
        ]


ARRAYS: tuple[Family, ...] = (SRArrays(), ParityRAID())
