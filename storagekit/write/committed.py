"""Commit and write: when a write completes, some of its parts are on disk, and the rest are in the memory of nodes.

This memory is the buffer of a node. The drives of the node write the parts in the buffer when the drives are idle, or
when the buffer is full.

References
----------
ars, sections 4.4 and 5.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import AccessEnded, AccessStarted, CompletionRule, RequestAdmitted, StateSizes
from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, bit_is_set, by_row, named, pick, row_index, union
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, SPACE
from storagekit.placement import AbstractPlacement
from storagekit.write.backlog import FIRST, Backlog, BacklogClock, backlog, numbers
from storagekit.write.base import AbstractWrite, DelayedPart, Price


class CommittedRow(NamedTuple):
    """Row of the table: the buffered parts of a write.

    Parameters
    ----------
    number : array of int32, shape `[1, *batch]`
        Number of the request.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the write.
    sectors : array of int32, shape `[1, *batch]`
        Length of the write, sectors.
    arrival_time : BacklogClock
        Time at which the parts were buffered.
    left : array of uint32, shape `[1, *batch]`
        Mask of the buffered parts.
    """

    number: Int[Array, "1 *batch"]
    location: Any
    sectors: Int[Array, "1 *batch"]
    arrival_time: BacklogClock
    left: UInt32[Array, "1 *batch"]


class Buffers(NamedTuple):
    """Private state of the buffers of all nodes.

    Parameters
    ----------
    backlog : Backlog
        Buffered writes, with rows of `CommittedRow`.
    filled : array of int32, shape `[brick, *batch]`
        Number of sectors in the buffer of each brick.
    """

    backlog: Backlog
    filled: Int[Array, "brick *batch"]

    def with_row(self, row: CommittedRow, where: Bool[Array, "1 *batch"], placement: AbstractPlacement) -> "Buffers":
        """Return the buffers with one more row.

        Parameters
        ----------
        row : CommittedRow
            The row.
        where : array of bool, shape `[1, *batch]`
            Runs where the row is added. A row without a buffered part is not added.
        placement : AbstractPlacement
            The placement.

        Returns
        -------
        Buffers
            The new buffers.
        """
        where = where & (row.left != 0)
        left_over = self.backlog
        table = left_over.table.put(left_over.table.size, row, where)
        drive = row_index(left_over.writes.shape[0], self.filled)
        brick, part = placement.brick_of(drive), placement.part_on(drive, row.location)
        much = jnp.where(where & bit_is_set(row.left, part), placement.sectors_of(part, row.location, row.sectors), 0)
        more = [
            jnp.sum(jnp.where(brick == number, much, 0), axis=0, keepdims=True)
            for number in range(self.filled.shape[0])
        ]
        return Buffers(left_over._replace(table=table), self.filled + jnp.concatenate(more))

    def written(self, drive: Int[Array, "1 *batch"], ended: Bool[Array, "1 *batch"], placement: AbstractPlacement):
        """Return the buffers after an access has ended; if the access wrote a buffered part, this part is removed.

        Parameters
        ----------
        drive : array of int32, shape `[1, *batch]`
            Drive of the access.
        ended : array of bool, shape `[1, *batch]`
            Runs where an access has ended.
        placement : AbstractPlacement
            The placement.

        Returns
        -------
        Buffers
            The new buffers.
        """
        left_over = self.backlog
        at = pick(left_over.writes, drive)
        ended = ended & (at >= 0)
        row = left_over.table.row(at)
        part = placement.part_on(drive, row.location)
        left = jnp.where(ended, row.left & ~bit(part), row.left)
        table = left_over.table.put(at, row._replace(left=left), ended)
        less = jnp.where(ended, placement.sectors_of(part, row.location, row.sectors), 0)
        here = row_index(self.filled.shape[0], self.filled) == placement.brick_of(drive)
        left_over = left_over._replace(table=table).without(at, ended & (left == 0), FIRST)
        return Buffers(left_over, self.filled - jnp.where(here, less, 0))

    def elapse(self, time: Float[Array, "1 *batch"]) -> "Buffers":
        return self._replace(backlog=self.backlog.elapse(time))


def _sizes(value: Any) -> tuple[Float[AnyArray, "..."], ...]:
    """Return the sizes of the buffers as a tuple of one size for all nodes, or one size for each node."""
    values = value if isinstance(value, tuple | list) else (value,)
    return tuple(map(named("buffer of a node"), values))


class Committed(AbstractWrite):
    """Immediately write the parts that the dispatcher selects, and buffer the other parts at their nodes.

    A write completes when all parts that wait at drives are on disk. When no request waits, a drive writes parts from
    the buffer of its node, first in, first out. While a buffer is full, the scheduler selects among the parts in the
    buffer and the waiting requests. The part of a further write at that node is then not buffered. It waits at the
    drive, and the write completes only when this part is also on disk. Reads are still admitted.

    Parameters
    ----------
    buffer : float, or sequence of float
        Size of the buffer, bytes, at least 0, by default 2 MB; one number for all nodes, or one number for each node.
        The last buffered write may exceed this size.
    most : int
        Largest number of writes with buffered parts, by default 1024. When this number is reached, further requests
        wait outside and are counted.

    Raises
    ------
    InputError
        If a number is out of range, or the parts of the placement have several replicas each.

    Notes
    -----
    In the model, sending a part to a node that only buffers it takes no time. Reads are not served from buffers.

    References
    ----------
    ars, sections 4.4 and 5.
    """

    buffer: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=_sizes, default=(float(2 * units.MB),))
    most: int = eqx.field(static=True, default=1024, converter=partial(COUNT, "largest number of buffered writes"))

    def __check_init__(self):
        if not self.buffer:
            raise InputError("no sizes of buffers: give one number for all nodes, or one for each node")
        for size in self.buffer:
            SPACE.each("buffer of a node", size)

    def check(self, facts):
        if facts.replicas > 1:
            raise InputError(
                f"buffered parts with {facts.replicas} replicas each: use a layout with one replica per part"
            )

    @property
    def may_delay(self):
        return True

    def rule(self, parts, receiving, readable):
        return CompletionRule(parts, jax.lax.population_count(parts).astype(jnp.int32))

    def targets(self, private: Buffers, routed, read, location, placement):
        parts = placement.parts_of(location)
        drive = row_index(private.backlog.writes.shape[0], private.filled)
        full = pick(self._full(private.filled), placement.brick_of(drive) + jnp.zeros_like(parts, jnp.int32))
        part = placement.part_on(drive, location)
        through = union(jnp.where(full & bit_is_set(parts, part), bit(part), jnp.uint32(0)))
        return jnp.where(read, routed, routed | placement.companions(routed, location) & parts | through)

    def buffered(self, targets, parts, read):
        return jnp.where(read, jnp.uint32(0), parts & ~targets)

    def init(self, sizes: StateSizes) -> Buffers:
        if len(self.buffer) not in (1, sizes.bricks):
            raise InputError(
                f"{len(self.buffer)} sizes of buffers for {sizes.bricks} nodes: give one size, or one for each node"
            )
        # A request in any slot may still become a row.
        return Buffers(backlog(CommittedRow, self.most + sizes.slots, sizes), numbers(sizes.bricks, sizes))

    def has_room(self, private: Buffers) -> Bool[Array, "1 *batch"]:
        return private.backlog.table.size < self.most

    def _full(self, filled: Int[Array, "brick *batch"]) -> Bool[Array, "brick *batch"]:
        """Return whether the buffer of each node is full. filled: sectors in each buffer."""
        return (filled > 0) & (filled * float(units.SECTOR) >= by_row(self.buffer, filled))

    def on_admitted(self, private: Buffers, event: RequestAdmitted) -> Buffers:
        request, placement = event.request, event.placement
        left = placement.parts_of(event.location) & ~event.targets
        row = CommittedRow(request.number, event.location, request.sectors, private.backlog.now.after(event.at), left)
        return private.with_row(row, event.admitted & ~request.read, placement)

    def next_delayed(
        self,
        private: Buffers,
        drive: Int[Array, "1 *batch"],
        chooses: Bool[Array, "1 *batch"],
        bound: Float[Array, "1 *batch"],
        price: Price,
        placement: AbstractPlacement,
    ) -> DelayedPart:
        brick = placement.brick_of(drive)
        filled, full = pick(private.filled, brick), pick(self._full(private.filled), brick)
        needed = chooses & ((jnp.isinf(bound) & (filled > 0)) | full)
        return private.backlog.next_delayed(
            drive, needed, bound, price, placement, foreground=lambda row: full, rank=lambda row: row.number
        )

    def on_access_started(self, private: Buffers, event: AccessStarted) -> Buffers:
        return private._replace(backlog=private.backlog.taken(event))

    def ends_delayed(self, private: Buffers, drive: Int[Array, "1 *batch"]) -> Bool[Array, "1 *batch"]:
        return ~pick(private.backlog.of_slot, drive)

    def on_access_ended(self, private: Buffers, event: AccessEnded) -> Buffers:
        return private.written(event.drive, event.ended, event.placement)

    def elapse(self, private: Buffers, time: Float[Array, "1 *batch"]) -> Buffers:
        return private.elapse(time)


class Claimed(AbstractWrite):
    """Treat writes as reads: nodes claim the parts of a write, and the parts that no node claims are not written.

    A write is sent to all parts. It completes when enough parts to read the data are on disk. On RAID 5 only the data
    is written. The access time of a serial node (`placement.Node`) includes the time for the parity. At other nodes,
    the time for the parity is not simulated.

    References
    ----------
    ars, section 5: its D-SPTF treats writes the same as reads.
    """

    @property
    def claims_writes(self):
        return True

    @property
    def over_when_completed(self):
        return True

    def rule(self, parts, receiving, readable):
        return CompletionRule(parts, jnp.zeros_like(receiving) + readable)

    def targets(self, private, routed, read, location, placement):
        # parity on RAID 5 nodes is not among these parts, see `engine.admission`
        return routed
