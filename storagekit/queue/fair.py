"""A fair queue before the drives of each brick: SFQ(D) without delays, DSFQ with delays (dsfq, sections 2.3 and 3.2).

A brick tags each request with the virtual time at which it should start, and issues the request with the lowest tag
first. Virtual time is the tag of the last issued request. Tags are whole ticks in 64 bits, so that they add up exactly.
The finish tag of an idle stream is kept, and delays are added to it. This is exact while the tag is less than 2^63
ticks old. With two streams of equal weights, this age is 2^46 units of cost, or five years at 200 MB/s. With more
streams or unequal weights, divide this age by the number of streams and by the ratio of the largest weight to the
smallest weight.
"""

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.component.events import AccessEnded, RequestAdmitted, StateSizes
from storagekit.core import int64_pair
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import (
    any_row,
    bit,
    bit_is_set,
    count,
    each_named,
    first_true,
    min_row,
    named,
    pick,
    pick_tree,
    put,
    row_index,
    union,
    whole,
)
from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, require, traced, validate_fields
from storagekit.placement import MOST_PARTS, AbstractPlacement
from storagekit.queue.base import AbstractQueue, Queued
from storagekit.queue.coordinators import AbstractCoordinators, OneCoordinator, ServiceLedger, account, empty_ledger
from storagekit.queue.cost import AbstractCost, ByBytes
from storagekit.queue.delay import AbstractDelay, Prices, Total, prices

# Largest number of streams: the lowest bits of a tag hold the number of its stream.
MOST_STREAMS = 64
# Largest ratio of two weights.
MOST_APART = 256
# Largest number of bricks, because one uint32 holds a bit for each brick.
MOST_BRICKS = MOST_PARTS
NEVER = np.uint32(0xFFFFFFFF)


class Tags(NamedTuple):
    """Private state of the fair queue.

    virtual: virtual time of each brick. finish: finish tag of the last request of each stream at each brick. start:
    start tag of the request in each slot, one row for each brick, or one row if requests have one part. queued: mask of
    the bricks at which a part of the request in each slot waits. order: number of requests that the brick had issued
    before this request, in the same rows as `start`. issued_count: number of requests that each brick has issued; the
    parts of one request at a brick count as one. outstanding: number of issued parts that are still at the drives of
    each brick. ledger: counters of the coordinators. coordinator_state: private state of the coordinators.
    """

    virtual: int64_pair.Pair
    finish: int64_pair.Pair
    start: int64_pair.Pair
    queued: UInt32[Array, "slot *batch"]
    order: Int[Array, "row slot *batch"]
    issued_count: Int[Array, "brick *batch"]
    outstanding: Int[Array, "brick *batch"]
    ledger: ServiceLedger
    coordinator_state: Any


class TaggedArrival(NamedTuple):
    """A request that arrives at the bricks.

    parts: number of parts of the request at each brick. stream: stream of the request. start: start tag of the request
    at each brick.
    """

    parts: Int[Array, "brick *batch"]
    stream: Int[Array, "1 *batch"]
    start: int64_pair.Pair

    @property
    def receives(self) -> Bool[Array, "brick *batch"]:
        """Return the mask of the bricks that receive a part of the request."""
        return self.parts > 0


