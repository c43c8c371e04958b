"""Interface of drives: the location of requests (layout), and the times of arm and platter (mechanics).

The layout is common to all bricks of a system. Mechanics describe one brick at its present speed. Numeric fields have
one value, or one value for each run of a batch.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.errors import InputError
from storagekit.core.system_facts import SystemFacts, SystemPart


class Arm(NamedTuple):
    """Position of the arm.

    Parameters
    ----------
    cylinder : array of int, shape `[*row]`
        The cylinder, from 0.
    head : array of int, shape `[*row]`
        The head that was used last, from 0.
    """

    cylinder: Int[AnyArray, "*#row"]
    head: Int[AnyArray, "*#row"]


class Target(NamedTuple):
    """Location of a request on a drive.

    Parameters
    ----------
    cylinder, head : array of int, shape `[*row]`
        Cylinder and head of its first sector.
    angle : array of float, shape `[*row]`
        Angle at which its first sector begins, turns from the index mark, in [0, 1).
    transfer : array of float, shape `[*row]`
        Time in seconds from the start of its first sector to the end of its last sector, including track and cylinder
        crossings.
    end : Arm
        Position of the arm at the end of its last sector.
    again : array of float, shape `[*row]`, or None
        Number of additional turns of a write: 1 if the write covers only part of a physical sector (the drive reads
        this sector and writes it one turn later), otherwise 0; None on drives with sectors of 512 bytes.
    sector, count : array of int, shape `[*row]`, or None
        Address and number of sectors of the request on drives with a buffer, otherwise None.
    """

    cylinder: Int[AnyArray, "*#row"]
    head: Int[AnyArray, "*#row"]
    angle: Float[AnyArray, "*#row"]
    transfer: Float[AnyArray, "*#row"]
    end: Arm
    again: Float[AnyArray, "*#row"] | None = None
    sector: Int[AnyArray, "*#row"] | None = None
    count: Int[AnyArray, "*#row"] | None = None


class Positioning(NamedTuple):
    """Time until the first sector is under the head: the arm moves, and then the platter turns.

    Parameters
    ----------
    seek : array of float, shape `[*row]`
        Time of the movement of the arm, with overhead and settling, seconds.
    rotation : array of float, shape `[*row]`
        Rotational latency after this movement, seconds.
    """

    seek: Float[AnyArray, "*#row"]
    rotation: Float[AnyArray, "*#row"]

    @property
    def total(self) -> Float[AnyArray, "*#row"]:
        return self.seek + self.rotation


class AbstractLayout(eqx.Module):
    """Location of the sectors of a drive."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Return the number of data sectors of 512 bytes."""

    @property
    def largest(self) -> int:
        """Return the number of sectors of the largest drive of a system. All addresses are below this number."""
        return self.capacity

    @property
    @abstractmethod
    def cylinders(self) -> int:
        """Return the number of cylinders."""

    @property
    @abstractmethod
    def heads(self) -> int:
        """Return the number of tracks of a cylinder."""

    @abstractmethod
    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Any:
        """Return the location of `count` sectors that begin at logical address `sector`.

        The location is a `Target`. For drives of several kinds, it is a structure with one location for each kind
        (`AbstractDrive.seen`). Addresses may be NumPy arrays (of 64 bits) or JAX arrays.
        """

    def locate_on(
        self, number: Int[AnyArray, "*#row"], sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]
    ) -> Any:
        """Return the location of `count` sectors that begin at address `sector` of drive `number`.

        The result is only valid as an argument of `seen` for the same drive. Addresses may extend to the end of this
        drive. For drives of several kinds, the result has fewer fields than the result of `locate`.
        """
        return self.locate(sector, count)

    def capacity_of(self, number: int) -> int:
        """Return the number of sectors of drive `number`.

        Raises InputError unless the capacity is a single number that is known before compilation.
        """
        return self.capacity


class AbstractMechanics(eqx.Module):
    """Times of arm and platter for located requests."""

    @abstractmethod
    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        """Return the positioning time from `arm` to each target, if the platter is at `angle` turns now."""

    def transfer(self, target: Target) -> Float[AnyArray, "*#row"]:
        """Return the time in seconds from the start of the first to the end of the last sector of each target."""
        return target.transfer

    @abstractmethod
    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> "AbstractMechanics":
        """Return the mechanics with the arm at speed `seek` and the platter at speed `turning`; 1 is full speed."""

    @abstractmethod
    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        """Return the number of revolutions in a time of `seconds`."""

    @abstractmethod
    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        """Return the time of `turns` revolutions in seconds. It is 0 for a drive without rotation."""

    @abstractmethod
    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        """Return the rotation of the platter in `seconds`, without whole turns: a fraction of a turn in [0, 1)."""


class Through(AbstractMechanics):
    """Mechanics that delegate the conversion between time and rotation to other `mechanics`."""

    mechanics: eqx.AbstractVar[AbstractMechanics]

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.turns(seconds)

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.seconds(turns)

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.drift(seconds)


