"""What a placement promises: which parts a request has, which drives hold them, and where on them their replicas lie.

The parts of a request are copies of a block, stripe units, or fragments of a code, each on a drive of its own; a drive holds
one of them at most. On its drive a part has `replicas`, at even angles on different tracks of one cylinder, so that one
of them is never far from the head.
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

from storagekit.arrays import AnyArray
from storagekit.checks import require, traced
from storagekit.drive import AbstractDrive, AbstractLayout, AbstractMechanics, Arm, Positioning, Target
from storagekit.kinds import MOST_COUNTED, SECTORS
from storagekit.lanes import mask_of, whole
from storagekit.placement.grouping import Grouping
from storagekit.workload import Requests

# bits of a word: parts of a request, and parts times replicas
MOST_PARTS = 32
# what a field for the sectors of a stripe unit takes
stripe_unit = partial(replace(SECTORS, unit="sectors"), "a stripe unit of")


class Location(NamedTuple):
    """Where requests lie in a layout that has a part at the same address on each of its drives: replica 0 of part 0, and the
    drive that holds part 0."""

    target: Any
    home: Int[AnyArray, "*#row"]


class AbstractPlacement(eqx.Module):
    """Where the parts of requests are.

    A request's place is a pytree of the layout's own, which `locate` makes and the other methods read; by default a
    `Location`, part k being on drive home + k.
    """

    @property
    @abstractmethod
    def drives(self) -> Int[AnyArray, "..."]:
        """How many drives the layout uses."""

    @property
    def drives_a_brick(self) -> int:
        """Drives of a brick, which are numbered one brick after the other."""
        return 1

    @property
    def brick_sizes(self) -> tuple[int, ...] | None:
        """Drives of each brick where these differ; None where all have as many."""
        return None

    def brick_of(self, drive: Int[AnyArray, "*row"]) -> Int[AnyArray, "*row"]:
        """The number of the brick that a drive is in."""
        return Grouping(self.brick_sizes or (self.drives_a_brick,)).of(drive)

    @property
    def longest(self) -> int | None:
        """The most sectors of a request that it has a place for; None where only its capacity bounds them."""
        return None

    @property
    @abstractmethod
    def parts(self) -> Int[AnyArray, "..."]:
        """How many parts a request has, at most."""

    @property
    def most_parts(self) -> int | None:
        """The most parts of a request with any setting of the layout; None where only the number of drives bounds it."""
        return 1 if self.single else None

    @property
    def needed(self) -> Int[AnyArray, "..."]:
        """How many of them a read needs, at most: one of several copies."""
        return whole(1)

    @property
    def alike(self) -> bool:
        """Whether the parts of a request are copies, any of which may stand for any other."""
        return not self.needs_several

    @property
    def needs_several(self) -> bool:
        """Whether a read may need more than one, whatever the layout's numbers are, so that the engine has to count."""
        return False

    @property
    def single(self) -> bool:
        """Whether a request has one part, whatever the layout's numbers are."""
        return False

    @property
    def spare(self) -> Int[AnyArray, "..."]:
        """How many drives may be out of reach with all data still within it."""
        return self.parts - self.needed

    @property
    def most_spare(self) -> int:
        """How many more parts than it needs a request may have."""
        return int(np.max(self.parts)) - int(np.max(self.needed))

    @property
    @abstractmethod
    def replicas(self) -> Int[AnyArray, "..."]:
        """How often the drive of a part holds it."""

    @property
    @abstractmethod
    def most_replicas(self) -> int:
        """The most replicas that any setting of the layout has, which the engine provides for."""

    def parts_of(self, place: Any) -> UInt32[Array, "*row"]:
        """The parts that requests have, one bit each."""
        return jnp.broadcast_to(mask_of(self.parts), place.home.shape)

    def needed_of(self, place: Any) -> Int[Array, "*row"]:
        """How many of its parts a read of each request needs."""
        return jnp.zeros_like(place.home) + self.needed

    def part_on(self, drive: Int[AnyArray, "*#row"], place: Any) -> Int[AnyArray, "*#row"]:
        """The number of the part that a drive holds of each request; none that `parts_of` has where it holds none."""
        return drive - place.home

    def drive_of(self, part: Int[AnyArray, "*#row"], place: Any) -> Int[AnyArray, "*#row"]:
        """The drive that holds a part."""
        return place.home + part

    def target_on(self, part: Int[AnyArray, "*#row"], place: Any) -> Any:
        """Where replica 0 of a part lies, as the drive locates it."""
        return place.target

    def sectors_of(
        self, part: Int[AnyArray, "*#row"], place: Any, sectors: Int[AnyArray, "*#row"]
    ) -> Int[AnyArray, "*#row"]:
        """How many sectors a part of a request of so many `sectors` has: all, unless the layout cuts it up."""
        return sectors

    def on(self, drive: AbstractDrive) -> "AbstractPlacement":
        """The layout on these drives, with what it has to know of them before anything is compiled; by default itself. Raises
        InputError where it does not fit them."""
        return self

    def tabulated(self, drive: AbstractDrive) -> "AbstractPlacement":
        """Return the same layout in the form that the engine runs: tables that are computed before a run are data of the
        compiled program, so that layouts which differ only in numbers share a program. By default the layout itself."""
        return self

    @abstractmethod
    def capacity(self, drive: AbstractLayout) -> int | Num[AnyArray, "..."]:
        """Sectors that the layout offers on drives of this kind."""

    @abstractmethod
    def locate(self, drive: AbstractLayout, requests: Requests) -> Any:
        """Where each request lies."""

    @abstractmethod
    def replica(
        self, drive: AbstractLayout, target: Target, part: Int[AnyArray, "*#row"], index: int | Int[AnyArray, "*#row"]
    ) -> Target:
        """Where replica `index` of a part lies, from its replica 0."""

    def companions(self, parts: UInt32[Array, "*row"], place: Any) -> UInt32[Array, "*row"]:
        """The parts that have to be written whenever these are, such as parity; by default none."""
        return jnp.zeros_like(parts)

    def sibling(self, part: Int[AnyArray, "*#row"], place: Any) -> Int[AnyArray, "*#row"]:
        """The part that goes with this one on its brick, as parity with data and data with parity; -1 where there is none."""
        return jnp.full_like(part, -1)

    @abstractmethod
    def sweep(self, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]) -> Float[AnyArray, "..."]:
        """Seconds that writing a part on `drive` takes beyond its transfer: from the first of its replicas to the last in one
        go, or from reading it to writing it."""


