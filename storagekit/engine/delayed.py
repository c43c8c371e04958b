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

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.arrays import AnyArray
from storagekit.drive import AbstractMechanics
from storagekit.engine.propagation import AbstractPropagation, Access, Offer, refuse_lead
from storagekit.engine.state import State
from storagekit.errors import InputError
from storagekit.lanes import bit, computed_once, count, held, mask_of, pick, rows, union, whole
from storagekit.placement import AbstractPlacement, of_copy
from storagekit.workload import Requests


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


class Background(AbstractPropagation):
    """One copy of a write like a read, the others once nothing else waits at their drives.

    table: writes with copies left to write at which these are forced: they compete with everything else until there are
    fewer (10,000 entries in srarray). A write holds its slot until its last copy is written, so that the
    system's slots bound the table as well; what does not fit waits outside and is counted.
    """

    table: Int[AnyArray, "..."] = eqx.field(converter=whole, default=10_000)

    def __check_init__(self):
        if np.any(np.asarray(self.table) < 1):
            raise InputError(f"a table of {int(np.min(self.table))} delayed writes: it must hold at least 1")

    def check(self, lead: float, copies: int, replicas: int) -> None:
        refuse_lead(lead)

    def init(self, slots: int, lanes: tuple[int, ...]) -> Delayed:
        def full(value: int, kind: DTypeLike) -> Shaped[Array, "slot *lanes"]:
            return jnp.full((slots, *lanes), value, kind)

        nowhere = full(0, jnp.int32)
        return Delayed(full(0, jnp.uint32), nowhere, nowhere, nowhere, jnp.zeros((1, *lanes), jnp.int32))

    def usable(self, private: Delayed, request: Requests, placement: AbstractPlacement) -> UInt32[Array, "1 *lanes"]:
        overlaps = (private.start < request.sector + request.sectors) & (private.stop > request.sector)
        stale = union(jnp.where(private.started & overlaps, private.replicas, jnp.uint32(0)))
        every = mask_of(placement.copies * placement.replicas)
        current = every & ~stale
        return computed_once(jnp.where(request.read & (current != 0), current, every))

    def asked(
        self, routed: UInt32[Array, "1 *lanes"], request: Requests, placement: AbstractPlacement
    ) -> UInt32[Array, "1 *lanes"]:
        return routed

    def admit(
        self,
        private: Delayed,
        into: Bool[Array, "slot *lanes"],
        request: Requests,
        usable: UInt32[Array, "1 *lanes"] | None,
    ) -> Delayed:
        assert usable is not None
        return private._replace(
            replicas=jnp.where(into, usable, private.replicas),
            order=jnp.where(into, 0, private.order),
            start=jnp.where(into, request.sector, private.start),
            stop=jnp.where(into, request.sector + request.sectors, private.stop),
        )

    def offer(
        self,
        private: Delayed,
        waiting: UInt32[Array, "slot *lanes"],
        copy: Int[Array, "slot *lanes"],
        placement: AbstractPlacement,
    ) -> Offer:
        usable = of_copy(private.replicas, copy, placement)
        delayed = private.started & (usable != 0)
        forced = count(private.started & (private.replicas != 0)) >= self.table
        waits = (held(waiting, copy) & (usable != 0)) | delayed
        return Offer(waits, delayed, delayed & ~forced, usable)

    @property
    def claims_writes(self) -> bool:
        return True

    def shared(self, read: Bool[Array, "1 *lanes"], delayed: Bool[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
        return ~delayed

    def last(
        self, private: Delayed, slot: Int[Array, "1 *lanes"], waiting: UInt32[Array, "1 *lanes"]
    ) -> Bool[Array, "1 *lanes"]:
        left = pick(private.replicas, slot)
        return (left & (left - 1)) == 0

    def sweep(self, placement: AbstractPlacement, mechanics: AbstractMechanics) -> Float[AnyArray, "..."]:
        return jnp.float32(0)

    def done(
        self, private: Delayed, access: Access, placement: AbstractPlacement
    ) -> tuple[Delayed, UInt32[Array, "1 *lanes"]]:
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
        order = jnp.where(at & first, private.begun + 1, private.order)
        return private._replace(replicas=replicas, order=order, begun=private.begun + first), left

    def keeps(self, private: Delayed, read: Bool[Array, "slot *lanes"]) -> Bool[Array, "slot *lanes"]:
        return ~read & (private.replicas != 0)


class Pending(NamedTuple):
    """What the metadata table of delayed writes holds (srarray, section 3.4): one row for each write, oldest first.

    number: which request. start, stop: its sectors, stop excluded. home: the drive of its copy 0. current: the replicas
    that hold it or newer data, left: those still to be written, one bit each, copy * D_r + replica. order: the rank of
    its first copy; 0 where that is under way, left the replica it goes to and current none. These come last.

    Recovery needs nothing else, see `recovery`.
    """

    number: Int[np.ndarray, "write"]
    start: Int[np.ndarray, "write"]
    stop: Int[np.ndarray, "write"]
    home: Int[np.ndarray, "write"]
    current: UInt32[np.ndarray, "write"]
    left: UInt32[np.ndarray, "write"]
    order: Int[np.ndarray, "write"]


class Recovery(NamedTuple):
    """How a sector is recovered: from the replica `source`, to those in `left`, one bit each, copy * D_r + replica."""

    source: int
    left: int


def recovery(table: Pending, sector: int, replicas: int) -> Recovery:
    """What a crash makes of a sector of which there are `replicas`, the table alone being left (srarray, section 3.4).

    It is copied from a replica that is current in its last row with an order (any where no row has one), one with no first
    copy under way if there is such, to all that are left in any row.
    """
    rows_of = np.flatnonzero((table.start <= sector) & (table.stop > sector))
    settled = rows_of[table.order[rows_of] > 0]
    current = int(table.current[settled[-1]]) if settled.size else 2**replicas - 1

    def left(some: np.ndarray) -> int:
        return int(np.bitwise_or.reduce(table.left[some], initial=np.uint32(0)))

    sources = current & ~left(rows_of[table.order[rows_of] == 0]) or current
    return Recovery((sources & -sources).bit_length() - 1, left(rows_of))


def pending(state: State, placement: AbstractPlacement, lane: int = 0) -> Pending:
    """The metadata table of one lane of a system with `Background` propagation, as of the last event of `state`.

    A first copy is in it from the moment it is scheduled, because a crash may leave it half written. Arrays are NumPy's.
    """

    def of_lane(leaf: Any) -> np.ndarray:
        values = np.asarray(leaf)
        return values if values.ndim < 2 else values[:, lane]

    number, read, home = map(of_lane, (state.slots.number, state.slots.read, state.slots.home))
    replicas, order, start, stop = map(of_lane, state.propagation[:4])
    copies, each = (int(of_lane(value).ravel()[0]) for value in (placement.copies, placement.replicas))
    every = np.uint32(2 ** (copies * each) - 1)
    left = np.where(~read & (order > 0), replicas, np.uint32(0))
    drives = state.drives
    planned, slot, owner, replica = map(
        of_lane, (drives.planned, drives.plan.slot, drives.plan.number, drives.plan.replica)
    )
    for drive in np.flatnonzero(planned & (number[slot] == owner) & ~read[slot] & (order[slot] == 0)):
        copy = int(placement.copy_on(jnp.asarray(drive), jnp.asarray(home[slot[drive]])))
        left[slot[drive]] |= 1 << (copy * each + replica[drive])
    rows_held = np.flatnonzero(left)
    rank = np.where(order == 0, np.iinfo(np.int32).max, order)[rows_held]
    rows_held = rows_held[np.argsort(rank, kind="stable")]
    current = np.where(order > 0, every & ~left, np.uint32(0))
    return Pending(*(column[rows_held] for column in (number, start, stop, home, current, left, order)))
