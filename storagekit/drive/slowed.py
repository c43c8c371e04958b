"""Arm and platter below their full speed."""

from jaxtyping import Array, Float

from storagekit.drive.base import AbstractMechanics, Arm, Positioning, Target


class Slowed(AbstractMechanics):
    """Mechanics slower than those that the targets were located for, whose transfers are stretched.

    mechanics: with their times as they are now. turning: the platter's speed, 1 at full speed.
    """

    mechanics: AbstractMechanics
    turning: Float[Array, "..."]

    def positioning(self, arm: Arm, angle: Float[Array, "*row"], target: Target, read: Array) -> Positioning:
        return self.mechanics.positioning(arm, angle, target, read)

    def transfer(self, target: Target) -> Float[Array, "*row"]:
        return self.mechanics.transfer(target) / self.turning

    def at_speed(self, seek: Float[Array, "*row"], turning: Float[Array, "*row"]) -> "Slowed":
        return Slowed(self.mechanics.at_speed(seek, turning), self.turning)

    def turns(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self.mechanics.turns(seconds)

    def seconds(self, turns: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self.mechanics.seconds(turns)

    def drift(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self.mechanics.drift(seconds)
