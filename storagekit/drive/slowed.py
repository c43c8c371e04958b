"""A drive below its full speed."""

from jaxtyping import Array, Float, Int

from storagekit.drive.base import AbstractDrive, Arm, Positioning, Target


class Slowed(AbstractDrive):
    """A drive whose arm and platter are slower than those that its targets were located for.

    drive: with its times as they are now. turning: the platter's speed, 1 at full speed.
    """

    drive: AbstractDrive
    turning: Float[Array, "..."]

    @property
    def capacity(self) -> int:
        return self.drive.capacity

    @property
    def cylinders(self) -> int:
        return self.drive.cylinders

    @property
    def heads(self) -> int:
        return self.drive.heads

    def locate(self, sector: Int[Array, "*row"], count: Int[Array, "*row"]) -> Target:
        raise NotImplementedError("locate on the drive at full speed; the transfer is stretched afterwards")

    def positioning(self, arm: Arm, angle: Float[Array, "*row"], target: Target, read: Array) -> Positioning:
        return self.drive.positioning(arm, angle, target, read)

    def transfer(self, target: Target) -> Float[Array, "*row"]:
        return self.drive.transfer(target) / self.turning

    def at_speed(self, seek: Float[Array, "*row"], turning: Float[Array, "*row"]) -> "Slowed":
        return Slowed(self.drive.at_speed(seek, turning), self.turning)

    def turns(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self.drive.turns(seconds)

    def seconds(self, turns: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self.drive.seconds(turns)

    def drift(self, seconds: Float[Array, "*row"]) -> Float[Array, "*row"]:
        return self.drive.drift(seconds)