class TagQueue(AbstractQueue):
    """Base class of queues that tag the requests of streams, and issue them to the drives in the order of the tags.

    At most `depth` parts are at the drives of a brick. The private state of a subclass has the fields `queued`, `order`,
    `issued_count` and `outstanding` of `Tags`.
    """

    depth: eqx.AbstractVar[Int[AnyArray, "..."]]
    weights: eqx.AbstractVar[tuple[Float[AnyArray, "..."], ...]]

    @property
    def streams(self) -> int:
        """Return the number of streams."""
        return len(self.weights)

    def serve(self, streams):
        if streams > self.streams:
            raise InputError(
                f"requests of {streams} streams, but weights of {self.streams} streams: give one weight for each stream"
            )

    def check(self, facts):
        if facts.reads_before_writes:
            raise InputError(
                f"{type(self).__name__} with {facts.layout}, whose writes first read: not modelled; use Unlimited() or "
                "Depth(...)"
            )
        if facts.competes or facts.withdraws or facts.withdraws_late or facts.delays or facts.stops:
            raise InputError(
                f"{type(self).__name__}: not modelled with claims, with outages of bricks, or if parts are withdrawn, "
                "hedged or delayed; use a dispatcher that sends a request only to the bricks that serve it, or Unlimited()"
            )

    def on_access_ended(self, private: Any, event: AccessEnded) -> Any:
        brick = event.placement.brick_of(event.drive)
        left = (row_index(private.outstanding.shape[0], private.outstanding) == brick) & event.ended
        return private._replace(outstanding=private.outstanding - left)

    def issued(self, private: Any, waiting, brick):
        return jnp.where(bit_is_set(private.queued, brick), jnp.uint32(0), waiting)

    def enqueue_time(self, private: Any, arrival_time, brick):
        # The order is relative to the next request that the brick will issue.
        return (of_brick(private.order, brick) - pick(private.issued_count, brick)).astype(jnp.float32)

    def _rows(self, sizes: StateSizes) -> int:
        """Return the number of rows of the tags: one for each brick, or one if requests have one part."""
        assert sizes.placement is not None
        if sizes.bricks > MOST_BRICKS:
            raise InputError(
                f"{type(self).__name__} on {sizes.bricks} bricks: at most {MOST_BRICKS} are possible; simulate each group of "
                "bricks in a separate run"
            )
        return 1 if sizes.placement.single else sizes.bricks

    def _issue_request(
        self, private: Any, queued: Queued, slot: Int[Array, "1 *batch"], issues: Bool[Array, "1 *batch"]
    ) -> tuple[Any, Bool[Array, "brick *batch"], Bool[Array, "drive *batch"]]:
        """Return the state after a brick has issued the request in a slot, and two masks.

        The masks mark the brick, and the drives of the brick that have a part of the request.

        issues: whether the brick issues the request.
        """
        assert queued.drive is not None
        brick = queued.placement.brick_of(queued.drive)
        at = (row_index(private.issued_count.shape[0], issues) == brick) & issues
        taken = (row_index(private.queued.shape[0], issues) == slot) & issues
        mine = taken[None] & (
            jnp.minimum(brick, private.order.shape[0] - 1)[None] == row_index(private.order.shape[0], private.order)
        )
        received = _drives_of(queued, slot, brick) & issues
        after = private._replace(
            queued=jnp.where(taken, private.queued & ~bit(brick), private.queued),
            order=jnp.where(mine, pick(private.issued_count, brick)[None], private.order),
            issued_count=private.issued_count + at,
            outstanding=private.outstanding + jnp.where(at, count(received), 0),
        )
        return after, at, received

    @property
    def _bits(self) -> int:
        """Return the number of lowest bits of a tag that contain the number of the stream.

        Among equal tags, the tag of the stream with the lower number comes first.
        """
        return max(1, (self.streams - 1).bit_length())

    def _ticks(self, count: int64_pair.Pair) -> int64_pair.Pair:
        """Return ticks in the format of tags."""
        high = (count.high << self._bits) | (count.low >> (32 - self._bits))
        return int64_pair.Pair(high, count.low << self._bits)


