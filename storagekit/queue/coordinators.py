"""Coordinators of a stream, which send its requests to the bricks and count its service (dsfq, section 3.3).

A coordinator counts only the requests that it sends. It has two kinds of counters for each stream. The first counter is
the total cost of the requests that the coordinator has sent for the stream. A second counter for each brick is the
value of the first counter when the coordinator last sent a request to that brick. The difference between the two
counters, minus the cost of the request itself, is the cost at other bricks since that last request.
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
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, require, traced
from storagekit.workload import Requests, below, scramble

# Largest value of a 32-bit word.
MOST = np.uint32(0xFFFFFFFF)


class ServiceLedger(NamedTuple):
    """Counters of the coordinators, in units of cost.

    sent: cost of the requests that each coordinator has sent for each stream, `[row]`, with row = coordinator * streams
    + stream. at_last_request: value of `sent` when each coordinator last sent a request of the stream to each brick, in
    an array `[brick, row]`.
    """

    sent: int64_pair.Pair
    at_last_request: int64_pair.Pair


def empty_ledger(rows: int, bricks: int, batch: tuple[int, ...]) -> ServiceLedger:
    """Return counters that are all 0.

    Parameters
    ----------
    rows : int
        Number of coordinators times number of streams.
    bricks : int
        Number of bricks of the system.
    batch : tuple of int
        The axes of the batch, `()` for a single run.

    Returns
    -------
    ServiceLedger
        The counters.
    """
    return ServiceLedger(int64_pair.zeros(rows, *batch), int64_pair.zeros(bricks, rows, *batch))


def account(
    ledger: ServiceLedger,
    row: Int[Array, "row_of_brick *batch"],
    cost: UInt32[Array, "brick *batch"],
    receives: Bool[Array, "brick *batch"],
) -> tuple[ServiceLedger, UInt32[Array, "brick *batch"]]:
    """Count a request that is sent to several bricks. Bricks are counted in the order of their numbers.

    Parameters
    ----------
    ledger : ServiceLedger
        The counters before the request.
    row : int array, `[1, *batch]` or `[brick, *batch]`
        Row of the coordinator and stream, one for all bricks or one for each brick.
    cost : uint32 array, `[brick, *batch]`
        Cost of the request at each brick.
    receives : bool array, `[brick, *batch]`
        Mask of the bricks that receive a part of the request.

    Returns
    -------
    ServiceLedger
        The counters after the request.
    uint32 array, `[brick, *batch]`
        For each brick, the cost of the requests that the coordinator has sent to other bricks since its last request to
        this brick, at most 2^32 - 1.
    """
    cost = jnp.where(receives, cost, jnp.uint32(0))
    before, sent = _before(row, cost)
    so_far = int64_pair.Pair(*(jnp.take_along_axis(word, row, axis=0) for word in ledger.sent))
    total = int64_pair.add(so_far, _small(before))
    column = jnp.broadcast_to(row, cost.shape)[:, None]
    known = int64_pair.Pair(*(jnp.take_along_axis(word, column, axis=1)[:, 0] for word in ledger.at_last_request))
    difference = int64_pair.subtract(total, known)
    service_elsewhere = jnp.where(difference.high > 0, MOST, difference.low)
    now = int64_pair.pick(receives, int64_pair.add(total, _small(cost)), known)
    if row.shape[0] == 1:
        after = int64_pair.add(so_far, _small(sent))
        at_last_request = (
            put(word, row, new[:, None], axis=1) for word, new in zip(ledger.at_last_request, now, strict=True)
        )
        sums = (put(word, row, new) for word, new in zip(ledger.sent, after, strict=True))
        return ServiceLedger(int64_pair.Pair(*sums), int64_pair.Pair(*at_last_request)), service_elsewhere
    every = row_index(ledger.sent.low.shape[0], row)
    mine = row[:, None] == every[None]
    added = jnp.sum(jnp.where(mine, cost[:, None], jnp.uint32(0)), axis=0, dtype=jnp.uint32)
    at_last_request = int64_pair.pick(
        mine, int64_pair.Pair(now.high[:, None], now.low[:, None]), ledger.at_last_request
    )
    return ServiceLedger(int64_pair.add(ledger.sent, _small(added)), at_last_request), service_elsewhere


def _small(count: UInt32[Array, "*row"]) -> int64_pair.Pair:
    return int64_pair.Pair(jnp.zeros_like(count), count)


def _before(
    row: Int[Array, "row_of_brick *batch"], cost: UInt32[Array, "brick *batch"]
) -> tuple[UInt32[Array, "brick *batch"], UInt32[Array, "1 *batch"]]:
    """Return the cost of the parts that the same coordinator sends before the part for each brick, and the total cost.

    If each brick has its own coordinator, the total cost has no meaning.
    """
    brick = row_index(cost.shape[0], cost)
    earlier = (row[:, None] == row[None]) & (brick[:, None] > brick[None])
    before = jnp.sum(jnp.where(earlier, cost[None], jnp.uint32(0)), axis=1, dtype=jnp.uint32)
    return before, jnp.sum(cost, axis=0, keepdims=True, dtype=jnp.uint32)


class AbstractCoordinators(eqx.Module):
    """Assignment of the requests of a stream to its coordinators."""

    @property
    @abstractmethod
    def most(self) -> int:
        """Return the largest number of coordinators of a stream in a system of any size.

        The result is 0 if each brick has a coordinator.
        """

    def init(self, streams: int, batch: tuple[int, ...]) -> Any:
        """Return the private state at the start of a run, such as the next coordinator of each stream.

        Parameters
        ----------
        streams : int
            Number of streams.
        batch : tuple of int
            The axes of the batch, `()` for a single run.
        """
        return None

    @abstractmethod
    def choose(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *batch"], bricks: int
    ) -> tuple[Int[Array, "row_of_brick *batch"], Any]:
        """Select the coordinator of a request.

        Parameters
        ----------
        private : pytree
            The private state.
        request : Requests
            One request for each run, arrays `[1, *batch]`.
        entering : bool array, `[1, *batch]`
            Whether a request enters.
        bricks : int
            Number of bricks of the system.

        Returns
        -------
        int array, `[1, *batch]` or `[brick, *batch]`
            Number of the coordinator, one for all bricks or one for each brick.
        pytree
            The private state afterwards.
        """


class OneCoordinator(AbstractCoordinators):
    """One coordinator sends all requests of a stream (dsfq, section 3.3.1)."""

    @property
    def most(self):
        return 1

    def choose(self, private, request, entering, bricks):
        return jnp.zeros_like(request.stream), private


class _Several(AbstractCoordinators):
    """Several coordinators for each stream.

    Parameters
    ----------
    count : int
        Number of coordinators of a stream, at least 1; one value, or one value for each run.
    most : int, optional
        Number of coordinators for which the engine allocates arrays, by default the largest `count`.
    """

    count: Int[AnyArray, "..."]
    provided: int = eqx.field(static=True, converter=partial(COUNT, "largest number of coordinators"))

    def __init__(self, count: ArrayLike, most: int | None = None):
        self.count = named("coordinators", whole)(count)
        self.provided = max(1, int(np.max(self.count))) if most is None else most

    def __check_init__(self):
        require(self.count >= 1, "coordinators", self.count, "at least 1")
        if not traced(self.count) and int(np.max(self.count)) > self.provided:
            raise InputError(f"{int(np.max(self.count))} coordinators, but most is {self.provided}; raise most")

    @property
    def most(self):
        return self.provided


class InTurn(_Several):
    """The coordinators of a stream send its requests in rotation (dsfq, section 3.3.2).

    Parameters
    ----------
    count : int
        Number of coordinators of a stream, at least 1; one value, or one value for each run.
    most : int, optional
        Number of coordinators for which the engine allocates arrays, by default the largest `count`.

    Raises
    ------
    InputError
        If a number is out of range, or `count` exceeds `most`.
    """

    def __init__(self, count: ArrayLike, most: int | None = None):
        super().__init__(count, most)

    def init(self, streams, batch):
        return jnp.zeros((streams, *batch), jnp.int32)

    def choose(self, private: Int[Array, "stream *batch"], request, entering, bricks):
        turn = pick(private, request.stream)
        its = (row_index(private.shape[0], private) == request.stream) & entering
        after = jnp.where(turn + 1 >= self.count, 0, turn + 1)
        return turn, jnp.where(its, after, private)


class AtRandom(_Several):
    """A random coordinator of the stream sends each request (dsfq, section 3.3.2).

    Parameters
    ----------
    count : int
        Number of coordinators of a stream, at least 1; one value, or one value for each run.
    most : int, optional
        Number of coordinators for which the engine allocates arrays, by default the largest `count`.

    Raises
    ------
    InputError
        If a number is out of range, or `count` exceeds `most`.
    """

    def __init__(self, count: ArrayLike, most: int | None = None):
        super().__init__(count, most)

    def choose(self, private, request, entering, bricks):
        return below(scramble(request.receiving ^ jnp.uint32(0x5BD1E995)), self.count), private


class ByBrick(AbstractCoordinators):
    """Each brick has a coordinator, which sends all requests for this brick.

    With this partition, no coordinator observes the service at other bricks (dsfq, section 3.3.2).
    """

    @property
    def most(self):
        return 0

    def choose(self, private, request, entering, bricks):
        return row_index(bricks, request.stream) + jnp.zeros_like(request.stream), private