def require_drives(*counts: int | Int[AnyArray, "..."]) -> None:
    """Raises InputError where a layout of these counts multiplied has more drives than are counted one by one."""
    if not traced(*counts):
        drives = math.prod(np.asarray(count, float) for count in counts)
        require(drives <= MOST_COUNTED, "a layout of", drives, f"at most {MOST_COUNTED}", "drives")


def of_part(
    replicas: UInt32[AnyArray, "*#row"], part: Int[AnyArray, "*#row"], placement: AbstractPlacement
) -> UInt32[Array, "*#row"]:
    """Of replicas numbered part * D_r + replica, one bit each, those of one part, from bit 0; none where there is no such
    part."""
    first = jnp.asarray(part * placement.replicas).astype(jnp.uint32)
    return jnp.right_shift(replicas, first) & mask_of(placement.replicas)


class Reach(NamedTuple):
    """How soon the nearest replica is under the head, and which it is."""

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
) -> Reach:
    """The replica of `part` that the head reaches first (srarray, section 2.4).

    mechanics: of the brick whose head it is. usable: the replicas to choose from, one bit each, at least one; None for all.
    """
    best: Reach | None = None
    for index in range(placement.most_replicas):
        place = placement.replica(drive, target, part, index)
        positioning = mechanics.positioning(arm, angle, place, read)
        if usable is None and placement.most_replicas == 1:
            return Reach(positioning, jnp.zeros_like(positioning.seek, jnp.int32))
        there = jnp.asarray(index < placement.replicas)
        if usable is not None:
            there = there & ((jnp.right_shift(usable, jnp.uint32(index)) & 1) == 1)
        seek = jnp.where(there, positioning.seek, jnp.inf)
        found = Reach(Positioning(seek, positioning.rotation), jnp.full(seek.shape, index, jnp.int32))
        best = found if best is None else _nearer(best, found)
    assert best is not None
    return best


def _nearer(one: Reach, other: Reach) -> Reach:
    closer = other.positioning.total < one.positioning.total
    return Reach(
        Positioning(
            jnp.where(closer, other.positioning.seek, one.positioning.seek),
            jnp.where(closer, other.positioning.rotation, one.positioning.rotation),
        ),
        jnp.where(closer, other.replica, one.replica),
    )
