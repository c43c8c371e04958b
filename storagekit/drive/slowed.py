"""Arm and platter below their full speed."""

from jaxtyping import Bool, Float

from storagekit.arrays import AnyArray
from storagekit.drive.base import AbstractMechanics, Arm, Positioning, Target


class Slowed(AbstractMechanics):
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

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.turns(seconds)

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.seconds(turns)

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return self.mechanics.drift(seconds)
