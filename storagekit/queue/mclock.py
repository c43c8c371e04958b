"""mClock: a queue that gives each stream a reservation, a limit and a share of the rest (Gulati et al., OSDI 2010).

Every request has three tags, which it receives when it arrives at a brick. The reservation tag R and the limit tag L are
times since the start of the run, each a pair of float32 numbers. The share tag P is a virtual time in ticks, as in
`fair`. Ceph instead computes the tags of a request when it becomes the first of its stream.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.component.events import RequestAdmitted, StateSizes
from storagekit.core import float32_pair, int64_pair
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import (
    INSTANT,
    any_row,
    bit,
    bit_is_set,
    each_named,
    min_row,
    named,
    pick,
    put,
    row_index,
    union,
    whole,
)
from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, optional, require, traced, validate_fields
from storagekit.queue.base import Queued
from storagekit.queue.coordinators import AbstractCoordinators, ServiceLedger, account, empty_ledger
from storagekit.queue.cost import AbstractCost, ByRequests
from storagekit.queue.delay import Single, prices
from storagekit.queue.fair import MOST_APART, MOST_STREAMS, TagQueue, first_tag, of_brick, parts_of, with_stream

# Largest idle credit, requests. With the largest price, a tag then differs from virtual time by less than 2^54 ticks.
MOST_CREDIT = 2**24 - 1
# Distance from the newest share tag back to a tag that precedes all others, in units of 2^32 ticks.
LONG_AGO = np.uint32(2**30)
# Time before all runs, seconds: the tags of a stream whose first request has not arrived.
BEFORE = -1e30


class DmClockCounters(NamedTuple):
    """Counters of the coordinators of dmClock.

    sent: cost of the requests that each coordinator has sent. reserved: cost of the requests that a brick has issued
    because of their reservations. coordinator_state: state of the coordinators. row: row of the counters for the
    request in each slot, in the same rows as the tags.
    """

    sent: ServiceLedger
    reserved: ServiceLedger
    coordinator_state: Any
    row: Int[Array, "row slot *batch"]


class Tags(NamedTuple):
    """Private state of the queue.

    reservation, limit, share: tags of the request in each slot, one row for each brick, or one row if requests have one
    part. Tags of streams without a reservation, and limit tags of streams without a weight, are inf. next_reservation,
    next_limit, next_share: least tags of the next request of each stream at each brick. clock: time since the start.
    newest: largest share tag of any request at each brick. cost: cost of the request in each slot, in the same rows as the
    tags. queued, order, issued_count, outstanding: see `fair.Tags`. counters: counters of dmClock, None for mClock.
    """

    reservation: float32_pair.Pair
    limit: float32_pair.Pair
    share: int64_pair.Pair
    next_reservation: float32_pair.Pair
    next_limit: float32_pair.Pair
    next_share: int64_pair.Pair
    clock: float32_pair.Clock
    newest: int64_pair.Pair
    cost: UInt32[Array, "row slot *batch"]
    queued: UInt32[Array, "slot *batch"]
    order: Int[Array, "row slot *batch"]
    issued_count: Int[Array, "brick *batch"]
    outstanding: Int[Array, "brick *batch"]
    counters: DmClockCounters | None


class MClock(TagQueue):
    """Give each stream a minimum and a maximum rate at every brick, and divide the rest by weight.

    A brick first issues requests whose reservation tags are due, with the earliest tag first. Otherwise it issues the
    request with the lowest share tag among the requests whose limit tags are due. Other requests wait, even if the brick is
    idle.

    Parameters
    ----------
    depth : int
        Largest number of parts at the drives of a brick, see `FairQueue`.
    weights : sequence of float
        Weight of each stream, 0 or more; only the ratios of the weights matter. A stream of weight 0 receives only its
        reservation.
    reservations : sequence of float, optional
        Minimum rate of each stream at a brick, units of cost per second, by default 0. The sum must not exceed the
        capacity of the brick, otherwise the minimum rates cannot be kept.
    limits : sequence of float, optional
        Maximum rate of each stream at a brick, units of cost per second, by default inf.
    credits : sequence of int, optional
        Idle credit of each stream, units of cost, by default 0. After an idle time, the share tags of a stream may be
        earlier than the tags of other streams by the credit divided by the weight.
    coordinators : AbstractCoordinators, optional
        If given, dmClock: the rates apply to the sum over all bricks, and these coordinators count the service of a
        stream. By default mClock: the rates apply to each brick.
    cost : AbstractCost, optional
        Cost of a request, by default 1 (`ByRequests`).

    Raises
    ------
    InputError
        If a number is out of range, or the sequences have different lengths.

    Notes
    -----
    With weight w, reservation r, limit l and credit sigma of its stream, request k of cost c that arrives at time t has

    - R(k) = max(R(k-1) + c(k-1) / r, t);
    - L(k) = max(L(k-1) + c(k-1) / l, t);
    - P(k) = P(k-1) + c(k-1) / w if an earlier request of the stream waits at the brick;
    - P(k) = max(P(k-1) + c(k-1) / w, v - sigma / w) otherwise, where v is the least share tag of the requests that wait
      at the brick, or the largest share tag so far if no request waits.

    When the brick issues request k because of its weight, it subtracts c(k) / r from all later reservation tags of the
    stream. Weighted service therefore does not reduce the reserved service.

    The paper instead writes P(k) = max(P(k-1) + 1 / w, t), and shifts the tags of all active streams to the present time
    whenever an idle stream sends a request. Here all tags of a brick shift together, so that v replaces this time. The
    paper's formula depends on the scale of the weights: if the weights exceed the rates of the streams, all tags are
    arrival times.

    A stream that its limit holds back keeps an early share tag, and the share tags of a stream that becomes active then
    begin with this tag. This stream is therefore first served alone, until its tags reach the tags of the other streams. The
    paper and Ceph also include the tags of streams that their limits hold back.

    The distance of two tags of a stream is the cost of the earlier request, as in start-time fair queueing. Ceph uses the
    cost of the later request. With equal costs, both rules agree.

    With dmClock, rho / r, delta / l and delta / w are added to the tags of a request. Here delta is the cost of the
    requests that its coordinator has sent to other bricks since its last request to this brick, and rho is the cost of
    requests that other bricks have issued because of reservations in this time. Both are 0 for the first request that a
    coordinator sends for the stream to this brick. Requests count when they are sent or issued. In the paper
    they count when they complete.

    References
    ----------
    A. Gulati, A. Merchant and P. J. Varman, *mClock: Handling Throughput Variability for Hypervisor IO Scheduling*,
    OSDI, 2010.

    Examples
    --------
    >>> import storagekit as sk
    >>> queue = sk.queue.MClock(1, weights=(1, 2, 3), reservations=(250, 250, 0), limits=(float("inf"), 1000, 1000))
    >>> disks = sk.load_drive("atlas10k"), sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.SATF()
    >>> sk.System(*disks, queue=queue).queue.streams
    3
    """

    depth: Int[AnyArray, "..."]
    weights: tuple[Float[AnyArray, "..."], ...]
    reservations: tuple[Float[AnyArray, "..."], ...]
    limits: tuple[Float[AnyArray, "..."], ...]
    credits: tuple[Int[AnyArray, "..."], ...]
    coordinators: Annotated[
        AbstractCoordinators | None,
        optional(instance_of(AbstractCoordinators, "the coordinators, such as sk.queue.OneCoordinator()")),
    ]
    cost: Annotated[AbstractCost, instance_of(AbstractCost, "a cost of requests, such as sk.queue.ByRequests()")]

    def __init__(
        self,
        depth,
        weights: Iterable[ArrayLike],
        reservations: Iterable[ArrayLike] | None = None,
        limits: Iterable[ArrayLike] | None = None,
        credits: Iterable[ArrayLike] | None = None,
        *,
        coordinators: AbstractCoordinators | None = None,
        cost: AbstractCost | None = None,
    ):
        self.depth = named("a queue depth of", whole)(depth)
        self.weights = each_named("a weight of")(weights)
        streams = len(self.weights)
        self.reservations = each_named("a reservation of")((0.0,) * streams if reservations is None else reservations)
        self.limits = each_named("a limit of")((np.inf,) * streams if limits is None else limits)
        self.credits = each_named("an idle credit of", whole)((0,) * streams if credits is None else credits)
        self.coordinators = coordinators
        self.cost = ByRequests() if cost is None else cost

    def __check_init__(self):
        validate_fields(self)
        require(self.depth >= 1, "a queue depth of", self.depth, "at least 1")
        if not 1 <= self.streams <= MOST_STREAMS:
            raise InputError(f"weights of {self.streams} streams: give weights for 1 to {MOST_STREAMS} streams")
        rest = {"reservations": self.reservations, "limits": self.limits, "idle credits": self.credits}
        for name, values in rest.items():
            if len(values) != self.streams:
                raise InputError(
                    f"{name} of {len(values)} streams, but weights of {self.streams} streams: give one for each stream"
                )
        if traced(*self.weights, *self.reservations, *self.limits, *self.credits):
            return
        every = np.broadcast_arrays(*self.weights, *self.reservations, *self.limits, *self.credits)
        weight, least, most, credit = np.asarray(every, float).reshape(4, self.streams, *np.shape(every[0]))
        require((weight >= 0) & np.isfinite(weight), "a weight of", weight, "0 or more and finite")
        require((least >= 0) & np.isfinite(least), "a reservation of", least, "0 or more and finite")
        require(most > 0, "a limit of", most, "above 0; inf means no limit")
        require(least <= most, "a reservation of", least, "at most the limit of its stream")
        require((weight > 0) | (least > 0), "a weight of", weight, "above 0 for a stream without a reservation")
        require((credit >= 0) & (credit <= MOST_CREDIT), "an idle credit of", credit, f"0 to {MOST_CREDIT:,}")
        some = np.where(weight > 0, weight, weight.max(axis=0))
        widest = np.max(weight.max(axis=0) / np.where(some > 0, some, 1.0).min(axis=0))
        require(widest <= MOST_APART, "largest ratio of weights", widest, f"at most {MOST_APART:,}")

    def init(self, sizes: StateSizes) -> Tags:
        bricks, shape, rows = sizes.bricks, sizes.batch, self._rows(sizes)
        counters = None
        if self.coordinators is not None:
            ledger = empty_ledger((self.coordinators.most or bricks) * self.streams, bricks, shape)
            rows_of_slots = jnp.zeros((rows, sizes.slots, *shape), jnp.int32)
            counters = DmClockCounters(ledger, ledger, self.coordinators.init(self.streams, shape), rows_of_slots)
        tag = _constant(0.0, rows, sizes.slots, *shape)
        never = _constant(BEFORE, bricks, self.streams, *shape)
        return Tags(
            tag,
            tag,
            int64_pair.zeros(rows, sizes.slots, *shape),
            never,
            never,
            int64_pair.zeros(bricks, self.streams, *shape),
            float32_pair.stopped(1, *shape),
            int64_pair.zeros(bricks, *shape),
            jnp.zeros((rows, sizes.slots, *shape), jnp.uint32),
            jnp.zeros((sizes.slots, *shape), jnp.uint32),
            jnp.zeros((rows, sizes.slots, *shape), jnp.int32),
            jnp.zeros((bricks, *shape), jnp.int32),
            jnp.zeros((bricks, *shape), jnp.int32),
            counters,
        )

    def elapse(self, private: Tags, time):
        return private._replace(clock=private.clock.later(time))

    def on_admitted(self, private: Tags, event: RequestAdmitted) -> Tags:
        stream = event.request.stream
        parts, sectors = parts_of(event, private.issued_count.shape[0])
        receives, cost = parts > 0, self.cost.units(sectors)
        private, delta, rho = self._count_request(private, event, cost, receives)
        least, most, weight = (_of_stream(row, stream) for row in (self.reservations, self.limits, self.weights))
        before = jax.tree.map(partial(_column, stream=stream), _next_tags(private))
        now = float32_pair.add(private.clock.now, event.at)
        reservation = float32_pair.later(float32_pair.add(before[0], _seconds(rho, least)), now)
        limit = float32_pair.later(float32_pair.add(before[1], _seconds(delta, most)), now)
        share, spacing = self._share(private, stream, before[2], delta, cost)
        after = (
            float32_pair.add(reservation, _seconds(cost, least)),
            float32_pair.add(limit, _seconds(cost, most)),
            int64_pair.add(share, spacing),
        )
        tags = (
            _if_positive(least, reservation),
            _if_positive(weight, limit),
            with_stream(share, stream),
            cost,
        )
        held = private.reservation, private.limit, private.share, private.cost
        put_in = partial(_with_slot, event.slot_mask, receives)
        reservation, limit, share_tag, cost = jax.tree.map(put_in, tags, held)
        nexts = jax.tree.map(partial(_with_column, stream, receives), after, before, _next_tags(private))
        waits = union(jnp.where(receives, bit(row_index(receives.shape[0], receives)), jnp.uint32(0)))
        return private._replace(
            reservation=reservation,
            limit=limit,
            share=share_tag,
            cost=cost,
            next_reservation=nexts[0],
            next_limit=nexts[1],
            next_share=nexts[2],
            newest=int64_pair.pick(receives & (weight > 0), int64_pair.later(private.newest, share), private.newest),
            queued=jnp.where(event.slot_mask, waits, private.queued),
        )

    @property
    def issues_by_time(self):
        return True

    def next_issue(self, private: Tags):
        waits = _waits(private)
        now = _words(private.clock.now, lambda word: word[None])
        left = (float32_pair.difference(tag, now) for tag in (private.reservation, private.limit))
        when = jnp.min(jnp.where(waits, jnp.minimum(*left), jnp.inf), axis=1)
        return jnp.where(private.outstanding < self.depth, when, jnp.inf)

    def issue(self, private: Tags, queued: Queued):
        if queued.drive is None:
            # An idle drive wakes when a part arrives, and otherwise `next_issue` is the time of the arrival.
            return private, jnp.zeros_like(queued.busy)
        brick = queued.placement.brick_of(queued.drive)
        waits = bit_is_set(private.queued, brick)
        of_its = partial(_words, change=partial(of_brick, brick=brick))
        reservation, limit = of_its(private.reservation), of_its(private.limit)
        due = waits & (float32_pair.difference(reservation, private.clock.now) <= INSTANT)
        reserved = any_row(due)
        # Times that differ by less than an instant are equal, and the share tags then decide.
        first = due & (float32_pair.difference(reservation, _earliest(reservation, due)) <= INSTANT)
        share = of_its(private.share)
        newest = int64_pair.Pair(*(pick(word, brick) for word in private.newest))
        allowed = waits & (float32_pair.difference(limit, private.clock.now) <= INSTANT)
        origin = int64_pair.Pair(newest.high - LONG_AGO, newest.low)
        slot, _, found = first_tag(share, jnp.where(reserved, first, allowed), origin)
        issues = found & any_row(queued.acts) & (pick(private.outstanding, brick) < self.depth)
        after, at, received = self._issue_request(private, queued, slot, issues)
        cost = pick(of_brick(private.cost, brick), slot)
        streams = self._stream_of(share)
        stream = pick(streams, slot)
        correction = jnp.where(reserved | ~issues, 0.0, _seconds(cost, _of_stream(self.reservations, stream)))
        later = bit_is_set(after.queued, brick) & (streams == stream) & (correction > 0)
        rows = private.order.shape[0]
        here = (row_index(rows, brick) == jnp.minimum(brick, rows - 1))[:, None]
        its = at[:, None] & (row_index(self.streams, brick) == stream)[None]
        after = after._replace(
            reservation=_subtracted(private.reservation, correction, here & later[None]),
            next_reservation=_subtracted(private.next_reservation, correction, its),
        )
        return _count_reserved(after, brick, slot, cost, reserved & issues), received

    def _count_request(
        self,
        private: Tags,
        event: RequestAdmitted,
        cost: UInt32[Array, "brick *batch"],
        receives: Bool[Array, "brick *batch"],
    ) -> tuple[Tags, UInt32[Array, "brick *batch"], UInt32[Array, "brick *batch"]]:
        """Return the state after the coordinators have counted a request, and delta and rho at each brick."""
        nothing = jnp.zeros_like(cost)
        if self.coordinators is None or private.counters is None:
            return private, nothing, nothing
        sent, reserved, state, rows_of_slots = private.counters
        chosen, state = self.coordinators.choose(state, event.request, event.admitted, receives.shape[0])
        row = chosen * self.streams + event.request.stream
        column = jnp.broadcast_to(row, receives.shape)[:, None]
        high, low = (jnp.take_along_axis(word, column, axis=1)[:, 0] for word in sent.at_last_request)
        again = (high | low) > 0
        sent, delta = account(sent, row, cost, receives)
        reserved, rho = account(reserved, row, nothing, receives)
        delta, rho = (jnp.where(again, count, nothing) for count in (delta, rho))
        rows_of_slots = _with_slot(event.slot_mask, receives, jnp.broadcast_to(row, receives.shape), rows_of_slots)
        return private._replace(counters=DmClockCounters(sent, reserved, state, rows_of_slots)), delta, rho

    def _share(
        self,
        private: Tags,
        stream: Int[Array, "1 *batch"],
        before: int64_pair.Pair,
        delta: UInt32[Array, "brick *batch"],
        cost: UInt32[Array, "brick *batch"],
    ) -> tuple[int64_pair.Pair, int64_pair.Pair]:
        """Return the share tag of a request at each brick, and the distance to the next tag of its stream.

        before: least tag of the request if its stream is not idle.
        """
        # The tags of a stream of weight 0 only decide between equal reservation tags, so that any price serves.
        most = reduce(jnp.maximum, self.weights)
        most = jnp.where(most > 0, most, 1.0)
        weights = tuple(jnp.where(weight > 0, weight, most) for weight in self.weights)
        price = pick(prices(weights, Single(), stream).unit, stream)
        waits, streams = _waits(private), self._stream_of(private.share)
        active = jnp.any(waits & (streams == stream[None]), axis=1)
        waits = waits & jnp.isfinite(private.limit.high)
        tag = int64_pair.Pair(private.share.high, (private.share.low >> self._bits) << self._bits)
        newest = int64_pair.Pair(private.newest.high[:, None], private.newest.low[:, None])
        behind = int64_pair.subtract(newest, tag)
        high = jnp.max(jnp.where(waits, behind.high, jnp.uint32(0)), axis=1)
        furthest = waits & (behind.high == high[:, None])
        low = jnp.max(jnp.where(furthest, behind.low, jnp.uint32(0)), axis=1)
        now = int64_pair.subtract(private.newest, int64_pair.Pair(high, low))
        credit = _of_stream(self.credits, stream).astype(jnp.uint32)
        earliest = int64_pair.subtract(now, self._ticks(int64_pair.product(credit, price)))
        before = int64_pair.add(before, self._ticks(int64_pair.product(delta, price)))
        share = int64_pair.pick(active, before, int64_pair.later(earliest, before))
        return share, self._ticks(int64_pair.product(cost, price))

    def _stream_of(self, share: int64_pair.Pair) -> Int[Array, "*row"]:
        """Return the streams of requests, which the lowest bits of their share tags contain."""
        return (share.low & jnp.uint32(2**self._bits - 1)).astype(jnp.int32)


def _next_tags(private: Tags) -> tuple[float32_pair.Pair, float32_pair.Pair, int64_pair.Pair]:
    return private.next_reservation, private.next_limit, private.next_share


def _constant(value: float, *shape: int) -> float32_pair.Pair:
    """Return equal times of a given shape."""
    return float32_pair.Pair(jnp.full(shape, value, jnp.float32), jnp.zeros(shape, jnp.float32))


def _words(tag: Any, change: Callable) -> Any:
    """Return a tag after a change of the shape of both of its words."""
    return type(tag)(*map(change, tag))


def _if_positive(rate: Float[Array, "*#row"], time: float32_pair.Pair) -> float32_pair.Pair:
    """Return a time where a rate is positive, and inf elsewhere."""
    return float32_pair.Pair(jnp.where(rate > 0, time.high, jnp.inf), jnp.where(rate > 0, time.low, 0.0))


def _earliest(time: float32_pair.Pair, among: Bool[Array, "slot *batch"]) -> float32_pair.Pair:
    """Return the earliest of the times that a mask marks; the high word is inf if there is none."""
    high = min_row(jnp.where(among, time.high, jnp.inf))
    low = min_row(jnp.where(among & (time.high == high), time.low, jnp.inf))
    return float32_pair.Pair(high, jnp.where(jnp.isfinite(low), low, 0.0))


def _subtracted(
    time: float32_pair.Pair, step: Float[Array, "1 *batch"], where: Bool[Array, "*row"]
) -> float32_pair.Pair:
    """Return times after a step is subtracted from the times that a mask marks, which are finite."""
    return float32_pair.pick(where, float32_pair.add(time, -step[None]), time)


def _waits(private: Tags) -> Bool[Array, "brick slot *batch"]:
    """Return, for each brick, the mask of the requests with a part that waits there."""
    return bit_is_set(private.queued[None], row_index(private.issued_count.shape[0], private.queued)[:, None])


def _of_stream(values: Sequence[Shaped[AnyArray, "..."]], stream: Int[Array, "1 *batch"]) -> Shaped[Array, "1 *batch"]:
    """Return the value of a stream."""
    return pick(jnp.concatenate([jnp.broadcast_to(value, stream.shape) for value in values]), stream)


def _seconds(cost: Shaped[Array, "*#row"], rate: Float[Array, "*#row"]) -> Float[Array, "*#row"]:
    """Return the time that a cost takes at a rate; 0 for the rate 0, which means that there is no reservation."""
    return jnp.where(rate > 0, cost.astype(jnp.float32) / jnp.where(rate > 0, rate, 1.0), 0.0)


def _column(
    values: Shaped[Array, "brick stream *batch"], stream: Int[Array, "1 *batch"]
) -> Shaped[Array, "brick *batch"]:
    """Return the values of a stream at each brick."""
    column = jnp.broadcast_to(stream, (values.shape[0], *stream.shape[1:]))[:, None]
    return jnp.take_along_axis(values, column, axis=1)[:, 0]


def _with_column(
    stream: Int[Array, "1 *batch"],
    receives: Bool[Array, "brick *batch"],
    new: Shaped[Array, "brick *batch"],
    before: Shaped[Array, "brick *batch"],
    values: Shaped[Array, "brick stream *batch"],
) -> Shaped[Array, "brick stream *batch"]:
    """Return values of streams after the value of a stream has changed at the bricks that `receives` marks."""
    return put(values, stream, jnp.where(receives, new, before)[:, None], axis=1)


def _with_slot(
    slot_mask: Bool[Array, "slot *batch"],
    receives: Bool[Array, "brick *batch"],
    new: Shaped[Array, "brick *batch"],
    values: Shaped[Array, "row slot *batch"],
) -> Shaped[Array, "row slot *batch"]:
    """Return values of slots after a request has received its values. One row contains the value of its only brick."""
    if values.shape[0] == 1:
        new = jnp.sum(jnp.where(receives, new, jnp.zeros_like(new)), axis=0, keepdims=True, dtype=new.dtype)
    return jnp.where(slot_mask[None], new[:, None], values)


def _count_reserved(
    private: Tags,
    brick: Int[Array, "1 *batch"],
    slot: Int[Array, "1 *batch"],
    cost: UInt32[Array, "1 *batch"],
    reserved: Bool[Array, "1 *batch"],
) -> Tags:
    """Return the state after dmClock's coordinators have counted a request that was issued because of its reservation."""
    if private.counters is None:
        return private
    ledger = private.counters.reserved
    row = pick(of_brick(private.counters.row, brick), slot)
    its = (row_index(ledger.sent.low.shape[0], row) == row) & reserved
    here = (row_index(private.issued_count.shape[0], brick) == brick)[:, None] & its[None]
    # Only service at other bricks counts, so that the counter of this brick advances too.
    counts = (jnp.where(mask, cost, jnp.uint32(0)) for mask in (its, here))
    sums = (
        int64_pair.add(one, int64_pair.Pair(jnp.zeros_like(more), more))
        for one, more in zip(ledger, counts, strict=True)
    )
    return private._replace(counters=private.counters._replace(reserved=ServiceLedger(*sums)))