class FairQueue(TagQueue):
    """Keep at most `depth` parts at the drives of a brick, and share the service of the bricks among streams by weight.

    The stream with the least service, divided by its weight, comes first.

    Parameters
    ----------
    depth : int
        D, largest number of parts at the drives of a brick, including the parts in service, at least 1. The drives
        choose among these parts. The parts of one request at a brick are issued together. If data and parity are on one
        brick, the number may therefore exceed D by one.
    weights : sequence of float
        Weight of each stream, above 0; only the ratios of the weights matter.
    delay : AbstractDelay, optional
        Delay of a request that accounts for the service of its stream at other bricks; by default it accounts for all
        of this service (`Total`).
    coordinators : AbstractCoordinators, optional
        Assignment of requests to the coordinators that count this service, by default one coordinator for each stream.
    cost : AbstractCost, optional
        Cost of a request, which defines the service that streams share; by default its length (`ByBytes`).

    Raises
    ------
    InputError
        If a number is out of range, or a minimum share cannot be kept.

    Notes
    -----
    A brick never idles while a part waits. The reciprocal of each weight is rounded to whole ticks; for the largest
    weight it is 2^16 ticks.

    References
    ----------
    dsfq, sections 2.3 and 3.2.

    Examples
    --------
    >>> import storagekit as sk
    >>> fair = sk.queue.FairQueue(8, weights=(1, 2))
    >>> disks = sk.load_drive("atlas10k"), sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.SATF()
    >>> sk.System(*disks, queue=fair).queue.streams
    2
    """

    depth: Int[AnyArray, "..."]
    weights: tuple[Float[AnyArray, "..."], ...]
    delay: Annotated[
        AbstractDelay, instance_of(AbstractDelay, "a policy for service at other bricks, such as sk.queue.Total()")
    ]
    coordinators: Annotated[
        AbstractCoordinators, instance_of(AbstractCoordinators, "the coordinators, such as sk.queue.OneCoordinator()")
    ]
    cost: Annotated[AbstractCost, instance_of(AbstractCost, "a cost of requests, such as sk.queue.ByBytes()")]

    def __init__(
        self,
        depth,
        weights: Iterable[ArrayLike],
        delay: AbstractDelay | None = None,
        *,
        coordinators: AbstractCoordinators | None = None,
        cost: AbstractCost | None = None,
    ):
        self.depth = named("a queue depth of", whole)(depth)
        self.weights = each_named("a weight of")(weights)
        self.delay = Total() if delay is None else delay
        self.coordinators = OneCoordinator() if coordinators is None else coordinators
        self.cost = ByBytes() if cost is None else cost

    def __check_init__(self):
        validate_fields(self)
        require(self.depth >= 1, "a queue depth of", self.depth, "at least 1")
        if not 1 <= len(self.weights) <= MOST_STREAMS:
            raise InputError(f"weights of {len(self.weights)} streams: give weights for 1 to {MOST_STREAMS} streams")
        if traced(*self.weights):
            return
        given = np.stack(np.broadcast_arrays(*(np.asarray(weight, float) for weight in self.weights)))
        require((given > 0) & np.isfinite(given), "a weight of", given, "above 0 and finite")
        widest = np.max(given.max(axis=0) / given.min(axis=0))
        require(widest <= MOST_APART, "largest ratio of weights", widest, f"at most {MOST_APART:,}")
        self.delay.check(self.weights)

    def init(self, sizes: StateSizes) -> Tags:
        bricks, streams = sizes.bricks, len(self.weights)
        shape, held_rows = sizes.batch, self._rows(sizes)
        return Tags(
            int64_pair.zeros(bricks, *shape),
            int64_pair.zeros(bricks, streams, *shape),
            int64_pair.zeros(held_rows, sizes.slots, *shape),
            jnp.zeros((sizes.slots, *shape), jnp.uint32),
            jnp.zeros((held_rows, sizes.slots, *shape), jnp.int32),
            jnp.zeros((bricks, *shape), jnp.int32),
            jnp.zeros((bricks, *shape), jnp.int32),
            empty_ledger((self.coordinators.most or bricks) * streams, bricks, shape),
            self.coordinators.init(streams, shape),
        )

    def on_admitted(self, private: Tags, event: RequestAdmitted) -> Tags:
        private, arrival = self._tagged(private, event)
        # If fewer than `depth` parts are at the drives, no other part waits, so that the new part is issued
        # immediately.
        now = arrival.receives & (private.outstanding < self.depth)
        row = row_index(now.shape[0], now)
        waits = union(jnp.where(arrival.receives & ~now, bit(row), jnp.uint32(0)))
        start, order = with_stream(arrival.start, arrival.stream), private.issued_count
        if private.order.shape[0] == 1:
            # The request has one part, so that only the tag of its brick is stored.
            start = int64_pair.Pair(*(union(jnp.where(arrival.receives, word, jnp.uint32(0))) for word in start))
            order = jnp.sum(jnp.where(arrival.receives, order, 0), axis=0, keepdims=True)
        return private._replace(
            virtual=int64_pair.pick(now, arrival.start, private.virtual),
            start=int64_pair.pick(
                event.slot_mask[None], int64_pair.Pair(start.high[:, None], start.low[:, None]), private.start
            ),
            queued=jnp.where(event.slot_mask, waits, private.queued),
            order=jnp.where(event.slot_mask[None], order[:, None], private.order),
            issued_count=private.issued_count + now,
            outstanding=private.outstanding + jnp.where(now, arrival.parts, 0),
        )

    def issue(self, private: Tags, queued: Queued):
        if queued.drive is None:
            # The parts were issued on arrival if fewer than `depth` parts were at the drives.
            return private, jnp.zeros_like(queued.busy)
        brick = queued.placement.brick_of(queued.drive)
        slot, tag, found = _least(private, brick, self._bits)
        issues = found & any_row(queued.acts) & (pick(private.outstanding, brick) < self.depth)
        after, at, received = self._issue_request(private, queued, slot, issues)
        return after._replace(virtual=int64_pair.pick(at, tag, private.virtual)), received

    def _tagged(self, private: Tags, event: RequestAdmitted) -> tuple[Tags, TaggedArrival]:
        """Return the state after a request has received its tags."""
        request, stream = event.request, event.request.stream
        parts, sectors = parts_of(event, private.issued_count.shape[0])
        receives = parts > 0
        cost = self.cost.units(sectors)
        chosen, state = self.coordinators.choose(private.coordinator_state, request, event.admitted, receives.shape[0])
        ledger, service_elsewhere = account(private.ledger, chosen * len(self.weights) + stream, cost, receives)
        price = Prices(*(pick(each, stream) for each in self._prices(stream)))
        delay = self._ticks(self.delay.ticks(service_elsewhere, cost, price.unit, price.cap))
        column = jnp.broadcast_to(stream, receives.shape)[:, None]
        before = int64_pair.Pair(*(jnp.take_along_axis(word, column, axis=1)[:, 0] for word in private.finish))
        start = int64_pair.later(private.virtual, int64_pair.add(before, delay))
        finish = int64_pair.pick(
            receives, int64_pair.add(start, self._ticks(int64_pair.product(cost, price.unit))), before
        )
        finishes = (put(word, stream, new[:, None], axis=1) for word, new in zip(private.finish, finish, strict=True))
        private = private._replace(finish=int64_pair.Pair(*finishes), ledger=ledger, coordinator_state=state)
        return private, TaggedArrival(parts, stream, start)

    def _prices(self, like: Int[Array, "1 *batch"]) -> Prices:
        return prices(self.weights, self.delay, like)


