"""Mechanics of a drive whose arm or platter is slower than its full speed."""

from jaxtyping import Bool, Float

from storagekit.core.arrays import AnyArray
from storagekit.drive.base import AbstractMechanics, Arm, Positioning, Target, Through


class Slowed(Through):
    """Mechanics below full speed. The transfer times of targets are for full speed; this class lengthens them.

    Parameters
    ----------
    mechanics : AbstractMechanics
        Mechanics with the times at the present speed.
    turning : float
        Speed of the platter, 1 for full speed.
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
