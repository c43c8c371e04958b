"""What every drive promises: where a request lies, and how long the arm and the platter take to get there."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Int


class Arm(NamedTuple):
    """Where the arm is: its cylinder and the head last used."""

    cylinder: Int[Array, "*row"]
    head: Int[Array, "*row"]


class Target(NamedTuple):
    """Where a request lies on a drive.

    angle: where its first sector begins, in turns from the drive's index mark, in [0, 1).
    transfer: seconds from its first sector to the end of its last, track and cylinder crossings included.
    end: where the arm is when the last sector has passed.
    """

    cylinder: Int[Array, "*row"]
    head: Int[Array, "*row"]
    angle: Float[Array, "*row"]
    transfer: Float[Array, "*row"]
    end: Arm


class Positioning(NamedTuple):
    """Seconds until the first sector is under the head: arm movement (overhead and settling included), then rotation."""

    seek: Float[Array, "*row"]
    rotation: Float[Array, "*row"]

    @property
    def total(self) -> Float[Array, "*row"]:
        return self.seek + self.rotation


class AbstractDrive(eqx.Module):
    """One spindle. Numeric fields may hold one value, or one for each lane."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Sectors of 512 bytes that hold data."""

    @property
    @abstractmethod
    def cylinders(self) -> int:
        """Cylinders from the first to the last."""

    @property
    @abstractmethod
    def heads(self) -> int:
        """Tracks of a cylinder."""

    @abstractmethod
    def locate(self, sector: Int[Array, "*row"], count: Int[Array, "*row"]) -> Target:
        """Where `count` sectors from logical address `sector` lie. Takes NumPy arrays (64-bit addresses) or JAX arrays."""

    @abstractmethod
    def positioning(self, arm: Arm, angle: Float[Array, "*row"], target: Target, read: Array) -> Positioning:
        """Time to position from `arm`, at a moment when the platter stands at `angle` turns, for each target."""

    def check(self, bricks: int) -> None:
        """Raises InputError where it cannot be the drive of so many bricks."""

    def transfer(self, target: Target) -> Float[Array, "*row"]:
        """Seconds from the first sector of each target to the end of its last."""
        return target.transfer

    def of_brick(self, which: Int[Array, "*row"]) -> "AbstractDrive":
        """The drive of brick `which`, one number for each lane `[1, *lanes]` or for each row; the same for all here."""
        return self

    def seen(self, target: Target, which: Int[Array, "*row"]) -> Target:
        """What `locate` found, on the drive of brick `which`."""
        return target

    @abstractmethod
    def at_speed(self, seek: Float[Array, "*row"], turning: Float[Array, "*row"]) -> "AbstractDrive":
        """The same drive with its arm (seeks, head switches, settling, overhead) and its platter at a share of their speed,
        1 being full speed; `locate` is not for this one."""

    @abstractmethod
    def turns(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        """Revolutions in `seconds`."""

    @abstractmethod
    def seconds(self, turns: Float[Array, "*row"]) -> Float[Array, "*row"]:
        """Seconds of so many revolutions; 0 for a drive that does not turn."""

    @abstractmethod
    def drift(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        """How far the platter's angle has moved after `seconds`, in turns and in [0, 1), however long they are."""
