"""Delayed writes: one copy now, the others when the drives have time (srarray, section 3.4).

A block's replicas are numbered copy * D_r + replica, one bit each. Where the paper sets the other updates aside as soon
as the first is scheduled, here they may start once it is on disk, so that a crash finds a current copy. Once the first
copy of a write is on disk all other replicas are stale; each that is written afterwards is not. Whoever writes last
decides: when the first copy of a write is on disk, older writes that it covers have nothing left to do. A replica left
for later is written with the newest data, so that a write which overlaps an older one in part needs no order between
them. A read that arrives goes to replicas that are not stale; where overlapping writes leave none, to any, what is newer
coming from the copies that wait in memory.

After a crash memory is lost; the metadata table says which replicas are current (`pending`): the rest is copied from there.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.arrays import AnyArray
from storagekit.drive import AbstractMechanics
from storagekit.errors import InputError
from storagekit.lanes import bit, count, held, mask_of, pick, rows, union, whole
from storagekit.moments import Ended, Entered, Rule, Sizes
from storagekit.placement import AbstractPlacement, of_part
from storagekit.workload import Requests
from storagekit.write.base import AbstractWrite, Offer


class Delayed(NamedTuple):
    """Private state, for the request in each slot.

    replicas: where a read, or the first copy of a write, may go; of a write that has started, where it still has to go.
    order: 0 until the first copy is on disk, then the rank of that among all first copies so far, from 1. begun: how many
    these are. start, stop: its sectors, stop excluded.
    """

    replicas: UInt32[Array, "slot *lanes"]
    order: Int[Array, "slot *lanes"]
    start: Int[Array, "slot *lanes"]
    stop: Int[Array, "slot *lanes"]
    begun: Int[Array, "1 *lanes"]

    @property
    def started(self) -> Bool[Array, "slot *lanes"]:
        """The first copy is on disk."""
        return self.order > 0


class Background(AbstractWrite):
    """One copy of a write like a read, the others once nothing else waits at their drives.

    Answered when the first copy is on disk; with nvram 1 as it arrives. table: writes with copies left to write at which
    these are forced: they compete with everything else until there are
    fewer (10,000 entries in srarray). A write holds its slot until its last copy is written, so that the
    system's slots bound the table as well; what does not fit waits outside and is counted.
    """

    table: Int[AnyArray, "..."] = eqx.field(converter=whole, default=10_000)
    nvram: Int[AnyArray, "..."] = eqx.field(converter=whole, default=0)

    def __check_init__(self):
        if np.any(np.asarray(self.table) < 1):
            raise InputError(f"a table of {int(np.min(self.table))} delayed writes: it must hold at least 1")
        if not np.all(np.isin(np.asarray(self.nvram), (0, 1))):
            raise InputError(f"nvram {int(np.max(self.nvram))}: give 1 where writes are safe as they arrive, else 0")

    def check(self, lead, parts, replicas):
        if lead > 0:
            raise InputError(
                f"delayed writes under a dispatcher that chooses {lead:g} s early: use one without messages, or write at once"
            )

    def rule(self, parts, receiving, readable):
        return Rule(parts, jnp.zeros_like(receiving) + jnp.where(self.nvram != 0, 0, 1))

    @property
    def delays(self):
        return True

    def init(self, sizes: Sizes) -> Delayed:
        def full(value: int, kind: DTypeLike) -> Shaped[Array, "slot *lanes"]:
            return jnp.full((sizes.slots, *sizes.lanes), value, kind)

        nowhere = full(0, jnp.int32)
        return Delayed(full(0, jnp.uint32), nowhere, nowhere, nowhere, jnp.zeros((1, *sizes.lanes), jnp.int32))

    def usable(self, private: Delayed, request: Requests, placement: AbstractPlacement) -> UInt32[Array, "1 *lanes"]:
        overlaps = (private.start < request.sector + request.sectors) & (private.stop > request.sector)
        stale = union(jnp.where(private.started & overlaps, private.replicas, jnp.uint32(0)))
        every = mask_of(placement.parts * placement.replicas)
        current = every & ~stale
        return jnp.where(request.read & (current != 0), current, every)

    def asked(self, routed, parts, read):
        return routed

    def entered(self, private: Delayed, moment: Entered) -> Delayed:
        into, request = moment.into, moment.request
        assert moment.usable is not None
        return private._replace(
            replicas=jnp.where(into, moment.usable, private.replicas),
            order=jnp.where(into, 0, private.order),
            start=jnp.where(into, request.sector, private.start),
            stop=jnp.where(into, request.sector + request.sectors, private.stop),
        )

    def offer(
        self,
        private: Delayed,
        waiting: UInt32[Array, "slot *lanes"],
        part: Int[Array, "slot *lanes"],
        placement: AbstractPlacement,
    ) -> Offer:
        usable = of_part(private.replicas, part, placement)
        delayed = private.started & (usable != 0)
        forced = count(private.started & (private.replicas != 0)) >= self.table
        waits = (held(waiting, part) & (usable != 0)) | delayed
        return Offer(waits, delayed, delayed & ~forced, usable)

    def sweep(self, placement: AbstractPlacement, mechanics: AbstractMechanics) -> Float[AnyArray, "..."]:
        return jnp.float32(0)

    def ended(self, private: Delayed, moment: Ended) -> Delayed:
        slot, placement = moment.slot, moment.placement
        at = (rows(private.start.shape[0], private.start) == slot) & moment.written
        written = bit(moment.part * placement.replicas + moment.replica)
        first = moment.written & ~pick(private.started, slot)
        every = mask_of(placement.parts * placement.replicas)
        left = jnp.where(first, every, pick(private.replicas, slot)) & ~written
        left = jnp.where(moment.written, left, jnp.uint32(0))
        covered = (private.start >= pick(private.start, slot)) & (private.stop <= pick(private.stop, slot))
        over = private.started & covered & first & ~at
        replicas = jnp.where(at, left, jnp.where(over, jnp.uint32(0), private.replicas))
        order = jnp.where(at & first, private.begun + 1, private.order)
        return private._replace(replicas=replicas, order=order, begun=private.begun + first)

    def left(self, private: Delayed, slot: Int[Array, "1 *lanes"]) -> UInt32[Array, "1 *lanes"]:
        return pick(private.replicas, slot)

    def keeps(self, private: Delayed, read: Bool[Array, "slot *lanes"]) -> Bool[Array, "slot *lanes"]:
        return ~read & (private.replicas != 0)
