"""Drives with a controller, a bus and a buffer, for use in a system."""

from functools import reduce
from pathlib import Path
from typing import Annotated, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from storagekit.core.arrays import AnyArray
from storagekit.core.packed import stored
from storagekit.core.validation import validate
from storagekit.drive.base import (
    AbstractBuffer,
    AbstractDrive,
    AbstractMechanics,
    Arm,
    HostAccess,
    Positioning,
    Target,
    Through,
)
from storagekit.drive.buffer import BufferMemory, BufferRequest, BufferSegments, Faster, ReadAheadStop, faster, served
from storagekit.drive.controller import DriveController, load_controller
from storagekit.drive.library import drive_name, load_drive
from storagekit.drive.mechanical import Drive


class Buffered(AbstractDrive):
    """A drive behind a controller, a bus and a buffer in segments (`storagekit.drive.buffer`).

    Reads of data in a segment complete without using arm and platter. Writes may also complete in this way. The drive
    then reads ahead, or writes behind, until the host sends the next request. It serves one request at a time.
    Schedulers take the content of the buffer into account.

    Parameters
    ----------
    drive : Drive
        Arm and platter.
    controller : DriveController
        Parameters of controller, bus and buffer.

    Raises
    ------
    InputError
        If the drive has more than 2^31 - 1 sectors, or physical sectors of 4 KB, or if a parameter is impossible.

    Examples
    --------
    >>> import storagekit as sk
    >>> drive = sk.drive.load_buffered("atlas10k")
    >>> drive.controller.buffer.segments
    10
    """

    drive: Drive
    controller: DriveController = eqx.field(static=True)
    # Determined before compilation, from the drive as it is given.
    faster: Faster = eqx.field(static=True)

    def __init__(self, drive: Drive, controller: DriveController):
        self.drive, self.controller = drive, controller
        self.faster = faster(drive, controller)

    def __check_init__(self):
        # The buffer raises InputError for drives that its model does not support.
        _ = self.buffer

    @property
    def name(self) -> str:
        return f"{self.drive.name}, buffered"

    @property
    def buffer(self) -> "SegmentBuffer":
        return SegmentBuffer(BufferSegments(self.drive, self.controller, self.faster))

    @property
    def capacity(self) -> int:
        return self.drive.capacity

    @property
    def cylinders(self) -> int:
        return self.drive.cylinders

    @property
    def heads(self) -> int:
        return self.drive.heads

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Target:
        return self.drive.locate(sector, count)._replace(sector=sector, count=count)

    def mechanics_of(self, number: Int[AnyArray, "*#row"]) -> AbstractMechanics:
        return self.drive

    def seen(self, target: Target, number: Int[AnyArray, "*#row"]) -> Target:
        return target


@validate
def load_buffered(name: Annotated[str | Path, drive_name]) -> Buffered:
    """Return a drive with its controller, bus and buffer.

    Parameters
    ----------
    name : str or path
        Name of a drive, or a file, as for `load_drive`.

    Returns
    -------
    Buffered
        The drive.

    Raises
    ------
    InputError
        If `load_drive` raises InputError for this name, or if the file has no parameters of controller, bus and buffer.
    """
    return Buffered(load_drive(name), load_controller(name))


class SegmentBuffer(AbstractBuffer):
    """Component for the segmented buffers of all drives.

    Its private state is a `BufferMemory` of arrays `[segment, drive, *batch]` and `[1, drive, *batch]`.
    """

    segments: BufferSegments

    def init(self, drives: int, batch: tuple[int, ...]) -> BufferMemory:
        return self.segments.init((drives, *batch))

    def elapse(self, private: BufferMemory, time: Float[Array, "1 *batch"]) -> BufferMemory:
        return private.elapse(time[None])

    def of(self, private: BufferMemory, number: Int[Array, "1 *batch"]) -> ReadAheadStop:
        def own(leaf: Shaped[Array, "segment drive *batch"]) -> Shaped[Array, "segment *batch"]:
            # Comparisons are faster than a look-up, which a CPU performs sequentially for the runs of a batch.
            return reduce(
                lambda found, drive: jnp.where(number == drive, leaf[:, drive], found),
                range(1, leaf.shape[1]),
                leaf[:, 0],
            )

        return self.segments.now(jax.tree.map(own, private))

    def seen(self, own: ReadAheadStop, mechanics: AbstractMechanics) -> "Seen":
        return Seen(mechanics, self.segments, own)

    def access(
        self,
        own: ReadAheadStop,
        angle: Float[Array, "1 *batch"],
        target: Target,
        read: Bool[Array, "1 *batch"],
        positioning: Positioning,
        transfer: Float[Array, "1 *batch"],
    ) -> HostAccess:
        assert target.sector is not None and target.count is not None
        answer, after = served(self.segments, own, angle, BufferRequest(read, target.sector, target.count, target))
        # If the request completes from the buffer, the host waits neither for the arm nor for the platter.
        seek = jnp.minimum(positioning.seek, answer)
        rotation = jnp.minimum(positioning.rotation, answer - seek)
        return HostAccess(Positioning(seek, rotation), answer - seek - rotation, after)

    def keep(self, private: BufferMemory, where: Bool[Array, "drive *batch"], after: BufferMemory) -> BufferMemory:
        return jax.tree.map(lambda old, new: jnp.where(where[None], new[:, None], old), private, stored(after))


class Seen(Through):
    """Positioning for a scheduler that takes the buffer into account: data in a segment need neither arm nor platter.

    mechanics: mechanics of the drive at its present speed. segments: model of the buffer. stopped: present state of the
    buffer.
    """

    mechanics: AbstractMechanics
    segments: BufferSegments
    stopped: ReadAheadStop

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        begins = jnp.where(read, self.segments.begins_read(self.stopped), self.segments.begins_write(self.stopped))
        angle = angle + self.mechanics.turns(begins)
        way = self.mechanics.positioning(self.stopped.memory.arm, angle, target, read)
        held = read & self.segments.holds(self.stopped.memory, cast(Array, target.sector))
        # Data in the buffer also wait until an earlier write is on the platter.
        wait = jnp.maximum(self.stopped.memory.settled, 0.0)
        return Positioning(jnp.where(held, wait, begins + way.seek), jnp.where(held, 0.0, way.rotation))

    def transfer(self, target: Target) -> Float[AnyArray, "*#row"]:
        return self.mechanics.transfer(target)

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> AbstractMechanics:
        return self.mechanics.at_speed(seek, turning)
