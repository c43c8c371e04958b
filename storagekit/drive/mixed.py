"""Drives of several kinds in one system."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Num

from storagekit.arrays import AnyArray
from storagekit.checks import require
from storagekit.drive.base import AbstractDrive, AbstractMechanics, Arm, Positioning, Target
from storagekit.errors import InputError
from storagekit.lanes import whole


class Places(NamedTuple):
    """Where requests lie on a drive of each kind."""

    of_kind: tuple[Any, ...]


class Mixed(AbstractDrive):
    """Brick b has a drive of kind `members[kinds[b]]`; the smallest of them bounds the capacity of all.

    A request is located on a drive of each kind: which of these places counts, the brick decides that it is sent to.
    """

    members: tuple[AbstractDrive, ...]
    kinds: tuple[Int[AnyArray, "..."], ...]

    def __init__(self, members: Iterable[AbstractDrive], kinds: Iterable[Int[ArrayLike, "..."]]):
        self.members = tuple(members)
        self.kinds = tuple(whole(kind) for kind in kinds)

    def __check_init__(self):
        if not self.members:
            raise InputError("no kinds of drives: give at least one")
        for kind in self.kinds:
            known = (np.asarray(kind) >= 0) & (np.asarray(kind) < len(self.members))
            require(known, "a brick with a drive of kind", kind, f"from 0 to {len(self.members) - 1}")

    @property
    def capacity(self) -> int:
        return min(member.capacity for member in self.members)

    @property
    def cylinders(self) -> int:
        return max(member.cylinders for member in self.members)

    @property
    def heads(self) -> int:
        return min(member.heads for member in self.members)

    def check(self, bricks: int) -> None:
        for member in self.members:
            member.check(bricks)
        if len(self.kinds) < bricks:
            raise InputError(f"{len(self.kinds)} kinds of drives for {bricks} bricks: give the kind of each")

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Places:
        return Places(tuple(member.locate(sector, count) for member in self.members))

    def mechanics_of(self, which: Int[AnyArray, "*#row"]) -> "OfKind":
        return OfKind(tuple(member.mechanics_of(which) for member in self.members), self._kind(which))

    def seen(self, target: Places, which: Int[AnyArray, "*#row"]) -> Target:
        pairs = zip(self.members, target.of_kind, strict=True)
        kind, found = self._kind(which), [member.seen(there, which) for member, there in pairs]
        return jax.tree.map(lambda *parts: _of_kind(kind, parts), *found)

    def _kind(self, which: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        kind = jnp.zeros_like(which)
        for brick, its in enumerate(self.kinds):
            kind = jnp.where(which == brick, its, kind)
        return kind


class OfKind(AbstractMechanics):
    """The mechanics of a brick: those of the member whose number is `kind`."""

    members: tuple[AbstractMechanics, ...]
    kind: Int[AnyArray, "*#row"]

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        found = [member.positioning(arm, angle, target, read) for member in self.members]
        return jax.tree.map(lambda *times: _of_kind(self.kind, times), *found)

    def transfer(self, target: Target) -> Float[AnyArray, "*#row"]:
        return self._each(lambda member: member.transfer(target))

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> "OfKind":
        return OfKind(tuple(member.at_speed(seek, turning) for member in self.members), self.kind)

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self._each(lambda member: member.turns(seconds))

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self._each(lambda member: member.seconds(turns))

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self._each(lambda member: member.drift(seconds))

    def _each(self, what: Callable[[AbstractMechanics], Float[Array, "*#row"]]) -> Float[Array, "*#row"]:
        return _of_kind(self.kind, [what(member) for member in self.members])


def _of_kind(kind: Int[AnyArray, "*#row"], found: Sequence[Num[AnyArray, "*#row"]]) -> Num[AnyArray, "*#row"]:
    """Of one value for each kind, that of `kind`."""
    return reduce(lambda chosen, new: jnp.where(kind == new[0], new[1], chosen), enumerate(found[1:], 1), found[0])