def parts_of(event: RequestAdmitted, bricks: int) -> tuple[Int[Array, "brick *batch"], Int[Array, "brick *batch"]]:
    """Return the number of parts of a request at each brick, and the number of sectors of these parts."""
    placement, shape, sizes = event.placement, event.targets.shape[1:], event.placement.brick_sizes
    drives = bricks * placement.drives_a_brick if sizes is None else sum(sizes)
    part = jnp.broadcast_to(placement.part_on(row_index(drives, event.targets), event.location), (drives, *shape))
    receives = bit_is_set(event.targets, part) & event.admitted
    sectors = placement.sectors_of(part, event.location, event.request.sectors)
    sectors = jnp.where(receives, sectors, 0)
    return _by_brick(receives.astype(jnp.int32), placement, bricks), _by_brick(sectors, placement, bricks)


def _by_brick(
    values: Int[Array, "drive *batch"], placement: AbstractPlacement, bricks: int
) -> Int[Array, "brick *batch"]:
    """Return the sums over the drives of each brick."""
    sizes = placement.brick_sizes
    if sizes is None:
        return jnp.sum(values.reshape(bricks, placement.drives_a_brick, *values.shape[1:]), axis=1)
    edges = pairwise(accumulate(sizes, initial=0))
    return jnp.concatenate([jnp.sum(values[first:end], axis=0, keepdims=True) for first, end in edges])


