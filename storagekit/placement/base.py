"""The interface of placements: the parts of a request, the drives that hold them, and the locations of their replicas.

The parts of a request are copies of a block, stripe units, or fragments of a code. Each part of a request is on a
different drive. There, the part has one or more replicas (`replicas`) on different tracks of one cylinder. The replicas
are at evenly spaced angles, so that one of them is always near the head.
"""

import math
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import WORD, mask_of, real, whole
from storagekit.core.system_facts import SystemPart
from storagekit.core.validation import MOST_COUNTED, SECTORS, require, traced
from storagekit.drive import AbstractDrive, AbstractLayout, AbstractMechanics, Arm, Positioning, Target
from storagekit.placement.grouping import Grouping
from storagekit.workload import Requests

# Maximum number of parts of a request, and of parts times replicas, because a mask has one bit for each of them.
MOST_PARTS = WORD
# Converts the sectors of a stripe unit.
stripe_unit = partial(replace(SECTORS, unit="sectors"), "a stripe unit of")


class Location(NamedTuple):
    """The location of requests in a layout that stores all parts of a request at the same address on their drives.

    Parameters
    ----------
    target : Target
        Location of replica 0 of part 0. For drives of several kinds, it is a structure with one location for each kind.
    home : array of int, shape `[*row]`
        The drive that holds part 0.
    """

    target: Any
    home: Int[AnyArray, "*#row"]


class PlacedParts(eqx.Module):
    """The drives and locations of the parts of a request; by default part k is on drive `Location.home` + k.

    The argument `location` is the pytree that `locate` returns. A layout whose `locate` does not return a `Location`
    overrides the methods that read `location`.
    """

    def parts_of(self, location: Any) -> UInt32[Array, "*row"]:
        """Return, for each request, the mask of its parts."""
        return jnp.broadcast_to(mask_of(self.parts), location.home.shape)

    def needed_of(self, location: Any) -> Int[Array, "*row"]:
        """Return the number of parts that a read of each request needs."""
        return jnp.zeros_like(location.home) + self.needed

    def part_on(self, drive: Int[AnyArray, "*#row"], location: Any) -> Int[AnyArray, "*#row"]:
        """Return the part of each request that a drive holds.

        If the drive holds no part of a request, the result is a number outside `parts_of`.
        """
        return drive - location.home

    def drive_of(self, part: Int[AnyArray, "*#row"], location: Any) -> Int[AnyArray, "*#row"]:
        """Return the drive that holds a part."""
        return location.home + part

    def target_on(self, part: Int[AnyArray, "*#row"], location: Any) -> Any:
        """Return the location of replica 0 of a part, in the form that the drive uses."""
        return location.target

    def sectors_of(
        self, part: Int[AnyArray, "*#row"], location: Any, sectors: Int[AnyArray, "*#row"]
    ) -> Int[AnyArray, "*#row"]:
        """Return the length of a part of a request of `sectors` sectors; by default the length of the request."""
        return sectors


class SeveralParts(eqx.Module):
    """The number of parts that a read needs: several for codes and stripes; by default one, as parts are copies."""

    @property
    def most_parts(self) -> int | None:
        """Return the maximum number of parts of a request with any setting of the layout.

        It is None if only the number of drives limits it.
        """
        return 1 if self.single else None

    @property
    def needed(self) -> Int[AnyArray, "..."]:
        """Return the maximum number of parts that a read needs; by default 1, because parts are copies."""
        return whole(1)

    @property
    def is_replicated(self) -> bool:
        """Return whether the parts of a request are copies of the same data."""
        return not self.needs_several

    @property
    def needs_several(self) -> bool:
        """Return whether a read may need more than one part with some setting of the layout.

        The engine then counts the parts.
        """
        return False

    @property
    def single(self) -> bool:
        """Return whether every request has one part, with any setting of the layout."""
        return False

    @property
    def spare(self) -> Int[AnyArray, "..."]:
        """Return the number of drives that may fail without loss of data."""
        return self.parts - self.needed

    @property
    def most_spare(self) -> int:
        """Return the maximum number of parts of a request that a read does not need."""
        return int(np.max(self.parts)) - int(np.max(self.needed))