class HostAccess(NamedTuple):
    """An access as the host of the drive observes it.

    Parameters
    ----------
    positioning : Positioning
        Time of seek and rotation, seconds.
    transfer : array of float, shape `[*row]`
        Time in seconds from the end of the positioning to the completion.
    after : pytree of arrays
        State of the buffer after the access, with times in seconds from the beginning of the access.
    """

    positioning: Positioning
    transfer: Float[AnyArray, "*#row"]
    after: Any


class AbstractBuffer(eqx.Module):
    """Controller, bus and buffer between the platters of a drive and its host.

    The state of the buffers of all drives is a pytree that the event loop carries (`init`, `elapse`); `of` returns the
    state of one drive. A drive has one request at a time, and receives the next request after the completion has
    reached the host.
    """

    @property
    def remembers(self) -> bool:
        """Return whether earlier accesses of a drive affect its later accesses."""
        return True

    @abstractmethod
    def init(self, drives: int, batch: tuple[int, ...]) -> Any:
        """Return the state of the buffers of `drives` drives before the first request.

        batch: shape of the batch, `()` for a single run.
        """

    @abstractmethod
    def elapse(self, private: Any, time: Float[Array, "1 *batch"]) -> Any:
        """Return the state `time` seconds later."""

    @abstractmethod
    def of(self, private: Any, number: Int[Array, "1 *batch"]) -> Any:
        """Return the present buffer state of drive `number`. The other methods receive it as the argument `own`."""

    @abstractmethod
    def seen(self, own: Any, mechanics: AbstractMechanics) -> AbstractMechanics:
        """Return the mechanics that a scheduler uses to compare the requests of a drive.

        Data in the buffer are available immediately, and read-ahead may have moved the arm.
        """

    @abstractmethod
    def access(
        self,
        own: Any,
        angle: Float[Array, "1 *batch"],
        target: Target,
        read: Bool[Array, "1 *batch"],
        positioning: Positioning,
        transfer: Float[Array, "1 *batch"],
    ) -> HostAccess:
        """Return an access that begins now, as the host of the drive observes it.

        Parameters
        ----------
        own : pytree
            Present state of the buffer of the drive (`of`).
        angle : float, `[1, *batch]`
            Angle of the platter, turns.
        target : Target
            Location of the request.
        read : bool, `[1, *batch]`
            Whether the request is a read.
        positioning : Positioning
            Positioning time of the request in seconds, computed by the mechanics that `seen` returns.
        transfer : float, `[1, *batch]`
            Transfer time at the platter, after the positioning, seconds.

        Returns
        -------
        HostAccess
            Times of the access for the host, and the state of the buffer after it.
        """

    @abstractmethod
    def keep(self, private: Any, where: Bool[Array, "drive *batch"], after: Any) -> Any:
        """Return the state after a drive has begun an access.

        where: mask of the drive that has begun the access; all false if no drive has begun one. after: state of the
        buffer after this access.
        """


class NoBuffer(AbstractBuffer):
    """A drive without a buffer: the host waits for the platter, and the drive waits for the host."""

    @property
    def remembers(self):
        return False

    def init(self, drives, batch):
        return None

    def elapse(self, private, time):
        return None

    def of(self, private, number):
        return None

    def seen(self, own, mechanics):
        return mechanics

    def access(self, own, angle, target, read, positioning, transfer):
        return HostAccess(positioning, transfer, None)

    def keep(self, private, where, after):
        return None


class AbstractDrive(AbstractLayout, SystemPart):
    """The drives of a system: layout, mechanics of each brick, and buffer."""

    @property
    def buffer(self) -> AbstractBuffer:
        """Return the model of controller, bus and buffer; by default `NoBuffer`."""
        return NoBuffer()

    def check_buffer(self, facts: SystemFacts) -> None:
        """Raise InputError if drives with a buffer are combined with a feature that is not modelled.

        A drive with a buffer serves one request at a time. The request has a single location, and no other drive can
        serve it instead.

        Parameters
        ----------
        facts : SystemFacts
            Properties of the system.

        Raises
        ------
        InputError
            If the model of the buffer does not support a feature of the system.
        """
        if not self.buffer.remembers:
            return
        refused = {
            f"the arbitration {facts.arbitration}": facts.competes,
            "bricks that stop or are slower": facts.varies,
            "delayed writes": facts.delays,
            "several replicas on a drive": facts.replicas > 1,
            "writes that follow a read (parity)": facts.rewrites,
        }
        wrong = [what for what, found in refused.items() if found]
        if wrong:
            raise InputError(
                f"drives with a buffer cannot be combined with {wrong[0]}; give drives without a buffer (`load_drive`)"
            )

    @abstractmethod
    def mechanics_of(self, number: Int[AnyArray, "*#row"]) -> AbstractMechanics:
        """Return the mechanics of a brick. number: number of the brick, for each run (`[1, *batch]`) or each row."""

    @abstractmethod
    def seen(self, target: Any, number: Int[AnyArray, "*#row"]) -> Target:
        """Return the location on the drive of brick `number`, given the result of `locate` or `locate_on`."""


class OneKind(AbstractDrive, AbstractMechanics):
    """Drives of one kind: layout and mechanics in one object."""

    def mechanics_of(self, number: Int[AnyArray, "*#row"]) -> AbstractMechanics:
        return self

    def seen(self, target: Target, number: Int[AnyArray, "*#row"]) -> Target:
        return target
