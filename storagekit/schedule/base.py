"""What a scheduler promises: a cost for every waiting part, the least served first."""

from abc import abstractmethod
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.drive import AbstractLayout, AbstractMechanics, Arm, Target
from storagekit.moments import Member
from storagekit.placement import AbstractPlacement, Reach, nearest_replica


class Choice(NamedTuple):
    """What a drive that has fallen free knows: itself, and the requests in the slots.

    layout: what its drive has in common with the others. mechanics: its own, as they are now. which: its index.
    angle: where its platter stands, in turns, at the moment the next access can start.
    came: when the drive was given each part, seconds from now or what its queue counts in; the sooner the less.
    part: which of the request's parts this drive holds; usable: the replicas of it that may be chosen, None for all.
    """

    layout: AbstractLayout
    mechanics: AbstractMechanics
    placement: AbstractPlacement
    which: Int[Array, "1 *lanes"]
    arm: Arm
    angle: Float[Array, "1 *lanes"]
    target: Target
    read: Bool[Array, "slot *lanes"]
    came: Float[Array, "slot *lanes"]
    part: Int[Array, "slot *lanes"]
    usable: UInt32[Array, "slot *lanes"] | None

    def reach(self) -> Reach:
        """The nearest replica of each request."""
        return nearest_replica(
            self.placement,
            self.layout,
            self.mechanics,
            self.arm,
            self.angle,
            self.target,
            self.read,
            self.part,
            self.usable,
        )


class AbstractSchedule(Member):
    """Which waiting part a drive takes next. Private state has one row for each drive."""

    @abstractmethod
    def cost(self, private: Any, choice: Choice) -> Float[Array, "slot *lanes"]:
        """What each part would cost; the least is taken, of equals the one in the lowest slot."""