class LinkedParts(eqx.Module):
    """Parts that are written together, for layouts with parity."""

    @property
    def reads_before_writes(self) -> bool:
        """Return whether a write may have to read parts before it writes, to calculate parity."""
        return False

    def parts_read_first(self, location: Any) -> UInt32[Array, "*row"]:
        """Return, for each request, the mask of the parts that are read before any part is written; by default 0."""
        return jnp.zeros_like(location.home, jnp.uint32)

    def companions(self, parts: UInt32[Array, "*row"], location: Any) -> UInt32[Array, "*row"]:
        """Return the further parts, such as parity, that must be written together with `parts`; by default no parts."""
        return jnp.zeros_like(parts)

    def sibling(self, part: Int[AnyArray, "*#row"], location: Any) -> Int[AnyArray, "*#row"]:
        """Return the parity part of a data part, or the data part of a parity part, on the same brick.

        The result is -1 if there is no such part.
        """
        return jnp.full_like(part, -1)


class RotationalReplicas(eqx.Module):
    """Replicas of a part on its drive, for layouts such as the SR-Array; by default one replica."""

    @property
    def replicas(self) -> Int[AnyArray, "..."]:
        """Return the number of replicas of a part on its drive."""
        return whole(1)

    @property
    def most_replicas(self) -> int:
        """Return the maximum number of replicas with any setting of the layout, for the arrays of the engine."""
        return 1

    def replica(
        self, drive: AbstractLayout, target: Target, part: Int[AnyArray, "*#row"], index: int | Int[AnyArray, "*#row"]
    ) -> Target:
        """Return the location of replica `index` of a part.

        Parameters
        ----------
        drive : AbstractLayout
            Properties common to all drives.
        target : Target
            Location of replica 0 of the part.
        part : int array, `[*row]`
            Number of the part.
        index : int
            Number of the replica, one value or an array `[*row]`.

        Returns
        -------
        Target
            The location of the replica.
        """
        return target

    def sweep(self, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]) -> Float[AnyArray, "..."]:
        """Return the seconds that a write of a part on `drive` takes in addition to its transfer.

        The time passes between the first and the last replica, or between reading the part and writing it.
        """
        return mechanics.seconds(real(0))


class GroupedDrives(eqx.Module):
    """Drives that form bricks: the drives of a brick share a network address and stop together.

    By default each drive is a brick.
    """

    @property
    def drives_a_brick(self) -> int:
        """Return the number of drives of a brick; drives are numbered one brick after the other."""
        return 1

    @property
    def brick_sizes(self) -> tuple[int, ...] | None:
        """Return the number of drives of each brick if these numbers differ; None if all bricks have equal numbers."""
        return None

    def brick_of(self, drive: Int[AnyArray, "*row"]) -> Int[AnyArray, "*row"]:
        """Return the number of the brick that contains a drive."""
        return Grouping(self.brick_sizes or (self.drives_a_brick,)).of(drive)


class AbstractPlacement(PlacedParts, SeveralParts, LinkedParts, RotationalReplicas, GroupedDrives, SystemPart):
    """Base class of placements.

    A placement implements four methods: `drives`, `parts`, `capacity` and `locate`. The other methods have defaults. They
    are inherited from further base classes, one for each kind of layout.

    The location of a request is a pytree that `locate` returns and the other methods read. By default it is a
    `Location`, and part k is on drive `Location.home` + k.
    """

    @property
    @abstractmethod
    def drives(self) -> Int[AnyArray, "..."]:
        """Return the number of drives that the layout uses."""

    @property
    @abstractmethod
    def parts(self) -> Int[AnyArray, "..."]:
        """Return the maximum number of parts of a request."""

    @abstractmethod
    def capacity(self, drive: AbstractLayout) -> int | Num[AnyArray, "..."]:
        """Return the number of data sectors of the layout on drives such as `drive`."""

    @abstractmethod
    def locate(self, drive: AbstractLayout, requests: Requests) -> Any:
        """Return the location of each request."""

    def address_limit(self, drive: AbstractLayout) -> int:
        """Return a number above every address of the layout: the addresses of its data, and the addresses on its drives.

        It is known before compilation. If the limit is 2^31 or more, the engine uses addresses of 64 bits.
        """
        return max(drive.largest, int(np.max(self.capacity(drive))))

    @property
    def longest(self) -> int | None:
        """Return the largest length of a request in sectors; None if only the capacity limits the length."""
        return None

    def for_drive(self, drive: AbstractDrive) -> "AbstractPlacement":
        """Return the layout with the properties of the drives that it needs; by default the layout itself.

        Raises
        ------
        InputError
            If the layout does not fit the drives.
        """
        return self

    def tabulated(self, drive: AbstractDrive) -> "AbstractPlacement":
        """Return the same layout in the form that the engine runs; by default the layout itself.

        Tables that are computed before a run are inputs of the compiled program. Layouts that differ only in numbers
        therefore share a program.
        """
        return self


