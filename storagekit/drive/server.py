"""Drives without mechanics: the single server of queueing theory, whose service time is size over rate, and flash memory."""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.checks import require_each_positive
from storagekit.core.kinds import AMOUNT, COUNT, SECTORS, SPAN
from storagekit.drive.base import Arm, OneKind, Positioning, Target
from storagekit.drive.slowed import Slowed


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

    rate: Float[AnyArray, "..."] = eqx.field(converter=named("rate"))
    capacity: int = eqx.field(static=True, default=2**24, converter=partial(SECTORS, "capacity"))

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

    rate: Float[AnyArray, "..."] = eqx.field(converter=named("rate"))
    read_page: Float[AnyArray, "..."] = eqx.field(converter=named("read_page"))
    program_page: Float[AnyArray, "..."] = eqx.field(converter=named("program_page"))
    erase_block: Float[AnyArray, "..."] = eqx.field(converter=named("erase_block"))
    overhead: Float[AnyArray, "..."] = eqx.field(converter=named("overhead"), default=0.0)
    amplification: Float[AnyArray, "..."] = eqx.field(converter=named("amplification"), default=1.0)
    page: int = eqx.field(static=True, default=32, converter=partial(COUNT, "page"))
    channels: int = eqx.field(static=True, default=8, converter=partial(COUNT, "channels"))
    block: int = eqx.field(static=True, default=256, converter=partial(COUNT, "block"))
    capacity: int = eqx.field(static=True, default=2**31 - 1, converter=partial(SECTORS, "capacity"))

    def __check_init__(self):
        require_each_positive("rate", self.rate, "sectors a second")
        for name in ("read_page", "program_page", "erase_block", "overhead"):
            SPAN.each(name, getattr(self, name))
        AMOUNT.each("amplification above 1", self.amplification - 1)

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
