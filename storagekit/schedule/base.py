"""Interface of the schedulers: each waiting part has a cost, and the part with the lowest cost is served first."""

from abc import abstractmethod
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import Component
from storagekit.drive import AbstractLayout, AbstractMechanics, Arm, Target
from storagekit.placement import AbstractPlacement, NearestReplica, nearest_replica


class Choice(NamedTuple):
    """State of an idle drive, and of the requests in the slots.

    Parameters
    ----------
    layout : AbstractLayout
        Properties common to all drives.
    mechanics : AbstractMechanics
        Mechanics of the drive at its present speed.
    placement : AbstractPlacement
        Layout of the blocks on the drives.
    drive : array of int, shape `[1, *batch]`
        Number of the drive.
    arm : Arm
        Position of its arm.
    angle : array of float, shape `[1, *batch]`
        Angle of its platter when the next access can start, turns.
    target : Target
        Locations of the requests on the drive.
    read : array of bool, shape `[slot, *batch]`
        Whether each request is a read.
    enqueue_time : array of float, shape `[slot, *batch]`
        Time at which the drive received each part, seconds from now or in a unit of the queue.
    part : array of int, shape `[slot, *batch]`
        Part of each request that the drive holds.
    usable : array of uint32, shape `[slot, *batch]`, or None
        Mask of the replicas that may be chosen; None if all may be chosen.
    """

    layout: AbstractLayout
    mechanics: AbstractMechanics
    placement: AbstractPlacement
    drive: Int[Array, "1 *batch"]
    arm: Arm
    angle: Float[Array, "1 *batch"]
    target: Target
    read: Bool[Array, "slot *batch"]
    enqueue_time: Float[Array, "slot *batch"]
    part: Int[Array, "slot *batch"]
    usable: UInt32[Array, "slot *batch"] | None

    def nearest(self) -> NearestReplica:
        """Return the nearest replica of each request, with its positioning time."""
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


class AbstractSchedule(Component):
    """Decides which waiting part a drive serves next. The private state has one row for each drive."""

    @abstractmethod
    def cost(self, private: Any, choice: Choice) -> Float[Array, "slot *batch"]:
        """Return the cost of each part.

        Parameters
        ----------
        private : pytree
            The private state.
        choice : Choice
            The drive and the waiting requests.

        Returns
        -------
        float array, `[slot, *batch]`
            Cost of each part. The drive serves the part with the lowest cost. If costs are equal, it serves the part in
            the lowest slot.
        """
