"""A drive with an arm, a platter and zones."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from storagekit import units
from storagekit.arrays import AnyArray
from storagekit.checks import require, require_not_negative, written
from storagekit.drive.base import Arm, OneKind, Positioning, Target
from storagekit.drive.geometry import Geometry, geometry, plain_zone
from storagekit.drive.seek import AbstractSeek, ScaledSeek, seek_from_three
from storagekit.drive.slowed import Slowed
from storagekit.errors import InputError
from storagekit.lanes import real

# turns; under a tenth of a sector
SLACK = 1e-5


class Drive(OneKind):
    """A mechanical drive. Times in seconds.

    Positioning is the longer of the head switch (if the head differs) and the seek; if that is not zero and the access is
    a write, `write_settle` is added; then the platter turns until the first sector is under the head (DiskSim 4.0,
    trackSwitchPlusRotation). `overhead` precedes every access.
    """

    geometry: Geometry
    seek: AbstractSeek
    revolution: Float[AnyArray, "..."] = eqx.field(converter=real)
    head_switch: Float[AnyArray, "..."] = eqx.field(converter=real)
    write_settle: Float[AnyArray, "..."] = eqx.field(converter=real)
    overhead: Float[AnyArray, "..."] = eqx.field(converter=real)
    name: str = eqx.field(static=True)

    @property
    def capacity(self) -> int:
        return self.geometry.capacity

    @property
    def cylinders(self) -> int:
        return self.geometry.span

    @property
    def heads(self) -> int:
        return self.geometry.heads

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Target:
        return self.geometry.at(sector).locate(sector, count, self.revolution)

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        switch = jnp.where(target.head != arm.head, self.head_switch, 0.0)
        move = jnp.maximum(switch, self.seek(jnp.abs(target.cylinder - arm.cylinder)))
        settle = jnp.where((move > 0) & ~read, self.write_settle, 0.0)
        seek = self.overhead + move + settle
        ahead = target.angle - (angle + self.turns(seek))
        # a sector that is just there has not passed: without a hair of slack, rounding would cost it a revolution
        ahead = jnp.maximum(ahead - jnp.floor(ahead + SLACK), 0.0)
        return Positioning(seek, ahead * self.revolution)

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> Slowed:
        return Slowed(
            Drive(
                geometry=self.geometry,
                seek=ScaledSeek(self.seek, 1 / seek),
                revolution=self.revolution / turning,
                head_switch=self.head_switch / seek,
                write_settle=self.write_settle / seek,
                overhead=self.overhead / seek,
                name=self.name,
            ),
            turning,
        )

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return seconds / self.revolution

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return turns * self.revolution

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        # the remainder is exact, where a quotient of a long pause would round the phase away
        return jnp.fmod(seconds, self.revolution) / self.revolution

    @classmethod
    def from_datasheet(
        cls,
        *,
        rpm: float,
        track_seek: float,
        average_seek: float,
        full_seek: float,
        capacity: float,
        media_rate: float,
        head_switch: float | None = None,
        write_settle: float = 0.0,
        heads: int = 4,
        name: str = "data sheet drive",
    ) -> "Drive":
        """A drive of one zone from what a data sheet prints.

        Times in seconds (track-to-track, average and full-stroke seek of a read), capacity in bytes, media_rate in bytes
        a second. Track length follows from the rate, the number of cylinders from the capacity; skews just cover the head
        switch (default: the track-to-track seek) and the one-cylinder seek. Raises InputError on impossible figures.
        """
        require_not_negative("write_settle", write_settle, "s")
        figures = {
            "rpm": rpm,
            "track_seek": track_seek,
            "capacity": capacity,
            "media_rate": media_rate,
            "heads": heads,
        }
        for label, figure in figures.items():
            require(0 < figure < math.inf, label, figure, "above 0 and finite; take it from the data sheet")
        revolution = units.revolution(rpm)
        length = max(1, round(media_rate * revolution / units.SECTOR))
        cylinders = round(capacity / units.SECTOR / (length * heads))
        if cylinders < 10:
            raise InputError(
                f"capacity {written(capacity)} bytes: {length * heads} sectors a cylinder leave {cylinders} cylinders; "
                "check it"
            )
        switch = track_seek if head_switch is None else head_switch
        per_second = length / revolution
        track_skew = math.ceil(switch * per_second)
        cylinder_skew = math.ceil((max(track_seek, switch) + write_settle) * per_second)
        return cls(
            geometry=geometry([plain_zone(cylinders, length, track_skew, cylinder_skew)], heads, serpentine=False),
            seek=seek_from_three(track_seek, average_seek, full_seek, cylinders),
            revolution=revolution,
            head_switch=switch,
            write_settle=write_settle,
            overhead=0.0,
            name=name,
        )