def with_stream(tag: int64_pair.Pair, stream: Int[Array, "1 *batch"]) -> int64_pair.Pair:
    """Return a tag whose lowest bits contain the number of the stream."""
    return int64_pair.Pair(tag.high, tag.low | stream.astype(jnp.uint32))


def _least(
    private: Tags, brick: Int[Array, "1 *batch"], bits: int
) -> tuple[Int[Array, "1 *batch"], int64_pair.Pair, Bool[Array, "1 *batch"]]:
    """Return the slot of the request with the lowest tag at a brick, this tag, and whether any request waits there.

    The tag is returned without the stream in its lowest `bits`.
    """
    waits = bit_is_set(private.queued, brick)
    tag = int64_pair.Pair(*(of_brick(word, brick) for word in private.start))
    virtual = int64_pair.Pair(*(pick(word, brick) for word in private.virtual))
    # No tag of a waiting request is before virtual time.
    slot, ahead, found = first_tag(tag, waits, virtual)
    at = int64_pair.add(virtual, ahead)
    return slot, int64_pair.Pair(at.high, (at.low >> bits) << bits), found


def first_tag(
    tag: int64_pair.Pair, waits: Bool[Array, "slot *batch"], origin: int64_pair.Pair
) -> tuple[Int[Array, "1 *batch"], int64_pair.Pair, Bool[Array, "1 *batch"]]:
    """Return the slot of the lowest tag, the difference of this tag and the origin, and whether any request waits.

    Parameters
    ----------
    tag : int64_pair.Pair, `[slot, *batch]`
        Tags of the requests.
    waits : bool array, `[slot, *batch]`
        Mask of the requests that are compared.
    origin : int64_pair.Pair, `[1, *batch]`
        A tag that is not after any of these tags.

    Returns
    -------
    tuple
        The slot `[1, *batch]`, the difference, and whether `waits` is true for any slot.
    """
    ahead = int64_pair.subtract(tag, origin)
    high = min_row(jnp.where(waits, ahead.high, NEVER))
    first = waits & (ahead.high == high)
    low = min_row(jnp.where(first, ahead.low, NEVER))
    slot, found = first_true(first & (ahead.low == low))
    return slot, int64_pair.Pair(high, low), found


def of_brick(values: Shaped[Array, "row slot *batch"], brick: Int[Array, "1 *batch"]) -> Shaped[Array, "slot *batch"]:
    """Return the row of `values` for a brick, or the only row if requests have one part."""
    if values.shape[0] == 1:
        return values[0]
    return jnp.take_along_axis(values, brick[None], axis=0)[0]


def _drives_of(
    queued: Queued, slot: Int[Array, "1 *batch"], brick: Int[Array, "1 *batch"]
) -> Bool[Array, "drive *batch"]:
    """Return the mask of the drives of a brick that have a part of the request in a slot."""
    placement: AbstractPlacement = queued.placement
    drive = row_index(queued.busy.shape[0], slot)
    if placement.brick_sizes is None and placement.drives_a_brick == 1:
        return drive == brick
    location = pick_tree(queued.locations, slot)
    return bit_is_set(placement.parts_of(location), placement.part_on(drive, location)) & (queued.brick == brick)
