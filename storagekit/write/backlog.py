"""Backlog of delayed writes: the table of these writes, and the row of the table that each drive is writing."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Shaped

from storagekit.component.events import AccessStarted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, MOST_WHOLE, cheapest, count, first_min, pick
from storagekit.placement import AbstractPlacement, of_part
from storagekit.write.base import DelayedPart, Price
from storagekit.write.table import DelayedWriteTable, empty

# Values in place of a row number. FIRST: the drive writes no row of the table. COVERED: the row that the drive is
# writing was removed from the table.
FIRST, COVERED = -1, -2
# Seconds in a tick. It is a power of two, so that whole ticks are subtracted exactly.
TICK = 2.0**-10


class BacklogClock(NamedTuple):
    """Time since the start of the run: whole ticks of `TICK` seconds, and the remainder in seconds.

    Because of this clock, the age of each row need not be updated at every event. Ages are exact to a few ns, so that
    rounding does not decide between requests that arrived at the same time.

    Parameters
    ----------
    whole : array of int32, shape `[*row]`
        Number of whole ticks.
    rest : array of float32, shape `[*row]`
        The remainder, seconds.
    """

    whole: Int[Array, "*row"]
    rest: Float[Array, "*row"]

    def after(self, time: Float[Array, "*row"]) -> "BacklogClock":
        """Return the clock `time` seconds later."""
        rest = self.rest + time
        whole = jnp.floor(rest / TICK)
        return BacklogClock(self.whole + whole.astype(jnp.int32), rest - whole * TICK)

    def since(self, other: "BacklogClock") -> Float[Array, "*row"]:
        """Return the seconds from the time of the other clock to the time of this clock."""
        return (self.whole - other.whole).astype(jnp.float32) * TICK + (self.rest - other.rest)


class Backlog(NamedTuple):
    """Private state of a policy that delays writes, or a part of this state.

    Parameters
    ----------
    table : DelayedWriteTable
        Delayed writes. Each row has at least these fields: `number`, `location` and `arrival_time` of the request; and
        `left`, the mask of the replicas still to be written, bit part * D_r + replica.
    writes : array of int32, shape `[drive, *batch]`
        Row of the table that each drive is writing, or FIRST or COVERED.
    now : BacklogClock
        Time since the start of the run.
    """

    table: DelayedWriteTable
    writes: Int[Array, "drive *batch"]
    now: BacklogClock

    @property
    def of_slot(self) -> Bool[AnyArray, "drive *batch"]:
        """Return the mask of the drives that do not write a row of the table, `[drive, *batch]`."""
        return self.writes == FIRST

    def next_delayed(
        self,
        drive: Int[Array, "1 *batch"],
        needed: Bool[Array, "1 *batch"],
        bound: Float[Array, "1 *batch"],
        price: Price,
        placement: AbstractPlacement,
        *,
        foreground: Callable[[Any], Bool[Array, "*row"]],
        rank: Callable[[Any], Int[Array, "*row"]],
    ) -> DelayedPart:
        """Return the delayed part that `drive` writes next. Valid only where `needed` is true.

        Parameters
        ----------
        drive : array of int32, shape `[1, *batch]`
            The drive.
        needed : array of bool, shape `[1, *batch]`
            Runs in which the table is searched.
        bound : array of float32, shape `[1, *batch]`
            The lowest cost of the requests that wait at the drive; inf if no request waits.
        price : Price
            Function that returns the cost of rows.
        placement : AbstractPlacement
            The placement.
        foreground : callable
            Function that returns whether each row competes with requests. The competing row with the lowest cost is
            selected if its cost is below `bound`. If no request waits and no such row exists, the row with the lowest
            rank is selected.
        rank : callable
            Function that returns the rank of each row.

        Returns
        -------
        DelayedPart
            The part, if there is one.
        """

        def look(best, row, number, there):
            at, cost, oldest, first, candidates = best
            part = placement.part_on(drive, row.location)
            usable = of_part(row.left, part, placement)
            there = there & (usable != 0)
            arrival_time = row.arrival_time.since(self.now)
            competes = there & foreground(row)
            index, lowest = cheapest(jnp.where(competes, price(row.location, arrival_time, part, usable), jnp.inf))
            eldest, order = first_min(jnp.where(there, rank(row), MOST_WHOLE))
            numbers = number + jnp.zeros_like(part)
            sooner, older = lowest < cost - INSTANT, order < first
            return (
                jnp.where(sooner, pick(numbers, index), at),
                jnp.where(sooner, lowest, cost),
                jnp.where(older, pick(numbers, eldest), oldest),
                jnp.minimum(order, first),
                candidates + count(there),
            )

        none = jnp.zeros_like(drive)
        begin = none + FIRST, bound, none + FIRST, none + MOST_WHOLE, none
        at, _, oldest, _, candidates = self.table.fold(needed, look, begin)
        at = jnp.where((at < 0) & jnp.isinf(bound), oldest, at)
        row = self.table.row(at)
        usable = of_part(row.left, placement.part_on(drive, row.location), placement)
        return DelayedPart(at, at >= 0, row.number, row.location, usable, candidates)

    def taken(self, event: AccessStarted) -> "Backlog":
        """Return the backlog after a drive has chosen its next access."""
        assert event.delayed is not None
        row = jnp.where(event.delayed >= 0, event.delayed, FIRST)
        return self._replace(writes=jnp.where(event.drive_mask, row, self.writes))

    def without(self, at: Int[Array, "1 *batch"], gone: Bool[Array, "1 *batch"], becomes: int) -> "Backlog":
        """Return the backlog without a row.

        Parameters
        ----------
        at : array of int32, shape `[1, *batch]`
            The row.
        gone : array of bool, shape `[1, *batch]`
            Runs where the row is removed.
        becomes : int
            New row number for a drive that is writing this row.

        Returns
        -------
        Backlog
            The new backlog.
        """
        writes = self.table.renumbered(self.writes, at, gone, becomes)
        return self._replace(table=self.table.without(at, gone), writes=writes)

    def elapse(self, time: Float[Array, "1 *batch"]) -> "Backlog":
        return self._replace(now=self.now.after(time))


def backlog(kind: type, length: int, sizes: StateSizes) -> Backlog:
    """Return an empty backlog.

    Parameters
    ----------
    kind : type
        Type of the rows, a NamedTuple with the fields that `Backlog` requires. `start` and `stop` are addresses, and
        all further fields are whole numbers.
    length : int
        Minimum number of rows.
    sizes : StateSizes
        Sizes of the arrays.

    Returns
    -------
    Backlog
        The backlog.
    """
    one = numbers(1, sizes)
    start = BacklogClock(one, numbers(1, sizes, 0, jnp.float32))
    address = numbers(1, sizes, 0, int)
    common = {"location": sizes.location, "arrival_time": start, "left": numbers(1, sizes, 0, jnp.uint32)}
    common |= {"start": address, "stop": address}
    row = kind(**{name: common.get(name, one) for name in kind._fields})
    return Backlog(empty(row, length, sizes.batch), numbers(sizes.drives, sizes, FIRST), start)


def numbers(length: int, sizes: StateSizes, value: int = 0, kind: DTypeLike = jnp.int32) -> Shaped[Array, "row *batch"]:
    """Return an array of equal numbers in every run.

    Parameters
    ----------
    length : int
        Length of the first axis.
    sizes : StateSizes
        Sizes of the arrays, which include the shape of the batch.
    value : int
        The number, by default 0.
    kind : dtype
        Type of the numbers, by default int32.

    Returns
    -------
    array, shape `[length, *batch]`
        The array.
    """
    return jnp.full((length, *sizes.batch), value, kind)
