"""Drives of several kinds in one system."""

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from storagekit.drive.base import AbstractDrive, Arm, Positioning, Target
from storagekit.errors import InputError
from storagekit.lanes import whole


class Places(NamedTuple):
    """Where requests lie on a drive of each kind."""

    of_kind: tuple[Target, ...]


class OfMembers(AbstractDrive):
    """What is known of drives of several kinds whatever the brick."""

    members: eqx.AbstractVar[tuple[AbstractDrive, ...]]

    @property
    def capacity(self) -> int:
        return min(member.capacity for member in self.members)

    @property
    def cylinders(self) -> int:
        return max(member.cylinders for member in self.members)

    @property
    def heads(self) -> int:
        return min(member.heads for member in self.members)


class Mixed(OfMembers):
    """Brick b has a drive of kind `members[kinds[b]]`; the smallest of them bounds the capacity of all.

    What depends on the kind, everything but where a request lies, is to be asked of `of_brick`.
    """

    members: tuple[AbstractDrive, ...]
    kinds: tuple[Int[Array, "..."], ...]

    def __init__(self, members, kinds):
        self.members = tuple(members)
        self.kinds = tuple(whole(kind) for kind in kinds)

    def __check_init__(self):
        if not self.members:
            raise InputError("no kinds of drives: give at least one")
        for kind in self.kinds:
            if not np.all((np.asarray(kind) >= 0) & (np.asarray(kind) < len(self.members))):
                raise InputError(
                    f"a brick with a drive of kind {int(np.max(kind))}: kinds go from 0 to {len(self.members) - 1}"
                )

    def check(self, bricks):
        if len(self.kinds) < bricks:
            raise InputError(f"{len(self.kinds)} kinds of drives for {bricks} bricks: give the kind of each")

    def locate(self, sector: Int[Array, "*row"], count: Int[Array, "*row"]) -> Any:
        return Places(tuple(member.locate(sector, count) for member in self.members))

    def of_brick(self, which: Int[Array, "*row"]) -> "OfKind":
        kind = jnp.zeros_like(which)
        for brick, its in enumerate(self.kinds):
            kind = jnp.where(which == brick, its, kind)
        return OfKind(self.members, kind)

    def seen(self, target: Any, which: Int[Array, "*row"]) -> Target:
        kind = self.of_brick(which).kind
        return jax.tree.map(lambda *found: _of_kind(kind, found), *target.of_kind)

    def positioning(self, arm: Arm, angle: Float[Array, "*row"], target: Target, read: Array) -> Positioning:
        return self._unknown()

    def at_speed(self, seek: Float[Array, "*row"], turning: Float[Array, "*row"]) -> AbstractDrive:
        return self._unknown()

    def turns(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self._unknown()

    def seconds(self, turns: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self._unknown()

    def drift(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self._unknown()

    def _unknown(self) -> Any:
        raise NotImplementedError("drives of several kinds: ask of_brick(which) for one of them")


class OfKind(OfMembers):
    """The drive of a brick: the member whose number is `kind`."""

    members: tuple[AbstractDrive, ...]
    kind: Int[Array, "*row"]

    def locate(self, sector: Int[Array, "*row"], count: Int[Array, "*row"]) -> Target:
        raise NotImplementedError("locate on the drives of all kinds, see Mixed")

    def positioning(self, arm: Arm, angle: Float[Array, "*row"], target: Target, read: Array) -> Positioning:
        found = [member.positioning(arm, angle, target, read) for member in self.members]
        return jax.tree.map(lambda *times: _of_kind(self.kind, times), *found)

    def transfer(self, target: Target) -> Float[Array, "*row"]:
        return self._each(lambda member: member.transfer(target))

    def at_speed(self, seek: Float[Array, "*row"], turning: Float[Array, "*row"]) -> "OfKind":
        return OfKind(tuple(member.at_speed(seek, turning) for member in self.members), self.kind)

    def turns(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self._each(lambda member: member.turns(seconds))

    def seconds(self, turns: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self._each(lambda member: member.seconds(turns))

    def drift(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self._each(lambda member: member.drift(seconds))

    def _each(self, what: Callable[[AbstractDrive], Array]) -> Array:
        return _of_kind(self.kind, [what(member) for member in self.members])


def _of_kind(kind: Array, found) -> Array:
    """Of one value for each kind, that of `kind`."""
    return reduce(lambda chosen, new: jnp.where(kind == new[0], new[1], chosen), enumerate(found[1:], 1), found[0])
