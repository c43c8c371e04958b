"""Drives without mechanics: flash memory, and a single server whose service time is the size divided by the rate."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.validation import AMOUNT, COUNT, POSITIVE, SECTORS, SPAN, Count, require, validate
from storagekit.drive.base import Arm, OneKind, Positioning, Target
from storagekit.drive.slowed import Slowed


class Still(OneKind):
    """Base class of drives without rotation."""

    rate: eqx.AbstractVar[Float[AnyArray, "..."]]

    @property
    def cylinders(self) -> int:
        return 1

    @property
    def heads(self) -> int:
        return 1

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Target:
        # Addresses may have 64 bits, but the event loop carries 32 bits.
        nowhere = (sector * 0).astype(np.int32)
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
    """A server that transfers at a constant rate: the service time depends only on the request size.

    Parameters
    ----------
    rate : float
        Sectors per second.
    capacity : int
        Number of sectors, by default 2^24.

    Raises
    ------
    InputError
        If a value is impossible.
    """

    rate: Float[AnyArray, "..."] = eqx.field(converter=named("rate"))
    capacity: int = eqx.field(static=True, default=2**24, converter=partial(SECTORS, "capacity"))

    def __check_init__(self):
        POSITIVE.in_unit("sectors a second").each("service rate", self.rate)

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        none = jnp.zeros_like(target.angle)
        return Positioning(none, none)


class Flash(Still):
    """Flash memory that serves one request at a time, from one queue.

    It reads or programs `channels` pages simultaneously. Sectors cross between drive and host at `rate`.

    Parameters
    ----------
    rate : float
        Sectors per second between drive and host.
    read_page, program_page, erase_block : float
        Time in seconds to read a page, to program a page, and to erase a block.
    overhead : float
        Time of every request, seconds, by default 0.
    amplification : float
        Number of pages that the drive programs for each page that the host writes, by default 1. The additional pages
        are pages that the drive moves in order to free blocks.
    page : int
        Number of sectors in a page, by default 32.
    channels : int
        Number of pages that are read or programmed simultaneously, by default 8.
    block : int
        Number of pages that are erased together, by default 256.
    capacity : int
        Number of sectors, by default 2^31 - 1.

    Raises
    ------
    InputError
        If a value is impossible.

    Notes
    -----
    The model does not store the location of data. Every write includes the long-run average time for erasing blocks and
    moving pages. As a single drive, all channels serve the same request, and requests are served one after the other.
    With `channel_group`, groups of channels serve different requests at the same time.

    Examples
    --------
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
        POSITIVE.in_unit("sectors a second").each("rate", self.rate)
        for name in ("read_page", "program_page", "erase_block", "overhead"):
            SPAN.each(name, getattr(self, name))
        AMOUNT.each("amplification above 1", self.amplification - 1)

    @validate
    def channel_group(self, groups: Count) -> "Flash":
        """Return one of several equal groups of channels as a separate drive.

        Parameters
        ----------
        groups : int
            Number of groups, a divisor of `channels`.

        Returns
        -------
        Flash
            The group: a share of the channels and of the capacity, with the same times.

        Raises
        ------
        InputError
            If `groups` does not divide `channels`, or exceeds the number of sectors.

        Notes
        -----
        A system in which each SSD serves as many requests at a time as it has groups is a layout of bricks:
        `Bricks(layout, groups, unit)`, where each drive of `layout` is an SSD. Stripe units are placed on the groups in
        rotation, so that the address of a request determines its group. With stripe units of as many pages as a group has
        channels, a request within a unit is accessed in one step. A longer request occupies only its first group, for
        several steps. Only on a single SSD, as `Striped(groups, unit)`, all groups that a request touches serve it together.

        The groups do not share the connection to the host: each transfers at `rate`. The model is therefore not valid for
        loads that exceed the `rate` of the SSD.

        Examples
        --------
        >>> import storagekit as sk
        >>> ssd = sk.drive.Flash(rate=4e6, read_page=60e-6, program_page=600e-6, erase_block=5e-3, page=8)
        >>> mirror = sk.placement.Bricks(sk.placement.Replicas(2), 8, unit=8)
        >>> system = sk.System(ssd.channel_group(8), mirror, sk.dispatch.Hashing(), sk.schedule.FCFS())
        >>> reads = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
        >>> seen = sk.simulate(sk.Scenario(system, sk.workload.ClosedLoop(reads, outstanding=64)), requests=20_000)
        >>> one_by_one = 2 / (60e-6 + 8 / 4e6)
        >>> f"{float(seen.request_rate) / one_by_one:.0f} times the reads of two SSDs that serve one request at a time"
        '7 times the reads of two SSDs that serve one request at a time'
        """
        require(self.capacity >= groups, "groups", groups, f"at most {self.capacity}, the number of sectors")
        require(self.channels % groups == 0, "groups", groups, f"a divisor of {self.channels}, the number of channels")
        return replace(self, channels=self.channels // groups, capacity=self.capacity // groups)

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Target:
        """Return the location of a request. Its field `head` is the number of pages that the busiest channel accesses.

        For schedulers, all requests are on a single cylinder.
        """
        pages = (sector + count - 1) // self.page - sector // self.page + 1
        return super().locate(sector, count)._replace(head=-(-pages // self.channels).astype(np.int32))

    def per_wave(self, read: Bool[AnyArray, "*#row"] | bool) -> Float[AnyArray, "*#row"]:
        """Return the time in seconds to access one page on each channel in parallel.

        For a write, the result includes the average time for erasing blocks and moving pages.
        """
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
