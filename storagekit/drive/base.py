"""What a drive promises: where a request lies (its layout), and how long arm and platter take to get there (its mechanics).

A layout is what every brick of a system has in common; mechanics are those of one brick at one moment. Numeric fields may
hold one value, or one for each lane.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int

from storagekit.arrays import AnyArray


class Arm(NamedTuple):
    """Where the arm is: its cylinder and the head last used."""

    cylinder: Int[AnyArray, "*#row"]
    head: Int[AnyArray, "*#row"]


class Target(NamedTuple):
    """Where a request lies on a drive.

    angle: where its first sector begins, in turns from the drive's index mark, in [0, 1).
    transfer: seconds from its first sector to the end of its last, track and cylinder crossings included.
    end: where the arm is when the last sector has passed.
    again: turns between reading and writing, for a write of a part of a physical sector, which has to be read first: 1, or
    0 of whole ones; None where each is one of 512 bytes.
    sector, count: its address and how many sectors it has; None unless a buffer has to know.
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
    """Seconds until the first sector is under the head: arm movement (overhead and settling included), then rotation."""

    seek: Float[AnyArray, "*#row"]
    rotation: Float[AnyArray, "*#row"]

    @property
    def total(self) -> Float[AnyArray, "*#row"]:
        return self.seek + self.rotation


class AbstractLayout(eqx.Module):
    """Where the sectors of a drive lie."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Sectors of 512 bytes that hold data."""

    @property
    def largest(self) -> int:
        """Sectors of the largest of its drives: addresses on them may go so far, whatever a system offers."""
        return self.capacity

    @property
    @abstractmethod
    def cylinders(self) -> int:
        """Cylinders from the first to the last."""

    @property
    @abstractmethod
    def heads(self) -> int:
        """Tracks of a cylinder."""

    @abstractmethod
    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Any:
        """Where `count` sectors from logical address `sector` lie: a `Target`, or for drives of several kinds what holds one
        of each (`AbstractDrive.seen`). Takes NumPy arrays (64-bit addresses) or JAX arrays."""

    def locate_on(
        self, which: Int[AnyArray, "*#row"], sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]
    ) -> Any:
        """Where `count` sectors from address `sector` of drive `which` lie, for `seen` to look at on that drive only, whose
        own end bounds the address: where drives are of several kinds less than `locate` keeps, and with more room."""
        return self.locate(sector, count)

    def capacity_of(self, which: int) -> int:
        """Sectors of drive `which`. Raises InputError where that is not one number, known before anything is compiled."""
        return self.capacity


class AbstractMechanics(eqx.Module):
    """How long arm and platter take to the targets that a layout has located, and for their sectors."""

    @abstractmethod
    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        """Time to position from `arm`, at a moment when the platter stands at `angle` turns, for each target."""

    def transfer(self, target: Target) -> Float[AnyArray, "*#row"]:
        """Seconds from the first sector of each target to the end of its last."""
        return target.transfer

    @abstractmethod
    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> "AbstractMechanics":
        """The same with the arm (seeks, head switches, settling, overhead) and the platter at a share of their speed, 1 being
        full speed."""

    @abstractmethod
    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        """Revolutions in `seconds`."""

    @abstractmethod
    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        """Seconds of so many revolutions; 0 for a drive that does not turn."""

    @abstractmethod
    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        """How far the platter's angle has moved after `seconds`, in turns and in [0, 1), however long they are."""


class Through(AbstractMechanics):
    """Mechanics behind something that does not change how the platter of `mechanics` turns."""

    mechanics: eqx.AbstractVar[AbstractMechanics]

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.turns(seconds)

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.seconds(turns)

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.drift(seconds)


class HostAccess(NamedTuple):
    """An access as its host sees it, seconds. transfer: from the end of its positioning to its answer. after: the buffer from
    its beginning on, at which its times count from now."""

    positioning: Positioning
    transfer: Float[AnyArray, "*#row"]
    after: Any


class AbstractBuffer(eqx.Module):
    """What stands between a drive's platters and its host: who finds data there, and when the host has its answer.

    What the buffers of a system's drives hold is private, a pytree that the event loop carries (`init`, `elapse`); `of` picks
    that of the drive which chooses. The drive has one request at a time, the next when the host has its answer.
    """

    @property
    def remembers(self) -> bool:
        """Whether what a drive did before decides what it does now."""
        return True

    @abstractmethod
    def init(self, drives: int, lanes: tuple[int, ...]) -> Any:
        """Of so many drives, before the first request; lanes: `()` for a single run."""

    @abstractmethod
    def elapse(self, private: Any, time: Float[Array, "1 *lanes"]) -> Any:
        """The same `time` seconds later."""

    @abstractmethod
    def of(self, private: Any, which: Int[Array, "1 *lanes"]) -> Any:
        """That of drive `which`, as it is now: the `own` of what follows."""

    @abstractmethod
    def seen(self, own: Any, mechanics: AbstractMechanics) -> AbstractMechanics:
        """The mechanics of that drive as a scheduler sees them: what its buffer holds is there at once, and the arm is where
        the drive has moved it of its own accord."""

    @abstractmethod
    def access(
        self,
        own: Any,
        angle: Float[Array, "1 *lanes"],
        target: Target,
        read: Bool[Array, "1 *lanes"],
        positioning: Positioning,
        transfer: Float[Array, "1 *lanes"],
    ) -> HostAccess:
        """The access of that drive which begins now, the platter at `angle` turns. positioning: as `seen`; transfer: seconds
        that the platter takes after it."""

    @abstractmethod
    def keep(self, private: Any, where: Bool[Array, "drive *lanes"], after: Any) -> Any:
        """Private state once the drive marked in `where`, if any, has begun an access."""


class NoBuffer(AbstractBuffer):
    """Nothing: the host waits for the platter, and the drive for the host."""

    @property
    def remembers(self):
        return False

    def init(self, drives, lanes):
        return None

    def elapse(self, private, time):
        return None

    def of(self, private, which):
        return None

    def seen(self, own, mechanics):
        return mechanics

    def access(self, own, angle, target, read, positioning, transfer):
        return HostAccess(positioning, transfer, None)

    def keep(self, private, where, after):
        return None


class AbstractDrive(AbstractLayout):
    """The drives of a system: a layout, the mechanics of each brick, and what is between them and the host."""

    @property
    def buffer(self) -> AbstractBuffer:
        """Controller, bus and buffer; by default none."""
        return NoBuffer()

    def check(self, bricks: int) -> None:
        """Raises InputError where it cannot be the drive of so many bricks."""

    @abstractmethod
    def mechanics_of(self, which: Int[AnyArray, "*#row"]) -> AbstractMechanics:
        """The mechanics of brick `which`, one number for each lane `[1, *lanes]` or for each row."""

    @abstractmethod
    def seen(self, target: Any, which: Int[AnyArray, "*#row"]) -> Target:
        """What `locate` or `locate_on` found, on the drive of brick `which`."""


class OneKind(AbstractDrive, AbstractMechanics):
    """A drive that every brick has one of: the layout and the mechanics in one."""

    def mechanics_of(self, which: Int[AnyArray, "*#row"]) -> AbstractMechanics:
        return self

    def seen(self, target: Target, which: Int[AnyArray, "*#row"]) -> Target:
        return target
