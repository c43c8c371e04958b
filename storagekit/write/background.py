"""Delayed writes: one copy is written without delay, and the other copies are written when drives are idle.

The replicas of a block are numbered copy * D_r + replica, and each has one bit in a mask. In the paper, the other
copies are deferred from the time at which the first copy is scheduled. In this model they may start only when the first
copy is on disk, so that a current copy is on disk after a crash. From that time on, all other replicas are stale until
they are written. When the first copy of a write reaches the disk, all older delayed writes that lie entirely within its
sectors are removed from the table. A delayed replica is written with the newest data, so that the order of partly
overlapping writes does not matter. An arriving read is sent to replicas that are not stale. If overlapping writes leave
no such replica, the read may use any replica, and newer data comes from the copies in memory.

A write moves to the table when its first copy is on disk. The slot of the write is released when the write has also
completed. A crash loses the data in memory. The table states which replicas are current (`pending`), and the other
replicas are restored from the current replicas.

References
----------
srarray, section 3.4.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import AccessEnded, AccessStarted, CompletionRule, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import (
    any_row,
    bit,
    bit_is_set,
    mask_of,
    min_row,
    named,
    pick,
    row_index,
    union,
    where_tree,
    whole,
)
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, traced
from storagekit.drive import AbstractMechanics
from storagekit.placement import AbstractPlacement, of_part
from storagekit.workload import Requests
from storagekit.write.backlog import COVERED, FIRST, Backlog, BacklogClock, backlog, numbers
from storagekit.write.base import AbstractWrite, DelayedPart, Price, WaitingParts
from storagekit.write.table import DelayedWriteTable


class FirstCopies(NamedTuple):
    """Row of the table of delayed writes: a write whose first copy is on disk.

    Parameters
    ----------
    number : array of int32, shape `[1, *batch]`
        Number of the request.
    start, stop : array of int, shape `[1, *batch]`
        First sector of the write, and the sector after its last sector.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the write.
    arrival_time : BacklogClock
        Arrival time of the write.
    left : array of uint32, shape `[1, *batch]`
        Mask of the replicas still to be written.
    order : array of int32, shape `[1, *batch]`
        Rank, from 1, of the first copy of this write among the first copies of all writes so far.
    """

    number: Int[Array, "1 *batch"]
    start: Int[Array, "1 *batch"]
    stop: Int[Array, "1 *batch"]
    location: Any
    arrival_time: BacklogClock
    left: UInt32[Array, "1 *batch"]
    order: Int[Array, "1 *batch"]


class Delayed(NamedTuple):
    """Private state of delayed writes.

    Parameters
    ----------
    replicas : array of uint32, shape `[slot, *batch]`
        For each slot, mask of the replicas that may serve the read, or that may become the first copy of the write. It
        is 0 after the first copy is on disk.
    start, stop : array of int, shape `[slot, *batch]`
        First sector of the request, and the sector after its last sector.
    backlog : Backlog
        Delayed writes, with rows of `FirstCopies`.
    begun : array of int32, shape `[1, *batch]`
        Number of writes whose first copy has reached the disk.
    moved : array of int32, shape `[1, *batch]`
        Rank of the last write that has moved to the foreground queues; 0 if no write has moved.
    forced : array of int32, shape `[1, *batch]`
        Number of rows of the table with a rank up to `moved`.
    """

    replicas: UInt32[Array, "slot *batch"]
    start: Int[Array, "slot *batch"]
    stop: Int[Array, "slot *batch"]
    backlog: Backlog
    begun: Int[Array, "1 *batch"]
    moved: Int[Array, "1 *batch"]
    forced: Int[Array, "1 *batch"]

    @property
    def table(self) -> DelayedWriteTable:
        """Return the table of the delayed writes."""
        return self.backlog.table


class Background(AbstractWrite):
    """Write one copy in the foreground, like a read, and each other copy when no request waits at its drive.

    The other copies wait in a queue of each drive, first in, first out. When the table of delayed writes has `table`
    entries, all copies in it move to the foreground queues. The scheduler then selects among these copies and the
    requests.

    Parameters
    ----------
    table : int
        Number of writes in the table at which all remaining copies move to the foreground, at least 1, by default
        10,000 as in srarray. In srarray, writes with a first copy in progress count too.
    nvram : int
        With 0, the default, a write completes when its first copy is on disk. With 1, it completes when it arrives.
    most : int
        Number of writes at which the table is full, by default 16,000. It is equal in all runs of a batch. Requests
        that arrive while the table is full wait outside and are counted. This includes reads, because requests enter in
        the order of their arrival. The memory for the data is not bounded.

    Raises
    ------
    InputError
        If a number is out of range.

    References
    ----------
    srarray, section 3.4.
    """

    table: Int[AnyArray, "..."] = eqx.field(converter=named("a table of", whole), default=10_000)
    nvram: Int[AnyArray, "..."] = eqx.field(converter=named("nvram", whole), default=0)
    most: int = eqx.field(static=True, default=16_000, converter=partial(COUNT, "Background.most"))

    def __check_init__(self):
        if traced(self.table, self.nvram):
            return
        if np.any(self.table < 1):
            raise InputError(f"a table of {int(np.min(self.table))} delayed writes: give at least 1")
        if np.any(self.table >= self.most):
            forced = int(np.max(self.table))
            raise InputError(
                f"a table of {forced} delayed writes, but Background.most is {self.most}: give Background.most above "
                f"{forced}"
            )
        if not np.all(np.isin(np.asarray(self.nvram), (0, 1))):
            raise InputError(f"nvram {int(np.max(self.nvram))}: give 1 if writes are safe at arrival, else 0")

    def check(self, facts):
        if facts.lead_time > 0:
            raise InputError(
                f"delayed writes with a dispatcher that selects requests {facts.lead_time:g} s before a disk is idle: use a "
                "dispatcher without messages, or a policy without delayed writes"
            )

    def rule(self, parts, receiving, readable):
        return CompletionRule(parts, jnp.zeros_like(receiving) + jnp.where(self.nvram != 0, 0, 1))

    @property
    def delays(self):
        return True

    def init(self, sizes: StateSizes) -> Delayed:
        slot = numbers(sizes.slots, sizes, 0, int)
        # A request in any slot may still become a row.
        left = backlog(FirstCopies, self.most + sizes.slots, sizes)
        none = numbers(1, sizes)
        return Delayed(numbers(sizes.slots, sizes, 0, jnp.uint32), slot, slot, left, none, none, none)

    def has_room(self, private: Delayed) -> Bool[Array, "1 *batch"]:
        return private.table.size < self.most

    def usable(
        self, private: Delayed, request: Requests, admitted: Bool[Array, "1 *batch"], placement: AbstractPlacement
    ) -> UInt32[Array, "1 *batch"]:
        end = request.sector + request.sectors

        def look(stale, copies, number, there):
            overlaps = there & (copies.start < end) & (copies.stop > request.sector)
            return stale | union(jnp.where(overlaps, copies.left, jnp.uint32(0)))

        every = jnp.zeros(admitted.shape, jnp.uint32) | mask_of(placement.parts * placement.replicas)
        stale = private.table.fold(admitted & request.read, look, jnp.zeros_like(every))
        return jnp.where(every & ~stale != 0, every & ~stale, every)

    def targets(self, private, routed, read, location, placement):
        return routed

    def on_admitted(self, private: Delayed, event: RequestAdmitted) -> Delayed:
        into, request = event.slot_mask, event.request
        assert event.usable is not None
        return private._replace(
            replicas=jnp.where(into, event.usable, private.replicas),
            start=jnp.where(into, request.sector, private.start),
            stop=jnp.where(into, request.sector + request.sectors, private.stop),
        )

    def offer(
        self,
        private: Delayed,
        waiting: UInt32[Array, "slot *batch"],
        part: Int[Array, "slot *batch"],
        placement: AbstractPlacement,
    ) -> WaitingParts:
        usable = of_part(private.replicas, part, placement)
        return WaitingParts(bit_is_set(waiting, part) & (usable != 0), usable)

    def next_delayed(
        self,
        private: Delayed,
        drive: Int[Array, "1 *batch"],
        chooses: Bool[Array, "1 *batch"],
        bound: Float[Array, "1 *batch"],
        price: Price,
        placement: AbstractPlacement,
    ) -> DelayedPart:
        needed = chooses & (jnp.isinf(bound) | (private.forced > 0))

        def moved(copies: FirstCopies) -> Bool[Array, "row *batch"]:
            return copies.order <= private.moved

        def order(copies: FirstCopies) -> Int[Array, "row *batch"]:
            return copies.order

        return private.backlog.next_delayed(drive, needed, bound, price, placement, foreground=moved, rank=order)

    def sweep(
        self, placement: AbstractPlacement, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]
    ) -> Float[AnyArray, "..."]:
        return jnp.float32(0)

    def on_access_started(self, private: Delayed, event: AccessStarted) -> Delayed:
        return private._replace(backlog=private.backlog.taken(event))

    def ends_delayed(self, private: Delayed, drive: Int[Array, "1 *batch"]) -> Bool[Array, "1 *batch"]:
        return ~pick(private.backlog.of_slot, drive)

    def on_access_ended(self, private: Delayed, event: AccessEnded) -> Delayed:
        # A drive that has not received a claim may write another first copy, which does not count.
        first = event.written & (pick(private.replicas, event.slot) != 0)
        start, stop = pick(private.start, event.slot), pick(private.stop, event.slot)
        left_over, covered = _without_covered(private.backlog, start, stop, first, private.moved)
        table, placement = left_over.table, event.placement
        at = pick(left_over.writes, event.drive)
        old = table.row(at)
        again = event.ended & (at >= 0)
        location = where_tree(again, old.location, event.location)
        written = bit(placement.part_on(event.drive, location) * placement.replicas + event.replica)
        every = mask_of(placement.parts * placement.replicas)
        left = jnp.where(again, old.left, every) & ~written
        arrival_time = left_over.now.after(event.arrival_time)
        fresh = FirstCopies(event.number, start, stop, location, arrival_time, left, private.begun + 1)
        row = where_tree(again, old._replace(left=left), fresh)
        table = table.put(jnp.where(first, table.size, at), row, (first | again) & (left != 0))
        over = again & (left == 0)
        left_over = left_over._replace(table=table).without(at, over, FIRST)
        slot = row_index(private.replicas.shape[0], private.replicas) == event.slot
        replicas = jnp.where(slot & first, jnp.uint32(0), private.replicas)
        begun, size = private.begun + first, left_over.table.size
        fewer = private.forced - covered - (over & (old.order <= private.moved))
        full = first & (size >= self.table)
        return private._replace(
            replicas=replicas,
            backlog=left_over,
            begun=begun,
            moved=jnp.where(full, begun, private.moved),
            forced=jnp.where(full, size, fewer),
        )

    def needs_slots(self, private: Delayed, read: Bool[Array, "slot *batch"]) -> Bool[Array, "slot *batch"]:
        return ~read & (private.replicas != 0)

    def elapse(self, private: Delayed, time: Float[Array, "1 *batch"]) -> Delayed:
        return private._replace(backlog=private.backlog.elapse(time))


def _without_covered(
    left_over: Backlog,
    start: Int[Array, "1 *batch"],
    stop: Int[Array, "1 *batch"],
    first: Bool[Array, "1 *batch"],
    moved: Int[Array, "1 *batch"],
) -> tuple[Backlog, Int[Array, "1 *batch"]]:
    """Return the backlog without older writes that a newer write covers, and the number of removed foreground writes.

    start, stop: first sector of the newer write, and the sector after its last sector. first: whether the first copy of
    the newer write has reached the disk. moved: rank of the last write that has moved to the foreground.
    """

    def covered(table: DelayedWriteTable, needed: Bool[Array, "1 *batch"]) -> tuple[Array, Array]:
        """Return the last covered row, or FIRST, and whether the copies of this row had moved to the foreground."""

        def look(best, copies, number, there):
            at, had_moved = best
            within = there & (copies.start >= start) & (copies.stop <= stop)
            here = -min_row(jnp.where(within, -number, 1))
            its = any_row(within & (number == here) & (copies.order <= moved))
            return jnp.maximum(at, here), jnp.where(here > at, its, had_moved)

        return table.fold(needed, look, (jnp.full_like(table.size, FIRST), jnp.zeros_like(needed)))

    def turn(sofar: tuple[Backlog, tuple[Array, Array], Array]) -> tuple[Backlog, tuple[Array, Array], Array]:
        left_over, (at, had_moved), count = sofar
        fewer = left_over.without(at, at >= 0, COVERED)
        return fewer, covered(fewer.table, at >= 0), count + (had_moved & (at >= 0))

    begin = left_over, covered(left_over.table, first), jnp.zeros_like(moved)
    left_over, _, count = jax.lax.while_loop(lambda sofar: jnp.any(sofar[1][0] >= 0), turn, begin)
    return left_over, count
