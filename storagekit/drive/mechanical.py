"""Mechanical drives: an arm, a platter and zones."""

from functools import partial
from typing import Annotated, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import named, whole
from storagekit.core.validation import (
    COUNT,
    MOMENT,
    SPAN,
    TIME,
    flag,
    instance_of,
    require,
    require_seconds,
    traced,
    validate_fields,
)
from storagekit.drive.base import Arm, OneKind, Positioning, Target
from storagekit.drive.datasheet import GRAINS, Sheet
from storagekit.drive.geometry import SLACK, Geometry, first_and_last
from storagekit.drive.seek import AbstractSeek, ScaledSeek
from storagekit.drive.slowed import Slowed

# Tolerance for times in 32 bits, seconds.
ROUNDING = 1e-8


class Drive(OneKind):
    """A mechanical drive. All times are in seconds.

    Parameters
    ----------
    geometry : Geometry
        Zones, heads and skews.
    seek : AbstractSeek
        Seek time of a read as a function of distance.
    revolution : float
        Time of a revolution, seconds.
    head_switch : float
        Time of a head switch within a cylinder, seconds.
    write_settle : float
        Time in seconds by which the seek of a write exceeds the seek of a read; negative if the drive starts to write
        before it has settled as far as a read requires.
    overhead : float
        Time in seconds that precedes every access.
    name : str
        Name of the drive.
    grain : int
        Number of sectors of 512 bytes in a physical sector. A read of part of a physical sector reads the whole sector.
        A write of part of a physical sector first reads the sector, and writes it one revolution later.
    settles_on_switch : int
        1 if a write also settles after a head switch, as in DiskSim; 0 if it does not.

    Notes
    -----
    Positioning consists of three steps: the seek, or the head switch if the head differs and the switch takes longer;
    the settling of a write; and the rotation to the first sector.

    References
    ----------
    DiskSim 4.0, trackSwitchPlusRotation. srarray, section 4.1, gives the cost of a track switch without settling.
    """

    geometry: Annotated[
        Geometry, instance_of(Geometry, 'the geometry of a drive, such as sk.load_drive("atlas10k").geometry')
    ]
    seek: Annotated[AbstractSeek, instance_of(AbstractSeek, "a seek curve, as sk.drive.LinearSeek(0.01, 10_000)")]
    revolution: Annotated[Float[AnyArray, "..."], TIME.each] = eqx.field(converter=named("revolution"))
    head_switch: Annotated[Float[AnyArray, "..."], SPAN.each] = eqx.field(converter=named("head switch"))
    write_settle: Annotated[Float[AnyArray, "..."], MOMENT.each] = eqx.field(converter=named("write settle"))
    overhead: Annotated[Float[AnyArray, "..."], SPAN.each] = eqx.field(converter=named("overhead"))
    name: str = eqx.field(static=True)
    grain: int = eqx.field(static=True, default=1, converter=partial(COUNT, "grain"))
    settles_on_switch: Int[AnyArray, "..."] = eqx.field(converter=named("settles_on_switch", whole), default=1)

    def __check_init__(self):
        validate_fields(self)
        if not traced(self.settles_on_switch):
            wrong = np.asarray(self.settles_on_switch)
            require(np.isin(wrong, (0, 1)), "settles_on_switch", wrong, "0 or 1")
        self._check_settling()

    def _check_settling(self) -> None:
        """Raise InputError if the quickest arm movement plus a negative settling time is below 0."""
        if traced(self.write_settle) or np.min(self.write_settle) >= 0:
            return
        moves = self.seek(cast(Array, np.arange(1, max(self.cylinders, 2))))
        if traced(moves) or traced(self.head_switch):
            return
        switch = np.min(self.head_switch)
        quickest = min(np.min(moves), switch) if switch > 0 and self.heads > 1 else np.min(moves)
        least = f"at least {-quickest:.6g}; its sum with the shortest arm movement must not be negative"
        require(self.write_settle + quickest >= -ROUNDING, "write_settle", self.write_settle, least, "s")

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
        if self.grain == 1:
            return self._passed(first_and_last(sector, count))
        before, behind = sector % self.grain, -(sector + count) % self.grain
        whole = count + (before + behind).astype(count.dtype)
        target = self._passed(first_and_last(sector - before, whole))
        return target._replace(again=(before + behind > 0).astype(np.float32))

    def _passed(self, ends: Int[AnyArray, "2 *row"]) -> Target:
        return self.geometry.at(ends).locate(ends, self.revolution, self.step)

    def step(self, cylinders: Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        """Return the time in seconds that the arm takes from the last track of a zone to the first track of the next.

        cylinders: distance between the two tracks, cylinders.
        """
        return namespace(self.head_switch, cylinders).maximum(self.head_switch, self.seek(cylinders))

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        switch = jnp.where(target.head != arm.head, self.head_switch, 0.0)
        move = jnp.maximum(switch, self.seek(jnp.abs(target.cylinder - arm.cylinder)))
        settles = (target.cylinder != arm.cylinder) | (self.settles_on_switch != 0)
        settle = jnp.where((move > 0) & settles & ~read, self.write_settle, 0.0)
        seek = self.overhead + move + settle
        ahead = target.angle - (angle + self.turns(seek))
        # A sector that begins now has not passed. Without the tolerance, rounding would add a revolution.
        ahead = jnp.maximum(ahead - jnp.floor(ahead + SLACK), 0.0)
        if target.again is not None:
            ahead = ahead + jnp.where(read, 0.0, target.again)
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
                grain=self.grain,
                settles_on_switch=self.settles_on_switch,
            ),
            turning,
        )

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return seconds / self.revolution

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return turns * self.revolution

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        # The remainder is exact. The quotient of a long pause would lose the phase to rounding.
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
        media_rate: float | None = None,
        outer_rate: float | None = None,
        inner_rate: float | None = None,
        head_switch: float | None = None,
        write_settle: float = 0.0,
        overhead: float = 0.0,
        heads: int = 4,
        sector_bytes: int = units.SECTOR,
        settles_on_switch: bool = True,
        name: str = "data sheet drive",
    ) -> "Drive":
        """Return a drive from the values of a data sheet.

        Track lengths follow from the rates, and the number of cylinders follows from the capacity. Skews are just large
        enough for a head switch and a seek of one cylinder.

        Parameters
        ----------
        rpm : float
            Revolutions per minute.
        track_seek, average_seek, full_seek : float
            Track-to-track, average and full-stroke seek time of a read, seconds.
        capacity : float
            Capacity, bytes.
        media_rate : float, optional
            Rate within a track, bytes per second, for tracks of equal length.
        outer_rate, inner_rate : float, optional
            In place of `media_rate`: sustained rates of the outermost and the innermost zone, bytes per second.
        head_switch : float, optional
            Time of a head switch, seconds, by default the track-to-track seek time.
        write_settle : float
            Time in seconds by which the seek of a write exceeds the seek of a read, by default 0.
        overhead : float
            Time in seconds that precedes every access, by default 0.
        heads : int
            Number of heads, by default 4.
        sector_bytes : int
            Size of a physical sector, 512 or 4096 bytes, by default 512.
        settles_on_switch : bool
            Whether a write also settles after a head switch, by default True.
        name : str
            Name of the drive.

        Returns
        -------
        Drive
            The drive.

        Raises
        ------
        InputError
            If a value is impossible.

        Examples
        --------
        >>> from storagekit.drive import Drive
        >>> nearline = Drive.from_datasheet(
        ...     rpm=7200, track_seek=1e-3, average_seek=8.5e-3, full_seek=17e-3, capacity=20e12,
        ...     outer_rate=285e6, inner_rate=130e6, heads=20, sector_bytes=4096,
        ... )
        >>> f"{nearline.capacity * 512 / 1e12:.1f} TB on {nearline.cylinders:,} cylinders"
        '20.0 TB on 516,358 cylinders'
        """
        SPAN("overhead", overhead)
        require_seconds("overhead", overhead, "overhead")
        switch = track_seek if head_switch is None else head_switch
        sheet = Sheet(
            rpm,
            track_seek,
            average_seek,
            full_seek,
            capacity,
            switch,
            write_settle,
            heads,
            sector_bytes,
            media_rate,
            outer_rate,
            inner_rate,
        )
        sheet.check()
        shape = sheet.geometry()
        return cls(
            geometry=shape,
            seek=sheet.seek(shape.span),
            revolution=sheet.revolution,
            head_switch=switch,
            write_settle=write_settle,
            overhead=overhead,
            name=name,
            grain=GRAINS[sector_bytes],
            settles_on_switch=int(flag("settles_on_switch", settles_on_switch)),
        )
