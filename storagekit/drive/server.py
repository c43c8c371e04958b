"""Drives without mechanics: the single server of queueing theory, whose service time is size over rate, and flash memory."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from storagekit.arrays import AnyArray
from storagekit.checks import require_each_positive, require_not_negative
from storagekit.drive.base import Arm, OneKind, Positioning, Target
from storagekit.drive.slowed import Slowed
from storagekit.lanes import real


class Still(OneKind):
    """A drive that does not turn."""

    rate: eqx.AbstractVar[Float[AnyArray, "..."]]

    @property
    def cylinders(self) -> int:
        return 1

    @property
    def heads(self) -> int:
        return 1

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Target:
        nowhere = sector * 0
        return Target(
            nowhere,
            nowhere,
            nowhere.astype(np.float32),
            count.astype(np.float32) / self.rate,
            Arm(nowhere, nowhere),
        )

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> Slowed:
        return Slowed(self, turning)

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return jnp.zeros_like(seconds)

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return turns * 0

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return jnp.zeros_like(seconds)


class RateServer(Still):
    """Serves `rate` sectors a second wherever they lie, so that the size model is the service-time model."""

    rate: Float[AnyArray, "..."] = eqx.field(converter=real)
    capacity: int = eqx.field(static=True, default=2**24)

    def __check_init__(self):
        require_each_positive("service rate", self.rate, "sectors a second")

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        none = jnp.zeros_like(target.angle)
        return Positioning(none, none)


class Flash(Still):
    """Flash memory behind one queue, one request at a time: its pages are read or programmed `channels` at a time, and its
    sectors cross to the host, or from it, at `rate` sectors a second.

    overhead: seconds of every request. read_page, program_page, erase_block: seconds. page: sectors; block: pages that are
    erased together. amplification: pages programmed for each that is written, the others being moved by the drive as it makes
    room; 1 for none. It has no memory of what lies where: every write pays its share of erasing and moving, as in the
    long run. Requests that a real drive would serve side by side wait for one another here.
    Raises InputError where a figure is impossible.

    >>> import storagekit as sk
    >>> ssd = sk.drive.Flash(rate=1e6, read_page=60e-6, program_page=600e-6, erase_block=5e-3, overhead=20e-6)
    >>> f"a page: read in {float(ssd.per_wave(True)) * 1e6:.0f} us, written in {float(ssd.per_wave(False)) * 1e6:.0f} us"
    'a page: read in 60 us, written in 620 us'
    """

    rate: Float[AnyArray, "..."] = eqx.field(converter=real)
    read_page: Float[AnyArray, "..."] = eqx.field(converter=real)
    program_page: Float[AnyArray, "..."] = eqx.field(converter=real)
    erase_block: Float[AnyArray, "..."] = eqx.field(converter=real)
    overhead: Float[AnyArray, "..."] = eqx.field(converter=real, default=0.0)
    amplification: Float[AnyArray, "..."] = eqx.field(converter=real, default=1.0)
    page: int = eqx.field(static=True, default=32)
    channels: int = eqx.field(static=True, default=8)
    block: int = eqx.field(static=True, default=256)
    capacity: int = eqx.field(static=True, default=2**31 - 1)

    def __check_init__(self):
        require_each_positive("rate", self.rate, "sectors a second")
        for name in ("page", "channels", "block"):
            require_each_positive(name, getattr(self, name))
        for name in ("read_page", "program_page", "erase_block", "overhead"):
            require_not_negative(name, getattr(self, name), "s")
        require_not_negative("amplification above 1", self.amplification - 1)

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Target:
        """Its head is how many pages in turn a request needs of the busiest channel: schedulers see one cylinder."""
        pages = (sector + count - 1) // self.page - sector // self.page + 1
        return super().locate(sector, count)._replace(head=-(-pages // self.channels))

    def per_wave(self, read: Bool[AnyArray, "*#row"] | bool) -> Float[AnyArray, "*#row"]:
        """Seconds of as many pages as there are channels."""
        written = self.amplification * (self.program_page + self.erase_block / self.block)
        return jnp.where(read, self.read_page, written + (self.amplification - 1) * self.read_page)

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> Slowed:
        def times(flash: Flash) -> tuple:
            return flash.overhead, flash.read_page, flash.program_page, flash.erase_block

        return Slowed(eqx.tree_at(times, self, tuple(time / seek for time in times(self))), turning)

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        none = jnp.zeros_like(target.angle)
        return Positioning(self.overhead + target.head.astype(np.float32) * self.per_wave(read) + none, none)
