"""Arm and platter below their full speed."""

from jaxtyping import Bool, Float

from storagekit.core.arrays import AnyArray
from storagekit.drive.base import AbstractMechanics, Arm, Positioning, Target, Through


class Slowed(Through):
    """Mechanics slower than those that the targets were located for, whose transfers are stretched.

    mechanics: with their times as they are now. turning: the platter's speed, 1 at full speed.
    """

    mechanics: AbstractMechanics
    turning: Float[AnyArray, "..."]

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        return self.mechanics.positioning(arm, angle, target, read)

    def transfer(self, target: Target) -> Float[AnyArray, "*#row"]:
        return self.mechanics.transfer(target) / self.turning

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> "Slowed":
        return Slowed(self.mechanics.at_speed(seek, turning), self.turning)
