"""Who sends a stream's requests to the bricks, and what a coordinator remembers of them: two counters (dsfq, section 3.3).

A coordinator knows what it sent itself. It keeps the cost of all that it sent for a stream, and for each brick how much that
was when it last sent there; the difference, less the request's own cost, went elsewhere.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.core import int64_pair
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named, pick, put, row_index, whole
from storagekit.core.checks import require, traced
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT
from storagekit.workload import Requests, below, scramble

# what a word holds
MOST = np.uint32(0xFFFFFFFF)


class ServiceLedger(NamedTuple):
    """What coordinators remember: the cost of what each sent for each stream, `[row]`, row coordinator * streams + stream,
    and how much that was when it last sent to each brick, `[brick, row]`."""

    sent: int64_pair.Wide
    then: int64_pair.Wide


def ledger(rows: int, bricks: int, lanes: tuple[int, ...]) -> ServiceLedger:
    """Nothing sent yet."""
    return ServiceLedger(int64_pair.zeros(rows, *lanes), int64_pair.zeros(bricks, rows, *lanes))


def account(
    book: ServiceLedger,
    row: Int[Array, "row_of_brick *batch"],
    cost: UInt32[Array, "brick *batch"],
    there: Bool[Array, "brick *batch"],
) -> tuple[ServiceLedger, UInt32[Array, "brick *batch"]]:
    """A request is sent to the bricks `there`, one after the other, at its cost at each. row: of the coordinator that does
    so, for all bricks or for each. Returns the ledger, and what went elsewhere since it last sent to each brick, 2^32 - 1
    units of cost where it is more."""
    cost = jnp.where(there, cost, jnp.uint32(0))
    before, sent = _before(row, cost)
    so_far = int64_pair.Wide(*(jnp.take_along_axis(word, row, axis=0) for word in book.sent))
    total = int64_pair.add(so_far, _small(before))
    column = jnp.broadcast_to(row, cost.shape)[:, None]
    known = int64_pair.Wide(*(jnp.take_along_axis(word, column, axis=1)[:, 0] for word in book.then))
    elsewhere = int64_pair.subtract(total, known)
    elsewhere = jnp.where(elsewhere.high > 0, MOST, elsewhere.low)
    now = int64_pair.pick(there, int64_pair.add(total, _small(cost)), known)
    if row.shape[0] == 1:
        after = int64_pair.add(so_far, _small(sent))
        then = (put(word, row, new[:, None], axis=1) for word, new in zip(book.then, now, strict=True))
        sums = (put(word, row, new) for word, new in zip(book.sent, after, strict=True))
        return ServiceLedger(int64_pair.Wide(*sums), int64_pair.Wide(*then)), elsewhere
    every = row_index(book.sent.low.shape[0], row)
    mine = row[:, None] == every[None]
    added = jnp.sum(jnp.where(mine, cost[:, None], jnp.uint32(0)), axis=0, dtype=jnp.uint32)
    then = int64_pair.pick(mine, int64_pair.Wide(now.high[:, None], now.low[:, None]), book.then)
    return ServiceLedger(int64_pair.add(book.sent, _small(added)), then), elsewhere


def _small(count: UInt32[Array, "*row"]) -> int64_pair.Wide:
    return int64_pair.Wide(jnp.zeros_like(count), count)


def _before(
    row: Int[Array, "row_of_brick *batch"], cost: UInt32[Array, "brick *batch"]
) -> tuple[UInt32[Array, "brick *batch"], UInt32[Array, "1 *batch"]]:
    """What the same coordinator sends of this request before its part for each brick, and in all."""
    if row.shape[0] == 1:
        until = jnp.cumsum(cost, axis=0, dtype=jnp.uint32)
        return until - cost, until[-1:]
    brick = row_index(cost.shape[0], cost)
    earlier = (row[:, None] == row[None]) & (brick[:, None] > brick[None])
    before = jnp.sum(jnp.where(earlier, cost[None], jnp.uint32(0)), axis=1, dtype=jnp.uint32)
    return before, jnp.zeros_like(cost[:1])


class AbstractCoordinators(eqx.Module):
    """Through which coordinators streams send their requests."""

    @property
    @abstractmethod
    def most(self) -> int:
        """How many of them there are at most for a stream in a system of any size, 0 where it is one for each brick."""

    def init(self, streams: int, lanes: tuple[int, ...]) -> Any:
        """What decides whose turn it is, at the start of a run."""
        return None

    @abstractmethod
    def choose(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *batch"], bricks: int
    ) -> tuple[Int[Array, "row_of_brick *batch"], Any]:
        """The coordinator of a request, for all bricks or for each, and whose turn it is after it."""


class OneCoordinator(AbstractCoordinators):
    """All requests of a stream go through one (dsfq, section 3.3.1)."""

    @property
    def most(self):
        return 1

    def choose(self, private, request, entering, bricks):
        return jnp.zeros_like(request.stream), private


class _Several(AbstractCoordinators):
    """`count` of them for each stream. most: those that the engine provides for, by default as many."""

    count: Int[AnyArray, "..."]
    provided: int = eqx.field(static=True, converter=partial(COUNT, "coordinators provided for"))

    def __init__(self, count: ArrayLike, most: int | None = None):
        self.count = named("coordinators", whole)(count)
        self.provided = max(1, int(np.max(self.count))) if most is None else most

    def __check_init__(self):
        require(self.count >= 1, "coordinators", self.count, "at least 1")
        if not traced(self.count) and int(np.max(self.count)) > self.provided:
            raise InputError(
                f"{int(np.max(self.count))} coordinators where {self.provided} are provided for: raise most"
            )

    @property
    def most(self):
        return self.provided


class InTurn(_Several):
    """A stream's requests go through its coordinators one after the other (dsfq, section 3.3.2)."""

    def __init__(self, count: ArrayLike, most: int | None = None):
        super().__init__(count, most)

    def init(self, streams, lanes):
        return jnp.zeros((streams, *lanes), jnp.int32)

    def choose(self, private: Int[Array, "stream *batch"], request, entering, bricks):
        turn = pick(private, request.stream)
        its = (row_index(private.shape[0], private) == request.stream) & entering
        after = jnp.where(turn + 1 >= self.count, 0, turn + 1)
        return turn, jnp.where(its, after, private)


class AtRandom(_Several):
    """Each request goes through any of them (dsfq, section 3.3.2)."""

    def __init__(self, count: ArrayLike, most: int | None = None):
        super().__init__(count, most)

    def choose(self, private, request, entering, bricks):
        return below(scramble(request.receiving ^ jnp.uint32(0x5BD1E995)), self.count), private


class ByBrick(AbstractCoordinators):
    """Each brick has its own, through which all requests for it go: the partition under which no coordinator sees what went
    elsewhere (dsfq, section 3.3.2)."""

    @property
    def most(self):
        return 0

    def choose(self, private, request, entering, bricks):
        return row_index(bricks, request.stream) + jnp.zeros_like(request.stream), private
