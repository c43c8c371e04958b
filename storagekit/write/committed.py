"""Commit and write apart: some parts of a write are on disk when it is answered, the others in its nodes' memory (ars,
section 4.4).

A node keeps what it is to write later in a buffer, from which its drives write when they have nothing else to do, or when
it is full (ars, section 5).
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit import units
from storagekit.arrays import AnyArray
from storagekit.errors import InputError
from storagekit.kinds import COUNT, SPACE
from storagekit.lanes import bit, held, named, pick, rows, some
from storagekit.moments import Ended, Entered, Leaving, Rule, Sizes, Taken
from storagekit.placement import AbstractPlacement
from storagekit.write.backlog import FIRST, Backlog, Clock, backlog, numbers
from storagekit.write.base import AbstractWrite, Later, Price


class Row(NamedTuple):
    """What of a write is in buffers. number: which request. place: where it lies. sectors: its length. born: when it came
    into them. left: the parts that are still there."""

    number: Int[Array, "1 *lanes"]
    place: Any
    sectors: Int[Array, "1 *lanes"]
    born: Clock
    left: UInt32[Array, "1 *lanes"]


class Buffers(NamedTuple):
    """Private state. backlog: of every `Row`. filled: sectors in the buffer of each brick."""

    backlog: Backlog
    filled: Int[Array, "brick *lanes"]

    def with_row(self, row: Row, where: Bool[Array, "1 *lanes"], placement: AbstractPlacement) -> "Buffers":
        """With that in buffers too, in the lanes marked in `where` in which anything is left of it."""
        where = where & (row.left != 0)
        left_over = self.backlog
        table = left_over.table.put(left_over.table.size, row, where)
        drive = rows(left_over.writes.shape[0], self.filled)
        brick, part = placement.brick_of(drive), placement.part_on(drive, row.place)
        much = jnp.where(where & held(row.left, part), placement.sectors_of(part, row.place, row.sectors), 0)
        more = [
            jnp.sum(jnp.where(brick == number, much, 0), axis=0, keepdims=True)
            for number in range(self.filled.shape[0])
        ]
        return Buffers(left_over._replace(table=table), self.filled + jnp.concatenate(more))

    def written(self, which: Int[Array, "1 *lanes"], made: Bool[Array, "1 *lanes"], placement: AbstractPlacement):
        """Once an access of drive `which` is over, in lanes in which it was `made`: if it was from a buffer, without that."""
        left_over = self.backlog
        at = pick(left_over.writes, which)
        made = made & (at >= 0)
        row = left_over.table.row(at)
        part = placement.part_on(which, row.place)
        left = jnp.where(made, row.left & ~bit(part), row.left)
        table = left_over.table.put(at, row._replace(left=left), made)
        less = jnp.where(made, placement.sectors_of(part, row.place, row.sectors), 0)
        here = rows(self.filled.shape[0], self.filled) == placement.brick_of(which)
        left_over = left_over._replace(table=table).without(at, made & (left == 0), FIRST)
        return Buffers(left_over, self.filled - jnp.where(here, less, 0))

    def elapse(self, time: Float[Array, "1 *lanes"]) -> "Buffers":
        return self._replace(backlog=self.backlog.elapse(time))


class Committed(AbstractWrite):
    """The parts that the dispatcher names are written at once, the others go into their nodes' buffers; answered when the
    former are on disk.

    buffer: bytes that a node's holds (ars gives no number; 2 MB, as a disk of its first two nodes has). While one is full
    what is in it competes with everything else, and what arrives waits outside, reads too, and is counted: a last write may
    overfill it, and with 0 bytes one write has them at a time. Else drives write it when they have nothing else to do.
    Sending a part to a node that only buffers it takes no time. most: writes with parts in buffers that there is memory for;
    what arrives beyond waits likewise. A read does not look into buffers.
    """

    buffer: Float[AnyArray, "..."] = eqx.field(converter=named("a node's buffer of"), default=float(2 * units.MB))
    most: int = eqx.field(static=True, default=1024, converter=partial(COUNT, "writes in buffers"))

    def __check_init__(self):
        SPACE.each("a node's buffer of", self.buffer)

    def check(self, lead, parts, replicas):
        if replicas > 1:
            raise InputError(
                f"parts that are buffered, of {replicas} replicas each: give the layout one replica a part"
            )

    @property
    def leaves(self):
        return True

    def rule(self, parts, receiving, readable):
        return Rule(parts, jax.lax.population_count(parts).astype(jnp.int32))

    def asked(self, routed, parts, read, companions):
        return jnp.where(read, routed, routed | companions)

    def buffered(self, asked, parts, read):
        return jnp.where(read, jnp.uint32(0), parts & ~asked)

    def init(self, sizes: Sizes) -> Any:
        return self._buffers(sizes)

    def _buffers(self, sizes: Sizes) -> Buffers:
        # whatever is in a slot may still come to be a row
        return Buffers(backlog(Row, self.most + sizes.slots, sizes), numbers(sizes.bricks, sizes))

    def has_room(self, private: Buffers) -> Bool[Array, "1 *lanes"]:
        return (private.backlog.table.size < self.most) & ~some(self._full(private.filled))

    def _full(self, filled: Int[Array, "row *lanes"]) -> Bool[Array, "row *lanes"]:
        """Whether so many sectors in the buffer of a node fill it."""
        return (filled > 0) & (filled * float(units.SECTOR) >= self.buffer)

    def entered(self, private: Buffers, moment: Entered) -> Buffers:
        request, placement = moment.request, moment.placement
        left = placement.parts_of(moment.place) & ~moment.asked
        row = Row(request.number, moment.place, request.sectors, private.backlog.now.after(moment.at), left)
        return private.with_row(row, moment.admitted & ~request.read, placement)

    def later(
        self,
        private: Buffers,
        which: Int[Array, "1 *lanes"],
        chooses: Bool[Array, "1 *lanes"],
        bound: Float[Array, "1 *lanes"],
        price: Price,
        placement: AbstractPlacement,
    ) -> Later:
        filled = pick(private.filled, placement.brick_of(which))
        needed = chooses & ((jnp.isinf(bound) & (filled > 0)) | self._full(filled))
        return private.backlog.cheapest(which, needed, bound, price, placement)

    def taken(self, private: Buffers, moment: Taken) -> Buffers:
        return private._replace(backlog=private.backlog.taken(moment))

    def ends_delayed(self, private: Buffers, which: Int[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
        return ~pick(private.backlog.of_slot, which)

    def ended(self, private: Buffers, moment: Ended) -> Buffers:
        return private.written(moment.which, moment.made, moment.placement)

    def elapse(self, private: Buffers, time: Float[Array, "1 *lanes"]) -> Buffers:
        return private.elapse(time)


class Settling(NamedTuple):
    """Private state of `Claimed`. buffers: see there. open: the parts of the write in each slot that nobody has written or
    is to write; sectors: its length."""

    buffers: Buffers
    open: UInt32[Array, "slot *lanes"]
    sectors: Int[Array, "slot *lanes"]


class Claimed(Committed):
    """Every copy or fragment is asked for as if the write were a read, and answered when as many as make the data are on
    disk; those nodes that drop it put it into their buffers (ars, section 5, of D-SPTF: writes treated the same as reads;
    what becomes of the other copies it does not say).

    What has to be written besides a part, such as its parity, goes into the buffers too, so that a node with RAID 5 commits
    sooner than under `Committed`, which waits for both.
    """

    @property
    def settles(self):
        return True

    @property
    def over_when_answered(self):
        return True

    def rule(self, parts, receiving, readable):
        return Rule(parts, jnp.zeros_like(receiving) + readable)

    def asked(self, routed, parts, read, companions):
        return jnp.where(read, routed, routed & ~companions)

    def buffered(self, asked, parts, read):
        return None

    def init(self, sizes: Sizes) -> Settling:
        nothing = numbers(sizes.slots, sizes, 0, jnp.uint32)
        return Settling(self._buffers(sizes), nothing, numbers(sizes.slots, sizes))

    def has_room(self, private: Settling):
        return super().has_room(private.buffers)

    def entered(self, private: Settling, moment: Entered) -> Settling:
        into, request = moment.into, moment.request
        parts = jnp.where(request.read, jnp.uint32(0), moment.placement.parts_of(moment.place))
        return private._replace(
            open=jnp.where(into, parts, private.open),
            sectors=jnp.where(into, request.sectors, private.sectors),
        )

    def later(self, private: Settling, which, chooses, bound, price, placement) -> Later:
        return super().later(private.buffers, which, chooses, bound, price, placement)

    def taken(self, private: Settling, moment: Taken) -> Settling:
        assert moment.delayed is not None
        its = moment.kept & ~moment.read & (moment.delayed < 0)
        its = its & (rows(private.open.shape[0], private.open) == moment.slot)
        left = (private.open | moment.given_up) & ~bit(moment.part)
        buffers = super().taken(private.buffers, moment)
        return private._replace(buffers=buffers, open=jnp.where(its, left, private.open))

    def ends_delayed(self, private: Settling, which: Int[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
        return super().ends_delayed(private.buffers, which)

    def ended(self, private: Settling, moment: Ended) -> Settling:
        return private._replace(buffers=super().ended(private.buffers, moment))

    def leaving(self, private: Settling, moment: Leaving) -> Settling:
        left, much = pick(private.open, moment.slot), pick(private.sectors, moment.slot)
        born = private.buffers.backlog.now.after(moment.at)
        row = Row(moment.number, moment.place, much, born, left)
        # what is open of a slot counts for nothing from now on
        written = moment.leaves & ~moment.read
        return private._replace(buffers=private.buffers.with_row(row, written, moment.placement))

    def elapse(self, private: Settling, time: Float[Array, "1 *lanes"]) -> Settling:
        return private._replace(buffers=private.buffers.elapse(time))
