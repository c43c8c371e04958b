"""Families of schemes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from storagekit.analytic.array.aspect import layouts
from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.core.validation import COUNT, Count, Validator, validate_fields
from storagekit.plan.scheme_ranking.scheme import DSPTFCopies, Hashed, Mirrored, Parity, Scheme

# validator of the number of copies of all data, on different disks
COPIES = Validator(least=2, most=COUNT.most, whole=True)


class Family(ABC):
    """A family of schemes."""

    @abstractmethod
    def of(self, disks: int) -> list[Scheme]:
        """Return all schemes of `disks` disks."""


@dataclass(frozen=True)
class SRArrays(Family):
    """RAID 0, 1 and 10, and SR-Arrays of up to `replicas` rotational replicas and `mirrors` mirrors."""

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
    """RAID 5, RAID 6 and codes of m + p, in equal groups of up to `group` disks with up to `parities` parity disks each."""

    parities: Count = 3
    group: Annotated[int, Validator(least=3, most=COUNT.most, whole=True)] = 24

    def __post_init__(self):
        validate_fields(self)

    def of(self, disks):
        return [
            Parity(group, parities, disks // group)
            for parities in range(1, self.parities + 1)
            for group in range(parities + 2, min(self.group, disks) + 1)
            if disks % group == 0
        ]


@dataclass(frozen=True)
class ReplicatedBricks(Family):
    """Bricks of one disk each with 2 to `copies` copies of all data. Hashing or D-SPTF selects the replica for a read."""

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


ARRAYS: tuple[Family, ...] = (SRArrays(), ParityRAID())
