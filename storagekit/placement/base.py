"""What a placement promises: which drives hold a block, and where on them its replicas lie.

A block has `copies`, each on a drive of its own: copy k on drive home + k, unless the layout says otherwise (`copy_on`,
`drive_of`). On each of these drives it has `replicas`, at even angles on different tracks of one cylinder, so that one of
them is never far from the head.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.arrays import AnyArray
from storagekit.drive import AbstractLayout, AbstractMechanics, Arm, Positioning, Target
from storagekit.lanes import mask_of
from storagekit.workload import Requests

# bits of a word: copies of a block, and copies times replicas
MOST_COPIES = 32


class Location(NamedTuple):
    """Where requests lie: replica 0 of copy 0, and the drive that holds copy 0."""

    target: Target
    home: Int[AnyArray, "*#row"]


class AbstractPlacement(eqx.Module):
    """Where the copies of a block are."""

    @property
    @abstractmethod
    def drives(self) -> Int[AnyArray, "..."]:
        """How many drives the layout uses."""

    @property
    @abstractmethod
    def copies(self) -> Int[AnyArray, "..."]:
        """How many of them hold a block."""

    @property
    @abstractmethod
    def replicas(self) -> Int[AnyArray, "..."]:
        """How often each of these holds it."""

    @property
    @abstractmethod
    def most_replicas(self) -> int:
        """The most replicas that any setting of the layout has, which the engine provides for."""

    def copy_on(self, drive: Int[AnyArray, "*#row"], home: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """The number of the copy that a drive holds of a block; outside 0 to copies-1 where it holds none."""
        return drive - home

    def drive_of(self, copy: Int[AnyArray, "*#row"], home: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """The drive that holds a copy."""
        return home + copy

    @abstractmethod
    def capacity(self, drive: AbstractLayout) -> int | Num[AnyArray, "..."]:
        """Sectors that the layout offers on drives of this kind."""

    @abstractmethod
    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        """Where each request lies. All of it lies on the drives that hold its first sector."""

    @abstractmethod
    def replica(
        self, drive: AbstractLayout, target: Target, copy: Int[AnyArray, "*#row"], index: int | Int[AnyArray, "*#row"]
    ) -> Target:
        """Where replica `index` of a copy lies, from replica 0 of copy 0."""

    @abstractmethod
    def sweep(self, mechanics: AbstractMechanics) -> Float[AnyArray, "..."]:
        """Seconds from writing the first replica to writing the last, all of one drive in one go."""


def of_copy(
    replicas: UInt32[AnyArray, "*#row"], copy: Int[AnyArray, "*#row"], placement: AbstractPlacement
) -> UInt32[Array, "*#row"]:
    """Of replicas numbered copy * D_r + replica, one bit each, those of one copy, from bit 0; none where there is no such
    copy."""
    first = jnp.asarray(copy * placement.replicas).astype(jnp.uint32)
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
    copy: Int[AnyArray, "*#row"],
    usable: UInt32[AnyArray, "*#row"] | None,
) -> Reach:
    """The replica of `copy` that the head reaches first (srarray, section 2.4).

    mechanics: of the brick whose head it is. usable: the replicas to choose from, one bit each, at least one; None for all.
    """
    best: Reach | None = None
    for index in range(placement.most_replicas):
        place = placement.replica(drive, target, copy, index)
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
