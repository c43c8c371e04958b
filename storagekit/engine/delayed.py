"""Delayed writes: one copy now, the others when the drives have time (srarray, section 3.4).

A block's replicas are numbered copy * D_r + replica, one bit each. Once the first copy of a write is on disk all other
replicas are stale; each that is written afterwards is not. Whoever writes last decides: when the first copy of a write is
on disk, older writes that it covers have nothing left to do. A replica left for later is written with the newest data, so
that a write which overlaps an older one in part needs no order between them. A read that arrives goes to replicas that are
not stale; where overlapping writes leave none, to any, what is newer coming from the copies that wait in memory.

After a crash memory is lost; what is known is which replicas were current (`pending`): the rest is copied from there.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.engine.propagation import AbstractPropagation, Access, Offer, refuse_lead
from storagekit.errors import InputError
from storagekit.lanes import bit, computed_once, count, held, mask_of, pick, rows, union, whole
from storagekit.placement import AbstractPlacement, of_copy


class Delayed(NamedTuple):
    """Private state, for the request in each slot.

    replicas: where a read, or the first copy of a write, may go; of a write that has started, where it still has to go.
    started: the first copy is on disk. start, stop: its sectors, stop excluded.
    """

    replicas: UInt32[Array, "slot *lanes"]
    started: Bool[Array, "slot *lanes"]
    start: Int[Array, "slot *lanes"]
    stop: Int[Array, "slot *lanes"]


class Background(AbstractPropagation):
    """One copy of a write like a read, the others once nothing else waits at their drives.

    table: writes with copies left to write at which these are forced: they compete with everything else until there are
    fewer (10,000 entries in srarray). A write holds its slot until its last copy is written, so that the
    system's slots bound the table as well; what does not fit waits outside and is counted.
    """

    table: Int[Array, "..."] = eqx.field(converter=whole, default=10_000)

    def __check_init__(self):
        if np.any(np.asarray(self.table) < 1):
            raise InputError(f"a table of {int(np.min(self.table))} delayed writes: it must hold at least 1")

    def check(self, lead, copies, replicas):
        refuse_lead(lead)

    def init(self, slots, lanes):
        def full(value, kind):
            return jnp.full((slots, *lanes), value, kind)

        return Delayed(full(0, jnp.uint32), full(False, bool), full(0, jnp.int32), full(0, jnp.int32))

    def usable(self, private: Delayed, request, placement):
        overlaps = (private.start < request.sector + request.sectors) & (private.stop > request.sector)
        stale = union(jnp.where(private.started & overlaps, private.replicas, jnp.uint32(0)))
        every = mask_of(placement.copies * placement.replicas)
        current = every & ~stale
        return computed_once(jnp.where(request.read & (current != 0), current, every))

    def asked(self, routed, request, placement):
        return routed

    def admit(self, private: Delayed, into, request, usable):
        return Delayed(
            replicas=jnp.where(into, usable, private.replicas),
            started=private.started & ~into,
            start=jnp.where(into, request.sector, private.start),
            stop=jnp.where(into, request.sector + request.sectors, private.stop),
        )

    def offer(self, private: Delayed, waiting, copy, placement):
        usable = of_copy(private.replicas, copy, placement)
        delayed = private.started & (usable != 0)
        forced = count(private.started & (private.replicas != 0)) >= self.table
        waits = (held(waiting, copy) & (usable != 0)) | delayed
        return Offer(waits, delayed, delayed & ~forced, usable)

    def shared(self, read, delayed):
        return ~delayed

    def last(self, private: Delayed, slot, waiting):
        left = pick(private.replicas, slot)
        return (left & (left - 1)) == 0

    def sweep(self, placement, drive):
        return jnp.float32(0)

    def done(self, private: Delayed, access: Access, placement: AbstractPlacement):
        at = (rows(private.start.shape[0], private.start) == access.slot) & access.written
        written = bit(access.copy * placement.replicas + access.replica)
        first = computed_once(access.written & ~pick(private.started, access.slot))
        every = mask_of(placement.copies * placement.replicas)
        left = jnp.where(first, every, pick(private.replicas, access.slot)) & ~written
        left = computed_once(jnp.where(access.written, left, jnp.uint32(0)))
        covered = (private.start >= pick(private.start, access.slot)) & (
            private.stop <= pick(private.stop, access.slot)
        )
        over = private.started & covered & first & ~at
        replicas = jnp.where(at, left, jnp.where(over, jnp.uint32(0), private.replicas))
        return private._replace(replicas=replicas, started=private.started | at), left

    def keeps(self, private: Delayed, read):
        return ~read & (private.replicas != 0)
