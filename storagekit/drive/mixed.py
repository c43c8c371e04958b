"""Systems with drives of several kinds."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, each_named, pick, whole
from storagekit.core.errors import InputError
from storagekit.core.system_facts import SystemFacts
from storagekit.core.validation import instance_of, require, several
from storagekit.drive.base import AbstractDrive, AbstractMechanics, Arm, Positioning, Target
from storagekit.drive.mechanical import Drive
from storagekit.drive.selected import Selected, Starts, head_bits, of_kind, start_on_each, start_on_one, target_of_kind

_DRIVES = several(instance_of(AbstractDrive, 'drives, as sk.load_drive("atlas10k")'), of="drives")


class Locations(NamedTuple):
    """Location of requests on a drive of each kind."""

    of_kind: tuple[Any, ...]


class Mixed(AbstractDrive):
    """Drives of several kinds: brick b has the drive `drives[kinds[b]]`.

    Parameters
    ----------
    drives : iterable of AbstractDrive
        A drive of each kind.
    kinds : iterable of int
        Number of the kind of each brick; the first kind has number 0. Each number may differ between the runs of a
        batch.

    Raises
    ------
    InputError
        If there are no drives, if a drive has a buffer, or if a number is out of range.

    Notes
    -----
    On every drive, the system uses only the capacity of the smallest drive. A request is located on a drive of each
    kind, and the brick that receives the request determines which location is used. Mechanical drives (`Drive`) of
    several kinds take little more computing time than drives of one kind (see `storagekit.drive.selected`). With drives
    of other classes, every access is computed once for each kind.
    """

    drives: tuple[AbstractDrive, ...]
    kinds: tuple[Int[AnyArray, "..."], ...]

    def __init__(self, drives: Iterable[AbstractDrive], kinds: Iterable[Int[ArrayLike, "..."]]):
        self.drives = _DRIVES("kinds of drives", drives)
        self.kinds = each_named("kinds of bricks", whole)(kinds)

    def __check_init__(self):
        if not self.drives:
            raise InputError("no kinds of drives: give at least one")
        if any(drive.buffer.remembers for drive in self.drives):
            raise InputError(
                "drives with a buffer in a system with several kinds of drives: not modelled; give drives without a "
                "buffer (`load_drive`)"
            )
        for kind in self.kinds:
            known = (kind >= 0) & (kind < len(self.drives))
            require(known, "kind of the drive of a brick", kind, f"from 0 to {len(self.drives) - 1}")

    @property
    def capacity(self) -> int:
        return min(drive.capacity for drive in self.drives)

    @property
    def largest(self) -> int:
        return max(drive.largest for drive in self.drives)

    @property
    def cylinders(self) -> int:
        return max(drive.cylinders for drive in self.drives)

    @property
    def heads(self) -> int:
        return min(drive.heads for drive in self.drives)

    def check(self, facts: SystemFacts) -> None:
        for drive in self.drives:
            drive.check(facts)
        if len(self.kinds) < facts.drives:
            raise InputError(
                f"kinds: {len(self.kinds)} numbers for {facts.drives} bricks; give one number for each brick"
            )

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Locations | Starts:
        drives = self._mechanical_drives()
        # Each drive locates NumPy addresses, which have 64 bits, separately.
        if drives and not isinstance(sector, np.ndarray | np.integer):
            return start_on_each(drives, sector, count)
        return Locations(tuple(drive.locate(sector, count) for drive in self.drives))

    def mechanics_of(self, number: Int[AnyArray, "*#row"]) -> "Selected | OfKind":
        drives, kind = self._mechanical_drives(), self._kind(number)
        if drives:
            return Selected(drives, kind)
        return OfKind(tuple(drive.mechanics_of(number) for drive in self.drives), kind)

    def seen(self, target: Locations | Starts, number: Int[AnyArray, "*#row"]) -> Target:
        kind = self._kind(number)
        if isinstance(target, Starts):
            return target_of_kind(self._mechanical_drives(), target, kind)
        pairs = zip(self.drives, target.of_kind, strict=True)
        found = [drive.seen(there, number) for drive, there in pairs]
        if any(one.again is not None for one in found):
            # Drives with sectors of 512 bytes leave this field out; other drives have it.
            found = [one._replace(again=one.angle * 0 if one.again is None else one.again) for one in found]
        return jax.tree.map(lambda *parts: of_kind(kind, parts), *found)

    def locate_on(
        self, number: Int[AnyArray, "*#row"], sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]
    ) -> Locations | Starts:
        drives = self._mechanical_drives()
        if drives and not isinstance(sector, np.ndarray | np.integer):
            return start_on_one(drives, self._kind(number), sector, count)
        return Locations(tuple(drive.locate_on(number, sector, count) for drive in self.drives))

    def capacity_of(self, number: int) -> int:
        if isinstance(self.kinds[number], Tracer):
            raise InputError(
                f"the kind of drive {number} is unknown during compilation; determine its capacity before compilation"
            )
        found = {self.drives[kind].capacity_of(number) for kind in np.ravel(self.kinds[number]).tolist()}
        if len(found) > 1:
            raise InputError(
                f"drive {number} has {min(found)} sectors in some runs and {max(found)} in others; use the same drive "
                "model in all runs"
            )
        return found.pop()

    def _mechanical_drives(self) -> list[Drive]:
        """Return the drives if all are mechanical with 512-byte sectors, and if cylinder and head fit into 32 bits.

        Otherwise return an empty list. Subclasses of `Drive` do not count, because they may move and turn differently.
        """
        drives = [drive for drive in self.drives if type(drive) is Drive and drive.grain == 1]
        fit = len(drives) == len(self.drives) and self.cylinders << head_bits(drives) <= MOST_WHOLE
        return drives if fit else []

    def _kind(self, number: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        if all(np.ndim(its) == 0 for its in self.kinds):
            return jnp.take(jnp.stack(self.kinds), number, mode="clip")
        batch = np.broadcast_shapes(*(np.shape(its)[1:] for its in self.kinds), np.shape(number)[1:])
        table = jnp.concatenate([jnp.broadcast_to(its, (1, *batch)) for its in self.kinds])
        return pick(table, jnp.broadcast_to(number, (*number.shape[: number.ndim - len(batch)], *batch)))


class OfKind(AbstractMechanics):
    """Mechanics of a brick, selected by `kind` from `drives`, which may be of any classes.

    drives: mechanics of each kind. kind: number of the kind; the first kind has number 0.
    """

    drives: tuple[AbstractMechanics, ...]
    kind: Int[AnyArray, "*#row"]

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        found = [drive.positioning(arm, angle, target, read) for drive in self.drives]
        return jax.tree.map(lambda *times: of_kind(self.kind, times), *found)

    def transfer(self, target: Target) -> Float[AnyArray, "*#row"]:
        return self._each(lambda drive: drive.transfer(target))

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> "OfKind":
        return OfKind(tuple(drive.at_speed(seek, turning) for drive in self.drives), self.kind)

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self._each(lambda drive: drive.turns(seconds))

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self._each(lambda drive: drive.seconds(turns))

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self._each(lambda drive: drive.drift(seconds))

    def _each(self, what: Callable[[AbstractMechanics], Float[Array, "*#row"]]) -> Float[Array, "*#row"]:
        return of_kind(self.kind, [what(drive) for drive in self.drives])