def require_drives(*counts: int | Int[AnyArray, "..."]) -> None:
    """Raise InputError if the product of the counts is more than the maximum number of drives.

    Parameters
    ----------
    *counts : int
        Factors of the number of drives.
    """
    if not traced(*counts):
        drives = math.prod(np.asarray(count, float) for count in counts)
        require(drives <= MOST_COUNTED, "a layout of", drives, f"at most {MOST_COUNTED}", "drives")


def of_part(
    replicas: UInt32[AnyArray, "*#row"], part: Int[AnyArray, "*#row"], placement: AbstractPlacement
) -> UInt32[Array, "*#row"]:
    """Return the mask of the replicas of one part, from bit 0; 0 if the part does not exist.

    Parameters
    ----------
    replicas : uint32 array, `[*row]`
        Mask of the replicas of all parts, bit part * D_r + replica.
    part : int array, `[*row]`
        Number of the part.
    placement : AbstractPlacement
        The layout, which defines D_r, the number of replicas of a part.

    Returns
    -------
    uint32 array, `[*row]`
        The mask.
    """
    first = jnp.asarray(part * placement.replicas).astype(jnp.uint32)
    return jnp.right_shift(replicas, first) & mask_of(placement.replicas)


class NearestReplica(NamedTuple):
    """The nearest replica of a part.

    Parameters
    ----------
    positioning : Positioning
        The positioning time of this replica, seconds.
    replica : array of int, shape `[*row]`
        The number of this replica.
    """

    positioning: Positioning
    replica: Int[AnyArray, "*#row"]


def nearest_replica(
    placement: AbstractPlacement,
    drive: AbstractLayout,
    mechanics: AbstractMechanics,
    arm: Arm,
    angle: Float[AnyArray, "*#row"],
    target: Target,
    read: Bool[Array, "*#row"],
    part: Int[AnyArray, "*#row"],
    usable: UInt32[AnyArray, "*#row"] | None,
) -> NearestReplica:
    """Return the replica of `part` that the head reaches first (srarray, section 2.4).

    Parameters
    ----------
    placement : AbstractPlacement
        The layout.
    drive : AbstractLayout
        Properties common to all drives.
    mechanics : AbstractMechanics
        Mechanics of the drive at present.
    arm : Arm
        Position of the drive's arm.
    angle : float array, `[*row]`
        Angle of the drive's platter when the access can start, turns.
    target : Target
        Location of replica 0 of each request.
    read : bool array, `[*row]`
        Whether each request is a read.
    part : int array, `[*row]`
        Part of each request that the drive holds.
    usable : uint32 array, `[*row]`, or None
        Mask of the replicas that may be accessed, at least one; None if all replicas may be accessed.

    Returns
    -------
    NearestReplica
        The positioning time of the nearest replica, and the number of this replica.
    """
    best: NearestReplica | None = None
    for index in range(placement.most_replicas):
        location = placement.replica(drive, target, part, index)
        positioning = mechanics.positioning(arm, angle, location, read)
        if usable is None and placement.most_replicas == 1:
            return NearestReplica(positioning, jnp.zeros_like(positioning.seek, jnp.int32))
        there = jnp.asarray(index < placement.replicas)
        if usable is not None:
            there = there & ((jnp.right_shift(usable, jnp.uint32(index)) & 1) == 1)
        seek = jnp.where(there, positioning.seek, jnp.inf)
        found = NearestReplica(Positioning(seek, positioning.rotation), jnp.full(seek.shape, index, jnp.int32))
        best = found if best is None else _nearer(best, found)
    assert best is not None
    return best


def _nearer(one: NearestReplica, other: NearestReplica) -> NearestReplica:
    closer = other.positioning.total < one.positioning.total
    return NearestReplica(
        Positioning(
            jnp.where(closer, other.positioning.seek, one.positioning.seek),
            jnp.where(closer, other.positioning.rotation, one.positioning.rotation),
        ),
        jnp.where(closer, other.replica, one.replica),
    )
