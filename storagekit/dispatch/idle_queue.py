"""Join-idle-queue: idle drives register with a dispatcher, which sends its next requests to them."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.component.events import AccessEnded, AccessStarted, BrickStopped, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import any_row, bit, bit_is_set, count, first_min, named, pick, row_index, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, traced
from storagekit.dispatch.base import AsManyAsNeeded, View
from storagekit.dispatch.sampled import choices_of, drawn, lots, lowest_lots, shortest
from storagekit.workload import below, scramble


class IdleQueues(NamedTuple):
    """Private state of the dispatchers: their queues of idle drives (I-queues).

    Parameters
    ----------
    listed : array of bool, shape `[drive, *batch]`
        Whether each drive is in an I-queue.
    queue : array of int32, shape `[drive, *batch]`
        Number of the I-queue. It has no meaning for drives that are not listed.
    later : array of int32, shape `[drive, *batch]`
        Number of times that a drive has joined an I-queue since this drive joined.
    word : array of uint32, shape `[1, *batch]`
        Random word of the latest request, from which the I-queue of a drive is drawn.
    """

    listed: Bool[Array, "drive *batch"]
    queue: Int[Array, "drive *batch"]
    later: Int[Array, "drive *batch"]
    word: UInt32[Array, "1 *batch"]


class JoinIdleQueue(AsManyAsNeeded):
    """Send a request to the drive that has been idle longest in the I-queue of its dispatcher: join-idle-queue (JIQ).

    A request arrives at one of several dispatchers, drawn at random. Each dispatcher has an I-queue, a queue of idle
    drives. If no drive in the I-queue holds the data of the request, the request is sent to a random drive that holds
    the data. A drive that becomes idle joins an I-queue.

    Parameters
    ----------
    dispatchers : int
        Number of dispatchers, at least 1 and at most the number of drives, by default 1; one value, or one for each run.
    choices : int
        Number of I-queues that an idle drive draws at random, without repetition, from 1 to `placement.MOST_PARTS`. The
        drive joins the shortest of them. By default 1 (JIQ-Random); with d choices the protocol is JIQ-SQ(d).

    Raises
    ------
    InputError
        If a number is out of range, or there are more dispatchers than drives.

    Notes
    -----
    An idle drive leaves its I-queue as soon as any request is sent to it, also if the request comes from another
    dispatcher, which selected the drive at random. The I-queues therefore contain all idle drives and no busy drive. The
    analysis of the paper neglects these requests. The mean response differs from its value by a few percent, for any
    number of drives: with ten drives for each dispatcher and a load of 0.7 it is 1.179 service times in the limit of many
    drives, where the formula of the paper gives 1.212. If drives stayed in their I-queues, it would be about 1.26.

    At the start of a run all drives are idle, and drive k is in I-queue k mod `dispatchers`. A drive whose brick stops
    leaves its I-queue. It joins an I-queue again after its first access. A drive without an access counts as idle, even
    if its brick holds requests back (`queue.Depth`).

    The protocol sends no messages at the arrival of a request. A drive sends one message for each of its idle periods, and
    another message if it leaves its I-queue because of a request of another dispatcher. These messages take no time here.

    References
    ----------
    Lu, Xie, Kliot, Geller, Larus and Greenberg, Join-Idle-Queue: a novel load balancing algorithm for dynamically
    scalable web services, Performance Evaluation 68(11), 2011.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.dispatch import JoinIdleQueue
    >>> system = sk.System(sk.drive.RateServer(1000.0), sk.placement.Replicas(8), JoinIdleQueue(2), sk.schedule.FCFS())
    >>> reads = sk.workload.RandomRequests(sk.workload.FixedSize(512), read_share=1.0)
    >>> load = sk.workload.PoissonArrivals(reads, rate=4000.0)
    >>> bool(sk.simulate(sk.Scenario(system, load), requests=500).response < 0.0015)
    True
    """

    dispatchers: Int[AnyArray, "..."] = eqx.field(converter=named("dispatchers", whole), default=1)
    choices: int = eqx.field(static=True, default=1, converter=choices_of)

    def __check_init__(self):
        COUNT.each("dispatchers", self.dispatchers)

    def check(self, facts):
        if not traced(self.dispatchers) and np.max(self.dispatchers) > facts.drives:
            raise InputError(
                f"{int(np.max(self.dispatchers))} dispatchers of join-idle-queue for {facts.drives} drives: give at most "
                "one for each drive"
            )

    def init(self, sizes: StateSizes) -> IdleQueues:
        later = jnp.zeros((sizes.drives, *sizes.batch), jnp.int32)
        queue = later + row_index(sizes.drives, later) % self.dispatchers
        return IdleQueues(later == 0, queue, later, later[:1].astype(jnp.uint32))

    def route(self, private: IdleQueues, request, entering, view: View):
        dispatcher = below(scramble(view.word + 1), self.dispatchers)
        listed = private.listed & (private.queue == dispatcher) & view.holders()
        head, _ = first_min(jnp.where(listed, -private.later, 1))
        (random,) = drawn(view, 1)
        drive = jnp.where(any_row(listed), head, random)
        return bit(pick(view.part(), drive)), private._replace(word=jnp.where(entering, view.word, private.word))

    def on_admitted(self, private: IdleQueues, event: RequestAdmitted):
        part = event.placement.part_on(row_index(private.listed.shape[0], private.listed), event.location)
        return private._replace(listed=private.listed & ~(bit_is_set(event.targets, part) & event.admitted))

    def on_access_started(self, private: IdleQueues, event: AccessStarted):
        return private._replace(listed=private.listed & ~event.drive_mask)

    def on_access_ended(self, private: IdleQueues, event: AccessEnded):
        # A drive with further requests starts its next access before another request enters, and so leaves again.
        drives = private.listed.shape[0]
        row = row_index(drives, private.listed)
        lot = lots(scramble(scramble(private.word + 2) + scramble(event.drive)), drives)
        candidates = lowest_lots(jnp.where(row < self.dispatchers, lot, jnp.inf), self.choices)
        queue = shortest(candidates, partial(self._length, private))
        joins = (row == event.drive) & event.ended
        return private._replace(
            listed=private.listed | joins,
            queue=jnp.where(joins, queue, private.queue),
            later=jnp.where(joins, 0, private.later + event.ended),
        )

    def on_brick_stopped(self, private: IdleQueues, event: BrickStopped):
        return private._replace(listed=private.listed & ~event.bricks)

    def _length(self, private: IdleQueues, queue: Int[Array, "1 *batch"]) -> Int[Array, "1 *batch"]:
        """Return the number of drives in an I-queue."""
        return count(private.listed & (private.queue == queue))
